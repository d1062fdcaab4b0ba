//! Models and calibrations of three classes or more.
//!
//! ```text
//! table -> encoder -> z = W x + b -> mixture of softmaxes, floor and ramps -> one probability a class
//! ```
//!
//! With `e = exp(z - max z)`, softmaxes of other temperatures are powers of `e`; squares and roots
//! give most of them. A ramp looks at `e_k / Σ e` and splits its rest as `e_j / Σ_{j≠k} e_j`. The
//! differences stop at -600, so that no sum of the others is 0: what that changes is below 1e-250.

pub(super) mod c;
pub(super) mod python;
pub(super) mod sql;

use super::Exportable;
use super::program::{Program, Value};
use super::source::columns_of;
use crate::encoder::{Column, ColumnKind, Writing};
use crate::error::Result;
use crate::model_file::{ClassModelFile, MixtureFile};
use crate::options::UnknownCategory;

/// The least difference of a score from the largest.
pub(super) const FARTHEST: f64 = -600.0;

/// A classifier of several classes as prediction sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassExportable {
    /// The columns and their encoding.
    pub(super) base: Exportable,
    /// One row a class.
    pub(super) weights: Vec<Vec<f64>>,
    pub(super) intercepts: Vec<f64>,
    /// `(margin, t)` of a calibration of probabilities: `z = t ln(p + margin)`.
    pub(super) margin: Option<(f64, f64)>,
    pub(super) link: MixtureFile,
    pub(super) classes: Vec<String>,
}

/// `V(p)` of a class: knots and values from 0 to its mass.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub class: usize,
    pub mass: f64,
    pub p: Vec<f64>,
    pub v: Vec<f64>,
}

impl ClassExportable {
    /// From a model file; see [`Exportable::from_model`] for unknown categories.
    pub fn from_model(file: &ClassModelFile, unknown: UnknownCategory) -> Result<Self> {
        let encoder = &file.preprocessing.encoder;
        let (columns, names) = columns_of(encoder, &file.feature_names)?;
        let base = Exportable::of_columns(columns, encoder.missing_words.clone(), unknown, names);
        Ok(Self {
            base,
            weights: file.weights.clone(),
            intercepts: file.intercepts.clone(),
            margin: None,
            link: file.link.clone(),
            classes: file.classes.clone(),
        })
    }

