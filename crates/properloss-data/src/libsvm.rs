//! LibSVM and SVMlight files: `label index:value index:value ...  # comment`.

use std::io::{BufRead, Read};
use std::path::Path;

use crate::dataset::{DataDescription, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Place, Position, Result, clipped};
use crate::examples::{Examples, Labels};
use crate::labels::{LabelValues, Wanted};
use crate::memory::{Budget, LINE_LIMIT, Tally, shown_bytes};
use crate::options::ReadOptions;
use crate::read::EncodedRow;
use crate::source::{Source, read_error};
use crate::sparse_columns::SparseColumns;

/// Columns are numbered in 4 bytes.
const MOST_COLUMNS: u64 = 1 << 32;

/// One line: its label and its entries, counted from 0.
struct Line<'a> {
    file: &'a Path,
    position: Position,
    label: &'a str,
    entries: &'a [(u32, f64)],
}

/// Reads the file line by line, one of several after the other; `features` is the number of
/// features if it is known.
fn for_each_line<E: From<Error>>(
    source: &Source,
    zero_based: bool,
    features: Option<u64>,
    mut visit: impl FnMut(Line<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    source.parts().iter().try_for_each(|part| lines_of(part, zero_based, features, &mut visit))
}

fn lines_of<E: From<Error>>(
    source: &Source,
    zero_based: bool,
    features: Option<u64>,
    visit: &mut impl FnMut(Line<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let file = source.name();
    let mut input = source.open()?;
    let mut bytes = Vec::new();
    let mut entries = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let mut line = input.by_ref().take(LINE_LIMIT as u64 + 1);
        let count = line.read_until(b'\n', &mut bytes).map_err(|error| read_error(file, error))?;
        if count == 0 {
            return Ok(());
        }
        number += 1;
        let position = Position::Line(number);
        let place = Place::at(file, position);
        if count > LINE_LIMIT {
            let limit = shown_bytes(LINE_LIMIT as u64);
            return Err(Error::TooLong { place, what: "a line", limit }.into());
        }
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(Error::NotUtf8 { place }.into());
        };
        let text = text.split('#').next().unwrap_or_default();
        let mut fields = text.split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        check_label(label, &place)?;
        entries.clear();
        for field in fields {
            let previous = entries.last().map(|&(index, _)| index);
            entries.push(entry(field, zero_based, features, previous, &place)?);
        }
        visit(Line { file, position, label, entries: &entries })?;
    }
}

/// The label must be a number; a missing one shows as a pair in its place.
fn check_label(label: &str, place: &Place) -> Result<()> {
    match label.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(()),
        _ => Err(Error::NotANumber { place: place.clone().column("label"), value: clipped(label) }),
    }
}

fn entry(
    field: &str,
    zero_based: bool,
    features: Option<u64>,
    previous: Option<u32>,
    place: &Place,
) -> Result<(u32, f64)> {
    let bad = || Error::BadPair { place: place.clone(), field: clipped(field) };
    let (index, value) = field.split_once(':').ok_or_else(bad)?;
    if index == "qid" {
        return Err(Error::Qid { place: place.clone(), field: clipped(field) });
    }
    let index: u64 = index.parse().map_err(|_| bad())?;
    let value: f64 = value.parse().map_err(|_| bad())?;
    let first = u64::from(!zero_based);
    let end = first + features.unwrap_or(MOST_COLUMNS).min(MOST_COLUMNS);
    if index < first || index >= end {
        let last = end.saturating_sub(1);
        return Err(Error::IndexRange { place: place.clone(), index, first, last });
    }
    let column = (index - first) as u32;
    if let Some(previous) = previous.filter(|&previous| column <= previous) {
        let previous = u64::from(previous) + first;
        return Err(Error::IndexOrder { place: place.clone(), index, previous });
    }
    if !value.is_finite() {
        let place = place.clone().column(&index.to_string());
        return Err(Error::NotFinite { place, value: clipped(field) });
    }
    Ok((column, value))
}

