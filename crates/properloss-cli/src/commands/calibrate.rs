//! `calibrate`: probabilities from the scores of any classifier.

use std::sync::Arc;

use properloss::link::InverseLink;
use properloss::proper::{Calibration, Calibrator, ScoreKind};
use properloss::train::Model;
use properloss_data::encoder::ColumnKind;
use properloss_data::fit_memory::{self, FitShape};
use properloss_data::model_file::{
    FitCertificate, Fitted, ModelFile, learned_calibration, program,
};
use properloss_data::read::{EncodedRow, for_each_row, for_each_table_row_keeping, open_table};
use properloss_data::{
    Dataset, Encoder, Examples, Format, ReadOptions, Source, UnknownCategory, read_examples,
};
use serde_json::{Value, json};

use super::fit::guarantee_words;
use super::predict::quoted;
use super::several::fit::folds_of;
use super::{check_model, groups_of, meant_weights, rows_as_json, several};
use crate::args::{CalibrateArgs, source};
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Stream, Talk, check_distinct, check_inputs, is_stdout, print};
use crate::progress::Progress;
use crate::table::short;

/// Runs the command.
pub fn run(args: &CalibrateArgs, talk: Talk) -> Result<()> {
    check_distinct(args.out.iter().chain(&args.model))?;
    check_inputs([&args.data].into_iter().chain(&args.apply), args.out.iter().chain(&args.model))?;
    let as_json = rows_as_json(args.out.as_deref(), talk)?;
    check_model(args.model.as_deref())?;
    let mut out = Stream::open(args.out.as_deref())?;
    let model = args.model.as_deref().map(OutputFile::create).transpose()?;
    let data = source(&args.data)?;
    let options = only_scores(args, &data)?;
    let examples = {
        let _progress = Progress::spinner(talk, &format!("reading {}", args.data.display()));
        read_examples(&data, &options.clone().with_several_classes())?
    };
    let mut dataset = match examples {
        Examples::Two(dataset) => dataset,
        Examples::Several(mut dataset) => {
            meant_weights(&mut dataset, &args.data_args, &options, talk);
            let groups = groups_of(&args.data_args, &data, &dataset, &options)?;
            let groups = groups.as_deref();
            return several::calibrate::run(args, &dataset, groups, &options, out, model, talk);
        }
    };
    meant_weights(&mut dataset, &args.data_args, &options, talk);
    if dataset.columns() != 1 {
        return Err(Failure::user(
            format!("{}: {} columns besides the label", args.data.display(), dataset.columns()),
            "name the column of the scores with --score",
        ));
    }
    let shape = FitShape {
        rows: dataset.rows() as u64,
        columns: 1,
        stored: dataset.rows() as u64,
        classes: 2,
        folds: args.cv as u64,
    };
    fit_memory::ask("calibrate", &shape)?;
    let mut scores = vec![0.0; dataset.rows()];
    for (i, score) in scores.iter_mut().enumerate() {
        dataset.features.copy_row(i, std::slice::from_mut(score));
    }
    let outside = scores.iter().position(|score| !(0.0..=1.0).contains(score));
    if let (ScoreKind::Probabilities, Some(i)) = (args.kind, outside) {
        let (file, column) = (args.data.display(), dataset.encoder.feature_name(0));
        return Err(Failure::user(
            format!("{file}, row {}, column {column:?}: {} is not a probability", i + 1, scores[i]),
            "pass --kind scores for numbers outside [0, 1]",
        ));
    }
    let groups = groups_of(&args.data_args, &data, &dataset, &options)?;
    let calibrator = Calibrator::default()
        .with_folds(folds_of(groups.as_deref(), args.cv, args.seed))
        .with_kind(args.kind)
        .with_smoothness(match &args.smoothness {
            Some(given) => given.0.clone(),
            None => Calibrator::default().smoothness,
        });
    let calibration = calibrator.fit(&scores, &dataset.labels, dataset.weights.as_deref())?;
    let weights = dataset.weights.as_deref();
    // Rows of one group need not be independent, which the bound supposes.
    let bound = match groups {
        Some(_) => None,
        None => {
            Some(calibration.calibration_bound(&scores, &dataset.labels, weights, None, 0.95)?)
        }
    };
    let certificate = FitCertificate::new(bound, calibration.link_cost);
    let summary = summary_json(args, &dataset, &calibration, &certificate);
    if let Some(file) = model {
        let mut content = model_file(&calibration, &calibrator, &dataset, args)?;
        content.fitted.learned = Some(learned_calibration(&calibration, &certificate));
        let text = content.to_json();
        file.finish(&text.map_err(Failure::internal)?)?;
    }
    let kept = if args.apply.is_some() || !args.keep.is_empty() {
        let target = match &args.apply {
            Some(path) => source(path)?,
            None => data,
        };
        let mut kept = Vec::new();
        scores.clear();
        each_scored_row(&target, &dataset.encoder, &options, &args.keep, |row, texts| {
            // A sparse row that stores nothing is 0.
            scores.push(row.features.first().copied().unwrap_or(0.0));
            kept.extend_from_slice(texts);
        })?;
        kept
    } else {
        Vec::new()
    };
    if let (Some(_), Some(i)) =
        (calibration.margin, scores.iter().position(|p| !(0.0..=1.0).contains(p)))
    {
        let file = args.apply.as_ref().unwrap_or(&args.data).display();
        return Err(Failure::user(
            format!("{file}, row {}: {} is not a probability", i + 1, scores[i]),
            "the calibration is of probabilities; pass --kind scores if they are scores",
        ));
    }
    let (p, names) = (calibration.probabilities(&scores)?, ["probability".to_owned()]);
    out.write(&table(&p, &names, |p| json!(p[0]), (&args.keep, &kept), as_json))?;
    out.finish()?;
    if talk.json && args.out.as_deref().is_some_and(|path| !is_stdout(path)) {
        print(&format!("{summary:#}\n"))?;
    }
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

/// Rows of probabilities behind the columns that were kept: CSV under these names, or JSON lines with what
/// `value` makes of a row.
pub(super) fn table(
    probabilities: &[f64],
    names: &[String],
    value: impl Fn(&[f64]) -> Value,
    (keep, kept): (&[String], &[String]),
    as_json: bool,
) -> String {
    let line = |fields: Vec<String>| format!("{}\n", fields.join(","));
    let mut text = String::new();
    if !as_json {
        text.push_str(&line(keep.iter().chain(names).map(|name| quoted(name)).collect()));
    }
    for (i, p) in probabilities.chunks_exact(names.len()).enumerate() {
        let kept = &kept[i * keep.len()..(i + 1) * keep.len()];
        if as_json {
            let mut object: serde_json::Map<String, Value> =
                keep.iter().cloned().zip(kept.iter().map(|text| json!(text))).collect();
            object.insert("probability".into(), value(p));
            text.push_str(&format!("{}\n", Value::Object(object)));
        } else {
            let own = p.iter().map(|p| format!("{p:?}"));
            text.push_str(&line(kept.iter().map(|text| quoted(text)).chain(own).collect()));
        }
    }
    text
}

/// The rows of a file of scores, with the texts of the kept columns.
pub(super) fn each_scored_row(
    target: &Source,
    encoder: &Encoder,
    options: &ReadOptions,
    keep: &[String],
    mut visit: impl FnMut(EncodedRow<'_>, &[String]),
) -> Result<()> {
    let rule = UnknownCategory::Error;
    let format = options.format_of(target)?;
    if !matches!(format, Format::Libsvm | Format::Idx) {
        let table = open_table(target, format, options)?;
        return for_each_table_row_keeping(table, encoder, rule, keep, |row, texts| {
            visit(row, texts);
            Ok(())
        });
    }
    if !keep.is_empty() {
        return Err(Failure::usage(
            "--keep needs a table with named columns",
            "leave it out, or give a CSV, TSV or Parquet file",
        ));
    }
    for_each_row(target, encoder, rule, options, |row| {
        visit(row, &[]);
        Ok(())
    })
}

/// What was learned, for machines: with the probabilities in a file, on standard output.
fn summary_json(
    args: &CalibrateArgs,
    dataset: &Dataset,
    calibration: &Calibration,
    certificate: &FitCertificate,
) -> Value {
    let [sigmoid, result] = calibration.held_out_log_loss;
    json!({
        "rows": dataset.rows(),
        "kind": if calibration.margin.is_some() { "probabilities" } else { "scores" },
        "slope": calibration.slope,
        "intercept": calibration.intercept,
        "slope_ratio": calibration.slope_ratio,
        "guarantee": calibration.slope_ratio.ln(),
        "held_out_log_loss": {"sigmoid": sigmoid, "result": result},
        "certificate": certificate,
        "groups": args.data_args.group,
        "written": args.out.iter().chain(&args.model).collect::<Vec<_>>(),
    })
}

/// Everything but the scores, the label and the weight is left out.
fn only_scores(args: &CalibrateArgs, data: &Source) -> Result<ReadOptions> {
    let mut options = args.data_args.options()?;
    let Some(score) = &args.score else { return Ok(options) };
    let format = options.format_of(data)?;
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
    let free =
        |name: &&String| options.weight.as_ref() != Some(*name) && !options.ignore.contains(*name);
    let label = options.label.clone().or_else(|| columns.iter().rfind(free).cloned());
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

/// `v(σ(a z + b))` is a model of one feature, the score or the log odds of a probability.
fn model_file(
    calibration: &Calibration,
    calibrator: &Calibrator,
    dataset: &Dataset,
    args: &CalibrateArgs,
) -> Result<ModelFile> {
    let link: Arc<dyn InverseLink> = calibration.link.clone();
    let model = Model::new(vec![calibration.slope], calibration.intercept, link)?;
    let mut encoder = dataset.encoder.clone();
    if let (Some(margin), [column]) = (calibration.margin, encoder.columns.as_mut_slice()) {
        column.kind = ColumnKind::LogOdds { margin };
    } else if calibration.margin.is_some() {
        return Err(Failure::user(
            format!("{}: a model of probabilities needs a table", args.data.display()),
            "use a CSV, TSV or Parquet file, or --apply instead of --model",
        ));
    }
    let kind = if calibration.margin.is_some() { "probabilities" } else { "scores" };
    let options: [(&str, Value); 4] = [
        ("kind", json!(kind)),
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
    Ok(ModelFile::new(&model, encoder, scaling, dataset.classes.clone(), fitted))
}
