//! The commands for three classes or more.
//!
//! Each command reads the data or the model first, as for two classes, and hands over here once it
//! knows that there are more.

pub mod calibrate;
pub mod compare;
pub mod evaluate;
pub mod fit;
pub mod inspect;
pub mod plot;
pub mod predict;
pub mod report;

use properloss::metrics::ClassSummary;
use properloss_data::ClassDataset;
use properloss_data::model_file::ClassModelFile;
use serde_json::{Value, json};

use super::parts::Parts;
use crate::failure::{Failure, Result};

/// `150 rows, 4 features, 3 classes: "setosa" 50, "versicolor" 50, "virginica" 50`.
fn described(dataset: &ClassDataset) -> String {
    const SHOWN: usize = 12;
    let counts = dataset.counts();
    let pairs = dataset.classes.iter().zip(&counts);
    let mut shown: Vec<String> =
        pairs.take(SHOWN).map(|(name, count)| format!("{name:?} {count}")).collect();
    if counts.len() > SHOWN {
        shown.push("...".into());
    }
    format!(
        "{} rows, {} features, {} classes: {}",
        dataset.rows(),
        dataset.columns(),
        counts.len(),
        shown.join(", "),
    )
}

/// All measures of a model on labelled examples, with the probabilities.
fn measure(model: &ClassModelFile, dataset: &ClassDataset) -> Result<(ClassSummary, Vec<f64>)> {
    let scores = model.scores(&dataset.matrix()?)?;
    if let Some(at) = scores.iter().position(|z| !z.is_finite()) {
        let (file, row) = (&dataset.description.source, at / dataset.classes.len() + 1);
        return Err(Failure::user(
            format!("{file}, example {row}: the score overflows"),
            "the values of the row are too large",
        ));
    }
    let p = model.apply_link(&scores)?;
    let (labels, weights) = (&dataset.labels, dataset.weights.as_deref());
    Ok((ClassSummary::new(&p, labels, dataset.classes.len(), weights)?, p))
}

/// The metrics as JSON.
fn metrics_json(summary: &ClassSummary, names: &[String]) -> Value {
    let classes: Vec<Value> = names
        .iter()
        .zip(&summary.classes)
        .map(|(name, class)| {
            json!({
                "class": name,
                "weight": class.weight,
                "mean_probability": class.forecast,
                // NaN, if the class does not occur, is null.
                "auc": class.auc,
                "brier": class.brier.brier,
                "brier_miscalibration": class.brier.miscalibration,
                "brier_discrimination": class.brier.discrimination,
                "brier_uncertainty": class.brier.uncertainty,
                "ece": class.ece,
            })
        })
        .collect();
    let confusion: Vec<&[f64]> = summary.confusion.chunks(names.len()).collect();
    json!({
        "log_loss": summary.log_loss,
        "brier": summary.brier,
        "ece": summary.ece,
        "ece_bins": "mean over the classes, 15 of equal count",
        "accuracy": summary.accuracy,
        "classes": classes,
        "confusion": confusion,
    })
}
