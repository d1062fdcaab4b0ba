//! The parts of a page in order, and the document around them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::figure::{Figure, number};
use crate::quality::Forecast;
use crate::svg::{AREA, LEFT, TOP};
use crate::text::{escaped, json_for_html, name, shortened};
use crate::thresholds::thresholds;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// Sections and figures, in order.
#[derive(Default)]
pub(crate) struct Sections {
    html: String,
    contents: Vec<(&'static str, &'static str)>,
    figures: serde_json::Map<String, Value>,
    /// What the sliders of each place need.
    panels: Vec<Value>,
}

impl Sections {
    pub(crate) fn add(&mut self, id: &'static str, title: &'static str, content: &str) {
        if content.is_empty() {
            return;
        }
        self.contents.push((id, title));
        let _ = writeln!(
            self.html,
            "<section id=\"{id}\" aria-labelledby=\"title-{id}\"><h2 id=\"title-{id}\">{title}</h2>\n\
             {content}</section>",
        );
    }

    /// A section of figures, each with a table of its own (or none).
    pub(crate) fn figures(
        &mut self,
        id: &'static str,
        title: &'static str,
        figures: Vec<(Figure, String)>,
    ) {
        let content = self.drawn(figures);
        self.add(id, title, &content);
    }

    pub(crate) fn drawn(&mut self, figures: Vec<(Figure, String)>) -> String {
        if figures.is_empty() {
            return String::new();
        }
        let mut content = String::from("<div class=\"figures\">\n");
        for (figure, extra) in figures {
            content.push_str(&figure.html(&extra));
            if let Some(json) = figure.json() {
                self.figures.insert(figure.id.clone(), json);
            }
        }
        content + "</div>\n"
    }

    /// The numbers behind the sliders of one place.
    pub(crate) fn panel(&mut self, forecasts: &[Forecast]) {
        let numbers = |values: &[f64]| values.iter().map(|&v| number(v)).collect::<Vec<_>>();
        let models: Vec<Value> = forecasts
            .iter()
            .map(|forecast| {
                json!({
                    "letter": forecast.letter.to_string(),
                    "totals": numbers(&forecast.evaluation.totals),
                    "negatives": numbers(&forecast.evaluation.above[0]),
                    "positives": numbers(&forecast.evaluation.above[1]),
                })
            })
            .collect();
        self.panels.push(json!({"suffix": forecasts[0].suffix, "models": models}));
    }

    /// How long it is so far.
    pub(crate) fn length(&self) -> usize {
        let data = |value: &Value| value.to_string().len();
        self.html.len()
            + self.figures.values().map(data).sum::<usize>()
            + self.panels.iter().map(data).sum::<usize>()
    }

    /// The whole page about models of these names; `head` is a paragraph of HTML.
    pub(crate) fn document(&self, names: &[&str], head: &str) -> String {
        let data_block = json!({
            "thresholds": thresholds(),
            "panels": self.panels,
            "figures": self.figures,
            "area": {"left": LEFT, "top": TOP, "width": AREA.0, "height": AREA.1},
        });
        let title = names.iter().map(|name| shortened(name, 80)).collect::<Vec<_>>().join(" and ");
        let contents: String = self
            .contents
            .iter()
            .map(|(id, title)| format!("<li><a href=\"#{id}\">{title}</a></li>"))
            .collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; \
             script-src {}; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>Report: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n\
             <header><h1>Report: {}</h1>\n{head}\n\
             <nav aria-label=\"Sections\"><ul>{contents}</ul></nav></header>\n<main>\n{}</main>\n\
             <footer><p>Made by {}. This file asks for nothing from anywhere.</p></footer>\n\
             <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
            hash(STYLE),
            hash(SCRIPT),
            escaped(&title),
            names.iter().map(|each| name(&shortened(each, 80))).collect::<Vec<_>>().join(" and "),
            self.html,
            properloss_data::model_file::program(),
            json_for_html(&data_block),
        )
    }
}

/// `sha256-...`, as a policy names an inline element.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())))
}
