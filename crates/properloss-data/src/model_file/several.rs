//! Model files of three classes or more: version 2 of the format.
//!
//! ```text
//! z_k = intercepts_k + Σ_j weights_kj x_j
//! p   = Σ mass softmax(t z) + floor + Σ mass [ r(s_k) e_k + (1 - r(s_k)) s_-k / (1 - s_k) ],   s = softmax(z)
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use properloss::link::vector::{ClassRamp, Mixture, Ramp};
use properloss::multiclass::{MulticlassFit, class_scores};
use properloss::sample::Matrix;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Fitted, MODEL_FORMAT, Preprocessing, bad_field, check_options, finite, json,
    learned_of_classes, program, read_bytes,
};
use crate::atomic::write_atomically;
use crate::dataset::ClassDataset;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::labels::Classes;

/// The version of model files of several classes.
pub const CLASS_VERSION: u64 = 2;

/// A fitted classifier of three classes or more as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassModelFile {
    /// The coefficients of the encoded features, one row a class.
    pub weights: Vec<Vec<f64>>,
    /// Added to the scores of every class.
    pub intercepts: Vec<f64>,
    /// From scores to probabilities.
    pub link: MixtureFile,
    /// From a row of a table to the features that the weights are for.
    pub preprocessing: Preprocessing,
    /// The names of the features; none where the encoder has numbered columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_names: Vec<String>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// How it was fitted.
    pub fitted: Fitted,
}

/// A mixture of softmaxes, a floor and class ramps; the masses sum to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureFile {
    /// The softmaxes.
    pub softmax: Vec<SoftmaxFile>,
    /// The floor of every class.
    pub floor: Vec<f64>,
    /// The class ramps.
    #[serde(default)]
    pub ramps: Vec<RampFile>,
}

/// `mass softmax(t z)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SoftmaxFile {
    /// Its mass.
    pub mass: f64,
    /// The factor of the scores.
    pub t: f64,
}

/// A ramp along one class: knots `(p, r)` from (0, 0) to (1, 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RampFile {
    /// Its mass.
    pub mass: f64,
    /// The class, from 0.
    pub class: usize,
    /// Abscissae.
    pub p: Vec<f64>,
    /// Values.
    pub r: Vec<f64>,
}

impl From<&Mixture> for MixtureFile {
    fn from(link: &Mixture) -> Self {
        let softmax = link.softmax().iter().map(|(mass, s)| SoftmaxFile { mass: *mass, t: s.t() });
        let ramps = link.ramps().iter().map(|(mass, part)| RampFile {
            mass: *mass,
            class: part.class(),
            p: part.ramp().p().to_vec(),
            r: part.ramp().r().to_vec(),
        });
        Self { softmax: softmax.collect(), floor: link.floor().to_vec(), ramps: ramps.collect() }
    }
}

impl MixtureFile {
    /// The link itself.
    pub fn build(&self) -> properloss::Result<Mixture> {
        let classes = self.floor.len();
        let softmax: Vec<(f64, f64)> = self.softmax.iter().map(|s| (s.mass, s.t)).collect();
        let ramps = self.ramps.iter().map(|ramp| {
            let curve = Ramp::new(ramp.p.clone(), ramp.r.clone())?;
            Ok((ramp.mass, ClassRamp::new(classes, ramp.class, curve)?))
        });
        let ramps = ramps.collect::<properloss::Result<Vec<_>>>()?;
        Mixture::new(classes, &softmax, self.floor.clone(), ramps)
    }
}

impl ClassModelFile {
    kept_as!(MODEL_FORMAT, CLASS_VERSION, "model");

    /// The encoder with the classes of the model; one that was made of arrays knows no label column.
    pub fn labelled_encoder(&self) -> Result<Encoder> {
        let classes = Classes::several(self.classes.clone())?;
        Ok(self.preprocessing.encoder.clone().or_classes(classes))
    }

    /// A model of several classes; `None` if the file holds something else, which is for another
    /// reader to judge.
    pub fn read_if_several(path: &Path) -> Result<Option<Self>> {
        let Ok(bytes) = read_bytes(path) else { return Ok(None) };
        match json::version_of(&bytes, path, MODEL_FORMAT) {
            Ok(Some(CLASS_VERSION)) => Self::from_json(&bytes, path).map(Some),
            _ => Ok(None),
        }
    }

