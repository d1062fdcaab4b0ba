//! Step 1, shared by the gradient trainers: `w_{t+1} = w_t + η (μ_y - μ_t)`, then `z = X w`.

use super::{Iteration, Step};
use crate::error::Result;
use crate::link::InverseLink;
use crate::rows::{Predictions, Rows};

/// With the line search scores are updated by `z + η X g`; this often they are computed afresh,
/// so that rounding does not add up.
const REFRESH: usize = 50;
/// A line search gives up here: 2^-60 of the first trial is below rounding.
const MAX_HALVINGS: usize = 60;
/// Accuracy of `λ_max(E[x x'])`, and the power iterations it may take.
const POWER_TOLERANCE: f64 = 0.01;
const POWER_ITERATIONS: usize = 20;

/// What [`Step::Auto`] means for a trainer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Automatic {
    /// The link is fixed: a line search on its loss.
    LineSearch,
    /// The link changes, with slopes at most this: `η = 1 / (N λ_max(E[x x']))`, the step for
    /// which Lemma 2 promises a decrease under every such link. A line search would not do: the
    /// link follows the scores, so longer and longer steps only stretch the scale.
    Lipschitz(f64),
}

/// The options of Step 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepOptions {
    pub step: Step,
    pub automatic: Automatic,
    pub l2: f64,
    pub max_norm: Option<f64>,
}

/// The weights, and where their step size stands.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GradientStep {
    w: Vec<f64>,
    eta: f64,
    line_search: bool,
    grow: bool,
    since_refresh: usize,
}

/// What a gradient step did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub eta: f64,
    /// `|g|`, with `g = μ_y - μ_t - l2 w`.
    pub gap: f64,
    /// `|w_{t+1} - w_t| / |w_{t+1}|`.
    pub weight_change: f64,
}

impl Moved {
    /// The iteration that this step began; the run numbers it.
    pub(super) fn iteration(
        self,
        loss: f64,
        (score_min, score_max): (f64, f64),
        (slope_min, slope_max): (f64, f64),
        link_change: f64,
    ) -> Iteration {
        let Self { eta: step, gap, weight_change } = self;
        Iteration {
            iteration: 0,
            loss,
            gap,
            step,
            score_min,
            score_max,
            slope_min,
            slope_max,
            link_change,
            weight_change,
        }
    }
}

