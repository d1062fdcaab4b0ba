//! The trainers, with their options as keyword arguments.

use std::time::Instant;

use numpy::{PyArray1, PyReadonlyArray1};
use properloss::certify::{Certificate, Field};
use properloss::design::Scaling;
use properloss::optimize::Solver;
use properloss::sample::Sample;
use properloss::train::{
    self, BregmanTron, Candidate, CanonicalLossTrainer, Certified, EndSlope, Glmtron, Isotonic,
    Iteration, LinkObjective, Observer, Schedule, Slisotron, Step, Target,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_python;
use crate::link;
use crate::loss;
use crate::matrix::Rows;
use crate::model::Model;
use crate::watch::{self, Listeners};

/// A finished run.
#[pyclass(frozen, module = "properloss._core")]
pub struct Fit {
    inner: train::Fit,
    /// One an iteration, of a certified run.
    certificates: Option<Vec<Certificate>>,
    /// Time from the checked arrays to the model, in seconds: what the engine itself took.
    #[pyo3(get)]
    seconds: f64,
}

#[pymethods]
impl Fit {
    /// The classifier.
    #[getter]
    fn model(&self) -> Model {
        Model { inner: self.inner.model.clone() }
    }

    /// Why the run ended.
    #[getter]
    fn termination(&self) -> &'static str {
        self.inner.termination.name()
    }

    /// One array for each quantity of an iteration.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = PyDict::new(py);
        for (name, value) in QUANTITIES {
            let values = self.inner.history.iter().map(value).collect();
            history.set_item(name, PyArray1::from_vec(py, values))?;
        }
        if let Some(certificates) = &self.certificates {
            add_certificates(&history, certificates)?;
        }
        Ok(history)
    }
}

/// The fields of certificates: numbers and counts as floats, conditions as bools.
fn add_certificates(history: &Bound<'_, PyDict>, certificates: &[Certificate]) -> PyResult<()> {
    let py = history.py();
    let rows: Vec<_> = certificates.iter().map(Certificate::fields).collect();
    for (column, (name, kind)) in Certificate::default().fields().into_iter().enumerate() {
        if history.contains(name)? {
            continue; // iteration, gap and slopes are there already, the same numbers
        }
        let values = rows.iter().map(|row| row[column].1);
        if let Field::Flag(_) = kind {
            let flags = values.map(|value| value == Field::Flag(true)).collect();
            history.set_item(name, PyArray1::from_vec(py, flags))?;
        } else {
            let number = |value| match value {
                Field::Number(number) => number,
                Field::Count(count) => count as f64,
                Field::Flag(flag) => f64::from(u8::from(flag)),
            };
            history.set_item(name, PyArray1::from_vec(py, values.map(number).collect()))?;
        }
    }
    Ok(())
}

/// A quantity of an iteration, with its Python name.
type Quantity = (&'static str, fn(&Iteration) -> f64);

/// The quantities of an iteration.
const QUANTITIES: [Quantity; 10] = [
    ("iteration", |it| it.iteration as f64),
    ("loss", |it| it.loss),
    ("gap", |it| it.gap),
    ("step", |it| it.step),
    ("score_min", |it| it.score_min),
    ("score_max", |it| it.score_max),
    ("slope_min", |it| it.slope_min),
    ("slope_max", |it| it.slope_max),
    ("link_change", |it| it.link_change),
    ("weight_change", |it| it.weight_change),
];

/// An iteration as a dict.
pub fn row<'py>(py: Python<'py>, iteration: &Iteration) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for (name, value) in QUANTITIES {
        row.set_item(name, value(iteration))?;
    }
    Ok(row)
}

/// The data and listeners that every trainer takes.
#[derive(FromPyObject)]
pub struct Task<'py> {
    #[pyo3(item)]
    rows: Rows<'py>,
    #[pyo3(item)]
    labels: PyReadonlyArray1<'py, u8>,
    #[pyo3(item)]
    weights: Option<PyReadonlyArray1<'py, f64>>,
    #[pyo3(item)]
    progress: Option<Py<PyAny>>,
    #[pyo3(item)]
    callback: Option<Py<PyAny>>,
}

