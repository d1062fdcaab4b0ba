//! Eight models descend together: L-BFGS that keeps what it learned of the loss across penalties.
//!
//! Remembered are steps `s` and the changes `y` of the *unpenalised* gradient along them; under the
//! penalty `P` a pair is `(s, y + P s)`. So another strength starts with a metric that is right for
//! it, and with the gradient: its first step costs no pass. The first metric is `H_k + P` where the
//! Hessians are known (then this is Newton's method), else `|y|/|s| + P`.

use super::curve::Curve;
use super::linalg::{lane_add, lane_add_product, lane_dot, lane_weighted};
use super::metric::Metric;
use super::rows::{FoldRows, Halt, Halted, LANES, Lane};

/// Steps remembered, at most and at least.
const MAX_MEMORY: usize = 12;
const MIN_MEMORY: usize = 4;
/// Steps that gain less, in nats, are not remembered: their `y` is mostly rounding.
const LEAST_DECREMENT: f64 = 1e-8;
/// Armijo's constant.
const SUFFICIENT: f64 = 1e-4;
/// A step is shortened at most this often.
const MAX_BACKTRACKS: usize = 30;

/// When the descent ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stop {
    /// Expected decrease of the summed loss, in nats: below it a model is done.
    pub decrease: f64,
    /// Most steps of a model.
    pub max_steps: usize,
}

/// A step and the change of the unpenalised gradient along it; zero in the lanes that did not move.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Pair {
    s: Vec<Lane>,
    y: Vec<Lane>,
}

/// Where eight models are, and what is known of their loss.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Anchor {
    pub w: Vec<Lane>,
    /// Summed loss without penalty, and its gradient.
    pub loss: Lane,
    pub gradient: Vec<Lane>,
}

/// The memory of eight models.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Walkers {
    /// Number of the first model.
    pub first: usize,
    pairs: Vec<Pair>,
    /// Size of the Hessian, `|y| / |s|` of the last step.
    gamma: Lane,
    /// Steps remembered.
    memory: usize,
}

/// What a descent did.
#[derive(Debug, Clone)]
pub(super) struct Descended {
    /// The last point that a pass looked at.
    pub anchor: Anchor,
    /// One step further, which cost no pass.
    pub w: Vec<Lane>,
    pub passes: usize,
    /// Expected decrease at the start, and after the first pass.
    pub expected: [Lane; 2],
}

impl Walkers {
    /// `gamma`: a guess at the size of the Hessian. A step is remembered at the cost of four sums over
    /// the columns: not more of them than a pass is worth.
    pub(super) fn new(rows: &FoldRows<'_>, first: usize, gamma: Lane) -> Self {
        let per_column = rows.matrix.stored() / rows.dimension();
        let memory = (per_column / 3).clamp(MIN_MEMORY, MAX_MEMORY);
        Self { first, pairs: Vec::new(), gamma, memory }
    }

    /// One step from `start` under a penalty, without a pass; and the gain it expects, in nats.
    pub(super) fn step(
        &self,
        penalty: &[Lane],
        metric: &Metric<'_>,
        start: &Anchor,
    ) -> (Vec<Lane>, Lane) {
        let g = penalised(&start.gradient, penalty, &start.w);
        let mut q = g.clone();
        self.under(penalty).apply(self, metric, penalty, &mut q);
        let gain = lane_dot(&g, &q).map(|decrement| 0.5 * decrement);
        let mut w = start.w.clone();
        lane_add(&[-1.0; LANES], &q, &mut w);
        (w, gain)
    }

