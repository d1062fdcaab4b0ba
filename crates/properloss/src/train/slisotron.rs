//! SLIsotron (Algorithm 0 of the paper, after Kakade et al. 2011): the link fits the labels.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::gradient_step::{Automatic, GradientStep, StepOptions, by_gradient_steps};
use super::{
    Fit, Iteration, Method, Observer, OptionSpec, Stepped, Termination, Trainer, registry, run,
    stopping,
};
use crate::chain::{ChainProblem, Objective, Workspace, isotonic_into};
use crate::design::Intercept;
use crate::error::{Error, Result};
use crate::link::{InverseLink, IsotonicLink};
use crate::rows::{ByScore, Local, Rows};
use crate::sample::Sample;

/// Which regression of the labels on the scores makes the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isotonic {
    /// Plain isotonic regression, by pooling adjacent violators.
    Pav,
    /// Isotonic regression with slopes at most 1, as in the analysis of Kakade et al.
    Lipschitz,
}

/// Beyond the data the link goes to 0 and to 1 with this slope.
const END_SLOPE: f64 = 1.0;

by_gradient_steps! {
    /// SLIsotron.
    pub struct Slisotron {
        /// The regression of Step 4.
        pub isotonic: Isotonic => with_isotonic,
    }
    tol: 1e-6, this => Automatic::Lipschitz(END_SLOPE)
}

impl Slisotron {
    /// With the given regression and defaults for the rest.
    pub fn new(isotonic: Isotonic) -> Self {
        Self::usual(isotonic)
    }
}

/// `w_t` and `u_t`; the predictions are with the rows.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SlisotronState {
    descent: GradientStep,
    link: IsotonicLink,
    #[cfg_attr(feature = "serde", serde(skip))]
    regression: Regression,
}

impl Trainer for Slisotron {
    type State = SlisotronState;

    fn start(&self, rows: &mut dyn Rows) -> Result<SlisotronState> {
        self.check_common()?;
        if rows.blocks().is_some() {
            // Isotonic links jump between rows: scores that are counted in cells lead elsewhere.
            return Err(Error::NeedsMemory { what: "this method" });
        }
        rows.scale(self.scaling, Intercept::Zero)?;
        // w_1 = 0: every score is 0 and the link there is the base rate.
        let descent = GradientStep::start(rows, self.step_options())?;
        let mut regression = Regression::default();
        let link = regression.fit(self.isotonic, &rows.by_score()?)?;
        rows.predict(&link)?;
        Ok(SlisotronState { descent, link, regression })
    }

    fn step(&self, state: &mut SlisotronState, rows: &mut dyn Rows) -> Stepped {
        // Step 1: w_{t+1} = w_t - η E[(u_t(w_t·x) - y) x].
        let moved = state.descent.advance(rows, self.step_options())?;
        // Steps 2 and 3: order the examples by z = w_{t+1}·x. Step 4: regress the labels on z.
        let mut by_score = rows.by_score()?;
        let next = state.regression.fit(self.isotonic, &by_score)?;
        let link = std::mem::replace(&mut state.link, next);
        let range = by_score.range();
        let moves = by_score.scores().iter().map(|&z| (state.link.u(z) - link.u(z)).abs());
        let link_change = moves.fold(0.0, f64::max);
        let loss = by_score.mean_loss(&state.link);
        by_score.predict(&state.regression.values)?;
        let steepest = match self.isotonic {
            Isotonic::Pav => f64::INFINITY,
            Isotonic::Lipschitz => 1.0,
        };
        Ok(ControlFlow::Continue(moved.iteration(loss, range, (0.0, steepest), link_change)))
    }

    fn settled(&self, history: &[Iteration]) -> Option<Termination> {
        stopping::settled(history, self.max_iter, self.tol)
    }

    fn reached<'s>(&'s self, state: &'s SlisotronState) -> (&'s [f64], Arc<dyn InverseLink>) {
        (state.descent.w(), Arc::new(state.link.clone()))
    }
}

/// The regression of the labels on the scores, with its buffers.
#[derive(Default)]
struct Regression {
    workspace: Workspace,
    weights: Vec<f64>,
    targets: Vec<f64>,
    values: Vec<f64>,
}

impl Regression {
    fn fit(&mut self, isotonic: Isotonic, rows: &ByScore<'_>) -> Result<IsotonicLink> {
        let (order, sample) = (rows.order, &rows.sample);
        order.group_weights(sample.weights(), &mut self.weights)?;
        let label = |i: usize| f64::from(sample.labels()[i]);
        order.group_means(sample.weights(), label, &mut self.targets)?;
        match isotonic {
            Isotonic::Pav => isotonic_into(&self.targets, Some(&self.weights), &mut self.values)?,
            Isotonic::Lipschitz => {
                let objective = Objective::Quadratic { targets: &self.targets };
                let problem = ChainProblem::new(order.scores(), objective)
                    .with_weights(&self.weights)
                    .with_slopes(0.0, 1.0);
                self.values.clone_from(&self.workspace.solve(&problem)?.values);
            }
        }
        through(order.scores(), &self.values)
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

/// SLIsotron, as the registry lists it.
pub(super) fn method() -> Method {
    let mut options = registry::iterations(Slisotron::TOL);
    options.push(OptionSpec::choice(
        "isotonic",
        &[("pav", "plain isotonic regression"), ("lipschitz", "with slopes at most 1")],
        "The regression of the labels on the scores",
    ));
    options.extend(registry::descent());
    Method {
        name: "slisotron",
        class: ("SlisotronClassifier", &[]),
        summary: "Weights and an isotonic link",
        options,
        build: |s, _, _| {
            let isotonic = match s.word("isotonic") {
                "lipschitz" => Isotonic::Lipschitz,
                _ => Isotonic::Pav,
            };
            Ok(Box::new(Slisotron::new(isotonic).with_settings(s)?))
        },
    }
}
