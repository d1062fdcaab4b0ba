//! The deterministic companion: averaging by held-out likelihood never costs more than a constant.

use crate::error::{Error, Result, finite, same_length};

/// What an average of candidates can cost on the rows that weighed it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AveragingCost {
    /// `a = softmax(-L_j - r_j)`.
    pub weights: Vec<f64>,
    /// `Σ_j a_j L_j - L_0`, nats: the summed log-loss of the averaged probabilities is at most this
    /// much above that of candidate 0. Negative where averaging gained.
    pub cost: f64,
    /// `ln Σ_j exp(r_0 - r_j)`, nats: no data make `cost` larger.
    pub worst: f64,
}

/// Candidates with summed held-out log-losses `L_j` and prices `r_j`, weighed by
/// `a = softmax(-L_j - r_j)`; candidate 0 is the one to compare with.
///
/// By convexity the summed loss of the averaged probabilities is at most `Σ a_j L_j`, and
///
/// `Σ a_j L_j = -ln Σ_j exp(-L_j - r_j) + H(a) - Σ a_j r_j <= L_0 + r_0 + (H(a) - Σ a_j r_j)`,
///
/// where `H(a) - Σ a_j r_j <= ln Σ_j exp(-r_j)` (Gibbs). With prices `0, 1, 2, ..` that is at most
/// `ln(e/(e-1)) = 0.459` nats **in total**, for any number of candidates and any data; with equal
/// prices `ln J`.
pub fn averaging_cost(losses: &[f64], prices: &[f64]) -> Result<AveragingCost> {
    if losses.is_empty() {
        return Err(Error::TooShort { what: "losses", length: 0, minimum: 1 });
    }
    same_length(("prices", prices.len()), ("losses", losses.len()))?;
    for (what, values) in [("losses", losses), ("prices", prices)] {
        finite(what, values)?;
    }
    let scores: Vec<f64> = losses.iter().zip(prices).map(|(l, r)| -l - r).collect();
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = scores.iter().map(|score| (score - best).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    let cost = weights.iter().zip(losses).map(|(a, l)| a * (l - losses[0])).sum();
    let worst = prices.iter().map(|r| (prices[0] - r).exp()).sum::<f64>().ln();
    Ok(AveragingCost { weights, cost, worst })
}
