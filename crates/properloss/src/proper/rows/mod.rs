//! The rows of a cross-validated fit: they alone touch the data, and answer a few questions.
//!
//! Model `k < K` is trained on the rows outside fold `k`, model `K` on all rows. A question is plain
//! data (weights of models, a loss), an answer is a sum over the rows: sums over blocks of the rows
//! can be added. Models go by eight, one a lane: a row is read once and multiplied with a vector of
//! eight weights.
//!
//! ```text
//! moments      weight, mean, spread of every column in every fold                    (moments.rs)
//! lane_sums    loss and gradient of eight models; loss of the held-out scores        (lane_sums.rs)
//! losses       held-out loss of eight sets of fold models, one a lane                (losses.rs)
//! grams        X'HX of every fold at one model, with its gradient and loss           (gram.rs, gram_sums.rs)
//! scored       held-out scores of one set of fold models, counted in bins            (scores.rs)
//! gathered     some rows themselves, chosen by a hash of their numbers               (gather.rs)
//! ```
//!
//! Three layers: [`FoldRows`] is whom the algorithm asks (fold_rows.rs; prepared.rs makes it); it asks its one block in
//! memory, or sends the question to blocks elsewhere (ask.rs); [`FoldBlock`] answers for the rows of a
//! block and alone has the kernels.
//!
//! *Same bits for any number of threads*: parts depend on the shape alone, and their sums are added
//! in order. Products are fused where the machine can: the instruction set may change last bits.

mod ask;
mod check;
mod fold_rows;
mod gather;
mod gram;
mod gram_sums;
mod in_order;
mod known_scores;
mod lane_sums;
mod losses;
mod moments;
mod prepared;
mod scores;
mod short;
mod tiles;

pub use ask::{BlockAnswer, BlockQuestion};
pub(super) use fold_rows::{FoldRows, Here};
pub(super) use gram::FoldGrams;
pub(super) use lane_sums::LaneSums;
pub(super) use moments::FoldMoments;
pub(super) use prepared::{Prepared, Source};
pub(super) use scores::{HeldOut, Scored};

use std::ops::Deref;

use super::folds::{Assignment, Random};
use crate::design::{Kernel, Lanes, arch, run};
use crate::sample::Matrix;

/// Models in one group of interleaved numbers.
pub(super) const LANES: usize = 8;

/// One number of each of eight models.
pub(super) type Lane = [f64; LANES];

/// Eight numbers in one line of the cache: sparse rows reach for them in no order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(align(64))]
pub(super) struct Line(pub(super) Lane);

/// The caller asked to stop, or rows could not be had ([`FoldRows::why`]): whatever was being summed up
/// is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halted;

/// Answers whether to stop; looked at between parts of a pass.
pub(super) type Halt<'a> = &'a (dyn Fn() -> bool + Sync);

/// Weight and fold of every row of a block, and the standardisation `x̃ = F (x - c)` of the columns.
#[derive(Debug)]
pub(super) struct Split {
    pub weights: Vec<f64>,
    pub folds: Assignment,
    /// Every weight is 0 or 1.
    plain: bool,
    /// The rows of positive weight, by fold.
    of_fold: Vec<Vec<u32>>,
    numbers: Numbers,
    mean: Vec<f64>,
    factor: Vec<f64>,
    /// Weights and gradients of single precision will do ([`short::is_enough`]).
    short: bool,
}

/// The numbers of a block's rows among all rows.
#[derive(Debug)]
pub(super) enum Numbers {
    /// In succession from here.
    From(u64),
    /// One by one.
    Each(Vec<u64>),
}

