//! From a file of any format to examples in memory, or one row after the other.

use std::path::Path;

use crate::collected::Collected;
use crate::dataset::{DataDescription, Dataset};
use crate::encode_row::cell_text;
use crate::encoder::{Encoded, Encoder, Purpose, Skip};
use crate::error::{Error, Place, Position, Result};
use crate::examples::{Examples, Labels};
use crate::fit_encoder::{Learned, Numbers};
use crate::memory::Budget;
use crate::options::{LabelUse, ReadOptions, Storage, UnknownCategory};
use crate::source::Source;
use crate::table::{CsvFormat, CsvTable, PartsTable, Table, find_column};
use crate::{idx, libsvm};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter: CSV and TSV.
    Csv,
    /// Text with tabs.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// LibSVM or SVMlight: `label index:value ...`.
    Libsvm,
    /// The image format of MNIST.
    Idx,
}

impl Format {
    /// The name by which a format is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::Libsvm => "libsvm",
            Self::Idx => "idx",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        [Self::Csv, Self::Tsv, Self::Parquet, Self::Libsvm, Self::Idx]
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| Error::BadOption {
                what: "the format",
                value: format!("{name:?}"),
                expected: "one of csv, tsv, parquet, libsvm, idx".into(),
            })
    }

    /// By the first bytes (Parquet, IDX), then by the file name; memory without a telling name is
    /// CSV.
    /// Of several files the first tells it.
    pub fn detect(source: &Source) -> Result<Self> {
        let source = source.parts().first().unwrap_or(source);
        let name = source.name();
        let start = source.first_bytes(4)?;
        if start == b"PAR1" {
            return Ok(Self::Parquet);
        }
        if let [0, 0, 0x08..=0x0e, 1..=4] = start[..] {
            return Ok(Self::Idx);
        }
        match (extension(name).as_str(), source) {
            ("csv", _) => Ok(Self::Csv),
            ("tsv" | "tab", _) => Ok(Self::Tsv),
            ("parquet" | "pq", _) => Ok(Self::Parquet),
            ("libsvm" | "svm" | "svmlight", _) => Ok(Self::Libsvm),
            (other, _) if other.ends_with("ubyte") || other == "idx" => Ok(Self::Idx),
            (_, Source::Memory { .. } | Source::Spilled { .. }) => Ok(Self::Csv),
            _ if start.is_empty() => Err(Error::EmptyFile { file: name.to_path_buf() }),
            _ => Err(Error::UnknownFormat { file: name.to_path_buf() }),
        }
    }
}

/// The last extension but `.gz`, in lower case; for `train-images-idx3-ubyte.gz`, which has none,
/// the last word after a hyphen.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit(['.', '-']).next().filter(|last| *last != name).unwrap_or_default().to_owned()
}

/// Reads a file of labelled examples of two classes.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Dataset> {
    let options = ReadOptions { several: false, ..options.clone() };
    read_examples(source, &options)?.two()
}

/// Reads a file of labelled examples; of more than two classes if [`ReadOptions::several`] says so.
///
/// Tables of numbers are read once. Others are read twice, first to learn the columns and then to encode them, so that
/// no more than the encoded matrix is held. Rows of weight 0 are left out: they must not even widen the range of
/// the scores that a link is fitted on.
pub fn read_examples(source: &Source, options: &ReadOptions) -> Result<Examples> {
    let format = options.format_of(source)?;
    let examples = match format {
        Format::Csv | Format::Tsv | Format::Parquet => {
            let open = || open_table(source, format, options);
            let mut learned = Encoder::learn(&open, options, true)?;
            match learned.numbers.take() {
                Some(Numbers { rows, other_class }) => {
                    let dropped_other_class = other_class;
                    let description =
                        DataDescription { dropped_other_class, ..DataDescription::default() };
                    rows.examples(source.name(), format, learned.encoder, description)
                }
                None => read_learned(open()?, learned, options, format),
            }
        }
        Format::Libsvm => libsvm::read(source, options),
        Format::Idx => match source.parts() {
            [_, second, ..] => Err(Error::OtherPart {
                file: second.name().to_path_buf(),
                first: source.parts()[0].name().to_path_buf(),
                reason: "images are read from one file".into(),
            }),
            _ => idx::read(source, options),
        },
    }?;
    Ok(examples.without_weightless())
}

/// The second pass over a table: see [`read_examples`].
pub(crate) fn read_learned(
    table: Box<dyn Table>,
    learned: Learned,
    options: &ReadOptions,
    format: Format,
) -> Result<Examples> {
    let Learned { encoder, rows, .. } = learned;
    read_table(table, encoder, Some(rows), UnknownCategory::Error, options, format)
}

