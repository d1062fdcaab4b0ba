//! Scores in order: sorting and ties, or a grid of bins.

mod bins;
mod order;
mod sort;

pub use bins::{BinnedChain, BinnedScores};
pub(crate) use order::count_of_rows;
pub use order::{Resort, ScoreOrder};
