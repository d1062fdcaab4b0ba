//! The calibration certificate: a bound on how far probabilities are from the true ones, from
//! held-out labels, without bins and for every sample size.
//!
//! Rows `i` with probability `v_i`, fixed before their labels were looked at; given the `v_i` the
//! labels are independent with `P(y_i = 1) = η(v_i)`, and **`η` does not decrease**. With probability
//! at least `1 - δ` over the labels
//!
//! ```text
//! Σ_i (v_i - η(v_i))²  <=  the D that solves  Σ_c ω_c exp((κ_c D - λ_c E_c)/K) = 1/δ
//!
//! c = log:    E = Σ log-loss(v) - Σ log-loss(PAV),   κ = 2 λ (1-λ),   0 < λ < 1
//! c = Brier:  E = Σ Brier(v) - Σ Brier(PAV),         κ = λ (1 - λ/2), 0 < λ < 2
//! ```
//!
//! PAV is isotonic regression *fitted on these very rows*, `K` the number of folds (1 on fresh rows). With
//! folds `δ` is divided by what it costs that folds are dealt by class (`forecasts`).
//! Proof, coverage and tightness: `docs/certificate.md`.
//!
//! | file | what it computes |
//! |---|---|
//! | `rows` | checked rows, by fold and in increasing order of the probabilities |
//! | `excess` | `E_c`: what `v` loses against isotonic regression on the same labels |
//! | `plan` | `λ_c` and `ω_c`, from the probabilities alone |
//! | `evidence` | the `D` at which the e-value reaches `1/δ` |
//! | `monotonicity` | evidence against the assumption |
//! | `forecasts` | the same for probabilities that were forecast row by row, and for a fit beside them |
//! | `averaging` | the deterministic companion: what averaging links can cost |

mod averaging;
mod evidence;
mod excess;
mod forecasts;
mod monotonicity;
mod plan;
mod rows;

pub use averaging::{AveragingCost, averaging_cost};
pub use forecasts::FitBound;
pub(crate) use forecasts::Forecasts;
pub use rows::HeldOut;
pub(crate) use rows::{Columns, Part};

use crate::error::{Error, Result};
use excess::total_excess;
use rows::Fold;

/// What is certified of the probabilities of some rows, and under which assumption.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CalibrationBound {
    /// `1 - δ`.
    pub confidence: f64,
    /// Rows of positive weight.
    pub rows: usize,
    /// Folds, 1 if there are none.
    pub folds: usize,
    /// At the stated confidence `sqrt(mean_i (v_i - η(v_i))²)` over *these rows* is at most this. The
    /// mean is weighted as the rows are. At most 1.
    pub rms: f64,
    /// The same for a fresh row from the distribution these were drawn from independently; `None` if
    /// the rows have weights.
    pub population_rms: Option<f64>,
    /// `Σ log-loss(v) - Σ log-loss(PAV)` in nats, weights scaled to a largest one of 1.
    pub log_excess: f64,
    /// `Σ Brier(v) - Σ Brier(PAV)`, likewise.
    pub brier_excess: f64,
    /// An e-value against the assumption that `η` does not decrease: if the assumption holds, it is
    /// `1/α` or more with a probability of at most `α`. Near 0 says nothing against it.
    pub against_monotone: f64,
}

impl CalibrationBound {
    /// Whether the labels contradict the assumption at the confidence of the bound.
    pub fn assumption_rejected(&self) -> bool {
        self.against_monotone >= 1.0 / (1.0 - self.confidence)
    }
}

/// Certifies probabilities on rows whose labels they have not seen.
///
/// ```
/// use properloss::calibration_certificate::{HeldOut, calibration_bound};
///
/// let p: Vec<f64> = (0..4000).map(|i| f64::from(i % 100) / 100.0 + 0.005).collect();
/// let y: Vec<u8> = (0..4000).map(|i| u8::from((i * 37) % 4000 < (i % 100) * 40 + 20)).collect();
/// let bound = calibration_bound(&HeldOut::new(&p, &y, None, None)?, 0.95)?;
/// assert!(bound.rms < 0.1 && !bound.assumption_rejected());
/// # Ok::<(), properloss::Error>(())
/// ```
pub fn calibration_bound(held_out: &HeldOut<'_>, confidence: f64) -> Result<CalibrationBound> {
    check_confidence(confidence)?;
    let folds: Vec<Fold> = held_out.folds();
    let dealt = forecasts::deal_prices(&folds);
    let log_delta =
        (1.0 / (1.0 - confidence)).ln() + dealt.iter().sum::<f64>() / folds.len() as f64;
    let components = plan::components(&folds, log_delta, 0.0);
    let excess = total_excess(&folds).at_least_zero();
    let count = folds.len() as f64;
    let mass: f64 = folds.iter().map(Fold::mass).sum();
    let rms = |fresh: bool| {
        (evidence::largest(&components, excess, count, log_delta, fresh) / mass).sqrt().min(1.0)
    };
    Ok(CalibrationBound {
        confidence,
        rows: folds.iter().map(Fold::rows).sum(),
        folds: folds.len(),
        rms: rms(false),
        population_rms: (!held_out.weighted()).then(|| rms(true)),
        log_excess: excess.log,
        brier_excess: excess.brier,
        against_monotone: monotonicity::evidence(&folds, |k| dealt[k]),
    })
}

fn check_confidence(confidence: f64) -> Result<()> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    let (what, expected) = ("confidence", "strictly between 0 and 1");
    Err(Error::OutOfDomain { what, value: confidence, expected })
}
