//! The page.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use properloss::Result;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::band::Band;
use crate::details::{Numbers, facts_html, sort};
use crate::evaluation::{Evaluation, log_loss_difference};
use crate::figure::{Column, Figure, number, table};
use crate::learned::{guarantee, link_figure, loss_figure, weights_figure};
use crate::quality::{Forecast, decision, distribution, murphy, reliability, roc};
use crate::subject::Subject;
use crate::svg::{AREA, LEFT, TOP};
use crate::text::{escaped, json_for_html, name, percent, shortened, shown};
use crate::thresholds::thresholds;
use crate::{certificate, verdict};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
/// Thresholds of the table that is read without the script.
const SHOWN_THRESHOLDS: [f64; 11] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// A model and its scores of labelled rows.
pub struct Measured<'a> {
    /// The model.
    pub subject: &'a Subject,
    /// Its scores.
    pub scores: &'a [f64],
    /// The outcomes, 0 or 1.
    pub labels: &'a [u8],
    /// The weights of the rows.
    pub weights: Option<&'a [f64]>,
}

/// The page about one model, or two side by side; `data` names the rows.
pub fn page(first: &Measured<'_>, second: Option<&Measured<'_>>, data: &str) -> Result<String> {
    let models: Vec<&Measured<'_>> = [first].into_iter().chain(second).collect();
    let mut forecasts = Vec::new();
    for (model, letter) in models.iter().zip(['a', 'b']) {
        let link = model.subject.link.as_ref();
        let evaluation = Evaluation::new(link, model.scores, model.labels, model.weights)?;
        let band = Band::new(&evaluation.cells);
        let name = model.subject.name.clone();
        forecasts.push(Forecast { name, letter, evaluation, band });
    }
    let difference = second
        .filter(|second| second.labels == first.labels && second.weights == first.weights)
        .map(|second| {
            let first_side = (first.subject.link.as_ref(), first.scores);
            let second_side = (second.subject.link.as_ref(), second.scores);
            log_loss_difference(first_side, second_side, first.labels, first.weights)
        });
    let subjects: Vec<&Subject> = models.iter().map(|model| model.subject).collect();
    let mut sections = Sections::default();
    let alone = forecasts.len() == 1;
    let mut words = String::new();
    for forecast in &forecasts {
        words.push_str(&verdict::html(forecast, alone));
    }
    words.push_str(&verdict::comparison(&forecasts, difference));
    sections.add("verdict", "Verdict", &words);
    sections.add("certificate", "Certificate and guarantee", &guarantees(&subjects, &forecasts));
    sections.add(
        "threshold",
        "Where to put the threshold",
        &threshold_section(&subjects, &forecasts),
    );
    let mut trust = Vec::new();
    for (number, forecast) in forecasts.iter().enumerate() {
        trust.push((reliability(forecast, number, alone), String::new()));
        trust.push((distribution(forecast, alone), String::new()));
    }
    sections.figures("trust", "Can the probabilities be trusted", trust);
    let costs = [murphy(&forecasts), decision(&forecasts), roc(&forecasts)];
    let costs = costs.map(|figure| (figure, String::new())).to_vec();
    sections.figures("value", "What the forecasts are worth", costs);
    sections.figures("learned", "What was learned", learned(&subjects));
    fit_section(&mut sections, &subjects);
    sections.add("provenance", "Where this comes from", &provenance(&subjects, &forecasts, data));
    Ok(document(&sections, &subjects, &forecasts, data))
}

/// Sections and figures, in order.
#[derive(Default)]
struct Sections {
    html: String,
    contents: Vec<(&'static str, &'static str)>,
    figures: serde_json::Map<String, Value>,
}

impl Sections {
    fn add(&mut self, id: &'static str, title: &'static str, content: &str) {
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
    fn figures(&mut self, id: &'static str, title: &'static str, figures: Vec<(Figure, String)>) {
        let content = self.drawn(figures);
        self.add(id, title, &content);
    }

    fn drawn(&mut self, figures: Vec<(Figure, String)>) -> String {
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
}

fn owner<'a>(subjects: &[&'a Subject], subject: &'a Subject) -> Option<&'a str> {
    (subjects.len() > 1).then_some(subject.name.as_str())
}

fn guarantees(subjects: &[&Subject], forecasts: &[Forecast]) -> String {
    let mut out = String::new();
    for (subject, forecast) in subjects.iter().zip(forecasts) {
        if subjects.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", name(&subject.name));
        }
        out.push_str(&certificate::html(&forecast.evaluation));
        if let Some(fitted) = subject.fitted().and_then(|fitted| fitted.certificate()) {
            out.push_str(&certificate::of_the_fit(&fitted));
        }
        if let Some(link) = &subject.link {
            let _ = writeln!(
                out,
                "<p><strong>Of the model, whatever the data.</strong> {}</p>",
                escaped(&guarantee(&**link)),
            );
        }
    }
    out
}

