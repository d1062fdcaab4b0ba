//! `compare`: the learned link beside softmax regression, on the same rows.

use std::time::Instant;

use properloss::metrics::{ClassSummary, LOG_LOSS_CLIP};
use properloss_data::groups::grouped_folds_of_classes;
use properloss_data::model_file::ClassModelFile;
use properloss_data::split::{Split, folds_of_classes};
use properloss_data::{ClassDataset, ReadOptions};
use serde_json::{Value, json};

use super::fit::estimator;
use super::{METRICS, Parts, cells, described, measure, metrics_json, with_class_name};
use crate::args::CompareArgs;
use crate::commands::TestShare;
use crate::commands::row_losses::{RowLosses, STANDARD_ERRORS};
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;
use crate::table::Table;

/// What is compared: the default, and the path of softmax regression that it starts from.
const METHODS: [&str; 2] = ["proper", "softmax"];

/// Runs the command on examples that were read.
pub fn run(
    args: &CompareArgs,
    dataset: ClassDataset,
    groups: Option<Vec<u32>>,
    options: &ReadOptions,
    talk: Talk,
) -> Result<()> {
    let methods: Vec<&str> = if args.methods.is_empty() {
        METHODS.to_vec()
    } else {
        args.methods.iter().map(String::as_str).collect()
    };
    if let Some(unknown) = methods.iter().find(|name| !METHODS.contains(name)) {
        return Err(Failure::user(
            format!("--methods {unknown} learns two classes, and the label has more"),
            "compare proper,softmax, or choose two classes with --negative and --positive",
        ));
    }
    let words = described(&dataset);
    let rounds: Vec<Round> =
        if args.test.is_some() || args.test_share.is_some() || args.test_last.is_some() {
            let share = TestShare { any: args.test_share, last: args.test_last };
            let (test, rule) = (args.test.as_deref(), args.unknown.rule());
            let parts = Parts::new(dataset, groups, test, share, args.seed, rule, options, talk)?;
            let Parts { train, groups, test } = parts;
            let round = |test| Round { train, groups, test, test_groups: None };
            test.map(round).into_iter().collect()
        } else {
            folded(&dataset, groups.as_deref(), args.folds.unwrap_or(5), args.seed)?
        };
    let how = if rounds.len() > 1 {
        format!("mean of {} folds", rounds.len())
    } else {
        format!("{} rows to train, {} to test", rounds[0].train.rows(), rounds[0].test.rows())
    };
    talk.say(format!("{words}; {how}"));
    let mut results = Vec::new();
    {
        let progress = Progress::steps(talk, methods.len() * rounds.len(), "fits");
        for method in methods {
            results.push(run_method(method, args, &rounds, &progress)?);
        }
    }
    if results.len() > 1 && !talk.json {
        talk.say(format!("{STANDARD_ERRORS} {}, row by row", results[0].method));
    }
    let methods: Vec<Value> = results.iter().map(|result| result.json(&results[0])).collect();
    let json = json!({
        "rows": rounds.iter().map(|round| round.test.rows()).sum::<usize>(),
        "rounds": rounds.len(),
        "groups": args.data_args.group,
        "seed": args.seed,
        "methods": methods,
    });
    talk.result(|| table(&results).text(""), &json)
}

/// Rows to train on and rows to measure on, with their groups.
struct Round {
    train: ClassDataset,
    groups: Option<Vec<u32>>,
    test: ClassDataset,
    test_groups: Option<Vec<u32>>,
}

/// The training and test rows of each fold.
fn folded(
    dataset: &ClassDataset,
    groups: Option<&[u32]>,
    k: usize,
    seed: u64,
) -> Result<Vec<Round>> {
    let of = |rows: &[usize]| groups.map(|groups| rows.iter().map(|&i| groups[i]).collect());
    let round = |Split { train, test }: Split| Round {
        groups: of(&train),
        test_groups: of(&test),
        train: dataset.select(&train),
        test: dataset.select(&test),
    };
    let splits = match groups {
        None => folds_of_classes(&dataset.labels, k, seed),
        Some(groups) => grouped_folds_of_classes(&dataset.labels, groups, k, seed),
    };
    let splits = splits.map_err(|error| with_class_name(error, dataset))?;
    Ok(splits.into_iter().map(round).collect())
}

