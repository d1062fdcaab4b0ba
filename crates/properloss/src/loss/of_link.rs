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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Cauchy, Probit, RelativeLink};
    use crate::piecewise::PiecewiseAffine;

    fn floored() -> Arc<dyn InverseLink> {
        let v = PiecewiseAffine::new(vec![0.0, 1.0], vec![0.125, 0.75]).unwrap();
        Arc::new(RelativeLink::new(Arc::new(Sigmoid), v).unwrap())
    }

    /// The canonical loss of the sigmoid is log-loss, and so is the composite one of any link.
    #[test]
    fn both_kinds_of_the_sigmoid_are_log_loss() {
        for loss in [Loss::of_link(Arc::new(Sigmoid)), Loss::composite(Arc::new(Sigmoid))] {
            for z in [-3.0_f64, -0.5, 0.0, 2.0] {
                let p = 1.0 / (1.0 + (-z).exp());
                let close =
                    |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b} at {z}, {loss:?}");
                close(loss.loss(1.0, z), -p.ln());
                close(loss.loss(0.0, z), -(1.0 - p).ln());
                close(loss.gradient(1.0, z), p - 1.0);
                close(loss.gradient(0.0, z), p);
                close(loss.gradient(0.25, z), p - 0.25);
                close(loss.curvature(z), p * (1.0 - p));
                close(loss.partial_loss(1.0, p), -p.ln());
                close(loss.partial_loss(0.0, p), -(1.0 - p).ln());
                close(loss.weight(p) * p * (1.0 - p), 1.0);
                close(loss.conditional_bayes_risk(p), -p * p.ln() - (1.0 - p) * (1.0 - p).ln());
                close(loss.partial_losses().risk(0.25, p), -0.25 * p.ln() - 0.75 * (1.0 - p).ln());
            }
            for c in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
                assert!(loss.weight(c).is_nan(), "{c}");
            }
        }
    }

    /// Log-loss under another link: slopes by differences, Fisher's curvature by its formula.
    #[test]
    fn composite_slopes() {
        let loss = Loss::of_link(Arc::new(Cauchy));
        let link = loss.link().clone();
        for z in [-4.0, -0.3, 0.0, 1.0, 6.0] {
            let h = 1e-5;
            for y in [0.0, 1.0] {
                let difference = (loss.loss(y, z + h) - loss.loss(y, z - h)) / (2.0 * h);
                assert!((loss.gradient(y, z) - difference).abs() < 1e-9, "{y} {z}");
            }
            let (p, slope) = (link.u(z), link.derivative(z));
            let fisher = slope * slope / (p * (1.0 - p));
            assert!((loss.curvature(z) - fisher).abs() < 1e-14, "{z}");
        }
    }

    #[test]
    fn the_kind_and_its_reason() {
        let kind = |link: Arc<dyn InverseLink>| (LossKind::of(&*link), Loss::of_link(link).kind());
        let (canonical, composite) = (LossKind::Canonical, LossKind::Composite);
        assert_eq!(kind(Arc::new(Probit)), (canonical, canonical));
        assert_eq!(kind(Arc::new(Cauchy)), (composite, composite));
        assert_eq!(kind(floored()), (composite, composite));
        // One end alone is enough to be without a canonical loss.
        for (low, high, said) in
            [(0.0, 0.75, "0.0000 and 0.7500"), (0.125, 1.0, "0.1250 and 1.0000")]
        {
            let v = PiecewiseAffine::new(vec![0.0, 1.0], vec![low, high]).unwrap();
            let link: Arc<dyn InverseLink> =
                Arc::new(RelativeLink::new(Arc::new(Sigmoid), v).unwrap());
            assert_eq!(LossKind::of(&*link), composite, "{low} {high}");
            let why = Loss::of_link(link).why();
            assert!(why.contains(&format!("stays between {said}")), "{why}");
        }
        let why = |loss: Loss| loss.why();
        assert!(
            why(Loss::of_link(Arc::new(Probit))).starts_with("canonical: the loss whose own link")
        );
        assert!(why(Loss::composite(Arc::new(Probit))).ends_with("as it was asked for"));
        assert!(why(Loss::of_link(Arc::new(Cauchy))).contains("nears 0 and 1 so slowly"));
        assert!(why(Loss::of_link(floored())).contains("stays between 0.1250 and 0.7500"));
        for kind in [canonical, composite] {
            assert_eq!(LossKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(LossKind::from_name("xyzzy"), None);
        assert_eq!((canonical.name(), composite.name()), ("canonical", "composite"));
    }
}
