//! Where to put the threshold: sliders, confusion matrices, a table.

use std::fmt::Write as _;

use crate::figure::table;
use crate::quality::Forecast;
use crate::text::{name, percent, shown};
use crate::thresholds::thresholds;

/// Thresholds of the table that is read without the script.
const SHOWN_THRESHOLDS: [f64; 11] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// The sliders, a confusion matrix for each model and a table of thresholds. `classes` are the
/// negative and the positive one, as HTML.
pub(crate) fn html(classes: [&str; 2], forecasts: &[Forecast]) -> String {
    let [negative, positive] = classes;
    let end = &forecasts[0].suffix;
    let grid = thresholds();
    let half = grid.iter().position(|&t| t == 0.5).unwrap_or(0);
    let mut out = format!(
        "<p>A row is called {positive} if its probability is above the threshold. If a missed {positive} \
         costs <i>r</i> times as much as a false alarm, calibrated probabilities are best cut at \
         1/(1 + <i>r</i>); the cost slider goes to the threshold that costs least on these data, the \
         nearest to that value if there are several.</p>\n\
         <div class=\"sliders\" data-js hidden>\n\
         <label for=\"threshold-slider{end}\">Threshold</label>\
         <input type=\"range\" id=\"threshold-slider{end}\" min=\"0\" max=\"{}\" step=\"1\" value=\"{half}\">\
         <output id=\"threshold-value{end}\" for=\"threshold-slider{end}\">0.5</output>\n\
         <label for=\"cost-slider{end}\">A miss costs, in false alarms</label>\
         <input type=\"range\" id=\"cost-slider{end}\" min=\"0\" max=\"60\" step=\"1\" value=\"30\">\
         <output id=\"cost-value{end}\" for=\"cost-slider{end}\">1</output>\n\
         </div>\n<p id=\"cost-words{end}\" class=\"words\" data-js hidden aria-live=\"polite\"></p>\n<div class=\"matrices\">\n",
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
             <table class=\"matrix\" id=\"matrix-{letter}{end}\"><caption>{whose}threshold \
             <span class=\"at\">0.5</span></caption>\
             <thead><tr><td></td><th scope=\"col\">called {positive}</th><th scope=\"col\">called {negative}</th></tr></thead>\
             <tbody><tr><th scope=\"row\">is {positive}</th><td data-cell=\"tp\">{}</td><td data-cell=\"fn\">{}</td></tr>\
             <tr><th scope=\"row\">is {negative}</th><td data-cell=\"fp\">{}</td><td data-cell=\"tn\">{}</td></tr></tbody></table></div>\
             <p class=\"rates\" id=\"rates-{letter}{end}\">{}</p></div>",
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
