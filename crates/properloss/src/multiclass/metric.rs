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

use super::rows::Rows;
use crate::design::Design;
use crate::linalg::{cholesky, solve};

/// With more columns than this, or than rows, only the diagonal is kept: a factor is O(d^3).
const MAX_DENSE: usize = 1024;

/// `G`, or its diagonal.
#[derive(Debug)]
pub(super) struct Curvature {
    g: Vec<f64>,
    dense: bool,
}

/// Factors for the fold models (which share one) and for the model of all rows.
#[derive(Debug)]
pub(super) struct Metric {
    factors: [Vec<f64>; 2],
    dense: bool,
    folds: u32,
    d: usize,
}

impl Curvature {
    /// At the weights `w` of the model of all rows.
    pub(super) fn at(rows: &Rows<'_>, design: &Design<'_>, w: &[f64]) -> Self {
        let d = rows.dimension();
        let h = rows.curvatures(w);
        let dense = is_dense(rows);
        let mut g = vec![0.0; if dense { d * d } else { d }];
        if dense {
            design.weighted_gram(&h, &mut g);
        } else {
            design.weighted_squares(&h, &mut g);
        }
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

    /// Adds the penalties (of a fold model, of the model of all rows) and factorises.
    pub(super) fn metric(&self, rows: &Rows<'_>, penalties: [&[f64]; 2]) -> Metric {
        let d = rows.dimension();
        let folds = rows.folds.count;
        let share = [1.0 - 1.0 / folds as f64, 1.0];
        let at = |j: usize| if self.dense { j * d + j } else { j };
        let trace: f64 = (0..d).map(|j| self.g[at(j)]).sum();
        let factors = [0, 1].map(|which| {
            let mut h: Vec<f64> = self.g.iter().map(|g| share[which] * g).collect();
            for j in 0..d {
                // The intercept has no penalty: a little keeps the factorisation going where all
                // probabilities are 0 or 1.
                h[at(j)] += penalties[which][j] + 1e-10 * (trace / d as f64).max(1e-10);
            }
            if self.dense {
                cholesky(&mut h, d);
            }
            h
        });
        Metric { factors, dense: self.dense, folds: folds as u32, d }
    }
}

fn is_dense(rows: &Rows<'_>) -> bool {
    rows.dimension() <= MAX_DENSE.min(rows.labels.len())
}

impl Metric {
    /// `M^-1 x` for every class of a model, in place.
    pub(super) fn solve(&self, model: u32, x: &mut [f64]) {
        let factor = &self.factors[usize::from(model == self.folds)];
        if self.dense {
            solve(factor, self.d, x);
            return;
        }
        for x in x.chunks_exact_mut(self.d) {
            x.iter_mut().zip(factor).for_each(|(x, h)| *x /= h);
        }
    }
}
