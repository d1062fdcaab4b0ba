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
//! - `quadratic`: the dynamic programme on knots (`knots`), kept in a `rope` or, when near-ties
//!   make those slow, in a `tree`: O(m log m) always; `halves`: from both ends at once; `whole`
//!   picks one of the two.
//! - `reduced`: long chains as rigid pieces, guessed on a `coarse` chain, solved and checked.
//! - `general`: Newton passes on the quadratic core for a Bregman objective; `curve` is `g = u⁻¹`,
//!   `blocks` the exact shift of a block; `zero_weights` takes out points of weight 0.
//! - `certificate`: multipliers, KKT residual, duality gap.
//! - `isotonic`: pooling of adjacent violators, and the least feasible point.
//! - `fit`: the link through the values; `order`, `distribution_sort`: sorting and ties; `binned`: a grid of scores.

mod binned;
mod blocks;
mod certificate;
mod coarse;
mod curve;
mod distribution_sort;
mod fit;
mod general;
mod halves;
mod isotonic;
mod knots;
mod order;
mod problem;
mod quadratic;
mod reduced;
mod rope;
mod solution;
mod tree;
mod whole;
mod workspace;
mod zero_weights;

pub use binned::{BinnedChain, BinnedScores};
pub use fit::{fit_link, fit_link_with};
pub use isotonic::{isotonic, isotonic_into, minimal_top};
pub use order::{Resort, ScoreOrder};
pub use problem::{ChainProblem, Objective};
pub use solution::{ChainSolution, EndState, LinkState};
pub use workspace::{Workspace, solve};
