//! From one row of a table to features: numbers, one-hot categories, fills.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::encoder::{ColumnKind, Encoder, Label, Writing};
use crate::error::{Error, Position, Result, clipped};
use crate::options::{LabelUse, Missing, UnknownCategory};
use crate::table::{Cell, Table, find_column};

/// An encoder whose columns were found in a table: turns its rows into features, one by one.
#[derive(Debug, Clone)]
pub struct BoundEncoder<'e> {
    encoder: &'e Encoder,
    /// For each feature column its place in the table.
    columns: Vec<usize>,
    label: Option<(usize, &'e Label)>,
    weight: Option<usize>,
    unknown: UnknownCategory,
}

impl Encoder {
    /// Finds the encoder's columns in a table, by name: the order does not matter, and columns that
    /// the model does not know are left alone. Tells the table which columns will be read.
    pub fn bind<'e>(
        &'e self,
        table: &mut dyn Table,
        label: LabelUse,
        unknown: UnknownCategory,
    ) -> Result<BoundEncoder<'e>> {
        self.refuse_numbered(table.file())?;
        let available = table.columns();
        // Text files are read without the spaces around a name, which a data frame keeps.
        let (mut exact, mut bare) = (HashMap::new(), HashMap::new());
        for (index, name) in available.iter().enumerate() {
            exact.entry(name.as_str()).or_insert(index);
            bare.entry(name.trim()).or_insert(index);
        }
        let position = |name: &str| exact.get(name).or_else(|| bare.get(name.trim())).copied();
        let found: Vec<Option<usize>> = self.columns.iter().map(|c| position(&c.name)).collect();
        if found.contains(&None) {
            let missing = self.columns.iter().zip(&found).filter(|(_, f)| f.is_none());
            return Err(Error::MissingColumns {
                file: table.file().to_path_buf(),
                missing: missing.map(|(column, _)| column.name.clone()).collect(),
                available: available.to_vec(),
            });
        }
        let columns: Vec<usize> = found.into_iter().flatten().collect();
        let mut used = columns.clone();
        let (mut label_column, mut weight_column) = (None, None);
        if label == LabelUse::Require {
            if let Some(label @ Label { column: Some(name), .. }) = &self.label {
                label_column = Some((find_column(table, "label", name)?, label));
            }
            if let Some(name) = &self.weight {
                weight_column = Some(find_column(table, "weight", name)?);
            }
        }
        used.extend(label_column.map(|(index, _)| index));
        used.extend(weight_column);
        table.select(&used)?;
        Ok(BoundEncoder {
            encoder: self,
            columns,
            label: label_column,
            weight: weight_column,
            unknown,
        })
    }
}

/// What the features of a row are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Rows with missing values may be left out, as [`Missing::Drop`] says.
    Training,
    /// Each row must have an answer: a missing value without a fill is an error.
    Prediction,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoded {
    /// The features were written; with the label and weight, if they were asked for.
    Row {
        /// The number of its class: 0 or 1 of two.
        label: Option<u32>,
        /// 1 without a weight column.
        weight: f64,
        /// Categories that did not occur at training, encoded as none of the known ones.
        unknown: u32,
    },
    /// Left out: a missing value, under [`Missing::Drop`], or a label of neither class.
    Skipped(Skip),
}

/// Why a row was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// It has a missing value.
    Missing,
    /// Its label is of another class than the two chosen.
    OtherClass,
}

