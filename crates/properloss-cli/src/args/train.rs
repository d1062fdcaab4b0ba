//! Options of the trainers.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use properloss::design::Scaling;
use properloss::link::{InverseLink, by_name};
use properloss::proper::Refit;
use properloss::train::{Candidate, EndSlope, Isotonic, LinkObjective, Step};

use crate::failure::{Failure, Result};

/// A method: what is learned, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Method {
    /// Weights and link weighed by cross-validation, from logistic regression to a free link.
    Proper,
    /// Weights and link; the link is fitted to the labels.
    Labels,
    /// Weights and link; the link is fitted to its own previous values at the new scores.
    Refit,
    /// Weights and link; the link is fitted to the previous predictions (the paper's algorithm).
    Bregmantron,
    /// Weights and link; any link that the slopes allow (the paper's approximation).
    Approx,
    /// Weights and link, with a decrease of the loss proved and checked at every iteration.
    Certified,
    /// Weights and an isotonic link.
    Slisotron,
    /// Weights under a fixed link, by gradient steps.
    Glmtron,
    /// Weights under the loss of a fixed link, to the minimum.
    Canonical,
    /// Logistic regression: `canonical` with the sigmoid.
    Logistic,
}

impl Method {
    /// Every method that `compare` runs.
    pub const COMPARED: [Self; 9] = [
        Self::Proper,
        Self::Labels,
        Self::Refit,
        Self::Bregmantron,
        Self::Approx,
        Self::Certified,
        Self::Slisotron,
        Self::Glmtron,
        Self::Logistic,
    ];

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proper => "proper",
            Self::Labels => "labels",
            Self::Refit => "refit",
            Self::Bregmantron => "bregmantron",
            Self::Approx => "approx",
            Self::Certified => "certified",
            Self::Slisotron => "slisotron",
            Self::Glmtron => "glmtron",
            Self::Canonical => "canonical",
            Self::Logistic => "logistic",
        }
    }

    /// The options that it takes.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Proper => &["--cv", "--refit", "--class-weight", "--smoothness"],
            Self::Labels | Self::Refit | Self::Bregmantron | Self::Approx => &[
                "--max-iter",
                "--tol",
                "--scaling",
                "--step",
                "--l2",
                "--max-norm",
                "--slope-min",
                "--slope-max",
                "--kappa",
                "--objective",
                "--end-slope",
                "--link",
            ],
            Self::Certified => &[
                "--max-iter",
                "--tol",
                "--scaling",
                "--slope-max",
                "--slope-floor",
                "--schedule",
                "--candidate",
                "--theta",
                "--freeze-after",
            ],
            Self::Slisotron => {
                &["--max-iter", "--tol", "--scaling", "--step", "--l2", "--max-norm", "--isotonic"]
            }
            Self::Glmtron => &[
                "--max-iter",
                "--tol",
                "--scaling",
                "--step",
                "--l2",
                "--max-norm",
                "--link",
                "--no-intercept",
            ],
            Self::Canonical => {
                &["--max-iter", "--tol", "--scaling", "--l2", "--link", "--no-intercept"]
            }
            Self::Logistic => &["--max-iter", "--tol", "--scaling", "--l2", "--no-intercept"],
        }
    }
}

