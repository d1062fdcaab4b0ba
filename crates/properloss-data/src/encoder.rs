//! From the columns of a table to the features of a model, the same way at training and prediction.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use crate::encode_row::{BoundEncoder, Encoded, Purpose, Skip};
use crate::error::{Error, Result};
use crate::labels::Classes;
use crate::options::{LabelUse, Missing, UnknownCategory};
use crate::read::no_names;
pub use crate::sparse_columns::SparseColumns;
use crate::table::{Cell, Table};

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

    /// Formats of bare numbers cannot carry a column that is not a number taken as it is.
    pub(crate) fn refuse_encoded(&self, file: &Path, format: &'static str) -> Result<()> {
        match self.columns.iter().find(|c| !matches!(c.kind, ColumnKind::Numeric { .. })) {
            None => Ok(()),
            Some(Column { name, .. }) => Err(Error::CategoricalModel {
                file: file.to_path_buf(),
                column: name.clone(),
                format,
            }),
        }
    }

    /// The classes, 0 and 1 if there are none, and whether rows of others are left out.
    pub(crate) fn classes(&self) -> Result<(Classes, bool)> {
        match &self.label {
            Some(label) => Ok((label.classes.clone(), label.skip_others)),
            None => {
                let [negative, positive] = no_names();
                Ok((Classes::new(vec![negative], vec![positive])?, false))
            }
        }
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
            if let Encoded::Row { unknown, .. } =
                bound.encode(table, position, Purpose::Prediction, &mut row)?
            {
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
        crate::encode_row::is_missing(&self.missing_words, cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for fill in [f64::NAN, f64::INFINITY] {
            let wrong = categories(&["x", "y"], Some(vec![0.5, fill])).check().unwrap_err();
            assert_eq!(wrong.0, "encoder.columns[0] (\"a\").fill");
            assert_eq!(wrong.1, format!("{fill} is not finite"));
        }
    }

    fn log_odds(names: &[&str], margin: f64) -> Encoder {
        let mut encoder = Encoder::numeric(names.iter().map(|&name| name.to_owned()));
        for column in &mut encoder.columns {
            column.kind = ColumnKind::LogOdds { margin };
        }
        encoder
    }

    /// A calibrator has one column, and a margin that keeps 0 and 1 finite.
    #[test]
    fn calibrators_have_one_column_and_a_margin() {
        assert!(log_odds(&["p"], 1e-3).check().is_ok());
        for margin in [0.0, -0.5, f64::INFINITY, f64::NAN] {
            let wrong = log_odds(&["p"], margin).check().unwrap_err();
            assert_eq!(wrong.0, "encoder.columns[0] (\"p\").margin");
            assert_eq!(wrong.1, format!("{margin} is not a positive number"));
        }
        let wrong = log_odds(&["p", "q"], 1e-3).check().unwrap_err();
        assert_eq!(wrong.1, "a calibrator has one column");
    }

    /// Formats of bare numbers (sparse, images) are refused for a model of anything else, and formats
    /// of named columns for a model of numbered ones.
    #[test]
    fn formats_that_cannot_carry_a_column_are_refused() {
        let file = Path::new("a.svm");
        let numbers = Encoder::numeric(vec!["a".into(), "b".into()]);
        assert!(numbers.refuse_encoded(file, "LibSVM").is_ok());
        assert!(numbers.refuse_numbered(file).is_ok());
        match log_odds(&["a", "p"], 0.1).refuse_encoded(file, "LibSVM") {
            Err(Error::CategoricalModel { column, format, .. }) => {
                assert_eq!((column.as_str(), format), ("a", "LibSVM"));
            }
            other => panic!("{other:?}"),
        }
        let sparse = SparseColumns { first: 1, features: None, indices: vec![3, 70_000, 80_000] };
        let numbered = Encoder { sparse: Some(sparse), ..Encoder::numeric(Vec::new()) };
        assert_eq!((numbered.width(), numbered.feature_name(1)), (3, "x70001".into()));
        match numbered.refuse_numbered(Path::new("a.csv")) {
            Err(Error::SparseModel { columns, .. }) => assert_eq!(columns, 3),
            other => panic!("{other:?}"),
        }
        // Both at once cannot be.
        let both = Encoder { columns: numbers.columns, ..numbered };
        assert_eq!(both.check().unwrap_err().0, "encoder.sparse");
        assert_eq!(both.width(), 5);
    }

    #[test]
    fn an_encoder_that_knows_its_label_keeps_it() {
        let classes = |a: &str, b: &str| Classes::new(vec![a.into()], vec![b.into()]).unwrap();
        let bare = Encoder::numeric(vec!["a".into()]);
        assert_eq!(bare.classes().unwrap(), (classes("0", "1"), false));
        let named = bare.or_classes(classes("no", "yes"));
        assert_eq!(named.classes().unwrap(), (classes("no", "yes"), false));
        let mut chosen = named.or_classes(classes("other", "names"));
        assert_eq!(chosen.classes().unwrap(), (classes("no", "yes"), false));
        chosen.label.as_mut().unwrap().skip_others = true;
        assert_eq!(chosen.classes().unwrap(), (classes("no", "yes"), true));
    }

    #[test]
    fn missing_values_are_nulls_nan_and_the_words() {
        let encoder = Encoder::numeric(vec!["a".into()]);
        for missing in [Cell::Null, Cell::Number(f64::NAN), Cell::Text(""), Cell::Text("NA")] {
            assert!(encoder.is_missing(&missing), "{missing:?}");
        }
        let there = [Cell::Number(0.0), Cell::Bool(false), Cell::Date(0.0), Cell::Text("na")];
        for there in there {
            assert!(!encoder.is_missing(&there), "{there:?}");
        }
    }
}
