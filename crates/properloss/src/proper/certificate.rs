//! What is certified of a fit: forecasts that are honest row by row, and the fit beside them.
//!
//! ```text
//! s     the classifier: held-out scores of the likeliest point of the path;  a calibrator: its scores
//! q     in every fold, rows in random order, blocks that grow by four:
//!       forecasts of fixed maps of s and of a calibrator fitted to the blocks before, averaged by
//!       the likelihood of the rows before
//! bound rms(v - q) + bound on rms(q - η(s))                          (calibration_certificate/forecasts.rs)
//! ```
//!
//! The averaged path, the link and the refit have all seen the labels of all folds; the scores of one
//! point of the path under the model of a fold have not seen that fold. `docs/certificate.md`.

use rayon::prelude::*;

use super::folds::{Folds, Random};
use super::smooth::{PRICE, SmoothLink};
use super::{Calibration, Calibrator, ProperFit, ProperLoss, ScoreKind, inside};
use crate::calibration_certificate::{Columns, FitBound, Forecasts, Part, averaging_cost};
use crate::error::{Result, same_length};
use crate::link::{InverseLink, Sigmoid};
use crate::sample::Sample;

/// Rows of a fold before the first calibrator: many where the scores are log-odds already.
const FIRST: usize = 32;
const FIRST_OF_LOG_ODDS: usize = 512;
/// The factor from block to block.
const GROWTH: usize = 4;
/// A map that is this much less likely than the others stays so: it may come back.
const LEAST_BELIEF: f64 = 1e-30;

/// The deterministic companion of the certificate: on held-out rows the averaged link never costs
/// more than a constant beside the sigmoid. In nats, *in total* over all rows (weights count).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LinkCost {
    /// Summed cross-fitted log-loss of the averaged link less that of the sigmoid; negative where the
    /// link gained.
    pub nats: f64,
    /// No data make it larger: `ln Σ_j exp(-r_j)` over the links that were weighed, at prices `r_j`;
    /// below `-ln(1 - e^-½)`, which is 0.933, and below `ln J`.
    pub at_most: f64,
}

impl LinkCost {
    /// The sigmoid comes first among the links that were weighed.
    pub(super) fn of(link: &SmoothLink, total: f64) -> Result<Self> {
        let prices: Vec<f64> = (0..link.points.len()).map(|j| PRICE * j as f64).collect();
        let at_most = averaging_cost(&vec![0.0; prices.len()], &prices)?.worst;
        Ok(Self { nats: -link.score - total * link.points[0].log_loss, at_most })
    }
}

impl ProperLoss {
    /// The calibration certificate of a fit to this sample with these options: `None` where it would
    /// not be true (classes weighed differently, rows in groups) or cannot be had (one fold).
    pub fn calibration_bound(
        &self,
        fit: &ProperFit,
        sample: &Sample<'_>,
        confidence: f64,
    ) -> Result<Option<FitBound>> {
        if self.class_weight[0] != self.class_weight[1]
            || matches!(self.folds, Folds::Grouped { .. })
        {
            return Ok(None);
        }
        let rows = sample.rows();
        same_length(("held_out_scores", fit.held_out_scores.len()), ("rows", rows))?;
        let columns = Columns {
            scores: &fit.point_scores,
            labels: sample.labels(),
            weights: sample.weights(),
            folds: Some(&fit.folds),
        };
        let forecaster = Forecaster { maps: vec![Map::SIGMOID], first: FIRST_OF_LOG_ODDS };
        let choices = self.grid.len() * self.scalings.len() + 1;
        let fitted = || fit.probabilities(&sample.matrix());
        let held_out = || Ok(each_of(&fit.held_out_scores, |&z| fit.link.u(z)));
        forecaster.bound(&columns, choices, fitted, held_out, confidence).map(Some)
    }
}

impl Calibration {
    /// The calibration certificate of this calibration of these very rows. `folds` where the scores of
    /// different folds came from different models, each fitted without its fold.
    pub fn calibration_bound(
        &self,
        scores: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
        folds: Option<&[u32]>,
        confidence: f64,
    ) -> Result<FitBound> {
        let fitted = || self.probabilities(scores);
        let ones = vec![1.0; scores.len()];
        let checked = weights.unwrap_or(&ones);
        super::calibrator::check(scores, labels, checked)?;
        let z: Vec<f64> = scores.iter().map(|&s| self.log_odds(s)).collect();
        if let Some(folds) = folds {
            same_length(("folds", folds.len()), ("scores", scores.len()))?;
        }
        let forecaster = Forecaster { maps: fixed_maps(&z, checked), first: FIRST };
        let columns = Columns { scores: &z, labels, weights, folds };
        forecaster.bound(&columns, 1, fitted, fitted, confidence)
    }
}

