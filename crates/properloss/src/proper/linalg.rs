//! Cholesky's factor of a dense matrix and vectors of eight models.

use super::rows::{LANES, Lane};
use crate::design::{Kernel, Lanes, arch, run};
use crate::sample::Storage;

/// `A = L L'` in place, lower triangle, row-major; a pivot that is not positive becomes tiny.
pub(super) fn cholesky(a: &mut [f64], d: usize) {
    run(arch(), Factor { a, d });
}

/// Solves `L L' x = b` in place of `b`.
pub(super) fn solve(l: &[f64], d: usize, b: &mut [f64]) {
    run(arch(), Solve { l, d, b });
}

/// `a·b` in eight lanes, then as a tree.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    run(arch(), Dot { a, b })
}

/// `A x` of a symmetric matrix.
pub(super) fn product(a: &[f64], x: &[f64], result: &mut [f64]) {
    run(arch(), Product { a, x, result });
}

/// Rows factored together.
const ROWS: usize = 4;

struct Factor<'a> {
    a: &'a mut [f64],
    d: usize,
}

impl Kernel for Factor<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { a, d } = self;
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

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> f64 {
        dot_lanes(lanes, self.a, self.b)
    }
}

struct Product<'a> {
    a: &'a [f64],
    x: &'a [f64],
    result: &'a mut [f64],
}

impl Kernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        for (row, result) in self.a.chunks_exact(self.x.len()).zip(self.result) {
            *result = dot_lanes(lanes, row, self.x);
        }
    }
}

struct Solve<'a> {
    l: &'a [f64],
    d: usize,
    b: &'a mut [f64],
}

impl Kernel for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let Self { l, d, b } = self;
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

/// `Σ_j a_j b_j`, lane by lane.
pub(super) fn lane_dot<T: Storage>(a: &[[T; LANES]], b: &[Lane]) -> Lane {
    run(arch(), LaneDot { a, b })
}

struct LaneDot<'a, T> {
    a: &'a [[T; LANES]],
    b: &'a [Lane],
}

impl<T: Storage> Kernel for LaneDot<'_, T> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let mut sums = [lanes.splat(0.0); 4];
        let (a_groups, a_rest) = self.a.as_chunks::<4>();
        let (b_groups, b_rest) = self.b.as_chunks::<4>();
        for (a, b) in a_groups.iter().zip(b_groups) {
            for k in 0..4 {
                sums[k] = lanes.fused(sums[k], lanes.load(&a[k]), lanes.load(&b[k]));
            }
        }
        for (a, b) in a_rest.iter().zip(b_rest) {
            sums[0] = lanes.fused(sums[0], lanes.load(a), lanes.load(b));
        }
        lanes.array(lanes.add(lanes.add(sums[0], sums[1]), lanes.add(sums[2], sums[3])))
    }
}

/// `y_j += c x_j`, lane by lane.
pub(super) fn lane_add<T: Storage>(c: &Lane, x: &[[T; LANES]], y: &mut [Lane]) {
    run(arch(), LaneAdd { c, x, y });
}

struct LaneAdd<'a, T> {
    c: &'a Lane,
    x: &'a [[T; LANES]],
    y: &'a mut [Lane],
}

impl<T: Storage> Kernel for LaneAdd<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        let c = lanes.load(self.c);
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = lanes.array(lanes.fused(lanes.load(&*y), c, lanes.load(x)));
        }
    }
}

/// `y_j += p_j x_j`, lane by lane.
pub(super) fn lane_add_product<T: Storage>(p: &[Lane], x: &[[T; LANES]], y: &mut [Lane]) {
    run(arch(), LaneAddProduct { p, x, y });
}

struct LaneAddProduct<'a, T> {
    p: &'a [Lane],
    x: &'a [[T; LANES]],
    y: &'a mut [Lane],
}

impl<T: Storage> Kernel for LaneAddProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) {
        for (y, (p, x)) in self.y.iter_mut().zip(self.p.iter().zip(self.x)) {
            *y = lanes.array(lanes.fused(lanes.load(&*y), lanes.load(p), lanes.load(x)));
        }
    }
}

/// `Σ_j p_j x_j²`, lane by lane.
pub(super) fn lane_weighted(p: &[Lane], x: &[Lane]) -> Lane {
    run(arch(), LaneWeighted { p, x })
}

struct LaneWeighted<'a> {
    p: &'a [Lane],
    x: &'a [Lane],
}

impl Kernel for LaneWeighted<'_> {
    type Output = Lane;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> Lane {
        let mut sums = [lanes.splat(0.0); 2];
        for (j, (p, x)) in self.p.iter().zip(self.x).enumerate() {
            let x = lanes.load(x);
            sums[j % 2] = lanes.fused(sums[j % 2], lanes.mul(lanes.load(p), x), x);
        }
        lanes.array(lanes.add(sums[0], sums[1]))
    }
}

/// One lane as a vector.
pub(super) fn lane(x: &[Lane], l: usize) -> Vec<f64> {
    debug_assert!(l < LANES);
    x.iter().map(|x| x[l]).collect()
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
