//! One error type for the crate; every variant carries the place and the value that caused it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::memory::shown_bytes;

/// `Result` with the crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a file something was found. It prints as `train.csv, line 12, column "age"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or a name such as `standard input`.
    pub file: PathBuf,
    /// The line (text files) or row (binary files), counted from 1.
    pub position: Option<Position>,
    /// The name of the column.
    pub column: Option<String>,
}

/// A line of a text file or a row of a binary one, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Line of a text file; the header is line 1.
    Line(u64),
    /// Row of a file without lines.
    Row(u64),
}

impl Place {
    /// A whole file.
    pub fn file(file: &Path) -> Self {
        Self { file: file.to_path_buf(), position: None, column: None }
    }

    /// A line or row of a file.
    pub fn at(file: &Path, position: Position) -> Self {
        Self { file: file.to_path_buf(), position: Some(position), column: None }
    }

    /// The same place, narrowed to a column.
    #[must_use]
    pub fn column(mut self, name: &str) -> Self {
        self.column = Some(name.to_owned());
        self
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(position) = self.position {
            write!(f, ", {position}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column \"{column}\"")?;
        }
        Ok(())
    }
}

/// What can go wrong between a file and the memory.
///
/// `Display` says what was found and where; [`Error::hint`] says what to do about it, with the names
/// of the command line's options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named by the message above them")]
pub enum Error {
    /// A checkpoint is damaged, or of another run.
    #[error("{}: this checkpoint cannot be taken up: {reason}", file.display())]
    Checkpoint {
        /// The checkpoint.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The file does not exist.
    #[error("{}: no such file", file.display())]
    FileNotFound { file: PathBuf },
    /// The operating system refused to read.
    #[error("{}: cannot read: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    /// The operating system refused to write.
    #[error("{}: cannot write: {source}", file.display())]
    Write { file: PathBuf, source: std::io::Error },
    /// One of several files that does not belong to the others.
    #[error("{}: it cannot be read after {}: {reason}", file.display(), first.display())]
    OtherPart { file: PathBuf, first: PathBuf, reason: String },
    /// A format that is not read in blocks.
    #[error("{}: the rows cannot be streamed: {reason}", file.display())]
    NoBlocks { file: PathBuf, reason: String },
    /// A file of blocks that was made from other data, or in another way.
    #[error("{}: this cache does not belong to the command: {reason}", file.display())]
    StaleCache { file: PathBuf, reason: String },
    /// A file of blocks that is damaged.
    #[error("{}: the file of blocks cannot be used: {reason}", directory.display())]
    Cache { directory: PathBuf, reason: String },
    /// More memory than may be used.
    #[error(
        "{place}: reading it takes {}{}, but {} may be used",
        if *so_far { "more than " } else { "" }, shown_bytes((*needed).min(if *so_far { *budget } else { u64::MAX })), shown_bytes(*budget)
    )]
    Memory { place: Box<Place>, needed: u64, budget: u64, so_far: bool },
    /// A fit that would take more than the budget.
    #[error(
        "fitting {method} takes about {} beside the rows, but {} may be used",
        shown_bytes(*needed), shown_bytes(*budget)
    )]
    FitMemory { method: String, needed: u64, budget: u64 },
    /// A line, field or number longer than any file needs.
    #[error("{place}: {what} is longer than the limit of {limit}")]
    TooLong { place: Place, what: &'static str, limit: String },
    /// More columns than a text table may have.
    #[error("{place}: more than {limit} columns")]
    TooManyColumns { place: Place, limit: usize },
    /// A model of numbered columns, given a table or images.
    #[error("{}: the model is of {columns} numbered sparse columns, which only a LibSVM file carries", file.display())]
    SparseModel { file: PathBuf, columns: usize },
    /// Nothing in the file.
    #[error("{}: the file is empty", file.display())]
    EmptyFile { file: PathBuf },
    /// A header, and no row under it.
    #[error("{}: no data row", file.display())]
    NoRows { file: PathBuf },
    /// Every row was left out.
    #[error("{}: no row is left: {rows} read, {dropped} dropped for missing values, {other_class} of other classes", file.display())]
    NoRowsLeft { file: PathBuf, rows: u64, dropped: u64, other_class: u64 },
    /// No reader for this file name and content.
    #[error("{}: cannot tell the format of the file", file.display())]
    UnknownFormat { file: PathBuf },
    /// A reader for this format was not built in.
    #[error("{}: this build has no reader for {format}", file.display())]
    FormatNotBuilt { file: PathBuf, format: &'static str },

    /// A compressed file that stops in the middle.
    #[error("{}: the gzip data is cut short", file.display())]
    TruncatedGzip { file: PathBuf },
    /// Compressed data that does not decode.
    #[error("{}: the gzip data is damaged: {reason}", file.display())]
    DamagedGzip { file: PathBuf, reason: String },
    /// Bytes that are not UTF-8 text.
    #[error("{place}: not valid UTF-8 text")]
    NotUtf8 { place: Place },

    /// A column of the header without a name.
    #[error("{place}: column number {number} has no name")]
    UnnamedColumn { place: Place, number: usize },
    /// A name that stands twice in the header.
    #[error("{place}: the header names the column twice (columns number {first} and {second})")]
    DuplicateColumn { place: Place, first: usize, second: usize },
    /// A header made of numbers.
    #[error("{place}: the header looks like data: every name is a number")]
    HeaderIsData { place: Place },
    /// A header with one column only, whose name holds another usual delimiter.
    #[error("{place}: the header holds one column only, {name:?}")]
    OneColumn { place: Place, name: String, delimiter: char },
    /// A row with more or fewer fields than the header.
    #[error("{place}: {found} field(s), but the header has {expected}")]
    RaggedRow { place: Place, found: usize, expected: usize },
    /// A column that was asked for by name.
    #[error("{}: there is no {role} column {name:?}; the file has {}", file.display(), list(available))]
    NoSuchColumn { file: PathBuf, role: &'static str, name: String, available: Vec<String> },
    /// A column asked for by name in a format without names.
    #[error("{}: a {format} file has no named columns, so there is no {role} column", file.display())]
    NoColumns { file: PathBuf, format: &'static str, role: &'static str },
    /// A column named for two roles.
    #[error("column {name:?} cannot be the {first} column and the {second} column at once")]
    RoleClash { name: String, first: &'static str, second: &'static str },
    /// Nothing to learn from.
    #[error("{}: no feature column is left", file.display())]
    NoFeatures { file: PathBuf },

    /// A text among numbers.
    #[error("{place}: {value:?} is not a number ({numbers} of {values} values of the column are)")]
    TextInNumericColumn { place: Place, value: String, numbers: u64, values: u64 },
    /// A text in a column that was numeric at training time.
    #[error("{place}: {value:?} is not a number")]
    NotANumber { place: Place, value: String },
    /// An infinite value.
    #[error("{place}: {value:?} is not finite")]
    NotFinite { place: Place, value: String },
    /// A number outside [0, 1] for a calibrator of probabilities.
    #[error("{place}: {value} is not a probability")]
    NotAProbability { place: Place, value: f64 },
    /// An empty field, or one of the words for "missing".
    #[error("{place}: missing value{}", shown(value))]
    MissingValue { place: Place, value: String },
    /// A missing value at prediction, for a model that has no rule for it.
    #[error("{place}: missing value{}, and the model has no rule to fill it", shown(value))]
    MissingAtPrediction { place: Place, value: String },
    /// A column without a single value.
    #[error("{place}: every value is missing")]
    AllMissing { place: Place },
    /// Text of too many different values.
    #[error("{place}: more than {limit} different texts in {rows} rows; is it an identifier?")]
    TooManyCategories { place: Place, limit: usize, rows: u64 },
    /// A category that was not there at training time.
    #[error("{place}: {value:?} was not among the categories at training time: {}", list(known))]
    UnknownCategory { place: Place, value: String, known: Vec<String> },

    /// One value only in the label column.
    #[error("{place}: only one class, {class:?}; two are needed")]
    OneClass { place: Place, class: String },
    /// Three or more values in the label column.
    #[error("{place}: {:?} is a third class, after {:?} and {:?}", classes[2], classes[0], classes[1])]
    TooManyClasses { place: Place, classes: Box<[String; 3]>, by_default: bool },
    /// A label column whose values are no classes.
    #[error("{place}: {values} different values in {rows} rows are no classes: {why}")]
    NoClasses { place: Place, values: usize, rows: u64, why: &'static str, by_default: bool },
    /// A class that was asked for, but does not occur.
    #[error("{place}: no row of class {class:?}; the file has {}", list(found))]
    NoSuchClass { place: Place, class: String, found: Vec<String> },
    /// A class on both sides.
    #[error("class {class:?} is named both negative and positive")]
    ClassOnBothSides { class: String },
    /// A label that the model does not know.
    #[error("{place}: {value:?} is not a class of the model, which has {}", list(known))]
    UnknownLabel { place: Place, value: String, known: Vec<String> },
    /// A weight that is negative.
    #[error("{place}: the weight {value} is negative")]
    NegativeWeight { place: Place, value: f64 },
    /// No weight is positive.
    #[error("{place}: every weight of class {class:?} is zero")]
    ZeroWeights { place: Place, class: String },

    /// Columns of the model that the file lacks.
    #[error("{}: {} column(s) of the model are not in the file: {}", file.display(), missing.len(), list(missing))]
    MissingColumns { file: PathBuf, missing: Vec<String>, available: Vec<String> },
    /// A file with another number of features than the model.
    #[error("{place}: {found} features, but the model has {expected}")]
    FeatureCount { place: Place, found: usize, expected: usize },
    /// A format that cannot carry what the model needs.
    #[error("{}: the model encodes the column {column:?}, which {format} cannot carry", file.display())]
    CategoricalModel { file: PathBuf, column: String, format: &'static str },

    /// A LibSVM field that is not `index:value`.
    #[error("{place}: {field:?} is not an index:value pair")]
    BadPair { place: Place, field: String },
    /// A LibSVM index out of order.
    #[error("{place}: index {index} comes after {previous}; indices must increase")]
    IndexOrder { place: Place, index: u64, previous: u64 },
    /// A LibSVM index below the first one, or too large.
    #[error("{place}: index {index} is outside {first}..={last}")]
    IndexRange { place: Place, index: u64, first: u64, last: u64 },
    /// A ranking file.
    #[error("{place}: {field:?}: ranking files (qid) are not supported")]
    Qid { place: Place, field: String },

    /// Not an IDX file.
    #[error("{}: not an IDX file: it starts with bytes {found:02x?}", file.display())]
    NotIdx { file: PathBuf, found: Vec<u8> },
    /// An IDX file of the wrong sort.
    #[error("{}: expected {expected}, found an IDX file of {found}", file.display())]
    WrongIdx { file: PathBuf, expected: &'static str, found: String },
    /// An IDX file that stops in the middle, or goes on after its end.
    #[error("{}: the header promises {expected} bytes of data, the file holds {found}", file.display())]
    IdxLength { file: PathBuf, expected: u64, found: u64 },
    /// Images and labels of different number.
    #[error("{} has {images} images, but {} has {labels} labels", images_file.display(), labels_file.display())]
    IdxCounts { images_file: PathBuf, images: usize, labels_file: PathBuf, labels: usize },
    /// Images without labels beside them.
    #[error("{}: no label file beside it ({} does not exist)", images_file.display(), labels_file.display())]
    NoIdxLabels { images_file: PathBuf, labels_file: PathBuf },

    /// A Parquet file that does not decode.
    #[error("{}: not a readable Parquet file: {reason}", file.display())]
    Parquet { file: PathBuf, reason: String },
    /// A Parquet column of a type that is neither number nor text.
    #[error("{place}: values of type {kind} cannot be used")]
    ParquetType { place: Place, kind: String },

    /// Text that is not JSON.
    #[error("{}, line {line}, column {column}: {reason}", file.display())]
    Json { file: PathBuf, line: usize, column: usize, reason: String, truncated: bool },
    /// JSON of another format.
    #[error("{}: expected format {expected:?}, found {found}", file.display())]
    WrongFormat { file: PathBuf, expected: &'static str, found: String },
    /// A version that this program does not know.
    #[error("{}: {format} version {found}; this program reads versions up to {known}", file.display())]
    NewerVersion { file: PathBuf, format: &'static str, found: u64, known: u64 },
    /// A field whose value makes no sense.
    #[error("{}: {field}: {reason}", file.display())]
    BadField { file: PathBuf, field: String, reason: String },

    /// An argument out of its domain.
    #[error("{what} is {value}; it must be {expected}")]
    BadOption { what: &'static str, value: String, expected: String },
    /// A split that leaves a part without one of the classes.
    #[error("class {class:?} has {count} row(s); {needed} are needed for this split")]
    TooFewRows { class: String, count: usize, needed: usize },
    /// Fewer groups than parts.
    #[error("{found} group(s) cannot be dealt to {needed} parts")]
    TooFewGroups { found: usize, needed: usize },
    /// Groups that leave a part without one of the classes.
    #[error("whole groups leave rows of class {class:?} in {found} of {needed} parts only")]
    ClassInFewGroups { class: String, found: usize, needed: usize },
    /// An error of the core.
    #[error(transparent)]
    Core(#[from] properloss::Error),
}

impl Error {
    /// What to do about it, in one line, with the options of the command line; `None` where the
    /// message already says it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Checkpoint { .. } => {
                "remove the file to start afresh, or give the options it was made with".into()
            }
            Self::FileNotFound { .. } => "check the path".into(),
            Self::Read { .. } => "check that the file can be read".into(),
            Self::Write { source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::FileTooLarge
                ) =>
            {
                "the disk is full: free some room, or name another directory (--cache, or TMPDIR for \
                 temporary files); nothing was left"
                    .into()
            }
            Self::Write { .. } => {
                "check that the directory exists and can be written; nothing was changed".into()
            }
            Self::Memory { .. } => "allow more with --memory, or use fewer rows or columns \
                (--ignore), --single-precision, or a sparse (LibSVM) file"
                .into(),
            Self::FitMemory { .. } => "allow more with --memory, or use fewer rows or columns \
                (--ignore) or fewer folds (--cv)"
                .into(),
            Self::TooLong { what: "a field", .. } => "look for an open quote".into(),
            Self::TooLong { .. } => "is it a file of this format?".into(),
            Self::TooManyColumns { .. } => "write it as a LibSVM file".into(),
            Self::SparseModel { .. } => "use a LibSVM file".into(),
            Self::EmptyFile { .. } | Self::NoRows { .. } => {
                "the file needs a header line and at least one row".into()
            }
            Self::NoRowsLeft { .. } => {
                "use --missing mean to fill missing values instead of dropping rows".into()
            }
            Self::UnknownFormat { .. } => "name it: --format csv|tsv|parquet|libsvm|idx".into(),
            Self::FormatNotBuilt { format, .. } => {
                format!("build with the feature {:?}", format.to_lowercase())
            }
            Self::TruncatedGzip { .. } | Self::DamagedGzip { .. } | Self::IdxLength { .. } => {
                "copy or download the file again".into()
            }
            Self::NotUtf8 { .. } => "convert the file to UTF-8".into(),
            Self::UnnamedColumn { .. } => {
                "name the column, or write the file without its index (pandas: index=False)".into()
            }
            Self::DuplicateColumn { .. } => "give each column a name of its own".into(),
            Self::HeaderIsData { .. } => "add a header line, or pass --no-header".into(),
            Self::OneColumn { delimiter, .. } => {
                format!("fields are split at {delimiter:?}; pass --delimiter for another")
            }
            Self::RaggedRow { found, expected, .. } => if found < expected {
                "complete or remove the line; look for an open quote"
            } else {
                "quote fields that hold the delimiter"
            }
            .into(),
            Self::NoSuchColumn { role, name, available, .. } => match similar(name, available) {
                Some(close) => format!("did you mean {close:?}? choose one with --{role}"),
                None => format!("choose one with --{role}"),
            },
            Self::NoColumns { .. } => "use a CSV, TSV or Parquet file".into(),
            Self::RoleClash { .. } => "name it once".into(),
            Self::NoFeatures { .. } => "keep at least one column besides the label".into(),
            Self::TextInNumericColumn { place, .. } => {
                let column = place.column.as_deref().unwrap_or("COLUMN");
                format!(
                    "correct the value, or pass --categorical {column} to treat the column as text"
                )
            }
            Self::NotANumber { .. } | Self::NotFinite { .. } => "correct the value".into(),
            Self::NotAProbability { .. } => {
                "the model calibrates probabilities, from 0 to 1; is it the right column?".into()
            }
            Self::MissingValue { .. } => {
                "fill it, or pass --missing mean (fills features) or --missing drop (leaves the row out)"
                    .into()
            }
            Self::MissingAtPrediction { .. } => {
                "fill it, or fit the model again with --missing mean".into()
            }
            Self::AllMissing { place } | Self::ParquetType { place, .. } => {
                format!("pass --ignore {}", place.column.as_deref().unwrap_or("COLUMN"))
            }
            Self::TooManyCategories { place, .. } => {
                let column = place.column.as_deref().unwrap_or("COLUMN");
                format!("pass --ignore {column}, or --categorical {column} to keep it")
            }
            Self::UnknownCategory { .. } => {
                "correct it, or pass --unknown-category zeros to encode it as none of them".into()
            }
            Self::OneClass { .. } => {
                "the data need rows of both classes; is it the right --label column?".into()
            }
            Self::TooManyClasses { by_default, .. } => {
                let label = if *by_default {
                    "the last column was taken; name another with --label, or "
                } else {
                    ""
                };
                format!("{label}choose the classes with --negative and --positive")
            }
            Self::NoClasses { by_default, .. } => {
                let label = if *by_default { "the last column was taken; " } else { "" };
                format!(
                    "{label}is it the right --label column? A number is learned as a class once it is \
                     cut into few values, or two of them are named by --negative and --positive"
                )
            }
            Self::NoSuchClass { .. } | Self::ClassOnBothSides { .. } => {
                "choose the classes with --negative and --positive".into()
            }
            Self::UnknownLabel { .. } => "use data with the classes of the model".into(),
            Self::NegativeWeight { .. } | Self::ZeroWeights { .. } => {
                "weights are >= 0, with a positive sum in each class".into()
            }
            Self::MissingColumns { available, .. } => {
                format!("columns are matched by name; the file has {}", list(available))
            }
            Self::FeatureCount { .. } => "use data with the features of the model".into(),
            Self::CategoricalModel { .. } => "use a CSV or Parquet file".into(),
            Self::BadPair { .. } => "write each line as: label index:value index:value ...".into(),
            Self::IndexOrder { .. } => "sort the pairs of the line; each index once".into(),
            Self::IndexRange { index: 0, .. } => "the file counts from 0: pass --zero-based".into(),
            Self::IndexRange { .. } => "correct the index".into(),
            Self::Qid { .. } => "remove the qid fields to treat it as classification".into(),
            Self::NotIdx { .. } | Self::WrongIdx { .. } => {
                "give the images file, such as train-images-idx3-ubyte.gz".into()
            }
            Self::IdxCounts { .. } | Self::NoIdxLabels { .. } => {
                "give the label file that belongs to the images with --labels-file".into()
            }
            Self::Parquet { .. } => "write the file again; is it complete?".into(),
            Self::Json { truncated: true, .. } => "the file is cut short; write it again".into(),
            Self::Json { .. } | Self::BadField { .. } => {
                "the file is damaged or was edited by hand; write it again".into()
            }
            Self::WrongFormat { .. } => {
                "give a file written by this program; the model comes before the data".into()
            }
            Self::NewerVersion { .. } => "install a newer properloss".into(),
            Self::TooFewGroups { .. } | Self::ClassInFewGroups { .. } => {
                "use fewer folds, or another --group column".into()
            }
            Self::TooFewRows { .. } => "use more data or fewer parts".into(),
            Self::OtherPart { .. } => "files that are read together have the same columns".into(),
            Self::NoBlocks { .. } => "leave --cache out, or allow more with --memory".into(),
            Self::StaleCache { file, .. } => {
                format!("remove {}, or name another directory with --cache", file.display())
            }
            Self::Cache { directory, .. } => {
                format!("remove {} and fit again: the blocks are written anew", directory.display())
            }
            Self::BadOption { .. } | Self::Core(_) => return None,
        })
    }

    /// A failed read, sorted into "not there", "cut short" and the rest.
    pub fn read(file: &Path, source: std::io::Error) -> Self {
        let file = file.to_path_buf();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::FileNotFound { file },
            _ => Self::Read { file, source },
        }
    }
}

/// `"a", "b" and 3 more`: at most eight names.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    if names.is_empty() {
        return "none".into();
    }
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|n| format!("{:?}", clipped(n)))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// At most 200 characters of a text that stands in a message.
pub fn clipped(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
    }
}

/// The name that was most likely meant: the same but for case, the one that begins so, or one with at most
/// two letters wrong, missing, added or swapped.
fn similar<'a>(name: &str, available: &'a [String]) -> Option<&'a String> {
    let plain = |text: &str| text.trim().to_lowercase();
    let meant = plain(name);
    let distance = |other: &String| {
        let other = plain(other);
        let distance = edits(&meant, &other);
        let allowed = (meant.chars().count() / 4).min(2);
        let begins = meant.len() > 2 && other.starts_with(&meant);
        (distance <= allowed || begins).then_some(distance)
    };
    let close = available.iter().filter_map(|other| Some((distance(other)?, other)));
    close.min_by_key(|pair| pair.0).map(|pair| pair.1)
}

/// Letters to change, add, leave out or swap with their neighbour (Damerau's distance of adjacent letters).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

fn shown(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" ({value:?})") }
}
