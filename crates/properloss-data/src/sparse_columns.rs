//! Numbered columns: a sparse file of very many columns, of which few are used.

use serde::{Deserialize, Serialize};

/// The columns that some training row stores, by their numbers.
///
/// Hashed features have up to 2^32 columns. One that no row stores has the coefficient 0 whatever
/// the method, so that it needs no place in the matrix, the coefficients or the file.
///
/// *Invariant*: the numbers increase strictly, and are below `features` if that is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseColumns {
    /// The number that the file gives its first column, 0 or 1: for names only.
    pub first: u8,
    /// How many columns there are, if it was stated; without it any number is accepted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub features: Option<u64>,
    /// The columns in use, counted from 0.
    pub indices: Vec<u32>,
}

impl SparseColumns {
    /// Up to this many columns all of them are kept, by name.
    pub const NAMED: usize = 1 << 16;

    /// The columns in use among `columns`, if it is worth to leave the others out: there are more
    /// than [`SparseColumns::NAMED`], and fewer than half are used. `used` lists those that a row
    /// stores, in any order and any number of times.
    pub(crate) fn of(
        used: impl FnOnce() -> Vec<u32>,
        columns: u64,
        first: u8,
        features: Option<usize>,
    ) -> Option<Self> {
        if columns <= Self::NAMED as u64 {
            return None;
        }
        let mut used = used();
        used.sort_unstable();
        used.dedup();
        used.shrink_to_fit();
        let features = features.map(|features| features as u64);
        (2 * (used.len() as u64) < columns).then_some(Self { first, features, indices: used })
    }

    /// The feature of a column, `None` for one that is not in use.
    pub fn feature_of(&self, column: u32) -> Option<u32> {
        self.indices.binary_search(&column).ok().map(|feature| feature as u32)
    }

    /// `x7` for the feature of column 7; empty beyond the last.
    pub fn name(&self, feature: usize) -> String {
        let name = |&index: &u32| format!("x{}", u64::from(index) + u64::from(self.first));
        self.indices.get(feature).map(name).unwrap_or_default()
    }

    /// What is wrong with it: the field and the reason.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        let at = |field: &str| format!("encoder.sparse.{field}");
        if self.first > 1 {
            return Err((at("first"), format!("{} is neither 0 nor 1", self.first)));
        }
        if let Some(k) = self.indices.windows(2).position(|pair| pair[0] >= pair[1]) {
            let (index, previous) = (self.indices[k + 1], self.indices[k]);
            return Err((
                format!("{}[{}]", at("indices"), k + 1),
                format!("{index} after {previous}"),
            ));
        }
        match (self.indices.last(), self.features) {
            (Some(&last), Some(features)) if u64::from(last) >= features => {
                Err((at("features"), format!("column {last}, but {features} columns")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_columns_are_named() {
        let columns = |first, indices: &[u32], features| SparseColumns {
            first,
            indices: indices.to_vec(),
            features,
        };
        assert!(columns(0, &[], None).check().is_ok());
        assert!(columns(1, &[0, 3, 9], Some(10)).check().is_ok());
        let field = |columns: SparseColumns| columns.check().unwrap_err().0;
        assert_eq!(field(columns(2, &[0], None)), "encoder.sparse.first");
        assert_eq!(field(columns(0, &[0, 3, 3], None)), "encoder.sparse.indices[2]");
        assert_eq!(field(columns(0, &[4, 3], None)), "encoder.sparse.indices[1]");
        assert_eq!(field(columns(1, &[0, 10], Some(10))), "encoder.sparse.features");
    }
}
