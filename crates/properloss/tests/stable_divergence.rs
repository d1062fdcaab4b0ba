//! Divergences of a learned link against exact rational arithmetic.

mod congruence;

use congruence::Congruence;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use properloss::link::{InverseLink, PiecewiseLink};
use proptest::prelude::*;

/// What the issue asks for; the sums themselves are good to a few eps.
const ALLOWED: f64 = 1e-11;

fn exact(value: f64) -> BigRational {
    BigRational::from_float(value).expect("finite")
}

/// `∫_{x_0}^{at} f` and `f(at)` of the interpolation of the knots, exactly.
struct Oracle {
    x: Vec<BigRational>,
    y: Vec<BigRational>,
    integral: Vec<BigRational>,
}

impl Oracle {
    fn new(x: &[f64], y: &[f64]) -> Self {
        let x: Vec<_> = x.iter().map(|&v| exact(v)).collect();
        let y: Vec<_> = y.iter().map(|&v| exact(v)).collect();
        let two = exact(2.0);
        let mut integral = vec![BigRational::zero()];
        for k in 0..x.len() - 1 {
            let next = &integral[k] + (&y[k] + &y[k + 1]) * (&x[k + 1] - &x[k]) / &two;
            integral.push(next);
        }
        Self { x, y, integral }
    }

    fn value(&self, at: &BigRational, k: usize) -> BigRational {
        let (x, y) = (&self.x, &self.y);
        &y[k] + (&y[k + 1] - &y[k]) * (at - &x[k]) / (&x[k + 1] - &x[k])
    }

    /// `F(a) - F(b) - (a - b) f(b)`: the definition.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        let (a, b) = (exact(a), exact(b));
        let piece = |at: &BigRational| {
            self.x.partition_point(|knot| knot <= at).clamp(1, self.x.len() - 1) - 1
        };
        let antiderivative = |at: &BigRational| {
            let k = piece(at);
            let mean = (&self.y[k] + self.value(at, k)) / exact(2.0);
            &self.integral[k] + (at - &self.x[k]) * mean
        };
        let d = antiderivative(&a) - antiderivative(&b) - (&a - &b) * self.value(&b, piece(&b));
        assert!(!d.is_negative());
        d.to_f64().expect("in range")
    }
}

/// 2,000 knots with uneven gaps and slopes.
fn link(seed: u64) -> PiecewiseLink {
    let mut random = Congruence(seed);
    let mut uniform = move || random.uniform();
    let mut column = |start: f64, width: f64| {
        let steps: Vec<f64> = (0..1999).map(|_| 10f64.powf(-3.0 * uniform())).collect();
        let total: f64 = steps.iter().sum();
        let mut values = vec![start];
        let mut sum = 0.0;
        for step in &steps[..1998] {
            sum += step;
            values.push(start + width * (sum / total));
        }
        values.push(start + width);
        values
    };
    let z = column(-6.0, 14.0);
    let u = column(0.0, 1.0);
    PiecewiseLink::from_knots(z, u).unwrap()
}

fn relative_error(value: f64, expected: f64) -> f64 {
    if value == expected { 0.0 } else { ((value - expected) / expected).abs() }
}

#[test]
fn relative_error_at_every_distance() {
    let link = link(7);
    let (z, u) = (link.knots().x().to_vec(), link.knots().y().to_vec());
    let (scores, probabilities) = (Oracle::new(&z, &u), Oracle::new(&u, &z));
    let rounds = if std::env::var("PROPERLOSS_PROFILE").is_ok() { 60 } else { 6 };
    let (mut worst, mut worst_dual, mut naive) = (0.0f64, 0.0f64, 0.0f64);
    for round in 0..rounds {
        for step in 0..=36 {
            let gap = 10f64.powf(-9.0 + 0.25 * f64::from(step));
            // At a knot, just beside one, and anywhere; to both sides.
            let knot = 300 + 223 * round % 1400;
            for (b, side) in [
                (z[knot], 1.0),
                (z[knot], -1.0),
                (z[knot] - 0.4 * gap, 1.0),
                (z[knot] + 0.3 * gap, -1.0),
                (0.37 + 0.01 * round as f64, 1.0),
            ] {
                let a = b + side * gap;
                let expected = scores.divergence(a, b);
                let error = relative_error(link.divergence(a, b), expected);
                assert!(error <= ALLOWED, "D_U({a}, {b}): {error:e}");
                worst = worst.max(error);
                let plain = link.potential(a) - link.potential(b) - (a - b) * link.u(b);
                naive = naive.max(relative_error(plain, expected));
            }
            let scale = gap.min(0.4);
            for (q, side) in
                [(u[knot], 1.0), (u[knot], -1.0), (u[knot] - 0.4 * scale, 1.0), (0.45, -1.0)]
            {
                let (p, q): (f64, f64) = ((q + side * scale).clamp(0.0, 1.0), q.clamp(0.0, 1.0));
                let error =
                    relative_error(link.conjugate_divergence(p, q), probabilities.divergence(p, q));
                assert!(error <= ALLOWED, "D_U*({p}, {q}): {error:e}");
                worst_dual = worst_dual.max(error);
            }
        }
    }
    println!(
        "worst relative error: D_U {worst:e}, D_U* {worst_dual:e}; the definition in f64: {naive:e}"
    );
    assert!(naive > 1.0, "the definition loses everything at 1e-9, or this test shows nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any pair of scores, over few pieces or many; U and the loss of labels as well.
    #[test]
    fn any_pair(seed in 0u64..1000, a in -6.0..8.0f64, b in -6.0..8.0f64) {
        let link = link(seed);
        let oracle = Oracle::new(link.knots().x(), link.knots().y());
        let error = relative_error(link.divergence(a, b), oracle.divergence(a, b));
        prop_assert!(error <= ALLOWED, "{error:e}");
        // U(a) = D_U(a, z_min): positive sums, good to a few eps.
        let error = relative_error(link.potential(a), oracle.divergence(a, -6.0));
        prop_assert!(error <= 1e-14, "U: {error:e}");
        let error = relative_error(link.upper_potential(a), oracle.divergence(a, 8.0));
        prop_assert!(error <= 1e-14, "upper: {error:e}");
    }
}
