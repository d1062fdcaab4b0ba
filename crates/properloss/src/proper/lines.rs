//! The line `a z + b`, `a > 0`, that the scores of a calibrator go through before the sigmoid.
//!
//! ```text
//! the scores as they are    (1, 0)                        price 0
//! a temperature             (a, 0)                        price 1/2
//! Platt's sigmoid           (a, b)                        price 1
//! ```
//!
//! Averaged by held-out likelihood less the price, for every fold and for all rows. The rows are
//! counted first, in cells of 1/128 of their standard deviation, so that any number of them costs one
//! look.

use super::curve::logistic;
use super::folds::Assignment;
use super::path::softmax;
use super::smooth::Bins;
use crate::error::Result;
use crate::link::{InverseLink, Sigmoid};

const TEMPERATURE_PRICE: f64 = 0.5;
const PLATT_PRICE: f64 = 1.0;
/// Scores that rank the wrong way round are not turned, only flattened: to this over their spread.
const FLATTEST: f64 = 1e-3;

/// One line for every fold (fitted without it), then that of all rows.
pub(super) struct Lines {
    pub of_fold: Vec<[f64; 2]>,
    /// Summed held-out log-loss of `sigma(a z + b)`.
    pub log_loss: f64,
}

/// The averaged lines.
pub(super) fn fit(z: &[f64], labels: &[u8], weights: &[f64], folds: &Assignment) -> Result<Lines> {
    let counted = Counted::new(z, labels, weights, folds)?;
    let count = folds.count;
    let all = |line: &dyn Fn(usize) -> [f64; 2]| (0..=count).map(line).collect::<Vec<_>>();
    let candidates =
        [all(&|_| [1.0, 0.0]), all(&|k| counted.temperature(k)), all(&|k| counted.platt(k))];
    let prices = [0.0, TEMPERATURE_PRICE, PLATT_PRICE];
    let scores: Vec<f64> = candidates
        .iter()
        .zip(prices)
        .map(|(lines, price)| -counted.held_out_loss(lines) - price)
        .collect();
    let share = softmax(&scores);
    let mean = |k: usize, part: usize| -> f64 {
        candidates.iter().zip(&share).map(|(lines, share)| share * lines[k][part]).sum()
    };
    let of_fold: Vec<[f64; 2]> = (0..=count).map(|k| [mean(k, 0), mean(k, 1)]).collect();
    let log_loss = counted.held_out_loss(&of_fold);
    Ok(Lines { of_fold, log_loss })
}

/// Platt's sigmoid on all rows, and its mean log-loss on them.
pub(super) fn platt_alone(z: &[f64], labels: &[u8], weights: &[f64]) -> Result<([f64; 2], f64)> {
    let folds = Assignment { of_row: vec![0; z.len()], count: 1 };
    let counted = Counted::new(z, labels, weights, &folds)?;
    let line = counted.platt(usize::MAX);
    Ok((line, counted.held_out_loss(&[line]) / weights.iter().sum::<f64>()))
}

/// Rows of one score (up to the width of a cell), label and fold.
struct Row {
    /// `(z - mean) / spread`.
    x: f64,
    weight: f64,
    label: usize,
    fold: usize,
}

struct Counted {
    rows: Vec<Row>,
    mean: f64,
    spread: f64,
}

impl Counted {
    fn new(z: &[f64], labels: &[u8], weights: &[f64], folds: &Assignment) -> Result<Self> {
        let kept = || (0..z.len()).filter(|&i| weights[i] > 0.0);
        // In units of the largest score, so that no square overflows.
        let largest = kept().map(|i| z[i].abs()).fold(f64::MIN_POSITIVE, f64::max);
        let total: f64 = kept().map(|i| weights[i]).sum();
        let mean = kept().map(|i| weights[i] * (z[i] / largest)).sum::<f64>() / total;
        let square = kept().map(|i| weights[i] * (z[i] / largest - mean).powi(2)).sum::<f64>();
        let deviation = (square / total).sqrt();
        // Equal scores differ from their mean by rounding alone.
        let spread = if deviation > 1e-13 { largest * deviation } else { 1.0 };
        let mean = largest * mean;
        let x: Vec<f64> = z.iter().map(|z| z / spread - mean / spread).collect();
        let bins = Bins::of_rows(&x, labels, weights, &folds.of_row)?;
        let rows = bins
            .counts()
            .map(|(x, label, weight, fold)| Row { x, weight, label: usize::from(label), fold })
            .collect();
        Ok(Self { rows, mean, spread })
    }

    fn outside(&self, k: usize) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.fold != k)
    }

    /// `[n_0, n_1]` outside fold `k`.
    fn classes(&self, k: usize) -> [f64; 2] {
        let mut classes = [0.0; 2];
        self.outside(k).for_each(|row| classes[row.label] += row.weight);
        classes
    }

    fn score(&self, x: f64) -> f64 {
        self.mean + self.spread * x
    }

    /// `(a, b)`.
    fn platt(&self, k: usize) -> [f64; 2] {
        let classes = self.classes(k);
        let start = [0.0, (classes[1] / classes[0]).ln()];
        let [a, b] = self.newton(k, classes, |x| [x, 1.0], start);
        let a = a.max(FLATTEST);
        [a / self.spread, b - a * (self.mean / self.spread)]
    }

    /// `(a, 0)`.
    fn temperature(&self, k: usize) -> [f64; 2] {
        let size = self.mean.abs().max(self.spread);
        let [a, _] = self.newton(k, self.classes(k), |x| [self.score(x) / size, 0.0], [0.0; 2]);
        [a.max(FLATTEST) / size, 0.0]
    }

    /// Newton's method on the log-loss of `line . feature` with Platt's targets
    /// `(n_1 + 1) / (n_1 + 2)` and `1 / (n_0 + 2)`, which keep it finite on separable scores.
    fn newton(
        &self,
        k: usize,
        classes: [f64; 2],
        feature: impl Fn(f64) -> [f64; 2],
        start: [f64; 2],
    ) -> [f64; 2] {
        let targets = [1.0 / (classes[0] + 2.0), (classes[1] + 1.0) / (classes[1] + 2.0)];
        let at = |line: [f64; 2], x: f64| {
            let f = feature(x);
            line[0] * f[0] + line[1] * f[1]
        };
        let objective = |line: [f64; 2]| -> f64 {
            let loss = |row: &Row| logistic(at(line, row.x), targets[row.label]).loss;
            self.outside(k).map(|row| row.weight * loss(row)).sum()
        };
        let mut line = start;
        let mut value = objective(line);
        for _ in 0..100 {
            let (mut g, mut h) = ([0.0f64; 2], [1e-12f64, 0.0, 1e-12]);
            for row in self.outside(k) {
                let (f, z) = (feature(row.x), at(line, row.x));
                let r = row.weight * logistic(z, targets[row.label]).slope;
                let c = row.weight * Sigmoid.u(z) * Sigmoid.u(-z);
                g = [g[0] + r * f[0], g[1] + r * f[1]];
                h = [h[0] + c * f[0] * f[0], h[1] + c * f[0] * f[1], h[2] + c * f[1] * f[1]];
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
        let loss = |row: &Row| {
            let [a, b] = lines[row.fold];
            logistic(a * self.score(row.x) + b, row.label as f64).loss
        };
        self.rows.iter().map(|row| row.weight * loss(row)).sum()
    }
}
