//! Rows in the order of their scores: what Steps 2 to 4 work on.

use super::local::{Placed, mean_loss};
use crate::certify::{Masses, Pieces, Placement};
use crate::chain::ScoreOrder;
use crate::error::Result;
use crate::link::{InverseLink, PiecewiseLink};
use crate::sample::Sample;

/// The groups of equal scores, increasing, with what Step 3 needs of them.
pub struct ByScore<'r> {
    pub(crate) order: &'r ScoreOrder,
    pub(crate) sample: Sample<'r>,
    /// The weight of each group; `None` if every group is one row of weight 1.
    pub(crate) weights: Option<&'r [f64]>,
    /// One number a row. The order has taken the scores over: their place is room for targets, and
    /// then for predictions.
    pub(crate) numbers: &'r mut Vec<f64>,
    pub(super) predicted: &'r mut bool,
    /// What the next iteration needs of this one, by row.
    pub(crate) carried: &'r mut Vec<f64>,
    pub(super) placed: &'r mut Placed,
}

impl ByScore<'_> {
    /// The distinct scores, increasing.
    pub fn scores(&self) -> &[f64] {
        self.order.scores()
    }

    /// The least and the largest score.
    pub fn range(&self) -> (f64, f64) {
        let z = self.order.scores();
        (z[0], z[z.len() - 1])
    }

    /// `E[ℓ(y, z)]` under a link, as long as the rows have their scores.
    pub fn mean_loss(&self, link: &dyn InverseLink) -> f64 {
        mean_loss(link, &self.sample, |i| self.numbers[i])
    }

    /// The predictions of the groups, given to their rows in the place of the scores.
    pub fn predict(&mut self, values: &[f64]) -> Result<()> {
        *self.predicted = true;
        self.order.scatter(values, self.numbers)
    }

    /// The weights of negatives and positives in each group, unnormalised.
    pub(crate) fn class_weights(&self, negative: &mut Vec<f64>, positive: &mut Vec<f64>) {
        let (order, labels, sample) = (self.order, self.sample.labels(), &self.sample);
        negative.clear();
        positive.clear();
        let Some(weights) = self.weights else {
            positive.extend(order.order().iter().map(|&row| f64::from(labels[row as usize])));
            negative.extend(positive.iter().map(|positive| 1.0 - positive));
            return;
        };
        for (g, weight) in weights.iter().enumerate() {
            let rows = order.rows(g).iter().map(|&row| row as usize);
            let of_class = rows.filter(|&i| labels[i] == 1).map(|i| sample.weight(i));
            positive.push(of_class.sum::<f64>());
            negative.push((weight - positive[g]).max(0.0));
        }
    }

    /// The masses between the scores (Lemma 1).
    pub(crate) fn fill_masses(&self, negative: &[f64], positive: &[f64], masses: &mut Masses) {
        masses.fill(negative, positive, self.sample.total_weight());
    }

    /// Every row learns on which piece of the link it stands, and its prediction there. The scores
    /// stay.
    pub(crate) fn place(&mut self, link: &PiecewiseLink, placement: &Placement) {
        let rows = self.sample.rows();
        let Placed { pieces, row_piece, row_value } = &mut *self.placed;
        row_piece.resize(rows, 0);
        row_value.resize(rows, 0.0);
        Pieces::fill(pieces, link);
        for (g, (&piece, &value)) in placement.piece.iter().zip(&placement.value).enumerate() {
            for &row in self.order.rows(g) {
                row_piece[row as usize] = piece;
                row_value[row as usize] = value;
            }
        }
    }
}
