//! Model files: JSON to and from Python, the same files that the command line writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use numpy::PyArray1;
use properloss::train;
use properloss_data::model_file::{Fitted, History, Link, Preprocessing, Scaling, program};
use properloss_data::{DataDescription, Encoder, ModelFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::file_to_python;
use crate::model::Model;

/// A file keeps at most this many iterations of the course of a fit.
const COURSE: usize = 1000;

/// The text of a model file. `options` is a JSON object, `course` is `(iteration, loss, gap)`.
#[allow(clippy::too_many_arguments)]
pub fn to_json(
    model: &train::Model,
    feature_names: Option<Vec<String>>,
    classes: (String, String),
    method: String,
    options: &str,
    rows: u64,
    termination: String,
    course: &[(u64, f64, f64)],
) -> PyResult<String> {
    let features = model.coefficients().len();
    let names = feature_names.unwrap_or_else(|| (0..features).map(|j| format!("x{j}")).collect());
    let options: BTreeMap<String, serde_json::Value> = serde_json::from_str(options)
        .map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
    let file = ModelFile {
        weights: model.coefficients().to_vec(),
        intercept: model.intercept(),
        link: Link::from(model.link().spec()),
        preprocessing: Preprocessing {
            encoder: Encoder::numeric(names.clone()),
            // What else was done to the features is in the weights already.
            scaling: if model.unit_rows() { Scaling::UnitRows } else { Scaling::None },
        },
        feature_names: names,
        classes: [classes.0, classes.1],
        fitted: Fitted {
            method,
            options,
            data: DataDescription {
                source: "python".into(),
                format: "array".into(),
                rows,
                features: features as u64,
                ..DataDescription::default()
            },
            termination,
            iterations: course.last().map_or(0, |last| last.0),
            total_weight: None,
            program: program(),
        },
        history: (!course.is_empty()).then(|| History::thinned(course.iter().copied(), COURSE)),
    };
    file.to_json().map_err(file_to_python)
}

/// The classifier of a file.
pub fn model_of(file: &ModelFile) -> PyResult<Model> {
    Ok(Model { inner: file.model().map_err(file_to_python)? })
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
    let columns = &file.preprocessing.encoder.columns;
    let content = PyDict::new(py);
    content.set_item("model", Bound::new(py, model_of(&file)?)?)?;
    // A table whose columns are the features: nothing has to be encoded.
    content.set_item("numeric", columns.len() == file.weights.len())?;
    content.set_item("feature_names", &file.feature_names)?;
    content.set_item("classes", file.classes.to_vec())?;
    content.set_item("method", &file.fitted.method)?;
    let options = serde_json::to_string(&file.fitted.options)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    content.set_item("options", options)?;
    content.set_item("termination", &file.fitted.termination)?;
    content.set_item("iterations", file.fitted.iterations)?;
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
