//! The metric of a descent: the Hessian of every fold model, at one reference point.
//!
//! The fold models differ by a fifth of the rows, so one visit serves them all: with
//! `G_j = sum of h_i x_i x_i' over fold j` at the scores of the model of all rows, the Hessian of
//! model `k` is `(sum_j G_j - G_k) / n_k + lambda_k I`. It need not be exact (the descent corrects it):
//! for many rows a sample of them is enough, for many columns the diagonal.

use rayon::prelude::*;

use super::curve::Curve;
use super::folds::Random;
use super::passes::Passes;
use crate::design::arch;

/// With more columns than this only the diagonal is kept: a factorisation is O(d^3). So with fewer
/// rows than columns: it would cost as much as thousands of passes.
const MAX_DENSE: usize = 1024;
/// Rows that the Hessian is taken from: at least this many, and this many times the columns.
const MIN_ROWS: usize = 16_384;
const ROWS_PER_COLUMN: usize = 12;
/// Rows that are scaled and multiplied together.
const BLOCK: usize = 128;

/// `x -> M^-1 x` for every model.
#[derive(Debug)]
pub(super) enum Metric {
    /// The lower Cholesky factor of each model, row-major.
    Dense { factors: Vec<Vec<f64>>, dimension: usize },
    /// The diagonal of each model.
    Diagonal(Vec<Vec<f64>>),
}

/// The sums `G_j`, kept so that another penalty costs only a factorisation.
#[derive(Debug)]
pub(super) struct Hessian {
    /// Per fold: `d x d`, or the diagonal.
    parts: Vec<Vec<f64>>,
    /// Total weight of the rows taken from each fold.
    weights: Vec<f64>,
    dimension: usize,
    dense: bool,
}

impl Hessian {
    /// Work of [`Self::at`] in units of one pass.
    pub(super) fn cost(passes: &Passes<'_>) -> f64 {
        let (rows, d) = (passes.design.rows() as f64, passes.design.dimension() as f64);
        if !is_dense(passes) {
            return 0.2;
        }
        reference_rows(passes) as f64 * d * d / (rows * 32.0 * passes.models() as f64 / 8.0 * d)
    }

    /// At the weights `w` of the model of all rows.
    pub(super) fn at(passes: &Passes<'_>, curve: &Curve<'_>, w: &[f64]) -> Self {
        let d = passes.design.dimension();
        let dense = is_dense(passes);
        let rows = sampled_rows(passes);
        let (mut parts, mut weights) = (Vec::new(), Vec::new());
        for rows in &rows {
            weights.push(rows.iter().map(|&i| passes.weights[i]).sum());
            parts.push(if dense {
                gram(passes, curve, w, rows)
            } else {
                diagonal(passes, curve, w, rows)
            });
        }
        Self { parts, weights, dimension: d, dense }
    }

    /// Adds the penalties and factorises.
    pub(super) fn metric(&self, lambda: &[f64]) -> Metric {
        let size = self.parts[0].len();
        let mut all = vec![0.0; size];
        for part in &self.parts {
            all.iter_mut().zip(part).for_each(|(a, p)| *a += p);
        }
        let weight: f64 = self.weights.iter().sum();
        let d = self.dimension;
        let models: Vec<Vec<f64>> = (0..lambda.len())
            .into_par_iter()
            .map(|k| {
                // Model `k` does not see fold `k`; the last model sees all.
                let mut h = all.clone();
                let mut n = weight;
                if let Some(part) = self.parts.get(k) {
                    h.iter_mut().zip(part).for_each(|(a, p)| *a -= p);
                    n -= self.weights[k];
                }
                h.iter_mut().for_each(|a| *a /= n.max(f64::MIN_POSITIVE));
                let at = |j: usize| if self.dense { j * d + j } else { j };
                let trace: f64 = (0..d).map(|j| h[at(j)]).sum();
                // The intercept has no penalty: a little keeps the factorisation going where all
                // probabilities are 0 or 1.
                let least = 1e-10 * (trace / d as f64 + lambda[k]).max(1e-10);
                for j in 0..d {
                    h[at(j)] =
                        h[at(j)].max(0.0) + if j + 1 < d { lambda[k] + least } else { least };
                }
                if self.dense {
                    cholesky(&mut h, d);
                }
                h
            })
            .collect();
        if self.dense {
            Metric::Dense { factors: models, dimension: d }
        } else {
            Metric::Diagonal(models)
        }
    }
}

impl Metric {
    /// `M_k^-1 x`, in place.
    pub(super) fn solve(&self, k: usize, x: &mut [f64]) {
        match self {
            Self::Dense { factors, dimension } => solve_cholesky(&factors[k], *dimension, x),
            Self::Diagonal(diagonals) => x.iter_mut().zip(&diagonals[k]).for_each(|(x, h)| *x /= h),
        }
    }
}

fn is_dense(passes: &Passes<'_>) -> bool {
    passes.design.dimension() <= MAX_DENSE.min(passes.design.rows())
}

fn reference_rows(passes: &Passes<'_>) -> usize {
    let wanted = MIN_ROWS.max(ROWS_PER_COLUMN * passes.design.dimension());
    wanted.min(passes.design.rows())
}

/// The rows of each fold that are used, chosen by a hash of the row number.
fn sampled_rows(passes: &Passes<'_>) -> Vec<Vec<usize>> {
    let rows = passes.design.rows();
    let share = reference_rows(passes) as f64 / rows as f64;
    let limit = (share * u64::MAX as f64) as u64;
    let mut result = vec![Vec::new(); passes.folds.count];
    for i in 0..rows {
        if passes.weights[i] > 0.0 && (share >= 1.0 || Random(i as u64).next() <= limit) {
            result[passes.folds.of_row[i] as usize].push(i);
        }
    }
    result
}

