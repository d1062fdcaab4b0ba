//! The two products of a pass over sparse rows.

use super::math::Eight;
use super::panel::{EIGHTS, STRIP};
use super::rows::Rows;
use crate::design::kernel;
use crate::sample::Matrix;

/// The weights on the raw columns of sparse rows, interleaved: column `j` of all vectors together.
pub(super) struct SparseWeights {
    w: Vec<f64>,
    shift: Vec<f64>,
    /// Vectors, filled up to a multiple of eight.
    pub width: usize,
}

impl SparseWeights {
    /// Empty for dense rows.
    pub(super) fn new(rows: &Rows<'_>, w: &[&[f64]]) -> Self {
        if !matches!(rows.matrix, Matrix::Csr(_)) {
            return Self { w: Vec::new(), shift: Vec::new(), width: 0 };
        }
        let d = rows.dimension();
        let width = (w.len() * rows.classes).next_multiple_of(8);
        let (mut raw, mut shift) = (vec![0.0; (d - 1) * width], vec![0.0; width]);
        for (m, w) in w.iter().flat_map(|w| w.chunks_exact(d)).enumerate() {
            shift[m] = w[d - 1];
            for j in 0..d - 1 {
                raw[j * width + m] = w[j] * rows.factor[j];
                shift[m] -= rows.mean[j] * raw[j * width + m];
            }
        }
        Self { w: raw, shift, width }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.width == 0
    }

    pub(super) fn scores(
        &self,
        rows: &Rows<'_>,
        start: usize,
        count: usize,
        z: &mut [[Eight; EIGHTS]],
    ) {
        let mut sums = vec![0.0; self.width];
        for i in 0..count {
            sums.copy_from_slice(&self.shift);
            rows.matrix.for_each_in_row(start + i, |j, x| {
                add_scaled(x, &self.w[j * self.width..][..self.width], &mut sums);
            });
            z.iter_mut().zip(&sums).for_each(|(z, sum)| z[i / 8][i % 8] = *sum);
        }
    }

    pub(super) fn adjoint(
        &self,
        rows: &Rows<'_>,
        start: usize,
        count: usize,
        r: &[[Eight; EIGHTS]],
        raw: &mut [f64],
    ) {
        let mut row = vec![0.0; self.width];
        for i in 0..count {
            row.iter_mut().zip(r).for_each(|(target, r)| *target = r[i / 8][i % 8]);
            rows.matrix.for_each_in_row(start + i, |j, x| {
                add_scaled(x, &row, &mut raw[j * self.width..][..self.width]);
            });
            let last = raw.len() - self.width;
            raw[last..].iter_mut().zip(&row).for_each(|(sum, r)| *sum += r);
        }
    }

    /// `g_j = F_j (Σ r x_j - c_j Σ r)`, into the layout of the dense gradient.
    pub(super) fn standardise(
        &self,
        rows: &Rows<'_>,
        raw: &[f64],
        strips: usize,
        gradient: &mut [[Eight; 2]],
    ) {
        let d = rows.dimension();
        let gradient = gradient.as_flattened_mut().as_flattened_mut();
        let totals = &raw[(d - 1) * self.width..];
        for (m, g) in gradient.chunks_exact_mut(strips * STRIP).enumerate() {
            for j in 0..d - 1 {
                g[j] = rows.factor[j] * (raw[j * self.width + m] - rows.mean[j] * totals[m]);
            }
            g[d - 1] = totals[m];
        }
    }
}

kernel! {
    /// `to += x from`, both of a whole number of eights.
    fn add_scaled<'k>(lanes: L, x: f64, from: &'k [f64], to: &'k mut [f64]) -> () {
        let x = lanes.splat(x);
        for (to, from) in to.as_chunks_mut::<8>().0.iter_mut().zip(from.as_chunks::<8>().0) {
            *to = lanes.array(lanes.fused(lanes.load(&*to), x, lanes.load(from)));
        }
    }
}
