//! `compare`: methods and baselines on one data set, in one table.

use std::time::Instant;

use properloss::metrics::{LOG_LOSS_CLIP, Summary};
use properloss::train::registry::{method, methods};
use properloss::train::{Method, Value as Setting};
use properloss_data::groups::{fold_of_row, grouped_folds};
use properloss_data::split::{Split, folds};
use properloss_data::{Dataset, Examples};
use serde_json::{Value, json};

use super::baselines::{Baseline, LogisticCv};
use super::row_losses::{RowLosses, STANDARD_ERRORS};
use super::{Parts, TestShare, described, load_examples, load_groups, several, with_class_name};
use crate::args::{CompareArgs, TrainArgs};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::Talk;
use crate::progress::{Progress, Watch};
use crate::report::{METRICS, metrics_cells, metrics_json};
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
    let options = args.data_args.options()?;
    let dataset = match load_examples(&args.data_args, &args.data, &options, talk)? {
        Examples::Two(dataset) => dataset,
        Examples::Several(dataset) => {
            let shape = (&dataset.encoder, dataset.rows());
            let groups = load_groups(&args.data_args, &args.data, shape, &options)?;
            return several::compare::run(args, dataset, groups, &options, talk);
        }
    };
    let candidates = chosen(&args.methods)?;
    let groups =
        load_groups(&args.data_args, &args.data, (&dataset.encoder, dataset.rows()), &options)?;
    let words = described(&dataset);
    let rounds: Vec<Round> =
        if args.test.is_some() || args.test_share.is_some() || args.test_last.is_some() {
            let test = args.test.as_deref();
            let share = TestShare { any: args.test_share, last: args.test_last };
            let (seed, rule) = (args.seed, args.unknown.rule());
            let parts = Parts::new(dataset, groups, test, share, seed, rule, &options, talk)?;
            let Parts { train, groups, test } = parts;
            test.into_iter()
                .map(|test| Round {
                    train: train.clone(),
                    groups: groups.clone(),
                    test,
                    test_groups: None,
                })
                .collect()
        } else {
            folded(&dataset, groups.as_deref(), args.folds.unwrap_or(5), args.seed)?
        };
    let how = if rounds.len() > 1 {
        format!("mean of {} folds", rounds.len())
    } else {
        format!("{} rows to train, {} to test", rounds[0].train.rows(), rounds[0].test.rows())
    };
    talk.say(format!("{words}; {how}"));
    let results = compare(&candidates, &args.train, args.seed, &rounds, talk)?;
    let first = results[0].method;
    if results.len() > 1 && !talk.json {
        talk.say(format!("{STANDARD_ERRORS} {first}, row by row"));
    }
    let json = json!({
        "rows": rounds.iter().map(|round| round.test.rows()).sum::<usize>(),
        "rounds": rounds.len(),
        "groups": args.data_args.group,
        "seed": args.seed,
        "methods": json_of(&results),
    });
    talk.result(|| table(&results).text(""), &json)
}

/// Rows to train on and rows to measure on, with their groups.
pub(super) struct Round {
    pub train: Dataset,
    pub groups: Option<Vec<u32>>,
    pub test: Dataset,
    pub test_groups: Option<Vec<u32>>,
}

impl Round {
    /// Without groups.
    pub fn new(train: Dataset, test: Dataset) -> Self {
        Self { train, groups: None, test, test_groups: None }
    }
}

/// The training and test rows of each fold.
pub(super) fn folded(
    dataset: &Dataset,
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
        None => folds(&dataset.labels, k, seed),
        Some(groups) => grouped_folds(&dataset.labels, groups, k, seed),
    };
    let splits = splits.map_err(|e| with_class_name(e, dataset))?;
    Ok(splits.into_iter().map(round).collect())
}

/// What is compared.
pub(super) enum Candidate {
    /// A method of `fit`.
    Method(Method),
    /// A baseline.
    Baseline(Baseline),
}

impl Candidate {
    fn name(&self) -> &'static str {
        match self {
            Self::Method(method) => method.name,
            Self::Baseline(baseline) => baseline.name(),
        }
    }
}

/// The candidates of these names; by default the method and what it has to beat.
fn chosen(names: &[String]) -> Result<Vec<Candidate>> {
    let usual = || vec!["proper", "logistic-cv", "platt", "isotonic"];
    let mut wanted: Vec<String> = Vec::new();
    for name in names {
        let group: Vec<&str> = match name.as_str() {
            "paper" => paper(),
            "all" => [usual(), paper(), vec!["averaged", "logistic"]].concat(),
            name => vec![name],
        };
        for name in group {
            if !wanted.iter().any(|known| known == name) {
                wanted.push(name.to_owned());
            }
        }
    }
    if names.is_empty() {
        wanted = usual().into_iter().map(str::to_owned).collect();
    }
    let candidate = |name: &String| match Baseline::from_name(name) {
        Some(baseline) => Ok(Candidate::Baseline(baseline)),
        None => method(name).map(Candidate::Method).map_err(|error| {
            let message = error.to_string();
            Failure::user(message, "or a baseline, logistic-cv, platt, isotonic; or paper, or all")
        }),
    };
    wanted.iter().map(candidate).collect()
}

/// The methods of the paper, and those that it compares with.
fn paper() -> Vec<&'static str> {
    vec!["labels", "refit", "bregmantron", "approx", "certified", "slisotron", "glmtron"]
}

/// Every method of `fit` but the one that needs a link.
pub(super) fn compared() -> Vec<Candidate> {
    let fit = methods().into_iter().filter(|method| method.name != "canonical");
    fit.map(Candidate::Method).collect()
}