fn threshold_section(subjects: &[&Subject], forecasts: &[Forecast]) -> String {
    let [negative, positive] = subjects[0].classes.each_ref().map(|class| name(class));
    let grid = thresholds();
    let half = grid.iter().position(|&t| t == 0.5).unwrap_or(0);
    let mut out = format!(
        "<p>A row is called {positive} if its probability is above the threshold. If a missed {positive} \
         costs <i>r</i> times as much as a false alarm, calibrated probabilities are best cut at \
         1/(1 + <i>r</i>); the cost slider goes to the threshold that costs least on these data, the \
         nearest to that value if there are several.</p>\n\
         <div class=\"sliders\" data-js hidden>\n\
         <label for=\"threshold-slider\">Threshold</label>\
         <input type=\"range\" id=\"threshold-slider\" min=\"0\" max=\"{}\" step=\"1\" value=\"{half}\">\
         <output id=\"threshold-value\" for=\"threshold-slider\">0.5</output>\n\
         <label for=\"cost-slider\">A miss costs, in false alarms</label>\
         <input type=\"range\" id=\"cost-slider\" min=\"0\" max=\"60\" step=\"1\" value=\"30\">\
         <output id=\"cost-value\" for=\"cost-slider\">1</output>\n\
         </div>\n<p id=\"cost-words\" data-js hidden aria-live=\"polite\"></p>\n<div class=\"matrices\">\n",
        grid.len() - 1,
    );
    for forecast in forecasts {
        let (evaluation, letter) = (&forecast.evaluation, forecast.letter);
        let [fp, tp] = [evaluation.above[0][half], evaluation.above[1][half]];
        let [tn, fn_] = [evaluation.totals[0] - fp, evaluation.totals[1] - tp];
        let whose =
            if forecasts.len() > 1 { format!("{}, ", name(&forecast.name)) } else { String::new() };
        let _ = writeln!(
            out,
            "<div><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Confusion matrix, model {letter}\">\
             <table class=\"matrix\" id=\"matrix-{letter}\"><caption>{whose}threshold \
             <span class=\"at\">0.5</span></caption>\
             <thead><tr><td></td><th scope=\"col\">called {positive}</th><th scope=\"col\">called {negative}</th></tr></thead>\
             <tbody><tr><th scope=\"row\">is {positive}</th><td data-cell=\"tp\">{}</td><td data-cell=\"fn\">{}</td></tr>\
             <tr><th scope=\"row\">is {negative}</th><td data-cell=\"fp\">{}</td><td data-cell=\"tn\">{}</td></tr></tbody></table></div>\
             <p class=\"rates\" id=\"rates-{letter}\">{}</p></div>",
            shown(tp),
            shown(fn_),
            shown(fp),
            shown(tn),
            rates(tp, fp, fn_, tn),
        );
    }
    out.push_str("</div>\n<details><summary>Table of thresholds</summary>");
    let mut body = Vec::new();
    for forecast in forecasts {
        let evaluation = &forecast.evaluation;
        for t in SHOWN_THRESHOLDS {
            let Some(k) = grid.iter().position(|&g| g == t) else { continue };
            let [fp, tp] = [evaluation.above[0][k], evaluation.above[1][k]];
            let mut row = vec![shown(t)];
            if forecasts.len() > 1 {
                row.insert(0, name(&forecast.name));
            }
            let missed = evaluation.totals[1] - tp;
            row.extend([tp, missed, fp, evaluation.totals[0] - fp].map(shown));
            row.extend([tp / evaluation.totals[1], tp / (tp + fp)].map(shown));
            body.push(row);
        }
    }
    let mut head: Vec<String> = [
        "threshold",
        "true positives",
        "missed",
        "false alarms",
        "true negatives",
        "recall",
        "precision",
    ]
    .map(str::to_owned)
    .to_vec();
    if forecasts.len() > 1 {
        head.insert(0, "model".into());
    }
    out + &table("Thresholds", &head, &body) + "</details>\n"
}

/// The rates of a confusion matrix in words; the script writes the same.
fn rates(tp: f64, fp: f64, fn_: f64, tn: f64) -> String {
    let share =
        |part: f64, whole: f64| if whole > 0.0 { percent(part / whole) } else { "–".into() };
    format!(
        "Precision {}, recall {}, specificity {}, accuracy {}; {} of the rows are called positive.",
        share(tp, tp + fp),
        share(tp, tp + fn_),
        share(tn, tn + fp),
        share(tp + tn, tp + fp + fn_ + tn),
        share(tp + fp, tp + fp + fn_ + tn),
    )
}

