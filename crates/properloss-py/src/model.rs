//! A fitted classifier and its predictions.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use properloss::Result;
use properloss::design::FittedScaling;
use properloss::sample::Matrix;
use properloss::train;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::doorway;
use crate::encoder::TableEncoder;
use crate::errors::to_python;
use crate::file;
use crate::link;
use crate::matrix::Rows;

/// Rows whose probabilities a thread writes at a time.
const CHUNK: usize = 4096;
/// What is inside (0, 1) stays between these two.
const SMALLEST: f64 = f64::MIN_POSITIVE;
const LARGEST: f64 = 1.0 - f64::EPSILON / 2.0;

/// A fitted classifier as the engine holds it; pickled as its JSON file.
#[pyclass(frozen, module = "properloss._core")]
pub struct Model {
    pub inner: train::Model,
    /// How the features were scaled for training.
    pub scaling: FittedScaling,
}

#[pymethods]
impl Model {
    /// Coefficients of the features as given.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.coefficients())
    }

    /// Added to every score.
    #[getter]
    fn intercept(&self) -> f64 {
        self.inner.intercept()
    }

    /// Whether rows are divided by their norm first.
    #[getter]
    fn unit_rows(&self) -> bool {
        self.inner.unit_rows()
    }

    /// From a score to a probability.
    #[getter]
    fn link<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        link::into_python(py, self.inner.link().clone())
    }

    /// The scores of rows.
    fn scores<'py>(&self, py: Python<'py>, rows: Rows<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let matrix = rows.matrix()?;
        let scores = doorway::run(py, || self.inner.scores(matrix)).map_err(to_python)?;
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The probabilities of both classes, one row each.
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let matrix = rows.matrix()?;
        let pairs = doorway::run(py, || self.pairs(matrix)).map_err(to_python)?;
        let length = pairs.len() / 2;
        PyArray1::from_vec(py, pairs).reshape([length, 2])
    }

    /// From its parts: `link(w.x + b)`.
    #[staticmethod]
    fn linear(weights: Vec<f64>, intercept: f64, link: &Bound<'_, PyAny>) -> PyResult<Self> {
        let inner = train::Model::new(weights, intercept, link::from_python(link)?);
        Ok(Self::unscaled(inner.map_err(to_python)?))
    }

    /// The same columns under another link of `slope z + intercept`.
    fn recalibrated(&self, slope: f64, intercept: f64, link: &Bound<'_, PyAny>) -> PyResult<Self> {
        let weights = self.inner.coefficients().iter().map(|w| slope * w).collect();
        let intercept = slope * self.inner.intercept() + intercept;
        let link = link::from_python(link)?;
        let inner = train::Model::new(weights, intercept, link).map_err(to_python)?;
        let inner = if self.inner.unit_rows() { inner.on_unit_rows() } else { inner };
        Ok(Self { inner, scaling: self.scaling.clone() })
    }

    /// The text of a model file.
    #[pyo3(signature = (*, feature_names=None, classes=("0".into(), "1".into()),
                        fitted=r#"{"method": ""}"#, course=Vec::new(), encoder=None))]
    fn to_json(
        &self,
        feature_names: Option<Vec<String>>,
        classes: (String, String),
        fitted: &str,
        course: Vec<(u64, f64, f64)>,
        encoder: Option<&TableEncoder>,
    ) -> PyResult<String> {
        let encoder = encoder.map(|encoder| encoder.inner.clone());
        file::to_json(self, encoder, feature_names, classes, fitted, &course)
    }

    /// The classifier of the text of a model file.
    #[staticmethod]
    fn from_json(json: &str) -> PyResult<Self> {
        file::from_json(json)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let json = slf.call_method0("to_json")?;
        Ok((slf.get_type().getattr("from_json")?, (json,)).into_pyobject(py)?.into_any())
    }
}

impl Model {
    /// A classifier on its own.
    pub fn unscaled(inner: train::Model) -> Self {
        let scaling = if inner.unit_rows() { FittedScaling::UnitRows } else { FittedScaling::None };
        Self { inner, scaling }
    }

    /// `1 - u(z_i), u(z_i)` for every row: inside (0, 1) wherever the model's probabilities are.
    fn pairs(&self, matrix: Matrix<'_>) -> Result<Vec<f64>> {
        let scores = self.inner.scores(matrix)?;
        let link = self.inner.link();
        let mut pairs = vec![0.0; 2 * scores.len()];
        pairs.par_chunks_mut(2 * CHUNK).zip(scores.par_chunks(CHUNK)).for_each(
            |(pairs, scores)| {
                let mut probabilities = scores.to_vec();
                self.inner.apply_link(&mut probabilities);
                for ((pair, &z), p) in pairs.chunks_exact_mut(2).zip(scores).zip(probabilities) {
                    // 1 - p loses nothing below 1/2; above, the link knows better.
                    let rest = if p <= 0.5 { 1.0 - p } else { link.one_minus_u(z) };
                    let inside = p > 0.0 && p < 1.0;
                    pair[0] = if inside { rest.clamp(SMALLEST, LARGEST) } else { rest };
                    pair[1] = p;
                }
            },
        );
        Ok(pairs)
    }
}
