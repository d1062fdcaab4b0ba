//! Examples: a borrowed matrix, labels and weights, checked once.

mod csr;
mod storage;

pub(crate) use csr::{ColumnIndex, with_csr};
pub use csr::{Csr, Indices, Offsets};
pub(crate) use storage::Storage;
pub use storage::Values;

use crate::error::{Error, Result, binary_labels, row_weights, same_length, total_weight};

/// The rows `x_1, ..., x_m` of a data set, borrowed. Arithmetic on them is always in `f64`.
#[derive(Debug, Clone, Copy)]
pub enum Matrix<'a> {
    /// Row-major, single precision.
    DenseF32(Dense<'a, f32>),
    /// Row-major, double precision.
    DenseF64(Dense<'a, f64>),
    /// Compressed sparse rows.
    Csr(Csr<'a>),
}

/// A dense row-major matrix. *Invariant*: `values.len() == rows * columns`.
#[derive(Debug, Clone, Copy)]
pub struct Dense<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T> Dense<'a, T> {
    fn new(values: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        match rows.checked_mul(columns) {
            Some(length) if length == values.len() => Ok(Self { values, rows, columns }),
            _ => Err(Error::MatrixShape { rows, columns, length: values.len() }),
        }
    }

    /// All values, row after row.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }
}

impl<'a> Matrix<'a> {
    /// A dense row-major matrix in single precision.
    pub fn dense_f32(values: &'a [f32], rows: usize, columns: usize) -> Result<Self> {
        Ok(Self::DenseF32(Dense::new(values, rows, columns)?))
    }

    /// A dense row-major matrix in double precision.
    pub fn dense_f64(values: &'a [f64], rows: usize, columns: usize) -> Result<Self> {
        Ok(Self::DenseF64(Dense::new(values, rows, columns)?))
    }

    /// Compressed sparse rows: row `i` has the columns `indices[offsets[i]..offsets[i + 1]]`,
    /// strictly increasing. O(non-zeros) to check.
    pub fn csr(
        offsets: Offsets<'a>,
        indices: Indices<'a>,
        values: Values<'a>,
        columns: usize,
    ) -> Result<Self> {
        Ok(Self::Csr(Csr::new(offsets, indices, values, columns)?))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::DenseF32(x) => x.rows,
            Self::DenseF64(x) => x.rows,
            Self::Csr(x) => x.rows(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Self::DenseF32(x) => x.columns,
            Self::DenseF64(x) => x.columns,
            Self::Csr(x) => x.columns(),
        }
    }

    /// Number of stored values.
    pub fn stored(&self) -> usize {
        match self {
            Self::DenseF32(x) => x.values.len(),
            Self::DenseF64(x) => x.values.len(),
            Self::Csr(x) => x.values().len(),
        }
    }

    /// Calls `f(column, value)` for each stored value of row `i`, in the order of the columns.
    // Left to itself the compiler makes a call of it, which takes the sums of a short row half as long again.
    #[inline(always)]
    pub fn for_each_in_row(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        match self {
            Self::DenseF32(x) => {
                x.row(i).iter().enumerate().for_each(|(j, &value)| f(j, f64::from(value)));
            }
            Self::DenseF64(x) => x.row(i).iter().enumerate().for_each(|(j, &value)| f(j, value)),
            Self::Csr(x) => x.for_each_in_row(i, f),
        }
    }

    /// The first value that is NaN or infinite is an error which names its row and column.
    pub fn check_finite(&self) -> Result<()> {
        let place = match self {
            Self::DenseF32(x) => storage::first_not_finite(x.values),
            Self::DenseF64(x) => storage::first_not_finite(x.values),
            Self::Csr(x) => x.values().first_not_finite(),
        };
        let Some((at, value)) = place else { return Ok(()) };
        let (row, column) = match self {
            Self::Csr(x) => x.place_of(at),
            _ => (at / self.columns(), at % self.columns()),
        };
        Err(Error::NotFiniteCell { row, column, value })
    }
}

/// A checked training sample: rows, labels in {0, 1}, and weights.
///
/// *Invariant*: at least one row and one column; every value finite; labels 0 or 1; weights finite,
/// not negative, with a finite sum; both classes have a positive total weight. A row of weight 0
/// counts as removed.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    matrix: Matrix<'a>,
    labels: &'a [u8],
    weights: Option<&'a [f64]>,
    total_weight: f64,
    positive_weight: f64,
}

impl<'a> Sample<'a> {
    /// Checks everything once, in one pass over the values.
    pub fn new(matrix: Matrix<'a>, labels: &'a [u8], weights: Option<&'a [f64]>) -> Result<Self> {
        let rows = matrix.rows();
        if rows == 0 {
            return Err(Error::TooShort { what: "rows", length: 0, minimum: 1 });
        }
        if matrix.columns() == 0 {
            return Err(Error::TooShort { what: "columns", length: 0, minimum: 1 });
        }
        same_length(("labels", labels.len()), ("rows", rows))?;
        binary_labels(labels)?;
        let [negative, positive] = class_weights(labels, weights)?;
        matrix.check_finite()?;
        if negative == 0.0 || positive == 0.0 {
            return Err(Error::OneClass { label: u8::from(negative == 0.0) });
        }
        Ok(Self {
            matrix,
            labels,
            weights,
            total_weight: negative + positive,
            positive_weight: positive,
        })
    }

    /// Rows of a block, checked before: there may be none, or of one class. `None` if they have no weight.
    pub(crate) fn of_block(
        matrix: Matrix<'a>,
        labels: &'a [u8],
        weights: Option<&'a [f64]>,
    ) -> Option<Self> {
        let [negative, positive] = class_weights(labels, weights).ok()?;
        let total_weight = negative + positive;
        (total_weight > 0.0).then_some(Self {
            matrix,
            labels,
            weights,
            total_weight,
            positive_weight: positive,
        })
    }

    /// The same rows and labels with other weights, without looking at the values again. Weight 0
    /// removes a row, so this is also how a fold is taken without a copy.
    pub fn with_weights(&self, weights: Option<&'a [f64]>) -> Result<Self> {
        let [negative, positive] = class_weights(self.labels, weights)?;
        if negative == 0.0 || positive == 0.0 {
            return Err(Error::OneClass { label: u8::from(negative == 0.0) });
        }
        Ok(Self { weights, total_weight: negative + positive, positive_weight: positive, ..*self })
    }

    /// The rows.
    pub fn matrix(&self) -> Matrix<'a> {
        self.matrix
    }

    /// The labels, 0 or 1.
    pub fn labels(&self) -> &'a [u8] {
        self.labels
    }

    /// The weights, if any were given.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.weights
    }

    /// Number of rows `m`.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.matrix.columns()
    }

    /// The weight of row `i`; 1 where no weights were given.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// The sum of the weights.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// The weighted mean of the labels, strictly between 0 and 1.
    pub fn base_rate(&self) -> f64 {
        self.positive_weight / self.total_weight
    }
}

/// The weight of the two classes `[negative, positive]`; checks the weights on the way.
fn class_weights(labels: &[u8], weights: Option<&[f64]>) -> Result<[f64; 2]> {
    let Some(weights) = weights else {
        let positive: usize = labels.iter().map(|&label| usize::from(label)).sum();
        return Ok([(labels.len() - positive) as f64, positive as f64]);
    };
    same_length(("weights", weights.len()), ("rows", labels.len()))?;
    row_weights(weights)?;
    let mut sums = [0.0; 2];
    for (&label, weight) in labels.iter().zip(weights) {
        sums[usize::from(label)] += weight;
    }
    total_weight(sums[0] + sums[1])?;
    Ok(sums)
}
