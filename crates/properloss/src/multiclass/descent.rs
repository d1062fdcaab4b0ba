//! Models descend together: L-BFGS in the metric of a reference point.
//!
//! The pairs of past steps are those of the loss *without* its penalty, so they stay true when the
//! strength changes (`y = y_loss + P s`), and so do loss and gradient: a new strength starts without
//! a pass.

use super::curve::Curve;
use super::metric::Metric;
use super::rows::{Rows, Sums};
use crate::linalg::dot_rounded as dot;

/// Steps remembered.
const MEMORY: usize = 12;
/// Armijo's constant.
const SUFFICIENT: f64 = 1e-4;
/// A step is shortened at most this often.
const MAX_BACKTRACKS: usize = 30;

/// When the descent of a model ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// Expected decrease of the summed loss, in nats: below it a model is done.
    pub decrease: f64,
    /// Most steps of a model.
    pub max_steps: usize,
}

/// A model where it stands: weights, loss and gradient without penalty, past steps.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub w: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// `(s, y_loss)`, oldest first.
    memory: Memory,
}

/// Past steps with the changes of the gradient they made.
pub(super) type Memory = Vec<(Vec<f64>, Vec<f64>)>;

/// Some models, and every row's scores under the one of them that did not see it (rows × K).
#[derive(Debug, Clone)]
pub(super) struct States {
    /// The number of every model: its fold, or the number of folds for all rows.
    numbers: Vec<u32>,
    pub models: Vec<State>,
    pub held_out: Vec<f64>,
    /// Passes over the rows, in units of all models together.
    pub passes: f64,
}

/// A search under way.
struct Walk {
    direction: Vec<f64>,
    /// `g . p`, negative.
    slope: f64,
    step: f64,
    trial: Vec<f64>,
    steps: usize,
    backtracks: usize,
    done: bool,
}

impl States {
    /// The given models at given weights: one pass.
    pub(super) fn at(rows: &Rows<'_>, curve: &Curve, numbers: &[u32], w: Vec<Vec<f64>>) -> Self {
        let mut held_out = vec![0.0; rows.labels.len() * rows.classes];
        let slices: Vec<&[f64]> = w.iter().map(Vec::as_slice).collect();
        let sums = rows.sums(curve, numbers, &slices, Some(&mut held_out));
        let models = w
            .into_iter()
            .zip(sums)
            .map(|(w, Sums { loss, gradient })| State { w, loss, gradient, memory: Vec::new() })
            .collect();
        let passes = numbers.len() as f64 / rows.models() as f64;
        Self { numbers: numbers.to_vec(), models, held_out, passes }
    }

    /// The first model alone.
    pub(super) fn first(&self) -> Self {
        let (numbers, models) = (self.numbers[..1].to_vec(), self.models[..1].to_vec());
        Self { numbers, models, held_out: self.held_out.clone(), passes: 0.0 }
    }

    /// Every model starts with the same past steps, those of a model with `1 / scale` of its rows.
    pub(super) fn with_memory(mut self, memory: &Memory, scale: f64) -> Self {
        for state in &mut self.models {
            state.memory.clone_from(memory);
            state.memory.iter_mut().flat_map(|(_, y)| y).for_each(|y| *y *= scale);
        }
        self
    }

    /// The past steps of the first model.
    pub(super) fn memory(&self) -> &Memory {
        &self.models[0].memory
    }

    /// The mean of the models' weights.
    pub(super) fn mean(&self) -> Vec<f64> {
        mean(self.models.iter().map(|state| &state.w[..]))
    }

    /// Minimises `loss + Σ_j P_j w_j² / 2` for every model; `penalties[k]` has the length of the
    /// weights of one class and serves all of them.
    pub(super) fn descend(
        &mut self,
        rows: &Rows<'_>,
        curve: &Curve,
        penalties: &[Vec<f64>],
        metric: &Metric,
        stop: Stop,
    ) {
        let penalty = |k: usize| &penalties[self.numbers[k] as usize][..];
        let mut walks: Vec<Walk> = (self.models.iter().enumerate())
            .map(|(k, state)| Walk::begin(state, penalty(k), metric, stop))
            .collect();
        let mut moved = vec![false; walks.len()];
        loop {
            let active: Vec<usize> = (0..walks.len()).filter(|&k| !walks[k].done).collect();
            if active.is_empty() {
                break;
            }
            let numbers: Vec<u32> = active.iter().map(|&k| self.numbers[k]).collect();
            let trials: Vec<&[f64]> = active.iter().map(|&k| walks[k].trial.as_slice()).collect();
            let sums = rows.sums(curve, &numbers, &trials, Some(&mut self.held_out));
            self.passes += active.len() as f64 / rows.models() as f64;
            for (k, sums) in active.into_iter().zip(sums) {
                let state = &mut self.models[k];
                moved[k] = !walks[k].judge(state, sums, penalty(k));
                if !moved[k] {
                    walks[k].head_on(state, penalty(k), metric, stop);
                }
            }
        }
        // The scores of a model that gave up in the middle of a search are those of its last trial.
        let stale: Vec<usize> = (0..walks.len()).filter(|&k| moved[k]).collect();
        if !stale.is_empty() {
            let numbers: Vec<u32> = stale.iter().map(|&k| self.numbers[k]).collect();
            let w: Vec<&[f64]> = stale.iter().map(|&k| &*self.models[k].w).collect();
            rows.sums(curve, &numbers, &w, Some(&mut self.held_out));
        }
    }
}

