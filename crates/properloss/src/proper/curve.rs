//! The loss of one row as a function of its score: what a pass over the data sums up.

use super::relative::RelativeTable;
use crate::link::InverseLink;

/// Loss, and its derivative in the score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub loss: f64,
    pub slope: f64,
}

/// Which loss is minimised over the weights.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curve<'a> {
    /// `log(1 + e^z) - y z`: log-loss under the sigmoid.
    Logistic,
    /// `-y log u(z) - (1 - y) log(1 - u(z))`: log-loss under a learned link. Not convex.
    Likelihood(&'a dyn InverseLink),
    /// The same, under a link relative to the sigmoid.
    Relative(&'a RelativeTable),
    /// `U(z) - y z`: the proper canonical loss of a learned link. Convex.
    Canonical(&'a dyn InverseLink),
}

/// Probabilities nearer to 0 or 1 than this count as this near in a quotient.
pub(super) const LEAST: f64 = 1e-300;

impl Curve<'_> {
    /// Loss and slope of a row with label `y` at score `z`.
    pub(super) fn at(&self, z: f64, y: f64) -> Point {
        match self {
            Self::Logistic => logistic(z, y),
            // d/dz of the log-loss: -u'/u for a positive, u'/(1 - u) for a negative.
            Self::Likelihood(link) => {
                let derivative = link.derivative(z);
                if y > 0.5 {
                    let u = link.u(z).max(LEAST);
                    Point { loss: -u.ln(), slope: -derivative / u }
                } else {
                    let v = link.one_minus_u(z).max(LEAST);
                    Point { loss: -v.ln(), slope: derivative / v }
                }
            }
            Self::Relative(table) => table.at(z, y),
            Self::Canonical(link) => {
                Point { loss: link.potential(z) - y * z, slope: link.u(z) - y }
            }
        }
    }

    /// Expected second derivative of the loss in the score: `u'^2 / (u (1 - u))` for a likelihood
    /// (Fisher information), `u'` for a canonical loss.
    pub(super) fn curvature(&self, z: f64) -> f64 {
        match self {
            Self::Logistic => {
                let e = (-z.abs()).exp();
                e / ((1.0 + e) * (1.0 + e))
            }
            Self::Likelihood(link) => {
                let derivative = link.derivative(z);
                derivative * derivative / (link.u(z) * link.one_minus_u(z)).max(LEAST)
            }
            Self::Relative(table) => table.curvature(z),
            Self::Canonical(link) => link.derivative(z),
        }
    }
}

/// `log(1 + e^z) - y z` and `sigma(z) - y`, from one exponential that cannot overflow.
#[inline]
pub(super) fn logistic(z: f64, y: f64) -> Point {
    let e = (-z.abs()).exp();
    let near = 1.0 / (1.0 + e);
    let sigma = if z >= 0.0 { near } else { e * near };
    Point { loss: z.max(0.0) - y * z + e.ln_1p(), slope: sigma - y }
}