/// Rows in memory, with the number of each row's label value.
struct Rows {
    row_starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: u64,
    labels: LabelValues,
    numbers: Vec<usize>,
    positions: Vec<Position>,
}

fn read_rows(source: &Source, options: &ReadOptions, features: Option<u64>) -> Result<Rows> {
    let mut rows = Rows {
        row_starts: vec![0],
        indices: Vec::new(),
        values: Vec::new(),
        columns: features.unwrap_or(0),
        labels: LabelValues::default(),
        numbers: Vec::new(),
        positions: Vec::new(),
    };
    let mut tally = Tally::new(Budget::or_machine(options.memory), source.name());
    for_each_line(source, options.zero_based, features, |line| -> Result<()> {
        tally.reserve(&mut rows.indices, line.entries.len())?;
        tally.reserve(&mut rows.values, line.entries.len())?;
        for &(index, value) in line.entries {
            rows.columns = rows.columns.max(u64::from(index) + 1);
            rows.indices.push(index);
            rows.values.push(value);
        }
        tally.push(&mut rows.row_starts, rows.values.len())?;
        tally.push(&mut rows.numbers, rows.labels.add(line.label, line.position))?;
        tally.push(&mut rows.positions, line.position)
    })?;
    check_shape(source, rows.numbers.is_empty(), rows.columns, rows.values.is_empty(), features)?;
    Ok(rows)
}

/// Refuses a file without rows, or without features.
fn check_shape(
    source: &Source,
    no_rows: bool,
    columns: u64,
    no_values: bool,
    features: Option<u64>,
) -> Result<()> {
    let file = || source.name().to_path_buf();
    if no_rows {
        return Err(if source.first_bytes(1)?.is_empty() {
            Error::EmptyFile { file: file() }
        } else {
            Error::NoRows { file: file() }
        });
    }
    if columns == 0 || (no_values && features.is_none()) {
        return Err(Error::NoFeatures { file: file() });
    }
    Ok(())
}

impl Rows {
    /// From the columns of the file to the features of a model; values in columns that no training
    /// row used have the coefficient 0 and are left out.
    fn renumber(&mut self, sparse: &SparseColumns) {
        let (mut kept, mut start) = (0, 0);
        for row in 1..self.row_starts.len() {
            let end = self.row_starts[row];
            for at in start..end {
                if let Some(feature) = sparse.feature_of(self.indices[at]) {
                    self.indices[kept] = feature;
                    self.values[kept] = self.values[at];
                    kept += 1;
                }
            }
            start = end;
            self.row_starts[row] = kept;
        }
        self.indices.truncate(kept);
        self.values.truncate(kept);
        self.columns = sparse.indices.len() as u64;
    }
}

/// Labelled examples; features are named `x1`, `x2`, ... (`x0`, ... where the file counts from 0).
/// Of very many columns only those in use become features.
pub(crate) fn read(source: &Source, options: &ReadOptions) -> Result<Examples> {
    let features = stated_features(options)?;
    let rows = read_rows(source, options, features)?;
    let indices = &rows.indices;
    let encoder = encoder_of(&rows.labels, rows.columns, source, options, || indices.clone())?;
    dataset(rows, source, encoder)
}

/// The number of features that the options state.
fn stated_features(options: &ReadOptions) -> Result<Option<u64>> {
    if options.features == Some(0) {
        return Err(Error::BadOption {
            what: "the number of features",
            value: "0".into(),
            expected: "1 or more".into(),
        });
    }
    Ok(options.features.map(|features| features as u64))
}

