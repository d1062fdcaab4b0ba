//! `compare`: the learned link beside softmax regression, on the same rows.

use std::time::Instant;

use properloss::metrics::ClassSummary;
use properloss_data::model_file::ClassModelFile;
use properloss_data::split::folds_of_classes;
use properloss_data::{ClassDataset, ReadOptions};
use serde_json::{Value, json};

use super::fit::estimator;
use super::{METRICS, Parts, cells, described, measure, metrics_json, with_class_name};
use crate::args::CompareArgs;
use crate::commands::TestShare;
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
    let rounds: Vec<(ClassDataset, ClassDataset)> =
        if args.test.is_some() || args.test_share.is_some() || args.test_last.is_some() {
            let share = TestShare { any: args.test_share, last: args.test_last };
            let (test, rule) = (args.test.as_deref(), args.unknown.rule());
            let parts = Parts::new(dataset, test, share, args.seed, rule, options, talk)?;
            parts.test.into_iter().map(|test| (parts.train.clone(), test)).collect()
        } else {
            let splits = folds_of_classes(&dataset.labels, args.folds.unwrap_or(5), args.seed);
            let splits = splits.map_err(|error| with_class_name(error, &dataset))?;
            let part = |rows: &[usize]| dataset.select(rows);
            splits.iter().map(|split| (part(&split.train), part(&split.test))).collect()
        };
    let how = if rounds.len() > 1 {
        format!("mean of {} folds", rounds.len())
    } else {
        format!("{} rows to train, {} to test", rounds[0].0.rows(), rounds[0].1.rows())
    };
    talk.say(format!("{words}; {how}"));
    let mut results = Vec::new();
    {
        let progress = Progress::steps(talk, methods.len() * rounds.len(), "fits");
        for method in methods {
            results.push(run_method(method, args, &rounds, &progress)?);
        }
    }
    let methods: Vec<Value> = results.iter().map(Comparison::json).collect();
    let json = json!({"rounds": rounds.len(), "methods": methods});
    talk.result(|| table(&results).text(""), &json)
}

/// One method: its measures in each round.
struct Comparison {
    method: String,
    classes: Vec<String>,
    rounds: Vec<ClassSummary>,
    seconds: f64,
}

fn run_method(
    method: &str,
    args: &CompareArgs,
    rounds: &[(ClassDataset, ClassDataset)],
    progress: &Progress,
) -> Result<Comparison> {
    let classes = rounds[0].0.classes.clone();
    let mut result =
        Comparison { method: method.into(), classes, rounds: Vec::new(), seconds: 0.0 };
    for (train, test) in rounds {
        let start = Instant::now();
        let (mut options, kept) = estimator(&args.train, args.seed, false, train)?;
        if method == "softmax" {
            options =
                options.with_share_bounds(vec![1.0]).with_refit(false).with_preserve_order(true);
        }
        let fit = options.fit(&train.sample()?)?;
        result.seconds += start.elapsed().as_secs_f64() / rounds.len() as f64;
        let model = ClassModelFile::of_fit(&fit, train, kept);
        result.rounds.push(measure(&model, test)?.0);
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

    fn json(&self) -> Value {
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
            "rounds": rounds,
            "seconds": self.seconds,
        })
    }
}

fn table(results: &[Comparison]) -> Table {
    let mut names = vec!["method"];
    names.extend(METRICS);
    names.push("seconds");
    let mut table = Table::new(&names);
    for result in results {
        let seconds = format!("{:.2}", result.seconds);
        let own = cells(&result.summary());
        table.row([result.method.clone()].into_iter().chain(own).chain([seconds]));
    }
    table
}
