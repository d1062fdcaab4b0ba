//! `calibrate`: probabilities from the scores of any classifier of several classes, one column a class.

use properloss::design::FittedScaling;
use properloss::multiclass::{MulticlassCalibration, MulticlassCalibrator};
use properloss::proper::ScoreKind;
use properloss_data::model_file::{ClassModelFile, Fitted, Preprocessing, program};
use properloss_data::{ClassDataset, ReadOptions, fit_memory};
use serde_json::{Value, json};

use super::fit::{folds_of, guarantee};
use super::predict::column;
use crate::args::{CalibrateArgs, Prediction, source};
use crate::commands::calibrate::{each_scored_row, table};
use crate::commands::rows_as_json;
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Stream, Talk, is_stdout, print};
use crate::table::short;

/// How far the probabilities of a row may sum from 1.
const SUM_TOLERANCE: f64 = 1e-3;

/// Runs the command on scores that were read.
pub fn run(
    args: &CalibrateArgs,
    dataset: &ClassDataset,
    groups: Option<&[u32]>,
    options: &ReadOptions,
    mut out: Stream,
    model: Option<OutputFile>,
    talk: Talk,
) -> Result<()> {
    if args.smoothness.is_some() {
        return Err(Failure::usage("--smoothness is for two classes", "leave it out"));
    }
    let as_json = rows_as_json(args.out.as_deref(), talk)?;
    let classes = dataset.classes.len();
    let order = columns_of_classes(args, dataset)?;
    let mut scores = Vec::with_capacity(dataset.rows() * classes);
    let mut row = vec![0.0; dataset.columns()];
    for i in 0..dataset.rows() {
        dataset.features.copy_row(i, &mut row);
        scores.extend(order.iter().map(|&j| row[j]));
    }
    let mut calibrator =
        MulticlassCalibrator::default().with_folds(folds_of(groups, args.cv, args.seed));
    calibrator.probabilities = are_probabilities(args, dataset, &scores)?;
    let weights = dataset.weights.as_deref();
    fit_memory::ask("calibrate", &dataset.fit_shape(args.cv as u64)?)?;
    let calibration = calibrator.fit(&scores, &dataset.labels, classes, weights)?;
    if let Some(file) = model {
        let text = model_file(&calibration, dataset, &order, args)?.to_json();
        file.finish(&text.map_err(Failure::internal)?)?;
    }
    let mut kept = Vec::new();
    if args.apply.is_some() || !args.keep.is_empty() {
        let target = source(args.apply.as_ref().unwrap_or(&args.data))?;
        scores.clear();
        each_scored_row(&target, &dataset.encoder, options, &args.keep, |found, texts| {
            row.fill(0.0);
            match found.columns {
                None => row.copy_from_slice(found.features),
                Some(columns) => {
                    for (&j, &value) in columns.iter().zip(found.features) {
                        row[j as usize] = value;
                    }
                }
            }
            scores.extend(order.iter().map(|&j| row[j]));
            kept.extend_from_slice(texts);
        })?;
    }
    let probabilities = calibration.probabilities(&scores)?;
    let names: Vec<String> =
        dataset.classes.iter().map(|class| column(Prediction::Probability, class)).collect();
    let value = |p: &[f64]| {
        let pairs = dataset.classes.iter().zip(p);
        Value::Object(pairs.map(|(class, p)| (class.clone(), json!(p))).collect())
    };
    out.write(&table(&probabilities, &names, value, (&args.keep, &kept), as_json))?;
    out.finish()?;
    if talk.json && args.out.as_deref().is_some_and(|path| !is_stdout(path)) {
        print(&format!("{:#}\n", summary_json(args, dataset, &calibration)))?;
    }
    let [softmax, result] = calibration.held_out_log_loss;
    let kind = if calibration.margin.is_some() { "probabilities" } else { "scores" };
    talk.say(format!(
        "calibrated {} {kind} of {classes} classes: held-out log-loss {result:.4} (as they are \
         {softmax:.4}), factor {}\n{}",
        dataset.rows(),
        short(calibration.temperature),
        guarantee(calibration.link.tau()),
    ));
    Ok(())
}

/// What was learned, for machines: with the probabilities in a file, on standard output.
fn summary_json(
    args: &CalibrateArgs,
    dataset: &ClassDataset,
    calibration: &MulticlassCalibration,
) -> Value {
    let [softmax, result] = calibration.held_out_log_loss;
    json!({
        "rows": dataset.rows(),
        "kind": if calibration.margin.is_some() { "probabilities" } else { "scores" },
        "classes": dataset.classes,
        "temperature": calibration.temperature,
        "tau": calibration.link.tau(),
        "log_loss_bound": calibration.link.tau().ln(),
        "held_out_log_loss": {"softmax": softmax, "result": result},
        "groups": args.data_args.group,
        "written": args.out.iter().chain(&args.model).collect::<Vec<_>>(),
    })
}

