//! The link of a file: a built-in one by name, or a learned one by its knots.

use serde::{Deserialize, Serialize};

/// A link as plain data; the JSON form of the core's link description.
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

    /// What is wrong, as the field and the reason; `field` is the path of this link.
    pub(super) fn check(&self, field: &str) -> Result<(), (String, String)> {
        match self {
            Self::Builtin { params, .. } => finite(&format!("{field}.params"), params),
            Self::Piecewise { z, u } => {
                knots((&format!("{field}.z"), z), (&format!("{field}.u"), u))?;
                ends(&format!("{field}.u"), u)
            }
            Self::Relative { base, p, v } => {
                base.check(&format!("{field}.base"))?;
                knots((&format!("{field}.p"), p), (&format!("{field}.v"), v))?;
                ends(&format!("{field}.p"), p)?;
                if v[0] < 0.0 || v[v.len() - 1] > 1.0 {
                    return Err((format!("{field}.v"), "it leaves [0, 1]".into()));
                }
                Ok(())
            }
        }
    }
}

/// Every value finite.
pub(super) fn finite(field: &str, values: &[f64]) -> Result<(), (String, String)> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(k) => Err((format!("{field}[{k}]"), format!("{} is not finite", values[k]))),
    }
}

/// Two sequences of the same length >= 2, both strictly increasing.
fn knots(first: (&str, &[f64]), second: (&str, &[f64])) -> Result<(), (String, String)> {
    for (field, values) in [first, second] {
        finite(field, values)?;
        if values.len() < 2 {
            return Err((field.to_owned(), format!("{} values; 2 are needed", values.len())));
        }
        if let Some(k) = values.windows(2).position(|pair| pair[0] >= pair[1]) {
            let reason = format!("{} comes after {}", values[k + 1], values[k]);
            return Err((format!("{field}[{}]", k + 1), reason));
        }
    }
    let (length, other) = (second.1.len(), first.1.len());
    if length != other {
        let reason = format!("{length} values, but {} has {other}", first.0);
        return Err((second.0.to_owned(), reason));
    }
    Ok(())
}

fn ends(field: &str, values: &[f64]) -> Result<(), (String, String)> {
    let (first, last) = (values[0], values[values.len() - 1]);
    if first == 0.0 && last == 1.0 {
        return Ok(());
    }
    Err((field.to_owned(), format!("runs from {first} to {last}, not from 0 to 1")))
}
