//! `predict`: probabilities, scores or classes for the rows of a file, in constant memory.

use std::fmt::Write as _;
use std::io::{Cursor, Read, stdin};
use std::path::Path;

use properloss::sample::{Indices, Matrix, Offsets, Values};
use properloss::train::Model;
use properloss_data::error::Position;
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::{
    EncodedRow, csv_format, for_each_row, for_each_table_row_keeping, open_table,
};
use properloss_data::table::CsvTable;
use properloss_data::{Encoder, Format, ModelFile, Source};
use serde_json::{Map, Value, json};

use super::{rows_as_json, several, unknown_words};
use crate::args::{PredictArgs, Prediction, source};
use crate::failure::{Failure, Result};
use crate::output::{Stream, Talk, check_inputs, is_stdout, print};
use crate::progress::Progress;

/// Numbers held at a time: rows times features.
const BUFFER: usize = 1 << 18;
/// Rows held at a time.
const ROWS: usize = 4096;

/// Runs the command.
pub fn run(args: &PredictArgs, talk: Talk) -> Result<()> {
    if !(0.0..=1.0).contains(&args.threshold) {
        return Err(Failure::usage(
            format!("--threshold is {}; it must be in [0, 1]", args.threshold),
            "pass a probability, such as --threshold 0.5",
        ));
    }
    check_inputs([&args.model, &args.data], &args.out)?;
    let json = rows_as_json(args.out.as_deref(), talk)?;
    if let Some(model) = ClassModelFile::read_if_several(&args.model)? {
        return several::predict::run(args, &model, json, talk);
    }
    let file = ModelFile::read(&args.model)?;
    let model = file.model()?;
    let two = TwoClasses { model, classes: &file.classes, threshold: args.threshold };
    write(args, &two, &file.preprocessing.encoder, json, talk)
}

/// What a model says of rows, so many numbers each.
pub(super) trait Forecaster {
    /// Scores, and probabilities, of a row.
    fn width(&self) -> usize;
    /// The scores of rows; not a number where they overflow.
    fn scores(&self, rows: Matrix<'_>) -> Result<Vec<f64>>;
    /// The probabilities of these scores.
    fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>>;
    /// The class of a row of these probabilities.
    fn class(&self, p: &[f64]) -> &str;
    /// The names of the columns for scores or probabilities.
    fn names(&self, what: Prediction) -> Vec<String>;
    /// Scores or probabilities of a row, for machines.
    fn json(&self, values: &[f64]) -> Value;
}

struct TwoClasses<'a> {
    model: Model,
    classes: &'a [String; 2],
    threshold: f64,
}

impl Forecaster for TwoClasses<'_> {
    fn width(&self) -> usize {
        1
    }

    fn scores(&self, rows: Matrix<'_>) -> Result<Vec<f64>> {
        Ok(self.model.scores(rows)?)
    }

    fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>> {
        let mut probabilities = scores.to_vec();
        self.model.apply_link(&mut probabilities);
        Ok(probabilities)
    }

    fn class(&self, p: &[f64]) -> &str {
        &self.classes[usize::from(p[0] > self.threshold)]
    }

    fn names(&self, what: Prediction) -> Vec<String> {
        vec![name(what).to_owned()]
    }

    fn json(&self, values: &[f64]) -> Value {
        json!(values[0])
    }
}

/// Writes what the model says of the rows of the file.
pub(super) fn write(
    args: &PredictArgs,
    forecaster: &impl Forecaster,
    encoder: &Encoder,
    json: bool,
    talk: Talk,
) -> Result<()> {
    let block = Block::new(&args.data, encoder.width());
    let out = Stream::open(args.out.as_deref())?;
    let mut writer = Writer { forecaster, args, json, block, text: String::new(), out };
    let (count, unknown) = each_row(args, encoder, talk, |row, kept| writer.add(row, kept))?;
    writer.finish()?;
    finished(args, count, unknown, talk)
}

/// Says what was unknown; with rows in a file and --json, what was done.
fn finished(args: &PredictArgs, count: u64, unknown: u64, talk: Talk) -> Result<()> {
    unknown_words(unknown, talk);
    match &args.out {
        Some(path) if talk.json && !is_stdout(path) => {
            let value = json!({"rows": count, "unknown_categories": unknown, "written": path});
            print(&format!("{value:#}\n"))
        }
        _ => Ok(()),
    }
}

