//! The quadratic core on a chain of any length.

mod halves;
mod knots;
#[cfg(test)]
mod plain;
mod programme;
mod rope;
mod tree;

use crate::chain::problem::Frame;
use crate::chain::solution::EdgeState;
use halves::{LONG, solve_halves};
pub(super) use programme::{CoreWork, Grid, Stores, solve_core};

/// Minimises `½ Σ ω (v - t)²`: a long chain from both ends at once.
pub(super) fn solve_whole(
    stores: &mut [Stores; 2],
    frame: &Frame,
    point: impl Fn(usize) -> (f64, f64) + Sync,
    gap: impl Fn(usize) -> f64 + Sync,
    v: &mut [f64],
    edges: &mut [EdgeState],
) -> CoreWork {
    if v.len() < LONG {
        solve_core(&mut stores[0], frame, point, gap, v, edges)
    } else {
        solve_halves(stores, frame, point, gap, v, edges)
    }
}