/// The encoding of a file of these labels and columns; `used` lists the columns in use, in any order
/// and any number of times.
fn encoder_of(
    labels: &LabelValues,
    columns: u64,
    source: &Source,
    options: &ReadOptions,
    used: impl FnOnce() -> Vec<u32>,
) -> Result<Encoder> {
    let file = source.name();
    let classes = labels.resolve(Wanted { options, file, column: None, by_default: false })?;
    let first = u8::from(!options.zero_based);
    let sparse = SparseColumns::of(used, columns, first, options.features);
    let mut encoder = match &sparse {
        None => Encoder::numeric((0..columns).map(|j| format!("x{}", j + u64::from(first)))),
        Some(sparse) if sparse.indices.is_empty() => {
            return Err(Error::NoFeatures { file: file.to_path_buf() });
        }
        Some(_) => Encoder::numeric([]),
    };
    encoder.sparse = sparse;
    let skip_others = !options.negative.is_empty() && !options.positive.is_empty();
    encoder.label = Some(Label { column: None, classes, skip_others });
    Ok(encoder)
}

/// What a pass over a file learns that is not held.
pub(crate) struct Learned {
    pub encoder: Encoder,
    /// The rows that will be kept.
    pub rows: u64,
    /// Their stored values.
    pub stored: u64,
    /// Whether every value is the same in 4 bytes.
    pub single: bool,
}

/// The columns in use: one bit each of the first, the numbers of the others.
struct Used {
    first: Vec<bool>,
    others: Vec<u32>,
    /// Sorted out when there are this many.
    limit: usize,
}

impl Used {
    fn new() -> Self {
        Self { first: vec![false; SparseColumns::NAMED], others: Vec::new(), limit: 1 << 20 }
    }

    fn add(&mut self, column: u32) {
        if let Some(used) = self.first.get_mut(column as usize) {
            *used = true;
            return;
        }
        self.others.push(column);
        if self.others.len() >= self.limit {
            self.others.sort_unstable();
            self.others.dedup();
            self.limit = self.limit.max(2 * self.others.len());
        }
    }

    fn all(self) -> Vec<u32> {
        let first = (0..).zip(self.first).filter(|(_, used)| *used).map(|(column, _)| column);
        first.chain(self.others).collect()
    }
}

/// The first of two passes over a file that is not held.
pub(crate) fn learn(source: &Source, options: &ReadOptions) -> Result<Learned> {
    let features = stated_features(options)?;
    let (mut labels, mut used) = (LabelValues::default(), Used::new());
    let (mut columns, mut single) = (features.unwrap_or(0), true);
    // Rows and values of each label value.
    let mut counts: Vec<[u64; 2]> = Vec::new();
    for_each_line(source, options.zero_based, features, |line| -> Result<()> {
        let number = labels.add(line.label, line.position);
        if number == counts.len() {
            counts.push([0, 0]);
        }
        counts[number][0] += 1;
        counts[number][1] += line.entries.len() as u64;
        for &(index, value) in line.entries {
            columns = columns.max(u64::from(index) + 1);
            single &= f64::from(value as f32) == value;
            used.add(index);
        }
        Ok(())
    })?;
    let no_values = counts.iter().all(|count| count[1] == 0);
    check_shape(source, counts.is_empty(), columns, no_values, features)?;
    let encoder = encoder_of(&labels, columns, source, options, || used.all())?;
    let (mut rows, mut stored) = (0, 0);
    if let Some(label) = &encoder.label {
        for (count, class) in counts.iter().zip(labels.classes(&label.classes)) {
            if class.is_some() {
                rows += count[0];
                stored += count[1];
            }
        }
    }
    Ok(Learned { encoder, rows, stored, single })
}

/// A labelled row: `None` for one that is left out, else its class, columns and values.
pub(crate) type LabelledEntries<'a> = Option<(u32, &'a [u32], &'a [f64])>;

