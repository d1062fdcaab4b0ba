//! Learn a binary classifier *together with its loss*, among proper losses only.
#![forbid(unsafe_code)]

pub mod chain;
pub mod error;
pub mod link;
pub mod piecewise;

pub use error::{Error, Result};
