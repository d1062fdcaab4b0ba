//! The certificate of a fit: of probabilities that *did* see the labels of these rows.
//!
//! In each fold a forecaster sees scores that were fixed without the fold's labels, and its rows one
//! after the other: its forecast `q_i` of row `i` rests on the labels before it. The e-value is the same
//! product as on fresh rows, by the tower rule, so `Σ (q_i - η(s_i))² <= D` at the stated confidence.
//! Any other probabilities `v_i` of the same rows, however they came about, are then near `η` too:
//!
//! ```text
//! rms(v - η) <= rms(v - q) + sqrt(D / n)          the first term is computed, not bounded
//! ```
//!
//! Two prices are paid, both as nats next to `ln(1/δ)`:
//!
//! ```text
//! ln J                        the scores were picked among J that were fixed
//! ln(1/Hyp(m_k; n, n+, n_k))  fold k was dealt so that m_k of its n_k rows are positive (mean over the folds)
//! ```
//!
//! The second is the probability that a fold drawn without a look at the labels has just as many
//! positives: folds dealt by class are such folds, given that coincidence.

use rayon::prelude::*;

use super::evidence;
use super::excess::total_excess;
use super::monotonicity;
use super::plan;
use super::rows::{Columns, Fold, by_fold};
use crate::error::{Error, Result};

/// What is certified of a fit, on the rows it was fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FitBound {
    /// `1 - δ`.
    pub confidence: f64,
    /// Rows of positive weight.
    pub rows: usize,
    /// Folds of the scores that `η` is the truth of; 1 if there is one score for all rows.
    pub folds: usize,
    /// The probabilities of the *fitted model* for these rows: root mean square distance from
    /// `η(s_i)`, at the stated confidence. At most 1.
    pub rms: f64,
    /// The same for the learned link on the held-out scores (the averaged fold models).
    pub held_out_rms: f64,
    /// The same for the forecasts that both are compared with.
    pub forecast_rms: f64,
    /// An e-value against the assumption that `η` does not decrease with the score.
    pub against_monotone: f64,
}

impl FitBound {
    /// What is supposed, in words.
    pub const ASSUMPTION: &str =
        "rows are independent, and P(y = 1 | held-out score) does not decrease with the score";

    /// Whether the labels contradict the assumption at the confidence of the bound.
    pub fn assumption_rejected(&self) -> bool {
        self.against_monotone >= 1.0 / (1.0 - self.confidence)
    }
}

/// Rows with forecasts. *Invariant* (the caller's): equal lengths, scores finite, probabilities
/// strictly between 0 and 1, some row of positive weight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forecasts<'a> {
    /// Fixed without the labels of the row's fold, up to a choice among `choices`.
    pub scores: &'a [f64],
    /// Rests on scores and on labels of earlier rows only.
    pub forecasts: &'a [f64],
    /// Rests on scores only: what `λ` is chosen by.
    pub references: &'a [f64],
    pub labels: &'a [u8],
    pub weights: Option<&'a [f64]>,
    pub folds: Option<&'a [u32]>,
    /// `J`.
    pub choices: usize,
}

impl Forecasts<'_> {
    /// The bound for the forecasts; for other probabilities of the rows, [`Self::near`].
    pub fn bound(&self, confidence: f64) -> Result<FitBound> {
        super::check_confidence(confidence)?;
        let columns = Columns {
            scores: self.scores,
            probabilities: self.forecasts,
            references: self.references,
            labels: self.labels,
            weights: self.weights,
            folds: self.folds,
        };
        let folds = by_fold(&columns);
        if folds.is_empty() {
            let what = "rows of positive weight";
            return Err(Error::TooShort { what, length: 0, minimum: 1 });
        }
        let (count, choice) = (folds.len() as f64, (self.choices as f64).ln());
        let dealt = deal_prices(&folds);
        let log_delta =
            (1.0 / (1.0 - confidence)).ln() + choice + dealt.iter().sum::<f64>() / count;
        let regret = folds.iter().map(|fold| expected_regret(fold.rows())).sum();
        let components = plan::components(&folds, log_delta, regret);
        let excess = total_excess(&folds);
        let mass: f64 = folds.iter().map(Fold::mass).sum();
        let largest = evidence::largest(&components, excess, count, log_delta, false);
        let forecast_rms = (largest / mass).sqrt().min(1.0);
        Ok(FitBound {
            confidence,
            rows: folds.iter().map(Fold::rows).sum(),
            folds: folds.len(),
            rms: forecast_rms,
            held_out_rms: forecast_rms,
            forecast_rms,
            against_monotone: monotonicity::evidence(&folds, |k| dealt[k] + choice),
        })
    }

    /// `rms(p - η) <= rms(p - q) + rms(q - η)`.
    pub fn near(&self, bound: &FitBound, p: &[f64]) -> f64 {
        (bound.forecast_rms + self.distance(p)).min(1.0)
    }

    /// `rms(p - q)`, weighted as the rows are.
    fn distance(&self, p: &[f64]) -> f64 {
        let weight = |i: usize| self.weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..p.len()).map(weight).sum();
        let sum: f64 = (0..p.len()).map(|i| weight(i) * (p[i] - self.forecasts[i]).powi(2)).sum();
        (sum / total).sqrt()
    }
}

/// What forecasts lose against the best of their kind, in nats: about a half for each parameter and
/// factor e in the number of rows. A guess; it sharpens the bound and does not decide its truth.
fn expected_regret(rows: usize) -> f64 {
    (1.0 + rows as f64 / 16.0).ln()
}

/// `ln(1/Hyp(m_k; n, n+, n_k))` of every fold; 0 where there is one.
pub(super) fn deal_prices(folds: &[Fold]) -> Vec<f64> {
    let rows: usize = folds.iter().map(Fold::rows).sum();
    let inside: Vec<usize> = folds.par_iter().map(Fold::positives).collect();
    let positives: usize = inside.iter().sum();
    folds
        .iter()
        .zip(inside)
        .map(|(fold, inside)| {
            let size = fold.rows();
            let price = log_choose(rows, size)
                - log_choose(positives, inside)
                - log_choose(rows - positives, size - inside);
            price.max(0.0)
        })
        .collect()
}

/// `ln(n! / (k! (n-k)!))`.
fn log_choose(n: usize, k: usize) -> f64 {
    log_factorial(n) - log_factorial(k) - log_factorial(n - k)
}

/// `ln n!`; by Stirling's series from 32 on, where the term left out is below 1e-11.
fn log_factorial(n: usize) -> f64 {
    if n < 32 {
        return (2..=n).map(|k| (k as f64).ln()).sum();
    }
    let x = n as f64;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * x * x)) / (x * x)) / x;
    (x + 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the product, on both sides of the switch.
    #[test]
    fn log_factorials() {
        for n in [0, 1, 5, 31, 32, 100, 1000] {
            let sum: f64 = (1..=n).map(|k| (k as f64).ln()).sum();
            assert!((log_factorial(n) - sum).abs() <= 1e-12 * sum.max(1.0), "{n}");
        }
        assert!((log_choose(10, 3).exp() - 120.0).abs() < 1e-10);
    }
}