    /// The file of a fit to this data.
    pub fn of_fit(
        fit: &MulticlassFit,
        dataset: &ClassDataset,
        options: BTreeMap<String, Value>,
    ) -> Self {
        let fitted = Fitted {
            method: "proper".into(),
            options,
            data: dataset.description.clone(),
            termination: "converged".into(),
            iterations: fit.passes.round().max(1.0) as u64,
            total_weight: Some(
                dataset.weights.as_ref().map_or(dataset.rows() as f64, |w| w.iter().sum()),
            ),
            learned: Some(learned_of_classes(fit)),
            program: program(),
        };
        let columns = dataset.columns();
        Self {
            weights: fit.coefficients.chunks(columns.max(1)).map(<[f64]>::to_vec).collect(),
            intercepts: fit.intercepts.clone(),
            link: (&fit.link).into(),
            feature_names: dataset.encoder.feature_names(),
            preprocessing: Preprocessing {
                encoder: dataset.encoder.clone(),
                scaling: fit.scaling.clone(),
            },
            classes: dataset.classes.clone(),
            fitted,
        }
    }

    /// The scores of encoded rows, rows × K.
    pub fn scores(&self, matrix: &Matrix<'_>) -> Result<Vec<f64>> {
        Ok(class_scores(matrix, &self.weights.concat(), &self.intercepts)?)
    }

    /// From scores to probabilities, rows × K: none is 0 or above 1.
    pub fn apply_link(&self, scores: &[f64]) -> Result<Vec<f64>> {
        let mut p = vec![0.0; scores.len()];
        self.link.build()?.probabilities_of_rows(scores, &mut p);
        // The masses sum to 1 up to rounding.
        p.iter_mut().for_each(|p| *p = p.clamp(f64::MIN_POSITIVE, 1.0));
        Ok(p)
    }

    /// The name of feature `j`.
    pub fn feature_name(&self, j: usize) -> String {
        let name = || self.preprocessing.encoder.feature_name(j);
        self.feature_names.get(j).cloned().unwrap_or_else(name)
    }

    /// What is wrong, as the field and the reason.
    fn check(&self) -> std::result::Result<(), (String, String)> {
        let classes = self.classes.len();
        if classes < 3 {
            return Err(("classes".into(), format!("{classes}, but version 2 is for 3 or more")));
        }
        for (k, name) in self.classes.iter().enumerate() {
            if let Some(first) = self.classes[..k].iter().position(|other| other == name) {
                return Err((
                    format!("classes[{k}]"),
                    format!("{name:?} again, as classes[{first}]"),
                ));
            }
        }
        let features = self.preprocessing.encoder.width();
        for (field, length) in [
            ("weights", self.weights.len()),
            ("intercepts", self.intercepts.len()),
            ("link.floor", self.link.floor.len()),
        ] {
            if length != classes {
                return Err((
                    field.into(),
                    format!("{length} values, but there are {classes} classes"),
                ));
            }
        }
        self.preprocessing.encoder.check()?;
        if features == 0 {
            return Err(("feature_names".into(), "there are none".into()));
        }
        finite("intercepts", &self.intercepts)?;
        for (k, row) in self.weights.iter().enumerate() {
            let field = format!("weights[{k}]");
            finite(&field, row)?;
            if row.len() != features {
                let reason = format!("{} values, but there are {features} features", row.len());
                return Err((field, reason));
            }
        }
        let names = self.preprocessing.encoder.feature_names();
        if names != self.feature_names {
            let reason = "they are not those that the encoder makes".into();
            return Err(("feature_names".into(), reason));
        }
        if let Some(label) = &self.preprocessing.encoder.label
            && label.classes.several != self.classes
        {
            let reason = "its values are not the classes of the model".into();
            return Err(("encoder.label".into(), reason));
        }
        self.link.build().map_err(|error| ("link".to_owned(), error.to_string()))?;
        check_options(&self.fitted)
    }
}
