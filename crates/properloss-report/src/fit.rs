//! How a model was fitted: facts, tables and curves of whatever is known.

use std::fmt::Write as _;

use properloss_data::model_file::History;
use serde_json::{Map, Value};

use crate::details::{Numbers, facts_html, sort};
use crate::figure::{Column, Figure};
use crate::sections::Sections;
use crate::text::{escaped, name, shortened};

/// Adds what is known of one model: its number and letter, its name if there are two.
pub(crate) fn write(
    content: &mut String,
    sections: &mut Sections,
    (number, letter): (usize, char),
    owner: Option<&str>,
    details: &Map<String, Value>,
    history: Option<&History>,
) {
    let (facts, mut tables) = sort(details);
    if let Some(history) = history {
        let iteration = history.iteration.iter().map(|&t| t as f64).collect();
        tables.push(Numbers {
            title: "Course".into(),
            columns: vec![
                Column::new("iteration", iteration),
                Column::new("loss", history.loss.clone()),
                Column::new("gradient norm", history.gradient_norm.clone()),
            ],
        });
    }
    if facts.is_empty() && tables.is_empty() {
        return;
    }
    if let Some(owner) = owner {
        let _ = writeln!(content, "<h3>{}</h3>", name(owner));
    }
    content.push_str(&facts_html(&facts));
    for (k, table) in tables.iter().enumerate() {
        let id = format!("fit-{letter}-{k}");
        let drawn: Vec<(Figure, String)> =
            table.figures(&id, number, owner).into_iter().map(|f| (f, String::new())).collect();
        content.push_str(&sections.drawn(drawn));
        let _ = writeln!(
            content,
            "<details><summary>Table: {}</summary>{}</details>",
            escaped(&shortened(&table.title, 80)),
            table.html(),
        );
    }
}
