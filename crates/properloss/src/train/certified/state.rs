//! Weights, link, and the exact changes of loss that the schedules ask for.

use super::monotone::LineSearch;
use crate::certify::{Certificate, Masses, Placement, Replacement, link_through, norm, replace};
use crate::chain::{ChainProblem, Objective, Workspace, fit_link_with};
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};
use crate::rows::{ByScore, Predictions, Rows};

/// Scores are updated by `z + η X g`; this often they are computed afresh.
const REFRESH: usize = 50;

/// `w_t`, `u_t` and what the schedules remember; scores and predictions are with the rows.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    max_norm: f64,
    base_rate: f64,
    w: Vec<f64>,
    link: PiecewiseLink,
    loss: f64,
    gradient: Vec<f64>,
    gap: f64,
    since_refresh: usize,
    /// How far link and weights moved.
    moved: (f64, f64),
    /// The least and the largest score.
    ends: (f64, f64),
    /// `[n_{t-1}, N_{t-1}]`.
    pub(super) slopes: (f64, f64),
    pub(super) search: LineSearch,
    pub(super) certificates: Vec<Certificate>,
    #[cfg_attr(feature = "serde", serde(skip))]
    room: Room,
}

/// Buffers, by distinct score.
#[derive(Default)]
struct Room {
    negative: Vec<f64>,
    positive: Vec<f64>,
    target: Vec<f64>,
    masses: Masses,
    /// A buffer for the next trial.
    spare: Placement,
    workspace: Workspace,
}

/// A link held against the current one at the current scores; [`State::adopt`] takes it.
pub(super) struct Trial {
    pub link: PiecewiseLink,
    pub outcome: Replacement,
    placement: Placement,
}

impl State {
    /// At `w = 0` under a given link of slope `slope_max`.
    pub fn start(rows: &mut dyn Rows, link: PiecewiseLink, slope_max: f64) -> Result<Self> {
        let max_norm = rows.max_norm()?;
        if max_norm <= 0.0 {
            return Err(Error::OutOfDomain {
                what: "the largest norm of a row",
                value: max_norm,
                expected: "above 0: every row is zero, there is nothing to learn from",
            });
        }
        let dimension = rows.dimension();
        let mut state = Self {
            max_norm,
            base_rate: rows.shape().base_rate,
            w: vec![0.0; dimension],
            link,
            loss: 0.0,
            gradient: vec![0.0; dimension],
            gap: 0.0,
            since_refresh: 0,
            moved: (0.0, 0.0),
            ends: (0.0, 0.0),
            slopes: (slope_max, slope_max),
            search: LineSearch::default(),
            certificates: Vec::new(),
            room: Room::default(),
        };
        rows.score(&state.w)?;
        state.sort(rows)?;
        state.keep_link(rows)?;
        let curvature = state.curvature(rows)?;
        state.search = LineSearch::new(1.0 / (slope_max * curvature), state.loss);
        Ok(state)
    }

    pub fn w(&self) -> &[f64] {
        &self.w
    }

    /// The gradient of the loss there.
    pub fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    pub fn link(&self) -> &PiecewiseLink {
        &self.link
    }

    /// `ℓ_u(w)`.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// `X`.
    pub fn max_norm(&self) -> f64 {
        self.max_norm
    }

    pub fn base_rate(&self) -> f64 {
        self.base_rate
    }

    /// The least and the largest score.
    pub fn ends(&self) -> (f64, f64) {
        self.ends
    }

    /// Estimate (from below) of `λ_max(E[x xᵀ])`, for the first step: a rough one will do, since too
    /// long a step is halved, and each round costs two passes over the data.
    fn curvature(&self, rows: &mut dyn Rows) -> Result<f64> {
        let estimate = rows.spectral_norm(0.1, 4)?.estimate;
        Ok(if estimate > 0.0 { estimate } else { self.max_norm * self.max_norm })
    }

    /// `max_i |u_{t+1}(z_i) - u_t(z_i)|`.
    pub fn link_moved(&self) -> f64 {
        self.moved.0
    }

