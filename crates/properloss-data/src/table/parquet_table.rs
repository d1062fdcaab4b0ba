//! Parquet files, read by column in batches of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::{Cell, Table, check_names};
use crate::error::{Error, Place, Position, Result};
use crate::source::Source;

/// Rows decoded at a time: large enough to be fast, small beside a row group.
const BATCH: usize = 1024;

/// How the stored values of a column are to be read.
#[derive(Debug, Clone, PartialEq)]
enum Meaning {
    Bool,
    /// An integer times `10^-scale`.
    Integer {
        unsigned: bool,
        scale: i32,
    },
    Float,
    Text,
    /// Neither number nor text; an error once it is asked for.
    Other(String),
}

/// The values of one column in the current batch.
enum Values {
    Numbers(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<ByteArray>),
}

struct Column {
    /// Position in the file.
    index: usize,
    meaning: Meaning,
    /// The definition level of a value that is not null.
    full_level: i16,
    reader: Option<ColumnReader>,
    values: Values,
    /// For each row of the batch the position of its value, `None` for a null.
    rows: Vec<Option<u32>>,
}

/// A Parquet file. Memory: one page and one batch for each selected column.
pub struct ParquetTable {
    file: PathBuf,
    columns: Vec<String>,
    reader: Box<dyn FileReader>,
    selected: Vec<Column>,
    /// For each column of the file its place in `selected`.
    slot: Vec<Option<usize>>,
    next_group: usize,
    rows_left_in_group: usize,
    batch_rows: usize,
    row_in_batch: usize,
    row: u64,
}

impl ParquetTable {
    /// Opens a file or memory.
    pub fn open(source: &Source) -> Result<Self> {
        let file = source.name().to_path_buf();
        let fail = |error: ParquetError| parquet_error(&file, &error);
        let reader: Box<dyn FileReader> = match source {
            Source::Path(path) => {
                let handle = File::open(path).map_err(|e| Error::read(path, e))?;
                if handle.metadata().map_err(|e| Error::read(path, e))?.len() == 0 {
                    return Err(Error::EmptyFile { file: file.clone() });
                }
                Box::new(SerializedFileReader::new(handle).map_err(fail)?)
            }
            Source::Memory { bytes, .. } => {
                let bytes = bytes::Bytes::copy_from_slice(bytes);
                Box::new(SerializedFileReader::new(bytes).map_err(fail)?)
            }
        };
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
        check_names(&columns, &Place::file(&file))?;
        let slot = vec![None; columns.len()];
        Ok(Self {
            file,
            columns,
            reader,
            selected: Vec::new(),
            slot,
            next_group: 0,
            rows_left_in_group: 0,
            batch_rows: 0,
            row_in_batch: 0,
            row: 0,
        })
    }

    fn next_batch(&mut self) -> Result<bool> {
        while self.rows_left_in_group == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let fail = |error: ParquetError| parquet_error(&self.file, &error);
            let group = self.reader.get_row_group(self.next_group).map_err(fail)?;
            self.rows_left_in_group =
                usize::try_from(group.metadata().num_rows()).unwrap_or_default();
            for column in &mut self.selected {
                column.reader = Some(group.get_column_reader(column.index).map_err(fail)?);
            }
            self.next_group += 1;
        }
        let rows = self.rows_left_in_group.min(BATCH);
        for column in &mut self.selected {
            let index = column.index;
            let place = || Place::file(&self.file).column(&self.columns[index]);
            let found = read_values(column, rows).map_err(|e| parquet_error(&self.file, &e))?;
            if found != rows {
                let reason = format!("{} ends early", place());
                return Err(Error::Parquet { file: self.file.clone(), reason });
            }
            if let Values::Texts(texts) = &column.values
                && texts.iter().any(|text| text.as_utf8().is_err())
            {
                return Err(Error::NotUtf8 { place: place() });
            }
        }
        self.rows_left_in_group -= rows;
        self.batch_rows = rows;
        self.row_in_batch = 0;
        Ok(true)
    }
}

impl Table for ParquetTable {
    fn file(&self) -> &Path {
        &self.file
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn select(&mut self, columns: &[usize]) -> Result<()> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        for &index in columns {
            let descriptor = schema.column(index);
            let meaning = meaning(&descriptor);
            if let Meaning::Other(kind) = &meaning {
                let place = Place::file(&self.file).column(&self.columns[index]);
                return Err(Error::ParquetType { place, kind: kind.clone() });
            }
            if self.slot[index].is_none() {
                self.slot[index] = Some(self.selected.len());
                let values = Values::Numbers(Vec::new());
                self.selected.push(Column {
                    index,
                    meaning,
                    full_level: descriptor.max_def_level(),
                    reader: None,
                    values,
                    rows: Vec::new(),
                });
            }
        }
        Ok(())
    }

