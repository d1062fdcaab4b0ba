//! Calibration of any scores: `p = v(sigma(a z + b))`, `a > 0`, so the ranking is strictly kept.
//!
//! ```text
//! (a, b)  Platt's sigmoid and the scores as they are (a = 1, b = 0), averaged by held-out likelihood
//! LINK    v on the held-out a z + b, as for the classifier
//! ```

use std::sync::Arc;

use super::curve::logistic;
use super::folds::{Assignment, Folds};
use super::path::softmax;
use super::smooth::{self, Bins, LinkPoint, Smooth};
use super::{inside, refit::blend};
use crate::error::{Error, Result};
use crate::link::{InverseLink, RelativeLink, Sigmoid};

/// What goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreKind {
    /// Probabilities if all values lie in `[0, 1]`, else scores.
    #[default]
    Auto,
    /// Any finite numbers, larger for positives: margins, logits.
    Scores,
    /// Numbers from 0 to 1; used as `log((p + e) / (1 - p + e))` with `e = 1 / (n + 2)`, so that 0
    /// and 1 stay finite and in order.
    Probabilities,
}

impl ScoreKind {
    /// The name used in model files, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Scores => "scores",
            Self::Probabilities => "probabilities",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Auto, Self::Scores, Self::Probabilities].into_iter().find(|kind| kind.name() == name)
    }
}

/// Options of the calibrator; the defaults need no thought.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrator {
    /// Who is held out with whom.
    pub folds: Folds,
    /// Scores or probabilities.
    pub kind: ScoreKind,
    /// The strengths of smoothness that are weighed beside the sigmoid itself, decreasing.
    pub smoothness: Vec<f64>,
}

impl Default for Calibrator {
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            kind: ScoreKind::default(),
            smoothness: smooth::default_smoothness(),
        }
    }
}

/// A fitted calibration.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// `e` of [`ScoreKind::Probabilities`]; `None` where scores went in.
    pub margin: Option<f64>,
    /// `a`, positive.
    pub slope: f64,
    /// `b`.
    pub intercept: f64,
    /// `v o sigma`, applied to `a z + b`.
    pub link: Arc<RelativeLink>,
    /// Largest slope ratio `tau` of the averaged link. *Guarantee*: at every score the log-loss is at
    /// most that of `sigma(a z + b)` plus `log tau`, and `tau` is below [`smooth::TAU`].
    pub slope_ratio: f64,
    /// The sigmoid and every smoothness with its cross-fitted log-loss and weight.
    pub links: Vec<LinkPoint>,
    /// Held-out log-loss of the sigmoid alone, and of the result.
    pub held_out_log_loss: [f64; 2],
}

impl Calibrator {
    /// Fits to scores that the labels were *not* used for (held-out ones).
    pub fn fit(
        &self,
        scores: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
    ) -> Result<Calibration> {
        smooth::check_smoothness(&self.smoothness)?;
        let ones;
        let weights = match weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; scores.len()];
                &ones
            }
        };
        check(scores, labels, weights)?;
        let kept = weights.iter().filter(|&&weight| weight > 0.0).count();
        let margin = self.margin(scores, kept)?;
        let z: Vec<f64> = scores.iter().map(|&s| from_probability(s, margin)).collect();
        let folds = match self.folds.assign(labels, weights) {
            // One row of a class: nothing can be held out, Platt's sigmoid is all there is.
            Err(Error::ClassTooSmall { .. }) if has_both(labels, weights) => {
                return platt_alone(&z, labels, weights, margin);
            }
            folds => folds?,
        };

        let data = Data { z: &z, labels, weights, folds: &folds };
        let (lines, plain) = data.sigmoid();
        let held_out: Vec<f64> = (0..z.len())
            .map(|i| {
                let [a, b] = lines[folds.of_row[i] as usize];
                a * z[i] + b
            })
            .collect();
        let bins = Bins::of_rows(&held_out, labels, weights, &folds.of_row)?;
        let smooth = Smooth { smoothness: self.smoothness.clone(), ..Smooth::default() };
        let link = smooth.fit(&bins)?;
        let relative = RelativeLink::new(Arc::new(Sigmoid), link.v)?;
        let total: f64 = weights.iter().sum();
        let [slope, intercept] = lines[folds.count];
        Ok(Calibration {
            margin,
            slope,
            intercept,
            slope_ratio: relative.slope_ratio(),
            link: Arc::new(relative),
            links: link.points,
            held_out_log_loss: [plain / total, -link.score / total],
        })
    }

    fn margin(&self, scores: &[f64], rows: usize) -> Result<Option<f64>> {
        let outside = scores.iter().position(|s| !(0.0..=1.0).contains(s));
        match (self.kind, outside) {
            (ScoreKind::Scores, _) | (ScoreKind::Auto, Some(_)) => Ok(None),
            (ScoreKind::Probabilities, Some(index)) => Err(Error::ElementOutOfDomain {
                what: "probabilities",
                index,
                value: scores[index],
                expected: "from 0 to 1",
            }),
            (_, None) => Ok(Some(1.0 / (rows as f64 + 2.0))),
        }
    }
}

