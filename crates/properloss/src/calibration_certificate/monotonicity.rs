//! Evidence against the assumption that the true probabilities do not decrease.
//!
//! Half of the rows (every second one in the order of the scores) propose bin frequencies `q`
//! that need not increase; the other half judges: `exp(Σ log-loss(PAV) - Σ log-loss(q))`. PAV is the
//! best nondecreasing fit to the judging half, so if the truth `η` does not decrease this is at most
//! `Π q(y)/η(y)`, which has a mean of at most 1 (with weights up to 1 as exponents, too, by Jensen).
//! Means of such e-values, over both halves, several numbers of bins and the folds, are e-values.

use rayon::prelude::*;

use super::excess::pool;
use super::rows::{Every, Fold};

/// Numbers of bins that are tried.
const BINS: [usize; 5] = [3, 6, 12, 24, 48];

/// The mean e-value over the folds; a fold's is divided by `exp` of its price.
pub(super) fn evidence(folds: &[Fold], price: impl Fn(usize) -> f64) -> f64 {
    let values: Vec<f64> = folds.par_iter().map(of_fold).collect();
    let sum: f64 = values.iter().enumerate().map(|(k, value)| value * (-price(k)).exp()).sum();
    (sum / folds.len() as f64).min(f64::MAX)
}

fn of_fold(fold: &Fold) -> f64 {
    if fold.rows() < 2 {
        return 1.0;
    }
    let (even, odd) = (fold.rows.every(0, 2), fold.rows.every(1, 2));
    let halves = [(even, odd), (odd, even)];
    let parts: Vec<[f64; BINS.len()]> = halves
        .into_par_iter()
        .map(|(proposing, judging)| {
            let best = log_likelihood_of_pools(judging);
            BINS.map(|bins| (proposed(proposing, judging, bins) - best).exp())
        })
        .collect();
    parts.as_flattened().iter().sum::<f64>() / (2 * BINS.len()) as f64
}

fn log_likelihood_of_pools(rows: Every<'_>) -> f64 {
    let entropy = |part: f64, whole: f64| if part > 0.0 { part * (part / whole).ln() } else { 0.0 };
    pool(rows, |_, row| row.positive)
        .iter()
        .map(|p| entropy(p.positive, p.weight) + entropy(p.weight - p.positive, p.weight))
        .sum()
}

/// The log-likelihood of the judging rows under the bin frequencies of the proposing ones.
fn proposed(proposing: Every<'_>, judging: Every<'_>, bins: usize) -> f64 {
    let size = proposing.len().div_ceil(bins);
    let part = |start: usize| {
        let end = proposing.len().min(start + size);
        let rows = || (start..end).map(|i| proposing.row(i));
        let weight: f64 = rows().map(|row| row.weight).sum();
        let positive: f64 = rows().filter(|row| row.positive).map(|row| row.weight).sum();
        (proposing.row(end - 1).score, (positive + 0.5) / (weight + 1.0))
    };
    let parts: Vec<(f64, f64)> = (0..proposing.len()).step_by(size).map(part).collect();
    // Weight of the positives and the negatives of every bin.
    let mut judged = vec![[0.0; 2]; parts.len()];
    let mut bin = 0;
    for row in judging.rows() {
        while bin + 1 < parts.len() && row.score > parts[bin].0 {
            bin += 1;
        }
        judged[bin][usize::from(!row.positive)] += row.weight;
    }
    let log_likelihood = |([positive, negative], (_, q)): (&[f64; 2], &(f64, f64))| {
        positive * q.ln() + negative * (1.0 - q).ln()
    };
    judged.iter().zip(&parts).map(log_likelihood).sum()
}
