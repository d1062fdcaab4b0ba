//! PATH: multinomial logistic regression over a grid of strengths, averaged by held-out likelihood.
//!
//! ```text
//! the intercepts alone:  S = (summed held-out log-likelihood) - 1
//! penalty of model k, on the summed loss and the standardised weights of every class:
//!     P_kj w_j² / 2,   P_kj = 2 · 10^-g T_k s_kj^(2a) / s_j²,   T_k = Σ_i s_ki^(2-2a)
//!     S_{a,g} = (summed held-out log-likelihood) - 0.3 g² - 2 (1 - a)² V
//! from g = 0 outwards in both directions until S falls 7 below the best
//! weights: softmax(S); all that follows uses the averages
//! ```
//!
//! `s_kj` is the deviation of column `j` over the rows that model `k` sees, `s_j` over all rows.
//! `a = 1` is the penalty of standardised columns, `a = 0` one scale for all columns, as on raw data;
//! `V` is how unequal the scales are. For `K = 2` the penalty is that of the binary default.

use super::curve::Curve;
use super::descent::{States, Stop};
use super::metric::Curvature;
use super::rows::Rows;
use super::scales::Scales;
use crate::design::Design;
use crate::link::vector::log_sum_exp;

/// A strength this much less likely than the best is not worth a look at the next.
const GIVE_UP: f64 = 7.0;
/// What the model without features costs in the score: one nat.
const NULL_PRICE: f64 = 1.0;
/// What `g²` costs.
const PRICE: f64 = 0.3;
/// What `(1 - a)² V` costs.
const SCALE_PRICE: f64 = 2.0;
/// Scales that differ by less than this (`V`) are equal: then all exponents are one model.
const LEAST_SPREAD: f64 = 0.02;
/// Weights below this are dropped.
const LEAST_WEIGHT: f64 = 0.01;
/// A model is done when a step would gain less than this many nats over all rows.
const STOP: Stop = Stop { decrease: 3e-3, max_steps: 100 };

/// One strength of the path, as it is shown to the user.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassPathPoint {
    /// Inverse strength `C` of the penalty `|W|² / (2 C)` on the summed loss of standardised
    /// columns; 0 is the model of the intercepts alone.
    pub c: f64,
    /// The exponent `a` of the column scales.
    pub scale: f64,
    /// Mean held-out log-loss.
    pub log_loss: f64,
    /// `S`: minus the summed held-out log-loss, minus the prices.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// The averaged path.
#[derive(Debug)]
pub(super) struct Path {
    pub points: Vec<ClassPathPoint>,
    /// Averaged weights of every model.
    pub w: Vec<Vec<f64>>,
    /// Averaged held-out scores.
    pub held_out: Vec<f64>,
    /// `exp(Σ weight log P)` of every model.
    pub penalties: Vec<Vec<f64>>,
    /// Geometric mean of the strengths.
    pub c: f64,
    pub passes: f64,
}

/// `log10(2 C d)` of the strengths.
pub(super) fn default_grid() -> Vec<f64> {
    (0..=13).map(|k| -2.0 + 0.5 * f64::from(k)).collect()
}

/// A strength with the models it led to.
struct Visited {
    point: ClassPathPoint,
    w: Vec<Vec<f64>>,
    held_out: Vec<f64>,
    penalties: Vec<Vec<f64>>,
}

/// The walk over the grid.
struct Walk<'a> {
    rows: &'a Rows<'a>,
    design: &'a Design<'a>,
    scales: &'a Scales,
    visited: Vec<Visited>,
    best: f64,
    passes: f64,
    curvature: Option<Curvature>,
    /// Passes since the curvature was taken.
    since: f64,
    /// The best strength so far, and its models.
    leader: Option<(f64, States)>,
}

/// Fits the whole path, for every exponent `a` of `exponents` in turn.
pub(super) fn fit(
    rows: &Rows<'_>,
    design: &Design<'_>,
    scales: &Scales,
    grid: &[f64],
    exponents: &[f64],
) -> Path {
    let states = States::at(rows, &Curve::Softmax, intercepts(rows));
    let mut walk = Walk {
        rows,
        design,
        scales,
        visited: Vec::new(),
        best: f64::NEG_INFINITY,
        passes: 1.0,
        curvature: None,
        since: 0.0,
        leader: None,
    };
    let least = scales.penalties(grid[0], 1.0);
    walk.judge(&states, None, 1.0, least);
    let equal = scales.spread < LEAST_SPREAD;
    for &a in exponents.iter().take(if equal { 1 } else { exponents.len() }) {
        // From the best strength so far, of any exponent; at first from g = 0.
        let (centre, start) = match &walk.leader {
            Some((g, states)) => (*g, states.clone()),
            None => (0.0, states.clone()),
        };
        let first = (0..grid.len())
            .min_by(|&i, &j| (grid[i] - centre).abs().total_cmp(&(grid[j] - centre).abs()))
            .unwrap_or(0);
        let mut up = start;
        if walk.step(&mut up, grid[first], a) {
            let middle = up.clone();
            let _ = grid[first + 1..].iter().all(|&g| walk.step(&mut up, g, a));
            let mut down = middle;
            let _ = grid[..first].iter().rev().all(|&g| walk.step(&mut down, g, a));
        }
    }
    average(walk)
}

