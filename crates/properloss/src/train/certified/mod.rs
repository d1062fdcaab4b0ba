//! Certified mode: every iteration carries what it claims and what it achieved.
//!
//! | schedule | claim | can it end early? |
//! |---|---|---|
//! | [`Schedule::Monotone`] | Theorem 1: the loss falls by `(1-θ) η |g|²/2` at every iteration | no |
//! | [`Schedule::Repaired`] | Theorem 2: the paper's `p* f(δ)/n_t`, with the step and closeness that make it true | yes |
//! | [`Schedule::Paper`] | The paper's Theorem 5 as stated, which is false | yes |
//!
//! Statements and proofs: `docs/convergence.md`.

mod monotone;
mod state;
mod theorem;

use std::ops::ControlFlow;
use std::sync::Arc;

use super::settings::{POSITIVE, SHARE};
use super::{
    Fit, Iteration, Kind, Method, Observer, OptionSpec, Stepped, Termination, Trainer, registry,
    run,
};
use crate::certify::Certificate;
use crate::design::{Intercept, Scaling};
use crate::error::{Result, require};
use crate::link::{InverseLink, PiecewiseLink};
use crate::options::options;
use crate::rows::{Local, Rows};
use crate::sample::Sample;
use state::State;

/// What the candidate link of the monotone schedule is fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Candidate {
    /// The labels, by least squares: the link that predicts well.
    #[default]
    Labels,
    /// The previous predictions, by the Bregman divergence of the previous loss (the paper's Step 3).
    Previous,
    /// The old link at the new scores, by least squares (`refit` by name).
    PreviousLink,
}

/// The slopes of the schedules that keep consecutive links close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Slopes {
    /// `n_t = N_t = N`: the link stays a line and only shifts. Runs longest.
    #[default]
    Constant,
    /// `N_t/n_t` as large as the theorem allows now (`paper`), or half of that, so that the next
    /// iteration, which may allow less, can still comply (`repaired`).
    Widest,
}

/// Which guarantee is imposed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Theorem 1: a line search for Step 1, and a link damped to keep the loss falling.
    Monotone {
        /// What the candidate link is fitted to.
        candidate: Candidate,
        /// `θ ∈ [0, 1)`: the share of the decrease by Step 1 that the link may use up.
        theta: f64,
        /// The link stays as it is after this many iterations; then the weights converge.
        freeze_after: Option<usize>,
    },
    /// Theorem 2 and its corollary: `η = 1/(N_{t-1} X²)`, closeness `f(δ)`, steep ends, scores in range.
    Repaired {
        /// Constant or as wide as allowed.
        slopes: Slopes,
    },
    /// Theorem 5 and Corollary 6 of the paper as stated, `γ = 0`.
    Paper {
        /// Constant or as wide as allowed.
        slopes: Slopes,
    },
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Monotone { candidate: Candidate::default(), theta: 0.5, freeze_after: None }
    }
}

options! {
    /// The certified trainer. It starts at `w = 0` and `u_1(z) = clip(N z + b)`.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct Certified {
        /// Which guarantee.
        pub schedule: Schedule => with_schedule,
        /// `N`: no link is ever steeper.
        pub slope_max: f64 => with_slope_max,
        /// `κ`: the candidate of the monotone schedule has slopes of at least `κ / range(z)`.
        pub slope_floor: f64 => with_slope_floor,
        /// `b = u_1(0)`, in `(0, 1)`; the base rate if not given.
        pub start: Option<f64> => with_start,
        /// At most this many iterations.
        pub max_iter: usize => with_max_iter,
        /// Ends the run when `|g| <= tol X`.
        pub tol: f64 => with_tol,
        /// How features are scaled.
        pub scaling: Scaling => with_scaling,
        /// Whether an intercept is learned; the learned link makes up for one.
        pub intercept: Intercept => with_intercept,
    }
}

impl Default for Certified {
    fn default() -> Self {
        Self {
            schedule: Schedule::default(),
            slope_max: 1.0,
            slope_floor: 1e-3,
            start: None,
            max_iter: 1000,
            tol: 1e-9,
            scaling: Scaling::default(),
            intercept: Intercept::Zero,
        }
    }
}

/// A finished run and its certificates.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CertifiedFit {
    /// Model, termination and history.
    pub fit: Fit,
    /// One for each iteration.
    pub certificates: Vec<Certificate>,
}

impl CertifiedFit {
    /// The smallest observed/claimed decrease over the iterations whose claim is above rounding.
    pub fn least_ratio(&self) -> Option<f64> {
        self.certificates
            .iter()
            .filter(|c| c.claimed > 1e-12 * c.loss_before)
            .map(|c| c.observed / c.claimed)
            .min_by(f64::total_cmp)
    }
}

/// How an iteration went: on, or over without a new iterate.
enum Outcome {
    Moved(Certificate),
    Ended(Termination),
}

impl Certified {
    /// Trains; the observer sees every iteration and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<CertifiedFit> {
        let mut fit = run(self, &mut Local::new(sample), None, observer)?;
        let certificates = std::mem::take(&mut fit.certificates);
        Ok(CertifiedFit { fit, certificates })
    }

    fn check(&self) -> Result<()> {
        let (cap, floor, tol) = (self.slope_max, self.slope_floor, self.tol);
        require("slope_max", cap, "positive and finite", cap.is_finite() && cap > 0.0)?;
        require("slope_floor", floor, "in (0, 1]", floor > 0.0 && floor <= 1.0)?;
        if let Some(start) = self.start {
            require("start", start, "in (0, 1)", start > 0.0 && start < 1.0)?;
        }
        require("tol", tol, "0 or positive, and finite", tol >= 0.0 && tol.is_finite())?;
        if let Schedule::Monotone { theta, .. } = self.schedule {
            require("theta", theta, "in [0, 1)", (0.0..1.0).contains(&theta))?;
        }
        Ok(())
    }
}

