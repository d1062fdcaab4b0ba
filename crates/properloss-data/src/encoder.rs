//! From the columns of a table to the features of a model, the same way at training and prediction.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Position, Result, clipped};
use crate::labels::Classes;
use crate::options::{LabelUse, Missing, UnknownCategory};
pub use crate::sparse_columns::SparseColumns;
use crate::table::{Cell, Table, find_column};

/// How a table becomes features: learned from the training data, kept in the model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    /// The feature columns, in the order of the features.
    pub columns: Vec<Column>,
    /// Numbered columns in the place of named ones: for sparse files of very many columns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sparse: Option<SparseColumns>,
    /// The label column and its classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<Label>,
    /// The column of weights.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<String>,
    /// The rule for missing values.
    #[serde(default)]
    pub missing: Missing,
    /// The texts that stand for a missing value.
    #[serde(default = "crate::options::default_missing_words")]
    pub missing_words: Vec<String>,
}

/// A feature column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the table.
    pub name: String,
    /// What it becomes.
    #[serde(flatten)]
    pub kind: ColumnKind,
    /// How its numbers are written.
    #[serde(default, skip_serializing_if = "Writing::is_plain")]
    pub written: Writing,
}

/// How the numbers of a numeric column are written in a table. The values decide, never the format of
/// the file: a text table, Parquet and a data frame give the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writing {
    /// As numbers.
    #[default]
    Numbers,
    /// As `true` and `false`, in any case: 1 and 0.
    Booleans,
    /// As dates or times of ISO 8601: [days since 1970-01-01](crate::date::days).
    Dates,
}

impl Writing {
    fn is_plain(&self) -> bool {
        *self == Self::Numbers
    }
}

/// What a column becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ColumnKind {
    /// One feature, the number itself.
    Numeric {
        /// What a missing value becomes.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fill: Option<f64>,
    },
    /// One feature for each category: 1 for the row's own, 0 for the others.
    Categorical {
        /// The categories, sorted.
        categories: Vec<String>,
        /// What a missing value becomes.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        fill: Option<Vec<f64>>,
    },
    /// One feature, the log odds `ln((p + e)/(1 - p + e))` of a probability `p` with the margin `e`:
    /// what a calibrator of probabilities takes.
    LogOdds {
        /// `e > 0`, so that 0 and 1 have a score.
        margin: f64,
    },
}

/// The label column and the values that make up its classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its name; `None` for formats that have a label but no column names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<String>,
    /// The values of each class.
    #[serde(flatten)]
    pub classes: Classes,
    /// Whether rows of other values are left out; if not, such a value is an error.
    #[serde(default)]
    pub skip_others: bool,
}

impl Column {
    /// How many features it becomes.
    pub fn width(&self) -> usize {
        match &self.kind {
            ColumnKind::Numeric { .. } | ColumnKind::LogOdds { .. } => 1,
            ColumnKind::Categorical { categories, .. } => categories.len(),
        }
    }

    /// Whether its feature is the number in the table itself.
    pub fn is_plain_number(&self) -> bool {
        self.written.is_plain() && self.kind == ColumnKind::Numeric { fill: None }
    }
}

impl Encoder {
    /// With these classes and no label column, unless it knows its label.
    pub(crate) fn or_classes(mut self, classes: Classes) -> Self {
        let label = || Label { column: None, classes, skip_others: false };
        self.label.get_or_insert_with(label);
        self
    }

    /// Numeric columns with these names and no label: for data that come as a matrix.
    pub fn numeric(names: impl IntoIterator<Item = String>) -> Self {
        let column = |name| Column {
            name,
            kind: ColumnKind::Numeric { fill: None },
            written: Writing::Numbers,
        };
        Self {
            columns: names.into_iter().map(column).collect(),
            sparse: None,
            label: None,
            weight: None,
            missing: Missing::Error,
            missing_words: crate::options::default_missing_words(),
        }
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        let numbered = self.sparse.as_ref().map_or(0, |sparse| sparse.indices.len());
        self.columns.iter().map(Column::width).sum::<usize>() + numbered
    }

