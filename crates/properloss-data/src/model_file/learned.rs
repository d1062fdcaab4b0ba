//! What cross-validation weighed and found, as a file holds it.

use properloss::proper::ProperFit;
use serde_json::{Value, json};

use super::FitCertificate;

/// Numbers and tables of the default estimator.
pub fn learned(proper: &ProperFit) -> Value {
    let path: Vec<_> = proper
        .path
        .iter()
        .map(|point| {
            json!({
                "scaling": number(point.scaling),
                "c": number(point.c),
                "log_loss": number(point.log_loss),
                "score": number(point.score),
                "weight": number(point.weight),
            })
        })
        .collect();
    // The smoothness of the sigmoid itself is infinite.
    let links: Vec<_> = proper
        .links
        .iter()
        .map(|point| {
            json!({
                "smoothness": number(point.smoothness),
                "slope_ratio": number(point.slope_ratio),
                "log_loss": number(point.log_loss),
                "score": number(point.score),
                "weight": number(point.weight),
            })
        })
        .collect();
    json!({
        "c": number(proper.c),
        "slope_ratio": proper.slope_ratio,
        "guarantee": proper.slope_ratio.ln(),
        "refit_share": number(proper.refit_share),
        "held_out_log_loss": proper.held_out_log_loss.map(number),
        "path": path,
        "scaling_weights": proper.scaling_weights,
        "links": links,
        "certificate": FitCertificate::of(proper),
    })
}

/// A number; JSON has none that is infinite or not a number, so these are words.
fn number(x: f64) -> Value {
    if x.is_finite() { Value::from(x) } else { Value::from(x.to_string()) }
}
