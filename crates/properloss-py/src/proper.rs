//! The calibrator.

use std::collections::HashMap;

use numpy::{PyArray1, PyReadonlyArray1};
use properloss::link::InverseLink;
use properloss::proper::{Calibration, Calibrator, Folds, ScoreKind, deal_groups};
use properloss_data::model_file::{FitCertificate, learned_calibration};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::optional;
use crate::doorway;
use crate::errors::to_python;
use crate::memory;

/// Folds as given, or `count` stratified ones.
#[derive(FromPyObject)]
pub struct GivenFolds<'py> {
    #[pyo3(item)]
    folds: Option<PyReadonlyArray1<'py, u32>>,
    #[pyo3(item)]
    count: usize,
    #[pyo3(item)]
    seed: u64,
}

impl GivenFolds<'_> {
    pub fn folds(&self) -> PyResult<Folds> {
        Ok(match optional(&self.folds)? {
            Some(folds) => Folds::Given(folds.to_vec()),
            None => Folds::Stratified { count: self.count, seed: self.seed },
        })
    }
}

/// The fold of every row, such that groups stay together: as the command line deals them.
#[pyfunction]
pub fn group_folds<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'_, u32>,
    groups: PyReadonlyArray1<'_, u32>,
    count: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (labels, groups) = (labels.as_slice()?, groups.as_slice()?);
    let shares = vec![1.0 / count as f64; count];
    let folds = doorway::run(py, || deal_groups(labels, groups, &shares, seed));
    Ok(PyArray1::from_vec(py, folds.map_err(to_python)?))
}

/// A fitted calibration.
#[pyclass(frozen, module = "properloss._core")]
pub struct CalibrationMap {
    inner: Calibration,
    certificate: FitCertificate,
}

#[pymethods]
impl CalibrationMap {
    /// Numbers by their name; `margin` is NaN where scores went in.
    #[getter]
    fn numbers(&self) -> HashMap<&'static str, f64> {
        HashMap::from([
            ("slope", self.inner.slope),
            ("intercept", self.inner.intercept),
            ("margin", self.inner.margin.unwrap_or(f64::NAN)),
            ("slope_ratio", self.inner.slope_ratio),
        ])
    }

    /// What cross-validation weighed and found, as a model file keeps it: a JSON object.
    #[getter]
    fn learned(&self) -> String {
        learned_calibration(&self.inner, &self.certificate).to_string()
    }

    /// From `slope * z + intercept` to a probability.
    #[getter]
    fn link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let link: std::sync::Arc<dyn InverseLink> = self.inner.link.clone();
        crate::link::into_python(py, link)
    }
}

/// The calibrator. `score_folds` where the scores of different folds came from different models.
#[pyfunction]
#[pyo3(signature = (scores, labels, weights, *, kind, smoothness, folds, score_folds=None, by_weight=false))]
#[allow(clippy::too_many_arguments)]
pub fn fit_calibrator(
    py: Python<'_>,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, u8>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    kind: &str,
    smoothness: Vec<f64>,
    folds: GivenFolds<'_>,
    score_folds: Option<PyReadonlyArray1<'_, u32>>,
    by_weight: bool,
) -> PyResult<CalibrationMap> {
    let folds = folds.folds()?;
    memory::ask_for_calibration(scores.as_array().len(), 2, &folds)?;
    let mut options = Calibrator::default()
        .with_folds(folds)
        .with_kind(ScoreKind::from_name(kind).ok_or_else(|| {
            PyValueError::new_err(format!(
                "kind is {kind:?}; it must be auto, scores or probabilities"
            ))
        })?)
        .with_smoothness(smoothness);
    options.by_weight = by_weight;
    let (scores, labels) = (scores.as_slice()?, labels.as_slice()?);
    let weights = optional(&weights)?;
    let score_folds = optional(&score_folds)?;
    let fit = doorway::run(py, || {
        let map = options.fit(scores, labels, weights)?;
        let bound = map.calibration_bound(scores, labels, weights, score_folds, 0.95)?;
        Ok((map, bound))
    });
    let (inner, bound) = fit.map_err(to_python)?;
    let certificate = FitCertificate::new(Some(bound), inner.link_cost);
    Ok(CalibrationMap { inner, certificate })
}
