//! The metric of the descent: Boehning's bound, at the curvature of a reference point.
//!
//! The Hessian of the multinomial loss is `Σ_i (diag(p_i) - p_i p_i') ⊗ x_i x_i'`. With the mean
//! curvature of a row in place of the matrix over classes it is `I ⊗ G`,
//!
//! ```text
//! G = Σ_i h_i x_i x_i',   h_i = w_i Σ_k p_ik (1 - p_ik) / (K - 1)        (uniform p: h = 1/K, exact)
//! ```
//!
//! so one `d x d` factor of `G + P` serves all classes. It need not be exact: the last steps of the
//! descent correct it.

use super::gram::gram;
use super::math::Eight;
use super::rows::Rows;
use crate::design::{Design, kernel};
use crate::linalg::cholesky;

/// With more columns than this, or than rows, only the diagonal is kept: a factor is O(d^3).
const MAX_DENSE: usize = 1024;

/// `G`, or its diagonal.
#[derive(Debug)]
pub(super) struct Curvature {
    g: Vec<f64>,
    dense: bool,
}

/// The factor of `G + P`.
#[derive(Debug)]
pub(super) struct Metric {
    factor: Vec<f64>,
    dense: bool,
    d: usize,
}

impl Curvature {
    /// At the weights `w` of a model.
    pub(super) fn at(rows: &Rows<'_>, design: &Design<'_>, w: &[f64]) -> Self {
        let d = rows.dimension();
        let h = rows.curvatures(w);
        let dense = is_dense(rows);
        if dense {
            return Self { g: gram(rows, &h), dense };
        }
        let mut g = vec![0.0; d];
        design.weighted_squares(&h, &mut g);
        Self { g, dense }
    }

    /// Work of [`Self::at`] in units of one pass of all models.
    pub(super) fn cost(rows: &Rows<'_>) -> f64 {
        let vectors = (rows.models() * rows.classes) as f64;
        if !is_dense(rows) {
            return 0.2;
        }
        rows.dimension() as f64 / (2.0 * vectors) + 1.0 / rows.models() as f64
    }

    /// Adds the penalty and factorises, for models that see this share of the rows.
    pub(super) fn metric(&self, rows: &Rows<'_>, share: f64, penalty: &[f64]) -> Metric {
        let d = rows.dimension();
        let at = |j: usize| if self.dense { j * d + j } else { j };
        let trace: f64 = (0..d).map(|j| self.g[at(j)]).sum();
        let mut factor: Vec<f64> = self.g.iter().map(|g| share * g).collect();
        for j in 0..d {
            // The intercept has no penalty: a little keeps the factorisation going where all
            // probabilities are 0 or 1.
            factor[at(j)] += penalty[j] + 1e-10 * (trace / d as f64).max(1e-10);
        }
        if self.dense {
            cholesky(&mut factor, d);
        }
        Metric { factor, dense: self.dense, d }
    }
}

fn is_dense(rows: &Rows<'_>) -> bool {
    rows.dimension() <= MAX_DENSE.min(rows.labels.len())
}

impl Metric {
    /// `M^-1 x` for every class, in place.
    pub(super) fn solve(&self, x: &mut [f64]) {
        if !self.dense {
            for x in x.chunks_exact_mut(self.d) {
                x.iter_mut().zip(&self.factor).for_each(|(x, h)| *x /= h);
            }
            return;
        }
        // Eight classes share each look at the factor.
        let mut lanes = vec![[0.0; 8]; self.d];
        for x in x.chunks_mut(8 * self.d) {
            for (l, x) in x.chunks_exact(self.d).enumerate() {
                lanes.iter_mut().zip(x).for_each(|(lanes, x)| lanes[l] = *x);
            }
            solve_eight(&self.factor, &mut lanes);
            for (l, x) in x.chunks_exact_mut(self.d).enumerate() {
                x.iter_mut().zip(&lanes).for_each(|(x, lanes)| *x = lanes[l]);
            }
        }
    }
}

kernel! {
    /// Solves `L L' x = b` in place of `b`, for eight vectors, one a lane.
    fn solve_eight<'k>(lanes: L, l: &'k [f64], b: &'k mut [Eight]) -> () {
        let d = b.len();
        for i in 0..d {
            // Four sums, so that no addition waits for the one before.
            let mut sums = [lanes.splat(0.0); 4];
            for (l, b) in l[i * d..i * d + i].chunks(4).zip(b[..i].chunks(4)) {
                for (k, (l, b)) in l.iter().zip(b).enumerate() {
                    sums[k] = lanes.fused(sums[k], lanes.splat(*l), lanes.load(b));
                }
            }
            let sum = lanes.add(lanes.add(sums[0], sums[1]), lanes.add(sums[2], sums[3]));
            let over = lanes.splat(1.0 / l[i * d + i]);
            b[i] = lanes.array(lanes.mul(lanes.sub(lanes.load(&b[i]), sum), over));
        }
        for i in (0..d).rev() {
            let value = lanes.mul(lanes.load(&b[i]), lanes.splat(1.0 / l[i * d + i]));
            b[i] = lanes.array(value);
            let (value, row) = (lanes.sub(lanes.splat(0.0), value), &l[i * d..i * d + i]);
            for (b, l) in b[..i].iter_mut().zip(row) {
                *b = lanes.array(lanes.fused(lanes.load(&*b), lanes.splat(*l), value));
            }
        }
    }
}
