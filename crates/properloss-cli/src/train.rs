//! From options to a trainer, and its run.

use std::collections::BTreeMap;
use std::sync::Arc;

use properloss::certify::Certificate;
use properloss::design::{FittedScaling, Scaling};
use properloss::link::{InverseLink, PiecewiseLink, Sigmoid};
use properloss::proper::{Folds, ProperFit, ProperLoss};
use properloss::sample::Sample;
use properloss::train::{
    BregmanTron, CanonicalLossTrainer, Certified, Fit, Glmtron, Isotonic, Observer, Schedule,
    Slisotron, Slopes, Step, Target, Termination,
};
use properloss_data::model_file::{Fitted, History, program};
use properloss_data::{Dataset, ModelFile};
use serde_json::{Value, json};

use crate::args::{ClassWeight, Method, ScheduleArg, TrainArgs, parse_link};
use crate::failure::{Failure, Result};

/// A trainer with all its options.
pub struct Trainer {
    method: Method,
    kind: Kind,
    scaling: Scaling,
    /// `None` where the work is not counted in iterations.
    max_iter: Option<usize>,
    /// For the model file.
    options: BTreeMap<String, Value>,
}

enum Kind {
    /// With the factors on the classes, which may depend on the data.
    Proper(ProperLoss, Option<ClassWeight>),
    BregmanTron(BregmanTron),
    Certified(Certified),
    Slisotron(Slisotron),
    Glmtron(Glmtron),
    /// With the penalty, if one was given.
    Canonical(CanonicalLossTrainer, Option<f64>),
}

/// What a trainer hands back.
pub struct Trained {
    /// Model, termination and history.
    pub fit: Fit,
    /// The scaling that was used, with its numbers.
    pub scaling: FittedScaling,
    /// One for each iteration of the certified trainer.
    pub certificates: Vec<Certificate>,
    /// The options, for the model file.
    pub options: BTreeMap<String, Value>,
    /// What cross-validation weighed, for `proper`.
    pub proper: Option<ProperFit>,
}

impl Trained {
    /// The file of the model, fitted to this data by this trainer.
    pub fn model_file(&self, trainer: &Trainer, dataset: &Dataset) -> ModelFile {
        /// How many iterations of the history a model file keeps.
        const HISTORY: usize = 200;
        let fitted = Fitted {
            method: trainer.method.name().to_owned(),
            options: self.options.clone(),
            data: dataset.description.clone(),
            termination: self.fit.termination.name().to_owned(),
            iterations: self.iterations() as u64,
            program: program(),
        };
        let (encoder, classes) = (dataset.encoder.clone(), dataset.classes.clone());
        let mut file =
            ModelFile::new(&self.fit.model, encoder, self.scaling.clone(), classes, fitted);
        if !self.fit.history.is_empty() {
            file.history = Some(History::of(&self.fit.history, HISTORY));
        }
        file
    }

    /// Iterations, or passes over the rows where there are no iterations.
    pub fn iterations(&self) -> usize {
        self.proper.as_ref().map_or(self.fit.iterations(), |proper| proper.passes)
    }
}

impl Trainer {
    /// The trainer of a method; options that it does not take are not looked at.
    pub fn new(method: Method, args: &TrainArgs) -> Result<Self> {
        let link = args.link.as_deref().map(parse_link).transpose()?;
        match method {
            Method::Proper => Ok(proper(args)),
            Method::Labels => bregmantron(method, Target::Labels, link, args),
            Method::Refit => bregmantron(method, Target::Refit, link, args),
            Method::Bregmantron => bregmantron(method, Target::Previous, link, args),
            Method::Approx => bregmantron(method, Target::Approx, link, args),
            Method::Certified => Ok(certified(args)),
            Method::Slisotron => Ok(slisotron(args)),
            Method::Glmtron => Ok(glmtron(link.unwrap_or_else(|| Arc::new(Sigmoid)), args)),
            Method::Canonical => match link {
                Some(link) => Ok(Self::canonical(method, link, args)),
                None => Err(Failure::user(
                    "--method canonical needs a link",
                    "name one with --link, or pass --method logistic for the sigmoid",
                )),
            },
            Method::Logistic => Ok(Self::canonical(method, Arc::new(Sigmoid), args)),
        }
    }

    /// The minimum of the canonical loss of a link.
    pub fn canonical(method: Method, link: Arc<dyn InverseLink>, args: &TrainArgs) -> Self {
        let mut trainer = CanonicalLossTrainer::new(link);
        set(&mut trainer.max_iter, args.max_iter);
        set(&mut trainer.tol, args.tol);
        set(&mut trainer.scaling, args.scaling.map(|s| s.core()));
        trainer.fit_intercept = !args.no_intercept;
        let options = [
            ("fit_intercept", json!(trainer.fit_intercept)),
            ("link", json!(trainer.link.spec().name())),
        ];
        let common = (trainer.scaling, trainer.max_iter, trainer.tol);
        Self::with(method, Kind::Canonical(trainer, args.l2), common, options)
    }

