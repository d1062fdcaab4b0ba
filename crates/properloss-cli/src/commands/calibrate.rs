//! `calibrate`: probabilities from the scores of any classifier.

use std::sync::Arc;

use properloss::link::InverseLink;
use properloss::proper::{Calibration, Calibrator, Folds, ScoreKind};
use properloss::train::Model;
use properloss_data::model_file::{FitCertificate, Fitted, ModelFile, program};
use properloss_data::read::{for_each_row, open_table};
use properloss_data::{Dataset, Format, ReadOptions, Source, UnknownCategory, read};
use serde_json::{Value, json};

use super::fit::guarantee_words;
use crate::args::{CalibrateArgs, KindArg, source};
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Stream, Talk, check_distinct};
use crate::progress::Progress;
use crate::table::short;

/// Runs the command.
pub fn run(args: &CalibrateArgs, talk: Talk) -> Result<()> {
    check_distinct(args.out.iter().chain(&args.model))?;
    let mut out = Stream::open(args.out.as_deref())?;
    let model = args.model.as_deref().map(OutputFile::create).transpose()?;
    let data = source(&args.data)?;
    let options = only_scores(args, &data)?;
    let dataset = {
        let _progress = Progress::spinner(talk, &format!("reading {}", args.data.display()));
        read(&data, &options)?
    };
    if dataset.columns() != 1 {
        return Err(Failure::user(
            format!("{}: {} columns besides the label", args.data.display(), dataset.columns()),
            "name the column of the scores with --score",
        ));
    }
    let mut scores = vec![0.0; dataset.rows()];
    for (i, score) in scores.iter_mut().enumerate() {
        dataset.features.copy_row(i, std::slice::from_mut(score));
    }
    let outside = scores.iter().position(|score| !(0.0..=1.0).contains(score));
    if let (KindArg::Probabilities, Some(i)) = (args.kind, outside) {
        let (file, column) = (args.data.display(), dataset.encoder.feature_name(0));
        return Err(Failure::user(
            format!("{file}, row {}, column {column:?}: {} is not a probability", i + 1, scores[i]),
            "pass --kind scores for numbers outside [0, 1]",
        ));
    }
    let calibrator = Calibrator {
        folds: Folds::Stratified { count: args.cv, seed: args.seed },
        kind: match args.kind {
            KindArg::Auto => ScoreKind::Auto,
            KindArg::Scores => ScoreKind::Scores,
            KindArg::Probabilities => ScoreKind::Probabilities,
        },
        smoothness: match &args.smoothness {
            Some(given) => given.0.clone(),
            None => Calibrator::default().smoothness,
        },
    };
    let calibration = calibrator.fit(&scores, &dataset.labels, dataset.weights.as_deref())?;
    let weights = dataset.weights.as_deref();
    let bound = calibration.calibration_bound(&scores, &dataset.labels, weights, None, 0.95)?;
    let certificate = FitCertificate::new(Some(bound), calibration.link_cost);
    if let Some(file) = model {
        let mut content = model_file(&calibration, &calibrator, &dataset, args)?;
        content.fitted.learned = Some(json!({ "certificate": certificate }));
        let text = content.to_json();
        file.finish(&text.map_err(|error| Failure::Internal(error.to_string()))?)?;
    }
    if let Some(path) = &args.apply {
        scores.clear();
        let rule = UnknownCategory::Error;
        for_each_row(&source(path)?, &dataset.encoder, rule, &options, |row| {
            // A sparse row that stores nothing is 0.
            scores.push(row.features.first().copied().unwrap_or(0.0));
            Ok::<(), Failure>(())
        })?;
    }
    let mut text = String::new();
    if !talk.json {
        text.push_str("probability\n");
    }
    for p in calibration.probabilities(&scores)? {
        if talk.json {
            text.push_str(&format!("{}\n", json!({"probability": p})));
        } else {
            text.push_str(&format!("{p:?}\n"));
        }
    }
    out.write(&text)?;
    out.finish()?;
    let [sigmoid, result] = calibration.held_out_log_loss;
    let kind = if calibration.margin.is_some() { "probabilities" } else { "scores" };
    talk.say(format!(
        "calibrated {} {kind}: held-out log-loss {result:.4} (sigmoid alone {sigmoid:.4}), \
         slope ratio {}\n{}\n{}",
        dataset.rows(),
        short(calibration.slope_ratio),
        guarantee_words(calibration.slope_ratio),
        certificate.words().join("\n"),
    ));
    Ok(())
}

/// Everything but the scores, the label and the weight is left out.
fn only_scores(args: &CalibrateArgs, data: &Source) -> Result<ReadOptions> {
    let mut options = args.data_args.options()?;
    let Some(score) = &args.score else { return Ok(options) };
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(data)?,
    };
    if matches!(format, Format::Libsvm | Format::Idx) {
        return Err(Failure::user(
            format!("{}: --score needs a table", args.data.display()),
            "use a CSV, TSV or Parquet file",
        ));
    }
    let table = open_table(data, format, &options)?;
    let columns = table.columns();
    if !columns.contains(score) {
        return Err(properloss_data::Error::NoSuchColumn {
            file: data.name().to_path_buf(),
            role: "score",
            name: score.clone(),
            available: columns.to_vec(),
        }
        .into());
    }
    // The default label is the last column; if that is the scores', it must be named.
    let label = options.label.clone().or_else(|| columns.last().cloned());
    if label.as_ref() == Some(score) {
        return Err(Failure::user(
            format!("column {score:?} cannot be the scores and the label at once"),
            "name the label with --label",
        ));
    }
    options.ignore = columns
        .iter()
        .filter(|name| {
            *name != score
                && Some(*name) != label.as_ref()
                && Some(*name) != options.weight.as_ref()
        })
        .cloned()
        .collect();
    Ok(options)
}

/// `v(sigma(a z + b))` is a model of one feature; the transform of probabilities is not.
fn model_file(
    calibration: &Calibration,
    calibrator: &Calibrator,
    dataset: &Dataset,
    args: &CalibrateArgs,
) -> Result<ModelFile> {
    if calibration.margin.is_some() {
        return Err(Failure::user(
            format!(
                "{}: a calibration of probabilities is no model of scores",
                args.data.display()
            ),
            "give scores (log odds), or use --apply instead of --model; numbers in [0, 1] that are \
             scores need --kind scores",
        ));
    }
    let link: Arc<dyn InverseLink> = calibration.link.clone();
    let model = Model::new(vec![calibration.slope], calibration.intercept, false, link)?;
    let options: [(&str, Value); 4] = [
        ("kind", json!("scores")),
        ("cv", json!(args.cv)),
        ("seed", json!(args.seed)),
        ("smoothness", json!(calibrator.smoothness)),
    ];
    let fitted = Fitted {
        method: "calibrate".into(),
        options: options.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
        data: dataset.description.clone(),
        termination: "converged".into(),
        iterations: 0,
        total_weight: None,
        learned: None,
        program: program(),
    };
    let scaling = properloss::design::FittedScaling::None;
    let (encoder, classes) = (dataset.encoder.clone(), dataset.classes.clone());
    Ok(ModelFile::new(&model, encoder, scaling, classes, fitted))
}
