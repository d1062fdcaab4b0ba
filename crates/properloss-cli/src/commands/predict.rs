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
        return Err(Failure::user(
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
    let mut writer = Writer {
        model: file.model()?,
        classes: &file.classes,
        columns: &args.columns,
        keep: &args.keep,
        threshold: args.threshold,
        json,
        block: Block::new(&args.data),
        text: String::new(),
        out: Stream::open(args.out.as_deref())?,
    };
    let encoder = &file.preprocessing.encoder;
    let (count, unknown) = each_row(args, encoder, talk, |row, kept| writer.add(row, kept))?;
    writer.finish()?;
    finished(args, count, unknown, talk)
}

/// Says what was unknown; with rows in a file and --json, what was done.
pub(super) fn finished(args: &PredictArgs, count: u64, unknown: u64, talk: Talk) -> Result<()> {
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
pub(super) fn each_row(
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
    let (rule, from_stdin) = (args.unknown.rule(), args.data == Path::new("-"));
    let text = matches!(options.format, None | Some(Format::Csv | Format::Tsv));
    let name = Path::new("standard input");
    let mut start = Vec::new();
    if from_stdin && text {
        let read = stdin().lock().take(4).read_to_end(&mut start);
        read.map_err(|error| properloss_data::Error::Read { file: name.into(), source: error })?;
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
            rest.map_err(|error| properloss_data::Error::Read {
                file: name.into(),
                source: error,
            })?;
            Source::memory("standard input", start)
        } else {
            source(&args.data)?
        };
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(&data)?,
        };
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
pub(super) struct Block<'a> {
    data: &'a Path,
    /// The values of the rows.
    rows: Vec<f64>,
    /// Of sparse rows, where each ends and the column of each value.
    sparse: Option<(Vec<usize>, Vec<u32>)>,
    positions: Vec<Position>,
    /// The texts to be kept, one row after the other.
    pub kept: Vec<String>,
    any: bool,
}

impl<'a> Block<'a> {
    /// Of the rows of a file.
    pub(super) fn new(data: &'a Path) -> Self {
        let (rows, positions, kept) = (Vec::new(), Vec::new(), Vec::new());
        Self { data, rows, sparse: None, positions, kept, any: false }
    }

    /// Takes a row in; whether it is the first of all, and whether the block is full.
    pub(super) fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> (bool, bool) {
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
    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The rows, of `columns` features each.
    pub(super) fn matrix(&self, columns: usize) -> Result<Matrix<'_>> {
        let count = self.positions.len();
        Ok(match &self.sparse {
            None => Matrix::dense_f64(&self.rows, count, self.rows.len() / count.max(1))?,
            Some((starts, indices)) => Matrix::csr(
                Offsets::Usize(starts),
                Indices::U32(indices),
                Values::F64(&self.rows),
                columns,
            )?,
        })
    }

    /// Refuses scores, `width` a row, that overflowed.
    pub(super) fn check(&self, scores: &[f64], width: usize) -> Result<()> {
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
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        if let Some((ends, columns)) = &mut self.sparse {
            ends.truncate(1);
            columns.clear();
        }
        self.positions.clear();
        self.kept.clear();
    }

    /// A file without rows is a mistake.
    pub(super) fn check_any(&self) -> Result<()> {
        if self.any {
            return Ok(());
        }
        let stdin = self.data == Path::new("-");
        let file = if stdin { "standard input".into() } else { self.data.to_path_buf() };
        Err(properloss_data::Error::NoRows { file }.into())
    }
}

/// Collects rows, predicts them together and writes them.
struct Writer<'a> {
    model: Model,
    classes: &'a [String; 2],
    columns: &'a [Prediction],
    keep: &'a [String],
    threshold: f64,
    json: bool,
    block: Block<'a>,
    text: String,
    out: Stream,
}

impl Writer<'_> {
    fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> Result<()> {
        let (first, full) = self.block.add(row, kept);
        if first {
            self.header();
        }
        if full { self.flush() } else { Ok(()) }
    }

    fn header(&mut self) {
        if !self.json {
            let kept = self.keep.iter().map(|name| quoted(name));
            let own = self.columns.iter().map(|c| name(*c).to_owned());
            self.text.push_str(&kept.chain(own).collect::<Vec<_>>().join(","));
            self.text.push('\n');
        }
    }

    fn flush(&mut self) -> Result<()> {
        let scores = self.model.scores(self.block.matrix(self.model.coefficients().len())?)?;
        self.block.check(&scores, 1)?;
        let mut probabilities = scores.clone();
        self.model.apply_link(&mut probabilities);
        let kept = std::mem::take(&mut self.block.kept);
        for (i, (&z, &p)) in scores.iter().zip(&probabilities).enumerate() {
            let width = self.keep.len();
            self.line(z, p, &kept[i * width..(i + 1) * width]);
        }
        self.block.clear();
        self.out.write(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn line(&mut self, z: f64, p: f64, kept: &[String]) {
        let class = &self.classes[usize::from(p > self.threshold)];
        if self.json {
            let mut object = Map::new();
            for (name, text) in self.keep.iter().zip(kept) {
                object.insert(name.clone(), json!(text));
            }
            for &column in self.columns {
                let value: Value = match column {
                    Prediction::Probability => json!(p),
                    Prediction::Score => json!(z),
                    Prediction::Class => json!(class),
                };
                object.insert(name(column).to_owned(), value);
            }
            let _ = writeln!(self.text, "{}", Value::Object(object));
            return;
        }
        self.text.push_str(&kept.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(","));
        for (k, &column) in self.columns.iter().enumerate() {
            if k + kept.len() > 0 {
                self.text.push(',');
            }
            // The shortest text that reads back as the same number.
            let _ = match column {
                Prediction::Probability => write!(self.text, "{p:?}"),
                Prediction::Score => write!(self.text, "{z:?}"),
                Prediction::Class => write!(self.text, "{}", quoted(class)),
            };
        }
        self.text.push('\n');
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
