//! Averaged GLMTron: the mean of all weights that GLMTron passes through.

use std::sync::Arc;

use super::gradient_step::GradientStep;
use super::{Glmtron, Iteration, Method, Stepped, Termination, Trainer, glmtron};
use crate::error::Result;
use crate::link::InverseLink;
use crate::rows::Rows;

/// GLMTron whose answer is `(w_1 + ... + w_T) / T`: a step that is too long for the last weights to
/// settle still gives a mean that does (Polyak and Juditsky 1992).
#[derive(Debug, Clone)]
struct Averaged(Glmtron);

/// GLMTron's state, and the mean so far.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct State {
    last: GradientStep,
    mean: Vec<f64>,
    count: u32,
}

impl Trainer for Averaged {
    type State = State;

    fn start(&self, rows: &mut dyn Rows) -> Result<State> {
        let last = self.0.start(rows)?;
        let mean = vec![0.0; last.w().len()];
        Ok(State { last, mean, count: 0 })
    }

    fn step(&self, state: &mut State, rows: &mut dyn Rows) -> Stepped {
        let iteration = self.0.step(&mut state.last, rows)?;
        // mean_t = mean_{t-1} + (w_t - mean_{t-1}) / t
        state.count += 1;
        for (mean, w) in state.mean.iter_mut().zip(state.last.w()) {
            *mean += (w - *mean) / f64::from(state.count);
        }
        Ok(iteration)
    }

    fn settled(&self, history: &[Iteration]) -> Option<Termination> {
        self.0.settled(history)
    }

    fn reached<'s>(&'s self, state: &'s State) -> (&'s [f64], Arc<dyn InverseLink>) {
        (&state.mean, self.0.link.clone())
    }
}

/// Averaged GLMTron, as the registry lists it: GLMTron's options.
pub(super) fn method() -> Method {
    Method {
        name: "averaged",
        class: ("AveragedGlmtronClassifier", &[]),
        summary: "Weights under a fixed link: the mean of those that GLMTron passes through",
        build: |s, _, _| Ok(Box::new(Averaged(glmtron::build(s)?))),
        ..glmtron::method()
    }
}