    /// The names of the features: the column's, or `column=category`. None for numbered columns,
    /// whose names would take more memory than their values; see [`Encoder::feature_name`].
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for column in &self.columns {
            match &column.kind {
                ColumnKind::Numeric { .. } | ColumnKind::LogOdds { .. } => {
                    names.push(column.name.clone());
                }
                ColumnKind::Categorical { categories, .. } => {
                    names.extend(categories.iter().map(|c| format!("{}={c}", column.name)));
                }
            }
        }
        names
    }

    /// The name of feature `j`; empty beyond the last.
    pub fn feature_name(&self, j: usize) -> String {
        match &self.sparse {
            Some(sparse) => sparse.name(j),
            None => self.feature_names().get(j).cloned().unwrap_or_default(),
        }
    }

    /// The first column that is not a number taken as it is, if any: formats of bare numbers cannot
    /// carry it.
    pub(crate) fn first_encoded(&self) -> Option<&Column> {
        self.columns.iter().find(|c| !matches!(c.kind, ColumnKind::Numeric { .. }))
    }

    /// The features of every row of a table without labels, row after row, and how many values were
    /// categories that did not occur at training.
    pub fn encode_all(
        &self,
        table: &mut dyn Table,
        unknown: UnknownCategory,
    ) -> Result<(Vec<f64>, u64)> {
        let bound = self.bind(table, LabelUse::Ignore, unknown)?;
        let (mut row, mut all, mut unknowns) = (vec![0.0; self.width()], Vec::new(), 0);
        while let Some(position) = table.next_row()? {
            if let Encoded::Row { unknown, .. } = bound.encode(table, position, false, &mut row)? {
                unknowns += u64::from(unknown);
            }
            all.extend_from_slice(&row);
        }
        Ok((all, unknowns))
    }

    /// What is wrong with an encoder that was read from a file: the field and the reason.
    pub(crate) fn check(&self) -> std::result::Result<(), (String, String)> {
        if let Some(sparse) = &self.sparse {
            sparse.check()?;
            if !self.columns.is_empty() {
                let reason = "named and numbered columns at once";
                return Err(("encoder.sparse".into(), reason.into()));
            }
        }
        let mut seen = std::collections::HashSet::new();
        for (index, column) in self.columns.iter().enumerate() {
            let at = |what: &str| format!("encoder.columns[{index}] ({:?}){what}", column.name);
            if !seen.insert(&column.name) {
                return Err((at(""), "the name stands twice".into()));
            }
            match &column.kind {
                ColumnKind::Numeric { fill: Some(fill) } if !fill.is_finite() => {
                    return Err((at(".fill"), format!("{fill} is not finite")));
                }
                ColumnKind::Numeric { .. } => {}
                ColumnKind::LogOdds { margin } if !(*margin > 0.0 && margin.is_finite()) => {
                    return Err((at(".margin"), format!("{margin} is not a positive number")));
                }
                ColumnKind::LogOdds { .. } if self.columns.len() > 1 => {
                    return Err((at(".kind"), "a calibrator has one column".into()));
                }
                ColumnKind::LogOdds { .. } => {}
                ColumnKind::Categorical { categories, fill } => {
                    if categories.is_empty() {
                        return Err((at(".categories"), "no category".into()));
                    }
                    if !categories.is_sorted_by(|a, b| a < b) {
                        return Err((at(".categories"), "not sorted, or one stands twice".into()));
                    }
                    if let Some(fill) = fill {
                        if fill.len() != categories.len() {
                            let reason =
                                format!("{} values, {} categories", fill.len(), categories.len());
                            return Err((at(".fill"), reason));
                        }
                        if let Some(bad) = fill.iter().find(|f| !f.is_finite()) {
                            return Err((at(".fill"), format!("{bad} is not finite")));
                        }
                    }
                }
            }
        }
        if let Some(label) = &self.label {
            let classes = label.classes.check();
            classes.map_err(|error| ("encoder.label".to_owned(), error.to_string()))?;
        }
        Ok(())
    }

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

    /// Numbered columns are found in LibSVM files only.
    pub(crate) fn refuse_numbered(&self, file: &std::path::Path) -> Result<()> {
        match &self.sparse {
            None => Ok(()),
            Some(sparse) => {
                Err(Error::SparseModel { file: file.to_path_buf(), columns: sparse.indices.len() })
            }
        }
    }

    pub(crate) fn is_missing(&self, cell: &Cell<'_>) -> bool {
        is_missing(&self.missing_words, cell)
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
    /// `training` lets rows with missing values be left out as [`Missing::Drop`] says; at
    /// prediction each row must have an answer, so a missing value without a fill is an error.
    pub fn encode(
        &self,
        table: &dyn Table,
        position: Position,
        training: bool,
        out: &mut [f64],
    ) -> Result<Encoded> {
        let missing_rule = self.encoder.missing;
        let missing = |index: usize, cell: &Cell<'_>| -> Result<Encoded> {
            if training && missing_rule == Missing::Drop {
                return Ok(Encoded::Skipped(Skip::Missing));
            }
            let (place, value) = (table.place(position, index), clipped(&cell_text(cell)));
            Err(if training {
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

/// The cell as a text; numbers in their shortest form.
pub(crate) fn cell_text<'a>(cell: &Cell<'a>) -> Cow<'a, str> {
    match *cell {
        Cell::Null => "".into(),
        Cell::Number(number) => number.to_string().into(),
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

    /// Every field of a stored encoder that cannot be is named.
    #[test]
    fn wrong_columns_are_named() {
        let categories = |names: &[&str], fill: Option<Vec<f64>>| Encoder {
            columns: vec![Column {
                kind: ColumnKind::Categorical {
                    categories: names.iter().map(|&name| name.to_owned()).collect(),
                    fill,
                },
                ..Encoder::numeric(vec!["a".into()]).columns[0].clone()
            }],
            ..Encoder::numeric(Vec::new())
        };
        assert!(categories(&["x", "y"], None).check().is_ok());
        assert!(categories(&["x", "y"], Some(vec![0.25, 0.75])).check().is_ok());
        for wrong in [
            categories(&[], None),
            categories(&["y", "x"], None),
            categories(&["x", "x"], None),
            categories(&["x", "y"], Some(vec![1.0])),
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        let twice = Encoder::numeric(vec!["a".into(), "b".into(), "a".into()]);
        assert!(twice.check().unwrap_err().0.starts_with("encoder.columns[2]"));
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
