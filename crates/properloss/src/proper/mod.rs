//! The default estimator: logistic regression whose strength and link are weighed by
//! cross-validation.
//!
//! ```text
//! PATH   w, z = the L2 path of logistic regression, averaged by held-out likelihood   (path.rs)
//! LINK   u = v o sigma, v smooth with slopes in (1/tau, tau), averaged over smoothness (smooth/)
//! REFIT  w again under u, blended in as far as held-out likelihood asks for           (refit.rs)
//! ```
//!
//! Slopes are bounded *relative to the sigmoid*, so at every score the log-loss is at most that of
//! the sigmoid plus `log tau`, no probability is 0 or 1, and the order of the scores is kept. The
//! sigmoid itself is one of the links that are weighed, and the weights come from the data.
//!
//! All fold models are fitted together, eight in a vector, one pass over the rows a step (`rows/`),
//! by L-BFGS (`descent.rs`) in the metric of their Hessians where these are known (`metric.rs`):
//! Newton's method for few columns, L-BFGS for many, the same loop.

mod accept;
mod calibrator;
mod certificate;
mod curve;
mod descent;
mod estimator;
mod folds;
mod groups;
mod linalg;
mod lines;
mod metric;
mod path;
mod pieces;
mod products;
mod refit;
mod relative;
mod rows;
pub mod smooth;
mod state;

pub(crate) use estimator::method;

pub use calibrator::{Calibration, Calibrator, ScoreKind};
pub use certificate::LinkCost;
pub use folds::Folds;
pub(crate) use folds::{Random, check_count};
pub use groups::deal_groups;
pub(crate) use groups::grouped_folds;
pub use path::PathPoint;
pub(crate) use pieces::deal;
pub use refit::Refit;
pub use rows::{BlockAnswer, BlockQuestion};
pub use smooth::LinkPoint;
pub use state::Stage;

use std::sync::Arc;

use crate::calibration_certificate::FitBound;
use crate::design::FittedScaling;
use crate::error::{Error, Result};
use crate::link::RelativeLink;
use crate::options::options;
use crate::rows::{Blocks, InBlocks, Local};
use crate::sample::{Matrix, Sample};
use crate::train::{Model, Silent, run};

options! {
    /// Options of the default estimator; the defaults need no thought.
    ///
    /// ```
    /// use properloss::proper::ProperLoss;
    /// use properloss::sample::{Matrix, Sample};
    ///
    /// let x: Vec<f64> = (0..40).map(|i| f64::from(i % 20)).collect();
    /// let y: Vec<u8> = (0..40).map(|i| u8::from(i % 20 > 9 || i == 3)).collect();
    /// let sample = Sample::new(Matrix::dense_f64(&x, 40, 1)?, &y, None)?;
    /// let fit = ProperLoss::default().fit(&sample)?;
    /// let p = fit.probabilities(&Matrix::dense_f64(&[2.0, 17.0], 2, 1)?)?;
    /// assert!(p[0] < 0.5 && 0.5 < p[1]);
    /// # Ok::<(), properloss::Error>(())
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    #[non_exhaustive]
    pub struct ProperLoss {
        /// Who is held out with whom.
        pub folds: Folds => with_folds,
        /// The loss of the second fit of the weights.
        pub refit: Refit => with_refit,
        /// Factors on the weights of the classes `[0, 1]`.
        pub class_weight: [f64; 2] => with_class_weight,
        /// `log10(C d)` of the path's strengths, increasing.
        pub grid: Vec<f64> => with_grid,
        /// The scalings of the columns that are weighed, from 1 (every column standardised) to 0 (one
        /// scale for all, as on raw data), decreasing. With 1 alone, units do not matter.
        pub scalings: Vec<f64> => with_scalings,
        /// The strengths of smoothness that are weighed beside the sigmoid itself, decreasing; none
        /// leaves the sigmoid.
        pub smoothness: Vec<f64> => with_smoothness,
    }
}

impl Default for ProperLoss {
    fn default() -> Self {
        Self {
            folds: Folds::default(),
            refit: Refit::default(),
            class_weight: [1.0, 1.0],
            grid: path::default_grid(),
            scalings: path::default_scalings(),
            smoothness: smooth::default_smoothness(),
        }
    }
}

