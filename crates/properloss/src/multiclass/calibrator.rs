//! From the scores or probabilities of any classifier of several classes to probabilities.
//!
//! ```text
//! z = the scores, or log(p + margin), margin = 1/(2 n K), n the sum of the weights
//! t = argmax Σ log softmax(t z)_y, cross-fitted;   weight of t: sigmoid(S_t - S_1 - 1)
//! z <- (1 + weight (t - 1)) z;   then LINK and RAMPS as in the estimator
//! ```

use super::link::{self, Link, Parts, ShareBound};
use super::sample::{Assignment, assign, held_out};
use super::{LEAST_RAMPS, RAMP_DOUBT, RAMP_TAUS, Scored, blended_likelihood, sigmoid};
use crate::error::{Error, Result, class_labels, each, row_weights, same_length};
use crate::link::vector::{Mixture, VectorLink, log_sum_exp, softmax_into};
use crate::options::options;
use crate::proper::{Folds, check_count, deal};

/// Probabilities may be this far outside `[0, 1]`.
const ROUNDING: f64 = 1e-9;

/// What a temperature costs in the score: one nat.
const TEMPERATURE_PRICE: f64 = 1.0;

options! {
    /// Options of the calibrator for several classes.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct MulticlassCalibrator {
        /// Who is held out with whom.
        pub folds: Folds => with_folds,
        /// Whether probabilities go in, and not scores.
        pub probabilities: bool => of_probabilities = true,
        /// Keep the order of the classes: no floors of single classes, no ramps.
        pub preserve_order: bool => preserving_order = true,
        /// The ratios `tau >= 1` that are weighed; the first is 1.
        pub share_bounds: Vec<f64> => with_share_bounds,
        /// Deal stratified folds by the weight of every score and label, whatever rows it comes from: weight 2
        /// is the row twice, in any order. A row may then be in more than one fold, with a part of its weight.
        pub by_weight: bool => dealing_by_weight = true,
    }
}

impl Default for MulticlassCalibrator {
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            probabilities: false,
            preserve_order: false,
            share_bounds: vec![1.0, 1.5, 2.5, 5.0, 10.0],
            by_weight: false,
        }
    }
}

/// A fitted calibration `z -> p(t z)`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MulticlassCalibration {
    /// The factor of the scores.
    pub temperature: f64,
    /// What is added to probabilities before their logarithm; `None` if scores went in.
    pub margin: Option<f64>,
    /// The link.
    pub link: Mixture,
    /// Every ratio with its cross-fitted log-loss and weight.
    pub ratios: Vec<ShareBound>,
    /// Held-out log-loss of the softmax of the scores as they are, and of the result; NaN where no
    /// row could be held out, and the scores were kept as they are.
    pub held_out_log_loss: [f64; 2],
}

