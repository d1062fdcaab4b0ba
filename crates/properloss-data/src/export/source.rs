//! What is exported: the parts of a model or of a calibration that prediction needs.

use properloss::design::FittedScaling;
use properloss::link::LinkSpec;

use super::link::link;
use super::program::{Pair, Program};
use crate::encoder::{Column, ColumnKind, Encoder, SparseColumns, Writing};
use crate::error::{Error, Result};
use crate::model_file::{ModelFile, program as program_name};
use crate::options::UnknownCategory;

/// A classifier as prediction sees it: `p = u(w.x + b)` on encoded columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Exportable {
    pub(super) columns: Vec<Column>,
    pub(super) missing_words: Vec<String>,
    pub(super) unknown: UnknownCategory,
    pub(super) feature_names: Vec<String>,
    pub(super) weights: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) unit_rows: bool,
    /// `e` of a calibration of probabilities: the score is `ln((p + e)/(1 - p + e))` of the input.
    pub(super) margin: Option<f64>,
    pub(super) link: LinkSpec,
    /// The least and the largest probability; `[0, 1]` if the link decides alone.
    pub(super) range: [f64; 2],
    pub(super) classes: [String; 2],
    /// The program that made it, for the head of every file.
    pub(super) made_by: String,
}

/// Strictly between 0 and 1.
const INSIDE: [f64; 2] = [f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0];

/// A calibration of probabilities has one column; its logarithm stands in the program.
fn margin_of(columns: &mut [Column]) -> Option<f64> {
    let [column] = columns else { return None };
    let ColumnKind::LogOdds { margin } = column.kind else { return None };
    column.kind = ColumnKind::Numeric { fill: None };
    Some(margin)
}

/// The columns with the names of their features. Numbered columns are those in use, by their names: a number
/// for each, 0 where a sparse row stores none.
pub(super) fn columns_of(
    encoder: &Encoder,
    names: &[String],
) -> Result<(Vec<Column>, Vec<String>)> {
    let Some(sparse) = &encoder.sparse else {
        return Ok((encoder.columns.clone(), names.to_vec()));
    };
    let used = sparse.indices.len();
    if used > SparseColumns::NAMED {
        return Err(Error::BadOption {
            what: "the model",
            value: format!("of {used} numbered columns"),
            expected: format!(
                "one of at most {} columns in use to be exported",
                SparseColumns::NAMED
            ),
        });
    }
    let names: Vec<String> = (0..used).map(|feature| sparse.name(feature)).collect();
    let column = |name: &String| Column {
        name: name.clone(),
        kind: ColumnKind::Numeric { fill: None },
        written: Writing::Numbers,
    };
    Ok((names.iter().map(column).collect(), names))
}

impl Exportable {
    /// From a model file. A category that the model does not know has no answer (NaN, NULL), or
    /// counts as none of the known ones, as `unknown` says.
    pub fn from_model(file: &ModelFile, unknown: UnknownCategory) -> Result<Self> {
        // What the model answers at the ends is all it does beyond its link.
        let model = file.model()?;
        let mut range = [f64::NEG_INFINITY, f64::INFINITY];
        model.apply_link(&mut range);
        let ends = [model.link().u(f64::NEG_INFINITY), model.link().u(f64::INFINITY)];
        if range == ends {
            range = [0.0, 1.0];
        }
        // The default estimator and the calibrator promise it.
        if ["proper", "calibrate"].contains(&file.fitted.method.as_str()) {
            range = INSIDE;
        }
        let (mut columns, feature_names) =
            columns_of(&file.preprocessing.encoder, &file.feature_names)?;
        let margin = margin_of(&mut columns);
        Ok(Self {
            columns,
            missing_words: file.preprocessing.encoder.missing_words.clone(),
            unknown,
            feature_names,
            weights: file.weights.clone(),
            intercept: file.intercept,
            unit_rows: file.preprocessing.scaling == FittedScaling::UnitRows,
            margin,
            link: file.link.clone(),
            range,
            classes: file.classes.clone(),
            made_by: program_name(),
        })
    }

