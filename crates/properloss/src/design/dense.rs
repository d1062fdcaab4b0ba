//! The two products with a dense matrix, bound by the speed of memory.
//!
//! *Same bits everywhere.* A score is the sum of eight lanes, lane `l` adding up the products of
//! the columns `l, l + 8, ...`; a column of the adjoint adds up eight rows as a fixed tree, then
//! the blocks of eight in order, then the chunks in order. Chunks depend on the shape alone. None
//! of this depends on the width of the registers or the number of threads, and products are
//! rounded before they are added (no fused multiply-add; memory is the bottleneck, so it would
//! gain nothing).

use pulp::Arch;
use rayon::prelude::*;

use crate::sample::{Dense, Storage};

/// Rows whose scores are computed together, sharing each load of `w`.
const SCORE_ROWS: usize = 4;
/// Rows added to the accumulator together, sharing its load and store.
const ADJOINT_ROWS: usize = 8;
/// Values per task: enough work to hide what a task costs.
const TASK_VALUES: usize = 1 << 16;
/// At most this many partial sums of an adjoint (8 bytes a column each).
const MAX_CHUNKS: usize = 32;

/// `z = X w`.
pub(super) fn product<T: Storage>(arch: Arch, x: &Dense<'_, T>, w: &[f64], z: &mut [f64]) {
    let columns = x.columns();
    let task_rows = (TASK_VALUES / columns).max(SCORE_ROWS).next_multiple_of(SCORE_ROWS);
    let tasks = z.par_chunks_mut(task_rows).zip(x.values().par_chunks(task_rows * columns));
    tasks.for_each(|(z, values)| {
        arch.dispatch(
            #[inline(always)]
            || product_rows(values, w, z),
        );
    });
}

/// Scores of consecutive rows.
#[inline(always)]
fn product_rows<T: Storage>(values: &[T], w: &[f64], z: &mut [f64]) {
    let columns = w.len();
    let groups = z.chunks_exact_mut(SCORE_ROWS).zip(values.chunks_exact(SCORE_ROWS * columns));
    for (z, rows) in groups {
        let (a, rest) = rows.split_at(columns);
        let (b, rest) = rest.split_at(columns);
        let (c, d) = rest.split_at(columns);
        z.copy_from_slice(&dot([a, b, c, d], w));
    }
    let done = z.len() - z.len() % SCORE_ROWS;
    for (z, row) in z[done..].iter_mut().zip(values[done * columns..].chunks_exact(columns)) {
        [*z] = dot([row], w);
    }
}

/// `x·w` for a few rows at once, each as the sum of eight lanes.
#[inline(always)]
fn dot<T: Storage, const K: usize>(rows: [&[T]; K], w: &[f64]) -> [f64; K] {
    let mut lanes = [[0.0f64; 8]; K];
    let (w_groups, w_rest) = w.as_chunks::<8>();
    let split = rows.map(|row| row[..w.len()].as_chunks::<8>());
    let groups = split.map(|(groups, _)| &groups[..w_groups.len()]);
    for (j, w) in w_groups.iter().enumerate() {
        for k in 0..K {
            let x = &groups[k][j];
            for l in 0..8 {
                lanes[k][l] += x[l].to_f64() * w[l];
            }
        }
    }
    for k in 0..K {
        let x = split[k].1;
        for l in 0..w_rest.len() {
            lanes[k][l] += x[l].to_f64() * w_rest[l];
        }
    }
    lanes.map(|s| ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
}

/// How many rows go into one partial sum; depends on the shape alone.
pub(super) fn chunk_rows(rows: usize, columns: usize) -> usize {
    let by_size = (rows * columns / TASK_VALUES).clamp(1, MAX_CHUNKS);
    rows.div_ceil(by_size).next_multiple_of(ADJOINT_ROWS).max(ADJOINT_ROWS)
}

/// `g = X' (r s)`, the row factors `s` being 1 if not given.
pub(super) fn adjoint<T: Storage>(
    arch: Arch,
    x: &Dense<'_, T>,
    r: &[f64],
    row_factors: Option<&[f64]>,
    g: &mut [f64],
) {
    let columns = x.columns();
    let chunk = chunk_rows(x.rows(), columns);
    let chunks = x.rows().div_ceil(chunk).max(1);
    let mut partial = vec![0.0; chunks * columns];
    partial.par_chunks_mut(columns).enumerate().for_each(|(number, sums)| {
        let start = number * chunk;
        let end = (start + chunk).min(x.rows());
        let values = &x.values()[start * columns..end * columns];
        let r = &r[start..end];
        let factors = row_factors.map(|factors| &factors[start..end]);
        arch.dispatch(
            #[inline(always)]
            || adjoint_rows(values, r, factors, sums),
        );
    });
    add_in_order(&partial, g);
}

/// `g = Σ_k partial_k`, in the order of the chunks.
pub(super) fn add_in_order(partial: &[f64], g: &mut [f64]) {
    let mut parts = partial.chunks_exact(g.len());
    if let Some(first) = parts.next() {
        g.copy_from_slice(first);
    }
    for part in parts {
        for (g, p) in g.iter_mut().zip(part) {
            *g += p;
        }
    }
}

/// Adds `Σ r_i s_i x_i` over consecutive rows.
#[inline(always)]
fn adjoint_rows<T: Storage>(values: &[T], r: &[f64], factors: Option<&[f64]>, sums: &mut [f64]) {
    let columns = sums.len();
    let coefficient = |i: usize| factors.map_or(r[i], |factors| r[i] * factors[i]);
    let full = r.len() - r.len() % ADJOINT_ROWS;
    for start in (0..full).step_by(ADJOINT_ROWS) {
        let block = &values[start * columns..(start + ADJOINT_ROWS) * columns];
        let c: [f64; ADJOINT_ROWS] = std::array::from_fn(|k| coefficient(start + k));
        add_eight_rows(block, c, sums);
    }
    for i in full..r.len() {
        let c = coefficient(i);
        for (sum, x) in sums.iter_mut().zip(&values[i * columns..(i + 1) * columns]) {
            *sum += c * x.to_f64();
        }
    }
}

#[inline(always)]
fn add_eight_rows<T: Storage>(block: &[T], c: [f64; 8], sums: &mut [f64]) {
    let columns = sums.len();
    let x: [&[T]; 8] = std::array::from_fn(|k| &block[k * columns..(k + 1) * columns]);
    for j in 0..columns {
        let p: [f64; 8] = std::array::from_fn(|k| c[k] * x[k][j].to_f64());
        sums[j] += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    }
}
