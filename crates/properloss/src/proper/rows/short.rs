//! Sparse rows of many columns: weights and gradients in single precision.
//!
//! A stored value reads the weights of eight models and adds to eight gradients, at a column that is in no
//! order: the bytes of these are what a pass costs. L-BFGS asks for a direction and for the decrease along it,
//! which six digits tell as well. Scores that count (`losses.rs`, the held-out scores of the average) are taken
//! in double precision.

use super::lane_sums::{Partial, Pass};
use super::tiles::{BLOCK, Losses};
use super::{FoldBlock, LANES, Lane};
use crate::design::{Kernel, Lanes};
use crate::proper::products::shortened;
use crate::sample::{ColumnIndex, Csr, Storage};

/// Eight numbers of single precision, half a line of the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(32))]
pub(super) struct ShortLine(pub [f32; LANES]);

/// Columns from which on sparse rows are multiplied in single precision: more than quadratic models have.
const SHORT_COLUMNS: usize = 1 << 11;
/// Largest (and one over the least) deviation for that, and the largest mean in units of the deviation.
const LARGEST_FACTOR: f64 = 1e12;
const LARGEST_OFFSET: f64 = 100.0;

/// Rows of a part up to which sums of single precision keep five digits.
const MOST_SHORT_ROWS: usize = 1 << 16;

/// Whether a pass over sparse rows may round its weights and gradients to single precision: with this many
/// columns L-BFGS only ever looks for a direction and the decrease along it, while held-out scores that count
/// are taken in double precision. Not where numbers would leave the range of `f32`, or where a column varies
/// by little beside its mean.
pub(super) fn is_enough(mean: &[f64], factor: &[f64]) -> bool {
    let fits = |(mean, factor): (&f64, &f64)| {
        *factor == 0.0
            || ((1.0 / LARGEST_FACTOR..LARGEST_FACTOR).contains(factor)
                && (mean * factor).abs() < LARGEST_OFFSET)
    };
    mean.len() >= SHORT_COLUMNS && mean.iter().zip(factor).all(fits)
}

impl FoldBlock<'_> {
    /// Whether passes with gradients round weights, scores and gradients to single precision.
    pub(in crate::proper) fn is_short(&self) -> bool {
        self.short && !self.is_dense() && self.chunk_rows() <= MOST_SHORT_ROWS
    }
}

/// `(F w, b - c·(F w))` for eight models, in single precision.
pub(super) struct RawShort<'a> {
    pub w: &'a [Lane],
    pub mean: &'a [f64],
    pub factor: &'a [f64],
}

impl Kernel for RawShort<'_> {
    type Output = (Vec<ShortLine>, Lane);

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> (Vec<ShortLine>, Lane) {
        let columns = self.mean.len();
        let mut shift = lanes.load(&self.w[columns]);
        let mut raw = vec![ShortLine([0.0; LANES]); columns];
        let scales = self.mean.iter().zip(self.factor);
        for (raw, (w, (&c, &f))) in raw.iter_mut().zip(self.w.iter().zip(scales)) {
            raw.0 = shortened(lanes.array(lanes.mul(lanes.load(w), lanes.splat(f))));
            shift = lanes.sub(shift, lanes.mul(lanes.splat(c), lanes.load(&raw.0)));
        }
        (raw, lanes.array(shift))
    }
}

/// Some sparse rows: half the bytes a stored value, half the width of the registers. Losses
/// and slopes of the rows are taken in double precision from their scores.
pub(super) struct ShortChunk<'a, I, T> {
    pub pass: &'a Pass<'a>,
    pub x: &'a Csr<'a>,
    pub indices: &'a [I],
    pub values: &'a [T],
    pub start: usize,
    pub held_out: &'a mut [f64],
}

impl<I: ColumnIndex, T: Storage> Kernel for ShortChunk<'_, I, T> {
    type Output = Partial;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Partial {
        let Self { pass, x, indices, values, start, held_out } = self;
        let mut partial = pass.partial();
        let mut losses = Losses::new(lanes);
        for (number, held_out) in held_out.chunks_mut(BLOCK).enumerate() {
            let first = start + number * BLOCK;
            let mut z = [pass.shift; BLOCK];
            for k in 0..held_out.len() {
                let range = x.range(first + k);
                let sum = short_score(&indices[range.clone()], &values[range], pass.short);
                z[k] = lanes.array(lanes.add(lanes.load(&pass.shift), lanes.load(&sum)));
            }
            for (k, held_out) in held_out.iter_mut().enumerate() {
                pass.slopes(&mut losses, first + k, &mut z[k], held_out);
            }
            losses.end_block();
            for k in 0..held_out.len() {
                let r = shortened(z[k]);
                let range = x.range(first + k);
                for (index, value) in indices[range.clone()].iter().zip(&values[range]) {
                    let (g, x) = (&mut partial.short[index.column()].0, value.to_f64() as f32);
                    for l in 0..LANES {
                        g[l] += x * r[l];
                    }
                }
            }
        }
        (partial.loss, partial.slope) = losses.sums();
        partial
    }
}

