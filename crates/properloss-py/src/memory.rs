//! Fits that no method of the registry does ask for their memory here, by the same estimate.

use properloss::proper::Folds;
use properloss::sample::Matrix;
use properloss_data::fit_memory::{self, FitShape};
use pyo3::PyResult;

use crate::errors::file_to_python;

/// Asks for a fit on this matrix: `MemoryError` with the number, or nothing.
pub fn ask_for_fit(
    method: &str,
    matrix: &Matrix<'_>,
    classes: usize,
    folds: &Folds,
) -> PyResult<()> {
    let stored = matrix.stored();
    ask(method, [matrix.rows(), matrix.columns(), stored], classes, folds)
}

/// Asks for a calibration of this many rows of scores.
pub fn ask_for_calibration(rows: usize, classes: usize, folds: &Folds) -> PyResult<()> {
    ask("calibrate", [rows, 1, rows], classes, folds)
}

fn ask(
    method: &str,
    [rows, columns, stored]: [usize; 3],
    classes: usize,
    folds: &Folds,
) -> PyResult<()> {
    let folds = match folds {
        Folds::Stratified { count, .. } | Folds::Grouped { count, .. } => *count as u64,
        Folds::Given(folds) => folds.iter().max().map_or(0, |last| u64::from(*last) + 1),
        _ => 0,
    };
    let [rows, columns, stored, classes] = [rows, columns, stored, classes].map(|n| n as u64);
    let shape = FitShape { rows, columns, stored, classes, folds };
    fit_memory::ask(method, &shape).map_err(file_to_python)
}
