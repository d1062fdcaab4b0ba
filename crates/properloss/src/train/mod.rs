//! The trainers, one algorithm a file; each file reads as the steps of its algorithm.
//!
//! | trainer | what it learns | where it is from |
//! |---|---|---|
//! | [`BregmanTron`] | weights and link; the link fits the previous predictions, the labels, ... | the paper, Algorithm 1 and its variants |
//! | [`Slisotron`] | weights and an isotonic link | the paper, Algorithm 0 |
//! | [`Glmtron`] | weights under a fixed link, by gradient steps | the paper's baseline |
//! | [`CanonicalLossTrainer`] | weights under a given loss and an L2 penalty, to the minimum | transfer of a learned loss; the sigmoid gives logistic regression |

mod bregmantron;
mod canonical;
mod glmtron;
mod model;
mod observer;
mod slisotron;
mod step;

pub use bregmantron::{BregmanTron, EndSlope, Objective, Target};
pub use canonical::CanonicalLossTrainer;
pub use glmtron::Glmtron;
pub use model::{Fit, Model};
pub use observer::{Iteration, Observer, Silent, Termination};
pub use slisotron::{Isotonic, Slisotron};
pub use step::Step;
