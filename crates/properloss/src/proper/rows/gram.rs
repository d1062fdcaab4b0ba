//! `Σ h_i x̃_i x̃_i'` of every fold at one model, with the gradient as one more column.
//!
//! The fold models differ by a fifth of the rows, so one visit serves them all: the Hessian of model
//! `k` is the sum of the other folds' parts, near enough to solve with. Other penalties cost nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

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
        (chosen, wanted): (Option<&[Vec<u32>]>, usize),
        halt: Halt<'_>,
    ) -> Result<FoldGrams, Halted> {
        let d = self.dimension();
        let shape = Shape::new(d);
        let lists = chosen.unwrap_or(&self.of_fold);
        let most = (MAX_PARTIAL / (shape.size() * self.folds.count)).clamp(1, 16);
        let parts = (wanted / (self.folds.count * 4 * BLOCK)).clamp(1, most);
        let tasks: Vec<(usize, &[u32])> = (0..self.folds.count)
            .flat_map(|fold| {
                let size = lists[fold].len().div_ceil(parts).next_multiple_of(BLOCK).max(BLOCK);
                lists[fold].chunks(size).map(move |list| (fold, list))
            })
            .collect();
        let sums = (0..self.folds.count).map(|_| Part::default()).collect();
        let sums = Mutex::new(InOrder { sums, ..InOrder::default() });
        // Whoever is free takes the next: few parts wait, `d²` numbers each.
        tasks.iter().enumerate().par_bridge().try_for_each(|(number, &(fold, list))| {
            let part = self.gram_of(curve, w, list, shape, halt)?;
            sums.lock().unwrap_or_else(PoisonError::into_inner).take(number, fold, part);
            Ok(())
        })?;
        let InOrder { sums, .. } = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
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

    fn gram_of(
        &self,
        curve: &Curve<'_>,
        w: &[f64],
        list: &[u32],
        shape: Shape,
        halt: Halt<'_>,
    ) -> Result<Part, Halted> {
        let mut part = Part::new(shape);
        let mut left = vec![[0.0; 8]; BLOCK * shape.left / 8];
        let mut right = vec![[0.0; 8]; BLOCK * shape.right / 8];
        let mut row = vec![0.0; shape.right];
        for list in list.chunks(BLOCK) {
            if halt() {
                return Err(Halted);
            }
            let count = list.len();
            let (row, left, right, part) = (&mut row, &mut left, &mut right, &mut part);
            run(arch(), Pack { rows: self, curve, w, list, shape, row, left, right, part });
            let (left, right) =
                (&left[..count * shape.left / 8], &right[..count * shape.right / 8]);
            run(arch(), AddGram { left, right, count, shape, sums: &mut part.sums });
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

/// Rows to be copied out: `x̃` to the left factor, `h x̃` and `x̃ r` to the right one, eight columns a panel.
struct Pack<'a> {
    rows: &'a FoldBlock<'a>,
    curve: &'a Curve<'a>,
    w: &'a [f64],
    list: &'a [u32],
    shape: Shape,
    row: &'a mut [f64],
    left: &'a mut [[f64; 8]],
    right: &'a mut [[f64; 8]],
    part: &'a mut Part,
}

impl Kernel for Pack<'_> {
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
            let (groups, _) = row.as_chunks::<8>();
            for (panel, x) in groups.iter().enumerate() {
                if panel < shape.left / 8 {
                    left[panel * count + k] = *x;
                }
                let right = &mut right[panel * count + k];
                for l in 0..8 {
                    right[l] = h * x[l];
                }
            }
            right[d / 8 * count + k][d % 8] = weight * point.slope;
        }
    }
}

/// Widths of the two factors: columns and intercept, and these with the gradient.
#[derive(Debug, Clone, Copy)]
struct Shape {
    dimension: usize,
    left: usize,
    right: usize,
}

impl Shape {
    fn new(dimension: usize) -> Self {
        Self {
            dimension,
            left: dimension.next_multiple_of(8),
            right: (dimension + 1).next_multiple_of(8),
        }
    }

    fn size(self) -> usize {
        self.left * self.right
    }

    /// Both triangles of the Gram alone, from the upper one, in the place of the sums.
    fn square(self, mut sums: Vec<f64>) -> Vec<f64> {
        let d = self.dimension;
        for a in 0..d {
            sums.copy_within(a * self.right..a * self.right + d, a * d);
        }
        sums.truncate(d * d);
        for a in 0..d {
            for b in a + 1..d {
                sums[b * d + a] = sums[a * d + b];
            }
        }
        sums
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

/// The sums of the folds, from parts that are added in the order of their numbers whenever they come.
#[derive(Default)]
struct InOrder {
    sums: Vec<Part>,
    waiting: BTreeMap<usize, (usize, Part)>,
    next: usize,
}

impl InOrder {
    fn take(&mut self, number: usize, fold: usize, part: Part) {
        self.waiting.insert(number, (fold, part));
        while let Some((fold, part)) = self.waiting.remove(&self.next) {
            self.sums[fold].add(part);
            self.next += 1;
        }
    }
}

/// Adds `left' right` to the upper triangle of `sums`: panels of eight columns, `count` rows each.
struct AddGram<'a> {
    left: &'a [[f64; 8]],
    right: &'a [[f64; 8]],
    count: usize,
    shape: Shape,
    sums: &'a mut [f64],
}

impl Kernel for AddGram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { left, right, count, shape, sums } = self;
        let panels = shape.right / 8;
        for (a, left) in left.chunks_exact(count).enumerate() {
            let mut b = a;
            // Tiles of 8 x 24 where the registers hold them, else of 4 x 8.
            while L::MANY_REGISTERS && b + 3 <= panels {
                tile::<L, 8, 3>(
                    lanes,
                    left,
                    0,
                    right,
                    b,
                    count,
                    &mut sums[8 * a * shape.right..],
                    shape.right,
                );
                b += 3;
            }
            while b < panels {
                for half in [0, 4] {
                    let sums = &mut sums[(8 * a + half) * shape.right..];
                    tile::<L, 4, 1>(lanes, left, half, right, b, count, sums, shape.right);
                }
                b += 1;
            }
        }
    }
}

/// `A` columns of a left panel from `offset` on, times `B` right panels from `first` on.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn tile<L: Lanes, const A: usize, const B: usize>(
    lanes: L,
    left: &[[f64; 8]],
    offset: usize,
    right: &[[f64; 8]],
    first: usize,
    count: usize,
    sums: &mut [f64],
    stride: usize,
) {
    let mut tile = [[lanes.splat(0.0); B]; A];
    let panels: [&[[f64; 8]]; B] =
        std::array::from_fn(|b| &right[(first + b) * count..(first + b + 1) * count]);
    for (i, left) in left[..count].iter().enumerate() {
        // A loop: closures in kernels are not always compiled into them.
        let mut right = [lanes.splat(0.0); B];
        for b in 0..B {
            right[b] = lanes.load(&panels[b][i]);
        }
        for a in 0..A {
            let x = lanes.splat(left[offset + a]);
            for b in 0..B {
                tile[a][b] = lanes.fused(tile[a][b], x, right[b]);
            }
        }
    }
    for a in 0..A {
        for b in 0..B {
            let at = a * stride + 8 * (first + b);
            for (sum, t) in sums[at..at + 8].iter_mut().zip(lanes.array(tile[a][b])) {
                *sum += t;
            }
        }
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
