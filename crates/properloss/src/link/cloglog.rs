//! The complementary log-log link: asymmetric, slow at 0 and fast at 1.

use super::{InverseLink, LinkSpec, is_probability};
use crate::bregman;
use crate::special::exp_double;
use crate::special::expint::{EULER, ein, scaled_e1};

/// `u(z) = 1 - exp(-e^z)`.
///
/// With `t = e^z`: `U(z) = Ein(t) = E_1(t) + ln t + γ`, `∫_z^∞ (1 - u) = E_1(t)`, and with
/// `x = -ln(1 - p)`: `U*(p) = p ln x - Ein(x)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cloglog;

/// `exp(-e^z)`. A rounded `t = e^z` would cost `t` ulp, so for `t > 1` it is taken to 20 digits.
fn survival(z: f64) -> f64 {
    if z <= 0.0 {
        (-z.exp()).exp()
    } else if z > 7.0 {
        0.0 // e^7 > 745.2, where e^{-t} is zero in f64
    } else {
        let t = exp_double(z);
        (-t.hi).exp() * (1.0 - t.lo)
    }
}

/// `ln x` for `x = -ln q`, given both. Where it vanishes, at `q = 1/e`, as
/// `ln(1 - ln(1 + w))`, `w = e q - 1` rounded once.
fn ln_of_minus_ln(x: f64, q: f64) -> f64 {
    const E_LOW: f64 = 1.4456468917292502e-16;
    let w = std::f64::consts::E.mul_add(q, -1.0) + E_LOW * q;
    if w.abs() < 0.3 { (-w.ln_1p()).ln_1p() } else { x.ln() }
}

impl Cloglog {
    /// `u⁻¹(p)` and `x = -ln(1 - p)`, from `p` and `q = 1 - p`, the smaller of which is exact.
    fn inverse(p: f64, q: f64) -> (f64, f64) {
        let x = if p < q { -(-p).ln_1p() } else { -q.ln() };
        (ln_of_minus_ln(x, q), x)
    }

    /// `U*(p)` plus the constant `γ`, which the log-log link needs without it.
    pub(super) fn conjugate_plus_euler(p: f64, q: f64) -> f64 {
        if q == 0.0 {
            return 0.0;
        }
        if p == 0.0 {
            return EULER;
        }
        let (z, x) = Self::inverse(p, q);
        if x < 1.0 { EULER + (p * z - ein(x)) } else { -(q * z + q * scaled_e1(x)) }
    }
}

impl InverseLink for Cloglog {
    fn u(&self, z: f64) -> f64 {
        -(-z.exp()).exp_m1()
    }

    // t e^{-t}.
    fn derivative(&self, z: f64) -> f64 {
        let survival = survival(z);
        if survival == 0.0 { 0.0 } else { z.exp() * survival }
    }

    fn u_inverse(&self, p: f64) -> f64 {
        if is_probability(p) { Self::inverse(p, 1.0 - p).0 } else { f64::NAN }
    }

    fn potential(&self, z: f64) -> f64 {
        if z < 0.0 {
            ein(z.exp())
        } else {
            let survival = survival(z);
            z + EULER + if survival == 0.0 { 0.0 } else { survival * scaled_e1(z.exp()) }
        }
    }

    // For x < 1 both terms of p ln x - Ein(x) are negative; for x > 1 those of
    // -(1 - p) ln x - E_1(x) - γ are, and E_1(x) = (1 - p) e^x E_1(x).
    fn conjugate(&self, p: f64) -> f64 {
        if !is_probability(p) {
            return f64::NAN;
        }
        if p == 0.0 {
            return 0.0;
        }
        let q = 1.0 - p;
        if q == 0.0 {
            return -EULER;
        }
        let (z, x) = Self::inverse(p, q);
        if x < 1.0 { p * z - ein(x) } else { -(q * z + q * scaled_e1(x) + EULER) }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec::builtin("cloglog")
    }

    fn one_minus_u(&self, z: f64) -> f64 {
        survival(z)
    }

    fn u_inverse_of_complement(&self, q: f64) -> f64 {
        if is_probability(q) { Self::inverse(1.0 - q, q).0 } else { f64::NAN }
    }

    // E_1(t) = Ein(t) - ln t - γ for t < 1.
    fn upper_potential(&self, z: f64) -> f64 {
        if z < 0.0 {
            ein(z.exp()) - z - EULER
        } else {
            let survival = survival(z);
            if survival == 0.0 { 0.0 } else { survival * scaled_e1(z.exp()) }
        }
    }

    // u' = e^{z - t} varies on the scale 1/(1 + t).
    fn divergence(&self, a: f64, b: f64) -> f64 {
        bregman::smooth_divergence(self, a, b, 0.5 / (1.0 + b.exp()))
    }
}
