//! The two products with sparse rows; cost in proportion to the stored values.

use rayon::prelude::*;

use super::dense::{add_in_order, scale_and_shift};
use crate::sample::{ColumnIndex, Csr, Storage, with_csr};

/// Rows per task of a product.
const TASK_ROWS: usize = 256;
/// At most this many partial sums of an adjoint, and only as many as have four values a column
/// each: adding them up must not cost more than the products.
const MAX_CHUNKS: usize = 16;

/// `z_i = s_i x_i·w + shift`, the row factors `s` being 1 if not given.
pub(super) fn product(
    x: &Csr<'_>,
    w: &[f64],
    row_factors: Option<&[f64]>,
    shift: f64,
    z: &mut [f64],
) {
    with_csr!(x, |indices, values| {
        z.par_chunks_mut(TASK_ROWS).enumerate().for_each(|(task, z)| {
            for (k, z) in z.iter_mut().enumerate() {
                let range = x.range(task * TASK_ROWS + k);
                *z = dot(&indices[range.clone()], &values[range], w);
            }
            scale_and_shift(z, row_factors.map(|factors| &factors[task * TASK_ROWS..]), shift);
        });
    });
}

/// `Σ x_j w_j` over the stored columns of a row, as the sum of four lanes.
#[inline(always)]
fn dot<I: ColumnIndex, T: Storage>(indices: &[I], values: &[T], w: &[f64]) -> f64 {
    let mut lanes = [0.0f64; 4];
    let (index_groups, index_rest) = indices.as_chunks::<4>();
    let (value_groups, value_rest) = values.as_chunks::<4>();
    for (index, value) in index_groups.iter().zip(value_groups) {
        for l in 0..4 {
            lanes[l] += value[l].to_f64() * w[index[l].column()];
        }
    }
    for (l, (index, value)) in index_rest.iter().zip(value_rest).enumerate() {
        lanes[l] += value.to_f64() * w[index.column()];
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

/// How many rows go into one partial sum; depends on the shape alone.
pub(super) fn chunk_rows(x: &Csr<'_>) -> usize {
    let chunks = (x.values().len() / (4 * x.columns().max(1))).clamp(1, MAX_CHUNKS);
    x.rows().div_ceil(chunks).max(1)
}

/// `g_j = Σ_i r_i (s_i x_ij)^P`, the row factors `s` being 1 if not given; `P` is 1 or 2.
pub(super) fn power_sums<const P: u32>(
    x: &Csr<'_>,
    r: &[f64],
    row_factors: Option<&[f64]>,
    g: &mut [f64],
) {
    let columns = x.columns();
    let chunk = chunk_rows(x);
    let mut partial = vec![0.0; x.rows().div_ceil(chunk).max(1) * columns];
    with_csr!(x, |indices, values| {
        partial.par_chunks_mut(columns).enumerate().for_each(|(number, sums)| {
            let end = ((number + 1) * chunk).min(x.rows());
            for i in number * chunk..end {
                let s = row_factors.map_or(1.0, |factors| factors[i]);
                let c = r[i] * if P == 2 { s * s } else { s };
                let range = x.range(i);
                for (index, value) in indices[range.clone()].iter().zip(&values[range]) {
                    let value = value.to_f64();
                    sums[index.column()] += c * if P == 2 { value * value } else { value };
                }
            }
        });
    });
    add_in_order(&partial, g);
}
