//! What was certified of a fit, as a model file keeps it. For people, not used at prediction.

use properloss::calibration_certificate::FitBound;
use properloss::proper::{LinkCost, ProperFit};
use serde::{Deserialize, Serialize};

/// The certificates of a fit; a file without them is as good.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FitCertificate {
    /// How far the probabilities can be from the true ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_bound: Option<StoredBound>,
    /// What the learned link cost on held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_cost: Option<StoredCost>,
}

/// A [`FitBound`] in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredBound {
    /// RMS distance of the fitted model's probabilities from the true ones given the held-out score,
    /// on the training rows: at most this, at the confidence below.
    pub rms: f64,
    /// The same for the learned link on the held-out scores.
    pub held_out_rms: f64,
    /// With this probability.
    pub confidence: f64,
    /// Rows that it is about.
    pub rows: u64,
    /// Folds of the held-out scores.
    pub folds: u64,
    /// What is supposed.
    pub assumption: String,
    /// An e-value against it: large is evidence.
    pub against_monotone: f64,
    /// Whether the evidence suffices: then the bound is void.
    pub assumption_rejected: bool,
}

/// A [`LinkCost`] in a file, in nats over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoredCost {
    /// Held-out log-loss of the learned link less that of the sigmoid.
    pub nats: f64,
    /// It is never more.
    pub at_most: f64,
}

impl From<FitBound> for StoredBound {
    fn from(bound: FitBound) -> Self {
        Self {
            rms: bound.rms,
            held_out_rms: bound.held_out_rms,
            confidence: bound.confidence,
            rows: bound.rows as u64,
            folds: bound.folds as u64,
            assumption: FitBound::ASSUMPTION.to_owned(),
            against_monotone: bound.against_monotone,
            assumption_rejected: bound.assumption_rejected(),
        }
    }
}

impl From<LinkCost> for StoredCost {
    fn from(cost: LinkCost) -> Self {
        Self { nats: cost.nats, at_most: cost.at_most }
    }
}

impl FitCertificate {
    /// Of a bound that may be missing, and a cost.
    pub fn new(bound: Option<FitBound>, cost: LinkCost) -> Self {
        let finite = cost.nats.is_finite();
        Self {
            calibration_bound: bound.map(StoredBound::from),
            link_cost: finite.then(|| cost.into()),
        }
    }

    /// Of a fit of the default estimator.
    pub fn of(fit: &ProperFit) -> Self {
        Self::new(fit.calibration_bound, fit.link_cost)
    }

    /// Lines for people: the number, what it supposes, and the check of that.
    pub fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(bound) = &self.calibration_bound {
            let verdict = if bound.assumption_rejected {
                "REJECTED, the bound is void"
            } else {
                "not rejected"
            };
            let held_out = if bound.folds > 1 {
                format!("; of the link on held-out scores within {:.4}", bound.held_out_rms)
            } else {
                String::new()
            };
            let (level, rows, rms) = (100.0 * bound.confidence, bound.rows, bound.rms);
            lines.push(format!(
                "{level} % certain: the probabilities of the {rows} training rows are within {rms:.4} (RMS) of \
                 the true ones given the held-out score{held_out}",
            ));
            lines.push(format!(
                "supposed: {} ({verdict}, e-value against it {:.2e})",
                bound.assumption, bound.against_monotone,
            ));
        }
        if let Some(StoredCost { nats, at_most }) = self.link_cost {
            lines.push(format!(
                "the learned link on held-out rows, against the sigmoid: {nats:+.2} nats in all; never above \
                 {at_most:+.2}, whatever the data",
            ));
        }
        lines
    }

    /// What is wrong, as the field and the reason.
    pub(super) fn check(&self) -> std::result::Result<(), (String, String)> {
        let number = |field: &str, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                return Ok(());
            }
            Err((format!("certificate.{field}"), format!("{value} is not between 0 and {most}")))
        };
        if let Some(bound) = &self.calibration_bound {
            number("calibration_bound.rms", bound.rms, 1.0)?;
            number("calibration_bound.held_out_rms", bound.held_out_rms, 1.0)?;
            number("calibration_bound.confidence", bound.confidence, 1.0)?;
            number("calibration_bound.against_monotone", bound.against_monotone, f64::MAX)?;
        }
        if let Some(cost) = &self.link_cost {
            super::finite_number("certificate.link_cost.nats", cost.nats)?;
            super::finite_number("certificate.link_cost.at_most", cost.at_most)?;
        }
        Ok(())
    }
}
