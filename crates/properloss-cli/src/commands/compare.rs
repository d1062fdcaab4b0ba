//! `compare`: all methods on one data set, in one table.

use std::time::Instant;

use properloss::metrics::Summary;
use properloss::train::registry::{method, methods};
use properloss::train::{Method, Value as Setting};
use properloss_data::Dataset;
use properloss_data::split::{Split, folds};
use serde_json::{Value, json};

use super::{Parts, TestShare, described, load, with_class_name};
use crate::args::{CompareArgs, TrainArgs};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::Talk;
use crate::progress::{Progress, Watch};
use crate::report::{METRICS, measure, metrics_cells, metrics_json};
use crate::table::Table;
use properloss_data::training::Training;

/// Runs the command.
pub fn run(args: &CompareArgs, talk: Talk) -> Result<()> {
    if args.train.method.is_some() {
        return Err(Failure::usage(
            "compare runs several methods: it takes no --method",
            "choose with --methods, such as --methods labels,logistic",
        ));
    }
    let mut methods = Vec::new();
    for name in if args.methods.is_empty() { compared() } else { args.methods.clone() } {
        methods.push(method(&name)?);
    }
    let options = args.data_args.options()?;
    let dataset = load(&args.data, &options, talk)?;
    let words = described(&dataset);
    let rounds: Vec<(Dataset, Dataset)> =
        if args.test.is_some() || args.test_share.is_some() || args.test_last.is_some() {
            let test = args.test.as_deref();
            let parts = {
                let share = TestShare { any: args.test_share, last: args.test_last };
                Parts::new(dataset, test, share, args.seed, args.unknown.rule(), &options, talk)?
            };
            parts.test.into_iter().map(|test| (parts.train.clone(), test)).collect()
        } else {
            folded(&dataset, args.folds.unwrap_or(5), args.seed)?
        };
    let how = if rounds.len() > 1 {
        format!("mean of {} folds", rounds.len())
    } else {
        format!("{} rows to train, {} to test", rounds[0].0.rows(), rounds[0].1.rows())
    };
    talk.say(format!("{words}; {how}"));
    let results = compare(&methods, &args.train, args.seed, &rounds, talk)?;
    let json = json!({"rounds": rounds.len(), "methods": json_of(&results)});
    talk.result(|| table(&results).text(""), &json)
}

/// The training and test rows of each fold.
pub(super) fn folded(dataset: &Dataset, k: usize, seed: u64) -> Result<Vec<(Dataset, Dataset)>> {
    let part = |split: Split| (dataset.select(&split.train), dataset.select(&split.test));
    let splits = folds(&dataset.labels, k, seed).map_err(|e| with_class_name(e, dataset))?;
    Ok(splits.into_iter().map(part).collect())
}

/// Every method but the one that needs a link.
pub(super) fn compared() -> Vec<String> {
    let names = methods().into_iter().map(|method| method.name.to_owned());
    names.filter(|name| name != "canonical").collect()
}

/// One method: its measures in each round.
pub(super) struct Comparison {
    pub method: &'static str,
    pub rounds: Vec<Summary>,
    pub iterations: Vec<usize>,
    pub seconds: f64,
}

impl Comparison {
    /// The mean of one measure over the rounds.
    fn mean(&self, value: impl Fn(&Summary) -> f64) -> f64 {
        self.rounds.iter().map(value).sum::<f64>() / self.rounds.len() as f64
    }

    /// The mean of every measure.
    pub fn summary(&self) -> Summary {
        let mut summary = self.rounds[0];
        summary.auc = self.mean(|s| s.auc);
        summary.log_loss = self.mean(|s| s.log_loss);
        summary.brier.brier = self.mean(|s| s.brier.brier);
        summary.brier.miscalibration = self.mean(|s| s.brier.miscalibration);
        summary.brier.discrimination = self.mean(|s| s.brier.discrimination);
        summary.brier.uncertainty = self.mean(|s| s.brier.uncertainty);
        summary.ece = self.mean(|s| s.ece);
        summary.accuracy = self.mean(|s| s.accuracy);
        summary
    }
}

/// Every method on every round.
pub(super) fn compare(
    methods: &[Method],
    args: &TrainArgs,
    seed: u64,
    rounds: &[(Dataset, Dataset)],
    talk: Talk,
) -> Result<Vec<Comparison>> {
    let progress = Progress::steps(talk, methods.len() * rounds.len(), "fits");
    let mut results = Vec::new();
    for method in methods {
        let mut settings = args.taken(method);
        if method.option("seed").is_some() {
            settings.insert("seed".into(), Setting::Count(seed));
        }
        let trainer = Training::new(method.clone(), settings);
        let method = method.name;
        let mut result =
            Comparison { method, rounds: Vec::new(), iterations: Vec::new(), seconds: 0.0 };
        for (train, test) in rounds {
            let sample = train.sample()?;
            let start = Instant::now();
            let mut watch = Watch::within(&progress, method.to_owned());
            let trained = trainer.run(&sample, &STOP, &mut watch)?;
            result.seconds += start.elapsed().as_secs_f64() / rounds.len() as f64;
            result.iterations.push(trained.iterations());
            result.rounds.push(measure(&trained.fit.model, test)?);
            progress.step(method);
        }
        results.push(result);
    }
    Ok(results)
}

/// For people.
pub(super) fn table(results: &[Comparison]) -> Table {
    let mut names = vec!["method"];
    names.extend(METRICS);
    names.push("seconds");
    let mut table = Table::new(&names);
    for result in results {
        let cells = metrics_cells(&result.summary());
        let seconds = format!("{:.2}", result.seconds);
        table.row([result.method.to_owned()].into_iter().chain(cells).chain([seconds]));
    }
    table
}

/// For machines.
pub(super) fn json_of(results: &[Comparison]) -> Value {
    let values = results.iter().map(|result| {
        let rounds: Vec<Value> = result.rounds.iter().map(metrics_json).collect();
        json!({
            "method": result.method,
            "mean": metrics_json(&result.summary()),
            "rounds": rounds,
            "iterations": result.iterations,
            "seconds": result.seconds,
        })
    });
    Value::Array(values.collect())
}
