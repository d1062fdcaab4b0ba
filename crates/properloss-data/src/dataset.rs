//! Examples in memory.

use serde::{Deserialize, Serialize};

use properloss::multiclass::ClassSample;
use properloss::sample::{Indices, Matrix, Offsets, Sample, Values};

use crate::encoder::Encoder;
use crate::error::Result;
use crate::fit_memory::FitShape;

/// The feature matrix, by rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Dense, 4 bytes a value.
    DenseF32 {
        /// Row after row.
        values: Vec<f32>,
        /// Number of features.
        columns: usize,
    },
    /// Dense, 8 bytes a value.
    DenseF64 {
        /// Row after row.
        values: Vec<f64>,
        /// Number of features.
        columns: usize,
    },
    /// Compressed sparse rows: row `i` has the entries `row_starts[i]..row_starts[i + 1]`.
    Csr {
        /// Where each row starts; one more than there are rows.
        row_starts: Vec<usize>,
        /// The column of each entry, increasing within a row.
        indices: Vec<u32>,
        /// The value of each entry.
        values: Vec<f64>,
        /// Number of features.
        columns: usize,
    },
}

impl Features {
    /// Number of features.
    pub fn columns(&self) -> usize {
        match self {
            Self::DenseF32 { columns, .. }
            | Self::DenseF64 { columns, .. }
            | Self::Csr { columns, .. } => *columns,
        }
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        match self {
            Self::DenseF32 { values, columns } => values.len() / (*columns).max(1),
            Self::DenseF64 { values, columns } => values.len() / (*columns).max(1),
            Self::Csr { row_starts, .. } => row_starts.len() - 1,
        }
    }

    /// Writes row `i` to `out`, whose length is the number of features.
    pub fn copy_row(&self, i: usize, out: &mut [f64]) {
        match self {
            Self::DenseF32 { values, columns } => {
                for (out, &x) in out.iter_mut().zip(&values[i * columns..(i + 1) * columns]) {
                    *out = f64::from(x);
                }
            }
            Self::DenseF64 { values, columns } => {
                out.copy_from_slice(&values[i * columns..(i + 1) * columns]);
            }
            Self::Csr { row_starts, indices, values, .. } => {
                out.fill(0.0);
                for k in row_starts[i]..row_starts[i + 1] {
                    out[indices[k] as usize] = values[k];
                }
            }
        }
    }

    /// The matrix as the core borrows it.
    pub fn matrix(&self) -> Result<Matrix<'_>> {
        let rows = self.rows();
        Ok(match self {
            Self::DenseF32 { values, columns } => Matrix::dense_f32(values, rows, *columns)?,
            Self::DenseF64 { values, columns } => Matrix::dense_f64(values, rows, *columns)?,
            Self::Csr { row_starts, indices, values, columns } => Matrix::csr(
                Offsets::Usize(row_starts),
                Indices::U32(indices),
                Values::F64(values),
                *columns,
            )?,
        })
    }

    /// The chosen rows, copied in the order given.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        fn dense<T: Copy>(values: &[T], columns: usize, rows: &[usize]) -> Vec<T> {
            let mut out = Vec::with_capacity(rows.len() * columns);
            for &i in rows {
                out.extend_from_slice(&values[i * columns..(i + 1) * columns]);
            }
            out
        }
        match self {
            Self::DenseF32 { values, columns } => {
                Self::DenseF32 { values: dense(values, *columns, rows), columns: *columns }
            }
            Self::DenseF64 { values, columns } => {
                Self::DenseF64 { values: dense(values, *columns, rows), columns: *columns }
            }
            Self::Csr { row_starts, indices, values, columns } => {
                let entries = rows.iter().map(|&i| row_starts[i + 1] - row_starts[i]).sum();
                let mut starts = Vec::with_capacity(rows.len() + 1);
                let mut chosen_indices = Vec::with_capacity(entries);
                let mut chosen_values = Vec::with_capacity(entries);
                starts.push(0);
                for &i in rows {
                    let range = row_starts[i]..row_starts[i + 1];
                    chosen_indices.extend_from_slice(&indices[range.clone()]);
                    chosen_values.extend_from_slice(&values[range]);
                    starts.push(chosen_values.len());
                }
                Self::Csr {
                    row_starts: starts,
                    indices: chosen_indices,
                    values: chosen_values,
                    columns: *columns,
                }
            }
        }
    }
}

