//! The page.

use std::fmt::Write as _;

use properloss::Result;

use crate::band::Band;
use crate::details::facts_html;
use crate::evaluation::{Evaluation, log_loss_difference};
use crate::figure::Figure;
use crate::learned::{guarantee, link_figure, loss_figure, of};
use crate::quality::{Forecast, decision, distribution, murphy, reliability, roc};
use crate::sections::Sections;
use crate::subject::{Subject, fitted_facts};
use crate::text::{escaped, name, percent, shown};
use crate::weights::{Linear, weights_figure};
use crate::{certificate, decide, fit, verdict};

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
        forecasts.push(Forecast { name, letter, suffix: String::new(), evaluation, band });
    }
    let difference = second
        .filter(|second| second.labels == first.labels && second.weights == first.weights)
        .map(|second| {
            let first_side = (first.subject.link.as_ref(), first.scores);
            let second_side = (second.subject.link.as_ref(), second.scores);
            log_loss_difference(first_side, second_side, first.labels, first.weights)
        });
    let subjects: Vec<&Subject> = models.iter().map(|model| model.subject).collect();
    let classes = first.subject.classes.each_ref().map(|class| name(class));
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
        &decide::html([&classes[0], &classes[1]], &forecasts),
    );
    sections.panel(&forecasts);
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
    let evaluation = &forecasts[0].evaluation;
    let head = format!(
        "<p>Measured on {}: {} rows{}, {} of them {}.</p>",
        name(data),
        evaluation.rows,
        if evaluation.weighted { " (weighted)" } else { "" },
        percent(evaluation.base_rate()),
        classes[1],
    );
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    Ok(sections.document(&names, &head))
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

fn learned(subjects: &[&Subject]) -> Vec<(Figure, String)> {
    let mut figures = Vec::new();
    for (number, (subject, letter)) in subjects.iter().zip(['a', 'b']).enumerate() {
        let owner = owner(subjects, subject);
        if let Some(link) = &subject.link {
            figures.push((link_figure(&**link, letter, number, owner), String::new()));
            figures.push((loss_figure(link, letter, owner), String::new()));
        }
        if let Some(file) = &subject.file {
            let linear = Linear {
                weights: &file.weights,
                intercept: file.intercept,
                scaling: &file.preprocessing.scaling,
                name: &|j| file.feature_name(j),
            };
            let (id, title) = (format!("weights-{letter}"), of("Weights", owner));
            let deviations = subject.deviations.as_deref();
            figures.push(weights_figure(&linear, deviations, &id, &title, "the score"));
        }
    }
    figures
}

/// Whatever is known of the fit: path and link weights, held-out curves, the course.
fn fit_section(sections: &mut Sections, subjects: &[&Subject]) {
    let mut content = String::new();
    for (number, (subject, letter)) in subjects.iter().zip(['a', 'b']).enumerate() {
        let history = subject.file.as_ref().and_then(|file| file.history.as_ref());
        let owner = owner(subjects, subject);
        fit::write(&mut content, sections, (number, letter), owner, &subject.details, history);
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
            let features = subject.file.as_ref().map_or(0, |file| file.weights.len());
            facts.extend(fitted_facts(fitted, features));
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
