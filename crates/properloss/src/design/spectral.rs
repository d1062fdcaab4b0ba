//! The largest eigenvalue of `E[x̃ x̃']`: the curvature bound behind a safe step size.

use super::{Design, statistics};
use crate::error::Result;

/// An estimate of `λ_max(E[x̃ x̃'])` from below and a bound from above.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpectralNorm {
    /// The Rayleigh quotient of the last power iterate: never above `λ_max` (up to rounding).
    pub estimate: f64,
    /// Never below `λ_max` (up to rounding).
    pub upper_bound: f64,
    /// Power iterations done, two passes over X each.
    pub iterations: usize,
}

impl Design<'_> {
    /// `λ_max(E[x̃ x̃'])`, the mean weighted by `weights`, by power iteration from a fixed start.
    ///
    /// Stops when the residual `|A v - λ v|` is below `tolerance · λ`, or after `max_iter`.
    /// Some eigenvalue lies within the residual of the Rayleigh quotient `λ`, all are at least 0,
    /// and they add up to the trace `E|x̃|²`; so every other one is at most `trace - λ + residual`
    /// and
    /// ```text
    /// λ_max <= min(trace, max(λ, trace - λ) + residual).
    /// ```
    pub fn spectral_norm(
        &self,
        weights: Option<&[f64]>,
        tolerance: f64,
        max_iter: usize,
    ) -> SpectralNorm {
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..self.rows()).map(weight).sum();
        let norms = self.row_norms();
        let trace = (0..self.rows()).map(|i| weight(i) * norms[i] * norms[i]).sum::<f64>() / total;
        let mut z = norms;
        let product = |v: &[f64], a_v: &mut [f64]| {
            self.scores(v, &mut z);
            for (i, z) in z.iter_mut().enumerate() {
                *z *= weight(i) / total;
            }
            self.adjoint(&z, a_v);
            Ok(())
        };
        let norm = SpectralNorm::of(self.dimension(), trace, tolerance, max_iter, product);
        norm.unwrap_or(SpectralNorm { estimate: 0.0, upper_bound: trace, iterations: 0 })
    }
}

impl SpectralNorm {
    /// The same of a matrix that is known by its products `A v` and its trace.
    pub(crate) fn of(
        dimension: usize,
        trace: f64,
        tolerance: f64,
        max_iter: usize,
        mut product: impl FnMut(&[f64], &mut [f64]) -> Result<()>,
    ) -> Result<Self> {
        let mut v = starting_vector(dimension);
        let mut a_v = vec![0.0; v.len()];
        let (mut estimate, mut residual, mut iterations) = (0.0, trace, 0);
        for _ in 0..max_iter {
            iterations += 1;
            product(&v, &mut a_v)?;
            estimate = dot(&v, &a_v);
            let squares = v.iter().zip(&a_v).map(|(v, a)| (a - estimate * v).powi(2)).sum::<f64>();
            residual = squares.sqrt();
            let norm = dot(&a_v, &a_v).sqrt();
            if norm == 0.0 || residual <= tolerance * estimate {
                break;
            }
            v.iter_mut().zip(&a_v).for_each(|(v, a)| *v = a / norm);
        }
        let upper_bound = trace.min(estimate.max(trace - estimate) + residual).max(estimate);
        Ok(Self { estimate, upper_bound, iterations })
    }
}

/// A unit vector with no special direction: signs and sizes from a fixed linear congruence.
fn starting_vector(dimension: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut v: Vec<f64> = (0..dimension)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect();
    let norm = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|v| *v /= norm);
    v
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let products: Vec<f64> = a.iter().zip(b).map(|(a, b)| a * b).collect();
    statistics::sum(&products)
}
