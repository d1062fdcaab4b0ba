//! `report`: one page about a model, or two side by side.

use properloss::sample::Matrix;
use properloss::train::Model;
use properloss_data::read::{for_each_labelled_row, open_table, read_encoded};
use properloss_data::{Dataset, Encoder, Format, Source, UnknownCategory};
use properloss_report::{Measured, Moments, Subject, page};
use serde_json::json;

use super::{check_extension, labelled};
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
    let mut subjects = Vec::new();
    for path in [Some(&args.model), args.compare.as_ref()].into_iter().flatten() {
        subjects.push(Subject::read(path)?);
    }
    if let [first, second] = &mut subjects[..] {
        if first.classes != second.classes {
            let message = format!(
                "{}: its classes are {:?} and {:?}, those of {} are {:?} and {:?}",
                second.name,
                second.classes[0],
                second.classes[1],
                first.name,
                first.classes[0],
                first.classes[1],
            );
            return Err(Failure::user(message, "compare models of the same classes"));
        }
        if first.name == second.name {
            // Files of one name in two folders.
            for (subject, path) in
                [first, second].into_iter().zip([Some(&args.model), args.compare.as_ref()])
            {
                subject.name = path.map_or_else(String::new, |path| path.display().to_string());
            }
        }
    }
    let data = source(&args.data)?;
    let mut scored = Vec::new();
    for subject in &mut subjects {
        scored.push(score(subject, &data, args, talk)?);
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
    let name = args.data.file_name().map_or_else(|| "data".into(), |name| name.to_string_lossy());
    let html = page(&measured[0], measured.get(1), &name)?;
    out.finish(&html)?;
    talk.say(format!("wrote {}", args.out.display()));
    if talk.json {
        let value =
            json!({"written": args.out, "rows": scored[0].labels.len(), "bytes": html.len()});
        return crate::output::print(&format!("{value:#}\n"));
    }
    Ok(())
}

/// The rows of a file as a model scores them.
#[derive(Default)]
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
    let encoder = labelled(file, args.label.as_deref(), data, &options)?;
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(data)?,
    };
    let progress = Progress::spinner(talk, &format!("measuring {}", subject.name));
    let mut moments = Moments::default();
    let rule = args.unknown.rule();
    let rows = if matches!(format, Format::Libsvm | Format::Idx) {
        let dataset = read_encoded(data, &encoder, rule, &options)?;
        let scores = model.scores(dataset.matrix()?)?;
        moments.add(&dataset.matrix()?, dataset.weights.as_deref());
        let Dataset { labels, weights, .. } = dataset;
        Scored { scores, labels, weights }
    } else {
        let table = open_table(data, format, &options)?;
        stream(table, &encoder, rule, &model, &mut moments, &progress)?
    };
    if rows.labels.is_empty() {
        return Err(properloss_data::Error::NoRows { file: data.name().to_path_buf() }.into());
    }
    if let Some(i) = rows.scores.iter().position(|z| z.is_nan()) {
        return Err(Failure::user(
            format!("{}, example {}: the score overflows", data.name().display(), i + 1),
            "the values of the row are too large",
        ));
    }
    subject.deviations = Some(moments.deviations());
    Ok(rows)
}

fn stream(
    table: Box<dyn properloss_data::table::Table>,
    encoder: &Encoder,
    rule: UnknownCategory,
    model: &Model,
    moments: &mut Moments,
    progress: &Progress,
) -> Result<Scored> {
    let columns = encoder.width();
    let capacity = (BUFFER / columns).clamp(1, 4096);
    let mut rows =
        Scored { weights: encoder.weight.as_ref().map(|_| Vec::new()), ..Scored::default() };
    let mut block: Vec<f64> = Vec::new();
    let mut flush = |block: &mut Vec<f64>, rows: &mut Scored| -> Result<()> {
        let count = block.len() / columns;
        let matrix = Matrix::dense_f64(block, count, columns)?;
        let start = rows.scores.len();
        rows.scores.extend(model.scores(matrix)?);
        moments.add(&matrix, rows.weights.as_ref().map(|weights| &weights[start..]));
        block.clear();
        progress.message(format!("{} rows", rows.scores.len()));
        Ok(())
    };
    for_each_labelled_row(table, encoder, rule, |row| -> Result<()> {
        block.extend_from_slice(row.features);
        rows.labels.push(u8::from(row.label != 0));
        if let Some(weights) = &mut rows.weights {
            weights.push(row.weight);
        }
        if block.len() == capacity * columns { flush(&mut block, &mut rows) } else { Ok(()) }
    })?;
    if !block.is_empty() {
        flush(&mut block, &mut rows)?;
    }
    Ok(rows)
}
