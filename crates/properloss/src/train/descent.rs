//! Step 1, shared by the gradient trainers: `w_{t+1} = w_t + eta (mu_y - mu_t)`, then `z = X w`.

use rayon::prelude::*;

use super::Step;
use crate::design::Design;
use crate::link::InverseLink;
use crate::sample::Sample;

/// Rows summed in one piece. Fixed, so that sums have the same bits for any number of threads.
const CHUNK: usize = 8192;
/// With the line search scores are updated by `z + eta X g`; this often they are computed afresh,
/// so that rounding does not add up.
const REFRESH: usize = 50;
/// A line search gives up here: 2^-60 of the first trial is below rounding.
const MAX_HALVINGS: usize = 60;
/// Accuracy of `lambda_max(E[x x'])`, and the power iterations it may take.
const POWER_TOLERANCE: f64 = 0.01;
const POWER_ITERATIONS: usize = 20;

/// What [`Step::Auto`] means for a trainer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Automatic {
    /// The link is fixed: a line search on its loss.
    LineSearch,
    /// The link changes, with slopes at most this: `eta = 1 / (N lambda_max(E[x x']))`, the step for
    /// which Lemma 2 promises a decrease under every such link. A line search would not do: the
    /// link follows the scores, so longer and longer steps only stretch the scale.
    Lipschitz(f64),
}

/// The options of Step 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct DescentOptions {
    pub step: Step,
    pub automatic: Automatic,
    pub l2: f64,
    pub max_norm: Option<f64>,
}

/// Weights and scores, and the buffers of a gradient step.
pub(super) struct Descent<'s, 'a> {
    sample: &'s Sample<'a>,
    design: &'s Design<'a>,
    options: DescentOptions,
    w: Vec<f64>,
    /// The scores; between [`take_predictions`](Descent::take_predictions) and Step 1 what replaces
    /// them, so that a row costs 8 bytes here.
    z: Vec<f64>,
    /// `omega_i (y_i - y_hat_i)`, for trainers that keep their scores.
    residual: Vec<f64>,
    gradient: Vec<f64>,
    /// `X g`, for the line search only.
    direction: Vec<f64>,
    eta: f64,
    grow: bool,
    since_refresh: usize,
}

/// What a gradient step did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub eta: f64,
    /// `|g|`, with `g = mu_y - mu_t - l2 w`.
    pub gap: f64,
    /// `|w_{t+1} - w_t| / |w_{t+1}|`.
    pub weight_change: f64,
}

impl<'s, 'a> Descent<'s, 'a> {
    /// At `w = 0`.
    pub fn new(sample: &'s Sample<'a>, design: &'s Design<'a>, options: DescentOptions) -> Self {
        let curvature = |lipschitz: f64| {
            let norm = design.spectral_norm(sample.weights(), POWER_TOLERANCE, POWER_ITERATIONS);
            let bound = (norm.estimate * (1.0 + 2.0 * POWER_TOLERANCE)).min(norm.upper_bound);
            (lipschitz * bound).max(f64::MIN_POSITIVE)
        };
        let (eta, line_search) = match (options.step, options.automatic) {
            (Step::Paper, _) => (1.0, false),
            (Step::Constant(eta), _) => (eta, false),
            (Step::Auto, Automatic::LineSearch) => (1.0 / curvature(1.0), true),
            (Step::Auto, Automatic::Lipschitz(n)) => (1.0 / (curvature(n) + options.l2), false),
        };
        let rows = sample.rows();
        Self {
            sample,
            design,
            options,
            w: vec![0.0; design.dimension()],
            z: vec![0.0; rows],
            residual: Vec::new(),
            gradient: vec![0.0; design.dimension()],
            direction: if line_search { vec![0.0; rows] } else { Vec::new() },
            eta,
            grow: false,
            since_refresh: 0,
        }
    }

    pub fn w(&self) -> &[f64] {
        &self.w
    }

    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// Room for the predictions of the rows, in the place of the scores.
    pub fn take_predictions(&mut self) -> &mut [f64] {
        &mut self.z
    }

    /// `omega_i (y_i - y_hat_i)` in the place of `y_hat`.
    fn to_residual(sample: &Sample<'_>, y_hat: &mut [f64]) {
        let (total, labels) = (sample.total_weight(), sample.labels());
        y_hat.par_chunks_mut(CHUNK).enumerate().for_each(|(c, chunk)| {
            for (k, r) in chunk.iter_mut().enumerate() {
                let i = c * CHUNK + k;
                *r = sample.weight(i) / total * (f64::from(labels[i]) - *r);
            }
        });
    }

    /// `mu_y - mu_t = E[(y - y_hat) x]`, with `y_hat` the current predictions.
    ///
    /// The gradient of the loss is its negative: `d/dw E[U(w·x) + U*(y) - y w·x] = mu_t - mu_y`.
    fn mean_operator_gap(&mut self, y_hat: &[f64]) {
        self.residual.clear();
        self.residual.extend_from_slice(y_hat);
        Self::to_residual(self.sample, &mut self.residual);
        self.design.adjoint(&self.residual, &mut self.gradient);
        self.penalise();
    }

