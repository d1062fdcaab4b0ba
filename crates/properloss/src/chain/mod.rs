//! Step 3: a separable convex problem on a chain with bounds on every slope, solved exactly.
//!
//! ```text
//! min  Σ ω_i (G(y_i) - c_i y_i)
//! s.t. n (z_{i+1} - z_i) <= y_{i+1} - y_i <= N (z_{i+1} - z_i),  lo <= y_1 <= hi,  low <= y_m <= top
//! ```
//!
//! [`solve`] takes a [`ChainProblem`] to a [`ChainSolution`] with its certificate. The map:
//!
//! - `problem`: the problem, its checks, its box; `solution`: the answer; `workspace`: [`solve`].
//! - `core/`: the quadratic problem. `programme` is dynamic programming on knots (`knots`), kept in
//!   a `rope` or, when near-ties make that slow, in a `tree`: O(m log m) always; `halves` goes from
//!   both ends at once.
//! - `long/`: long chains as rigid pieces, guessed on a `coarse` chain, solved and checked.
//! - `general/`: Newton passes on the core for a Bregman objective; `curve` is `g = u⁻¹`, `blocks`
//!   the exact shift of a block; `zero_weights` takes out points of weight 0.
//! - `certificate`: multipliers, KKT residual, duality gap.
//! - `isotonic`: pooling of adjacent violators, and the least feasible point.
//! - `fit`: the link through the values; `scores/`: sorting and ties, or a grid of scores.

mod certificate;
mod core;
mod fit;
mod general;
mod isotonic;
mod long;
mod problem;
mod scores;
mod solution;
mod workspace;

pub use fit::{fit_link, fit_link_with};
pub(crate) use isotonic::{Pool, pooled};
pub use isotonic::{isotonic, isotonic_into, minimal_top};
pub use problem::{ChainProblem, Objective};
pub(crate) use scores::count_of_rows;
pub use scores::{BinnedChain, BinnedScores, Resort, ScoreOrder};
pub use solution::{ChainSolution, EdgeState, EndState};
pub use workspace::{Workspace, solve};