/// Rows for which a task is worth its while.
const TASK_ROWS: usize = 1 << 12;

/// A number of every row, by all threads.
fn each_of<T: Sync>(rows: &[T], number: impl Fn(&T) -> f64 + Send + Sync) -> Vec<f64> {
    rows.par_iter().with_min_len(TASK_ROWS).map(number).collect()
}

/// `σ(scale (s/unit - shift))`: a map of scores that no label had a part in.
#[derive(Debug, Clone, Copy)]
struct Map {
    unit: f64,
    shift: f64,
    scale: f64,
}

impl Map {
    const SIGMOID: Self = Self { unit: 1.0, shift: 0.0, scale: 1.0 };

    fn probability(&self, score: f64) -> f64 {
        inside(Sigmoid.u(self.scale * (score / self.unit - self.shift)))
    }
}

/// Forecasts rows of scores that have not seen the labels of their fold.
struct Forecaster {
    /// The first is the reference.
    maps: Vec<Map>,
    /// Rows of a fold before the first calibrator.
    first: usize,
}

impl Forecaster {
    /// `fitted` and `held_out` are asked for when all else is done, one after the other: 8 bytes a row.
    fn bound(
        &self,
        columns: &Columns<'_>,
        choices: usize,
        fitted: impl FnOnce() -> Result<Vec<f64>>,
        held_out: impl FnOnce() -> Result<Vec<f64>>,
        confidence: f64,
    ) -> Result<FitBound> {
        let forecast = |fold: usize, part: &Part| self.forecast_shuffled(part, fold as u64);
        let reference = |score: f64| self.maps[0].probability(score);
        let (forecasts, mut bound) =
            Forecasts::certified(columns, forecast, reference, choices, confidence)?;
        bound.rms = forecasts.near(&bound, &fitted()?);
        bound.held_out_rms = forecasts.near(&bound, &held_out()?);
        Ok(bound)
    }

    /// Forecasts of the rows of a fold, taken in a random order.
    fn forecast_shuffled(&self, part: &Part, seed: u64) -> Vec<f64> {
        let mut order: Vec<u32> = (0..part.rows.len() as u32).collect();
        Random(seed).shuffle(&mut order);
        let mut forecasts = vec![0.0; order.len()];
        for (&i, q) in order.iter().zip(self.forecast(&part.taken(&order))) {
            forecasts[i as usize] = q;
        }
        forecasts
    }

    /// Forecasts of the rows in their order, each from those before it.
    fn forecast(&self, part: &Part) -> Vec<f64> {
        let Part { scores, labels, weights, .. } = part;
        let rows = scores.len();
        let largest = weights.iter().flatten().fold(0.0, |a, &b| f64::max(a, b));
        // Belief in the maps, then in the calibrator, which sleeps until there is one.
        let mut belief = vec![1.0; self.maps.len() + 1];
        let mut calibrator = None;
        let mut done = Vec::with_capacity(rows);
        let (mut start, mut end) = (0, self.first.min(rows));
        while start < rows {
            calibrator = calibrator_of(part, start).or(calibrator);
            // What each of them says of the block: of many rows at once, where threads may help.
            let block = &scores[start..end];
            let mut awake: Vec<Vec<f64>> =
                self.maps.iter().map(|map| each_of(block, |&s| map.probability(s))).collect();
            awake.extend(calibrator.iter().map(|map| each_of(block, |&s| map.probability(s))));
            let belief = &mut belief[..awake.len()];
            for t in start..end {
                let said = awake.iter().map(|p| p[t - start]);
                let total: f64 = belief.iter().sum();
                let q = inside(
                    belief.iter().zip(said.clone()).map(|(a, p)| a * p).sum::<f64>() / total,
                );
                done.push(q);
                // By the likelihood relative to the forecast's, so that who sleeps loses nothing.
                let likelihood = |p: f64| if labels[t] == 1 { p } else { 1.0 - p };
                let share = weights.as_ref().map_or(1.0, |weights| weights[t] / largest);
                for (belief, p) in belief.iter_mut().zip(said) {
                    let ratio = likelihood(p) / likelihood(q);
                    *belief *= if share == 1.0 { ratio } else { ratio.powf(share) };
                    *belief = belief.clamp(LEAST_BELIEF, 1.0 / LEAST_BELIEF);
                }
            }
            (start, end) = (end, (GROWTH * end).min(rows));
        }
        done
    }
}

/// A calibrator of the first rows; none if a class is missing.
fn calibrator_of(part: &Part, rows: usize) -> Option<Calibration> {
    // Quick rather than best: the bound holds for any forecasts.
    let folds = Folds::Stratified { count: 2, seed: 0 };
    let options = Calibrator {
        folds,
        kind: ScoreKind::Scores,
        smoothness: vec![3.0, 0.03],
        by_weight: false,
    };
    let weights = part.weights.as_ref().map(|weights| &weights[..rows]);
    options.fit(&part.scores[..rows], &part.labels[..rows], weights).ok()
}

