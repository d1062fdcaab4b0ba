//! LibSVM and SVMlight files: `label index:value index:value ...  # comment`.

use std::io::BufRead;

use crate::dataset::{DataDescription, Dataset, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Place, Position, Result};
use crate::labels::{Classes, LabelValues};
use crate::options::ReadOptions;
use crate::read::{EncodedRow, no_names};
use crate::source::{Source, read_error};

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
    features: Option<usize>,
    mut visit: impl FnMut(Line<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let file = source.name();
    let mut input = source.open()?;
    let mut bytes = Vec::new();
    let mut entries = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let count = input.read_until(b'\n', &mut bytes).map_err(|error| read_error(file, error))?;
        if count == 0 {
            return Ok(());
        }
        number += 1;
        let position = Position::Line(number);
        let place = Place::at(file, position);
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
        _ => {
            Err(Error::NotANumber { place: place.clone().column("label"), value: label.to_owned() })
        }
    }
}

fn entry(
    field: &str,
    zero_based: bool,
    features: Option<usize>,
    previous: Option<u32>,
    place: &Place,
) -> Result<(u32, f64)> {
    let bad = || Error::BadPair { place: place.clone(), field: field.to_owned() };
    let (index, value) = field.split_once(':').ok_or_else(bad)?;
    if index == "qid" {
        return Err(Error::Qid { place: place.clone(), field: field.to_owned() });
    }
    let index: u64 = index.parse().map_err(|_| bad())?;
    let value: f64 = value.parse().map_err(|_| bad())?;
    let first = u64::from(!zero_based);
    let end = first + features.map_or(u64::from(u32::MAX), |d| d as u64);
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
        return Err(Error::NotFinite { place, value: field.to_owned() });
    }
    Ok((column, value))
}

/// Rows in memory, with the number of each row's label value.
struct Rows {
    row_starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
    labels: LabelValues,
    numbers: Vec<usize>,
    positions: Vec<Position>,
}

fn read_rows(source: &Source, zero_based: bool, features: Option<usize>) -> Result<Rows> {
    let mut rows = Rows {
        row_starts: vec![0],
        indices: Vec::new(),
        values: Vec::new(),
        columns: features.unwrap_or(0),
        labels: LabelValues::default(),
        numbers: Vec::new(),
        positions: Vec::new(),
    };
    for_each_line(source, zero_based, features, |line| -> Result<()> {
        for &(index, value) in line.entries {
            rows.columns = rows.columns.max(index as usize + 1);
            rows.indices.push(index);
            rows.values.push(value);
        }
        rows.row_starts.push(rows.values.len());
        rows.numbers.push(rows.labels.add(line.label, line.position));
        rows.positions.push(line.position);
        Ok(())
    })?;
    let file = || source.name().to_path_buf();
    if rows.numbers.is_empty() {
        return Err(if source.first_bytes(1)?.is_empty() {
            Error::EmptyFile { file: file() }
        } else {
            Error::NoRows { file: file() }
        });
    }
    if rows.columns == 0 {
        return Err(Error::NoFeatures { file: file() });
    }
    Ok(rows)
}

/// Labelled examples; features are named `x1`, `x2`, ... (`x0`, ... where the file counts from 0).
pub(crate) fn read(source: &Source, options: &ReadOptions) -> Result<Dataset> {
    if options.features == Some(0) {
        return Err(Error::BadOption {
            what: "the number of features",
            value: "0".into(),
            expected: "1 or more".into(),
        });
    }
    let rows = read_rows(source, options.zero_based, options.features)?;
    let file = source.name();
    let classes = rows.labels.resolve(&options.negative, &options.positive, file, None, false)?;
    let first = usize::from(!options.zero_based);
    let mut encoder = Encoder::numeric((0..rows.columns).map(|j| format!("x{}", j + first)));
    let skip_others = !options.negative.is_empty() && !options.positive.is_empty();
    encoder.label = Some(Label { column: None, classes: classes.clone(), skip_others });
    dataset(rows, source, encoder, &classes, skip_others)
}

/// Labelled examples for a model that exists.
pub(crate) fn read_encoded(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
) -> Result<Dataset> {
    check_numeric(source, encoder)?;
    let rows = read_rows(source, options.zero_based, Some(encoder.width()))?;
    let (classes, skip_others) = match &encoder.label {
        Some(label) => (label.classes.clone(), label.skip_others),
        None => {
            let [negative, positive] = no_names();
            (Classes::new(vec![negative], vec![positive])?, false)
        }
    };
    dataset(rows, source, encoder.clone(), &classes, skip_others)
}

/// Features for a model that exists, row by row; the labels are not looked at.
pub(crate) fn for_each_row<E: From<Error>>(
    source: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    mut visit: impl FnMut(EncodedRow<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    check_numeric(source, encoder)?;
    let mut row = vec![0.0; encoder.width()];
    for_each_line(source, options.zero_based, Some(encoder.width()), |line| {
        row.fill(0.0);
        for &(index, value) in line.entries {
            row[index as usize] = value;
        }
        visit(EncodedRow { position: line.position, features: &row })
    })
}

fn check_numeric(source: &Source, encoder: &Encoder) -> Result<()> {
    match encoder.first_categorical() {
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
) -> Result<Dataset> {
    let class_of = rows.labels.classes(classes);
    let (mut kept, mut labels) = (Vec::new(), Vec::new());
    for (row, &number) in rows.numbers.iter().enumerate() {
        match class_of[number] {
            Some(label) => {
                kept.push(row);
                labels.push(label);
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
    let features = Features::Csr { row_starts, indices, values, columns };
    let features = if kept.len() == total { features } else { features.select(&kept) };
    Ok(Dataset {
        description: DataDescription {
            source: source.name().display().to_string(),
            format: "libsvm".into(),
            rows: labels.len() as u64,
            features: features.columns() as u64,
            dropped_missing: 0,
            dropped_other_class: (total - labels.len()) as u64,
        },
        features,
        labels,
        weights: None,
        feature_names: encoder.feature_names(),
        classes: classes.names(),
        encoder,
    })
}
