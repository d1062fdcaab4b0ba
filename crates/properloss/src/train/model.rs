//! What a trainer hands back: a linear score and the inverse link that makes it a probability.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Iteration, Termination};
use crate::certify::Certificate;
use crate::design::{Design, FittedScaling, Intercept};
use crate::error::{Error, Result, require, same_length};
use crate::link::InverseLink;
use crate::proper::ProperFit;
use crate::sample::Matrix;

/// Rows a thread takes at a time when it applies a link.
const CHUNK: usize = 4096;

/// A classifier: `Pr[y = 1 | x] = u(w·x + b)`.
///
/// The coefficients stand for *raw* features: whatever scaling the trainer used is folded into
/// them. Only the scaling to unit rows cannot be folded in; then the score is `w·x / |x| + b`.
#[derive(Debug, Clone)]
#[must_use]
pub struct Model {
    coefficients: Vec<f64>,
    intercept: f64,
    unit_rows: bool,
    link: Arc<dyn InverseLink>,
}

impl Model {
    /// From its parts; coefficients and intercept must be finite.
    pub fn new(coefficients: Vec<f64>, intercept: f64, link: Arc<dyn InverseLink>) -> Result<Self> {
        if coefficients.is_empty() {
            return Err(Error::TooShort { what: "coefficients", length: 0, minimum: 1 });
        }
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            let value = coefficients[index];
            return Err(Error::NotFinite { what: "coefficients", index, value });
        }
        require("intercept", intercept, "finite", intercept.is_finite())?;
        Ok(Self { coefficients, intercept, unit_rows: false, link })
    }

    /// The same over rows divided by their norm.
    pub fn on_unit_rows(self) -> Self {
        Self { unit_rows: true, ..self }
    }

    /// The coefficients of the raw features.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// What is added to every score.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// Whether rows are divided by their norm before the coefficients apply.
    pub fn unit_rows(&self) -> bool {
        self.unit_rows
    }

    /// The inverse link `u`.
    pub fn link(&self) -> &Arc<dyn InverseLink> {
        &self.link
    }

    /// `z_i = w·x_i + b`. The number of columns and the values are checked.
    pub fn scores(&self, matrix: Matrix<'_>) -> Result<Vec<f64>> {
        same_length(("row", matrix.columns()), ("the model", self.coefficients.len()))?;
        let scaling = if self.unit_rows { FittedScaling::UnitRows } else { FittedScaling::None };
        let design = Design::with_unchecked_values(matrix, scaling, Intercept::Learned)?;
        let mut w = self.coefficients.clone();
        w.push(self.intercept);
        let mut z = vec![0.0; matrix.rows()];
        design.scores(&w, &mut z);
        // One pass over X in place of two: it is searched only if a score tells that it must be.
        if z.iter().any(|z| !z.is_finite()) {
            matrix.check_finite()?;
        }
        Ok(z)
    }

    /// `u(w·x_i + b)`, in `[0, 1]`; strictly between 0 and 1 on a side where the link only tends to its
    /// end ([`InverseLink::support`] is infinite there), also where the nearest number would be the
    /// end itself.
    pub fn probabilities(&self, matrix: Matrix<'_>) -> Result<Vec<f64>> {
        let mut z = self.scores(matrix)?;
        self.apply_link(&mut z);
        Ok(z)
    }

    /// `z <- u(z)` for a slice of scores.
    pub fn apply_link(&self, z: &mut [f64]) {
        let (low, high) = self.bounds();
        z.par_chunks_mut(CHUNK).for_each(|chunk| {
            for z in chunk {
                *z = self.link.u(*z).clamp(low, high);
            }
        });
    }

    /// The least and the largest probability that the model gives.
    fn bounds(&self) -> (f64, f64) {
        let (z_min, z_max) = self.link.support();
        (
            if z_min == f64::NEG_INFINITY { f64::MIN_POSITIVE } else { 0.0 },
            if z_max == f64::INFINITY { 1.0 - f64::EPSILON / 2.0 } else { 1.0 },
        )
    }
}

/// A finished run: the model, why the run ended, and what happened on the way.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The classifier.
    pub model: Model,
    /// The scaling it was trained under.
    pub scaling: FittedScaling,
    /// Why the run ended.
    pub termination: Termination,
    /// One entry an iteration.
    pub history: Vec<Iteration>,
    /// One an iteration, from a trainer that gives any.
    pub certificates: Vec<Certificate>,
    /// What cross-validation weighed, from the default estimator.
    pub proper: Option<Box<ProperFit>>,
}

impl Fit {
    /// Number of iterations made.
    pub fn iterations(&self) -> usize {
        self.history.len()
    }

    /// The loss at the end.
    pub fn loss(&self) -> Option<f64> {
        self.history.last().map(|last| last.loss)
    }
}
