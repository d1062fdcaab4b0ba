//! STACK: the path once more, on its own held-out scores.
//!
//! ```text
//! z = W x the held-out scores of the path;   A, b = the averaged path of softmax regression on z
//! W' = A W:  all scores are still linear in x;  LINK on them;  share sigmoid(S_new - S_old - 3), blended in
//! ```
//!
//! One strength shrinks all contrasts of the classes alike. Held-out scores show which of them deserve
//! more: `K (K + 1)` numbers, and a matrix of `K` columns to find them on.

use super::path::{self, Path};
use super::rows::Rows;
use super::sample::Assignment;
use super::scales::Scales;
use crate::design::{Design, FittedScaling, Intercept, Scaling};
use crate::error::Result;
use crate::sample::{Matrix, Sample};

/// What the held-out scores of a path make of its weights.
pub(super) struct Stacked {
    /// The weights of the model of all rows.
    pub w: Vec<f64>,
    /// The held-out scores.
    pub held_out: Vec<f64>,
    /// Work, in passes over rows of `K` columns.
    pub passes: f64,
}

/// Fits `A`. Rows that are never scored do not count; without a scored row of every class there is none.
pub(super) fn stack(
    path: &Path,
    labels: &[u32],
    classes: usize,
    folds: &Assignment,
    grid: &[f64],
) -> Result<Option<Stacked>> {
    let mut seen = vec![0.0; classes];
    labels.iter().zip(&folds.scored).for_each(|(&y, w)| seen[y as usize] += w);
    if seen.contains(&0.0) {
        return Ok(None);
    }
    let matrix = Matrix::dense_f64(&path.held_out, labels.len(), classes)?;
    let rest: Vec<u8> = labels.iter().map(|&y| u8::from(y > 0)).collect();
    let sample = Sample::new(matrix, &rest, Some(&folds.scored))?;
    let design = Design::new(&sample, Scaling::Standardise, Intercept::Learned);
    let FittedScaling::Standardise { mean, factor } = design.scaling() else { return Ok(None) };
    let rows = Rows::new(matrix, (mean, factor), labels, &folds.scored, folds, classes);
    let second = path::fit(&rows, &design, &Scales::new(&rows), grid, &[1.0]);
    let w = compose(&second.w[folds.count], &path.w[folds.count], mean, factor);
    Ok(Some(Stacked { w, held_out: second.held_out, passes: second.passes }))
}

/// `A W`: `z'_k = Σ_j a_kj F_j (z_j - c_j) + a_k0` with `z = W x`, where the last of a class's weights is its
/// intercept.
fn compose(a: &[f64], w: &[f64], mean: &[f64], factor: &[f64]) -> Vec<f64> {
    let classes = mean.len();
    let d = w.len() / classes;
    let mut result = vec![0.0; w.len()];
    for (a, result) in a.chunks_exact(classes + 1).zip(result.chunks_exact_mut(d)) {
        result[d - 1] = a[classes];
        for (j, w) in w.chunks_exact(d).enumerate() {
            let slope = a[j] * factor[j];
            result.iter_mut().zip(w).for_each(|(result, w)| *result += slope * w);
            result[d - 1] -= slope * mean[j];
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_weights_give_the_composed_scores() {
        // Two classes of three columns with an intercept; A on two standardised scores.
        let w = [1.0, -2.0, 0.5, 0.3, 0.2, 0.1, -1.0, -0.4];
        let a = [2.0, -1.0, 0.7, 0.5, 3.0, -0.2];
        let (mean, factor) = ([0.3, -0.1], [2.0, 0.5]);
        let x = [0.7, -1.1, 0.4, 1.0];
        let dot = |w: &[f64]| -> f64 { w.iter().zip(x).map(|(w, x)| w * x).sum() };
        let z: Vec<f64> = w.chunks(4).map(dot).collect();
        let stacked = compose(&a, &w, &mean, &factor);
        for (k, stacked) in stacked.chunks(4).enumerate() {
            let u: Vec<f64> = (0..2).map(|j| (z[j] - mean[j]) * factor[j]).collect();
            let expected = a[3 * k] * u[0] + a[3 * k + 1] * u[1] + a[3 * k + 2];
            assert!((dot(stacked) - expected).abs() < 1e-14);
        }
    }
}
