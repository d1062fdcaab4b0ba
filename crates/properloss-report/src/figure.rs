//! A figure of the page: a picture, two sentences, a table, a read-out and a link to save it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::svg::{Axis, Panel, Scale, named_document};
use crate::text::{escaped, rounded, shown};

/// Rows of the table behind a figure, at most.
const TABLE_ROWS: usize = 21;
/// Points of a curve, at most.
pub const POINTS: usize = 500;

/// Numbers under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What they are.
    pub name: String,
    /// The numbers; NaN where there is none.
    pub values: Vec<f64>,
}

impl Column {
    /// From its parts.
    pub fn new(name: &str, values: Vec<f64>) -> Self {
        Self { name: name.to_owned(), values }
    }
}

/// One figure.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Letters, digits and hyphens; no other figure has it.
    pub id: String,
    title: String,
    words: String,
    svg: String,
    columns: Vec<Column>,
    /// The column along the horizontal axis, and that axis.
    reading: Option<(usize, Axis)>,
    /// What the threshold slider moves: a line at the threshold, or a dot on the curve.
    pub marker: Option<&'static str>,
    /// Whose sliders move it: the end of its name on a page of several classes.
    pub suffix: String,
}

impl Figure {
    /// A panel whose columns can be read out along the horizontal axis: column `x` is on it.
    pub fn panel(id: &str, words: &str, panel: Panel, columns: Vec<Column>, x: usize) -> Self {
        let label = format!("{}: {}", panel.title, words);
        let title = panel.title.clone();
        let axis = panel.x.clone();
        let svg = named_document(&[panel], &format!("area-{id}"), &label);
        let (id, words) = (id.to_owned(), words.to_owned());
        Self {
            id,
            title,
            words,
            svg,
            columns,
            reading: Some((x, axis)),
            marker: None,
            suffix: String::new(),
        }
    }

    /// A picture that stands for itself, with the table behind it.
    pub fn picture(id: &str, title: &str, words: &str, svg: String, columns: Vec<Column>) -> Self {
        let (id, title, words) = (id.to_owned(), title.to_owned(), words.to_owned());
        Self { id, title, words, svg, columns, reading: None, marker: None, suffix: String::new() }
    }

    /// The same, with a marker of the threshold that the sliders of this suffix set.
    #[must_use]
    pub fn marked(mut self, marker: &'static str, suffix: &str) -> Self {
        self.marker = Some(marker);
        self.suffix = suffix.to_owned();
        self
    }

    fn length(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).max().unwrap_or(0)
    }

    /// What the script needs of it.
    pub fn json(&self) -> Option<Value> {
        let (x, axis) = self.reading.as_ref()?;
        let (low, high, scale) = axis.range();
        let columns: Vec<Vec<Value>> = self
            .columns
            .iter()
            .map(|column| column.values.iter().map(|&value| number(value)).collect())
            .collect();
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        Some(json!({
            "x": x, "low": low, "high": high, "log": scale == Scale::Log,
            "names": names, "columns": columns, "marker": self.marker, "suffix": self.suffix,
        }))
    }

    /// As HTML. `extra` is a table of its own, for what is not numbers.
    pub fn html(&self, extra: &str) -> String {
        let Self { id, title, words, svg, .. } = self;
        let (title, words) = (escaped(title), escaped(words));
        let mut out = format!("<figure id=\"figure-{id}\" data-figure=\"{id}\">\n{svg}");
        if self.reading.is_some() && self.length() > 1 {
            let last = self.length() - 1;
            let _ = writeln!(
                out,
                "<div class=\"reading\" data-js hidden><label for=\"read-{id}\">Read {title} at</label>\
                 <input type=\"range\" id=\"read-{id}\" min=\"0\" max=\"{last}\" step=\"1\" value=\"{}\">\
                 <output for=\"read-{id}\" id=\"out-{id}\"></output></div>",
                last / 2,
            );
        }
        let _ = writeln!(
            out,
            "<figcaption>{words}</figcaption>\n\
             <p class=\"save\"><a download=\"{id}.svg\" href=\"data:image/svg+xml;base64,{}\">\
             Save as SVG<span class=\"unseen\">: {title}</span></a></p>",
            BASE64.encode(svg),
        );
        let table = if extra.is_empty() { self.table() } else { extra.to_owned() };
        let _ = writeln!(
            out,
            "<details><summary>Table<span class=\"unseen\"> of {title}</span></summary>{table}</details>\
             \n</figure>",
        );
        out
    }

    /// Some rows of the columns, among them the first and the last.
    fn table(&self) -> String {
        let rows = thinned(self.length(), TABLE_ROWS);
        let head: Vec<String> = self.columns.iter().map(|c| escaped(&c.name)).collect();
        let cell = |column: &Column, row: usize| {
            column.values.get(row).map_or_else(String::new, |&v| shown(v))
        };
        let body: Vec<Vec<String>> = rows
            .into_iter()
            .map(|row| self.columns.iter().map(|column| cell(column, row)).collect())
            .collect();
        table(&self.title, &head, &body)
    }
}

/// `limit` indices below `count`, evenly spaced, with both ends.
pub fn thinned(count: usize, limit: usize) -> Vec<usize> {
    let kept = count.min(limit);
    (0..kept).map(|k| if kept == 1 { 0 } else { k * (count - 1) / (kept - 1) }).collect()
}

/// A table of cells that are HTML already, in a region of its own that scrolls if it must.
pub fn table(title: &str, head: &[String], body: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table: {}\"><table><thead><tr>",
        escaped(title),
    );
    for name in head {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in body {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// As the page shows it; null where there is no number.
pub fn number(value: f64) -> Value {
    let value = rounded(value);
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}
