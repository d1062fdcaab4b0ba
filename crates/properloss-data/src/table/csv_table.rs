//! Text tables: CSV and TSV.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bounded::{Bounded, Refusal, Taken, refusal};
use super::{Cell, Table, check_names};
use crate::error::{Error, Place, Position, Result};
use crate::memory::{COLUMN_LIMIT, FIELD_LIMIT, LINE_LIMIT, shown_bytes};
use crate::source::{Source, decompressed, read_error};

/// How a text table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvFormat {
    /// What stands between two fields.
    pub delimiter: u8,
    /// Whether the first line holds the names; without it they are `x1`, `x2`, ...
    pub header: bool,
}

impl CsvFormat {
    /// Tabs for `.tsv` and `.tab` (also with `.gz`), commas for the rest; with a header.
    pub fn of(path: &Path) -> Self {
        let tabs = matches!(crate::read::extension(path).as_str(), "tsv" | "tab");
        Self { delimiter: if tabs { b'\t' } else { b',' }, header: true }
    }
}

/// A CSV or TSV file, read line by line. Fields may be quoted; spaces around a field do not count.
/// Records, fields and columns have the limits of [`crate::memory`].
pub struct CsvTable {
    file: PathBuf,
    columns: Vec<String>,
    reader: csv::Reader<Bounded>,
    taken: Arc<Taken>,
    record: csv::StringRecord,
    /// Without a header the first record is the first row.
    first_is_row: bool,
}

impl CsvTable {
    /// Opens a file or memory.
    pub fn open(source: &Source, format: CsvFormat) -> Result<Self> {
        Self::new(source.open()?, source.name(), format)
    }

    /// Reads from anything, such as standard input, once; plain or gzip.
    pub fn from_reader(input: impl Read + 'static, name: &Path, format: CsvFormat) -> Result<Self> {
        Self::new(decompressed(input, name)?, name, format)
    }

    fn new(input: Box<dyn BufRead>, file: &Path, format: CsvFormat) -> Result<Self> {
        let (input, taken) = Bounded::new(input, format.delimiter);
        let reader = csv::ReaderBuilder::new()
            .delimiter(format.delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(input);
        let mut table = Self {
            file: file.to_path_buf(),
            columns: Vec::new(),
            reader,
            taken,
            record: csv::StringRecord::new(),
            first_is_row: !format.header,
        };
        if !table.read_record()? {
            return Err(Error::EmptyFile { file: table.file });
        }
        let place = Place::at(&table.file, Position::Line(table.line()));
        if format.header {
            table.columns = table.record.iter().map(|name| name.trim().to_owned()).collect();
            check_header(&table.columns, &place, format.delimiter)?;
        } else {
            table.columns = (1..=table.record.len()).map(|j| format!("x{j}")).collect();
        }
        Ok(table)
    }

    fn read_record(&mut self) -> Result<bool> {
        self.taken.reset();
        let start = self.reader.position().line();
        let found = self.reader.read_record(&mut self.record).map_err(|error| {
            let position = error.position().map_or(1, csv::Position::line);
            match error.into_kind() {
                csv::ErrorKind::Io(error) => match refusal(&error) {
                    Some(refusal) => self.refused(refusal, start),
                    None => read_error(&self.file, error),
                },
                csv::ErrorKind::Utf8 { err, .. } => {
                    let mut place = Place::at(&self.file, Position::Line(position));
                    place.column = self.columns.get(err.field()).cloned();
                    Error::NotUtf8 { place }
                }
                // The remaining kinds come from serde and unequal lengths, which are not used.
                other => Error::Read {
                    file: self.file.clone(),
                    source: std::io::Error::other(format!("{other:?}")),
                },
            }
        })?;
        // Most records are shorter than one field may be.
        if self.record.as_slice().len() > FIELD_LIMIT
            && self.record.iter().any(|field| field.len() > FIELD_LIMIT)
        {
            let place = Place::at(&self.file, Position::Line(self.line()));
            let limit = shown_bytes(FIELD_LIMIT as u64);
            return Err(Error::TooLong { place, what: "a field", limit });
        }
        if self.record.len() > COLUMN_LIMIT {
            return Err(self.refused(Refusal::Fields, self.line()));
        }
        Ok(found)
    }

    fn refused(&self, refusal: Refusal, line: u64) -> Error {
        let place = Place::at(&self.file, Position::Line(line));
        match refusal {
            Refusal::Fields => Error::TooManyColumns { place, limit: COLUMN_LIMIT },
            Refusal::Length => {
                Error::TooLong { place, what: "a line", limit: shown_bytes(LINE_LIMIT as u64) }
            }
        }
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(1, csv::Position::line)
    }
}

impl Table for CsvTable {
    fn file(&self) -> &Path {
        &self.file
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Position>> {
        if self.first_is_row {
            self.first_is_row = false;
        } else if !self.read_record()? {
            return Ok(None);
        }
        let position = Position::Line(self.line());
        if self.record.len() != self.columns.len() {
            return Err(Error::RaggedRow {
                place: Place::at(&self.file, position),
                found: self.record.len(),
                expected: self.columns.len(),
            });
        }
        Ok(Some(position))
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        self.record.get(column).map_or(Cell::Null, |field| Cell::Text(field.trim()))
    }
}

fn check_header(names: &[String], place: &Place, delimiter: u8) -> Result<()> {
    // A file of one column may be meant: a model of one feature needs no more.
    if let [name] = names
        && name.contains([',', ';', '\t', '|'])
    {
        return Err(Error::OneColumn {
            place: place.clone(),
            name: name.clone(),
            delimiter: char::from(delimiter),
        });
    }
    // Names that are all numbers are data, unless they count the columns: 0, 1, 2, ... from 0 or 1.
    let numbers: Option<Vec<f64>> = names.iter().map(|name| name.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let counts = |from: usize| numbers.iter().zip(from..).all(|(&n, k)| n == k as f64);
        if !counts(0) && !counts(1) {
            return Err(Error::HeaderIsData { place: place.clone() });
        }
    }
    check_names(names, place)
}
