//! A table whose columns are in memory: a data frame.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Cell, Table, check_names};
use crate::error::{Place, Position, Result};

/// The values of a column; `None` and NaN are missing ones.
#[derive(Debug, Clone)]
pub enum MemoryColumn {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Truth values.
    Bools(Vec<Option<bool>>),
    /// Dates, in [days since 1970-01-01](crate::date::days).
    Dates(Vec<f64>),
    /// Texts: for each row the number of its text; a negative number is a missing value.
    Texts {
        /// One a row.
        codes: Vec<i64>,
        /// The different texts.
        values: Vec<String>,
    },
}

/// Columns of equal length. Its rows count from 0, as those of a data frame do.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    name: PathBuf,
    names: Vec<String>,
    /// Shared by the passes over the table.
    columns: Arc<[MemoryColumn]>,
    rows: usize,
    /// One more than the current row.
    next: usize,
}

impl MemoryTable {
    /// From named columns; `name` is what messages call the table.
    pub fn new(name: &str, columns: Vec<(String, MemoryColumn)>, rows: usize) -> Result<Self> {
        let (names, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        check_names(&names, &Place::file(Path::new(name)))?;
        Ok(Self { name: name.into(), names, columns: columns.into(), rows, next: 0 })
    }
}

impl Table for MemoryTable {
    fn file(&self) -> &Path {
        &self.name
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn next_row(&mut self) -> Result<Option<Position>> {
        if self.next == self.rows {
            return Ok(None);
        }
        self.next += 1;
        Ok(Some(Position::Row(self.next as u64 - 1)))
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        let row = self.next - 1;
        match &self.columns[column] {
            MemoryColumn::Numbers(values) => {
                values.get(row).map_or(Cell::Null, |&value| Cell::Number(value))
            }
            MemoryColumn::Dates(values) => match values.get(row) {
                Some(value) if !value.is_nan() => Cell::Date(*value),
                _ => Cell::Null,
            },
            MemoryColumn::Bools(values) => {
                values.get(row).copied().flatten().map_or(Cell::Null, Cell::Bool)
            }
            MemoryColumn::Texts { codes, values } => {
                let code = codes.get(row).and_then(|&code| usize::try_from(code).ok());
                code.and_then(|code| values.get(code))
                    .map_or(Cell::Null, |text| Cell::Text(text.trim()))
            }
        }
    }
}
