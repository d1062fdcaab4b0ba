//! Weights under a given loss, learned or built in: the transfer of a loss to a new task.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::progress::Progress;
use super::{Fit, Iteration, Observer, Step, Termination, finish, model, range};
use crate::design::{Design, Scaling};
use crate::error::{Error, Result};
use crate::link::InverseLink;
use crate::loss::CanonicalLoss;
use crate::optimize::{self, CanonicalRows, Options, Problem, Solver, Stop, minimise};
use crate::sample::Sample;

/// Minimises `E[loss(y, w·x + b)] + l2/2 |w|^2` for the canonical loss of a given link.
///
/// With the sigmoid this is logistic regression: scikit-learn's `C` is `1 / (l2 * sum of weights)`.
/// The problem is convex; the run ends when the norm of the gradient is at most `tol`.
///
/// A link that does not reach 0 and 1 (a floor under the probabilities: noisy labels), or too slowly
/// (Cauchy), has its canonical loss up to a constant only, `U(z) - y z`, with no lower bound. Its
/// gradient `u(z) - y` is as good as any other; it needs `l2 > 0`.
#[derive(Debug, Clone)]
pub struct CanonicalLossTrainer {
    /// The link whose canonical loss is minimised.
    pub link: Arc<dyn InverseLink>,
    /// Penalty on the weights; the intercept is free.
    pub l2: f64,
    /// At most this many Newton steps.
    pub max_iter: usize,
    /// The gradient norm to reach. The coefficients are then within `tol / l2` of the minimum; a
    /// Newton step costs little and gains half the digits.
    pub tol: f64,
    /// How features are scaled. The penalty applies to the weights of the scaled features.
    pub scaling: Scaling,
    /// Whether an intercept is learned.
    pub fit_intercept: bool,
    /// Where to start, in the coordinates of the scaled features, the intercept last; zeros if
    /// absent.
    pub warm_start: Option<Vec<f64>>,
    /// How Newton steps are solved for.
    pub solver: Solver,
}

impl CanonicalLossTrainer {
    /// With the given link and defaults for the rest.
    pub fn new(link: Arc<dyn InverseLink>) -> Self {
        Self {
            link,
            l2: 0.0,
            max_iter: 200,
            tol: 1e-10,
            scaling: Scaling::default(),
            fit_intercept: true,
            warm_start: None,
            solver: Solver::Auto,
        }
    }

    /// Trains; the observer sees every Newton step and may stop the run.
    pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        super::check_common(self.max_iter, self.tol, Step::Auto, self.l2, None)?;
        // Without a lower bound of the loss only the penalty holds the weights.
        if self.l2 == 0.0 && CanonicalLoss::new(self.link.clone()).is_err() {
            return Err(Error::NeedsPenalty { link: self.link.spec().name() });
        }
        let design = Design::new(sample, self.scaling, self.fit_intercept);
        let start = match &self.warm_start {
            Some(start) if start.len() == design.dimension() => start.clone(),
            Some(start) => {
                return Err(Error::LengthMismatch {
                    what: "warm_start",
                    length: start.len(),
                    other: "the coefficients",
                    other_length: design.dimension(),
                });
            }
            None => vec![0.0; design.dimension()],
        };
        let rows = CanonicalRows { link: &*self.link, labels: sample.labels() };
        let problem =
            Problem { design: &design, weights: sample.weights(), loss: &rows, l2: self.l2 };
        let options =
            Options { gradient_tolerance: self.tol, max_iter: self.max_iter, solver: self.solver };

        let mut progress = Progress::new(usize::MAX, 0.0);
        let mut previous: Option<Vec<f64>> = None;
        let mut watch = |at: &optimize::Iteration, w: &[f64], z: &[f64]| {
            let change = previous.as_ref().map_or(0.0, |previous| relative_change(previous, w));
            previous = Some(w.to_vec());
            if at.iteration == 0 {
                return ControlFlow::Continue(());
            }
            let (score_min, score_max) = range(z);
            let iteration = Iteration {
                iteration: progress.next(),
                loss: at.value,
                gap: at.gradient_norm,
                step: at.step,
                score_min,
                score_max,
                slope_min: 0.0,
                slope_max: f64::INFINITY,
                link_change: 0.0,
                weight_change: change,
            };
            let reached = || model(&design, w, self.link.clone());
            match progress.record(iteration, observer, &reached) {
                ControlFlow::Break(Termination::Stopped) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        let minimum = minimise(&problem, &start, &options, &mut watch)?;
        let termination = match minimum.stop {
            Stop::Converged => Termination::Converged,
            Stop::MaxIter => Termination::MaxIter,
            Stop::Stopped => Termination::Stopped,
            Stop::Stalled => Termination::Stalled,
        };
        finish(&design, &minimum.w, self.link.clone(), termination, progress)
    }
}

/// `|w - v| / |w|`.
fn relative_change(v: &[f64], w: &[f64]) -> f64 {
    let moved: f64 = v.iter().zip(w).map(|(v, w)| (w - v) * (w - v)).sum();
    let length: f64 = w.iter().map(|w| w * w).sum();
    moved.sqrt() / length.sqrt().max(f64::MIN_POSITIVE)
}
