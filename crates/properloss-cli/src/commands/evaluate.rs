//! `evaluate`: a model measured on labelled examples.

use properloss::calibration_certificate::{CalibrationBound, HeldOut, calibration_bound};
use properloss::metrics::{Summary, reliability_curve};
use properloss_data::ModelFile;
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::read_encoded;
use properloss_report::svg;

use super::{check_plot, described, labelled, several, unknown_words};
use crate::args::{EvaluateArgs, source};
use crate::failure::Result;
use crate::output::{OutputFile, Talk};
use crate::progress::Progress;
use crate::report::metrics_json;

/// Runs the command.
pub fn run(args: &EvaluateArgs, talk: Talk) -> Result<()> {
    check_plot(args.plot.as_deref())?;
    if let Some(model) = ClassModelFile::read_if_several(&args.model)? {
        return several::evaluate::run(args, &model, talk);
    }
    let file = ModelFile::read(&args.model)?;
    let model = file.model()?;
    let options = args.file.options()?;
    let plot = args.plot.as_deref().map(OutputFile::create).transpose()?;
    let dataset = {
        let _progress = Progress::spinner(talk, &format!("reading {}", args.data.display()));
        let data = source(&args.data)?;
        let mut encoder = labelled(&file, args.label.as_deref(), &data, &options)?;
        match (&args.weight, args.no_weight) {
            (Some(name), _) => encoder.weight = Some(name.clone()),
            (None, true) => encoder.weight = None,
            (None, false) => {}
        }
        read_encoded(&data, &encoder, args.unknown.rule(), &options)?
    };
    unknown_words(dataset.description.unknown_categories, talk);
    let scores = model.scores(dataset.matrix()?)?;
    let mut probabilities = scores.clone();
    model.apply_link(&mut probabilities);
    let weights = dataset.weights.as_deref();
    let summary = Summary::new(&scores, &probabilities, &dataset.labels, weights)?;
    if let Some(plot) = plot {
        let blocks = reliability_curve(&probabilities, &dataset.labels, weights)?;
        let title = format!("Reliability, class {:?}", file.classes[1]);
        plot.finish(&svg::calibration(&title, &blocks))?;
    }
    let mut json = metrics_json(&summary);
    json["rows"] = dataset.rows().into();
    json["weight"] = dataset.encoder.weight.clone().into();
    json["unknown_categories"] = dataset.description.unknown_categories.into();
    let bound = if args.certificate {
        let rows = HeldOut::new(&probabilities, &dataset.labels, weights, None)?;
        Some(calibration_bound(&rows, args.confidence)?)
    } else {
        None
    };
    if let Some(bound) = &bound {
        json["calibration_bound"] = certificate_json(bound);
    }
    let weighed = dataset.encoder.weight.as_ref().map_or(String::new(), |name| {
        format!(", weighed by {name:?} (--no-weight counts every row once)")
    });
    talk.say(format!("{}{weighed}", described(&dataset)));
    let words = || text(&summary) + &bound.as_ref().map(certificate_text).unwrap_or_default();
    talk.result(words, &json)
}

fn certificate_json(bound: &CalibrationBound) -> serde_json::Value {
    serde_json::json!({
        "rms": bound.rms,
        "population_rms": bound.population_rms,
        "confidence": bound.confidence,
        "log_excess": bound.log_excess,
        "brier_excess": bound.brier_excess,
        "against_monotone": bound.against_monotone,
        "assumption": "P(y = 1 | probability) does not decrease; the model has not seen these rows",
        "assumption_rejected": bound.assumption_rejected(),
    })
}

/// The bound, and beside it what it supposes.
fn certificate_text(bound: &CalibrationBound) -> String {
    let level = 100.0 * bound.confidence;
    let mut text = format!(
        "calibration bound {:.6}  at {level} %: RMS distance from the true probabilities, these rows\n",
        bound.rms
    );
    if let Some(rms) = bound.population_rms {
        text.push_str(&format!("  fresh rows      {rms:.6}  the same, for the next row\n"));
    }
    let verdict =
        if bound.assumption_rejected() { "REJECTED: the bound is void" } else { "not rejected" };
    text.push_str(&format!(
        "  assumption      {:<8.2e}  e-value against \"the truth does not decrease\": {verdict}\n",
        bound.against_monotone
    ));
    text
}

fn text(summary: &Summary) -> String {
    let brier = &summary.brier;
    let mut text = String::new();
    for (name, value, about) in [
        ("AUC", summary.auc, "of the scores, ties one half"),
        ("log-loss", summary.log_loss, "nats"),
        ("Brier", brier.brier, "= miscalibration - discrimination + uncertainty"),
        ("  miscalibration", brier.miscalibration, "0 is best (isotonic)"),
        ("  discrimination", brier.discrimination, "large is best"),
        ("  uncertainty", brier.uncertainty, "of the base rate alone"),
        ("ECE", summary.ece, "15 bins of equal count"),
        ("accuracy", summary.accuracy, "at probability 1/2"),
    ] {
        text.push_str(&format!("{name:<17} {value:.6}  {about}\n"));
    }
    text
}
