//! How columns are scaled: only a penalty a model and column.
//!
//! ```text
//! model k penalises the standardised weight b_j, on the summed loss, by P_kj b_j² / 2,
//! P_kj = 10^-g T_k s_kj^(2a) / s_j²,   T_k = Σ_i s_ki^(2 - 2a)
//! s_kj  deviation of column j over the rows that model k sees; s_j over all rows
//! a     1: every column standardised;  0: one scale for all columns, as on raw data;  1/2: between
//! V     variance of log s_j under the weights n_j / (n_j + 10),  n_j = (Σ c²)² / Σ c⁴, c centred
//! D     (mean of 10 / (n_j + 10))⁴
//! ```
//!
//! `n_j` is the number of rows that the deviation rests on. A column that is constant in the rows of
//! a model counts with its deviation over all rows there: its weight is then 0.

use crate::proper::products::Seen;
use crate::proper::rows::{FoldMoments, LANES, Lane};

/// A variance below this share of the mean square is rounding.
const CONSTANT: f64 = 1e-12;
/// Rows at which a deviation is half believed.
const HALF_BELIEVED: f64 = 10.0;
/// No squared deviation that a metric uses is smaller, relative to that of all rows.
const LEAST_SQUARE: f32 = 1e-20;
/// No penalty is larger.
const LARGEST: f64 = 1e200;

/// Means and deviations of the columns, over all rows and over the rows of every model.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct Scales {
    pub mean: Vec<f64>,
    /// 0 for a column that is constant.
    pub deviation: Vec<f64>,
    /// `s_kj / s_j` of every model, 0 where a column is constant in it.
    relative: Vec<Vec<f64>>,
    /// `(mean over the rows of model k - mean over all) / s_j`; until [`Self::columns_seen`] was asked for.
    offset: Vec<Vec<f64>>,
    /// `s_j / max s`.
    share: Vec<f64>,
    /// `V`.
    pub spread: f64,
    /// `D`.
    pub thinness: f64,
    /// `T` of every model under the scalings that were asked for: sums over all columns.
    traces: Vec<(f64, Vec<f64>)>,
}

impl Scales {
    pub(in crate::proper) fn new(moments: &FoldMoments) -> Self {
        let (folds, columns) = (moments.weight.len(), moments.shift.len());
        let mut scales = Self {
            mean: vec![0.0; columns],
            deviation: vec![0.0; columns],
            relative: vec![vec![0.0; columns]; folds + 1],
            offset: vec![vec![0.0; columns]; folds + 1],
            share: vec![0.0; columns],
            spread: 0.0,
            thinness: 0.0,
            traces: Vec::new(),
        };
        let mut rests_on = vec![0.0; columns];
        for j in 0..columns {
            let variance = |skip: usize| {
                let (mut w, mut first, mut second) = (0.0, 0.0, 0.0);
                for k in (0..folds).filter(|&k| k != skip) {
                    w += moments.weight[k];
                    first += moments.first[k][j];
                    second += moments.second[k][j];
                }
                let (mean, square) = (first / w, second / w);
                let variance = square - mean * mean;
                (mean, if variance > CONSTANT * square { variance } else { 0.0 }, w)
            };
            let (mean, all, w) = variance(folds);
            let unit = moments.unit[j];
            scales.mean[j] = moments.shift[j] + mean * unit;
            let deviation = all.sqrt() * unit;
            if !(deviation > 8.0 * f64::EPSILON * scales.mean[j].abs() && deviation.is_finite()) {
                continue;
            }
            scales.deviation[j] = deviation;
            for k in 0..folds {
                let (own_mean, own, _) = variance(k);
                scales.relative[k][j] = (own / all).sqrt();
                scales.offset[k][j] = (own_mean - mean) / all.sqrt();
            }
            scales.relative[folds][j] = 1.0;
            let second: f64 = moments.second.iter().map(|s| s[j]).sum();
            let fourth = moments.fourth[j] - 4.0 * mean * moments.third[j]
                + mean * mean * (6.0 * second - 3.0 * mean * mean * w);
            let square = w * all;
            rests_on[j] = if fourth > 0.0 && fourth.is_finite() {
                (square / fourth * square).clamp(1.0, w.max(1.0))
            } else {
                1.0
            };
        }
        let largest = scales.deviation.iter().copied().fold(0.0, f64::max);
        if largest > 0.0 {
            scales.share = scales.deviation.iter().map(|s| s / largest).collect();
        }
        scales.spread = spread(&scales.share, &rests_on);
        scales.thinness = thinness(&scales.share, &rests_on);
        scales
    }

    /// One over the deviations, 0 for constant columns.
    pub(in crate::proper) fn factors(&self) -> Vec<f64> {
        self.deviation.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect()
    }

    /// Number of models.
    pub(in crate::proper) fn models(&self) -> usize {
        self.relative.len()
    }

    /// Columns that are not constant.
    pub(in crate::proper) fn columns(&self) -> usize {
        self.deviation.iter().filter(|&&s| s > 0.0).count()
    }

    /// Sums up `T` once for these scalings: every point of the path asks for it.
    pub(in crate::proper) fn sum_traces(&mut self, scalings: &[f64]) {
        let of = |&a: &f64| (a, (0..self.models()).map(|k| self.sum_trace(k, a)).collect());
        self.traces = scalings.iter().map(of).collect();
    }

    /// `T` of a model, with the deviations in units of the largest.
    fn trace(&self, model: usize, a: f64) -> f64 {
        let known = self.traces.iter().find(|(known, _)| *known == a);
        known.map_or_else(|| self.sum_trace(model, a), |(_, traces)| traces[model])
    }