/// The mean of vectors of equal length.
pub(super) fn mean<'w>(vectors: impl ExactSizeIterator<Item = &'w [f64]>) -> Vec<f64> {
    let share = 1.0 / vectors.len() as f64;
    let mut mean = Vec::new();
    for w in vectors {
        mean.resize(w.len(), 0.0);
        add(share, w, &mut mean);
    }
    mean
}

/// `loss + Σ P w² / 2`.
fn penalised(loss: f64, w: &[f64], penalty: &[f64]) -> f64 {
    let squares = w
        .chunks_exact(penalty.len())
        .map(|w| -> f64 { w.iter().zip(penalty).map(|(w, p)| p * w * w).sum() });
    loss + 0.5 * squares.sum::<f64>()
}

/// `v + P w`.
fn with_penalty(v: &[f64], w: &[f64], penalty: &[f64]) -> Vec<f64> {
    let mut sum = v.to_vec();
    for (sum, w) in sum.chunks_exact_mut(penalty.len()).zip(w.chunks_exact(penalty.len())) {
        sum.iter_mut().zip(w).zip(penalty).for_each(|((sum, w), p)| *sum += p * w);
    }
    sum
}

fn add(c: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += c * x);
}

impl Walk {
    fn begin(state: &State, penalty: &[f64], metric: &Metric, stop: Stop) -> Self {
        let d = state.w.len();
        let mut walk = Self {
            direction: vec![0.0; d],
            slope: 0.0,
            step: 1.0,
            trial: vec![0.0; d],
            steps: 0,
            backtracks: 0,
            done: false,
        };
        walk.head_on(state, penalty, metric, stop);
        walk
    }

    /// Takes the trial if it decreases the objective enough (then true); else shortens the step. A search in
    /// pieces, unlike that of `optimize/`: one pass over the rows tries the steps of all models.
    fn judge(&mut self, state: &mut State, sums: Sums, penalty: &[f64]) -> bool {
        let before = penalised(state.loss, &state.w, penalty);
        let after = penalised(sums.loss, &self.trial, penalty);
        // What rounding of a sum of this size may hide.
        let noise = 1e-13 * before.abs();
        // A value that is not a number is no decrease.
        let enough = after <= before + SUFFICIENT * self.step * self.slope + noise;
        if !enough {
            self.backtracks += 1;
            // The minimum of the parabola through both values and the slope.
            let curve = after - before - self.step * self.slope;
            let best = -0.5 * self.slope * self.step * self.step / curve;
            let safe = best.clamp(0.1 * self.step, 0.5 * self.step);
            self.step = if safe.is_finite() { safe } else { 0.5 * self.step };
            if self.backtracks > MAX_BACKTRACKS {
                self.done = true;
            }
            self.place(state);
            return false;
        }
        let s: Vec<f64> = self.trial.iter().zip(&state.w).map(|(t, w)| t - w).collect();
        let y: Vec<f64> = sums.gradient.iter().zip(&state.gradient).map(|(a, b)| a - b).collect();
        if state.memory.len() == MEMORY {
            state.memory.remove(0);
        }
        state.memory.push((s, y));
        state.w.clone_from(&self.trial);
        state.loss = sums.loss;
        state.gradient = sums.gradient;
        self.steps += 1;
        self.backtracks = 0;
        true
    }

    /// The next direction, or the end.
    fn head_on(&mut self, state: &State, penalty: &[f64], metric: &Metric, stop: Stop) {
        let gradient = with_penalty(&state.gradient, &state.w, penalty);
        let mut q = gradient.clone();
        // Two loops; pairs without curvature are passed over.
        let mut used = Vec::new();
        for (s, y) in state.memory.iter().rev() {
            let y = with_penalty(y, s, penalty);
            let sy = dot(s, &y);
            if sy > 1e-10 * (dot(s, s) * dot(&y, &y)).sqrt() {
                let alpha = dot(s, &q) / sy;
                add(-alpha, &y, &mut q);
                used.push((s, y, sy, alpha));
            }
        }
        metric.solve(&mut q);
        for (s, y, sy, alpha) in used.iter().rev() {
            let beta = dot(y, &q) / sy;
            add(alpha - beta, s, &mut q);
        }
        self.slope = -dot(&q, &gradient);
        let promising = -0.5 * self.slope >= stop.decrease;
        if !promising || self.steps >= stop.max_steps {
            self.done = true;
            return;
        }
        self.direction = q;
        self.step = 1.0;
        self.place(state);
    }

    fn place(&mut self, state: &State) {
        for ((t, w), p) in self.trial.iter_mut().zip(&state.w).zip(&self.direction) {
            *t = w - self.step * p;
        }
    }
}
