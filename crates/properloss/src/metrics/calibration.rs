//! Whether probabilities mean what they say.
//!
//! Two readings. *CORP* (Dimitriadis, Gneiting and Jordan 2021): recalibrate by isotonic regression
//! of the labels on the forecasts and compare; no bins to choose. *Binned*: the classical one,
//! which depends on the bins, so they are named.

use super::{Forecasts, Group};
use crate::chain::{Pool, pooled};
use crate::error::{Result, require};

/// How forecasts are put into bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Binning {
    /// This many intervals `(k/B, (k+1)/B]` of [0, 1], the first with 0; empty ones are left out.
    EqualWidth(usize),
    /// This many bins of nearly equal weight by sorted forecast. Equal forecasts stay together
    /// (where the middle of their weight falls), so there may be fewer.
    EqualCount(usize),
}

/// A bin that is not empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Least forecast in it.
    pub lowest: f64,
    /// Largest forecast in it.
    pub highest: f64,
    /// Mean forecast.
    pub forecast: f64,
    /// Share of positives.
    pub rate: f64,
    /// Share of all weight.
    pub weight: f64,
}

/// A maximal set of forecasts that isotonic regression gives one value: a step of the CORP curve. Its `rate` is
/// the recalibrated probability, increasing from block to block.
pub type CalibrationBlock = Bin;

/// `brier = miscalibration - discrimination + uncertainty`, all three not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorpDecomposition {
    /// The Brier score.
    pub brier: f64,
    /// What recalibration by isotonic regression would gain.
    pub miscalibration: f64,
    /// What the recalibrated forecast gains over the base rate (also called refinement or
    /// resolution).
    pub discrimination: f64,
    /// The Brier score of the base rate, `π(1-π)`.
    pub uncertainty: f64,
}

/// Murphy's decomposition over bins, with what the bins lose:
/// `brier = reliability - resolution + uncertainty + within`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BinnedDecomposition {
    /// The Brier score.
    pub brier: f64,
    /// `Σ weight (forecast - rate)²`.
    pub reliability: f64,
    /// `Σ weight (rate - π)²`.
    pub resolution: f64,
    /// `π(1-π)`.
    pub uncertainty: f64,
    /// Spread of the forecasts within bins and its covariance with the labels; 0 if every bin holds
    /// one forecast.
    pub within: f64,
}

/// The bins that are not empty, by increasing forecast.
pub fn reliability_bins(
    probabilities: &[f64],
    labels: &[u8],
    weights: Option<&[f64]>,
    binning: Binning,
) -> Result<Vec<Bin>> {
    let (Binning::EqualWidth(count) | Binning::EqualCount(count)) = binning;
    require("the number of bins", 0.0, "at least 1", count != 0)?;
    let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
    Ok(bins(&forecasts.groups(), forecasts.total, binning))
}

/// The same of forecasts in order.
pub(super) fn bins(groups: &[Group], total: f64, binning: Binning) -> Vec<Bin> {
    let (Binning::EqualWidth(count) | Binning::EqualCount(count)) = binning;
    let mut before = 0.0;
    let mut bins: Vec<(usize, Bin)> = Vec::new();
    for group in groups {
        let number = match binning {
            Binning::EqualWidth(_) => equal_width_bin(group.value, count),
            Binning::EqualCount(_) => {
                let middle = (before + 0.5 * group.weight) / total;
                ((middle * count as f64) as usize).min(count - 1)
            }
        };
        before += group.weight;
        match bins.last_mut() {
            Some((last, bin)) if *last == number => add_to_bin(bin, group),
            _ => {
                let mut bin = Bin {
                    lowest: group.value,
                    highest: group.value,
                    forecast: 0.0,
                    rate: 0.0,
                    weight: 0.0,
                };
                add_to_bin(&mut bin, group);
                bins.push((number, bin));
            }
        }
    }
    bins.into_iter()
        .map(|(_, bin)| Bin {
            forecast: (bin.forecast / bin.weight).clamp(bin.lowest, bin.highest),
            rate: bin.rate / bin.weight,
            weight: bin.weight / total,
            ..bin
        })
        .collect()
}

/// Sums for now; divided at the end.
fn add_to_bin(bin: &mut Bin, group: &Group) {
    bin.highest = group.value;
    bin.forecast += group.weight * group.value;
    bin.rate += group.positive;
    bin.weight += group.weight;
}

