//! Eight models descend together: L-BFGS that keeps what it learned of the loss across penalties.
//!
//! Remembered are steps `s` and the changes `y` of the *unpenalised* gradient along them; under the
//! penalty `P` a pair is `(s, y + P s)`. So another strength starts with a metric that is right for
//! it, and with the gradient: its first step costs no pass. The first metric is `H_k + P` where the
//! Hessians are known (then this is Newton's method), else `|y|/|s|` times the spread of the columns, `+ P`
//! (`products/`).

use super::accept::Made;
use super::curve::Curve;
use super::linalg::{lane_add, lane_add_product, lane_dot, lane_weighted};
use super::metric::{Dense, Metric};
use super::products::{MAX_PAIRS, Moves, Pair, Place, Products, Seen, advance_along};
use super::rows::{FoldRows, Halt, Halted, HeldOut, LANES, Lane, LaneSums, Line};

/// Steps remembered, at least; at most [`MAX_PAIRS`].
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
    /// Below this share of it where no pass has looked yet: one has to be nearer to leave it at that.
    pub unseen: f64,
    /// Most steps of a model.
    pub max_steps: usize,
}

/// Asked after every pass, with the held-out loss: a decrease that is small enough by now, if it is larger
/// than that of [`Stop`].
pub(super) type Enough<'a> = &'a dyn Fn(f64) -> f64;

/// Where eight models are, and what is known of their loss.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Anchor {
    pub w: Vec<Lane>,
    /// Summed loss without penalty, and its gradient.
    pub loss: Lane,
    pub gradient: Vec<Lane>,
}

/// Products of the pairs under one penalty, and with the gradients at some starts.
pub(super) struct Beginnings {
    products: Option<Products>,
    gradients: Vec<(Vec<Lane>, Vec<Lane>, Lane)>,
}

impl Beginnings {
    /// At the start of this number.
    pub(super) fn at(mut self, number: usize) -> Option<Products> {
        let mut products = self.products?;
        products.set_gradient(self.gradients.swap_remove(number));
        Some(products)
    }
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
    /// How the columns lie in the rows of these models; for a diagonal metric.
    seen: Seen,
}

/// What a descent did.
#[derive(Debug, Clone)]
pub(super) struct Descended {
    /// The last point that a pass looked at.
    pub anchor: Anchor,
    /// One step further, which cost no pass.
    pub w: Vec<Lane>,
    pub passes: usize,
    /// The expected decrease that was small enough.
    pub decrease: f64,
    /// Expected decrease at the start, and after the first pass.
    pub expected: [Lane; 2],
    /// Of the held-out scores at the anchor, if there was a pass.
    pub held_out: Option<HeldOut>,
}

impl Walkers {
    /// `gamma`: a guess at the size of the Hessian. A step is remembered at the cost of four sums over
    /// the columns: not more of them than a pass is worth.
    pub(super) fn new(rows: &FoldRows<'_>, first: usize, gamma: Lane, seen: Seen) -> Self {
        let per_column = rows.stored / rows.dimension();
        let memory = (per_column / 3).clamp(MIN_MEMORY, MAX_PAIRS);
        Self { first, pairs: Vec::new(), gamma, memory, seen }
    }

    /// One step from `start` under a penalty, without a pass.
    pub(super) fn step(&self, penalty: &[Lane], metric: &Metric<'_>, start: &Anchor) -> Vec<Lane> {
        let history = History::new(self, metric, start.under(penalty, &self.seen), None);
        let mut w = start.w.clone();
        let moves = Moves { on: [-1.0; LANES], back: [1.0; LANES], length: [1.0; LANES] };
        history.advance(&self.pairs, start.under(penalty, &self.seen), moves, &mut w);
        w
    }

