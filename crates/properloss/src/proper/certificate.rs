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
use crate::calibration_certificate::{FitBound, Forecasts, averaging_cost};
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
        let sigmoid = each_of(&fit.point_scores, |&s| inside(Sigmoid.u(s)));
        let scored = Scored {
            scores: &fit.point_scores,
            maps: vec![sigmoid],
            labels: sample.labels(),
            weights: sample.weights(),
            folds: &fit.folds,
            first: FIRST_OF_LOG_ODDS,
        };
        let choices = self.grid.len() * self.scalings.len() + 1;
        let fitted = || fit.probabilities(&sample.matrix());
        let held_out = || Ok(each_of(&fit.held_out_scores, |&z| fit.link.u(z)));
        scored.bound(choices, fitted, held_out, confidence).map(Some)
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
        let weights = weights.unwrap_or(&ones);
        super::calibrator::check(scores, labels, weights)?;
        let z: Vec<f64> = scores.iter().map(|&s| self.log_odds(s)).collect();
        let one_fold = vec![0; scores.len()];
        let folds = folds.unwrap_or(&one_fold);
        same_length(("folds", folds.len()), ("scores", scores.len()))?;
        let maps = fixed_maps(&z, weights);
        let weights = Some(weights);
        let scored = Scored { maps, scores: &z, labels, weights, folds, first: FIRST };
        scored.bound(1, fitted, fitted, confidence)
    }
}

/// Rows for which a task is worth its while.
const TASK_ROWS: usize = 1 << 12;

/// A number of every row, by all threads.
fn each_of<T: Sync>(rows: &[T], number: impl Fn(&T) -> f64 + Send + Sync) -> Vec<f64> {
    rows.par_iter().with_min_len(TASK_ROWS).map(number).collect()
}

/// Rows whose scores have not seen the labels of their fold.
struct Scored<'a> {
    scores: &'a [f64],
    /// Probabilities that no label had a part in, each of all rows. The first is the reference.
    maps: Vec<Vec<f64>>,
    labels: &'a [u8],
    /// None: all 1.
    weights: Option<&'a [f64]>,
    folds: &'a [u32],
    /// Rows of a fold before the first calibrator.
    first: usize,
}

impl Scored<'_> {
    /// `fitted` and `held_out` are asked for when all else is done, one after the other: 8 bytes a row.
    fn bound(
        &self,
        choices: usize,
        fitted: impl FnOnce() -> Result<Vec<f64>>,
        held_out: impl FnOnce() -> Result<Vec<f64>>,
        confidence: f64,
    ) -> Result<FitBound> {
        let mut forecasts = self.maps[0].clone();
        let forecast = |order: Vec<u32>| (self.forecast(&order), order);
        let parts: Vec<_> = self.orders().into_par_iter().map(forecast).collect();
        for (q, order) in parts {
            order.iter().zip(q).for_each(|(&i, q)| forecasts[i as usize] = q);
        }
        let even = |weights: &&[f64]| weights.iter().all(|&weight| weight == weights[0]);
        let rows = Forecasts {
            scores: self.scores,
            forecasts: &forecasts,
            references: &self.maps[0],
            labels: self.labels,
            weights: self.weights.filter(|weights| !even(weights)),
            folds: Some(self.folds),
            choices,
        };
        let mut bound = rows.bound(confidence)?;
        bound.rms = rows.near(&bound, &fitted()?);
        bound.held_out_rms = rows.near(&bound, &held_out()?);
        Ok(bound)
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// The rows of positive weight of every fold, in a random order.
    fn orders(&self) -> Vec<Vec<u32>> {
        let count = self.folds.iter().max().map_or(0, |&last| last as usize + 1);
        let mut orders = vec![Vec::new(); count];
        for i in (0..self.scores.len()).filter(|&i| self.weight(i) > 0.0) {
            orders[self.folds[i] as usize].push(i as u32);
        }
        let folds = orders.par_iter_mut().enumerate();
        folds.for_each(|(fold, order)| Random(fold as u64).shuffle(order));
        orders
    }

    /// Forecasts of the rows in this order, each from those before it.
    fn forecast(&self, order: &[u32]) -> Vec<f64> {
        let largest = order.iter().map(|&i| self.weight(i as usize)).fold(0.0, f64::max);
        // Belief in the maps, then in the calibrator, which sleeps until there is one.
        let mut belief = vec![1.0; self.maps.len() + 1];
        let mut p = vec![0.0; belief.len()];
        let mut calibrator: Option<Calibration> = None;
        // Its probabilities until the next one: of many rows at once, where threads may help.
        let mut calibrated: Vec<f64> = Vec::new();
        let (mut since, mut next_fit) = (0, self.first);
        let mut done = Vec::with_capacity(order.len());
        for (t, i) in order.iter().map(|&i| i as usize).enumerate() {
            if t == next_fit {
                calibrator = self.calibrator(&order[..t]).or(calibrator);
                (since, next_fit) = (t, GROWTH * next_fit);
                if let Some(map) = &calibrator {
                    let block = &order[since..next_fit.min(order.len())];
                    calibrated = each_of(block, |&i| map.probability(self.scores[i as usize]));
                }
            }
            for (p, map) in p.iter_mut().zip(&self.maps) {
                *p = map[i];
            }
            let mut awake = self.maps.len();
            if calibrator.is_some() {
                p[awake] = calibrated[t - since];
                awake += 1;
            }
            let total: f64 = belief[..awake].iter().sum();
            let mean = belief[..awake].iter().zip(&p).map(|(a, p)| a * p).sum::<f64>() / total;
            let q = inside(mean);
            done.push(q);
            // By the likelihood relative to the forecast's, so that who sleeps loses nothing.
            let likelihood = |p: f64| if self.labels[i] == 1 { p } else { 1.0 - p };
            let share = self.weight(i) / largest;
            for (belief, &p) in belief[..awake].iter_mut().zip(&p) {
                let ratio = likelihood(p) / likelihood(q);
                *belief *= if share == 1.0 { ratio } else { ratio.powf(share) };
                *belief = belief.clamp(LEAST_BELIEF, 1.0 / LEAST_BELIEF);
            }
        }
        done
    }

    /// A calibrator of these rows; none if a class is missing.
    fn calibrator(&self, rows: &[u32]) -> Option<Calibration> {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i as usize]).collect::<Vec<f64>>();
        let labels: Vec<u8> = rows.iter().map(|&i| self.labels[i as usize]).collect();
        // Quick rather than best: the bound holds for any forecasts.
        let folds = Folds::Stratified { count: 2, seed: 0 };
        let options = Calibrator {
            folds,
            kind: ScoreKind::Scores,
            smoothness: vec![3.0, 0.03],
            by_weight: false,
        };
        options.fit(&pick(self.scores), &labels, self.weights.map(pick).as_deref()).ok()
    }
}