impl Task<'_> {
    /// Checks the data once and runs a trainer on them.
    fn run(
        self,
        py: Python<'_>,
        trainer: impl Fn(&Sample<'_>, &mut dyn Observer) -> properloss::Result<train::Fit> + Send + Sync,
    ) -> PyResult<Fit> {
        let (inner, seconds) = self.watch(py, trainer)?;
        Ok(Fit { inner, certificates: None, seconds })
    }

    /// The result of a trainer and the seconds it took.
    fn watch<T: Send>(
        self,
        py: Python<'_>,
        trainer: impl Fn(&Sample<'_>, &mut dyn Observer) -> properloss::Result<T> + Send + Sync,
    ) -> PyResult<(T, f64)> {
        let matrix = self.rows.matrix()?;
        let labels = self.labels.as_slice()?;
        let weights = self.weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let listeners = Listeners { progress: self.progress, callback: self.callback };
        let (fit, seconds) = watch::train(py, &listeners, |watch| {
            let start = Instant::now();
            let fit =
                Sample::new(matrix, labels, weights).and_then(|sample| trainer(&sample, watch));
            (fit, start.elapsed().as_secs_f64())
        })?;
        Ok((fit.map_err(to_python)?, seconds))
    }
}

/// BregmanTron and its variants.
#[pyfunction]
#[pyo3(signature = (task, *, target, objective, max_iter, tol, step, slope_min, slope_max, kappa,
                    l2, max_norm, scaling, end_slope, initial_link))]
#[allow(clippy::too_many_arguments)]
pub fn fit_bregmantron(
    py: Python<'_>,
    task: Task<'_>,
    target: &str,
    objective: Option<&str>,
    max_iter: usize,
    tol: f64,
    step: Option<f64>,
    slope_min: f64,
    slope_max: f64,
    kappa: Option<f64>,
    l2: f64,
    max_norm: Option<f64>,
    scaling: &str,
    end_slope: &str,
    initial_link: Option<&Bound<'_, PyAny>>,
) -> PyResult<Fit> {
    let target = match target {
        "previous" => Target::Previous,
        "approx" => Target::Approx,
        "labels" => Target::Labels,
        "refit" => Target::Refit,
        other => return Err(unknown("target", other, "previous, approx, labels, refit")),
    };
    let defaults = BregmanTron::new(target);
    let initial_link = match initial_link {
        None => None,
        Some(object) => match link::from_python(object)?.as_piecewise() {
            Some(link) => Some(link.clone()),
            None => return Err(PyValueError::new_err("initial_link must be a PiecewiseLink")),
        },
    };
    let trainer = BregmanTron {
        objective: match objective {
            None => defaults.objective,
            Some("bregman") => LinkObjective::Bregman,
            Some("quadratic") => LinkObjective::Quadratic,
            Some(other) => return Err(unknown("objective", other, "bregman, quadratic")),
        },
        max_iter,
        tol,
        step: step_size(step),
        slope_min,
        slope_max,
        kappa: kappa.unwrap_or(defaults.kappa),
        l2,
        max_norm,
        scaling: feature_scaling(scaling)?,
        end_slope: match end_slope {
            "min" => EndSlope::Min,
            "max" => EndSlope::Max,
            other => return Err(unknown("end_slope", other, "min, max")),
        },
        initial_link,
        ..defaults
    };
    task.run(py, |sample, observer| trainer.fit(sample, observer))
}

/// BregmanTron with a proved decrease at every iteration: the schedule `monotone`.
#[pyfunction]
#[pyo3(signature = (task, *, candidate, max_iter, tol, slope_max, scaling))]
pub fn fit_certified(
    py: Python<'_>,
    task: Task<'_>,
    candidate: &str,
    max_iter: usize,
    tol: f64,
    slope_max: f64,
    scaling: &str,
) -> PyResult<Fit> {
    let candidate = match candidate {
        "labels" => Candidate::Labels,
        "previous" => Candidate::Previous,
        "refit" => Candidate::Refit,
        other => return Err(unknown("candidate", other, "labels, previous, refit")),
    };
    let defaults = Certified::default();
    let schedule = match defaults.schedule {
        Schedule::Monotone { theta, freeze_after, .. } => {
            Schedule::Monotone { candidate, theta, freeze_after }
        }
        other => other,
    };
    let scaling = feature_scaling(scaling)?;
    let trainer = Certified { schedule, slope_max, max_iter, tol, scaling, ..defaults };
    let (run, seconds) = task.watch(py, |sample, observer| trainer.fit(sample, observer))?;
    Ok(Fit { inner: run.fit, certificates: Some(run.certificates), seconds })
}

