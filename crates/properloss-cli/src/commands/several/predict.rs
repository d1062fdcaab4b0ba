//! `predict`: one column a class for the rows of a file, in constant memory.

use std::fmt::Write as _;

use properloss::metrics::most_probable;
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::EncodedRow;
use serde_json::{Map, Value, json};

use crate::args::{PredictArgs, Prediction};
use crate::commands::predict::{Block, each_row, finished, name, quoted};
use crate::failure::{Failure, Result};
use crate::output::{Stream, Talk};

/// Runs the command.
pub fn run(args: &PredictArgs, model: &ClassModelFile, json: bool, talk: Talk) -> Result<()> {
    if args.threshold != 0.5 {
        return Err(Failure::usage(
            "--threshold is for two classes",
            "leave it out: the class of a row is the most probable one",
        ));
    }
    let mut writer = Writer {
        model,
        args,
        json,
        block: Block::new(&args.data),
        text: String::new(),
        out: Stream::open(args.out.as_deref())?,
    };
    let encoder = &model.preprocessing.encoder;
    let (count, unknown) = each_row(args, encoder, talk, |row, kept| writer.add(row, kept))?;
    writer.finish()?;
    finished(args, count, unknown, talk)
}

/// `probability_setosa`.
pub fn column(what: Prediction, class: &str) -> String {
    format!("{}_{class}", name(what))
}

/// Collects rows, predicts them together and writes them.
struct Writer<'a> {
    model: &'a ClassModelFile,
    args: &'a PredictArgs,
    json: bool,
    block: Block<'a>,
    text: String,
    out: Stream,
}

impl Writer<'_> {
    fn add(&mut self, row: EncodedRow<'_>, kept: &[String]) -> Result<()> {
        let (first, full) = self.block.add(row, kept);
        if first && !self.json {
            self.header();
        }
        if full { self.flush() } else { Ok(()) }
    }

    fn header(&mut self) {
        let mut names: Vec<String> = self.args.keep.iter().map(|name| quoted(name)).collect();
        for &what in &self.args.columns {
            match what {
                Prediction::Class => names.push(name(what).to_owned()),
                _ => names.extend(self.model.classes.iter().map(|c| quoted(&column(what, c)))),
            }
        }
        self.text.push_str(&names.join(","));
        self.text.push('\n');
    }

    fn flush(&mut self) -> Result<()> {
        let width = self.model.classes.len();
        let mut scores = self.model.scores(&self.block.matrix(self.model.weights[0].len())?)?;
        // An infinite score has no softmax.
        scores.iter_mut().filter(|z| z.is_infinite()).for_each(|z| *z = f64::NAN);
        self.block.check(&scores, width)?;
        let probabilities = self.model.apply_link(&scores)?;
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

    fn class(&self, p: &[f64]) -> &str {
        &self.model.classes[most_probable(p)]
    }

    fn object(&mut self, z: &[f64], p: &[f64], kept: &[String]) {
        let mut object = Map::new();
        for (name, text) in self.args.keep.iter().zip(kept) {
            object.insert(name.clone(), json!(text));
        }
        for &what in &self.args.columns {
            let value = match what {
                Prediction::Probability => self.by_class(p),
                Prediction::Score => self.by_class(z),
                Prediction::Class => json!(self.class(p)),
            };
            object.insert(name(what).to_owned(), value);
        }
        let _ = writeln!(self.text, "{}", Value::Object(object));
    }

    fn by_class(&self, values: &[f64]) -> Value {
        let pairs = self.model.classes.iter().zip(values);
        Value::Object(pairs.map(|(class, value)| (class.clone(), json!(value))).collect())
    }

    fn line(&mut self, z: &[f64], p: &[f64], kept: &[String]) {
        let mut fields: Vec<String> = kept.iter().map(|text| quoted(text)).collect();
        for &what in &self.args.columns {
            match what {
                // The shortest text that reads back as the same number.
                Prediction::Probability => fields.extend(p.iter().map(|p| format!("{p:?}"))),
                Prediction::Score => fields.extend(z.iter().map(|z| format!("{z:?}"))),
                Prediction::Class => fields.push(quoted(self.class(p))),
            }
        }
        self.text.push_str(&fields.join(","));
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
