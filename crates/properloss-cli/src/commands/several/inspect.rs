//! `inspect`: what a model file of several classes holds.

use properloss::design::FittedScaling;
use properloss::link::vector::Mixture;
use properloss_data::model_file::ClassModelFile;
use properloss_report::class_learned;
use serde_json::{Value, json};

use super::plot;
use crate::args::InspectArgs;
use crate::commands::several::fit::guarantee;
use crate::failure::Result;
use crate::output::{OutputFile, Talk};
use crate::table::{Table, short};

/// Runs the command.
pub fn run(args: &InspectArgs, model: &ClassModelFile, talk: Talk) -> Result<()> {
    let link = model.link.build()?;
    if let Some(path) = &args.plot {
        let file = OutputFile::create(path)?;
        file.finish(&plot::links(&link, &model.classes))?;
        talk.say(format!("wrote {}", path.display()));
    }
    let tau = link.tau();
    let mut json = json!({
        "link": model.link,
        "tau": tau,
        "log_loss_bound": tau.ln(),
        "held_out_cost": learned(model, "held_out_cost"),
        "held_out_log_loss": learned(model, "held_out_log_loss"),
        "keeps_order": link.keeps_order(),
        "classes": model.classes,
        "intercepts": model.intercepts,
        "weights": model.weights,
        "feature_names": model.feature_names,
        "fitted": model.fitted,
    });
    if let Some(sparse) = &model.preprocessing.encoder.sparse {
        json["columns"] = json!(sparse);
    }
    talk.result(|| text(args, model, &link), &json)
}

fn learned<'m>(model: &'m ClassModelFile, name: &str) -> Option<&'m Value> {
    model.fitted.learned.as_ref()?.get(name)
}

fn text(args: &InspectArgs, model: &ClassModelFile, link: &Mixture) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<11} {value}\n"));
    line("file", format!("a model of {} classes, {}", model.classes.len(), args.file.display()));
    let fitted = &model.fitted;
    line(
        "fitted",
        format!("{}, {} after {} passes", fitted.method, fitted.termination, fitted.iterations),
    );
    if fitted.data.rows > 0 {
        let data = &fitted.data;
        line("data", format!("{}, {} rows, {} features", data.source, data.rows, data.features));
    }
    let names: Vec<String> = model.classes.iter().map(|name| format!("{name:?}")).collect();
    line("classes", names.join(", "));
    line("tau", format!("{}; {}", short(link.tau()), guarantee(link.tau())));
    if let Some(cost) = learned(model, "held_out_cost").and_then(Value::as_f64) {
        let verdict = if cost < 0.0 { "a gain" } else { "a cost" };
        let rows = fitted.total_weight.unwrap_or(fitted.data.rows as f64);
        let cost_words = format!(
            "{} nats a row against softmax regression, {verdict} ({} in total)",
            short(cost),
            short(cost * rows),
        );
        line("held out", cost_words);
    }
    let order = if link.keeps_order() {
        "kept: the most probable class has the largest score"
    } else {
        "not kept: floors or ramps of single classes may change the most probable class"
    };
    line("order", order.into());
    let mut parts = Table::new(&["part of the link", "mass"]);
    for (mass, part) in link.softmax() {
        parts.row([format!("softmax({} z)", short(part.t())), short(*mass)]);
    }
    for (name, mass) in model.classes.iter().zip(link.floor()) {
        if *mass > 0.0 {
            parts.row([format!("floor of {name:?}"), short(*mass)]);
        }
    }
    for class in 0..model.classes.len() {
        let own = link.ramps().iter().filter(|(_, ramp)| ramp.class() == class);
        let (mut mass, mut knots) = (0.0, 0);
        for (part, ramp) in own {
            mass += part;
            knots += ramp.ramp().p().len();
        }
        if mass > 0.0 {
            parts.row([format!("ramp of {:?}, {knots} knots", model.classes[class]), short(mass)]);
        }
    }
    text.push_str(&format!("\n{}", parts.text("")));
    text.push_str(&along(model, link));
    text.push_str(&weights(model));
    text
}

/// The link along each class against the rest, the others alike.
fn along(model: &ClassModelFile, link: &Mixture) -> String {
    const SHOWN: [f64; 7] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
    let mut names = vec!["softmax says".to_owned()];
    names.extend(SHOWN.map(|p| p.to_string()));
    let mut table = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (class, name) in model.classes.iter().enumerate() {
        let values = SHOWN.map(|p| short(class_learned::along(link, class, (p / (1.0 - p)).ln())));
        table.row([name.clone()].into_iter().chain(values));
    }
    format!("\nprobability of a class where the rest is even\n{}", table.text(""))
}

/// The features that move the scores most, one column a class.
fn weights(model: &ClassModelFile) -> String {
    const ROWS: usize = 10;
    const CLASSES: usize = 8;
    let features = model.weights[0].len();
    let deviations: Vec<f64> = match &model.preprocessing.scaling {
        FittedScaling::Standardise { factor, .. } => {
            factor.iter().map(|f| if *f > 0.0 { 1.0 / f } else { 0.0 }).collect()
        }
        _ => vec![1.0; features],
    };
    let spread = |j: usize| {
        let values = model.weights.iter().map(|row| row[j] * deviations[j]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (f64::min(low, v), f64::max(high, v))
        });
        high - low
    };
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| spread(b).total_cmp(&spread(a)).then(a.cmp(&b)));
    let mut head = vec!["weight"];
    head.extend(model.classes.iter().take(CLASSES).map(String::as_str));
    let mut table = Table::new(&head);
    let row = |name: String, values: Vec<f64>| {
        [name].into_iter().chain(values.into_iter().take(CLASSES).map(short)).collect::<Vec<_>>()
    };
    table.row(row("(intercept)".into(), model.intercepts.clone()));
    for &j in order.iter().take(ROWS) {
        let values = model.weights.iter().map(|weights| weights[j]).collect();
        table.row(row(model.feature_name(j), values));
    }
    let more = features.saturating_sub(ROWS);
    let more = if more > 0 { format!("and {more} more features\n") } else { String::new() };
    let hidden = model.classes.len().saturating_sub(CLASSES);
    let hidden = if hidden > 0 {
        format!("and {hidden} more classes (--json has all)\n")
    } else {
        String::new()
    };
    format!("\n{}{more}{hidden}", table.text(""))
}
