//! The canonical proper loss of an inverse link.

use std::sync::Arc;

use super::PartialLosses;
use crate::error::{Error, Result};
use crate::link::{InverseLink, is_probability};

/// The proper loss whose canonical link is `u⁻¹`: `ℓ(y, z) = U(z) + U*(y) - y z`.
///
/// It equals `D_U(z, u⁻¹(y))` at every score and `D_{U*}(y, u(z))` at scores inside the support of
/// `u`; outside, where `u` is 0 or 1, it is larger than the latter. Scores `z` are real, labels `y`
/// in `[0, 1]` (0 and 1, or soft labels in between); anything else gives NaN.
///
/// ```
/// use std::sync::Arc;
/// use properloss::{link::Sigmoid, loss::CanonicalLoss};
/// let log_loss = CanonicalLoss::new(Arc::new(Sigmoid))?;
/// assert_eq!(log_loss.loss(1.0, 0.0), std::f64::consts::LN_2);
/// assert_eq!(log_loss.gradient(1.0, 0.0), -0.5);
/// # Ok::<(), properloss::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct CanonicalLoss {
    link: Arc<dyn InverseLink>,
}

/// How far a loss is from symmetric, see [`CanonicalLoss::symmetry`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Symmetry {
    /// `u⁻¹(1/2)`, the score about which a symmetric link is symmetric.
    pub centre: f64,
    /// The largest `|u(centre + v) + u(centre - v) - 1|` found.
    pub largest_violation: f64,
    /// The `v` at which it was found.
    pub at: f64,
}

impl Symmetry {
    /// Symmetric up to rounding, `ℓ_1(p) = ℓ_0(1 - p)`.
    pub fn is_symmetric(&self) -> bool {
        // u and the rounded centre ± v, each good to a few ulp of numbers of size 1 where u varies.
        self.largest_violation <= 64.0 * f64::EPSILON * (1.0 + self.centre.abs())
    }
}

impl CanonicalLoss {
    /// The canonical loss of a link; an error if the link has none
    /// ([`Cauchy`](crate::link::Cauchy)).
    pub fn new(link: Arc<dyn InverseLink>) -> Result<Self> {
        if link.conjugate(0.0).is_finite() && link.conjugate(1.0).is_finite() {
            Ok(Self { link })
        } else {
            Err(Error::UnboundedLoss { link: link.spec().name() })
        }
    }

    /// The inverse link `u`.
    pub fn link(&self) -> &Arc<dyn InverseLink> {
        &self.link
    }

    /// `ℓ(y, z) = U(z) + U*(y) - y z`, as a sum of positive terms: `U(z)` for a negative,
    /// `∫_z^∞ (1 - u)` for a positive, `D_U(z, u⁻¹(y))` for a soft label.
    pub fn loss(&self, y: f64, z: f64) -> f64 {
        if y == 0.0 {
            self.link.potential(z)
        } else if y == 1.0 {
            self.link.upper_potential(z)
        } else {
            self.link.divergence(z, self.link.u_inverse(y))
        }
    }

    /// `∂ℓ/∂z = u(z) - y`.
    pub fn gradient(&self, y: f64, z: f64) -> f64 {
        if y == 1.0 {
            -self.link.one_minus_u(z)
        } else if is_probability(y) {
            self.link.u(z) - y
        } else {
            f64::NAN
        }
    }

    /// `∂²ℓ/∂z² = u'(z)`, the same for every label.
    pub fn curvature(&self, z: f64) -> f64 {
        self.link.derivative(z)
    }

    /// `ℓ_y(p) = D_{U*}(y, p)`: the loss of the probability `p`. `ℓ_0(p) = U(u⁻¹(p))` and
    /// `ℓ_1(p) = ∫_{u⁻¹(p)}^∞ (1 - u)`.
    pub fn partial_loss(&self, y: f64, p: f64) -> f64 {
        if y == 0.0 && is_probability(p) {
            self.link.potential(self.link.u_inverse(p))
        } else if y == 1.0 && is_probability(p) {
            self.link.upper_potential(self.link.u_inverse(p))
        } else {
            self.link.conjugate_divergence(y, p)
        }
    }

    /// The expected loss `π ℓ_1(p) + (1 - π) ℓ_0(p)` of saying `p` where the rate is `π`.
    pub fn conditional_risk(&self, pi: f64, p: f64) -> f64 {
        if !is_probability(pi) {
            return f64::NAN;
        }
        // 0 · ∞ = 0: an outcome that never happens costs nothing.
        let part = |rate: f64, y: f64| {
            if rate == 0.0 { 0.0 } else { rate * self.partial_loss(y, p) }
        };
        part(pi, 1.0) + part(1.0 - pi, 0.0)
    }

    /// The conditional Bayes risk `-U*(π)`, as the paper normalises it.
    ///
    /// The least expected loss `min_p` [`conditional_risk`](Self::conditional_risk)`(π, p)` differs
    /// from it by a term affine in `π`: it is `π U*(1) - U*(π)`, which vanishes at 0 and 1. For a
    /// symmetric link centred at 0 the two are the same.
    pub fn conditional_bayes_risk(&self, pi: f64) -> f64 {
        -self.link.conjugate(pi)
    }

    /// `F_u(z) = U(-z)`. Equals `loss(y, z)` as a function of the margin `±z` only if the loss is
    /// [symmetric](Self::symmetry) about 0; never train an asymmetric loss with it.
    pub fn surrogate(&self, z: f64) -> f64 {
        self.link.potential(-z)
    }

    /// The weight `w(c) = (U*)''(c) = 1/u'(u⁻¹(c))` of the integral representation
    /// `ℓ_1(p) = ∫_p^1 (1 - c) w(c) dc`, `ℓ_0(p) = ∫_0^p c w(c) dc`, for `c` in `(0, 1)`.
    pub fn weight(&self, c: f64) -> f64 {
        if c > 0.0 && c < 1.0 {
            1.0 / self.link.derivative(self.link.u_inverse(c))
        } else {
            f64::NAN
        }
    }

    /// How far the loss is from symmetric, `ℓ_1(p) = ℓ_0(1 - p)`, which is
    /// `u(c + v) = 1 - u(c - v)` with `c = u⁻¹(1/2)`.
    ///
    /// Looked for at every knot of a piecewise-affine link (where the largest violation lies), else
    /// on a grid of 1,001 quantiles.
    pub fn symmetry(&self) -> Symmetry {
        let link = &self.link;
        let centre = link.u_inverse(0.5);
        let mut worst = Symmetry { centre, largest_violation: 0.0, at: 0.0 };
        let mut look_at = |v: f64| {
            let violation = (link.u(centre + v) - link.one_minus_u(centre - v)).abs();
            if violation > worst.largest_violation {
                worst = Symmetry { centre, largest_violation: violation, at: v };
            }
        };
        match link.as_piecewise() {
            Some(piecewise) => piecewise.knots().x().iter().for_each(|z| look_at(z - centre)),
            None => (1..1000)
                .map(|i| link.u_inverse(f64::from(i) / 1000.0) - centre)
                .filter(|v| v.is_finite())
                .for_each(look_at),
        }
        worst
    }

    /// The two partial losses as functions of a probability.
    pub fn partial_losses(&self) -> PartialLosses<'_> {
        PartialLosses::new(|p| self.partial_loss(0.0, p), |p| self.partial_loss(1.0, p))
    }
}
