//! A model as a query: `CASE`, `+ - * /`, and `EXP`, `LN`, `SQRT`, `ABS` where the link needs them.
//!
//! Every stage is a common table expression that adds columns to the rows: its values need those of
//! earlier ones. A learned link is a search tree of `CASE`.

use std::fmt::Write;

use super::Exportable;
use super::program::slopes;
use super::text::{Functions, Language, ManyLines, lines_of, sum_like_the_engine};
use crate::encoder::{Column, ColumnKind};
use crate::error::Result;
use crate::options::UnknownCategory;

pub(super) fn write(model: &Exportable, table: &str) -> Result<String> {
    let (program, pair) = model.program()?;
    let (weights, intercept) = model.line();
    let features: Vec<String> =
        model.columns.iter().flat_map(|column| features(model, column)).collect();
    let terms: Vec<String> =
        features.iter().zip(&weights).map(|(x, w)| format!("{x} * {w:?}")).collect();
    let dot = sum_like_the_engine(&terms);

    let mut code = format!("-- {}.\n", model.headline());
    code.push_str("-- Adds the column probability to the rows; NULL where there is no answer.\n");
    let mut stages = Vec::new();
    let mut score = format!("{dot} + {intercept:?}");
    if model.unit_rows {
        let mut parts = vec![("properloss_dot".to_owned(), dot)];
        // Squares that overflow or vanish are taken of numbers that were scaled first.
        for (name, scale) in [("one", "1.0"), ("down", "1e-200"), ("up", "1e200")] {
            let squares: Vec<String> =
                features.iter().map(|x| format!("({x} * {scale}) * ({x} * {scale})")).collect();
            parts.push((format!("properloss_{name}"), squares.join(" + ")));
        }
        stages.push(parts);
        stages.push(vec![(
            "properloss_norm".into(),
            "CASE WHEN properloss_one < 1e300 AND properloss_one > 1e-290 THEN SQRT(properloss_one) \
             WHEN properloss_one > 1.0 THEN SQRT(properloss_down) / 1e-200 \
             WHEN properloss_one <= 1.0 THEN SQRT(properloss_up) / 1e200 END"
                .into(),
        )]);
        score = format!(
            "CASE WHEN properloss_norm > 0.0 THEN properloss_dot * (1.0 / properloss_norm) \
             WHEN properloss_norm = 0.0 THEN 0.0 END + {intercept:?}"
        );
    }
    stages.push(vec![("properloss_z".into(), score)]);
    let lines = lines_of(&program, &[pair.p], "properloss_z", &mut Sql);
    let result = add_levels(&mut stages, lines).remove(0);
    let from = write_stages(&mut code, &stages, table);
    let _ = write!(
        code,
        "\nSELECT *,\n  CASE WHEN properloss_z IS NOT NULL THEN {result} END AS probability\nFROM {from};\n"
    );
    Ok(code)
}

/// Names and expressions that need those of earlier stages only.
pub(super) type Stage = Vec<(String, String)>;

/// Each level of a program is a stage; answers with the results.
pub(super) fn add_levels(stages: &mut Vec<Stage>, lines: ManyLines) -> Vec<String> {
    let first = stages.len();
    for (assignment, level) in lines.assignments.into_iter().zip(lines.levels) {
        while stages.len() <= first + level {
            stages.push(Stage::new());
        }
        stages[first + level].push(assignment);
    }
    lines.results
}

/// The stages as common table expressions; answers with the name of the last.
///
/// A count over all rows stands in each, though nobody needs it: SQLite does not merge queries with such a
/// function, and merged they would repeat every value as often as it is used.
pub(super) fn write_stages(code: &mut String, stages: &[Stage], table: &str) -> String {
    let mut from = identifier(table);
    for (k, stage) in stages.iter().filter(|stage| !stage.is_empty()).enumerate() {
        let comma = if k == 0 { "WITH" } else { "," };
        let mut columns: Vec<String> =
            stage.iter().map(|(name, expression)| format!("{expression} AS {name}")).collect();
        columns.push(format!("COUNT(*) OVER () AS properloss_n{k}"));
        let columns = columns.join(",\n    ");
        let _ =
            write!(code, "{comma} properloss_{k} AS (\n  SELECT *,\n    {columns}\n  FROM {from})");
        from = format!("properloss_{k}");
    }
    from
}

/// The encoded features of a column.
pub(super) fn features(model: &Exportable, column: &Column) -> Vec<String> {
    let name = identifier(&column.name);
    match &column.kind {
        ColumnKind::Numeric { fill: None } | ColumnKind::LogOdds { .. } => {
            vec![format!("CAST({name} AS DOUBLE PRECISION)")]
        }
        ColumnKind::Numeric { fill: Some(fill) } => {
            vec![format!("COALESCE(CAST({name} AS DOUBLE PRECISION), {fill:?})")]
        }
        ColumnKind::Categorical { categories, fill } => {
            let words: Vec<String> = model.missing_words.iter().map(|word| quoted(word)).collect();
            let missing = if words.is_empty() {
                format!("{name} IS NULL")
            } else {
                format!("{name} IS NULL OR {name} IN ({})", words.join(", "))
            };
            let all: Vec<String> = categories.iter().map(|category| quoted(category)).collect();
            let all = all.join(", ");
            let feature = |k: usize| {
                let absent = fill.as_ref().map_or("NULL".into(), |fill| format!("{:?}", fill[k]));
                let own = quoted(&categories[k]);
                let rest = match model.unknown {
                    UnknownCategory::Zeros => "ELSE 0.0".into(),
                    // The first feature alone decides whether there is an answer.
                    UnknownCategory::Error if k == 0 => format!("WHEN {name} IN ({all}) THEN 0.0"),
                    UnknownCategory::Error => "ELSE 0.0".into(),
                };
                format!("CASE WHEN {missing} THEN {absent} WHEN {name} = {own} THEN 1.0 {rest} END")
            };
            (0..categories.len()).map(feature).collect()
        }
    }
}

pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) struct Sql;

impl Language for Sql {
    fn functions(&self) -> Functions {
        let (absolute, logarithm, root) = ("ABS", "LN", "SQRT");
        Functions { absolute, logarithm, root, least_and_largest: None }
    }

    // Some databases refuse an exponential that underflows.
    fn exponential(&self, a: &str) -> String {
        format!("EXP(CASE WHEN {a} < -700.0 THEN -700.0 ELSE {a} END)")
    }

    fn select(&self, left: &str, right: &str, then: &str, other: &str) -> String {
        format!("CASE WHEN {left} < {right} THEN {then} ELSE {other} END")
    }

    fn interpolate(&mut self, at: &str, x: &[f64], y: &[f64]) -> String {
        tree(at, x, y, &slopes(x, y), 0, x.len() - 1)
    }

    fn name(&self, number: usize) -> String {
        format!("properloss_t{number}")
    }
}

/// The pieces `from..to` as a search tree.
fn tree(at: &str, x: &[f64], y: &[f64], slope: &[f64], from: usize, to: usize) -> String {
    if to - from == 1 {
        return format!("({:?} + {:?} * ({at} - {:?}))", y[from], slope[from], x[from]);
    }
    let middle = from + (to - from) / 2;
    let left = tree(at, x, y, slope, from, middle);
    let right = tree(at, x, y, slope, middle, to);
    format!("CASE WHEN {at} < {:?} THEN {left} ELSE {right} END", x[middle])
}