impl MulticlassCalibrator {
    /// Fits to scores (rows × K, row-major) that the labels were not used for.
    pub fn fit(
        &self,
        scores: &[f64],
        labels: &[u32],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<MulticlassCalibration> {
        let rows = labels.len();
        if scores.len() != rows * classes || rows == 0 {
            return Err(Error::MatrixShape { rows, columns: classes, length: scores.len() });
        }
        class_labels(labels, classes)?;
        let weights = match weights {
            Some(weights) => weights.to_vec(),
            None => vec![1.0; rows],
        };
        same_length(("weights", weights.len()), ("rows", rows))?;
        row_weights(&weights)?;
        let rows = weights.iter().sum::<f64>().max(1.0);
        let margin = self.probabilities.then(|| 0.5 / rows / classes as f64);
        let z = to_scores(scores, classes, margin)?;
        if self.probabilities {
            let inside = |p: f64| (-ROUNDING..=1.0 + ROUNDING).contains(&p);
            each("probabilities", scores, "from 0 to 1", inside)?;
        }
        let fit = if let (true, Folds::Stratified { count, seed }) = (self.by_weight, &self.folds) {
            let deal =
                deal((scores, classes), labels, &weights, (check_count(*count)?, *seed), false);
            let z = deal.rows.iter().flat_map(|&i| &z[i * classes..(i + 1) * classes]).copied();
            let (z, labels) = (z.collect(), deal.of(labels));
            let folds = if deal.count < 2 {
                Err(Error::NothingToHoldOut { classes })
            } else {
                held_out(deal.folds, deal.count, &labels, classes, &deal.weights)
            };
            folds.and_then(|folds| self.cross_fit(z, &labels, classes, &folds, margin))
        } else {
            let folds = assign(&self.folds, labels, classes, &weights);
            folds.and_then(|folds| self.cross_fit(z, labels, classes, &folds, margin))
        };
        match fit {
            Err(Error::NothingToHoldOut { .. }) => as_they_are(classes, margin),
            fit => fit,
        }
    }

    fn cross_fit(
        &self,
        mut z: Vec<f64>,
        labels: &[u32],
        classes: usize,
        folds: &Assignment,
        margin: Option<f64>,
    ) -> Result<MulticlassCalibration> {
        let plain = log_likelihood(&z, labels, classes, &folds.scored, |_| 1.0);
        let temperature = self.temperature(&mut z, labels, classes, folds, plain);
        let parts = if self.preserve_order { Parts::UniformFloor } else { Parts::Floors };
        let scored = Scored { z: &z, labels, classes, folds };
        let link = link::fit(scored, parts, &self.share_bounds);
        let (mut score, mut share, mut ramps): (f64, f64, Option<Link>) = (link.score, 0.0, None);
        if !self.preserve_order && link::ramps_could_help(scored, &link, RAMP_TAUS[1]) {
            let with = link::fit(scored, Parts::Ramps, &RAMP_TAUS);
            share = sigmoid(with.score - link.score - RAMP_DOUBT);
            if share > LEAST_RAMPS {
                score = blended_likelihood(&folds.scored, share, &link, &with);
                ramps = Some(with);
            }
        }
        let total: f64 = folds.scored.iter().sum();
        Ok(MulticlassCalibration {
            temperature,
            margin,
            link: link::mixture(&link, ramps.as_ref().map(|ramps| (share, ramps)))?,
            ratios: link.ratios,
            held_out_log_loss: [-plain / total, -score / total],
        })
    }

    /// Scales `z` by the averaged temperature, every row by that of the other folds; returns the
    /// temperature of all rows.
    fn temperature(
        &self,
        z: &mut [f64],
        labels: &[u32],
        classes: usize,
        folds: &Assignment,
        plain: f64,
    ) -> f64 {
        let keep = |fold: Option<u32>| -> Vec<f64> {
            let of_row = folds.scored.iter().zip(&folds.of_row);
            of_row.map(|(&w, &f)| if Some(f) == fold { 0.0 } else { w }).collect()
        };
        let all = likeliest(z, labels, classes, &keep(None));
        let by_fold: Vec<f64> = (0..folds.count as u32)
            .map(|fold| likeliest(z, labels, classes, &keep(Some(fold))))
            .collect();
        let of = |i: usize| by_fold.get(folds.of_row[i] as usize).copied().unwrap_or(all);
        let crossed = log_likelihood(z, labels, classes, &folds.scored, of);
        let share = sigmoid(crossed - plain - TEMPERATURE_PRICE);
        for (i, z) in z.chunks_exact_mut(classes).enumerate() {
            let t = 1.0 + share * (of(i) - 1.0);
            z.iter_mut().for_each(|z| *z *= t);
        }
        1.0 + share * (all - 1.0)
    }
}

/// The softmax of the scores: all that can be said where no row can be held out.
fn as_they_are(classes: usize, margin: Option<f64>) -> Result<MulticlassCalibration> {
    Ok(MulticlassCalibration {
        temperature: 1.0,
        margin,
        link: Mixture::identity(classes)?,
        ratios: vec![ShareBound { tau: 1.0, log_loss: f64::NAN, score: 0.0, weight: 1.0 }],
        held_out_log_loss: [f64::NAN; 2],
    })
}

/// Scores as they are, or `log(p + margin)`.
fn to_scores(scores: &[f64], classes: usize, margin: Option<f64>) -> Result<Vec<f64>> {
    if let Some(at) = scores.iter().position(|z| !z.is_finite()) {
        let (row, column) = (at / classes, at % classes);
        return Err(Error::NotFiniteCell { row, column, value: scores[at] });
    }
    let Some(margin) = margin else { return Ok(scores.to_vec()) };
    Ok(scores.iter().map(|p| (p.clamp(0.0, 1.0) + margin).ln()).collect())
}

/// `Σ w log softmax(t_i z_i)_y`.
fn log_likelihood(
    z: &[f64],
    labels: &[u32],
    classes: usize,
    weights: &[f64],
    t: impl Fn(usize) -> f64,
) -> f64 {
    let rows = z.chunks_exact(classes).zip(labels).zip(weights).enumerate();
    rows.filter(|(_, (_, w))| **w > 0.0)
        .map(|(i, ((z, &y), w))| {
            let t = t(i);
            w * (t * z[y as usize] - log_sum_exp(z.iter().map(|z| t * z)))
        })
        .sum()
}

/// The `t` of greatest likelihood, between 1/50 and 50: Newton's method on a concave function,
/// kept in a bracket.
fn likeliest(z: &[f64], labels: &[u32], classes: usize, weights: &[f64]) -> f64 {
    let (mut low, mut high, mut t) = (0.02, 50.0, 1.0);
    let mut p = vec![0.0; classes];
    for _ in 0..60 {
        // The slope Σ w (z_y - E z) and minus the curvature, Σ w Var z.
        let (mut slope, mut bend) = (0.0, 0.0);
        for ((z, &y), &w) in z.chunks_exact(classes).zip(labels).zip(weights) {
            if w == 0.0 {
                continue;
            }
            softmax_into(t, z, &mut p);
            let mean: f64 = z.iter().zip(&p).map(|(z, p)| z * p).sum();
            let spread: f64 = z.iter().zip(&p).map(|(z, p)| p * (z - mean) * (z - mean)).sum();
            slope += w * (z[y as usize] - mean);
            bend += w * spread;
        }
        if slope > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + slope / bend;
        let next = if newton > low && newton < high { newton } else { (low * high).sqrt() };
        if (next / t - 1.0).abs() < 1e-9 {
            return next;
        }
        t = next;
    }
    t
}

impl MulticlassCalibration {
    /// Probabilities of scores (rows × K, row-major).
    pub fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>> {
        let classes = self.link.classes();
        if !scores.len().is_multiple_of(classes) {
            let (rows, length) = (scores.len() / classes, scores.len());
            return Err(Error::MatrixShape { rows, columns: classes, length });
        }
        let mut z = to_scores(scores, classes, self.margin)?;
        z.iter_mut().for_each(|z| *z *= self.temperature);
        let mut p = vec![0.0; z.len()];
        self.link.probabilities_of_rows(&z, &mut p);
        Ok(p)
    }
}
