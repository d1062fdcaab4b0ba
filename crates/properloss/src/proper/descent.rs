//! All fold models descend together: L-BFGS in the metric of a reference Hessian.
//!
//! With a Hessian that is right, the first step is Newton's. Where it is not (other folds, other
//! rows, a point further on) the last few steps correct it as in L-BFGS. So the same loop is
//! Newton's method for few columns and L-BFGS for many, and every pass serves all models.

use super::curve::Curve;
use super::metric::{Metric, dot};
use super::passes::Passes;

/// Steps remembered.
const MEMORY: usize = 8;
/// Armijo's constant.
const SUFFICIENT: f64 = 1e-4;
/// A step is halved or better at most this often.
const MAX_BACKTRACKS: usize = 30;

/// When the descent ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// Expected decrease of the summed loss, in nats: below it a model is done.
    pub decrease: f64,
    /// Most steps of a model.
    pub max_steps: usize,
}

/// Where the models ended.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    /// Weights of each model in the standardised features, intercept last.
    pub w: Vec<Vec<f64>>,
    /// Every row's score under the model that did not see it.
    pub held_out: Vec<f64>,
    /// Passes over the rows.
    pub passes: usize,
}

/// One model on its way.
struct Walk {
    w: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    /// `g . p`, negative.
    slope: f64,
    step: f64,
    trial: Vec<f64>,
    steps: usize,
    backtracks: usize,
    /// `(s, y, 1 / s.y)`, oldest first.
    memory: Vec<(Vec<f64>, Vec<f64>, f64)>,
    done: bool,
}

/// Minimises `mean loss + lambda_k |w|^2 / 2` (the intercept free) for every model.
pub(super) fn descend(
    passes: &Passes<'_>,
    curve: &Curve<'_>,
    lambda: &[f64],
    metric: &Metric,
    start: &[Vec<f64>],
    stop: Stop,
) -> Reached {
    let mut held_out = vec![0.0; passes.design.rows()];
    let mut trials: Vec<Vec<f64>> = start.to_vec();
    let mut walks: Vec<Walk> = Vec::new();
    let mut count = 0;
    loop {
        let mut sums = passes.sums(curve, &trials, &mut held_out);
        count += 1;
        for k in 0..trials.len() {
            let (value, mut gradient) = (sums.loss[k], std::mem::take(&mut sums.gradient[k]));
            let value = value + penalty(lambda[k], &trials[k], &mut gradient);
            if count == 1 {
                walks.push(Walk::begin(trials[k].clone(), value, gradient));
            } else if walks[k].done || !walks[k].judge(value, gradient) {
                continue;
            }
            walks[k].head_on(k, metric, passes.totals[k], stop);
        }
        if walks.iter().all(|walk| walk.done) {
            // The scores of the last pass belong to the last trials; they are the weights unless a
            // model gave up in the middle of a search.
            if walks.iter().zip(&trials).any(|(walk, trial)| walk.w != *trial) {
                trials = walks.iter().map(|walk| walk.w.clone()).collect();
                passes.sums(curve, &trials, &mut held_out);
                count += 1;
            }
            return Reached { w: trials, held_out, passes: count };
        }
        for (trial, walk) in trials.iter_mut().zip(&walks) {
            trial.clone_from(if walk.done { &walk.w } else { &walk.trial });
        }
    }
}

/// `lambda |w|^2 / 2`, its gradient added; the last coordinate is the intercept.
fn penalty(lambda: f64, w: &[f64], gradient: &mut [f64]) -> f64 {
    let d = w.len() - 1;
    gradient[..d].iter_mut().zip(w).for_each(|(g, w)| *g += lambda * w);
    0.5 * lambda * dot(&w[..d], &w[..d])
}

impl Walk {
    fn begin(w: Vec<f64>, value: f64, gradient: Vec<f64>) -> Self {
        let d = w.len();
        Self {
            w,
            value,
            gradient,
            direction: vec![0.0; d],
            slope: 0.0,
            step: 1.0,
            trial: vec![0.0; d],
            steps: 0,
            backtracks: 0,
            memory: Vec::new(),
            done: false,
        }
    }

    /// Takes the trial if it decreases the objective enough; else shortens the step. True if a new
    /// direction is wanted.
    fn judge(&mut self, value: f64, gradient: Vec<f64>) -> bool {
        // A rounding of the objective: near the minimum a decrease cannot be seen.
        let rounding = 8.0 * f64::EPSILON * self.value.abs();
        if value <= self.value + SUFFICIENT * self.step * self.slope + rounding {
            let s: Vec<f64> = self.trial.iter().zip(&self.w).map(|(a, b)| a - b).collect();
            let y: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
            let sy = dot(&s, &y);
            if sy > f64::EPSILON * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
                if self.memory.len() == MEMORY {
                    self.memory.remove(0);
                }
                self.memory.push((s, y, 1.0 / sy));
            }
            self.w.clone_from(&self.trial);
            (self.value, self.gradient) = (value, gradient);
            self.steps += 1;
            return true;
        }
        self.backtracks += 1;
        if self.backtracks > MAX_BACKTRACKS {
            self.done = true;
            return false;
        }
        // The minimum of the parabola through value, slope and trial value, kept in [0.1, 0.5].
        let rise = value - self.value - self.step * self.slope;
        let best = if rise.is_finite() { -0.5 * self.step * self.slope / rise } else { 0.1 };
        self.step *= best.clamp(0.1, 0.5);
        self.propose();
        false
    }

    /// A new direction, or the end.
    fn head_on(&mut self, k: usize, metric: &Metric, total: f64, stop: Stop) {
        self.direction = self.gradient.clone();
        let mut coefficients = Vec::with_capacity(self.memory.len());
        for (s, y, rho) in self.memory.iter().rev() {
            let a = rho * dot(s, &self.direction);
            self.direction.iter_mut().zip(y).for_each(|(q, y)| *q -= a * y);
            coefficients.push(a);
        }
        metric.solve(k, &mut self.direction);
        for ((s, y, rho), a) in self.memory.iter().zip(coefficients.into_iter().rev()) {
            let b = rho * dot(y, &self.direction);
            self.direction.iter_mut().zip(s).for_each(|(q, s)| *q += (a - b) * s);
        }
        self.direction.iter_mut().for_each(|p| *p = -*p);
        self.slope = dot(&self.gradient, &self.direction);
        self.step = 1.0;
        self.backtracks = 0;
        let expected = -0.5 * self.slope * total;
        if expected <= stop.decrease || expected.is_nan() || self.steps >= stop.max_steps {
            self.done = true;
            return;
        }
        self.propose();
    }

    fn propose(&mut self) {
        let step = self.step;
        for (trial, (w, p)) in self.trial.iter_mut().zip(self.w.iter().zip(&self.direction)) {
            *trial = w + step * p;
        }
    }
}
