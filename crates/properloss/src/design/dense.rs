//! The two products with a dense matrix, bound by the speed of memory.
//!
//! *Same bits everywhere.* A score adds up eight lanes, lane `l` holding the products of the columns
//! `l, l + 8, ...`, then the columns left over; a column of the adjoint adds up the rows of a chunk,
//! four at a time as a fixed tree, then the chunks in order. Chunks depend on the shape alone.
//! Nothing depends on the width of the registers or the number of threads, and a product is
//! rounded before it is added: memory is the bottleneck, so a fused multiply-add would gain
//! nothing.

use pulp::Arch;
use rayon::prelude::*;

use super::lanes::{Kernel, Lanes, run, tree_sum};
use crate::sample::{Dense, Storage};

/// Rows worked on together: they share the loads of `w`, or the loads and stores of the sums. The
/// next block of as many rows is asked for from memory meanwhile.
const ROWS: usize = 4;
/// Values per task: enough work to hide what a task costs.
const TASK_VALUES: usize = 1 << 16;
/// At most this many partial sums of an adjoint (8 bytes a column each).
const MAX_CHUNKS: usize = 32;
/// `z_i = s_i x_i·w + shift`, the row factors `s` being 1 if not given.
pub(super) fn product<T: Storage>(
    arch: Arch,
    x: &Dense<'_, T>,
    w: &[f64],
    row_factors: Option<&[f64]>,
    shift: f64,
    z: &mut [f64],
) {
    let columns = x.columns();
    let task_rows = (TASK_VALUES / columns).max(ROWS).next_multiple_of(ROWS);
    let tasks = z.par_chunks_mut(task_rows).zip(x.values().par_chunks(task_rows * columns));
    tasks.enumerate().for_each(|(task, (z, values))| {
        run(arch, ProductRows { values, w, z: &mut *z });
        scale_and_shift(z, row_factors.map(|factors| &factors[task * task_rows..]), shift);
    });
}

/// `z_i ← s_i z_i + shift`.
#[inline(always)]
pub(super) fn scale_and_shift(z: &mut [f64], row_factors: Option<&[f64]>, shift: f64) {
    match row_factors {
        Some(factors) => z.iter_mut().zip(factors).for_each(|(z, s)| *z = *z * s + shift),
        None if shift != 0.0 => z.iter_mut().for_each(|z| *z += shift),
        None => {}
    }
}

/// Scores of consecutive rows.
struct ProductRows<'a, T> {
    values: &'a [T],
    w: &'a [f64],
    z: &'a mut [f64],
}

impl<T: Storage> Kernel for ProductRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { values, w, z } = self;
        let columns = w.len();
        let full = z.len() - z.len() % ROWS;
        let (z_blocks, z_rest) = z.as_chunks_mut::<ROWS>();
        for (z, block) in z_blocks.iter_mut().zip(values.chunks_exact(ROWS * columns)) {
            *z = dot::<L, T, ROWS>(lanes, block, w);
        }
        for (z, row) in z_rest.iter_mut().zip(values[full * columns..].chunks_exact(columns)) {
            [*z] = dot::<L, T, 1>(lanes, row, w);
        }
    }
}

/// `x·w` for `K` consecutive rows.
#[inline(always)]
fn dot<L: Lanes, T: Storage, const K: usize>(lanes: L, block: &[T], w: &[f64]) -> [f64; K] {
    let columns = w.len();
    let rows: [&[T]; K] = std::array::from_fn(|k| &block[k * columns..(k + 1) * columns]);
    let (w_groups, w_rest) = w.as_chunks::<8>();
    let full = w_groups.len();
    let x = rows.map(|row| &row.as_chunks::<8>().0[..full]);
    let mut sums = [lanes.splat(0.0); K];
    for (j, w) in w_groups.iter().enumerate() {
        let w = lanes.load(w);
        for k in 0..K {
            lanes.prefetch(x[k][j].as_ptr().wrapping_add(ROWS * columns));
            sums[k] = lanes.add_product(sums[k], lanes.load(&x[k][j]), w);
        }
    }
    std::array::from_fn(|k| {
        let mut sum = tree_sum(lanes.array(sums[k]));
        for (x, w) in rows[k][8 * full..].iter().zip(w_rest) {
            sum += x.to_f64() * w;
        }
        sum
    })
}

