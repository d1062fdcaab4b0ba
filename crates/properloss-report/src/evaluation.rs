//! Everything that a page says about forecasts, from one sort of the rows.
//!
//! A row is kept as its score and its signed weight, 16 bytes; what remains of any number of rows
//! is a summary of a few thousand numbers.

use std::sync::Arc;

use properloss::calibration_certificate::{CalibrationBound, HeldOut, calibration_bound};
use properloss::link::InverseLink;
use properloss::metrics::{CalibrationBlock, CorpDecomposition, LOG_LOSS_CLIP, Summary};
use properloss::{Error, Result};
use rayon::prelude::*;

use crate::thresholds::thresholds;

/// Cells of the forecasts, at most; see [`Cell`].
const CELLS: usize = 4096;
/// Bars of the histogram of forecasts.
pub const BARS: usize = 50;
/// Rows up to which the certificate is computed: it needs a copy of them.
pub const CERTIFIED: usize = 1_000_000;
/// Rows a thread takes at a time.
const CHUNK: usize = 1 << 14;

/// Rows of nearly the same forecast: all of one forecast if there are few different ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// Mean forecast.
    pub forecast: f64,
    /// Share of positives.
    pub rate: f64,
    /// Total weight.
    pub weight: f64,
    /// `(Σ w)² / Σ w²`: how many rows of equal weight they are worth.
    pub rows: f64,
}

/// Forecasts and outcomes, summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Number of rows of positive weight.
    pub rows: usize,
    /// Whether the rows have weights other than 1.
    pub weighted: bool,
    /// Total weight of the negatives and of the positives.
    pub totals: [f64; 2],
    /// Mean forecast.
    pub mean_forecast: f64,
    /// The metrics that `evaluate` prints, the same to rounding.
    pub summary: Summary,
    /// Log-loss of the forecasts after isotonic recalibration on the same rows.
    pub recalibrated_log_loss: f64,
    /// The calibration certificate at 95 %; none for more than [`CERTIFIED`] rows.
    pub calibration_bound: Option<CalibrationBound>,
    /// The CORP reliability curve.
    pub blocks: Vec<CalibrationBlock>,
    /// The forecasts in cells, increasing.
    pub cells: Vec<Cell>,
    /// Weight of the negatives and the positives with `p > t`, for each of [`thresholds`].
    pub above: [Vec<f64>; 2],
    /// The largest probability that pictures of the forecasts show: 1, or less of a rare class.
    pub reach: f64,
    /// Weight of the negatives and the positives with `p/reach` in `(k/B, (k+1)/B]`; what lies beyond
    /// is in the last.
    pub histogram: [Vec<f64>; 2],
}