/// SLIsotron.
#[pyfunction]
#[pyo3(signature = (task, *, isotonic, max_iter, tol, step, l2, max_norm, scaling))]
#[allow(clippy::too_many_arguments)]
pub fn fit_slisotron(
    py: Python<'_>,
    task: Task<'_>,
    isotonic: &str,
    max_iter: usize,
    tol: f64,
    step: Option<f64>,
    l2: f64,
    max_norm: Option<f64>,
    scaling: &str,
) -> PyResult<Fit> {
    let trainer = Slisotron {
        isotonic: match isotonic {
            "pav" => Isotonic::Pav,
            "lipschitz" => Isotonic::Lipschitz,
            other => return Err(unknown("isotonic", other, "pav, lipschitz")),
        },
        max_iter,
        tol,
        step: step_size(step),
        l2,
        max_norm,
        scaling: feature_scaling(scaling)?,
    };
    task.run(py, |sample, observer| trainer.fit(sample, observer))
}

/// GLMTron.
#[pyfunction]
#[pyo3(signature = (task, *, link, max_iter, tol, step, l2, max_norm, scaling, fit_intercept))]
#[allow(clippy::too_many_arguments)]
pub fn fit_glmtron(
    py: Python<'_>,
    task: Task<'_>,
    link: &Bound<'_, PyAny>,
    max_iter: usize,
    tol: f64,
    step: Option<f64>,
    l2: f64,
    max_norm: Option<f64>,
    scaling: &str,
    fit_intercept: bool,
) -> PyResult<Fit> {
    let trainer = Glmtron {
        link: link::from_python(link)?,
        max_iter,
        tol,
        step: step_size(step),
        l2,
        max_norm,
        scaling: feature_scaling(scaling)?,
        fit_intercept,
    };
    task.run(py, |sample, observer| trainer.fit(sample, observer))
}

/// A given loss to its minimum.
#[pyfunction]
#[pyo3(signature = (task, *, loss, l2, max_iter, tol, scaling, fit_intercept, solver))]
#[allow(clippy::too_many_arguments)]
pub fn fit_canonical_loss(
    py: Python<'_>,
    task: Task<'_>,
    loss: &Bound<'_, PyAny>,
    l2: f64,
    max_iter: usize,
    tol: f64,
    scaling: &str,
    fit_intercept: bool,
    solver: &str,
) -> PyResult<Fit> {
    let (link, kind) = loss::from_python(loss)?;
    let trainer = CanonicalLossTrainer {
        kind,
        l2,
        max_iter,
        tol,
        scaling: feature_scaling(scaling)?,
        fit_intercept,
        solver: match solver {
            "auto" => Solver::Auto,
            "newton-cholesky" => Solver::Dense,
            "newton-cg" => Solver::ConjugateGradient,
            other => return Err(unknown("solver", other, "auto, newton-cholesky, newton-cg")),
        },
        ..CanonicalLossTrainer::new(link)
    };
    task.run(py, |sample, observer| trainer.fit(sample, observer))
}

/// `None` is the line search.
fn step_size(step: Option<f64>) -> Step {
    step.map_or(Step::Auto, Step::Constant)
}

fn feature_scaling(name: &str) -> PyResult<Scaling> {
    Ok(match name {
        "none" => Scaling::None,
        "unit-rows" => Scaling::UnitRows,
        "max-norm" => Scaling::MaxNorm,
        "standardise" => Scaling::Standardise,
        other => {
            return Err(unknown("scaling", other, "none, unit-rows, max-norm, standardise"));
        }
    })
}

fn unknown(what: &str, value: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{what} is {value:?}; it must be one of {known}"))
}
