//! The commands, one file each.

pub mod calibrate;
pub mod compare;
pub mod completions;
#[cfg(feature = "download")]
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod manual;
pub mod predict;
pub mod report;
pub mod synth;
pub mod transfer;

use std::path::Path;

use properloss_data::read::read_encoded;
use properloss_data::split::{Split, train_test};
use properloss_data::{Dataset, ReadOptions, UnknownCategory, read};

use crate::args::source;
use crate::failure::Result;
use crate::output::Talk;
use crate::progress::Progress;

/// Reads labelled examples.
fn load(path: &Path, options: &ReadOptions, talk: Talk) -> Result<Dataset> {
    let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
    Ok(read(&source(path)?, options)?)
}

/// Training rows, and test rows if any were asked for.
struct Parts {
    train: Dataset,
    test: Option<Dataset>,
}

impl Parts {
    /// All rows to train; the test rows are another file's, or a share of these.
    fn new(
        dataset: Dataset,
        test: Option<&Path>,
        test_share: Option<f64>,
        seed: u64,
        options: &ReadOptions,
        talk: Talk,
    ) -> Result<Self> {
        if let Some(path) = test {
            let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
            let rule = UnknownCategory::Zeros;
            let test = read_encoded(&source(path)?, &dataset.encoder, rule, options)?;
            return Ok(Self { train: dataset, test: Some(test) });
        }
        let Some(share) = test_share else { return Ok(Self { train: dataset, test: None }) };
        let split = train_test(&dataset.labels, share, seed);
        let Split { train, test } = split.map_err(|error| with_class_name(error, &dataset))?;
        Ok(Self { train: dataset.select(&train), test: Some(dataset.select(&test)) })
    }
}

/// `455 rows, 30 features, 170 of "malignant"`.
fn described(dataset: &Dataset) -> String {
    format!(
        "{} rows, {} features, {} of class {:?}",
        dataset.rows(),
        dataset.columns(),
        dataset.positives(),
        dataset.classes[1],
    )
}

/// A split knows the classes as 0 and 1 only.
fn with_class_name(error: properloss_data::Error, dataset: &Dataset) -> properloss_data::Error {
    match error {
        properloss_data::Error::TooFewRows { class, count, needed } => {
            let class = dataset.classes[usize::from(class == "1")].clone();
            properloss_data::Error::TooFewRows { class, count, needed }
        }
        error => error,
    }
}
