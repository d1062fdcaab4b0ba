//! Weight, mean and spread of every column in every fold, in one visit of the rows.
//!
//! Powers are taken of `c = (x - shift) / unit`, the shift being the median of a few rows and the unit
//! a power of two near their spread, so that nothing cancels or overflows. Values that sparse rows do
//! not store are added at the end: they are all `-shift / unit`.

use rayon::prelude::*;

use super::{FoldBlock, Halt, Halted};
use crate::design::{Kernel, Lanes, arch, run};
use crate::sample::{Matrix, Storage};

/// Rows that shift and unit are taken from, evenly spaced.
const SAMPLE: usize = 31;
/// Columns that are summed up together.
const TILE: usize = 512;
/// At most this many numbers in partial sums.
const MAX_PARTIAL: usize = 1 << 23;

/// The distance of the rows that shift and unit are taken from.
pub(super) fn sample_step(rows: usize) -> usize {
    rows.div_ceil(SAMPLE)
}

/// Sums over the rows of each fold: `Σ w`, `Σ w c`, `Σ w c²` by fold and column, `Σ w c³`, `Σ w c⁴` by
/// column. Sums over parts of the rows can be added.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::proper) struct FoldMoments {
    pub shift: Vec<f64>,
    pub unit: Vec<f64>,
    pub weight: Vec<f64>,
    /// `first[fold][column]`.
    pub first: Vec<Vec<f64>>,
    pub second: Vec<Vec<f64>>,
    pub third: Vec<f64>,
    pub fourth: Vec<f64>,
}

impl FoldMoments {
    /// Adds the rows of another block, about the same shift.
    pub(super) fn add(&mut self, other: &Self) {
        let add = |total: &mut [f64], part: &[f64]| {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        };
        add(&mut self.weight, &other.weight);
        for (mine, theirs) in [(&mut self.first, &other.first), (&mut self.second, &other.second)] {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
        }
        add(&mut self.third, &other.third);
        add(&mut self.fourth, &other.fourth);
    }
}

impl FoldBlock<'_> {
    /// Moments of the raw columns over the rows of positive weight.
    pub(super) fn moments(
        &self,
        shift: Vec<f64>,
        unit: Vec<f64>,
        halt: Halt<'_>,
    ) -> Result<FoldMoments, Halted> {
        let columns = self.matrix.columns();
        let folds = self.folds.count;
        let sparse = !self.is_dense();
        let size = Layout { columns, folds }.size(sparse);
        let rows = self.matrix.rows();
        let chunks = (self.matrix.stored() >> 16)
            .min(MAX_PARTIAL / size.max(1))
            .min(self.matrix.stored() / (4 * size))
            .clamp(1, 64);
        let chunk = rows.div_ceil(chunks).max(1);
        let inverse: Vec<f64> = unit.iter().map(|u| 1.0 / u).collect();
        let pass = Pass {
            rows: self,
            layout: Layout { columns, folds },
            shift: &shift,
            inverse: &inverse,
        };
        let parts: Result<Vec<Vec<f64>>, Halted> = (0..rows.div_ceil(chunk))
            .into_par_iter()
            .map(|number| {
                if halt() {
                    return Err(Halted);
                }
                let range = number * chunk..((number + 1) * chunk).min(rows);
                Ok(pass.chunk(range, vec![0.0; size]))
            })
            .collect();
        let mut parts = parts?.into_iter();
        let mut sums = parts.next().ok_or(Halted)?;
        for part in parts {
            sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
        }
        let weight: Vec<f64> = (0..folds)
            .map(|k| self.of_fold[k].iter().map(|&i| self.weights[i as usize]).sum())
            .collect();
        let layout = pass.layout;
        let read = |power: usize, k: usize| -> Vec<f64> {
            (0..columns).map(|j| sums[layout.at(sparse, power, k, j)]).collect()
        };
        let mut moments = FoldMoments {
            first: (0..folds).map(|k| read(0, k)).collect(),
            second: (0..folds).map(|k| read(1, k)).collect(),
            third: read(2, 0),
            fourth: read(3, 0),
            weight,
            shift,
            unit,
        };
        if sparse {
            for k in 0..folds {
                for (j, stored) in read(4, k).into_iter().enumerate() {
                    let missing = (moments.weight[k] - stored).max(0.0);
                    let c = -moments.shift[j] * inverse[j];
                    moments.first[k][j] += missing * c;
                    moments.second[k][j] += missing * c * c;
                    moments.third[j] += missing * c * c * c;
                    moments.fourth[j] += missing * c * c * c * c;
                }
            }
        }
        Ok(moments)
    }

    /// Median and spread of a few rows. (The median, so that one huge value does not hide the spread
    /// of the others.)
    pub(super) fn shift_and_unit(&self, rows: impl Iterator<Item = usize>) -> (Vec<f64>, Vec<f64>) {
        let columns = self.matrix.columns();
        let rows: Vec<usize> = rows.filter(|&i| self.weights[i] > 0.0).collect();
        let sampled = rows.len();
        // By column: where its values begin, then the values.
        let mut starts = vec![0; columns + 1];
        for &i in &rows {
            self.matrix.for_each_in_row(i, |j, _| starts[j + 1] += 1);
        }
        (0..columns).for_each(|j| starts[j + 1] += starts[j]);
        let (mut free, mut stored) = (starts.clone(), vec![0.0; starts[columns]]);
        for &i in &rows {
            self.matrix.for_each_in_row(i, |j, x| {
                stored[free[j]] = x;
                free[j] += 1;
            });
        }
        let (mut shift, mut unit) = (vec![0.0; columns], vec![1.0; columns]);
        let mut values = Vec::new();
        for j in (0..columns).filter(|&j| starts[j] < starts[j + 1]) {
            values.clear();
            values.extend_from_slice(&stored[starts[j]..starts[j + 1]]);
            values.resize(sampled, 0.0);
            shift[j] = *values.select_nth_unstable_by(sampled / 2, f64::total_cmp).1;
            let spread = values.iter().map(|x| (x - shift[j]).abs()).fold(0.0, f64::max);
            let size = if spread > 0.0 { spread } else { shift[j].abs() };
            if size > 0.0 {
                // A power of two, so that dividing by it is exact.
                unit[j] = 2f64.powi(size.log2().clamp(-500.0, 500.0).round() as i32);
            }
        }
        (shift, unit)
    }
}

