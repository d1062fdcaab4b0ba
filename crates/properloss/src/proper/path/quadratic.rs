//! Many rows a column: quadratic models of the loss give all the path from a few passes.
//!
//! ```text
//! w_0    Newton's method on a sample of the rows, one more step on a larger one
//! G_f    X'HX of every fold at w_0, with the gradient: one visit of the rows
//! then   w_k(a, g) by Newton steps with the Hessians Σ_{f≠k} G_f; a pass each, until a step gains less
//!        than 1e-3 nats; a new Gram where steps contract too slowly
//! ```
//!
//! From a point whose gradients are known a step to another penalty needs no pass to check it if its
//! error is small: the loss along the step bends by its third derivative, so that with the relative
//! shift `s` the step misses the minimum by about `s⁴ t3² / (8 h2)` nats, `t3 = Σ h' z³`,
//! `h2 = Σ h z²`; and by the share of its gain that a wrong Hessian leaves, which is the square of the
//! contraction seen in the steps before.

use super::walk::loose;
use super::{
    Enough, GIVE_UP, Models, PathState, Reached, STOP_CENTRE, STOP_QUADRATIC, Visited, dense,
};
use crate::proper::curve::Curve;
use crate::proper::descent::Anchor;
use crate::proper::linalg::{dot, lane, product};
use crate::proper::metric::{Dense, Hessians, Metric};
use crate::proper::rows::{FoldRows, Halt, Halted, LANES, Lane};

/// Rows of the first sample: this many times the dimension, and at least this many.
const FIRST_PER_COLUMN: usize = 20;
const FIRST_LEAST: usize = 2000;
/// Rows of the second sample, times the root of rows times columns.
const SECOND: f64 = 10.0;
/// Newton steps on the first sample, at most; and the gain, in nats a column, that ends them.
const FIRST_STEPS: usize = 12;
const FIRST_GAIN: f64 = 0.01;
/// A step may go unseen if it misses by less than this, in nats ...
const UNSEEN: f64 = 1e-5;
/// ... and steps contract at all.
const UNSEEN_CONTRACTION: f64 = 0.5;
/// ... and there are rows (weights of rows) enough for a pass to cost something.
const UNSEEN_ROWS: f64 = 300.0;
/// Steps that contract worse than this want a new Hessian ...
const SLOW: f64 = 0.1;
/// ... if they are worth it: gains below this say nothing.
const TELLING: f64 = 1e-2;
/// Most new Hessians.
const MAX_GRAMS: usize = 12;

/// The quadratic models: plain data.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Quadratic {
    hessians: Hessians,
    /// `t3² / (8 h2³)` at the first point.
    skew: f64,
    /// How much of a step is left after it.
    contraction: f64,
    grams: usize,
}

impl Quadratic {
    /// Reference and Gram. `penalty` is that of the model of all rows at the strength to start with.
    pub(super) fn begin(
        rows: &FoldRows<'_>,
        penalty: &[f64],
        mut w: Vec<f64>,
        halt: Halt<'_>,
    ) -> Result<Self, Halted> {
        let (d, m) = (rows.dimension(), rows.used);
        let first = FIRST_LEAST.max(FIRST_PER_COLUMN * d);
        if first < m {
            newton(rows, penalty, &mut w, first, FIRST_STEPS, halt)?;
            let second = (SECOND * ((m * d) as f64).sqrt()) as usize;
            if second > 2 * first && 2 * second < m {
                newton(rows, penalty, &mut w, second, 1, halt)?;
            }
        } else {
            newton(rows, penalty, &mut w, m, FIRST_STEPS, halt)?;
        }
        let grams = rows.whole_grams(&Curve::Logistic, &w, halt)?;
        let hessians = Hessians::new(grams, w, 1.0);
        Ok(Self { hessians, skew: f64::INFINITY, contraction: f64::INFINITY, grams: 1 })
    }

