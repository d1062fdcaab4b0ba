//! Weights under a given loss, learned or built in: the transfer of a loss to a new task.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::settings::NOT_NEGATIVE;
use super::{
    Checked, Estimator, Fit, Iteration, Kind, Method, Observer, OptionSpec, Settings, Step,
    Stepped, Termination, Trainer, registry, run,
};
use crate::design::{Intercept, Scaling};
use crate::error::{Error, Result};
use crate::link::{InverseLink, LinkSpec};
use crate::loss::LossKind;
use crate::optimize::{Newton, Problem, Solver};
use crate::options::options;
use crate::rows::{Local, Rows, Shape};
use crate::sample::Sample;

options! {
    /// Minimises `E[loss(y, w·x + b)] + l2/2 |w|²` for a proper loss of a given link: the canonical one
    /// where it is finite, else log-loss under the link ([`Loss::of_link`](crate::loss::Loss::of_link)), or whichever is asked for.
    ///
    /// With the sigmoid this is logistic regression: scikit-learn's `C` is `1 / (l2 * sum of weights)`.
    /// A canonical loss makes the problem convex; log-loss under a link need not, and the run then ends in
    /// the minimum next to its start. It ends when the norm of the gradient is at most `tol`, or at the
    /// limit of rounding.
    ///
    /// A link that does not reach 0 and 1 (a floor under the probabilities: noisy labels), or too slowly
    /// (Cauchy), has its canonical loss up to a constant only, `U(z) - y z`, with no lower bound. It is
    /// convex all the same, and can be asked for with `l2 > 0`.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct CanonicalLossTrainer {
        /// The link whose loss is minimised.
        pub link: Arc<dyn InverseLink> => with_link,
        /// Which of its losses.
        pub kind: LossKind => with_kind,
        /// Penalty on the weights; the intercept is free.
        pub l2: f64 => with_l2,
        /// At most this many Newton steps.
        pub max_iter: usize => with_max_iter,
        /// The gradient norm to reach. The coefficients are then within `tol / l2` of the minimum; a
        /// Newton step costs little and gains half the digits.
        pub tol: f64 => with_tol,
        /// How features are scaled. The penalty applies to the weights of the scaled features.
        pub scaling: Scaling => with_scaling,
        /// Whether an intercept is learned.
        pub intercept: Intercept => with_intercept,
        /// Where to start, in the coordinates of the scaled features, the intercept last; zeros if
        /// absent.
        pub warm_start: Option<Vec<f64>> => with_warm_start,
        /// How Newton steps are solved for.
        pub solver: Solver => with_solver,
    }
}

impl CanonicalLossTrainer {
    /// With the loss of the given link and defaults for the rest.
    pub fn new(link: Arc<dyn InverseLink>) -> Self {
        Self {
            kind: LossKind::of(&*link),
            link,
            l2: 0.0,
            max_iter: 200,
            tol: 1e-10,
            scaling: Scaling::default(),
            intercept: Intercept::Learned,
            warm_start: None,
            solver: Solver::Auto,
        }
    }

    /// Trains; the observer sees every Newton step and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        run(self, &mut Local::new(sample), None, observer)
    }

    fn problem(&self) -> Problem<'_> {
        Problem { link: &*self.link, kind: self.kind, l2: self.l2 }
    }
}

impl Trainer for CanonicalLossTrainer {
    type State = Newton;

    fn start(&self, rows: &mut dyn Rows) -> Result<Newton> {
        super::check_common(self.max_iter, self.tol, Step::Auto, self.l2, None)?;
        // Without a lower bound of the loss only the penalty holds the weights.
        let unbounded = LossKind::of(&*self.link) == LossKind::Composite;
        if self.l2 == 0.0 && self.kind == LossKind::Canonical && unbounded {
            return Err(Error::NeedsPenalty { link: self.link.spec().name() });
        }
        rows.scale(self.scaling, self.intercept)?;
        let zeros = vec![0.0; rows.dimension()];
        let start = self.warm_start.as_ref().unwrap_or(&zeros);
        Newton::start(&self.problem(), rows, start, self.solver)
    }

    fn resumed(&self, state: &mut Newton, rows: &mut dyn Rows) -> Result<()> {
        state.refresh(&self.problem(), rows)
    }

    fn step(&self, state: &mut Newton, rows: &mut dyn Rows) -> Stepped {
        if state.at().gradient_norm <= self.tol {
            return Ok(ControlFlow::Break(Termination::Converged));
        }
        if state.at().iteration >= self.max_iter {
            return Ok(ControlFlow::Break(Termination::MaxIter));
        }
        let before = state.w().to_vec();
        if !state.step(&self.problem(), rows, self.tol)? {
            return Ok(ControlFlow::Break(Termination::Stalled));
        }
        let (score_min, score_max) = rows.reach(0.0)?;
        Ok(ControlFlow::Continue(Iteration {
            iteration: 0,
            loss: state.at().value,
            gap: state.at().gradient_norm,
            step: state.at().step,
            score_min,
            score_max,
            slope_min: 0.0,
            slope_max: f64::INFINITY,
            link_change: 0.0,
            weight_change: relative_change(&before, state.w()),
        }))
    }

