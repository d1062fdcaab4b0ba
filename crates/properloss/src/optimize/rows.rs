//! Row losses, and sums of them over all rows.

use rayon::prelude::*;

use super::{Problem, RowLoss, RowTerm};
use crate::link::InverseLink;

/// `loss(y, z)` of a canonical loss: gradient `u(z) - y`, curvature `u'(z)`. Where the link has no
/// finite one it is `U(z) - y z`, the same up to a constant.
#[derive(Debug, Clone, Copy)]
pub struct CanonicalRows<'a> {
    /// The inverse link `u`.
    pub link: &'a dyn InverseLink,
    /// The labels, 0 or 1.
    pub labels: &'a [u8],
}

impl RowLoss for CanonicalRows<'_> {
    fn term(&self, row: usize, z: f64) -> RowTerm {
        let (value, slope) = if self.labels[row] == 1 {
            let value = self.link.upper_potential(z);
            let value = if value.is_finite() { value } else { self.link.potential(z) - z };
            (value, -self.link.one_minus_u(z))
        } else {
            (self.link.potential(z), self.link.u(z))
        };
        RowTerm { value, slope, curvature: self.link.derivative(z) }
    }
}

/// Rows per partial sum; partial sums are added in order, so threads do not matter.
const CHUNK: usize = 1024;

/// The mean loss at the scores `z`, with `r_i = π_i φ_i'` and `h_i = π_i φ_i''` left behind; `π` are
/// the weights divided by their sum.
pub(super) fn evaluate(
    problem: &Problem<'_>,
    total: f64,
    z: &[f64],
    r: &mut [f64],
    h: &mut [f64],
) -> f64 {
    let chunks = z.par_chunks(CHUNK).zip(r.par_chunks_mut(CHUNK)).zip(h.par_chunks_mut(CHUNK));
    let sums: Vec<f64> = chunks
        .enumerate()
        .map(|(number, ((z, r), h))| {
            let mut sum = 0.0;
            for k in 0..z.len() {
                let row = number * CHUNK + k;
                let weight = problem.weights.map_or(1.0, |weights| weights[row]) / total;
                (r[k], h[k]) = (0.0, 0.0);
                if weight > 0.0 {
                    let term = problem.loss.term(row, z[k]);
                    sum += weight * term.value;
                    r[k] = weight * term.slope;
                    h[k] = weight * term.curvature;
                }
            }
            sum
        })
        .collect();
    sums.iter().sum()
}

/// The mean loss at the scores `z + t q` and its derivative by `t`.
pub(super) fn evaluate_along(
    problem: &Problem<'_>,
    total: f64,
    z: &[f64],
    q: &[f64],
    t: f64,
) -> (f64, f64) {
    let sums: Vec<(f64, f64)> = z
        .par_chunks(CHUNK)
        .zip(q.par_chunks(CHUNK))
        .enumerate()
        .map(|(number, (z, q))| {
            let (mut value, mut slope) = (0.0, 0.0);
            for k in 0..z.len() {
                let row = number * CHUNK + k;
                let weight = problem.weights.map_or(1.0, |weights| weights[row]) / total;
                if weight > 0.0 {
                    let term = problem.loss.term(row, z[k] + t * q[k]);
                    value += weight * term.value;
                    slope += weight * term.slope * q[k];
                }
            }
            (value, slope)
        })
        .collect();
    sums.iter().fold((0.0, 0.0), |(value, slope), s| (value + s.0, slope + s.1))
}
