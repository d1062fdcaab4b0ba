//! One pass over the rows for all models and classes at once.
//!
//! Model `f < folds` sees the rows outside fold `f`, model `folds` all rows. Every pass reads each
//! row once for all of them. *Same bits for any number of threads*: rows are cut into chunks that
//! depend on the shape alone, and the sums of the chunks are added in order.

use rayon::prelude::*;

use super::curve::Curve;
use super::math::Eight;
use super::panel::{Adjoint, EIGHTS, Labels, Losses, PANEL, Panel, STRIP, Scores};
use super::sample::Assignment;
use super::sparse::SparseWeights;
use crate::design::{arch, run};
use crate::link::vector::softmax_into;
use crate::sample::{Dense, Matrix, Storage};

/// Panels are kept between passes if the copies take at most this many numbers (64 MB).
const MOST_KEPT: usize = 1 << 23;
/// At most this many partial sums ...
const MAX_CHUNKS: usize = 32;
/// ... and not more numbers than this in all (128 MB).
const MAX_PARTIAL: usize = 1 << 24;

/// The rows, standardised on the fly, with labels, weights and folds.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub matrix: Matrix<'a>,
    pub mean: &'a [f64],
    pub factor: &'a [f64],
    pub labels: &'a [u32],
    pub weights: &'a [f64],
    pub folds: &'a Assignment,
    pub classes: usize,
    kept: Vec<Panel>,
}

/// Summed loss and gradient of one model; the gradient in the layout of its weights.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub loss: f64,
    pub gradient: Vec<f64>,
}

