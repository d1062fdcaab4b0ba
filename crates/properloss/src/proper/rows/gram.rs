//! `Σ h_i x̃_i x̃_i'` of every fold at one model, with the gradient as one more column.
//!
//! The fold models differ by a fifth of the rows, so one visit serves them all: the Hessian of model
//! `k` is the sum of the other folds' parts, near enough to solve with. Other penalties cost nothing.

use rayon::prelude::*;

use super::gram_sums::{AddGram, Double, LEFT, Precision, Shape, Single};
use super::in_order::add_in_order;
use super::{FoldBlock, Halt, Halted};
use crate::design::{Kernel, Lanes, arch, run};
use crate::proper::curve::Curve;
use crate::sample::Matrix;
use crate::sample::Storage;

/// Rows standardised and copied out together.
const BLOCK: usize = 128;
/// Rows that are asked for ahead, and values of each.
const AHEAD: usize = 2;
const PREFETCHED: usize = 512;
/// Adding parts takes time: at most this many numbers in all of them, but always one part a fold.
const MAX_PARTIAL: usize = 1 << 25;
/// Dimension from which on single precision saves time; where it is small, copies of a row and its weight give the same
/// model to many digits.
const LEAST_SINGLE: usize = 65;
/// Weights of rows for that, times their curvature far from the largest and the least number.
const SINGLE_WEIGHTS: std::ops::Range<f64> = 1e-15..1e15;
/// Rows that a thread chooses from at a time.
const CHUNK: usize = 1 << 14;

/// Per fold: `X'HX` (row-major, both triangles, intercept last), `X'r`, the loss and the weight.
/// Sums over parts of the rows can be added.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct FoldGrams {
    pub dimension: usize,
    pub gram: Vec<Vec<f64>>,
    pub gradient: Vec<Vec<f64>>,
    pub loss: Vec<f64>,
    pub weight: Vec<f64>,
}

impl FoldGrams {
    /// Adds the rows of another block.
    pub(super) fn add(&mut self, other: &Self) {
        let add = |total: &mut [f64], part: &[f64]| {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        };
        for (mine, theirs) in [(&mut self.gram, &other.gram), (&mut self.gradient, &other.gradient)]
        {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
        }
        add(&mut self.loss, &other.loss);
        add(&mut self.weight, &other.weight);
    }
}

