//! GLMTron: gradient steps on the weights under a fixed inverse link.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::descent::{Automatic, Descent, DescentOptions, mean_loss};
use super::progress::Progress;
use super::{Fit, Iteration, Observer, Step, finish, model};
use crate::design::{Design, Scaling};
use crate::error::Result;
use crate::link::InverseLink;
use crate::sample::Sample;

/// GLMTron (Kakade et al. 2011; a baseline of the paper, there with the sigmoid).
#[derive(Debug, Clone)]
pub struct Glmtron {
    /// The fixed inverse link.
    pub link: Arc<dyn InverseLink>,
    /// At most this many iterations.
    pub max_iter: usize,
    /// Stops when loss and weights change by less than this, relatively.
    pub tol: f64,
    /// The step size.
    pub step: Step,
    /// Penalty `l2/2 |w|^2` added to the mean loss; the intercept is free.
    pub l2: f64,
    /// Bound on `|w|`, kept by projection.
    pub max_norm: Option<f64>,
    /// How features are scaled.
    pub scaling: Scaling,
    /// Whether an intercept is learned. A fixed link needs one.
    pub fit_intercept: bool,
}

impl Glmtron {
    /// With the given link and defaults for the rest.
    pub fn new(link: Arc<dyn InverseLink>) -> Self {
        Self {
            link,
            max_iter: 1000,
            tol: 1e-6,
            step: Step::Auto,
            l2: 0.0,
            max_norm: None,
            scaling: Scaling::default(),
            fit_intercept: true,
        }
    }

    /// Trains; the observer sees every iteration and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        super::check_common(self.max_iter, self.tol, self.step, self.l2, self.max_norm)?;
        let link = &*self.link;
        let design = Design::new(sample, self.scaling, self.fit_intercept);
        let options = DescentOptions {
            step: self.step,
            automatic: Automatic::LineSearch,
            l2: self.l2,
            max_norm: self.max_norm,
        };
        let mut descent = Descent::new(sample, &design, options);
        let mut y_hat = vec![link.u(0.0); sample.rows()];
        let mut progress = Progress::new(self.max_iter, self.tol);

        let termination = loop {
            // w <- w + eta E[(y - u(w·x)) x]
            let moved = descent.advance(link, &y_hat);
            // y_hat <- u(w·x)
            for (y_hat, &z) in y_hat.iter_mut().zip(descent.z()) {
                *y_hat = link.u(z);
            }
            let loss = mean_loss(link, sample, |i| descent.z()[i]);
            let (score_min, score_max) = super::range(descent.z());
            let iteration = Iteration {
                iteration: progress.next(),
                loss,
                gap: moved.gap,
                step: moved.eta,
                score_min,
                score_max,
                slope_min: 0.0,
                slope_max: f64::INFINITY,
                link_change: 0.0,
                weight_change: moved.weight_change,
            };
            let reached = || model(&design, descent.w(), self.link.clone());
            if let ControlFlow::Break(termination) = progress.record(iteration, observer, &reached)
            {
                break termination;
            }
        };
        finish(&design, descent.w(), self.link.clone(), termination, progress)
    }
}
