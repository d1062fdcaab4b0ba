//! `predict`: one column a class for the rows of a file, in constant memory.

use properloss::metrics::most_probable;
use properloss::sample::Matrix;
use properloss_data::model_file::ClassModelFile;
use serde_json::{Value, json};

use crate::args::{PredictArgs, Prediction};
use crate::commands::predict::{Forecaster, name, write};
use crate::failure::{Failure, Result};
use crate::output::Talk;

/// Runs the command.
pub fn run(args: &PredictArgs, model: &ClassModelFile, json: bool, talk: Talk) -> Result<()> {
    if args.threshold != 0.5 {
        return Err(Failure::usage(
            "--threshold is for two classes",
            "leave it out: the class of a row is the most probable one",
        ));
    }
    write(args, model, &model.preprocessing.encoder, json, talk)
}

/// `probability_setosa`.
pub fn column(what: Prediction, class: &str) -> String {
    format!("{}_{class}", name(what))
}

impl Forecaster for ClassModelFile {
    fn width(&self) -> usize {
        self.classes.len()
    }

    fn scores(&self, rows: Matrix<'_>) -> Result<Vec<f64>> {
        let mut scores = self.scores(&rows)?;
        // An infinite score has no softmax.
        scores.iter_mut().filter(|z| z.is_infinite()).for_each(|z| *z = f64::NAN);
        Ok(scores)
    }

    fn probabilities(&self, scores: &[f64]) -> Result<Vec<f64>> {
        Ok(self.apply_link(scores)?)
    }

    fn class(&self, p: &[f64]) -> &str {
        &self.classes[most_probable(p)]
    }

    fn names(&self, what: Prediction) -> Vec<String> {
        self.classes.iter().map(|class| column(what, class)).collect()
    }

    fn json(&self, values: &[f64]) -> Value {
        let pairs = self.classes.iter().zip(values);
        Value::Object(pairs.map(|(class, value)| (class.clone(), json!(value))).collect())
    }
}
