//! How good probabilities and scores are: ranking, proper scores and their decomposition,
//! calibration.
//!
//! Every function takes optional weights (not negative, a positive sum): weight 2 is a duplicate and
//! weight 0 a removal. Rows of equal forecast are treated as one, so the order of the rows never
//! matters.

mod calibration;
mod classes;
mod counted;
mod ranking;
mod scoring;

pub use calibration::{
    Bin, BinnedDecomposition, Binning, CalibrationBlock, CorpDecomposition, binned_decomposition,
    corp_decomposition, expected_calibration_error, maximum_calibration_error, reliability_bins,
    reliability_curve,
};
pub use classes::{ClassMeasures, ClassSummary, most_probable};
pub use counted::Measured;
pub use ranking::auc;
pub use scoring::{LOG_LOSS_CLIP, accuracy, brier, log_loss};

use crate::chain::{ScoreOrder, count_of_rows};
use crate::error::{Error, Result, binary_labels, each, row_weights, same_length, total_weight};

/// Everything at once, as `evaluate` and `compare` print it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Summary {
    /// Area under the ROC curve, of the scores.
    pub auc: f64,
    /// Mean logarithmic loss in nats, clipped at [`LOG_LOSS_CLIP`].
    pub log_loss: f64,
    /// Mean squared error of the probabilities, with its CORP decomposition.
    pub brier: CorpDecomposition,
    /// Expected calibration error over 15 bins of equal count.
    pub ece: f64,
    /// Share of rows on the right side of 1/2.
    pub accuracy: f64,
}

impl Summary {
    /// How the calibration error of a summary is binned.
    pub const ECE_BINNING: Binning = Binning::EqualCount(15);

    /// All metrics of `probabilities`; the ranking is that of `scores`, which may be the
    /// probabilities again but have fewer ties if they are not.
    pub fn new(
        scores: &[f64],
        probabilities: &[f64],
        labels: &[u8],
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
        let groups = forecasts.groups();
        let bins = calibration::bins(&groups, forecasts.total, Self::ECE_BINNING);
        Ok(Self {
            auc: auc(scores, labels, weights)?,
            log_loss: log_loss(probabilities, labels, weights)?,
            brier: calibration::corp(&forecasts, &groups),
            ece: expected_calibration_error(&bins),
            accuracy: accuracy(probabilities, labels, weights)?,
        })
    }
}

/// Forecasts with labels and weights, checked.
#[derive(Clone, Copy)]
struct Forecasts<'a> {
    values: &'a [f64],
    labels: &'a [u8],
    weights: Option<&'a [f64]>,
    total: f64,
}

/// Rows of one forecast value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Group {
    value: f64,
    weight: f64,
    /// The weight of its positives.
    positive: f64,
}

impl<'a> Forecasts<'a> {
    /// Any scores but NaN.
    fn scores(values: &'a [f64], labels: &'a [u8], weights: Option<&'a [f64]>) -> Result<Self> {
        if let Some(index) = values.iter().position(|value| value.is_nan()) {
            return Err(Error::NotFinite { what: "scores", index, value: f64::NAN });
        }
        Self::checked("scores", values, labels, weights)
    }

    /// Probabilities in [0, 1].
    fn probabilities(
        values: &'a [f64],
        labels: &'a [u8],
        weights: Option<&'a [f64]>,
    ) -> Result<Self> {
        let what = "probabilities";
        each(what, values, "in [0, 1]", |p| (0.0..=1.0).contains(&p))?;
        Self::checked(what, values, labels, weights)
    }

    fn checked(
        what: &'static str,
        values: &'a [f64],
        labels: &'a [u8],
        weights: Option<&'a [f64]>,
    ) -> Result<Self> {
        let length = values.len();
        if length == 0 {
            return Err(Error::TooShort { what, length, minimum: 1 });
        }
        count_of_rows(length)?;
        same_length((what, length), ("labels", labels.len()))?;
        binary_labels(labels)?;
        let mut total = length as f64;
        if let Some(weights) = weights {
            same_length((what, length), ("weights", weights.len()))?;
            row_weights(weights)?;
            total = weights.iter().sum();
        }
        total_weight(total)?;
        Ok(Self { values, labels, weights, total })
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// The weighted mean of `f(forecast, label)`.
    fn mean(&self, f: impl Fn(f64, u8) -> f64) -> f64 {
        let terms = (0..self.values.len()).filter(|&i| self.weight(i) > 0.0);
        let sum: f64 = terms.map(|i| self.weight(i) * f(self.values[i], self.labels[i])).sum();
        sum / self.total
    }

    /// The rows of positive weight by increasing forecast, equal forecasts added up in the order of their rows.
    fn groups(&self) -> Vec<Group> {
        let order = ScoreOrder::of(self.values);
        let mut groups = Vec::with_capacity(order.groups());
        for g in 0..order.groups() {
            let rows = order.rows(g).iter().map(|&i| i as usize);
            let mut rows = rows.filter(|&i| self.weight(i) > 0.0).peekable();
            let Some(&first) = rows.peek() else { continue };
            // -0 and 0 are the same forecast.
            let value = self.values[first] + 0.0;
            let mut group = Group { value, weight: 0.0, positive: 0.0 };
            for i in rows {
                group.weight += self.weight(i);
                group.positive += self.weight(i) * f64::from(self.labels[i]);
            }
            groups.push(group);
        }
        groups
    }
}
