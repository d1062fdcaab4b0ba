//! Certified mode: the quantities of the convergence analysis, computed exactly.
//!
//! The statements and their proofs are in `docs/convergence.md`; every function here names the
//! statement it serves. Sample `S`: examples `(x_i, y_i)`, `y_i ∈ {0, 1}`, weights `ω_i` that are
//! normalised to sum to 1, `E[·]` the weighted mean, `π = E[y]`.
//!
//! | file | what it computes |
//! |---|---|
//! | `scored` | losses `ℓ_u(w)` and the mixed losses `ℓ^r_t(S, w_{t'})` |
//! | `link_change` | Lemma 1: the exact change of loss by a change of link, O(m + K) |
//! | `step_change` | Lemma 2: the exact change of loss by Step 1, without cancellation |
//! | `combine` | damping: `(1-λ)u + λv`, and a compact link with the same loss |
//! | `constants` | `X`, `p*_t`, `δ_t`, `f(δ)`, `γ_t`, `(α, β)`-stability, step sizes |
//! | `bounds` | what each theorem claims: the paper's, Theorem 2, Theorem P, the rates |
//! | `decomposition` | `F`, `L`, `Q` of the paper's Theorem 10, term by term |
//! | `label_information` | Jensen's slack: the Bregman information of the labels of equal observations |
//! | `steepest` | Proposition D: the link of least loss at fixed scores |
//! | `certificate`, `sweep` | the record of an iteration; two links at sorted scores by merging |
//! | `neighbours`, `approximability` | Lemma 7 of the paper and the restricted discrepancy `E(u, ℓ)` |

mod approximability;
mod bounds;
mod certificate;
mod combine;
mod constants;
mod decomposition;
mod label_information;
mod link_change;
mod neighbours;
mod scored;
mod steepest;
mod step_change;
mod sweep;

pub use crate::special::Sum;
pub use approximability::{
    ApproximationBound, approximation_bound, interpolating_link, restricted_discrepancy,
};
pub use bounds::{
    Closeness, closeness_bound, corollary_rate, corrected_paper_claim, gap_bound, paper_claim,
    repaired_claim,
};
pub use certificate::{Certificate, Field};
pub(crate) use combine::link_through;
pub use combine::{condense, convex_combination, slope_range};
pub use constants::{
    Stability, f, gamma_max, largest_delta, mean_operator_gap, norm, p_star, paper_step, stability,
    step_interval,
};
pub use decomposition::Decomposition;
pub use label_information::LabelInformation;
pub use link_change::{ScoreTail, link_change};
pub use neighbours::{biconnectivity_radius, connectivity_radius};
pub use scored::Scored;
pub use steepest::steepest_link;
pub(crate) use step_change::Pieces;
pub use step_change::{potential_divergence, step_divergence};
pub(crate) use sweep::{Masses, Placement, Replacement, replace};
