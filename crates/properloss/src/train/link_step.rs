//! Steps 3 and 4 of BregmanTron: fit the predictions, make them a link.

use std::sync::Arc;

use rayon::prelude::*;

use super::bregmantron::{BregmanTron, EndSlope, LinkObjective, Target};
use super::sorted_loss::mean_loss_sorted;
use crate::chain::{ChainProblem, Objective, Workspace, fit_link_with, minimal_top};
use crate::error::Result;
use crate::link::{InverseLink, PiecewiseLink};
use crate::rows::{ByScore, Carry, Rows};

/// The link `u_t`, and the room of its update.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkStep {
    /// Shared with the model: it may have a knot a row.
    link: Arc<PiecewiseLink>,
    #[cfg_attr(feature = "serde", serde(skip))]
    workspace: Workspace,
}

/// What Steps 3 and 4 did.
pub(super) struct LinkFit {
    pub slope_min: f64,
    pub slope_max: f64,
    /// `max |u_{t+1} - u_t|` at the scores.
    pub change: f64,
    /// `E[U(z) + U*(y) - y z]` of the new link at the scores it was fitted on.
    pub loss: f64,
}

impl LinkStep {
    /// Iteration `t = 0`: the link at the scores of `w_1 = 0`.
    pub fn start(options: &BregmanTron, rows: &mut dyn Rows) -> Result<Self> {
        // u_0 = clip(a z + b) with b = u_0(0) = the base rate, and y_hat_0 constant at it.
        let base_rate = rows.shape().base_rate;
        rows.carry(needs(options));
        let workspace = Workspace::new();
        let Some(link) = options.initial_link.clone() else {
            let a = options.slope_max;
            let knots = vec![-base_rate / a, (1.0 - base_rate) / a];
            let link = Arc::new(PiecewiseLink::from_knots(knots, vec![0.0, 1.0])?);
            let mut step = Self { link, workspace };
            let by_score = rows.by_score()?;
            match needs(options) {
                Carry::Nothing => {}
                Carry::Scores => by_score.carried.clone_from(by_score.numbers),
                Carry::Predictions => *by_score.carried = vec![base_rate; by_score.numbers.len()],
            }
            step.fit(options, by_score)?;
            return Ok(step);
        };
        if needs(options) == Carry::Scores {
            let by_score = rows.by_score()?;
            by_score.carried.clone_from(by_score.numbers);
        }
        rows.predict(&link)?;
        if needs(options) == Carry::Predictions {
            let by_score = rows.ordered()?;
            by_score.carried.clone_from(by_score.numbers);
        }
        Ok(Self { link: Arc::new(link), workspace })
    }

    pub fn link(&self) -> &Arc<PiecewiseLink> {
        &self.link
    }

    /// Steps 3 and 4; the predictions `y_hat_{t+1}` go to the rows.
    pub fn fit(&mut self, options: &BregmanTron, mut rows: ByScore<'_>) -> Result<LinkFit> {
        let (n, cap) = slope_bounds(options, &rows);
        // Step 3.
        self.fit_predictions(options, &mut rows, n, cap)?;
        // Step 4: fit.
        let end_slope = match options.end_slope {
            EndSlope::Min => n,
            EndSlope::Max => cap,
        };
        let (solution, z) = (self.workspace.solution(), rows.order.scores());
        let groups = z.len();
        let room = &mut rows.numbers[..groups];
        let (change, knots) = rayon::join(
            || max_change(&self.link, z, &solution.values, room),
            || fit_link_with(solution, z, end_slope),
        );
        self.link = Arc::new(PiecewiseLink::new(knots?)?);
        if needs(options) == Carry::Scores {
            rows.order.scatter(rows.order.scores(), rows.carried)?;
        }
        let (order, sample) = (rows.order, rows.sample);
        let (predicted, loss) = rayon::join(
            || rows.predict(&self.workspace.solution().values),
            || mean_loss_sorted(self.link.knots(), order, &sample),
        );
        predicted?;
        if needs(options) == Carry::Predictions {
            rows.carried.copy_from_slice(rows.numbers);
        }
        Ok(LinkFit { slope_min: n, slope_max: cap, change: change?, loss })
    }

    /// Step 3: `argmin E[D(y_hat, target)]` within the slope bounds, `0 <= y_hat_1`, `y_hat_m <= 1`.
    fn fit_predictions(
        &mut self,
        options: &BregmanTron,
        rows: &mut ByScore<'_>,
        n: f64,
        cap: f64,
    ) -> Result<()> {
        let (order, row_weights, labels) =
            (rows.order, rows.sample.weights(), rows.sample.labels());
        let z = order.scores();
        let (z_min, z_max) = self.link.support();
        let previous = &*rows.carried;
        let targets = &mut rows.numbers[..z.len()];
        let bregman = options.objective == LinkObjective::Bregman;
        match (options.target, bregman) {
            (Target::Approx, _) => {
                targets.copy_from_slice(&minimal_top(z, n, 0.0, 1.0)?);
            }
            (Target::Previous, _) => {
                order.group_means_into(row_weights, |i| previous[i], targets)?
            }
            (Target::Labels, false) => {
                order.group_means_into(row_weights, |i| f64::from(labels[i]), targets)?;
            }
            // u_t⁻¹(0) = z_min, u_t⁻¹(1) = z_max
            (Target::Labels, true) => {
                let inverse = |i: usize| if labels[i] == 1 { z_max } else { z_min };
                order.group_means_into(row_weights, inverse, targets)?;
            }
            (Target::PreviousLink, false) => {
                self.link.u_sorted_into(z, targets)?;
            }
            // u_t⁻¹(u_t(z)) = z, brought into the range of the link
            (Target::PreviousLink, true) => {
                let inside = |(target, z): (&mut f64, &f64)| *target = z.clamp(z_min, z_max);
                targets.iter_mut().zip(z).for_each(inside);
            }
        }
        // `approx` is the quadratic fit to a feasible point: that point.
        let objective = if bregman && options.target != Target::Approx {
            Objective::Bregman { link: &*self.link, target_scores: targets }
        } else {
            Objective::Quadratic { targets }
        };
        let mut problem = ChainProblem::new(z, objective).with_slopes(n, cap);
        if let Some(weights) = rows.weights {
            problem = problem.with_weights(weights);
        }
        self.workspace.solve(&problem)?;
        Ok(())
    }
}

/// What the next target needs of this iteration, by row: `u_t⁻¹(ŷ_t)`, which are the scores before
/// Step 1, or `ŷ_t`. The rows carry it.
fn needs(options: &BregmanTron) -> Carry {
    match (options.target, options.objective) {
        (Target::Previous, LinkObjective::Bregman) => Carry::Scores,
        (Target::Previous, LinkObjective::Quadratic) => Carry::Predictions,
        _ => Carry::Nothing,
    }
}

/// `n_t = min(n, kappa / range)` keeps the problem feasible, `N_t = max(N, n_t)`.
fn slope_bounds(options: &BregmanTron, rows: &ByScore<'_>) -> (f64, f64) {
    let (least, largest) = rows.range();
    let range = largest - least;
    let n =
        if range > 0.0 { options.slope_min.min(options.kappa / range) } else { options.slope_min };
    (n, options.slope_max.max(n))
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