    /// The Hessians again, where only their reference was stored.
    pub(super) fn restore(&mut self, rows: &FoldRows<'_>, halt: Halt<'_>) -> Result<(), Halted> {
        if self.hessians.of_model.is_empty() {
            let w = std::mem::take(&mut self.hessians.reference);
            let grams = rows.whole_grams(&Curve::Logistic, &w, halt)?;
            self.hessians = Hessians::new(grams, w, 1.0);
        }
        Ok(())
    }

    /// All models at the reference, where the Gram told their losses and gradients.
    pub(super) fn anchors(&self) -> Vec<Anchor> {
        let hessians = &self.hessians;
        let (d, models) = (hessians.dimension(), hessians.of_model.len());
        let all: f64 = hessians.fold_loss.iter().sum();
        (0..models.div_ceil(LANES))
            .map(|group| {
                let mut anchor = Anchor {
                    w: vec![[0.0; LANES]; d],
                    loss: [0.0; LANES],
                    gradient: vec![[0.0; LANES]; d],
                };
                for l in 0..LANES.min(models - group * LANES) {
                    let k = group * LANES + l;
                    anchor.loss[l] = all - hessians.fold_loss.get(k).copied().unwrap_or(0.0);
                    for j in 0..d {
                        anchor.w[j][l] = hessians.reference[j];
                        anchor.gradient[j][l] = hessians.gradient[k][j];
                    }
                }
                anchor
            })
            .collect()
    }

    /// The summed held-out loss of the quadratic models, at fold models `w`: `G_k = H - H_k`.
    fn held_out(&self, w: &Models) -> f64 {
        let Hessians { reference, of_model, fold_gradient, fold_loss, .. } = &self.hessians;
        let last = fold_loss.len();
        let curvature = |model: usize, shift: &[f64]| {
            let mut curved = vec![0.0; shift.len()];
            product(&of_model[model], shift, &mut curved);
            dot(shift, &curved)
        };
        (0..last)
            .map(|k| {
                let w = &w[k / LANES];
                let shift: Vec<f64> =
                    w.iter().zip(reference).map(|(w, r)| w[k % LANES] - r).collect();
                let curved = curvature(last, &shift) - curvature(k, &shift);
                fold_loss[k] + dot(&fold_gradient[k], &shift) + 0.5 * curved
            })
            .sum()
    }

    /// What a step of the model of all rows misses, in nats: by the bend of the loss, and by what the
    /// Hessian is wrong.
    fn missed(&self, metric: &Dense<'_>, start: &[Anchor], penalty: &[Vec<Lane>]) -> f64 {
        let last = self.hessians.of_model.len() - 1;
        let (group, l) = (last / LANES, last % LANES);
        let anchor = &start[group];
        let g: Vec<f64> = (0..anchor.w.len())
            .map(|j| anchor.gradient[j][l] + penalty[group][j][l] * anchor.w[j][l])
            .collect();
        let step = metric.solve(last, &g);
        let mut curved = vec![0.0; step.len()];
        product(&self.hessians.of_model[last], &step, &mut curved);
        let squared = dot(&step, &curved);
        let left = self.contraction * self.contraction * 0.5 * dot(&g, &step);
        squared * squared * self.skew + left
    }
}

