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
use properloss_data::split::{Split, last_rows, train_test};
use properloss_data::{Dataset, ReadOptions, UnknownCategory, read};

use crate::args::source;
use crate::failure::Result;
use crate::output::Talk;
use crate::progress::Progress;

/// Reads labelled examples.
fn load(path: &Path, options: &ReadOptions, talk: Talk) -> Result<Dataset> {
    let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
    let dataset = read(&source(path)?, options)?;
    if let Some(words) = label_words(&dataset, options) {
        talk.say(words);
    }
    identifier_words(&dataset, talk);
    Ok(dataset)
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
        share: TestShare,
        seed: u64,
        unknown: UnknownCategory,
        options: &ReadOptions,
        talk: Talk,
    ) -> Result<Self> {
        if let Some(path) = test {
            let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
            let test = read_encoded(&source(path)?, &dataset.encoder, unknown, options)?;
            unknown_words(test.description.unknown_categories, talk);
            return Ok(Self { train: dataset, test: Some(test) });
        }
        let split = match share {
            TestShare { any: Some(share), .. } => train_test(&dataset.labels, share, seed),
            TestShare { last: Some(share), .. } => last_rows(&dataset.labels, share),
            _ => return Ok(Self { train: dataset, test: None }),
        };
        let Split { train, test } = split.map_err(|error| with_class_name(error, &dataset))?;
        Ok(Self { train: dataset.select(&train), test: Some(dataset.select(&test)) })
    }
}

/// The share of the rows that a test gets: any of them, or the last ones.
#[derive(Debug, Clone, Copy)]
struct TestShare {
    any: Option<f64>,
    last: Option<f64>,
}

/// Says how many values were not known at training, if any.
fn unknown_words(count: u64, talk: Talk) {
    if count > 0 {
        talk.say(format!(
            "warning: {count} value(s) are categories that did not occur at training, encoded as none \
             of the known ones (--unknown-category error names the first)"
        ));
    }
}

/// `label "employed" (last column)`.
fn label_words(dataset: &Dataset, options: &ReadOptions) -> Option<String> {
    let name = dataset.encoder.label.as_ref()?.column.as_ref()?;
    let how = if options.label.is_some() { "" } else { " (last column)" };
    Some(format!("label {name:?}{how}"))
}

/// Asks about columns of whole numbers that are all different: identifiers are no features.
fn identifier_words(dataset: &Dataset, talk: Talk) {
    let rows = dataset.rows();
    let names = dataset.encoder.feature_names();
    if rows < 20 || names.len() != dataset.columns() {
        return;
    }
    let mut row = vec![0.0; dataset.columns()];
    let mut left: Vec<usize> = (0..names.len()).collect();
    for i in 0..rows {
        if left.is_empty() {
            return;
        }
        dataset.features.copy_row(i, &mut row);
        left.retain(|&j| row[j].fract() == 0.0 && row[j].abs() < 9e15);
    }
    for j in left {
        let mut values: Vec<i64> = Vec::with_capacity(rows);
        for i in 0..rows {
            dataset.features.copy_row(i, &mut row);
            values.push(row[j] as i64);
        }
        values.sort_unstable();
        if values.windows(2).all(|pair| pair[0] != pair[1]) {
            talk.say(format!(
                "warning: column {0:?} holds a different whole number in every row: is it an \
                 identifier? Leave it out with --ignore {0:?}",
                names[j]
            ));
        }
    }
}

/// A plot is an SVG file; another extension is refused before anything is computed.
fn check_plot(path: Option<&Path>) -> Result<()> {
    check_extension(path, &["svg"], "plots are SVG: end its name in .svg")
}

/// Refuses an output whose name promises another format than the one that is written.
fn check_extension(path: Option<&Path>, known: &[&str], hint: &str) -> Result<()> {
    const TELLING: [&str; 13] = [
        "png", "jpg", "jpeg", "pdf", "gif", "svg", "parquet", "pq", "xlsx", "feather", "arrow",
        "gz", "html",
    ];
    let Some(path) = path else { return Ok(()) };
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    if TELLING.contains(&extension.as_str()) && !known.contains(&extension.as_str()) {
        let message = format!("{}: not written as .{extension}", path.display());
        return Err(crate::failure::Failure::user(message, hint));
    }
    Ok(())
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