    /// The next step looks at the gradient first. Under a piecewise link the gradient jumps at the
    /// knots and need not get below `tol`: the run is over too when ten steps together did not
    /// lower the loss beyond rounding (with `tol = 0`: never).
    fn settled(&self, history: &[Iteration]) -> Option<Termination> {
        const STEPS: usize = 10;
        let [.., last] = history else { return None };
        let before = history.len().checked_sub(STEPS + 1)?;
        let rounding = 1e-13 * last.loss.abs().max(1.0);
        (self.tol > 0.0 && history[before].loss - last.loss <= rounding)
            .then_some(Termination::Stalled)
    }

    fn reached<'s>(&'s self, state: &'s Newton) -> (&'s [f64], Arc<dyn InverseLink>) {
        (state.w(), self.link.clone())
    }

    fn vectors<'s>(&'s self, state: &'s Newton) -> Vec<&'s [f64]> {
        state.vectors().to_vec()
    }
}

/// `|w - v| / |w|`.
fn relative_change(v: &[f64], w: &[f64]) -> f64 {
    let moved: f64 = v.iter().zip(w).map(|(v, w)| (w - v) * (w - v)).sum();
    let length: f64 = w.iter().map(|w| w * w).sum();
    moved.sqrt() / length.sqrt().max(f64::MIN_POSITIVE)
}

/// The minimum of a canonical loss, as the registry lists it; `logistic` has the sigmoid.
pub(super) fn method(name: &'static str) -> Method {
    let logistic = name == "logistic";
    let mut options = vec![
        OptionSpec::new(
            "l2",
            NOT_NEGATIVE,
            "The penalty l2/2 |w|^2 on the weights of the scaled features, beside the mean loss; \
             by default one over the rows",
        ),
        registry::max_iter(200),
        registry::tol(1e-10, "The norm of the gradient to reach"),
        registry::scaling(),
        registry::fit_intercept(),
        OptionSpec::choice(
            "solver",
            &[
                ("auto", "whichever is cheaper"),
                ("newton-cholesky", "the matrix is formed and factorised"),
                ("newton-cg", "conjugate gradients"),
            ],
            "How Newton steps are found",
        ),
    ];
    if !logistic {
        options.insert(0, OptionSpec::new("link", Kind::Link, "The link whose loss is minimised"));
        options.insert(
            1,
            OptionSpec::choice(
                "loss_kind",
                &[
                    ("auto", "canonical where that is finite, else composite"),
                    ("canonical", "the loss whose own link it is; convex"),
                    ("composite", "log-loss under the link"),
                ],
                "Which loss of the link",
            ),
        );
    }
    Method {
        name,
        class: ("CanonicalLossClassifier", if logistic { &[("loss", "sigmoid")] } else { &[] }),
        summary: if logistic {
            "Logistic regression: `canonical` with the sigmoid"
        } else {
            "Weights under the loss of a fixed link, to the minimum"
        },
        options,
        build: if logistic {
            |s, all, shape| build(LinkSpec::builtin("sigmoid").build()?, s, all, shape)
        } else {
            |s, all, shape| match s.link("link") {
                Some(link) => build(link.build()?, s, all, shape),
                None => Err(Error::Option {
                    option: "link".into(),
                    value: "missing".into(),
                    expected: "a link; the method logistic has the sigmoid".into(),
                }),
            }
        },
    }
}

fn build(
    link: Arc<dyn InverseLink>,
    s: Checked<'_>,
    all: &mut Settings,
    shape: &Shape,
) -> Result<Box<dyn Estimator>> {
    // One over the rows, as is usual: without a penalty, data that a line separates have no minimum.
    let l2 = s.number("l2").unwrap_or(1.0 / shape.total_weight);
    all.insert("l2".into(), super::Value::Number(l2));
    let kind = LossKind::from_name(s.word("loss_kind")).unwrap_or(LossKind::of(&*link));
    if all.contains_key("loss_kind") {
        all.insert("loss_kind".into(), super::Value::Word(kind.name().into()));
    }
    Ok(Box::new(CanonicalLossTrainer {
        kind,
        l2,
        max_iter: s.count("max_iter").unwrap_or(200),
        tol: s.required("tol")?,
        scaling: registry::scaling_of(s),
        intercept: s.flag("fit_intercept").into(),
        solver: match s.word("solver") {
            "newton-cholesky" => Solver::Dense,
            "newton-cg" => Solver::ConjugateGradient,
            _ => Solver::Auto,
        },
        ..CanonicalLossTrainer::new(link)
    }))
}
