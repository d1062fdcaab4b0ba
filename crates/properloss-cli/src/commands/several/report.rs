//! `report`: one page about a model of several classes, or two side by side.

use std::path::PathBuf;

use properloss::sample::Matrix;
use properloss_report::{ClassForecasts, ClassRows, ClassSubject, Subject, page_of_classes};

use crate::args::ReportArgs;
use crate::commands::report::{Rows, other_classes, scored, tell_apart};
use crate::failure::{Failure, Result};
use crate::output::Talk;

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
    let (mut found, mut probabilities) = (Vec::new(), Vec::new());
    for subject in &mut subjects {
        let file = &subject.file;
        let score = |matrix: &Matrix<'_>| {
            let finite = |z: f64| if z.is_finite() { z } else { f64::NAN };
            Ok(file.scores(matrix)?.into_iter().map(finite).collect())
        };
        let rows = scored(&subject.name, file.labelled_encoder()?, data, args, talk, score)?;
        probabilities.push(file.apply_link(&rows.scores)?);
        subject.deviations = Some(rows.deviations.clone());
        found.push(rows);
    }
    if let [first, second] = &found[..]
        && first.labels != second.labels
    {
        return Err(Failure::user(
            "the two models leave out different rows",
            "fill or drop missing values, and write a report on each",
        ));
    }
    let mut forecasts = Vec::new();
    for (subject, p) in subjects.iter().zip(&probabilities) {
        forecasts.push(ClassForecasts::of(subject, p)?);
    }
    let rows = ClassRows {
        data: name,
        classes: &subjects[0].file.classes,
        labels: &found[0].labels,
        weights: found[0].weights.as_deref(),
    };
    let html = page_of_classes(&forecasts[0], forecasts.get(1), &rows)?;
    Ok((html, rows.labels.len()))
}