/// Maps of scores of any scale that no label had a part in: the sigmoid of the scores at a spread of
/// 1.5, of the scores as they are, and 1/2.
fn fixed_maps(z: &[f64], weights: &[f64]) -> Vec<Vec<f64>> {
    let total: f64 = weights.iter().sum();
    let largest = z.iter().map(|z| z.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let mean = z.iter().zip(weights).map(|(z, w)| w * (z / largest)).sum::<f64>() / total;
    let square = |(z, w): (&f64, &f64)| w * (z / largest - mean).powi(2);
    let spread = (z.iter().zip(weights).map(square).sum::<f64>() / total).sqrt();
    let scaled = |z: f64| if spread > 0.0 { 1.5 * (z / largest - mean) / spread } else { 0.0 };
    vec![
        z.iter().map(|&z| inside(Sigmoid.u(scaled(z)))).collect(),
        z.iter().map(|&z| inside(Sigmoid.u(z))).collect(),
        vec![0.5; z.len()],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A forecast rests on what came before it: another label changes later forecasts only.
    #[test]
    fn forecasts_do_not_see_their_row() {
        let mut random = Random(3);
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let scores: Vec<f64> = (0..300).map(|_| 6.0 * unit() - 3.0).collect();
        let mut labels: Vec<u8> =
            scores.iter().map(|&s| u8::from(unit() < Sigmoid.u(2.0 * s))).collect();
        let (weights, folds) = (vec![1.0; 300], vec![0; 300]);
        let forecasts = |labels: &[u8]| {
            let maps = fixed_maps(&scores, &weights);
            let (scores, weights, folds) = (&scores, Some(&weights[..]), &folds);
            let rows = Scored { scores, maps, labels, weights, folds, first: FIRST };
            let order = rows.orders().remove(0);
            (rows.forecast(&order), order)
        };
        let (before, order) = forecasts(&labels);
        for t in [0, 1, 31, 32, 127, 128, 250] {
            labels[order[t] as usize] ^= 1;
            let (after, same_order) = forecasts(&labels);
            assert_eq!((&before[..=t], &order), (&after[..=t], &same_order));
            assert!(t == 298 || before[t + 1..] != after[t + 1..], "{t}");
            labels[order[t] as usize] ^= 1;
        }
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
        let (maps, folds) = (vec![vec![0.5; 200]], &vec![0; 200]);
        let (scores, labels, weights) = (&scores, &labels, None);
        let rows = Scored { scores, maps, labels, weights, folds, first: FIRST };
        let order = rows.orders().remove(0);
        let (mut belief, mut calibrator) = ([1.0, 1.0], None);
        for (t, &q) in rows.forecast(&order).iter().enumerate() {
            let i = order[t] as usize;
            if t == FIRST || t == GROWTH * FIRST {
                calibrator = rows.calibrator(&order[..t]);
            }
            let Some(map) = &calibrator else {
                assert_eq!(q, 0.5);
                continue;
            };
            let p = [0.5, map.probability(scores[i])];
            let mean = (belief[0] * p[0] + belief[1] * p[1]) / (belief[0] + belief[1]);
            // Beliefs are products of at most 200 ratios.
            assert!((q - mean).abs() < 1e-12, "{t}: {q} {mean}");
            let likelihood = |p: f64| if labels[i] == 1 { p } else { 1.0 - p };
            (0..2).for_each(|k| belief[k] *= likelihood(p[k]) / likelihood(q));
        }
        assert!(calibrator.is_some());
    }
}