/// `Σ x_j w_j` over the stored columns, in two sums of single precision.
#[inline(always)]
fn short_score<I: ColumnIndex, T: Storage>(
    indices: &[I],
    values: &[T],
    w: &[ShortLine],
) -> [f32; LANES] {
    let (mut even, mut odd) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (index_pairs, index_rest) = indices.as_chunks::<2>();
    let (value_pairs, value_rest) = values.as_chunks::<2>();
    for (index, value) in index_pairs.iter().zip(value_pairs) {
        let (a, b) = (&w[index[0].column()].0, &w[index[1].column()].0);
        let (x, y) = (value[0].to_f64() as f32, value[1].to_f64() as f32);
        for l in 0..LANES {
            even[l] += x * a[l];
            odd[l] += y * b[l];
        }
    }
    for (index, value) in index_rest.iter().zip(value_rest) {
        let (a, x) = (&w[index.column()].0, value.to_f64() as f32);
        for l in 0..LANES {
            even[l] += x * a[l];
        }
    }
    for l in 0..LANES {
        even[l] += odd[l];
    }
    even
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proper::curve::Curve;
    use crate::proper::folds::{Assignment, Random};
    use crate::proper::rows::{Numbers, Split};
    use crate::sample::{Indices, Matrix, Offsets, Values};

    const COLUMNS: usize = 3000;
    const ROWS: usize = 700;

    /// Loss, gradient and held-out scores in single precision are those in double precision, nearly; and
    /// the pass that only scores gives double precision in both cases.
    #[test]
    fn single_precision_is_near_double_precision() {
        let mut random = Random(5);
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let (mut offsets, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for _ in 0..ROWS {
            let mut row: Vec<i32> =
                (0..41).map(|_| ((COLUMNS as f64).powf(unit()) - 1.0) as i32).collect();
            row.sort_unstable();
            row.dedup();
            values.extend(row.iter().map(|_| 2.0 * unit() - 0.5));
            indices.extend(row);
            offsets.push(indices.len() as i64);
        }
        let labels: Vec<u8> = (0..ROWS).map(|_| u8::from(unit() < 0.4)).collect();
        let (offsets, indices) = (Offsets::I64(&offsets), Indices::I32(&indices));
        let matrix = Matrix::csr(offsets, indices, Values::F64(&values), COLUMNS).unwrap();
        let folds = Assignment { of_row: (0..ROWS as u32).map(|i| i % 5).collect(), count: 5 };
        let mut split = Split::new(vec![1.0; ROWS], folds, Numbers::From(0), COLUMNS);
        let mean: Vec<f64> = (0..COLUMNS).map(|_| unit()).collect();
        let factor: Vec<f64> = (0..COLUMNS).map(|_| 0.5 + unit()).collect();
        split.standardise(&mean, &factor);
        let w: Vec<Lane> = (0..=COLUMNS).map(|_| [0.0; LANES].map(|_| unit() - 0.5)).collect();
        let pass = |split: &Split| {
            let block = FoldBlock { matrix, labels: &labels, split };
            let (mut z, mut exact) = (vec![0.0; ROWS], vec![0.0; ROWS]);
            let sums = block.lane_sums(&Curve::Logistic, 0, &w, &mut z, &|| false).unwrap();
            block.held_out_scores(0, &w, &mut exact, &|| false).unwrap();
            assert_eq!(z == exact, !block.is_short());
            (sums, z, exact)
        };
        assert!(split.short);
        let short = pass(&split);
        split.short = false;
        let double = pass(&split);
        assert_eq!(short.2, double.2);
        // Forty products of size 1 lead to a score; a slope is off by a quarter of what its score is off by.
        let summed = 0.25 * 1e-5 * ROWS as f64;
        let scores = short.1.iter().zip(&double.1);
        scores.for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} {b}"));
        for l in 0..6 {
            let (a, b) = (short.0.loss[l], double.0.loss[l]);
            assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
            for (a, b) in short.0.gradient.iter().zip(&double.0.gradient) {
                assert!((a.0[l] - b.0[l]).abs() < summed, "{} {}", a.0[l], b.0[l]);
            }
        }
        assert!(short.0.gradient != double.0.gradient);
    }

    /// Not with few columns, nor where `f32` would overflow, nor where a mean hides what varies.
    #[test]
    fn single_precision_has_its_limits() {
        let with = |mean: f64, factor: f64| {
            let (mut means, mut factors) = (vec![0.1; COLUMNS], vec![2.0; COLUMNS]);
            (means[7], factors[7]) = (mean, factor);
            is_enough(&means, &factors)
        };
        assert!(with(0.1, 2.0) && with(1e9, 0.0) && with(1e-9, 1e10));
        assert!(!with(1e6, 1.0) && !with(0.0, 1e30) && !with(0.0, 1e-30));
        assert!(!is_enough(&[0.1; 50], &[1.0; 50]));
    }
}
