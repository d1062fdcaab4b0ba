//! The Cholesky factor of a small dense matrix, or word that it has none.

use crate::linalg::dot_rounded as dot;

/// Solves `A p = b` in place of `b`, `A` symmetric and row-major, overwritten by its factor `L`
/// (lower triangle, `A = L L'`). `false` if a pivot is not positive beyond rounding: `A` is not
/// positive definite, and `b` is not to be used.
pub(super) fn solve(a: &mut [f64], b: &mut [f64]) -> bool {
    let d = b.len();
    for i in 0..d {
        for j in 0..=i {
            let (above, row) = a.split_at_mut(i * d);
            // Row j is above row i, or is row i itself.
            let sum: f64 = if j < i {
                dot(&above[j * d..j * d + j], &row[..j])
            } else {
                dot(&row[..j], &row[..j])
            };
            let value = row[j] - sum;
            if j < i {
                row[j] = value / above[j * d + j];
            } else if value > d as f64 * f64::EPSILON * row[j] {
                row[j] = value.sqrt();
            } else {
                return false;
            }
        }
    }
    for i in 0..d {
        b[i] = (b[i] - dot(&a[i * d..i * d + i], &b[..i])) / a[i * d + i];
    }
    for i in (0..d).rev() {
        b[i] /= a[i * d + i];
        let (head, tail) = b.split_at_mut(i);
        for (b, l) in head.iter_mut().zip(&a[i * d..i * d + i]) {
            *b -= l * tail[0];
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_hilbert_like_system_and_refuses_a_singular_one() {
        let d = 13;
        let entry = |i: usize, j: usize| 1.0 / (1 + i + j) as f64 + f64::from(u8::from(i == j));
        let mut a: Vec<f64> = (0..d * d).map(|k| entry(k / d, k % d)).collect();
        let solution: Vec<f64> = (0..d).map(|i| i as f64 - 4.5).collect();
        let mut b: Vec<f64> =
            (0..d).map(|i| (0..d).map(|j| entry(i, j) * solution[j]).sum()).collect();
        assert!(solve(&mut a, &mut b));
        for (x, y) in b.iter().zip(&solution) {
            // The condition number is below 4.
            assert!((x - y).abs() <= 1e-14 * 10.0);
        }
        let mut singular = vec![1.0; 9];
        assert!(!solve(&mut singular, &mut [1.0, 1.0, 1.0]));
    }
}
