//! The calibration certificate: a bound on the distance from the true probabilities that holds for
//! a finite sample, without bins.

use crate::evaluation::Evaluation;
use crate::text::shown;

/// The probability with which the bound may fail.
const DELTA: f64 = 0.05;

/// With `η(s) = Pr[y = 1 | score s]` nondecreasing, and the rows independent of the fit,
///
/// ```text
/// E (p - η)² <= L_n(p) - L_n(PAV) + (2/n) ln(1/δ)     with probability at least 1 - δ,
/// ```
/// `L_n` the mean log-loss of these rows and PAV their own isotonic regression. The square root of
/// the right side, at most 1; none for weighted rows, for which this is not proved.
pub fn rms_bound(evaluation: &Evaluation) -> Option<f64> {
    if evaluation.weighted {
        return None;
    }
    let excess = evaluation.summary.log_loss - evaluation.recalibrated_log_loss;
    let bound = excess.max(0.0) + 2.0 / evaluation.rows as f64 * (1.0 / DELTA).ln();
    Some(bound.sqrt().min(1.0))
}

/// The certificate in words.
pub fn html(evaluation: &Evaluation) -> String {
    match rms_bound(evaluation) {
        None => {
            "<p><strong>Calibration certificate.</strong> None: the bound is proved for rows of \
                 equal weight only.</p>\n"
                .to_owned()
        }
        Some(bound) => format!(
            "<p><strong>Calibration certificate.</strong> With 95 % confidence the probabilities are \
             within <strong>{}</strong> of the true ones in root mean square, if these {} rows were \
             not used to fit the model and the true probability does not fall as the score rises. \
             The bound uses no bins and holds for this number of rows; it is wide for few of them.</p>\n",
            shown(bound),
            evaluation.rows,
        ),
    }
}
