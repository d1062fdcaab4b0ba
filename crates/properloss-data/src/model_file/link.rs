//! The link of a file: a built-in one by name, or a learned one by its knots.

use properloss::link::LinkSpec;
use serde::{Deserialize, Serialize};

/// A link as plain data: the JSON form of the core's [`LinkSpec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Link {
    /// A built-in link.
    Builtin {
        /// Its name.
        name: String,
        /// Its parameters, in the order of the link; empty for the defaults.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        params: Vec<f64>,
    },
    /// A learned link: straight lines through the knots `(z_k, u_k)`, 0 to the left, 1 to the right.
    Piecewise {
        /// Scores, strictly increasing.
        z: Vec<f64>,
        /// Probabilities, strictly increasing from 0 to 1.
        u: Vec<f64>,
    },
    /// The same with flat pieces, as plain isotonic regression makes them.
    Isotonic {
        /// Scores, strictly increasing.
        z: Vec<f64>,
        /// Probabilities, nondecreasing from 0 to 1.
        u: Vec<f64>,
    },
    /// A learned correction of another link: `u(z) = v(base(z))`, `v` straight lines through the
    /// knots `(p_k, v_k)`.
    Relative {
        /// The other link.
        base: Box<Link>,
        /// Probabilities of the base, strictly increasing from 0 to 1.
        p: Vec<f64>,
        /// Probabilities, strictly increasing inside [0, 1].
        v: Vec<f64>,
    },
}

impl Link {
    /// A built-in link with its default parameters.
    pub fn builtin(name: &str) -> Self {
        Self::Builtin { name: name.to_owned(), params: Vec::new() }
    }

    /// The core's description, from which the link itself is built.
    pub fn spec(&self) -> LinkSpec {
        match self.clone() {
            Self::Builtin { name, params } => LinkSpec::Builtin { name, params },
            Self::Piecewise { z, u } => LinkSpec::Piecewise { z, u },
            Self::Isotonic { z, u } => LinkSpec::Isotonic { z, u },
            Self::Relative { base, p, v } => {
                LinkSpec::Relative { base: Box::new(base.spec()), p, v }
            }
        }
    }

    /// The core builds the link, and so checks all of it.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        match self.spec().build() {
            Ok(_) => Ok(()),
            Err(error) => Err(("link".into(), error.to_string())),
        }
    }
}

impl From<LinkSpec> for Link {
    fn from(spec: LinkSpec) -> Self {
        match spec {
            LinkSpec::Builtin { name, params } => Self::Builtin { name, params },
            LinkSpec::Piecewise { z, u } => Self::Piecewise { z, u },
            LinkSpec::Isotonic { z, u } => Self::Isotonic { z, u },
            LinkSpec::Relative { base, p, v } => {
                Self::Relative { base: Box::new(Self::from(*base)), p, v }
            }
        }
    }
}