    fn next_row(&mut self) -> Result<Option<Position>> {
        self.row_in_batch += 1;
        if self.row_in_batch >= self.batch_rows && !self.next_batch()? {
            return Ok(None);
        }
        self.row += 1;
        Ok(Some(Position::Row(self.row)))
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        let Some(column) = self.slot[column].map(|slot| &self.selected[slot]) else {
            return Cell::Null;
        };
        let Some(value) = column.rows[self.row_in_batch] else { return Cell::Null };
        let value = value as usize;
        match &column.values {
            Values::Numbers(numbers) => Cell::Number(numbers[value]),
            Values::Bools(bools) => Cell::Bool(bools[value]),
            Values::Texts(texts) => {
                texts[value].as_utf8().map_or(Cell::Null, |text| Cell::Text(text.trim()))
            }
        }
    }
}

/// What a column holds, from its logical type, or the older converted type that stands for it.
fn meaning(column: &ColumnDescriptor) -> Meaning {
    if column.max_rep_level() > 0 {
        return Meaning::Other("list".into());
    }
    let physical = column.physical_type();
    let plain = |unsigned| match physical {
        PhysicalType::BOOLEAN => Meaning::Bool,
        PhysicalType::INT32 | PhysicalType::INT64 => Meaning::Integer { unsigned, scale: 0 },
        PhysicalType::FLOAT | PhysicalType::DOUBLE => Meaning::Float,
        PhysicalType::BYTE_ARRAY => Meaning::Text,
        PhysicalType::INT96 | PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            Meaning::Other(physical.to_string())
        }
    };
    let decimal = |scale| match physical {
        PhysicalType::INT32 | PhysicalType::INT64 => Meaning::Integer { unsigned: false, scale },
        _ => Meaning::Other("decimal of more than 18 digits".into()),
    };
    match column.logical_type_ref() {
        Some(LogicalType::Integer(int)) => return plain(!int.is_signed),
        Some(LogicalType::Decimal(kind)) => return decimal(kind.scale),
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => return plain(false),
        // A column of nulls only.
        Some(LogicalType::Unknown) => return plain(false),
        Some(other) => {
            let name = format!("{other:?}");
            let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
            return Meaning::Other(name[..end].to_lowercase());
        }
        None => {}
    }
    match column.converted_type() {
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => plain(true),
        ConvertedType::NONE
        | ConvertedType::UTF8
        | ConvertedType::ENUM
        | ConvertedType::JSON
        | ConvertedType::INT_8
        | ConvertedType::INT_16
        | ConvertedType::INT_32
        | ConvertedType::INT_64 => plain(false),
        ConvertedType::DECIMAL => decimal(column.type_scale()),
        other => Meaning::Other(other.to_string().to_lowercase()),
    }
}

/// The next `count` rows of a column; returns how many there were.
fn read_values(column: &mut Column, count: usize) -> parquet::errors::Result<usize> {
    let Column { meaning, full_level, reader: Some(reader), values, rows, .. } = column else {
        return Ok(0);
    };
    let integer = |bits: u32, value: i64| -> f64 {
        let Meaning::Integer { unsigned, scale } = *meaning else { return value as f64 };
        let number = match (unsigned, bits) {
            (false, _) => value as f64,
            (true, 32) => f64::from(value as u32),
            (true, _) => value as u64 as f64,
        };
        // Dividing by an exact power of ten gives the nearest double to the decimal.
        if scale == 0 { number } else { number / 10f64.powi(scale) }
    };
    *values = match reader {
        ColumnReader::BoolColumnReader(reader) => {
            Values::Bools(read(reader, count, *full_level, rows)?)
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Numbers(raw.into_iter().map(|v| integer(32, i64::from(v))).collect())
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Numbers(raw.into_iter().map(|v| integer(64, v)).collect())
        }
        ColumnReader::FloatColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Numbers(raw.into_iter().map(f64::from).collect())
        }
        ColumnReader::DoubleColumnReader(reader) => {
            Values::Numbers(read(reader, count, *full_level, rows)?)
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            Values::Texts(read(reader, count, *full_level, rows)?)
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            return Err(ParquetError::General("unexpected column type".into()));
        }
    };
    Ok(rows.len())
}

/// Reads values and finds the row of each: a value is there where the definition level is maximal.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    full_level: i16,
    rows: &mut Vec<Option<u32>>,
) -> parquet::errors::Result<Vec<T::T>> {
    let mut values = Vec::with_capacity(count);
    let mut levels: Vec<i16> = Vec::new();
    let (records, _, _) = reader.read_records(count, Some(&mut levels), None, &mut values)?;
    rows.clear();
    let mut next = 0u32;
    for row in 0..records {
        // Columns that cannot be null have no levels at all.
        let present = full_level == 0 || levels.get(row) == Some(&full_level);
        rows.push(present.then_some(next));
        next += u32::from(present);
    }
    Ok(values)
}

fn parquet_error(file: &Path, error: &ParquetError) -> Error {
    let reason = match error {
        ParquetError::General(reason) | ParquetError::EOF(reason) => reason.clone(),
        other => other.to_string(),
    };
    Error::Parquet { file: file.to_path_buf(), reason }
}
