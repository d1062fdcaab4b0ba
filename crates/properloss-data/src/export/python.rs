//! A model as a Python module without imports beyond the standard library.

use std::fmt::Write;

use super::Exportable;
use super::text::{Functions, Language, lines, wrapped};
use crate::encoder::{Column, ColumnKind};
use crate::error::Result;
use crate::options::UnknownCategory;

pub(super) fn write(model: &Exportable) -> Result<String> {
    let (program, pair) = model.program()?;
    let mut language = Python::default();
    let body = lines(&program, pair.p, "z", &mut language);
    let interpolates = program.interpolates();

    let mut code = heading(&model.headline(), model, interpolates);
    code.push_str("from math import exp, isnan, log, nan, sqrt  # noqa: F401\n\n");
    let (weights, intercept) = model.line();
    code.push_str(&list("WEIGHTS", &weights));
    code.push_str(&encoding(model, &language.tables, interpolates));
    let unit = if model.unit_rows { UNIT_ROWS } else { "" };
    let _ = write!(
        code,
        "
def score(x):
    lane, full = [0.0] * 8, len(WEIGHTS) // 8 * 8
    for j in range(full):
        lane[j % 8] += x[j] * WEIGHTS[j]
    z = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
    for j in range(full, len(WEIGHTS)):
        z += x[j] * WEIGHTS[j]
{unit}    return z + {intercept:?}


def probability(row):
    z = score(encode(row))
    if isnan(z):
        return nan
"
    );
    for (name, expression) in &body.assignments {
        let _ = writeln!(code, "    {name} = {expression}");
    }
    let _ = writeln!(code, "    return {}", body.result);
    Ok(code)
}

/// What the module is, what a row holds, and what finds the place in a table.
pub(super) fn heading(headline: &str, model: &Exportable, interpolates: bool) -> String {
    let mut code = format!("# {headline}.\n");
    code.push_str("# NaN where there is no answer. A row is a sequence of\n");
    for (k, column) in model.columns.iter().enumerate() {
        let text = matches!(column.kind, ColumnKind::Categorical { .. });
        let kind = if text { "text" } else { "number" };
        let _ = writeln!(code, "#   row[{k}]: the {kind} {:?}", column.name);
    }
    if interpolates {
        code.push_str("from bisect import bisect_right\n");
    }
    code
}

/// The tables, and the functions that use them: from a row to its features.
pub(super) fn encoding(model: &Exportable, tables: &str, interpolates: bool) -> String {
    let plain = |column: &Column| matches!(column.kind, ColumnKind::Numeric { fill: None });
    let encodes = !model.columns.iter().all(plain);
    let columns = if encodes { columns(model) } else { String::new() };
    let interpolate = if interpolates { INTERPOLATE } else { "" };
    columns + tables + interpolate + if encodes { ENCODE } else { NUMBERS }
}

pub(super) fn list(name: &str, values: &[f64]) -> String {
    let values = wrapped(values.iter().map(|value| format!("{value:?}")), "    ");
    format!("{name} = [{values}\n]\n")
}

/// `(categories, fill)` of every column, no categories for a number.
pub(super) fn columns(model: &Exportable) -> String {
    let mut code = String::from(
        "# Categories (None: a number) and what a missing value becomes.\nCOLUMNS = [\n",
    );
    for column in &model.columns {
        let _ = match &column.kind {
            ColumnKind::Numeric { fill: None } | ColumnKind::LogOdds { .. } => {
                writeln!(code, "    (None, None),")
            }
            ColumnKind::Numeric { fill: Some(fill) } => writeln!(code, "    (None, [{fill:?}]),"),
            ColumnKind::Categorical { categories, fill } => {
                let names: Vec<String> = categories.iter().map(|name| quoted(name)).collect();
                let fill = fill.as_ref().map_or("None".into(), |fill| format!("{fill:?}"));
                writeln!(code, "    ([{}], {fill}),", names.join(", "))
            }
        };
    }
    code.push_str("]\n");
    let words: Vec<String> = model.missing_words.iter().map(|word| quoted(word)).collect();
    let _ = writeln!(code, "MISSING = [{}]", words.join(", "));
    let other = match model.unknown {
        UnknownCategory::Zeros => "0.0",
        UnknownCategory::Error => "nan",
    };
    let _ = writeln!(code, "UNKNOWN = {other}");
    code
}

pub(super) const NUMBERS: &str = "

def encode(row):
    return [nan if value is None else float(value) for value in row]

";

pub(super) const ENCODE: &str = "

def encode(row):
    x = []
    for value, (categories, fill) in zip(row, COLUMNS, strict=True):
        if categories is None:
            number = nan if value is None else float(value)
            x.extend(fill if fill is not None and isnan(number) else [number])
        elif value is None or value in MISSING:
            x.extend([nan] * len(categories) if fill is None else fill)
        elif value in categories:
            x.extend(1.0 if value == category else 0.0 for category in categories)
        else:
            x.extend([UNKNOWN] * len(categories))
    return x

";

const UNIT_ROWS: &str = "    scale, squares = 1.0, sum(v * v for v in x)
    if not 1e-290 < squares < 1e300:
        scale = 1e-200 if squares > 1.0 else 1e200
        squares = sum((v * scale) * (v * scale) for v in x)
    norm = sqrt(squares) / scale
    z *= 1.0 / norm if norm > 0.0 else norm
";

pub(super) const INTERPOLATE: &str = "

def interpolate(x, y, at):
    k = min(max(bisect_right(x, at), 1), len(x) - 1) - 1
    width, rise = x[k + 1] - x[k], y[k + 1] - y[k]
    left, right = at - x[k], x[k + 1] - at
    value = y[k] + rise * (left / width) if left <= right else y[k + 1] - rise * (right / width)
    return min(max(value, y[k]), y[k + 1])
";

/// A string literal; Rust's escapes differ from Python's beyond ASCII.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(character);
            }
            ' '..='~' => literal.push(character),
            other => {
                let _ = write!(literal, "\\U{:08x}", u32::from(other));
            }
        }
    }
    literal.push('"');
    literal
}

#[derive(Default)]
pub(super) struct Python {
    pub tables: String,
    count: usize,
}

impl Language for Python {
    fn functions(&self) -> Functions {
        let (absolute, logarithm, root) = ("abs", "log", "sqrt");
        Functions { absolute, logarithm, root, least_and_largest: Some(["min", "max"]) }
    }

    fn select(&self, left: &str, right: &str, then: &str, other: &str) -> String {
        format!("({then} if {left} < {right} else {other})")
    }

    fn interpolate(&mut self, at: &str, x: &[f64], y: &[f64]) -> String {
        self.count += 1;
        let n = self.count;
        self.tables.push_str(&list(&format!("X_{n}"), x));
        self.tables.push_str(&list(&format!("Y_{n}"), y));
        format!("interpolate(X_{n}, Y_{n}, {at})")
    }

    fn name(&self, number: usize) -> String {
        format!("t{number}")
    }
}