/// One method: its measures in each round.
pub(super) struct Comparison {
    pub method: &'static str,
    pub rounds: Vec<Summary>,
    pub iterations: Vec<usize>,
    pub seconds: f64,
    /// Of every test row.
    losses: RowLosses,
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

/// Every candidate on every round.
pub(super) fn compare(
    candidates: &[Candidate],
    args: &TrainArgs,
    seed: u64,
    rounds: &[Round],
    talk: Talk,
) -> Result<Vec<Comparison>> {
    let progress = Progress::steps(talk, candidates.len() * rounds.len(), "fits");
    // The three baselines share one fit a round.
    let mut logistic: Vec<Option<(LogisticCv, f64)>> = rounds.iter().map(|_| None).collect();
    let mut results = Vec::new();
    for candidate in candidates {
        let name = candidate.name();
        let mut result = Comparison {
            method: name,
            rounds: Vec::new(),
            iterations: Vec::new(),
            seconds: 0.0,
            losses: RowLosses::default(),
        };
        for (round, logistic) in rounds.iter().zip(&mut logistic) {
            let start = Instant::now();
            let (scores, probabilities) = match candidate {
                Candidate::Method(method) => {
                    let trainer = training(method, args, seed, round)?;
                    let sample = round.train.sample()?;
                    let mut watch = Watch::within(&progress, name.to_owned());
                    let trained = trainer.run(&sample, &STOP, &mut watch)?;
                    result.iterations.push(trained.iterations());
                    let model = &trained.fit.model;
                    let scores = model.scores(round.test.matrix()?)?;
                    let mut probabilities = scores.clone();
                    model.apply_link(&mut probabilities);
                    (scores, probabilities)
                }
                Candidate::Baseline(baseline) => {
                    if logistic.is_none() {
                        let fit = LogisticCv::fit(&round.train, round.groups.as_deref(), seed)?;
                        *logistic = Some((fit, start.elapsed().as_secs_f64()));
                    } else if let Some((_, seconds)) = logistic {
                        result.seconds += *seconds / rounds.len() as f64;
                    }
                    match logistic {
                        Some((fit, _)) => fit.predict(*baseline, &round.test)?,
                        None => (Vec::new(), Vec::new()),
                    }
                }
            };
            result.seconds += start.elapsed().as_secs_f64() / rounds.len() as f64;
            result.add(&scores, &probabilities, round, rounds.len())?;
            progress.step(name);
        }
        results.push(result);
    }
    Ok(results)
}

/// A method with the options that it takes; its folds keep groups together.
fn training(method: &Method, args: &TrainArgs, seed: u64, round: &Round) -> Result<Training> {
    let mut settings = args.taken(method);
    if method.option("seed").is_some() {
        settings.insert("seed".into(), Setting::Count(seed));
    }
    let trainer = Training::new(method.clone(), settings);
    let folds = match (&round.groups, trainer.folds()) {
        (Some(groups), Some(count)) => Some(
            fold_of_row(&round.train.labels, groups, count, seed)
                .map_err(|error| with_class_name(error, &round.train))?,
        ),
        _ => None,
    };
    Ok(trainer.with_folds(folds))
}

impl Comparison {
    /// Takes in the forecasts of a round.
    fn add(&mut self, scores: &[f64], p: &[f64], round: &Round, rounds: usize) -> Result<()> {
        let test = &round.test;
        let weights = test.weights.as_deref();
        self.rounds.push(Summary::new(scores, p, &test.labels, weights)?);
        let loss = |(&p, &label): (&f64, &u8)| {
            let p = p.clamp(LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP);
            -if label == 1 { p.ln() } else { (-p).ln_1p() }
        };
        let losses = p.iter().zip(&test.labels).map(loss);
        self.losses.add(losses, weights, round.test_groups.as_deref(), rounds);
        Ok(())
    }
}

/// For people.
pub(super) fn table(results: &[Comparison]) -> Table {
    let mut names = vec!["method"];
    names.extend(&METRICS[..2]);
    names.extend(["+-", "difference", "+-"]);
    names.extend(&METRICS[2..]);
    names.push("seconds");
    let mut table = Table::new(&names);
    for (k, result) in results.iter().enumerate() {
        let cells = metrics_cells(&result.summary());
        let difference = if k == 0 {
            [String::new(), String::new()]
        } else {
            let (mean, error) = result.losses.difference(&results[0].losses);
            [format!("{mean:+.4}"), format!("{error:.4}")]
        };
        let row = [result.method.to_owned()].into_iter().chain(cells[..2].iter().cloned());
        let row = row.chain([format!("{:.4}", result.losses.standard_error())]).chain(difference);
        let row = row.chain(cells[2..].iter().cloned());
        table.row(row.chain([format!("{:.2}", result.seconds)]));
    }
    table
}

/// For machines.
pub(super) fn json_of(results: &[Comparison]) -> Value {
    let values = results.iter().map(|result| {
        let rounds: Vec<Value> = result.rounds.iter().map(metrics_json).collect();
        let (difference, error) = result.losses.difference(&results[0].losses);
        json!({
            "method": result.method,
            "mean": metrics_json(&result.summary()),
            "log_loss_standard_error": result.losses.standard_error(),
            "log_loss_difference": {
                "from": results[0].method,
                "mean": difference,
                "standard_error": error,
            },
            "rounds": rounds,
            "iterations": result.iterations,
            "seconds": result.seconds,
        })
    });
    Value::Array(values.collect())
}
