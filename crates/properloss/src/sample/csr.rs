//! Compressed sparse rows, borrowed in any of the integer types they come in.

use super::storage::Values;
use crate::error::{Error, Result, same_length};

/// What is done to a slice of any of the three integer types.
macro_rules! of_any {
    ($of:expr, $third:ident, $slice:ident => $value:expr) => {
        match $of {
            Self::I32($slice) => $value,
            Self::I64($slice) => $value,
            Self::$third($slice) => $value,
        }
    };
}

/// Where each row starts: `m + 1` positions, from 0 to the number of stored values.
#[derive(Debug, Clone, Copy)]
pub enum Offsets<'a> {
    /// As scipy stores them for small matrices.
    I32(&'a [i32]),
    /// As scipy stores them for large matrices.
    I64(&'a [i64]),
    /// As Rust code stores them.
    Usize(&'a [usize]),
}

impl Offsets<'_> {
    fn len(&self) -> usize {
        of_any!(self, Usize, offsets => offsets.len())
    }

    /// Offset `i`; a negative one, which no checked matrix has, becomes huge.
    #[inline(always)]
    fn get(&self, i: usize) -> usize {
        match self {
            Self::I32(offsets) => offsets[i] as usize,
            Self::I64(offsets) => offsets[i] as usize,
            Self::Usize(offsets) => offsets[i],
        }
    }
}

/// The column of each stored value.
#[derive(Debug, Clone, Copy)]
pub enum Indices<'a> {
    /// As scipy stores them for small matrices.
    I32(&'a [i32]),
    /// As scipy stores them for large matrices.
    I64(&'a [i64]),
    /// As Rust code stores them.
    U32(&'a [u32]),
}

impl Indices<'_> {
    fn len(&self) -> usize {
        of_any!(self, U32, indices => indices.len())
    }

    #[inline(always)]
    fn get(&self, at: usize) -> usize {
        of_any!(self, U32, indices => indices[at].column())
    }
}

/// An integer that holds a column number.
pub(crate) trait ColumnIndex: Copy + Send + Sync {
    /// The column; a negative number, which no checked matrix has, becomes huge.
    fn column(self) -> usize;
}

macro_rules! column_index {
    ($($integer:ty)+) => { $(
        impl ColumnIndex for $integer {
            #[inline(always)]
            fn column(self) -> usize {
                self as usize
            }
        }
    )+ };
}

column_index!(i32 i64 u32);

/// A sparse matrix by rows.
///
/// *Invariant*: the offsets start at 0, do not decrease and end at the number of stored values;
/// within a row the columns increase strictly and are below `columns`.
#[derive(Debug, Clone, Copy)]
pub struct Csr<'a> {
    offsets: Offsets<'a>,
    indices: Indices<'a>,
    values: Values<'a>,
    columns: usize,
}

/// Runs the body with the indices and values of a [`Csr`] as plain slices.
macro_rules! with_csr {
    ($csr:expr, |$indices:ident, $values:ident| $body:expr) => {{
        use $crate::sample::{Indices, Values};
        match ($csr.indices(), $csr.values()) {
            (Indices::I32($indices), Values::F32($values)) => $body,
            (Indices::I32($indices), Values::F64($values)) => $body,
            (Indices::I64($indices), Values::F32($values)) => $body,
            (Indices::I64($indices), Values::F64($values)) => $body,
            (Indices::U32($indices), Values::F32($values)) => $body,
            (Indices::U32($indices), Values::F64($values)) => $body,
        }
    }};
}
pub(crate) use with_csr;

impl<'a> Csr<'a> {
    pub(super) fn new(
        offsets: Offsets<'a>,
        indices: Indices<'a>,
        values: Values<'a>,
        columns: usize,
    ) -> Result<Self> {
        if offsets.len() == 0 {
            return Err(Error::TooShort { what: "offsets", length: 0, minimum: 1 });
        }
        same_length(("indices", indices.len()), ("values", values.len()))?;
        let csr = Self { offsets, indices, values, columns };
        csr.check_offsets()?;
        csr.check_columns()?;
        Ok(csr)
    }

    fn check_offsets(&self) -> Result<()> {
        let wrong = |index: usize, expected| {
            let value = match self.offsets {
                Offsets::I32(offsets) => f64::from(offsets[index]),
                Offsets::I64(offsets) => offsets[index] as f64,
                Offsets::Usize(offsets) => offsets[index] as f64,
            };
            Err(Error::ElementOutOfDomain { what: "offsets", index, value, expected })
        };
        if self.offsets.get(0) != 0 {
            return wrong(0, "0, where the first row starts");
        }
        let rows = self.rows();
        for i in 0..rows {
            let end = self.offsets.get(i + 1);
            if end < self.offsets.get(i) || end > self.values.len() {
                return wrong(i + 1, "at least the one before and at most the stored values");
            }
        }
        if self.offsets.get(rows) != self.values.len() {
            return wrong(rows, "the number of stored values, where the last row ends");
        }
        Ok(())
    }

    fn check_columns(&self) -> Result<()> {
        for row in 0..self.rows() {
            let mut next = 0;
            for at in self.range(row) {
                let column = self.indices.get(at);
                if column >= self.columns {
                    let columns = self.columns;
                    return Err(Error::SparseColumn { row, column, columns });
                }
                if column < next {
                    return Err(Error::SparseOrder { row, column });
                }
                next = column + 1;
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The columns of the stored values.
    pub fn indices(&self) -> Indices<'a> {
        self.indices
    }

    /// The stored values.
    pub fn values(&self) -> Values<'a> {
        self.values
    }

    /// Where the values of row `i` are stored.
    #[inline(always)]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.offsets.get(i)..self.offsets.get(i + 1)
    }

    pub(super) fn for_each_in_row(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        for at in self.range(i) {
            f(self.indices.get(at), self.values.get(at));
        }
    }

    /// Row and column of stored value number `at`.
    pub(super) fn place_of(&self, at: usize) -> (usize, usize) {
        let (mut low, mut high) = (0, self.rows());
        // The row is the last one that starts at or before `at` and is not empty there.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offsets.get(middle) <= at {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low, self.indices.get(at))
    }
}