    /// `|w_{t+1} - w_t| / |w_{t+1}|`.
    pub fn weight_moved(&self) -> f64 {
        self.moved.1
    }

    /// `g = E[(y - u(w·x)) x]`, its norm, and `X g`: two passes over the data.
    pub fn find_gap(&mut self, rows: &mut dyn Rows) -> Result<()> {
        self.gradient = rows.gap(Predictions::Kept)?;
        self.gap = norm(&self.gradient);
        rows.direct(&self.gradient)
    }

    /// Whether every score after a step of size `η` lies in the range of the link, up to rounding.
    pub fn stays_in_range(&self, rows: &mut dyn Rows, eta: f64) -> Result<bool> {
        let (z_min, z_max) = self.link.support();
        let rounding = 8.0 * f64::EPSILON * (z_min.abs() + z_max.abs());
        let (least, largest) = rows.reach(eta)?;
        Ok(least >= z_min - rounding && largest <= z_max + rounding)
    }

    /// Step 1 and Step 2: `w + η g`, the new scores, their order.
    pub fn advance(&mut self, rows: &mut dyn Rows, eta: f64) -> Result<()> {
        for (w, g) in self.w.iter_mut().zip(&self.gradient) {
            *w += eta * g;
        }
        self.moved.1 = eta * self.gap / norm(&self.w).max(f64::MIN_POSITIVE);
        rows.keep_scores()?;
        self.since_refresh += 1;
        if self.since_refresh >= REFRESH {
            rows.score(&self.w)?;
            self.since_refresh = 0;
        } else {
            rows.advance(eta)?;
        }
        self.sort(rows)
    }

    /// The order of the scores, and the weights of both classes at each.
    fn sort(&mut self, rows: &mut dyn Rows) -> Result<()> {
        let by_score = rows.by_score()?;
        let Room { negative, positive, masses, .. } = &mut self.room;
        by_score.class_weights(negative, positive);
        by_score.fill_masses(negative, positive, masses);
        self.ends = by_score.range();
        Ok(())
    }

    /// `u_t` at the lowest new score.
    pub fn lowest_value(&self) -> f64 {
        self.link.u(self.ends.0)
    }

    /// Whether every score lies in the range of the link.
    pub fn in_range(&self) -> bool {
        let (z_min, z_max) = self.link.support();
        self.ends.0 >= z_min && self.ends.1 <= z_max
    }

    /// Lemma 1 at the new scores: what a change to `v` adds to the loss, and where `v` stands.
    pub(super) fn try_link(&mut self, rows: &ByScore<'_>, v: PiecewiseLink) -> Trial {
        let mut placement = std::mem::take(&mut self.room.spare);
        let outcome = replace(&self.link, &v, rows.scores(), &self.room.masses, &mut placement);
        Trial { link: v, outcome, placement }
    }

    /// A trial that is not adopted: its buffers serve the next.
    pub(super) fn reject(&mut self, trial: Trial) -> PiecewiseLink {
        self.room.spare = trial.placement;
        trial.link
    }

    /// Step 4: the link is now the one tried.
    pub(super) fn adopt(&mut self, rows: &mut ByScore<'_>, trial: Trial) {
        self.link = trial.link;
        self.settle(rows, trial.outcome, trial.placement);
    }

    /// The link stays; only its place at the new scores is found.
    pub fn keep_link(&mut self, rows: &mut dyn Rows) -> Result<()> {
        let mut rows = rows.ordered()?;
        let mut placement = std::mem::take(&mut self.room.spare);
        let (link, masses) = (&self.link, &self.room.masses);
        let outcome = replace(link, link, rows.scores(), masses, &mut placement);
        self.settle(&mut rows, outcome, placement);
        Ok(())
    }

    /// The loss, and the link at the rows.
    fn settle(&mut self, rows: &mut ByScore<'_>, outcome: Replacement, placement: Placement) {
        (self.loss, self.moved.0) = (outcome.loss, outcome.moved);
        rows.place(&self.link, &placement);
        self.room.spare = placement;
    }