/// Options of the trainers; each method takes some of them.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Training options")]
pub struct TrainArgs {
    /// What is learned, and how [default: proper].
    #[arg(long, value_enum)]
    pub method: Option<Method>,
    /// At most this many iterations [default: 1000; logistic, canonical: 200].
    #[arg(long, value_name = "N")]
    pub max_iter: Option<usize>,
    /// When to stop: change of the loss [default: 1e-5; slisotron, glmtron:
    /// 1e-6], gap of certified [default: 1e-9 of the
    /// largest row], norm of the gradient of logistic and canonical [default: 1e-10].
    #[arg(long, value_name = "X")]
    pub tol: Option<f64>,
    /// The step size: auto (found from the data), paper (1), or a number [default: auto].
    #[arg(long, value_name = "STEP", value_parser = parse_step)]
    pub step: Option<Step>,
    /// The least slope of a learned link [default: 0.01].
    #[arg(long, value_name = "X")]
    pub slope_min: Option<f64>,
    /// The largest slope of a learned link [default: 1].
    #[arg(long, value_name = "X")]
    pub slope_max: Option<f64>,
    /// How much of the way from 0 to 1 the least slope may take up, in (0, 1]
    /// [default: 0.01 for labels, 0.1 for refit, else 1].
    #[arg(long, value_name = "X")]
    pub kappa: Option<f64>,
    /// A bound on the norm of the weights.
    #[arg(long, value_name = "X")]
    pub max_norm: Option<f64>,
    /// The penalty l2/2 |w|^2 on the weights of the scaled features [default: 0; logistic,
    /// canonical: 1/rows].
    #[arg(long, value_name = "X")]
    pub l2: Option<f64>,
    /// How features are scaled [default: standardise].
    #[arg(long, value_enum)]
    pub scaling: Option<ScalingArg>,
    /// The fixed link of glmtron and canonical, or the first link of the others: NAME or NAME:A,B
    /// with NAME one of sigmoid, clipped-line, matsushita, probit, cloglog, loglog, cauchy.
    #[arg(long, value_name = "LINK")]
    pub link: Option<String>,
    /// How the learned link is fitted [default: quadratic for labels, bregman for the rest].
    #[arg(long, value_enum)]
    pub objective: Option<ObjectiveArg>,
    /// The slope of a learned link beyond the data [default: min].
    #[arg(long, value_enum)]
    pub end_slope: Option<EndSlopeArg>,
    /// The regression of slisotron [default: pav].
    #[arg(long, value_enum)]
    pub isotonic: Option<IsotonicArg>,
    /// No intercept under a fixed link.
    #[arg(long)]
    pub no_intercept: bool,
    /// proper: number of folds [default: 5].
    #[arg(long, value_name = "K")]
    pub cv: Option<usize>,
    /// proper: the loss of the second fit of the weights [default: likelihood].
    #[arg(long, value_enum)]
    pub refit: Option<RefitArg>,
    /// proper: factors on the weights of the negative and the positive class, or balanced.
    #[arg(long, value_name = "A,B", value_parser = parse_class_weight)]
    pub class_weight: Option<ClassWeight>,
    /// proper: strengths of smoothness of the links that are weighed beside the sigmoid, decreasing,
    /// or none [default: 3,0.3,0.03,0.003].
    #[arg(long, value_name = "L,...", value_parser = parse_smoothness)]
    pub smoothness: Option<Smoothness>,
    /// The seed of the folds of proper; set by the command.
    #[arg(skip)]
    pub seed: u64,
    /// certified: which guarantee [default: monotone].
    #[arg(long, value_enum)]
    pub schedule: Option<ScheduleArg>,
    /// certified: what the next link is fitted to [default: labels].
    #[arg(long, value_enum)]
    pub candidate: Option<CandidateArg>,
    /// certified: how much of a decrease the link may use up, in [0, 1) [default: 0.5].
    #[arg(long, value_name = "X")]
    pub theta: Option<f64>,
    /// certified: keep the link after this many iterations.
    #[arg(long, value_name = "N")]
    pub freeze_after: Option<usize>,
    /// certified: the least slope of a link is this over the range of the scores [default: 0.001].
    #[arg(long, value_name = "X")]
    pub slope_floor: Option<f64>,
}

/// Makes a `ValueEnum` with help texts and its translation to the core.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident -> $core:ty { $($(#[$about:meta])* $variant:ident => $value:expr),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub enum $name { $($(#[$about])* $variant),* }
        impl $name {
            /// As the core takes it.
            pub fn core(self) -> $core {
                match self { $(Self::$variant => $value),* }
            }
        }
    };
}

choice! {
    /// How features are scaled.
    ScalingArg -> Scaling {
        /// Not at all.
        None => Scaling::None,
        /// Each row divided by its norm.
        UnitRows => Scaling::UnitRows,
        /// All rows divided by the largest norm.
        MaxNorm => Scaling::MaxNorm,
        /// Each feature to mean 0 and standard deviation 1.
        Standardise => Scaling::Standardise,
    }
}
choice! {
    /// How a learned link is fitted.
    ObjectiveArg -> LinkObjective {
        /// By the Bregman divergence of the previous loss.
        Bregman => LinkObjective::Bregman,
        /// By least squares.
        Quadratic => LinkObjective::Quadratic,
    }
}
choice! {
    /// The slope of a learned link beyond the data.
    EndSlopeArg -> EndSlope {
        /// The least slope.
        Min => EndSlope::Min,
        /// The largest slope.
        Max => EndSlope::Max,
    }
}
choice! {
    /// The regression of SLIsotron.
    IsotonicArg -> Isotonic {
        /// Plain isotonic regression.
        Pav => Isotonic::Pav,
        /// With slopes at most 1.
        Lipschitz => Isotonic::Lipschitz,
    }
}
choice! {
    /// The second fit of the weights.
    RefitArg -> Refit {
        /// Log-loss under the learned link.
        Likelihood => Refit::Likelihood,
        /// The proper loss of the learned link.
        Canonical => Refit::Canonical,
        /// None.
        None => Refit::None,
    }
}
choice! {
    /// What the candidate link of the certified trainer is fitted to.
    CandidateArg -> Candidate {
        /// The labels.
        Labels => Candidate::Labels,
        /// The previous predictions.
        Previous => Candidate::Previous,
        /// The old link at the new scores.
        Refit => Candidate::Refit,
    }
}

