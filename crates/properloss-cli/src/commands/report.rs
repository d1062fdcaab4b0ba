//! `report`: one page about a model, or two side by side.

use std::path::PathBuf;

use properloss::sample::Matrix;
use properloss_data::read::{for_each_labelled_row, open_table, read_encoded};
use properloss_data::table::Table;
use properloss_data::{Dataset, Encoder, Format, Source, UnknownCategory};
use properloss_report::{ClassSubject, Measured, Moments, Subject, page};
use serde_json::json;

use super::{check_extension, labelled, several, unknown_words};
use crate::args::{ReportArgs, source};
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Talk, check_inputs};
use crate::progress::Progress;

/// Numbers held at a time: rows times features.
const BUFFER: usize = 1 << 18;

/// Runs the command.
pub fn run(args: &ReportArgs, talk: Talk) -> Result<()> {
    check_inputs([&args.model, &args.data].into_iter().chain(&args.compare), [&args.out])?;
    check_extension(Some(&args.out), &["html"], "the page is HTML: end its name in .html")?;
    let out = OutputFile::create(&args.out)?;
    let paths: Vec<&PathBuf> = [&args.model].into_iter().chain(&args.compare).collect();
    let data = source(&args.data)?;
    let name = args.data.file_name().map_or_else(|| "data".into(), |name| name.to_string_lossy());
    let of = Rows { paths: &paths, data: &data, name: &name };
    let mut of_several = Vec::new();
    for &path in &paths {
        of_several.extend(ClassSubject::read(path)?);
    }
    let (html, rows) = if of_several.is_empty() {
        of_two(&of, args, talk)?
    } else {
        several::report::page_of(of_several, &of, args, talk)?
    };
    out.finish(&html)?;
    talk.say(format!("wrote {}", args.out.display()));
    if talk.json {
        let value = json!({"written": args.out, "rows": rows, "bytes": html.len()});
        return crate::output::print(&format!("{value:#}\n"));
    }
    Ok(())
}

/// What a page is of: models at these paths on labelled examples.
pub struct Rows<'a> {
    pub paths: &'a [&'a PathBuf],
    pub data: &'a Source,
    pub name: &'a str,
}

