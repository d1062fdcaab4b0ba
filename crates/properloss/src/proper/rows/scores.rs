//! Sums over held-out scores.

use super::{FoldRows, LANES};
use crate::design::{Kernel, Lanes, arch, exp, log_one_plus, run};
use crate::proper::curve::Curve;
use rayon::prelude::*;

/// Rows per part.
const PART: usize = 1 << 14;
/// Rows that the skewness is taken from, at most about.
const SKEW_ROWS: usize = 1 << 16;

impl FoldRows<'_> {
    /// The summed log-loss of one score a row.
    pub(in crate::proper) fn held_out_loss(&self, z: &[f64]) -> f64 {
        let parts: Vec<f64> = z
            .par_chunks(PART)
            .enumerate()
            .map(|(number, z)| {
                let at = number * PART..number * PART + z.len();
                run(
                    arch(),
                    Loss { z, labels: &self.labels[at.clone()], weights: &self.weights[at] },
                )
            })
            .collect();
        parts.iter().sum()
    }

    /// `t3² / (8 h2³)` with `t3 = Σ h' z³`, `h2 = Σ h z²` about the mean of `z` under `h`: how far a
    /// quadratic model of the loss is off along the scores.
    pub(in crate::proper) fn skew(&self, z: &[f64]) -> f64 {
        let step = z.len().div_ceil(SKEW_ROWS);
        let chosen = || (0..z.len()).step_by(step).filter(|&i| self.weights[i] > 0.0);
        let h = |i: usize| self.weights[i] * Curve::Logistic.curvature(z[i]);
        let (mut total, mut mean) = (0.0, 0.0);
        for i in chosen() {
            total += h(i);
            mean += h(i) * z[i];
        }
        mean /= total;
        let (mut second, mut third) = (0.0, 0.0);
        for i in chosen() {
            let (c, h) = (z[i] - mean, h(i));
            second += h * c * c;
            // h' = h (1 - 2 sigma)
            third -= h * (0.5 * z[i]).tanh() * c * c * c;
        }
        let share = step as f64;
        // A little more than nothing: a symmetric sample is no proof.
        (third * third + second * second / total).max(f64::MIN_POSITIVE)
            / (8.0 * second * second * second * share)
    }
}

struct Loss<'a> {
    z: &'a [f64],
    labels: &'a [u8],
    weights: &'a [f64],
}

impl Kernel for Loss<'_> {
    type Output = f64;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> f64 {
        let zero = lanes.splat(0.0);
        let mut sum = zero;
        let groups = self.z.chunks(LANES).zip(self.labels.chunks(LANES));
        for ((z, labels), weights) in groups.zip(self.weights.chunks(LANES)) {
            let (mut t, mut w) = ([0.0; LANES], [0.0; LANES]);
            for k in 0..z.len() {
                t[k] = z[k] * (1.0 - 2.0 * f64::from(labels[k]));
                w[k] = weights[k];
            }
            let (t, w) = (lanes.load(&t), lanes.load(&w));
            let near = lanes.max(lanes.min(t, lanes.sub(zero, t)), lanes.splat(-708.0));
            let loss = lanes.add(lanes.max(t, zero), log_one_plus(lanes, exp(lanes, near)));
            sum = lanes.fused(sum, w, loss);
        }
        lanes.array(sum).iter().sum()
    }
}