impl BoundEncoder<'_> {
    /// Writes the features of the current row to `out`, whose length is [`Encoder::width`].
    ///
    pub fn encode(
        &self,
        table: &dyn Table,
        position: Position,
        purpose: Purpose,
        out: &mut [f64],
    ) -> Result<Encoded> {
        let missing_rule = self.encoder.missing;
        let missing = |index: usize, cell: &Cell<'_>| -> Result<Encoded> {
            if purpose == Purpose::Training && missing_rule == Missing::Drop {
                return Ok(Encoded::Skipped(Skip::Missing));
            }
            let (place, value) = (table.place(position, index), clipped(&cell_text(cell)));
            Err(if purpose == Purpose::Training {
                Error::MissingValue { place, value }
            } else {
                Error::MissingAtPrediction { place, value }
            })
        };
        let label = match self.label {
            None => None,
            Some((index, label)) => {
                let cell = table.cell(index);
                if self.encoder.is_missing(&cell) {
                    return missing(index, &cell);
                }
                let value = cell_text(&cell);
                match label.classes.class_of(&value) {
                    None if label.skip_others => return Ok(Encoded::Skipped(Skip::OtherClass)),
                    None => {
                        return Err(Error::UnknownLabel {
                            place: table.place(position, index),
                            value: clipped(&value),
                            known: label.classes.all(),
                        });
                    }
                    known => known,
                }
            }
        };
        let weight = match self.weight {
            None => 1.0,
            Some(index) => {
                let cell = table.cell(index);
                if self.encoder.is_missing(&cell) {
                    return missing(index, &cell);
                }
                let value = number(table, position, index, &cell)?;
                if value < 0.0 {
                    let place = table.place(position, index);
                    return Err(Error::NegativeWeight { place, value });
                }
                value
            }
        };
        let (mut start, mut unknown) = (0, 0);
        for (column, &index) in self.encoder.columns.iter().zip(&self.columns) {
            let out = &mut out[start..start + column.width()];
            start += out.len();
            let cell = table.cell(index);
            if let (Cell::Number(number), ColumnKind::Numeric { .. }, Writing::Numbers) =
                (&cell, &column.kind, column.written)
                && number.is_finite()
            {
                out[0] = *number;
                continue;
            }
            let is_missing = self.encoder.is_missing(&cell);
            match &column.kind {
                ColumnKind::Numeric { fill: Some(fill) } if is_missing => out[0] = *fill,
                ColumnKind::Categorical { fill: Some(fill), .. } if is_missing => {
                    out.copy_from_slice(fill);
                }
                _ if is_missing => return missing(index, &cell),
                ColumnKind::Numeric { .. } => {
                    out[0] = match written_number(column.written, &cell) {
                        Some(value) => value,
                        None => number(table, position, index, &cell)?,
                    };
                }
                ColumnKind::LogOdds { margin } => {
                    let p = number(table, position, index, &cell)?;
                    if !(-1e-9..=1.0 + 1e-9).contains(&p) {
                        let place = table.place(position, index);
                        return Err(Error::NotAProbability { place, value: p });
                    }
                    let p = p.clamp(0.0, 1.0);
                    out[0] = ((p + margin) / ((1.0 - p) + margin)).ln();
                }
                ColumnKind::Categorical { categories, .. } => {
                    out.fill(0.0);
                    let text = cell_text(&cell);
                    let find =
                        |text: &str| categories.binary_search_by(|known| known.as_str().cmp(text));
                    let truth = || find(&category_text(&cell));
                    let whole = || find(&other_whole(&text));
                    match find(&text).or_else(|_| truth()).or_else(|_| whole()) {
                        Ok(found) => out[found] = 1.0,
                        Err(_) if self.unknown == UnknownCategory::Zeros => unknown += 1,
                        Err(_) => {
                            return Err(Error::UnknownCategory {
                                place: table.place(position, index),
                                value: clipped(&text),
                                known: categories.clone(),
                            });
                        }
                    }
                }
            }
        }
        Ok(Encoded::Row { label, weight, unknown })
    }
}

/// The finite number of a cell that is not missing.
fn number(table: &dyn Table, position: Position, index: usize, cell: &Cell<'_>) -> Result<f64> {
    let number = match cell_number(cell) {
        Some(number) => number,
        None => {
            let place = table.place(position, index);
            return Err(Error::NotANumber { place, value: clipped(&cell_text(cell)) });
        }
    };
    if number.is_finite() {
        Ok(number)
    } else {
        Err(Error::NotFinite {
            place: table.place(position, index),
            value: clipped(&cell_text(cell)),
        })
    }
}

pub(crate) fn is_missing(words: &[String], cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Null => true,
        Cell::Number(number) => number.is_nan(),
        Cell::Bool(_) | Cell::Date(_) => false,
        Cell::Text(text) => words.iter().any(|word| word == text),
    }
}