/// Which guarantee the certified trainer imposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// The loss falls at every iteration, at a proved rate.
    Monotone,
    /// The paper's theorem with its conditions repaired.
    Repaired,
    /// The paper's theorem as stated, which is false: for comparison.
    Paper,
}

impl TrainArgs {
    /// The options that were given, by their names.
    fn given(&self) -> Vec<&'static str> {
        [
            ("--max-iter", self.max_iter.is_some()),
            ("--tol", self.tol.is_some()),
            ("--step", self.step.is_some()),
            ("--slope-min", self.slope_min.is_some()),
            ("--slope-max", self.slope_max.is_some()),
            ("--kappa", self.kappa.is_some()),
            ("--max-norm", self.max_norm.is_some()),
            ("--l2", self.l2.is_some()),
            ("--scaling", self.scaling.is_some()),
            ("--link", self.link.is_some()),
            ("--objective", self.objective.is_some()),
            ("--end-slope", self.end_slope.is_some()),
            ("--isotonic", self.isotonic.is_some()),
            ("--no-intercept", self.no_intercept),
            ("--cv", self.cv.is_some()),
            ("--refit", self.refit.is_some()),
            ("--class-weight", self.class_weight.is_some()),
            ("--smoothness", self.smoothness.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--candidate", self.candidate.is_some()),
            ("--theta", self.theta.is_some()),
            ("--freeze-after", self.freeze_after.is_some()),
            ("--slope-floor", self.slope_floor.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }

    /// An option that the method does not take is a mistake, not to be passed over.
    pub fn check_used(&self, method: Method) -> Result<()> {
        match self.given().into_iter().find(|name| !method.options().contains(name)) {
            None => Ok(()),
            Some(name) => Err(Failure::user(
                format!("--method {} does not take {name}", method.name()),
                format!("it takes {}", method.options().join(", ")),
            )),
        }
    }
}

/// Factors on the weights of the classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClassWeight {
    /// Both classes weigh the same.
    Balanced,
    /// Of the negative and the positive class.
    Given([f64; 2]),
}

fn parse_class_weight(text: &str) -> std::result::Result<ClassWeight, String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[negative, positive]) => Ok(ClassWeight::Given([negative, positive])),
        _ if text == "balanced" => Ok(ClassWeight::Balanced),
        _ => Err("it must be balanced, or two numbers such as 1,5".into()),
    }
}

/// Strengths of smoothness; `none` is an empty list.
#[derive(Debug, Clone, PartialEq)]
pub struct Smoothness(pub Vec<f64>);

/// A list such as `3,0.3`, or `none`.
pub fn parse_smoothness(text: &str) -> std::result::Result<Smoothness, String> {
    if text == "none" {
        return Ok(Smoothness(Vec::new()));
    }
    let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    numbers.map(Smoothness).ok_or_else(|| "it must be none, or numbers such as 3,0.3".into())
}

fn parse_step(text: &str) -> std::result::Result<Step, String> {
    match text {
        "auto" => Ok(Step::Auto),
        "paper" => Ok(Step::Paper),
        number => match number.parse() {
            Ok(eta) => Ok(Step::Constant(eta)),
            Err(_) => Err("it must be auto, paper or a number".into()),
        },
    }
}

/// `NAME` or `NAME:A,B`.
pub fn parse_link(text: &str) -> Result<Arc<dyn InverseLink>> {
    let (name, list) = text.split_once(':').unwrap_or((text, ""));
    let mut params = Vec::new();
    for item in list.split(',').filter(|item| !item.is_empty()) {
        let Ok(value) = item.trim().parse::<f64>() else {
            return Err(Failure::user(
                format!("--link {text}: {item:?} is not a number"),
                "links are written NAME or NAME:A,B, such as --link clipped-line:0.5,0.5",
            ));
        };
        params.push(value);
    }
    Ok(by_name(name, &params)?)
}
