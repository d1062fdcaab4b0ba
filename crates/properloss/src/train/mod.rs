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

mod averaged;
mod bregmantron;
mod canonical;
mod certified;
mod glmtron;
mod gradient_step;
mod link_step;
mod model;
mod observer;
pub mod registry;
mod settings;
mod slisotron;
mod sorted_loss;
mod step;
mod stopping;
mod trainer;

pub use bregmantron::{BregmanTron, EndSlope, LinkObjective, Target};
pub use canonical::CanonicalLossTrainer;
pub use certified::{Candidate, Certified, CertifiedFit, Schedule, Slopes};
pub use glmtron::Glmtron;
pub use model::{Fit, Model};
pub use observer::{Iteration, Observer, Silent, Stage, Termination};
pub use registry::{Estimator, Method};
pub use settings::{Checked, Kind, OptionSpec, Settings, Value};
pub use slisotron::{Isotonic, Slisotron};
pub use step::Step;
pub use trainer::{Stepped, Stored, Trainer, run};

use crate::error::{Result, require};

/// The checks every trainer makes of the options they share.
fn check_common(
    max_iter: usize,
    tol: f64,
    step: Step,
    l2: f64,
    max_norm: Option<f64>,
) -> Result<()> {
    require("max_iter", 0.0, "at least 1", max_iter > 0)?;
    require("tol", tol, "0 or positive, and finite", tol >= 0.0 && tol.is_finite())?;
    require("l2", l2, "0 or positive, and finite", l2 >= 0.0 && l2.is_finite())?;
    if let Some(bound) = max_norm {
        require("max_norm", bound, "positive and finite", bound > 0.0 && bound.is_finite())?;
    }
    step.check()
}
