//! Model files and loss files: JSON with `format` and `version`.
//!
//! A model gives an encoded row `x` the score and probability
//!
//! ```text
//! z = intercept + Σ_j weights_j x_j       (x divided by its norm first, for "unit-rows")
//! p = u(z)
//! ```
//!
//! The numbers of "max-norm" and "standardise" are already in the weights and the intercept; the
//! file keeps them to say how the model was fitted.

/// `to_json` and `write` of a file that can `check` itself.
macro_rules! kept_as {
    ($format:expr, $version:expr, $name:literal) => {
        kept_as!($format, $version, $name, Self::parsed);

        fn parsed(bytes: &[u8], name: &Path) -> Result<Self> {
            json::from_json(bytes, name, $format, $version)
        }
    };
    ($format:expr, $version:expr, $name:literal, $parse:expr) => {
        /// Reads the file and checks it.
        pub fn read(path: &Path) -> Result<Self> {
            Self::from_json(&read_bytes(path)?, path)
        }

        /// From JSON; `name` stands for the file in messages.
        pub fn from_json(bytes: &[u8], name: &Path) -> Result<Self> {
            let file: Self = $parse(bytes, name)?;
            file.check().map_err(|field| bad_field(name, field))?;
            Ok(file)
        }

        /// To JSON; a value that is not finite, or lengths that disagree, are an error.
        pub fn to_json(&self) -> Result<String> {
            self.json_for(Path::new($name))
        }

        /// Writes the file whole or not at all.
        pub fn write(&self, path: &Path) -> Result<()> {
            let json = self.json_for(path)?;
            write_atomically(path, |out| out.write_all(json.as_bytes()))
        }

        fn json_for(&self, file: &Path) -> Result<String> {
            self.check().map_err(|field| bad_field(file, field))?;
            json::to_json(self, file, $format, $version)
        }
    };
}

mod bounds;
mod certificate;
mod history;
mod json;
mod learned;
mod link;
mod several;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use properloss::design::FittedScaling;
use properloss::link::LinkSpec;
use properloss::loss::{CanonicalLoss, Loss, LossKind};
use properloss::train::{Model, Settings, Value as Setting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use certificate::{FitCertificate, StoredBound, StoredCost};
pub use history::History;
pub use learned::{learned, learned_calibration, learned_of_classes};
use link::Link;
pub use several::{CLASS_VERSION, ClassModelFile, MixtureFile, RampFile, SoftmaxFile};

use crate::atomic::write_atomically;
use crate::dataset::DataDescription;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::labels::Classes;
use crate::memory::Budget;
use crate::source::read_whole;

/// `format` of a model file.
pub const MODEL_FORMAT: &str = "properloss-model";
/// `format` of a loss file.
pub const LOSS_FORMAT: &str = "properloss-loss";
/// The newest version of both that this program reads, and the one it writes.
pub const VERSION: u64 = 1;

/// A fitted classifier as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// The coefficients of the encoded features.
    pub weights: Vec<f64>,
    /// Added to every score.
    pub intercept: f64,
    /// From score to probability.
    #[serde(with = "Link")]
    pub link: LinkSpec,
    /// From a row of a table to the features that the weights are for.
    pub preprocessing: Preprocessing,
    /// The names of the features; none where the encoder has numbered columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_names: Vec<String>,
    /// The names of the classes 0 and 1.
    pub classes: [String; 2],
    /// How it was fitted.
    pub fitted: Fitted,
    /// The course of the fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// What is done to a row before the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// From columns to features.
    pub encoder: Encoder,
    /// How the features were scaled for training.
    #[serde(with = "Scaling")]
    pub scaling: FittedScaling,
}

/// The JSON form of the core's [`FittedScaling`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "FittedScaling", tag = "kind", rename_all = "kebab-case")]
enum Scaling {
    None,
    UnitRows,
    MaxNorm { factor: f64 },
    Standardise { mean: Vec<f64>, factor: Vec<f64> },
}

/// How a model was fitted: for people, not used at prediction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fitted {
    /// The name of the trainer.
    pub method: String,
    /// Its options.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// The training data.
    #[serde(default)]
    pub data: DataDescription,
    /// Why it ended.
    #[serde(default)]
    pub termination: String,
    /// After how many iterations.
    #[serde(default)]
    pub iterations: u64,
    /// The sum of the weights of the training rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_weight: Option<f64>,
    /// What cross-validation weighed and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Value>,
    /// The program and its version.
    #[serde(default = "program")]
    pub program: String,
}

impl Fitted {
    /// What was certified of the fit: `learned.certificate`.
    pub fn certificate(&self) -> Option<FitCertificate> {
        let value = self.learned.as_ref()?.get("certificate")?;
        serde_json::from_value(value.clone()).ok()
    }
}

