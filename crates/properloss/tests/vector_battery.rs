//! What holds for every link of several classes: the registered ones and random mixtures.

use std::sync::Arc;

use properloss::Error;
use properloss::link::vector::{
    ClassRamp, Floor, Mixture, Ramp, Softmax, VectorLink, VectorLoss, vector_registry,
};
use proptest::prelude::*;

const EPS: f64 = f64::EPSILON;
const CLASSES: [usize; 4] = [2, 3, 4, 7];

type Link = Arc<dyn VectorLink>;

fn config() -> ProptestConfig {
    let cases = match std::env::var("PROPERLOSS_PROFILE").as_deref() {
        Ok("fuzz") => 20_000,
        Ok("full") => 4_000,
        _ => 300,
    };
    ProptestConfig { cases, ..ProptestConfig::default() }
}

fn registered() -> impl Strategy<Value = Link> {
    let links: Vec<Link> = CLASSES
        .iter()
        .flat_map(|&k| vector_registry().iter().flat_map(move |e| (e.examples)(k).unwrap()))
        .collect();
    prop::sample::select(links)
}

/// A ramp with up to six pieces, some of them flat.
fn ramp() -> impl Strategy<Value = Ramp> {
    prop::collection::vec((0.01..1.0f64, prop_oneof![Just(0.0), 0.0..1.0f64]), 1..6).prop_map(
        |steps| {
            let total: (f64, f64) = steps.iter().fold((0.0, 1e-3), |t, s| (t.0 + s.0, t.1 + s.1));
            let (mut p, mut r, mut sum) = (vec![0.0], vec![0.0], (0.0, 0.0));
            for step in &steps[..steps.len() - 1] {
                sum = (sum.0 + step.0, sum.1 + step.1);
                p.push(sum.0 / total.0);
                r.push(sum.1 / total.1);
            }
            p.push(1.0);
            r.push(1.0);
            Ramp::new(p, r).unwrap()
        },
    )
}

/// Softmaxes, a floor and a ramp of one class, with random masses; at least 1/tau of the softmax.
fn mixture() -> impl Strategy<Value = Mixture> {
    let masses = prop::collection::vec(0.0..1.0f64, 12);
    (2usize..6, masses, ramp(), 0usize..6, 1.01..10.0f64, any::<bool>()).prop_map(
        |(classes, m, ramp, class, tau, floor)| {
            let mut raw = vec![m[0], m[1], m[2], m[3]];
            raw.extend((0..classes).map(|k| if floor { m[4 + k] } else { 0.0 }));
            let rest = (1.0 - 1.0 / tau) / raw.iter().sum::<f64>().max(1e-9);
            let a: Vec<f64> = raw.iter().map(|m| m * rest).collect();
            let share = 1.0 - a.iter().sum::<f64>();
            Mixture::new(
                classes,
                &[(share, 1.0), (a[0], 0.25), (a[1], 1.4), (a[2], 4.0)],
                a[4..].to_vec(),
                vec![(a[3], ClassRamp::new(classes, class % classes, ramp).unwrap())],
            )
            .unwrap()
        },
    )
}

fn any_link() -> impl Strategy<Value = Link> {
    prop_oneof![1 => registered(), 2 => mixture().prop_map(|m| Arc::new(m) as Link)]
}

/// Scores from moderate to extreme.
fn scores() -> impl Strategy<Value = Vec<f64>> {
    (prop_oneof![Just(1.0), Just(5.0), Just(40.0)], prop::collection::vec(-1.0..1.0f64, 7))
        .prop_map(|(scale, z)| z.into_iter().map(|z| scale * z).collect())
}

fn probabilities(link: &dyn VectorLink, z: &[f64]) -> Vec<f64> {
    let mut p = vec![0.0; z.len()];
    link.probabilities(z, &mut p);
    p
}

fn jacobian(link: &dyn VectorLink, z: &[f64]) -> Vec<f64> {
    let mut j = vec![0.0; z.len() * z.len()];
    link.jacobian(z, &mut j);
    j
}