    /// From a calibration: the link of `t z`, of scores `z` or of `z = ln(p + margin)`.
    pub fn from_calibration(
        margin: Option<f64>,
        t: f64,
        link: MixtureFile,
        classes: Vec<String>,
    ) -> Result<Self> {
        link.build()?;
        let what = if margin.is_some() { "uncalibrated" } else { "score" };
        let names: Vec<String> = classes.iter().map(|class| format!("{what}_{class}")).collect();
        let column = |name: &String| Column {
            name: name.clone(),
            kind: ColumnKind::Numeric { fill: None },
            written: Writing::Numbers,
        };
        let columns = names.iter().map(column).collect();
        let base = Exportable::of_columns(columns, Vec::new(), UnknownCategory::Error, names);
        let factor = if margin.is_some() { 1.0 } else { t };
        let weights = (0..classes.len()).map(|k| {
            let mut row = vec![0.0; classes.len()];
            row[k] = factor;
            row
        });
        Ok(Self {
            base,
            weights: weights.collect(),
            intercepts: vec![0.0; classes.len()],
            margin: margin.map(|margin| (margin, t)),
            link,
            classes,
        })
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    pub(super) fn headline(&self) -> String {
        let names: Vec<String> = self.classes.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(", ");
        format!("{}: the probabilities of the classes {names}", self.base.made_by)
    }

    /// The ramps, those of a class added up.
    pub(super) fn curves(&self) -> Vec<Curve> {
        let mut curves = Vec::new();
        for class in 0..self.classes.len() {
            let own: Vec<_> =
                self.link.ramps.iter().filter(|r| r.class == class && r.mass > 0.0).collect();
            if own.is_empty() {
                continue;
            }
            let mut p: Vec<f64> = own.iter().flat_map(|ramp| ramp.p.clone()).collect();
            p.sort_by(f64::total_cmp);
            p.dedup();
            let value = |at: f64| own.iter().map(|r| r.mass * line(&r.p, &r.r, at)).sum();
            let v = p.iter().map(|&at| value(at)).collect();
            curves.push(Curve { class, mass: own.iter().map(|ramp| ramp.mass).sum(), p, v });
        }
        curves
    }

    /// From the scores, by their names in the target, to the probabilities.
    pub(super) fn program(&self, name: impl Fn(usize) -> String) -> (Program, Vec<Value>) {
        let classes = self.classes.len();
        let mut program = Program::default();
        let mut z: Vec<Value> = (0..classes).map(|k| program.given(name(k))).collect();
        if let Some((margin, t)) = self.margin {
            for z in &mut z {
                let p = program.clamp(*z, 0.0, 1.0);
                let margin = program.constant(margin);
                let sum = program.add(p, margin);
                let logarithm = program.ln(sum);
                let t = program.constant(t);
                *z = program.mul(t, logarithm);
            }
        }
        let top = largest(&mut program, &z);
        let farthest = program.constant(FARTHEST);
        let below: Vec<Value> = z
            .iter()
            .map(|&z| {
                let difference = program.sub(z, top);
                program.largest(difference, farthest)
            })
            .collect();
        let mut powers = Powers { below, known: Vec::new() };
        let mut p: Vec<Option<Value>> =
            self.link.floor.iter().map(|&c| (c > 0.0).then(|| program.constant(c))).collect();
        let mut add = |program: &mut Program, k: usize, value: Value| {
            p[k] = Some(match p[k] {
                None => value,
                Some(sum) => program.add(sum, value),
            });
        };
        for part in self.link.softmax.iter().filter(|part| part.mass > 0.0) {
            let e = powers.at(&mut program, part.t);
            let sum = e[1..].iter().fold(e[0], |sum, &e| program.add(sum, e));
            let mass = program.constant(part.mass);
            let factor = program.div(mass, sum);
            for (k, &e) in e.iter().enumerate() {
                let value = program.mul(factor, e);
                add(&mut program, k, value);
            }
        }
        for curve in self.curves() {
            let e = powers.at(&mut program, 1.0);
            let others: Vec<Value> =
                (0..classes).filter(|&j| j != curve.class).map(|j| e[j]).collect();
            let rest = others[1..].iter().fold(others[0], |sum, &e| program.add(sum, e));
            let sum = program.add(e[curve.class], rest);
            let own = program.div(e[curve.class], sum);
            let v = program.interpolate(own, &curve.p, &curve.v);
            add(&mut program, curve.class, v);
            let mass = program.constant(curve.mass);
            let left = program.sub(mass, v);
            let factor = program.div(left, rest);
            for j in (0..classes).filter(|&j| j != curve.class) {
                let value = program.mul(factor, e[j]);
                add(&mut program, j, value);
            }
        }
        let zero = program.constant(0.0);
        let results = p.into_iter().map(|p| p.unwrap_or(zero)).collect();
        (program, results)
    }
}

/// The largest of some values, as a tree: few steps follow one another.
fn largest(program: &mut Program, values: &[Value]) -> Value {
    match values {
        [one] => *one,
        _ => {
            let (left, right) = values.split_at(values.len() / 2);
            let (left, right) = (largest(program, left), largest(program, right));
            program.largest(left, right)
        }
    }
}

/// `exp(t d)`, computed once each; a square or a root of one that is known is cheaper.
struct Powers {
    below: Vec<Value>,
    known: Vec<(f64, Vec<Value>)>,
}

impl Powers {
    fn at(&mut self, program: &mut Program, t: f64) -> Vec<Value> {
        let known = |wanted: f64| self.known.iter().find(|(t, _)| *t == wanted).map(|(_, e)| e);
        if let Some(e) = known(t) {
            return e.clone();
        }
        let e: Vec<Value> = if let Some(half) = known(0.5 * t) {
            half.iter().map(|&e| program.mul(e, e)).collect()
        } else if let Some(twice) = known(2.0 * t) {
            twice.iter().map(|&e| program.sqrt(e)).collect()
        } else {
            let factor = program.constant(t);
            let exponential = |&d: &Value| {
                let d = if t == 1.0 { d } else { program.mul(factor, d) };
                program.exp(d)
            };
            self.below.iter().map(exponential).collect()
        };
        self.known.push((t, e.clone()));
        e
    }
}

/// The straight lines through `(x, y)` at a place between the first and the last `x`.
fn line(x: &[f64], y: &[f64], at: f64) -> f64 {
    let k = x.partition_point(|&x| x <= at).clamp(1, x.len() - 1) - 1;
    let share = (at - x[k]) / (x[k + 1] - x[k]);
    if share >= 1.0 { y[k + 1] } else { y[k] + (y[k + 1] - y[k]) * share }
}
