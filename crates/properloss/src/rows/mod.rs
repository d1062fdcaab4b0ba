//! What trainers ask of the data: a closed set of questions, answered by whoever holds the rows.
//!
//! ```text
//!            Question (plain data)                 Answer (sums that can be added)
//! Trainer ───────────────────────────▶  Rows  ───────────────────────────▶ Trainer
//!                                        │
//!                                  by_score(): the rows in the order of their scores
//! ```
//!
//! What a row needs between two questions (its score, its prediction) stays with the rows and can be
//! handed out as a [`RowState`], so that a run can be taken up again. [`Local`] answers for rows that
//! lie in memory, borrowed and never copied, [`InBlocks`] for blocks that lie elsewhere. Answers of several parts are merged in a fixed order
//! ([`Answer::merge`]), so that the bits do not depend on who holds which part.

mod blocks;
mod by_score;
mod counted;
mod fingerprint;
mod in_blocks;
mod local;
mod program;
mod question;
mod terms;

pub use crate::proper::{BlockAnswer, BlockQuestion};
pub use blocks::{Block, BlockFacts, Blocks, Stop, Take};
pub use by_score::ByScore;
pub use in_blocks::InBlocks;
pub use local::Local;
pub(crate) use program::{Program, Told};
pub use question::{Answer, LinkRef, Predictions, Question};

use std::borrow::Cow;
use std::sync::Arc;

use crate::design::{FittedScaling, Intercept, Scaling, SpectralNorm};
use crate::error::Result;
use crate::link::InverseLink;
use crate::loss::LossKind;
use crate::sample::Sample;
use crate::train::Model;

/// What is known of the rows before any question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The sum of the weights.
    pub total_weight: f64,
    /// The weighted mean of the labels.
    pub base_rate: f64,
}

/// One number a row under the names that [`Local`] gives them: what a checkpoint keeps of the rows.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RowState {
    /// The scores, or the predictions that have taken their place.
    pub numbers: Vec<f64>,
    /// Whether `numbers` are predictions.
    pub predicted: bool,
    /// `X g`.
    pub direction: Vec<f64>,
    /// Predictions that stand beside the scores.
    pub predictions: Vec<f64>,
    /// What the next iteration needs of this one.
    pub carried: Vec<f64>,
    /// The piece of the link that holds each score.
    pub pieces: Vec<u32>,
}

/// What a method needs of a row's previous iteration, for rows that keep no number of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carry {
    /// Nothing.
    Nothing,
    /// Its score.
    Scores,
    /// Its prediction.
    Predictions,
}

/// Rows that answer.
pub trait Rows: Send + Sync {
    /// What is known of them.
    fn shape(&self) -> Shape;

    /// Number of stored values: what a pass costs.
    fn stored(&self) -> usize;

    /// The answer to a question; [`Error::Interrupted`](crate::Error::Interrupted) where the run was
    /// asked to end.
    fn ask(&mut self, question: &Question<'_>) -> Result<Answer>;

    /// Step 2: the rows in the order of their scores, ties merged.
    fn by_score(&mut self) -> Result<ByScore<'_>>;

    /// The same order once more, as long as the scores have not moved.
    fn ordered(&mut self) -> Result<ByScore<'_>>;

    /// What [`by_score`](Self::by_score) has to find again where rows keep nothing.
    fn carry(&mut self, _carry: Carry) {}

    /// The link whose values at the scores are the predictions, for rows that keep none.
    fn take_link(&mut self, _link: &dyn InverseLink) -> Result<()> {
        Ok(())
    }

    /// Rounds of questions to blocks that were made.
    fn rounds(&self) -> usize {
        0
    }

    /// The scaling that was put over the rows, and whether there is an intercept.
    fn scaling(&self) -> (&FittedScaling, bool);

    /// Rows that lie in memory, for what cannot be asked in parts.
    fn sample(&self) -> Option<Sample<'_>> {
        None
    }

    /// Rows that answer block by block, for methods that can ask so.
    fn blocks(&self) -> Option<&dyn Blocks> {
        None
    }

    /// The fold of every row, where they were given with the rows.
    fn folds(&self) -> Option<&[u32]> {
        None
    }

    /// Whether the run was asked to end, for work that asks no questions for long.
    fn interrupted(&self) -> bool {
        false
    }

    /// What the rows keep between questions.
    fn state(&self) -> RowState;

    /// Takes up a state again.
    fn restore(&mut self, state: RowState) -> Result<()>;

    /// A number that other data would hardly have: what a checkpoint is checked by.
    fn fingerprint(&self) -> u64;
}