/// A loss by itself, for use on other data: its link decides it, and which of the link's two losses
/// is meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossFile {
    /// The link.
    #[serde(with = "Link")]
    pub link: LinkSpec,
    /// The canonical loss of the link, or log-loss under it; absent: canonical where that is finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LossKind>,
    /// The fit that it was learned in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Fitted>,
}

/// A file of either sort.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyFile {
    /// A model.
    Model(Box<ModelFile>),
    /// A loss.
    Loss(Box<LossFile>),
}

/// The options of a fit as a file holds them: plain numbers, words and lists. A learned link is part
/// of the model, and stands here by its kind only.
pub fn plain_options(settings: &Settings) -> BTreeMap<String, Value> {
    let plain = |value: &Setting| match value {
        Setting::Flag(flag) => Value::from(*flag),
        Setting::Count(count) => Value::from(*count),
        Setting::Number(number) => Value::from(*number),
        Setting::Word(word) => Value::from(word.as_str()),
        Setting::Numbers(numbers) => Value::from(numbers.clone()),
        Setting::Link(LinkSpec::Builtin { name, params }) if !params.is_empty() => {
            let params: Vec<String> = params.iter().map(f64::to_string).collect();
            Value::from(format!("{name}:{}", params.join(",")))
        }
        Setting::Link(link) => Value::from(link.name()),
    };
    settings.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
}

/// The name and version of this program, for [`Fitted::program`].
pub fn program() -> String {
    concat!("properloss ", env!("CARGO_PKG_VERSION")).to_owned()
}

impl ModelFile {
    /// The file of a classifier that was fitted to encoded features.
    pub fn new(
        model: &Model,
        encoder: Encoder,
        scaling: FittedScaling,
        classes: [String; 2],
        fitted: Fitted,
    ) -> Self {
        Self {
            weights: model.coefficients().to_vec(),
            intercept: model.intercept(),
            link: model.link().spec(),
            feature_names: encoder.feature_names(),
            preprocessing: Preprocessing { encoder, scaling },
            classes,
            fitted,
            history: None,
        }
    }

    kept_as!(MODEL_FORMAT, VERSION, "model", Self::parsed);

    fn parsed(bytes: &[u8], name: &Path) -> Result<Self> {
        if json::version_of(bytes, name, MODEL_FORMAT)? == Some(CLASS_VERSION) {
            let reason = "a model of several classes; this takes models of two";
            return Err(bad_field(name, ("classes".into(), reason.into())));
        }
        // Version 2 was told apart; what is newer than both is for a newer program.
        json::from_json(bytes, name, MODEL_FORMAT, CLASS_VERSION)
    }

    /// The encoder with the classes of the model; one that was made of arrays knows no label column.
    pub fn labelled_encoder(&self) -> Result<Encoder> {
        let [negative, positive] = self.classes.clone();
        let classes = Classes::new(vec![negative], vec![positive])?;
        Ok(self.preprocessing.encoder.clone().or_classes(classes))
    }

    /// The classifier itself.
    pub fn model(&self) -> Result<Model> {
        let link = self.link.build()?;
        let model = Model::new(self.weights.clone(), self.intercept, link)?;
        let on_unit_rows = self.preprocessing.scaling == FittedScaling::UnitRows;
        Ok(if on_unit_rows { model.on_unit_rows() } else { model })
    }

    /// The name of feature `j`.
    pub fn feature_name(&self, j: usize) -> String {
        let name = || self.preprocessing.encoder.feature_name(j);
        self.feature_names.get(j).cloned().unwrap_or_else(name)
    }

    /// The loss of this model as a file of its own.
    pub fn loss(&self) -> LossFile {
        // The loss that the weights were fitted under, if one was asked for.
        let asked = self.fitted.options.get("loss_kind").and_then(Value::as_str);
        let link = self.link.clone();
        let kind = match (asked.and_then(LossKind::from_name), link.build()) {
            (Some(LossKind::Composite), _) => LossKind::Composite,
            (_, Ok(link)) => LossKind::of(&*link),
            (_, Err(_)) => LossKind::Canonical,
        };
        LossFile { provenance: Some(self.fitted.clone()), ..LossFile::new(link, kind) }
    }