/// For each class its column: the one of its name, alone or after `probability_` or `score_`, as
/// `predict` writes it; if no column has such a name, they are taken in the order of the classes.
fn columns_of_classes(args: &CalibrateArgs, dataset: &ClassDataset) -> Result<Vec<usize>> {
    let classes = &dataset.classes;
    let names: Vec<String> =
        (0..dataset.columns()).map(|j| dataset.encoder.feature_name(j)).collect();
    if args.score.is_some() || names.len() != classes.len() {
        return Err(Failure::user(
            format!(
                "{}: {} column(s) of scores, but the label has {} classes",
                args.data.display(),
                names.len(),
                classes.len(),
            ),
            "give one column a class and leave the others out with --ignore (no --score), or choose \
             two classes with --negative and --positive",
        ));
    }
    let own = |class: &String| {
        let known = [
            class.clone(),
            column(Prediction::Probability, class),
            column(Prediction::Score, class),
        ];
        names.iter().position(|name| known.contains(name))
    };
    let found: Vec<Option<usize>> = classes.iter().map(own).collect();
    if found.iter().all(Option::is_none) {
        return Ok((0..names.len()).collect());
    }
    match found.iter().position(Option::is_none) {
        None => Ok(found.into_iter().flatten().collect()),
        Some(class) => Err(Failure::user(
            format!(
                "{}: some columns have the names of classes, but none is for class {:?}",
                args.data.display(),
                classes[class],
            ),
            "name every column by its class, or none",
        )),
    }
}

/// Whether the numbers are probabilities: said, or seen.
fn are_probabilities(args: &CalibrateArgs, dataset: &ClassDataset, p: &[f64]) -> Result<bool> {
    let off = |row: &[f64]| {
        row.iter().any(|p| !(0.0..=1.0).contains(p))
            || (row.iter().sum::<f64>() - 1.0).abs() > SUM_TOLERANCE
    };
    let wrong = p.chunks_exact(dataset.classes.len()).position(off);
    match (args.kind, wrong) {
        (ScoreKind::Probabilities, Some(i)) => Err(Failure::user(
            format!(
                "{}, row {}: not probabilities from 0 to 1 with the sum 1",
                args.data.display(),
                i + 1
            ),
            "pass --kind scores for other numbers",
        )),
        (ScoreKind::Scores, _) | (_, Some(_)) => Ok(false),
        (_, None) => Ok(true),
    }
}

/// `p(t z)` is a model whose features are the scores; the transform of probabilities is not.
fn model_file(
    calibration: &MulticlassCalibration,
    dataset: &ClassDataset,
    order: &[usize],
    args: &CalibrateArgs,
) -> Result<ClassModelFile> {
    if calibration.margin.is_some() {
        return Err(Failure::user(
            format!(
                "{}: a calibration of probabilities is no model of scores",
                args.data.display()
            ),
            "give scores (logarithms), or use --apply instead of --model",
        ));
    }
    let weights = order.iter().map(|&own| {
        let mut row = vec![0.0; order.len()];
        row[own] = calibration.temperature;
        row
    });
    let options = [("kind", json!("scores")), ("cv", json!(args.cv)), ("seed", json!(args.seed))];
    let [softmax, result] = calibration.held_out_log_loss;
    let learned = softmax.is_finite().then(|| {
        json!({
            "tau": calibration.link.tau(),
            "log_loss_bound": calibration.link.tau().ln(),
            "temperature": calibration.temperature,
            "held_out_log_loss": [softmax, result],
            "held_out_cost": result - softmax,
        })
    });
    Ok(ClassModelFile {
        weights: weights.collect(),
        intercepts: vec![0.0; order.len()],
        link: (&calibration.link).into(),
        feature_names: dataset.encoder.feature_names(),
        preprocessing: Preprocessing {
            encoder: dataset.encoder.clone(),
            scaling: FittedScaling::None,
        },
        classes: dataset.classes.clone(),
        fitted: Fitted {
            method: "calibrate".into(),
            options: options.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
            data: dataset.description.clone(),
            termination: "converged".into(),
            learned,
            program: program(),
            ..Fitted::default()
        },
    })
}