/// `clip(N z + b)`.
fn ramp(slope: f64, start: f64) -> Result<PiecewiseLink> {
    PiecewiseLink::from_knots(vec![-start / slope, (1.0 - start) / slope], vec![0.0, 1.0])
}

impl Trainer for Certified {
    type State = State;

    fn start(&self, rows: &mut dyn Rows) -> Result<State> {
        self.check()?;
        rows.scale(self.scaling, self.intercept)?;
        let start = self.start.unwrap_or(rows.shape().base_rate);
        State::start(rows, ramp(self.slope_max, start)?, self.slope_max)
    }

    fn step(&self, state: &mut State, rows: &mut dyn Rows) -> Stepped {
        let t = state.certificates.len() + 1;
        if t > self.max_iter {
            return Ok(ControlFlow::Break(Termination::MaxIter));
        }
        state.find_gap(rows)?;
        if state.gap() <= self.tol * state.max_norm() {
            return Ok(ControlFlow::Break(Termination::GapClosed));
        }
        let outcome = match self.schedule {
            Schedule::Monotone { candidate, theta, freeze_after } => {
                let options = monotone::Options {
                    candidate,
                    theta,
                    frozen: freeze_after.is_some_and(|last| t > last),
                    slope_max: self.slope_max,
                    slope_floor: self.slope_floor,
                };
                monotone::advance(state, rows, options)
            }
            Schedule::Repaired { slopes } => theorem::repaired(state, rows, slopes, self.slope_max),
            Schedule::Paper { slopes } => theorem::paper(state, rows, slopes, self.slope_max),
        };
        let mut certificate = match outcome? {
            Outcome::Ended(termination) => return Ok(ControlFlow::Break(termination)),
            Outcome::Moved(certificate) => certificate,
        };
        certificate.iteration = t;
        let least = state.certificates.last().map_or(f64::INFINITY, |c| c.least_gap);
        certificate.least_gap = least.min(certificate.gap);
        state.certificates.push(certificate);
        Ok(ControlFlow::Continue(Iteration {
            iteration: t,
            loss: certificate.loss_after,
            gap: certificate.gap,
            step: certificate.eta,
            score_min: state.ends().0,
            score_max: state.ends().1,
            slope_min: certificate.slope_min,
            slope_max: certificate.slope_max,
            link_change: state.link_moved(),
            weight_change: state.weight_moved(),
        }))
    }

    /// The next step looks at the gap and the count.
    fn settled(&self, _: &[Iteration]) -> Option<Termination> {
        None
    }

    fn reached<'s>(&'s self, state: &'s State) -> (&'s [f64], Arc<dyn InverseLink>) {
        (state.w(), Arc::new(state.link().clone()))
    }

    fn vectors<'s>(&'s self, state: &'s State) -> Vec<&'s [f64]> {
        vec![state.w(), state.gradient()]
    }

    fn certificates(&self, state: &State) -> Vec<Certificate> {
        state.certificates.clone()
    }
}

/// The certified mode, as the registry lists it.
pub(super) fn method() -> Method {
    let options = vec![
        OptionSpec::choice(
            "schedule",
            &[
                ("monotone", "the loss falls at every iteration, at a proved rate"),
                ("repaired", "the paper's theorem with its conditions repaired"),
                ("paper", "the paper's theorem as stated, which is false: for comparison"),
            ],
            "Which guarantee",
        ),
        OptionSpec::choice(
            "candidate",
            &[
                ("labels", "the labels"),
                ("previous", "the previous predictions"),
                ("refit", "the old link at the new scores"),
            ],
            "What the next link is fitted to (monotone)",
        ),
        OptionSpec::new(
            "theta",
            Kind::Number { low: 0.0, low_taken: true, high: 1.0, high_taken: false },
            "How much of a decrease the link may use up (monotone)",
        )
        .number(0.5),
        OptionSpec::new(
            "freeze_after",
            Kind::Count(0),
            "Keep the link after this many iterations (monotone)",
        ),
        OptionSpec::new("slope_max", POSITIVE, "The largest slope of a link").number(1.0),
        OptionSpec::new(
            "slope_floor",
            SHARE,
            "The least slope of a link is this over the range of the scores",
        )
        .number(1e-3),
        registry::max_iter(1000),
        registry::tol(1e-9, "Stop when the gap is at most this times the largest norm of a row"),
        registry::scaling(),
    ];
    Method {
        name: "certified",
        class: ("CertifiedClassifier", &[]),
        summary: "Weights and link, with a decrease of the loss proved and checked at every iteration",
        options,
        build: |s, _, _| {
            let slopes = Slopes::default();
            let schedule = match s.word("schedule") {
                "repaired" => Schedule::Repaired { slopes },
                "paper" => Schedule::Paper { slopes },
                _ => Schedule::Monotone {
                    candidate: match s.word("candidate") {
                        "previous" => Candidate::Previous,
                        "refit" => Candidate::PreviousLink,
                        _ => Candidate::Labels,
                    },
                    theta: s.required("theta")?,
                    freeze_after: s.count("freeze_after"),
                },
            };
            Ok(Box::new(Certified {
                schedule,
                slope_max: s.required("slope_max")?,
                slope_floor: s.required("slope_floor")?,
                max_iter: s.count("max_iter").unwrap_or(1000),
                tol: s.required("tol")?,
                scaling: registry::scaling_of(s),
                ..Certified::default()
            }))
        },
    }
}
