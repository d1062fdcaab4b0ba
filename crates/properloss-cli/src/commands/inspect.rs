//! `inspect`: what a model file or a loss file holds.

use properloss::design::FittedScaling;
use properloss_data::model_file::{AnyFile, ClassModelFile, Fitted, ModelFile, read_any};
use properloss_report::{matched_sigmoid, svg};
use serde_json::json;

use super::{check_plot, several};
use crate::args::InspectArgs;
use crate::failure::Result;
use crate::output::{OutputFile, Talk};
use crate::report::LinkReport;
use crate::table::{Table, short};

/// Runs the command.
pub fn run(args: &InspectArgs, talk: Talk) -> Result<()> {
    check_plot(args.plot.as_deref())?;
    if let Some(model) = ClassModelFile::read_if_several(&args.file)? {
        return several::inspect::run(args, &model, talk);
    }
    let any = read_any(&args.file)?;
    let (loss, fitted) = match &any {
        AnyFile::Model(model) => (model.loss().loss()?, Some(&model.fitted)),
        AnyFile::Loss(loss) => (loss.loss()?, loss.provenance.as_ref()),
    };
    let link = loss.link().clone();
    let report = LinkReport::new(loss);
    if let Some(path) = &args.plot {
        let file = OutputFile::create(path)?;
        let sigmoid = matched_sigmoid(&*link);
        let references: [(&str, &dyn Fn(f64) -> f64); 1] = [("sigmoid, same quartiles", &sigmoid)];
        let text = svg::link_and_losses("Inverse link", &*link, &references, report.loss());
        file.finish(&text)?;
        talk.say(format!("wrote {}", path.display()));
    }
    let mut json = report.json();
    if let AnyFile::Model(model) = &any {
        json["intercept"] = json!(model.intercept);
        json["weights"] = json!(model.weights);
        json["feature_names"] = json!(model.feature_names);
        if let Some(sparse) = &model.preprocessing.encoder.sparse {
            json["columns"] = json!(sparse);
        }
        json["classes"] = json!(model.classes);
        json["certificate"] = json!(model.fitted.certificate());
    }
    json["fitted"] = json!(fitted);
    let text = || {
        let mut text = String::new();
        let kind = match &any {
            AnyFile::Model(_) => "a model",
            AnyFile::Loss(_) => "a loss",
        };
        text.push_str(&format!("{:<11} {kind}, {}\n", "file", args.file.display()));
        if let Some(fitted) = fitted {
            text.push_str(&provenance(fitted));
        }
        if let Some(bound) = fitted.and_then(link_error_bound) {
            text.push_str(&format!(
                "{:<11} its link was fitted to counted scores: at most {} from the uncounted one\n",
                "link error",
                short(bound),
            ));
        }
        if let AnyFile::Model(model) = &any {
            let [negative, positive] = &model.classes;
            text.push_str(&format!("{:<11} {negative:?} (0), {positive:?} (1)\n", "classes"));
            let lines =
                model.fitted.certificate().map_or_else(Vec::new, |certificate| certificate.words());
            for (k, line) in lines.iter().enumerate() {
                text.push_str(&format!("{:<11} {line}\n", if k == 0 { "certificate" } else { "" }));
            }
        }
        text.push_str(&report.text());
        if let AnyFile::Model(model) = &any {
            text.push_str(&weights(model));
        }
        text
    };
    talk.result(text, &json)
}

/// What counting scores can have changed in the link, in probability.
fn link_error_bound(fitted: &Fitted) -> Option<f64> {
    fitted.learned.as_ref()?.get("link_error_bound")?.as_f64()
}

fn provenance(fitted: &Fitted) -> String {
    let data = &fitted.data;
    let mut text = format!(
        "{:<11} {}, {} after {} iterations\n",
        "fitted", fitted.method, fitted.termination, fitted.iterations,
    );
    if data.rows > 0 {
        text.push_str(&format!(
            "{:<11} {}, {} rows, {} features\n",
            "data", data.source, data.rows, data.features,
        ));
    }
    text
}

/// The features that move the score most.
fn weights(model: &ModelFile) -> String {
    const ROWS: usize = 10;
    let (deviations, name) = match &model.preprocessing.scaling {
        FittedScaling::Standardise { factor, .. } => {
            let deviation = |f: &f64| if *f > 0.0 { 1.0 / f } else { 0.0 };
            (factor.iter().map(deviation).collect(), "per deviation")
        }
        _ => (vec![1.0; model.weights.len()], "per unit"),
    };
    let effect: Vec<f64> = model.weights.iter().zip(&deviations).map(|(w, d)| w * d).collect();
    let mut order: Vec<usize> = (0..effect.len()).collect();
    order.sort_by(|&a, &b| effect[b].abs().total_cmp(&effect[a].abs()).then(a.cmp(&b)));
    let mut table = Table::new(&["feature", "weight", name]);
    table.row(["(intercept)".into(), short(model.intercept), String::new()]);
    for &j in order.iter().take(ROWS) {
        table.row([model.feature_name(j), short(model.weights[j]), short(effect[j])]);
    }
    let more = effect.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("\n{}{more}", table.text(""))
}