    fn penalise(&mut self) {
        if self.options.l2 > 0.0 {
            let penalised = penalised(self.design);
            for j in 0..penalised {
                self.gradient[j] -= self.options.l2 * self.w[j];
            }
        }
    }

    /// One gradient step from the predictions that [`take_predictions`](Self::take_predictions)
    /// received; the scores come back to their place. Without line search.
    pub fn advance_from_predictions(&mut self) -> Moved {
        Self::to_residual(self.sample, &mut self.z);
        self.design.adjoint(&self.z, &mut self.gradient);
        self.penalise();
        self.update(norm(&self.gradient), true)
    }

    /// One gradient step under the link that made the predictions `y_hat`.
    pub fn advance(&mut self, link: &dyn InverseLink, y_hat: &[f64]) -> Moved {
        self.mean_operator_gap(y_hat);
        let gap = norm(&self.gradient);
        let mut fresh = true;
        if !self.direction.is_empty() && gap > 0.0 {
            self.design.scores(&self.gradient, &mut self.direction);
            self.eta = self.line_search(link, gap);
            fresh = self.since_refresh >= REFRESH;
        }
        self.update(gap, fresh)
    }

    /// `w <- w + eta g`, and the scores with it.
    fn update(&mut self, gap: f64, fresh: bool) -> Moved {
        let eta = self.eta;
        let mut moved = 0.0;
        for (w, g) in self.w.iter_mut().zip(&self.gradient) {
            *w += eta * g;
            moved += (eta * g) * (eta * g);
        }
        let projected = self.project();
        if fresh || projected {
            self.design.scores(&self.w, &mut self.z);
            self.since_refresh = 0;
        } else {
            for (z, v) in self.z.iter_mut().zip(&self.direction) {
                *z += eta * v;
            }
            self.since_refresh += 1;
        }
        Moved { eta, gap, weight_change: moved.sqrt() / norm(&self.w).max(f64::MIN_POSITIVE) }
    }

    /// The largest trial of `2 eta, eta, eta/2, ...` with `l(w + eta g) <= l(w) - eta |g|^2 / 2`.
    fn line_search(&mut self, link: &dyn InverseLink, gap: f64) -> f64 {
        let penalised = penalised(self.design);
        let (w, g) = (&self.w[..penalised], &self.gradient[..penalised]);
        let (ww, wg, gg) = (dot(w, w), dot(w, g), dot(g, g));
        let objective = |eta: f64| {
            let penalty = 0.5 * self.options.l2 * (ww + 2.0 * eta * wg + eta * eta * gg);
            penalty + mean_loss(link, self.sample, |i| self.z[i] + eta * self.direction[i])
        };
        let start = objective(0.0);
        // Differences below the rounding of the loss itself carry no information.
        let rounding = 64.0 * f64::EPSILON * start.abs();
        let mut eta = if self.grow { 2.0 * self.eta } else { self.eta };
        for halving in 0..MAX_HALVINGS {
            if objective(eta) <= start - 0.5 * eta * gap * gap + rounding {
                self.grow = halving == 0;
                return eta;
            }
            eta *= 0.5;
        }
        self.grow = true;
        eta
    }

    /// Scales the weights (not the intercept) back to `max_norm`; says whether it did.
    fn project(&mut self) -> bool {
        let penalised = penalised(self.design);
        let length = norm(&self.w[..penalised]);
        match self.options.max_norm {
            Some(bound) if length > bound => {
                self.w[..penalised].iter_mut().for_each(|w| *w *= bound / length);
                true
            }
            _ => false,
        }
    }
}

/// The coordinates that a penalty or a norm bound touches: all but the intercept.
fn penalised(design: &Design<'_>) -> usize {
    design.dimension() - usize::from(design.has_intercept())
}

