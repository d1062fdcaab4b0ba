//! The log-log link: the mirror image of the complementary log-log link.

use super::{Cloglog, InverseLink, LinkSpec, is_probability};

/// `u(z) = exp(-e^{-z})`, that is `1 - c(-z)` where `c` is [`Cloglog`].
///
/// `U(z) = E_1(e^{-z})` and `U*(p) = γ + C*(1 - p)`, with `C` the potential of [`Cloglog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loglog;

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

    fn conjugate(&self, p: f64) -> f64 {
        if is_probability(p) { Cloglog::conjugate_plus_euler(1.0 - p, p) } else { f64::NAN }
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
