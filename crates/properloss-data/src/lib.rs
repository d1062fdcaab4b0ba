//! Files for properloss: readers of examples, synthetic data, splits, model and loss files.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@read`] | a file of any format to a [`Dataset`], or row by row for prediction |
//! | [`table`] | CSV, TSV and Parquet as rows of named columns |
//! | [`encoder`] | columns to features: numbers, one-hot categories, fills; kept in the model |
//! | [`idx`] | MNIST's image format |
//! | [`synthetic`], [`random`] | examples with known probabilities, from a stream that never changes |
//! | [`split`], [`groups`] | stratified train/test splits and folds; those that keep groups together |
//! | [`model_file`] | model and loss files, version 1; of several classes, version 2 |
//! | [`memory`] | what reading may take, and the limits that no file passes |
//! | [`training`], [`checkpoint`] | a method run on rows in memory; its state in a file |
//! | [`atomic`] | outputs that appear whole or not at all |
#![forbid(unsafe_code)]

pub mod atomic;
pub mod checkpoint;
mod collected;
mod dataset;
pub mod date;
mod encode_row;
pub mod encoder;
pub mod error;
mod examples;
pub mod export;
mod fit_encoder;
pub mod fit_memory;
pub mod groups;
pub mod idx;
pub mod labels;
mod libsvm;
pub mod memory;
pub mod model_file;
pub mod options;
pub mod random;
pub mod read;
pub mod source;
mod sparse_columns;
pub mod split;
pub mod stream;
pub mod synthetic;
pub mod table;
pub mod training;
mod write_csv;

pub use atomic::{AtomicFile, write_atomically};
pub use dataset::{ClassDataset, ClassLabel, DataDescription, Dataset, Features, LabelledRows};
pub use encoder::Encoder;
pub use error::{Error, Result};
pub use examples::Examples;
pub use labels::Classes;
pub use model_file::{LossFile, ModelFile};
pub use options::{LabelUse, Missing, ReadOptions, Storage, UnknownCategory};
pub use read::{Format, read, read_examples};
pub use source::Source;
pub use write_csv::write_csv;
