//! Rows to train on and rows to test on, of two classes or of several.

use std::path::Path;

use properloss_data::groups::{grouped_train_test, grouped_train_test_of_classes};
use properloss_data::read::read_encoded;
use properloss_data::split::{
    Split, last_rows, last_rows_of_classes, train_test, train_test_of_classes,
};
use properloss_data::{ClassDataset, Dataset, Error, ReadOptions, Source, UnknownCategory};

use super::several::read_labelled;
use super::unknown_words;
use crate::args::source;
use crate::failure::Result;
use crate::output::Talk;
use crate::progress::Progress;

/// The share of the rows that a test gets: any of them, or the last ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestShare {
    pub(super) any: Option<f64>,
    pub(super) last: Option<f64>,
}

/// Labelled rows that can be divided.
pub(super) trait Labelled: Sized {
    /// Other rows, encoded as these.
    fn read_alike(
        &self,
        data: &Source,
        unknown: UnknownCategory,
        options: &ReadOptions,
    ) -> Result<Self>;
    /// Values that belong to no known category.
    fn unknown_categories(&self) -> u64;
    /// The rows of a test and the others; `None` if no test was asked for.
    fn divided(
        &self,
        share: TestShare,
        groups: Option<&[u32]>,
        seed: u64,
    ) -> Option<std::result::Result<Split, Error>>;
    /// The chosen rows.
    fn chosen(&self, rows: &[usize]) -> Self;
    /// The names of the classes.
    fn class_names(&self) -> &[String];
}

impl Labelled for Dataset {
    fn read_alike(&self, data: &Source, unknown: UnknownCategory, o: &ReadOptions) -> Result<Self> {
        Ok(read_encoded(data, &self.encoder, unknown, o)?)
    }

    fn unknown_categories(&self) -> u64 {
        self.description.unknown_categories
    }

    fn divided(
        &self,
        share: TestShare,
        groups: Option<&[u32]>,
        seed: u64,
    ) -> Option<std::result::Result<Split, Error>> {
        Some(match (share.any, share.last, groups) {
            (Some(share), _, None) => train_test(&self.labels, share, seed),
            (Some(share), _, Some(groups)) => grouped_train_test(&self.labels, groups, share, seed),
            (None, Some(share), _) => last_rows(&self.labels, share),
            (None, None, _) => return None,
        })
    }

    fn chosen(&self, rows: &[usize]) -> Self {
        self.select(rows)
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }
}

impl Labelled for ClassDataset {
    fn read_alike(&self, data: &Source, unknown: UnknownCategory, o: &ReadOptions) -> Result<Self> {
        read_labelled(data, &self.encoder, unknown, o)
    }

    fn unknown_categories(&self) -> u64 {
        self.description.unknown_categories
    }

    fn divided(
        &self,
        share: TestShare,
        groups: Option<&[u32]>,
        seed: u64,
    ) -> Option<std::result::Result<Split, Error>> {
        let labels = &self.labels;
        Some(match (share.any, share.last, groups) {
            (Some(share), _, None) => train_test_of_classes(labels, share, seed),
            (Some(share), _, Some(groups)) => {
                grouped_train_test_of_classes(labels, groups, share, seed)
            }
            (None, Some(share), _) => last_rows_of_classes(labels, self.classes.len(), share),
            (None, None, _) => return None,
        })
    }

    fn chosen(&self, rows: &[usize]) -> Self {
        self.select(rows)
    }

    fn class_names(&self) -> &[String] {
        &self.classes
    }
}

/// Training rows with their groups, and test rows if any were asked for.
pub(super) struct Parts<D = Dataset> {
    pub(super) train: D,
    pub(super) groups: Option<Vec<u32>>,
    pub(super) test: Option<D>,
}

impl<D: Labelled> Parts<D> {
    /// All rows to train; the test rows are another file's, or a share of these.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        dataset: D,
        groups: Option<Vec<u32>>,
        test: Option<&Path>,
        share: TestShare,
        seed: u64,
        unknown: UnknownCategory,
        options: &ReadOptions,
        talk: Talk,
    ) -> Result<Self> {
        if let Some(path) = test {
            let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
            let test = dataset.read_alike(&source(path)?, unknown, options)?;
            unknown_words(test.unknown_categories(), talk);
            return Ok(Self { train: dataset, groups, test: Some(test) });
        }
        let Some(split) = dataset.divided(share, groups.as_deref(), seed) else {
            return Ok(Self { train: dataset, groups, test: None });
        };
        let Split { train, test } = split.map_err(|error| with_class_name(error, &dataset))?;
        let groups = groups.map(|groups| train.iter().map(|&row| groups[row]).collect());
        Ok(Self { train: dataset.chosen(&train), groups, test: Some(dataset.chosen(&test)) })
    }
}

/// Splits know classes by their numbers; people by their names.
pub(super) fn with_class_name(error: Error, dataset: &impl Labelled) -> Error {
    let named = |class: String| {
        let number = class.parse::<usize>().ok();
        number.and_then(|k| dataset.class_names().get(k).cloned()).unwrap_or(class)
    };
    match error {
        Error::TooFewRows { class, count, needed } => {
            Error::TooFewRows { class: named(class), count, needed }
        }
        Error::ClassInFewGroups { class, found, needed } => {
            Error::ClassInFewGroups { class: named(class), found, needed }
        }
        error => error,
    }
}
