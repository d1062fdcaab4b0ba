//! LINK: `u = v o sigma`, `v` piecewise affine and smooth, slopes strictly between `1/tau` and `tau`.
//!
//! ```text
//! rows -> cells -> at most 200 bins                                                   (bins.rs, pieces.rs)
//! for j, lambda in (infinity, 3, .3, .03, .003):        (infinity: the sigmoid itself, v(p) = p)
//!     v_j = argmin - log-likelihood + lambda/2 (roughness of the slopes) + priors     (objective.rs, newton.rs)
//!     P_j = the same, cross-fitted on the folds;   S_j = log-likelihood of P_j - j/2
//! v = sum_j softmax(S)_j v_j
//! ```
//!
//! The scores are held-out ones: on training scores the link would come out too steep. All models
//! share bins and knots, so the cross-fitted ones start where the one of all rows ended.
//!
//! Slopes between `1/tau` and `tau` give `v(p) >= p/tau` and `1 - v(p) >= (1 - p)/tau`: at every
//! score the log-loss is at most that of the sigmoid plus `log tau`, no probability is 0 or 1, and
//! the order of the scores is kept.

mod banded;
mod bins;
mod bound;
mod logs;
mod newton;
mod objective;
mod pieces;

pub use bins::Bins;
pub use newton::Certificate;

use rayon::prelude::*;

use super::curve::logistic;
use super::path::softmax;
use crate::error::{Error, Result};
use crate::link::{InverseLink, Sigmoid};
use crate::options::options;
use crate::piecewise::PiecewiseAffine;
use logs::weighted_logs;
use newton::{Workspace, minimise};
use objective::Objective;
use pieces::{Layout, Pieces};

/// `tau`: slopes of `v` lie strictly between `1/tau` and `tau`.
pub const TAU: f64 = 10.0;
/// The bounds that the iterates keep, a little inside: near `p = 1` the slope between two rounded
/// knots is only good to some 1e-9.
const LOWEST: f64 = (1.0 + ROOM) / TAU;
const HIGHEST: f64 = TAU * (1.0 - ROOM);
const ROOM: f64 = 1e-7;
/// `kappa`.
const BARRIER: f64 = 0.1;
/// `e`.
const OTHER_CLASS: f64 = 0.4;
/// Knots are at least this far apart in log-odds, and lie between `EDGE` and `1 - EDGE`.
const GAP: f64 = 0.05;
const EDGE: f64 = 1e-6;
/// With 500 no test log-loss is better by more than its error, and a link takes twice as long.
const MAX_BINS: usize = 200;
/// What each further model costs in the score: half a nat.
pub(super) const PRICE: f64 = 0.5;

options! {
    /// Options of the smooth link.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct Smooth {
        /// The strengths `lambda` that are weighed beside the sigmoid itself, decreasing.
        pub smoothness: Vec<f64> => with_smoothness,
        /// Newton's decrement at which a minimisation ends, in nats.
        pub tolerance: f64 => with_tolerance,
    }
}

impl Default for Smooth {
    fn default() -> Self {
        // Far below the differences of a nat that the weights react to.
        Self { smoothness: default_smoothness(), tolerance: 1e-4 }
    }
}

/// The default strengths.
pub(super) fn default_smoothness() -> Vec<f64> {
    vec![3.0, 0.3, 0.03, 0.003]
}

/// One of the links that were weighed.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LinkPoint {
    /// `lambda`; infinite for the sigmoid itself.
    pub smoothness: f64,
    /// The smallest `tau` with all slopes of its `v` in `[1/tau, tau]`.
    pub slope_ratio: f64,
    /// Mean log-loss of the cross-fitted probabilities.
    pub log_loss: f64,
    /// `S`: minus the summed log-loss, minus the price of the model.
    pub score: f64,
    /// Weight in the average; they sum to 1.
    pub weight: f64,
}

/// The averaged link, and how likely it made what it did not see.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SmoothLink {
    /// `v` on `[0, 1]`; its slopes lie strictly between `1/TAU` and [`TAU`].
    pub v: PiecewiseAffine,
    /// The sigmoid, then every strength.
    pub points: Vec<LinkPoint>,
    /// `v` of each of them at the knots of the fit, and how its minimisation ended.
    pub models: Vec<(PiecewiseAffine, Certificate)>,
    /// The summed log-likelihood of the averaged cross-fitted probabilities.
    pub score: f64,
}

impl SmoothLink {
    /// The smallest `tau` with all slopes of `v` in `[1/tau, tau]`.
    ///
    /// *Guarantee*: at every score the log-loss is at most that of the sigmoid plus `log` of this,
    /// which is below `log` [`TAU`].
    pub fn slope_ratio(&self) -> f64 {
        slope_ratio(&self.v)
    }
}

pub(super) fn slope_ratio(v: &PiecewiseAffine) -> f64 {
    let (low, high) = v.slope_range();
    high.max(1.0 / low).max(1.0)
}

/// Strengths must be positive, finite and decreasing; none at all leaves the sigmoid.
pub(super) fn check_smoothness(values: &[f64]) -> Result<()> {
    for (index, &value) in values.iter().enumerate() {
        let decreasing = index == 0 || value < values[index - 1];
        if !((1e-9..=1e9).contains(&value) && decreasing) {
            let what = "smoothness";
            let expected = "from 1e-9 to 1e9, and less than the strength before it";
            return Err(Error::ElementOutOfDomain { what, index, value, expected });
        }
    }
    Ok(())
}

