//! The default estimator and the calibrator for several classes.

use std::collections::HashMap;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use properloss::design::FittedScaling;
use properloss::link::vector::{ClassRamp, Mixture, Ramp, VectorLink, VectorLoss};
use properloss::multiclass::{
    ClassSample, MulticlassCalibration as Calibration, MulticlassCalibrator, MulticlassFit,
    MulticlassProperLoss, class_scores,
};
use properloss_data::model_file::{
    ClassModelFile, Fitted, Preprocessing, learned_of_classes, program,
};
use properloss_data::{DataDescription, Encoder};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{columns, optional};
use crate::doorway;
use crate::encoder::TableEncoder;
use crate::errors::{file_to_python, json_to_python, to_python};
use crate::matrix::Rows;
use crate::memory;
use crate::proper::GivenFolds;

/// A mixture of softmaxes, a floor and class ramps: the link of several classes.
#[pyclass(frozen, module = "properloss._core")]
pub struct VectorMixture {
    inner: Mixture,
}

fn matrix<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, values).reshape([rows, columns])
}

#[pymethods]
impl VectorMixture {
    /// From `(mass, t)` of the softmaxes, the floor, and `(mass, class, p, r)` of the ramps.
    #[new]
    #[pyo3(signature = (softmax, floor, ramps=Vec::new()))]
    fn new(
        softmax: Vec<(f64, f64)>,
        floor: Vec<f64>,
        ramps: Vec<(f64, usize, Vec<f64>, Vec<f64>)>,
    ) -> PyResult<Self> {
        let classes = floor.len();
        let ramps = ramps.into_iter().map(|(mass, class, p, r)| {
            Ok((mass, ClassRamp::new(classes, class, Ramp::new(p, r)?)?))
        });
        let ramps = ramps.collect::<properloss::Result<Vec<_>>>().map_err(to_python)?;
        let inner = Mixture::new(classes, &softmax, floor, ramps).map_err(to_python)?;
        Ok(Self { inner })
    }

    /// `(softmax, floor, ramps)`, what [`Self::new`] takes.
    #[getter]
    fn parts(&self) -> (Vec<(f64, f64)>, Vec<f64>, Vec<(f64, usize, Vec<f64>, Vec<f64>)>) {
        let softmax = self.inner.softmax().iter().map(|(mass, part)| (*mass, part.t())).collect();
        let ramps = self.inner.ramps().iter().map(|(mass, part)| {
            let ramp = part.ramp();
            (*mass, part.class(), ramp.p().to_vec(), ramp.r().to_vec())
        });
        (softmax, self.inner.floor().to_vec(), ramps.collect())
    }

    /// What pickle gives to [`Self::new`].
    fn __getnewargs__(&self) -> (Vec<(f64, f64)>, Vec<f64>, Vec<(f64, usize, Vec<f64>, Vec<f64>)>) {
        self.parts()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    /// Whether the canonical loss has a lower bound.
    #[getter]
    fn has_canonical_loss(&self) -> bool {
        VectorLoss::new(&self.inner).is_ok()
    }

    /// `1/tau` is the mass of the softmax itself.
    #[getter]
    fn tau(&self) -> f64 {
        self.inner.tau()
    }

    /// Whether the classes keep the order of their scores everywhere.
    #[getter]
    fn keeps_order(&self) -> bool {
        self.inner.keeps_order()
    }

    /// `p(z)` for rows of scores.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, columns) = (z.as_array().nrows(), z.as_array().ncols());
        self.check(columns)?;
        let z = z.as_slice()?;
        let p = doorway::run(py, || {
            let mut p = vec![0.0; z.len()];
            self.inner.probabilities_of_rows(z, &mut p);
            p
        });
        matrix(py, p, rows, columns)
    }

    /// `F(z)` for rows of scores.
    fn potential<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let columns = z.as_array().ncols();
        self.check(columns)?;
        let rows = z.as_slice()?.chunks_exact(columns);
        Ok(PyArray1::from_vec(py, rows.map(|z| self.inner.potential(z)).collect()))
    }

    /// The Jacobian of `p` at one vector of scores.
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let z = z.as_slice()?;
        self.check(z.len())?;
        let mut jacobian = vec![0.0; z.len() * z.len()];
        self.inner.jacobian(z, &mut jacobian);
        matrix(py, jacobian, z.len(), z.len())
    }

    /// `F(z) + F*(e_y) - z_y` for rows of scores and their classes.
    fn canonical_loss<'py>(
        &self,
        py: Python<'py>,
        z: PyReadonlyArray2<'py, f64>,
        labels: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let columns = z.as_array().ncols();
        self.check(columns)?;
        let loss = VectorLoss::new(&self.inner).map_err(to_python)?;
        let rows = z.as_slice()?.chunks_exact(columns).zip(labels.as_slice()?);
        if let Some(&label) = labels.as_slice()?.iter().find(|&&y| y as usize >= columns) {
            return Err(PyValueError::new_err(format!(
                "class {label} is not one of 0, ..., {}",
                columns - 1
            )));
        }
        let values = rows.map(|(z, &y)| loss.value(y as usize, z)).collect();
        Ok(PyArray1::from_vec(py, values))
    }
}

