// The front page: written in doc/front.tex.md, its formulas rendered as MathML by doc/render.py.
#![doc = include_str!("../doc/front.md")]
#![forbid(unsafe_code)]

pub mod bregman;
pub mod calibration_certificate;
pub mod certify;
pub mod chain;
pub mod design;
pub mod error;
pub mod link;
pub mod loss;
pub mod metrics;
pub mod multiclass;
pub mod optimize;
pub mod piecewise;
pub mod proper;
pub mod rows;
pub mod sample;
pub(crate) mod special;
pub mod train;

pub use error::{Error, Result};
