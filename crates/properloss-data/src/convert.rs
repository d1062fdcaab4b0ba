//! Between the core's types and what stands in files.

use std::path::Path;

use properloss::design::FittedScaling;
use properloss::link::LinkSpec;
use properloss::train::{Fit, Model};

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::model_file::{Fitted, History, Link, LossFile, ModelFile, Preprocessing, Scaling};

/// How many iterations of a fit's history a model file keeps.
const HISTORY: usize = 200;

impl From<LinkSpec> for Link {
    fn from(spec: LinkSpec) -> Self {
        match spec {
            LinkSpec::Builtin { name, params } => Self::Builtin { name, params },
            LinkSpec::Piecewise { z, u } => Self::Piecewise { z, u },
            LinkSpec::Isotonic { z, u } => Self::Isotonic { z, u },
            LinkSpec::Relative { base, p, v } => {
                Self::Relative { base: Box::new(Self::from(*base)), p, v }
            }
        }
    }
}

impl From<Link> for LinkSpec {
    fn from(link: Link) -> Self {
        match link {
            Link::Builtin { name, params } => Self::Builtin { name, params },
            Link::Piecewise { z, u } => Self::Piecewise { z, u },
            Link::Isotonic { z, u } => Self::Isotonic { z, u },
            Link::Relative { base, p, v } => {
                Self::Relative { base: Box::new(Self::from(*base)), p, v }
            }
        }
    }
}

impl From<FittedScaling> for Scaling {
    fn from(scaling: FittedScaling) -> Self {
        match scaling {
            FittedScaling::None => Self::None,
            FittedScaling::UnitRows => Self::UnitRows,
            FittedScaling::MaxNorm { factor } => Self::MaxNorm { factor },
            FittedScaling::Standardise { mean, factor } => Self::Standardise { mean, factor },
        }
    }
}

impl ModelFile {
    /// The file of a finished fit. `scaling` is the one the trainer used; it is kept to say how the
    /// model was fitted, and only unit rows count at prediction.
    pub fn of_fit(
        fit: &Fit,
        dataset: &Dataset,
        scaling: FittedScaling,
        method: &str,
        options: impl IntoIterator<Item = (String, serde_json::Value)>,
    ) -> Self {
        let course: Vec<(u64, f64, f64)> =
            fit.history.iter().map(|at| (at.iteration as u64, at.loss, at.gap)).collect();
        Self {
            weights: fit.model.coefficients().to_vec(),
            intercept: fit.model.intercept(),
            link: fit.model.link().spec().into(),
            preprocessing: Preprocessing {
                encoder: dataset.encoder.clone(),
                scaling: scaling.into(),
            },
            feature_names: dataset.feature_names.clone(),
            classes: dataset.classes.clone(),
            fitted: Fitted {
                method: method.to_owned(),
                options: options.into_iter().collect(),
                data: dataset.description.clone(),
                termination: fit.termination.name().to_owned(),
                iterations: fit.iterations() as u64,
                program: crate::model_file::program(),
            },
            history: (!course.is_empty()).then(|| History::thinned(&course, HISTORY)),
        }
    }

    /// The classifier of the file; `file` stands for it in messages.
    pub fn classifier(&self, file: &Path) -> Result<Model> {
        let link = LinkSpec::from(self.link.clone()).build().map_err(|e| bad_link(file, &e))?;
        let unit_rows = matches!(self.preprocessing.scaling, Scaling::UnitRows);
        Ok(Model::new(self.weights.clone(), self.intercept, unit_rows, link)?)
    }
}

impl LossFile {
    /// The link of the file; `file` stands for it in messages.
    pub fn build(&self, file: &Path) -> Result<std::sync::Arc<dyn properloss::link::InverseLink>> {
        LinkSpec::from(self.link.clone()).build().map_err(|e| bad_link(file, &e))
    }
}

fn bad_link(file: &Path, error: &properloss::Error) -> Error {
    let reason = error.to_string();
    Error::BadField { file: file.to_path_buf(), field: "link".into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_link_survives_both_ways() {
        let knots = || (vec![-1.0, 0.5, 2.0], vec![0.0, 0.25, 1.0]);
        let sigmoid = LinkSpec::builtin("sigmoid");
        let specs = [
            LinkSpec::Builtin { name: "clipped-line".into(), params: vec![0.25, 0.5] },
            LinkSpec::Piecewise { z: knots().0, u: knots().1 },
            LinkSpec::Isotonic { z: vec![-1.0, 0.0, 1.0, 2.0], u: vec![0.0, 0.5, 0.5, 1.0] },
            LinkSpec::Relative {
                base: Box::new(sigmoid),
                p: vec![0.0, 0.5, 1.0],
                v: vec![0.0, 0.4, 1.0],
            },
        ];
        for spec in specs {
            let link = Link::from(spec.clone());
            let json = LossFile { link: link.clone(), provenance: None }.to_json().unwrap();
            let back = LossFile::from_json(json.as_bytes(), Path::new("loss.json")).unwrap();
            assert_eq!(back.link, link);
            assert_eq!(LinkSpec::from(back.link.clone()), spec);
            let (first, second) = (spec.build().unwrap(), back.build(Path::new("l")).unwrap());
            for z in [-2.0, -0.3, 0.0, 0.7, 1.5, 3.0] {
                assert_eq!(first.u(z), second.u(z), "{spec:?} at {z}");
            }
        }
    }

    #[test]
    fn an_unknown_link_names_the_file_and_the_field() {
        let loss = LossFile { link: Link::builtin("nonesuch"), provenance: None };
        let message = loss.build(Path::new("loss.json")).unwrap_err().to_string();
        assert!(message.starts_with("loss.json: link: there is no link named"), "{message}");
    }
}
