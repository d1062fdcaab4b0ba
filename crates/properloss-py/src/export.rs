//! Models and calibrations as ONNX, C, SQL or Python.

use std::path::{Path, PathBuf};

use properloss_data::export::{self, ClassExportable, Exportable, OnnxOptions, Target};
use properloss_data::model_file::ClassModelFile;
use properloss_data::{ModelFile, UnknownCategory};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::file_to_python;
use crate::link;
use crate::multiclass::VectorMixture;

/// What can be written without properloss: a model or a calibration.
#[pyclass(frozen, module = "properloss._core")]
pub struct Export(export::Export);

/// Its errors as Python's.
fn taken(model: properloss_data::Result<export::Export>) -> PyResult<Export> {
    model.map(Export).map_err(file_to_python)
}

fn rule(unknown_zeros: bool) -> UnknownCategory {
    if unknown_zeros { UnknownCategory::Zeros } else { UnknownCategory::Error }
}

#[pymethods]
impl Export {
    /// From the text of a model file.
    #[staticmethod]
    #[pyo3(signature = (json, *, unknown_zeros=false))]
    fn of_model(json: &str, unknown_zeros: bool) -> PyResult<Self> {
        let file = ModelFile::from_json(json.as_bytes(), Path::new("model"));
        taken(file.and_then(|file| {
            Exportable::from_model(&file, rule(unknown_zeros)).map(export::Export::Two)
        }))
    }

    /// From the text of a model file of several classes.
    #[staticmethod]
    #[pyo3(signature = (json, *, unknown_zeros=false))]
    fn of_class_model(json: &str, unknown_zeros: bool) -> PyResult<Self> {
        let file = ClassModelFile::from_json(json.as_bytes(), Path::new("model"));
        let model = file.and_then(|file| ClassExportable::from_model(&file, rule(unknown_zeros)));
        taken(model.map(export::Export::Several))
    }

    /// From a calibration of several classes; `margin` is None where scores go in.
    #[staticmethod]
    #[pyo3(signature = (link, *, temperature, margin, classes))]
    fn of_class_calibration(
        link: &VectorMixture,
        temperature: f64,
        margin: Option<f64>,
        classes: Vec<String>,
    ) -> PyResult<Self> {
        let link = link.mixture().into();
        let model = ClassExportable::from_calibration(margin, temperature, link, classes);
        taken(model.map(export::Export::Several))
    }

    /// From the numbers of a calibration; `margin` is None where scores go in.
    #[staticmethod]
    #[pyo3(signature = (link, *, slope, intercept, margin, classes))]
    fn of_calibration(
        link: &Bound<'_, PyAny>,
        slope: f64,
        intercept: f64,
        margin: Option<f64>,
        classes: (String, String),
    ) -> PyResult<Self> {
        let spec = link::from_python(link)?.spec();
        let classes = [classes.0, classes.1];
        let model = Exportable::from_calibration(margin, slope, intercept, spec, classes);
        taken(model.map(export::Export::Two))
    }

    /// The bytes in one of the formats onnx, c, sql and python.
    #[pyo3(signature = (format="onnx", *, portable=false, float_input=false, table="examples"))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        portable: bool,
        float_input: bool,
        table: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let target = match format {
            "onnx" => {
                let mut options = OnnxOptions::default();
                (options.portable, options.float_input) = (portable, float_input);
                Target::Onnx(options)
            }
            "c" => Target::C,
            "sql" => Target::Sql(table),
            "python" => Target::Python,
            other => {
                return Err(PyValueError::new_err(format!(
                    "format is {other:?}; it must be onnx, c, sql or python"
                )));
            }
        };
        Ok(PyBytes::new(py, &self.0.write(target).map_err(file_to_python)?))
    }
}

/// Writes bytes whole or not at all.
#[pyfunction]
pub fn write_bytes(path: PathBuf, content: &[u8]) -> PyResult<()> {
    properloss_data::write_atomically(&path, |out| out.write_all(content)).map_err(file_to_python)
}
