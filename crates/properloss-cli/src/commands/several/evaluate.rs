//! `evaluate`: a model of several classes measured on labelled examples.

use properloss::metrics::ClassSummary;
use properloss_data::model_file::ClassModelFile;
use properloss_data::read::read_encoded_examples;

use super::{described, measure, metrics_json, plot};
use crate::args::{EvaluateArgs, source};
use crate::commands::evaluate::{about_rows, measures, weighed, weight_words};
use crate::commands::parts::Labelled;
use crate::commands::{labelled, unknown_words};
use crate::failure::{Failure, Result};
use crate::output::{OutputFile, Talk};
use crate::progress::Progress;
use crate::table::{Table, short};

/// Runs the command.
pub fn run(args: &EvaluateArgs, model: &ClassModelFile, talk: Talk) -> Result<()> {
    if args.certificate {
        return Err(Failure::usage(
            "--certificate is for two classes",
            "leave it out: class-wise calibration is in the table",
        ));
    }
    let (options, data) = (args.file.options()?, source(&args.data)?);
    let encoder = labelled(model.labelled_encoder()?, args.label.as_deref(), &data, &options)?;
    let encoder = weighed(encoder, args);
    let file = args.plot.as_deref().map(OutputFile::create).transpose()?;
    let dataset = {
        let _progress = Progress::spinner(talk, &format!("reading {}", args.data.display()));
        u32::of(read_encoded_examples(&data, &encoder, args.unknown.rule, &options)?)?
    };
    unknown_words(dataset.description.unknown_categories, talk);
    let (summary, probabilities) = measure(model, &dataset)?;
    if let Some(file) = file {
        file.finish(&plot::reliability(&probabilities, &dataset)?)?;
    }
    let mut json = metrics_json(&summary, &model.classes);
    about_rows(&mut json, &dataset);
    talk.say(described(&dataset) + &weight_words(&dataset.encoder));
    talk.result(|| text(&summary, &model.classes), &json)
}

fn text(summary: &ClassSummary, names: &[String]) -> String {
    let mut text = measures(
        9,
        &[
            ("log-loss", summary.log_loss, "nats"),
            ("Brier", summary.brier, "sum over the classes"),
            ("ECE", summary.ece, "mean over the classes, 15 bins of equal count"),
            ("accuracy", summary.accuracy, "of the most probable class"),
        ],
    );
    let total: f64 = summary.classes.iter().map(|class| class.weight).sum();
    let mut table = Table::new(&[
        "class",
        "share",
        "mean forecast",
        "AUC",
        "Brier",
        "miscalibration",
        "discrimination",
        "ECE",
    ]);
    for (name, class) in names.iter().zip(&summary.classes) {
        let numbers = [
            class.weight / total,
            class.forecast,
            class.auc,
            class.brier.brier,
            class.brier.miscalibration,
            class.brier.discrimination,
            class.ece,
        ];
        let cell = |v: f64| if v.is_nan() { "-".into() } else { format!("{v:.4}") };
        table.row([name.clone()].into_iter().chain(numbers.map(cell)));
    }
    text.push_str(&format!("\neach class against the rest\n{}", table.text("")));
    let mut head = vec!["class \\ most probable"];
    head.extend(names.iter().map(String::as_str));
    let mut table = Table::new(&head);
    for (name, row) in names.iter().zip(summary.confusion.chunks(names.len())) {
        table.row([name.clone()].into_iter().chain(row.iter().map(|v| short(*v))));
    }
    text.push_str(&format!("\nconfusion\n{}", table.text("")));
    text
}
