//! A model and what is known of it.

use std::path::Path;
use std::sync::Arc;

use properloss::link::InverseLink;
use properloss_data::model_file::{Fitted, ModelFile};
use properloss_data::{Error, Result};
use serde_json::{Map, Value};

/// Fields of a model file that the page shows elsewhere, or not at all.
const KNOWN: [&str; 9] = [
    "format",
    "version",
    "weights",
    "intercept",
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
        let raw: Value = serde_json::from_slice(json).unwrap_or_default();
        let mut details = Map::new();
        let mut keep = |object: Option<&Map<String, Value>>, known: &[&str]| {
            for (key, value) in object.into_iter().flatten() {
                if !known.contains(&key.as_str()) {
                    details.insert(key.clone(), value.clone());
                }
            }
        };
        let fitted = raw.get("fitted").and_then(Value::as_object);
        keep(fitted, &KNOWN_OF_FIT);
        let outer: Vec<&str> = KNOWN.into_iter().chain(["fitted"]).collect();
        keep(raw.as_object(), &outer);
        Ok(Self {
            name: name.to_owned(),
            classes: file.classes.clone(),
            link: Some(file.link.spec().build()?),
            file: Some(file),
            details,
            deviations: None,
        })
    }

    /// From a model file; it is called by its file name.
    pub fn read(path: &Path) -> Result<Self> {
        let json = std::fs::read(path).map_err(|error| Error::read(path, error))?;
        // Errors name the whole path.
        let mut subject = Self::from_json(&path.display().to_string(), &json)?;
        if let Some(name) = path.file_name() {
            subject.name = name.to_string_lossy().into_owned();
        }
        Ok(subject)
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
