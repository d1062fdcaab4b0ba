//! `evaluate`: a model measured on labelled examples.

use properloss::calibration_certificate::{CalibrationBound, HeldOut, calibration_bound};
use properloss::metrics::{Summary, reliability_curve};
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::read_encoded;
use properloss_data::{ClassLabel, Encoder, LabelledRows, ModelFile};
use properloss_report::svg;
use serde_json::{Value, json};

use super::{check_plot, described, labelled, several, unknown_words};
use crate::args::{EvaluateArgs, source};
use crate::failure::Result;
use crate::output::{OutputFile, Talk};
use crate::progress::Progress;
use crate::report::{forecasts, metrics_json};

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
        let encoder = labelled(file.labelled_encoder()?, args.label.as_deref(), &data, &options)?;
        read_encoded(&data, &weighed(encoder, args), args.unknown.rule, &options)?
    };
    unknown_words(dataset.description.unknown_categories, talk);
    let (scores, probabilities) = forecasts(&model, dataset.matrix()?)?;
    let weights = dataset.weights.as_deref();
    let summary = Summary::new(&scores, &probabilities, &dataset.labels, weights)?;
    if let Some(plot) = plot {
        let blocks = reliability_curve(&probabilities, &dataset.labels, weights)?;
        let title = format!("Reliability, class {:?}", file.classes[1]);
        plot.finish(&svg::calibration(&title, &blocks))?;
    }
    let mut json = metrics_json(&summary);
    about_rows(&mut json, &dataset);
    let bound = if args.certificate {
        let rows = HeldOut::new(&probabilities, &dataset.labels, weights, None)?;
        Some(calibration_bound(&rows, args.confidence)?)
    } else {
        None
    };
    if let Some(bound) = &bound {
        json["calibration_bound"] = certificate_json(bound);
    }
    talk.say(described(&dataset) + &weight_words(&dataset.encoder));
    let words = || text(&summary) + &bound.as_ref().map(certificate_text).unwrap_or_default();
    talk.result(words, &json)
}

/// The encoder with the weights that were asked for.
pub(super) fn weighed(encoder: Encoder, args: &EvaluateArgs) -> Encoder {
    let weight = match (&args.weight, args.no_weight) {
        (Some(name), _) => Some(name.clone()),
        (None, true) => None,
        (None, false) => encoder.weight,
    };
    Encoder { weight, ..encoder }
}

/// `, weighed by "loans"`, if they are.
pub(super) fn weight_words(encoder: &Encoder) -> String {
    let Some(name) = &encoder.weight else { return String::new() };
    format!(", weighed by {name:?} (--no-weight counts every row once)")
}

/// Which rows were measured, for machines.
pub(super) fn about_rows<L: ClassLabel>(json: &mut Value, dataset: &LabelledRows<L>) {
    json["rows"] = dataset.rows().into();
    json["weight"] = dataset.encoder.weight.clone().into();
    json["unknown_categories"] = dataset.description.unknown_categories.into();
}

/// One measure a line: its name, its value and what it is.
pub(super) fn measures(width: usize, rows: &[(&str, f64, &str)]) -> String {
    let line =
        |(name, value, about): &(&str, f64, &str)| format!("{name:<width$} {value:.6}  {about}\n");
    rows.iter().map(line).collect()
}

fn certificate_json(bound: &CalibrationBound) -> Value {
    json!({
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
    let rows = [
        ("AUC", summary.auc, "of the scores, ties one half"),
        ("log-loss", summary.log_loss, "nats"),
        ("Brier", brier.brier, "= miscalibration - discrimination + uncertainty"),
        ("  miscalibration", brier.miscalibration, "0 is best (isotonic)"),
        ("  discrimination", brier.discrimination, "large is best"),
        ("  uncertainty", brier.uncertainty, "of the base rate alone"),
        ("ECE", summary.ece, "15 bins of equal count"),
        ("accuracy", summary.accuracy, "at probability 1/2"),
    ];
    measures(17, &rows)
}