/// Maps of scores of any scale: the sigmoid of the scores at a spread of 1.5, of the scores as they are,
/// and 1/2.
fn fixed_maps(z: &[f64], weights: &[f64]) -> Vec<Map> {
    let total: f64 = weights.iter().sum();
    // Squares of the largest scores would not be finite.
    let unit = z.iter().map(|z| z.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let shift = z.iter().zip(weights).map(|(z, w)| w * (z / unit)).sum::<f64>() / total;
    let square = |(z, w): (&f64, &f64)| w * (z / unit - shift).powi(2);
    let spread = (z.iter().zip(weights).map(square).sum::<f64>() / total).sqrt();
    let scale = if spread > 0.0 { 1.5 / spread } else { 0.0 };
    vec![Map { unit, shift, scale }, Map::SIGMOID, Map { unit, shift, scale: 0.0 }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(scores: &[f64], labels: &[u8]) -> Part {
        let rows = (0..scores.len() as u32).collect();
        Part { rows, scores: scores.to_vec(), labels: labels.to_vec(), weights: None, largest: 1.0 }
    }

    /// A forecast rests on what came before it: another label changes later forecasts only.
    #[test]
    fn forecasts_do_not_see_their_row() {
        let mut random = Random(3);
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let scores: Vec<f64> = (0..300).map(|_| 6.0 * unit() - 3.0).collect();
        let mut labels: Vec<u8> =
            scores.iter().map(|&s| u8::from(unit() < Sigmoid.u(2.0 * s))).collect();
        let forecaster = Forecaster { maps: fixed_maps(&scores, &[1.0; 300]), first: FIRST };
        let before = forecaster.forecast(&part(&scores, &labels));
        for t in [0, 1, 31, 32, 127, 128, 250] {
            labels[t] ^= 1;
            let after = forecaster.forecast(&part(&scores, &labels));
            assert_eq!(before[..=t], after[..=t]);
            assert_ne!(before[t + 1..], after[t + 1..], "{t}");
            labels[t] ^= 1;
        }
    }

    /// Every row has the forecast of its own turn, whatever its turn.
    #[test]
    fn shuffled_forecasts_go_back_to_their_rows() {
        let scores: Vec<f64> = (0..200).map(|i| f64::from(i) / 50.0 - 2.0).collect();
        let labels: Vec<u8> = (0..200).map(|i| u8::from(i % 3 == 0)).collect();
        let forecaster = Forecaster { maps: vec![Map::SIGMOID], first: FIRST };
        let part = part(&scores, &labels);
        let mut order: Vec<u32> = (0..200).collect();
        Random(4).shuffle(&mut order);
        let (shuffled, by_turn) =
            (forecaster.forecast_shuffled(&part, 4), forecaster.forecast(&part.taken(&order)));
        assert_ne!(shuffled, forecaster.forecast(&part));
        order.iter().zip(by_turn).for_each(|(&i, q)| assert_eq!(shuffled[i as usize], q));
    }

    /// Probabilities of a calibrator, taken for a block of rows, are those of its rows one by one: with one map and
    /// one calibrator, the forecasts tell them.
    #[test]
    fn forecasts_use_the_calibrator_of_their_own_row() {
        let mut random = Random(9);
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let scores: Vec<f64> = (0..200).map(|_| 6.0 * unit() - 3.0).collect();
        let labels: Vec<u8> =
            scores.iter().map(|&s| u8::from(unit() < Sigmoid.u(2.0 * s))).collect();
        let half = Map { unit: 1.0, shift: 0.0, scale: 0.0 };
        let rows = part(&scores, &labels);
        let forecasts = Forecaster { maps: vec![half], first: FIRST }.forecast(&rows);
        let (mut belief, mut calibrator) = ([1.0, 1.0], None);
        for (i, &q) in forecasts.iter().enumerate() {
            if i == FIRST || i == GROWTH * FIRST {
                calibrator = calibrator_of(&rows, i);
            }
            let Some(map) = &calibrator else {
                assert_eq!(q, 0.5);
                continue;
            };
            let p = [0.5, map.probability(scores[i])];
            let mean = (belief[0] * p[0] + belief[1] * p[1]) / (belief[0] + belief[1]);
            // Beliefs are products of at most 200 ratios.
            assert!((q - mean).abs() < 1e-12, "{i}: {q} {mean}");
            let likelihood = |p: f64| if labels[i] == 1 { p } else { 1.0 - p };
            (0..2).for_each(|k| belief[k] *= likelihood(p[k]) / likelihood(q));
        }
        assert!(calibrator.is_some());
    }
}
