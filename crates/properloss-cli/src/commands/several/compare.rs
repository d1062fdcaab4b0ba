//! `compare`: the learned link beside softmax regression, on the same rows.

use std::time::Instant;

use properloss::metrics::{ClassSummary, LOG_LOSS_CLIP};
use properloss_data::model_file::ClassModelFile;
use properloss_data::{ClassDataset, ReadOptions};
use serde_json::json;

use super::fit::estimator;
use super::{described, measure, metrics_json};
use crate::args::CompareArgs;
use crate::commands::comparison::{Comparison, announce, show};
use crate::commands::parts::Round;
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;
use crate::report::Measures;

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
    if let Some(unknown) = args.methods.iter().find(|name| !METHODS.contains(&name.as_str())) {
        return Err(Failure::user(
            format!("--methods {unknown} learns two classes, and the label has more"),
            "compare proper,softmax, or choose two classes with --negative and --positive",
        ));
    }
    // In the order that was asked for.
    let known = |name: &String| METHODS.into_iter().find(|known| known == name);
    let methods: Vec<&'static str> = match &args.methods[..] {
        [] => METHODS.to_vec(),
        chosen => chosen.iter().filter_map(known).collect(),
    };
    let words = described(&dataset);
    let classes = dataset.classes.clone();
    let rounds = Round::all(dataset, groups, args.folds, &args.test, options, talk)?;
    announce(&words, &rounds, talk);
    let mut results = Vec::new();
    {
        let progress = Progress::steps(talk, methods.len() * rounds.len(), "fits");
        for method in methods {
            results.push(run_method(method, args, &rounds, &progress)?);
        }
    }
    let json = |own: &Comparison<ClassSummary>| {
        let mean = ClassSummary::mean(&own.rounds);
        let mean = json!({
            "log_loss": mean.log_loss,
            "brier": mean.brier,
            "ece": mean.ece,
            "accuracy": mean.accuracy,
        });
        own.json(&results[0], mean, |round| metrics_json(round, &classes))
    };
    show(args, &rounds, &results, &results.iter().map(json).collect(), talk)
}

fn run_method(
    method: &'static str,
    args: &CompareArgs,
    rounds: &[Round<u32>],
    progress: &Progress,
) -> Result<Comparison<ClassSummary>> {
    let mut result = Comparison::new(method);
    for round in rounds {
        let start = Instant::now();
        let Round { train, groups, test, .. } = round;
        let (mut options, kept) =
            estimator(&args.train, args.test.seed, false, train, groups.as_deref())?;
        if method == "softmax" {
            options = options.with_share_bounds(vec![1.0]).without_refit().preserving_order();
        }
        let fit = options.fit(&train.sample()?)?;
        result.seconds += start.elapsed().as_secs_f64() / rounds.len() as f64;
        let model = ClassModelFile::of_fit(&fit, train, kept);
        let (summary, p) = measure(&model, test)?;
        let of_row = p.chunks_exact(test.classes.len()).zip(&test.labels);
        let losses = of_row.map(|(p, &label)| -p[label as usize].max(LOG_LOSS_CLIP).ln());
        result.add(summary, losses, round, rounds.len());
        progress.step(method);
    }
    Ok(result)
}
