//! The hand-written special functions against a library's, through the links that use them.

use properloss::link::{Cloglog, InverseLink, Probit};

const EPS: f64 = f64::EPSILON;

/// `Φ(z) = erfc(-z/√2)/2`. Rounding z/√2 costs `z²/2` ulp of erfc in the tail, twice over: that is
/// the library route's own error, which ours does not have (`tests/reference.rs`).
#[test]
fn normal_distribution_against_libm() {
    for i in -3700..=3700 {
        let z = f64::from(i) / 100.0;
        let library = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        let tolerance = EPS * (8.0 + z * z) * library;
        assert!((Probit.u(z) - library).abs() <= tolerance, "{z}: {} {library}", Probit.u(z));
        let library = 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
        let tolerance = EPS * (8.0 + z * z) * library;
        assert!((Probit.one_minus_u(z) - library).abs() <= tolerance, "{z}");
    }
}

/// `E_1(t)` by its continued fraction, for t from 1 on.
fn e1_by_fraction(t: f64) -> f64 {
    let mut tail = 0.0;
    for k in (1..=2000).rev() {
        let k = f64::from(k);
        tail = k / (1.0 + k / (t + tail));
    }
    (-t).exp() / (t + tail)
}

#[test]
fn exponential_integral_against_its_continued_fraction() {
    for i in 0..=600 {
        let z = f64::from(i) / 100.0;
        let t = z.exp();
        let expected = e1_by_fraction(t);
        // e^{-t} at a rounded t: t ulp.
        let tolerance = EPS * (16.0 + 2.0 * t) * expected;
        assert!((Cloglog.upper_potential(z) - expected).abs() <= tolerance, "{z}");
    }
}