/// The cell as a number, which may be infinite.
pub(crate) fn cell_number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Null => None,
        Cell::Number(number) => Some(*number),
        Cell::Date(days) => Some(*days),
        Cell::Bool(value) => Some(f64::from(u8::from(*value))),
        Cell::Text(text) => text.parse().ok(),
    }
}

/// The text of a number of one digit, as most labels are: a float takes 100 ns to write.
fn digit(number: f64) -> Option<&'static str> {
    const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let text = DIGITS.get(number as usize)?;
    // Neither a fraction nor -0.
    ((number as usize as f64).to_bits() == number.to_bits()).then_some(text)
}

/// The cell as a text; numbers in their shortest form.
pub(crate) fn cell_text<'a>(cell: &Cell<'a>) -> Cow<'a, str> {
    match *cell {
        Cell::Null => "".into(),
        Cell::Number(number) => match digit(number) {
            Some(text) => text.into(),
            None => number.to_string().into(),
        },
        Cell::Bool(value) => if value { "true" } else { "false" }.into(),
        Cell::Date(days) => crate::date::text(days).into(),
        Cell::Text(text) => text.into(),
    }
}

/// The same as the name of a category: one writing for every truth value.
pub(crate) fn category_text<'a>(cell: &Cell<'a>) -> Cow<'a, str> {
    match boolean(cell) {
        Some(value) => if value { "true" } else { "false" }.into(),
        None => cell_text(cell),
    }
}

/// The other writing of a whole number: `3` of `3.0`, `3.0` of `3`. Where values are missing, whole
/// numbers are floats in a data frame and `3.0` in the CSV file that it writes, but 3 in Parquet.
fn other_whole(text: &str) -> Cow<'_, str> {
    let digits = |text: &str| {
        let bare = text.strip_prefix('-').unwrap_or(text);
        !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit())
    };
    match text.strip_suffix(".0") {
        Some(whole) if digits(whole) => whole.into(),
        None if digits(text) => format!("{text}.0").into(),
        _ => text.into(),
    }
}

/// A truth value, or the writing of one.
pub(crate) fn boolean(cell: &Cell<'_>) -> Option<bool> {
    match cell {
        Cell::Bool(value) => Some(*value),
        Cell::Text("true" | "True" | "TRUE") => Some(true),
        Cell::Text("false" | "False" | "FALSE") => Some(false),
        _ => None,
    }
}

/// The number of a cell that is written in this way.
pub(crate) fn written_number(written: Writing, cell: &Cell<'_>) -> Option<f64> {
    match written {
        Writing::Numbers => None,
        Writing::Booleans => boolean(cell).map(|value| f64::from(u8::from(value))),
        Writing::Dates => match cell {
            Cell::Date(days) => Some(*days),
            Cell::Text(text) => crate::date::parse(text),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_digit_are_written_as_all_others() {
        for k in -25..120 {
            for number in [f64::from(k), f64::from(k) / 10.0, f64::from(k) * -0.0, f64::NAN] {
                assert_eq!(cell_text(&Cell::Number(number)), number.to_string(), "{number}");
            }
        }
    }

    #[test]
    fn whole_numbers_have_two_writings() {
        for (text, other) in [
            ("3", "3.0"),
            ("3.0", "3"),
            ("-12", "-12.0"),
            ("-12.0", "-12"),
            ("", ""),
            ("-", "-"),
            (".0", ".0"),
            ("a.0", "a.0"),
            ("1.5", "1.5"),
            ("1e3", "1e3"),
            ("a", "a"),
        ] {
            assert_eq!(other_whole(text), other, "{text}");
        }
    }

    #[test]
    fn truth_values_have_three_writings() {
        for (text, value) in [
            ("true", Some(true)),
            ("True", Some(true)),
            ("TRUE", Some(true)),
            ("false", Some(false)),
            ("False", Some(false)),
            ("FALSE", Some(false)),
            ("tRUE", None),
            ("1", None),
        ] {
            assert_eq!(boolean(&Cell::Text(text)), value, "{text}");
        }
        assert_eq!(boolean(&Cell::Bool(true)), Some(true));
    }
}