    /// What is wrong, as the field and the reason.
    fn check(&self) -> std::result::Result<(), (String, String)> {
        let features = self.weights.len();
        finite("weights", &self.weights)?;
        finite_number("intercept", self.intercept)?;
        link::check(&self.link)?;
        self.preprocessing.encoder.check()?;
        let length = |field: &str, length: usize| {
            if length == features {
                return Ok(());
            }
            Err((field.to_owned(), format!("{length} values, but there are {features} weights")))
        };
        if features == 0 {
            return Err(("weights".into(), "there are none".into()));
        }
        let names = self.preprocessing.encoder.feature_names();
        if self.preprocessing.encoder.sparse.is_none() {
            length("feature_names", self.feature_names.len())?;
        } else if !self.feature_names.is_empty() {
            return Err(("feature_names".into(), "numbered columns have no names".into()));
        }
        length("preprocessing.encoder", self.preprocessing.encoder.width())?;
        if let Some(j) = (0..names.len()).find(|&j| names[j] != self.feature_names[j]) {
            let reason =
                format!("{:?}, but the encoder makes {:?}", self.feature_names[j], names[j]);
            return Err((format!("feature_names[{j}]"), reason));
        }
        match &self.preprocessing.scaling {
            FittedScaling::None | FittedScaling::UnitRows => {}
            FittedScaling::MaxNorm { factor } => {
                finite_number("preprocessing.scaling.factor", *factor)?;
            }
            FittedScaling::Standardise { mean, factor } => {
                for (name, values) in [("mean", mean), ("factor", factor)] {
                    let field = format!("preprocessing.scaling.{name}");
                    finite(&field, values)?;
                    length(&field, values.len())?;
                }
            }
        }
        if self.classes[0] == self.classes[1] {
            return Err(("classes".into(), "both have the same name".into()));
        }
        check_options(&self.fitted)?;
        self.fitted.certificate().map_or(Ok(()), |certificate| certificate.check())?;
        self.history.as_ref().map_or(Ok(()), History::check)
    }
}

impl LossFile {
    /// The file of a loss; canonical goes without saying.
    pub fn new(link: LinkSpec, kind: LossKind) -> Self {
        let kind = (kind == LossKind::Composite).then_some(kind);
        Self { link, kind, provenance: None }
    }

    kept_as!(LOSS_FORMAT, VERSION, "loss");

    /// The loss itself.
    pub fn loss(&self) -> Result<Loss> {
        let link = self.link.build()?;
        Ok(match self.kind {
            None => Loss::of_link(link),
            Some(LossKind::Composite) => Loss::composite(link),
            Some(LossKind::Canonical) => Loss::Canonical(CanonicalLoss::new(link)?),
        })
    }

    fn check(&self) -> std::result::Result<(), (String, String)> {
        link::check(&self.link)?;
        if let Err(error) = self.loss() {
            return Err(("kind".into(), error.to_string()));
        }
        self.provenance.as_ref().map_or(Ok(()), check_options)
    }
}

/// Reads a model or a loss file, whichever it is.
pub fn read_any(path: &Path) -> Result<AnyFile> {
    let bytes = read_bytes(path)?;
    match json::format_of(&bytes, path)?.as_deref() {
        Some(LOSS_FORMAT) => Ok(AnyFile::Loss(Box::new(LossFile::from_json(&bytes, path)?))),
        Some(MODEL_FORMAT) => Ok(AnyFile::Model(Box::new(ModelFile::from_json(&bytes, path)?))),
        found => Err(Error::WrongFormat {
            file: path.to_path_buf(),
            expected: "properloss-model or properloss-loss",
            found: json::described(found, &bytes),
        }),
    }
}

/// The bytes of a file of JSON, or the first of them where these can be no object: a device that has
/// no end, or a large file of another kind, is judged by its beginning.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let fail = |error| Error::read(path, error);
    let mut file = std::fs::File::open(path).map_err(fail)?;
    let mut first = Vec::new();
    (&mut file).take(BEGINNING).read_to_end(&mut first).map_err(fail)?;
    let object = first.trim_ascii_start().first() == Some(&b'{') && !first.contains(&0);
    if !object {
        return Ok(first);
    }
    read_whole(&mut first.as_slice().chain(file), path, Budget::of_machine())
}

/// Enough to see what a file is.
const BEGINNING: u64 = 4096;

fn bad_field(file: &Path, (field, reason): (String, String)) -> Error {
    Error::BadField { file: file.to_path_buf(), field, reason }
}

/// Every value finite.
fn finite(field: &str, values: &[f64]) -> std::result::Result<(), (String, String)> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(k) => Err((format!("{field}[{k}]"), format!("{} is not finite", values[k]))),
    }
}

fn finite_number(field: &str, value: f64) -> std::result::Result<(), (String, String)> {
    if value.is_finite() { Ok(()) } else { Err((field.into(), format!("{value} is not finite"))) }
}

/// An option that was NaN shows as null in a [`Value`].
fn check_options(fitted: &Fitted) -> std::result::Result<(), (String, String)> {
    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(values) => values.iter().any(has_null),
            Value::Object(fields) => fields.values().any(has_null),
            _ => false,
        }
    }
    match fitted.options.iter().find(|(_, value)| has_null(value)) {
        None => Ok(()),
        Some((name, _)) => Err((format!("options.{name}"), "it is null, or was not finite".into())),
    }
}
