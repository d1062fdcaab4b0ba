//! Sums of logarithms, eight at a time: most of what a link costs.

use crate::design::{Kernel, Lanes, arch, log, run};

/// `Σ weight log x` over positive numbers; the least normal number where `x` is smaller.
pub(super) fn weighted_logs(weights: &[f64], x: &[f64]) -> f64 {
    run(arch(), WeightedLogs { weights, x })
}

struct WeightedLogs<'a> {
    weights: &'a [f64],
    x: &'a [f64],
}

impl Kernel for WeightedLogs<'_> {
    type Output = f64;

    #[inline(always)]
    fn call<L: Lanes>(self, lanes: L) -> f64 {
        let mut sum = lanes.splat(0.0);
        let (groups, rest) = self.x.as_chunks::<8>();
        let (weights, weights_rest) = self.weights.as_chunks::<8>();
        for (x, weights) in groups.iter().zip(weights) {
            sum = lanes.fused(sum, lanes.load(weights), log(lanes, x));
        }
        let (mut x, mut weights) = ([1.0; 8], [0.0; 8]);
        x[..rest.len()].copy_from_slice(rest);
        weights[..rest.len()].copy_from_slice(&weights_rest[..rest.len()]);
        sum = lanes.fused(sum, lanes.load(&weights), log(lanes, &x));
        lanes.array(sum).iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_library() {
        let x: Vec<f64> = (0..1003).map(|k| 10f64.powf(0.611 * f64::from(k) - 305.0)).collect();
        let near_one = (0..100).map(|k| 1.0 + 1e-9 * f64::from(k - 50));
        let x: Vec<f64> = x.into_iter().chain(near_one).collect();
        for x in &x {
            let (log, error) = (x.ln(), weighted_logs(&[1.0], &[*x]) - x.ln());
            // The series is good to 1e-15, the sum is rounded once.
            assert!(error.abs() < 2e-15 + f64::EPSILON * log.abs(), "{x}: {error}");
        }
        let weights: Vec<f64> = (0..x.len()).map(|k| (k % 7) as f64).collect();
        let direct: f64 = weights.iter().zip(&x).map(|(w, x)| w * x.ln()).sum();
        let size: f64 = weights.iter().zip(&x).map(|(w, x)| w * x.ln().abs()).sum();
        assert!((weighted_logs(&weights, &x) - direct).abs() < 1e-14 * size);
        assert_eq!(weighted_logs(&[], &[]), 0.0);
    }
}
