//! The command line as types.

mod data;
mod export;
#[cfg(feature = "download")]
mod get;
mod inputs;
mod train;

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use properloss::proper::ScoreKind;

pub use data::{DataArgs, FileArgs, UnknownArg, source};
pub use export::{ExportArgs, ExportFormat};
#[cfg(feature = "download")]
pub use get::{DataCommand, GetArgs, ImageSet};
pub use inputs::inputs;
pub use train::{Smoothness, TrainArgs};

/// Learn a classifier together with its proper loss.
#[derive(Debug, Parser)]
#[command(name = "properloss", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Data goes to stdout, words to stderr. \
Exit status: 0 success, 1 a mistake in the input, 2 one in the command line, 70 one in properloss, \
130 interrupted.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// With --version: the commit, the features and the instruction set too.
    #[arg(long)]
    pub verbose: bool,
    /// Print results as JSON.
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// No words on stderr, except errors.
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
    /// Number of threads [default: all cores]. The results do not depend on it.
    #[arg(long, value_name = "N", global = true, help_heading = "Global options")]
    pub threads: Option<usize>,
    /// The most memory to use, such as 2GB [default: what the machine has free].
    #[arg(long, value_name = "SIZE", global = true, value_parser = bytes)]
    #[arg(help_heading = "Global options")]
    pub memory: Option<u64>,
}

/// A word of the command line, what it means, and the value that it stands for.
type Word<T> = (&'static str, &'static str, T);

/// One of some words; no other comes through.
fn one_of<T: Copy + Send + Sync>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    train::any(words.iter().map(|(word, meaning, _)| (*word, *meaning)))
        .map(|word| words.iter().find(|(known, ..)| *known == word).unwrap_or(&words[0]).2)
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = properloss_data::memory::parse_bytes(text);
    bytes.ok_or_else(|| "it must be a number of bytes, such as 500MB or 2GB".into())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Learn a model (and its loss) from a file of examples.
    Fit(Box<FitArgs>),
    /// Give the rows of a file probabilities, scores or classes.
    Predict(PredictArgs),
    /// Measure a model on labelled examples.
    Evaluate(EvaluateArgs),
    /// Write one page about a model: whether to trust it, what it learned, where to cut.
    Report(ReportArgs),
    /// Learn a model on new data under a loss learned before.
    Transfer(Box<TransferArgs>),
    /// Show what a model file or a loss file holds.
    Inspect(InspectArgs),
    /// Write a model as ONNX, C, SQL or Python, to be used without properloss.
    Export(ExportArgs),
    /// Compare methods on one data set.
    Compare(Box<CompareArgs>),
    /// Turn the scores of any classifier into calibrated probabilities.
    Calibrate(Box<CalibrateArgs>),
    /// Make synthetic examples whose true probabilities are known.
    Synth(SynthArgs),
    /// Learn classifiers and their losses on carried data and show what came out.
    Demo(DemoArgs),
    /// Fetch the public data sets of the paper's experiments.
    #[cfg(feature = "download")]
    #[command(subcommand)]
    Data(DataCommand),
    /// Print the completions of a shell.
    Completions(CompletionsArgs),
    /// Write the manual pages.
    Manual(ManualArgs),
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The examples: CSV, TSV, Parquet, LibSVM or IDX, plain or gzip; several files of the same
    /// columns, or patterns such as 'part-*.parquet'; `-` is standard input.
    #[arg(required = true)]
    pub data: Vec<PathBuf>,
    /// Where to write the model.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Where to keep the rows in blocks, for further fits of the same data. (Rows that do not fit in
    /// --memory go through temporary blocks without it.)
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Where to write the learned loss, for `transfer`.
    #[arg(long, value_name = "FILE")]
    pub loss_out: Option<PathBuf>,
    #[command(flatten)]
    pub test: TestArgs,
    /// Several classes: keep the order of the classes, so that the most probable one has the largest
    /// score.
    #[arg(long)]
    pub preserve_order: bool,
    /// A decrease of the loss that is proved and checked at every iteration (--method certified).
    #[arg(long, conflicts_with = "method")]
    pub certified: bool,
    /// Where to write the certificates of --certified: `.json`, `.csv`, or `.svg` for a plot;
    /// may be repeated.
    #[arg(long, value_name = "FILE")]
    pub certificate: Vec<PathBuf>,
    /// Where to keep the state of the run. The same command goes on from it if it was cut off.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between two states; 0: after every step.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    #[command(flatten)]
    pub data_args: DataArgs,
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Rows to measure on: another file's, or a share of these.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Measure on this file.
    #[arg(id = "test", long = "test", value_name = "FILE", conflicts_with = "test_share")]
    pub file: Option<PathBuf>,
    /// Keep this share of the rows to measure on.
    #[arg(id = "test_share", long = "test-share", value_name = "SHARE")]
    pub share: Option<f64>,
    /// Keep the last rows of the file, this share of them: data in the order of time.
    #[arg(id = "test_last", long = "test-last", value_name = "SHARE")]
    #[arg(conflicts_with_all = ["test", "test_share"])]
    pub last: Option<f64>,
    /// Chooses the rows of folds and of the test.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub unknown: UnknownArg,
}