    /// The gains that the first steps from these starts expect, in nats, over all lanes; in a diagonal
    /// metric. With what is needed to begin at each of them.
    pub(super) fn gains<'a>(
        &self,
        penalty: &[Lane],
        starts: impl Iterator<Item = &'a Anchor>,
    ) -> (Vec<f64>, Beginnings) {
        let mut products: Option<Products> = None;
        let (mut gains, mut gradients) = (Vec::new(), Vec::new());
        for start in starts {
            let place = start.under(penalty, &self.seen);
            let products = match &mut products {
                Some(products) => {
                    products.at(&self.pairs, place);
                    products
                }
                none => none.insert(Products::new(&self.pairs, self.gamma, place)),
            };
            gains.push(products.decrements().iter().map(|decrement| 0.5 * decrement).sum());
            gradients.push(products.of_gradient());
        }
        (gains, Beginnings { products, gradients })
    }

    /// Minimises `loss + Σ P w² / 2` from `at` on; the products there may be known.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn descend(
        &mut self,
        rows: &FoldRows<'_>,
        curve: &Curve<'_>,
        penalty: &[Lane],
        metric: &Metric<'_>,
        mut at: Anchor,
        known: Option<Products>,
        stop: Stop,
        enough: Option<Enough<'_>>,
        halt: Halt<'_>,
    ) -> Result<Descended, Halted> {
        let models = LANES.min(rows.models() - self.first);
        let mut history = History::new(self, metric, at.under(penalty, &self.seen), known);
        let mut walk = [Walk::default(); LANES];
        let mut trial = at.w.clone();
        let mut squares = lane_weighted(penalty, &at.w);
        let mut expected = [[0.0; LANES]; 2];
        let (mut passes, mut decrease) = (0, stop.decrease);
        let mut seen = None;
        loop {
            // Lanes that moved take a new direction; the others try a shorter step along the old one.
            for l in 0..models {
                let lane = &mut walk[l];
                // Who is stuck stays where it is: two that take turns in trying again would never end.
                if !lane.moved || lane.stuck {
                    continue;
                }
                lane.decrement = history.decrements[l];
                (lane.step, lane.length) = (1.0, 1.0);
                let gain = 0.5 * lane.decrement;
                let least = if passes == 0 { stop.unseen * decrease } else { decrease };
                lane.live = gain > least && gain.is_finite() && lane.steps < stop.max_steps;
                lane.near = gain >= 0.0 && gain <= decrease;
                if passes < 2 {
                    expected[passes][l] = gain.max(0.0);
                }
            }
            if !walk[..models].iter().any(|lane| lane.live) {
                break;
            }
            let chosen = |wanted: bool| {
                move |lane: &Walk| if lane.live && lane.moved == wanted { -1.0 } else { 1.0 }
            };
            let moves = Moves {
                on: walk.each_ref().map(chosen(true)),
                back: walk.each_ref().map(chosen(false)),
                length: walk.map(|lane| lane.length),
            };
            let place = at.under(penalty, &self.seen);
            let after = history.advance(&self.pairs, place, moves, &mut trial);
            // The gradients of the pass before are in the anchor.
            drop(seen.take());
            let sums = rows.lane_sums(curve, self.first, &trial, halt)?;
            passes += 1;
            for l in 0..models {
                let value = |loss: f64, squares: f64| loss + 0.5 * squares;
                walk[l].judge(value(at.loss[l], squares[l]), value(sums.loss[l], after[l]));
            }
            let keep: [bool; LANES] =
                std::array::from_fn(|l| l < models && walk[l].live && walk[l].moved);
            for l in (0..LANES).filter(|&l| keep[l]) {
                (at.loss[l], squares[l]) = (sums.loss[l], after[l]);
            }
            let telling = std::array::from_fn(|l| keep[l] && walk[l].decrement > LEAST_DECREMENT);
            // Where nothing moved, all is as it was.
            if keep.contains(&true) {
                self.remember(
                    &mut at,
                    &trial,
                    &sums.gradient,
                    penalty,
                    keep,
                    telling,
                    &mut history,
                );
            }
            if let Some(enough) = enough {
                decrease = stop.decrease.max(enough(rows.held_out(curve, self.first, &sums).loss));
            }
            seen = Some(sums);
        }
        if walk[..models].iter().any(|lane| lane.stuck) {
            seen = Some(rows.lane_sums(curve, self.first, &at.w, halt)?);
            passes += 1;
        }
        // The last step costs no pass.
        let on = std::array::from_fn(|l| if l < models && walk[l].near { -1.0 } else { 1.0 });
        let moves = Moves { on, back: [1.0; LANES], length: [1.0; LANES] };
        history.advance(&self.pairs, at.under(penalty, &self.seen), moves, &mut trial);
        let held_out = seen.map(|sums| rows.held_out(curve, self.first, &sums));
        Ok(Descended { anchor: at, w: trial, passes, decrease, expected, held_out })
    }

    /// Moves on in the lanes of `keep`, and remembers the step in those of `telling`.
    #[allow(clippy::too_many_arguments)]
    fn remember(
        &mut self,
        at: &mut Anchor,
        trial: &[Lane],
        gradient: &[Line],
        penalty: &[Lane],
        keep: [bool; LANES],
        mut telling: [bool; LANES],
        history: &mut History<'_>,
    ) {
        let mut pair = if self.pairs.len() == self.memory {
            history.forget_oldest();
            self.pairs.remove(0)
        } else {
            Pair::zero(trial.len())
        };
        let moved = keep.map(|keep| if keep { -1.0 } else { 1.0 });
        let made = Made {
            w: &mut at.w,
            gradient: &mut at.gradient,
            trial,
            found: gradient,
            penalty,
            seen: &self.seen,
            moved: &moved,
            pair: &mut pair,
        };
        let sizes = match &mut history.kind {
            Directions::Products(products) => made.accept_and_sum(products, &self.pairs),
            Directions::Loops { .. } => made.accept(),
        };
        for l in 0..LANES {
            // Rounding must not hide the curvature.
            let rounding = f64::from(f32::EPSILON) * (sizes.ss[l] * sizes.yy[l]).sqrt();
            telling[l] &= sizes.sy[l] + sizes.sps[l] > rounding && sizes.sy[l].is_finite();
            if telling[l] && sizes.ss[l] > 0.0 && sizes.yy[l] > 0.0 {
                self.gamma[l] = (sizes.yy[l] / sizes.ss[l]).sqrt();
            }
        }
        if telling != keep {
            pair.keep(&telling);
        }
        self.pairs.push(pair);
        let place = at.under(penalty, &self.seen);
        match &mut history.kind {
            Directions::Products(products) => {
                if telling != keep {
                    products.keep_of_newest(&telling);
                }
                products.renew(&self.pairs, self.gamma, place);
            }
            Directions::Loops { curved, .. } => {
                let new = self.pairs[curved.len()..].iter();
                curved.extend(new.map(|pair| under(pair, penalty)));
            }
        }
        history.look(&self.pairs, place);
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
    /// Length of the trial along the direction, and relative to the trial before.
    step: f64,
    length: f64,
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
            length: 1.0,
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
        self.length = best.clamp(0.1, 0.5);
        self.step *= self.length;
    }
}

