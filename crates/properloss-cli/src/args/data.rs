//! Options of the data: format, roles of the columns, classes, missing values.

use std::path::{Path, PathBuf};

use clap::Args;
use properloss_data::{Format, Missing, ReadOptions, Source, Storage, UnknownCategory};

use super::{Word, one_of};
use crate::failure::{Failure, Result};

/// How a file is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "File options")]
pub struct FileArgs {
    /// The format [default: found from the file].
    #[arg(long, value_parser = one_of(FORMATS))]
    pub format: Option<Format>,
    /// What stands between the fields of a text table: one character, or `tab`.
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<String>,
    /// The text table has no line of names; the columns are x1, x2, ...
    #[arg(long)]
    pub no_header: bool,
    /// LibSVM: indices count from 0.
    #[arg(long)]
    pub zero_based: bool,
    /// IDX: the label file [default: the one that belongs to the images].
    #[arg(long, value_name = "FILE")]
    pub labels_file: Option<PathBuf>,
    /// Hold tables in 4 bytes a value (rounded) instead of 8.
    #[arg(long)]
    pub single_precision: bool,
}

const FORMATS: &[Word<Format>] = &[
    ("csv", "Text with commas", Format::Csv),
    ("tsv", "Text with tabs", Format::Tsv),
    ("parquet", "Apache Parquet", Format::Parquet),
    ("libsvm", "`label index:value ...`", Format::Libsvm),
    ("idx", "The image format of MNIST", Format::Idx),
];

/// What to do with a category that did not occur at training.
#[derive(Debug, Clone, Copy, Args)]
pub struct UnknownArg {
    /// What to do with a category that did not occur at training; zeros are counted.
    #[arg(id = "unknown_category", long = "unknown-category", value_name = "UNKNOWN_CATEGORY")]
    #[arg(value_parser = one_of(UNKNOWN), default_value = "zeros")]
    pub rule: UnknownCategory,
}

const UNKNOWN: &[Word<UnknownCategory>] = &[
    ("error", "Refuse it, naming its place", UnknownCategory::Error),
    ("zeros", "Encode it as none of the known ones", UnknownCategory::Zeros),
];

/// The roles of the columns.
#[derive(Debug, Clone, Args)]
pub struct DataArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// The label column [default: the last one].
    #[arg(long, value_name = "COLUMN", help_heading = "Data options")]
    pub label: Option<String>,
    /// The label values of the positive class [default: the larger of two].
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', help_heading = "Data options")]
    pub positive: Vec<String>,
    /// The label values of the negative class; with both lists, other rows are left out.
    #[arg(long, value_name = "VALUE,...", value_delimiter = ',', help_heading = "Data options")]
    pub negative: Vec<String>,
    /// The column of example weights.
    #[arg(long, value_name = "COLUMN", help_heading = "Data options")]
    pub weight: Option<String>,
    /// Only the ratios of the weights count: they are scaled to mean 1. By default a weight of 2 is
    /// the row twice.
    #[arg(long, requires = "weight", help_heading = "Data options")]
    pub relative_weights: bool,
    /// The column of groups, such as customers: rows of one group stay together in every fold and
    /// split. It is no feature.
    #[arg(long, value_name = "COLUMN", help_heading = "Data options")]
    pub group: Option<String>,
    /// Columns that are no features; may be repeated.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', help_heading = "Data options")]
    pub ignore: Vec<String>,
    /// A column to treat as categories even if it holds numbers; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "Data options")]
    pub categorical: Vec<String>,
    /// What to do with a missing value.
    #[arg(long, value_parser = one_of(MISSING), default_value = "error")]
    #[arg(help_heading = "Data options")]
    pub missing: Missing,
    /// A text that stands for a missing value, instead of the usual ones; may be repeated.
    #[arg(long, value_name = "TEXT", help_heading = "Data options")]
    pub missing_word: Vec<String>,
    /// The most categories that a column may have unless it is named by --categorical.
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Data options")]
    pub max_categories: usize,
    /// LibSVM: the number of features [default: the largest index].
    #[arg(long, value_name = "N", help_heading = "Data options")]
    pub features: Option<usize>,
}

const MISSING: &[Word<Missing>] = &[
    ("error", "Refuse it, naming its place", Missing::Error),
    ("mean", "Fill it with the mean of the column", Missing::Mean),
    ("drop", "Leave the row out", Missing::Drop),
];

impl FileArgs {
    /// As the readers take it.
    pub fn options(&self) -> Result<ReadOptions> {
        let mut options = ReadOptions::default();
        options.format = self.format;
        options.delimiter = self.delimiter.as_deref().map(delimiter).transpose()?;
        options.header = !self.no_header;
        options.zero_based = self.zero_based;
        options.labels_file.clone_from(&self.labels_file);
        options.storage = if self.single_precision { Storage::F32 } else { Storage::F64 };
        options.memory = crate::memory::given();
        Ok(options)
    }
}

impl DataArgs {
    /// As the readers take it.
    pub fn options(&self) -> Result<ReadOptions> {
        let mut options = self.file.options()?;
        options.label.clone_from(&self.label);
        options.positive.clone_from(&self.positive);
        options.negative.clone_from(&self.negative);
        options.weight.clone_from(&self.weight);
        options.ignore.clone_from(&self.ignore);
        options.group.clone_from(&self.group);
        options.ignore.extend(self.group.iter().filter(|g| !self.ignore.contains(g)).cloned());
        options.categorical.clone_from(&self.categorical);
        options.missing = self.missing;
        if !self.missing_word.is_empty() {
            options.missing_words.clone_from(&self.missing_word);
        }
        options.max_categories = self.max_categories;
        options.features = self.features;
        Ok(options)
    }
}

fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(byte),
        _ => Err(Failure::usage(
            format!("--delimiter is {text:?}; it must be one ASCII character"),
            "for a tab, pass --delimiter tab",
        )),
    }
}

/// A file, or all of standard input for `-`.
pub fn source(path: &Path) -> Result<Source> {
    if path == Path::new("-") {
        Ok(Source::stdin(crate::memory::given())?)
    } else {
        Ok(Source::from(path))
    }
}
