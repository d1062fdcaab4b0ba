//! From e-values to a bound.

use super::excess::Excess;
use super::plan::Component;

/// The largest `D` the labels do not exclude: `Σ_c ω_c exp((κ_c D - λ_c E_c)/K) = 1/δ`, rounded up.
///
/// For a fresh row `κ` becomes `1 - exp(-κ)`: the mean over the rows is inside the exponential then.
pub(super) fn largest(
    components: &[Component; 2],
    excess: Excess,
    folds: f64,
    log_delta: f64,
    fresh: bool,
) -> f64 {
    let lines = components.map(|c| {
        let kappa = if fresh { -(-c.kappa).exp_m1() } else { c.kappa };
        (kappa / folds, c.log_share - c.lambda * c.excess(excess) / folds)
    });
    // ln Σ exp(slope D + offset), increasing in D.
    let log_evidence = |d: f64| {
        let values = lines.map(|(slope, offset)| slope * d + offset);
        let top = f64::max(values[0], values[1]);
        if top == f64::NEG_INFINITY {
            return top;
        }
        top + values.iter().map(|value| (value - top).exp()).sum::<f64>().ln()
    };
    // Each component alone reaches 1/δ here.
    let reach = |(slope, offset): (f64, f64)| (log_delta - offset) / slope;
    let (mut low, mut high) = (0.0, f64::min(reach(lines[0]), reach(lines[1])).max(0.0));
    if !high.is_finite() {
        return f64::INFINITY;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if log_evidence(middle) < log_delta { low = middle } else { high = middle }
    }
    high
}
