//! The scales of the columns, as every model sees them: what the penalties are made of.

use super::rows::Rows;
use crate::sample::Matrix;

/// Deviations of the columns.
#[derive(Debug)]
pub(super) struct Scales {
    /// `s_kj / s_j`: model `k`, column `j`; 1 for a column that is constant in what the model sees.
    relative: Vec<Vec<f64>>,
    /// `s_j` over all rows; 0 for a constant column.
    deviation: Vec<f64>,
    /// `V`: the variance of `log s_j`.
    pub spread: f64,
    /// Columns that are not constant.
    columns: usize,
}

impl Scales {
    pub(super) fn new(rows: &Rows<'_>) -> Self {
        let (columns, folds) = (rows.matrix.columns(), rows.folds.count);
        let moments = Moments::new(rows);
        let deviation: Vec<f64> =
            rows.factor.iter().map(|&f| if f > 0.0 { 1.0 / f } else { 0.0 }).collect();
        let all = moments.sum_of(0..folds + 1, columns);
        let relative = (0..=folds)
            .map(|model| {
                // Model `k` does not see fold `k`.
                let mut seen = all.clone();
                if model < folds {
                    let held = &moments.parts[model];
                    seen.iter_mut().zip(held).for_each(|(a, b)| *a -= b);
                }
                let weight = seen[3 * columns];
                (0..columns)
                    .map(|j| {
                        let mean = seen[j] / weight;
                        let s = (seen[columns + j] / weight - mean * mean).max(0.0).sqrt();
                        if s > 1e-6 { s } else { 1.0 }
                    })
                    .collect()
            })
            .collect();
        // n_j = (Σ c²)² / Σ c⁴: how many rows a column's scale rests on.
        let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
        for j in (0..columns).filter(|&j| deviation[j] > 0.0) {
            let (squares, fourths) = (all[columns + j], all[2 * columns + j]);
            let rows = if fourths > 0.0 { squares * squares / fourths } else { 0.0 };
            let (trust, log) = (rows / (rows + 10.0), deviation[j].ln());
            total += trust;
            first += trust * log;
            second += trust * log * log;
        }
        let spread = if total > 0.0 {
            (second / total - (first / total) * (first / total)).max(0.0)
        } else {
            0.0
        };
        let columns = deviation.iter().filter(|&&s| s > 0.0).count().max(1);
        Self { relative, deviation, spread, columns }
    }

    /// `C = 10^g / (2 d)`.
    pub(super) fn strength(&self, g: f64) -> f64 {
        10f64.powf(g) / (2 * self.columns) as f64
    }

    /// `P_kj` for every model; 0 for the intercept.
    pub(super) fn penalties(&self, g: f64, a: f64) -> Vec<Vec<f64>> {
        self.relative
            .iter()
            .map(|relative| {
                let s = |j: usize| relative[j] * self.deviation[j];
                let kept = (0..relative.len()).filter(|&j| self.deviation[j] > 0.0);
                let t: f64 = kept.map(|j| s(j).powf(2.0 - 2.0 * a)).sum();
                let scale = 2.0 * 10f64.powf(-g) * if t > 0.0 { t } else { 1.0 };
                let of = |j: usize| {
                    if self.deviation[j] > 0.0 {
                        scale * relative[j] * relative[j] * s(j).powf(2.0 * a - 2.0)
                    } else {
                        scale
                    }
                };
                (0..relative.len()).map(of).chain([0.0]).collect()
            })
            .collect()
    }
}

/// Per fold (and for the rows of none): sums of the standardised columns, of their squares and
/// fourth powers, and the weight.
struct Moments {
    parts: Vec<Vec<f64>>,
}

impl Moments {
    fn new(rows: &Rows<'_>) -> Self {
        let (columns, folds) = (rows.matrix.columns(), rows.folds.count);
        let mut parts = vec![vec![0.0; 3 * columns + 1]; folds + 1];
        let sparse = matches!(rows.matrix, Matrix::Csr(_));
        for (i, &weight) in rows.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let part = &mut parts[(rows.folds.of_row[i] as usize).min(folds)];
            part[3 * columns] += weight;
            rows.matrix.for_each_in_row(i, |j, x| {
                let c = (x - rows.mean[j]) * rows.factor[j];
                // What is not stored counts as 0 below; here is the difference to it.
                let zero = if sparse { -rows.mean[j] * rows.factor[j] } else { 0.0 };
                let (c2, z2) = (c * c, zero * zero);
                part[j] += weight * (c - zero);
                part[columns + j] += weight * (c2 - z2);
                part[2 * columns + j] += weight * (c2 * c2 - z2 * z2);
            });
        }
        if sparse {
            for part in &mut parts {
                let weight = part[3 * columns];
                for j in 0..columns {
                    let zero = -rows.mean[j] * rows.factor[j];
                    let z2 = zero * zero;
                    part[j] += weight * zero;
                    part[columns + j] += weight * z2;
                    part[2 * columns + j] += weight * z2 * z2;
                }
            }
        }
        Self { parts }
    }

    fn sum_of(&self, range: std::ops::Range<usize>, columns: usize) -> Vec<f64> {
        let mut total = vec![0.0; 3 * columns + 1];
        for part in &self.parts[range] {
            total.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
        total
    }
}
