//! The damped Newton iteration.

use std::ops::ControlFlow;

use super::step::Stepper;
use super::{Iteration, Minimum, Options, Problem, Solver, Stop, Watch, line_search};
use crate::error::{Error, Result, finite, same_length};
use crate::linalg::dot_rounded as dot;
use crate::rows::Rows;

/// Damping of the first step, relative to the largest curvature seen.
const FIRST_DAMPING: f64 = 1e-3;
/// Damping below this is none: it no longer changes a step that rounding would not.
const LEAST_DAMPING: f64 = 1e-13;

/// A point on its way to the minimum; the scores of its rows are with them.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Newton {
    w: Vec<f64>,
    gradient: Vec<f64>,
    at: Iteration,
    stepper: Stepper,
    damping: f64,
    /// `Σ h`, the mean curvature of the rows.
    curvature: f64,
    largest_curvature: f64,
    first_norm: f64,
}

impl Newton {
    /// At `start` (a warm start, or zeros).
    pub fn start(
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        start: &[f64],
        solver: Solver,
    ) -> Result<Self> {
        check(problem, rows, start)?;
        let mut stepper = Stepper::new(problem, rows, solver)?;
        rows.score(start)?;
        stepper.passes += 1;
        let at = Iteration {
            iteration: 0,
            value: 0.0,
            gradient_norm: 0.0,
            step: 0.0,
            decrement: 0.0,
            passes: 0,
        };
        let mut newton = Self {
            w: start.to_vec(),
            gradient: Vec::new(),
            at,
            stepper,
            damping: FIRST_DAMPING,
            curvature: 0.0,
            largest_curvature: 0.0,
            first_norm: f64::INFINITY,
        };
        newton.evaluate(problem, rows)?;
        Ok(newton)
    }

    /// The weights.
    pub fn w(&self) -> &[f64] {
        &self.w
    }

    /// Weights, gradient and `E[x̃²]`.
    pub(crate) fn vectors(&self) -> [&[f64]; 3] {
        [&self.w, &self.gradient, self.stepper.second_moments()]
    }

    /// Where it stands.
    pub fn at(&self) -> &Iteration {
        &self.at
    }

    fn penalty(&self, problem: &Problem<'_>, columns: usize) -> f64 {
        0.5 * problem.l2 * dot(&self.w[..columns], &self.w[..columns])
    }

    /// Value and gradient at the scores; the rows keep their curvatures.
    fn evaluate(&mut self, problem: &Problem<'_>, rows: &mut dyn Rows) -> Result<()> {
        let columns = rows.shape().columns;
        let (value, curvature, gradient) = rows.terms(problem.kind, problem.link)?;
        (self.curvature, self.gradient) = (curvature, gradient);
        self.stepper.passes += 1;
        for j in 0..columns {
            self.gradient[j] += problem.l2 * self.w[j];
        }
        self.at.value = value + self.penalty(problem, columns);
        self.at.gradient_norm = dot(&self.gradient, &self.gradient).sqrt();
        self.at.passes = self.stepper.passes;
        Ok(())
    }

    /// After a checkpoint: the rows find their curvatures again.
    pub fn refresh(&self, problem: &Problem<'_>, rows: &mut dyn Rows) -> Result<()> {
        rows.terms(problem.kind, problem.link).map(drop)
    }

    /// One step; false if no step decreases the value any further: the limit of rounding.
    pub fn step(
        &mut self,
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        gradient_tolerance: f64,
    ) -> Result<bool> {
        let columns = rows.shape().columns;
        let Iteration { value, gradient_norm, iteration, .. } = self.at;
        // Curvature per row is h_i / ω_i; Σ h_i is its weighted mean.
        self.largest_curvature = self.largest_curvature.max(self.curvature);
        let scale = if self.largest_curvature > 0.0 { self.largest_curvature } else { 1.0 };
        self.first_norm = if iteration == 0 { gradient_norm } else { self.first_norm };
        // Superlinear, but never more exact than the end needs.
        let forcing = (gradient_norm / self.first_norm).sqrt().min(0.1);
        let tolerance = forcing.max(0.1 * gradient_tolerance / gradient_norm);
        let penalty = self.penalty(problem, columns);
        let (t, p) = loop {
            let added = if self.damping < LEAST_DAMPING { 0.0 } else { self.damping * scale };
            let p = self.stepper.step(problem, rows, &self.gradient, added, tolerance)?;
            let slope = dot(&self.gradient, &p);
            let (w_p, p_p) =
                (dot(&self.w[..columns], &p[..columns]), dot(&p[..columns], &p[..columns]));
            let mut along = |t: f64| -> Result<(f64, f64)> {
                let [value, slope] = rows.along(problem.kind, problem.link, t)?;
                let moved = problem.l2 * (w_p * t + 0.5 * t * t * p_p);
                Ok((value + penalty + moved, slope + problem.l2 * (w_p + t * p_p)))
            };
            if let Some(t) = line_search::search(&mut along, value, slope)? {
                self.at.decrement = -slope;
                break (t, p);
            }
            if self.damping >= 1.0 {
                return Ok(false);
            }
            self.damping = (self.damping * 100.0).max(1e-6);
        };
        for (w, p) in self.w.iter_mut().zip(&p) {
            *w += t * p;
        }
        self.at.iteration += 1;
        self.at.step = t;
        // Scores are moved, not recomputed; rounding adds up by about ε a step, far below the
        // tolerance of the gradient for the few dozen steps there are.
        rows.advance(t)?;
        self.damping = if t >= 0.5 {
            self.damping * 0.01
        } else if t < 0.1 {
            (self.damping * 10.0).max(1e-6)
        } else {
            self.damping
        };
        self.evaluate(problem, rows)?;
        Ok(true)
    }
}

/// Minimises from `start` (a warm start, or zeros). Deterministic, for any number of threads.
///
/// `watch` sees every iterate before its step, and the last one; it may stop the run.
pub fn minimise(
    problem: &Problem<'_>,
    rows: &mut dyn Rows,
    start: &[f64],
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Minimum> {
    let mut newton = Newton::start(problem, rows, start, options.solver)?;
    let stop = loop {
        if watch(newton.at(), newton.w()) == ControlFlow::Break(()) {
            break Stop::Stopped;
        }
        if newton.at.gradient_norm <= options.gradient_tolerance {
            break Stop::Converged;
        }
        if newton.at.iteration >= options.max_iter {
            break Stop::MaxIter;
        }
        if !newton.step(problem, rows, options.gradient_tolerance)? {
            break Stop::Stalled;
        }
    };
    Ok(Minimum { w: newton.w, last: newton.at, stop })
}

fn check(problem: &Problem<'_>, rows: &dyn Rows, start: &[f64]) -> Result<()> {
    same_length(("start", start.len()), ("coefficients", rows.dimension()))?;
    finite("start", start)?;
    if problem.l2 >= 0.0 && problem.l2.is_finite() {
        return Ok(());
    }
    let expected = "0 or positive, and finite";
    Err(Error::OutOfDomain { what: "l2", value: problem.l2, expected })
}
