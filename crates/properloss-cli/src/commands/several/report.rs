//! `report`: one page about a model of several classes, or two side by side.

use std::path::PathBuf;

use properloss_data::read::open_table;
use properloss_data::{Format, Source};
use properloss_report::{
    ClassForecasts, ClassRows, ClassSubject, Moments, Subject, page_of_classes,
};

use super::read_labelled;
use crate::args::ReportArgs;
use crate::commands::labelled;
use crate::commands::report::{Rows, check_scored, other_classes, stream, tell_apart};
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;

/// The page, and the number of rows. Of the models these have several classes.
pub fn page_of(
    mut subjects: Vec<ClassSubject>,
    of: &Rows<'_>,
    args: &ReportArgs,
    talk: Talk,
) -> Result<(String, usize)> {
    let Rows { paths, data, name } = *of;
    if subjects.len() < paths.len() {
        let [first, second] = [paths[0], paths[paths.len() - 1]];
        let of = |path: &PathBuf| -> Result<Vec<String>> {
            Ok(match ClassSubject::read(path)? {
                Some(subject) => subject.file.classes,
                None => Subject::read(path)?.classes.to_vec(),
            })
        };
        let [own, other] = [of(first)?, of(second)?];
        let [first, second] = [first, second].map(|path| path.display().to_string());
        return Err(other_classes((&first, &own), (&second, &other)));
    }
    if let [first, second] = &mut subjects[..] {
        if first.file.classes != second.file.classes {
            let own = (first.name.as_str(), first.file.classes.as_slice());
            return Err(other_classes(own, (&second.name, &second.file.classes)));
        }
        tell_apart([&mut first.name, &mut second.name], paths);
    }
    let mut scored = Vec::new();
    for subject in &mut subjects {
        scored.push(score(subject, data, args, talk)?);
    }
    if let [first, second] = &scored[..]
        && first.labels != second.labels
    {
        return Err(Failure::user(
            "the two models leave out different rows",
            "fill or drop missing values, and write a report on each",
        ));
    }
    let mut forecasts = Vec::new();
    for (subject, rows) in subjects.iter().zip(&scored) {
        forecasts.push(ClassForecasts::of(subject, &rows.probabilities)?);
    }
    let rows = ClassRows {
        data: name,
        classes: &subjects[0].file.classes,
        labels: &scored[0].labels,
        weights: scored[0].weights.as_deref(),
    };
    let html = page_of_classes(&forecasts[0], forecasts.get(1), &rows)?;
    Ok((html, rows.labels.len()))
}

/// The rows of a file as a model forecasts them.
struct Scored {
    probabilities: Vec<f64>,
    labels: Vec<u32>,
    weights: Option<Vec<f64>>,
}

/// Tables are scored block by block and not held; other formats are read whole.
fn score(
    subject: &mut ClassSubject,
    data: &Source,
    args: &ReportArgs,
    talk: Talk,
) -> Result<Scored> {
    let (options, rule) = (args.file.options()?, args.unknown.rule);
    let encoder =
        labelled(subject.file.labelled_encoder()?, args.label.as_deref(), data, &options)?;
    let format = options.format_of(data)?;
    let progress = Progress::spinner(talk, &format!("measuring {}", subject.name));
    let mut moments = Moments::default();
    let (scores, labels, weights) = if matches!(format, Format::Libsvm | Format::Idx) {
        let dataset = read_labelled(data, &encoder, rule, &options)?;
        let scores = subject.file.scores(&dataset.matrix()?)?;
        moments.add(&dataset.matrix()?, dataset.weights.as_deref());
        (scores, dataset.labels, dataset.weights)
    } else {
        let table = open_table(data, format, &options)?;
        let mut scores = Vec::new();
        let (labels, weights) =
            stream(table, &encoder, rule, talk, progress, |matrix, weights| {
                scores.extend(subject.file.scores(matrix)?);
                moments.add(matrix, weights);
                Ok(())
            })?;
        (scores, labels, weights)
    };
    // An infinite score has no softmax.
    let scores: Vec<f64> =
        scores.into_iter().map(|z| if z.is_finite() { z } else { f64::NAN }).collect();
    check_scored(data, labels.len(), &scores)?;
    subject.deviations = Some(moments.deviations());
    Ok(Scored { probabilities: subject.file.apply_link(&scores)?, labels, weights })
}