/// `sum h_i x_i x_i'` over `rows`, row-major, both triangles. Strips of rows of the result belong
/// to one thread each, so any number of threads gives the same bits.
fn gram(passes: &Passes<'_>, curve: &Curve<'_>, w: &[f64], rows: &[usize]) -> Vec<f64> {
    const STRIP: usize = 4;
    let d = passes.design.dimension();
    let padded = d.next_multiple_of(8);
    let mut result = vec![0.0; d.next_multiple_of(STRIP) * padded];
    let mut block = vec![0.0; BLOCK * padded];
    let mut scaled = vec![0.0; BLOCK * d.next_multiple_of(STRIP)];
    for rows in rows.chunks(BLOCK) {
        let used = rows.len();
        block[..used * padded]
            .par_chunks_mut(padded)
            .zip(
                scaled[..used * d.next_multiple_of(STRIP)]
                    .par_chunks_mut(d.next_multiple_of(STRIP)),
            )
            .zip(rows)
            .with_min_len(16)
            .for_each(|((x, hx), &i)| {
                passes.design.fill_row(i, &mut x[..d]);
                let z = x[..d].iter().zip(w).map(|(x, w)| x * w).sum();
                let h = passes.weights[i] * curve.curvature(z);
                for j in 0..d {
                    hx[j] = h * x[j];
                }
            });
        let (block, scaled) = (&block[..used * padded], &scaled);
        result.par_chunks_mut(STRIP * padded).enumerate().with_min_len(4).for_each(
            |(strip, target)| {
                arch().dispatch(
                    #[inline(always)]
                    || {
                        add_strip(
                            block,
                            scaled,
                            strip * STRIP,
                            d.next_multiple_of(STRIP),
                            padded,
                            target,
                        )
                    },
                );
            },
        );
    }
    let mut gram = vec![0.0; d * d];
    for a in 0..d {
        for b in a..d {
            gram[a * d + b] = result[a * padded + b];
            gram[b * d + a] = result[a * padded + b];
        }
    }
    gram
}

/// Four rows of the result, from column `first` on: tiles of four by eight held in registers.
#[inline(always)]
fn add_strip(
    block: &[f64],
    scaled: &[f64],
    first: usize,
    stride: usize,
    padded: usize,
    target: &mut [f64],
) {
    let rows = block.len() / padded;
    for column in (first / 8 * 8..padded).step_by(8) {
        let mut tile = [[0.0f64; 8]; 4];
        for i in 0..rows {
            let x = &block[i * padded + column..i * padded + column + 8];
            let hx = &scaled[i * stride + first..i * stride + first + 4];
            for a in 0..4 {
                for b in 0..8 {
                    tile[a][b] += hx[a] * x[b];
                }
            }
        }
        for a in 0..4 {
            let row = &mut target[a * padded + column..a * padded + column + 8];
            row.iter_mut().zip(tile[a]).for_each(|(t, s)| *t += s);
        }
    }
}

/// `sum h_i x_ij^2` over `rows`; the columns a sparse row does not store are corrected at the end.
fn diagonal(passes: &Passes<'_>, curve: &Curve<'_>, w: &[f64], rows: &[usize]) -> Vec<f64> {
    let d = passes.design.dimension();
    let matrix = passes.design.matrix();
    let (raw, shift) = passes.design.original_coefficients(w);
    // sum h F^2 (x - c)^2 = F^2 (sum h x^2 - 2 c sum h x + c^2 sum h)
    let (mut first, mut second, mut total) = (vec![0.0; d - 1], vec![0.0; d - 1], 0.0);
    for &i in rows {
        let mut z = shift;
        matrix.for_each_in_row(i, |j, x| z += x * raw[j]);
        let h = passes.weights[i] * curve.curvature(z);
        total += h;
        matrix.for_each_in_row(i, |j, x| {
            first[j] += h * x;
            second[j] += h * x * x;
        });
    }
    let (mean, factor) = passes.scaling();
    let mut result: Vec<f64> = (0..d - 1)
        .map(|j| {
            factor[j]
                * factor[j]
                * (second[j] - mean[j] * (2.0 * first[j] - mean[j] * total)).max(0.0)
        })
        .collect();
    result.push(total);
    result
}

/// `A = L L'` in place, lower triangle, row-major; a pivot that is not positive becomes tiny.
fn cholesky(a: &mut [f64], d: usize) {
    for i in 0..d {
        let (above, row) = a.split_at_mut(i * d);
        for j in 0..i {
            let other = &above[j * d..j * d + d];
            let s = row[j] - dot(&row[..j], &other[..j]);
            row[j] = s / other[j];
        }
        let s = row[i] - dot(&row[..i], &row[..i]);
        row[i] = s.max(1e-14 * row[i].abs().max(1e-300)).sqrt();
    }
}

fn solve_cholesky(l: &[f64], d: usize, x: &mut [f64]) {
    for i in 0..d {
        let s = dot(&l[i * d..i * d + i], &x[..i]);
        x[i] = (x[i] - s) / l[i * d + i];
    }
    for i in (0..d).rev() {
        x[i] /= l[i * d + i];
        let value = x[i];
        x[..i].iter_mut().zip(&l[i * d..i * d + i]).for_each(|(x, l)| *x -= value * l);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0f64; 8];
    let (a_groups, a_rest) = a.as_chunks::<8>();
    let (b_groups, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_groups.iter().zip(b_groups) {
        for l in 0..8 {
            lanes[l] += a[l] * b[l];
        }
    }
    for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[l] += a * b;
    }
    lanes.iter().sum()
}