    /// Step 3 towards the labels (least squares).
    pub(super) fn fit_labels(
        &mut self,
        rows: &ByScore<'_>,
        bounds: Bounds,
    ) -> Result<PiecewiseLink> {
        let Room { positive, target, .. } = &mut self.room;
        target.clear();
        match rows.weights {
            None => target.extend_from_slice(positive),
            Some(weights) => {
                let mean = |(p, w): (&f64, &f64)| if *w > 0.0 { (p / w).min(1.0) } else { 0.0 };
                target.extend(positive.iter().zip(weights).map(mean));
            }
        }
        self.solve(rows, bounds, false)
    }

    /// What every schedule certifies of a step; the quantities of one schedule alone are NaN.
    pub(super) fn certificate(
        &self,
        loss_before: f64,
        gap: f64,
        step_decrease: f64,
        link_cost: f64,
    ) -> Certificate {
        let none = f64::NAN;
        Certificate {
            // The iteration and the least gap are those of the run, which knows the earlier steps.
            iteration: 0,
            loss_before,
            loss_after: self.loss(),
            gap,
            least_gap: gap,
            gap_bound: none,
            eta: none,
            halvings: 0,
            slope_min: none,
            slope_max: none,
            damping: 1.0,
            p_star: none,
            delta: none,
            epsilon: none,
            alpha: none,
            beta: none,
            step_decrease,
            link_cost,
            claimed: none,
            observed: step_decrease - link_cost,
            step_held: true,
            in_range: true,
            nested: true,
            close: true,
        }
    }

    /// Step 3 towards the old link at the new scores (least squares).
    pub(super) fn fit_previous_link(
        &mut self,
        rows: &ByScore<'_>,
        bounds: Bounds,
    ) -> Result<PiecewiseLink> {
        let target = &mut self.room.target;
        target.resize(rows.scores().len(), 0.0);
        self.link.u_sorted_into(rows.scores(), target)?;
        self.solve(rows, bounds, false)
    }

    /// The paper's Step 3: towards the previous predictions, by `D_{U_t*}`. The target enters by its
    /// score `u_t⁻¹(ŷ_t)`, which is the old score, cut off at the ends of the range.
    pub(super) fn fit_previous(
        &mut self,
        rows: &ByScore<'_>,
        bounds: Bounds,
    ) -> Result<PiecewiseLink> {
        let (z_min, z_max) = self.link.support();
        let old = &*rows.carried;
        let target = |row: usize| old[row].clamp(z_min, z_max);
        rows.order.group_means(rows.sample.weights(), target, &mut self.room.target)?;
        self.solve(rows, bounds, true)
    }

    fn solve(
        &mut self,
        rows: &ByScore<'_>,
        bounds: Bounds,
        bregman: bool,
    ) -> Result<PiecewiseLink> {
        let targets = self.room.target.as_slice();
        let objective = if bregman {
            Objective::Bregman { link: &self.link, target_scores: targets }
        } else {
            Objective::Quadratic { targets }
        };
        let mut problem = ChainProblem::new(rows.scores(), objective)
            .with_slopes(bounds.slopes.0, bounds.slopes.1)
            .with_first(bounds.first.0, bounds.first.1);
        if let Some(weights) = rows.weights {
            problem = problem.with_weights(weights);
        }
        let solution = self.room.workspace.solve(&problem)?;
        if bounds.every_knot {
            return link_through(rows.scores(), &solution.values, bounds.end_slope);
        }
        let knots = fit_link_with(solution, rows.scores(), bounds.end_slope)?;
        PiecewiseLink::new(knots)
    }
}

/// The feasible set of Step 3 and the slope of the ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub slopes: (f64, f64),
    pub first: (f64, f64),
    pub end_slope: f64,
    /// A knot at every score: values exact to the last bit. Otherwise straight runs are one piece,
    /// which is faster to work with.
    pub every_knot: bool,
}
