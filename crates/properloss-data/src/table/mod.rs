//! Tables: rows of named columns, one at a time, whatever the file format.

mod bounded;
mod csv_table;
mod memory_table;
#[cfg(feature = "parquet")]
mod parquet_claims;
#[cfg(feature = "parquet")]
mod parquet_table;
mod parts_table;
#[cfg(feature = "parquet")]
mod thrift;

use std::path::Path;

pub use csv_table::{CsvFormat, CsvTable};
pub use memory_table::{MemoryColumn, MemoryTable};
#[cfg(feature = "parquet")]
pub use parquet_table::ParquetTable;
pub use parts_table::PartsTable;

use crate::error::{Error, Place, Position, Result};

/// One value of a table, before anything is known of its column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// No value: a null.
    Null,
    /// A number.
    Number(f64),
    /// A truth value; as a number 0 or 1, as a text `false` or `true`.
    Bool(bool),
    /// A date or time, in [days since 1970-01-01](crate::date::days).
    Date(f64),
    /// A text, which may be the writing of a number, a truth value or a date (CSV), or a word for
    /// "missing".
    Text(&'a str),
}

/// A table read from front to back in constant memory.
pub trait Table {
    /// The file, for messages.
    fn file(&self) -> &Path;

    /// The names of the columns; distinct and not empty.
    fn columns(&self) -> &[String];

    /// Only these columns will be asked for from now on. Called before the first row.
    fn select(&mut self, columns: &[usize]) -> Result<()> {
        let _ = columns;
        Ok(())
    }

    /// To the next row; `None` after the last one.
    fn next_row(&mut self) -> Result<Option<Position>>;

    /// The value of a selected column in the current row.
    fn cell(&self, column: usize) -> Cell<'_>;

    /// The place of a value of the current row.
    fn place(&self, position: Position, column: usize) -> Place {
        Place::at(self.file(), position).column(&self.columns()[column])
    }
}

/// Where `name` stands among the columns.
pub(crate) fn find_column(table: &dyn Table, role: &'static str, name: &str) -> Result<usize> {
    table.columns().iter().position(|column| column == name).ok_or_else(|| Error::NoSuchColumn {
        file: table.file().to_path_buf(),
        role,
        name: name.to_owned(),
        available: table.columns().to_vec(),
    })
}

/// Names must be there and distinct, or a column could not be chosen by name.
fn check_names(names: &[String], place: &Place) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::UnnamedColumn { place: place.clone(), number: index + 1 });
        }
        if let Some(first) = seen.insert(name, index) {
            let place = place.clone().column(name);
            return Err(Error::DuplicateColumn { place, first: first + 1, second: index + 1 });
        }
    }
    Ok(())
}
