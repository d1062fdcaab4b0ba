//! The quadratic core on a chain of any length.

use super::halves::{LONG, solve_halves};
use super::problem::Frame;
use super::quadratic::{CoreWork, Stores, solve_core};
use super::solution::LinkState;

/// Minimises `½ Σ ω (v - t)²`: a long chain from both ends at once.
pub(super) fn solve_whole(
    stores: &mut [Stores; 2],
    frame: &Frame,
    point: impl Fn(usize) -> (f64, f64) + Sync,
    gap: impl Fn(usize) -> f64 + Sync,
    v: &mut [f64],
    links: &mut [LinkState],
) -> CoreWork {
    if v.len() < LONG {
        solve_core(&mut stores[0], frame, point, gap, v, links)
    } else {
        solve_halves(stores, frame, point, gap, v, links)
    }
}
