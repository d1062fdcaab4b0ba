//! The probit link: the normal distribution function.

use super::{InverseLink, LinkSpec, is_probability};
use crate::bregman;
use crate::special::normal;

/// `u(z) = Φ(z)`.
///
/// `U(z) = z Φ(z) + φ(z)` and `U*(p) = -φ(Φ⁻¹(p))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Probit;

impl InverseLink for Probit {
    fn u(&self, z: f64) -> f64 {
        normal::upper_tail(-z)
    }

    fn derivative(&self, z: f64) -> f64 {
        normal::density(z)
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if !is_probability(p) {
            f64::NAN
        } else if p == 0.0 {
            f64::NEG_INFINITY
        } else if p == 1.0 {
            f64::INFINITY
        } else if p <= 0.5 {
            -normal::upper_tail_inverse(p)
        } else {
            normal::upper_tail_inverse(1.0 - p)
        }
    }

    fn potential(&self, z: f64) -> f64 {
        normal::integrated_upper_tail(-z)
    }

    // φ(x) = Q(x)/R(x): dividing p by the slowly varying Mills ratio keeps the relative accuracy
    // that e^{-x²/2} at a rounded x would lose in the tail.
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        let q = p.min(1.0 - p);
        if q == 0.0 { 0.0 } else { -q / normal::mills(normal::upper_tail_inverse(q)) }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("probit")
    }

    fn one_minus_u(&self, z: f64) -> f64 {
        normal::upper_tail(z)
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        -self.u_inverse(q)
    }

    fn upper_potential(&self, z: f64) -> f64 {
        normal::integrated_upper_tail(z)
    }

    // φ varies on the scale 1/(1 + |b|).
    fn divergence(&self, a: f64, b: f64) -> f64 {
        bregman::smooth_divergence(self, a, b, 0.5 / (1.0 + b.abs()))
    }
}
