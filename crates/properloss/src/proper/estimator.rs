//! The default estimator as a method of the registry.

use super::{Folds, ProperLoss, Refit};
use crate::error::{Error, Result};
use crate::rows::Rows;
use crate::train::{Estimator, Fit, Kind, Method, Observer, OptionSpec, Termination, Value};

/// As the registry lists it.
pub(crate) fn method() -> Method {
    let refits = &[
        ("likelihood", "log-loss under the learned link"),
        ("canonical", "the proper loss of the learned link"),
        ("none", "none"),
    ];
    let defaults = ProperLoss::default();
    let options = vec![
        OptionSpec::new("cv", Kind::Count(2), "Number of folds").count(5),
        OptionSpec::new("refit", Kind::Choice(refits), "The loss of the second fit of the weights")
            .word("likelihood"),
        OptionSpec::new(
            "class_weight",
            Kind::ClassWeight,
            "Factors on the weights of the negative and the positive class, or balanced",
        ),
        OptionSpec::new(
            "smoothness",
            Kind::Numbers,
            "Strengths of smoothness of the links that are weighed beside the sigmoid, decreasing, or none",
        )
        .numbers(&defaults.smoothness),
        OptionSpec::new("seed", Kind::Count(0), "Chooses the folds").count(0),
    ];
    Method {
        name: "proper",
        class: ("ProperLossClassifier", &[]),
        summary: "Weights and link weighed by cross-validation, from logistic regression to a free link",
        options,
        build: |s, all, shape| {
            let class_weight = match (s.numbers("class_weight"), s.word("class_weight")) {
                (Some(&[negative, positive]), _) => [negative, positive],
                // Half of the total weight to each class.
                (_, "balanced") => [0.5 / (1.0 - shape.base_rate), 0.5 / shape.base_rate],
                _ => [1.0, 1.0],
            };
            all.insert("class_weight".into(), Value::Numbers(class_weight.to_vec()));
            let seed = s.count("seed").unwrap_or(0) as u64;
            Ok(Box::new(ProperLoss {
                folds: Folds::Stratified { count: s.count("cv").unwrap_or(5), seed },
                refit: Refit::from_name(s.word("refit")).unwrap_or_default(),
                class_weight,
                smoothness: s.numbers("smoothness").unwrap_or_default().to_vec(),
                ..ProperLoss::default()
            }))
        },
    }
}

impl Estimator for ProperLoss {
    fn run(
        &self,
        rows: &mut dyn Rows,
        _resume: Option<&[u8]>,
        _observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let Some(sample) = rows.sample() else {
            return Err(Error::WrongAnswer { expected: "rows in memory" });
        };
        let given =
            rows.folds().map(|folds| Self { folds: Folds::Given(folds.to_vec()), ..self.clone() });
        let proper = given.as_ref().unwrap_or(self).fit_until(&sample, &|| rows.interrupted())?;
        Ok(Fit {
            model: proper.model.clone(),
            scaling: proper.scaling.clone(),
            termination: Termination::Converged,
            history: Vec::new(),
            certificates: Vec::new(),
            proper: Some(Box::new(proper)),
        })
    }
}
