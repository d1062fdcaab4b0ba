// The front page: written in doc/front.tex.md, its formulas rendered as MathML by doc/render.py.
#![doc = include_str!("../doc/front.md")]
#![forbid(unsafe_code)]

#[cfg(test)]
#[path = "../tests/congruence/mod.rs"]
mod congruence;

pub mod bregman;
pub mod calibration_certificate;
pub mod certify;
pub mod chain;
pub mod design;
pub mod error;
pub(crate) mod linalg;
pub mod link;
pub mod loss;
pub mod metrics;
pub mod multiclass;
pub mod optimize;
pub(crate) mod options;
pub mod piecewise;
pub mod proper;
pub mod rows;
pub mod sample;
pub(crate) mod special;
pub mod train;

pub use error::{Error, Result};
pub use link::InverseLink;
pub use loss::{CanonicalLoss, CompositeLoss};
pub use proper::{Calibration, Calibrator, ProperFit, ProperLoss};
pub use sample::{Matrix, Sample};
pub use train::{Fit, Model};

/// The example of the crate's readme, compiled and run with the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