fn softmax(z: &[f64]) -> Vec<f64> {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = z.iter().map(|z| (z - top).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The least eigenvalue of a symmetric matrix, by Jacobi rotations.
fn least_eigenvalue(matrix: &[f64], k: usize) -> f64 {
    let mut a = matrix.to_vec();
    for _ in 0..60 {
        for p in 0..k {
            for q in p + 1..k {
                let off = a[p * k + q];
                if off == 0.0 {
                    continue;
                }
                let theta = 0.5 * (2.0 * off).atan2(a[q * k + q] - a[p * k + p]);
                let (s, c) = theta.sin_cos();
                for i in 0..k {
                    let (x, y) = (a[i * k + p], a[i * k + q]);
                    (a[i * k + p], a[i * k + q]) = (c * x - s * y, s * x + c * y);
                }
                for i in 0..k {
                    let (x, y) = (a[p * k + i], a[q * k + i]);
                    (a[p * k + i], a[q * k + i]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    (0..k).map(|i| a[i * k + i]).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn probabilities_sum_to_one_and_hold_their_share_of_the_softmax(link in any_link(), z in scores()) {
        let z = &z[..link.classes()];
        let p = probabilities(&*link, z);
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 64.0 * EPS);
        let share = link.softmax_share();
        for (p, q) in p.iter().zip(softmax(z)) {
            prop_assert!((0.0..=1.0 + 8.0 * EPS).contains(p));
            // The softmax itself carries an error of |z| EPS.
            prop_assert!(*p >= share * q * (1.0 - 200.0 * EPS), "{p} < {share} * {q}");
        }
    }

    #[test]
    fn jacobian_is_symmetric_positive_and_its_rows_sum_to_zero(link in any_link(), z in scores()) {
        let k = link.classes();
        let j = jacobian(&*link, &z[..k]);
        for a in 0..k {
            for b in 0..k {
                prop_assert!((j[a * k + b] - j[b * k + a]).abs() <= 16.0 * EPS);
            }
            let row: f64 = j[a * k..(a + 1) * k].iter().sum();
            prop_assert!(row.abs() < 256.0 * EPS, "row {a} sums to {row}");
        }
        // Kinks aside no entry exceeds the steepest slope (200 for the steepest ramp) over 4.
        prop_assert!(least_eigenvalue(&j, k) > -4096.0 * EPS);
    }

    #[test]
    fn hessian_holds_its_share_of_the_softmax(link in mixture(), z in scores()) {
        let k = link.classes();
        let z = &z[..k];
        let j = jacobian(&link, z);
        let soft = jacobian(&Mixture::identity(k).unwrap(), z);
        let rest: Vec<f64> = j.iter().zip(&soft).map(|(j, s)| j - s / link.tau()).collect();
        prop_assert!(least_eigenvalue(&rest, k) > -4096.0 * EPS);
    }

    #[test]
    fn jacobian_is_the_derivative_of_the_probabilities(link in any_link(), z in scores()) {
        // Integrated along a short segment, so that kinks do not matter: p(b) - p(a) = int J (b - a).
        let k = link.classes();
        let a = &z[..k];
        let b: Vec<f64> = a.iter().enumerate().map(|(i, z)| z + 0.02 * ((i * 7 % 5) as f64 - 2.0)).collect();
        let step: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let (pa, pb) = (probabilities(&*link, a), probabilities(&*link, &b));
        let mut integral = vec![0.0; k];
        const POINTS: usize = 400;
        for n in 0..POINTS {
            let t = (n as f64 + 0.5) / POINTS as f64;
            let at: Vec<f64> = a.iter().zip(&step).map(|(a, s)| a + t * s).collect();
            let j = jacobian(&*link, &at);
            for i in 0..k {
                integral[i] += dot(&j[i * k..(i + 1) * k], &step) / POINTS as f64;
            }
        }
        // A kink inside the segment costs at most one of the POINTS intervals: a step of .08 in u,
        // slopes up to 200/4 of the steepest ramp, over 400 intervals.
        for i in 0..k {
            prop_assert!((pb[i] - pa[i] - integral[i]).abs() < 0.08 * 50.0 / POINTS as f64);
        }
    }

    #[test]
    fn probabilities_are_the_derivative_of_the_potential(link in any_link(), z in scores()) {
        let k = link.classes();
        let a = &z[..k];
        for i in 0..k {
            let h = 1e-4;
            let mut b = a.to_vec();
            b[i] += h;
            let slope = (link.potential(&b) - link.potential(a)) / h;
            // Convex: the secant lies between the two slopes.
            let (low, high) = (probabilities(&*link, a)[i], probabilities(&*link, &b)[i]);
            // Rounding of F (|F| <= 50) divided by h.
            prop_assert!(low - 1e-9 <= slope && slope <= high + 1e-9, "{low} {slope} {high}");
        }
    }

    #[test]
    fn potential_shifts_with_the_scores(link in any_link(), z in scores(), c in -20.0..20.0f64) {
        let k = link.classes();
        let shifted: Vec<f64> = z[..k].iter().map(|z| z + c).collect();
        let difference = link.potential(&shifted) - link.potential(&z[..k]) - c;
        prop_assert!(difference.abs() < 1e-12, "{difference}");
        let (p, q) = (probabilities(&*link, &z[..k]), probabilities(&*link, &shifted));
        // 200: the slope of the steepest ramp.
        p.iter().zip(&q).for_each(|(p, q)| assert!((p - q).abs() < 200.0 * 100.0 * EPS));
    }

    #[test]
    fn potential_is_convex_and_young_holds(link in any_link(), a in scores(), b in scores(), t in 0.0..1.0f64) {
        let k = link.classes();
        let (a, b) = (&a[..k], &b[..k]);
        let middle: Vec<f64> = a.iter().zip(b).map(|(a, b)| t * a + (1.0 - t) * b).collect();
        let (fa, fb) = (link.potential(a), link.potential(b));
        prop_assert!(link.potential(&middle) <= t * fa + (1.0 - t) * fb + 1e-12);
        // Young at p = p(b): F(a) + F*(p) >= a.p with F*(p) = b.p - F(b).
        let p = probabilities(&*link, b);
        prop_assert!(fa + (dot(b, &p) - fb) - dot(a, &p) > -1e-12);
        // ... and at the vertices: z_y - F(z) <= F*(e_y).
        for y in 0..k {
            prop_assert!(a[y] - fa <= link.vertex_conjugate(y) + 1e-12);
        }
    }

    #[test]
    fn mixtures_are_strictly_monotone(link in mixture(), a in scores(), b in scores()) {
        let k = link.classes();
        let (a, b) = (&a[..k], &b[..k]);
        let (p, q) = (probabilities(&link, a), probabilities(&link, b));
        let (s, t) = (softmax(a), softmax(b));
        let product = |p: &[f64], q: &[f64]| -> f64 {
            (0..k).map(|i| (p[i] - q[i]) * (a[i] - b[i])).sum()
        };
        prop_assert!(product(&p, &q) >= product(&s, &t) / link.tau() - 1e-12);
        // Strict where doubles can show it: with scores 20 apart the softmax ends at 1 - 2e-9.
        let spread = |z: &[f64]| {
            z.iter().copied().fold(f64::MIN, f64::max) - z.iter().copied().fold(f64::MAX, f64::min)
        };
        prop_assert!(product(&s, &t) >= -1e-12);
        if spread(a).max(spread(b)) < 20.0 {
            prop_assert!(product(&s, &t) > 0.0);
        }
    }

    #[test]
    fn temperatures_and_a_uniform_floor_keep_the_order(link in mixture(), z in scores()) {
        let k = link.classes();
        let rest: f64 = link.floor().iter().sum::<f64>() + link.ramps().iter().map(|r| r.0).sum::<f64>();
        let soft: Vec<(f64, f64)> = link.softmax().iter().map(|(m, s)| (*m, s.t())).collect();
        let kept = Mixture::new(k, &soft, vec![rest / k as f64; k], Vec::new()).unwrap();
        prop_assert!(kept.keeps_order());
        let (z, p) = (&z[..k], probabilities(&kept, &z[..k]));
        for i in 0..k {
            for j in 0..k {
                prop_assert!(z[i] <= z[j] || p[i] >= p[j] - 4.0 * EPS);
            }
        }
    }

    #[test]
    fn canonical_loss_is_proper(link in mixture(), z in scores(), other in scores()) {
        let k = link.classes();
        let without = Mixture::new(k, &[(0.5, 1.0), (0.2, 4.0)], vec![0.0; k],
            link.ramps().iter().map(|(_, r)| (0.3, r.clone())).take(1).collect::<Vec<_>>());
        let Ok(link) = without else { return Ok(()) };
        let loss = VectorLoss::new(&link).unwrap();
        let p = probabilities(&link, &z[..k]);
        let risk = |z: &[f64]| (0..k).map(|y| p[y] * loss.value(y, z)).sum::<f64>();
        prop_assert!(risk(&z[..k]) <= risk(&other[..k]) + 1e-11);
        // The infimum is 0, along the axis of the class.
        for y in 0..k {
            let mut far = vec![0.0; k];
            far[y] = 200.0;
            prop_assert!(loss.value(y, &far) < 1e-11, "{}", loss.value(y, &far));
        }
    }
}

#[test]
fn log_loss_and_its_gradient() {
    let ramp = ClassRamp::new(3, 1, Ramp::between(0.0, 1.0).unwrap()).unwrap();
    let link = Mixture::new(3, &[(0.5, 1.0), (0.2, 2.0)], vec![0.1, 0.0, 0.1], vec![(0.1, ramp)]);
    let link = link.unwrap();
    let z = [0.3, -1.2, 0.8];
    let mut g = [0.0; 3];
    for y in 0..3 {
        // The same sums, so the same bits.
        assert_eq!(link.log_loss(&z, y, &mut g), -probabilities(&link, &z)[y].ln());
        for i in 0..3 {
            let at = |h: f64| {
                let mut z = z;
                z[i] += h;
                -probabilities(&link, &z)[y].ln()
            };
            let h = 1e-5;
            assert!((g[i] - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-9);
        }
    }
}

#[test]
fn softmax_mixture_of_one_is_log_loss() {
    let link = Mixture::identity(3).unwrap();
    let loss = VectorLoss::new(&link).unwrap();
    // -log(e^1 / (e^1 + e^2 + e^4))
    let expected = (1f64.exp() + 2f64.exp() + 4f64.exp()).ln() - 1.0;
    // Numbers below 5, a few roundings each.
    assert!((loss.value(0, &[1.0, 2.0, 4.0]) - expected).abs() < 20.0 * EPS);
}

#[test]
fn a_floor_has_no_canonical_loss_and_says_which_class() {
    let link = Mixture::new(3, &[(0.9, 1.0)], vec![0.0, 0.1, 0.0], Vec::new()).unwrap();
    assert_eq!(VectorLoss::new(&link).unwrap_err(), Error::UnboundedVectorLoss { class: 0 });
    assert_eq!(link.vertex_conjugate(1), 0.0);
}

/// The gradient of the canonical loss is `p - e_y`, and the derivative of its value.
#[test]
fn canonical_gradient_is_the_derivative() {
    let ramp = ClassRamp::new(3, 1, Ramp::between(0.0, 1.0).unwrap()).unwrap();
    let link = Mixture::new(3, &[(0.7, 1.0), (0.2, 2.0)], vec![0.0; 3], vec![(0.1, ramp)]).unwrap();
    let loss = VectorLoss::new(&link).unwrap();
    let z = [0.3, -1.2, 0.8];
    for y in 0..3 {
        let mut g = [9.0; 3];
        loss.gradient(y, &z, &mut g);
        assert!(g.iter().sum::<f64>().abs() < 8.0 * EPS, "{g:?}");
        for i in 0..3 {
            let at = |h: f64| {
                let mut z = z;
                z[i] += h;
                loss.value(y, &z)
            };
            let h = 1e-5;
            // h² of the third derivative, and the rounding of values near 1 over h.
            assert!((g[i] - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-9, "{y} {i}");
        }
    }
}

/// Many rows at once are the rows one by one, to the last bit, however they are dealt out.
#[test]
fn many_rows_are_each_row() {
    for classes in [2, 3, 5, 7] {
        let floor = vec![0.1 / classes as f64; classes];
        let link = Mixture::new(classes, &[(0.6, 1.0), (0.3, 0.25)], floor, Vec::new()).unwrap();
        let z: Vec<f64> =
            (0..1000 * classes).map(|k| ((k * 37 % 101) as f64 - 50.0) / 9.0).collect();
        let mut p = vec![-1.0; z.len()];
        link.probabilities_of_rows(&z, &mut p);
        for (row, (z, p)) in z.chunks(classes).zip(p.chunks(classes)).enumerate() {
            assert_eq!(p, probabilities(&link, z), "row {row} of {classes} classes");
        }
    }
}

/// By hand: the least of r/p and (1 - r)/(1 - p), at a knot or at the ends.
#[test]
fn shares_of_the_softmax_and_conjugates_of_corners() {
    let share = |p: &[f64], r: &[f64]| {
        let ramp = Ramp::new(p.to_vec(), r.to_vec()).unwrap();
        assert_eq!((ramp.p(), ramp.r()), (p, r));
        ClassRamp::new(3, 1, ramp).unwrap().softmax_share()
    };
    assert_eq!(share(&[0.0, 1.0], &[0.0, 1.0]), 1.0);
    assert_eq!(share(&[0.0, 0.5, 1.0], &[0.0, 0.25, 1.0]), 0.5);
    assert_eq!(share(&[0.0, 0.5, 0.75, 1.0], &[0.0, 0.75, 0.8125, 1.0]), 0.5);
    assert_eq!(share(&[0.0, 0.25, 0.5, 1.0], &[0.0, 0.1875, 0.25, 1.0]), 0.5);
    let between = Ramp::between(0.25, 0.5).unwrap();
    assert_eq!((between.p(), between.r()), (&[0.0, 0.25, 0.5, 1.0][..], &[0.0, 0.0, 1.0, 1.0][..]));
    let whole = Ramp::between(0.0, 1.0).unwrap();
    assert_eq!((whole.p(), whole.r()), (&[0.0, 1.0][..], &[0.0, 1.0][..]));

    let parts = [(0.4, 1.0), (0.2, 0.25), (0.1, 1.0)];
    let mixture = Mixture::new(3, &parts, vec![0.1; 3], Vec::new()).unwrap();
    assert!((mixture.softmax_share() - 0.5).abs() < 1e-15);
    let softmax = |t: f64| Softmax::new(4, t).unwrap().softmax_share();
    assert_eq!([0.5, 1.0, 2.0].map(softmax), [0.25, 1.0, 0.0]);
    let corner = Floor::vertex(3, 2).unwrap();
    assert_eq!(
        [0, 1, 2].map(|class| corner.vertex_conjugate(class)),
        [f64::INFINITY, f64::INFINITY, 0.0]
    );
    assert_eq!(corner.softmax_share(), 0.0);
    let uniform = Floor::uniform(4).unwrap();
    assert_eq!((uniform.vertex_conjugate(0), uniform.softmax_share()), (f64::INFINITY, 0.25));
    assert_eq!((uniform.classes(), uniform.c()), (4, &[0.25; 4][..]));
    assert_eq!(corner.c(), [0.0, 0.0, 1.0]);
}

#[test]
fn bad_links_are_refused() {
    assert!(matches!(Floor::new(vec![0.5, 0.6]), Err(Error::OutOfDomain { .. })));
    let ramp = || Ramp::between(0.2, 0.7).unwrap();
    assert!(ClassRamp::new(3, 2, ramp()).is_ok());
    for (found, class) in
        [(ClassRamp::new(3, 3, ramp()).err(), 3.0), (Floor::vertex(3, 7).err(), 7.0)]
    {
        match found {
            Some(Error::OutOfDomain { what: "class", value, .. }) => assert_eq!(value, class),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(
        Ramp::new(vec![0.0, 1.0], vec![0.0, 0.9]),
        Err(Error::ElementOutOfDomain { .. })
    ));
    assert!(matches!(
        Ramp::new(vec![0.0, 0.5, 0.7, 1.0], vec![0.0, 0.6, 0.5, 1.0]),
        Err(Error::NotSorted { index: 2, .. })
    ));
    // A step so narrow that its slope is infinite.
    assert!(matches!(
        Ramp::new(vec![0.0, 1e-320, 1.0], vec![0.0, 0.5, 1.0]),
        Err(Error::ElementOutOfDomain { index: 1, .. })
    ));
    assert!(matches!(
        Mixture::new(2, &[(0.5, 1.0), (0.6, -1.0)], vec![0.0; 2], Vec::new()),
        Err(Error::OutOfDomain { .. })
    ));
    assert!(matches!(
        Mixture::new(2, &[(0.5, 1.0), (-0.5, 2.0)], vec![0.5; 2], Vec::new()),
        Err(Error::ElementOutOfDomain { index: 1, .. })
    ));
    assert!(matches!(
        Mixture::new(1, &[(1.0, 1.0)], vec![0.0], Vec::new()),
        Err(Error::TooShort { .. })
    ));
}

/// The Jacobian of `softmax(A z + b)` for three classes: `(diag p - p p') A`.
fn scaled_jacobian(a: [[f64; 3]; 3], b: [f64; 3], z: [f64; 3]) -> [[f64; 3]; 3] {
    let scores: Vec<f64> = (0..3).map(|i| b[i] + dot(&a[i], &z)).collect();
    let p = softmax(&scores);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let mean: f64 = (0..3).map(|l| p[l] * a[l][j]).sum();
            p[i] * (a[i][j] - mean)
        })
    })
}

/// Statement 6 of docs/multiclass.md: vector scaling is not a gradient; and why the statement needs
/// an invertible matrix: a singular one that is no temperature, and is a gradient.
#[test]
fn only_temperatures_among_invertible_matrices() {
    let asymmetry = |j: [[f64; 3]; 3]| {
        (0..9).map(|k| (j[k / 3][k % 3] - j[k % 3][k / 3]).abs()).fold(0.0, f64::max)
    };
    let z = [0.3, -0.5, 1.1];
    let vector = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]];
    assert!(asymmetry(scaled_jacobian(vector, [0.0; 3], z)) > 0.04);
    let temperature = [[2.5, 1.0, -1.0], [0.5, 3.0, -1.0], [0.5, 1.0, 1.0]];
    assert!(asymmetry(scaled_jacobian(temperature, [0.1, 0.2, 0.3], z)) < 4.0 * EPS);
    // A = t e_0 (e_0 - pi)', pi the softmax of b over the other classes.
    let pi = softmax(&[0.7, -0.4]);
    let singular = [[2.0, -2.0 * pi[0], -2.0 * pi[1]], [0.0; 3], [0.0; 3]];
    for z in [z, [-1.0, 2.0, 0.5], [3.0, 0.0, -2.0]] {
        let j = scaled_jacobian(singular, [0.0, 0.7, -0.4], z);
        assert!(asymmetry(j) < 4.0 * EPS);
        assert!(least_eigenvalue(&j.concat(), 3) > -8.0 * EPS);
    }
}

/// The example of statement 4: a temperature changes the ranking of two rows by one class.
#[test]
fn ranking_by_one_class_is_not_kept() {
    let first = |t: f64, z: [f64; 3]| softmax(&z.map(|z| t * z))[0];
    let (a, b) = ([0.0, 0.0, -40.0], [0.0, -0.5, -0.5]);
    assert!(first(1.0, a) > first(1.0, b) && first(4.0, a) < first(4.0, b));
}

/// A ramp at its knots, between them, and where there are no more scores.
#[test]
fn a_ramp_runs_from_0_to_1() {
    let ramp = Ramp::new(vec![0.0, 0.2, 0.5, 1.0], vec![0.0, 0.1, 0.8, 1.0]).unwrap();
    let logit = |p: f64| (p / (1.0 - p)).ln();
    for (p, r, slope) in
        [(0.1, 0.05, 0.5), (0.35, 0.45, 7.0 / 3.0), (0.75, 0.9, 0.4), (0.999, 0.9996, 0.4)]
    {
        let (found, rest) = ramp.at(logit(p));
        assert!((found - r).abs() < 1e-14 && (rest - (1.0 - r)).abs() < 1e-14, "{p}: {found}");
        let derivative = slope * p * (1.0 - p);
        assert!((ramp.derivative(logit(p)) - derivative).abs() < 1e-14, "{p}");
    }
    assert_eq!(ramp.at(f64::NEG_INFINITY), (0.0, 1.0));
    assert_eq!(ramp.at(f64::INFINITY), (1.0, 0.0));
    assert_eq!([-f64::INFINITY, f64::INFINITY].map(|u| ramp.derivative(u)), [0.0, 0.0]);
    // The potential climbs by the mean of r: ∫ r(σ(u)) du over a straight piece, by the trapezium.
    let (low, high) = (logit(0.3), logit(0.4));
    let steps = 10_000;
    let h = (high - low) / f64::from(steps);
    let middle: f64 = (0..steps).map(|i| ramp.at(low + (f64::from(i) + 0.5) * h).0).sum();
    let climbed = ramp.potential(high) - ramp.potential(low);
    assert!((climbed - middle * h).abs() < 1e-9, "{climbed} {}", middle * h);
}
