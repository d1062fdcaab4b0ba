//! The damped Newton iteration.

use std::ops::ControlFlow;

use super::cholesky::dot;
use super::rows::{evaluate, evaluate_along};
use super::step::Stepper;
use super::{Iteration, Minimum, Options, Problem, Stop, Watch, line_search};
use crate::error::{Error, Result};

/// Damping of the first step, relative to the largest curvature seen.
const FIRST_DAMPING: f64 = 1e-3;
/// Damping below this is none: it no longer changes a step that rounding would not.
const LEAST_DAMPING: f64 = 1e-13;

/// Minimises from `start` (a warm start, or zeros). Deterministic, for any number of threads.
///
/// `watch` sees every iterate before its step, and the last one; it may stop the run.
pub fn minimise(
    problem: &Problem<'_>,
    start: &[f64],
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Minimum> {
    check(problem, start)?;
    let design = problem.design;
    let (m, d) = (design.rows(), design.dimension());
    let columns = design.matrix().columns();
    let total = problem.weights.map_or(m as f64, |weights| weights.iter().sum());
    let penalty = |w: &[f64]| 0.5 * problem.l2 * dot(&w[..columns], &w[..columns]);

    let mut w = start.to_vec();
    let (mut z, mut r, mut h, mut q) = (vec![0.0; m], vec![0.0; m], vec![0.0; m], vec![0.0; m]);
    let (mut g, mut p) = (vec![0.0; d], vec![0.0; d]);
    let mut stepper = Stepper::new(problem, options.solver, total);
    design.scores(&w, &mut z);
    stepper.passes += 1;
    let mut damping = FIRST_DAMPING;
    let (mut largest_curvature, mut first_norm) = (0.0f64, f64::INFINITY);
    let (mut step, mut decrement) = (0.0, 0.0);
    let mut iteration = 0;
    loop {
        let value = evaluate(problem, total, &z, &mut r, &mut h) + penalty(&w);
        design.adjoint(&r, &mut g);
        stepper.passes += 1;
        for j in 0..columns {
            g[j] += problem.l2 * w[j];
        }
        let gradient_norm = dot(&g, &g).sqrt();
        let passes = stepper.passes;
        let last = Iteration { iteration, value, gradient_norm, step, decrement, passes };
        let stop = if watch(&last, &w, &z) == ControlFlow::Break(()) {
            Some(Stop::Stopped)
        } else if gradient_norm <= options.gradient_tolerance {
            Some(Stop::Converged)
        } else if iteration >= options.max_iter {
            Some(Stop::MaxIter)
        } else {
            None
        };
        if let Some(stop) = stop {
            return Ok(Minimum { w, z, last, stop });
        }

        // Curvature per row is h_i / π_i; Σ h_i is its weighted mean.
        largest_curvature = largest_curvature.max(h.iter().sum());
        let scale = if largest_curvature > 0.0 { largest_curvature } else { 1.0 };
        first_norm = if iteration == 0 { gradient_norm } else { first_norm };
        // Superlinear, but never more exact than the end needs.
        let forcing = (gradient_norm / first_norm).sqrt().min(0.1);
        let tolerance = forcing.max(0.1 * options.gradient_tolerance / gradient_norm);
        let found = loop {
            let added = if damping < LEAST_DAMPING { 0.0 } else { damping * scale };
            stepper.step(&h, &g, added, tolerance, &mut p, &mut q);
            let slope = dot(&g, &p);
            let along = |t: f64| {
                let (value, slope) = evaluate_along(problem, total, &z, &q, t);
                let (w_p, p_p) =
                    (dot(&w[..columns], &p[..columns]), dot(&p[..columns], &p[..columns]));
                let moved = problem.l2 * (w_p * t + 0.5 * t * t * p_p);
                (value + penalty(&w) + moved, slope + problem.l2 * (w_p + t * p_p))
            };
            if let Some(t) = line_search::search(&along, value, slope) {
                break Some((t, -slope));
            }
            if damping >= 1.0 {
                break None;
            }
            damping = (damping * 100.0).max(1e-6);
        };
        let Some((t, gain)) = found else {
            return Ok(Minimum { w, z, last, stop: Stop::Stalled });
        };
        (step, decrement) = (t, gain);
        for (w, p) in w.iter_mut().zip(&p) {
            *w += t * p;
        }
        iteration += 1;
        // Scores are moved, not recomputed; rounding adds up by about ε a step, far below the
        // tolerance of the gradient for the few dozen steps there are.
        for (z, q) in z.iter_mut().zip(&q) {
            *z += t * q;
        }
        damping = if t >= 0.5 {
            damping * 0.01
        } else if t < 0.1 {
            (damping * 10.0).max(1e-6)
        } else {
            damping
        };
    }
}

fn check(problem: &Problem<'_>, start: &[f64]) -> Result<()> {
    let mismatch = |what, length, other, other_length| {
        Err(Error::LengthMismatch { what, length, other, other_length })
    };
    let d = problem.design.dimension();
    if start.len() != d {
        return mismatch("start", start.len(), "coefficients", d);
    }
    if let Some(index) = start.iter().position(|w| !w.is_finite()) {
        return Err(Error::NotFinite { what: "start", index, value: start[index] });
    }
    if !(problem.l2 >= 0.0 && problem.l2.is_finite()) {
        let expected = "0 or positive, and finite";
        return Err(Error::OutOfDomain { what: "l2", value: problem.l2, expected });
    }
    let Some(weights) = problem.weights else { return Ok(()) };
    if weights.len() != problem.design.rows() {
        return mismatch("weights", weights.len(), "rows", problem.design.rows());
    }
    if let Some(index) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
        let expected = "0 (the row is left out) or positive, and finite";
        return Err(Error::ElementOutOfDomain {
            what: "weights",
            index,
            value: weights[index],
            expected,
        });
    }
    let total: f64 = weights.iter().sum();
    if total > 0.0 && total.is_finite() {
        return Ok(());
    }
    let expected = "positive and finite";
    Err(Error::OutOfDomain { what: "the sum of the weights", value: total, expected })
}