/// Where examples came from and what was left out; kept in the model file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DataDescription {
    /// The file, or a name such as `synth`.
    pub source: String,
    /// The format of the file.
    pub format: String,
    /// Examples used.
    pub rows: u64,
    /// Features after encoding.
    pub features: u64,
    /// Rows left out for missing values.
    #[serde(default)]
    pub dropped_missing: u64,
    /// Rows left out because their label is of neither class.
    #[serde(default)]
    pub dropped_other_class: u64,
    /// Values of categories that did not occur at training, encoded as none of the known ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_categories: u64,
}

/// How the class of a row is held: one byte for two classes, four for more.
pub trait ClassLabel: Copy + std::fmt::Debug + PartialEq {
    /// The names of the classes.
    type Names: Clone + std::fmt::Debug + PartialEq + AsRef<[String]>;
    /// Every class must be in every part of a division. (Of many classes a rare one may be trained on only.)
    const IN_EVERY_PART: bool;
    /// The number of the class.
    fn class(self) -> usize;
}

impl ClassLabel for u8 {
    type Names = [String; 2];
    const IN_EVERY_PART: bool = true;
    fn class(self) -> usize {
        usize::from(self != 0)
    }
}

impl ClassLabel for u32 {
    type Names = Vec<String>;
    const IN_EVERY_PART: bool = false;
    fn class(self) -> usize {
        self as usize
    }
}

/// Examples with their labels, ready for training: [`Dataset`] of two classes, [`ClassDataset`] of more.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledRows<L: ClassLabel> {
    /// The feature matrix; every value is finite.
    pub features: Features,
    /// The class of each row: 0, 1, and so on.
    pub labels: Vec<L>,
    /// Weights >= 0, if the data have them.
    pub weights: Option<Vec<f64>>,
    /// The names of the classes.
    pub classes: L::Names,
    /// How further data are encoded the same way.
    pub encoder: Encoder,
    /// Where the examples came from.
    pub description: DataDescription,
}

/// Examples with labels 0 (negative) and 1 (positive).
pub type Dataset = LabelledRows<u8>;

/// Examples with labels 0, 1, 2, ...
pub type ClassDataset = LabelledRows<u32>;

impl<L: ClassLabel> LabelledRows<L> {
    /// Number of examples.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of features.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.features.columns()
    }

    /// The names of the features.
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        self.encoder.feature_names()
    }

    /// The feature matrix as the core borrows it.
    pub fn matrix(&self) -> Result<Matrix<'_>> {
        self.features.matrix()
    }

    /// What the memory of a fit with so many folds depends on.
    pub fn fit_shape(&self, folds: u64) -> Result<FitShape> {
        Ok(FitShape {
            rows: self.rows() as u64,
            columns: self.columns() as u64,
            stored: self.matrix()?.stored() as u64,
            classes: self.classes.as_ref().len() as u64,
            folds,
        })
    }

    /// The chosen rows, copied in the order given.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            features: self.features.select(rows),
            labels: rows.iter().map(|&i| self.labels[i]).collect(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect()),
            classes: self.classes.clone(),
            encoder: self.encoder.clone(),
            description: DataDescription { rows: rows.len() as u64, ..self.description.clone() },
        }
    }
}

impl Dataset {
    /// Rows, labels and weights as the core's trainers take them; checks them once more.
    pub fn sample(&self) -> Result<Sample<'_>> {
        Ok(Sample::new(self.matrix()?, &self.labels, self.weights.as_deref())?)
    }

    /// Number of positive examples.
    #[must_use]
    pub fn positives(&self) -> usize {
        self.labels.iter().filter(|&&y| y == 1).count()
    }
}

impl ClassDataset {
    /// Rows, labels and weights as the core takes them; checks them once more.
    pub fn sample(&self) -> Result<ClassSample<'_>> {
        let (labels, classes) = (&self.labels[..], self.classes.len());
        Ok(ClassSample::new(self.matrix()?, labels, classes, self.weights.as_deref())?)
    }

    /// How many rows each class has.
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        self.labels.iter().for_each(|&class| counts[class as usize] += 1);
        counts
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
