//! PATH: logistic regression over a grid of strengths, averaged by cross-validated likelihood.
//!
//! ```text
//! C = 0: the intercept alone;   S = -(sum of held-out log-losses) - 1
//! for g = -2, -1.5, ..., 3:  C = 10^g / d                  (prior: E|w|^2 about 10^g)
//!     w_k = argmin mean log-loss + |w|^2 / (2 C n_k)       for every fold k, and for all rows
//!     S_g = -(sum of held-out log-losses) - g^2            stop when S_g < max S - 7
//! weights: softmax(S); all that follows uses the averages
//! ```
//!
//! Averaging the path beats picking a point of it: neighbours differ by less than the noise of
//! cross-validation.

use super::curve::{Curve, logistic};
use super::descent::{Stop, descend};
use super::metric::Hessian;
use super::passes::Passes;

/// A strength this much less likely than the best is not worth a look at the next.
const GIVE_UP: f64 = 7.0;
/// What the model without features costs in the score: one nat.
const NULL_PRICE: f64 = 1.0;
/// Weights below this are dropped.
const LEAST_WEIGHT: f64 = 0.01;
/// A model is done when a step would gain less than this many nats over all rows: far below the
/// differences of one nat that the weights of the path react to.
const STOP: Stop = Stop { decrease: 1e-3, max_steps: 60 };

/// One strength of the path, as it is shown to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPoint {
    /// Inverse strength `C` of the penalty `|w|^2 / (2 C)` on the summed loss; 0 is the model of
    /// the intercept alone.
    pub c: f64,
    /// Mean held-out log-loss.
    pub log_loss: f64,
    /// `S`: minus the summed held-out log-loss, minus the penalty of the prior.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// The averaged path.
#[derive(Debug)]
pub(super) struct Path {
    pub points: Vec<PathPoint>,
    /// Averaged weights of every fold model and of the model of all rows.
    pub w: Vec<Vec<f64>>,
    /// Averaged held-out scores.
    pub held_out: Vec<f64>,
    /// Geometric mean of the strengths.
    pub c: f64,
    pub passes: usize,
}

/// The logarithms of the strengths times the columns.
pub(super) fn default_grid() -> Vec<f64> {
    (0..=10).map(|k| -2.0 + 0.5 * f64::from(k)).collect()
}

/// A strength with the models it led to.
struct Visited {
    point: PathPoint,
    w: Vec<Vec<f64>>,
    held_out: Vec<f64>,
}

/// Fits the whole path. `columns` is the number of columns that are not constant.
pub(super) fn fit(passes: &Passes<'_>, grid: &[f64], columns: usize) -> Path {
    let strength = |g: f64| 10f64.powf(g) / columns.max(1) as f64;
    let mut w = intercepts(passes);
    let mut visited = vec![null_model(passes, &w)];
    let mut best = visited[0].point.score;
    let mut hessian: Option<Hessian> = None;
    let (mut count, mut last) = (0, 0);
    // A fresh Hessian where the old one costs more passes than it saves.
    let refresh_after = 2.0 + Hessian::cost(passes);
    for &g in grid {
        let lambda: Vec<f64> = passes.totals.iter().map(|n| 1.0 / (strength(g) * n)).collect();
        let kept = hessian.take().filter(|_| last as f64 <= refresh_after);
        let current =
            kept.unwrap_or_else(|| Hessian::at(passes, &Curve::Logistic, &w[passes.folds.count]));
        let metric = current.metric(&lambda);
        let reached = descend(passes, &Curve::Logistic, &lambda, &metric, &w, STOP);
        hessian = Some(current);
        last = reached.passes;
        count += reached.passes;
        w.clone_from(&reached.w);
        let point = judged(passes, strength(g), &reached.held_out, g * g);
        best = best.max(point.score);
        let hopeless = point.score < best - GIVE_UP;
        visited.push(Visited { point, w: reached.w, held_out: reached.held_out });
        if hopeless {
            break;
        }
    }
    average(visited, strength(grid[0]), count)
}

/// `C = 0`: every row gets the log-odds of the rows outside its fold.
fn null_model(passes: &Passes<'_>, w: &[Vec<f64>]) -> Visited {
    let intercept = passes.design.dimension() - 1;
    let held_out: Vec<f64> =
        passes.folds.of_row.iter().map(|&k| w[k as usize][intercept]).collect();
    let point = judged(passes, 0.0, &held_out, NULL_PRICE);
    Visited { point, w: w.to_vec(), held_out }
}

fn judged(passes: &Passes<'_>, c: f64, held_out: &[f64], price: f64) -> PathPoint {
    let loss = held_out_loss(passes, held_out);
    let total = passes.totals[passes.folds.count];
    PathPoint { c, log_loss: loss / total, score: -loss - price, weight: 0.0 }
}

/// No weights, and the log-odds of the rows each model sees.
fn intercepts(passes: &Passes<'_>) -> Vec<Vec<f64>> {
    let folds = passes.folds.count;
    let mut positive = vec![0.0; folds + 1];
    for (i, &weight) in passes.weights.iter().enumerate() {
        let part = weight * f64::from(passes.labels[i]);
        positive[folds] += part;
        positive[passes.folds.of_row[i] as usize] += part;
    }
    (0..=folds)
        .map(|k| {
            let n = passes.totals[k];
            let p = if k < folds { positive[folds] - positive[k] } else { positive[k] };
            let mut w = vec![0.0; passes.design.dimension()];
            w[passes.design.dimension() - 1] = (p / (n - p)).ln();
            w
        })
        .collect()
}

/// The summed log-loss of held-out scores.
pub(super) fn held_out_loss(passes: &Passes<'_>, z: &[f64]) -> f64 {
    (0..z.len())
        .filter(|&i| passes.weights[i] > 0.0)
        .map(|i| passes.weights[i] * logistic(z[i], f64::from(passes.labels[i])).loss)
        .sum()
}

/// Weights `softmax(S)`, the least dropped, and the averages under them. In the mean strength the
/// null model counts as `least`.
fn average(visited: Vec<Visited>, least: f64, passes: usize) -> Path {
    let scores: Vec<f64> = visited.iter().map(|v| v.point.score).collect();
    let mut weights = softmax(&scores);
    weights.iter_mut().filter(|weight| **weight < LEAST_WEIGHT).for_each(|weight| *weight = 0.0);
    let sum: f64 = weights.iter().sum();
    let mut path = Path {
        points: Vec::new(),
        w: visited[0].w.iter().map(|w| vec![0.0; w.len()]).collect(),
        held_out: vec![0.0; visited[0].held_out.len()],
        c: 0.0,
        passes,
    };
    for (Visited { mut point, w, held_out }, weight) in visited.into_iter().zip(weights) {
        point.weight = weight / sum;
        if point.weight > 0.0 {
            path.c += point.weight * point.c.max(least).ln();
            path.w.iter_mut().zip(&w).for_each(|(total, w)| add(point.weight, w, total));
            add(point.weight, &held_out, &mut path.held_out);
        }
        path.points.push(point);
    }
    path.c = path.c.exp();
    path
}

fn add(weight: f64, x: &[f64], total: &mut [f64]) {
    total.iter_mut().zip(x).for_each(|(t, x)| *t += weight * x);
}

/// `e^{s_j} / sum e^{s_k}`, without overflow.
pub(super) fn softmax(scores: &[f64]) -> Vec<f64> {
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - best).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}