/// A fitted classifier `x -> u(w.x + b)` and what cross-validation weighed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProperFit {
    /// The classifier on the features as they were given.
    pub model: Model,
    /// `u = v o sigma`, the link of the model.
    pub link: Arc<RelativeLink>,
    /// The standardisation the weights were fitted under.
    pub scaling: FittedScaling,
    /// Geometric mean of the strengths under the weights of the path.
    pub c: f64,
    /// Largest slope ratio `tau` of the averaged link. *Guarantee*: at every score the log-loss is at
    /// most that of the sigmoid plus `log tau`, and `tau` is below [`smooth::TAU`].
    pub slope_ratio: f64,
    /// Share of the second fit in the weights, from 0 to 1.
    pub refit_share: f64,
    /// Weight of every scaling of the columns: `(a, weight)`, the model without features left out.
    pub scaling_weights: Vec<(f64, f64)>,
    /// Every scaling and strength with its held-out log-loss and weight.
    pub path: Vec<PathPoint>,
    /// The sigmoid and every smoothness with its cross-fitted log-loss and weight.
    pub links: Vec<LinkPoint>,
    /// Held-out log-loss of logistic regression (the averaged path), of the link on it, and of the
    /// result.
    pub held_out_log_loss: [f64; 3],
    /// Held-out score of every training row (0 for rows of weight 0); empty for rows in blocks.
    pub held_out_scores: Vec<f64>,
    /// Held-out score of every training row under the likeliest point of the path alone; empty for rows
    /// in blocks.
    pub point_scores: Vec<f64>,
    /// What the link cost on held-out rows, on the averaged path: beside logistic regression.
    pub link_cost: LinkCost,
    /// How far, in probability, counting the held-out scores in cells can have moved the link from the
    /// one of scores kept one by one ([`SmoothLink::error_bound`](smooth::SmoothLink::error_bound)).
    pub link_error_bound: f64,
    /// The calibration certificate at 95 %; see [`ProperLoss::calibration_bound`].
    pub calibration_bound: Option<FitBound>,
    /// The fold of every training row; empty for rows in blocks.
    pub folds: Vec<u32>,
    /// Passes over the rows that were made.
    pub passes: usize,
    /// What each iteration of the history was.
    pub stages: Vec<Stage>,
}

impl ProperLoss {
    /// Fits to a sample.
    pub fn fit(&self, sample: &Sample<'_>) -> Result<ProperFit> {
        let fit = run(self, &mut Local::new(sample), None, &mut Silent)?;
        fit.proper.map(|fit| *fit).ok_or(Error::Interrupted)
    }

    /// Fits to rows in blocks; `stop` ends it.
    pub fn fit_blocks(
        &self,
        blocks: &dyn Blocks,
        stop: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<ProperFit> {
        let fit = run(self, &mut InBlocks::new(blocks, stop)?, None, &mut Silent)?;
        fit.proper.map(|fit| *fit).ok_or(Error::Interrupted)
    }

    fn check(&self) -> Result<()> {
        for (what, value) in [
            ("class_weight of 0", self.class_weight[0]),
            ("class_weight of 1", self.class_weight[1]),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::OutOfDomain { what, value, expected: "positive and finite" });
            }
        }
        increasing("grid", &self.grid)?;
        if let Some(index) = self.grid.iter().position(|g| g.abs() > 12.0) {
            let expected = "log10 of a strength, from -12 to 12";
            return Err(Error::ElementOutOfDomain {
                what: "grid",
                index,
                value: self.grid[index],
                expected,
            });
        }
        self.check_scalings()?;
        smooth::check_smoothness(&self.smoothness)
    }

    /// At least one, from 1 down to 0.
    fn check_scalings(&self) -> Result<()> {
        let (what, scalings) = ("scalings", &self.scalings);
        if scalings.is_empty() {
            return Err(Error::TooShort { what, length: 0, minimum: 1 });
        }
        for (index, &value) in scalings.iter().enumerate() {
            let expected = "from 1 down to 0, each once";
            if !(0.0..=1.0).contains(&value) || (index > 0 && value >= scalings[index - 1]) {
                return Err(Error::ElementOutOfDomain { what, index, value, expected });
            }
        }
        Ok(())
    }
}

fn increasing(what: &'static str, values: &[f64]) -> Result<()> {
    if values.is_empty() {
        return Err(Error::TooShort { what, length: 0, minimum: 1 });
    }
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what, index, value });
        }
        if index > 0 && value <= values[index - 1] {
            return Err(Error::NotIncreasing { what, index, previous: values[index - 1], value });
        }
    }
    Ok(())
}

impl ProperFit {
    /// Which scaling of the columns the data asked for, in words.
    pub fn scaling_words(&self) -> String {
        let parts: Vec<String> = self
            .scaling_weights
            .iter()
            .filter(|(_, weight)| *weight >= 0.005)
            .map(|(a, weight)| format!("{:.0} % {}", 100.0 * weight, path::scaling_name(*a)))
            .collect();
        if parts.is_empty() { "none has weight".to_owned() } else { parts.join(", ") }
    }

    /// `P(y = 1 | x)` for new rows, strictly between 0 and 1.
    pub fn probabilities(&self, matrix: &Matrix<'_>) -> Result<Vec<f64>> {
        let mut p = self.model.probabilities(*matrix)?;
        p.iter_mut().for_each(|p| *p = inside(*p));
        Ok(p)
    }
}

/// The nearest number strictly between 0 and 1.
pub(crate) fn inside(p: f64) -> f64 {
    p.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0)
}
