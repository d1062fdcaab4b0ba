//! PATH: logistic regression over scalings and strengths, averaged by cross-validated likelihood.
//!
//! ```text
//! nothing:  the intercept alone;   S = -(sum of held-out log-losses) - 1
//! for a = 1, 1/2, 0 (scales.rs) and g outwards from the best so far, -2 <= g <= 3:
//!     w_k = argmin summed log-loss + Σ_j P_kj(a, g) w_j² / 2     for every fold k, and for all rows
//!     S_ag = -(sum of held-out log-losses) - g² - 2 (1 - a)² V - 6 a D
//!     stop when S_ag < max S - 7 and four more steps like the last would not come back
//! weights: softmax(S); all that follows uses the averages
//! ```
//!
//! Averaging the path beats picking a point of it: neighbours differ by less than the noise of
//! cross-validation. Scales are those of the rows a model sees: with the scales of all rows, a
//! column that is nearly constant outside a fold would look harmless in cross-validation.
//!
//! Two regimes: with 20 rows a column or more, quadratic models (`quadratic.rs`); else L-BFGS that
//! keeps its memory across strengths, walks with a loose hand, and then comes nearer to the points that
//! have weight. The state is plain data; a step is one point of the path or
//! one pass.

mod average;
mod nearer;
mod quadratic;
mod scales;
mod walk;

pub use average::PathPoint;
pub(super) use average::{Path, softmax};
pub(super) use scales::Scales;

use std::ops::ControlFlow;

use super::curve::Curve;
use super::descent::{Anchor, Enough, Stop, Walkers};
use super::linalg::lane;
use super::metric::{Dense, Hessians, Metric};
use super::products::Products;
use super::rows::{FoldRows, Halt, Halted, HeldOut, LANES, Lane};
use quadratic::Quadratic;
use walk::Belief;

/// A point this much less likely than the best is not worth a look at the next.
const GIVE_UP: f64 = 7.0;
/// What the model without features costs in the score: one nat.
const NULL_PRICE: f64 = 1.0;
/// What a scaling that is not 1 costs, times `(1 - a)² V`.
const SCALING_PRICE: f64 = 2.0;
/// What standardising costs where columns rest on few rows, as words do, times `a D`.
const THIN_PRICE: f64 = 6.0;
/// Where the logarithms of the deviations vary by less than this, all scalings are the first one.
const SAME_SPREAD: f64 = 2.5e-3;
/// Rows a column from which on quadratic models are used, at most this many columns and folds.
const ROWS_PER_COLUMN: usize = 20;
const MAX_QUADRATIC: usize = 1024;
/// Up to this dimension Hessians cost nothing, and Newton's method forgets roundings: a row of weight 2
/// and a row twice give the same weights to many digits.
const ALWAYS_QUADRATIC: usize = 64;
const MAX_GRAM_NUMBERS: usize = 1 << 26;
const MAX_PRODUCTS_PER_VALUE: usize = 4000;
/// A model is done when a step would gain less than this many nats over all rows. That step is then
/// made unseen.
const STOP_QUADRATIC: Stop = Stop { decrease: 3e-4, unseen: 0.05, max_steps: 60 };
/// The first point is where steps to all others are measured from.
const STOP_CENTRE: Stop = Stop { decrease: 1e-5, unseen: 0.05, max_steps: 60 };
const MAX_POLISHED: usize = 3;
/// Provisional scores are this near to the final ones.
const MARGIN: f64 = 2.0;

/// The logarithms of the strengths times the columns.
pub(super) fn default_grid() -> Vec<f64> {
    (0..=10).map(|k| -2.0 + 0.5 * f64::from(k)).collect()
}

/// The scalings that are weighed.
pub(super) fn default_scalings() -> Vec<f64> {
    vec![1.0, 0.5, 0.0]
}

/// Weights of every model, by groups of eight.
pub(super) type Models = Vec<Vec<Lane>>;

/// A point of the path with the models it led to.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Visited {
    /// Number of the scaling and of the strength; `None` for the model of the intercept alone.
    at: Option<(usize, usize)>,
    /// `S`.
    score: f64,
    /// Whether the score is that of `w`, and not of a point next to it.
    exact: bool,
    /// Empty if the point is hopeless.
    w: Models,
    /// Where gradients are known.
    anchors: Vec<Anchor>,
    /// How far it may be from its minimum, in nats, and how often it was polished; L-BFGS alone.
    decrease: f64,
    polished: usize,
}

