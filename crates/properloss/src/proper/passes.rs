//! One pass over the rows for all fold models at once.
//!
//! Model `k < K` is trained on the rows outside fold `k`, model `K` on all rows. Their scores are
//! products of the same row with `K + 1` weight vectors, so the row is read once, the weights are
//! interleaved (eight models to a vector), and the same visit adds the row to the `K + 1`
//! gradients. A pass therefore costs one read of X for all models, where a gradient of a single
//! model costs two.
//!
//! *Same bits for any number of threads*: rows are cut into chunks that depend on the shape alone,
//! and the sums of the chunks are added in order.

use rayon::prelude::*;

use super::curve::Curve;
use super::folds::Assignment;
use crate::design::{Design, FittedScaling, arch};
use crate::sample::{Dense, Matrix, Storage};

/// Models in one group of interleaved weights.
pub(super) const LANES: usize = 8;
/// Rows whose scores are computed together, sharing the loads of the weights.
const ROWS: usize = 4;

type Lanes = [f64; LANES];

/// The rows, labels, weights and folds that every pass reads.
#[derive(Debug)]
pub(super) struct Passes<'a> {
    pub design: &'a Design<'a>,
    pub labels: &'a [u8],
    pub weights: &'a [f64],
    pub folds: &'a Assignment,
    /// Total weight of the rows each model is trained on.
    pub totals: Vec<f64>,
    mean: &'a [f64],
    factor: &'a [f64],
}

/// What a pass found: per model, the mean loss and its gradient (intercept last).
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub loss: Vec<f64>,
    pub gradient: Vec<Vec<f64>>,
}

impl<'a> Passes<'a> {
    /// `design` is standardised and has an intercept.
    pub(super) fn new(
        design: &'a Design<'a>,
        labels: &'a [u8],
        weights: &'a [f64],
        folds: &'a Assignment,
    ) -> Self {
        let (mean, factor): (&[f64], &[f64]) = match design.scaling() {
            FittedScaling::Standardise { mean, factor } => (mean, factor),
            _ => (&[], &[]),
        };
        let mut totals = vec![0.0; folds.count + 1];
        for (i, &weight) in weights.iter().enumerate() {
            totals[folds.of_row[i] as usize] += weight;
            totals[folds.count] += weight;
        }
        let all = totals[folds.count];
        totals[..folds.count].iter_mut().for_each(|inside| *inside = all - *inside);
        Self { design, labels, weights, folds, totals, mean, factor }
    }

    /// Means and factors of the columns.
    pub(super) fn scaling(&self) -> (&[f64], &[f64]) {
        (self.mean, self.factor)
    }

    /// Number of models: one a fold, and one for all rows.
    pub(super) fn models(&self) -> usize {
        self.folds.count + 1
    }

    /// Mean loss and gradient of every model at its weights `w[k]`. Writes each row's score under
    /// the model that did not see it to `held_out`.
    pub(super) fn sums(&self, curve: &Curve<'_>, w: &[Vec<f64>], held_out: &mut [f64]) -> Sums {
        let columns = self.design.matrix().columns();
        let models = self.models();
        let mut result = Sums { loss: Vec::new(), gradient: Vec::new() };
        for first in (0..models).step_by(LANES) {
            let group = Group::new(self, first, &w[first..models.min(first + LANES)]);
            let chunk = self.chunk_rows();
            let mut partial: Vec<Partial> = held_out
                .par_chunks_mut(chunk)
                .enumerate()
                .map(|(number, held_out)| {
                    let mut sums = Partial::new(columns);
                    let start = number * chunk;
                    match self.design.matrix() {
                        Matrix::DenseF32(x) => {
                            group.dense(self, &x, curve, start, held_out, &mut sums)
                        }
                        Matrix::DenseF64(x) => {
                            group.dense(self, &x, curve, start, held_out, &mut sums)
                        }
                        Matrix::Csr(_) => group.sparse(self, curve, start, held_out, &mut sums),
                    }
                    sums
                })
                .collect();
            let (total, rest) = partial.split_at_mut(1);
            for part in rest {
                total[0].add(part);
            }
            for (lane, k) in (first..models.min(first + LANES)).enumerate() {
                let n = self.totals[k];
                result.loss.push(total[0].loss[lane] / n);
                let slope = total[0].slope[lane];
                // g_j = F_j (sum r x_j - c_j sum r): the standardisation, put on the raw sums.
                let raw = |j: usize| total[0].gradient[j][lane];
                let mut g: Vec<f64> = (0..columns)
                    .map(|j| self.factor[j] * (raw(j) - self.mean[j] * slope) / n)
                    .collect();
                g.push(slope / n);
                result.gradient.push(g);
            }
        }
        result
    }

    /// Rows per chunk: enough work to hide a task, few enough chunks that adding them up is cheap.
    fn chunk_rows(&self) -> usize {
        let (rows, columns) = (self.design.rows(), self.design.matrix().columns());
        let stored = self.design.matrix().stored();
        let chunks = (stored / 8192).min(stored / columns.max(1) / 16).clamp(1, 64);
        rows.div_ceil(chunks).next_multiple_of(ROWS)
    }
}

