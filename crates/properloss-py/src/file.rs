//! Model files: JSON to and from Python, the same files that the command line writes.

use std::path::{Path, PathBuf};

use numpy::PyArray1;
use properloss_data::model_file::{Fitted, History, Preprocessing};
use properloss_data::{DataDescription, Encoder, ModelFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::encoder::TableEncoder;
use crate::errors::{file_to_python, json_to_python};
use crate::model::Model;

/// A file keeps at most this many iterations of the course of a fit.
const COURSE: usize = 1000;

/// The text of a model file; without an encoder the features are columns of numbers. `fitted` is a JSON object (see [`Fitted`]), `course` is
/// `(iteration, loss, gap)`.
pub fn to_json(
    model: &Model,
    encoder: Option<Encoder>,
    feature_names: Option<Vec<String>>,
    classes: (String, String),
    fitted: &str,
    course: &[(u64, f64, f64)],
) -> PyResult<String> {
    let Model { inner, scaling } = model;
    let features = inner.coefficients().len();
    let numbered = || (0..features).map(|j| format!("x{j}")).collect();
    let encoder =
        encoder.unwrap_or_else(|| Encoder::numeric(feature_names.unwrap_or_else(numbered)));
    let fitted: Fitted = serde_json::from_str(fitted)
        .map_err(|error| PyValueError::new_err(format!("fitted: {error}")))?;
    let file = ModelFile {
        weights: inner.coefficients().to_vec(),
        intercept: inner.intercept(),
        link: inner.link().spec(),
        feature_names: encoder.feature_names(),
        preprocessing: Preprocessing { encoder, scaling: scaling.clone() },
        classes: [classes.0, classes.1],
        fitted: Fitted {
            data: DataDescription {
                source: "python".into(),
                format: "array".into(),
                features: features as u64,
                ..fitted.data
            },
            ..fitted
        },
        history: (!course.is_empty()).then(|| History::thinned(course.iter().copied(), COURSE)),
    };
    file.to_json().map_err(file_to_python)
}

/// The classifier of a file.
pub fn model_of(file: &ModelFile) -> PyResult<Model> {
    let inner = file.model().map_err(file_to_python)?;
    Ok(Model { inner, scaling: file.preprocessing.scaling.clone() })
}

/// The classifier of the text of a model file.
pub fn from_json(json: &str) -> PyResult<Model> {
    let file = ModelFile::from_json(json.as_bytes(), Path::new("model"));
    model_of(&file.map_err(file_to_python)?)
}

/// Reads a model file.
#[pyfunction]
pub fn read_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let file = ModelFile::read(&path).map_err(file_to_python)?;
    let encoder = TableEncoder { inner: file.preprocessing.encoder.clone() };
    let content = PyDict::new(py);
    content.set_item("model", Bound::new(py, model_of(&file)?)?)?;
    content.set_item("encoder", Bound::new(py, encoder)?)?;
    content.set_item("feature_names", &file.feature_names)?;
    content.set_item("classes", file.classes.to_vec())?;
    let fitted = serde_json::to_string(&file.fitted).map_err(json_to_python)?;
    content.set_item("fitted", fitted)?;
    let history = match file.history {
        None => None,
        Some(History { iteration, loss, gradient_norm }) => {
            let history = PyDict::new(py);
            let iteration = iteration.iter().map(|&t| t as f64).collect();
            history.set_item("iteration", PyArray1::from_vec(py, iteration))?;
            history.set_item("loss", PyArray1::from_vec(py, loss))?;
            history.set_item("gap", PyArray1::from_vec(py, gradient_norm))?;
            Some(history)
        }
    };
    content.set_item("history", history)?;
    Ok(content)
}

/// Writes a text file whole or not at all.
#[pyfunction]
pub fn write_text(path: PathBuf, text: &str) -> PyResult<()> {
    properloss_data::write_atomically(&path, |out| out.write_all(text.as_bytes()))
        .map_err(file_to_python)
}
