//! Rows to train on and rows to test on, of two classes or of several.

use properloss_data::groups::{fold_of_row, grouped_folds, grouped_train_test};
use properloss_data::read::read_encoded_examples;
use properloss_data::split::{Split, folds, last_rows, train_test};
use properloss_data::training::Training;
use properloss_data::{
    ClassDataset, ClassLabel, Dataset, Error, Examples, LabelledRows, ReadOptions,
};

use super::unknown_words;
use crate::args::{TestArgs, source};
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;

/// Labels whose rows the commands read.
pub(super) trait Labelled: ClassLabel {
    /// Examples that were encoded for a model of as many classes.
    fn of(examples: Examples) -> Result<LabelledRows<Self>>;
}

impl Labelled for u8 {
    fn of(examples: Examples) -> Result<Dataset> {
        Ok(examples.two()?)
    }
}

impl Labelled for u32 {
    fn of(examples: Examples) -> Result<ClassDataset> {
        match examples {
            Examples::Several(dataset) => Ok(dataset),
            Examples::Two(_) => Err(Failure::internal("two classes for a model of several")),
        }
    }
}

/// Training rows with their groups, and test rows if any were asked for.
pub(super) struct Parts<L: Labelled = u8> {
    pub(super) train: LabelledRows<L>,
    pub(super) groups: Option<Vec<u32>>,
    pub(super) test: Option<LabelledRows<L>>,
}

impl<L: Labelled> Parts<L> {
    /// All rows to train; the test rows are another file's, or a share of these.
    pub(super) fn new(
        dataset: LabelledRows<L>,
        groups: Option<Vec<u32>>,
        args: &TestArgs,
        options: &ReadOptions,
        talk: Talk,
    ) -> Result<Self> {
        if let Some(path) = &args.file {
            let _progress = Progress::spinner(talk, &format!("reading {}", path.display()));
            let (rule, encoder) = (args.unknown.rule, &dataset.encoder);
            let test = L::of(read_encoded_examples(&source(path)?, encoder, rule, options)?)?;
            unknown_words(test.description.unknown_categories, talk);
            return Ok(Self { train: dataset, groups, test: Some(test) });
        }
        let (labels, classes) = (&dataset.labels, dataset.classes.as_ref().len());
        let split = match (args.share, args.last, &groups) {
            (Some(share), _, None) => train_test(labels, share, args.seed),
            (Some(share), _, Some(groups)) => grouped_train_test(labels, groups, share, args.seed),
            (None, Some(share), _) => last_rows(labels, classes, share),
            (None, None, _) => return Ok(Self { train: dataset, groups, test: None }),
        };
        let Split { train, test } = split.map_err(|error| with_class_name(error, &dataset))?;
        let groups = groups.map(|groups| train.iter().map(|&row| groups[row]).collect());
        Ok(Self { train: dataset.select(&train), groups, test: Some(dataset.select(&test)) })
    }
}

/// Rows to train on and rows to measure on, with their groups.
pub(super) struct Round<L: Labelled = u8> {
    pub train: LabelledRows<L>,
    pub groups: Option<Vec<u32>>,
    pub test: LabelledRows<L>,
    pub test_groups: Option<Vec<u32>>,
}

impl<L: Labelled> Round<L> {
    /// Without groups.
    pub fn new(train: LabelledRows<L>, test: LabelledRows<L>) -> Self {
        Self { train, groups: None, test, test_groups: None }
    }

    /// The rounds of a comparison: the test that was asked for, or folds.
    pub fn all(
        dataset: LabelledRows<L>,
        groups: Option<Vec<u32>>,
        k: Option<usize>,
        args: &TestArgs,
        options: &ReadOptions,
        talk: Talk,
    ) -> Result<Vec<Self>> {
        if !args.is_given() {
            return Self::folded(&dataset, groups.as_deref(), k.unwrap_or(5), args.seed);
        }
        let Parts { train, groups, test } = Parts::new(dataset, groups, args, options, talk)?;
        let round = |test| Self { train, groups, test, test_groups: None };
        Ok(test.map(round).into_iter().collect())
    }

    /// The training and test rows of each fold.
    pub fn folded(
        dataset: &LabelledRows<L>,
        groups: Option<&[u32]>,
        k: usize,
        seed: u64,
    ) -> Result<Vec<Self>> {
        let of = |rows: &[usize]| groups.map(|groups| rows.iter().map(|&i| groups[i]).collect());
        let round = |Split { train, test }: Split| Self {
            groups: of(&train),
            test_groups: of(&test),
            train: dataset.select(&train),
            test: dataset.select(&test),
        };
        let splits = match groups {
            None => folds(&dataset.labels, k, seed),
            Some(groups) => grouped_folds(&dataset.labels, groups, k, seed),
        };
        let splits = splits.map_err(|e| with_class_name(e, dataset))?;
        Ok(splits.into_iter().map(round).collect())
    }
}

/// The trainer with folds that keep groups together, if there are groups and it cross-validates.
pub(super) fn grouped(
    trainer: Training,
    rows: &Dataset,
    groups: Option<&[u32]>,
    seed: u64,
) -> Result<Training> {
    let (Some(groups), Some(count)) = (groups, trainer.folds()) else { return Ok(trainer) };
    let folds = fold_of_row(&rows.labels, groups, count, seed)
        .map_err(|error| with_class_name(error, rows))?;
    Ok(trainer.with_folds(Some(folds)))
}

/// Splits know classes by their numbers; people by their names.
fn with_class_name(error: Error, dataset: &LabelledRows<impl Labelled>) -> Error {
    let named = |class: String| {
        let number = class.parse::<usize>().ok();
        number.and_then(|k| dataset.classes.as_ref().get(k).cloned()).unwrap_or(class)
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
