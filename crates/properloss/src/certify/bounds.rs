//! What each statement claims, as a number to hold against the observed decrease.

use super::constants::f;

/// How near two consecutive links are, for Theorem 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closeness {
    /// `ε`: `N_t ≤ (1+ε) n_{t-1}`, `N_{t-1} ≤ (1+ε) n_t`, `α ≤ ε`, `β ≤ ε/(1+ε)`; at most 1.
    pub epsilon: f64,
    /// `min(n_t, n_{t-1})`.
    pub slope_min: f64,
    /// The new link leaves 0 with slope `N_t ≥ N_{t-1}`.
    pub steep_end: bool,
}

/// Theorem 2: the change of link costs at most `(ε p*/2n) max{2, (3 + ε²/(1+ε)) p*}`; with a steep
/// end at most `ε p*/n`.
pub fn closeness_bound(closeness: Closeness, p_star: f64) -> f64 {
    let e = closeness.epsilon;
    let factor = if closeness.steep_end { 0.0 } else { 3.0 + e * e / (1.0 + e) };
    0.5 * e * p_star / closeness.slope_min * f64::max(2.0, factor * p_star)
}

/// Theorem 2: with `η = c/(N_{t-1} Λ')`, `Λ' ≥ λ_max(E[x xᵀ])` (`X²` will do), the loss falls by at
/// least `c(1-c/2)|g|²/(N_{t-1} Λ')` minus [`closeness_bound`].
pub fn repaired_claim(
    gap: f64,
    c: f64,
    slope_max_before: f64,
    curvature: f64,
    closeness: Closeness,
    p_star: f64,
) -> f64 {
    c * (1.0 - 0.5 * c) * gap * gap / (slope_max_before * curvature)
        - closeness_bound(closeness, p_star)
}

/// The paper's claim (its Theorem 5): `p* f(δ)/n_t`. False with the paper's step size and closeness
/// `f(δ)`; true with `η = 1/(N_{t-1} X²)` and the same closeness with a steep end, or
/// `(2/3) f(δ)` with any end.
pub fn paper_claim(p_star: f64, delta: f64, slope_min: f64) -> f64 {
    p_star * f(delta) / slope_min
}

/// `R` of the Corollary: the decrease is at least `(p*/n_t) R`,
/// `R = 2δ/(1+ε) - (ε/2) max{2, (3 + ε²/(1+ε)) p*}`; with a steep end `R = 2δ/(1+ε) - ε`. The slopes
/// of `closeness` do not enter.
pub fn corollary_rate(delta: f64, p_star: f64, closeness: Closeness) -> f64 {
    let unit = Closeness { slope_min: 1.0, ..closeness };
    2.0 * delta / (1.0 + closeness.epsilon) - closeness_bound(unit, p_star) / p_star
}

/// Theorem P, the paper's own route corrected: with nested slopes, scores in range, an exact Step 3,
/// `b = |g| - ε(1+ε) p* X ≥ 0` and `η = b/(2 N_t X² |g|)` the loss falls by at least
/// `b²/(4 N_t X²) - ε(2 + ε/2) p*/n_t`.
pub fn corrected_paper_claim(
    gap: f64,
    epsilon: f64,
    p_star: f64,
    max_norm: f64,
    slope_min: f64,
    slope_max: f64,
) -> f64 {
    let b = gap - epsilon * (1.0 + epsilon) * p_star * max_norm;
    b * b / (4.0 * slope_max * max_norm * max_norm)
        - epsilon * (2.0 + 0.5 * epsilon) * p_star / slope_min
}

/// Theorem 1, the rate: `min_{s ≤ t} |g_s| ≤ sqrt(2 ℓ_1 / ((1-θ) Σ_{s ≤ t} η_s))`.
///
/// It holds for the step sizes that were taken; with `η ≥ 1/(2NΛ)` from the line search it is at
/// most `sqrt(4 N Λ ℓ_1 / ((1-θ) t))`.
pub fn gap_bound(first_loss: f64, theta: f64, sum_of_steps: f64) -> f64 {
    (2.0 * first_loss / ((1.0 - theta) * sum_of_steps)).sqrt()
}