/// What one chunk adds up.
struct Partial {
    loss: Vec<Eight>,
    gradient: Vec<[Eight; 2]>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        matrix: Matrix<'a>,
        scaling: (&'a [f64], &'a [f64]),
        labels: &'a [u32],
        weights: &'a [f64],
        folds: &'a Assignment,
        classes: usize,
    ) -> Self {
        let (mean, factor) = scaling;
        let mut rows =
            Self { matrix, mean, factor, labels, weights, folds, classes, kept: Vec::new() };
        let size = 2 * labels.len() * (matrix.columns() + 1).next_multiple_of(STRIP);
        if !matches!(matrix, Matrix::Csr(_)) && size <= MOST_KEPT {
            let panels = labels.len().div_ceil(PANEL);
            rows.kept = (0..panels)
                .into_par_iter()
                .map(|p| {
                    let mut panel = Panel::default();
                    rows.fill(p * PANEL, &mut panel);
                    panel
                })
                .collect();
        }
        rows
    }

    /// Length of a weight vector of one class: the columns and the intercept.
    pub(super) fn dimension(&self) -> usize {
        self.matrix.columns() + 1
    }

    /// Number of models: one a fold, and one for all rows.
    pub(super) fn models(&self) -> usize {
        self.folds.count + 1
    }

    /// Loss and gradient of the given models at their weights (`K` vectors of
    /// [`Self::dimension`], class after class, intercept last). `held_out` (rows × K, row-major)
    /// gets the scores of the rows in the fold of each model.
    pub(super) fn sums(
        &self,
        curve: &Curve,
        models: &[u32],
        w: &[&[f64]],
        held_out: Option<&mut [f64]>,
    ) -> Vec<Sums> {
        let (rows, classes, d) = (self.labels.len(), self.classes, self.dimension());
        let vectors = models.len() * classes;
        let strips = d.div_ceil(STRIP);
        let chunk = self.chunk_rows(vectors * strips * STRIP);
        let mut none = Vec::new();
        let held_out = match held_out {
            Some(held_out) => held_out,
            None => &mut none,
        };
        let mut pieces: Vec<&mut [f64]> = held_out.chunks_mut(chunk * classes).collect();
        let chunks = rows.div_ceil(chunk);
        pieces.resize_with(chunks, || &mut []);
        let sparse = SparseWeights::new(self, w);
        let partial: Vec<Partial> = pieces
            .into_par_iter()
            .enumerate()
            .map(|(number, held_out)| {
                let range = number * chunk..((number + 1) * chunk).min(rows);
                self.chunk(curve, models, w, &sparse, range, held_out)
            })
            .collect();
        self.add_up(models.len(), partial)
    }

    fn chunk(
        &self,
        curve: &Curve,
        models: &[u32],
        w: &[&[f64]],
        sparse: &SparseWeights,
        range: std::ops::Range<usize>,
        held_out: &mut [f64],
    ) -> Partial {
        let (classes, d) = (self.classes, self.dimension());
        let vectors = models.len() * classes;
        let strips = d.div_ceil(STRIP);
        let mut sums = Partial {
            loss: vec![[0.0; 8]; models.len()],
            gradient: vec![[[0.0; 8]; 2]; vectors * strips],
        };
        let by_class: Vec<&[f64]> = w.iter().flat_map(|w| w.chunks_exact(d)).collect();
        let mut z = vec![[[0.0; 8]; EIGHTS]; vectors];
        let mut r = z.clone();
        let mut labels = Labels::default();
        let mut own = Panel::default();
        let mut scratch = Vec::new();
        // Gradient on the raw columns, by column, for sparse rows.
        let mut raw = vec![0.0; if sparse.is_empty() { 0 } else { d * sparse.width }];
        for start in range.clone().step_by(PANEL) {
            let count = PANEL.min(range.end - start);
            self.fill_labels(start, count, &mut labels);
            let panel = if !sparse.is_empty() {
                sparse.scores(self, start, count, &mut z);
                None
            } else {
                let panel = self.panel(start, &mut own);
                run(arch(), Scores { panel, w: &by_class, z: &mut z });
                Some(panel)
            };
            if !held_out.is_empty() {
                let held_out = &mut held_out[(start - range.start) * classes..][..count * classes];
                self.keep_held_out(models, start, &z, held_out);
            }
            run(
                arch(),
                Losses {
                    labels: &labels,
                    curve,
                    models,
                    classes,
                    z: &z,
                    r: &mut r,
                    loss: &mut sums.loss,
                    scratch: &mut scratch,
                },
            );
            match panel {
                Some(panel) => run(arch(), Adjoint { panel, r: &r, g: &mut sums.gradient }),
                None => sparse.adjoint(self, start, count, &r, &mut raw),
            }
        }
        if !sparse.is_empty() {
            sparse.standardise(self, &raw, strips, &mut sums.gradient);
        }
        sums
    }

    fn add_up(&self, models: usize, partial: Vec<Partial>) -> Vec<Sums> {
        let (classes, d) = (self.classes, self.dimension());
        let strips = d.div_ceil(STRIP);
        let mut parts = partial.into_iter();
        let Some(mut total) = parts.next() else { return Vec::new() };
        for part in parts {
            let add = |a: &mut [f64], b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            add(total.loss.as_flattened_mut(), part.loss.as_flattened());
            add(
                total.gradient.as_flattened_mut().as_flattened_mut(),
                part.gradient.as_flattened().as_flattened(),
            );
        }
        let gradient = total.gradient.as_flattened().as_flattened();
        (0..models)
            .map(|a| {
                let vectors = (0..classes).flat_map(|k| {
                    let at = (a * classes + k) * strips * STRIP;
                    gradient[at..at + d].iter().copied()
                });
                Sums { loss: total.loss[a].iter().sum(), gradient: vectors.collect() }
            })
            .collect()
    }

    /// Rows of a chunk: depends on the shape alone.
    fn chunk_rows(&self, gradient: usize) -> usize {
        let rows = self.labels.len();
        let most = (MAX_PARTIAL / gradient.max(1)).clamp(1, MAX_CHUNKS);
        rows.div_ceil(most.min(rows.div_ceil(256))).next_multiple_of(PANEL).max(PANEL)
    }

    fn fill_labels(&self, start: usize, count: usize, labels: &mut Labels) {
        labels.one_hot.clear();
        labels.one_hot.resize(self.classes * EIGHTS, [0.0; 8]);
        labels.weight = Default::default();
        for i in 0..count {
            let (v, l) = (i / 8, i % 8);
            labels.weight[v][l] = self.weights[start + i];
            labels.fold[v][l] = self.folds.of_row[start + i];
            labels.one_hot[self.labels[start + i] as usize * EIGHTS + v][l] = 1.0;
        }
    }

    /// Copies the scores of each row under the model that did not see it.
    fn keep_held_out(
        &self,
        models: &[u32],
        start: usize,
        z: &[[Eight; EIGHTS]],
        held_out: &mut [f64],
    ) {
        for (i, held_out) in held_out.chunks_exact_mut(self.classes).enumerate() {
            let fold = self.folds.of_row[start + i];
            if let Some(a) = models.iter().position(|&model| model == fold) {
                for (k, target) in held_out.iter_mut().enumerate() {
                    *target = z[a * self.classes + k][i / 8][i % 8];
                }
            }
        }
    }

    /// The panel of the 32 rows from `start` on, kept or filled.
    pub(super) fn panel<'p>(&'p self, start: usize, own: &'p mut Panel) -> &'p Panel {
        if let Some(panel) = self.kept.get(start / PANEL) {
            return panel;
        }
        self.fill(start, own);
        own
    }

    /// Standardises 32 rows from `start` on into both layouts of a panel.
    fn fill(&self, start: usize, panel: &mut Panel) {
        let d = self.dimension();
        panel.by_column.clear();
        panel.by_column.resize(d, [[0.0; 8]; EIGHTS]);
        panel.by_row.clear();
        panel.by_row.resize(d.div_ceil(STRIP) * PANEL, [[0.0; 8]; 2]);
        match &self.matrix {
            Matrix::DenseF32(x) => self.fill_dense(x, start, panel),
            Matrix::DenseF64(x) => self.fill_dense(x, start, panel),
            Matrix::Csr(_) => self.fill_sparse(start, panel),
        }
    }

    fn fill_sparse(&self, start: usize, panel: &mut Panel) {
        let columns = self.matrix.columns();
        for i in 0..PANEL.min(self.labels.len() - start) {
            let at = |j: usize| j / STRIP * PANEL + i;
            for j in 0..columns {
                let zero = -self.mean[j] * self.factor[j];
                panel.by_row[at(j)].as_flattened_mut()[j % STRIP] = zero;
            }
            self.matrix.for_each_in_row(start + i, |j, x| {
                let value = (x - self.mean[j]) * self.factor[j];
                panel.by_row[at(j)].as_flattened_mut()[j % STRIP] = value;
            });
            panel.by_row[at(columns)].as_flattened_mut()[columns % STRIP] = 1.0;
        }
    }

    fn fill_dense<T: Storage>(&self, x: &Dense<'_, T>, start: usize, panel: &mut Panel) {
        let columns = x.columns();
        let count = PANEL.min(x.rows() - start);
        for i in 0..count {
            let row = x.row(start + i);
            for (s, strip) in row.chunks(STRIP).enumerate() {
                let target = panel.by_row[s * PANEL + i].as_flattened_mut();
                for (c, x) in strip.iter().enumerate() {
                    let j = s * STRIP + c;
                    target[c] = (x.to_f64() - self.mean[j]) * self.factor[j];
                }
            }
            panel.by_row[columns / STRIP * PANEL + i].as_flattened_mut()[columns % STRIP] = 1.0;
        }
        for (j, column) in panel.by_column.iter_mut().enumerate() {
            let rows = &panel.by_row[j / STRIP * PANEL..][..PANEL];
            for (target, row) in column.as_flattened_mut().iter_mut().zip(rows) {
                *target = row.as_flattened()[j % STRIP];
            }
        }
    }
}

