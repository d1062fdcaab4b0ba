//! The logistic link; its canonical loss is log-loss.

use super::{InverseLink, LinkSpec, is_probability};
use crate::bregman;

/// `u(z) = 1 / (1 + e^{-z})`.
///
/// `U(z) = ln(1 + e^z)` (softplus) and `U*(p) = p ln p + (1 - p) ln(1 - p)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sigmoid;

impl InverseLink for Sigmoid {
    // e^{-|z|} never overflows, and both branches divide by a number in [1, 2].
    fn u(&self, z: f64) -> f64 {
        let e = (-z.abs()).exp();
        if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
    }

    // u' = u (1 - u) = e^{-|z|} / (1 + e^{-|z|})².
    fn derivative(&self, z: f64) -> f64 {
        let e = (-z.abs()).exp();
        e / ((1.0 + e) * (1.0 + e))
    }

    // ln(p / (1 - p)); near 1/2, where it vanishes, as ln(1 + (2p - 1)/(1 - p)), 2p - 1 being exact.
    fn u_inverse(&self, p: f64) -> f64 {
        if !is_probability(p) {
            f64::NAN
        } else if (0.25..=0.75).contains(&p) {
            ((2.0 * p - 1.0) / (1.0 - p)).ln_1p()
        } else {
            (p / (1.0 - p)).ln()
        }
    }

    fn potential(&self, z: f64) -> f64 {
        z.max(0.0) + (-z.abs()).exp().ln_1p()
    }

    // Both terms are negative; 0 ln 0 = 0.
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        let below = if p > 0.0 { p * p.ln() } else { 0.0 };
        let above = if p < 1.0 { (1.0 - p) * (-p).ln_1p() } else { 0.0 };
        below + above
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("sigmoid")
    }

    symmetric!(upper_potential);

    // u' has its poles at ±iπ, so a quadrature over a length of 1 converges like 12.6^{-2n}.
    fn divergence(&self, a: f64, b: f64) -> f64 {
        bregman::smooth_divergence(self, a, b, 1.0)
    }
}
