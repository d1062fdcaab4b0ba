//! REFIT: the weights again, now under the learned link; kept as far as cross-validation likes it.
//!
//! ```text
//! w1, z1 = a few steps from w on mean loss(u(x.w)) + |w|^2 / (2 C n), for every fold and all rows
//! (none of it if all slopes of the link are within 6 % of the sigmoid's)
//! r = 1 / (1 + exp(score(LINK(z)) - score(LINK(z1)) + 1.5))
//! w <- (1 - r) w + r w1,  z <- (1 - r) z + r z1,  link <- LINK(z)       if r > .01
//! ```

use std::sync::Arc;

use super::curve::Curve;
use super::descent::{Reached, Stop, descend};
use super::metric::Hessian;
use super::passes::Passes;
use super::path::Path;
use crate::error::Result;
use crate::link::{RelativeLink, Sigmoid};
use crate::piecewise::PiecewiseAffine;

/// The doubt a refit has to overcome, in nats.
const DOUBT: f64 = 1.5;
/// Under a link with a slope ratio below this the weights come out as they went in (log-losses differ
/// by 3e-6): not worth two more links.
const LEAST_RATIO: f64 = 1.06;
/// A share of the refit below this is not worth another link.
const LEAST_SHARE: f64 = 0.01;
/// The likelihood under a learned link is not convex and over-fits: few steps from a good start.
const STOP: Stop = Stop { decrease: 1e-2, max_steps: 6 };

/// The loss under which the weights are fitted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refit {
    /// Log-loss of the probabilities of the learned link.
    #[default]
    Likelihood,
    /// The proper canonical loss of the learned link: convex, cheaper, a little weaker.
    Canonical,
    /// Keep the weights of the path.
    None,
}

impl Refit {
    /// The name used in model files, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likelihood => "likelihood",
            Self::Canonical => "canonical",
            Self::None => "none",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Likelihood, Self::Canonical, Self::None].into_iter().find(|kind| kind.name() == name)
    }
}

/// The weights under the link `v o sigma`, from the averaged path on. `None` if there is no refit,
/// or if the link is so near the sigmoid that it would change nothing.
pub(super) fn refit(
    passes: &Passes<'_>,
    path: &Path,
    v: PiecewiseAffine,
    kind: Refit,
) -> Result<Option<Reached>> {
    let link = RelativeLink::new(Arc::new(Sigmoid), v)?;
    if link.slope_ratio() < LEAST_RATIO {
        return Ok(None);
    }
    let curve = match kind {
        Refit::None => return Ok(None),
        Refit::Likelihood => Curve::Likelihood(&link),
        Refit::Canonical => Curve::Canonical(&link),
    };
    let lambda: Vec<f64> = passes.totals.iter().map(|n| 1.0 / (path.c * n)).collect();
    let metric = Hessian::at(passes, &curve, &path.w[passes.folds.count]).metric(&lambda);
    Ok(Some(descend(passes, &curve, &lambda, &metric, &path.w, STOP)))
}

/// `r` from the scores of the link before and after; 0 if it is too small to matter.
pub(super) fn share(before: f64, after: f64) -> f64 {
    let r = 1.0 / (1.0 + (before - after + DOUBT).exp());
    if r > LEAST_SHARE { r } else { 0.0 }
}

/// `a <- (1 - r) a + r b`.
pub(super) fn blend(r: f64, a: &mut [f64], b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += r * (b - *a));
}
