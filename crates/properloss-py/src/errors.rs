//! The engine's errors as Python exceptions: one table.

use properloss::Error;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    properloss._core,
    NotFiniteError,
    PyValueError,
    "A NaN or infinite cell of X; its arguments are the message, the row and the column."
);

/// Every error of the engine is about a value that was given: a `ValueError`.
pub fn to_python(error: Error) -> PyErr {
    match error {
        Error::NotFiniteCell { row, column, .. } => {
            NotFiniteError::new_err((error.to_string(), row, column))
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// What is no JSON, or cannot be written as such.
pub fn json_to_python(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The errors of files; a value in a file that is wrong is a `ValueError`.
pub fn file_to_python(error: properloss_data::Error) -> PyErr {
    use properloss_data::Error::{Core, FileNotFound, FitMemory, Read, Write};
    let message = match error.hint() {
        Some(_) if matches!(&error, FitMemory { method, .. } if method == "calibrate") => {
            format!("{error}\nhint: use fewer rows")
        }
        Some(_) if matches!(error, FitMemory { .. }) => format!(
            "{error}\nhint: use fewer rows, columns or folds; for two classes, give the default \
             estimator files or batches with memory_limit"
        ),
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    };
    match error {
        Core(error) => to_python(error),
        FileNotFound { .. } => PyFileNotFoundError::new_err(message),
        Read { .. } | Write { .. } => PyOSError::new_err(message),
        FitMemory { .. } => PyMemoryError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}
