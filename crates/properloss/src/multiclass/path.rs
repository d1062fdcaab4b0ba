//! PATH: multinomial logistic regression over a grid of strengths, averaged by held-out likelihood.
//!
//! ```text
//! the intercepts alone:  S = (summed held-out log-likelihood) - 1
//! penalty of model k, on the summed loss and the standardised weights of every class:
//!     P_kj w_j² / 2,   P_kj = 2 · 10^-g T_k s_kj^(2a) / s_j²,   T_k = Σ_i s_ki^(2-2a)
//!     S_{a,g} = (summed held-out log-likelihood) - 0.3 g² - 2 (1 - a)² V
//! outwards in both directions until S falls 7 below the best
//! weights: softmax(S); all that follows uses the averages
//! ```
//!
//! The walk begins at g = 0, or with many rows where the model of one fold alone is best: a pilot that
//! costs a sixth of a pass a step. A strength that is far behind before its models are done is left there.
//! The model of all rows is fitted last, to the strengths with weight alone.
//!
//! `s_kj` is the deviation of column `j` over the rows that model `k` sees, `s_j` over all rows.
//! `a = 1` is the penalty of standardised columns, `a = 0` one scale for all columns, as on raw data;
//! `V` is how unequal the scales are. For `K = 2` the penalty is that of the binary default.

use super::curve::Curve;
use super::descent::{Memory, States, Stop, mean};
use super::metric::{Curvature, Metric};
use super::null::intercepts;
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
/// Where the first look at a strength ends ...
const LOOK: Stop = Stop { decrease: 0.1, max_steps: 100 };
/// ... which is enough if its score is this much further behind than a hopeless one's.
const FAR: f64 = 7.0;
/// With fewer rows than this the walk begins at g = 0: then the passes cost little, and the held-out
/// rows of one fold are too few to say where to begin.
const PILOT_ROWS: usize = 2_000;

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
    /// The curvature that was taken last.
    pub curvature: Curvature,
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
    let folds: Vec<u32> = (0..rows.folds.count as u32).collect();
    let mut null = intercepts(rows);
    null.truncate(folds.len());
    let states = States::at(rows, &Curve::Softmax, &folds, null);
    let mut walk = Walk {
        rows,
        design,
        scales,
        visited: Vec::new(),
        best: f64::NEG_INFINITY,
        passes: states.passes,
        curvature: None,
        since: 0.0,
        leader: None,
    };
    let least = scales.penalties(grid[0], 1.0);
    walk.judge(&states, None, 1.0, least);
    let equal = scales.spread < LEAST_SPREAD;
    for &a in exponents.iter().take(if equal { 1 } else { exponents.len() }) {
        // From the best strength so far, of any exponent.
        let piloted = walk.leader.is_none() && rows.labels.len() >= PILOT_ROWS;
        let (centre, mut up) = match &walk.leader {
            Some((g, states)) => (*g, states.clone()),
            None if piloted => walk.pilot(states.first(), grid, a),
            None => (0.0, states.clone()),
        };
        let first = nearest(grid, centre);
        // A pilot may lead to a place where its neighbours are better.
        if walk.step(&mut up, grid[first], a) || piloted {
            let middle = up.clone();
            let _ = grid[first + 1..].iter().all(|&g| walk.step(&mut up, g, a));
            let mut down = middle;
            let _ = grid[..first].iter().rev().all(|&g| walk.step(&mut down, g, a));
        }
    }
    average(walk)
}

/// The number of the strength nearest to `g`.
fn nearest(grid: &[f64], g: f64) -> usize {
    let distance = |i: usize| (grid[i] - g).abs();
    (0..grid.len()).min_by(|&i, &j| distance(i).total_cmp(&distance(j))).unwrap_or(0)
}

