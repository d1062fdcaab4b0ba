//! Which questions rows can answer, in the state that the questions before have left them in.

use super::Local;
use crate::error::{Error, Result, same_length};
use crate::rows::Question::{
    self, Advance, Along, Direct, Divergences, Extend, Gap, Gram, GramDiagonal, GramProduct, Keep,
    Loss, MaxNorm, MeanPrediction, Predict, Reach, Scale, Score, SecondMoments, SpectralNorm,
    Terms,
};

/// A question ends.
const MOST_ROUNDS: usize = 1 << 20;

impl Local<'_> {
    /// Refuses a vector of another length, and a question before those that it builds on.
    pub(super) fn ready(&self, question: &Question<'_>) -> Result<()> {
        if let Score { w: v } | Direct { g: v } | GramProduct { v } = question {
            let columns = ("columns", self.design.dimension());
            same_length(("the vector of a question", v.len()), columns)?;
        }
        if let SpectralNorm { rounds, .. } = question
            && *rounds > MOST_ROUNDS
        {
            let (what, value) = ("rounds", *rounds as f64);
            return Err(Error::OutOfDomain { what, value, expected: "at most 2^20" });
        }
        let z = (self.numbers.len(), "a question for scores first");
        let q = (self.direction.len(), "a question for a direction first");
        let h = (self.curvature.len(), "a question for terms first");
        let product = (self.product.len(), "a question for a product first");
        let placed = (self.placed.row_piece.len(), "rows that were placed on a link");
        let needed = match question {
            Scale { .. }
            | MaxNorm
            | SpectralNorm { .. }
            | Score { .. }
            | Direct { .. }
            | SecondMoments => vec![],
            // Whether predictions were kept is seen where they are used.
            Predict { .. } | Keep | Gap { .. } | Terms { .. } => vec![z],
            Loss { eta, .. } | Reach { eta } if *eta == 0.0 => vec![z],
            Loss { .. } | Reach { .. } | Advance { .. } | Along { .. } | MeanPrediction { .. } => {
                vec![z, q]
            }
            Gram | GramDiagonal | GramProduct { .. } => vec![h],
            Extend { .. } => vec![q, product],
            Divergences { .. } => vec![z, q, placed],
        };
        match needed.into_iter().find(|(length, _)| *length != self.sample.rows()) {
            None => Ok(()),
            Some((_, expected)) => Err(Error::WrongAnswer { expected }),
        }
    }
}
