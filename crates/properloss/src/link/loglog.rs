//! The log-log link: the mirror image of the complementary log-log link.

use super::{Cloglog, InverseLink, LinkSpec, is_probability};

/// `u(z) = exp(-e^{-z})`, that is `1 - c(-z)` where `c` is [`Cloglog`].
///
/// `U(z) = E_1(e^{-z})` and `U*(p) = γ + C*(1 - p)`, with `C` the potential of [`Cloglog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loglog;

/// The zero `p₀` of `U*` as an unevaluated sum, and `u⁻¹(p₀)`.
const ZERO: f64 = 0.7520035289808221;
const ZERO_LOW: f64 = -1.8607069409690518e-17;
const SCORE_AT_ZERO: f64 = 1.2552160569843247;

impl InverseLink for Loglog {
    fn u(&self, z: f64) -> f64 {
        Cloglog.one_minus_u(-z)
    }

    fn derivative(&self, z: f64) -> f64 {
        Cloglog.derivative(-z)
    }

    fn u_inverse(&self, p: f64) -> f64 {
        -Cloglog.u_inverse_of_complement(p)
    }

    fn potential(&self, z: f64) -> f64 {
        Cloglog.upper_potential(-z)
    }

    // U* has one zero p₀ inside (0, 1); around it, U*(p) = (p - p₀) u⁻¹(p₀) + D_{U*}(p, p₀).
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            f64::NAN
        } else if (p - ZERO).abs() < 0.05 {
            ((p - ZERO) - ZERO_LOW) * SCORE_AT_ZERO + self.conjugate_divergence(p, ZERO)
        } else {
            Cloglog::conjugate_plus_euler(1.0 - p, p)
        }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("loglog")
    }

    fn one_minus_u(&self, z: f64) -> f64 {
        Cloglog.u(-z)
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        -Cloglog.u_inverse(q)
    }

    fn upper_potential(&self, z: f64) -> f64 {
        Cloglog.potential(-z)
    }

    fn divergence(&self, a: f64, b: f64) -> f64 {
        Cloglog.divergence(-a, -b)
    }
}
