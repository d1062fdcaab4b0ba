//! LibSVM and SVMlight files: `label index:value index:value ...  # comment`.

use std::io::{BufRead, Read};

use crate::class_dataset::{Examples, Labels};
use crate::dataset::{DataDescription, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Place, Position, Result, clipped};
use crate::labels::{Classes, LabelValues, Wanted};
use crate::memory::{Budget, LINE_LIMIT, Tally, shown_bytes};
use crate::options::ReadOptions;
use crate::read::{EncodedRow, no_names};
use crate::source::{Source, read_error};
use crate::sparse_columns::SparseColumns;

/// Columns are numbered in 4 bytes.
const MOST_COLUMNS: u64 = 1 << 32;

/// One line: its label and its entries, counted from 0.
struct Line<'a> {
    position: Position,
    label: &'a str,
    entries: &'a [(u32, f64)],
}

/// Reads the file line by line; `features` is the number of features if it is known.
fn for_each_line<E: From<Error>>(
    source: &Source,
    zero_based: bool,
    features: Option<u64>,
    mut visit: impl FnMut(Line<'_>) -> std::result::Result<(), E>,
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
        visit(Line { position, label, entries: &entries })?;
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
    let file = || source.name().to_path_buf();
    if rows.numbers.is_empty() {
        return Err(if source.first_bytes(1)?.is_empty() {
            Error::EmptyFile { file: file() }
        } else {
            Error::NoRows { file: file() }
        });
    }
    if rows.columns == 0 || (rows.values.is_empty() && features.is_none()) {
        return Err(Error::NoFeatures { file: file() });
    }
    Ok(rows)
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
    if options.features == Some(0) {
        return Err(Error::BadOption {
            what: "the number of features",
            value: "0".into(),
            expected: "1 or more".into(),
        });
    }
    let features = options.features.map(|features| features as u64);
    let mut rows = read_rows(source, options, features)?;
    let file = source.name();
    let wanted = Wanted { options, file, column: None, by_default: false };
    let classes = rows.labels.resolve(wanted)?;
    let first = u8::from(!options.zero_based);
    let sparse = SparseColumns::of(&rows.indices, rows.columns, first, options.features);
    let mut encoder = match &sparse {
        None => Encoder::numeric((0..rows.columns).map(|j| format!("x{}", j + u64::from(first)))),
        Some(sparse) if sparse.indices.is_empty() => {
            return Err(Error::NoFeatures { file: file.to_path_buf() });
        }
        Some(sparse) => {
            rows.renumber(sparse);
            Encoder::numeric([])
        }
    };
    encoder.sparse = sparse;
    let skip_others = !options.negative.is_empty() && !options.positive.is_empty();
    encoder.label = Some(Label { column: None, classes: classes.clone(), skip_others });
    dataset(rows, source, encoder, &classes, skip_others)
}

/// Labelled examples for a model that exists.
pub(crate) fn read_encoded(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
) -> Result<Examples> {
    check_numeric(source, encoder)?;
    let mut rows = read_rows(source, options, columns_of(encoder))?;
    if let Some(sparse) = &encoder.sparse {
        rows.renumber(sparse);
    }
    let (classes, skip_others) = match &encoder.label {
        Some(label) => (label.classes.clone(), label.skip_others),
        None => {
            let [negative, positive] = no_names();
            (Classes::new(vec![negative], vec![positive])?, false)
        }
    };
    dataset(rows, source, encoder.clone(), &classes, skip_others)
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
    check_numeric(source, encoder)?;
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    for_each_line(source, options.zero_based, columns_of(encoder), |line| {
        columns.clear();
        values.clear();
        for &(index, value) in line.entries {
            let feature = match &encoder.sparse {
                None => Some(index),
                Some(sparse) => sparse.feature_of(index),
            };
            if let Some(feature) = feature {
                columns.push(feature);
                values.push(value);
            }
        }
        let columns = Some(columns.as_slice());
        visit(EncodedRow { position: line.position, features: &values, columns, unknown: 0 })
    })
}

fn check_numeric(source: &Source, encoder: &Encoder) -> Result<()> {
    match encoder.first_encoded() {
        None => Ok(()),
        Some(column) => Err(Error::CategoricalModel {
            file: source.name().to_path_buf(),
            column: column.name.clone(),
            format: "LibSVM",
        }),
    }
}

fn dataset(
    rows: Rows,
    source: &Source,
    encoder: Encoder,
    classes: &Classes,
    skip_others: bool,
) -> Result<Examples> {
    let class_of = rows.labels.classes(classes);
    let mut tally = Tally::new(Budget::of_machine(), source.name());
    let (mut kept, mut labels) = (Vec::new(), Labels::of(encoder.label.as_ref()));
    for (row, &number) in rows.numbers.iter().enumerate() {
        match class_of[number] {
            Some(label) => {
                kept.push(row);
                labels.push(&mut tally, label)?;
            }
            None if skip_others => {}
            None => {
                return Err(Error::UnknownLabel {
                    place: Place::at(source.name(), rows.positions[row]),
                    value: rows.labels.value(number).to_owned(),
                    known: classes.all(),
                });
            }
        }
    }
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
        dropped_missing: 0,
        dropped_other_class: (total - labels.len()) as u64,
        unknown_categories: 0,
    };
    Ok(Examples::new(features, labels, None, encoder, description))
}
