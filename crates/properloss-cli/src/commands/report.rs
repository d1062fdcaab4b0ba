//! `report`: one page about a model, or two side by side.

use std::path::PathBuf;

use properloss::sample::Matrix;
use properloss_data::read::{for_each_labelled_row, open_table, read_encoded_examples};
use properloss_data::table::Table;
use properloss_data::{
    ClassLabel, Encoder, Examples, Format, LabelledRows, Source, UnknownCategory,
};
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
    let mut rows = Vec::new();
    for subject in &mut subjects {
        let Some(file) = &subject.file else {
            return Err(Failure::Internal("a model file without a model".into()));
        };
        let (model, encoder) = (file.model()?, file.labelled_encoder()?);
        let score = |matrix: &Matrix<'_>| Ok(model.scores(*matrix)?);
        let found = scored(&subject.name, encoder, data, args, talk, score)?;
        let labels: Vec<u8> = found.labels.iter().map(|&y| u8::from(y != 0)).collect();
        subject.deviations = Some(found.deviations.clone());
        rows.push((labels, found));
    }
    let measured: Vec<Measured<'_>> = subjects
        .iter()
        .zip(&rows)
        .map(|(subject, (labels, found))| Measured {
            subject,
            scores: &found.scores,
            labels,
            weights: found.weights.as_deref(),
        })
        .collect();
    let html = page(&measured[0], measured.get(1), name)?;
    Ok((html, rows[0].0.len()))
}

/// The scores of labelled rows, and the deviations of their columns.
pub(super) struct Scored {
    pub scores: Vec<f64>,
    pub labels: Vec<u32>,
    pub weights: Option<Vec<f64>>,
    pub deviations: Vec<f64>,
}

/// Rows as an encoder makes them, through `score`: images and sparse rows at once, tables block by block.
pub(super) fn scored(
    name: &str,
    encoder: Encoder,
    data: &Source,
    args: &ReportArgs,
    talk: Talk,
    mut score: impl FnMut(&Matrix<'_>) -> Result<Vec<f64>>,
) -> Result<Scored> {
    let (options, rule) = (args.file.options()?, args.unknown.rule);
    let encoder = labelled(encoder, args.label.as_deref(), data, &options)?;
    let format = options.format_of(data)?;
    let progress = Progress::spinner(talk, &format!("measuring {name}"));
    let (mut moments, mut scores) = (Moments::default(), Vec::new());
    let mut visit = |matrix: &Matrix<'_>, weights: Option<&[f64]>| -> Result<()> {
        scores.extend(score(matrix)?);
        moments.add(matrix, weights);
        Ok(())
    };
    let (labels, weights) = if matches!(format, Format::Libsvm | Format::Idx) {
        match read_encoded_examples(data, &encoder, rule, &options)? {
            Examples::Two(rows) => whole(rows, visit)?,
            Examples::Several(rows) => whole(rows, visit)?,
        }
    } else {
        let table = open_table(data, format, &options)?;
        stream(table, &encoder, rule, talk, progress, &mut visit)?
    };
    check_scored(data, labels.len(), &scores)?;
    Ok(Scored { scores, labels, weights, deviations: moments.deviations() })
}

/// The labels and weights of rows that are all there, after a visit to them.
fn whole<L: ClassLabel>(
    rows: LabelledRows<L>,
    mut visit: impl FnMut(&Matrix<'_>, Option<&[f64]>) -> Result<()>,
) -> Result<(Vec<u32>, Option<Vec<f64>>)> {
    visit(&rows.matrix()?, rows.weights.as_deref())?;
    Ok((rows.labels.iter().map(|label| label.class() as u32).collect(), rows.weights))
}

/// The labelled rows of a table in blocks that are not held: the features of each, row after row, with the
/// labels and weights so far. Returns all labels and weights, and says which categories were unknown.
fn stream(
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
fn check_scored(data: &Source, rows: usize, scores: &[f64]) -> Result<()> {
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