impl Evaluation {
    /// `scores` become probabilities by `link`; without one they are probabilities already.
    pub fn new(
        link: Option<&Arc<dyn InverseLink>>,
        scores: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let rows = sorted_rows(scores, labels, weights)?;
        let mut forecasts: Vec<f64> = rows.par_iter().with_min_len(CHUNK).map(|r| r.0).collect();
        if let Some(link) = link {
            forecasts.par_chunks_mut(CHUNK).for_each(|chunk| {
                chunk.iter_mut().for_each(|z| *z = link.u(*z));
            });
        }
        if let Some(index) = forecasts.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let (what, expected) = ("probabilities", "in [0, 1]");
            return Err(Error::ElementOutOfDomain {
                what,
                index,
                value: forecasts[index],
                expected,
            });
        }
        let mut totals = [0.0; 2];
        for &(_, w) in &rows {
            totals[usize::from(w > 0.0)] += w.abs();
        }
        if totals[0] == 0.0 || totals[1] == 0.0 {
            return Err(Error::OneClass { label: u8::from(totals[0] == 0.0) });
        }
        let mut evaluation = Self::of_sorted(&rows, &forecasts, totals, weights.is_some());
        if rows.len() <= CERTIFIED {
            evaluation.calibration_bound = Some(certified(&rows, &forecasts, weights.is_some())?);
        }
        Ok(evaluation)
    }

    fn of_sorted(rows: &[(f64, f64)], forecasts: &[f64], totals: [f64; 2], weighted: bool) -> Self {
        let total = totals[0] + totals[1];
        let groups = groups(rows, forecasts);
        let blocks = blocks(&groups, total);
        let entropy = |rate: f64| {
            let part = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
            part(rate) + part(1.0 - rate)
        };
        // Chunks of a fixed size, added in order: the same bits for any number of threads.
        let mean = |f: &(dyn Fn(f64, bool) -> f64 + Sync)| {
            let chunks = rows.par_chunks(CHUNK).zip(forecasts.par_chunks(CHUNK));
            let sums: Vec<f64> = chunks
                .map(|(rows, forecasts)| {
                    let terms = rows.iter().zip(forecasts);
                    terms.map(|(&(_, w), &p)| w.abs() * f(p, w > 0.0)).sum()
                })
                .collect();
            sums.iter().sum::<f64>() / total
        };
        let mut above = [Vec::new(), Vec::new()];
        let mut histogram = [vec![0.0; BARS], vec![0.0; BARS]];
        let (mut left, mut next) = (totals, 0);
        for &t in thresholds() {
            while next < groups.len() && groups[next].forecast <= t {
                left[1] -= groups[next].positive;
                left[0] -= groups[next].weight - groups[next].positive;
                next += 1;
            }
            // What is left of nothing is rounding.
            let done = next == groups.len();
            for class in 0..2 {
                above[class].push(if done { 0.0 } else { left[class].max(0.0) });
            }
        }
        let reach = reach(&groups, &blocks, total);
        for group in &groups {
            let bar = ((group.forecast / reach * BARS as f64).ceil() as usize).clamp(1, BARS) - 1;
            histogram[1][bar] += group.positive;
            histogram[0][bar] += group.weight - group.positive;
        }
        Self {
            rows: rows.len(),
            weighted,
            totals,
            mean_forecast: mean(&|p, _| p),
            summary: Summary {
                auc: auc(rows, totals),
                log_loss: mean(&|p, positive| log_loss_of(p, u8::from(positive))),
                brier: corp(&blocks, mean(&|p, y| (p - f64::from(u8::from(y))).powi(2)), totals),
                ece: expected_calibration_error(&groups, total),
                accuracy: mean(&|p, positive| f64::from(u8::from((p > 0.5) == positive))),
            },
            recalibrated_log_loss: blocks.iter().map(|b| b.weight * entropy(b.rate)).sum(),
            calibration_bound: None,
            cells: cells(&groups),
            blocks,
            above,
            reach,
            histogram,
        }
    }

    /// Share of positives.
    pub fn base_rate(&self) -> f64 {
        self.totals[1] / (self.totals[0] + self.totals[1])
    }

    /// The isotonic recalibration of a forecast.
    pub fn recalibrated(&self, forecast: f64) -> f64 {
        let at = self.blocks.partition_point(|block| block.highest < forecast);
        self.blocks[at.min(self.blocks.len() - 1)].rate
    }
}

fn certified(rows: &[(f64, f64)], forecasts: &[f64], weighted: bool) -> Result<CalibrationBound> {
    let labels: Vec<u8> = rows.iter().map(|&(_, w)| u8::from(w > 0.0)).collect();
    let weights: Option<Vec<f64>> = weighted.then(|| rows.iter().map(|&(_, w)| w.abs()).collect());
    calibration_bound(&HeldOut::new(forecasts, &labels, weights.as_deref(), None)?, 0.95)
}

/// The log-loss of a row; an impossible event that happened costs a large number.
pub fn log_loss_of(p: f64, label: u8) -> f64 {
    let p = p.clamp(LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP);
    -if label == 1 { p.ln() } else { (-p).ln_1p() }
}

/// The mean of `loss_b - loss_a` over the same rows, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Negative: the second forecast is better.
    pub mean: f64,
    /// Standard error, rows taken as independent.
    pub error: f64,
}