impl Walk<'_> {
    /// The share of the rows that a fold model sees.
    fn share(&self) -> f64 {
        1.0 - 1.0 / self.rows.folds.count as f64
    }

    /// The metric of fold models; the curvature is taken anew once that pays.
    fn metric(&mut self, states: &States, penalties: &[Vec<f64>]) -> Metric {
        let (rows, share) = (self.rows, self.share());
        if self.since > 2.0 + Curvature::cost(rows) {
            self.curvature = None;
            self.since = 0.0;
        }
        let at = || Curvature::at(rows, self.design, &states.mean());
        self.curvature.get_or_insert_with(at).metric(rows, share, &penalties[0])
    }

    /// Moves the models to another strength, as far as `stop` says.
    fn descend(
        &mut self,
        states: &mut States,
        penalties: &[Vec<f64>],
        metric: &Metric,
        stop: Stop,
    ) {
        let before = states.passes;
        states.descend(self.rows, &Curve::Softmax, penalties, metric, stop);
        self.since += states.passes - before;
        self.passes += states.passes - before;
    }

    /// Walks with the model of the first fold alone, loosely, up from `g = 0` and, if that does not
    /// help, down. Returns the best strength, and the models of all folds at the weights found there.
    fn pilot(&mut self, mut state: States, grid: &[f64], a: f64) -> (f64, States) {
        let first = nearest(grid, 0.0);
        let (mut best, mut leader) = (f64::NEG_INFINITY, (0.0, state.clone()));
        let mut try_at = |walk: &mut Self, state: &mut States, g: f64| {
            let penalties = walk.scales.penalties(g, a);
            let metric = walk.metric(state, &penalties);
            walk.descend(state, &penalties, &metric, LOOK);
            let score = -walk.first_fold_loss(&state.held_out) - PRICE * g * g;
            let better = score > best;
            if better {
                (best, leader) = (score, (g, state.clone()));
            }
            better
        };
        try_at(self, &mut state, grid[first]);
        let middle = state.clone();
        let up = grid[first + 1..].iter().take_while(|&&g| try_at(self, &mut state, g)).count();
        if up == 0 {
            state = middle;
            let _ = grid[..first].iter().rev().all(|&g| try_at(self, &mut state, g));
        }
        let (g, found) = leader;
        let folds: Vec<u32> = (0..self.rows.folds.count as u32).collect();
        let w = vec![found.models[0].w.clone(); folds.len()];
        let states = States::at(self.rows, &Curve::Softmax, &folds, w);
        self.passes += states.passes;
        (g, states.with_memory(found.memory(), 1.0))
    }

    /// The log-loss of the first fold's rows, as a sum over as much weight as all rows have.
    fn first_fold_loss(&self, z: &[f64]) -> f64 {
        let rows = self.rows;
        let inside = |i: usize| if rows.folds.of_row[i] == 0 { rows.folds.scored[i] } else { 0.0 };
        let weights: Vec<f64> = (0..rows.labels.len()).map(inside).collect();
        let seen: f64 = weights.iter().sum();
        let all: f64 = rows.folds.scored.iter().sum();
        loss_of(rows, z, &weights) * all / seen.max(f64::MIN_POSITIVE)
    }

    /// Fits one strength; false if it is hopeless.
    fn step(&mut self, states: &mut States, g: f64, a: f64) -> bool {
        let penalties = self.scales.penalties(g, a);
        let metric = self.metric(states, &penalties);
        self.descend(states, &penalties, &metric, LOOK);
        if self.score(&states.held_out, Some(g), a) >= self.best - GIVE_UP - FAR {
            self.descend(states, &penalties, &metric, STOP);
        }
        self.judge(states, Some(g), a, penalties)
    }

    /// `S` of held-out scores.
    fn score(&self, z: &[f64], g: Option<f64>, a: f64) -> f64 {
        let price = match g {
            None => NULL_PRICE,
            Some(g) => PRICE * g * g + SCALE_PRICE * (1.0 - a) * (1.0 - a) * self.scales.spread,
        };
        -held_out_loss(self.rows, z) - price
    }

    /// The model of all rows at the strengths with weight: from the mean of the fold models there,
    /// corrected by what that was off at the strength before.
    fn all_rows(&mut self, weights: &[f64]) -> Vec<Option<Vec<f64>>> {
        let (rows, folds) = (self.rows, self.rows.folds.count as u32);
        let memory: Memory =
            self.leader.as_ref().map_or_else(Vec::new, |(_, states)| states.memory().clone());
        let mut off: Option<Vec<f64>> = None;
        let mut found = vec![None; weights.len()];
        for (k, visited) in self.visited.iter().enumerate().filter(|(k, _)| weights[*k] > 0.0) {
            let centre = mean(visited.w.iter().map(|w| &w[..]));
            if visited.point.c == 0.0 {
                found[k] = Some(intercepts(rows).pop().unwrap_or(centre));
                continue;
            }
            let mut start = centre.clone();
            if let Some(off) = &off {
                start.iter_mut().zip(off).for_each(|(w, off)| *w += off);
            }
            let Some(curvature) = &self.curvature else { continue };
            let penalties = &visited.penalties;
            let metric = curvature.metric(rows, 1.0, &penalties[folds as usize]);
            let mut states = States::at(rows, &Curve::Softmax, &[folds], vec![start])
                .with_memory(&memory, 1.0 / self.share());
            states.descend(rows, &Curve::Softmax, penalties, &metric, STOP);
            self.passes += states.passes;
            let w = states.mean();
            off = Some(w.iter().zip(&centre).map(|(w, centre)| w - centre).collect());
            found[k] = Some(w);
        }
        found
    }

    fn judge(&mut self, states: &States, g: Option<f64>, a: f64, penalties: Vec<Vec<f64>>) -> bool {
        let total: f64 = self.rows.folds.scored.iter().sum();
        let point = ClassPathPoint {
            c: g.map_or(0.0, |g| self.scales.strength(g)),
            scale: a,
            log_loss: held_out_loss(self.rows, &states.held_out) / total,
            score: self.score(&states.held_out, g, a),
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

/// The summed log-loss of the softmax of held-out scores.
pub(super) fn held_out_loss(rows: &Rows<'_>, z: &[f64]) -> f64 {
    loss_of(rows, z, &rows.folds.scored)
}

fn loss_of(rows: &Rows<'_>, z: &[f64], weights: &[f64]) -> f64 {
    let scored = weights.iter().zip(rows.labels);
    z.chunks_exact(rows.classes)
        .zip(scored)
        .filter(|(_, (weight, _))| **weight > 0.0)
        .map(|(z, (weight, &y))| weight * (log_sum_exp(z.iter().copied()) - z[y as usize]))
        .sum()
}

/// Weights `softmax(S)`, the least dropped, and the averages under them. In the mean penalty the
/// model without features counts as the strongest of the grid.
fn average(mut walk: Walk<'_>) -> Path {
    let best = walk.best;
    let mut weights: Vec<f64> = walk.visited.iter().map(|v| (v.point.score - best).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w = if *w < LEAST_WEIGHT * sum { 0.0 } else { *w });
    let sum: f64 = weights.iter().sum();
    let all_rows = walk.all_rows(&weights);
    let curvature = walk
        .curvature
        .take()
        .unwrap_or_else(|| Curvature::at(walk.rows, walk.design, &walk.visited[0].w[0]));
    for (visited, w) in walk.visited.iter_mut().zip(all_rows) {
        visited.w.extend(w);
    }
    let first = &walk.visited[0];
    let length = first.w[0].len();
    let least = walk.scales.strength(-2.0);
    let zeros = |like: &[Vec<f64>]| like.iter().map(|w| vec![0.0; w.len()]).collect::<Vec<_>>();
    let mut path = Path {
        points: Vec::new(),
        w: vec![vec![0.0; length]; first.penalties.len()],
        held_out: vec![0.0; first.held_out.len()],
        penalties: zeros(&first.penalties),
        curvature,
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
