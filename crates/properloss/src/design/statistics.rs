//! Norms of rows, moments of columns, sums: what scalings and step sizes are fitted from.

use rayon::prelude::*;

use super::lanes::{kernel, tree_sum};
use super::{dense, sparse};
use crate::sample::{Matrix, Sample};

/// Rows per task.
const TASK_ROWS: usize = 256;

/// The sum of `values`: blocks as eight lanes each, then the blocks in order.
pub(super) fn sum(values: &[f64]) -> f64 {
    values.chunks(1 << 12).map(block_sum).sum()
}

kernel! {
    fn block_sum<'k>(lanes: L, values: &'k [f64]) -> f64 {
        let mut sums = [lanes.splat(0.0); 4];
        let (groups, rest) = values.as_chunks::<32>();
        for group in groups {
            let (parts, _) = group.as_chunks::<8>();
            for k in 0..4 {
                sums[k] = lanes.add(sums[k], lanes.load(&parts[k]));
            }
        }
        let all = lanes.add(lanes.add(sums[0], sums[1]), lanes.add(sums[2], sums[3]));
        tree_sum(lanes.array(all)) + rest.iter().sum::<f64>()
    }
}

/// `|x_i|` for every raw row.
pub(super) fn row_norms(matrix: &Matrix<'_>) -> Vec<f64> {
    per_row(matrix, |i| {
        let mut squares = 0.0;
        matrix.for_each_in_row(i, |_, x| squares += x * x);
        if squares.is_finite() && squares > f64::MIN_POSITIVE / f64::EPSILON {
            return squares.sqrt();
        }
        // Squares that overflow or vanish: scale by the largest entry first.
        let mut largest = 0.0;
        matrix.for_each_in_row(i, |_, x| largest = f64::max(largest, x.abs()));
        if largest == 0.0 {
            return 0.0;
        }
        let mut squares = 0.0;
        matrix.for_each_in_row(i, |_, x| squares += (x / largest) * (x / largest));
        largest * squares.sqrt()
    })
}

/// `|F (x_i - c)|` for every row. A column that is not stored adds `F_j² c_j²`; for sparse rows
/// that sum is taken over all columns once, and corrected at the stored ones.
pub(super) fn standardised_row_norms(
    matrix: &Matrix<'_>,
    mean: &[f64],
    factor: &[f64],
) -> Vec<f64> {
    let square = |x: f64| x * x;
    let at_zero = match matrix {
        Matrix::Csr(_) => mean.iter().zip(factor).map(|(m, f)| square(m * f)).sum(),
        _ => 0.0,
    };
    let sparse = matches!(matrix, Matrix::Csr(_));
    per_row(matrix, |i| {
        let mut squares: f64 = at_zero;
        matrix.for_each_in_row(i, |j, x| {
            squares += square((x - mean[j]) * factor[j]);
            if sparse {
                squares -= square(mean[j] * factor[j]);
            }
        });
        squares.max(0.0).sqrt()
    })
}

fn per_row(matrix: &Matrix<'_>, f: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
    let mut result = vec![0.0; matrix.rows()];
    result.par_chunks_mut(TASK_ROWS).enumerate().for_each(|(task, result)| {
        for (k, value) in result.iter_mut().enumerate() {
            *value = f(task * TASK_ROWS + k);
        }
    });
    result
}

/// Weighted mean and standard deviation of every column (divisor: the sum of the weights).
///
/// Two passes, the second corrected for the rounding of the first mean `c`:
/// `mean = c + E[x - c]`, `variance = E[(x - c)²] - E[x - c]²`. A deviation within rounding of 0
/// (at most `8 ε |mean|`) is set to exactly 0: the column is constant.
pub(super) fn column_moments(sample: &Sample<'_>) -> (Vec<f64>, Vec<f64>) {
    let matrix = sample.matrix();
    let columns = matrix.columns();
    let total = sample.total_weight();
    let weights: Vec<f64> = (0..sample.rows()).map(|i| sample.weight(i) / total).collect();
    let mut mean = vec![0.0; columns];
    super::power_sums::<1>(&matrix, &weights, None, &mut mean);
    let (first, second) = centred_moments(&matrix, &weights, &mean);
    let mut deviation = vec![0.0; columns];
    for j in 0..columns {
        let variance = (second[j] - first[j] * first[j]).max(0.0);
        mean[j] += first[j];
        let s = variance.sqrt();
        deviation[j] = if s <= 8.0 * f64::EPSILON * mean[j].abs() { 0.0 } else { s };
    }
    (mean, deviation)
}

/// `E[x - c]` and `E[(x - c)²]` by column; the values a sparse row does not store are zeros.
fn centred_moments(matrix: &Matrix<'_>, weights: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let columns = matrix.columns();
    let chunk = match matrix {
        Matrix::Csr(x) => sparse::chunk_rows(x),
        _ => dense::chunk_rows(matrix.rows(), columns),
    };
    // Per chunk: the two moments, and the weight of the rows that store the column.
    let mut partial = vec![0.0; matrix.rows().div_ceil(chunk).max(1) * 3 * columns];
    partial.par_chunks_mut(3 * columns).enumerate().for_each(|(number, sums)| {
        let (first, rest) = sums.split_at_mut(columns);
        let (second, stored) = rest.split_at_mut(columns);
        for i in number * chunk..((number + 1) * chunk).min(matrix.rows()) {
            let weight = weights[i];
            matrix.for_each_in_row(i, |j, x| {
                let centred = x - c[j];
                first[j] += weight * centred;
                second[j] += weight * centred * centred;
                stored[j] += weight;
            });
        }
    });
    let mut sums = vec![0.0; 3 * columns];
    dense::add_in_order(&partial, &mut sums);
    let (mut first, mut second) = (sums[..columns].to_vec(), sums[columns..2 * columns].to_vec());
    if matches!(matrix, Matrix::Csr(_)) {
        let total = sum(weights);
        for j in 0..columns {
            let missing = (total - sums[2 * columns + j]).max(0.0);
            first[j] -= missing * c[j];
            second[j] += missing * c[j] * c[j];
        }
    }
    (first, second)
}
