//! The quadratic core on a chain of any length.

mod halves;
mod knots;
#[cfg(test)]
mod plain;
mod programme;
mod rope;
mod tree;

pub(super) use halves::{HALVED, solve_whole};
pub(super) use programme::{CoreWork, Grid, Stores, solve_core};
