//! The metrics of more rows than memory holds: sums, and scores counted in cells.

use super::{LOG_LOSS_CLIP, Summary};
use crate::error::Result;

/// Cells of a power of two: a score is known to one part in 1,024.
const CELLS: usize = 1 << 10;
/// Scores below `2^LOWEST` in size share one cell on each side of 0, those above `2^HIGHEST` another.
const LOWEST: i64 = -10;
const HIGHEST: i64 = 20;
/// Cells of one sign.
const SIDE: usize = (HIGHEST - LOWEST) as usize * CELLS + 2;

/// Rows that were measured one after the other. Log-loss, Brier score and accuracy are sums over all of
/// them, exact but for rounding. AUC, calibration error and the decomposition of the Brier score see
/// scores in cells, each with its mean score and probability.
#[derive(Debug, Clone)]
pub struct Measured {
    cells: Vec<Cell>,
    weight: f64,
    log_loss: f64,
    brier: f64,
    right: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Of the classes.
    weight: [f64; 2],
    /// Sums over its rows, with their weights.
    score: f64,
    probability: f64,
}

impl Default for Measured {
    fn default() -> Self {
        let cells = vec![Cell::default(); 2 * SIDE];
        Self { cells, weight: 0.0, log_loss: 0.0, brier: 0.0, right: 0.0 }
    }
}

/// The number of a score's cell; larger scores have larger numbers.
fn cell(score: f64) -> usize {
    let size = score.abs();
    let within = if size < (LOWEST as f64).exp2() {
        0
    } else if size >= (HIGHEST as f64).exp2() {
        SIDE - 1
    } else {
        // The exponent, and the first ten bits of the fraction.
        let leading = (size.to_bits() >> 42) as i64;
        1 + (leading - ((1023 + LOWEST) << 10)) as usize
    };
    if score < 0.0 { SIDE - 1 - within } else { SIDE + within }
}

impl Measured {
    /// Some more rows.
    pub fn add(
        &mut self,
        scores: &[f64],
        probabilities: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
    ) {
        for (i, (&score, &p)) in scores.iter().zip(probabilities).enumerate() {
            let (positive, weight) = (labels[i] == 1, weights.map_or(1.0, |weights| weights[i]));
            let clipped = p.clamp(LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP);
            self.weight += weight;
            self.log_loss -= weight * if positive { clipped.ln() } else { (1.0 - clipped).ln() };
            self.brier += weight * (p - f64::from(u8::from(positive))).powi(2);
            self.right += weight * f64::from(u8::from((p > 0.5) == positive));
            let cell = &mut self.cells[cell(score)];
            cell.weight[usize::from(positive)] += weight;
            cell.score += weight * score;
            cell.probability += weight * p;
        }
    }

    /// The metrics of all rows so far; both classes must occur.
    pub fn summary(&self) -> Result<Summary> {
        let (mut scores, mut probabilities) = (Vec::new(), Vec::new());
        let (mut labels, mut weights) = (Vec::new(), Vec::new());
        for cell in &self.cells {
            let total = cell.weight[0] + cell.weight[1];
            for (label, &weight) in (0..).zip(&cell.weight).filter(|(_, weight)| **weight > 0.0) {
                scores.push(cell.score / total);
                probabilities.push((cell.probability / total).clamp(0.0, 1.0));
                labels.push(label);
                weights.push(weight);
            }
        }
        let mut summary = Summary::new(&scores, &probabilities, &labels, Some(&weights))?;
        summary.log_loss = self.log_loss / self.weight;
        summary.brier.brier = self.brier / self.weight;
        summary.accuracy = self.right / self.weight;
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congruence::Congruence;

    #[test]
    fn cells_are_in_the_order_of_the_scores() {
        let mut scores = vec![0.0];
        for k in -700..700 {
            let size = (f64::from(k) / 20.0).exp2();
            scores.extend([size, -size, size * 1.0009]);
        }
        scores.sort_by(f64::total_cmp);
        let cells: Vec<usize> = scores.iter().map(|&score| cell(score)).collect();
        assert!(cells.is_sorted());
        assert!(cells.iter().all(|&cell| cell < 2 * SIDE));
        assert_eq!((cell(-f64::MAX), cell(f64::MAX)), (0, 2 * SIDE - 1));
        assert_ne!(cell(1.0), cell(1.002));
    }

    #[test]
    fn metrics_of_counted_scores_are_those_of_the_rows() {
        let mut random = Congruence(1);
        let mut uniform = || random.uniform();
        let scores: Vec<f64> = (0..20_000).map(|_| 8.0 * uniform() - 5.0).collect();
        let p: Vec<f64> = scores.iter().map(|z| 1.0 / (1.0 + (-0.8 * z).exp())).collect();
        let labels: Vec<u8> = p.iter().map(|p| u8::from(uniform() < p * p)).collect();
        let weights: Vec<f64> = p.iter().map(|_| (3.0 * uniform()).floor()).collect();
        for weights in [None, Some(&weights[..])] {
            let mut measured = Measured::default();
            for (k, scores) in scores.chunks(7000).enumerate() {
                let rows = 7000 * k..7000 * k + scores.len();
                let weights = weights.map(|weights| &weights[rows.clone()]);
                measured.add(scores, &p[rows.clone()], &labels[rows], weights);
            }
            let counted = measured.summary().unwrap();
            let exact = Summary::new(&scores, &p, &labels, weights).unwrap();
            assert!((counted.log_loss - exact.log_loss).abs() < 1e-12);
            assert!((counted.brier.brier - exact.brier.brier).abs() < 1e-12);
            assert!((counted.accuracy - exact.accuracy).abs() < 1e-12);
            // A cell is at most 1/512 wide at the largest scores: rows within it count as ties.
            assert!((counted.auc - exact.auc).abs() < 1e-5, "{} {}", counted.auc, exact.auc);
            assert!((counted.ece - exact.ece).abs() < 1e-3, "{} {}", counted.ece, exact.ece);
            let (a, b) = (counted.brier, exact.brier);
            assert!((a.miscalibration - b.miscalibration).abs() < 1e-4);
            assert!((a.discrimination - b.discrimination).abs() < 1e-4);
        }
    }
}
