//! The page about forecasts of several classes: each class against the rest, one panel a class, and
//! a picker. Without the script all panels are read one below the other.

use std::fmt::Write as _;

use properloss::metrics::LOG_LOSS_CLIP;
use properloss::{Error, Result};
use properloss_data::model_file::ClassModelFile;
use serde_json::{Map, Value};

use crate::band::Band;
use crate::class_learned::{class_link_figure, class_weights_figure};
use crate::details::{Fact, facts_html};
use crate::evaluation::Evaluation;
use crate::figure::{Figure, table};
use crate::quality::{Forecast, decision, distribution, murphy, reliability, roc};
use crate::sections::Sections;
use crate::subject::{ClassSubject, fitted_facts};
use crate::text::{escaped, name, percent, shown};
use crate::verdict::{Trust, of_forecast};
use crate::{certificate, decide, fit, verdict};

/// Classes of which the whole confusion matrix is shown; of more, the largest confusions.
const MATRIX: usize = 30;
/// Confusions that are listed.
const CONFUSIONS: usize = 200;
/// Classes of the table, at most.
const LISTED: usize = 1000;
/// Bytes at which no further panel is begun: a page stays below 1 MB.
const ROOM: usize = 800_000;

/// A forecast of several classes.
pub struct ClassForecasts<'a> {
    /// What the model is called.
    pub name: &'a str,
    /// Probabilities, one row after the other, a column a class.
    pub probabilities: &'a [f64],
    /// The link keeps `1/tau` of the softmax, if it is known to.
    pub tau: Option<f64>,
    /// The model, if it is known: its link and its weights are drawn.
    pub model: Option<&'a ClassModelFile>,
    /// Standard deviations of its features on these rows.
    pub deviations: Option<&'a [f64]>,
    /// Whatever else is known: shown as facts, tables and curves.
    pub details: Map<String, Value>,
    /// How it was fitted, for the last section.
    pub provenance: Vec<Fact>,
}

/// Labelled rows of several classes.
pub struct ClassRows<'a> {
    /// What the rows are called.
    pub data: &'a str,
    /// The names of the classes.
    pub classes: &'a [String],
    /// The class of every row.
    pub labels: &'a [u32],
    /// The weights of the rows.
    pub weights: Option<&'a [f64]>,
}

impl<'a> ClassForecasts<'a> {
    /// Of a model and its probabilities.
    pub fn of(subject: &'a ClassSubject, probabilities: &'a [f64]) -> Result<Self> {
        let file = &subject.file;
        Ok(Self {
            name: &subject.name,
            probabilities,
            tau: Some(file.link.build()?.tau()),
            model: Some(file),
            deviations: subject.deviations.as_deref(),
            details: subject.details.clone(),
            provenance: fitted_facts(&file.fitted, file.weights[0].len()),
        })
    }
}

impl ClassRows<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    fn checked(&self, model: &ClassForecasts<'_>) -> Result<()> {
        let (rows, classes) = (self.labels.len(), self.classes.len());
        let expected = rows * classes;
        if model.probabilities.len() != expected {
            return Err(Error::LengthMismatch {
                what: "probabilities",
                length: model.probabilities.len(),
                other: "rows times classes",
                other_length: expected,
            });
        }
        if let Some(weights) = self.weights
            && weights.len() != rows
        {
            return Err(Error::LengthMismatch {
                what: "weights",
                length: weights.len(),
                other: "rows",
                other_length: rows,
            });
        }
        if let Some(index) = self.labels.iter().position(|&label| label as usize >= classes) {
            let (what, value) = ("labels", f64::from(self.labels[index]));
            return Err(Error::ElementOutOfDomain { what, index, value, expected: "a class" });
        }
        Ok(())
    }
}

/// One class against the rest, for every model.
struct Panel {
    class: usize,
    forecasts: Vec<Forecast>,
}

/// What is said of a model over all classes.
struct Overall {
    log_loss: f64,
    brier: f64,
    accuracy: f64,
    /// Weight of the rows of class `i` that were called class `j`.
    matrix: Vec<Vec<f64>>,
}

