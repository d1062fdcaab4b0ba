//! SLIsotron (Algorithm 0 of the paper, after Kakade et al. 2011): the link fits the labels.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::descent::{Automatic, Descent, DescentOptions, mean_loss};
use super::progress::Progress;
use super::{Fit, Iteration, Observer, Step, finish, model};
use crate::chain::{ChainProblem, Objective, ScoreOrder, Workspace, isotonic_into};
use crate::design::{Design, Scaling};
use crate::error::Result;
use crate::link::{InverseLink, IsotonicLink};
use crate::sample::Sample;

/// Which regression of the labels on the scores makes the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isotonic {
    /// Plain isotonic regression, by pooling adjacent violators.
    Pav,
    /// Isotonic regression with slopes at most 1, as in the analysis of Kakade et al.
    Lipschitz,
}

/// Beyond the data the link goes to 0 and to 1 with this slope.
const END_SLOPE: f64 = 1.0;

/// SLIsotron.
#[derive(Debug, Clone)]
pub struct Slisotron {
    /// The regression of Step 4.
    pub isotonic: Isotonic,
    /// At most this many iterations.
    pub max_iter: usize,
    /// Stops when the loss changes by less than this, relatively, and the weights by less than its
    /// square root; 0: never.
    pub tol: f64,
    /// The step size of Step 1.
    pub step: Step,
    /// Penalty `l2/2 |w|^2`.
    pub l2: f64,
    /// Bound on `|w|`, kept by projection.
    pub max_norm: Option<f64>,
    /// How features are scaled.
    pub scaling: Scaling,
}

impl Slisotron {
    /// With the given regression and defaults for the rest.
    pub fn new(isotonic: Isotonic) -> Self {
        Self {
            isotonic,
            max_iter: 1000,
            tol: 1e-6,
            step: Step::Auto,
            l2: 0.0,
            max_norm: None,
            scaling: Scaling::default(),
        }
    }

    /// Trains; the observer sees every iteration and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        super::check_common(self.max_iter, self.tol, self.step, self.l2, self.max_norm)?;
        let design = Design::new(sample, self.scaling, false);
        let options = DescentOptions {
            step: self.step,
            automatic: Automatic::Lipschitz(END_SLOPE),
            l2: self.l2,
            max_norm: self.max_norm,
        };
        // w_1 = 0: every score is 0 and the link there is the base rate.
        let mut descent = Descent::new(sample, &design, options);
        let mut regression = Regression::new(self.isotonic);
        let mut link = regression.fit(descent.z(), sample)?;
        let mut y_hat: Vec<f64> = vec![link.u(0.0); sample.rows()];
        let mut progress = Progress::new(self.max_iter, self.tol);

        let termination = loop {
            // Step 1: w_{t+1} = w_t - eta E[(u_t(w_t·x) - y) x].
            let moved = descent.advance(&link, &y_hat);
            // Steps 2 and 3: order the examples by z = w_{t+1}·x. Step 4: regress the labels on z.
            let next = regression.fit(descent.z(), sample)?;
            let scores = regression.order.scores();
            let change = scores.iter().map(|&z| (next.u(z) - link.u(z)).abs()).fold(0.0, f64::max);
            link = next;
            regression.order.scatter(&regression.values, &mut y_hat)?;

            let iteration = Iteration {
                iteration: progress.next(),
                loss: mean_loss(&link, sample, |i| descent.z()[i]),
                gap: moved.gap,
                step: moved.eta,
                score_min: scores[0],
                score_max: scores[scores.len() - 1],
                slope_min: 0.0,
                slope_max: match self.isotonic {
                    Isotonic::Pav => f64::INFINITY,
                    Isotonic::Lipschitz => 1.0,
                },
                link_change: change,
                weight_change: moved.weight_change,
            };
            let reached = || model(&design, descent.w(), Arc::new(link.clone()));
            if let ControlFlow::Break(termination) = progress.record(iteration, observer, &reached)
            {
                break termination;
            }
        };
        finish(&design, descent.w(), Arc::new(link), termination, progress)
    }
}

/// The regression of the labels on the scores, with its buffers.
struct Regression {
    isotonic: Isotonic,
    order: ScoreOrder,
    workspace: Workspace,
    weights: Vec<f64>,
    targets: Vec<f64>,
    values: Vec<f64>,
}

impl Regression {
    fn new(isotonic: Isotonic) -> Self {
        Self {
            isotonic,
            order: ScoreOrder::new(),
            workspace: Workspace::new(),
            weights: Vec::new(),
            targets: Vec::new(),
            values: Vec::new(),
        }
    }

    fn fit(&mut self, z: &[f64], sample: &Sample<'_>) -> Result<IsotonicLink> {
        self.order.update(z)?;
        self.order.group_weights(sample.weights(), &mut self.weights)?;
        let label = |i: usize| f64::from(sample.labels()[i]);
        self.order.group_means(sample.weights(), label, &mut self.targets)?;
        match self.isotonic {
            Isotonic::Pav => isotonic_into(&self.targets, Some(&self.weights), &mut self.values)?,
            Isotonic::Lipschitz => {
                let objective = Objective::Quadratic { targets: &self.targets };
                let problem = ChainProblem::new(self.order.scores(), objective)
                    .with_weights(&self.weights)
                    .with_slopes(0.0, 1.0);
                self.values.clone_from(&self.workspace.solve(&problem)?.values);
            }
        }
        through(self.order.scores(), &self.values)
    }
}

/// The link through `(z_i, y_i)`, straight between them, continued to 0 and to 1. Knots inside a
/// flat run are left out.
fn through(z: &[f64], y: &[f64]) -> Result<IsotonicLink> {
    let last = z.len() - 1;
    let mut knots = (Vec::new(), Vec::new());
    let mut push = |z: f64, y: f64| {
        knots.0.push(z);
        knots.1.push(y);
    };
    let z_min = z[0] - y[0] / END_SLOPE;
    if z_min < z[0] {
        push(z_min, 0.0);
    }
    for i in 0..=last {
        let inside_flat = i > 0 && i < last && y[i] == y[i - 1] && y[i] == y[i + 1];
        if !inside_flat {
            let y = if z_min >= z[0] && i == 0 { 0.0 } else { y[i] };
            push(z[i], y);
        }
    }
    let z_max = z[last] + (1.0 - y[last]) / END_SLOPE;
    if z_max > z[last] {
        push(z_max, 1.0);
    } else if let Some(top) = knots.1.last_mut() {
        *top = 1.0;
    }
    IsotonicLink::new(knots.0, knots.1)
}