impl FoldBlock<'_> {
    /// The rows of every fold that belong to a sample; all of them if there is no limit.
    pub(super) fn chosen(&self, limit: Option<u64>) -> Option<Vec<Vec<u32>>> {
        let limit = limit?;
        let of_fold = |rows: &Vec<u32>| {
            let chosen = rows.par_iter().copied().with_min_len(CHUNK);
            chosen.filter(|&i| self.is_chosen(i as usize, limit)).collect()
        };
        Some(self.of_fold.iter().map(of_fold).collect())
    }

    /// At the weights `w` of one model, over the [`chosen`](Self::chosen) rows or all; `wanted` is about their number.
    pub(super) fn grams(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        rows: (Option<&[Vec<u32>]>, usize),
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        let even = || self.weights.iter().all(|w| *w == 0.0 || SINGLE_WEIGHTS.contains(w));
        if self.dimension() >= LEAST_SINGLE && even() {
            let grams = self.grams_in::<Single>(curve, w, rows, halt)?;
            if grams.gram.iter().flatten().all(|x| x.is_finite()) {
                return Ok(grams);
            }
        }
        self.grams_in::<Double>(curve, w, rows, halt)
    }

    fn grams_in<P: Precision>(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        (chosen, wanted): (Option<&[Vec<u32>]>, usize),
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        let d = self.dimension();
        let shape = Shape::new::<P>(d);
        let lists = chosen.unwrap_or(&self.of_fold);
        let most = (MAX_PARTIAL / (shape.size() * self.folds.count)).clamp(1, 16);
        let parts = (wanted / (self.folds.count * 4 * BLOCK)).clamp(1, most);
        let tasks: Vec<(usize, &[u32])> = (0..self.folds.count)
            .flat_map(|fold| {
                let size = lists[fold].len().div_ceil(parts).next_multiple_of(BLOCK).max(BLOCK);
                lists[fold].chunks(size).map(move |list| (fold, list))
            })
            .collect();
        let sums: Vec<Part> = (0..self.folds.count).map(|_| Part::default()).collect();
        let work = |_, (fold, list)| {
            self.gram_of::<P>(curve, w, list, shape, halt).map(|part| (fold, part))
        };
        let add = |sums: &mut Vec<Part>, (fold, part): (usize, Part)| sums[fold].add(part);
        let sums = add_in_order(tasks.into_iter(), work, sums, add)?;
        let mut result = FoldGrams { dimension: d, ..FoldGrams::default() };
        for mut part in sums {
            part.sums.resize(shape.size(), 0.0);
            result.gradient.push((0..d).map(|a| part.sums[a * shape.right + d]).collect());
            result.gram.push(shape.square(part.sums));
            result.loss.push(part.loss);
            result.weight.push(part.weight);
        }
        Ok(result)
    }

    fn gram_of<P: Precision>(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        list: &[u32],
        shape: Shape,
        halt: Halt<'_>,
    ) -> Result<Part, Halted> {
        let mut part = Part::new(shape);
        let mut left = vec![P::LEFT_ZEROS; BLOCK * shape.left / LEFT];
        let mut right = vec![P::ZEROS; BLOCK * shape.right / P::WIDTH];
        let mut row = vec![0.0; shape.right];
        for list in list.chunks(BLOCK) {
            if halt() {
                return Err(Halted);
            }
            let count = list.len();
            let (row, left, right, part) = (&mut row, &mut left, &mut right, &mut part);
            run(arch(), Pack::<P> { rows: self, curve, w, list, shape, row, left, right, part });
            let left = &left[..count * shape.left / LEFT];
            let right = &right[..count * shape.right / P::WIDTH];
            run(arch(), AddGram::<P> { left, right, count, shape, sums: &mut part.sums });
        }
        Ok(part)
    }

    /// `x̃_i` and a 1.
    #[inline(always)]
    pub(super) fn fill(&self, i: usize, row: &mut [f64]) {
        match &self.matrix {
            Matrix::DenseF32(x) => self.fill_dense(x.row(i), row),
            Matrix::DenseF64(x) => self.fill_dense(x.row(i), row),
            Matrix::Csr(_) => self.fill_sparse(i, row),
        }
    }

    #[inline(always)]
    fn fill_dense<T: Storage>(&self, values: &[T], row: &mut [f64]) {
        let columns = values.len();
        let (mean, factor) = (&self.mean[..columns], &self.factor[..columns]);
        for (j, target) in row[..columns].iter_mut().enumerate() {
            *target = (values[j].to_f64() - mean[j]) * factor[j];
        }
        row[columns] = 1.0;
    }

    /// Asks for the values of row `i`: the rows of a fold lie here and there.
    #[inline(always)]
    fn prefetch<L: Lanes>(&self, lanes: L, i: usize) {
        let columns = self.matrix.columns();
        match &self.matrix {
            Matrix::DenseF32(x) => prefetch_row(lanes, x.values(), i * columns, columns),
            Matrix::DenseF64(x) => prefetch_row(lanes, x.values(), i * columns, columns),
            Matrix::Csr(_) => {}
        }
    }

    fn fill_sparse(&self, i: usize, row: &mut [f64]) {
        let columns = self.matrix.columns();
        for j in 0..columns {
            row[j] = -self.mean[j] * self.factor[j];
        }
        self.matrix.for_each_in_row(i, |j, x| row[j] = (x - self.mean[j]) * self.factor[j]);
        row[columns] = 1.0;
    }
}

