//! The chain solver on numpy arrays.

use numpy::{PyArray1, PyArrayMethods};
use properloss::chain::{self, ChainProblem, Objective, ScoreOrder};
use properloss::link::InverseLink;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::column;
use crate::doorway;
use crate::errors::to_python;
use crate::link;

/// The solution of :func:`solve_chain`, with its certificate.
///
/// ``numpy.asarray(solution)`` is ``solution.values``.
///
/// Attributes
/// ----------
/// values : ndarray of shape (n_points,)
///     The minimiser, in the order of the input.
/// kkt_residual : float
///     Largest violation of an optimality condition.
/// duality_gap : float
///     The objective is at most this far above its minimum.
/// objective : float
///     The value that was minimised.
/// passes : int
///     How often the chain was gone through.
#[pyclass(frozen, module = "properloss")]
pub struct ChainSolution {
    values: Py<PyArray1<f64>>,
    /// Largest violation of an optimality condition.
    #[pyo3(get)]
    kkt_residual: f64,
    /// The objective is at most this far above its minimum.
    #[pyo3(get)]
    duality_gap: f64,
    /// The value that was minimised.
    #[pyo3(get)]
    objective: f64,
    /// How often the chain was gone through.
    #[pyo3(get)]
    passes: usize,
}

#[pymethods]
impl ChainSolution {
    /// The minimiser, in the order of the input.
    #[getter]
    fn values(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.values.clone_ref(py)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = self.values.bind(py).as_any();
        let array = match dtype {
            Some(dtype) => values.call_method1("astype", (dtype,))?,
            None => values.clone(),
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.values.bind(py).as_any().len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "<ChainSolution: {} values, kkt_residual={:.1e}, duality_gap={:.1e}, passes={}>",
            self.__len__(py)?,
            self.kkt_residual,
            self.duality_gap,
            self.passes
        ))
    }
}

/// Fit values to targets along a chain of scores, with bounds on every slope.
///
/// Minimises, over ``y`` with ``slope_min * dz <= dy <= slope_max * dz`` between neighbouring
/// scores, ``first[0] <= y_1 <= first[1]`` and ``y_m <= top``, the weighted sum of
/// ``(y - target)^2 / 2`` or, with a link, of the Bregman divergence ``D_{U*}(y, target)``.
///
/// Parameters
/// ----------
/// z : array-like of shape (n_points,)
///     Scores, in any order. Equal scores get equal values.
/// target : array-like of shape (n_points,)
///     What to fit; with a link, probabilities at which its score is finite.
/// weights : array-like of shape (n_points,), default=None
///     Weights, not negative.
/// slope_min, slope_max : float, default=0.0 and inf
///     Bounds on the slope.
/// link : InverseLink or str, default=None
///     The link whose divergence is minimised; None is the quadratic objective.
/// first : (float, float), default=(0.0, 1.0)
///     Bounds on the value at the least score.
/// top : float, default=1.0
///     Upper bound on the value at the largest score.
///
/// Returns
/// -------
/// solution : ChainSolution
///     With ``values``, ``kkt_residual``, ``duality_gap``, ``passes``.
///
/// Examples
/// --------
/// >>> from properloss import solve_chain
/// >>> solution = solve_chain([0.0, 1.0, 2.0], [0.0, 1.0, 0.5], slope_max=0.5)
/// >>> solution.values.round(6).tolist()
/// [0.166667, 0.666667, 0.666667]
/// >>> solution.kkt_residual < 1e-12
/// True
#[pyfunction]
#[pyo3(signature = (z, target, weights=None, slope_min=0.0, slope_max=f64::INFINITY, link=None,
                    first=(0.0, 1.0), top=1.0))]
#[allow(clippy::too_many_arguments)]
pub fn solve_chain(
    py: Python<'_>,
    z: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    slope_min: f64,
    slope_max: f64,
    link: Option<&Bound<'_, PyAny>>,
    first: (f64, f64),
    top: f64,
) -> PyResult<ChainSolution> {
    let points = Points::new(z, target, weights)?;
    let link = link.map(link::from_python).transpose()?;
    let (values, solution) = doorway::run(py, || -> Result<_, properloss::Error> {
        let (order, scores) = points.sorted();
        let sorted = |values: &[f64]| -> Vec<f64> { order.iter().map(|&i| values[i]).collect() };
        let mut targets = sorted(&points.target);
        let weights = points.weights.as_deref().map(sorted);
        if let Some(link) = &link {
            targets.iter_mut().for_each(|target| *target = link.u_inverse(*target));
        }
        let objective = match &link {
            Some(link) => Objective::Bregman { link: &**link, target_scores: &targets },
            None => Objective::Quadratic { targets: &targets },
        };
        let mut problem = ChainProblem::new(&scores, objective)
            .with_slopes(slope_min, slope_max)
            .with_first(first.0, first.1)
            .with_last(f64::NEG_INFINITY, top);
        if let Some(weights) = &weights {
            problem = problem.with_weights(weights);
        }
        let solution = chain::solve(&problem)?;
        let mut values = vec![0.0; scores.len()];
        for (&i, &value) in order.iter().zip(&solution.values) {
            values[i] = value;
        }
        Ok((values, solution))
    })
    .map_err(to_python)?;
    Ok(ChainSolution {
        objective: objective(&points, link.as_deref(), &values),
        values: PyArray1::from_vec(py, values).unbind(),
        kkt_residual: solution.kkt_residual,
        duality_gap: solution.duality_gap,
        passes: solution.passes,
    })
}

