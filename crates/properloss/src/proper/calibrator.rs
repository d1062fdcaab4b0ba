//! Calibration of any scores: `p = v(sigma(a z + b))`, `a > 0`, so the ranking is strictly kept.
//!
//! ```text
//! (a, b)  the scores as they are, a temperature and Platt's sigmoid, averaged (lines.rs)
//! LINK    v on the held-out a z + b, as for the classifier                  (smooth/)
//! ```

use std::sync::Arc;

use super::certificate::LinkCost;
use super::folds::{Folds, check_count};
use super::inside;
use super::lines;
use super::pieces::deal;
use super::smooth::{self, Bins, LinkPoint, Smooth};
use crate::error::{Error, Result, binary_labels, finite, row_weights, same_length};
use crate::link::{InverseLink, RelativeLink, Sigmoid};
use crate::options::options;

/// What goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ScoreKind {
    /// Probabilities if all values lie in `[0, 1]`, else scores.
    #[default]
    Auto,
    /// Any finite numbers, larger for positives: margins, logits.
    Scores,
    /// Numbers from 0 to 1; used as `log((p + e) / (1 - p + e))` with `e = 1 / (n + 2)` and `n` the sum of the
    /// weights, so that 0 and 1 stay finite and in order.
    Probabilities,
}

impl ScoreKind {
    /// The name used in model files, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Scores => "scores",
            Self::Probabilities => "probabilities",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Auto, Self::Scores, Self::Probabilities].into_iter().find(|kind| kind.name() == name)
    }
}

options! {
    /// Options of the calibrator; the defaults need no thought.
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct Calibrator {
        /// Who is held out with whom.
        pub folds: Folds => with_folds,
        /// Scores or probabilities.
        pub kind: ScoreKind => with_kind,
        /// The strengths of smoothness that are weighed beside the sigmoid itself, decreasing.
        pub smoothness: Vec<f64> => with_smoothness,
        /// Deal stratified folds by the weight of every score and label, whatever rows it comes from: weight 2
        /// is the row twice, in any order. A row may then be in more than one fold, with a part of its weight.
        pub by_weight: bool => dealing_by_weight = true,
    }
}

impl Default for Calibrator {
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            kind: ScoreKind::default(),
            smoothness: smooth::default_smoothness(),
            by_weight: false,
        }
    }
}

/// A fitted calibration.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Calibration {
    /// `e` of [`ScoreKind::Probabilities`]; `None` where scores went in.
    pub margin: Option<f64>,
    /// `a`, positive.
    pub slope: f64,
    /// `b`.
    pub intercept: f64,
    /// `v o sigma`, applied to `a z + b`.
    pub link: Arc<RelativeLink>,
    /// Largest slope ratio `tau` of the averaged link. *Guarantee*: at every score the log-loss is at
    /// most that of `sigma(a z + b)` plus `log tau`, and `tau` is below [`smooth::TAU`].
    pub slope_ratio: f64,
    /// The sigmoid and every smoothness with its cross-fitted log-loss and weight.
    pub links: Vec<LinkPoint>,
    /// Held-out log-loss of the sigmoid alone, and of the result.
    pub held_out_log_loss: [f64; 2],
    /// What the link cost on held-out rows, beside the sigmoid alone.
    pub link_cost: LinkCost,
}