#[inline(always)]
fn prefetch_row<L: Lanes, T: Storage>(lanes: L, values: &[T], start: usize, columns: usize) {
    let row = values.as_ptr().wrapping_add(start);
    for j in (0..columns.min(PREFETCHED)).step_by(8) {
        lanes.prefetch(row.wrapping_add(j));
    }
}

/// Rows to be copied out: `x̃` to the left factor, `h x̃` and `x̃ r` to the right one, in panels of columns.
struct Pack<'a, P: Precision> {
    rows: &'a FoldBlock<'a>,
    curve: &'a Curve<'a>,
    w: &'a [f64],
    list: &'a [u32],
    shape: Shape,
    row: &'a mut [f64],
    left: &'a mut [[P::Number; LEFT]],
    right: &'a mut [P::Group],
    part: &'a mut Part,
}

impl<P: Precision> Kernel for Pack<'_, P> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { rows, curve, w, list, shape, row, left, right, part } = self;
        let (d, count) = (shape.dimension, list.len());
        for (k, &i) in list.iter().enumerate() {
            if let Some(&later) = list.get(k + AHEAD) {
                rows.prefetch(lanes, later as usize);
            }
            let i = i as usize;
            rows.fill(i, row);
            row[d..].fill(0.0);
            let z = dot(&row[..d], w);
            let (weight, y) = (rows.weights[i], f64::from(rows.labels[i]));
            let point = curve.at(z, y);
            let h = weight * curve.curvature(z);
            part.loss += weight * point.loss;
            part.weight += weight;
            for (panel, x) in row[..shape.left].as_chunks::<LEFT>().0.iter().enumerate() {
                left[panel * count + k] = P::left(x);
            }
            for (panel, x) in row.chunks_exact(P::WIDTH).enumerate() {
                right[panel * count + k] = P::right(h, x);
            }
            P::set(&mut right[d / P::WIDTH * count + k], d % P::WIDTH, weight * point.slope);
        }
    }
}

/// The sums over some rows of a fold; the upper triangle of `sums` counts. No rows, no sums.
#[derive(Default)]
struct Part {
    sums: Vec<f64>,
    loss: f64,
    weight: f64,
}

impl Part {
    fn new(shape: Shape) -> Self {
        Self { sums: vec![0.0; shape.size()], loss: 0.0, weight: 0.0 }
    }

    fn add(&mut self, other: Self) {
        if self.sums.is_empty() {
            *self = other;
            return;
        }
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.loss += other.loss;
        self.weight += other.weight;
    }
}

