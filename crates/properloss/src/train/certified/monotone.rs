//! Theorem 1: the loss falls at every iteration.

use super::state::{Bounds, State, Trial};
use super::{Candidate, Outcome, Termination};
use crate::certify::{Certificate, condense, convex_combination, gap_bound};
use crate::error::Result;
use crate::link::{InverseLink, PiecewiseLink};
use crate::rows::{ByScore, Rows};

/// `2^-60` of a trial is below rounding: nothing is left to gain.
const MAX_HALVINGS: usize = 60;
/// A damped link with more knots a score is condensed to half as many: damping adds the knots of the
/// candidate, usually few, at every iteration.
const KNOTS_PER_SCORE: usize = 4;
/// A damped link uses the budget up to this margin, so that rounding cannot overdraw it.
const MARGIN: f64 = 1e-9;

pub(super) struct Options {
    pub candidate: Candidate,
    pub theta: f64,
    pub frozen: bool,
    pub slope_max: f64,
    pub slope_floor: f64,
}

/// The step size of the last iteration, and what the rate needs.
#[derive(Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct LineSearch {
    eta: f64,
    grow: bool,
    halved: bool,
    sum_of_steps: f64,
    first_loss: f64,
}

impl LineSearch {
    pub fn new(eta: f64, first_loss: f64) -> Self {
        Self { eta, first_loss, ..Self::default() }
    }
}

/// One iteration.
pub(super) fn advance(state: &mut State, rows: &mut dyn Rows, options: Options) -> Result<Outcome> {
    let search = &state.search;
    let (gap, theta) = (state.gap(), options.theta);
    let loss_before = state.loss();

    // Step 1. η: twice the last, halved until E[D_U(z⁺ ‖ z)] <= η|g|²/2. The test holds for every
    // η <= 1/(N Λ), so η >= 1/(2 N Λ) always. Not the search of `gradient_step`: the theorem asks for the
    // divergence, which does not cancel, and not for a difference of losses.
    let mut eta = if search.grow { 2.0 * search.eta } else { search.eta };
    let (mut halvings, mut known) = (0, None);
    let divergence = loop {
        // After a halving another is likely: one pass over the rows serves both trials.
        let divergence = match known.take() {
            Some(divergence) => divergence,
            None if search.halved || halvings > 0 => {
                let [divergence, half] = rows.divergences(state.link(), [eta, 0.5 * eta])?;
                known = Some(half);
                divergence
            }
            None => rows.divergences(state.link(), [eta])?[0],
        };
        if divergence <= 0.5 * eta * gap * gap {
            break divergence;
        }
        halvings += 1;
        if halvings > MAX_HALVINGS {
            return Ok(Outcome::Ended(Termination::GapClosed));
        }
        eta *= 0.5;
    };
    let search = &mut state.search;
    (search.eta, search.grow, search.halved) = (eta, true, halvings > 0);
    search.sum_of_steps += eta;
    let (first_loss, sum_of_steps) = (search.first_loss, search.sum_of_steps);
    state.advance(rows, eta)?;
    let in_range = state.in_range();
    let step_decrease = eta * gap * gap - divergence;
    let claimed = 0.5 * (1.0 - theta) * eta * gap * gap;
    let budget = step_decrease - claimed;

    // Steps 3 and 4, damped: the change of loss is linear in λ (Lemma 1).
    let range = state.ends().1 - state.ends().0;
    let floor = if range > 0.0 { options.slope_floor / range } else { f64::INFINITY };
    let slope_min = floor.min(options.slope_floor * options.slope_max);
    let (mut damping, mut link_cost) = (0.0, 0.0);
    if !options.frozen {
        let bounds = Bounds {
            slopes: (slope_min, options.slope_max),
            first: (0.0, 1.0),
            end_slope: options.slope_max,
            every_knot: false,
        };
        let mut rows = rows.ordered()?;
        let candidate = match options.candidate {
            Candidate::Labels => state.fit_labels(&rows, bounds)?,
            Candidate::Previous => state.fit_previous(&rows, bounds)?,
            Candidate::PreviousLink => state.fit_previous_link(&rows, bounds)?,
        };
        if let Some((lambda, trial)) = damped(state, &rows, candidate, budget, options.slope_max)? {
            (damping, link_cost) = (lambda, trial.outcome.change);
            state.adopt(&mut rows, trial);
        }
    }
    if damping == 0.0 {
        state.keep_link(rows)?;
    }
    Ok(Outcome::Moved(Certificate {
        gap_bound: gap_bound(first_loss, theta, sum_of_steps),
        eta,
        halvings,
        slope_min,
        slope_max: options.slope_max,
        damping,
        claimed,
        step_held: divergence <= 0.5 * eta * gap * gap,
        in_range,
        close: link_cost <= budget,
        ..state.certificate(loss_before, gap, step_decrease, link_cost)
    }))
}

/// The largest `λ` with `λ D(v) <= budget`, and the link `(1-λ) u + λ v` with its exact change of
/// loss. `None` if nothing of the candidate can be taken.
fn damped(
    state: &mut State,
    rows: &ByScore<'_>,
    candidate: PiecewiseLink,
    budget: f64,
    slope_max: f64,
) -> Result<Option<(f64, Trial)>> {
    let trial = state.try_link(rows, candidate);
    let change = trial.outcome.change;
    if change <= budget {
        return Ok(Some((1.0, trial)));
    }
    let candidate = state.reject(trial);
    let ((u_min, u_max), (v_min, v_max)) = (state.link().support(), candidate.support());
    // Values are rounded to an ulp or two of 1, all over the support.
    let rounding = 4.0 * f64::EPSILON * (u_max.max(v_max) - u_min.min(v_min));
    let lambda = ((1.0 - MARGIN) * budget - rounding) / change;
    let overlap = u_max.min(v_max) - u_min.max(v_min);
    if lambda <= 0.0 || overlap <= 0.0 {
        return Ok(None); // links that do not overlap have no strictly increasing combination
    }
    let mut link = convex_combination(state.link(), &candidate, lambda)?;
    if link.knots().knot_count() > KNOTS_PER_SCORE * (rows.scores().len() + 2) {
        link = condense(&link, rows.scores(), slope_max)?;
    }
    let trial = state.try_link(rows, link);
    if trial.outcome.change <= budget {
        return Ok(Some((lambda, trial)));
    }
    state.reject(trial);
    Ok(None)
}
