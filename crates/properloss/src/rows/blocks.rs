//! Rows in blocks that answer one after the other: on disk, or on other machines.
//!
//! ```text
//!          BlockQuestion               each block                    in the order of the blocks
//! Trainer ───────────────▶  Blocks  ───────────────▶  BlockAnswer  ─────────────────────────────▶ sum
//! ```
//!
//! What a block answers depends on the question and on its rows alone, so a block may be read again,
//! moved, or asked twice. Answers are added in the order of the blocks: *the edges of the blocks fix
//! the bits*, and who holds them, or when they answer, does not. One block gives the bits of the same
//! rows in memory.

use super::fingerprint;
use crate::error::{Result, binary_labels, row_weights, same_length};
use crate::proper::{BlockAnswer, BlockQuestion};
use crate::sample::Matrix;

/// Some of the rows: there may be none, and all of one class.
///
/// *Invariant*: as many labels (0 or 1) and weights (finite, not negative) as rows; finite values.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub(crate) matrix: Matrix<'a>,
    pub(crate) labels: &'a [u8],
    pub(crate) weights: Option<&'a [f64]>,
}

impl<'a> Block<'a> {
    /// Checks everything, in one pass over the values.
    pub fn new(matrix: Matrix<'a>, labels: &'a [u8], weights: Option<&'a [f64]>) -> Result<Self> {
        let block = Self::known(matrix, labels, weights)?;
        binary_labels(labels)?;
        row_weights(weights.unwrap_or(&[]))?;
        matrix.check_finite()?;
        Ok(block)
    }

    /// Rows that were checked before, when they were first seen: lengths alone are looked at.
    pub fn known(matrix: Matrix<'a>, labels: &'a [u8], weights: Option<&'a [f64]>) -> Result<Self> {
        let lengths =
            [("labels", labels.len()), ("weights", weights.map_or(labels.len(), <[_]>::len))];
        for (what, length) in lengths {
            same_length((what, length), ("rows", matrix.rows()))?;
        }
        Ok(Self { matrix, labels, weights })
    }

    /// Its rows.
    pub fn matrix(&self) -> Matrix<'a> {
        self.matrix
    }

    /// Their labels.
    pub fn labels(&self) -> &'a [u8] {
        self.labels
    }

    /// Their weights; `None`: 1 each.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.weights
    }

    /// What is known of the block before any question.
    pub fn facts(&self) -> BlockFacts {
        let (mut counts, mut weights) = ([0; 2], [0.0; 2]);
        for (i, &label) in self.labels.iter().enumerate() {
            let weight = self.weight(i);
            weights[usize::from(label)] += weight;
            counts[usize::from(label)] += u64::from(weight > 0.0);
        }
        BlockFacts {
            rows: self.labels.len() as u64,
            columns: self.matrix.columns() as u64,
            stored: self.matrix.stored() as u64,
            dense: !matches!(self.matrix, Matrix::Csr(_)),
            counts,
            weights,
            fingerprint: fingerprint::of(&self.matrix, self.labels, self.weights),
        }
    }

    /// The answer to a question; `number` is the block's place among all, from 0.
    pub fn answer(
        &self,
        question: &BlockQuestion,
        number: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<BlockAnswer> {
        question.answer(self, number, stop)
    }

    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

/// What is known of a block before any question.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockFacts {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub columns: u64,
    /// Number of stored values.
    pub stored: u64,
    /// Whether all values are stored.
    pub dense: bool,
    /// Rows of positive weight of the classes `[0, 1]`.
    pub counts: [u64; 2],
    /// Their weight.
    pub weights: [f64; 2],
    /// A number that other rows would hardly have.
    pub fingerprint: u64,
}

#[cfg(feature = "serde")]
impl BlockFacts {
    /// The bytes of the facts.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// The facts in some bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes)
            .map_err(|_| crate::Error::WrongAnswer { expected: "facts of a block" })
    }
}

/// Says whether to give up.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);
/// Takes the answers as they come.
pub type Take<'a> = &'a mut dyn FnMut(BlockAnswer) -> Result<()>;

/// Whoever holds the blocks.
pub trait Blocks: Send + Sync {
    /// What is known of every block, in their order.
    fn facts(&self) -> &[BlockFacts];

    /// Puts a question to every block and hands the answers on *in the order of the blocks*.
    fn ask(&self, question: &BlockQuestion, stop: Stop<'_>, take: Take<'_>) -> Result<()>;

    /// Shows the one block to `look`, where there is one only and it can be had here; says whether it did.
    fn look_at_one(&self, _look: &mut dyn FnMut(Block<'_>)) -> Result<bool> {
        Ok(false)
    }
}