/// `a·b` in eight lanes.
#[inline(always)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::folds::{Assignment, Random};
    use crate::proper::rows::{Numbers, Split};

    const COLUMNS: usize = 77;
    const ROWS: usize = 1003;
    const FOLDS: usize = 3;
    /// `BLOCK` products of three rounded numbers, each sum rounded once.
    const ROUNDING: f64 = (BLOCK + 4) as f64 * f32::EPSILON as f64 / 2.0;

    struct Case {
        x: Vec<f64>,
        labels: Vec<u8>,
        split: Split,
        w: Vec<f64>,
    }

    impl Case {
        /// Rows of weights about this size; some columns with tails.
        fn new(weight: f64) -> Self {
            let mut random = Random(11);
            let mut unit = || random.next() as f64 / u64::MAX as f64;
            let x: Vec<f64> = (0..ROWS * COLUMNS)
                .map(|k| if k % 5 == 0 { (unit() - 0.5) / unit() } else { 3.0 + unit() })
                .collect();
            let labels = (0..ROWS).map(|_| u8::from(unit() < 0.3)).collect();
            let weights = (0..ROWS).map(|i| if i % 9 == 0 { 0.0 } else { weight * (0.5 + unit()) });
            let of_row = (0..ROWS).map(|i| (i % FOLDS) as u32).collect();
            let folds = Assignment { of_row, count: FOLDS };
            let mut split = Split::new(weights.collect(), folds, Numbers::From(0), COLUMNS);
            split.standardise(&[3.5; COLUMNS], &[2.0; COLUMNS]);
            Self { x, labels, split, w: (0..=COLUMNS).map(|_| 0.2 * (unit() - 0.5)).collect() }
        }

        fn block(&self) -> FoldBlock<'_> {
            let matrix = Matrix::dense_f64(&self.x, ROWS, COLUMNS).unwrap();
            FoldBlock { matrix, labels: &self.labels, split: &self.split }
        }

        fn chosen(&self) -> FoldGrams {
            self.block().grams(&Curve::Logistic, &self.w, (None, ROWS), &|| false).unwrap()
        }

        fn summed_in<P: Precision>(&self) -> FoldGrams {
            self.block().grams_in::<P>(&Curve::Logistic, &self.w, (None, ROWS), &|| false).unwrap()
        }

        /// `Σ h x̃ x̃'` and `Σ r x̃` of a fold, one product after the other.
        fn by_hand(&self, fold: usize) -> (Vec<f64>, Vec<f64>) {
            let d = COLUMNS + 1;
            let (mut gram, mut gradient) = (vec![0.0; d * d], vec![0.0; d]);
            for i in (fold..ROWS).step_by(FOLDS) {
                let raw = &self.x[i * COLUMNS..(i + 1) * COLUMNS];
                let x: Vec<f64> = raw.iter().map(|x| 2.0 * (x - 3.5)).chain([1.0]).collect();
                let z: f64 = x.iter().zip(&self.w).map(|(x, w)| x * w).sum();
                let p = 1.0 / (1.0 + (-z).exp());
                let weight = self.split.weights[i];
                for a in 0..d {
                    gradient[a] += weight * (p - f64::from(self.labels[i])) * x[a];
                    for b in 0..d {
                        gram[a * d + b] += weight * p * (1.0 - p) * x[a] * x[b];
                    }
                }
            }
            (gram, gradient)
        }
    }

    /// Relative to what the products would be without their signs, by Cauchy and Schwarz.
    fn worst(case: &Case, grams: &FoldGrams) -> f64 {
        let d = COLUMNS + 1;
        let mut worst = 0.0f64;
        for fold in 0..FOLDS {
            let (gram, gradient) = case.by_hand(fold);
            let squares: f64 = (fold..ROWS).step_by(FOLDS).map(|i| case.split.weights[i]).sum();
            for a in 0..d {
                for b in 0..d {
                    let size = (gram[a * d + a] * gram[b * d + b]).sqrt();
                    let off = grams.gram[fold][a * d + b] - gram[a * d + b];
                    worst = worst.max(off.abs() / size);
                }
                // h is at most 1/4 and at least a hundredth here, |r| below 1.
                let size = (100.0 * gram[a * d + a] * squares).sqrt();
                worst = worst.max((grams.gradient[fold][a] - gradient[a]).abs() / size);
            }
        }
        worst
    }

    #[test]
    fn grams_are_the_sums_by_hand() {
        let case = Case::new(1.0);
        let double = worst(&case, &case.summed_in::<Double>());
        assert!(double < ROWS as f64 * f64::EPSILON, "{double:e}");
        let single = worst(&case, &case.summed_in::<Single>());
        assert!(single < ROUNDING && single > 1e-10, "{single:e}");
        let (a, b) = (case.chosen(), case.summed_in::<Single>());
        assert_eq!(a, b);
    }

    /// Where single precision has no numbers for the products, double precision has.
    #[test]
    fn extreme_weights_are_summed_in_double_precision() {
        for weight in [1e-20, 1e16] {
            let case = Case::new(weight);
            assert_eq!(case.chosen(), case.summed_in::<Double>());
        }
        let mut case = Case::new(1.0);
        // Finite, and not as a square; a weight would saturate the row.
        (case.x[COLUMNS + 1], case.w[1]) = (1e25, 0.0);
        assert_eq!(case.chosen(), case.summed_in::<Double>());
        assert!(!case.summed_in::<Single>().gram[1].iter().all(|x| x.is_finite()));
    }
}
