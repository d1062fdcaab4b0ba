//! BregmanTron (Algorithm 1 of the paper) and its variants: weights and link, in turns.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::gradient_step::{Automatic, GradientStep, StepOptions, by_gradient_steps};
use super::link_step::{LinkFit, LinkStep};
use super::settings::{POSITIVE, SHARE};
use super::{
    Checked, Estimator, Fit, Iteration, Kind, Method, Observer, OptionSpec, Stepped, Termination,
    Trainer, registry, run, stopping,
};
use crate::design::Intercept;
use crate::error::{Error, Result, require};
use crate::link::{InverseLink, LinkSpec, PiecewiseLink};
use crate::rows::{Local, Rows};
use crate::sample::Sample;

/// What Step 3 fits the new predictions to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The previous predictions `ŷ_t`: the paper's BregmanTron.
    Previous,
    /// Nothing: the feasible point with the least last value (the paper's `approx`).
    Approx,
    /// The labels (the paper's `label`).
    Labels,
    /// The previous link at the new scores, `u_t(w_{t+1}·x)` (`refit` by name).
    PreviousLink,
}

/// How Step 3 measures the distance to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkObjective {
    /// `E[D_{U*_t}(ŷ, target)]`, as the paper writes it. Against labels it is biased: its
    /// minimiser in a tied group is `u(mean u⁻¹(y))`, which depends on `z_min` and `z_max`.
    Bregman,
    /// `E[(ŷ - target)²] / 2`.
    Quadratic,
}

/// The slope with which `fit` continues the link beyond the data, down to 0 and up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndSlope {
    /// `n_t`: the widest link.
    Min,
    /// `N_t`: the narrowest link.
    Max,
}

by_gradient_steps! {
    /// BregmanTron and its variants.
    pub struct BregmanTron {
        /// What Step 3 fits to.
        pub target: Target => with_target,
        /// How Step 3 measures.
        pub objective: LinkObjective => with_objective,
        /// `n`, the lower slope bound; lowered to `kappa / range of the scores` where it is above that.
        pub slope_min: f64 => with_slope_min,
        /// `N`, the upper slope bound.
        pub slope_max: f64 => with_slope_max,
        /// How much of the way from 0 to 1 the lower slope bound alone may take up, in `(0, 1]`.
        pub kappa: f64 => with_kappa,
        /// The slope of the link beyond the data.
        pub end_slope: EndSlope => with_end_slope,
        /// `u_0`; by default `clip(N z + base rate)`.
        pub initial_link: Option<PiecewiseLink> => with_initial_link,
    }
    tol: 1e-5, this => Automatic::Lipschitz(this.slope_max)
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
            Target::PreviousLink => 0.1,
        };
        Self::usual(target, objective, 0.01, 1.0, kappa, EndSlope::Min, None)
    }

    fn check(&self) -> Result<()> {
        self.check_common()?;
        let (n, cap, kappa) = (self.slope_min, self.slope_max, self.kappa);
        require("slope_min", n, "positive and finite", n > 0.0 && n.is_finite())?;
        require("slope_max", cap, "finite and at least slope_min", cap >= n && cap.is_finite())?;
        require("kappa", kappa, "above 0 and at most 1", kappa > 0.0 && kappa <= 1.0)
    }
}

/// `w_t` and `u_t`; the predictions `ŷ_t` are with the rows.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BregmanTronState {
    descent: GradientStep,
    link: LinkStep,
}

impl Trainer for BregmanTron {
    type State = BregmanTronState;

    fn start(&self, rows: &mut dyn Rows) -> Result<BregmanTronState> {
        self.check()?;
        rows.scale(self.scaling, Intercept::Zero)?;
        // t = 0: w_1 = 0, all scores tie at 0, and the link is fitted to that one point.
        let descent = GradientStep::start(rows, self.step_options())?;
        let link = LinkStep::start(self, rows)?;
        rows.take_link(&**link.link())?;
        Ok(BregmanTronState { descent, link })
    }

    fn resumed(&self, state: &mut BregmanTronState, rows: &mut dyn Rows) -> Result<()> {
        rows.take_link(&**state.link.link())
    }