/// Where the sums of a part lie: by power, fold and column for dense rows; column by column for
/// sparse ones, whose columns come in no order.
#[derive(Debug, Clone, Copy)]
struct Layout {
    columns: usize,
    folds: usize,
}

impl Layout {
    fn size(self, sparse: bool) -> usize {
        self.columns * if sparse { 3 * self.folds + 2 } else { 2 * self.folds + 2 }
    }

    /// Powers 0 to 3 are `c` to `c⁴`; 4 is the weight that is stored (sparse).
    fn at(self, sparse: bool, power: usize, fold: usize, column: usize) -> usize {
        let k = self.folds;
        if sparse {
            // What one row adds to lies close together.
            let number = match power {
                0 => 3 * fold,
                1 => 3 * fold + 1,
                2 => 3 * k,
                3 => 3 * k + 1,
                _ => 3 * fold + 2,
            };
            return column * (3 * k + 2) + number;
        }
        let number = match power {
            0 => fold,
            1 => k + fold,
            2 => 2 * k,
            _ => 2 * k + 1,
        };
        number * self.columns + column
    }
}

struct Pass<'a> {
    rows: &'a FoldBlock<'a>,
    layout: Layout,
    shift: &'a [f64],
    inverse: &'a [f64],
}

impl Pass<'_> {
    fn chunk(&self, range: std::ops::Range<usize>, mut sums: Vec<f64>) -> Vec<f64> {
        match &self.rows.matrix {
            Matrix::DenseF32(x) => {
                run(arch(), DenseChunk { pass: self, values: x.values(), range, sums: &mut sums });
            }
            Matrix::DenseF64(x) => {
                run(arch(), DenseChunk { pass: self, values: x.values(), range, sums: &mut sums });
            }
            Matrix::Csr(_) => self.sparse(range, &mut sums),
        }
        sums
    }

    fn sparse(&self, range: std::ops::Range<usize>, sums: &mut [f64]) {
        let k = self.layout.folds;
        for i in range {
            let (fold, weight) = (self.rows.folds.of_row[i] as usize, self.rows.weights[i]);
            if weight == 0.0 {
                continue;
            }
            self.rows.matrix.for_each_in_row(i, |j, x| {
                let sums = &mut sums[j * (3 * k + 2)..(j + 1) * (3 * k + 2)];
                let c = (x - self.shift[j]) * self.inverse[j];
                let (first, second) = (weight * c, weight * c * c);
                sums[3 * fold] += first;
                sums[3 * fold + 1] += second;
                sums[3 * fold + 2] += weight;
                sums[3 * k] += second * c;
                sums[3 * k + 1] += second * c * c;
            });
        }
    }
}

struct DenseChunk<'a, T> {
    pass: &'a Pass<'a>,
    values: &'a [T],
    range: std::ops::Range<usize>,
    sums: &'a mut [f64],
}

impl<T: Storage> Kernel for DenseChunk<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { pass, values, range, sums } = self;
        let Layout { columns, folds } = pass.layout;
        let (by_fold, rest) = sums.split_at_mut(2 * folds * columns);
        let (firsts, seconds) = by_fold.split_at_mut(folds * columns);
        let (third, fourth) = rest.split_at_mut(columns);
        // The sums of a tile stay in the first cache.
        for from in (0..columns).step_by(TILE) {
            let to = columns.min(from + TILE);
            for i in range.clone() {
                let (fold, weight) = (pass.rows.folds.of_row[i] as usize, pass.rows.weights[i]);
                if weight == 0.0 {
                    continue;
                }
                let of_fold = fold * columns + from..fold * columns + to;
                let (first, second) = (&mut firsts[of_fold.clone()], &mut seconds[of_fold]);
                let (third, fourth) = (&mut third[from..to], &mut fourth[from..to]);
                let (shift, inverse) = (&pass.shift[from..to], &pass.inverse[from..to]);
                let (groups, tail) = values[i * columns + from..i * columns + to].as_chunks::<8>();
                let w = lanes.splat(weight);
                for (g, x) in groups.iter().enumerate() {
                    let at = 8 * g..8 * g + 8;
                    let c = lanes.sub(lanes.load(x), load(lanes, &shift[at.clone()]));
                    let c = lanes.mul(c, load(lanes, &inverse[at.clone()]));
                    let mut power = w;
                    for sums in [&mut *first, &mut *second, &mut *third, &mut *fourth] {
                        power = lanes.mul(power, c);
                        let sums = &mut sums[at.clone()];
                        sums.copy_from_slice(&lanes.array(lanes.add(load(lanes, sums), power)));
                    }
                }
                for (j, x) in (8 * groups.len()..to - from).zip(tail) {
                    let c = (x.to_f64() - shift[j]) * inverse[j];
                    let mut power = weight;
                    for sums in [&mut *first, &mut *second, &mut *third, &mut *fourth] {
                        power *= c;
                        sums[j] += power;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn load<L: Lanes>(lanes: L, values: &[f64]) -> L::Vector {
    match values.first_chunk::<8>() {
        Some(values) => lanes.load(values),
        None => lanes.splat(0.0),
    }
}
