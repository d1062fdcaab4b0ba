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

use std::sync::Arc;

use super::{Fit, Iteration, Observer, Termination, model};
use crate::certify::Certificate;
use crate::design::{Design, Scaling};
use crate::error::{Error, Result};
use crate::link::PiecewiseLink;
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
    /// The old link at the new scores, by least squares.
    Refit,
}

/// The slopes of the schedules that keep consecutive links close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// The certified trainer. It starts at `w = 0` and `u_1(z) = clip(N z + b)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Certified {
    /// Which guarantee.
    pub schedule: Schedule,
    /// `N`: no link is ever steeper.
    pub slope_max: f64,
    /// `κ`: the candidate of the monotone schedule has slopes of at least `κ / range(z)`.
    pub slope_floor: f64,
    /// `b = u_1(0)`, in `(0, 1)`; the base rate if not given.
    pub start: Option<f64>,
    /// At most this many iterations.
    pub max_iter: usize,
    /// Ends the run when `|g| <= tol X`.
    pub tol: f64,
    /// How features are scaled.
    pub scaling: Scaling,
    /// Whether an intercept is learned; the learned link makes up for one.
    pub fit_intercept: bool,
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
            fit_intercept: false,
        }
    }
}

/// A finished run and its certificates.
#[derive(Debug, Clone)]
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
        self.check()?;
        let design = Design::new(sample, self.scaling, self.fit_intercept);
        let start = self.start.unwrap_or_else(|| sample.base_rate());
        let mut state = State::new(sample, &design, ramp(self.slope_max, start)?)?;
        let mut slopes = (self.slope_max, self.slope_max);
        let mut search = monotone::LineSearch::new(&state, self.slope_max);
        let (mut certificates, mut history) = (Vec::new(), Vec::new());

        let termination = loop {
            if certificates.len() >= self.max_iter {
                break Termination::MaxIter;
            }
            // One visit to the thread pool for many small tasks: every visit changes threads twice.
            rayon::scope(|_| state.find_gap());
            if state.gap() <= self.tol * state.max_norm() {
                break Termination::GapClosed;
            }
            let t = certificates.len() + 1;
            let outcome = rayon::scope(|_| match self.schedule {
                Schedule::Monotone { candidate, theta, freeze_after } => {
                    let options = monotone::Options {
                        candidate,
                        theta,
                        frozen: freeze_after.is_some_and(|last| t > last),
                        slope_max: self.slope_max,
                        slope_floor: self.slope_floor,
                    };
                    monotone::advance(&mut state, &mut search, options)
                }
                Schedule::Repaired { slopes: rule } => {
                    theorem::repaired(&mut state, &mut slopes, rule, self.slope_max)
                }
                Schedule::Paper { slopes: rule } => {
                    theorem::paper(&mut state, &mut slopes, rule, self.slope_max)
                }
            });
            let mut certificate = match outcome? {
                Outcome::Ended(termination) => break termination,
                Outcome::Moved(certificate) => certificate,
            };
            certificate.iteration = t;
            let least = certificates.last().map_or(f64::INFINITY, |c: &Certificate| c.least_gap);
            certificate.least_gap = least.min(certificate.gap);
            certificates.push(certificate);
            let iteration = state.iteration(&certificate);
            history.push(iteration);
            let reached = || model(&design, state.w(), Arc::new(state.link().clone()));
            if observer.observe_model(&iteration, &reached).is_break() {
                break Termination::Stopped;
            }
        };
        let model = model(&design, state.w(), Arc::new(state.link().clone()))?;
        Ok(CertifiedFit { fit: Fit { model, termination, history }, certificates })
    }

    fn check(&self) -> Result<()> {
        let domain = |what, value, expected| Err(Error::OutOfDomain { what, value, expected });
        if !(self.slope_max.is_finite() && self.slope_max > 0.0) {
            return domain("slope_max", self.slope_max, "positive and finite");
        }
        if !(self.slope_floor > 0.0 && self.slope_floor <= 1.0) {
            return domain("slope_floor", self.slope_floor, "in (0, 1]");
        }
        if let Some(start) = self.start.filter(|start| !(*start > 0.0 && *start < 1.0)) {
            return domain("start", start, "in (0, 1)");
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return domain("tol", self.tol, "0 or positive, and finite");
        }
        match self.schedule {
            Schedule::Monotone { theta, .. } if !(0.0..1.0).contains(&theta) => {
                domain("theta", theta, "in [0, 1)")
            }
            _ => Ok(()),
        }
    }
}

/// `clip(N z + b)`.
fn ramp(slope: f64, start: f64) -> Result<PiecewiseLink> {
    PiecewiseLink::from_knots(vec![-start / slope, (1.0 - start) / slope], vec![0.0, 1.0])
}

impl State<'_, '_> {
    /// The entry of the history that every trainer keeps.
    fn iteration(&self, certificate: &Certificate) -> Iteration {
        let scores = self.scores();
        Iteration {
            iteration: certificate.iteration,
            loss: certificate.loss_after,
            gap: certificate.gap,
            step: certificate.eta,
            score_min: scores[0],
            score_max: scores[scores.len() - 1],
            slope_min: certificate.slope_min,
            slope_max: certificate.slope_max,
            link_change: self.link_moved(),
            weight_change: self.weight_moved(),
        }
    }
}
