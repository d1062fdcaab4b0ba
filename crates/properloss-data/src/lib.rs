//! Files for properloss: readers of examples, synthetic data, splits, model and loss files.
//!
//! | module | what it holds |
//! |---|---|
//! | [`read`] | a file of any format to a [`Dataset`], or row by row for prediction |
//! | [`table`] | CSV, TSV and Parquet as rows of named columns |
//! | [`encoder`] | columns to features: numbers, one-hot categories, fills; kept in the model |
//! | [`idx`] | MNIST's image format |
#![forbid(unsafe_code)]

pub mod dataset;
pub mod encoder;
pub mod error;
mod fit_encoder;
pub mod idx;
pub mod labels;
mod libsvm;
pub mod options;
pub mod read;
pub mod source;
pub mod table;

pub use dataset::{DataDescription, Dataset, Features};
pub use encoder::Encoder;
pub use error::{Error, Result};
pub use labels::Classes;
pub use options::{LabelUse, Missing, ReadOptions, Storage, UnknownCategory};
pub use read::{Format, read};
pub use source::Source;