/// The questions by name.
impl dyn Rows + '_ {
    /// Fits a scaling and puts it over the rows.
    pub fn scale(&mut self, scaling: Scaling, intercept: Intercept) -> Result<()> {
        let intercept = intercept == Intercept::Learned;
        self.ask(&Question::Scale { scaling, intercept })?.done()
    }

    /// Length of a weight vector: the columns, and one more with an intercept.
    pub fn dimension(&self) -> usize {
        self.shape().columns + usize::from(self.scaling().1)
    }

    /// `λ_max(E[x̃ x̃'])` to a tolerance, in at most so many rounds.
    pub fn spectral_norm(&mut self, tolerance: f64, rounds: usize) -> Result<SpectralNorm> {
        self.ask(&Question::SpectralNorm { tolerance, rounds })?.spectral_norm()
    }

    /// `max |x̃|` over the rows of positive weight.
    pub fn max_norm(&mut self) -> Result<f64> {
        self.ask(&Question::MaxNorm)?.number()
    }

    /// `z ← X̃ w`.
    pub fn score(&mut self, w: &[f64]) -> Result<()> {
        self.ask(&Question::Score { w: Cow::Borrowed(w) })?.done()
    }

    /// `q ← X̃ g`.
    pub fn direct(&mut self, g: &[f64]) -> Result<()> {
        self.ask(&Question::Direct { g: Cow::Borrowed(g) })?.done()
    }

    /// `z ← z + η q`.
    pub fn advance(&mut self, eta: f64) -> Result<()> {
        self.ask(&Question::Advance { eta })?.done()
    }

    /// The scores are kept as what the next iteration needs of this one.
    pub fn keep_scores(&mut self) -> Result<()> {
        self.ask(&Question::Keep)?.done()
    }

    /// `u(z)` takes the place of the scores, as predictions.
    pub fn predict(&mut self, link: &dyn InverseLink) -> Result<()> {
        self.ask(&Question::Predict { link: LinkRef::from(link) })?.done()
    }

    /// `E[D_U(z + η q ‖ z)]` for one or two `η`, the larger first.
    pub fn divergences<const T: usize>(
        &mut self,
        link: &dyn InverseLink,
        etas: [f64; T],
    ) -> Result<[f64; T]> {
        let etas = Cow::Borrowed(&etas[..]);
        self.ask(&Question::Divergences { link: LinkRef::from(link), etas })?.numbers()
    }

    /// `E[(y - ŷ) x̃] = μ_y - μ_t`.
    pub fn gap(&mut self, predictions: Predictions<'_>) -> Result<Vec<f64>> {
        self.ask(&Question::Gap { predictions })?.vector()
    }

    /// `E[ℓ(y, z + η q)]`.
    pub fn loss(&mut self, link: &dyn InverseLink, eta: f64) -> Result<f64> {
        self.ask(&Question::Loss { link: LinkRef::from(link), eta })?.number()
    }

    /// The least and the largest of `z + η q`.
    pub fn reach(&mut self, eta: f64) -> Result<(f64, f64)> {
        self.ask(&Question::Reach { eta })?.range()
    }

    /// `E[u(z + η q)]`.
    pub fn mean_prediction(&mut self, link: &dyn InverseLink, eta: f64) -> Result<f64> {
        self.ask(&Question::MeanPrediction { link: LinkRef::from(link), eta })?.number()
    }

    /// The sums of [`Question::Terms`]: mean loss, mean curvature, gradient.
    pub fn terms(
        &mut self,
        kind: LossKind,
        link: &dyn InverseLink,
    ) -> Result<(f64, f64, Vec<f64>)> {
        let mut sums = self.ask(&Question::Terms { kind, link: link.into() })?.vector()?;
        let gradient = sums.split_off(2);
        Ok((sums[0], sums[1], gradient))
    }

    /// `Σ h x̃ (x̃·v)`.
    pub fn gram_product(&mut self, v: &[f64]) -> Result<Vec<f64>> {
        self.ask(&Question::GramProduct { v: Cow::Borrowed(v) })?.vector()
    }

    /// `q ← q + t s`.
    pub fn extend(&mut self, length: f64) -> Result<()> {
        self.ask(&Question::Extend { length })?.done()
    }

    /// Mean loss at `z + t q` and its derivative by `t`.
    pub fn along(&mut self, kind: LossKind, link: &dyn InverseLink, t: f64) -> Result<[f64; 2]> {
        self.ask(&Question::Along { kind, link: link.into(), t })?.numbers()
    }

    /// The classifier of these weights: the scaling is folded into the coefficients.
    pub fn model(&self, w: &[f64], link: Arc<dyn InverseLink>) -> Result<Model> {
        let (scaling, _) = self.scaling();
        let (coefficients, intercept) = scaling.raw_coefficients(w, self.shape().columns);
        let model = Model::new(coefficients, intercept, link)?;
        Ok(if matches!(scaling, FittedScaling::UnitRows) { model.on_unit_rows() } else { model })
    }
}
