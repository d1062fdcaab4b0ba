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
use super::rows::{Columns, Fold, Part};
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

/// Forecasts of the rows of every fold.
pub(crate) struct Forecasts {
    folds: Vec<Forecast>,
}

/// Forecasts of some rows, by their numbers among all.
struct Forecast {
    rows: Vec<u32>,
    weights: Option<Vec<f64>>,
    q: Vec<f64>,
}

impl Forecasts {
    /// Forecasts by `forecast`, which knows the rows of a fold and its number, and the bound for them; for other
    /// probabilities of the rows, [`Self::near`].
    ///
    /// *The caller's*: `scores` are finite and fixed without the labels of the row's fold, up to a choice among
    /// `choices` (`J`); a forecast is strictly between 0 and 1 and rests on scores and on labels of rows before it
    /// in some order; `reference`, which `λ` is chosen by, rests on the score alone.
    pub fn certified(
        columns: &Columns<'_>,
        forecast: impl Fn(usize, &Part) -> Vec<f64> + Sync,
        reference: impl Fn(f64) -> f64 + Sync,
        choices: usize,
        confidence: f64,
    ) -> Result<(Self, FitBound)> {
        super::check_confidence(confidence)?;
        let (forecasts, folds): (Vec<Forecast>, Vec<Fold>) = columns
            .by_fold()
            .into_par_iter()
            .enumerate()
            .map(|(number, part)| {
                let q = forecast(number, &part);
                let fold = Fold::new(&part, &q, &reference);
                (Forecast { rows: part.rows, weights: part.weights, q }, fold)
            })
            .unzip();
        let bound = bound(&folds, choices, confidence)?;
        Ok((Self { folds: forecasts }, bound))
    }

    /// `rms(p - η) <= rms(p - q) + rms(q - η)`.
    pub fn near(&self, bound: &FitBound, p: &[f64]) -> f64 {
        (bound.forecast_rms + self.distance(p)).min(1.0)
    }

    /// `rms(p - q)`, weighted as the rows are.
    fn distance(&self, p: &[f64]) -> f64 {
        let parts: Vec<[f64; 2]> = self.folds.par_iter().map(|fold| fold.squares(p)).collect();
        let [sum, total] = parts.iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        (sum / total).sqrt()
    }
}

impl Forecast {
    /// `Σ w (p - q)²` and `Σ w`.
    fn squares(&self, p: &[f64]) -> [f64; 2] {
        let square = |(&i, q): (&u32, &f64)| (p[i as usize] - q).powi(2);
        let squares = self.rows.iter().zip(&self.q).map(square);
        match &self.weights {
            None => [squares.sum(), self.rows.len() as f64],
            Some(w) => [w.iter().zip(squares).map(|(w, s)| w * s).sum(), w.iter().sum()],
        }
    }
}

/// The bound for the probabilities of the folds.
fn bound(folds: &[Fold], choices: usize, confidence: f64) -> Result<FitBound> {
    if folds.is_empty() {
        let what = "rows of positive weight";
        return Err(Error::TooShort { what, length: 0, minimum: 1 });
    }
    let (count, choice) = (folds.len() as f64, (choices as f64).ln());
    let dealt = deal_prices(folds);
    let log_delta = (1.0 / (1.0 - confidence)).ln() + choice + dealt.iter().sum::<f64>() / count;
    let regret = folds.iter().map(|fold| expected_regret(fold.rows())).sum();
    let components = plan::components(folds, log_delta, regret);
    let excess = total_excess(folds);
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
        against_monotone: monotonicity::evidence(folds, |k| dealt[k] + choice),
    })
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
