//! The schedules that keep consecutive links close: the paper's theorem, and Theorem 2.

use super::state::{Bounds, State};
use super::{Outcome, Slopes, Termination};
use crate::certify::{
    Certificate, Closeness, f, largest_delta, paper_claim, paper_step, repaired_claim, stability,
};
use crate::error::{Error, Result};
use crate::rows::Rows;

/// What a schedule decided before Step 1 is taken.
struct Plan {
    eta: f64,
    p_star: f64,
    delta: f64,
    epsilon: f64,
    /// `[n_t, N_t]`.
    slopes: (f64, f64),
    end_slope: f64,
    /// Bounds on `ŷ_1/q_1`.
    first: (f64, f64),
    claimed: f64,
    close: bool,
    in_range: bool,
}

/// Rounds of the fixed point `p* -> η -> w_{t+1} -> p*`; it contracts fast.
const FIXED_POINT_ROUNDS: usize = 60;

/// Links cannot be kept closer than their values are rounded: with less the run is over.
const LEAST_CLOSENESS: f64 = 64.0 * f64::EPSILON;

/// The paper's Theorem 5 with the constraint of its Corollary 6, as stated: `γ = 0`,
/// `η = (1 - f(1+f) p* X/|g|)/(2 N X²)`, `N/n_t <= 1 + f(δ)`, `ŷ_1 ∈ q_1 [1-f, 1+f]`.
pub(super) fn paper(
    state: &mut State,
    rows: &mut dyn Rows,
    rule: Slopes,
    slope_max: f64,
) -> Result<Outcome> {
    let (gap, max_norm) = (state.gap(), state.max_norm());
    let mut p_star = state.base_rate().max(rows.mean_prediction(state.link(), 0.0)?);
    let mut eta = 0.0;
    for _ in 0..FIXED_POINT_ROUNDS {
        let delta = largest_delta(gap, p_star, max_norm);
        eta = paper_step(gap, delta, p_star, max_norm, slope_max, 0.0);
        let next = state.base_rate().max(rows.mean_prediction(state.link(), eta)?);
        let settled = (next - p_star).abs() <= 4.0 * f64::EPSILON;
        p_star = next;
        if settled {
            break;
        }
    }
    let delta = largest_delta(gap, p_star, max_norm);
    let epsilon = f(delta);
    if epsilon <= LEAST_CLOSENESS {
        return Ok(Outcome::Ended(Termination::GapClosed));
    }
    let slope_min = match rule {
        Slopes::Constant => slope_max,
        Slopes::Widest => slope_max / (1.0 + epsilon),
    };
    let plan = Plan {
        eta,
        p_star,
        delta,
        epsilon,
        slopes: (slope_min, slope_max),
        end_slope: slope_min,
        first: (1.0 - epsilon, 1.0 + epsilon),
        claimed: paper_claim(p_star, delta, slope_min),
        close: state.slopes.1 / slope_min <= (1.0 + epsilon) * (1.0 + 4.0 * f64::EPSILON),
        in_range: state.stays_in_range(rows, eta)?,
    };
    follow(state, rows, plan)
}

/// Theorem 2 and its corollary with a steep end: `η = 1/(N_{t-1} X²)`, every score in range,
/// `ε = f(δ)`, `N_{t-1} <= N_t <= (1+ε) n_{t-1}`, `N_{t-1} <= (1+ε) n_t`, `n_t <= n_{t-1}`,
/// `ŷ_1 ∈ q_1 [1/(1+ε), 1+ε]`.
pub(super) fn repaired(
    state: &mut State,
    rows: &mut dyn Rows,
    rule: Slopes,
    slope_max: f64,
) -> Result<Outcome> {
    let (gap, max_norm) = (state.gap(), state.max_norm());
    let (n_before, big_n_before) = state.slopes;
    let eta = 1.0 / (big_n_before * max_norm * max_norm);
    if !state.stays_in_range(rows, eta)? {
        return Ok(Outcome::Ended(Termination::ScoresOutOfRange));
    }
    let p_star = state.base_rate().max(rows.mean_prediction(state.link(), eta)?);
    let delta = largest_delta(gap, p_star, max_norm);
    let epsilon = f(delta);
    if epsilon <= LEAST_CLOSENESS {
        return Ok(Outcome::Ended(Termination::GapClosed));
    }
    if big_n_before > (1.0 + epsilon) * n_before {
        return Ok(Outcome::Ended(Termination::InfeasibleSlope));
    }
    let slopes = match rule {
        Slopes::Constant => (n_before, big_n_before),
        Slopes::Widest => {
            let big_n = slope_max.min((1.0 + epsilon) * n_before);
            let n = (big_n / (1.0 + 0.5 * epsilon)).max(big_n_before / (1.0 + epsilon));
            (n.min(n_before), big_n)
        }
    };
    // N_t >= N_{t-1} under both rules: N_{t-1} <= N and N_{t-1} <= (1+ε) n_{t-1} were checked.
    let closeness = Closeness { epsilon, slope_min: slopes.0.min(n_before), steep_end: true };
    let plan = Plan {
        eta,
        p_star,
        delta,
        epsilon,
        slopes,
        end_slope: slopes.1,
        first: (1.0 / (1.0 + epsilon), 1.0 + epsilon),
        claimed: repaired_claim(gap, 1.0, big_n_before, max_norm * max_norm, closeness, p_star),
        close: true,
        in_range: true,
    };
    follow(state, rows, plan)
}

/// Steps 1 to 4 under a plan.
fn follow(state: &mut State, rows: &mut dyn Rows, plan: Plan) -> Result<Outcome> {
    let (gap, loss_before) = (state.gap(), state.loss());
    let [divergence] = rows.divergences(state.link(), [plan.eta])?;
    let step_decrease = plan.eta * gap * gap - divergence;
    // Step 1, Step 2.
    state.advance(rows, plan.eta)?;
    let q_1 = state.lowest_value();
    // Step 3: q_1 [1-β, 1+α] replaces ŷ_1 >= 0.
    let bounds = Bounds {
        slopes: plan.slopes,
        first: ((plan.first.0 * q_1).min(1.0), (plan.first.1 * q_1).min(1.0)),
        end_slope: plan.end_slope,
        every_knot: true,
    };
    let link = match state.fit_previous(&rows.ordered()?, bounds) {
        Ok(link) => link,
        Err(Error::InfeasibleSlope { .. }) => {
            state.keep_link(rows)?;
            return Ok(Outcome::Ended(Termination::InfeasibleSlope));
        }
        Err(error) => return Err(error),
    };
    // Step 4.
    let mut ordered = rows.ordered()?;
    let trial = state.try_link(&ordered, link);
    let link_cost = trial.outcome.change;
    state.adopt(&mut ordered, trial);
    let first = stability(state.lowest_value(), q_1);
    let nested = plan.slopes.0 <= state.slopes.0 && plan.slopes.1 >= state.slopes.1;
    state.slopes = plan.slopes;
    Ok(Outcome::Moved(Certificate {
        eta: plan.eta,
        slope_min: plan.slopes.0,
        slope_max: plan.slopes.1,
        p_star: plan.p_star,
        delta: plan.delta,
        epsilon: plan.epsilon,
        alpha: first.alpha,
        beta: first.beta,
        claimed: plan.claimed,
        // On a line with η = 1/(N X²) both sides can be equal.
        step_held: divergence <= 0.5 * plan.eta * gap * gap * (1.0 + 1e-9),
        in_range: plan.in_range,
        nested,
        close: plan.close,
        ..state.certificate(loss_before, gap, step_decrease, link_cost)
    }))
}
