//! The default estimator as a method of the registry, and as a trainer.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::state::{self, State};
use super::{Folds, ProperLoss, Refit};
use crate::error::Result;
use crate::link::InverseLink;
use crate::rows::Rows;
use crate::train::{
    Fit, Iteration, Kind, Method, Model, OptionSpec, Stage, Stepped, Termination, Trainer, Value,
};

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
        OptionSpec::choice("refit", refits, "The loss of the second fit of the weights"),
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

/// One iteration is one point of the path, or what follows it. Its numbers:
///
/// | field | what it is here |
/// |---|---|
/// | `loss` | mean *held-out* log-loss of what was reached so far |
/// | `gap` | norm of the mean gradient of the log-loss, at the weights that a pass looked at last |
/// | `step` | 1; the share of the second fit at the end |
/// | `score_min`, `score_max` | the least and the largest held-out score of that pass |
/// | `slope_min`, `slope_max` | the slopes of the link relative to the sigmoid's |
/// | `link_change`, `weight_change` | as everywhere |
impl Trainer for ProperLoss {
    type State = State;

    fn start(&self, rows: &mut dyn Rows) -> Result<State> {
        self.check()?;
        State::new(rows.shape())
    }

    fn step(&self, state: &mut State, rows: &mut dyn Rows) -> Stepped {
        let iteration = state.step(self, rows)?;
        Ok(iteration.map_or(ControlFlow::Break(Termination::Converged), ControlFlow::Continue))
    }

    fn resumed(&self, state: &mut State, rows: &mut dyn Rows) -> Result<()> {
        state.check(rows.shape().columns)
    }

    /// The rows themselves stay as they are: the state knows its own scaling.
    fn vectors<'s>(&'s self, _: &'s State) -> Vec<&'s [f64]> {
        Vec::new()
    }

    /// The state alone tells when the end is reached.
    fn settled(&self, _: &[Iteration]) -> Option<Termination> {
        None
    }

    fn reached<'s>(&'s self, state: &'s State) -> (&'s [f64], Arc<dyn InverseLink>) {
        state.reached()
    }

    fn model(&self, state: &State, rows: &dyn Rows) -> Result<Model> {
        state.model(rows.shape().columns)
    }

    fn stage(&self, state: &State) -> Option<Stage> {
        let at_most = state::most_steps(self);
        state.next_words().map(|name| Stage { name, at_most })
    }

    fn finish(&self, mut state: State, rows: &mut dyn Rows, fit: Fit) -> Result<Fit> {
        state.stop();
        while state.step(self, rows)?.is_some() {}
        let mut proper = state.fit(self, rows)?;
        proper.stages.truncate(fit.history.len());
        Ok(Fit {
            model: proper.model.clone(),
            scaling: proper.scaling.clone(),
            proper: Some(Box::new(proper)),
            ..fit
        })
    }
}