/// How many rows go into one partial sum; depends on the shape alone.
pub(super) fn chunk_rows(rows: usize, columns: usize) -> usize {
    let by_size = (rows * columns / TASK_VALUES).clamp(1, MAX_CHUNKS);
    rows.div_ceil(by_size).next_multiple_of(ROWS).max(ROWS)
}

/// `g_j = Σ_i r_i (s_i x_ij)^P`, the row factors `s` being 1 if not given; `P` is 1 or 2.
pub(super) fn power_sums<T: Storage, const P: u32>(
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
        let factors = row_factors.map(|factors| &factors[start..end]);
        let r = &r[start..end];
        run(arch, PowerRows::<'_, T, P> { values, r, factors, sums });
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

/// Adds `Σ r_i (s_i x_i)^P` over consecutive rows.
struct PowerRows<'a, T, const P: u32> {
    values: &'a [T],
    r: &'a [f64],
    factors: Option<&'a [f64]>,
    sums: &'a mut [f64],
}

impl<T: Storage, const P: u32> Kernel for PowerRows<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { values, r, factors, sums } = self;
        let columns = sums.len();
        let coefficient = |i: usize| match factors {
            None => r[i],
            Some(factors) if P == 2 => r[i] * (factors[i] * factors[i]),
            Some(factors) => r[i] * factors[i],
        };
        let full = r.len() - r.len() % ROWS;
        for start in (0..full).step_by(ROWS) {
            let block = &values[start * columns..(start + ROWS) * columns];
            let c = std::array::from_fn(|k| coefficient(start + k));
            add_four_rows::<L, T, P>(lanes, block, c, sums);
        }
        for i in full..r.len() {
            let c = coefficient(i);
            for (sum, x) in sums.iter_mut().zip(&values[i * columns..(i + 1) * columns]) {
                let x = x.to_f64();
                *sum += c * if P == 2 { x * x } else { x };
            }
        }
    }
}

#[inline(always)]
fn add_four_rows<L: Lanes, T: Storage, const P: u32>(
    lanes: L,
    block: &[T],
    c: [f64; 4],
    sums: &mut [f64],
) {
    let columns = sums.len();
    let c_all = c.map(|c| lanes.splat(c));
    let rows: [&[T]; 4] = std::array::from_fn(|k| &block[k * columns..(k + 1) * columns]);
    let (groups, rest) = sums.as_chunks_mut::<8>();
    let full = groups.len();
    let x = rows.map(|row| &row.as_chunks::<8>().0[..full]);
    for (j, sum) in groups.iter_mut().enumerate() {
        let p: [L::Vector; 4] = std::array::from_fn(|k| {
            lanes.prefetch(x[k][j].as_ptr().wrapping_add(4 * columns));
            let x = lanes.load(&x[k][j]);
            lanes.mul(c_all[k], if P == 2 { lanes.mul(x, x) } else { x })
        });
        let four = lanes.add(lanes.add(p[0], p[1]), lanes.add(p[2], p[3]));
        *sum = lanes.array(lanes.add(lanes.load(&*sum), four));
    }
    for (j, sum) in rest.iter_mut().enumerate() {
        let p: [f64; 4] = std::array::from_fn(|k| {
            let x = rows[k][8 * full + j].to_f64();
            c[k] * if P == 2 { x * x } else { x }
        });
        *sum += (p[0] + p[1]) + (p[2] + p[3]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::tests::sets;
    use super::*;
    use crate::sample::Matrix;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for columns in [1, 3, 7, 8, 9, 15, 16, 23, 64, 100, 785] {
            let rows = 203;
            let values: Vec<f32> =
                (0..rows * columns).map(|k| ((k * 7919) % 1009) as f32 / 511.0 - 1.0).collect();
            let w: Vec<f64> = (0..columns).map(|j| ((j * 31) % 17) as f64 / 7.3 - 1.0).collect();
            let r: Vec<f64> = (0..rows).map(|i| ((i * 37) % 101) as f64 / 49.7 - 1.0).collect();
            let Ok(Matrix::DenseF32(x)) = Matrix::dense_f32(&values, rows, columns) else {
                panic!("not a dense matrix")
            };
            let results: Vec<_> = sets()
                .into_iter()
                .map(|arch| {
                    let (mut z, mut g) = (vec![0.0; rows], vec![0.0; columns]);
                    product(arch, &x, &w, Some(&r), 0.3, &mut z);
                    power_sums::<_, 1>(arch, &x, &r, Some(&r), &mut g);
                    (z, g)
                })
                .collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{columns} columns");
        }
    }
}