impl VectorMixture {
    /// The link itself.
    pub(crate) fn mixture(&self) -> &Mixture {
        &self.inner
    }

    fn check(&self, columns: usize) -> PyResult<()> {
        if columns == self.inner.classes() {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "scores of {columns} classes, but the link has {}",
            self.inner.classes()
        )))
    }
}

/// What the default estimator for several classes learned and weighed.
#[pyclass(frozen, module = "properloss._core")]
pub struct Multiclass {
    inner: MulticlassFit,
}

#[pymethods]
impl Multiclass {
    /// Weights on the features as they were given, one row a class.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let classes = self.inner.classes();
        let columns = self.inner.coefficients.len() / classes;
        matrix(py, self.inner.coefficients.clone(), classes, columns)
    }

    /// Intercept of every class.
    #[getter]
    fn intercepts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.intercepts)
    }

    /// The link.
    #[getter]
    fn link(&self) -> VectorMixture {
        VectorMixture { inner: self.inner.link.clone() }
    }

    /// What cross-validation weighed and found, as a model file keeps it: a JSON object.
    #[getter]
    fn learned(&self) -> String {
        learned_of_classes(&self.inner).to_string()
    }

    /// Passes over the rows, in units of all models together.
    #[getter]
    fn passes(&self) -> f64 {
        self.inner.passes
    }

    /// The scores of every training row under the models that did not see it.
    #[getter]
    fn held_out_scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let classes = self.inner.classes();
        let rows = self.inner.held_out_scores.len() / classes;
        matrix(py, self.inner.held_out_scores.clone(), rows, classes)
    }
}

/// The default estimator for several classes.
#[pyfunction]
#[pyo3(signature = (rows, labels, classes, weights, *, class_weight, refit, preserve_order, folds))]
#[allow(clippy::too_many_arguments)]
pub fn fit_multiclass(
    py: Python<'_>,
    rows: Rows<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    classes: usize,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    class_weight: Vec<f64>,
    refit: bool,
    preserve_order: bool,
    folds: GivenFolds<'_>,
) -> PyResult<Multiclass> {
    let folds = folds.folds()?;
    let matrix = rows.matrix()?;
    memory::ask_for_fit("proper", &matrix, classes, &folds)?;
    let mut options =
        MulticlassProperLoss::default().with_folds(folds).with_class_weight(class_weight);
    (options.refit, options.preserve_order) = (refit, preserve_order);
    let labels = labels.as_slice()?;
    let weights = optional(&weights)?;
    let fit = doorway::run(py, || {
        let sample = ClassSample::new(matrix, labels, classes, weights)?;
        options.fit(&sample)
    });
    Ok(Multiclass { inner: fit.map_err(to_python)? })
}

/// `W x + b` for rows, one column a class.
#[pyfunction]
pub fn multiclass_scores<'py>(
    py: Python<'py>,
    rows: Rows<'py>,
    coefficients: PyReadonlyArray2<'py, f64>,
    intercepts: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let x = rows.matrix()?;
    let (w, b) = (coefficients.as_slice()?, intercepts.as_slice()?);
    let z = doorway::run(py, || class_scores(&x, w, b)).map_err(to_python)?;
    matrix(py, z, x.rows(), b.len())
}

/// A fitted calibration of several classes.
#[pyclass(frozen, module = "properloss._core")]
pub struct MulticlassCalibration {
    inner: Calibration,
}

#[pymethods]
impl MulticlassCalibration {
    /// The link.
    #[getter]
    fn link(&self) -> VectorMixture {
        VectorMixture { inner: self.inner.link.clone() }
    }

    /// Numbers by their name; `margin` is NaN where scores went in.
    #[getter]
    fn numbers(&self) -> HashMap<&'static str, f64> {
        let [softmax, all] = self.inner.held_out_log_loss;
        HashMap::from([
            ("temperature", self.inner.temperature),
            ("margin", self.inner.margin.unwrap_or(f64::NAN)),
            ("tau", self.inner.link.tau()),
            ("log_loss_softmax", softmax),
            ("log_loss", all),
        ])
    }

    /// Ratios, their cross-fitted log-losses, scores and weights.
    #[getter]
    fn ratios<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns!(py, self.inner.ratios;
            "tau" tau, "log_loss" log_loss, "score" score, "weight" weight)
    }

    /// Probabilities of rows of scores.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, columns) = (scores.as_array().nrows(), scores.as_array().ncols());
        let z = scores.as_slice()?;
        let p = doorway::run(py, || self.inner.probabilities(z)).map_err(to_python)?;
        matrix(py, p, rows, columns)
    }
}

