//! The commands, one file each.

pub mod baselines;
pub mod calibrate;
pub mod compare;
mod comparison;
pub mod completions;
#[cfg(feature = "download")]
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod export;
pub mod fit;
pub mod inspect;
pub mod manual;
mod parts;
pub mod predict;
mod questions;
pub mod report;
mod row_losses;
pub mod several;
pub mod streamed;
pub mod synth;
pub mod transfer;

use std::path::Path;

use properloss_data::groups::read_groups;
use properloss_data::{
    ClassLabel, DataDescription, Dataset, Encoder, Examples, Format, LabelledRows, ReadOptions,
    Source, read, read_examples,
};

use crate::args::DataArgs;
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;
use parts::Parts;

/// Reads labelled examples of two classes.
fn load(args: &DataArgs, data: &Source, options: &ReadOptions, talk: Talk) -> Result<Dataset> {
    let _progress = Progress::spinner(talk, &format!("reading {}", data.name().display()));
    Ok(meant(args, read(data, options)?, options, talk))
}

/// Reads labelled examples of any number of classes.
fn load_examples(
    args: &DataArgs,
    data: &Source,
    options: &ReadOptions,
    talk: Talk,
) -> Result<Examples> {
    let _progress = Progress::spinner(talk, &format!("reading {}", data.name().display()));
    let options = options.clone().with_several_classes();
    Ok(taken(args, read_examples(data, &options)?, &options, talk))
}

/// [`meant`] of any number of classes.
fn taken(args: &DataArgs, examples: Examples, options: &ReadOptions, talk: Talk) -> Examples {
    match examples {
        Examples::Two(data) => Examples::Two(meant(args, data, options, talk)),
        Examples::Several(data) => Examples::Several(meant(args, data, options, talk)),
    }
}

/// Examples with their weights as they were meant; says what was taken for the label and what was left out,
/// and asks about identifiers.
fn meant<L: ClassLabel>(
    args: &DataArgs,
    mut data: LabelledRows<L>,
    options: &ReadOptions,
    talk: Talk,
) -> LabelledRows<L> {
    meant_weights(&mut data, args, options, talk);
    questions::column_questions(&data.encoder, &data.features, talk);
    dropped_words(&data.description, talk);
    data
}

/// Weights as counts, or scaled to mean 1; says what was taken for the label.
fn meant_weights<L: ClassLabel>(
    data: &mut LabelledRows<L>,
    args: &DataArgs,
    options: &ReadOptions,
    talk: Talk,
) {
    if let Some(weights) = &mut data.weights {
        let sum: f64 = weights.iter().sum();
        if args.relative_weights {
            let mean = sum / weights.len() as f64;
            weights.iter_mut().for_each(|weight| *weight /= mean);
        } else {
            count_words(sum, weights.len(), talk);
        }
    }
    if let Some(words) = label_words(&data.encoder, options) {
        talk.say(words);
    }
}

/// Counts that add up to next to nothing are asked about: of one row in all, cross-validation rightly
/// learns nothing but the mean.
fn count_words(sum: f64, rows: usize, talk: Talk) {
    /// Below this mean the weights of the rows cannot be meant as counts.
    const LEAST_MEAN: f64 = 0.1;
    if sum < LEAST_MEAN * rows as f64 {
        talk.say(format!(
            "warning: the weights of the {rows} rows sum to {sum:.4}: a weight of 2 counts as the row twice, so \
             this is as if there were hardly any rows, and the model will be next to constant. If only \
             their ratios mean something, pass --relative-weights",
        ));
    }
}

/// The groups of the examples, if a column of them was named.
fn groups_of<L: ClassLabel>(
    args: &DataArgs,
    source: &Source,
    rows: &LabelledRows<L>,
    options: &ReadOptions,
) -> Result<Option<Vec<u32>>> {
    let Some(column) = &args.group else { return Ok(None) };
    let groups = read_groups(source, &rows.encoder, options, column)?;
    let (found, rows) = (groups.len(), rows.rows());
    if found != rows {
        return Err(Failure::Internal(format!("{found} groups of {rows} rows")));
    }
    Ok(Some(groups))
}

