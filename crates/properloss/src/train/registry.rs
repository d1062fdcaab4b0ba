//! Every method with its name, options, defaults, ranges and help: the one place that knows them.
//!
//! The command line, Python, model files and the documentation read this list. A new trainer is a
//! file with its [`Trainer`], a function that describes it, and one line in [`methods`].

use super::settings::{Checked, NOT_NEGATIVE, POSITIVE};
use super::{
    Fit, Kind, Observer, OptionSpec, Settings, Step, Target, Trainer, averaged, bregmantron,
    canonical, certified, glmtron, run, slisotron,
};
use crate::design::Scaling;
use crate::error::{Error, Result};
use crate::rows::{Rows, Shape};

/// All methods, the default first.
pub fn methods() -> Vec<Method> {
    vec![
        crate::proper::method(),
        bregmantron::method(Target::Labels),
        bregmantron::method(Target::PreviousLink),
        bregmantron::method(Target::Previous),
        bregmantron::method(Target::Approx),
        certified::method(),
        slisotron::method(),
        glmtron::method(),
        averaged::method(),
        canonical::method("canonical"),
        canonical::method("logistic"),
    ]
}

/// The method of this name.
pub fn method(name: &str) -> Result<Method> {
    let methods = methods();
    let known = methods.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    methods
        .into_iter()
        .find(|method| method.name == name)
        .ok_or_else(|| Error::UnknownMethod { name: name.to_owned(), known })
}

/// A method as front ends see it.
#[derive(Debug, Clone)]
pub struct Method {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// The Python class that has it, and the parameters that choose it there.
    pub class: (&'static str, &'static [(&'static str, &'static str)]),
    /// What is learned, in a sentence.
    pub summary: &'static str,
    /// Its options.
    pub options: Vec<OptionSpec>,
    pub(crate) build: Build,
}

/// From checked options, which it may add to, and the shape of the rows to the estimator.
pub(crate) type Build = fn(Checked<'_>, &mut Settings, &Shape) -> Result<Box<dyn Estimator>>;

/// A method with all its options, ready to run.
pub trait Estimator: Send + Sync {
    /// Runs from the start or from a checkpoint.
    fn run(
        &self,
        rows: &mut dyn Rows,
        resume: Option<&[u8]>,
        observer: &mut dyn Observer,
    ) -> Result<Fit>;
}

impl<T: Trainer + Send> Estimator for T {
    fn run(
        &self,
        rows: &mut dyn Rows,
        resume: Option<&[u8]>,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        run(self, rows, resume, observer)
    }
}

impl Method {
    /// The option of this name.
    pub fn option(&self, name: &str) -> Option<&OptionSpec> {
        self.options.iter().find(|option| option.name == name)
    }

    /// The estimator for these options and rows of this shape, and all its options: those given, the
    /// defaults, and what follows from the data. Unknown options and values are refused.
    pub fn build(&self, given: &Settings, shape: &Shape) -> Result<(Box<dyn Estimator>, Settings)> {
        let mut settings = Settings::new();
        for (name, value) in given {
            let Some(option) = self.option(name) else {
                let names: Vec<&str> = self.options.iter().map(|option| option.name).collect();
                return Err(Error::Option {
                    option: name.clone(),
                    value: value.to_string(),
                    expected: format!("left out: {} takes {}", self.name, names.join(", ")),
                });
            };
            if !option.kind.takes(value) {
                return Err(option.refuse(value));
            }
            settings.insert(name.clone(), value.clone());
        }
        for option in &self.options {
            if let (Some(default), false) = (&option.default, settings.contains_key(option.name)) {
                settings.insert(option.name.to_owned(), default.clone());
            }
        }
        let checked = settings.clone();
        let estimator = (self.build)(Checked(&checked), &mut settings, shape)?;
        Ok((estimator, settings))
    }

    /// At most this many iterations, if the method counts any.
    pub fn max_iter(&self, settings: &Settings) -> Option<usize> {
        Checked(settings).count("max_iter")
    }
}

/// How features are scaled.
const SCALINGS: &[(&str, &str)] = &[
    ("none", "not at all"),
    ("unit-rows", "each row divided by its norm"),
    ("max-norm", "all rows divided by the largest norm"),
    ("standardise", "each feature to mean 0 and standard deviation 1"),
];

pub(super) fn scaling() -> OptionSpec {
    OptionSpec::choice("scaling", SCALINGS, "How features are scaled").word("standardise")
}

/// The scaling of this name; the registry has checked it.
pub(super) fn scaling_of(settings: Checked<'_>) -> Scaling {
    match settings.word("scaling") {
        "none" => Scaling::None,
        "unit-rows" => Scaling::UnitRows,
        "max-norm" => Scaling::MaxNorm,
        _ => Scaling::Standardise,
    }
}

pub(super) fn max_iter(default: u64) -> OptionSpec {
    OptionSpec::new("max_iter", Kind::Count(1), "At most this many iterations").count(default)
}

pub(super) fn tol(default: f64, help: &'static str) -> OptionSpec {
    OptionSpec::new("tol", NOT_NEGATIVE, help).number(default)
}

/// How long trainers go on that end when loss and weights hardly change, and how they scale.
pub(super) fn iterations(tolerance: f64) -> Vec<OptionSpec> {
    let help = "Stop when loss and weights change by less than this, relatively; 0: never";
    vec![max_iter(1000), tol(tolerance, help), scaling()]
}

/// The options of Step 1.
pub(super) fn descent() -> [OptionSpec; 3] {
    [
        OptionSpec::new(
            "step",
            Kind::StepSize,
            "The step size: auto (found from the data), paper (1), or a number",
        )
        .word("auto"),
        OptionSpec::new(
            "l2",
            NOT_NEGATIVE,
            "The penalty l2/2 |w|^2 on the weights of the scaled features",
        )
        .number(0.0),
        OptionSpec::new("max_norm", POSITIVE, "A bound on the norm of these weights"),
    ]
}

pub(super) fn step_of(settings: Checked<'_>) -> Step {
    match settings.number("step") {
        Some(eta) => Step::Constant(eta),
        None if settings.word("step") == "paper" => Step::Paper,
        None => Step::Auto,
    }
}

pub(super) fn fit_intercept() -> OptionSpec {
    OptionSpec::new("fit_intercept", Kind::Flag, "Whether an intercept is learned").flag(true)
}