/// The remembered pairs under one penalty, and what they say at the anchor.
struct History<'m> {
    /// `g·H g`.
    decrements: Lane,
    kind: Directions<'m>,
}

enum Directions<'m> {
    /// By inner products, in a diagonal metric.
    Products(Products),
    /// By the two loops, in a dense metric: `ŷ = y + P s` and `1 / s·ŷ` of every pair, oldest first; and
    /// the direction.
    Loops { dense: &'m Dense<'m>, first: usize, curved: Vec<(Vec<Lane>, Lane)>, q: Vec<Lane> },
}

impl Anchor {
    /// What a pass at these weights found.
    pub(super) fn new(w: Vec<Lane>, sums: LaneSums) -> Self {
        let gradient = sums.gradient.iter().map(|Line(gradient)| *gradient).collect();
        Self { w, loss: sums.loss, gradient }
    }

    fn under<'a>(&'a self, penalty: &'a [Lane], seen: &'a Seen) -> Place<'a> {
        Place { penalty, w: &self.w, gradient: &self.gradient, seen }
    }
}

/// `g + P w`.
fn penalised(gradient: &[Lane], penalty: &[Lane], w: &[Lane]) -> Vec<Lane> {
    let mut sum = gradient.to_vec();
    lane_add_product(penalty, w, &mut sum);
    sum
}

impl<'m> History<'m> {
    fn new(
        walkers: &Walkers,
        metric: &'m Metric<'m>,
        place: Place<'_>,
        known: Option<Products>,
    ) -> Self {
        let kind = match metric {
            Metric::Diagonal => Directions::Products(
                known.unwrap_or_else(|| Products::new(&walkers.pairs, walkers.gamma, place)),
            ),
            Metric::Dense(dense) => Directions::Loops {
                dense,
                first: walkers.first,
                curved: walkers.pairs.iter().map(|pair| under(pair, place.penalty)).collect(),
                q: Vec::new(),
            },
        };
        let mut history = Self { decrements: [0.0; LANES], kind };
        history.look(&walkers.pairs, place);
        history
    }

    fn forget_oldest(&mut self) {
        match &mut self.kind {
            Directions::Products(products) => products.forget_oldest(),
            Directions::Loops { curved, .. } => {
                curved.remove(0);
            }
        }
    }

    /// The two loops of L-BFGS (Nocedal and Wright, algorithm 7.4), in every lane.
    fn look(&mut self, pairs: &[Pair], place: Place<'_>) {
        let (dense, first, curved, q) = match &mut self.kind {
            Directions::Products(products) => {
                self.decrements = products.decrements();
                return;
            }
            Directions::Loops { dense, first, curved, q } => (dense, *first, curved, q),
        };
        let g = penalised(place.gradient, place.penalty, place.w);
        q.clone_from(&g);
        let both = || pairs.iter().zip(curved.iter());
        let mut coefficients = Vec::with_capacity(pairs.len());
        for (pair, (y, rho)) in both().rev() {
            let sq = lane_dot(&pair.s, q);
            let a: Lane = std::array::from_fn(|l| rho[l] * sq[l]);
            lane_add(&a.map(|a| -a), y, q);
            coefficients.push(a);
        }
        dense.solve_lanes(first, q);
        for ((pair, (y, rho)), a) in both().zip(coefficients.into_iter().rev()) {
            let yq = lane_dot(y, q);
            let b: Lane = std::array::from_fn(|l| a[l] - rho[l] * yq[l]);
            lane_add(&b, &pair.s, q);
        }
        self.decrements = lane_dot(&g, q);
    }

    fn advance(&self, pairs: &[Pair], place: Place<'_>, moves: Moves, trial: &mut [Lane]) -> Lane {
        match &self.kind {
            Directions::Products(products) => products.advance(pairs, place, moves, trial),
            Directions::Loops { q, .. } => advance_along(q, place.w, place.penalty, moves, trial),
        }
    }
}

/// `y + P s` and `1 / s·(y + P s)`.
fn under(pair: &Pair, penalty: &[Lane]) -> (Vec<Lane>, Lane) {
    let mut y: Vec<Lane> = pair.y.iter().map(|y| y.map(f64::from)).collect();
    lane_add_product(penalty, &pair.s, &mut y);
    let sy = lane_dot(&pair.s, &y);
    (y, sy.map(|sy| if sy > 0.0 { 1.0 / sy } else { 0.0 }))
}
