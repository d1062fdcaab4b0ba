//! The one proper loss that goes with a link: canonical where that is finite, else composite.

use std::sync::Arc;

use super::{CanonicalLoss, CompositeLoss, PartialLosses};
use crate::link::{InverseLink, Sigmoid};

/// Which of the two losses of a link is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum LossKind {
    /// The loss whose own link it is, `ℓ(y, z) = U(z) + U*(y) - y z`: convex in the score.
    Canonical,
    /// Log-loss under the link, `-y log u(z) - (1 - y) log(1 - u(z))`: bounded below by 0 for every
    /// link, proper, not convex in general.
    Composite,
}

impl LossKind {
    /// The kind of the loss that goes with a link: canonical where that is finite.
    pub fn of(link: &dyn InverseLink) -> Self {
        if link.conjugate(0.0).is_finite() && link.conjugate(1.0).is_finite() {
            Self::Canonical
        } else {
            Self::Composite
        }
    }

    /// `canonical` or `composite`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Composite => "composite",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Canonical, Self::Composite].into_iter().find(|kind| kind.name() == name)
    }
}

/// A proper loss of scores: the canonical loss of a link, or log-loss under it.
///
/// ```
/// use std::sync::Arc;
/// use properloss::link::{Cauchy, Sigmoid};
/// use properloss::loss::{Loss, LossKind};
/// assert_eq!(Loss::of_link(Arc::new(Sigmoid)).kind(), LossKind::Canonical);
/// let heavy_tails = Loss::of_link(Arc::new(Cauchy));
/// assert_eq!(heavy_tails.kind(), LossKind::Composite);
/// assert_eq!(heavy_tails.loss(1.0, 0.0), std::f64::consts::LN_2);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub enum Loss {
    /// Of the link itself.
    Canonical(CanonicalLoss),
    /// Log-loss under the link.
    Composite(CompositeLoss),
}

impl Loss {
    /// The loss that goes with a link: the canonical one where it is finite, else log-loss under it.
    pub fn of_link(link: Arc<dyn InverseLink>) -> Self {
        match CanonicalLoss::new(link.clone()) {
            Ok(loss) => Self::Canonical(loss),
            Err(_) => Self::composite(link),
        }
    }

    /// Log-loss under a link: the likelihood of that generalised linear model.
    pub fn composite(link: Arc<dyn InverseLink>) -> Self {
        let log_loss = Arc::new(super::LinkGenerator(Arc::new(Sigmoid)));
        Self::Composite(CompositeLoss::from_generator(log_loss, link))
    }

    /// Which of the two it is.
    pub fn kind(&self) -> LossKind {
        match self {
            Self::Canonical(_) => LossKind::Canonical,
            Self::Composite(_) => LossKind::Composite,
        }
    }

    /// Its kind and the reason, in one sentence.
    pub fn why(&self) -> String {
        let link = self.link();
        if let Self::Canonical(_) = self {
            return "canonical: the loss whose own link this is; it is finite, since the link \
                    reaches 0 and 1"
                .into();
        }
        let (low, high) = (link.u(f64::NEG_INFINITY), link.u(f64::INFINITY));
        let because = match LossKind::of(&**link) {
            LossKind::Canonical => "as it was asked for".to_owned(),
            LossKind::Composite if low > 0.0 || high < 1.0 => format!(
                "because the link stays between {low:.4} and {high:.4}, where its canonical loss \
                 would have no lower bound"
            ),
            LossKind::Composite => "because the link nears 0 and 1 so slowly that its canonical \
                                    loss would be infinite"
                .into(),
        };
        format!("composite: log-loss under this link, {because}")
    }

    /// The inverse link `u`.
    pub fn link(&self) -> &Arc<dyn InverseLink> {
        match self {
            Self::Canonical(loss) => loss.link(),
            Self::Composite(loss) => loss.link(),
        }
    }

    /// `ℓ(y, z)`.
    pub fn loss(&self, y: f64, z: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.loss(y, z),
            Self::Composite(loss) => loss.loss(y, z),
        }
    }

    /// `∂ℓ/∂z`.
    pub fn gradient(&self, y: f64, z: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.gradient(y, z),
            Self::Composite(loss) => loss.gradient(y, z),
        }
    }

    /// The curvature of training: `∂²ℓ/∂z²` of a canonical loss, its expectation over labels of rate
    /// `u(z)` (Fisher's) of a composite one. Not negative, the same for both labels.
    pub fn curvature(&self, z: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.curvature(z),
            Self::Composite(loss) => loss.expected_curvature(z),
        }
    }

    /// `ℓ_y(p)`: what the forecast `p` costs.
    pub fn partial_loss(&self, y: f64, p: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.partial_loss(y, p),
            Self::Composite(loss) => loss.partial_loss(y, p),
        }
    }

    /// The weight `w(c)` of the integral representation `ℓ_1(p) = ∫_p^1 (1 - c) w(c) dc`.
    pub fn weight(&self, c: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.weight(c),
            Self::Composite(_) if !(c > 0.0 && c < 1.0) => f64::NAN,
            Self::Composite(loss) => loss.generator().weight(c),
        }
    }

    /// `-F(π)`, the least expected loss where the rate is `π`, up to a term affine in `π`.
    pub fn conditional_bayes_risk(&self, pi: f64) -> f64 {
        match self {
            Self::Canonical(loss) => loss.conditional_bayes_risk(pi),
            Self::Composite(loss) => -loss.generator().value(pi),
        }
    }

    /// The two partial losses as functions of a probability.
    pub fn partial_losses(&self) -> PartialLosses<'_> {
        PartialLosses::new(|p| self.partial_loss(0.0, p), |p| self.partial_loss(1.0, p))
    }
}
