//! Scores merged onto a grid: small, exact to merge, with a stated error.

/// A grid (filled in below).
#[derive(Debug, Clone)]
pub struct BinnedScores;
