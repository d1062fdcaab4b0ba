//! Some rows of every block, gathered where the algorithm runs: what small samples are asked for is
//! then answered without a pass.
//!
//! Rows are chosen by a hash of their number among all rows, so a smaller sample is part of a larger
//! one, and the rows of a sample do not depend on the blocks.

use super::{FoldBlock, Numbers, Split};
use crate::error::Result;
use crate::proper::folds::Assignment;
use crate::sample::{Indices, Matrix, Offsets, Values};

/// Rows with what their block knew of them.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct RowsOf {
    columns: usize,
    cells: Cells,
    /// Where each row ends among the stored values; empty for dense rows.
    ends: Vec<usize>,
    indices: Vec<u32>,
    pub labels: Vec<u8>,
    pub weights: Vec<f64>,
    folds: Vec<u32>,
    numbers: Vec<u64>,
}

/// Values as they are stored.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Cells {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Default for Cells {
    fn default() -> Self {
        Self::F32(Vec::new())
    }
}

impl Cells {
    /// Adds others; single precision gives way to double.
    fn extend(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::F32(mine), Self::F32(theirs)) => mine.extend_from_slice(theirs),
            (Self::F64(mine), Self::F64(theirs)) => mine.extend_from_slice(theirs),
            (Self::F64(mine), Self::F32(theirs)) => {
                mine.extend(theirs.iter().map(|&x| f64::from(x)))
            }
            (Self::F32(mine), Self::F64(theirs)) => {
                let mine: Vec<f64> = mine.iter().map(|&x| f64::from(x)).collect();
                *self = Self::F64([&mine[..], theirs].concat());
            }
        }
    }
}

/// What the first question to the blocks brings back.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Gathered {
    /// Evenly spaced rows.
    pub spaced: RowsOf,
    /// Chosen rows.
    pub sample: RowsOf,
    /// Weight and weight of the positives: inside every fold, then of all rows.
    pub fold_weights: Vec<[f64; 2]>,
    /// The weight of the classes.
    pub class_weights: [f64; 2],
}

impl Gathered {
    /// Adds the rows of the next block.
    pub fn add(&mut self, other: &Self) {
        self.spaced.append(&other.spaced);
        self.sample.append(&other.sample);
        for (mine, theirs) in self.fold_weights.iter_mut().zip(&other.fold_weights) {
            (0..2).for_each(|c| mine[c] += theirs[c]);
        }
        (0..2).for_each(|c| self.class_weights[c] += other.class_weights[c]);
    }
}

impl FoldBlock<'_> {
    /// Every `step`-th row, and the chosen ones of positive weight.
    pub(super) fn gather(&self, step: u64, limit: u64) -> Gathered {
        let first = match &self.numbers {
            Numbers::From(first) => *first,
            Numbers::Each(numbers) => numbers.first().copied().unwrap_or(0),
        };
        let rows = self.labels.len();
        let start = first.next_multiple_of(step) - first;
        let spaced = (start as usize..rows).step_by(step as usize);
        let chosen = (0..rows).filter(|&i| self.weights[i] > 0.0 && self.is_chosen(i, limit));
        Gathered {
            spaced: self.pick(first, spaced),
            sample: self.pick(first, chosen),
            fold_weights: self.fold_weights(),
            class_weights: self.class_weights(),
        }
    }

    fn pick(&self, first: u64, chosen: impl Iterator<Item = usize>) -> RowsOf {
        let mut rows = RowsOf { columns: self.matrix.columns(), ..RowsOf::default() };
        let wide = match &self.matrix {
            Matrix::DenseF64(_) => true,
            Matrix::DenseF32(_) => false,
            Matrix::Csr(x) => matches!(x.values(), Values::F64(_)),
        };
        let (mut narrow_cells, mut wide_cells) = (Vec::new(), Vec::new());
        for i in chosen {
            match &self.matrix {
                Matrix::DenseF32(x) => narrow_cells.extend_from_slice(x.row(i)),
                Matrix::DenseF64(x) => wide_cells.extend_from_slice(x.row(i)),
                Matrix::Csr(_) => {
                    self.matrix.for_each_in_row(i, |j, value| {
                        rows.indices.push(j as u32);
                        if wide {
                            wide_cells.push(value);
                        } else {
                            narrow_cells.push(value as f32);
                        }
                    });
                    rows.ends.push(rows.indices.len());
                }
            }
            rows.labels.push(self.labels[i]);
            rows.weights.push(self.weights[i]);
            rows.folds.push(self.folds.of_row[i]);
            rows.numbers.push(first + i as u64);
        }
        rows.cells = if wide { Cells::F64(wide_cells) } else { Cells::F32(narrow_cells) };
        rows
    }
}

impl RowsOf {
    /// As many of everything as rows, and folds that there are; the values are looked at by
    /// [`Self::matrix`].
    pub fn fits(&self, columns: usize, folds: usize) -> bool {
        let rows = self.labels.len();
        let cells = match &self.cells {
            Cells::F32(cells) => cells.len(),
            Cells::F64(cells) => cells.len(),
        };
        let stored = if self.ends.is_empty() {
            self.indices.is_empty() && Some(cells) == rows.checked_mul(columns)
        } else {
            self.ends.len() == rows
                && self.ends.is_sorted()
                && self.ends.last() == Some(&cells)
                && self.indices.len() == cells
        };
        let weight = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        stored
            && (rows == 0 || self.columns == columns)
            && [self.weights.len(), self.folds.len(), self.numbers.len()] == [rows; 3]
            && self.labels.iter().all(|&label| label <= 1)
            && self.weights.iter().all(weight)
            && self.folds.iter().all(|&fold| (fold as usize) < folds)
    }

    fn append(&mut self, other: &Self) {
        if other.labels.is_empty() {
            return;
        }
        if self.labels.is_empty() {
            self.clone_from(other);
            return;
        }
        let before = self.indices.len();
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.indices.extend_from_slice(&other.indices);
        self.cells.extend(&other.cells);
        self.labels.extend_from_slice(&other.labels);
        self.weights.extend_from_slice(&other.weights);
        self.folds.extend_from_slice(&other.folds);
        self.numbers.extend_from_slice(&other.numbers);
    }

    /// Starts of the rows among the stored values; empty for dense rows.
    pub fn offsets(&self) -> Vec<usize> {
        if self.ends.is_empty() {
            return Vec::new();
        }
        std::iter::once(0).chain(self.ends.iter().copied()).collect()
    }

    pub fn matrix<'a>(&'a self, offsets: &'a [usize]) -> Result<Matrix<'a>> {
        let rows = self.labels.len();
        if offsets.is_empty() {
            return match &self.cells {
                Cells::F32(cells) => Matrix::dense_f32(cells, rows, self.columns),
                Cells::F64(cells) => Matrix::dense_f64(cells, rows, self.columns),
            };
        }
        let values = match &self.cells {
            Cells::F32(cells) => Values::F32(cells),
            Cells::F64(cells) => Values::F64(cells),
        };
        Matrix::csr(Offsets::Usize(offsets), Indices::U32(&self.indices), values, self.columns)
    }

    pub fn split(&self, count: usize) -> Split {
        let folds = Assignment { of_row: self.folds.clone(), count };
        let numbers = Numbers::Each(self.numbers.clone());
        Split::new(self.weights.clone(), folds, numbers, self.columns)
    }
}
