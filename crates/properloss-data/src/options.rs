//! What a reader is told: the roles of the columns, the classes, the rule for missing values.

use std::path::PathBuf;

use properloss::options;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::read::Format;
use crate::source::Source;

/// What to do with a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Refuse it, naming its place.
    #[default]
    Error,
    /// Fill it with the mean of the column over the training data; for a categorical column, with
    /// the share of each category. The same numbers fill it at prediction.
    Mean,
    /// Leave the row out at training; at prediction a missing value is an error.
    Drop,
}

/// What to do at prediction with a category that did not occur at training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownCategory {
    /// Refuse it, naming its place.
    #[default]
    Error,
    /// Encode it as none of the known categories: all zeros.
    Zeros,
}

/// What is made of the label column when a file is encoded for a model that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelUse {
    /// Not read at all: prediction.
    #[default]
    Ignore,
    /// Read, and required: evaluation. Rows of classes that the model left out are left out.
    Require,
}

/// How the numbers of a table are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Storage {
    /// 4 bytes a value, rounded.
    F32,
    /// 8 bytes a value.
    #[default]
    F64,
}

options! {
    /// How to read a file of examples. The default reads a CSV file with a header whose last column is
    /// the label.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct ReadOptions {
        /// The format; by default found from the file.
        pub format: Option<Format> => with_format,
        /// The label column; by default the last one.
        pub label: Option<String> => with_label,
        /// The values of the negative class; see [`Self::positive`].
        pub negative: Vec<String> => with_negative,
        /// The values of the positive class. With neither list the file must have two label values, and
        /// the larger number (or the later text) is positive; with one list the other class is the one
        /// other value of the file; with both lists rows of other values are left out.
        pub positive: Vec<String> => with_positive,
        /// Whether three label values or more, with neither list, are classes of their own; if not, the
        /// third is an error.
        pub several: bool => with_several_classes = true,
        /// The column of example weights.
        pub weight: Option<String> => with_weight,
        /// Columns that are not features.
        pub ignore: Vec<String> => with_ignore,
        /// The one of the ignored columns that holds groups of rows, if one does.
        pub group: Option<String> => with_group,
        /// Columns to be treated as categories even if they hold numbers.
        pub categorical: Vec<String> => with_categorical,
        /// The rule for missing values.
        pub missing: Missing => with_missing,
        /// The texts that stand for a missing value.
        pub missing_words: Vec<String> => with_missing_words,
        /// The most categories that a column may have unless it is in [`Self::categorical`].
        pub max_categories: usize => with_max_categories,
        /// What stands between fields; by default a tab for `.tsv` and `.tab`, a comma otherwise.
        pub delimiter: Option<u8> => with_delimiter,
        /// Whether a text table starts with a line of names.
        pub header: bool => without_header = false,
        /// How tables are held in memory. (IDX images are `F32`, LibSVM rows sparse `f64`.)
        pub storage: Storage => with_storage,
        /// The bytes that reading may take; by default what the machine has free.
        pub memory: Option<u64> => with_memory,
        /// LibSVM: indices count from 0, not from 1.
        pub zero_based: bool => from_zero = true,
        /// LibSVM: the number of features; by default the largest index.
        pub features: Option<usize> => with_features,
        /// IDX: the label file; by default the one whose name belongs to the images.
        pub labels_file: Option<PathBuf> => with_labels_file,
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            label: None,
            negative: Vec::new(),
            positive: Vec::new(),
            several: false,
            weight: None,
            ignore: Vec::new(),
            group: None,
            categorical: Vec::new(),
            missing: Missing::Error,
            missing_words: default_missing_words(),
            max_categories: 256,
            delimiter: None,
            header: true,
            storage: Storage::F64,
            memory: None,
            zero_based: false,
            features: None,
            labels_file: None,
        }
    }
}

impl ReadOptions {
    /// The format of a file: the one given, else as its bytes and its name tell.
    pub fn format_of(&self, source: &Source) -> Result<Format> {
        self.format.map_or_else(|| Format::detect(source), Ok)
    }
}

/// The texts that stand for a missing value unless others are given.
pub(crate) fn default_missing_words() -> Vec<String> {
    ["", "NA", "N/A", "NaN", "nan", "null", "NULL"].map(String::from).to_vec()
}
