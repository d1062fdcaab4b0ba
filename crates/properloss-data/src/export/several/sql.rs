//! A model of several classes as a query.

use std::fmt::Write;

use super::super::sql::{Sql, Stage, add_levels, features, identifier, write_stages};
use super::super::text::{lines_of, sum_like_the_engine};
use super::ClassExportable;
use crate::error::Result;

pub(in crate::export) fn write(model: &ClassExportable, table: &str) -> Result<String> {
    let score = |k: usize| format!("properloss_z{k}");
    let (program, results) = model.program(score);
    let lines = lines_of(&program, &results, "properloss_z", &mut Sql);
    let base = &model.base;
    let x: Vec<String> = base.columns.iter().flat_map(|column| features(base, column)).collect();
    let mut stages: Vec<Stage> = Vec::new();
    // Features that are more than a column are computed once.
    let names: Vec<String> = (0..x.len()).map(|j| format!("properloss_x{j}")).collect();
    stages.push(names.iter().cloned().zip(x).collect());
    let mut scores = Vec::new();
    for (k, (weights, intercept)) in model.weights.iter().zip(&model.intercepts).enumerate() {
        let terms: Vec<String> =
            names.iter().zip(weights).map(|(x, w)| format!("{x} * {w:?}")).collect();
        scores.push((score(k), format!("{} + {intercept:?}", sum_like_the_engine(&terms))));
    }
    stages.push(scores);
    let results = add_levels(&mut stages, lines);
    let mut code = format!("-- {}.\n", model.headline());
    code.push_str("-- Adds a column for each class to the rows; NULL where there is no answer.\n");
    let from = write_stages(&mut code, &stages, table);
    // Infinite scores have no answer, as scores that are not there.
    let finite: Vec<String> =
        (0..model.classes.len()).map(|k| format!("ABS({}) < 1e300", score(k))).collect();
    let finite = finite.join(" AND ");
    let columns: Vec<String> = results
        .iter()
        .zip(&model.classes)
        .map(|(result, class)| {
            let name = identifier(&format!("probability_{class}"));
            format!("CASE WHEN {finite} THEN {result} END AS {name}")
        })
        .collect();
    let _ = write!(code, "\nSELECT *,\n  {}\nFROM {from};\n", columns.join(",\n  "));
    Ok(code)
}