/// Newton's method for the model of all rows on a sample of them.
fn newton(
    rows: &FoldRows<'_>,
    penalty: &[f64],
    w: &mut Vec<f64>,
    wanted: usize,
    steps: usize,
    halt: Halt<'_>,
) -> Result<(), Halted> {
    let d = w.len();
    let chosen = rows.choose(wanted);
    let mut before: Option<(f64, Vec<f64>, Vec<f64>, f64)> = None;
    for _ in 0..=steps {
        let grams = rows.grams(&Curve::Logistic, w, &chosen, halt)?;
        let weight: f64 = grams.weight.iter().sum();
        let scale = rows.totals[rows.folds] / weight.max(f64::MIN_POSITIVE);
        let loss: f64 = scale * grams.loss.iter().sum::<f64>();
        let value = loss + 0.5 * (0..d).map(|j| penalty[j] * w[j] * w[j]).sum::<f64>();
        // A step that went too far is shortened.
        if let Some((last, from, step, length)) = before.take()
            && (value > last * (1.0 + 1e-12) || value.is_nan())
            && length > 1e-3
        {
            let length = 0.3 * length;
            *w = from.iter().zip(&step).map(|(w, s)| w - length * s).collect();
            before = Some((last, from, step, length));
            continue;
        }
        let sum = |parts: &[Vec<f64>]| {
            let mut sum = vec![0.0; parts[0].len()];
            for part in parts {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += scale * part);
            }
            sum
        };
        let (mut h, mut g) = (sum(&grams.gram), sum(&grams.gradient));
        let trace: f64 = (0..d).map(|j| h[j * d + j]).sum();
        for j in 0..d {
            h[j * d + j] += penalty[j] + 1e-10 * (trace / d as f64).max(1e-10);
            g[j] += penalty[j] * w[j];
        }
        let mut step = g.clone();
        crate::proper::linalg::cholesky(&mut h, d);
        crate::proper::linalg::solve(&h, d, &mut step);
        let gain = 0.5 * dot(&g, &step) / scale;
        if !gain.is_finite() {
            return Ok(());
        }
        before = Some((value, w.clone(), step.clone(), 1.0));
        w.iter_mut().zip(&step).for_each(|(w, s)| *w -= s);
        if gain < FIRST_GAIN * d as f64 || steps == 1 {
            return Ok(());
        }
    }
    // Never leave an unseen step behind.
    if let Some((_, from, ..)) = before {
        *w = from;
    }
    Ok(())
}

/// A point of the path: unseen if that is safe, else by descent from the point nearest to it.
pub(super) fn visit(
    state: &mut PathState,
    rows: &FoldRows<'_>,
    to: (usize, usize),
    from: usize,
    halt: Halt<'_>,
) -> Result<(), Halted> {
    let Some(quadratic) = state.quadratic.take() else { return Ok(()) };
    let (result, quadratic) = visit_with(state, quadratic, rows, to, from, halt);
    state.quadratic = Some(quadratic);
    result
}

fn visit_with(
    state: &mut PathState,
    mut quadratic: Quadratic,
    rows: &FoldRows<'_>,
    mut to: (usize, usize),
    from: usize,
    halt: Halt<'_>,
) -> (Result<(), Halted>, Quadratic) {
    let is_first = state.visited.len() == 1;
    if is_first {
        state.visited[0].anchors = quadratic.anchors();
        state.start = climb(state, &quadratic, halt);
        to.1 = state.start;
    }
    let penalty = state.scales.penalty(state.scalings[to.0], state.grid[to.1]);
    let metric = dense(&quadratic.hessians, &penalty, halt);
    let Metric::Dense(factored) = &metric else { return (Ok(()), quadratic) };
    // The point before on the path, or the same strength under another scaling; else any.
    let same_strength = (0..state.scalings.len()).map(|a| state.find((a, to.1)));
    let candidates = [Some(from), state.find((0, state.start)), Some(0)].into_iter();
    let (mut start, mut missed) = (0, f64::INFINITY);
    for candidate in same_strength.chain(candidates).flatten() {
        let anchors = &state.visited[candidate].anchors;
        if anchors.is_empty() {
            continue;
        }
        let misses = quadratic.missed(factored, anchors, &penalty);
        if misses < missed || missed == f64::INFINITY {
            (start, missed) = (candidate, misses);
        }
    }
    let safe = quadratic.contraction <= UNSEEN_CONTRACTION && rows.total_weight >= UNSEEN_ROWS;
    if !is_first && missed < UNSEEN && safe {
        let point = unseen(state, &quadratic, &metric, &penalty, to, start);
        drop(metric);
        state.visited.push(point);
        return (Ok(()), quadratic);
    }
    let stop = if is_first { STOP_CENTRE } else { STOP_QUADRATIC };
    // A point that is far below the best need not come to its minimum.
    let (best, price) = (state.best(), state.price(to));
    let enough = |held_out: f64| loose(best - GIVE_UP + held_out + price);
    let is_watched = !is_first && state.walkers.len() == 1;
    let enough: Option<Enough<'_>> = if is_watched { Some(&enough) } else { None };
    let (starts, known) = (state.visited[start].anchors.clone(), Vec::new());
    let reached =
        state.descend_from(rows, to, start, starts, &penalty, &metric, known, stop, enough, halt);
    drop(metric);
    let reached = match reached {
        // Nothing comes nearer by the steps of L-BFGS here: what is left is as good as it gets.
        Ok(Reached { point, gain, contraction }) => {
            Reached { point: Visited { decrease: 0.0, ..point }, gain, contraction }
        }
        Err(halted) => return (Err(halted), quadratic),
    };
    let slow = reached.contraction > SLOW && reached.gain > TELLING;
    quadratic.contraction = if reached.gain > TELLING || is_first {
        reached.contraction
    } else {
        quadratic.contraction.max(0.0)
    };
    if is_first {
        let models: Models = reached.point.anchors.iter().map(|anchor| anchor.w.clone()).collect();
        quadratic.skew = rows.skew(&models);
        if reached.gain <= TELLING {
            quadratic.contraction = 0.0;
        }
    }
    let last = rows.models() - 1;
    let w = lane(&reached.point.anchors[last / LANES].w, last % LANES);
    state.visited.push(reached.point);
    if slow && quadratic.grams < MAX_GRAMS {
        // The old ones make room; if asked to stop, they are formed again where they were (`restore`).
        let reference = std::mem::take(&mut quadratic.hessians.reference);
        quadratic.hessians = Hessians { reference, ..Hessians::default() };
        match rows.whole_grams(&Curve::Logistic, &w, halt) {
            Ok(grams) => quadratic.hessians = Hessians::new(grams, w, 1.0),
            Err(halted) => return (Err(halted), quadratic),
        }
        quadratic.grams += 1;
        state.passes += 1;
        // The Hessian is that of this point now: steps to its neighbours are judged anew.
        quadratic.contraction = SLOW;
    }
    (Ok(()), quadratic)
}

