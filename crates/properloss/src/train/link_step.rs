//! Steps 2 to 4 of BregmanTron: order the scores, fit the predictions, make them a link.

use rayon::prelude::*;

use super::bregmantron::{BregmanTron, EndSlope, LinkObjective, Target};
use super::sorted_loss::mean_loss_sorted;
use crate::chain::{ChainProblem, Objective, ScoreOrder, Workspace, fit_link_with, minimal_top};
use crate::error::Result;
use crate::link::{InverseLink, PiecewiseLink};
use crate::sample::Sample;

/// The link `u_t`, the predictions `y_hat_t`, and the buffers of their update.
pub(super) struct LinkStep<'s, 'a> {
    options: &'s BregmanTron,
    sample: &'s Sample<'a>,
    link: PiecewiseLink,
    order: ScoreOrder,
    workspace: Workspace,
    /// By row what the target needs of the iteration before: `y_hat_t`, or the scores
    /// `u_t⁻¹(y_hat_t)` before Step 1. Empty for other targets.
    previous: Vec<f64>,
    /// By group of equal scores.
    weights: Vec<f64>,
}

/// What a target needs of the iteration before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Scores,
    Predictions,
}

/// What Steps 3 and 4 did.
pub(super) struct LinkFit {
    pub slope_min: f64,
    pub slope_max: f64,
    /// `max |u_{t+1} - u_t|` at the scores.
    pub change: f64,
}

impl<'s, 'a> LinkStep<'s, 'a> {
    /// Iteration `t = 0`: the link at the scores `z` of `w_1 = 0`, which the predictions replace.
    pub fn new(options: &'s BregmanTron, sample: &'s Sample<'a>, z: &mut [f64]) -> Result<Self> {
        // u_0 = clip(a z + b) with b = u_0(0) = the base rate, and y_hat_0 constant at it.
        let base_rate = sample.base_rate();
        let link = match &options.initial_link {
            Some(link) => link.clone(),
            None => {
                let a = options.slope_max;
                let knots = vec![-base_rate / a, (1.0 - base_rate) / a];
                PiecewiseLink::from_knots(knots, vec![0.0, 1.0])?
            }
        };
        let mut state = Self {
            options,
            sample,
            link,
            order: ScoreOrder::new(),
            workspace: Workspace::new(),
            previous: Vec::new(),
            weights: Vec::new(),
        };
        state.previous = match state.needs() {
            Needs::Nothing => Vec::new(),
            Needs::Scores => z.to_vec(),
            Needs::Predictions => vec![base_rate; z.len()],
        };
        match &options.initial_link {
            None => {
                state.order(z)?;
                state.fit(z)?;
                state.predict(z)?;
            }
            Some(link) => {
                z.iter_mut().for_each(|z| *z = link.u(*z));
                if state.needs() == Needs::Predictions {
                    state.previous.copy_from_slice(z);
                }
            }
        }
        Ok(state)
    }

    pub fn link(&self) -> &PiecewiseLink {
        &self.link
    }

    pub fn into_link(self) -> PiecewiseLink {
        self.link
    }

    pub fn score_range(&self) -> (f64, f64) {
        let z = self.order.scores();
        (z[0], z[z.len() - 1])
    }

    /// The predictions `y_hat_{t+1}` of the rows, into `y_hat`. Answers with `E[U(z) + U*(y) - y z]`
    /// of the link just fitted, at the scores it was fitted on.
    pub fn predict(&mut self, y_hat: &mut [f64]) -> Result<f64> {
        if self.needs() == Needs::Scores {
            self.order.scatter(self.order.scores(), &mut self.previous)?;
        }
        let (order, values) = (&self.order, &self.workspace.solution().values);
        let (scattered, loss) = rayon::join(
            || order.scatter(values, y_hat),
            || mean_loss_sorted(self.link.knots(), order, self.sample),
        );
        scattered?;
        if self.needs() == Needs::Predictions {
            self.previous.copy_from_slice(y_hat);
        }
        Ok(loss)
    }

    /// What the next target needs of this iteration, by row.
    fn needs(&self) -> Needs {
        match (self.options.target, self.options.objective) {
            (Target::Previous, LinkObjective::Bregman) => Needs::Scores,
            (Target::Previous, LinkObjective::Quadratic) => Needs::Predictions,
            _ => Needs::Nothing,
        }
    }