/// Models of other classes cannot be set side by side.
pub(super) fn other_classes(
    (first, first_classes): (&str, &[String]),
    (second, second_classes): (&str, &[String]),
) -> Failure {
    let names = |classes: &[String]| {
        let shown: Vec<String> = classes.iter().take(8).map(|name| format!("{name:?}")).collect();
        let more = if classes.len() > 8 { ", ..." } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    Failure::user(
        format!(
            "{second}: its classes are {}, those of {first} are {}",
            names(second_classes),
            names(first_classes),
        ),
        "compare models of the same classes",
    )
}

/// Files of one name in two folders are told apart by their paths.
pub(super) fn tell_apart(names: [&mut String; 2], paths: &[&PathBuf]) {
    if names[0] == names[1] {
        for (name, path) in names.into_iter().zip(paths) {
            *name = path.display().to_string();
        }
    }
}

/// The page about models of two classes, and the number of rows.
fn of_two(of: &Rows<'_>, args: &ReportArgs, talk: Talk) -> Result<(String, usize)> {
    let Rows { paths, data, name } = *of;
    let mut subjects = Vec::new();
    for path in paths {
        subjects.push(Subject::read(path)?);
    }
    if let [first, second] = &mut subjects[..] {
        if first.classes != second.classes {
            let (first, second) = (&*first, &*second);
            return Err(other_classes(
                (&first.name, &first.classes),
                (&second.name, &second.classes),
            ));
        }
        tell_apart([&mut first.name, &mut second.name], paths);
    }
    let mut scored = Vec::new();
    for subject in &mut subjects {
        scored.push(score(subject, data, args, talk)?);
    }
    let measured: Vec<Measured<'_>> = subjects
        .iter()
        .zip(&scored)
        .map(|(subject, rows)| Measured {
            subject,
            scores: &rows.scores,
            labels: &rows.labels,
            weights: rows.weights.as_deref(),
        })
        .collect();
    let html = page(&measured[0], measured.get(1), name)?;
    Ok((html, scored[0].labels.len()))
}

/// The rows of a file as a model scores them.
struct Scored {
    scores: Vec<f64>,
    labels: Vec<u8>,
    weights: Option<Vec<f64>>,
}

/// Tables are scored block by block and not held; other formats are read whole.
fn score(subject: &mut Subject, data: &Source, args: &ReportArgs, talk: Talk) -> Result<Scored> {
    let Some(file) = &subject.file else {
        return Err(Failure::Internal("a model file without a model".into()));
    };
    let options = args.file.options()?;
    let model = file.model()?;
    let encoder = labelled(file.labelled_encoder()?, args.label.as_deref(), data, &options)?;
    let format = options.format_of(data)?;
    let progress = Progress::spinner(talk, &format!("measuring {}", subject.name));
    let mut moments = Moments::default();
    let rule = args.unknown.rule;
    let rows = if matches!(format, Format::Libsvm | Format::Idx) {
        let dataset = read_encoded(data, &encoder, rule, &options)?;
        let scores = model.scores(dataset.matrix()?)?;
        moments.add(&dataset.matrix()?, dataset.weights.as_deref());
        let Dataset { labels, weights, .. } = dataset;
        Scored { scores, labels, weights }
    } else {
        let table = open_table(data, format, &options)?;
        let mut scores = Vec::new();
        let (labels, weights) =
            stream(table, &encoder, rule, talk, progress, |matrix, weights| {
                scores.extend(model.scores(*matrix)?);
                moments.add(matrix, weights);
                Ok(())
            })?;
        Scored { scores, labels: labels.into_iter().map(|y| u8::from(y != 0)).collect(), weights }
    };
    check_scored(data, rows.labels.len(), &rows.scores)?;
    subject.deviations = Some(moments.deviations());
    Ok(rows)
}

/// The labelled rows of a table in blocks that are not held: the features of each, row after row, with the
/// labels and weights so far. Returns all labels and weights, and says which categories were unknown.
pub(super) fn stream(
    table: Box<dyn Table>,
    encoder: &Encoder,
    rule: UnknownCategory,
    talk: Talk,
    progress: Progress,
    mut visit: impl FnMut(&Matrix<'_>, Option<&[f64]>) -> Result<()>,
) -> Result<(Vec<u32>, Option<Vec<f64>>)> {
    let columns = encoder.width();
    let capacity = (BUFFER / columns).clamp(1, 4096);
    let mut labels: Vec<u32> = Vec::new();
    let mut weights: Option<Vec<f64>> = encoder.weight.as_ref().map(|_| Vec::new());
    let mut block: Vec<f64> = Vec::new();
    let mut flush = |block: &mut Vec<f64>, rows: usize, weights: Option<&Vec<f64>>| -> Result<()> {
        let count = block.len() / columns;
        let matrix = Matrix::dense_f64(block, count, columns)?;
        visit(&matrix, weights.map(|weights| &weights[rows - count..]))?;
        block.clear();
        progress.message(format!("{rows} rows"));
        Ok(())
    };
    let mut unknown = 0;
    for_each_labelled_row(table, encoder, rule, |row| -> Result<()> {
        unknown += u64::from(row.unknown);
        block.extend_from_slice(row.features);
        labels.push(row.label);
        if let Some(weights) = &mut weights {
            weights.push(row.weight);
        }
        if block.len() == capacity * columns {
            flush(&mut block, labels.len(), weights.as_ref())?;
        }
        Ok(())
    })?;
    if !block.is_empty() {
        flush(&mut block, labels.len(), weights.as_ref())?;
    }
    drop(progress);
    unknown_words(unknown, talk);
    Ok((labels, weights))
}

/// Rows without a label, and scores that overflow.
pub(super) fn check_scored(data: &Source, rows: usize, scores: &[f64]) -> Result<()> {
    if rows == 0 {
        return Err(properloss_data::Error::NoRows { file: data.name().to_path_buf() }.into());
    }
    if let Some(i) = scores.iter().position(|z| z.is_nan()) {
        let example = i / (scores.len() / rows) + 1;
        return Err(Failure::user(
            format!("{}, example {example}: the score overflows", data.name().display()),
            "the values of the row are too large",
        ));
    }
    Ok(())
}
