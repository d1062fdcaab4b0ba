//! The Cauchy link ("cauchit"): tails so heavy that it has no canonical loss.

use std::f64::consts::{FRAC_1_PI, PI};

use super::{InverseLink, LinkSpec, is_probability};
use crate::bregman;

/// `u(z) = 1/2 + atan(z)/π`.
///
/// `u(z)` falls like `1/(π|z|)`, so `∫_{-∞}^z u` diverges. The potential is normalised at 0 instead:
/// `U(z) = ∫_0^z u = z u(z) - ln(1 + z²)/(2π)`, its conjugate is `U*(p) = -ln(sin πp)/π`, which is
/// `+∞` at 0 and 1. The canonical loss would be infinite at every score;
/// [`CanonicalLoss::new`](crate::loss::CanonicalLoss::new) therefore refuses this link, and
/// [`CompositeLoss`](crate::loss::CompositeLoss) accepts it. Divergences between interior points
/// do not depend on the normalisation and are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cauchy;

/// `ln(1 + z²)`, without overflow.
fn ln_one_plus_square(z: f64) -> f64 {
    if z.abs() < 1e8 { (z * z).ln_1p() } else { 2.0 * z.abs().ln() }
}

impl InverseLink for Cauchy {
    // The angle of (-z, 1), which is atan(1/|z|) for z < 0: no cancellation in the tail.
    fn u(&self, z: f64) -> f64 {
        1f64.atan2(-z) * FRAC_1_PI
    }

    fn derivative(&self, z: f64) -> f64 {
        let h = z.hypot(1.0);
        FRAC_1_PI / h / h
    }

    // -cot(πp) = tan(π(p - 1/2)); the argument of tan stays within ±π/4.
    fn u_inverse(&self, p: f64) -> f64 {
        if !is_probability(p) {
            f64::NAN
        } else if p < 0.25 {
            -1.0 / (PI * p).tan()
        } else if p <= 0.75 {
            (PI * (p - 0.5)).tan()
        } else {
            1.0 / (PI * (1.0 - p)).tan()
        }
    }

    // z/2 + z atan(z)/π is z u(z): for z < 0 both terms are negative.
    fn potential(&self, z: f64) -> f64 {
        if z.is_infinite() {
            return z;
        }
        z * self.u(z) - 0.5 * FRAC_1_PI * ln_one_plus_square(z)
    }

    // -ln(sin πp)/π; near 1/2, with s = sin π(p - 1/2), as -ln(1 - s²)/(2π).
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            f64::NAN
        } else if (0.25..=0.75).contains(&p) {
            let s = (PI * (p - 0.5)).sin();
            -0.5 * FRAC_1_PI * (-s * s).ln_1p()
        } else {
            -FRAC_1_PI * (PI * p.min(1.0 - p)).sin().ln()
        }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("cauchy")
    }

    symmetric!();

    fn upper_potential(&self, z: f64) -> f64 {
        if z.is_nan() { z } else { f64::INFINITY }
    }

    // Near: quadrature (the poles of u' are at ±i, the scale at b is |b + i|). Far:
    // π D_U(a, b) = a (atan a - atan b) - ½ ln((1 + a²)/(1 + b²)), with the difference of the
    // angles taken as one angle.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        let d = a - b;
        if a == b {
            0.0
        } else if !d.is_finite() {
            if d.is_nan() { d } else { f64::INFINITY }
        } else if d.abs() <= 0.5 * b.hypot(1.0) {
            bregman::quadrature(|z| self.derivative(z), a, b)
        } else {
            let angle = d.atan2(1.0 + a * b);
            let logarithm = ln_one_plus_square(a) - ln_one_plus_square(b);
            FRAC_1_PI * (a * angle - 0.5 * logarithm)
        }
    }
}
