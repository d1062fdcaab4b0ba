//! The questions, and what comes back.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use crate::design::{FittedScaling, Scaling, SpectralNorm};
use crate::error::{Error, Result};
use crate::link::InverseLink;
use crate::loss::LossKind;

/// A link inside a question: borrowed where the rows are here, rebuilt from its
/// [spec](crate::link::LinkSpec) where they are not.
#[derive(Debug, Clone)]
pub enum LinkRef<'q> {
    /// Of the one who asks.
    Borrowed(&'q dyn InverseLink),
    /// Of the question itself.
    Owned(Arc<dyn InverseLink>),
}

impl<'q> From<&'q dyn InverseLink> for LinkRef<'q> {
    fn from(link: &'q dyn InverseLink) -> Self {
        Self::Borrowed(link)
    }
}

impl<'q> Deref for LinkRef<'q> {
    type Target = dyn InverseLink + 'q;

    fn deref(&self) -> &(dyn InverseLink + 'q) {
        match self {
            Self::Borrowed(link) => *link,
            Self::Owned(link) => &**link,
        }
    }
}

/// Where predictions come from.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Predictions<'q> {
    /// The rows have them, from Step 3.
    Kept,
    /// `u(z)` at the scores.
    Of(LinkRef<'q>),
}

/// What can be asked. `X̃` are the scaled rows with their intercept, `ω` the weights over their sum.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Question<'q> {
    /// Fit this scaling and put it over the rows.
    Scale {
        /// Which.
        scaling: Scaling,
        /// Whether every row ends in a 1.
        intercept: bool,
    },
    /// `max |x̃_i|` over the rows of positive weight.
    MaxNorm,
    /// `λ_max(Σ ω x̃ x̃')`: rounds of `v ← Σ ω x̃ (x̃·v)`.
    SpectralNorm {
        /// Relative residual to reach.
        tolerance: f64,
        /// At most so many rounds.
        rounds: usize,
    },
    /// `z ← X̃ w`.
    Score {
        /// The weights.
        w: Cow<'q, [f64]>,
    },
    /// `q ← X̃ g`.
    Direct {
        /// The direction.
        g: Cow<'q, [f64]>,
    },
    /// `z ← z + η q`; the scores before are kept where someone asked to [`Keep`](Self::Keep) them.
    Advance {
        /// The step.
        eta: f64,
    },
    /// `u(z)` takes the place of the scores, as predictions.
    Predict {
        /// The link.
        link: LinkRef<'q>,
    },
    /// The scores are kept as what the next iteration needs of this one.
    Keep,
    /// `Σ ω (y - ŷ) x̃`.
    Gap {
        /// Where `ŷ` comes from.
        predictions: Predictions<'q>,
    },
    /// `Σ ω ℓ(y, z + η q)` under the canonical loss of a link.
    Loss {
        /// The link.
        link: LinkRef<'q>,
        /// The step.
        eta: f64,
    },
    /// Of a loss of a link at the scores: `Σ ω ℓ`, `Σ ω ℓ''`, and `Σ ω ℓ' x̃`. The rows keep their
    /// curvatures `h = ω ℓ''` for the four questions that follow.
    Terms {
        /// Which loss of the link.
        kind: LossKind,
        /// The link.
        link: LinkRef<'q>,
    },
    /// `Σ h x̃ x̃'`, row by row.
    Gram,
    /// `Σ h x̃_j²`.
    GramDiagonal,
    /// `Σ h x̃ (x̃·v)`; the rows keep `s = X̃ v`.
    GramProduct {
        /// The vector.
        v: Cow<'q, [f64]>,
    },
    /// `q ← q + t s`.
    Extend {
        /// The length `t`.
        length: f64,
    },
    /// `Σ ω x̃_j²`.
    SecondMoments,
    /// `Σ ω ℓ(z + t q)` and its derivative by `t`.
    Along {
        /// Which loss of the link.
        kind: LossKind,
        /// The link.
        link: LinkRef<'q>,
        /// The length.
        t: f64,
    },
    /// The least and the largest of `z + η q`.
    Reach {
        /// The step.
        eta: f64,
    },
    /// `Σ ω D_U(z + η q ‖ z)` for one or two steps, the larger first, under the piecewise link that the
    /// rows were placed on.
    Divergences {
        /// The link.
        link: LinkRef<'q>,
        /// One or two steps.
        etas: Cow<'q, [f64]>,
    },
    /// `Σ ω u(z + η q)`.
    MeanPrediction {
        /// The link.
        link: LinkRef<'q>,
        /// The step.
        eta: f64,
    },
}

/// What comes back: of a size that does not grow with the rows.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Answer {
    /// It is done.
    Done,
    /// A sum over the rows.
    Sum(Vec<f64>),
    /// A largest value.
    Largest(f64),
    /// A least and a largest value.
    Range(f64, f64),
    /// A fitted scaling.
    Scaling(FittedScaling),
    /// Estimate, upper bound, rounds.
    SpectralNorm(f64, f64, usize),
}

impl Answer {
    /// The answer of two parts, this one first.
    pub fn merge(self, next: Self) -> Result<Self> {
        Ok(match (self, next) {
            (Self::Done, Self::Done) => Self::Done,
            (Self::Sum(mut a), Self::Sum(b)) if a.len() == b.len() => {
                a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
                Self::Sum(a)
            }
            (Self::Largest(a), Self::Largest(b)) => Self::Largest(a.max(b)),
            (Self::Range(a, b), Self::Range(c, d)) => Self::Range(a.min(c), b.max(d)),
            _ => return Err(Error::WrongAnswer { expected: "two of a kind that can be merged" }),
        })
    }

    pub(super) fn done(self) -> Result<()> {
        match self {
            Self::Done | Self::Scaling(_) => Ok(()),
            _ => Err(Error::WrongAnswer { expected: "done" }),
        }
    }

    /// A sum.
    pub fn vector(self) -> Result<Vec<f64>> {
        match self {
            Self::Sum(sum) => Ok(sum),
            _ => Err(Error::WrongAnswer { expected: "a sum" }),
        }
    }

    /// The numbers of a sum.
    pub fn numbers<const N: usize>(self) -> Result<[f64; N]> {
        <[f64; N]>::try_from(self.vector()?).map_err(|_| Error::WrongAnswer { expected: "as many" })
    }

    pub(super) fn number(self) -> Result<f64> {
        match self {
            Self::Largest(value) => Ok(value),
            sum => sum.numbers::<1>().map(|[value]| value),
        }
    }

    pub(super) fn range(self) -> Result<(f64, f64)> {
        match self {
            Self::Range(least, largest) => Ok((least, largest)),
            _ => Err(Error::WrongAnswer { expected: "a range" }),
        }
    }

    pub(super) fn spectral_norm(self) -> Result<SpectralNorm> {
        match self {
            Self::SpectralNorm(estimate, upper_bound, iterations) => {
                Ok(SpectralNorm { estimate, upper_bound, iterations })
            }
            _ => Err(Error::WrongAnswer { expected: "a spectral norm" }),
        }
    }
}

#[cfg(feature = "serde")]
mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    use super::LinkRef;
    use crate::link::LinkSpec;

    impl Serialize for LinkRef<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.spec().serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for LinkRef<'_> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let link = LinkSpec::deserialize(deserializer)?.build().map_err(D::Error::custom)?;
            Ok(Self::Owned(link))
        }
    }
}
