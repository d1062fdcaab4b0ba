//! Vectors of eight models, lane by lane; the dense algebra is the crate's.

use super::rows::{LANES, Lane};
use crate::design::kernel;
pub(super) use crate::linalg::{cholesky, dot, product, solve};
use crate::sample::Storage;

kernel! {
    /// `Σ_j a_j b_j`.
    pub(super) fn lane_dot<'k, T: Storage>(lanes: L, a: &'k [[T; LANES]], b: &'k [Lane]) -> Lane {
        let mut sums = [lanes.splat(0.0); 4];
        let (a_groups, a_rest) = a.as_chunks::<4>();
        let (b_groups, b_rest) = b.as_chunks::<4>();
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

kernel! {
    /// `y_j += c x_j`.
    pub(super) fn lane_add<'k, T: Storage>(lanes: L, c: &'k Lane, x: &'k [[T; LANES]], y: &'k mut [Lane]) -> () {
        let c = lanes.load(c);
        for (y, x) in y.iter_mut().zip(x) {
            *y = lanes.array(lanes.fused(lanes.load(&*y), c, lanes.load(x)));
        }
    }
}

kernel! {
    /// `y_j += p_j x_j`.
    pub(super) fn lane_add_product<'k, T: Storage>(
        lanes: L,
        p: &'k [Lane],
        x: &'k [[T; LANES]],
        y: &'k mut [Lane],
    ) -> () {
        for (y, (p, x)) in y.iter_mut().zip(p.iter().zip(x)) {
            *y = lanes.array(lanes.fused(lanes.load(&*y), lanes.load(p), lanes.load(x)));
        }
    }
}

kernel! {
    /// `Σ_j p_j x_j²`.
    pub(super) fn lane_weighted<'k>(lanes: L, p: &'k [Lane], x: &'k [Lane]) -> Lane {
        let mut sums = [lanes.splat(0.0); 2];
        for (j, (p, x)) in p.iter().zip(x).enumerate() {
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
