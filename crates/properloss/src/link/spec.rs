//! A plain description of a link, from which it can be built again.

use std::sync::Arc;

use super::{InverseLink, IsotonicLink, PiecewiseLink, RelativeLink, by_name};
use crate::error::Result;
use crate::piecewise::PiecewiseAffine;

/// What a file stores of a link: a name and parameters, or the knots.
///
/// Plain data without a serialisation library; [`LinkSpec::build`] checks everything.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
pub enum LinkSpec {
    /// A link of the [registry](super::registry).
    Builtin {
        /// Its name there.
        name: String,
        /// Its parameters, in the registry's order; empty for the defaults.
        params: Vec<f64>,
    },
    /// A learned link: knots `(z_k, u_k)` from `u = 0` to `u = 1`.
    Piecewise {
        /// Scores, strictly increasing.
        z: Vec<f64>,
        /// Probabilities, strictly increasing from 0 to 1.
        u: Vec<f64>,
    },
    /// A link with flat pieces, as SLIsotron learns: knots `(z_k, u_k)` from `u = 0` to `u = 1`.
    Isotonic {
        /// Scores, strictly increasing.
        z: Vec<f64>,
        /// Probabilities, nondecreasing from 0 to 1.
        u: Vec<f64>,
    },
    /// `u = v ∘ base`: knots `(p_k, v_k)` of `v` on `[0, 1]`.
    Relative {
        /// The base link.
        base: Box<LinkSpec>,
        /// Probabilities of the base link, strictly increasing from 0 to 1.
        p: Vec<f64>,
        /// Probabilities of the composed link, strictly increasing inside `[0, 1]`.
        v: Vec<f64>,
    },
}

impl LinkSpec {
    /// A link of the registry without parameters.
    pub fn builtin(name: &str) -> Self {
        LinkSpec::Builtin { name: name.to_string(), params: Vec::new() }
    }

    /// The link itself; every error of its constructor is passed on.
    pub fn build(&self) -> Result<Arc<dyn InverseLink>> {
        match self {
            LinkSpec::Builtin { name, params } => by_name(name, params),
            LinkSpec::Piecewise { z, u } => {
                Ok(Arc::new(PiecewiseLink::from_knots(z.clone(), u.clone())?))
            }
            LinkSpec::Isotonic { z, u } => Ok(Arc::new(IsotonicLink::new(z.clone(), u.clone())?)),
            LinkSpec::Relative { base, p, v } => {
                let v = PiecewiseAffine::new(p.clone(), v.clone())?;
                Ok(Arc::new(RelativeLink::new(base.build()?, v)?))
            }
        }
    }

    /// Short name for messages: `sigmoid`, `piecewise`, `relative to probit`, ...
    pub fn name(&self) -> String {
        match self {
            LinkSpec::Builtin { name, .. } => name.clone(),
            LinkSpec::Piecewise { .. } => "piecewise".to_string(),
            LinkSpec::Isotonic { .. } => "isotonic".to_string(),
            LinkSpec::Relative { base, .. } => format!("relative to {}", base.name()),
        }
    }
}

/// The learned links are stored as their spec, and checked again when they are read.
#[cfg(feature = "serde")]
mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    use super::{InverseLink, IsotonicLink, LinkSpec, PiecewiseLink};

    macro_rules! stored {
        ($link:ty, $kind:ident, $build:expr) => {
            impl Serialize for $link {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    self.spec().serialize(serializer)
                }
            }

            impl<'de> Deserialize<'de> for $link {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    match LinkSpec::deserialize(deserializer)? {
                        LinkSpec::$kind { z, u } => $build(z, u).map_err(D::Error::custom),
                        other => Err(D::Error::custom(format!("a link that is {}", other.name()))),
                    }
                }
            }
        };
    }

    stored!(PiecewiseLink, Piecewise, PiecewiseLink::from_knots);
    stored!(IsotonicLink, Isotonic, IsotonicLink::new);
}
