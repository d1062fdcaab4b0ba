//! The link of a file: a built-in one by name, or a learned one by its knots.

use properloss::link::LinkSpec;
use serde::{Deserialize, Serialize};

/// The JSON form of the core's [`LinkSpec`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "LinkSpec", tag = "kind", rename_all = "kebab-case")]
pub(super) enum Link {
    Builtin {
        name: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        params: Vec<f64>,
    },
    Piecewise {
        z: Vec<f64>,
        u: Vec<f64>,
    },
    Isotonic {
        z: Vec<f64>,
        u: Vec<f64>,
    },
    Relative {
        #[serde(with = "boxed")]
        base: Box<LinkSpec>,
        p: Vec<f64>,
        v: Vec<f64>,
    },
}

/// The base of a relative link has the same form.
mod boxed {
    use serde::{Deserializer, Serializer};

    use super::{Link, LinkSpec};

    pub fn serialize<S: Serializer>(base: &LinkSpec, to: S) -> Result<S::Ok, S::Error> {
        Link::serialize(base, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Box<LinkSpec>, D::Error> {
        Link::deserialize(from).map(Box::new)
    }
}

/// The core builds the link, and so checks all of it.
pub(super) fn check(link: &LinkSpec) -> Result<(), (String, String)> {
    link.build().map(drop).map_err(|error| ("link".into(), error.to_string()))
}