/// Reads labelled examples the way an existing model encodes them: for evaluation.
///
/// Of the options only those of the file count (format, delimiter, header, storage, zero-based
/// indices, label file); roles, classes and fills are the encoder's.
pub fn read_encoded(
    source: &Source,
    encoder: &Encoder,
    unknown: UnknownCategory,
    options: &ReadOptions,
) -> Result<Dataset> {
    read_encoded_examples(source, encoder, unknown, options)?.two()
}

/// The same for a model of any number of classes.
pub fn read_encoded_examples(
    source: &Source,
    encoder: &Encoder,
    unknown: UnknownCategory,
    options: &ReadOptions,
) -> Result<Examples> {
    let format = options.format_of(source)?;
    match format {
        Format::Csv | Format::Tsv | Format::Parquet => {
            let table = open_table(source, format, options)?;
            read_table(table, encoder.clone(), None, unknown, options, format)
        }
        Format::Libsvm => libsvm::read_encoded(source, encoder, options),
        Format::Idx => idx::read_encoded(source, encoder, options),
    }
}

/// One encoded row, as [`for_each_row`] hands it over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EncodedRow<'a> {
    /// Where it stands in the file.
    pub position: Position,
    /// Its features; of a sparse row those that are stored.
    pub features: &'a [f64],
    /// The column of each feature, increasing, for a sparse row; `None`: all columns in order.
    pub columns: Option<&'a [u32]>,
    /// Categories that did not occur at training, encoded as none of the known ones.
    pub unknown: u32,
}

