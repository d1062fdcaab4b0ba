//! `predict`: probabilities, scores or classes for the rows of a file, in constant memory.

use std::fmt::Write as _;
use std::io::{Cursor, Read, stdin};
use std::path::Path;

use properloss::sample::{Indices, Matrix, Offsets, Values};
use properloss::train::Model;
use properloss_data::error::Position;
use properloss_data::read::{
    EncodedRow, csv_format, for_each_row, for_each_table_row_keeping, open_table,
};
use properloss_data::table::CsvTable;
use properloss_data::{Format, ModelFile, Source};
use serde_json::{Map, Value, json};

use super::{check_extension, unknown_words};
use crate::args::{PredictArgs, Prediction, source};
use crate::failure::{Failure, Result};
use crate::output::{Stream, Talk};
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
    check_extension(args.out.as_deref(), &[], "predictions are CSV (or JSON lines with --json)")?;
    let file = ModelFile::read(&args.model)?;
    let options = args.file.options()?;
    let mut writer = Writer {
        model: file.model()?,
        classes: &file.classes,
        columns: &args.columns,
        keep: &args.keep,
        kept: Vec::new(),
        threshold: args.threshold,
        json: talk.json,
        data: &args.data,
        rows: Vec::new(),
        sparse: None,
        positions: Vec::new(),
        any: false,
        text: String::new(),
        out: Stream::open(args.out.as_deref())?,
    };
    let progress = Progress::spinner(talk, "predicting");
    let (mut count, mut unknown) = (0u64, 0u64);
    let mut visit = |row: EncodedRow<'_>, kept: &[String]| {
        count += 1;
        unknown += u64::from(row.unknown);
        if count.is_multiple_of(10_000) {
            progress.message(format!("{count} rows"));
        }
        writer.add(row, kept)
    };
    let encoder = &file.preprocessing.encoder;
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
    writer.finish()?;
    drop(progress);
    unknown_words(unknown, talk);
    Ok(())
}

/// Collects rows, predicts them together and writes them.
struct Writer<'a> {
    model: Model,
    classes: &'a [String; 2],
    columns: &'a [Prediction],
    keep: &'a [String],
    /// Of the rows that are held, one after the other.
    kept: Vec<String>,
    threshold: f64,
    json: bool,
    data: &'a Path,
    /// The values of the rows.
    rows: Vec<f64>,
    /// Of sparse rows, where each ends and the column of each value.
    sparse: Option<(Vec<usize>, Vec<u32>)>,
    positions: Vec<Position>,
    any: bool,
    text: String,
    out: Stream,
}

impl Writer<'_> {
    fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> Result<()> {
        self.kept.extend_from_slice(kept);
        if !self.any {
            self.any = true;
            self.header();
        }
        self.rows.extend_from_slice(row.features);
        if let Some(columns) = row.columns {
            let (ends, all) = self.sparse.get_or_insert_with(|| (vec![0], Vec::new()));
            all.extend_from_slice(columns);
            ends.push(all.len());
        }
        self.positions.push(row.position);
        let full = self.positions.len() >= ROWS || self.rows.len() + row.features.len() > BUFFER;
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
        let count = self.positions.len();
        let matrix = match &self.sparse {
            None => Matrix::dense_f64(&self.rows, count, self.rows.len() / count.max(1))?,
            Some((starts, columns)) => Matrix::csr(
                Offsets::Usize(starts),
                Indices::U32(columns),
                Values::F64(&self.rows),
                self.model.coefficients().len(),
            )?,
        };
        let scores = self.model.scores(matrix)?;
        if let Some(i) = scores.iter().position(|z| z.is_nan()) {
            return Err(Failure::user(
                format!("{}, {}: the score overflows", self.data.display(), self.positions[i]),
                "the values of the row are too large",
            ));
        }
        let mut probabilities = scores.clone();
        self.model.apply_link(&mut probabilities);
        let kept = std::mem::take(&mut self.kept);
        for (i, (&z, &p)) in scores.iter().zip(&probabilities).enumerate() {
            let width = self.keep.len();
            self.line(z, p, &kept[i * width..(i + 1) * width]);
        }
        self.rows.clear();
        if let Some((ends, columns)) = &mut self.sparse {
            ends.truncate(1);
            columns.clear();
        }
        self.positions.clear();
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
        if !self.any {
            let file = if self.data == Path::new("-") {
                "standard input".into()
            } else {
                self.data.to_path_buf()
            };
            return Err(properloss_data::Error::NoRows { file }.into());
        }
        if !self.positions.is_empty() {
            self.flush()?;
        }
        self.out.finish()
    }
}

fn name(column: Prediction) -> &'static str {
    match column {
        Prediction::Probability => "probability",
        Prediction::Score => "score",
        Prediction::Class => "class",
    }
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
