//! A model as C99: one function, `math.h`, and `string.h` if there are text columns.

use std::fmt::Write;

use super::Exportable;
use super::text::{Functions, Language, lines, wrapped};
use crate::encoder::ColumnKind;
use crate::error::Result;
use crate::options::UnknownCategory;

pub(super) fn write(model: &Exportable) -> Result<String> {
    let (program, pair) = model.program()?;
    let mut language = C::default();
    let body = lines(&program, pair.p, "z", &mut language);
    let interpolates = program.interpolates();
    let (_, texts) = model.places();
    let encodes = model.columns.iter().any(|column| match &column.kind {
        ColumnKind::Numeric { fill } => fill.is_some(),
        ColumnKind::LogOdds { .. } => false,
        ColumnKind::Categorical { .. } => true,
    });

    let mut code = heading(&model.headline(), model);
    code.push_str("#include <math.h>\n#include <stddef.h>\n");
    if !texts.is_empty() {
        code.push_str("#include <string.h>\n");
    }
    let (weights, intercept) = model.line();
    let _ = writeln!(code, "\nenum {{ FEATURES = {} }};", weights.len());
    code.push_str(&array("weights", &weights));
    code.push_str(&language.tables);
    if interpolates {
        code.push_str(INTERPOLATE);
    }
    code.push_str(&score_function(model, intercept));
    if encodes {
        code.push_str(&encode_function(model)?);
    }
    let signature = signature(&texts);
    let _ = write!(code, "\ndouble properloss_probability({signature})\n{{\n");
    if encodes {
        let texts = if texts.is_empty() { "" } else { ", texts" };
        code.push_str("    double x[FEATURES];\n");
        let _ = writeln!(code, "    encode(numbers{texts}, x);");
        code.push_str("    const double z = score(x);\n");
    } else {
        code.push_str("    const double z = score(numbers);\n");
    }
    code.push_str("    if (isnan(z)) return z;\n");
    for (name, expression) in &body.assignments {
        let _ = writeln!(code, "    const double {name} = {expression};");
    }
    let _ = writeln!(code, "    return {};\n}}", body.result);
    Ok(code)
}

/// What the function is, and which column goes where.
pub(super) fn heading(headline: &str, model: &Exportable) -> String {
    let mut code = format!("// {headline}.\n");
    code.push_str("// C99; link with -lm. NaN where there is no answer.\n");
    let (numbers, texts) = model.places();
    for (what, places) in [("numbers", &numbers), ("texts", &texts)] {
        for (i, &k) in places.iter().enumerate() {
            let _ = writeln!(code, "//   {what}[{i}] is {:?}", model.columns[k].name);
        }
    }
    code
}

pub(super) fn signature(texts: &[usize]) -> &'static str {
    if texts.is_empty() {
        "const double *numbers"
    } else {
        "const double *numbers, const char *const *texts"
    }
}

pub(super) fn array(name: &str, values: &[f64]) -> String {
    let values = wrapped(values.iter().map(|value| format!("{value:?}")), "    ");
    format!("static const double {name}[] = {{{values}\n}};\n")
}

/// The order of the sum is the engine's, so that scores agree to the last bit.
fn score_function(model: &Exportable, intercept: f64) -> String {
    let unit = if model.unit_rows { UNIT_ROWS } else { "" };
    format!(
        "
static double score(const double *x)
{{
    double lane[8] = {{0.0}};
    int j;
    for (j = 0; j < FEATURES / 8 * 8; j++) lane[j % 8] += x[j] * weights[j];
    double z = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    for (; j < FEATURES; j++) z += x[j] * weights[j];
{unit}    return z + {intercept:?};
}}
"
    )
}

/// Squares that overflow or vanish are taken of numbers that were scaled first.
const UNIT_ROWS: &str = "    double squares = 0.0, scale = 1.0;
    for (j = 0; j < FEATURES; j++) squares += x[j] * x[j];
    if (!(squares < 1e300 && squares > 1e-290)) {
        scale = squares > 1.0 ? 1e-200 : 1e200;
        for (j = 0, squares = 0.0; j < FEATURES; j++) squares += (x[j] * scale) * (x[j] * scale);
    }
    const double norm = sqrt(squares) / scale;
    z *= norm > 0.0 ? 1.0 / norm : isnan(norm) ? norm : 0.0;
";

