//! What a trainer tells while it runs, and how a run ends.

use std::ops::ControlFlow;

use super::Model;
use crate::error::Result;

/// The state after one iteration of a trainer.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Iteration {
    /// `t`, from 1.
    pub iteration: usize,
    /// Mean loss `E[U(z) + U*(y) - y z]` of the current link at the current weights.
    pub loss: f64,
    /// `|μ_y - μ_t|`: the norm of the gap between the mean operators (the gradient's norm).
    pub gap: f64,
    /// The step size used.
    pub step: f64,
    /// Least score on the sample.
    pub score_min: f64,
    /// Largest score on the sample.
    pub score_max: f64,
    /// Lower slope bound `n_t` in force (0 for a fixed link).
    pub slope_min: f64,
    /// Upper slope bound `N_t` in force (infinite if there is none).
    pub slope_max: f64,
    /// `max_i |u_{t+1}(z_i) - u_t(z_i)|` at the new scores: how far the link moved.
    pub link_change: f64,
    /// `|w_{t+1} - w_t| / max(|w_{t+1}|, tiny)`.
    pub weight_change: f64,
}

/// What a step is about to do, where steps differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stage {
    /// In words.
    pub name: String,
    /// Steps that the run takes at most.
    pub at_most: usize,
}

/// Receives every [`Iteration`]; answers whether to go on.
pub trait Observer {
    /// Called after each iteration. `ControlFlow::Break` stops the run with
    /// [`Termination::Stopped`] and the model reached so far. The default does not look at it.
    fn observe(&mut self, _iteration: &Iteration) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The same, with the classifier reached so far; `model` builds it, at the cost of copying
    /// weights and link. The default does not look at it.
    fn observe_model(
        &mut self,
        iteration: &Iteration,
        _model: &dyn Fn() -> Result<Model>,
    ) -> ControlFlow<()> {
        self.observe(iteration)
    }

    /// Called before a step of a trainer that has stages. The default does not look at it.
    fn begin(&mut self, _stage: &Stage) {}

    /// Whether the state of the run should be stored now.
    fn wants_checkpoint(&mut self) -> bool {
        false
    }

    /// The state of the run, as [`run`](super::run) takes it up again.
    fn checkpoint(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Looks at nothing and never stops a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

impl<F: FnMut(&Iteration) -> ControlFlow<()>> Observer for F {
    fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        self(iteration)
    }
}

/// Why a run ended.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Termination {
    /// The stopping rule of the trainer held.
    Converged,
    /// `max_iter` iterations were made.
    MaxIter,
    /// The [`Observer`] asked to stop.
    Stopped,
    /// The gap of the mean operators is zero to working precision: no direction is left.
    GapClosed,
    /// No step decreases the objective any further: the limit of rounding.
    Stalled,
    /// No link satisfies the slope bounds of the schedule on the scores reached.
    InfeasibleSlope,
    /// A score left the range `[z_min, z_max]` of the link, which the guarantee requires.
    ScoresOutOfRange,
}

impl Termination {
    /// The name used in model files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIter => "max_iter",
            Self::Stopped => "stopped",
            Self::GapClosed => "gap_closed",
            Self::Stalled => "stalled",
            Self::InfeasibleSlope => "infeasible_slope",
            Self::ScoresOutOfRange => "scores_out_of_range",
        }
    }
}
