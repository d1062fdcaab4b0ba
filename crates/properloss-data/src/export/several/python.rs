//! A model of several classes as a Python module without imports beyond the standard library.

use std::fmt::Write;

use super::super::python::{Python, encoding, heading, list};
use super::super::text::{ManyLines, lines_of};
use super::ClassExportable;
use crate::error::Result;

pub(in crate::export) fn write(model: &ClassExportable) -> Result<String> {
    let (program, results) = model.program(|k| format!("z[{k}]"));
    let mut language = Python::default();
    let ManyLines { assignments, results, .. } = lines_of(&program, &results, "z", &mut language);
    let interpolates = program.interpolates();
    let base = &model.base;

    let mut code = heading(&model.headline(), base, interpolates);
    code.push_str("from math import exp, isfinite, isnan, log, nan, sqrt  # noqa: F401\n\n");
    code.push_str("# One list a class.\nWEIGHTS = [\n");
    for weights in &model.weights {
        let values: Vec<String> = weights.iter().map(|value| format!("{value:?}")).collect();
        let _ = writeln!(code, "    [{}],", values.join(", "));
    }
    code.push_str("]\n");
    code.push_str(&list("INTERCEPTS", &model.intercepts));
    code.push_str(&encoding(base, &language.tables, interpolates));
    code.push_str(SCORE);
    for (name, expression) in &assignments {
        let _ = writeln!(code, "    {name} = {expression}");
    }
    let _ = writeln!(code, "    return [\n        {},\n    ]", results.join(",\n        "));
    Ok(code)
}

const SCORE: &str = "
def score(x, w):
    lane, full = [0.0] * 8, len(w) // 8 * 8
    for j in range(full):
        lane[j % 8] += x[j] * w[j]
    z = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
    for j in range(full, len(w)):
        z += x[j] * w[j]
    return z


def probabilities(row):
    x = encode(row)
    z = [score(x, w) + b for w, b in zip(WEIGHTS, INTERCEPTS, strict=True)]
    if not all(isfinite(value) for value in z):
        return [nan] * len(z)
";