/// One method: its measures in each round.
struct Comparison {
    method: String,
    classes: Vec<String>,
    rounds: Vec<ClassSummary>,
    seconds: f64,
    /// Of every test row.
    losses: RowLosses,
}

fn run_method(
    method: &str,
    args: &CompareArgs,
    rounds: &[Round],
    progress: &Progress,
) -> Result<Comparison> {
    let mut result = Comparison {
        method: method.into(),
        classes: rounds[0].train.classes.clone(),
        rounds: Vec::new(),
        seconds: 0.0,
        losses: RowLosses::default(),
    };
    for round in rounds {
        let start = Instant::now();
        let Round { train, groups, test, test_groups } = round;
        let (mut options, kept) =
            estimator(&args.train, args.seed, false, train, groups.as_deref())?;
        if method == "softmax" {
            options =
                options.with_share_bounds(vec![1.0]).with_refit(false).with_preserve_order(true);
        }
        let fit = options.fit(&train.sample()?)?;
        result.seconds += start.elapsed().as_secs_f64() / rounds.len() as f64;
        let model = ClassModelFile::of_fit(&fit, train, kept);
        let (summary, p) = measure(&model, test)?;
        result.rounds.push(summary);
        let of_row = p.chunks_exact(test.classes.len()).zip(&test.labels);
        let losses = of_row.map(|(p, &label)| -p[label as usize].max(LOG_LOSS_CLIP).ln());
        result.losses.add(losses, test.weights.as_deref(), test_groups.as_deref(), rounds.len());
        progress.step(method);
    }
    Ok(result)
}

impl Comparison {
    /// The mean of one measure over the rounds.
    fn mean(&self, value: impl Fn(&ClassSummary) -> f64) -> f64 {
        self.rounds.iter().map(value).sum::<f64>() / self.rounds.len() as f64
    }

    /// The first round with the means of what is not of a class.
    fn summary(&self) -> ClassSummary {
        ClassSummary {
            log_loss: self.mean(|s| s.log_loss),
            brier: self.mean(|s| s.brier),
            ece: self.mean(|s| s.ece),
            accuracy: self.mean(|s| s.accuracy),
            ..self.rounds[0].clone()
        }
    }

    fn json(&self, first: &Self) -> Value {
        let (difference, error) = self.losses.difference(&first.losses);
        let rounds: Vec<Value> =
            self.rounds.iter().map(|round| metrics_json(round, &self.classes)).collect();
        let mean = self.summary();
        json!({
            "method": self.method,
            "mean": {
                "log_loss": mean.log_loss,
                "brier": mean.brier,
                "ece": mean.ece,
                "accuracy": mean.accuracy,
            },
            "log_loss_standard_error": self.losses.standard_error(),
            "log_loss_difference": {
                "from": first.method,
                "mean": difference,
                "standard_error": error,
            },
            "rounds": rounds,
            "seconds": self.seconds,
        })
    }
}

fn table(results: &[Comparison]) -> Table {
    let mut names = vec!["method"];
    names.push(METRICS[0]);
    names.extend(["+-", "difference", "+-"]);
    names.extend(&METRICS[1..]);
    names.push("seconds");
    let mut table = Table::new(&names);
    for (k, result) in results.iter().enumerate() {
        let own = cells(&result.summary());
        let mut row = vec![result.method.clone(), own[0].clone()];
        row.push(format!("{:.4}", result.losses.standard_error()));
        let (mean, error) = result.losses.difference(&results[0].losses);
        if k == 0 {
            row.extend([String::new(), String::new()]);
        } else {
            row.extend([format!("{mean:+.4}"), format!("{error:.4}")]);
        }
        row.extend(own[1..].iter().cloned());
        table.row(row.into_iter().chain([format!("{:.2}", result.seconds)]));
    }
    table
}