impl TestArgs {
    /// Whether a test was asked for.
    pub fn is_given(&self) -> bool {
        self.file.is_some() || self.share.is_some() || self.last.is_some()
    }
}

/// Arguments of `predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// The model.
    pub model: PathBuf,
    /// The rows; `-` is standard input. A label column is not needed, and not looked at.
    pub data: PathBuf,
    /// Where to write the predictions [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What to write for each row.
    #[arg(long, value_delimiter = ',', default_value = "probability")]
    pub columns: Vec<Prediction>,
    /// Columns of the table to write before them, as they are: identifiers, dates.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// The probability above which a row is of the positive class.
    #[arg(long, value_name = "P", default_value_t = 0.5)]
    pub threshold: f64,
    #[command(flatten)]
    pub unknown: UnknownArg,
    #[command(flatten)]
    pub file: FileArgs,
}

/// What to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Prediction {
    /// The probability of the positive class.
    #[value(alias = "probabilities")]
    Probability,
    /// The score, whose probability the link gives.
    #[value(alias = "scores")]
    Score,
    /// The name of the class.
    #[value(alias = "classes")]
    Class,
}

/// Arguments of `evaluate`.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// The model.
    pub model: PathBuf,
    /// Labelled examples; `-` is standard input.
    pub data: PathBuf,
    /// The label column [default: the one of the model's training data].
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// The column of weights [default: the one of the model's training data, if it had one].
    #[arg(long, value_name = "COLUMN", conflicts_with = "no_weight")]
    pub weight: Option<String>,
    /// Count every row once, even if the model was fitted with weights.
    #[arg(long)]
    pub no_weight: bool,
    /// Where to draw the reliability curve, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Bound the distance from the true probabilities; the model must not have seen these rows.
    #[arg(long)]
    pub certificate: bool,
    /// The probability with which the certificate holds.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, requires = "certificate")]
    pub confidence: f64,
    #[command(flatten)]
    pub unknown: UnknownArg,
    #[command(flatten)]
    pub file: FileArgs,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The model.
    pub model: PathBuf,
    /// Labelled examples that were not used to fit it; `-` is standard input.
    pub data: PathBuf,
    /// Where to write the page.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Another model to set beside it.
    #[arg(long, value_name = "MODEL")]
    pub compare: Option<PathBuf>,
    /// The label column [default: the one of the model's training data].
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    #[command(flatten)]
    pub unknown: UnknownArg,
    #[command(flatten)]
    pub file: FileArgs,
}

