//! `fit`: a model of several classes, and its link, from a file of examples.

use std::collections::BTreeMap;
use std::time::Instant;

use properloss::metrics::ClassSummary;
use properloss::multiclass::{MulticlassFit, MulticlassProperLoss};
use properloss::proper::Folds;
use properloss::train::{Settings, Value as Setting};
use properloss_data::model_file::{ClassModelFile, learned_of_classes};
use properloss_data::{ClassDataset, ReadOptions, fit_memory};
use serde_json::{Map, Value, json};

use super::{Parts, described, measure, metrics_json};
use crate::args::{FitArgs, TrainArgs};
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Talk, print};
use crate::progress::Progress;
use crate::report::metrics_table;
use crate::table::short;

/// Runs the command on examples that were read.
pub fn run(
    args: &FitArgs,
    dataset: ClassDataset,
    groups: Option<Vec<u32>>,
    out: OutputFile,
    options: &ReadOptions,
    talk: Talk,
) -> Result<()> {
    if args.checkpoint.is_some() {
        return Err(Failure::usage(
            "--checkpoint is for two classes",
            "leave it out: a fit of several classes starts afresh",
        ));
    }
    check_method(&args.train)?;
    let parts = Parts::new(dataset, groups, &args.test, options, talk)?;
    talk.say(format!("fitting proper: {}", described(&parts.train)));
    let groups = parts.groups.as_deref();
    let (estimator, kept) =
        estimator(&args.train, args.test.seed, args.preserve_order, &parts.train, groups)?;
    let folds = match args.train.settings(&args.train.method_or("proper")?)?.get("cv") {
        Some(Setting::Count(count)) => *count,
        _ => 5,
    };
    fit_memory::ask("proper", &parts.train.fit_shape(folds)?)?;
    let start = Instant::now();
    let fit = {
        let _progress = Progress::spinner(talk, "cross-validating");
        estimator.fit(&parts.train.sample()?)?
    };
    let seconds = start.elapsed().as_secs_f64();
    let model = ClassModelFile::of_fit(&fit, &parts.train, kept);
    let mut measured = vec![("train", measure(&model, &parts.train)?.0)];
    if let Some(test) = &parts.test {
        measured.push(("test", measure(&model, test)?.0));
    }
    let (path, text) = (out.path().to_path_buf(), model.to_json());
    out.finish(&text.map_err(Failure::internal)?)?;
    if talk.json {
        let value = summary_json(&fit, &model, &measured, &path, seconds);
        return print(&format!("{value:#}\n"));
    }
    talk.say(words(&fit));
    talk.tables(&metrics_table(&measured).text(""), &[path])
}

/// One method learns several classes.
fn check_method(train: &TrainArgs) -> Result<()> {
    match train.method.as_deref() {
        None | Some("proper") => Ok(()),
        Some(other) => Err(Failure::user(
            format!("--method {other} learns two classes, and the label has more"),
            "leave --method out, or choose two classes with --negative and --positive",
        )),
    }
}

/// The estimator that the options ask for, and the options as the model file keeps them.
pub fn estimator(
    train: &TrainArgs,
    seed: u64,
    preserve_order: bool,
    dataset: &ClassDataset,
    groups: Option<&[u32]>,
) -> Result<(MulticlassProperLoss, BTreeMap<String, Value>)> {
    let settings: Settings = train.settings(&train.method_or("proper")?)?;
    let mut kept: BTreeMap<String, Value> = BTreeMap::new();
    let mut options = MulticlassProperLoss::default();
    options.preserve_order = preserve_order;
    let mut folds = 5;
    kept.insert("refit".into(), json!("likelihood"));
    for (name, value) in &settings {
        match (name.as_str(), value) {
            ("cv", Setting::Count(count)) => folds = *count as usize,
            ("refit", Setting::Word(word)) => {
                options.refit = word != "none";
                kept.insert("refit".into(), json!(word));
            }
            ("class_weight", Setting::Word(word)) if word == "balanced" => {
                options.class_weight = balanced(dataset);
                kept.insert("class_weight".into(), json!(word));
            }
            ("class_weight", _) => {
                return Err(Failure::usage(
                    "--class-weight takes `balanced` for several classes",
                    "give single classes their weight by a column of weights, --weight",
                ));
            }
            _ => {
                return Err(Failure::usage(
                    format!("--{} is for two classes", name.replace('_', "-")),
                    "leave it out",
                ));
            }
        }
    }
    options.folds = folds_of(groups, folds, seed);
    kept.insert("cv".into(), json!(folds));
    kept.insert("random_state".into(), json!(seed));
    kept.insert("preserve_order".into(), json!(preserve_order));
    Ok((options, kept))
}

/// So many folds, which keep groups together.
pub fn folds_of(groups: Option<&[u32]>, count: usize, seed: u64) -> Folds {
    match groups {
        None => Folds::Stratified { count, seed },
        Some(groups) => Folds::Grouped { groups: groups.to_vec(), count, seed },
    }
}

/// The same total weight for every class, the whole total unchanged.
fn balanced(dataset: &ClassDataset) -> Vec<f64> {
    let mut weights = vec![0.0; dataset.classes.len()];
    for (i, &class) in dataset.labels.iter().enumerate() {
        weights[class as usize] += dataset.weights.as_ref().map_or(1.0, |weights| weights[i]);
    }
    let total: f64 = weights.iter().sum();
    // A class without rows is named by the fit.
    weights.iter().map(|w| if *w > 0.0 { total / weights.len() as f64 / w } else { 1.0 }).collect()
}

/// What cross-validation weighed and found.
fn words(fit: &MulticlassFit) -> String {
    let [softmax, _, _, result] = fit.held_out_log_loss;
    format!(
        "held-out log-loss: softmax regression {softmax:.4}, result {result:.4}\n\
         C {}, share of the second fit {}, of the stacked one {}, of the ramps {}\n{}",
        short(fit.c),
        short(fit.refit_share),
        short(fit.stack_share),
        short(fit.ramp_share),
        guarantee(fit.tau()),
    )
}

/// What the mass of the softmax promises, at every point.
pub fn guarantee(tau: f64) -> String {
    format!(
        "guarantee: at every point the log-loss is at most that of the softmax + {} (log tau, tau {})",
        short(tau.ln()),
        short(tau),
    )
}

fn summary_json(
    fit: &MulticlassFit,
    model: &ClassModelFile,
    measured: &[(&str, ClassSummary)],
    path: &std::path::Path,
    seconds: f64,
) -> Value {
    let metrics: Map<String, Value> = measured
        .iter()
        .map(|(part, summary)| ((*part).to_owned(), metrics_json(summary, &model.classes)))
        .collect();
    json!({
        "method": "proper",
        "options": model.fitted.options,
        "termination": model.fitted.termination,
        "iterations": model.fitted.iterations,
        "classes": model.classes,
        "tau": fit.tau(),
        "log_loss_bound": fit.tau().ln(),
        "held_out_cost": fit.held_out_cost(),
        "seconds": seconds,
        "metrics": metrics,
        "written": [path],
        "proper": learned_of_classes(fit),
    })
}