impl Split {
    /// Columns as they are, until [`Self::standardise`].
    pub(super) fn new(
        weights: Vec<f64>,
        folds: Assignment,
        numbers: Numbers,
        columns: usize,
    ) -> Self {
        let mut of_fold = vec![Vec::new(); folds.count];
        for (i, &weight) in weights.iter().enumerate() {
            if weight > 0.0 {
                of_fold[folds.of_row[i] as usize].push(i as u32);
            }
        }
        let plain = weights.iter().all(|&weight| weight == 0.0 || weight == 1.0);
        let (mean, factor) = (vec![0.0; columns], vec![1.0; columns]);
        Self { weights, folds, plain, of_fold, numbers, mean, factor, short: false }
    }

    /// From now on weights are those of `F (x - c)`.
    pub(super) fn standardise(&mut self, mean: &[f64], factor: &[f64]) {
        self.short = short::is_enough(mean, factor);
        (self.mean, self.factor) = (mean.to_vec(), factor.to_vec());
    }
}

struct Raw<'a> {
    w: &'a [Lane],
    mean: &'a [f64],
    factor: &'a [f64],
}

impl Kernel for Raw<'_> {
    type Output = (Vec<Line>, Lane);

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> (Vec<Line>, Lane) {
        let columns = self.mean.len();
        let mut shift = lanes.load(&self.w[columns]);
        let mut raw = vec![Line([0.0; LANES]); columns];
        let scales = self.mean.iter().zip(self.factor);
        for (raw, (w, (&c, &f))) in raw.iter_mut().zip(self.w.iter().zip(scales)) {
            let scaled = lanes.mul(lanes.load(w), lanes.splat(f));
            shift = lanes.sub(shift, lanes.mul(lanes.splat(c), scaled));
            raw.0 = lanes.array(scaled);
        }
        (raw, lanes.array(shift))
    }
}

/// Matrix and labels of a block with the [`Split`] of its rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoldBlock<'a> {
    pub matrix: Matrix<'a>,
    pub labels: &'a [u8],
    pub split: &'a Split,
}

impl Deref for FoldBlock<'_> {
    type Target = Split;

    fn deref(&self) -> &Split {
        self.split
    }
}

impl FoldBlock<'_> {
    /// Number of models: one a fold, and one for all rows.
    fn models(&self) -> usize {
        self.folds.count + 1
    }

    /// Weights of a model: the columns and an intercept.
    fn dimension(&self) -> usize {
        self.matrix.columns() + 1
    }

    /// Rows of positive weight.
    fn used(&self) -> usize {
        self.of_fold.iter().map(Vec::len).sum()
    }

    /// Whether the matrix stores all its values.
    fn is_dense(&self) -> bool {
        !matches!(self.matrix, Matrix::Csr(_))
    }

    /// Whether row `i` belongs to a sample of the rows: by a hash of its number among all rows.
    fn is_chosen(&self, i: usize, limit: u64) -> bool {
        let number = match &self.numbers {
            Numbers::From(first) => first + i as u64,
            Numbers::Each(numbers) => numbers[i],
        };
        Random(number).next() <= limit
    }

    /// Weight and weight of the positives: inside every fold, then of all rows.
    fn fold_weights(&self) -> Vec<[f64; 2]> {
        let (mut sums, mut all) = (vec![[0.0; 2]; self.folds.count], [0.0; 2]);
        for (i, &weight) in self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let positive = weight * f64::from(self.labels[i]);
            let fold = &mut sums[self.folds.of_row[i] as usize];
            (fold[0], fold[1]) = (fold[0] + weight, fold[1] + positive);
            (all[0], all[1]) = (all[0] + weight, all[1] + positive);
        }
        sums.push(all);
        sums
    }

    /// The weight of the classes `[0, 1]`.
    fn class_weights(&self) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for (&label, weight) in self.labels.iter().zip(&self.weights) {
            sums[usize::from(label)] += weight;
        }
        sums
    }

    /// `(F w, b - c·(F w))` for eight models: weights on the raw columns, and what is added to every
    /// score.
    fn raw(&self, w: &[Lane]) -> (Vec<Line>, Lane) {
        run(arch(), Raw { w, mean: &self.mean, factor: &self.factor })
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