impl Calibration {
    /// `P(y = 1)` for a score, strictly between 0 and 1.
    pub fn probability(&self, score: f64) -> f64 {
        let z = from_probability(score, self.margin);
        inside(self.link.u(self.slope * z + self.intercept))
    }

    /// [`Self::probability`] for many scores, which must be finite.
    pub fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>> {
        if let Some(index) = scores.iter().position(|s| !s.is_finite()) {
            return Err(Error::NotFinite { what: "scores", index, value: scores[index] });
        }
        Ok(scores.iter().map(|&score| self.probability(score)).collect())
    }
}

/// The score of a probability; a score stays as it is.
fn from_probability(s: f64, margin: Option<f64>) -> f64 {
    match margin {
        None => s,
        Some(e) => {
            let p = s.clamp(0.0, 1.0);
            ((p + e) / ((1.0 - p) + e)).ln()
        }
    }
}

fn check(scores: &[f64], labels: &[u8], weights: &[f64]) -> Result<()> {
    for (what, length) in [("labels", labels.len()), ("weights", weights.len())] {
        if length != scores.len() {
            let other_length = scores.len();
            return Err(Error::LengthMismatch { what, length, other: "scores", other_length });
        }
    }
    for (index, &value) in scores.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what: "scores", index, value });
        }
    }
    for (index, &label) in labels.iter().enumerate() {
        if label > 1 {
            let value = f64::from(label);
            return Err(Error::ElementOutOfDomain {
                what: "labels",
                index,
                value,
                expected: "0 or 1",
            });
        }
    }
    for (index, &value) in weights.iter().enumerate() {
        if !(value >= 0.0 && value.is_finite()) {
            let expected = "0 (the row is left out) or positive, and finite";
            return Err(Error::ElementOutOfDomain { what: "weights", index, value, expected });
        }
    }
    Ok(())
}

fn has_both(labels: &[u8], weights: &[f64]) -> bool {
    [0, 1].iter().all(|y| labels.iter().zip(weights).any(|(label, w)| label == y && *w > 0.0))
}

/// Platt's sigmoid on all rows, with the identity for `v` and its loss on the rows themselves.
fn platt_alone(
    z: &[f64],
    labels: &[u8],
    weights: &[f64],
    margin: Option<f64>,
) -> Result<Calibration> {
    let folds = Assignment { of_row: vec![0; z.len()], count: 1 };
    let data = Data { z, labels, weights, folds: &folds };
    let line = data.platt(usize::MAX);
    let log_loss = data.held_out_loss(&[line]) / weights.iter().sum::<f64>();
    Ok(Calibration {
        margin,
        slope: line[0],
        intercept: line[1],
        slope_ratio: 1.0,
        link: Arc::new(RelativeLink::new(Arc::new(Sigmoid), smooth::identity()?)?),
        links: vec![LinkPoint {
            smoothness: f64::INFINITY,
            slope_ratio: 1.0,
            log_loss,
            score: 0.0,
            weight: 1.0,
        }],
        held_out_log_loss: [log_loss; 2],
    })
}

struct Data<'a> {
    z: &'a [f64],
    labels: &'a [u8],
    weights: &'a [f64],
    folds: &'a Assignment,
}

