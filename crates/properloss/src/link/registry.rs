//! The links that can be named. A link listed here runs the whole test battery.

use std::sync::Arc;

use super::{Cauchy, ClippedLine, Cloglog, InverseLink, Loglog, Matsushita, Probit, Sigmoid};
use crate::error::{Error, Result};

/// A parameter of a named link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The value taken when none is given.
    pub default: f64,
    /// What it means, in a few words.
    pub about: &'static str,
}

/// A named link.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LinkEntry {
    /// The name used in files and on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
    /// Parameter values besides the defaults with which the test battery runs.
    pub examples: &'static [&'static [f64]],
    build: fn(&[f64]) -> Result<Arc<dyn InverseLink>>,
}

impl LinkEntry {
    /// The link with these parameters; with the defaults if there are none.
    pub fn build(&self, params: &[f64]) -> Result<Arc<dyn InverseLink>> {
        if params.is_empty() {
            let defaults: Vec<f64> = self.parameters.iter().map(|p| p.default).collect();
            return (self.build)(&defaults);
        }
        if params.len() != self.parameters.len() {
            let names: Vec<&str> = self.parameters.iter().map(|p| p.name).collect();
            return Err(Error::ParameterCount {
                name: self.name,
                expected: self.parameters.len(),
                parameters: if names.is_empty() { "none".to_string() } else { names.join(", ") },
                given: params.len(),
            });
        }
        (self.build)(params)
    }
}

/// An entry of a link without parameters.
macro_rules! plain {
    ($name:literal, $about:literal, $link:expr) => {
        LinkEntry {
            name: $name,
            about: $about,
            parameters: &[],
            examples: &[],
            build: |_| Ok(Arc::new($link)),
        }
    };
}

static REGISTRY: &[LinkEntry] = &[
    plain!("sigmoid", "logistic; its canonical loss is log-loss", Sigmoid),
    LinkEntry {
        name: "clipped-line",
        about: "0 v (1 ^ (a z + b)); its canonical loss is square loss",
        parameters: &[
            Parameter { name: "a", default: 0.5, about: "slope, above 0" },
            Parameter { name: "b", default: 0.5, about: "value at score 0" },
        ],
        examples: &[&[1.0, 0.0], &[0.01, 0.9], &[3.0, -7.0]],
        build: |params| Ok(Arc::new(ClippedLine::new(params[0], params[1])?)),
    },
    plain!("matsushita", "(1 + z / sqrt(1 + z^2)) / 2; algebraic tails", Matsushita),
    plain!("probit", "the normal distribution function", Probit),
    plain!("cloglog", "complementary log-log, 1 - exp(-exp(z)); asymmetric", Cloglog),
    plain!("loglog", "log-log, exp(-exp(-z)); asymmetric", Loglog),
    plain!("cauchy", "1/2 + atan(z) / pi; heavy tails, no canonical loss", Cauchy),
];

/// Every named link.
pub fn registry() -> &'static [LinkEntry] {
    REGISTRY
}

/// The link of that name; no parameters means the defaults.
pub fn by_name(name: &str, params: &[f64]) -> Result<Arc<dyn InverseLink>> {
    match REGISTRY.iter().find(|entry| entry.name == name) {
        Some(entry) => entry.build(params),
        None => {
            let known: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
            Err(Error::UnknownLink { name: name.to_string(), known: known.join(", ") })
        }
    }
}
