//! A model of several classes as C99.

use std::fmt::Write;

use super::super::c::{C, INTERPOLATE, array, encode_function, heading, signature};
use super::super::text::{ManyLines, lines_of};
use super::ClassExportable;
use crate::encoder::ColumnKind;
use crate::error::Result;

pub(in crate::export) fn write(model: &ClassExportable) -> Result<String> {
    let (program, results) = model.program(|k| format!("z[{k}]"));
    let mut language = C::default();
    let ManyLines { assignments, results, .. } = lines_of(&program, &results, "z", &mut language);
    let interpolates = program.interpolates();
    let base = &model.base;
    let (_, texts) = base.places();
    let plain = |kind: &ColumnKind| matches!(kind, ColumnKind::Numeric { fill: None });
    let encodes = !base.columns.iter().all(|column| plain(&column.kind));

    let mut code = heading(&model.headline(), base);
    for (k, name) in model.classes.iter().enumerate() {
        let _ = writeln!(code, "//   probabilities[{k}] is that of {name:?}");
    }
    code.push_str("#include <math.h>\n#include <stddef.h>\n");
    if !texts.is_empty() {
        code.push_str("#include <string.h>\n");
    }
    let (features, classes) = (model.weights[0].len(), model.classes.len());
    let _ = writeln!(code, "\nenum {{ FEATURES = {features}, CLASSES = {classes} }};");
    code.push_str(&array("weights", &model.weights.concat()));
    code.push_str(&array("intercepts", &model.intercepts));
    code.push_str(&language.tables);
    if interpolates {
        code.push_str(INTERPOLATE);
    }
    code.push_str(SCORE);
    if encodes {
        code.push_str(&encode_function(base)?);
    }
    let signature = signature(&texts);
    let _ =
        write!(code, "\nvoid properloss_probabilities({signature}, double *probabilities)\n{{\n");
    if encodes {
        let texts = if texts.is_empty() { "" } else { ", texts" };
        let _ = writeln!(code, "    double x[FEATURES];\n    encode(numbers{texts}, x);");
    } else {
        code.push_str("    const double *x = numbers;\n");
    }
    code.push_str(
        "    double z[CLASSES];
    int finite = 1;
    for (int k = 0; k < CLASSES; k++) {
        z[k] = score(x, weights + k * FEATURES) + intercepts[k];
        finite = finite && isfinite(z[k]);
    }
    if (!finite) {
        for (int k = 0; k < CLASSES; k++) probabilities[k] = NAN;
        return;
    }
",
    );
    for (name, expression) in &assignments {
        let _ = writeln!(code, "    const double {name} = {expression};");
    }
    for (k, result) in results.iter().enumerate() {
        let _ = writeln!(code, "    probabilities[{k}] = {result};");
    }
    code.push_str("}\n");
    Ok(code)
}

/// The order of the sum is the engine's, so that scores agree to the last bit.
const SCORE: &str = "
static double score(const double *x, const double *w)
{
    double lane[8] = {0.0};
    int j;
    for (j = 0; j < FEATURES / 8 * 8; j++) lane[j % 8] += x[j] * w[j];
    double z = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    for (; j < FEATURES; j++) z += x[j] * w[j];
    return z;
}
";