    /// Minimises `loss + Σ P w² / 2` from `start` on. `held_out` gets the held-out scores at the
    /// anchor, if there was a pass.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn descend(
        &mut self,
        rows: &FoldRows<'_>,
        curve: &Curve<'_>,
        penalty: &[Lane],
        metric: &Metric<'_>,
        start: &Anchor,
        stop: Stop,
        held_out: &mut [f64],
        halt: Halt<'_>,
    ) -> Result<Descended, Halted> {
        let models = LANES.min(rows.models() - self.first);
        let mut at = start.clone();
        let mut history = self.under(penalty);
        let mut walk = [Walk::default(); LANES];
        let mut direction = vec![[0.0; LANES]; at.w.len()];
        let mut expected = [[0.0; LANES]; 2];
        let mut passes = 0;
        loop {
            // Directions of the lanes that moved; the others try a shorter step along the old one.
            let g = penalised(&at.gradient, penalty, &at.w);
            let mut q = g.clone();
            history.apply(self, metric, penalty, &mut q);
            let decrements = lane_dot(&g, &q);
            for l in 0..models {
                let lane = &mut walk[l];
                if !lane.moved {
                    continue;
                }
                lane.decrement = decrements[l];
                lane.step = 1.0;
                let gain = 0.5 * decrements[l];
                // Where nothing was looked at yet, one has to be nearer to leave it at that.
                let enough = if passes == 0 { 0.05 * stop.decrease } else { stop.decrease };
                lane.live = gain > enough && gain.is_finite() && lane.steps < stop.max_steps;
                lane.near = gain >= 0.0 && gain <= stop.decrease;
                if passes < 2 {
                    expected[passes][l] = gain.max(0.0);
                }
            }
            for (direction, q) in direction.iter_mut().zip(&q) {
                for l in 0..models {
                    if walk[l].moved {
                        direction[l] = q[l];
                    }
                }
            }
            if !walk[..models].iter().any(|lane| lane.live) {
                break;
            }
            let steps: Lane =
                std::array::from_fn(|l| if walk[l].live { -walk[l].step } else { 0.0 });
            let mut trial = at.w.clone();
            lane_add(&steps, &direction, &mut trial);
            let sums = rows.lane_sums(curve, self.first, &trial, held_out, halt)?;
            passes += 1;
            let before = value(at.loss, penalty, &at.w);
            let after = value(sums.loss, penalty, &trial);
            for l in 0..models {
                walk[l].judge(before[l], after[l]);
            }
            let keep: [bool; LANES] =
                std::array::from_fn(|l| l < models && walk[l].live && walk[l].moved);
            let telling = std::array::from_fn(|l| keep[l] && walk[l].decrement > LEAST_DECREMENT);
            let pair = Pair::between(&at, &trial, &sums.gradient, penalty, telling);
            for j in 0..at.w.len() {
                for l in 0..LANES {
                    if keep[l] {
                        at.w[j][l] = trial[j][l];
                        at.gradient[j][l] = sums.gradient[j][l];
                    }
                }
            }
            for l in 0..LANES {
                if keep[l] {
                    at.loss[l] = sums.loss[l];
                }
            }
            self.remember(pair, penalty, &mut history);
        }
        if walk[..models].iter().any(|lane| lane.stuck) {
            rows.lane_sums(curve, self.first, &at.w, held_out, halt)?;
            passes += 1;
        }
        let last: Lane =
            std::array::from_fn(|l| if l < models && walk[l].near { -1.0 } else { 0.0 });
        let mut w = at.w.clone();
        lane_add(&last, &direction, &mut w);
        Ok(Descended { anchor: at, w, passes, expected })
    }

    fn remember(&mut self, pair: Pair, penalty: &[Lane], history: &mut History) {
        let (ss, yy) = (lane_dot(&pair.s, &pair.s), lane_dot(&pair.y, &pair.y));
        for l in 0..LANES {
            if ss[l] > 0.0 && yy[l] > 0.0 {
                self.gamma[l] = (yy[l] / ss[l]).sqrt();
            }
        }
        if self.pairs.len() == self.memory {
            self.pairs.remove(0);
            history.0.remove(0);
        }
        history.0.push(pair.under(penalty));
        self.pairs.push(pair);
    }

    fn under(&self, penalty: &[Lane]) -> History {
        History(self.pairs.iter().map(|pair| pair.under(penalty)).collect())
    }
}

/// One lane on its way.
#[derive(Debug, Clone, Copy)]
struct Walk {
    live: bool,
    /// The last trial was accepted (or there was none).
    moved: bool,
    /// Next to the minimum: the last step may be taken unseen.
    near: bool,
    stuck: bool,
    decrement: f64,
    step: f64,
    steps: usize,
    backtracks: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            live: false,
            moved: true,
            near: false,
            stuck: false,
            decrement: 0.0,
            step: 1.0,
            steps: 0,
            backtracks: 0,
        }
    }
}