/// Log-loss of the second forecasts less that of the first, row by row.
pub fn log_loss_difference(
    first: (Option<&Arc<dyn InverseLink>>, &[f64]),
    second: (Option<&Arc<dyn InverseLink>>, &[f64]),
    labels: &[u8],
    weights: Option<&[f64]>,
) -> Difference {
    let loss = |(link, scores): (Option<&Arc<dyn InverseLink>>, &[f64]), i: usize| {
        log_loss_of(link.map_or(scores[i], |link| link.u(scores[i])), labels[i])
    };
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    let difference: Vec<f64> = (0..labels.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|i| loss(second, i) - loss(first, i))
        .collect();
    let total: f64 = (0..labels.len()).map(weight).sum();
    let mean = difference.iter().enumerate().map(|(i, d)| weight(i) * d).sum::<f64>() / total;
    let squares: f64 =
        difference.iter().enumerate().map(|(i, d)| (weight(i) * (d - mean)).powi(2)).sum();
    Difference { mean, error: squares.sqrt() / total }
}

/// `(score, weight)` by increasing score; the weight of a negative is negative.
fn sorted_rows(scores: &[f64], labels: &[u8], weights: Option<&[f64]>) -> Result<Vec<(f64, f64)>> {
    let (what, length) = ("scores", scores.len());
    for (other, other_length) in
        [("labels", labels.len()), ("weights", weights.map_or(length, <[f64]>::len))]
    {
        if other_length != length {
            return Err(Error::LengthMismatch { what, length, other, other_length });
        }
    }
    if let Some(index) = scores.iter().position(|z| z.is_nan()) {
        return Err(Error::NotFinite { what, index, value: f64::NAN });
    }
    if let Some(index) = labels.iter().position(|&y| y > 1) {
        let (value, expected) = (f64::from(labels[index]), "0 or 1");
        return Err(Error::ElementOutOfDomain { what: "labels", index, value, expected });
    }
    if let Some(weights) = weights
        && let Some(index) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite()))
    {
        let (value, expected) = (weights[index], "0 or positive, and finite");
        return Err(Error::ElementOutOfDomain { what: "weights", index, value, expected });
    }
    let mut rows: Vec<(f64, f64)> = (0..length)
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|i| {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            // -0 and 0 are the same score.
            (scores[i] + 0.0, if labels[i] == 1 { weight } else { -weight })
        })
        .collect();
    rows.retain(|row| row.1 != 0.0);
    if rows.is_empty() {
        return Err(Error::TooShort { what: "rows of positive weight", length: 0, minimum: 1 });
    }
    // By weight within a tie, so that sums do not depend on the order of the rows.
    rows.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    Ok(rows)
}

/// Rows of one forecast.
struct Group {
    forecast: f64,
    weight: f64,
    positive: f64,
    squares: f64,
}

fn groups(rows: &[(f64, f64)], forecasts: &[f64]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (&(_, w), &forecast) in rows.iter().zip(forecasts) {
        let (weight, positive) = (w.abs(), w.max(0.0));
        match groups.last_mut() {
            Some(group) if group.forecast == forecast => {
                group.weight += weight;
                group.positive += positive;
                group.squares += weight * weight;
            }
            _ => groups.push(Group { forecast, weight, positive, squares: weight * weight }),
        }
    }
    groups
}

/// `Σ_{i: y=1} Σ_{j: y=0} w_i w_j (1[z_i > z_j] + 1[z_i = z_j]/2) / (W_1 W_0)`.
fn auc(rows: &[(f64, f64)], totals: [f64; 2]) -> f64 {
    let (mut below, mut wins, mut start) = (0.0, 0.0, 0);
    while start < rows.len() {
        let (mut negative, mut positive, mut end) = (0.0, 0.0, start);
        while end < rows.len() && rows[end].0 == rows[start].0 {
            negative += (-rows[end].1).max(0.0);
            positive += rows[end].1.max(0.0);
            end += 1;
        }
        wins += positive * (below + 0.5 * negative);
        below += negative;
        start = end;
    }
    wins / (totals[0] * totals[1])
}