/// Labelled rows for an encoder that exists, one by one.
pub(crate) fn for_each_labelled_row(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    mut visit: impl FnMut(LabelledEntries<'_>) -> Result<()>,
) -> Result<()> {
    encoder.refuse_encoded(source.name(), "LibSVM")?;
    let (classes, skip_others) = encoder.classes()?;
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for_each_line(source, options.zero_based, columns_of(encoder), |line| {
        let Some(class) = classes.class_of(line.label) else {
            if skip_others {
                return visit(None);
            }
            return Err(Error::UnknownLabel {
                place: Place::at(line.file, line.position),
                value: clipped(line.label),
                known: classes.all(),
            });
        };
        features_of(encoder, line.entries, &mut columns, &mut values);
        visit(Some((class, &columns, &values)))
    })
}

/// The features of a row: values in columns that no training row used are left out.
fn features_of(
    encoder: &Encoder,
    entries: &[(u32, f64)],
    columns: &mut Vec<u32>,
    values: &mut Vec<f64>,
) {
    columns.clear();
    values.clear();
    for &(index, value) in entries {
        let feature = match &encoder.sparse {
            None => Some(index),
            Some(sparse) => sparse.feature_of(index),
        };
        if let Some(feature) = feature {
            columns.push(feature);
            values.push(value);
        }
    }
}

/// Labelled examples for a model that exists.
pub(crate) fn read_encoded(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
) -> Result<Examples> {
    encoder.refuse_encoded(source.name(), "LibSVM")?;
    dataset(read_rows(source, options, columns_of(encoder))?, source, encoder.clone())
}

/// How many columns a file for this model may have; of numbered ones as many as were stated.
fn columns_of(encoder: &Encoder) -> Option<u64> {
    match &encoder.sparse {
        None => Some(encoder.width() as u64),
        Some(sparse) => Some(sparse.features.unwrap_or(MOST_COLUMNS)),
    }
}

/// Features for a model that exists, row by row; the labels are not looked at.
pub(crate) fn for_each_row<E: From<Error>>(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    mut visit: impl FnMut(EncodedRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    encoder.refuse_encoded(source.name(), "LibSVM")?;
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for_each_line(source, options.zero_based, columns_of(encoder), |line| {
        features_of(encoder, line.entries, &mut columns, &mut values);
        let columns = Some(columns.as_slice());
        visit(EncodedRow { position: line.position, features: &values, columns, unknown: 0 })
    })
}

fn dataset(mut rows: Rows, source: &Source, encoder: Encoder) -> Result<Examples> {
    if let Some(sparse) = &encoder.sparse {
        rows.renumber(sparse);
    }
    let (classes, skip_others) = encoder.classes()?;
    let class_of = rows.labels.classes(&classes);
    let of_rows = rows.numbers.iter().map(|&number| class_of[number]);
    let unknown = |row: usize| Error::UnknownLabel {
        place: Place::at(source.name(), rows.positions[row]),
        value: rows.labels.value(rows.numbers[row]).to_owned(),
        known: classes.all(),
    };
    let (kept, labels) = Labels::known(&encoder, source.name(), of_rows, skip_others, unknown)?;
    let total = rows.numbers.len();
    let Rows { row_starts, indices, values, columns, .. } = rows;
    let columns = columns as usize;
    let features = Features::Csr { row_starts, indices, values, columns };
    let features = if kept.len() == total { features } else { features.select(&kept) };
    let description = DataDescription {
        source: source.name().display().to_string(),
        format: "libsvm".into(),
        rows: labels.len() as u64,
        features: features.columns() as u64,
        dropped_other_class: (total - labels.len()) as u64,
        ..DataDescription::default()
    };
    Ok(Examples::new(features, labels, None, encoder, description))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns in use, far ones too, each once and in order once they are asked for.
    #[test]
    fn used_columns_are_listed() {
        let mut used = Used::new();
        for column in [5, 0, 4_000_000_000, 5, 70_000_000, 4_000_000_000] {
            used.add(column);
        }
        let mut all = used.all();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, [0, 5, 70_000_000, 4_000_000_000]);
        assert!(Used::new().all().is_empty());
    }

    #[test]
    fn labels_are_finite_numbers() {
        let place = Place::file(Path::new("a.svm"));
        for good in ["1", "-1", "0", "+1", "2.5", "1e3"] {
            assert!(check_label(good, &place).is_ok(), "{good}");
        }
        for bad in ["inf", "-inf", "nan", "1e999", "1:2", "", "x"] {
            assert!(matches!(check_label(bad, &place), Err(Error::NotANumber { .. })), "{bad}");
        }
    }
}
