//! Cholesky's factor of a dense matrix: the one of the default estimators.
//!
//! Newton's method for a given loss has another (`optimize/cholesky.rs`): it must say that a matrix is not
//! positive definite, where this one goes on with a tiny pivot, and the bits of its models are older.

use crate::design::{Lanes, kernel};

/// Rows factored together.
const ROWS: usize = 4;

kernel! {
    /// `A = L L'` in place, lower triangle, row-major; a pivot that is not positive becomes tiny.
    pub(crate) fn cholesky<'k>(lanes: L, a: &'k mut [f64], d: usize) -> () {
        for i in (0..d).step_by(ROWS) {
            let rows = ROWS.min(d - i);
            let (above, band) = a.split_at_mut(i * d);
            // L_ij for j < i, four by four: the products with finished rows first.
            for j in (0..i).step_by(ROWS) {
                let products = block::<L>(lanes, band, above, d, rows, j, j);
                for r in 0..rows {
                    for c in 0..ROWS {
                        let mut s = band[r * d + j + c] - products[r][c];
                        for k in 0..c {
                            s -= band[r * d + j + k] * above[(j + c) * d + j + k];
                        }
                        band[r * d + j + c] = s / above[(j + c) * d + j + c];
                    }
                }
            }
            // The block on the diagonal.
            for r in 0..rows {
                for c in 0..=r {
                    let (left, right) = (&band[r * d..r * d + i + c], &band[c * d..c * d + i + c]);
                    let s = band[r * d + i + c] - dot_lanes(lanes, left, right);
                    band[r * d + i + c] = if c < r {
                        s / band[c * d + i + c]
                    } else {
                        let diagonal = band[r * d + i + r];
                        s.max(1e-14 * diagonal.abs().max(1e-300)).sqrt()
                    };
                }
            }
        }
    }
}

kernel! {
    /// Solves `L L' x = b` in place of `b`, for vectors of length `d` one after the other.
    pub(crate) fn solve<'k>(lanes: L, l: &'k [f64], d: usize, b: &'k mut [f64]) -> () {
        for b in b.chunks_exact_mut(d.max(1)) {
            for i in 0..d {
                let s = dot_lanes(lanes, &l[i * d..i * d + i], &b[..i]);
                b[i] = (b[i] - s) / l[i * d + i];
            }
            for i in (0..d).rev() {
                b[i] /= l[i * d + i];
                let (value, row) = (lanes.splat(-b[i]), &l[i * d..i * d + i]);
                let (targets, targets_rest) = b[..i].as_chunks_mut::<8>();
                let (groups, rest) = row.as_chunks::<8>();
                for (target, l) in targets.iter_mut().zip(groups) {
                    *target = lanes.array(lanes.fused(lanes.load(&*target), value, lanes.load(l)));
                }
                let value = lanes.array(value)[0];
                targets_rest.iter_mut().zip(rest).for_each(|(target, l)| *target += value * l);
            }
        }
    }
}

kernel! {
    /// `a·b` in eight lanes, then as a tree.
    pub(crate) fn dot<'k>(lanes: L, a: &'k [f64], b: &'k [f64]) -> f64 {
        dot_lanes(lanes, a, b)
    }
}

kernel! {
    /// `A x` of a symmetric matrix.
    pub(crate) fn product<'k>(lanes: L, a: &'k [f64], x: &'k [f64], result: &'k mut [f64]) -> () {
        for (row, result) in a.chunks_exact(x.len()).zip(result) {
            *result = dot_lanes(lanes, row, x);
        }
    }
}

/// Products of the first `length` numbers of up to four rows of `band` with four rows of `above` from
/// row `j` on.
#[inline(always)]
fn block<L: Lanes>(
    lanes: L,
    band: &[f64],
    above: &[f64],
    d: usize,
    rows: usize,
    j: usize,
    length: usize,
) -> [[f64; ROWS]; ROWS] {
    let left: [&[f64]; ROWS] = std::array::from_fn(|r| &band[r.min(rows - 1) * d..][..length]);
    let right: [&[f64]; ROWS] = std::array::from_fn(|c| &above[(j + c) * d..][..length]);
    let full = length / 8;
    let left_groups = left.map(|row| &row.as_chunks::<8>().0[..full]);
    let right_groups = right.map(|row| &row.as_chunks::<8>().0[..full]);
    let mut result = [[0.0; ROWS]; ROWS];
    for half in [0, 2] {
        let mut sums = [[lanes.splat(0.0); ROWS]; 2];
        for g in 0..full {
            let x: [L::Vector; 2] = std::array::from_fn(|r| lanes.load(&left_groups[half + r][g]));
            for c in 0..ROWS {
                let y = lanes.load(&right_groups[c][g]);
                for r in 0..2 {
                    sums[r][c] = lanes.fused(sums[r][c], x[r], y);
                }
            }
        }
        for r in 0..2 {
            for c in 0..ROWS {
                let rest: f64 = (8 * full..length).map(|k| left[half + r][k] * right[c][k]).sum();
                result[half + r][c] = lanes.array(sums[r][c]).iter().sum::<f64>() + rest;
            }
        }
    }
    result
}

#[inline(always)]
fn dot_lanes<L: Lanes>(lanes: L, a: &[f64], b: &[f64]) -> f64 {
    let (a_groups, a_rest) = a.as_chunks::<8>();
    let (b_groups, b_rest) = b.as_chunks::<8>();
    let mut sums = [lanes.splat(0.0); 2];
    for (g, (a, b)) in a_groups.iter().zip(b_groups).enumerate() {
        sums[g % 2] = lanes.fused(sums[g % 2], lanes.load(a), lanes.load(b));
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.array(lanes.add(sums[0], sums[1])).iter().sum::<f64>() + rest
}

/// `a·b` in eight lanes, rounded after the multiplications too: older than [`dot`], and kept for its bits.
pub(crate) fn dot_rounded(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a_groups, a_rest) = a.as_chunks::<8>();
    let (b_groups, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_groups.iter().zip(b_groups) {
        for l in 0..8 {
            lanes[l] += a[l] * b[l];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_and_solve_give_back_the_right_hand_side() {
        for d in [1, 2, 3, 4, 5, 7, 8, 12, 13, 31, 64, 97] {
            let entry = |i: usize, j: usize| {
                1.0 / (1 + i + j) as f64 + if i == j { 1.0 + i as f64 / 9.0 } else { 0.0 }
            };
            let a: Vec<f64> = (0..d * d).map(|k| entry(k / d, k % d)).collect();
            let x: Vec<f64> = (0..d).map(|i| ((i * 7) % 5) as f64 - 1.7).collect();
            let mut b = vec![0.0; d];
            product(&a, &x, &mut b);
            let mut l = a.clone();
            cholesky(&mut l, d);
            solve(&l, d, &mut b);
            // The condition number is below 40.
            for (b, x) in b.iter().zip(&x) {
                assert!((b - x).abs() < 40.0 * 1e-15 * d as f64, "{d}");
            }
        }
    }
}