impl Smooth {
    /// Fits every strength, on all rows and cross-fitted, and averages.
    pub fn fit(&self, bins: &Bins) -> Result<SmoothLink> {
        check_smoothness(&self.smoothness)?;
        let layout = Layout::new(bins)?;
        let folds = layout.outside.len() - 1;
        let whole = self.models(&layout, folds, None);
        let crossed: Vec<Vec<Model>> =
            (0..folds).into_par_iter().map(|k| self.models(&layout, k, Some(&whole))).collect();

        let held_out = HeldOut::new(bins, &layout.pieces, &crossed, 1 + self.smoothness.len());
        let losses = held_out.losses();
        let scores: Vec<f64> =
            losses.iter().enumerate().map(|(j, loss)| -loss - PRICE * j as f64).collect();
        let weights = softmax(&scores);
        let score = -held_out.average_loss(&weights);

        let knots = &layout.pieces.knots;
        let mut models = vec![(identity()?, Certificate { steps: 0, decrement: 0.0 })];
        for model in whole {
            models.push((PiecewiseAffine::new(knots.clone(), model.v)?, model.certificate));
        }
        let total = bins.total_weight();
        let strengths = std::iter::once(f64::INFINITY).chain(self.smoothness.iter().copied());
        let points = strengths
            .enumerate()
            .map(|(j, smoothness)| LinkPoint {
                smoothness,
                slope_ratio: slope_ratio(&models[j].0),
                log_loss: losses[j] / total,
                score: scores[j],
                weight: weights[j],
            })
            .collect();
        Ok(SmoothLink { v: average(knots, &models, &weights)?, points, models, score })
    }

    /// `v` for every strength, without fold `k` (or of all rows, number `folds`), each from the one
    /// before, or from the one of all rows.
    fn models(&self, layout: &Layout, k: usize, near: Option<&[Model]>) -> Vec<Model> {
        let mut work = Workspace::default();
        let mut v = layout.pieces.start();
        let mut models = Vec::with_capacity(self.smoothness.len());
        for (j, &smoothness) in self.smoothness.iter().enumerate() {
            let Layout { pieces, places, outside } = layout;
            let objective =
                Objective { pieces, places, weights: &outside[k], scale: 1.0, smoothness };
            if let Some(near) = near {
                v.clone_from(&near[j].v);
            }
            let certificate = minimise(&objective, &mut v, self.tolerance, &mut work);
            models.push(Model { v: v.clone(), certificate });
        }
        models
    }
}

/// A minimum for one strength.
#[derive(Debug, Clone)]
struct Model {
    /// At the knots.
    v: Vec<f64>,
    certificate: Certificate,
}

/// The identity: the sigmoid as it is.
pub(super) fn identity() -> Result<PiecewiseAffine> {
    PiecewiseAffine::new(vec![0.0, 1.0], vec![0.0, 1.0])
}

/// `sum_j weight_j v_j`; the identity alone keeps its two knots.
fn average(
    knots: &[f64],
    models: &[(PiecewiseAffine, Certificate)],
    weights: &[f64],
) -> Result<PiecewiseAffine> {
    if weights[0] == 1.0 {
        return identity();
    }
    // From the identity on, so that rounding leaves no end outside [0, 1].
    let at = |n: usize| {
        let moves = models.iter().zip(weights).skip(1).map(|(m, a)| a * (m.0.y()[n] - knots[n]));
        knots[n] + moves.sum::<f64>()
    };
    PiecewiseAffine::new(knots.to_vec(), (0..knots.len()).map(at).collect())
}

/// The rows under the models that did not see them: cell by cell, at the mean score of the cell.
struct HeldOut {
    /// The probability of the right label of every count, model by model; and its weight.
    likelihoods: Vec<Vec<f64>>,
    weights: Vec<f64>,
    /// The log-loss of the sigmoid, which may be too small a probability to be one.
    sigmoid: f64,
}

impl HeldOut {
    fn new(bins: &Bins, pieces: &Pieces, crossed: &[Vec<Model>], models: usize) -> Self {
        let size = bins.counts.len();
        let mut all = Self {
            likelihoods: vec![Vec::with_capacity(size); models],
            weights: Vec::with_capacity(size),
            sigmoid: 0.0,
        };
        let mut piece = 0;
        for count in &bins.counts {
            let z = count.mean();
            let p = Sigmoid.u(z);
            piece = pieces.piece_near(piece, p);
            let share = pieces.share(piece, p);
            let positive = count.positive();
            all.weights.push(count.weight);
            all.sigmoid += count.weight * logistic(z, f64::from(u8::from(positive))).loss;
            all.likelihoods[0].push(if positive { p } else { Sigmoid.u(-z) });
            for (model, likelihoods) in crossed[count.fold()].iter().zip(&mut all.likelihoods[1..])
            {
                let v = &model.v;
                let value = v[piece] + (v[piece + 1] - v[piece]) * share;
                likelihoods.push(if positive { value } else { 1.0 - value });
            }
        }
        all
    }

    /// The summed log-loss of every model.
    fn losses(&self) -> Vec<f64> {
        let others = self.likelihoods[1..].iter().map(|x| -weighted_logs(&self.weights, x));
        std::iter::once(self.sigmoid).chain(others).collect()
    }

    /// The summed log-loss of the averaged probabilities.
    fn average_loss(&self, weights: &[f64]) -> f64 {
        if weights[0] == 1.0 {
            return self.sigmoid;
        }
        let mut mean = vec![0.0; self.weights.len()];
        for (likelihoods, a) in self.likelihoods.iter().zip(weights) {
            mean.iter_mut().zip(likelihoods).for_each(|(mean, p)| *mean += a * p);
        }
        -weighted_logs(&self.weights, &mean)
    }
}
