//! The engine's metrics on checked columns; `properloss.metrics` is the public face.

use numpy::PyReadonlyArray1;
use properloss::calibration_certificate::{HeldOut, calibration_bound};
use properloss::metrics::{self, Binning};
use pyo3::prelude::*;

use crate::arrays::optional;
use crate::doorway;
use crate::errors::to_python;

/// The columns of every metric: scores or probabilities, labels 0/1, weights.
type Columns<'py> =
    (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, u8>, Option<PyReadonlyArray1<'py, f64>>);

/// Runs a metric on the columns without the GIL.
fn with_columns<T: Send>(
    py: Python<'_>,
    (values, labels, weights): &Columns<'_>,
    metric: impl Fn(&[f64], &[u8], Option<&[f64]>) -> properloss::Result<T> + Sync + Send,
) -> PyResult<T> {
    let (values, labels) = (values.as_slice()?, labels.as_slice()?);
    let weights = optional(weights)?;
    doorway::run(py, || metric(values, labels, weights)).map_err(to_python)
}

/// Area under the ROC curve of scores.
#[pyfunction]
pub fn metric_auc(py: Python<'_>, columns: Columns<'_>) -> PyResult<f64> {
    with_columns(py, &columns, metrics::auc)
}

/// Mean logarithmic loss of probabilities.
#[pyfunction]
pub fn metric_log_loss(py: Python<'_>, columns: Columns<'_>) -> PyResult<f64> {
    with_columns(py, &columns, metrics::log_loss)
}

/// Brier score with its CORP parts: (brier, miscalibration, discrimination, uncertainty).
#[pyfunction]
pub fn metric_corp(py: Python<'_>, columns: Columns<'_>) -> PyResult<(f64, f64, f64, f64)> {
    let parts = with_columns(py, &columns, metrics::corp_decomposition)?;
    Ok((parts.brier, parts.miscalibration, parts.discrimination, parts.uncertainty))
}

/// Expected and maximal calibration error over bins: (ece, mce).
#[pyfunction]
pub fn metric_calibration(
    py: Python<'_>,
    columns: Columns<'_>,
    n_bins: usize,
    equal_width: bool,
) -> PyResult<(f64, f64)> {
    let binning =
        if equal_width { Binning::EqualWidth(n_bins) } else { Binning::EqualCount(n_bins) };
    with_columns(py, &columns, |p, y, w| {
        let bins = metrics::reliability_bins(p, y, w, binning)?;
        Ok((metrics::expected_calibration_error(&bins), metrics::maximum_calibration_error(&bins)))
    })
}

/// What a calibration certificate says: (rms, population rms, log excess, Brier excess, e-value
/// against the assumption, rows, folds).
type Bound = (f64, Option<f64>, f64, f64, f64, usize, usize);

/// The calibration certificate of held-out probabilities.
#[pyfunction]
pub fn metric_calibration_bound(
    py: Python<'_>,
    columns: Columns<'_>,
    folds: Option<PyReadonlyArray1<'_, u32>>,
    confidence: f64,
) -> PyResult<Bound> {
    let folds = optional(&folds)?;
    with_columns(py, &columns, |p, y, w| {
        let bound = calibration_bound(&HeldOut::new(p, y, w, folds)?, confidence)?;
        Ok((
            bound.rms,
            bound.population_rms,
            bound.log_excess,
            bound.brier_excess,
            bound.against_monotone,
            bound.rows,
            bound.folds,
        ))
    })
}
