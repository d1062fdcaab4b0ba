//! The answer with its certificate.

/// Where an edge of the chain, from a value to the next, stands between its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EdgeState {
    /// `n dz < dy < N dz`.
    Free,
    /// `dy = n dz`.
    Lower,
    /// `dy = N dz`.
    Upper,
    /// Equal scores, or `N = n`: both bounds at once.
    Tied,
}

/// Where an end of the chain stands in its box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndState {
    /// Strictly inside.
    Free,
    /// At its lower bound.
    Lower,
    /// At its upper bound.
    Upper,
    /// The box is one point.
    Fixed,
}

/// The minimiser, its active set and its certificate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChainSolution {
    /// `y_i`, one for each score.
    pub values: Vec<f64>,
    /// The state of each of the `m - 1` edges.
    pub edges: Vec<EdgeState>,
    /// The state of the first value.
    pub first: EndState,
    /// The state of the last value.
    pub last: EndState,
    /// Largest violation of a sign of a multiplier, divided by the sum of the weights. Stationarity
    /// holds exactly by construction of the multipliers.
    ///
    /// In units of the target, or for a Bregman objective of the score.
    pub kkt_residual: f64,
    /// Primal minus dual objective: `values` is at most this far from optimal.
    pub duality_gap: f64,
    /// Solves of the quadratic core on the whole chain or on windows of it, in whole chains
    /// rounded up; 1 for a quadratic objective.
    pub passes: usize,
    /// Work of the quadratic core: knots and blocks moved, tree nodes visited.
    pub knot_moves: u64,
    /// Near-ties made the core switch to its O(m log m) tree.
    pub used_tree: bool,
    /// The slope bounds it was solved with.
    pub slope_min: f64,
    /// See `slope_min`.
    pub slope_max: f64,
}

impl Default for ChainSolution {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            edges: Vec::new(),
            first: EndState::Free,
            last: EndState::Free,
            kkt_residual: 0.0,
            duality_gap: 0.0,
            passes: 0,
            knot_moves: 0,
            used_tree: false,
            slope_min: 0.0,
            slope_max: f64::INFINITY,
        }
    }
}