pub(super) const INTERPOLATE: &str = "
// Straight lines through (x[k], y[k]), k = 0 to last.
static double interpolate(const double *x, const double *y, int last, double at)
{
    int low = 0, high = last;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (x[middle] <= at) low = middle; else high = middle;
    }
    const double width = x[high] - x[low], rise = y[high] - y[low];
    const double left = at - x[low], right = x[high] - at;
    const double value = left <= right ? y[low] + rise * (left / width) : y[high] - rise * (right / width);
    return fmin(fmax(value, y[low]), y[high]);
}
";

pub(super) fn encode_function(model: &Exportable) -> Result<String> {
    let (_, texts) = model.places();
    let mut code = String::new();
    if !texts.is_empty() {
        code.push_str(
            "
static int find(const char *text, const char *const *list, int length)
{
    for (int k = 0; k < length; k++) if (strcmp(text, list[k]) == 0) return k;
    return -1;
}
",
        );
        let words: Vec<String> = model.missing_words.iter().map(|word| quoted(word)).collect();
        // An empty array is no C: a word that no text equals is kept in its place.
        let _ = write!(code, "\nstatic const char *const missing[] = {{");
        code.push_str(&wrapped(if words.is_empty() { vec!["\"\"".into()] } else { words }, "    "));
        code.push_str("\n};\n");
        for (i, &k) in texts.iter().enumerate() {
            if let ColumnKind::Categorical { categories, fill } = &model.columns[k].kind {
                let _ = write!(code, "static const char *const text_{i}[] = {{");
                code.push_str(&wrapped(categories.iter().map(|c| quoted(c)), "    "));
                code.push_str("\n};\n");
                if let Some(fill) = fill {
                    code.push_str(&array(&format!("fill_{i}"), fill));
                }
            }
        }
    }
    let signature = signature(&texts);
    let _ = write!(code, "\nstatic void encode({signature}, double *x)\n{{\n");
    let (mut number, mut text) = (0, 0);
    for column in &model.columns {
        match &column.kind {
            ColumnKind::Numeric { fill: None } | ColumnKind::LogOdds { .. } => {
                let _ = writeln!(code, "    *x++ = numbers[{number}];");
            }
            ColumnKind::Numeric { fill: Some(fill) } => {
                let n = format!("numbers[{number}]");
                let _ = writeln!(code, "    *x++ = isnan({n}) ? {fill:?} : {n};");
            }
            ColumnKind::Categorical { categories, fill } => {
                let absent = match fill {
                    Some(_) => format!("fill_{text}[k]"),
                    None => "NAN".into(),
                };
                let other = match model.unknown {
                    UnknownCategory::Zeros => "0.0",
                    UnknownCategory::Error => "NAN",
                };
                let words = model.missing_words.len();
                let _ = write!(
                    code,
                    "    {{
        const char *text = texts[{text}];
        const int absent = text == NULL || find(text, missing, {words}) >= 0;
        const int own = absent ? -1 : find(text, text_{text}, {count});
        for (int k = 0; k < {count}; k++)
            *x++ = absent ? {absent} : own < 0 ? {other} : own == k ? 1.0 : 0.0;
    }}
",
                    count = categories.len(),
                );
            }
        }
        match column.kind {
            ColumnKind::Numeric { .. } | ColumnKind::LogOdds { .. } => number += 1,
            ColumnKind::Categorical { .. } => text += 1,
        }
    }
    code.push_str("}\n");
    Ok(code)
}

/// A string literal: everything but plain ASCII as octal bytes (UTF-8), question marks too, since
/// two of them begin a trigraph.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' | 0..=31 | 127.. => {
                let _ = write!(literal, "\\{byte:03o}");
            }
            byte => literal.push(char::from(byte)),
        }
    }
    literal.push('"');
    literal
}

#[derive(Default)]
pub(super) struct C {
    pub tables: String,
    count: usize,
}

impl Language for C {
    fn functions(&self) -> Functions {
        let (absolute, logarithm, root) = ("fabs", "log", "sqrt");
        Functions { absolute, logarithm, root, least_and_largest: Some(["fmin", "fmax"]) }
    }

    fn select(&self, left: &str, right: &str, then: &str, other: &str) -> String {
        format!("({left} < {right} ? {then} : {other})")
    }

    fn interpolate(&mut self, at: &str, x: &[f64], y: &[f64]) -> String {
        self.count += 1;
        let n = self.count;
        self.tables.push_str(&array(&format!("x_{n}"), x));
        self.tables.push_str(&array(&format!("y_{n}"), y));
        format!("interpolate(x_{n}, y_{n}, {}, {at})", x.len() - 1)
    }

    fn name(&self, number: usize) -> String {
        format!("t{number}")
    }
}