    fn sum_trace(&self, model: usize, a: f64) -> f64 {
        let own = self.share.iter().zip(&self.relative[model]).map(|(s, r)| s * r);
        own.filter(|s| *s > 0.0).map(|s| power(s, 2.0 - 2.0 * a)).sum()
    }

    /// `C = 10^g / T`: the strength in the units of columns divided by `s_j^a`.
    pub(in crate::proper) fn strength(&self, a: f64, g: f64) -> f64 {
        let largest = self.deviation.iter().copied().fold(0.0, f64::max);
        let unit = if largest > 0.0 { largest.powf(2.0 - 2.0 * a) } else { 1.0 };
        let trace = self.trace(self.relative.len() - 1, a);
        10f64.powf(g) / if trace > 0.0 { trace * unit } else { 1.0 }
    }

    /// How the columns lie in the rows of every model, by groups of eight; once.
    pub(in crate::proper) fn columns_seen(&mut self) -> Vec<Seen> {
        let offset = std::mem::take(&mut self.offset);
        let (models, columns) = (self.relative.len(), self.share.len());
        (0..models.div_ceil(LANES))
            .map(|group| {
                let mut seen = Seen::plain(columns + 1);
                for l in 0..LANES.min(models - group * LANES) {
                    let k = group * LANES + l;
                    for j in 0..columns {
                        let r = self.relative[k][j];
                        if r > 0.0 {
                            seen.square[j][l] = ((r * r) as f32).max(LEAST_SQUARE);
                        }
                        seen.offset[j][l] = offset[k][j] as f32;
                    }
                }
                seen
            })
            .collect()
    }

    /// `P` of every model, by groups of eight; 0 for the intercept.
    pub(in crate::proper) fn penalty(&self, a: f64, g: f64) -> Vec<Vec<Lane>> {
        strengthened(&self.unit(a), g)
    }

    /// `P` at `g = 0`, not yet kept in its limits.
    pub(in crate::proper) fn unit(&self, a: f64) -> Vec<Vec<Lane>> {
        let (models, columns) = (self.relative.len(), self.share.len());
        let all = self.trace(models - 1, a);
        let traces: Vec<f64> = (0..models)
            .map(|k| Some(self.trace(k, a)).filter(|t| *t > 0.0).unwrap_or(all))
            .collect();
        (0..models.div_ceil(LANES))
            .map(|group| {
                let mut penalty = vec![[1.0; LANES]; columns + 1];
                penalty[columns] = [0.0; LANES];
                for (j, penalty) in penalty[..columns].iter_mut().enumerate() {
                    let s = self.share[j];
                    if s == 0.0 {
                        continue;
                    }
                    let base = 1.0 / power(s, 2.0 - 2.0 * a);
                    for l in 0..LANES.min(models - group * LANES) {
                        let k = group * LANES + l;
                        let r = if self.relative[k][j] > 0.0 { self.relative[k][j] } else { 1.0 };
                        penalty[l] = traces[k] * power(r, 2.0 * a) * base;
                    }
                }
                penalty
            })
            .collect()
    }
}

/// `10^-g P`, within limits; the intercept, which is last, has none.
pub(super) fn strengthened(unit: &[Vec<Lane>], g: f64) -> Vec<Vec<Lane>> {
    let factor = 10f64.powf(-g);
    let of_column = |unit: &Lane| {
        let mut penalty = [0.0; LANES];
        for l in 0..LANES {
            penalty[l] = (factor * unit[l]).clamp(1.0 / LARGEST, LARGEST);
        }
        penalty
    };
    let of_group = |unit: &Vec<Lane>| {
        let mut penalty: Vec<Lane> = unit.iter().map(of_column).collect();
        penalty.iter_mut().next_back().into_iter().for_each(|last| *last = [0.0; LANES]);
        penalty
    };
    unit.iter().map(of_group).collect()
}

/// `x^e`, quick for the exponents of the default scalings.
fn power(x: f64, exponent: f64) -> f64 {
    match exponent {
        0.0 => 1.0,
        1.0 => x,
        2.0 => x * x,
        _ => x.powf(exponent),
    }
}

/// Variance of the logarithms under the weights `n / (n + 10)`.
fn spread(share: &[f64], rests_on: &[f64]) -> f64 {
    let (mut weight, mut mean) = (0.0, 0.0);
    let parts = || {
        let kept = share.iter().zip(rests_on).filter(|(s, _)| **s > 0.0);
        kept.map(|(s, n)| (s.ln(), n / (n + HALF_BELIEVED)))
    };
    for (log, q) in parts() {
        weight += q;
        mean += q * log;
    }
    if weight == 0.0 {
        return 0.0;
    }
    mean /= weight;
    parts().map(|(log, q)| q * (log - mean) * (log - mean)).sum::<f64>() / weight
}

/// How few rows the deviations rest on: `(mean of 10 / (n + 10))⁴` over the columns that vary. Near 1 for rare
/// words, below .02 for columns of 60 normal numbers.
fn thinness(share: &[f64], rests_on: &[f64]) -> f64 {
    let (mut columns, mut sum) = (0.0, 0.0);
    for (_, n) in share.iter().zip(rests_on).filter(|(s, _)| **s > 0.0) {
        columns += 1.0;
        sum += HALF_BELIEVED / (n + HALF_BELIEVED);
    }
    if columns > 0.0 { (sum / columns).powi(4) } else { 0.0 }
}
