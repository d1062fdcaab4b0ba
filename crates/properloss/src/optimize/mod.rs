//! Smooth minimisation over linear scores.
//!
//! ```text
//! minimise  f(w) = E[φ_i(w·x̃_i)] + (l2/2) |w|²        (the intercept is not penalised)
//! ```
//! where `E` is the weighted mean over the rows and `φ` a proper loss of a link: the canonical one, with
//! slope `u(z) - y` and curvature `u'(z)`, or log-loss under the link, with Fisher's curvature.
//!
//! The method is a damped Newton iteration. The step solves `(H + D) p = -g`, densely where that is
//! cheaper and by conjugate gradients elsewhere; along `p` only the scores move, `z + t X̃p`, so the
//! line search does not touch X. For a piecewise-affine link `f` is piecewise quadratic and the
//! curvature jumps (and is 0 outside the support): the damping `D` keeps the step bounded there,
//! grows when steps are cut and vanishes when they are not, so the last steps are exact Newton
//! steps on one piece.

mod cholesky;
mod line_search;
mod newton;
mod step;

pub use newton::{Newton, minimise};

use std::ops::ControlFlow;

use crate::link::InverseLink;
use crate::loss::LossKind;
use crate::options::options;

/// What is minimised.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The link whose loss the rows have.
    pub link: &'a dyn InverseLink,
    /// Which of its losses.
    pub kind: LossKind,
    /// The factor of the penalty `|w|²/2`; not negative.
    pub l2: f64,
}

/// How the Newton step is solved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Solver {
    /// Dense where that is cheaper: always up to 64 coefficients, and above that once conjugate
    /// gradients have taken more passes than a dense step would.
    #[default]
    Auto,
    /// The matrix is formed and factorised: O(m d²) a step.
    Dense,
    /// Conjugate gradients: two passes over X per iteration.
    ConjugateGradient,
}

options! {
    /// When to stop, and how to step.
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[non_exhaustive]
    pub struct Options {
        /// Converged when the Euclidean norm of the gradient is at most this.
        pub gradient_tolerance: f64 => with_gradient_tolerance,
        /// At most this many Newton steps.
        pub max_iter: usize => with_max_iter,
        /// How the steps are solved for.
        pub solver: Solver => with_solver,
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { gradient_tolerance: 1e-8, max_iter: 200, solver: Solver::Auto }
    }
}

/// Where an iteration stands, before its step.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// Steps done.
    pub iteration: usize,
    /// `f(w)`.
    pub value: f64,
    /// `|f'(w)|`.
    pub gradient_norm: f64,
    /// The length `t` of the last step, 1 being a full Newton step; 0 before the first.
    pub step: f64,
    /// `-g·p` of the last step: about twice what it gained, were `f` quadratic.
    pub decrement: f64,
    /// Passes over X so far (a dense Newton matrix not counted).
    pub passes: usize,
}

/// Why a minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The gradient is small enough.
    Converged,
    /// Out of iterations.
    MaxIter,
    /// The callback asked for it.
    Stopped,
    /// No step decreases the value any further: the limit of rounding.
    Stalled,
}

/// The point found, and the evidence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Minimum {
    /// The coefficients, the intercept last if the design has one.
    pub w: Vec<f64>,
    /// Where it stands.
    pub last: Iteration,
    /// Why it ended.
    pub stop: Stop,
}

/// Called before every step and at the end with the iterate `w`; may stop the run.
pub type Watch<'a> = dyn FnMut(&Iteration, &[f64]) -> ControlFlow<()> + 'a;