/// Hands the rows of the file over as they come, each with the texts of the columns to be kept; answers
/// with the number of rows and of unknown categories.
fn each_row(
    args: &PredictArgs,
    encoder: &Encoder,
    talk: Talk,
    mut add: impl FnMut(EncodedRow<'_>, &[String]) -> Result<()>,
) -> Result<(u64, u64)> {
    let options = args.file.options()?;
    let progress = Progress::spinner(talk, "predicting");
    let (mut count, mut unknown) = (0u64, 0u64);
    let mut visit = |row: EncodedRow<'_>, kept: &[String]| {
        count += 1;
        unknown += u64::from(row.unknown);
        if count.is_multiple_of(10_000) {
            progress.message(format!("{count} rows"));
        }
        add(row, kept)
    };
    let (rule, from_stdin) = (args.unknown.rule, args.data == Path::new("-"));
    let text = matches!(options.format, None | Some(Format::Csv | Format::Tsv));
    let name = Path::new("standard input");
    let mut start = Vec::new();
    if from_stdin && text {
        let read = stdin().lock().take(4).read_to_end(&mut start);
        read.map_err(|error| properloss_data::Error::read(name, error))?;
    }
    if from_stdin && text && (start != b"PAR1" || options.format.is_some()) {
        // A table on standard input is read as it comes.
        let format = csv_format(name, options.format.unwrap_or(Format::Csv), &options);
        let table = CsvTable::from_reader(Cursor::new(start).chain(stdin()), name, format)?;
        for_each_table_row_keeping(Box::new(table), encoder, rule, &args.keep, &mut visit)?;
    } else {
        let data = if from_stdin && text {
            // The end of a Parquet file says where everything is: it is read whole.
            let rest = stdin().lock().read_to_end(&mut start);
            rest.map_err(|error| properloss_data::Error::read(name, error))?;
            Source::memory("standard input", start)
        } else {
            source(&args.data)?
        };
        let format = options.format_of(&data)?;
        match format {
            Format::Csv | Format::Tsv | Format::Parquet => {
                let table = open_table(&data, format, &options)?;
                for_each_table_row_keeping(table, encoder, rule, &args.keep, &mut visit)?;
            }
            _ if !args.keep.is_empty() => {
                return Err(Failure::usage(
                    "--keep needs a table with named columns",
                    "leave it out, or give a CSV, TSV or Parquet file",
                ));
            }
            _ => for_each_row(&data, encoder, rule, &options, |row| visit(row, &[]))?,
        }
    }
    Ok((count, unknown))
}

/// Rows that are held to be predicted together.
struct Block<'a> {
    data: &'a Path,
    columns: usize,
    /// The values of the rows.
    rows: Vec<f64>,
    /// Of sparse rows, where each ends and the column of each value.
    sparse: Option<(Vec<usize>, Vec<u32>)>,
    positions: Vec<Position>,
    /// The texts to be kept, one row after the other.
    kept: Vec<String>,
    any: bool,
}

impl<'a> Block<'a> {
    /// Of the rows of a file, of so many features each.
    fn new(data: &'a Path, columns: usize) -> Self {
        let (rows, positions, kept) = (Vec::new(), Vec::new(), Vec::new());
        Self { data, columns, rows, sparse: None, positions, kept, any: false }
    }

    /// Takes a row in; whether it is the first of all, and whether the block is full.
    fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> (bool, bool) {
        let first = !std::mem::replace(&mut self.any, true);
        self.kept.extend_from_slice(kept);
        self.rows.extend_from_slice(row.features);
        if let Some(columns) = row.columns {
            let (ends, all) = self.sparse.get_or_insert_with(|| (vec![0], Vec::new()));
            all.extend_from_slice(columns);
            ends.push(all.len());
        }
        self.positions.push(row.position);
        let full = self.positions.len() >= ROWS || self.rows.len() + row.features.len() > BUFFER;
        (first, full)
    }