    fn with<const N: usize>(
        method: Method,
        kind: Kind,
        (scaling, max_iter, tol): (Scaling, usize, f64),
        options: [(&str, Value); N],
    ) -> Self {
        let mut options: BTreeMap<String, Value> = options
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        options.insert("scaling".into(), json!(scaling_name(scaling)));
        options.insert("max_iter".into(), json!(max_iter));
        options.insert("tol".into(), json!(tol));
        Self { method, kind, scaling, max_iter: Some(max_iter), options }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// At most this many iterations, if it counts any.
    pub fn max_iter(&self) -> Option<usize> {
        self.max_iter
    }

    /// Trains.
    pub fn run(&self, sample: &Sample<'_>, observer: &mut dyn Observer) -> Result<Trained> {
        let mut certificates = Vec::new();
        let mut options = self.options.clone();
        let mut weighed = None;
        let fit = match &self.kind {
            Kind::Proper(trainer, class_weight) => {
                let class_weight = class_factors(*class_weight, sample);
                options.insert("class_weight".into(), json!(class_weight));
                let proper = ProperLoss { class_weight, ..trainer.clone() }.fit(sample)?;
                let (model, termination) = (proper.model.clone(), Termination::Converged);
                weighed = Some(proper);
                Fit { model, termination, history: Vec::new() }
            }
            Kind::BregmanTron(trainer) => trainer.fit(sample, observer)?,
            Kind::Slisotron(trainer) => trainer.fit(sample, observer)?,
            Kind::Glmtron(trainer) => trainer.fit(sample, observer)?,
            Kind::Canonical(trainer, l2) => {
                // One over the rows, as is usual: without a penalty, data that a line separates
                // have no minimum.
                let l2 = l2.unwrap_or(1.0 / sample.total_weight());
                options.insert("l2".into(), json!(l2));
                CanonicalLossTrainer { l2, ..trainer.clone() }.fit(sample, observer)?
            }
            Kind::Certified(trainer) => {
                let certified = trainer.fit(sample, observer)?;
                certificates = certified.certificates;
                certified.fit
            }
        };
        Ok(Trained {
            fit,
            scaling: self.scaling.fit(sample),
            certificates,
            options,
            proper: weighed,
        })
    }
}

/// The default estimator.
fn proper(args: &TrainArgs) -> Trainer {
    let mut trainer = ProperLoss::default();
    let count = args.cv.unwrap_or(5);
    trainer.folds = Folds::Stratified { count, seed: args.seed };
    set(&mut trainer.refit, args.refit.map(|r| r.core()));
    set(&mut trainer.smoothness, args.smoothness.clone().map(|s| s.0));
    let options = [
        ("cv", json!(count)),
        ("seed", json!(args.seed)),
        ("refit", json!(trainer.refit.name())),
        ("smoothness", json!(trainer.smoothness)),
        ("scaling", json!(scaling_name(Scaling::Standardise))),
    ];
    Trainer {
        method: Method::Proper,
        kind: Kind::Proper(trainer, args.class_weight),
        scaling: Scaling::Standardise,
        max_iter: None,
        options: options.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
    }
}

/// Balanced: half of the total weight to each class.
fn class_factors(given: Option<ClassWeight>, sample: &Sample<'_>) -> [f64; 2] {
    match given {
        None => [1.0, 1.0],
        Some(ClassWeight::Given(factors)) => factors,
        Some(ClassWeight::Balanced) => {
            let rate = sample.base_rate();
            [0.5 / (1.0 - rate), 0.5 / rate]
        }
    }
}

fn bregmantron(
    method: Method,
    target: Target,
    link: Option<Arc<dyn InverseLink>>,
    args: &TrainArgs,
) -> Result<Trainer> {
    let mut trainer = BregmanTron::new(target);
    set(&mut trainer.objective, args.objective.map(|o| o.core()));
    set(&mut trainer.max_iter, args.max_iter);
    set(&mut trainer.tol, args.tol);
    set(&mut trainer.step, args.step);
    set(&mut trainer.slope_min, args.slope_min);
    set(&mut trainer.slope_max, args.slope_max);
    set(&mut trainer.kappa, args.kappa);
    set(&mut trainer.l2, args.l2);
    trainer.max_norm = args.max_norm;
    set(&mut trainer.scaling, args.scaling.map(|s| s.core()));
    set(&mut trainer.end_slope, args.end_slope.map(|e| e.core()));
    trainer.initial_link = link.map(|link| initial(&*link)).transpose()?;
    let options = [
        ("objective", json!(format!("{:?}", trainer.objective).to_lowercase())),
        ("step", step_value(trainer.step)),
        ("slope_min", json!(trainer.slope_min)),
        ("slope_max", json!(trainer.slope_max)),
        ("kappa", json!(trainer.kappa)),
        ("l2", json!(trainer.l2)),
        ("max_norm", json!(trainer.max_norm)),
        ("end_slope", json!(format!("{:?}", trainer.end_slope).to_lowercase())),
        ("initial_link", json!(args.link)),
    ];
    let common = (trainer.scaling, trainer.max_iter, trainer.tol);
    Ok(Trainer::with(method, Kind::BregmanTron(trainer), common, options))
}

fn certified(args: &TrainArgs) -> Trainer {
    let mut trainer = Certified::default();
    let (mut candidate, mut theta, mut freeze_after) = match trainer.schedule {
        Schedule::Monotone { candidate, theta, freeze_after } => (candidate, theta, freeze_after),
        _ => Default::default(),
    };
    set(&mut candidate, args.candidate.map(|c| c.core()));
    set(&mut theta, args.theta);
    freeze_after = args.freeze_after.or(freeze_after);
    trainer.schedule = match args.schedule {
        None | Some(ScheduleArg::Monotone) => Schedule::Monotone { candidate, theta, freeze_after },
        Some(ScheduleArg::Repaired) => Schedule::Repaired { slopes: Slopes::default() },
        Some(ScheduleArg::Paper) => Schedule::Paper { slopes: Slopes::default() },
    };
    set(&mut trainer.slope_max, args.slope_max);
    set(&mut trainer.slope_floor, args.slope_floor);
    set(&mut trainer.max_iter, args.max_iter);
    set(&mut trainer.tol, args.tol);
    set(&mut trainer.scaling, args.scaling.map(|s| s.core()));
    let monotone = matches!(trainer.schedule, Schedule::Monotone { .. });
    let name = match trainer.schedule {
        Schedule::Monotone { .. } => "monotone",
        Schedule::Repaired { .. } => "repaired",
        Schedule::Paper { .. } => "paper",
    };
    let options = [
        ("schedule", json!(name)),
        ("candidate", json!(monotone.then(|| format!("{candidate:?}").to_lowercase()))),
        ("theta", json!(monotone.then_some(theta))),
        ("freeze_after", json!(freeze_after)),
        ("slope_max", json!(trainer.slope_max)),
        ("slope_floor", json!(trainer.slope_floor)),
    ];
    let common = (trainer.scaling, trainer.max_iter, trainer.tol);
    Trainer::with(Method::Certified, Kind::Certified(trainer), common, options)
}

fn slisotron(args: &TrainArgs) -> Trainer {
    let mut trainer = Slisotron::new(args.isotonic.map_or(Isotonic::Pav, |i| i.core()));
    set(&mut trainer.max_iter, args.max_iter);
    set(&mut trainer.tol, args.tol);
    set(&mut trainer.step, args.step);
    set(&mut trainer.l2, args.l2);
    trainer.max_norm = args.max_norm;
    set(&mut trainer.scaling, args.scaling.map(|s| s.core()));
    let options = [
        ("isotonic", json!(format!("{:?}", trainer.isotonic).to_lowercase())),
        ("step", step_value(trainer.step)),
        ("l2", json!(trainer.l2)),
        ("max_norm", json!(trainer.max_norm)),
    ];
    let common = (trainer.scaling, trainer.max_iter, trainer.tol);
    Trainer::with(Method::Slisotron, Kind::Slisotron(trainer), common, options)
}

fn glmtron(link: Arc<dyn InverseLink>, args: &TrainArgs) -> Trainer {
    let mut trainer = Glmtron::new(link);
    set(&mut trainer.max_iter, args.max_iter);
    set(&mut trainer.tol, args.tol);
    set(&mut trainer.step, args.step);
    set(&mut trainer.l2, args.l2);
    trainer.max_norm = args.max_norm;
    set(&mut trainer.scaling, args.scaling.map(|s| s.core()));
    trainer.fit_intercept = !args.no_intercept;
    let options = [
        ("link", json!(trainer.link.spec().name())),
        ("step", step_value(trainer.step)),
        ("l2", json!(trainer.l2)),
        ("max_norm", json!(trainer.max_norm)),
        ("fit_intercept", json!(trainer.fit_intercept)),
    ];
    let common = (trainer.scaling, trainer.max_iter, trainer.tol);
    Trainer::with(Method::Glmtron, Kind::Glmtron(trainer), common, options)
}

/// A first link must be piecewise affine; the clipped line is.
fn initial(link: &dyn InverseLink) -> Result<PiecewiseLink> {
    if let Some(piecewise) = link.as_piecewise() {
        return Ok(piecewise.clone());
    }
    let (low, high) = link.support();
    if link.spec().name() == "clipped-line" {
        return Ok(PiecewiseLink::from_knots(vec![low, high], vec![0.0, 1.0])?);
    }
    Err(Failure::user(
        format!("the first link of this method cannot be {}", link.spec().name()),
        "give a line, such as --link clipped-line:0.5,0.5 (slope, value at 0)",
    ))
}

fn set<T>(option: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *option = given;
    }
}

fn step_value(step: Step) -> Value {
    match step {
        Step::Auto => json!("auto"),
        Step::Paper => json!("paper"),
        Step::Constant(eta) => json!(eta),
    }
}

fn scaling_name(scaling: Scaling) -> &'static str {
    match scaling {
        Scaling::None => "none",
        Scaling::UnitRows => "unit-rows",
        Scaling::MaxNorm => "max-norm",
        Scaling::Standardise => "standardise",
    }
}