impl Walk {
    /// Accepts a sufficient decrease, or shortens the step.
    fn judge(&mut self, before: f64, after: f64) {
        if !self.live {
            self.moved = true;
            return;
        }
        // A rounding of the objective: near the minimum a decrease cannot be seen.
        let rounding = 64.0 * f64::EPSILON * before.abs();
        if after <= before - SUFFICIENT * self.step * self.decrement + rounding {
            (self.moved, self.backtracks) = (true, 0);
            self.steps += 1;
            return;
        }
        self.moved = false;
        self.backtracks += 1;
        if self.backtracks > MAX_BACKTRACKS {
            (self.live, self.near, self.stuck) = (false, false, true);
            return;
        }
        // The minimum of the parabola through value, slope and trial value, kept in [0.1, 0.5].
        let rise = after - before + self.step * self.decrement;
        let best = if rise.is_finite() { 0.5 * self.step * self.decrement / rise } else { 0.1 };
        self.step *= best.clamp(0.1, 0.5);
    }
}

/// `g + P w`.
fn penalised(gradient: &[Lane], penalty: &[Lane], w: &[Lane]) -> Vec<Lane> {
    let mut sum = gradient.to_vec();
    lane_add_product(penalty, w, &mut sum);
    sum
}

/// `loss + Σ P w² / 2`.
fn value(loss: Lane, penalty: &[Lane], w: &[Lane]) -> Lane {
    let sum = lane_weighted(penalty, w);
    std::array::from_fn(|l| loss[l] + 0.5 * sum[l])
}

impl Pair {
    /// `y + P s` and `1 / s·(y + P s)`.
    fn under(&self, penalty: &[Lane]) -> (Vec<Lane>, Lane) {
        let y = penalised(&self.y, penalty, &self.s);
        let sy = lane_dot(&self.s, &y);
        (y, sy.map(|sy| if sy > 0.0 { 1.0 / sy } else { 0.0 }))
    }

    /// Zero in the lanes that are not kept, and where rounding hides the curvature.
    fn between(
        at: &Anchor,
        trial: &[Lane],
        gradient: &[Lane],
        penalty: &[Lane],
        mut keep: [bool; LANES],
    ) -> Self {
        let difference = |a: &[Lane], b: &[Lane]| {
            let mut difference = a.to_vec();
            lane_add(&[-1.0; LANES], b, &mut difference);
            difference
        };
        let (mut s, mut y) = (difference(trial, &at.w), difference(gradient, &at.gradient));
        let (ss, yy, sy) = (lane_dot(&s, &s), lane_dot(&y, &y), lane_dot(&s, &y));
        let sps = lane_weighted(penalty, &s);
        for l in 0..LANES {
            keep[l] &= sy[l] + sps[l] > f64::EPSILON * (ss[l] * yy[l]).sqrt() && sy[l].is_finite();
        }
        if keep.contains(&false) {
            for (s, y) in s.iter_mut().zip(&mut y) {
                for l in 0..LANES {
                    if !keep[l] {
                        (s[l], y[l]) = (0.0, 0.0);
                    }
                }
            }
        }
        Self { s, y }
    }
}

/// The remembered pairs under one penalty, oldest first: `y + P s` and `1 / s·(y + P s)`.
struct History(Vec<(Vec<Lane>, Lane)>);

impl History {
    /// The two loops of L-BFGS (Nocedal and Wright, algorithm 7.4), in every lane.
    fn apply(&self, walkers: &Walkers, metric: &Metric<'_>, penalty: &[Lane], q: &mut [Lane]) {
        let pairs = || walkers.pairs.iter().zip(&self.0);
        let mut coefficients = Vec::with_capacity(self.0.len());
        for (pair, (y, rho)) in pairs().rev() {
            let sq = lane_dot(&pair.s, q);
            let a: Lane = std::array::from_fn(|l| rho[l] * sq[l]);
            lane_add(&a.map(|a| -a), y, q);
            coefficients.push(a);
        }
        match metric {
            Metric::Dense(dense) => dense.solve_lanes(walkers.first, q),
            Metric::Diagonal => {
                for (q, p) in q.iter_mut().zip(penalty) {
                    for l in 0..LANES {
                        q[l] /= walkers.gamma[l] + p[l];
                    }
                }
            }
        }
        for ((pair, (y, rho)), a) in pairs().zip(coefficients.into_iter().rev()) {
            let yq = lane_dot(y, q);
            let b: Lane = std::array::from_fn(|l| a[l] - rho[l] * yq[l]);
            lane_add(&b, &pair.s, q);
        }
    }
}
