//! Feature scaling: the choice, and what fitting it keeps.

use super::statistics;
use crate::error::{Error, Result, finite, same_length};
use crate::sample::Sample;

/// How features are scaled before training; fitted to the rows of positive weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scaling {
    /// As they are.
    None,
    /// Every row divided by its own norm; a row of zeros stays.
    UnitRows,
    /// Every row divided by the largest norm.
    MaxNorm,
    /// Every column to mean 0 and standard deviation 1; a constant column becomes 0.
    #[default]
    Standardise,
}

/// A scaling with its numbers: plain data, kept in the model file and applied at prediction.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FittedScaling {
    /// As they are.
    None,
    /// Every row divided by its own norm; a row of zeros stays.
    UnitRows,
    /// Every row multiplied by `factor`.
    MaxNorm {
        /// One over the largest norm of the training rows.
        factor: f64,
    },
    /// `(x_j - mean_j) factor_j`.
    Standardise {
        /// The weighted means of the columns.
        mean: Vec<f64>,
        /// One over the standard deviations (divisor: the sum of the weights); 0 for a column that
        /// is constant.
        factor: Vec<f64>,
    },
}

impl Scaling {
    /// The numbers of this scaling for the rows of positive weight.
    pub fn fit(self, sample: &Sample<'_>) -> FittedScaling {
        match self {
            Self::None => FittedScaling::None,
            Self::UnitRows => FittedScaling::UnitRows,
            Self::MaxNorm => {
                let norms = statistics::row_norms(&sample.matrix());
                let largest = (0..norms.len())
                    .filter(|&i| sample.weight(i) > 0.0)
                    .map(|i| norms[i])
                    .fold(0.0, f64::max);
                FittedScaling::MaxNorm { factor: if largest > 0.0 { 1.0 / largest } else { 1.0 } }
            }
            Self::Standardise => {
                let (mean, deviation) = statistics::column_moments(sample);
                let factor = deviation.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 0.0 });
                FittedScaling::Standardise { factor: factor.collect(), mean }
            }
        }
    }
}

impl FittedScaling {
    /// Whether rows of this many columns can be scaled, and every number is usable.
    pub fn check(&self, columns: usize) -> Result<()> {
        match self {
            Self::None | Self::UnitRows => Ok(()),
            Self::MaxNorm { factor } => {
                if factor.is_finite() && *factor > 0.0 {
                    return Ok(());
                }
                let expected = "positive and finite";
                Err(Error::OutOfDomain { what: "max-norm factor", value: *factor, expected })
            }
            Self::Standardise { mean, factor } => {
                for (what, numbers) in [("scaling mean", mean), ("scaling factor", factor)] {
                    same_length((what, numbers.len()), ("columns", columns))?;
                    finite(what, numbers)?;
                }
                Ok(())
            }
        }
    }

    /// Whether the columns are shifted, so that the sum of `r` enters the adjoint.
    pub(super) fn shifts(&self) -> bool {
        matches!(self, Self::Standardise { .. })
    }

    /// `(F w, b - c·(F w))`: the coefficients on raw rows, and what is added to every score.
    pub(crate) fn raw_coefficients(&self, w: &[f64], columns: usize) -> (Vec<f64>, f64) {
        let mut raw = w[..columns].to_vec();
        let mut shift = w.get(columns).copied().unwrap_or(0.0);
        match self {
            Self::None | Self::UnitRows => {}
            Self::MaxNorm { factor } => raw.iter_mut().for_each(|w| *w *= factor),
            Self::Standardise { mean, factor } => {
                for j in 0..columns {
                    raw[j] *= factor[j];
                    shift -= mean[j] * raw[j];
                }
            }
        }
        (raw, shift)
    }

    /// `g_j ← F_j (g_j - c_j total)`.
    pub(super) fn scale_adjoint(&self, total: f64, g: &mut [f64]) {
        match self {
            Self::None | Self::UnitRows => {}
            Self::MaxNorm { factor } => g.iter_mut().for_each(|g| *g *= factor),
            Self::Standardise { mean, factor } => {
                for (g, (mean, factor)) in g.iter_mut().zip(mean.iter().zip(factor)) {
                    *g = (*g - mean * total) * factor;
                }
            }
        }
    }
}