impl Data<'_> {
    /// `(a, b)` without each fold and on all rows, and the held-out log-loss: Platt's sigmoid and
    /// the identity, averaged by held-out likelihood; the sigmoid pays for its two parameters.
    fn sigmoid(&self) -> (Vec<[f64; 2]>, f64) {
        let count = self.folds.count;
        let mut lines: Vec<[f64; 2]> = (0..=count).map(|k| self.platt(k)).collect();
        let platt = -self.held_out_loss(&lines) - 1.0;
        let identity = -self.held_out_loss(&vec![[1.0, 0.0]; count + 1]);
        let weight = softmax(&[identity, platt])[0];
        lines.iter_mut().for_each(|line| blend(weight, line, &[1.0, 0.0]));
        let loss = self.held_out_loss(&lines);
        (lines, loss)
    }

    fn rows(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.z.len())
            .filter(move |&i| self.weights[i] > 0.0 && self.folds.of_row[i] as usize != k)
    }

    /// Platt's sigmoid on the rows outside fold `k`: Newton's method in two variables on log-loss
    /// with his targets `(n_1 + 1) / (n_1 + 2)` and `1 / (n_0 + 2)`, which keep `a` finite on
    /// separable scores. Scores are standardised first.
    fn platt(&self, k: usize) -> [f64; 2] {
        let mut sums = [0.0f64; 3];
        let mut classes = [0.0f64; 2];
        for i in self.rows(k) {
            sums[0] += self.weights[i];
            sums[1] += self.weights[i] * self.z[i];
            classes[usize::from(self.labels[i])] += self.weights[i];
        }
        let mean = sums[1] / sums[0];
        for i in self.rows(k) {
            sums[2] += self.weights[i] * (self.z[i] - mean).powi(2);
        }
        let deviation = (sums[2] / sums[0]).sqrt();
        let scale = if deviation > 0.0 { 1.0 / deviation } else { 1.0 };
        let targets = [1.0 / (classes[0] + 2.0), (classes[1] + 1.0) / (classes[1] + 2.0)];
        let [a, b] = self.newton(k, mean, scale, targets, (classes[1] / classes[0]).ln());
        // Scores that rank the wrong way round are not turned, only flattened.
        let a = a.max(1e-3) * scale;
        [a, b - a * mean]
    }

    fn newton(&self, k: usize, mean: f64, scale: f64, targets: [f64; 2], start: f64) -> [f64; 2] {
        let objective = |line: [f64; 2]| -> f64 {
            let at = |i: usize| line[0] * (self.z[i] - mean) * scale + line[1];
            let target = |i: usize| targets[usize::from(self.labels[i])];
            self.rows(k).map(|i| self.weights[i] * logistic(at(i), target(i)).loss).sum()
        };
        let mut line = [0.0, start];
        let mut value = objective(line);
        for _ in 0..100 {
            let (mut g, mut h) = ([0.0f64; 2], [1e-12f64, 0.0, 1e-12]);
            for i in self.rows(k) {
                let x = (self.z[i] - mean) * scale;
                let z = line[0] * x + line[1];
                let r = self.weights[i] * logistic(z, targets[usize::from(self.labels[i])]).slope;
                let p = Sigmoid.u(z);
                let c = self.weights[i] * p * (1.0 - p);
                g = [g[0] + r * x, g[1] + r];
                h = [h[0] + c * x * x, h[1] + c * x, h[2] + c];
            }
            let determinant = (h[0] * h[2] - h[1] * h[1]).max(1e-24);
            let step = [
                (h[2] * g[0] - h[1] * g[1]) / determinant,
                (h[0] * g[1] - h[1] * g[0]) / determinant,
            ];
            let decrement = 0.5 * (g[0] * step[0] + g[1] * step[1]);
            let mut length = 1.0;
            let next = loop {
                let next = [line[0] - length * step[0], line[1] - length * step[1]];
                let trial = objective(next);
                if trial <= value || length < 1e-10 {
                    value = trial;
                    break next;
                }
                length *= 0.5;
            };
            line = next;
            if decrement < 1e-6 {
                break;
            }
        }
        line
    }

    /// Summed log-loss of every row under the line that did not see it.
    fn held_out_loss(&self, lines: &[[f64; 2]]) -> f64 {
        self.rows(usize::MAX)
            .map(|i| {
                let [a, b] = lines[self.folds.of_row[i] as usize];
                self.weights[i] * logistic(a * self.z[i] + b, f64::from(self.labels[i])).loss
            })
            .sum()
    }
}