/// The calibrator for several classes.
#[pyfunction]
#[pyo3(signature = (scores, labels, weights, *, probabilities, preserve_order, folds, by_weight=false))]
#[allow(clippy::too_many_arguments)]
pub fn fit_multiclass_calibrator(
    py: Python<'_>,
    scores: PyReadonlyArray2<'_, f64>,
    labels: PyReadonlyArray1<'_, u32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    probabilities: bool,
    preserve_order: bool,
    folds: GivenFolds<'_>,
    by_weight: bool,
) -> PyResult<MulticlassCalibration> {
    let folds = folds.folds()?;
    let (rows, classes) = (scores.as_array().nrows(), scores.as_array().ncols());
    memory::ask_for_calibration(rows, classes, &folds)?;
    let mut options = MulticlassCalibrator::default().with_folds(folds);
    (options.probabilities, options.preserve_order) = (probabilities, preserve_order);
    options.by_weight = by_weight;
    let (z, labels) = (scores.as_slice()?, labels.as_slice()?);
    let weights = optional(&weights)?;
    let fit = doorway::run(py, || options.fit(z, labels, classes, weights));
    Ok(MulticlassCalibration { inner: fit.map_err(to_python)? })
}

/// The text of a model file of several classes. `options` is a JSON object.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn class_model_to_json(
    coefficients: PyReadonlyArray2<'_, f64>,
    intercepts: Vec<f64>,
    link: &VectorMixture,
    feature_names: Option<Vec<String>>,
    encoder: Option<&TableEncoder>,
    classes: Vec<String>,
    options: &str,
    learned: Option<&str>,
    rows: u64,
    iterations: u64,
) -> PyResult<String> {
    let features = coefficients.as_array().ncols();
    let numbered = || (0..features).map(|j| format!("x{j}")).collect();
    let encoder = match encoder {
        Some(encoder) => encoder.inner.clone(),
        None => Encoder::numeric(feature_names.unwrap_or_else(numbered)),
    };
    let file = ClassModelFile {
        weights: coefficients.as_slice()?.chunks(features.max(1)).map(<[f64]>::to_vec).collect(),
        intercepts,
        link: (&link.inner).into(),
        feature_names: encoder.feature_names(),
        preprocessing: Preprocessing { encoder, scaling: FittedScaling::None },
        classes,
        fitted: Fitted {
            method: "proper".into(),
            options: serde_json::from_str(options)
                .map_err(|error| PyValueError::new_err(format!("options: {error}")))?,
            data: DataDescription {
                source: "python".into(),
                format: "array".into(),
                rows,
                features: features as u64,
                ..DataDescription::default()
            },
            termination: "converged".into(),
            iterations,
            total_weight: None,
            learned: learned
                .map(serde_json::from_str)
                .transpose()
                .map_err(|error| PyValueError::new_err(format!("learned: {error}")))?,
            program: program(),
        },
    };
    file.to_json().map_err(file_to_python)
}

/// Reads a model file of several classes.
#[pyfunction]
pub fn read_class_model(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let file = ClassModelFile::read(&path).map_err(file_to_python)?;
    let content = PyDict::new(py);
    let encoder = TableEncoder { inner: file.preprocessing.encoder.clone() };
    content.set_item("encoder", Bound::new(py, encoder)?)?;
    let (rows, columns) = (file.weights.len(), file.weights[0].len());
    content.set_item("coefficients", matrix(py, file.weights.concat(), rows, columns)?)?;
    content.set_item("intercepts", PyArray1::from_vec(py, file.intercepts.clone()))?;
    let inner = file.link.build().map_err(to_python)?;
    content.set_item("link", Bound::new(py, VectorMixture { inner })?)?;
    let names: Vec<String> = (0..columns).map(|j| file.feature_name(j)).collect();
    content.set_item("feature_names", names)?;
    let learned = file.fitted.learned.as_ref().map(ToString::to_string);
    content.set_item("learned", learned)?;
    content.set_item("classes", &file.classes)?;
    let options = serde_json::to_string(&file.fitted.options).map_err(json_to_python)?;
    content.set_item("options", options)?;
    content.set_item("iterations", file.fitted.iterations)?;
    Ok(content)
}