/// Encodes a file row by row for prediction, in constant memory: `visit` sees the rows in order and
/// ends the reading by an error of its own type.
pub fn for_each_row<E: From<Error>>(
    source: &Source,
    encoder: &Encoder,
    unknown: UnknownCategory,
    options: &ReadOptions,
    mut visit: impl FnMut(EncodedRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let format = options.format_of(source)?;
    match format {
        Format::Csv | Format::Tsv | Format::Parquet => {
            let table = open_table(source, format, options)?;
            for_each_table_row(table, encoder, unknown, visit)
        }
        Format::Libsvm => libsvm::for_each_row(source, encoder, options, visit),
        Format::Idx => {
            let (features, _) = idx::read_images(source, encoder, options)?;
            let mut row = vec![0.0; features.columns()];
            let columns = None;
            for i in 0..features.rows() {
                features.copy_row(i, &mut row);
                visit(EncodedRow {
                    position: Position::Row(i as u64 + 1),
                    features: &row,
                    columns,
                    unknown: 0,
                })?;
            }
            Ok(())
        }
    }
}

/// [`for_each_row`] of a table that is already open, such as a [`CsvTable`] on standard input.
pub fn for_each_table_row<E: From<Error>>(
    table: Box<dyn Table>,
    encoder: &Encoder,
    unknown: UnknownCategory,
    mut visit: impl FnMut(EncodedRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for_each_table_row_keeping(table, encoder, unknown, &[], |row, _| visit(row))
}

/// The same, with the texts of further columns of the table as they stand in each row.
pub fn for_each_table_row_keeping<E: From<Error>>(
    mut table: Box<dyn Table>,
    encoder: &Encoder,
    unknown: UnknownCategory,
    keep: &[String],
    mut visit: impl FnMut(EncodedRow<'_>, &[String]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let bound = encoder.bind(table.as_mut(), LabelUse::Ignore, unknown)?;
    let mut kept = Vec::new();
    for name in keep {
        kept.push(find_column(table.as_ref(), "keep", name)?);
    }
    table.select(&kept)?;
    let mut row = vec![0.0; encoder.width()];
    let mut texts = vec![String::new(); kept.len()];
    while let Some(position) = table.next_row()? {
        let unknown = match bound.encode(table.as_ref(), position, Purpose::Prediction, &mut row)? {
            Encoded::Row { unknown, .. } => unknown,
            Encoded::Skipped(_) => 0,
        };
        for (text, &index) in texts.iter_mut().zip(&kept) {
            *text = cell_text(&table.cell(index)).into_owned();
        }
        visit(EncodedRow { position, features: &row, columns: None, unknown }, &texts)?;
    }
    Ok(())
}

/// A row with its outcome, as [`for_each_labelled_row`] hands it over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledRow<'a> {
    /// Where it stands in the file.
    pub position: Position,
    /// Its features.
    pub features: &'a [f64],
    /// The number of its class: 0 or 1 of two.
    pub label: u32,
    /// Its weight; 1 if the data have none.
    pub weight: f64,
    /// Categories that did not occur at training, encoded as none of the known ones.
    pub unknown: u32,
}

/// Encodes the labelled rows of a table one after the other, in constant memory: [`read_encoded`]
/// for tables that need not be held. `visit` ends the reading by an error of its own type.
pub fn for_each_labelled_row<E: From<Error>>(
    mut table: Box<dyn Table>,
    encoder: &Encoder,
    unknown: UnknownCategory,
    mut visit: impl FnMut(LabelledRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let bound = encoder.bind(table.as_mut(), LabelUse::Require, unknown)?;
    let mut row = vec![0.0; encoder.width()];
    while let Some(position) = table.next_row()? {
        if let Encoded::Row { label, weight, unknown } =
            bound.encode(table.as_ref(), position, Purpose::Prediction, &mut row)?
        {
            let label = label.unwrap_or(0);
            visit(LabelledRow { position, features: &row, label, weight, unknown })?;
        }
    }
    Ok(())
}

/// Opens a text or Parquet table.
pub fn open_table(
    source: &Source,
    format: Format,
    options: &ReadOptions,
) -> Result<Box<dyn Table>> {
    if let Source::Parts { name, parts } = source {
        return Ok(Box::new(PartsTable::open(name, parts.clone(), options)?));
    }
    if format == Format::Parquet {
        #[cfg(feature = "parquet")]
        return Ok(Box::new(crate::table::ParquetTable::open(source, options.memory)?));
        #[cfg(not(feature = "parquet"))]
        return Err(Error::FormatNotBuilt { file: source.name().to_path_buf(), format: "Parquet" });
    }
    Ok(Box::new(CsvTable::open(source, csv_format(source.name(), format, options))?))
}

/// The delimiter and header that the options or else the file name ask for.
pub fn csv_format(name: &Path, format: Format, options: &ReadOptions) -> CsvFormat {
    let mut csv = CsvFormat::of(name);
    if format == Format::Tsv {
        csv.delimiter = b'\t';
    }
    csv.delimiter = options.delimiter.unwrap_or(csv.delimiter);
    csv.header = options.header;
    csv
}

/// The second pass: encodes the rows of a table. At training the first pass has counted them, and
/// their memory is asked for at once.
fn read_table(
    mut table: Box<dyn Table>,
    encoder: Encoder,
    rows: Option<u64>,
    unknown: UnknownCategory,
    options: &ReadOptions,
    format: Format,
) -> Result<Examples> {
    let (columns, storage) = (encoder.width(), options.storage);
    let purpose = if rows.is_some() { Purpose::Training } else { Purpose::Prediction };
    let budget = Budget::or_machine(options.memory);
    let value_bytes = match storage {
        Storage::F64 => 8,
        Storage::F32 => 4,
    };
    let row_bytes = columns as u64 * value_bytes + 1 + 8 * u64::from(encoder.weight.is_some());
    budget.ask(table.file(), rows.unwrap_or(0).saturating_mul(row_bytes))?;
    let bound = encoder.bind(table.as_mut(), LabelUse::Require, unknown)?;
    let labels = Labels::of(encoder.label.as_ref());
    let weighted = encoder.weight.is_some();
    let mut collected = Collected::new(table.file(), columns, labels, weighted, storage, budget);
    if let Some(rows) = rows.and_then(|rows| usize::try_from(rows).ok()) {
        collected.reserve(rows)?;
    }
    let mut row = vec![0.0; columns];
    let mut description = DataDescription::default();
    while let Some(position) = table.next_row()? {
        match bound.encode(table.as_ref(), position, purpose, &mut row)? {
            Encoded::Skipped(Skip::Missing) => description.dropped_missing += 1,
            Encoded::Skipped(Skip::OtherClass) => description.dropped_other_class += 1,
            Encoded::Row { label, weight, unknown } => {
                description.unknown_categories += u64::from(unknown);
                if storage == Storage::F32 {
                    check_single(&row, table.as_ref(), position, &encoder)?;
                }
                collected.push(&row, label.unwrap_or(0), weight)?;
            }
        }
    }
    collected.examples(table.file(), format, encoder, description)
}

/// The classes of a model that was fitted without names.
pub(crate) fn no_names() -> [String; 2] {
    ["0".into(), "1".into()]
}

/// An error where a feature has no value in 4 bytes.
pub(crate) fn check_single(
    row: &[f64],
    table: &dyn Table,
    position: Position,
    encoder: &Encoder,
) -> Result<()> {
    let Some(feature) = row.iter().position(|&x| !(x as f32).is_finite()) else { return Ok(()) };
    let place = Place::at(table.file(), position).column(&encoder.feature_names()[feature]);
    Err(Error::NotFinite { place, value: format!("{} in 4 bytes", row[feature]) })
}
