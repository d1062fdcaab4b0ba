//! What cross-validation weighed and found, as a file holds it.

use properloss::multiclass::MulticlassFit;
use properloss::proper::{Calibration, LinkPoint, ProperFit};
use serde_json::{Value, json};

use super::FitCertificate;

/// Points as objects of these numbers.
macro_rules! table {
    ($points:expr; $($field:ident),+) => {
        $points
            .iter()
            .map(|point| json!({$((stringify!($field)): number(point.$field)),+}))
            .collect::<Value>()
    };
}

/// Numbers and tables of the default estimator.
pub fn learned(proper: &ProperFit) -> Value {
    json!({
        "c": number(proper.c),
        "slope_ratio": proper.slope_ratio,
        "guarantee": proper.slope_ratio.ln(),
        "refit_share": number(proper.refit_share),
        "held_out_log_loss": proper.held_out_log_loss.map(number),
        "path": table!(&proper.path; scaling, c, log_loss, score, weight),
        "scaling_weights": proper.scaling_weights,
        "links": links(&proper.links),
        "link_error_bound": number(proper.link_error_bound),
        "certificate": FitCertificate::of(proper),
    })
}

/// Numbers and tables of the default estimator for several classes. The guarantee: at every point the
/// log-loss is at most that of the softmax plus `log_loss_bound = log(tau)`.
pub fn learned_of_classes(fit: &MulticlassFit) -> Value {
    json!({
        "c": number(fit.c),
        "tau": number(fit.tau()),
        "log_loss_bound": number(fit.tau().ln()),
        "refit_share": number(fit.refit_share),
        "stack_share": number(fit.stack_share),
        "ramp_share": number(fit.ramp_share),
        "held_out_log_loss": fit.held_out_log_loss.map(number),
        "held_out_cost": number(fit.held_out_cost()),
        "link_gap": number(fit.link_gap),
        "path": table!(&fit.path; c, scale, log_loss, score, weight),
        "ratios": table!(&fit.ratios; tau, log_loss, score, weight),
    })
}

/// A number; JSON has none that is infinite or not a number, so these are words.
fn number(x: f64) -> Value {
    if x.is_finite() { Value::from(x) } else { Value::from(x.to_string()) }
}

/// The same of a calibration.
pub fn learned_calibration(calibration: &Calibration, certificate: &FitCertificate) -> Value {
    json!({
        "slope_ratio": calibration.slope_ratio,
        "guarantee": calibration.slope_ratio.ln(),
        "held_out_log_loss": calibration.held_out_log_loss.map(number),
        "links": links(&calibration.links),
        "certificate": certificate,
    })
}

/// The smoothness of the sigmoid itself is infinite.
fn links(points: &[LinkPoint]) -> Value {
    table!(points; smoothness, slope_ratio, log_loss, score, weight)
}