    fn step(&self, state: &mut BregmanTronState, rows: &mut dyn Rows) -> Stepped {
        // Step 1: w_{t+1} = w_t + η (μ_y - μ_t), a gradient step on E[D_{U_t}(w·x, u_t⁻¹(y))].
        let moved = state.descent.advance(rows, self.step_options())?;
        // Step 2: order the examples by w_{t+1}·x.
        let by_score = rows.by_score()?;
        let range = by_score.range();
        // Step 3: ŷ_{t+1}, the nearest to the target within the slope bounds.
        // Step 4: u_{t+1} = fit(ŷ_{t+1}).
        let LinkFit { slope_min, slope_max, change, loss } = state.link.fit(self, by_score)?;
        rows.take_link(&**state.link.link())?;
        Ok(ControlFlow::Continue(moved.iteration(loss, range, (slope_min, slope_max), change)))
    }

    fn settled(&self, history: &[Iteration]) -> Option<Termination> {
        stopping::settled(history, self.max_iter, self.tol)
    }

    fn reached<'s>(&'s self, state: &'s BregmanTronState) -> (&'s [f64], Arc<dyn InverseLink>) {
        (state.descent.w(), state.link.link().clone())
    }
}

/// BregmanTron and its variants, as the registry lists them.
pub(super) fn method(target: Target) -> Method {
    macro_rules! of {
        ($target:ident $name:literal $word:literal: $fit:literal) => {
            ($name, &[("target", $word)], concat!("Weights and link; ", $fit), |s, _, _| {
                build(Target::$target, s)
            })
        };
    }
    let (name, fixed, summary, build): (_, &'static [_], _, registry::Build) = match target {
        Target::Labels => of!(Labels "labels" "labels": "the link is fitted to the labels"),
        Target::PreviousLink => of!(PreviousLink "refit" "refit":
            "the link is fitted to its own previous values at the new scores"),
        Target::Approx => of!(Approx "approx" "approx":
            "any link that the slopes allow (the paper's approximation)"),
        Target::Previous => of!(Previous "bregmantron" "previous":
            "the link is fitted to the previous predictions (the paper's algorithm)"),
    };
    let defaults = BregmanTron::new(target);
    let objective = match defaults.objective {
        LinkObjective::Bregman => "bregman",
        LinkObjective::Quadratic => "quadratic",
    };
    let mut options = registry::iterations(BregmanTron::TOL);
    options.extend([
        OptionSpec::new("slope_min", POSITIVE, "The least slope of the link")
            .number(defaults.slope_min),
        OptionSpec::new("slope_max", POSITIVE, "The largest slope of the link")
            .number(defaults.slope_max),
        OptionSpec::new(
            "kappa",
            SHARE,
            "How far the least slope alone may lift the link over the range of the scores, as a \
             share of the way from 0 to 1",
        )
        .number(defaults.kappa),
        OptionSpec::choice("objective", OBJECTIVES, "How the link is fitted").word(objective),
        OptionSpec::choice(
            "end_slope",
            &[("min", "the least slope"), ("max", "the largest slope")],
            "The slope of the link beyond the data",
        ),
        OptionSpec::new(
            "initial_link",
            Kind::Link,
            "The link to start from: a line or a learned link",
        ),
    ]);
    options.extend(registry::descent());
    Method { name, class: ("BregmanTronClassifier", fixed), summary, options, build }
}

const OBJECTIVES: &[(&str, &str)] = &[
    ("bregman", "by the Bregman divergence of the previous loss"),
    ("quadratic", "by least squares"),
];

fn build(target: Target, s: Checked<'_>) -> Result<Box<dyn Estimator>> {
    let mut trainer = BregmanTron::new(target).with_settings(s)?;
    trainer.objective = match s.word("objective") {
        "bregman" => LinkObjective::Bregman,
        _ => LinkObjective::Quadratic,
    };
    trainer.slope_min = s.required("slope_min")?;
    trainer.slope_max = s.required("slope_max")?;
    trainer.kappa = s.required("kappa")?;
    trainer.end_slope = if s.word("end_slope") == "max" { EndSlope::Max } else { EndSlope::Min };
    trainer.initial_link = s.link("initial_link").map(initial_link).transpose()?;
    trainer.check()?;
    Ok(Box::new(trainer))
}

/// A first link must be piecewise affine; the clipped line is.
fn initial_link(spec: &LinkSpec) -> Result<PiecewiseLink> {
    let link = spec.build()?;
    if let Some(piecewise) = link.as_piecewise() {
        return Ok(piecewise.clone());
    }
    let (low, high) = link.support();
    if spec.name() == "clipped-line" {
        return PiecewiseLink::from_knots(vec![low, high], vec![0.0, 1.0]);
    }
    Err(Error::Option {
        option: "initial_link".into(),
        value: spec.name(),
        expected: "a line, such as clipped-line:0.5,0.5 (slope, value at 0), or a learned link"
            .into(),
    })
}
