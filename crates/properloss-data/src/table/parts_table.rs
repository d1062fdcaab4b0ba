//! Several files of the same columns as one table.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Cell, Table};
use crate::error::{Error, Position, Result, list};
use crate::options::ReadOptions;
use crate::read::{Format, open_table};
use crate::source::Source;

/// The rows of each file after those of the file before it. Columns are matched by name, so that
/// their order may differ; a file that has other columns is refused.
pub struct PartsTable {
    name: PathBuf,
    parts: Arc<[Source]>,
    options: ReadOptions,
    columns: Vec<String>,
    selected: Vec<usize>,
    part: Box<dyn Table>,
    /// The number of the part that is read; that of parts after the last.
    number: usize,
    /// For each column its place in the part.
    places: Vec<usize>,
}

impl PartsTable {
    /// Opens the first part, whose columns all must have.
    pub fn open(name: &Path, parts: Arc<[Source]>, options: &ReadOptions) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::EmptyFile { file: name.to_path_buf() });
        };
        let part = open_part(first, options)?;
        let columns = part.columns().to_vec();
        let places = (0..columns.len()).collect();
        let (name, options) = (name.to_path_buf(), options.clone());
        Ok(Self { name, parts, options, columns, selected: Vec::new(), part, number: 0, places })
    }

    /// Turns to the next part; `false` after the last.
    fn next_part(&mut self) -> Result<bool> {
        self.number += 1;
        let Some(source) = self.parts.get(self.number) else { return Ok(false) };
        let mut part = open_part(source, &self.options)?;
        let numbered = part.columns().iter().enumerate().rev();
        let places: HashMap<&String, usize> = numbered.map(|(j, name)| (name, j)).collect();
        let found: Vec<Option<usize>> =
            self.columns.iter().map(|name| places.get(name).copied()).collect();
        let lacks = self.columns.iter().zip(&found).filter(|(_, found)| found.is_none());
        let lacks: Vec<String> = lacks.map(|(name, _)| name.clone()).collect();
        let known: HashSet<&String> = self.columns.iter().collect();
        let others = part.columns().iter().filter(|name| !known.contains(name));
        let others: Vec<String> = others.cloned().collect();
        let reason = match (lacks.is_empty(), others.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("it lacks the columns {}", list(&lacks))),
            (true, false) => Some(format!("it has the further columns {}", list(&others))),
            (false, false) => {
                Some(format!("it has the columns {} instead of {}", list(&others), list(&lacks)))
            }
        };
        if let Some(reason) = reason {
            let first = self.parts[0].name().to_path_buf();
            return Err(Error::OtherPart { file: source.name().to_path_buf(), first, reason });
        }
        self.places = found.into_iter().flatten().collect();
        let selected: Vec<usize> = self.selected.iter().map(|&j| self.places[j]).collect();
        part.select(&selected)?;
        self.part = part;
        Ok(true)
    }
}

/// Opens one file, a table of any format.
fn open_part(source: &Source, options: &ReadOptions) -> Result<Box<dyn Table>> {
    let format = options.format_of(source)?;
    if matches!(format, Format::Libsvm | Format::Idx) {
        let reason = format!("its format is {}", format.name());
        let file = source.name().to_path_buf();
        return Err(Error::OtherPart { first: file.clone(), file, reason });
    }
    open_table(source, format, options)
}

impl Table for PartsTable {
    /// The file of the current row; all of them after the last.
    fn file(&self) -> &Path {
        if self.number < self.parts.len() { self.part.file() } else { &self.name }
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn select(&mut self, columns: &[usize]) -> Result<()> {
        self.selected.extend_from_slice(columns);
        let places: Vec<usize> = columns.iter().map(|&column| self.places[column]).collect();
        self.part.select(&places)
    }

    fn next_row(&mut self) -> Result<Option<Position>> {
        if self.number >= self.parts.len() {
            return Ok(None);
        }
        loop {
            match self.part.next_row()? {
                Some(position) => return Ok(Some(position)),
                None if self.next_part()? => {}
                None => return Ok(None),
            }
        }
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        self.part.cell(self.places[column])
    }
}