/// Up to eight models with their weights on the raw features, interleaved.
struct Group {
    first: usize,
    models: usize,
    w: Vec<Lanes>,
    shift: Lanes,
}

/// The sums over one chunk.
struct Partial {
    loss: Lanes,
    slope: Lanes,
    gradient: Vec<Lanes>,
}

impl Partial {
    fn new(columns: usize) -> Self {
        Self { loss: [0.0; LANES], slope: [0.0; LANES], gradient: vec![[0.0; LANES]; columns] }
    }

    fn add(&mut self, other: &Self) {
        let add = |a: &mut Lanes, b: &Lanes| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.loss, &other.loss);
        add(&mut self.slope, &other.slope);
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| add(a, b));
    }
}

impl Group {
    fn new(passes: &Passes<'_>, first: usize, w: &[Vec<f64>]) -> Self {
        let columns = passes.design.matrix().columns();
        let mut interleaved = vec![[0.0; LANES]; columns];
        let mut shift = [0.0; LANES];
        for (lane, w) in w.iter().enumerate() {
            let (raw, b) = passes.design.original_coefficients(w);
            shift[lane] = b;
            for (target, value) in interleaved.iter_mut().zip(raw) {
                target[lane] = value;
            }
        }
        Self { first, models: w.len(), w: interleaved, shift }
    }

    fn dense<T: Storage>(
        &self,
        passes: &Passes<'_>,
        x: &Dense<'_, T>,
        curve: &Curve<'_>,
        start: usize,
        held_out: &mut [f64],
        sums: &mut Partial,
    ) {
        arch().dispatch(
            #[inline(always)]
            || {
                let full = held_out.len() - held_out.len() % ROWS;
                for i in (0..full).step_by(ROWS) {
                    let rows: [&[T]; ROWS] = std::array::from_fn(|k| x.row(start + i + k));
                    let mut z = [self.shift; ROWS];
                    scores(rows, &self.w, &mut z);
                    let mut r = [[0.0; LANES]; ROWS];
                    for k in 0..ROWS {
                        let row = start + i + k;
                        r[k] = self.slopes(passes, curve, row, &z[k], &mut held_out[i + k], sums);
                    }
                    add_rows(rows, &r, &mut sums.gradient);
                }
                for i in full..held_out.len() {
                    let rows = [x.row(start + i)];
                    let mut z = [self.shift];
                    scores(rows, &self.w, &mut z);
                    let row = start + i;
                    let r = [self.slopes(passes, curve, row, &z[0], &mut held_out[i], sums)];
                    add_rows(rows, &r, &mut sums.gradient);
                }
            },
        );
    }

    fn sparse(
        &self,
        passes: &Passes<'_>,
        curve: &Curve<'_>,
        start: usize,
        held_out: &mut [f64],
        sums: &mut Partial,
    ) {
        let matrix = passes.design.matrix();
        for (i, held_out) in held_out.iter_mut().enumerate() {
            let mut z = self.shift;
            matrix.for_each_in_row(start + i, |j, x| {
                for l in 0..LANES {
                    z[l] += x * self.w[j][l];
                }
            });
            let r = self.slopes(passes, curve, start + i, &z, held_out, sums);
            matrix.for_each_in_row(start + i, |j, x| {
                for l in 0..LANES {
                    sums.gradient[j][l] += x * r[l];
                }
            });
        }
    }

    /// The weighted slopes of one row's losses, 0 for the model that must not see the row.
    #[inline(always)]
    fn slopes(
        &self,
        passes: &Passes<'_>,
        curve: &Curve<'_>,
        row: usize,
        z: &Lanes,
        held_out: &mut f64,
        sums: &mut Partial,
    ) -> Lanes {
        let mut r = [0.0; LANES];
        let fold = passes.folds.of_row[row] as usize;
        let weight = passes.weights[row];
        let y = f64::from(passes.labels[row]);
        if fold >= self.first && fold < self.first + self.models {
            *held_out = z[fold - self.first];
        }
        if weight == 0.0 {
            return r;
        }
        for l in 0..self.models {
            if self.first + l != fold {
                let point = curve.at(z[l], y);
                sums.loss[l] += weight * point.loss;
                r[l] = weight * point.slope;
                sums.slope[l] += r[l];
            }
        }
        r
    }
}

/// `z_k += x_k · w` for a few rows and eight models.
#[inline(always)]
fn scores<T: Storage, const K: usize>(rows: [&[T]; K], w: &[Lanes], z: &mut [Lanes; K]) {
    let rows = rows.map(|row| &row[..w.len()]);
    for (j, w) in w.iter().enumerate() {
        for k in 0..K {
            let x = rows[k][j].to_f64();
            for l in 0..LANES {
                z[k][l] += x * w[l];
            }
        }
    }
}

/// `g += sum_k x_k r_k`.
#[inline(always)]
fn add_rows<T: Storage, const K: usize>(rows: [&[T]; K], r: &[Lanes; K], gradient: &mut [Lanes]) {
    let rows = rows.map(|row| &row[..gradient.len()]);
    for (j, g) in gradient.iter_mut().enumerate() {
        for k in 0..K {
            let x = rows[k][j].to_f64();
            for l in 0..LANES {
                g[l] += x * r[k][l];
            }
        }
    }
}