/// The strength whose quadratic models do best, uphill from the start.
fn climb(state: &PathState, quadratic: &Quadratic, halt: Halt<'_>) -> usize {
    let score = |g: usize| {
        let penalty = state.scales.penalty(state.scalings[0], state.grid[g]);
        let metric = dense(&quadratic.hessians, &penalty, halt);
        let w = stepped(state, &metric, &state.visited[0].anchors, &penalty);
        -quadratic.held_out(&w) - state.price((0, g))
    };
    let mut at = state.start;
    let mut best = score(at);
    for up in [true, false] {
        let origin = at;
        loop {
            let next = if up { at + 1 } else { at.wrapping_sub(1) };
            if next >= state.grid.len() {
                break;
            }
            let value = score(next);
            if value <= best || value.is_nan() {
                break;
            }
            (at, best) = (next, value);
        }
        if at != origin {
            break;
        }
    }
    at
}

/// A step of every model, without a pass.
fn stepped(
    state: &PathState,
    metric: &Metric<'_>,
    anchors: &[Anchor],
    penalty: &[Vec<Lane>],
) -> Models {
    let groups = state.walkers.iter().zip(anchors.iter().zip(penalty));
    groups.map(|(walkers, (anchor, penalty))| walkers.step(penalty, metric, anchor)).collect()
}

fn unseen(
    state: &PathState,
    quadratic: &Quadratic,
    metric: &Metric<'_>,
    penalty: &[Vec<Lane>],
    to: (usize, usize),
    start: usize,
) -> Visited {
    let from = &state.visited[start];
    let w = stepped(state, metric, &from.anchors, penalty);
    let before: Models = from.anchors.iter().map(|anchor| anchor.w.clone()).collect();
    let change = quadratic.held_out(&w) - quadratic.held_out(&before);
    let price = from.at.map_or(0.0, |at| state.price(at));
    let score = from.score + price - change - state.price(to);
    let (decrease, polished) = (0.0, 0);
    Visited { at: Some(to), score, exact: false, w, anchors: Vec::new(), decrease, polished }
}