/// A trainer by gradient steps: its own options and those that all of them have, with their usual values, `fit`, and
/// the options of the step.
macro_rules! by_gradient_steps {
    (
        $(#[$of:meta])*
        pub struct $trainer:ident {
            $( $(#[$about:meta])* pub $field:ident: $type:ty => $set:ident ),+ $(,)?
        }
        tol: $tol:expr, $this:ident => $automatic:expr
    ) => {
        crate::options::options! {
            $(#[$of])*
            #[derive(Debug, Clone)]
            #[non_exhaustive]
            pub struct $trainer {
                $( $(#[$about])* pub $field: $type => $set, )+
                /// At most this many iterations.
                pub max_iter: usize => with_max_iter,
                /// Stops when the loss changes by less than this, relatively, and the weights by less than its
                /// square root; 0: never.
                pub tol: f64 => with_tol,
                /// The step size of Step 1.
                pub step: crate::train::Step => with_step,
                /// Penalty `l2/2 |w|²` added to the mean loss; an intercept is free.
                pub l2: f64 => with_l2,
                /// Bound on `|w|`, kept by projection.
                pub max_norm: Option<f64> => with_max_norm,
                /// How features are scaled.
                pub scaling: crate::design::Scaling => with_scaling,
            }
        }

        impl $trainer {
            const TOL: f64 = $tol;

            fn usual($($field: $type),+) -> Self {
                Self {
                    $($field,)+
                    max_iter: 1000,
                    tol: Self::TOL,
                    step: crate::train::Step::Auto,
                    l2: 0.0,
                    max_norm: None,
                    scaling: crate::design::Scaling::default(),
                }
            }

            /// Trains; the observer sees every iteration and may stop the run.
            pub fn fit(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Fit> {
                run(self, &mut Local::new(sample), None, observer)
            }

            fn step_options(&self) -> StepOptions {
                let $this = self;
                let automatic = $automatic;
                StepOptions { step: $this.step, automatic, l2: $this.l2, max_norm: $this.max_norm }
            }

            fn check_common(&self) -> Result<()> {
                crate::train::check_common(self.max_iter, self.tol, self.step, self.l2, self.max_norm)
            }

            /// With the common options as they were set.
            fn with_settings(mut self, s: crate::train::Checked<'_>) -> Result<Self> {
                self.max_iter = s.count("max_iter").unwrap_or(self.max_iter);
                self.tol = s.required("tol")?;
                self.step = crate::train::registry::step_of(s);
                self.l2 = s.required("l2")?;
                self.max_norm = s.number("max_norm");
                self.scaling = crate::train::registry::scaling_of(s);
                Ok(self)
            }
        }
    };
}

pub(super) use by_gradient_steps;

impl GradientStep {
    /// At `w = 0`, where every score is 0.
    pub(super) fn start(rows: &mut dyn Rows, options: StepOptions) -> Result<Self> {
        let curvature = |rows: &mut dyn Rows, lipschitz: f64| -> Result<f64> {
            let norm = rows.spectral_norm(POWER_TOLERANCE, POWER_ITERATIONS)?;
            let bound = (norm.estimate * (1.0 + 2.0 * POWER_TOLERANCE)).min(norm.upper_bound);
            Ok((lipschitz * bound).max(f64::MIN_POSITIVE))
        };
        let (eta, line_search) = match (options.step, options.automatic) {
            (Step::Paper, _) => (1.0, false),
            (Step::Constant(eta), _) => (eta, false),
            (Step::Auto, Automatic::LineSearch) => (1.0 / curvature(rows, 1.0)?, true),
            (Step::Auto, Automatic::Lipschitz(n)) => {
                (1.0 / (curvature(rows, n)? + options.l2), false)
            }
        };
        let w = vec![0.0; rows.dimension()];
        rows.score(&w)?;
        Ok(Self { w, eta, line_search, grow: false, since_refresh: 0 })
    }

    pub(super) fn w(&self) -> &[f64] {
        &self.w
    }

    /// One gradient step from the predictions that Step 3 left with the rows.
    pub(super) fn advance(&mut self, rows: &mut dyn Rows, options: StepOptions) -> Result<Moved> {
        let gradient = self.gradient(rows, Predictions::Kept, options.l2)?;
        self.update(rows, &gradient, options.max_norm, true)
    }

    /// One gradient step under a fixed link.
    pub(super) fn advance_under(
        &mut self,
        rows: &mut dyn Rows,
        link: &dyn InverseLink,
        options: StepOptions,
    ) -> Result<Moved> {
        let gradient = self.gradient(rows, Predictions::Of(link.into()), options.l2)?;
        let gap = norm(&gradient);
        let mut fresh = true;
        if self.line_search && gap > 0.0 {
            rows.direct(&gradient)?;
            self.eta = self.search(rows, link, &gradient, options.l2)?;
            fresh = self.since_refresh >= REFRESH;
        }
        self.update(rows, &gradient, options.max_norm, fresh)
    }

    /// `g = μ_y - μ_t - l2 w`, the intercept free.
    fn gradient(
        &self,
        rows: &mut dyn Rows,
        predictions: Predictions<'_>,
        l2: f64,
    ) -> Result<Vec<f64>> {
        let mut gradient = rows.gap(predictions)?;
        if l2 > 0.0 {
            for (g, w) in gradient.iter_mut().zip(&self.w).take(rows.shape().columns) {
                *g -= l2 * w;
            }
        }
        Ok(gradient)
    }

    /// `w <- w + η g`, and the scores with it.
    fn update(
        &mut self,
        rows: &mut dyn Rows,
        gradient: &[f64],
        max_norm: Option<f64>,
        fresh: bool,
    ) -> Result<Moved> {
        let eta = self.eta;
        let mut moved = 0.0;
        for (w, g) in self.w.iter_mut().zip(gradient) {
            *w += eta * g;
            moved += (eta * g) * (eta * g);
        }
        let projected = self.project(rows.shape().columns, max_norm);
        if fresh || projected {
            rows.score(&self.w)?;
            self.since_refresh = 0;
        } else {
            rows.advance(eta)?;
            self.since_refresh += 1;
        }
        let weight_change = moved.sqrt() / norm(&self.w).max(f64::MIN_POSITIVE);
        Ok(Moved { eta, gap: norm(gradient), weight_change })
    }

    /// The largest trial of `2 η, η, η/2, ...` with `l(w + η g) <= l(w) - η |g|² / 2`. Apart from the
    /// search of `optimize/`, which starts at a Newton step and asks for slopes: here a loss is all that is known.
    fn search(
        &mut self,
        rows: &mut dyn Rows,
        link: &dyn InverseLink,
        gradient: &[f64],
        l2: f64,
    ) -> Result<f64> {
        let columns = rows.shape().columns;
        let (w, g) = (&self.w[..columns], &gradient[..columns]);
        let (ww, wg, gg) = (dot(w, w), dot(w, g), dot(g, g));
        let gap = norm(gradient);
        let mut objective = |eta: f64| -> Result<f64> {
            let penalty = 0.5 * l2 * (ww + 2.0 * eta * wg + eta * eta * gg);
            Ok(penalty + rows.loss(link, eta)?)
        };
        let start = objective(0.0)?;
        // Differences below the rounding of the loss itself carry no information.
        let rounding = 64.0 * f64::EPSILON * start.abs();
        let mut eta = if self.grow { 2.0 * self.eta } else { self.eta };
        for halving in 0..MAX_HALVINGS {
            if objective(eta)? <= start - 0.5 * eta * gap * gap + rounding {
                self.grow = halving == 0;
                return Ok(eta);
            }
            eta *= 0.5;
        }
        self.grow = true;
        Ok(eta)
    }

    /// Scales the weights (not the intercept) back to `max_norm`; says whether it did.
    fn project(&mut self, columns: usize, max_norm: Option<f64>) -> bool {
        let w = &mut self.w[..columns];
        let length = norm(w);
        match max_norm {
            Some(bound) if length > bound => {
                w.iter_mut().for_each(|w| *w *= bound / length);
                true
            }
            _ => false,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Intercept, Scaling};
    use crate::link::{PiecewiseLink, Sigmoid};
    use crate::rows::Local;
    use crate::sample::{Matrix, Sample};

    const X: [f64; 10] = [0.3, -1.2, 0.8, 0.1, -0.5, 1.4, 1.1, 0.9, -0.7, -0.2];
    const Y: [u8; 5] = [1, 0, 0, 1, 0];
    const WEIGHTS: [f64; 5] = [1.0, 2.0, 0.5, 1.5, 0.0];

    fn options(step: Step) -> StepOptions {
        StepOptions { step, automatic: Automatic::LineSearch, l2: 0.0, max_norm: None }
    }

    fn local(weights: Option<&'static [f64]>) -> Local<'static> {
        Local::new(&Sample::new(Matrix::dense_f64(&X, 5, 2).unwrap(), &Y, weights).unwrap())
    }

    /// Step 1: `g = μ_y - μ_t`, and it is the negative gradient of the loss, numerically.
    #[test]
    fn the_gradient_is_the_gap_of_the_mean_operators() {
        let knots = (vec![-2.0, -0.3, 0.5, 3.0], vec![0.0, 0.25, 0.6, 1.0]);
        let piecewise = PiecewiseLink::from_knots(knots.0, knots.1).unwrap();
        let links: [&dyn InverseLink; 2] = [&Sigmoid, &piecewise];
        for link in links {
            let mut local = local(Some(&WEIGHTS));
            let rows: &mut dyn Rows = &mut local;
            rows.scale(Scaling::None, Intercept::Zero).unwrap();
            let w = [0.4, -0.3];
            let z: Vec<f64> = (0..5).map(|i| w[0] * X[2 * i] + w[1] * X[2 * i + 1]).collect();
            rows.score(&w).unwrap();
            let gap = rows.gap(Predictions::Of(link.into())).unwrap();
            // μ_y = E[y x], μ_t = E[u(z) x], by hand.
            for j in 0..2 {
                let (mut mu_y, mut mu_t) = (0.0, 0.0);
                for i in 0..5 {
                    mu_y += WEIGHTS[i] / 5.0 * f64::from(Y[i]) * X[2 * i + j];
                    mu_t += WEIGHTS[i] / 5.0 * link.u(z[i]) * X[2 * i + j];
                }
                assert!((gap[j] - (mu_y - mu_t)).abs() < 1e-15);
                // Central differences: error h² for the cube term, eps/h for rounding.
                let unit: Vec<f64> = (0..2).map(|k| f64::from(u8::from(k == j))).collect();
                rows.direct(&unit).unwrap();
                let h = 1e-5;
                let rise = rows.loss(link, h).unwrap() - rows.loss(link, -h).unwrap();
                assert!((rise / (2.0 * h) + gap[j]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_paper_step_moves_by_the_gradient_and_a_norm_bound_holds() {
        let mut local = local(None);
        let rows: &mut dyn Rows = &mut local;
        rows.scale(Scaling::None, Intercept::Learned).unwrap();
        let bounded = StepOptions { max_norm: Some(0.05), ..options(Step::Paper) };
        let mut step = GradientStep::start(rows, bounded).unwrap();
        let moved = step.advance_under(rows, &Sigmoid, bounded).unwrap();
        let norm = norm(&step.w()[..2]);
        assert!((norm - 0.05).abs() < 1e-15, "{norm}");
        // The intercept is free: E[y - 1/2] = 2/5 - 1/2.
        assert!((step.w()[2] + 0.1).abs() < 1e-15);
        assert_eq!(moved.eta, 1.0);
    }

    #[test]
    fn the_line_search_decreases_the_loss_by_what_it_promises() {
        let mut local = local(None);
        let rows: &mut dyn Rows = &mut local;
        rows.scale(Scaling::None, Intercept::Learned).unwrap();
        let mut step = GradientStep::start(rows, options(Step::Auto)).unwrap();
        let mut loss = rows.loss(&Sigmoid, 0.0).unwrap();
        for _ in 0..200 {
            let moved = step.advance_under(rows, &Sigmoid, options(Step::Auto)).unwrap();
            let next = rows.loss(&Sigmoid, 0.0).unwrap();
            assert!(next <= loss - 0.5 * moved.eta * moved.gap * moved.gap + 1e-14);
            loss = next;
        }
        // Refreshed or updated, the scores are those of the weights.
        let moved = rows.state().numbers;
        rows.score(step.w()).unwrap();
        for (fresh, z) in rows.state().numbers.iter().zip(moved) {
            assert!((fresh - z).abs() <= 1e-12 * (1.0 + z.abs()));
        }
    }
}