    /// The columns of a model whose scores and link are kept elsewhere.
    pub(super) fn of_columns(
        columns: Vec<Column>,
        missing_words: Vec<String>,
        unknown: UnknownCategory,
        feature_names: Vec<String>,
    ) -> Self {
        Self {
            columns,
            missing_words,
            unknown,
            feature_names,
            weights: Vec::new(),
            intercept: 0.0,
            unit_rows: false,
            margin: None,
            link: LinkSpec::builtin("sigmoid"),
            range: [0.0, 1.0],
            classes: Default::default(),
            made_by: program_name(),
        }
    }

    /// From a calibration: `u(slope s + intercept)` of the score `s`, or of
    /// `s = ln((p + margin)/(1 - p + margin))` of a probability `p`.
    pub fn from_calibration(
        margin: Option<f64>,
        slope: f64,
        intercept: f64,
        link: LinkSpec,
        classes: [String; 2],
    ) -> Result<Self> {
        link.build()?;
        let name = if margin.is_some() { "uncalibrated" } else { "score" };
        Ok(Self {
            columns: vec![Column {
                name: name.into(),
                kind: ColumnKind::Numeric { fill: None },
                written: Writing::Numbers,
            }],
            missing_words: Vec::new(),
            unknown: UnknownCategory::Error,
            feature_names: vec![name.into()],
            weights: vec![slope],
            intercept,
            unit_rows: false,
            margin,
            link,
            range: INSIDE,
            classes,
            made_by: program_name(),
        })
    }

    /// The names of the two classes.
    pub fn classes(&self) -> &[String; 2] {
        &self.classes
    }

    /// Whether every column is a number: then a row is a vector.
    pub fn is_numeric(&self) -> bool {
        self.columns.iter().all(|column| matches!(column.kind, ColumnKind::Numeric { .. }))
    }

    /// The weights and the intercept of the linear stage. A calibration of probabilities has none:
    /// its line stands behind a logarithm, in the program.
    pub(super) fn line(&self) -> (Vec<f64>, f64) {
        match self.margin {
            None => (self.weights.clone(), self.intercept),
            Some(_) => (vec![1.0], 0.0),
        }
    }

    /// From the score of the linear stage to the probability and its complement.
    pub(super) fn program(&self) -> Result<(Program, Pair)> {
        let mut program = Program::default();
        let mut z = program.score();
        if let Some(e) = self.margin {
            let p = program.clamp(z, 0.0, 1.0);
            let margin = program.constant(e);
            let above = program.add(p, margin);
            let one = program.constant(1.0);
            let rest = program.sub(one, p);
            let below = program.add(rest, margin);
            let odds = program.div(above, below);
            let logarithm = program.ln(odds);
            let slope = program.constant(self.weights[0]);
            let product = program.mul(slope, logarithm);
            let intercept = program.constant(self.intercept);
            z = program.add(product, intercept);
        }
        let mut pair = link(&mut program, &self.link, z)?;
        if self.range != [0.0, 1.0] {
            let [low, high] = self.range;
            pair.p = program.clamp(pair.p, low, high);
            pair.q = program.clamp(pair.q, low, high);
        }
        Ok((program, pair))
    }

    /// `properloss 0.1.0: the probability of class "yes" (against "no")`.
    pub(super) fn headline(&self) -> String {
        let [negative, positive] = &self.classes;
        format!(
            "{}: the probability of class {positive:?} (against {negative:?}), {} link",
            self.made_by,
            self.link.name()
        )
    }

    /// Numbers of the columns that are numeric, and of those that are text.
    pub(super) fn places(&self) -> (Vec<usize>, Vec<usize>) {
        let numeric = |&k: &usize| matches!(self.columns[k].kind, ColumnKind::Numeric { .. });
        (0..self.columns.len()).partition(numeric)
    }
}