/// Where pictures of the forecasts end: 1, unless 199 in 200 of the forecasts and what became of them lie
/// below a quarter; then a little above those, at a round number.
fn reach(groups: &[Group], blocks: &[CalibrationBlock], total: f64) -> f64 {
    let mut left = 0.995 * total;
    let last = groups.iter().find(|group| {
        left -= group.weight;
        left < 0.0
    });
    let forecast = last.or(groups.last()).map_or(1.0, |group| group.forecast);
    let block = blocks.iter().find(|block| block.highest >= forecast);
    let top = block.map_or(1.0, |block| block.rate).max(forecast);
    if top >= 0.25 || top <= 0.0 {
        return 1.0;
    }
    // Two digits, rounded up; what is a whole number but for rounding stays.
    let step = 10f64.powf((1.1 * top).log10().floor() - 1.0);
    ((1.1 * top / step - 1e-9).ceil() * step).min(1.0)
}

/// Pool adjacent violators over groups; see [`crate::band::isotonic`] for the loop.
fn blocks(groups: &[Group], total: f64) -> Vec<CalibrationBlock> {
    let pools = crate::band::isotonic(groups.iter().map(|g| (g.weight, g.positive)));
    pools
        .into_iter()
        .map(|pool| {
            let inside = &groups[pool.start..pool.end];
            let (lowest, highest) = (inside[0].forecast, inside[inside.len() - 1].forecast);
            let mean = inside.iter().map(|g| g.weight * g.forecast).sum::<f64>() / pool.weight;
            CalibrationBlock {
                lowest,
                highest,
                forecast: mean.clamp(lowest, highest),
                rate: pool.positive / pool.weight,
                weight: pool.weight / total,
            }
        })
        .collect()
}

/// `brier = miscalibration - discrimination + uncertainty`.
fn corp(blocks: &[CalibrationBlock], brier: f64, totals: [f64; 2]) -> CorpDecomposition {
    let base_rate = totals[1] / (totals[0] + totals[1]);
    let recalibrated: f64 = blocks.iter().map(|b| b.weight * b.rate * (1.0 - b.rate)).sum();
    CorpDecomposition {
        brier,
        miscalibration: (brier - recalibrated).max(0.0),
        discrimination: blocks.iter().map(|b| b.weight * (b.rate - base_rate).powi(2)).sum(),
        uncertainty: base_rate * (1.0 - base_rate),
    }
}

/// Over 15 bins of nearly equal weight; equal forecasts stay together, where their middle falls.
fn expected_calibration_error(groups: &[Group], total: f64) -> f64 {
    const BINS: usize = 15;
    let mut gaps = [0.0f64; BINS];
    let mut before = 0.0;
    for group in groups {
        let middle = (before + 0.5 * group.weight) / total;
        let bin = ((middle * BINS as f64) as usize).min(BINS - 1);
        gaps[bin] += group.weight * group.forecast - group.positive;
        before += group.weight;
    }
    gaps.iter().map(|gap| gap.abs()).sum::<f64>() / total
}

/// Groups as they are if they are few, else runs of them of nearly equal weight.
fn cells(groups: &[Group]) -> Vec<Cell> {
    let total: f64 = groups.iter().map(|g| g.weight).sum();
    let mut cells: Vec<(usize, [f64; 4])> = Vec::new();
    let mut before = 0.0;
    for (k, group) in groups.iter().enumerate() {
        let number = if groups.len() <= CELLS {
            k
        } else {
            ((before + 0.5 * group.weight) / total * CELLS as f64) as usize
        };
        before += group.weight;
        let parts = [group.weight, group.weight * group.forecast, group.positive, group.squares];
        match cells.last_mut() {
            Some((last, sums)) if *last == number => {
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
            _ => cells.push((number, parts)),
        }
    }
    let cell = |[weight, forecast, positive, squares]: [f64; 4]| Cell {
        forecast: forecast / weight,
        rate: positive / weight,
        weight,
        rows: weight * weight / squares,
    };
    cells.into_iter().map(|(_, sums)| cell(sums)).collect()
}