/// The page about one model, or two on the same rows.
pub fn page_of_classes(
    first: &ClassForecasts<'_>,
    second: Option<&ClassForecasts<'_>>,
    rows: &ClassRows<'_>,
) -> Result<String> {
    let models: Vec<&ClassForecasts<'_>> = [first].into_iter().chain(second).collect();
    for model in &models {
        rows.checked(model)?;
    }
    let overall: Vec<Overall> = models.iter().map(|model| over_all(model, rows)).collect();
    let panels = panels(&models, rows)?;
    let alone = models.len() == 1;
    let mut sections = Sections::default();
    sections.add("verdict", "Verdict", &verdicts(&models, &overall, &panels, rows));
    let mut matrices = String::new();
    for (model, overall) in models.iter().zip(&overall) {
        matrices.push_str(&confusion(model, overall, rows, alone));
    }
    sections.add("confusion", "Which class is taken for which", &matrices);
    sections.add("guarantee", "Guarantee", &guarantees(&models));
    let (content, left_out) = classes_section(&mut sections, &models, &panels, rows)?;
    sections.add("classes", "Class by class", &content);
    if left_out > 0 {
        let words = format!(
            "<p>The figures of {left_out} further classes are left out: the page stays below 1 MB. \
             The table of the classes has the numbers of all.</p>\n"
        );
        sections.add("further", "Further classes", &words);
    }
    let mut content = String::new();
    for (number, (model, letter)) in models.iter().zip(['a', 'b']).enumerate() {
        let owner = (!alone).then_some(model.name);
        fit::write(&mut content, &mut sections, (number, letter), owner, &model.details, None);
    }
    sections.add("fit", "How it was fitted", &content);
    let mut content = String::new();
    for model in &models {
        if !alone {
            let _ = writeln!(content, "<h3>{}</h3>", name(model.name));
        }
        let mut facts = vec![
            ("model".to_owned(), model.name.to_owned()),
            ("measured on".to_owned(), rows.data.to_owned()),
            ("rows measured".to_owned(), rows.labels.len().to_string()),
            ("classes".to_owned(), rows.classes.len().to_string()),
        ];
        facts.extend(model.provenance.iter().take(80).cloned());
        facts.push(("report by".into(), properloss_data::model_file::program()));
        content.push_str(&facts_html(&facts));
    }
    sections.add("provenance", "Where this comes from", &content);
    let head = format!(
        "<p>Measured on {}: {} rows{} of {} classes.</p>",
        name(rows.data),
        rows.labels.len(),
        if rows.weights.is_some() { " (weighted)" } else { "" },
        rows.classes.len(),
    );
    let names: Vec<&str> = models.iter().map(|model| model.name).collect();
    Ok(sections.document(&names, &head))
}