/// The encoder of a model with the label column to measure it on.
fn labelled(
    mut encoder: Encoder,
    label: Option<&str>,
    data: &Source,
    options: &ReadOptions,
) -> Result<Encoder> {
    if let (Some(known), Some(name)) = (&mut encoder.label, label) {
        known.column = Some(name.to_owned());
    }
    let is_table = !matches!(options.format_of(data)?, Format::Libsvm | Format::Idx);
    if encoder.label.as_ref().is_none_or(|known| known.column.is_none()) && is_table {
        return Err(Failure::user(
            format!(
                "{}: the model does not say which column holds the labels",
                data.name().display()
            ),
            "name it with --label COLUMN",
        ));
    }
    Ok(encoder)
}

/// Says how many values were not known at training, if any.
fn unknown_words(count: u64, talk: Talk) {
    if count > 0 {
        talk.say(format!(
            "warning: {count} value(s) are categories that did not occur at training, encoded as none \
             of the known ones (--unknown-category error names the first)"
        ));
    }
}

/// Says how many rows were left out, if any.
fn dropped_words(data: &DataDescription, talk: Talk) {
    for (count, why) in [
        (data.dropped_missing, "a missing value (--missing drop)"),
        (data.dropped_other_class, "another class than those of --negative and --positive"),
    ] {
        if count > 0 {
            talk.say(format!("{count} row(s) left out: {why}"));
        }
    }
}

/// `label "employed" (last column)`.
fn label_words(encoder: &Encoder, options: &ReadOptions) -> Option<String> {
    let name = encoder.label.as_ref()?.column.as_ref()?;
    let how = if options.label.is_some() { "" } else { " (last column)" };
    Some(format!("label {name:?}{how}"))
}

/// A plot is an SVG file; another extension is refused before anything is computed.
fn check_plot(path: Option<&Path>) -> Result<()> {
    check_extension(path, &["svg"], "plots are SVG: end its name in .svg")
}

/// Models and losses are JSON.
fn check_model(path: Option<&Path>) -> Result<()> {
    check_extension(path, &["json"], "models and losses are JSON: end its name in .json")
}

/// Whether rows are written as JSON lines: as the name of the file says, else with --json.
fn rows_as_json(path: Option<&Path>, talk: Talk) -> Result<bool> {
    let hint = "rows are CSV or JSON lines: end its name in .csv or .json";
    check_extension(path, &["csv", "json"], hint)?;
    let extension = path.and_then(Path::extension).and_then(|e| e.to_str()).unwrap_or("");
    Ok(match extension.to_lowercase().as_str() {
        "csv" => false,
        "json" | "jsonl" | "ndjson" => true,
        _ => talk.json,
    })
}

/// Refuses an output whose name promises another format than the one that is written.
fn check_extension(path: Option<&Path>, known: &[&str], hint: &str) -> Result<()> {
    const TELLING: [&str; 16] = [
        "csv", "tsv", "json", "png", "jpg", "jpeg", "pdf", "gif", "svg", "parquet", "pq", "xlsx",
        "feather", "arrow", "gz", "html",
    ];
    let Some(path) = path else { return Ok(()) };
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    if TELLING.contains(&extension.as_str()) && !known.contains(&extension.as_str()) {
        let message = format!("{}: not written as .{extension}", path.display());
        return Err(Failure::usage(message, hint));
    }
    Ok(())
}

/// `455 rows, 30 features, 170 of "malignant"`.
fn described(dataset: &Dataset) -> String {
    format!(
        "{} rows, {} features, {} of class {:?}",
        dataset.rows(),
        dataset.columns(),
        dataset.positives(),
        dataset.classes[1],
    )
}