/// `E[loss(y_i, z(i))]`: `U(z)` for a negative, `int_z^inf (1 - u)` for a positive.
pub(super) fn mean_loss(
    link: &dyn InverseLink,
    sample: &Sample<'_>,
    z: impl Fn(usize) -> f64 + Sync,
) -> f64 {
    let labels = sample.labels();
    // Where the canonical loss is infinite (heavy tails: Cauchy), U(z) - y z differs from it by a
    // constant only.
    let finite = link.conjugate(1.0).is_finite();
    let partial: Vec<f64> = labels
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(c, chunk)| {
            let mut sum = 0.0;
            for (k, &label) in chunk.iter().enumerate() {
                let i = c * CHUNK + k;
                let z = z(i);
                let loss = match label {
                    0 => link.potential(z),
                    _ if finite => link.upper_potential(z),
                    _ => link.potential(z) - z,
                };
                sum += sample.weight(i) * loss;
            }
            sum
        })
        .collect();
    partial.iter().sum::<f64>() / sample.total_weight()
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
    use crate::design::Scaling;
    use crate::link::{PiecewiseLink, Sigmoid};
    use crate::sample::Matrix;

    const X: [f64; 10] = [0.3, -1.2, 0.8, 0.1, -0.5, 1.4, 1.1, 0.9, -0.7, -0.2];
    const Y: [u8; 5] = [1, 0, 0, 1, 0];
    const WEIGHTS: [f64; 5] = [1.0, 2.0, 0.5, 1.5, 0.0];

    fn options(step: Step) -> DescentOptions {
        DescentOptions { step, automatic: Automatic::LineSearch, l2: 0.0, max_norm: None }
    }

    /// Step 1: `g = mu_y - mu_t`, and it is the negative gradient of the loss, numerically.
    #[test]
    fn the_gradient_is_the_gap_of_the_mean_operators() {
        let matrix = Matrix::dense_f64(&X, 5, 2).unwrap();
        let sample = Sample::new(matrix, &Y, Some(&WEIGHTS)).unwrap();
        let design = Design::new(&sample, Scaling::None, false);
        let knots = (vec![-2.0, -0.3, 0.5, 3.0], vec![0.0, 0.25, 0.6, 1.0]);
        let piecewise = PiecewiseLink::from_knots(knots.0, knots.1).unwrap();
        let links: [&dyn InverseLink; 2] = [&Sigmoid, &piecewise];
        for link in links {
            let mut descent = Descent::new(&sample, &design, options(Step::Paper));
            descent.w.copy_from_slice(&[0.4, -0.3]);
            design.scores(&descent.w.clone(), &mut descent.z);
            let z = descent.z.clone();
            let y_hat: Vec<f64> = z.iter().map(|&z| link.u(z)).collect();
            descent.mean_operator_gap(&y_hat);
            // mu_y = E[y x], mu_t = E[u(z) x], by hand.
            for j in 0..2 {
                let (mut mu_y, mut mu_t) = (0.0, 0.0);
                for i in 0..5 {
                    mu_y += WEIGHTS[i] / 5.0 * f64::from(Y[i]) * X[2 * i + j];
                    mu_t += WEIGHTS[i] / 5.0 * link.u(z[i]) * X[2 * i + j];
                }
                assert!((descent.gradient[j] - (mu_y - mu_t)).abs() < 1e-15);
                // Central differences: error h^2 for the cube term, eps/h for rounding.
                let loss = |h: f64| mean_loss(link, &sample, |i| z[i] + h * X[2 * i + j]);
                let h = 1e-5;
                let numerical = (loss(h) - loss(-h)) / (2.0 * h);
                assert!((numerical + descent.gradient[j]).abs() < 1e-9, "{numerical}");
            }
        }
    }

    #[test]
    fn a_paper_step_moves_by_the_gradient_and_a_norm_bound_holds() {
        let matrix = Matrix::dense_f64(&X, 5, 2).unwrap();
        let sample = Sample::new(matrix, &Y, None).unwrap();
        let design = Design::new(&sample, Scaling::None, true);
        let bounded = DescentOptions { max_norm: Some(0.05), ..options(Step::Paper) };
        let mut descent = Descent::new(&sample, &design, bounded);
        let moved = descent.advance(&Sigmoid, &[0.5; 5]);
        let norm = norm(&descent.w()[..2]);
        assert!((norm - 0.05).abs() < 1e-15, "{norm}");
        // The intercept is free: E[y - 1/2] = 2/5 - 1/2.
        assert!((descent.w()[2] + 0.1).abs() < 1e-15);
        assert_eq!(moved.eta, 1.0);
    }

    #[test]
    fn the_line_search_decreases_the_loss_by_what_it_promises() {
        let matrix = Matrix::dense_f64(&X, 5, 2).unwrap();
        let sample = Sample::new(matrix, &Y, None).unwrap();
        let design = Design::new(&sample, Scaling::None, true);
        let mut descent = Descent::new(&sample, &design, options(Step::Auto));
        let mut loss = mean_loss(&Sigmoid, &sample, |i| descent.z()[i]);
        for _ in 0..200 {
            let y_hat: Vec<f64> = descent.z().iter().map(|&z| Sigmoid.u(z)).collect();
            let moved = descent.advance(&Sigmoid, &y_hat);
            let next = mean_loss(&Sigmoid, &sample, |i| descent.z()[i]);
            assert!(next <= loss - 0.5 * moved.eta * moved.gap * moved.gap + 1e-14);
            loss = next;
        }
        // Refreshed or updated, the scores are those of the weights.
        let mut fresh = vec![0.0; 5];
        design.scores(descent.w(), &mut fresh);
        for (fresh, z) in fresh.iter().zip(descent.z()) {
            assert!((fresh - z).abs() <= 1e-12 * (1.0 + z.abs()));
        }
    }
}
