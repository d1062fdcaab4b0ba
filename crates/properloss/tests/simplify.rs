//! Piecewise-affine functions: slopes, integrals, and fewer knots with a known error.

use properloss::Error;
use properloss::piecewise::PiecewiseAffine;
use proptest::prelude::*;

fn function(max_pieces: usize) -> impl Strategy<Value = PiecewiseAffine> {
    prop::collection::vec((0.01..1.0f64, 0.001..1.0f64), 1..max_pieces).prop_map(|steps| {
        let (mut x, mut y) = (vec![-1.0], vec![0.0]);
        for (dx, dy) in steps {
            x.push(x[x.len() - 1] + dx);
            y.push(y[y.len() - 1] + dy);
        }
        PiecewiseAffine::new(x, y).unwrap()
    })
}

/// The sup-norm distance, at the union of the knots.
fn distance(f: &PiecewiseAffine, g: &PiecewiseAffine) -> f64 {
    let at = f.x().iter().chain(g.x());
    at.map(|&x| (f.eval(x) - g.eval(x)).abs()).fold(0.0, f64::max)
}

/// The least error of any choice of `knots` knots that keeps both ends, by trying them all.
fn best_by_force(f: &PiecewiseAffine, knots: usize) -> f64 {
    let count = f.knot_count();
    (0u32..1 << (count - 2))
        .filter(|mask| mask.count_ones() as usize + 2 <= knots)
        .map(|mask| {
            let kept: Vec<usize> = (0..count)
                .filter(|&k| k == 0 || k == count - 1 || mask >> (k - 1) & 1 == 1)
                .collect();
            let pick = |v: &[f64]| kept.iter().map(|&k| v[k]).collect::<Vec<_>>();
            distance(f, &PiecewiseAffine::new(pick(f.x()), pick(f.y())).unwrap())
        })
        .fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No choice of so many knots is nearer, and the error reported is the error made (values of
    /// size 10 are rounded by 1e-15 or so).
    #[test]
    fn fewest_knots_and_least_error(f in function(11), knots in 2usize..9, error in 0.0..0.5f64) {
        let rounding = 16.0 * f64::EPSILON * f.y()[f.knot_count() - 1];
        let best = best_by_force(&f, knots);
        let made = f.simplify_to_knots(knots).unwrap();
        prop_assert!(made.function.knot_count() <= knots.max(2));
        prop_assert!((made.error - distance(&f, &made.function)).abs() <= rounding);
        prop_assert!(made.error <= best + rounding, "{} against {best}", made.error);

        let made = f.simplify_to_error(error).unwrap();
        prop_assert!(made.error <= error + rounding);
        prop_assert!((made.error - distance(&f, &made.function)).abs() <= rounding);
        let fewer = made.function.knot_count() - 1;
        if fewer >= 2 {
            prop_assert!(best_by_force(&f, fewer) >= error - rounding);
        }
    }

    /// The result increases strictly, keeps the ends and the bounds on the slope.
    #[test]
    fn keeps_ends_and_slopes(f in function(100), knots in 2usize..40) {
        let made = f.simplify_to_knots(knots).unwrap().function;
        prop_assert!(made.knot_count() <= knots);
        let checked = PiecewiseAffine::new(made.x().to_vec(), made.y().to_vec());
        prop_assert!(checked.is_ok());
        let last = f.knot_count() - 1;
        prop_assert_eq!((made.x()[0], made.y()[0]), (f.x()[0], f.y()[0]));
        let end = made.knot_count() - 1;
        prop_assert_eq!((made.x()[end], made.y()[end]), (f.x()[last], f.y()[last]));
        let ((low, high), (n, m)) = (f.slope_range(), made.slope_range());
        let slack = 1.0 + 1e-12; // knots of size 100 and gaps from 0.01: 100/0.01 eps
        prop_assert!(low <= n * slack && m <= high * slack);
    }

    /// The integral is additive, changes sign with its ends, and its derivative is the function.
    #[test]
    fn integral(f in function(40), a in -3.0..20.0f64, b in -3.0..20.0f64, c in -3.0..20.0f64) {
        let size = 1e3 * f64::EPSILON * (1.0 + f.y()[f.knot_count() - 1]);
        let whole = f.integral(a, c);
        prop_assert!((f.integral(a, b) + f.integral(b, c) - whole).abs() <= 40.0 * size);
        prop_assert_eq!(f.integral(a, c), -f.integral(c, a));
        let (low, high) = (a.min(b), a.max(b));
        let mean = f.integral(low, high) / (high - low);
        prop_assert!(f.eval(low) - size <= mean && mean <= f.eval(high) + size, "{mean}");
        // by the midpoint rule, exact up to the kinks
        let n = 4000;
        let h = (high - low) / f64::from(n);
        let sum: f64 = (0..n).map(|i| f.eval(low + h * (f64::from(i) + 0.5))).sum();
        let steepest = f.slope_range().1;
        let kinks = (f.knot_count() + 2) as f64;
        let tolerance = kinks * steepest * h * h + 40.0 * size;
        prop_assert!((sum * h - f.integral(low, high)).abs() <= tolerance);
    }

    #[test]
    fn slope_and_inverse(f in function(40), share in 0.0..1.0f64) {
        let last = f.knot_count() - 1;
        let x = f.x()[0] + share * (f.x()[last] - f.x()[0]);
        let k = f.piece_at(x);
        prop_assert!(f.x()[k] <= x && (x < f.x()[k + 1] || k == last - 1));
        if x < f.x()[last] {
            prop_assert_eq!(f.slope(x), f.piece_slope(k));
        }
        // 50/0.001 slopes' worth of eps
        prop_assert!((f.inverse(f.eval(x)) - x).abs() <= 1e-10);
        for (x, y) in f.x().iter().zip(f.y()) {
            prop_assert_eq!(f.eval(*x), *y);
            prop_assert_eq!(f.inverse(*y), *x);
        }
        let inverted = f.clone().inverted();
        prop_assert_eq!(inverted.eval(f.y()[k]), f.x()[k]);
    }
}

/// 200,000 knots of the sigmoid: the long path, still within the error, in a moment.
#[test]
fn a_long_function() {
    let count = 200_000;
    let x: Vec<f64> = (0..count).map(|i| -8.0 + 16.0 * i as f64 / (count - 1) as f64).collect();
    let y: Vec<f64> = x.iter().map(|x: &f64| 1.0 / (1.0 + (-x).exp())).collect();
    let f = PiecewiseAffine::new(x, y).unwrap();
    let made = f.simplify_to_error(1e-4).unwrap();
    assert!(made.error <= 1e-4 + 1e-15);
    // The continuous problem needs ∫ √(|f''|/(16 err)) = 0.25 ∫√|f''| / √err, about 60; chords on the
    // curve, as here, √2 times that.
    assert!(made.function.knot_count() < 100, "{}", made.function.knot_count());
    let made = f.simplify_to_knots(64).unwrap();
    assert!(made.function.knot_count() <= 64 && made.error < 4e-4, "{}", made.error);
}

#[test]
fn bad_requests() {
    let f = PiecewiseAffine::new(vec![0.0, 1.0, 2.0], vec![0.0, 0.1, 1.0]).unwrap();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(f.simplify_to_error(bad), Err(Error::OutOfDomain { .. })));
    }
    for bad in [0, 1] {
        assert!(matches!(f.simplify_to_knots(bad), Err(Error::TooShort { .. })));
    }
    let unsorted = f.eval_sorted(&[0.0, 0.5, 0.4]);
    assert!(matches!(unsorted, Err(Error::ElementOutOfDomain { index: 2, value: 0.4, .. })));
    assert!(matches!(f.eval_sorted(&[f64::NAN]), Err(Error::NotFinite { index: 0, .. })));
    let mut short = [0.0];
    assert!(matches!(
        f.eval_sorted_into(&[0.0, 1.0], &mut short),
        Err(Error::LengthMismatch { length: 2, other_length: 1, .. })
    ));
}
