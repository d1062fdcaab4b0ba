//! A model, of two classes or of several, and what is known of it.

use std::path::Path;
use std::sync::Arc;

use properloss::link::InverseLink;
use properloss_data::model_file::{ClassModelFile, Fitted, ModelFile};
use properloss_data::{Error, Result};
use serde_json::{Map, Value};

use crate::details::Fact;
use crate::readable::readable;

/// Fields of a model file that the page shows elsewhere, or not at all.
const KNOWN: [&str; 11] = [
    "fitted",
    "format",
    "version",
    "weights",
    "intercept",
    "intercepts",
    "link",
    "preprocessing",
    "feature_names",
    "classes",
    "history",
];
/// The same of its field `fitted`.
const KNOWN_OF_FIT: [&str; 6] =
    ["method", "options", "data", "termination", "iterations", "program"];

/// A model to report on.
#[derive(Debug, Clone)]
pub struct Subject {
    /// What it is called on the page.
    pub name: String,
    /// The names of the classes 0 and 1.
    pub classes: [String; 2],
    /// The model as its file holds it; a forecast of another program has none.
    pub file: Option<ModelFile>,
    /// From score to probability; without one the scores are probabilities.
    pub link: Option<Arc<dyn InverseLink>>,
    /// Whatever else is known: shown as facts, tables and curves.
    pub details: Map<String, Value>,
    /// Standard deviations of the features on the data of the report.
    pub deviations: Option<Vec<f64>>,
}

impl Subject {
    /// From the text of a model file, whose unknown fields become details.
    pub fn from_json(name: &str, json: &[u8]) -> Result<Self> {
        let file = ModelFile::from_json(json, Path::new(name))?;
        let details = details_of(json);
        Ok(Self {
            name: name.to_owned(),
            classes: file.classes.clone(),
            link: Some(file.link.build()?),
            file: Some(file),
            details,
            deviations: None,
        })
    }

    /// From a model file; it is called by its file name.
    pub fn read(path: &Path) -> Result<Self> {
        let json = std::fs::read(path).map_err(|error| Error::read(path, error))?;
        // Errors name the whole path.
        let subject = Self::from_json(&path.display().to_string(), &json)?;
        Ok(Self { name: short_name(path), ..subject })
    }

    /// Probabilities of another program.
    pub fn probabilities(name: &str, classes: [String; 2]) -> Self {
        let (name, details) = (name.to_owned(), Map::new());
        Self { name, classes, file: None, link: None, details, deviations: None }
    }

    /// How it was fitted.
    pub fn fitted(&self) -> Option<&Fitted> {
        self.file.as_ref().map(|file| &file.fitted)
    }
}

/// A model of several classes to report on.
#[derive(Debug, Clone)]
pub struct ClassSubject {
    /// What it is called on the page.
    pub name: String,
    /// The model as its file holds it.
    pub file: ClassModelFile,
    /// Whatever else is known: shown as facts, tables and curves.
    pub details: Map<String, Value>,
    /// Standard deviations of the features on the data of the report.
    pub deviations: Option<Vec<f64>>,
}

impl ClassSubject {
    /// From the text of a model file, whose unknown fields become details.
    pub fn from_json(name: &str, json: &[u8]) -> Result<Self> {
        let file = ClassModelFile::from_json(json, Path::new(name))?;
        Ok(Self { name: name.to_owned(), file, details: details_of(json), deviations: None })
    }

    /// From a model file of several classes, called by its file name; `None` if it holds something
    /// else, which is for [`Subject::read`] to judge.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if ClassModelFile::read_if_several(path)?.is_none() {
            return Ok(None);
        }
        let json = std::fs::read(path).map_err(|error| Error::read(path, error))?;
        let subject = Self::from_json(&path.display().to_string(), &json)?;
        Ok(Some(Self { name: short_name(path), ..subject }))
    }
}

fn short_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// What a model file has that no section of the page is about.
fn details_of(json: &[u8]) -> Map<String, Value> {
    let raw: Value = serde_json::from_slice(json).unwrap_or_default();
    let fitted = raw.get("fitted").and_then(Value::as_object);
    let mut details = Map::new();
    for (object, known) in [(fitted, &KNOWN_OF_FIT[..]), (raw.as_object(), &KNOWN[..])] {
        let other = object.into_iter().flatten().filter(|(key, _)| !known.contains(&key.as_str()));
        details.extend(other.map(|(key, value)| (key.clone(), value.clone())));
    }
    if let Some(Value::Object(learned)) = details.remove("learned") {
        details.extend(readable(learned));
    }
    details
}

/// How a model was fitted, as facts.
pub(crate) fn fitted_facts(fitted: &Fitted, features: usize) -> Vec<Fact> {
    let mut facts = vec![
        ("method".to_owned(), fitted.method.clone()),
        ("fitted by".into(), fitted.program.clone()),
    ];
    if fitted.data.rows > 0 {
        facts.push(("trained on".into(), fitted.data.source.clone()));
        facts.push(("training rows".into(), fitted.data.rows.to_string()));
    }
    facts.push(("features".into(), features.to_string()));
    if !fitted.termination.is_empty() {
        let end = format!("{} after {} iterations", fitted.termination, fitted.iterations);
        facts.push(("ended".into(), end));
    }
    for (option, value) in &fitted.options {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        facts.push((format!("option {option}"), text));
    }
    facts
}
