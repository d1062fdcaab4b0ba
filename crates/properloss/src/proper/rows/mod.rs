//! The rows of a cross-validated fit: they alone touch the data, and answer a few questions.
//!
//! Model `k < K` is trained on the rows outside fold `k`, model `K` on all rows. A question is plain
//! data (weights of models, a loss), an answer is a sum over the rows: sums over parts of the rows
//! can be added. Models go by eight, one a lane: a row is read once and multiplied with a vector of
//! eight weights.
//!
//! ```text
//! moments      weight, mean, spread of every column in every fold                    (moments.rs)
//! lane_sums    loss and gradient of eight models; held-out scores                    (lane_sums.rs)
//! losses       held-out loss of eight sets of fold models, one a lane                (losses.rs)
//! grams        X'HX of every fold at one model, with its gradient and loss           (gram.rs)
//! ```
//!
//! *Same bits for any number of threads*: parts depend on the shape alone, and their sums are added
//! in order. Products are fused where the machine can: the instruction set may change last bits.

mod gram;
mod lane_sums;
mod losses;
mod moments;
mod scores;
mod tiles;

pub(super) use gram::FoldGrams;
pub(super) use moments::FoldMoments;

use std::ops::Deref;

use super::folds::{Assignment, Folds};
use crate::design::FittedScaling;
use crate::error::Result;
use crate::sample::{Matrix, Sample};

/// Models in one group of interleaved numbers.
pub(super) const LANES: usize = 8;

/// One number of each of eight models.
pub(super) type Lane = [f64; LANES];

/// The caller asked to stop: whatever was being summed up is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halted;

/// Answers whether to stop; looked at between parts of a pass.
pub(super) type Halt<'a> = &'a (dyn Fn() -> bool + Sync);

/// Weight and fold of every row, what follows from them, and the standardisation `x̃ = F (x - c)` of
/// the columns: all that a fit keeps of the rows beside the rows.
#[derive(Debug)]
pub(super) struct Split {
    pub weights: Vec<f64>,
    /// The sum of the weights, class by class.
    pub total_weight: f64,
    pub folds: Assignment,
    /// Total weight of the rows each model is trained on.
    pub totals: Vec<f64>,
    /// Weight of the positives among them.
    pub positives: Vec<f64>,
    /// Every weight is 0 or 1.
    plain: bool,
    /// The rows of positive weight, by fold.
    of_fold: Vec<Vec<u32>>,
    mean: Vec<f64>,
    factor: Vec<f64>,
}

impl Split {
    /// The rows of a sample under these weights. Columns as they are, until [`Self::standardise`].
    pub(super) fn new(sample: &Sample<'_>, weights: Vec<f64>, folds: &Folds) -> Result<Self> {
        let total_weight = sample.with_weights(Some(&weights))?.total_weight();
        let labels = sample.labels();
        let folds = folds.assign(labels, &weights)?;
        let count = folds.count;
        let (mut totals, mut positives) = (vec![0.0; count + 1], vec![0.0; count + 1]);
        let mut of_fold = vec![Vec::new(); count];
        for (i, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                let fold = folds.of_row[i] as usize;
                of_fold[fold].push(i as u32);
                for k in [fold, count] {
                    totals[k] += weight;
                    positives[k] += weight * f64::from(labels[i]);
                }
            }
        }
        for sums in [&mut totals, &mut positives] {
            let all = sums[count];
            sums[..count].iter_mut().for_each(|inside| *inside = all - *inside);
        }
        let plain = weights.iter().all(|&weight| weight == 0.0 || weight == 1.0);
        let columns = sample.columns();
        Ok(Self {
            weights,
            total_weight,
            folds,
            totals,
            positives,
            plain,
            of_fold,
            mean: vec![0.0; columns],
            factor: vec![1.0; columns],
        })
    }

    /// From now on weights are those of `F (x - c)`.
    pub(super) fn standardise(&mut self, mean: Vec<f64>, factor: Vec<f64>) {
        (self.mean, self.factor) = (mean, factor);
    }

    /// With the rows themselves.
    pub(super) fn rows<'a>(&'a self, sample: &Sample<'a>) -> FoldRows<'a> {
        FoldRows { matrix: sample.matrix(), labels: sample.labels(), split: self }
    }
}

/// Matrix and labels with the [`Split`] of the rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoldRows<'a> {
    pub matrix: Matrix<'a>,
    pub labels: &'a [u8],
    split: &'a Split,
}

impl Deref for FoldRows<'_> {
    type Target = Split;

    fn deref(&self) -> &Split {
        self.split
    }
}

impl FoldRows<'_> {
    /// The standardisation, as a model file stores it.
    pub(super) fn scaling(&self) -> FittedScaling {
        FittedScaling::Standardise { mean: self.mean.clone(), factor: self.factor.clone() }
    }

    /// Number of models: one a fold, and one for all rows.
    pub(super) fn models(&self) -> usize {
        self.folds.count + 1
    }

    /// Weights of a model: the columns and an intercept.
    pub(super) fn dimension(&self) -> usize {
        self.matrix.columns() + 1
    }

    /// Rows of positive weight.
    pub(super) fn used(&self) -> usize {
        self.of_fold.iter().map(Vec::len).sum()
    }

    /// Whether the matrix stores all its values.
    pub(super) fn is_dense(&self) -> bool {
        !matches!(self.matrix, Matrix::Csr(_))
    }

    /// `(F w, b - c·(F w))` for eight models: weights on the raw columns, and what is added to every
    /// score.
    fn raw(&self, w: &[Lane]) -> (Vec<Lane>, Lane) {
        let columns = self.matrix.columns();
        let mut shift = w[columns];
        let mut raw = w[..columns].to_vec();
        for (w, (c, f)) in raw.iter_mut().zip(self.mean.iter().zip(&self.factor)) {
            for l in 0..LANES {
                w[l] *= f;
                shift[l] -= c * w[l];
            }
        }
        (raw, shift)
    }

    /// 1 for the models of a group that see the rows of a fold; 0 for the fold's own and for lanes
    /// without a model. The last mask is that of a row without weight.
    fn masks(&self, first: usize) -> Vec<Lane> {
        let sees = |fold: usize, k: usize| k < self.models() && k != fold;
        let mut masks: Vec<Lane> = (0..self.folds.count)
            .map(|fold| std::array::from_fn(|l| f64::from(u8::from(sees(fold, first + l)))))
            .collect();
        masks.push([0.0; LANES]);
        masks
    }

    /// The mask of row `i` and its weight.
    #[inline(always)]
    fn mask_of<'m>(&self, masks: &'m [Lane], i: usize) -> (&'m Lane, f64) {
        let weight = self.weights[i];
        let fold = if weight > 0.0 { self.folds.of_row[i] as usize } else { masks.len() - 1 };
        (&masks[fold], weight)
    }
}

/// Adds lane by lane.
pub(super) fn add_lanes(total: &mut [Lane], part: &[Lane]) {
    for (total, part) in total.iter_mut().zip(part) {
        for l in 0..LANES {
            total[l] += part[l];
        }
    }
}