/// Every class that has rows, and rows of others beside it.
fn panels(models: &[&ClassForecasts<'_>], rows: &ClassRows<'_>) -> Result<Vec<Panel>> {
    let classes = rows.classes.len();
    let mut weight = vec![0.0; classes];
    for (row, &label) in rows.labels.iter().enumerate() {
        weight[label as usize] += rows.weight(row);
    }
    let total: f64 = weight.iter().sum();
    let mut panels = Vec::new();
    for class in 0..classes {
        if weight[class] <= 0.0 || weight[class] >= total {
            continue;
        }
        let labels: Vec<u8> =
            rows.labels.iter().map(|&label| u8::from(label as usize == class)).collect();
        let mut forecasts = Vec::new();
        for (model, letter) in models.iter().zip(['a', 'b']) {
            let p: Vec<f64> =
                model.probabilities.iter().skip(class).step_by(classes).copied().collect();
            let evaluation = Evaluation::new(None, &p, &labels, rows.weights)?;
            let band = Band::new(&evaluation.cells);
            let (name, suffix) = (model.name.to_owned(), format!("-{}", class + 1));
            forecasts.push(Forecast { name, letter, suffix, evaluation, band });
        }
        panels.push(Panel { class, forecasts });
    }
    if panels.is_empty() {
        return Err(Error::OneClass { label: 1 });
    }
    Ok(panels)
}

/// `-Σ w log p_y / Σ w`, `Σ w |p - e_y|² / Σ w`, and the most probable class against the true one.
fn over_all(model: &ClassForecasts<'_>, rows: &ClassRows<'_>) -> Overall {
    let classes = rows.classes.len();
    let mut matrix = vec![vec![0.0; classes]; classes];
    let (mut log_loss, mut brier, mut right, mut total) = (0.0, 0.0, 0.0, 0.0);
    for (row, (p, &label)) in model.probabilities.chunks_exact(classes).zip(rows.labels).enumerate()
    {
        let (weight, label) = (rows.weight(row), label as usize);
        // The first of equal ones, as numpy's argmax.
        let called = (1..classes).fold(0, |best, k| if p[k] > p[best] { k } else { best });
        matrix[label][called] += weight;
        total += weight;
        right += if called == label { weight } else { 0.0 };
        log_loss -= weight * p[label].max(LOG_LOSS_CLIP).ln();
        let square = |(k, p): (usize, &f64)| (p - f64::from(u8::from(k == label))).powi(2);
        brier += weight * p.iter().enumerate().map(square).sum::<f64>();
    }
    Overall { log_loss: log_loss / total, brier: brier / total, accuracy: right / total, matrix }
}

fn verdicts(
    models: &[&ClassForecasts<'_>],
    overall: &[Overall],
    panels: &[Panel],
    rows: &ClassRows<'_>,
) -> String {
    let mut out = String::new();
    for (at, (model, overall)) in models.iter().zip(overall).enumerate() {
        let trusts: Vec<Trust> = panels.iter().map(|p| of_forecast(&p.forecasts[at])).collect();
        let off = trusts.iter().filter(|t| matches!(t, Trust::Off | Trust::FarOff)).count();
        let (class, words) = if off == 0 {
            ("good", "The probabilities of every class can be trusted as far as the data can tell.")
        } else if trusts.contains(&Trust::FarOff) {
            ("bad", "The probabilities of some classes should not be trusted as they are.")
        } else {
            ("fair", "The probabilities of some classes are somewhat off.")
        };
        let whose =
            if models.len() == 1 { String::new() } else { format!("{}: ", name(model.name)) };
        let chance = 0.05 * panels.len() as f64;
        let _ = write!(
            out,
            "<div class=\"verdict {class}\"><p class=\"first\">{whose}{words}</p>\n<p>Each class was held \
             against the rest: {off} of {} are off by more than chance and by 1 % of the uncertainty or \
             more. (Chance alone would single out {} of them.) The most probable class is the true one in \
             {} of the rows.</p>\n<dl class=\"numbers\">",
            panels.len(),
            shown(chance),
            percent(overall.accuracy),
        );
        for (term, value) in [
            ("log-loss", overall.log_loss),
            ("Brier score, all classes", overall.brier),
            ("accuracy", overall.accuracy),
        ] {
            let _ = write!(out, "<div><dt>{term}</dt><dd>{}</dd></div>", shown(value));
        }
        out.push_str("</dl></div>\n");
    }
    let head = [
        "class",
        "share",
        "mean forecast",
        "AUC",
        "log-loss",
        "miscalibration",
        "p-value",
        "verdict",
    ];
    let mut head: Vec<String> = head.map(str::to_owned).to_vec();
    if models.len() > 1 {
        head.insert(1, "model".into());
    }
    let mut body = Vec::new();
    for panel in panels.iter().take(LISTED) {
        for forecast in &panel.forecasts {
            let (evaluation, band) = (&forecast.evaluation, &forecast.band);
            let summary = &evaluation.summary;
            let mut row = vec![
                name(&rows.classes[panel.class]),
                percent(evaluation.base_rate()),
                percent(evaluation.mean_forecast),
                shown(summary.auc),
                shown(summary.log_loss),
                shown(summary.brier.miscalibration),
                format!("{:.3}", band.p_value),
                of_forecast(forecast).words().to_owned(),
            ];
            if models.len() > 1 {
                row.insert(1, name(&forecast.name));
            }
            body.push(row);
        }
    }
    out.push_str("<h3>The classes, each against the rest</h3>\n");
    out.push_str(&table("The classes", &head, &body));
    let silent = rows.classes.len() - panels.len();
    if silent > 0 {
        let _ = writeln!(
            out,
            "<p>{silent} classes have no row here, or all of them: nothing can be said of these.</p>"
        );
    }
    out
}

fn confusion(
    model: &ClassForecasts<'_>,
    overall: &Overall,
    rows: &ClassRows<'_>,
    alone: bool,
) -> String {
    let mut out = String::new();
    if !alone {
        let _ = writeln!(out, "<h3>{}</h3>", name(model.name));
    }
    if rows.classes.len() <= MATRIX {
        out.push_str(
            "<p>Rows are true classes, columns the most probable ones; right answers are on the \
             diagonal.</p>\n",
        );
        let _ = write!(
            out,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Confusion matrix of all \
             classes, {}\"><table class=\"confusion\"><thead><tr><td></td>",
            escaped(model.name),
        );
        for class in rows.classes {
            let _ = write!(out, "<th scope=\"col\">called {}</th>", name(class));
        }
        out.push_str("</tr></thead><tbody>\n");
        for (k, class) in rows.classes.iter().enumerate() {
            let _ = write!(out, "<tr><th scope=\"row\">is {}</th>", name(class));
            for (called, &weight) in overall.matrix[k].iter().enumerate() {
                let mark = if called == k { " class=\"right\"" } else { "" };
                let _ = write!(out, "<td{mark}>{}</td>", shown(weight));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        return out;
    }
    let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
    for (k, row) in overall.matrix.iter().enumerate() {
        let wrong = |&(called, &weight): &(usize, &f64)| called != k && weight > 0.0;
        pairs.extend(row.iter().enumerate().filter(wrong).map(|(called, &w)| (k, called, w)));
    }
    // Ties in the order of the classes: the sort is stable.
    pairs.sort_by(|a, b| b.2.total_cmp(&a.2));
    let body: Vec<Vec<String>> = pairs
        .iter()
        .take(CONFUSIONS)
        .map(|&(is, called, w)| {
            vec![name(&rows.classes[is]), name(&rows.classes[called]), shown(w)]
        })
        .collect();
    let _ =
        writeln!(out, "<p>The most frequent confusions, {} of {}.</p>", body.len(), pairs.len(),);
    let head = ["is", "called", "rows"].map(str::to_owned);
    out + &table("Confusions", &head, &body)
}

fn guarantees(models: &[&ClassForecasts<'_>]) -> String {
    let mut out = String::new();
    for model in models {
        let Some(tau) = model.tau else { continue };
        let whose = if models.len() == 1 {
            "Whatever".to_owned()
        } else {
            format!("{}: whatever", name(model.name))
        };
        let _ = writeln!(
            out,
            "<p>{whose} the data, no probability is 0 or 1, and at every point the log-loss is at \
             most that of the softmax plus {} nats: the link keeps 1/{} of it.</p>",
            shown(tau.ln()),
            shown(tau),
        );
    }
    out
}

/// The picker and the panels, and how many classes found no room.
fn classes_section(
    sections: &mut Sections,
    models: &[&ClassForecasts<'_>],
    panels: &[Panel],
    rows: &ClassRows<'_>,
) -> Result<(String, usize)> {
    let alone = models.len() == 1;
    let mut links = Vec::new();
    for model in models {
        links.push(model.model.map(|file| file.link.build()).transpose()?);
    }
    let mut bodies = String::new();
    let mut options = String::new();
    let mut shown_panels = 0;
    for panel in panels {
        if shown_panels > 0 && sections.length() + bodies.len() > ROOM {
            break;
        }
        let (number, class) = (panel.class + 1, name(&rows.classes[panel.class]));
        let _ = write!(
            options,
            "<option value=\"{number}\">{}</option>",
            escaped(&option(rows, panel))
        );
        let _ = writeln!(
            bodies,
            "<div class=\"panel\" id=\"class-{number}\" data-class=\"{number}\">\n<h3>{class} against the rest</h3>",
        );
        for forecast in &panel.forecasts {
            bodies.push_str(&verdict::html(forecast, alone));
            bodies.push_str(&certificate::html(&forecast.evaluation));
        }
        bodies.push_str(&decide::html(["the rest", &class], &panel.forecasts));
        sections.panel(&panel.forecasts);
        let mut figures = Vec::new();
        for (number, forecast) in panel.forecasts.iter().enumerate() {
            figures.push(reliability(forecast, number, alone));
            figures.push(distribution(forecast, alone));
        }
        figures.extend([
            murphy(&panel.forecasts),
            decision(&panel.forecasts),
            roc(&panel.forecasts),
        ]);
        let mut figures: Vec<(Figure, String)> =
            figures.into_iter().map(|figure| (figure, String::new())).collect();
        for (at, (model, link)) in models.iter().zip(&links).enumerate() {
            let (Some(file), Some(link)) = (model.model, link) else { continue };
            let forecast = &panel.forecasts[at];
            let (letter, suffix) = (forecast.letter, forecast.suffix.as_str());
            let (class, owner) =
                ((panel.class, rows.classes[panel.class].as_str()), (!alone).then_some(model.name));
            let link = class_link_figure(link, class, (at, letter), suffix, owner);
            figures.push((link, String::new()));
            let of_class = (letter, suffix);
            figures.push(class_weights_figure(file, class, model.deviations, of_class, owner));
        }
        bodies.push_str(&sections.drawn(figures));
        bodies.push_str("</div>\n");
        shown_panels += 1;
    }
    let picker = format!(
        "<p class=\"picker\" data-js hidden><label for=\"class-picker\">Class</label> \
         <select id=\"class-picker\">{options}</select></p>\n"
    );
    Ok((picker + &bodies, panels.len() - shown_panels))
}

/// A class in the picker: its name and its verdict.
fn option(rows: &ClassRows<'_>, panel: &Panel) -> String {
    let class = crate::text::shortened(&rows.classes[panel.class], 60);
    format!("{class} ({})", of_forecast(&panel.forecasts[0]).words())
}