fn learned(subjects: &[&Subject]) -> Vec<(Figure, String)> {
    let mut figures = Vec::new();
    for (number, (subject, letter)) in subjects.iter().zip(['a', 'b']).enumerate() {
        let owner = owner(subjects, subject);
        if let Some(link) = &subject.link {
            figures.push((link_figure(&**link, letter, number, owner), String::new()));
            figures.push((loss_figure(link, letter, owner), String::new()));
        }
        if let Some(file) = &subject.file {
            figures.push(weights_figure(file, subject.deviations.as_deref(), letter, owner));
        }
    }
    figures
}

/// Whatever is known of the fit: path and link weights, held-out curves, the course.
fn fit_section(sections: &mut Sections, subjects: &[&Subject]) {
    let mut content = String::new();
    for (number, (subject, letter)) in subjects.iter().zip(['a', 'b']).enumerate() {
        let owner = owner(subjects, subject);
        let (facts, mut tables) = sort(&subject.details);
        if let Some(history) = subject.file.as_ref().and_then(|file| file.history.as_ref()) {
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
            continue;
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
    sections.add("fit", "How it was fitted", &content);
}

fn provenance(subjects: &[&Subject], forecasts: &[Forecast], data: &str) -> String {
    let mut out = String::new();
    for (subject, forecast) in subjects.iter().zip(forecasts) {
        let evaluation = &forecast.evaluation;
        let mut facts = vec![
            ("model".to_owned(), subject.name.clone()),
            ("measured on".to_owned(), data.to_owned()),
            ("rows measured".to_owned(), evaluation.rows.to_string()),
            (format!("of them {:?}", subject.classes[1]), shown(evaluation.totals[1])),
        ];
        if let Some(fitted) = subject.fitted() {
            facts.push(("method".into(), fitted.method.clone()));
            facts.push(("fitted by".into(), fitted.program.clone()));
            if fitted.data.rows > 0 {
                facts.push(("trained on".into(), fitted.data.source.clone()));
                facts.push(("training rows".into(), fitted.data.rows.to_string()));
            }
            facts.push((
                "features".into(),
                subject.file.as_ref().map_or(0, |f| f.weights.len()).to_string(),
            ));
            if !fitted.termination.is_empty() {
                let end = format!("{} after {} iterations", fitted.termination, fitted.iterations);
                facts.push(("ended".into(), end));
            }
            for (option, value) in &fitted.options {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                facts.push((format!("option {option}"), text));
            }
        }
        facts.push(("report by".into(), properloss_data::model_file::program()));
        if subjects.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", name(&subject.name));
        }
        facts.truncate(80);
        out.push_str(&facts_html(&facts));
    }
    out
}

/// `sha256-...`, as a policy names an inline element.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())))
}

fn document(
    sections: &Sections,
    subjects: &[&Subject],
    forecasts: &[Forecast],
    data: &str,
) -> String {
    let models: Vec<Value> = forecasts
        .iter()
        .map(|forecast| {
            let numbers = |values: &[f64]| values.iter().map(|&v| number(v)).collect::<Vec<_>>();
            json!({
                "letter": forecast.letter.to_string(),
                "name": shortened(&forecast.name, 80),
                "totals": numbers(&forecast.evaluation.totals),
                "negatives": numbers(&forecast.evaluation.above[0]),
                "positives": numbers(&forecast.evaluation.above[1]),
            })
        })
        .collect();
    let data_block = json!({
        "thresholds": thresholds(),
        "models": models,
        "figures": sections.figures,
        "area": {"left": LEFT, "top": TOP, "width": AREA.0, "height": AREA.1},
    });
    let title = subjects.iter().map(|s| shortened(&s.name, 80)).collect::<Vec<_>>().join(" and ");
    let contents: String = sections
        .contents
        .iter()
        .map(|(id, title)| format!("<li><a href=\"#{id}\">{title}</a></li>"))
        .collect();
    let evaluation = &forecasts[0].evaluation;
    let weighted = if evaluation.weighted { " (weighted)" } else { "" };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; \
         script-src {}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>Report: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n\
         <header><h1>Report: {}</h1>\n<p>Measured on {}: {} rows{weighted}, {} of them {}.</p>\n\
         <nav aria-label=\"Sections\"><ul>{contents}</ul></nav></header>\n<main>\n{}</main>\n\
         <footer><p>Made by {}. This file asks for nothing from anywhere.</p></footer>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        hash(STYLE),
        hash(SCRIPT),
        escaped(&title),
        subjects.iter().map(|s| name(&shortened(&s.name, 80))).collect::<Vec<_>>().join(" and "),
        name(data),
        evaluation.rows,
        percent(evaluation.base_rate()),
        name(&subjects[0].classes[1]),
        sections.html,
        properloss_data::model_file::program(),
        json_for_html(&data_block),
    )
}