    /// Whether it holds no row.
    fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn matrix(&self) -> Result<Matrix<'_>> {
        let count = self.positions.len();
        Ok(match &self.sparse {
            None => Matrix::dense_f64(&self.rows, count, self.columns)?,
            Some((starts, indices)) => Matrix::csr(
                Offsets::Usize(starts),
                Indices::U32(indices),
                Values::F64(&self.rows),
                self.columns,
            )?,
        })
    }

    /// Refuses scores, `width` a row, that overflowed.
    fn check(&self, scores: &[f64], width: usize) -> Result<()> {
        match scores.iter().position(|z| z.is_nan()) {
            None => Ok(()),
            Some(at) => Err(Failure::user(
                format!(
                    "{}, {}: the score overflows",
                    self.data.display(),
                    self.positions[at / width]
                ),
                "the values of the row are too large",
            )),
        }
    }

    /// Forgets the rows.
    fn clear(&mut self) {
        self.rows.clear();
        if let Some((ends, columns)) = &mut self.sparse {
            ends.truncate(1);
            columns.clear();
        }
        self.positions.clear();
        self.kept.clear();
    }

    /// A file without rows is a mistake.
    fn check_any(&self) -> Result<()> {
        if self.any {
            return Ok(());
        }
        let stdin = self.data == Path::new("-");
        let file = if stdin { "standard input".into() } else { self.data.to_path_buf() };
        Err(properloss_data::Error::NoRows { file }.into())
    }
}

/// Collects rows, predicts them together and writes them.
struct Writer<'a, F> {
    forecaster: &'a F,
    args: &'a PredictArgs,
    json: bool,
    block: Block<'a>,
    text: String,
    out: Stream,
}

impl<F: Forecaster> Writer<'_, F> {
    fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> Result<()> {
        let (first, full) = self.block.add(row, kept);
        if first && !self.json {
            self.header();
        }
        if full { self.flush() } else { Ok(()) }
    }

    fn header(&mut self) {
        let mut names = self.args.keep.clone();
        for &what in &self.args.columns {
            match what {
                Prediction::Class => names.push(name(what).to_owned()),
                _ => names.extend(self.forecaster.names(what)),
            }
        }
        self.fields(names.iter().map(|name| quoted(name)).collect());
    }

    fn fields(&mut self, fields: Vec<String>) {
        self.text.push_str(&fields.join(","));
        self.text.push('\n');
    }

    fn flush(&mut self) -> Result<()> {
        let width = self.forecaster.width();
        let scores = self.forecaster.scores(self.block.matrix()?)?;
        self.block.check(&scores, width)?;
        let probabilities = self.forecaster.probabilities(&scores)?;
        let kept = std::mem::take(&mut self.block.kept);
        let each = scores.chunks_exact(width).zip(probabilities.chunks_exact(width));
        let count = self.args.keep.len();
        for (i, (z, p)) in each.enumerate() {
            let kept = &kept[i * count..(i + 1) * count];
            if self.json { self.object(z, p, kept) } else { self.line(z, p, kept) }
        }
        self.block.clear();
        self.out.write(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn object(&mut self, z: &[f64], p: &[f64], kept: &[String]) {
        let mut object = Map::new();
        for (name, text) in self.args.keep.iter().zip(kept) {
            object.insert(name.clone(), json!(text));
        }
        for &what in &self.args.columns {
            let value = match what {
                Prediction::Probability => self.forecaster.json(p),
                Prediction::Score => self.forecaster.json(z),
                Prediction::Class => json!(self.forecaster.class(p)),
            };
            object.insert(name(what).to_owned(), value);
        }
        let _ = writeln!(self.text, "{}", Value::Object(object));
    }

    fn line(&mut self, z: &[f64], p: &[f64], kept: &[String]) {
        let mut fields: Vec<String> = kept.iter().map(|text| quoted(text)).collect();
        for &what in &self.args.columns {
            match what {
                // The shortest text that reads back as the same number.
                Prediction::Probability => fields.extend(p.iter().map(|p| format!("{p:?}"))),
                Prediction::Score => fields.extend(z.iter().map(|z| format!("{z:?}"))),
                Prediction::Class => fields.push(quoted(self.forecaster.class(p))),
            }
        }
        self.fields(fields);
    }

    fn finish(mut self) -> Result<()> {
        self.block.check_any()?;
        if !self.block.is_empty() {
            self.flush()?;
        }
        self.out.finish()
    }
}

/// The name of a column.
pub(super) fn name(column: Prediction) -> &'static str {
    match column {
        Prediction::Probability => "probability",
        Prediction::Score => "score",
        Prediction::Class => "class",
    }
}

/// A field of a CSV file.
pub(super) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