/// What a descent led to.
struct Reached {
    point: Visited,
    /// Largest expected gain of the first step, in nats.
    gain: f64,
    /// Largest root of the ratio of the expected gains after and before it.
    contraction: f64,
}

/// How far the path has come: plain data.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct PathState {
    grid: Vec<f64>,
    scalings: Vec<f64>,
    scales: Scales,
    visited: Vec<Visited>,
    walkers: Vec<Walkers>,
    quadratic: Option<Quadratic>,
    /// Every point of the first scaling stands for so many scalings, which would hardly differ.
    alike: usize,
    /// Number of the strength that the first scaling starts with.
    start: usize,
    passes: usize,
    stage: Stage,
    look: Look,
    /// The penalty of a scaling at the strength 1: points of a scaling come one after the other.
    #[cfg_attr(feature = "serde", serde(skip))]
    unit: Option<(usize, Vec<Vec<Lane>>)>,
}

/// A step of the walk.
enum Plan {
    /// To a point, from a visited one.
    Visit((usize, usize), usize),
    /// To the minimum of a visited one.
    ComeNearer(usize),
}

/// What the last pass with gradients told.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Look {
    /// Norm of the mean gradient of the loss, without penalty, of the model of all rows.
    pub gap: f64,
    /// Least and largest held-out score.
    pub reach: (f64, f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Stage {
    /// The model without features; the reference of the quadratic models.
    Begin,
    /// One point after the other.
    Walk,
    /// Exact scores of eight points in a pass.
    Judge,
    /// The points that matter, nearer to their minima.
    Polish,
    Done,
}

impl PathState {
    /// `rows` are standardised by `scales`.
    pub(super) fn new(grid: &[f64], scalings: &[f64], mut scales: Scales) -> Self {
        scales.sum_traces(scalings);
        let nearest = |a: &usize, b: &usize| grid[*a].abs().total_cmp(&grid[*b].abs());
        let alike = if scales.spread < SAME_SPREAD { scalings.len() } else { 1 };
        Self {
            start: (0..grid.len()).min_by(nearest).unwrap_or(0),
            grid: grid.to_vec(),
            alike,
            scalings: scalings.to_vec(),
            scales,
            visited: Vec::new(),
            walkers: Vec::new(),
            quadratic: None,
            passes: 0,
            stage: Stage::Begin,
            look: Look { gap: 0.0, reach: (0.0, 0.0) },
            unit: None,
        }
    }

    /// `P` at a point.
    fn penalty(&mut self, (a, g): (usize, usize)) -> Vec<Vec<Lane>> {
        let unit = match self.unit.take() {
            Some((of, unit)) if of == a => unit,
            _ => self.scales.unit(self.scalings[a]),
        };
        let penalty = scales::strengthened(&unit, self.grid[g]);
        self.unit = Some((a, unit));
        penalty
    }

    /// What was not stored.
    pub(super) fn restore(&mut self, rows: &FoldRows<'_>, halt: Halt<'_>) -> Result<(), Halted> {
        self.quadratic.as_mut().map_or(Ok(()), |quadratic| quadratic.restore(rows, halt))
    }

    /// The model of all rows at the best point so far, and the summed held-out loss there.
    pub(super) fn reached(&self) -> Option<(Vec<f64>, f64)> {
        let best = self.visited.iter().max_by(|a, b| a.score.total_cmp(&b.score))?;
        let price = best.at.map_or(NULL_PRICE, |at| self.price(at));
        let last = self.scales.models() - 1;
        Some((lane(best.w.get(last / LANES)?, last % LANES), -best.score - price))
    }

    /// What the last pass with gradients told.
    pub(super) fn look(&self) -> Look {
        self.look
    }

    /// What comes next on the walk: scores are taken as they are until the best point is known better, as it is
    /// needed anyhow; then what could yet be better than it looked.
    fn plan(&self) -> Option<Plan> {
        let visit = |(to, from)| Plan::Visit(to, from);
        let next = self.next(Belief::Taken).map(visit);
        let next = next.or_else(|| self.best_to_come_nearer().map(Plan::ComeNearer));
        let next = next.or_else(|| self.next(Belief::Doubted).map(visit));
        next.or_else(|| self.to_come_nearer().map(Plan::ComeNearer))
    }

    /// Passes over the rows so far.
    pub(super) fn passes(&self) -> usize {
        self.passes
    }

    /// What the next step does, in words.
    pub(super) fn next_words(&self) -> String {
        match self.stage {
            Stage::Begin => "the path: its first model".to_owned(),
            Stage::Walk => match self.plan() {
                Some(Plan::Visit((a, g), _)) => {
                    let scaling = scaling_name(self.scalings[a]);
                    let c = self.scales.strength(self.scalings[a], self.grid[g]);
                    format!("the path: columns {scaling}, C = {c:.3}")
                }
                Some(Plan::ComeNearer(_)) => "the path: its best points".to_owned(),
                None => "the path: held-out scores".to_owned(),
            },
            Stage::Polish => "the path: its best points".to_owned(),
            Stage::Judge | Stage::Done => "the path: held-out scores".to_owned(),
        }
    }

    /// Most steps of a path.
    pub(super) fn most_steps(grid: usize, scalings: usize) -> usize {
        let points = grid * scalings;
        // The first, the points (and nearer to them), the rounds of polishing with an empty step at the end of each stage and
        // with the scores by eights.
        1 + 4 * points + 1 + MAX_POLISHED * (points + 2 + points.div_ceil(LANES)) + 1
    }

    /// No further points: what is left is their exact scores.
    pub(super) fn stop_walking(&mut self) {
        if self.stage == Stage::Walk {
            self.stage = Stage::Judge;
        }
    }

    /// One point of the path, or one pass.
    pub(super) fn step(
        &mut self,
        rows: &FoldRows<'_>,
        halt: Halt<'_>,
    ) -> Result<ControlFlow<()>, Halted> {
        match self.stage {
            Stage::Begin => {
                self.begin(rows, halt)?;
                self.stage = Stage::Walk;
            }
            Stage::Walk => match self.plan() {
                Some(Plan::Visit(to, from)) => self.visit(rows, to, from, halt)?,
                Some(Plan::ComeNearer(point)) => self.come_nearer(rows, point, halt)?,
                None => self.stage = Stage::Judge,
            },
            // A point that has all the weight is not weighed before it is where it is to be.
            Stage::Judge if self.alone().is_some() && self.to_polish(rows).is_some() => {
                self.stage = Stage::Polish;
            }
            Stage::Judge => {
                if !self.judge(rows, halt)? {
                    self.stage =
                        if self.to_polish(rows).is_some() { Stage::Polish } else { Stage::Done };
                }
            }
            Stage::Polish => match self.to_polish(rows) {
                Some((point, decrease)) => self.polish(rows, point, decrease, halt)?,
                None => self.stage = Stage::Judge,
            },
            Stage::Done => return Ok(ControlFlow::Break(())),
        }
        // Solvers end early when they are asked to: what they found then is not to be used.
        if halt() { Err(Halted) } else { Ok(ControlFlow::Continue(())) }
    }

    /// The averages, once the path is done.
    pub(super) fn finish(self, rows: &FoldRows<'_>, halt: Halt<'_>) -> Result<Path, Halted> {
        average::average(self, rows, halt)
    }

    fn begin(&mut self, rows: &FoldRows<'_>, halt: Halt<'_>) -> Result<(), Halted> {
        let d = rows.dimension();
        let groups = rows.models().div_ceil(LANES);
        let mut anchors = Vec::new();
        let seen = self.scales.columns_seen();
        for (group, seen) in seen.into_iter().enumerate() {
            let first = group * LANES;
            let (mut w, mut gamma) = (vec![[0.0; LANES]; d], [1.0; LANES]);
            for l in 0..LANES.min(rows.models() - first) {
                let (n, p) = (rows.totals[first + l], rows.positives[first + l]);
                w[d - 1][l] = (p / (n - p)).ln();
                gamma[l] = p * (n - p) / n;
            }
            self.walkers.push(Walkers::new(rows, first, gamma, seen));
            anchors.push(Anchor { w, loss: [0.0; LANES], gradient: Vec::new() });
        }
        let loss = self.null_loss(rows);
        let null = Visited {
            at: None,
            score: -loss - NULL_PRICE,
            exact: true,
            w: anchors.iter().map(|anchor| anchor.w.clone()).collect(),
            anchors: Vec::new(),
            decrease: 0.0,
            polished: 0,
        };
        self.visited.push(null);
        if is_tall(rows) {
            let penalty = self.scales.penalty(self.scalings[0], self.grid[self.start]);
            let (last, l) = (groups - 1, (rows.models() - 1) % LANES);
            let from = lane(&anchors[last].w, l);
            let penalty = lane(&penalty[last], l);
            self.quadratic = Some(Quadratic::begin(rows, &penalty, from, halt)?);
            return Ok(());
        }
        let mut held_out = HeldOut::NONE;
        for (group, anchor) in anchors.iter_mut().enumerate() {
            let sums = rows.lane_sums(&Curve::Logistic, group * LANES, &anchor.w, halt)?;
            held_out = held_out.and(&rows.held_out(&Curve::Logistic, group * LANES, &sums));
            *anchor = Anchor::new(std::mem::take(&mut anchor.w), sums);
        }
        self.look = Look::of(rows, &anchors, &held_out);
        self.passes += 1;
        self.visited[0].anchors = anchors;
        Ok(())
    }

    /// Held-out loss where every row gets the log-odds of the rows outside its fold.
    fn null_loss(&self, rows: &FoldRows<'_>) -> f64 {
        let (n, p) = (rows.totals[rows.folds], rows.positives[rows.folds]);
        (0..rows.folds)
            .map(|k| {
                let (outside, positive) = (rows.totals[k], rows.positives[k]);
                let z = (positive / (outside - positive)).ln();
                let inside = p - positive;
                let softplus = z.max(0.0) + (-z.abs()).exp().ln_1p();
                (n - outside) * softplus - inside * z
            })
            .sum()
    }

    fn price(&self, (a, g): (usize, usize)) -> f64 {
        let (a, g) = (self.scalings[a], self.grid[g]);
        let Scales { spread, thinness, .. } = self.scales;
        g * g + SCALING_PRICE * (1.0 - a) * (1.0 - a) * spread + THIN_PRICE * a * thinness
    }

    fn best(&self) -> f64 {
        self.visited.iter().map(|point| point.score).fold(f64::NEG_INFINITY, f64::max)
    }

    fn find(&self, at: (usize, usize)) -> Option<usize> {
        self.visited.iter().position(|point| point.at == Some(at))
    }

    /// From the `anchors` of the visited point `from`.
    #[allow(clippy::too_many_arguments)]
    fn descend_from(
        &mut self,
        rows: &FoldRows<'_>,
        to: (usize, usize),
        from: usize,
        starts: Vec<Anchor>,
        penalty: &[Vec<Lane>],
        metric: &Metric<'_>,
        known: Vec<Option<Products>>,
        stop: Stop,
        enough: Option<Enough<'_>>,
        halt: Halt<'_>,
    ) -> Result<Reached, Halted> {
        let mut known = known.into_iter();
        let (mut w, mut anchors, mut passes) = (Vec::new(), Vec::new(), 0);
        let mut seen = Vec::new();
        let (mut gain, mut contraction, mut decrease) = (0.0f64, 0.0f64, 0.0f64);
        for ((group, walkers), start) in self.walkers.iter_mut().enumerate().zip(starts) {
            let reached = walkers.descend(
                rows,
                &Curve::Logistic,
                &penalty[group],
                metric,
                start,
                known.next().flatten(),
                stop,
                enough,
                halt,
            )?;
            seen.push(reached.held_out);
            decrease = decrease.max(reached.decrease);
            w.push(reached.w);
            anchors.push(reached.anchor);
            passes = passes.max(reached.passes);
            for l in 0..LANES {
                let [before, after] = [reached.expected[0][l], reached.expected[1][l]];
                gain = gain.max(before);
                if before > 1e-6 {
                    contraction = contraction.max((after / before).sqrt());
                }
            }
        }
        self.passes += passes;
        // Without a pass the anchor is where the start was.
        let loss = if passes == 0 {
            -self.visited[from].score
                - self.visited[from].at.map_or(NULL_PRICE, |at| self.price(at))
        } else {
            let mut held_out = HeldOut::NONE;
            for (group, seen) in seen.into_iter().enumerate() {
                held_out = held_out.and(&match seen {
                    Some(seen) => seen,
                    // A group that stayed where it was, while others moved.
                    None => {
                        let (first, w) = (group * LANES, &anchors[group].w);
                        let sums = rows.lane_sums(&Curve::Logistic, first, w, halt)?;
                        rows.held_out(&Curve::Logistic, first, &sums)
                    }
                });
            }
            self.look = Look::of(rows, &anchors, &held_out);
            held_out.loss
        };
        let score = -loss - self.price(to);
        let (exact, polished) = (false, 0);
        let point = Visited { at: Some(to), score, exact, w, anchors, decrease, polished };
        Ok(Reached { point, gain, contraction })
    }

    /// Exact scores of the next eight points that matter. False if there are none left.
    fn judge(&mut self, rows: &FoldRows<'_>, halt: Halt<'_>) -> Result<bool, Halted> {
        let least = self.best() - GIVE_UP - MARGIN;
        let wanted: Vec<usize> = (0..self.visited.len())
            .filter(|&v| {
                let point = &self.visited[v];
                !point.exact && point.score >= least && !point.w.is_empty()
            })
            .take(LANES)
            .collect();
        if wanted.is_empty() {
            return Ok(false);
        }
        if let [v] = wanted[..]
            && self.alone() == Some(v)
        {
            // In the lanes of the models, as the average will ask for it.
            let loss = rows.scored(&self.visited[v].w, halt)?.held_out.loss;
            self.passes += 1;
            self.set_exact(v, loss);
            return Ok(true);
        }
        let d = rows.dimension();
        let sets: Vec<Vec<Lane>> = (0..rows.folds)
            .map(|k| {
                let mut set = vec![[0.0; LANES]; d];
                for (l, &v) in wanted.iter().enumerate() {
                    let w = &self.visited[v].w[k / LANES];
                    set.iter_mut().zip(w).for_each(|(set, w)| set[l] = w[k % LANES]);
                }
                set
            })
            .collect();
        let losses = rows.losses(&sets, halt)?;
        self.passes += 1;
        for (&v, loss) in wanted.iter().zip(losses) {
            self.set_exact(v, loss);
        }
        Ok(true)
    }

    fn set_exact(&mut self, v: usize, loss: f64) {
        let price = self.visited[v].at.map_or(NULL_PRICE, |at| self.price(at));
        let point = &mut self.visited[v];
        (point.score, point.exact) = (-loss - price, true);
    }
}

impl Look {
    fn of(rows: &FoldRows<'_>, anchors: &[Anchor], held_out: &HeldOut) -> Self {
        let last = rows.models() - 1;
        let gradient = &anchors[last / LANES].gradient;
        let squares: f64 = gradient.iter().map(|g| g[last % LANES] * g[last % LANES]).sum();
        Self { gap: squares.sqrt() / rows.total_weight, reach: held_out.reach }
    }
}

/// A scaling of the columns, in words.
pub(super) fn scaling_name(a: f64) -> String {
    match a {
        1.0 => "standardised".to_owned(),
        0.0 => "as they are (one scale for all)".to_owned(),
        0.5 => "half-way standardised".to_owned(),
        a => format!("divided by the power {a} of their deviation"),
    }
}

/// Whether there are rows enough for quadratic models, and columns and folds few enough.
pub(super) fn is_tall(rows: &FoldRows<'_>) -> bool {
    let d = rows.dimension();
    // A Gram costs d²/2 products a row, whatever the row stores; L-BFGS some hundred passes more.
    let stored = rows.stored / rows.rows.max(1);
    d * d <= MAX_PRODUCTS_PER_VALUE * stored.max(1)
        && d <= MAX_QUADRATIC
        && (d * ROWS_PER_COLUMN <= rows.used || d <= ALWAYS_QUADRATIC)
        && rows.folds * d * d <= MAX_GRAM_NUMBERS
}

/// A dense metric under a penalty, from the Hessians of the quadratic models.
fn dense<'a>(hessians: &'a Hessians, penalty: &[Vec<Lane>], halt: Halt<'a>) -> Metric<'a> {
    Metric::Dense(Dense::new(hessians, penalty, halt))
}
