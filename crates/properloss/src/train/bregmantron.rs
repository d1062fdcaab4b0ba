//! BregmanTron (Algorithm 1 of the paper) and its variants: weights and link, in turns.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::descent::{Automatic, Descent, DescentOptions};
use super::link_step::{LinkFit, LinkStep};
use super::progress::Progress;
use super::{Fit, Iteration, Observer, Step, finish, model};
use crate::design::{Design, Scaling};
use crate::error::{Error, Result};
use crate::link::{InverseLink, PiecewiseLink};
use crate::sample::Sample;

/// What Step 3 fits the new predictions to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The previous predictions `y_hat_t`: the paper's BregmanTron.
    Previous,
    /// Nothing: the feasible point with the least last value (the paper's `approx`).
    Approx,
    /// The labels (the paper's `label`).
    Labels,
    /// The previous link at the new scores, `u_t(w_{t+1}·x)`.
    Refit,
}

/// How Step 3 measures the distance to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkObjective {
    /// `E[D_{U*_t}(y_hat, target)]`, as the paper writes it. Against labels it is biased: its
    /// minimiser in a tied group is `u(mean u⁻¹(y))`, which depends on `z_min` and `z_max`.
    Bregman,
    /// `E[(y_hat - target)^2] / 2`.
    Quadratic,
}

/// The slope with which `fit` continues the link beyond the data, down to 0 and up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndSlope {
    /// `n_t`: the widest link.
    Min,
    /// `N_t`: the narrowest link.
    Max,
}

/// BregmanTron and its variants.
#[derive(Debug, Clone)]
pub struct BregmanTron {
    /// What Step 3 fits to.
    pub target: Target,
    /// How Step 3 measures.
    pub objective: LinkObjective,
    /// At most this many iterations.
    pub max_iter: usize,
    /// Stops when the loss changes by less than this, relatively, and the weights by less than its
    /// square root; 0: never.
    pub tol: f64,
    /// The step size of Step 1.
    pub step: Step,
    /// `n`, the lower slope bound; lowered to `kappa / range of the scores` where it is above that.
    pub slope_min: f64,
    /// `N`, the upper slope bound.
    pub slope_max: f64,
    /// How much of the way from 0 to 1 the lower slope bound alone may take up, in `(0, 1]`.
    pub kappa: f64,
    /// Penalty `l2/2 |w|^2`.
    pub l2: f64,
    /// Bound on `|w|`, kept by projection.
    pub max_norm: Option<f64>,
    /// How features are scaled.
    pub scaling: Scaling,
    /// The slope of the link beyond the data.
    pub end_slope: EndSlope,
    /// `u_0`; by default `clip(N z + base rate)`.
    pub initial_link: Option<PiecewiseLink>,
}

impl BregmanTron {
    /// The paper's settings for `n`, `N` (0.01 and 1), and for each target the objective and
    /// `kappa` that suit it.
    pub fn new(target: Target) -> Self {
        let objective = match target {
            Target::Labels => LinkObjective::Quadratic,
            _ => LinkObjective::Bregman,
        };
        let kappa = match target {
            Target::Previous | Target::Approx => 1.0,
            // The forced climb keeps probabilities away from 0 and 1: little of it is enough.
            Target::Labels => 0.01,
            Target::Refit => 0.1,
        };
        Self {
            target,
            objective,
            max_iter: 1000,
            tol: 1e-5,
            step: Step::Auto,
            slope_min: 0.01,
            slope_max: 1.0,
            kappa,
            l2: 0.0,
            max_norm: None,
            scaling: Scaling::default(),
            end_slope: EndSlope::Min,
            initial_link: None,
        }
    }

    /// Trains; the observer sees every iteration and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        let design = Design::new(sample, self.scaling, false);
        let options = DescentOptions {
            step: self.step,
            automatic: Automatic::Lipschitz(self.slope_max),
            l2: self.l2,
            max_norm: self.max_norm,
        };
        // t = 0: w_1 = 0, all scores tie at 0, and the link is fitted to that one point.
        let mut descent = Descent::new(sample, &design, options);
        let mut link_step = LinkStep::new(self, sample, descent.take_predictions())?;
        let mut progress = Progress::new(self.max_iter, self.tol);

        let termination = loop {
            // One visit to the thread pool for all steps: every visit costs two changes of thread.
            let (moved, fitted, loss) = rayon::scope(|_| -> Result<_> {
                // Step 1: w_{t+1} = w_t + eta (mu_y - mu_t), a gradient step on E[D_{U_t}(w·x, u_t⁻¹(y))].
                let moved = descent.advance_from_predictions();
                // Step 2: order the examples by w_{t+1}·x.
                link_step.order(descent.z())?;
                // Step 3: y_hat_{t+1}, the nearest to the target within the slope bounds.
                // Step 4: u_{t+1} = fit(y_hat_{t+1}).
                let fitted = link_step.fit(descent.take_predictions())?;
                let loss = link_step.predict(descent.take_predictions())?;
                Ok((moved, fitted, loss))
            })?;
            let LinkFit { slope_min, slope_max, change } = fitted;

            let (score_min, score_max) = link_step.score_range();
            let iteration = Iteration {
                iteration: progress.next(),
                loss,
                gap: moved.gap,
                step: moved.eta,
                score_min,
                score_max,
                slope_min,
                slope_max,
                link_change: change,
                weight_change: moved.weight_change,
            };
            let reached = || model(&design, descent.w(), Arc::new(link_step.link().clone()));
            if let ControlFlow::Break(termination) = progress.record(iteration, observer, &reached)
            {
                break termination;
            }
        };
        let link: Arc<dyn InverseLink> = Arc::new(link_step.into_link());
        finish(&design, descent.w(), link, termination, progress)
    }

    fn check(&self) -> Result<()> {
        super::check_common(self.max_iter, self.tol, self.step, self.l2, self.max_norm)?;
        let domain = |what, value, expected| Err(Error::OutOfDomain { what, value, expected });
        if !(self.slope_min > 0.0 && self.slope_min.is_finite()) {
            return domain("slope_min", self.slope_min, "positive and finite");
        }
        if !(self.slope_max >= self.slope_min && self.slope_max.is_finite()) {
            return domain("slope_max", self.slope_max, "finite and at least slope_min");
        }
        if !(self.kappa > 0.0 && self.kappa <= 1.0) {
            return domain("kappa", self.kappa, "above 0 and at most 1");
        }
        Ok(())
    }
}
