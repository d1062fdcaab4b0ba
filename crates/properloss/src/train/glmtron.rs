//! GLMTron: gradient steps on the weights under a fixed inverse link.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::gradient_step::{Automatic, GradientStep, StepOptions, by_gradient_steps};
use super::{
    Checked, Fit, Iteration, Kind, Method, Observer, OptionSpec, Stepped, Termination, Trainer,
    registry, run, stopping,
};
use crate::design::Intercept;
use crate::error::Result;
use crate::link::{InverseLink, LinkSpec};
use crate::rows::{Local, Rows};
use crate::sample::Sample;

by_gradient_steps! {
    /// GLMTron (Kakade et al. 2011; a baseline of the paper, there with the sigmoid).
    pub struct Glmtron {
        /// The fixed inverse link.
        pub link: Arc<dyn InverseLink> => with_link,
        /// Whether an intercept is learned. A fixed link needs one.
        pub intercept: Intercept => with_intercept,
    }
    tol: 1e-6, this => Automatic::LineSearch
}

impl Glmtron {
    /// With the given link and defaults for the rest.
    pub fn new(link: Arc<dyn InverseLink>) -> Self {
        Self::usual(link, Intercept::Learned)
    }
}

impl Trainer for Glmtron {
    type State = GradientStep;

    fn start(&self, rows: &mut dyn Rows) -> Result<GradientStep> {
        self.check_common()?;
        rows.scale(self.scaling, self.intercept)?;
        GradientStep::start(rows, self.step_options())
    }

    fn step(&self, state: &mut GradientStep, rows: &mut dyn Rows) -> Stepped {
        // w <- w + η E[(y - u(w·x)) x]
        let moved = state.advance_under(rows, &*self.link, self.step_options())?;
        let range = rows.reach(0.0)?;
        let loss = rows.loss(&*self.link, 0.0)?;
        Ok(ControlFlow::Continue(moved.iteration(loss, range, (0.0, f64::INFINITY), 0.0)))
    }

    fn settled(&self, history: &[Iteration]) -> Option<Termination> {
        stopping::settled(history, self.max_iter, self.tol)
    }

    fn reached<'s>(&'s self, state: &'s GradientStep) -> (&'s [f64], Arc<dyn InverseLink>) {
        (state.w(), self.link.clone())
    }
}

/// GLMTron, as the registry lists it.
pub(super) fn method() -> Method {
    let mut options = vec![OptionSpec::new("link", Kind::Link, "The fixed link").link("sigmoid")];
    options.extend(registry::iterations(Glmtron::TOL));
    options.push(registry::fit_intercept());
    options.extend(registry::descent());
    Method {
        name: "glmtron",
        class: ("GlmtronClassifier", &[]),
        summary: "Weights under a fixed link, by gradient steps",
        options,
        build: |s, _, _| Ok(Box::new(build(s)?)),
    }
}

pub(super) fn build(s: Checked<'_>) -> Result<Glmtron> {
    let link =
        s.link("link").map_or_else(|| LinkSpec::builtin("sigmoid").build(), LinkSpec::build)?;
    Glmtron::new(link).with_intercept(s.flag("fit_intercept").into()).with_settings(s)
}