/// Isotonic regression: the nondecreasing values nearest to the targets.
///
/// Parameters
/// ----------
/// z : array-like of shape (n_points,)
///     Scores, in any order. Equal scores get equal values.
/// target : array-like of shape (n_points,)
///     What to fit.
/// weights : array-like of shape (n_points,), default=None
///     Weights, not negative.
///
/// Returns
/// -------
/// solution : ChainSolution
///     With ``values`` in the order of the input.
///
/// Examples
/// --------
/// >>> from properloss import isotonic
/// >>> isotonic([1, 2, 3, 4], [0, 1, 0, 1]).values.tolist()
/// [0.0, 0.5, 0.5, 1.0]
#[pyfunction]
#[pyo3(signature = (z, target, weights=None))]
pub fn isotonic(
    py: Python<'_>,
    z: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
) -> PyResult<ChainSolution> {
    let points = Points::new(z, target, weights)?;
    let (values, certificate) = doorway::run(py, || pool(&points)).map_err(to_python)?;
    Ok(ChainSolution {
        values: PyArray1::from_vec(py, values).unbind(),
        kkt_residual: certificate.kkt_residual,
        duality_gap: certificate.duality_gap,
        objective: certificate.objective,
        passes: 1,
    })
}

/// `Σ ω_i (y_i - t_i)² / 2`, or `Σ ω_i D_{U*}(y_i, t_i)` of a link.
fn objective(points: &Points, link: Option<&dyn InverseLink>, values: &[f64]) -> f64 {
    let distance = |i: usize| match link {
        Some(link) => link.conjugate_divergence(values[i], points.target[i]),
        None => 0.5 * (values[i] - points.target[i]).powi(2),
    };
    let weight = |i: usize| points.weights.as_ref().map_or(1.0, |weights| weights[i]);
    (0..values.len()).map(|i| weight(i) * distance(i)).sum()
}

/// What certifies an isotonic regression.
struct Certificate {
    kkt_residual: f64,
    duality_gap: f64,
    objective: f64,
}

/// Merges equal scores, pools, and checks the answer.
///
/// The multiplier of `y_i <= y_{i+1}` is `λ_i = Σ_{j<=i} ω_j (t_j - y_j)`: it has to be at least 0,
/// and 0 at the end and wherever the values rise. The gap is `Σ_i λ_i (y_{i+1} - y_i)`.
fn pool(points: &Points) -> Result<(Vec<f64>, Certificate), properloss::Error> {
    let (mut order, mut weights, mut means) = (ScoreOrder::new(), Vec::new(), Vec::new());
    order.update(&points.z)?;
    order.group_weights(points.weights.as_deref(), &mut weights)?;
    order.group_means(points.weights.as_deref(), |i| points.target[i], &mut means)?;
    let pooled = chain::isotonic(&means, Some(&weights))?;
    let mut values = vec![0.0; points.z.len()];
    order.scatter(&pooled, &mut values)?;
    let total: f64 = weights.iter().sum();
    let (mut multiplier, mut worst, mut gap) = (0.0_f64, 0.0_f64, 0.0_f64);
    for g in 0..pooled.len() {
        multiplier += weights[g] * (means[g] - pooled[g]);
        let rise = if g + 1 < pooled.len() { pooled[g + 1] - pooled[g] } else { f64::INFINITY };
        worst = worst.max(-multiplier);
        if rise > 0.0 {
            worst = worst.max(multiplier);
        }
        if rise.is_finite() {
            gap += multiplier * rise;
        }
    }
    let objective = objective(points, None, &values);
    let kkt_residual = if total > 0.0 { worst / total } else { 0.0 };
    Ok((values, Certificate { kkt_residual, duality_gap: gap.abs(), objective }))
}

/// The input of both functions.
struct Points {
    z: Vec<f64>,
    target: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Points {
    fn new(
        z: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let points = Self {
            z: column(z, "z")?.to_vec()?,
            target: column(target, "target")?.to_vec()?,
            weights: weights
                .map(|w| column(w, "weights")?.to_vec().map_err(PyErr::from))
                .transpose()?,
        };
        let lengths = (points.z.len(), points.target.len());
        let weights = points.weights.as_ref().map_or(lengths.0, Vec::len);
        if lengths.0 != lengths.1 || weights != lengths.0 {
            return Err(PyValueError::new_err(format!(
                "Found input variables with inconsistent numbers of samples: [{}, {}, {weights}]",
                lengths.0, lengths.1
            )));
        }
        if let Some(i) = points.z.iter().position(|z| !z.is_finite()) {
            let message = format!("z[{i}] is {}; every value must be finite", points.z[i]);
            return Err(PyValueError::new_err(message));
        }
        Ok(points)
    }

    /// The order of the scores (ties as they come) and the scores in it.
    fn sorted(&self) -> (Vec<usize>, Vec<f64>) {
        let mut order: Vec<usize> = (0..self.z.len()).collect();
        if !self.z.is_sorted() {
            order.sort_by(|&a, &b| self.z[a].total_cmp(&self.z[b]));
        }
        let scores = order.iter().map(|&i| self.z[i]).collect();
        (order, scores)
    }
}
