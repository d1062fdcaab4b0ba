//! The paper's Theorem 10, term by term.

use super::scored::Scored;
use super::step_change::potential_divergence;
use crate::error::Result;
use crate::link::{InverseLink, PiecewiseLink};

/// The terms of one iteration. With `ŷ_{t+1} = u_{t+1}(w_{t+1}·x)` and `h = u_t⁻¹(ŷ_{t+1})`:
///
/// `ℓ^t_{t+1}(w_{t+1}) = ℓ^t_t(w_t) - E[D_{U_t}(w_t·x ‖ h)] - F_{t+1} - L_{t+1}` (an identity), and
/// `ℓ^{t+1}_{t+1}(w_{t+1}) ≤ ℓ^t_t(w_t) - E[D_{U_t}(w_t·x ‖ h)] - L_{t+1} - Q_{t+1}`.
///
/// Both suppose that every `w_t·x_i` is in the range of `u_t` (so it is after Step 4).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Decomposition {
    /// `ℓ^t_t(S, w_t)`.
    pub loss: f64,
    /// `ℓ^{t+1}_{t+1}(S, w_{t+1})`.
    pub loss_next: f64,
    /// `ℓ^t_{t+1}(S, w_{t+1})`: the old loss of the new predictions.
    pub mixed: f64,
    /// `E[D_{U_t}(w_t·x ‖ u_t⁻¹ ∘ u_{t+1}(w_{t+1}·x))]`, never negative.
    pub divergence: f64,
    /// `F_{t+1} = E[(w_t·x - h)(u_t(w_{t+1}·x) - y)]`.
    pub f: f64,
    /// `L_{t+1} = E[(w_t·x - h)(ŷ_{t+1} - u_t(w_{t+1}·x))]`; nonnegative if slopes are nested, the
    /// scores in range and Step 3 exact.
    pub l: f64,
    /// `Q_{t+1} = F_{t+1} - (N_{t-1}/n_t - 1) ℓ^t_{t+1}(S, w_{t+1})`.
    pub q: f64,
}

impl Decomposition {
    /// `before` holds the scores of `w_t`, `after` those of `w_{t+1}` for the same examples;
    /// `slope_max_before` is `N_{t-1}`, `slope_min` is `n_t`.
    pub fn new(
        u_t: &PiecewiseLink,
        u_next: &PiecewiseLink,
        before: &Scored,
        after: &[f64],
        slope_max_before: f64,
        slope_min: f64,
    ) -> Result<Self> {
        let next = before.with_scores(after)?;
        let h: Vec<f64> = after.iter().map(|&z| u_t.u_inverse(u_next.u(z))).collect();
        let z = before.z();
        let f = before.mean(|i| (z[i] - h[i]) * (u_t.u(after[i]) - f64::from(before.y()[i])));
        let l = before.mean(|i| (z[i] - h[i]) * (u_next.u(after[i]) - u_t.u(after[i])));
        let mixed = next.mixed_loss(u_t, u_next);
        Ok(Self {
            loss: before.mixed_loss(u_t, u_t),
            loss_next: next.mixed_loss(u_next, u_next),
            mixed,
            divergence: before.mean(|i| potential_divergence(u_t, z[i], h[i])),
            f,
            l,
            q: f - (slope_max_before / slope_min - 1.0) * mixed,
        })
    }
}
