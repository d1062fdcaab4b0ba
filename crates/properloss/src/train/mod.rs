//! The trainers, one algorithm a file; each file reads as the steps of its algorithm.
//!
//! | trainer | what it learns | where it is from |
//! |---|---|---|
//! | [`BregmanTron`] | weights and link; the link fits the previous predictions, the labels, ... | the paper, Algorithm 1 and its variants |
//! | [`Slisotron`] | weights and an isotonic link | the paper, Algorithm 0 |
//! | [`Glmtron`] | weights under a fixed link, by gradient steps | the paper's baseline |
//! | [`CanonicalLossTrainer`] | weights under a given loss and an L2 penalty, to the minimum | transfer of a learned loss; the sigmoid gives logistic regression |
//! | [`Certified`] | weights and link, with a proved decrease of the loss at every iteration | `docs/convergence.md` |
//!
//! All of them take a checked [`Sample`](crate::sample::Sample), report every [`Iteration`] to an
//! [`Observer`], which may stop the run, and hand back a [`Fit`]. None of them draws random
//! numbers: the same input gives the same bits, for any number of threads.

mod bregmantron;
mod canonical;
mod certified;
mod descent;
mod glmtron;
mod link_step;
mod model;
mod observer;
mod progress;
mod slisotron;
mod sorted_loss;
mod step;

pub use bregmantron::{BregmanTron, EndSlope, LinkObjective, Target};
pub use canonical::CanonicalLossTrainer;
pub use certified::{Candidate, Certified, CertifiedFit, Schedule, Slopes};
pub use glmtron::Glmtron;
pub use model::{Fit, Model};
pub use observer::{Iteration, Observer, Silent, Termination};
pub use slisotron::{Isotonic, Slisotron};
pub use step::Step;

use std::sync::Arc;

use crate::design::{Design, FittedScaling};
use crate::error::{Error, Result};
use crate::link::InverseLink;
use progress::Progress;

/// The checks every trainer makes of the options they share.
fn check_common(
    max_iter: usize,
    tol: f64,
    step: Step,
    l2: f64,
    max_norm: Option<f64>,
) -> Result<()> {
    let domain = |what, value, expected| Err(Error::OutOfDomain { what, value, expected });
    if max_iter == 0 {
        return domain("max_iter", 0.0, "at least 1");
    }
    if !(tol >= 0.0 && tol.is_finite()) {
        return domain("tol", tol, "0 or positive, and finite");
    }
    if !(l2 >= 0.0 && l2.is_finite()) {
        return domain("l2", l2, "0 or positive, and finite");
    }
    match max_norm {
        Some(bound) if !(bound > 0.0 && bound.is_finite()) => {
            domain("max_norm", bound, "positive and finite")
        }
        _ => step.check(),
    }
}

/// Wraps up the run.
fn finish(
    design: &Design<'_>,
    w: &[f64],
    link: Arc<dyn InverseLink>,
    termination: Termination,
    progress: Progress,
) -> Result<Fit> {
    let model = model(design, w, link)?;
    Ok(Fit { model, termination, history: progress.into_history() })
}

/// The classifier of these weights: the scaling is folded into the coefficients.
fn model(design: &Design<'_>, w: &[f64], link: Arc<dyn InverseLink>) -> Result<Model> {
    let (coefficients, intercept) = design.original_coefficients(w);
    let unit_rows = matches!(design.scaling(), FittedScaling::UnitRows);
    Model::new(coefficients, intercept, unit_rows, link)
}

/// The least and the largest score.
fn range(z: &[f64]) -> (f64, f64) {
    z.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &z| (low.min(z), high.max(z)))
}
