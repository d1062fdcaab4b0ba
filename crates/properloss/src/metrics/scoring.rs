//! Proper scores and accuracy.

use super::Forecasts;
use crate::error::Result;

/// Probabilities are kept this far from 0 and 1 in the logarithmic loss (as scikit-learn does), so
/// a forecast of exactly 0 that was wrong costs 36 nats and not infinity.
pub const LOG_LOSS_CLIP: f64 = f64::EPSILON;

/// `-E[y log p + (1-y) log(1-p)]`, in nats, with `p` clipped to `[ε, 1-ε]`, `ε` =
/// [`LOG_LOSS_CLIP`].
pub fn log_loss(probabilities: &[f64], labels: &[u8], weights: Option<&[f64]>) -> Result<f64> {
    let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
    Ok(forecasts.mean(|p, label| {
        let p = p.clamp(LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP);
        -if label == 1 { p.ln() } else { (-p).ln_1p() }
    }))
}

impl Forecasts<'_> {
    pub(super) fn brier(&self) -> f64 {
        self.mean(|p, label| (p - f64::from(label)).powi(2))
    }
}

/// The Brier score `E[(p - y)²]`.
pub fn brier(probabilities: &[f64], labels: &[u8], weights: Option<&[f64]>) -> Result<f64> {
    Ok(Forecasts::probabilities(probabilities, labels, weights)?.brier())
}

/// The share of rows whose class is `1[p > 1/2]`.
pub fn accuracy(probabilities: &[f64], labels: &[u8], weights: Option<&[f64]>) -> Result<f64> {
    let forecasts = Forecasts::probabilities(probabilities, labels, weights)?;
    Ok(forecasts.mean(|p, label| f64::from(u8::from((p > 0.5) == (label == 1)))))
}