impl Walk<'_> {
    /// Fits one strength; false if it is hopeless.
    fn step(&mut self, states: &mut States, g: f64, a: f64) -> bool {
        let (rows, folds) = (self.rows, self.rows.folds.count);
        let penalties = self.scales.penalties(g, a);
        let before = states.passes;
        if self.since > 2.0 + Curvature::cost(rows) || self.curvature.is_none() {
            self.curvature = Some(Curvature::at(rows, self.design, &states.models[folds].w));
            self.since = 0.0;
        }
        let Some(curvature) = &self.curvature else { return false };
        let metric = curvature.metric(rows, [&penalties[0], &penalties[folds]]);
        states.descend(rows, &Curve::Softmax, &penalties, &metric, STOP);
        let spent = states.passes - before;
        self.since += spent;
        self.passes += spent;
        self.judge(states, Some(g), a, penalties)
    }

    fn judge(&mut self, states: &States, g: Option<f64>, a: f64, penalties: Vec<Vec<f64>>) -> bool {
        let loss = held_out_loss(self.rows, &states.held_out);
        let price = match g {
            None => NULL_PRICE,
            Some(g) => PRICE * g * g + SCALE_PRICE * (1.0 - a) * (1.0 - a) * self.scales.spread,
        };
        let total: f64 = self.rows.folds.scored.iter().sum();
        let point = ClassPathPoint {
            c: g.map_or(0.0, |g| self.scales.strength(g)),
            scale: a,
            log_loss: loss / total,
            score: -loss - price,
            weight: 0.0,
        };
        if let Some(g) = g
            && (self.leader.is_none() || point.score >= self.best)
        {
            self.leader = Some((g, states.clone()));
        }
        self.best = self.best.max(point.score);
        let hopeful = point.score >= self.best - GIVE_UP;
        self.visited.push(Visited {
            point,
            w: states.models.iter().map(|state| state.w.clone()).collect(),
            held_out: states.held_out.clone(),
            penalties,
        });
        hopeful
    }
}

/// No weights, and the log-frequencies of the rows each model sees, centred; a class that a model
/// does not see counts as half a row.
fn intercepts(rows: &Rows<'_>) -> Vec<Vec<f64>> {
    let (folds, classes, d) = (rows.folds.count, rows.classes, rows.dimension());
    let mut inside = vec![0.0; (folds + 1) * classes];
    let mut total = vec![0.0; classes];
    for (i, &weight) in rows.weights.iter().enumerate() {
        let fold = (rows.folds.of_row[i] as usize).min(folds);
        inside[fold * classes + rows.labels[i] as usize] += weight;
        total[rows.labels[i] as usize] += weight;
    }
    let all: f64 = total.iter().sum();
    let half = 0.5 * all / rows.labels.len() as f64;
    (0..=folds)
        .map(|model| {
            let seen = |k: usize| {
                let held = if model < folds { inside[model * classes + k] } else { 0.0 };
                (total[k] - held).max(half).ln()
            };
            let mean = (0..classes).map(seen).sum::<f64>() / classes as f64;
            let mut w = vec![0.0; classes * d];
            (0..classes).for_each(|k| w[k * d + d - 1] = seen(k) - mean);
            w
        })
        .collect()
}

/// The summed log-loss of the softmax of held-out scores.
pub(super) fn held_out_loss(rows: &Rows<'_>, z: &[f64]) -> f64 {
    let scored = rows.folds.scored.iter().zip(rows.labels);
    z.chunks_exact(rows.classes)
        .zip(scored)
        .filter(|(_, (weight, _))| **weight > 0.0)
        .map(|(z, (weight, &y))| weight * (log_sum_exp(z.iter().copied()) - z[y as usize]))
        .sum()
}

/// Weights `softmax(S)`, the least dropped, and the averages under them. In the mean penalty the
/// model without features counts as the strongest of the grid.
fn average(walk: Walk<'_>) -> Path {
    let best = walk.best;
    let mut weights: Vec<f64> = walk.visited.iter().map(|v| (v.point.score - best).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w = if *w < LEAST_WEIGHT * sum { 0.0 } else { *w });
    let sum: f64 = weights.iter().sum();
    let first = &walk.visited[0];
    let least = walk.scales.strength(-2.0);
    let zeros = |like: &[Vec<f64>]| like.iter().map(|w| vec![0.0; w.len()]).collect::<Vec<_>>();
    let mut path = Path {
        points: Vec::new(),
        w: zeros(&first.w),
        held_out: vec![0.0; first.held_out.len()],
        penalties: zeros(&first.penalties),
        c: 0.0,
        passes: walk.passes,
    };
    for (visited, weight) in walk.visited.into_iter().zip(weights) {
        let mut point = visited.point;
        point.weight = weight / sum;
        if point.weight > 0.0 {
            let a = point.weight;
            path.c += a * if point.c > 0.0 { point.c } else { least }.ln();
            let add = |from: &[f64], to: &mut [f64]| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += a * from);
            };
            path.w.iter_mut().zip(&visited.w).for_each(|(to, from)| add(from, to));
            add(&visited.held_out, &mut path.held_out);
            for (to, from) in path.penalties.iter_mut().zip(&visited.penalties) {
                to.iter_mut().zip(from).for_each(|(to, p)| *to += a * p.max(1e-300).ln());
            }
        }
        path.points.push(point);
    }
    path.c = path.c.exp();
    for penalties in &mut path.penalties {
        let last = penalties.len() - 1;
        penalties.iter_mut().for_each(|p| *p = p.exp());
        penalties[last] = 0.0;
    }
    path
}
