//! The constants of the analysis, under the paper's names.

use super::scored::Scored;
use crate::error::{Result, same_length};
use crate::link::{InverseLink, PiecewiseLink};
use crate::special::Sum;

/// The Euclidean norm.
pub fn norm(v: &[f64]) -> f64 {
    let mut sum = Sum::default();
    for &value in v {
        sum.add(value * value);
    }
    sum.value().sqrt()
}

/// `g = μ_y - μ_t = E[(y - ŷ_t) x]`, the gap of the two mean operators: minus the gradient of
/// `ℓ_{u_t}` at `w_t` when `ŷ_t = u_t(w_t·x)`.
///
/// `adjoint(r, g)` has to write `Σ_i r_i x_i` to `g`: one pass over the data.
pub fn mean_operator_gap(
    scored: &Scored,
    y_hat: &[f64],
    columns: usize,
    adjoint: impl FnOnce(&[f64], &mut [f64]),
) -> Result<Vec<f64>> {
    let m = scored.z().len();
    same_length(("y_hat", y_hat.len()), ("z", m))?;
    let total = scored.total_weight();
    let residuals: Vec<f64> =
        (0..m).map(|i| scored.weight(i) / total * (f64::from(scored.y()[i]) - y_hat[i])).collect();
    let mut gap = vec![0.0; columns];
    adjoint(&residuals, &mut gap);
    Ok(gap)
}

/// `p*_t = max{E[y], E[u_t(w_{t+1}·x)]}`; `next` holds the scores of `w_{t+1}`.
pub fn p_star(u_t: &PiecewiseLink, next: &Scored) -> f64 {
    next.base_rate().max(next.mean(|i| u_t.u(next.z()[i])))
}

/// The largest `δ_t` of the regime `|g| ≥ 2 sqrt(p* δ) X`: `δ = (|g|/X)² / (4 p*)`.
///
/// Since `|g| ≤ X`, always `p* δ ≤ 1/4`.
pub fn largest_delta(gap: f64, p_star: f64, max_norm: f64) -> f64 {
    (gap / max_norm).powi(2) / (4.0 * p_star)
}

/// `f(z) = z/(1+z)`.
pub fn f(z: f64) -> f64 {
    z / (1.0 + z)
}

/// The largest `γ_t` the paper allows: `sqrt(f(f(δ))/2)`.
pub fn gamma_max(delta: f64) -> f64 {
    (0.5 * f(f(delta))).sqrt()
}

/// The step size of the paper's Theorem 5,
/// `η = (1-γ)/(2 N_t X²) (1 - f(δ)(1+f(δ)) p* X / |g|)`.
pub fn paper_step(
    gap: f64,
    delta: f64,
    p_star: f64,
    max_norm: f64,
    slope_max: f64,
    gamma: f64,
) -> f64 {
    let closeness = f(delta) * (1.0 + f(delta));
    (1.0 - gamma) / (2.0 * slope_max * max_norm * max_norm)
        * (1.0 - closeness * p_star * max_norm / gap)
}

/// Where the step of the paper's Theorem 5 lies:
/// `η ∈ (1-γ)/(2 N X²) (1 - s [2 sqrt(δ p*), 1])`, `s = sqrt(δ p*) (1+2δ)/(2 (1+δ)²)`.
///
/// The paper has `2+δ` for `1+2δ` (its `f(1+f)` is wrong in the appendix) and, from `|g| <= 2X`,
/// `sqrt(δ p*)` for the lower end; `|g| <= X` gives twice that. Returned smallest first.
pub fn step_interval(
    delta: f64,
    p_star: f64,
    max_norm: f64,
    slope_max: f64,
    gamma: f64,
) -> (f64, f64) {
    let root = (delta * p_star).sqrt();
    let s = 0.5 * root * (1.0 + 2.0 * delta) / (1.0 + delta).powi(2);
    let unit = (1.0 - gamma) / (2.0 * slope_max * max_norm * max_norm);
    (unit * (1.0 - s), unit * (1.0 - s * 2.0 * root))
}

/// `(α, β)` of the paper's Definition 3: `ŷ_1 ∈ q_1 [1-β, 1+α]`, `q_1 = u_t(w_{t+1}·x_1)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stability {
    /// How far `ŷ_1` may lie above `q_1`, relative to `q_1`.
    pub alpha: f64,
    /// How far `ŷ_1` may lie below `q_1`, relative to `q_1`.
    pub beta: f64,
}

/// The least `(α, β)` for which a step from `q_1` to `ŷ_1` is stable; `α` is infinite if the link
/// was 0 at the lowest score and no longer is.
pub fn stability(y_hat_1: f64, q_1: f64) -> Stability {
    if q_1 == 0.0 {
        return Stability { alpha: if y_hat_1 > 0.0 { f64::INFINITY } else { 0.0 }, beta: 0.0 };
    }
    let relative = (y_hat_1 - q_1) / q_1;
    Stability { alpha: relative.max(0.0), beta: (-relative).max(0.0) }
}