impl Rows<'_> {
    /// `h_i = w_i Σ_k p_ik (1 - p_ik) / (K - 1)` under the softmax of `w`: the mean curvature of
    /// each row.
    pub(super) fn curvatures(&self, w: &[f64]) -> Vec<f64> {
        let (d, classes) = (self.dimension(), self.classes);
        let by_class: Vec<&[f64]> = w.chunks_exact(d).collect();
        let sparse = SparseWeights::new(self, &[w]);
        let mut h = vec![0.0; self.labels.len()];
        h.par_chunks_mut(8 * PANEL).enumerate().for_each(|(number, h)| {
            let mut z = vec![[[0.0; 8]; EIGHTS]; classes];
            let mut own = Panel::default();
            let (mut scores, mut p) = (vec![0.0; classes], vec![0.0; classes]);
            for (number, h) in (8 * number..).zip(h.chunks_mut(PANEL)) {
                let start = number * PANEL;
                if !sparse.is_empty() {
                    sparse.scores(self, start, h.len(), &mut z);
                } else {
                    let panel = self.panel(start, &mut own);
                    run(arch(), Scores { panel, w: &by_class, z: &mut z });
                }
                for (i, h) in h.iter_mut().enumerate() {
                    scores.iter_mut().zip(&z).for_each(|(s, z)| *s = z[i / 8][i % 8]);
                    softmax_into(1.0, &scores, &mut p);
                    let spread: f64 = p.iter().map(|p| p * (1.0 - p)).sum();
                    *h = self.weights[start + i] * spread / (classes - 1) as f64;
                }
            }
        });
        h
    }
}