/// Arguments of `transfer`.
#[derive(Debug, Args)]
pub struct TransferArgs {
    /// The loss file (or a model, whose loss is taken).
    pub loss: PathBuf,
    /// The examples of the new task.
    pub data: PathBuf,
    /// Where to write the model.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub test: TestArgs,
    #[command(flatten)]
    pub data_args: DataArgs,
    #[command(flatten)]
    pub train: TrainArgs<true>,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A model or a loss file.
    pub file: PathBuf,
    /// Where to draw the link and the losses, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The examples; `-` is standard input.
    pub data: PathBuf,
    /// The methods of `fit`, the baselines logistic-cv, platt and isotonic; `paper` is the methods of
    /// the paper, `all` everything [default: proper,logistic-cv,platt,isotonic].
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...")]
    pub methods: Vec<String>,
    /// Cross-validate with this many folds [default: 5].
    #[arg(long, value_name = "K", conflicts_with_all = ["test", "test_share", "test_last"])]
    pub folds: Option<usize>,
    #[command(flatten)]
    pub test: TestArgs,
    #[command(flatten)]
    pub data_args: DataArgs,
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Scores or probabilities with labels; the labels must not have been used to make the scores.
    pub data: PathBuf,
    /// The column of the scores [default: the only one besides label and weight].
    #[arg(long, value_name = "COLUMN")]
    pub score: Option<String>,
    /// What the scores are.
    #[arg(long, value_parser = one_of(KINDS), default_value = "auto")]
    pub kind: ScoreKind,
    /// Calibrate the scores of this file [default: those of DATA].
    #[arg(long, value_name = "FILE")]
    pub apply: Option<PathBuf>,
    /// Where to write the probabilities [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Where to write a model for `predict`, of scores or of probabilities.
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Columns of the table to write before the probabilities, as they are: identifiers, dates.
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Number of folds.
    #[arg(long, value_name = "K", default_value_t = 5)]
    pub cv: usize,
    /// Strengths of smoothness of the links that are weighed beside the sigmoid, decreasing, or none
    /// [default: 3,0.3,0.03,0.003].
    #[arg(long, value_name = "L,...", value_parser = train::parse_smoothness)]
    pub smoothness: Option<Smoothness>,
    /// Chooses the rows of the folds.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub data_args: DataArgs,
}

const KINDS: &[Word<ScoreKind>] = &[
    ("auto", "Probabilities if all of them lie in [0, 1], else scores", ScoreKind::Auto),
    ("scores", "Any numbers, larger for positives", ScoreKind::Scores),
    ("probabilities", "Numbers from 0 to 1", ScoreKind::Probabilities),
];

/// Arguments of `synth`.
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// The family.
    #[arg(value_enum, default_value_t = Family::Gaussians)]
    pub family: Family,
    /// Number of rows.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub rows: usize,
    /// Where to write the CSV file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The random stream.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Add the column `bayes`, the true probability of class 1.
    #[arg(long)]
    pub bayes: bool,
    /// single-index: number of features.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub features: usize,
    /// single-index: norm of the true weights.
    #[arg(long, value_name = "X", default_value_t = 2.0)]
    pub norm: f64,
    /// single-index: the true intercept.
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    pub intercept: f64,
    /// single-index: the true link, NAME or NAME:A,B.
    #[arg(long, value_name = "LINK", default_value = "sigmoid")]
    pub link: String,
    /// single-index: the probability far to the left.
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub floor: f64,
    /// single-index: the probability far to the right.
    #[arg(long, value_name = "P", default_value_t = 1.0)]
    pub ceiling: f64,
    /// single-index: the share of labels that are flipped, in either class.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub noise: f64,
}

/// A family of synthetic data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// Two normal distributions in the plane, means (1, 1) and (-1, -1).
    Gaussians,
    /// The same with means of norm 1.
    GaussiansUnitNorm,
    /// Normal features; the probability depends on one linear score, through any link.
    SingleIndex,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The directory of its outputs; made if it does not exist.
    #[arg(short, long, value_name = "DIR", default_value = "properloss-demo")]
    pub out: PathBuf,
    /// Rows of the synthetic data, to train and to test.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub rows: usize,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// Arguments of `manual`.
#[derive(Debug, Args)]
pub struct ManualArgs {
    /// The directory; made if it does not exist.
    #[arg(short, long, value_name = "DIR", default_value = "man")]
    pub out: PathBuf,
}

/// A shell with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}
