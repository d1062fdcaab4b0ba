//! Rows of a table as they are collected: features, labels, weights.

use std::path::Path;

use crate::dataset::{DataDescription, Features};
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::examples::{Examples, Labels};
use crate::labels::{Classes, LabelValues};
use crate::memory::{Budget, Tally};
use crate::options::Storage;
use crate::read::Format;

/// Encoded rows.
pub(crate) struct Collected {
    tally: Tally,
    columns: usize,
    values: Stored,
    labels: Labels,
    weights: Option<Vec<f64>>,
}

/// Features, row after row.
enum Stored {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Collected {
    /// None yet, of so many features.
    pub fn new(
        file: &Path,
        columns: usize,
        labels: Labels,
        weighted: bool,
        storage: Storage,
        budget: Budget,
    ) -> Self {
        Self {
            tally: Tally::new(budget, file),
            columns,
            values: match storage {
                Storage::F64 => Stored::F64(Vec::new()),
                Storage::F32 => Stored::F32(Vec::new()),
            },
            labels,
            weights: weighted.then(Vec::new),
        }
    }

    /// Room for so many rows, asked for at once.
    pub fn reserve(&mut self, rows: usize) -> Result<()> {
        let values = rows.saturating_mul(self.columns);
        self.labels.reserve(&mut self.tally, rows)?;
        if let Some(weights) = &mut self.weights {
            self.tally.reserve(weights, rows)?;
        }
        match &mut self.values {
            Stored::F64(wide) => self.tally.reserve(wide, values),
            Stored::F32(narrow) => self.tally.reserve(narrow, values),
        }
    }

    /// Whether every value of the row is finite as it will be stored.
    pub fn takes(&self, row: &[f64]) -> bool {
        match self.values {
            Stored::F64(_) => true,
            Stored::F32(_) => row.iter().all(|&x| (x as f32).is_finite()),
        }
    }

    /// One more row.
    pub fn push(&mut self, row: &[f64], label: u32, weight: f64) -> Result<()> {
        self.labels.push(&mut self.tally, label)?;
        if let Some(weights) = &mut self.weights {
            self.tally.push(weights, weight)?;
        }
        match &mut self.values {
            Stored::F64(wide) => self.tally.extend(wide, row),
            Stored::F32(narrow) => {
                self.tally.reserve(narrow, row.len())?;
                narrow.extend(row.iter().map(|&x| x as f32));
                Ok(())
            }
        }
    }

    /// Labels that were pushed as the numbers of their values become those of their classes.
    pub fn classify(&mut self, values: &LabelValues, classes: &Classes) {
        let class_of = values.classes(classes);
        let Labels::Several(numbers) = &mut self.labels else { return };
        let of = |&number: &u32| class_of[number as usize].unwrap_or(0);
        if classes.several.is_empty() {
            self.labels =
                Labels::Two(numbers.iter().map(|number| u8::from(of(number) != 0)).collect());
        } else {
            numbers.iter_mut().for_each(|number| *number = of(number));
        }
    }

    /// The examples, checked.
    pub fn examples(
        self,
        file: &Path,
        format: Format,
        encoder: Encoder,
        description: DataDescription,
    ) -> Result<Examples> {
        let Self { columns, values, labels, weights, .. } = self;
        if labels.len() == 0 {
            return Err(Error::NoRows { file: file.to_path_buf() });
        }
        // Where the rows were not counted before, room was taken ahead.
        let features = match values {
            Stored::F64(mut values) => {
                values.shrink_to_fit();
                Features::DenseF64 { values, columns }
            }
            Stored::F32(mut values) => {
                values.shrink_to_fit();
                Features::DenseF32 { values, columns }
            }
        };
        let description = DataDescription {
            source: file.display().to_string(),
            format: format.name().into(),
            features: columns as u64,
            rows: labels.len() as u64,
            ..description
        };
        let examples = Examples::new(features, labels, weights, encoder, description);
        examples.check_weights(file)?;
        Ok(examples)
    }
}
