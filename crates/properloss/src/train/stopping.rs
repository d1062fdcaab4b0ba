//! The stopping rule that the gradient trainers share.

use super::{Iteration, Termination};

/// A run is over when the gap is closed, when loss *and* weights changed by at most `tol` relatively
/// (with `tol = 0`: never), when the loss is down to `tol` of the first one (separable data: the
/// weights grow for ever, and below that only rounding steers them), or after `max_iter` iterations.
pub(super) fn settled(history: &[Iteration], max_iter: usize, tol: f64) -> Option<Termination> {
    let (first, iteration) = (history.first()?, history.last()?);
    if iteration.gap == 0.0 {
        return Some(Termination::GapClosed);
    }
    let settled = history.len() > 1 && {
        let previous = history[history.len() - 2].loss;
        (previous - iteration.loss).abs() <= tol * iteration.loss.abs()
            && iteration.weight_change <= tol.sqrt()
    };
    // A loss known up to a constant only (Cauchy) may be negative, and unbounded below on separable
    // data: there the gap has to tell.
    let exhausted = if iteration.loss >= 0.0 {
        iteration.loss <= tol * first.loss
    } else {
        iteration.gap <= tol.sqrt() * first.gap
    };
    if tol > 0.0 && (settled || exhausted) {
        return Some(Termination::Converged);
    }
    (history.len() >= max_iter).then_some(Termination::MaxIter)
}
