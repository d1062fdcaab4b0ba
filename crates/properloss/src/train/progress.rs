//! The stopping rule every gradient trainer shares, and the history it leaves.

use std::ops::ControlFlow;

use super::{Iteration, Model, Observer, Termination};
use crate::error::Result;

/// Counts iterations, keeps their history and decides when a run is over.
pub(super) struct Progress {
    max_iter: usize,
    tol: f64,
    history: Vec<Iteration>,
}

impl Progress {
    pub fn new(max_iter: usize, tol: f64) -> Self {
        Self { max_iter, tol, history: Vec::new() }
    }

    /// The number of the iteration under way, from 1.
    pub fn next(&self) -> usize {
        self.history.len() + 1
    }

    /// Files an iteration and tells the observer. A run is over when the observer says so, when
    /// loss *and* weights changed by at most `tol` relatively (with `tol = 0`: never), when the
    /// loss is down to `tol` of the first one (separable data: the weights grow for ever, and below
    /// that only rounding steers them), or after `max_iter` iterations.
    pub fn record(
        &mut self,
        iteration: Iteration,
        observer: &mut dyn Observer,
        model: &dyn Fn() -> Result<Model>,
    ) -> ControlFlow<Termination> {
        let previous = self.history.last().map(|last| last.loss);
        self.history.push(iteration);
        if observer.observe_model(&iteration, model).is_break() {
            return ControlFlow::Break(Termination::Stopped);
        }
        if iteration.gap == 0.0 {
            return ControlFlow::Break(Termination::GapClosed);
        }
        let settled = previous.is_some_and(|previous| {
            (previous - iteration.loss).abs() <= self.tol * iteration.loss.abs()
        });
        // A loss known up to a constant only (Cauchy) may be negative, and unbounded below on
        // separable data: there the gap has to tell.
        let first = self.history[0];
        let exhausted = if iteration.loss >= 0.0 {
            iteration.loss <= self.tol * first.loss
        } else {
            iteration.gap <= self.tol.sqrt() * first.gap
        };
        let settled = settled && iteration.weight_change <= self.tol.sqrt();
        if self.tol > 0.0 && (settled || exhausted) {
            return ControlFlow::Break(Termination::Converged);
        }
        if self.history.len() >= self.max_iter {
            return ControlFlow::Break(Termination::MaxIter);
        }
        ControlFlow::Continue(())
    }

    pub fn into_history(self) -> Vec<Iteration> {
        self.history
    }
}
