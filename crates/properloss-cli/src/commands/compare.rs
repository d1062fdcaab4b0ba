//! `compare`: methods and baselines on one data set, in one table.

use std::time::Instant;

use properloss::metrics::Summary;
use properloss::train::registry::{method, methods};
use properloss::train::{Method, Value as Setting};
use properloss_data::Examples;
use properloss_data::training::Training;
use properloss_report::evaluation::log_loss_of;
use serde_json::Value;

use super::baselines::{Baseline, LogisticCv};
use super::comparison::{Comparison, announce, show};
use super::parts::{Round, grouped};
use super::{described, groups_of, load_examples, several};
use crate::args::{CompareArgs, TrainArgs, source};
use crate::failure::{Failure, Result};
use crate::interrupt::STOP;
use crate::output::Talk;
use crate::progress::{Progress, Watch};
use crate::report::{Measures, forecasts, metrics_json};

/// Runs the command.
pub fn run(args: &CompareArgs, talk: Talk) -> Result<()> {
    if args.train.method.is_some() {
        return Err(Failure::usage(
            "compare runs several methods: it takes no --method",
            "choose with --methods, such as --methods labels,logistic",
        ));
    }
    let options = args.data_args.options()?;
    let data = source(&args.data)?;
    let dataset = match load_examples(&args.data_args, &data, &options, talk)? {
        Examples::Two(dataset) => dataset,
        Examples::Several(dataset) => {
            let groups = groups_of(&args.data_args, &data, &dataset, &options)?;
            return several::compare::run(args, dataset, groups, &options, talk);
        }
    };
    let candidates = chosen(&args.methods)?;
    let groups = groups_of(&args.data_args, &data, &dataset, &options)?;
    let words = described(&dataset);
    let rounds = Round::all(dataset, groups, args.folds, &args.test, &options, talk)?;
    announce(&words, &rounds, talk);
    let results = compare(&candidates, &args.train, args.test.seed, &rounds, talk)?;
    show(args, &rounds, &results, &json_of(&results), talk)
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
            Failure::usage(message, "or a baseline, logistic-cv, platt, isotonic; or paper, or all")
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

/// Every candidate on every round.
pub(super) fn compare(
    candidates: &[Candidate],
    args: &TrainArgs,
    seed: u64,
    rounds: &[Round],
    talk: Talk,
) -> Result<Vec<Comparison<Summary>>> {
    let progress = Progress::steps(talk, candidates.len() * rounds.len(), "fits");
    // The three baselines share one fit a round.
    let mut logistic: Vec<Option<(LogisticCv, f64)>> = rounds.iter().map(|_| None).collect();
    let mut results = Vec::new();
    for candidate in candidates {
        let name = candidate.name();
        let mut result = Comparison::new(name);
        for (round, logistic) in rounds.iter().zip(&mut logistic) {
            let start = Instant::now();
            let (scores, probabilities) = match candidate {
                Candidate::Method(method) => {
                    let trainer = training(method, args, seed, round)?;
                    let sample = round.train.sample()?;
                    let mut watch = Watch::within(&progress, name.to_owned());
                    let trained = trainer.run(&sample, &STOP, &mut watch)?;
                    result.iterations.push(trained.iterations());
                    forecasts(&trained.fit.model, round.test.matrix()?)?
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
            let (labels, weights) = (&round.test.labels, round.test.weights.as_deref());
            let summary = Summary::new(&scores, &probabilities, labels, weights)?;
            let losses = probabilities.iter().zip(labels).map(|(&p, &label)| log_loss_of(p, label));
            result.add(summary, losses, round, rounds.len());
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
    grouped(trainer, &round.train, round.groups.as_deref(), seed)
}

/// For machines.
pub(super) fn json_of(results: &[Comparison<Summary>]) -> Value {
    let mean = |result: &Comparison<Summary>| metrics_json(&Summary::mean(&result.rounds));
    results.iter().map(|own| own.json(&results[0], mean(own), metrics_json)).collect()
}
