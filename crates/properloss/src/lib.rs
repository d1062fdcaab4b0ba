//! Learn a binary classifier *together with its loss*, among proper losses only.
#![forbid(unsafe_code)]

pub mod design;
pub mod error;
pub mod link;
pub mod piecewise;
pub mod sample;

pub use error::{Error, Result};