/// `k` with `k/B < p <= (k+1)/B`, and 0 for `p = 0`.
fn equal_width_bin(p: f64, count: usize) -> usize {
    let edge = |k: usize| k as f64 / count as f64;
    let mut k = ((p * count as f64) as usize).min(count - 1);
    // One step at most: p B and the edges are each rounded once.
    if k > 0 && p <= edge(k) {
        k -= 1;
    } else if p > edge(k + 1) {
        k += 1;
    }
    k
}

/// `ECE = Σ_bins weight |forecast - rate|`.
pub fn expected_calibration_error(bins: &[Bin]) -> f64 {
    bins.iter().map(|bin| bin.weight * (bin.forecast - bin.rate).abs()).sum()
}

/// `MCE = max_bins |forecast - rate|`.
pub fn maximum_calibration_error(bins: &[Bin]) -> f64 {
    bins.iter().map(|bin| (bin.forecast - bin.rate).abs()).fold(0.0, f64::max)
}

/// Murphy's decomposition of the Brier score over bins.
pub fn binned_decomposition(
    probabilities: &[f64],
    labels: &[u8],
    weights: Option<&[f64]>,
    binning: Binning,
) -> Result<BinnedDecomposition> {
    let bins = reliability_bins(probabilities, labels, weights, binning)?;
    let brier = super::brier(probabilities, labels, weights)?;
    let base_rate: f64 = bins.iter().map(|bin| bin.weight * bin.rate).sum();
    let sum = |f: &dyn Fn(&Bin) -> f64| bins.iter().map(|bin| bin.weight * f(bin)).sum::<f64>();
    let reliability = sum(&|bin| (bin.forecast - bin.rate).powi(2));
    let resolution = sum(&|bin| (bin.rate - base_rate).powi(2));
    let uncertainty = base_rate * (1.0 - base_rate);
    let within = brier - (reliability - resolution + uncertainty);
    Ok(BinnedDecomposition { brier, reliability, resolution, uncertainty, within })
}

/// The steps of the CORP reliability curve: isotonic regression of the labels on the forecasts.
pub fn reliability_curve(
    probabilities: &[f64],
    labels: &[u8],
    weights: Option<&[f64]>,
) -> Result<Vec<CalibrationBlock>> {
    let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
    Ok(blocks(&forecasts.groups(), forecasts.total))
}

/// The pools of isotonic regression, each with the forecasts in it.
fn blocks(mut groups: &[Group], total: f64) -> Vec<CalibrationBlock> {
    let points =
        groups.iter().map(|group| Pool { sum: group.positive, weight: group.weight, count: 1 });
    let block = |pool: Pool| {
        let (own, rest) = groups.split_at(pool.count as usize);
        groups = rest;
        let (lowest, highest) = (own[0].value, own[own.len() - 1].value);
        let forecast: f64 = own.iter().rev().map(|group| group.weight * group.value).sum();
        CalibrationBlock {
            lowest,
            highest,
            forecast: (forecast / pool.weight).clamp(lowest, highest),
            rate: pool.sum / pool.weight,
            weight: pool.weight / total,
        }
    };
    pooled(points).into_iter().map(block).collect()
}

/// The CORP decomposition of the Brier score. With `S` the score of the forecasts, `S_C` of the
/// isotonically recalibrated ones and `S_R` of the base rate:
///
/// ```text
/// miscalibration = S - S_C,   discrimination = S_R - S_C,   uncertainty = S_R
/// ```
/// Within a block labels average to the rate, so `S_C = Σ weight rate (1 - rate)` and
/// `S_R - S_C = Σ weight (rate - π)²`, sums of terms that are not negative.
pub fn corp_decomposition(
    probabilities: &[f64],
    labels: &[u8],
    weights: Option<&[f64]>,
) -> Result<CorpDecomposition> {
    let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
    Ok(corp(&forecasts, &forecasts.groups()))
}

/// The same of forecasts with their order.
pub(super) fn corp(forecasts: &Forecasts<'_>, groups: &[Group]) -> CorpDecomposition {
    let blocks = blocks(groups, forecasts.total);
    let brier = forecasts.brier();
    let base_rate: f64 = blocks.iter().map(|block| block.weight * block.rate).sum();
    let recalibrated: f64 =
        blocks.iter().map(|block| block.weight * block.rate * (1.0 - block.rate)).sum();
    let discrimination =
        blocks.iter().map(|block| block.weight * (block.rate - base_rate).powi(2)).sum();
    CorpDecomposition {
        brier,
        miscalibration: (brier - recalibrated).max(0.0),
        discrimination,
        uncertainty: base_rate * (1.0 - base_rate),
    }
}
