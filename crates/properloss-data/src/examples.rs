//! Examples of two classes or of more, as a file turns out to hold.

use std::path::Path;

use crate::dataset::{ClassDataset, DataDescription, Dataset, Features};
use crate::encoder::{Encoder, Label};
use crate::error::{Error, Place, Result};
use crate::labels::Classes;
use crate::memory::{Budget, Tally};
use crate::read::no_names;

/// Examples of two classes, or of more.
#[derive(Debug, Clone, PartialEq)]
pub enum Examples {
    /// Two.
    Two(Dataset),
    /// Three or more.
    Several(ClassDataset),
}

impl Examples {
    /// The examples of two classes; a data set of more is an error that names the third.
    pub fn two(self) -> Result<Dataset> {
        match self {
            Self::Two(dataset) => Ok(dataset),
            Self::Several(dataset) => Err(Error::TooManyClasses {
                place: Place::file(Path::new(&dataset.description.source)),
                classes: Box::new(std::array::from_fn(|k| dataset.classes[k].clone())),
                by_default: false,
            }),
        }
    }

    /// Puts the parts together; the label of the encoder says which of the two it is.
    pub(crate) fn new(
        features: Features,
        labels: Labels,
        weights: Option<Vec<f64>>,
        encoder: Encoder,
        description: DataDescription,
    ) -> Self {
        let names = encoder.label.as_ref().map(|label| &label.classes);
        match labels {
            Labels::Two(labels) => Self::Two(Dataset {
                features,
                labels,
                weights,
                classes: names.map_or_else(no_names, Classes::names),
                encoder,
                description,
            }),
            Labels::Several(labels) => {
                let classes = names.map_or_else(Vec::new, |names| names.several.clone());
                Self::Several(ClassDataset {
                    features,
                    labels,
                    weights,
                    classes,
                    encoder,
                    description,
                })
            }
        }
    }

    /// Without the rows of weight 0, unless none is left.
    pub(crate) fn without_weightless(self) -> Self {
        let weights = match &self {
            Self::Two(dataset) => &dataset.weights,
            Self::Several(dataset) => &dataset.weights,
        };
        match weights {
            Some(weights) if weights.contains(&0.0) && weights.iter().any(|&w| w > 0.0) => {
                let kept: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
                match self {
                    Self::Two(dataset) => Self::Two(dataset.select(&kept)),
                    Self::Several(dataset) => Self::Several(dataset.select(&kept)),
                }
            }
            _ => self,
        }
    }

    /// Each class that occurs needs weight, or a fit would not see it.
    pub(crate) fn check_weights(&self, file: &Path) -> Result<()> {
        let (weights, names, encoder) = match self {
            Self::Two(data) => (&data.weights, &data.classes[..], &data.encoder),
            Self::Several(data) => (&data.weights, &data.classes[..], &data.encoder),
        };
        let (Some(weights), Some(column)) = (weights, &encoder.weight) else { return Ok(()) };
        let class_of = |i: usize| match self {
            Self::Two(data) => usize::from(data.labels[i]),
            Self::Several(data) => data.labels[i] as usize,
        };
        let (mut occurs, mut weighs) = (vec![false; names.len()], vec![false; names.len()]);
        for (i, &weight) in weights.iter().enumerate() {
            occurs[class_of(i)] = true;
            weighs[class_of(i)] |= weight != 0.0;
        }
        match (0..names.len()).find(|&class| occurs[class] && !weighs[class]) {
            None => Ok(()),
            Some(class) => Err(Error::ZeroWeights {
                place: Place::file(file).column(column),
                class: names[class].clone(),
            }),
        }
    }
}

/// The labels of rows as they are read: one byte each for two classes.
#[derive(Debug)]
pub(crate) enum Labels {
    Two(Vec<u8>),
    Several(Vec<u32>),
}

impl Labels {
    /// Of the classes of an encoder.
    pub(crate) fn of(label: Option<&Label>) -> Self {
        match label {
            Some(label) if !label.classes.several.is_empty() => Self::Several(Vec::new()),
            _ => Self::Two(Vec::new()),
        }
    }

    /// The rows of known classes, with their labels; another class is an error unless it is left out.
    pub(crate) fn known(
        encoder: &Encoder,
        file: &Path,
        classes: impl Iterator<Item = Option<u32>>,
        skip_others: bool,
        unknown: impl Fn(usize) -> Error,
    ) -> Result<(Vec<usize>, Self)> {
        let mut tally = Tally::new(Budget::of_machine(), file);
        let (mut kept, mut labels) = (Vec::new(), Self::of(encoder.label.as_ref()));
        for (row, class) in classes.enumerate() {
            match class {
                Some(label) => {
                    kept.push(row);
                    labels.push(&mut tally, label)?;
                }
                None if skip_others => {}
                None => return Err(unknown(row)),
            }
        }
        Ok((kept, labels))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Two(labels) => labels.len(),
            Self::Several(labels) => labels.len(),
        }
    }

    pub(crate) fn reserve(&mut self, tally: &mut Tally, rows: usize) -> Result<()> {
        match self {
            Self::Two(labels) => tally.reserve(labels, rows),
            Self::Several(labels) => tally.reserve(labels, rows),
        }
    }

    pub(crate) fn push(&mut self, tally: &mut Tally, label: u32) -> Result<()> {
        match self {
            Self::Two(labels) => tally.push(labels, u8::from(label != 0)),
            Self::Several(labels) => tally.push(labels, label),
        }
    }
}