    /// Step 2: order the examples by score and merge ties.
    pub fn order(&mut self, z: &[f64]) -> Result<()> {
        self.order.update(z)?;
        if self.unit_weights() {
            return Ok(());
        }
        self.order.group_weights(self.sample.weights(), &mut self.weights)
    }

    /// Every group is one row of weight 1: the weights need not be written down.
    fn unit_weights(&self) -> bool {
        self.sample.weights().is_none() && !self.order.has_ties()
    }

    /// Steps 3 and 4. Their targets are written to `room`, one number a row: that of the scores,
    /// which the order has taken over.
    pub fn fit(&mut self, room: &mut [f64]) -> Result<LinkFit> {
        let (n, cap) = self.slope_bounds();
        let room = &mut room[..self.order.groups()];
        self.fit_predictions(n, cap, room)?;
        let end_slope = match self.options.end_slope {
            EndSlope::Min => n,
            EndSlope::Max => cap,
        };
        // Step 4: fit.
        let (solution, z) = (self.workspace.solution(), self.order.scores());
        let (change, knots) = rayon::join(
            || max_change(&self.link, z, &solution.values, room),
            || fit_link_with(solution, z, end_slope),
        );
        self.link = PiecewiseLink::new(knots?)?;
        Ok(LinkFit { slope_min: n, slope_max: cap, change: change? })
    }

    /// `n_t = min(n, kappa / range)` keeps the problem feasible, `N_t = max(N, n_t)`.
    fn slope_bounds(&self) -> (f64, f64) {
        let (least, largest) = self.score_range();
        let range = largest - least;
        let n = if range > 0.0 {
            self.options.slope_min.min(self.options.kappa / range)
        } else {
            self.options.slope_min
        };
        (n, self.options.slope_max.max(n))
    }

    /// Step 3: `argmin E[D(y_hat, target)]` within the slope bounds, `0 <= y_hat_1`, `y_hat_m <= 1`.
    fn fit_predictions(&mut self, n: f64, cap: f64, targets: &mut [f64]) -> Result<()> {
        let row_weights = self.sample.weights();
        let labels = self.sample.labels();
        let z = self.order.scores();
        let (z_min, z_max) = self.link.support();
        let unit_weights = self.unit_weights();
        let previous = &self.previous;
        let bregman = self.options.objective == LinkObjective::Bregman;
        match (self.options.target, bregman) {
            (Target::Approx, _) => {
                targets.copy_from_slice(&minimal_top(z, n, 0.0, 1.0)?);
            }
            (Target::Previous, _) => {
                self.order.group_means_into(row_weights, |i| previous[i], targets)?
            }
            (Target::Labels, false) => {
                self.order.group_means_into(row_weights, |i| f64::from(labels[i]), targets)?;
            }
            // u_t⁻¹(0) = z_min, u_t⁻¹(1) = z_max
            (Target::Labels, true) => {
                let inverse = |i: usize| if labels[i] == 1 { z_max } else { z_min };
                self.order.group_means_into(row_weights, inverse, targets)?;
            }
            (Target::Refit, false) => {
                self.link.u_sorted_into(z, targets)?;
            }
            // u_t⁻¹(u_t(z)) = z, brought into the range of the link
            (Target::Refit, true) => {
                let inside = |(target, z): (&mut f64, &f64)| *target = z.clamp(z_min, z_max);
                targets.iter_mut().zip(z).for_each(inside);
            }
        }
        // `approx` is the quadratic fit to a feasible point: that point.
        let objective = if bregman && self.options.target != Target::Approx {
            Objective::Bregman { link: &self.link, target_scores: targets }
        } else {
            Objective::Quadratic { targets }
        };
        let mut problem = ChainProblem::new(z, objective).with_slopes(n, cap);
        if !unit_weights {
            problem = problem.with_weights(&self.weights);
        }
        self.workspace.solve(&problem)?;
        Ok(())
    }
}

/// Scores that one thread compares at a time.
const PART: usize = 8192;

/// `max |y_hat_{t+1} - u_t|` at the new scores. The targets have served: their place takes `u_t`.
fn max_change(link: &PiecewiseLink, z: &[f64], values: &[f64], room: &mut [f64]) -> Result<f64> {
    let parts = room.par_chunks_mut(PART).zip(z.par_chunks(PART)).zip(values.par_chunks(PART));
    let changes = parts.map(|((old, z), new)| {
        link.u_sorted_into(z, old)?;
        Ok(new.iter().zip(&*old).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max))
    });
    changes.try_reduce(|| 0.0, |a, b| Ok(f64::max(a, b)))
}
