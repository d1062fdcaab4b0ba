//! The calibration certificate: a bound on the distance from the true probabilities that holds for
//! a finite sample, without bins. On the rows of the page, and what the fit itself carries.

use properloss::calibration_certificate::CalibrationBound;
use properloss_data::model_file::FitCertificate;

use crate::evaluation::Evaluation;
use crate::text::{escaped, shown};

/// Of the rows of the page, in words.
pub fn html(evaluation: &Evaluation) -> String {
    let head = "<p><strong>Calibration certificate.</strong>";
    match &evaluation.calibration_bound {
        None => format!(
            "{head} None: it is computed for at most a million rows. <code>properloss evaluate \
             --certificate</code> takes more.</p>\n"
        ),
        Some(bound) => format!(
            "{head} With 95 % confidence the probabilities are within <strong>{}</strong> of the true ones \
             in root mean square{}, if these {} rows were not used to fit the model and the true \
             probability does not fall as the score rises ({}). The bound uses no bins and holds for \
             this number of rows; it is wide for few of them.</p>\n",
            shown(bound.rms),
            bound.population_rms.map_or_else(String::new, |rms| {
                format!(" on these rows, and within {} for the next one", shown(rms))
            }),
            bound.rows,
            verdict(bound),
        ),
    }
}

fn verdict(bound: &CalibrationBound) -> String {
    if bound.assumption_rejected() {
        "these rows <strong>contradict</strong> the latter: the bound is void".to_owned()
    } else {
        format!(
            "these rows do not contradict the latter: e-value {}, 20 would",
            shown(bound.against_monotone)
        )
    }
}

/// What the model file says of the fit.
pub fn of_the_fit(certificate: &FitCertificate) -> String {
    let sentence = |line: &String| {
        let mut letters = line.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        escaped(&(first + letters.as_str()))
    };
    let lines: Vec<String> = certificate.words().iter().map(sentence).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("<p><strong>Of the fit, on its own rows.</strong> {}.</p>\n", lines.join(".<br>"))
}