impl Calibrator {
    /// Fits to scores that the labels were *not* used for (held-out ones).
    pub fn fit(
        &self,
        scores: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
    ) -> Result<Calibration> {
        smooth::check_smoothness(&self.smoothness)?;
        let ones;
        let weights = match weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; scores.len()];
                &ones
            }
        };
        check(scores, labels, weights)?;
        let margin = self.margin(scores, weights.iter().sum())?;
        let z: Vec<f64> = scores.iter().map(|&s| from_probability(s, margin)).collect();
        if let (true, Folds::Stratified { count, seed }) = (self.by_weight, &self.folds)
            && has_both(labels, weights)
        {
            let classes: Vec<u32> = labels.iter().map(|&label| label.into()).collect();
            let deal = deal((scores, 1), &classes, weights, (check_count(*count)?, *seed), true);
            if deal.classes < 2 {
                return platt_alone(&z, labels, weights, margin);
            }
            let (folds, z, labels) =
                (Folds::Given(deal.folds.clone()), deal.of(&z), deal.of(labels));
            return self.cross_fit(&z, &labels, &deal.weights, &folds, margin);
        }
        self.cross_fit(&z, labels, weights, &self.folds, margin)
    }

    fn cross_fit(
        &self,
        z: &[f64],
        labels: &[u8],
        weights: &[f64],
        folds: &Folds,
        margin: Option<f64>,
    ) -> Result<Calibration> {
        let folds = match folds.assign(labels, weights) {
            // One row of a class: nothing can be held out, Platt's sigmoid is all there is.
            Err(Error::ClassTooSmall { .. }) if has_both(labels, weights) => {
                return platt_alone(z, labels, weights, margin);
            }
            folds => folds?,
        };

        let lines = lines::fit(z, labels, weights, &folds)?;
        let held_out: Vec<f64> = (0..z.len())
            .map(|i| {
                let [a, b] = lines.of_fold[folds.of_row[i] as usize];
                a * z[i] + b
            })
            .collect();
        let bins = Bins::of_rows(&held_out, labels, weights, &folds.of_row)?;
        let smooth = Smooth { smoothness: self.smoothness.clone(), ..Smooth::default() };
        let link = smooth.fit(&bins)?;
        let total: f64 = weights.iter().sum();
        let link_cost = LinkCost::of(&link, total)?;
        let relative = RelativeLink::new(Arc::new(Sigmoid), link.v)?;
        let [slope, intercept] = lines.of_fold[folds.count];
        Ok(Calibration {
            margin,
            slope,
            intercept,
            slope_ratio: relative.slope_ratio(),
            link: Arc::new(relative),
            links: link.points,
            held_out_log_loss: [lines.log_loss / total, -link.score / total],
            link_cost,
        })
    }

    fn margin(&self, scores: &[f64], rows: f64) -> Result<Option<f64>> {
        let outside = scores.iter().position(|s| !(0.0..=1.0).contains(s));
        match (self.kind, outside) {
            (ScoreKind::Scores, _) | (ScoreKind::Auto, Some(_)) => Ok(None),
            (ScoreKind::Probabilities, Some(index)) => Err(Error::ElementOutOfDomain {
                what: "probabilities",
                index,
                value: scores[index],
                expected: "from 0 to 1",
            }),
            (_, None) => Ok(Some(1.0 / (rows + 2.0))),
        }
    }
}

impl Calibration {
    /// `P(y = 1)` for a score, strictly between 0 and 1.
    pub fn probability(&self, score: f64) -> f64 {
        inside(self.link.u(self.slope * self.log_odds(score) + self.intercept))
    }

    /// What the line is applied to: a score as it is, a probability as its log-odds.
    pub(super) fn log_odds(&self, score: f64) -> f64 {
        from_probability(score, self.margin)
    }

    /// [`Self::probability`] for many scores, which must be finite.
    pub fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>> {
        finite("scores", scores)?;
        Ok(scores.iter().map(|&score| self.probability(score)).collect())
    }
}

/// The score of a probability; a score stays as it is.
fn from_probability(s: f64, margin: Option<f64>) -> f64 {
    match margin {
        None => s,
        Some(e) => {
            let p = s.clamp(0.0, 1.0);
            ((p + e) / ((1.0 - p) + e)).ln()
        }
    }
}

pub(super) fn check(scores: &[f64], labels: &[u8], weights: &[f64]) -> Result<()> {
    for (what, length) in [("labels", labels.len()), ("weights", weights.len())] {
        same_length((what, length), ("scores", scores.len()))?;
    }
    finite("scores", scores)?;
    binary_labels(labels)?;
    row_weights(weights)
}

fn has_both(labels: &[u8], weights: &[f64]) -> bool {
    [0, 1].iter().all(|y| labels.iter().zip(weights).any(|(label, w)| label == y && *w > 0.0))
}

/// Platt's sigmoid on all rows, with the identity for `v` and its loss on the rows themselves.
fn platt_alone(
    z: &[f64],
    labels: &[u8],
    weights: &[f64],
    margin: Option<f64>,
) -> Result<Calibration> {
    let (line, log_loss) = lines::platt_alone(z, labels, weights)?;
    Ok(Calibration {
        margin,
        slope: line[0],
        intercept: line[1],
        slope_ratio: 1.0,
        link: Arc::new(RelativeLink::new(Arc::new(Sigmoid), smooth::identity()?)?),
        links: vec![LinkPoint {
            smoothness: f64::INFINITY,
            slope_ratio: 1.0,
            log_loss,
            score: 0.0,
            weight: 1.0,
        }],
        held_out_log_loss: [log_loss; 2],
        link_cost: LinkCost::default(),
    })
}
