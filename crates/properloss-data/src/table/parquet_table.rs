//! Parquet files, read by column in batches of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::parquet_claims::{Bytes, check_footer, check_pages};
use super::{Cell, Table, check_names};
use crate::date;
use crate::error::{Error, Place, Position, Result};
use crate::memory::Budget;
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
    /// Days, or so many parts of a second, since 1970-01-01.
    Date {
        per_second: Option<i64>,
    },
    Text,
    /// Neither number nor text; an error once it is asked for.
    Other(String),
}

/// The values of one column in the current batch.
enum Values {
    Numbers(Vec<f64>),
    Bools(Vec<bool>),
    Dates(Vec<f64>),
    Texts(Vec<ByteArray>),
}

struct Column {
    /// Position among the names.
    index: usize,
    /// Position in the file.
    leaf: usize,
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
    /// For each column its place among the stored ones.
    leaves: Vec<usize>,
    reader: Box<dyn FileReader>,
    bytes: Bytes,
    budget: Budget,
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
    /// Opens a file or memory; `memory` as in [`crate::ReadOptions::memory`].
    pub fn open(source: &Source, memory: Option<u64>) -> Result<Self> {
        let file = source.name().to_path_buf();
        let budget = Budget::or_machine(memory);
        let source = &source.seekable(budget)?;
        let mut bytes = Bytes::open(source)?;
        check_footer(&mut bytes, &file, budget)?;
        let reader: Box<dyn FileReader> = match (source.path()?, source) {
            (Some(path), _) => {
                let handle = File::open(path).map_err(|e| Error::read(&file, e))?;
                if handle.metadata().map_err(|e| Error::read(&file, e))?.len() == 0 {
                    return Err(Error::EmptyFile { file: file.clone() });
                }
                Box::new(guarded(&file, || SerializedFileReader::new(handle))?)
            }
            (None, Source::Memory { bytes, .. }) => {
                let bytes = bytes::Bytes::from_owner(std::sync::Arc::clone(bytes));
                Box::new(guarded(&file, || SerializedFileReader::new(bytes))?)
            }
            (None, _) => return Err(Error::EmptyFile { file }),
        };
        let schema = reader.metadata().file_metadata().schema_descr();
        let (columns, leaves) = column_names(schema);
        check_names(&columns, &Place::file(&file))?;
        let slot = vec![None; columns.len()];
        Ok(Self {
            file,
            columns,
            leaves,
            reader,
            bytes,
            budget,
            selected: Vec::new(),
            slot,
            next_group: 0,
            rows_left_in_group: 0,
            batch_rows: 0,
            row_in_batch: 0,
            row: 0,
        })
    }

    /// The next batch; an error names the row group.
    fn next_batch(&mut self) -> Result<bool> {
        let begun = usize::from(self.rows_left_in_group > 0);
        let group = self.next_group + 1 - begun;
        self.decode_batch().map_err(|error| match error {
            Error::Parquet { file, reason } => {
                let groups = self.reader.num_row_groups();
                let reason = format!("row group {group} of {groups}: {reason}");
                Error::Parquet { file, reason }
            }
            other => other,
        })
    }

    fn decode_batch(&mut self) -> Result<bool> {
        while self.rows_left_in_group == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(false);
            }
            for column in &self.selected {
                let chunk = guarded(&self.file, || {
                    let group = self.reader.metadata().row_group(self.next_group);
                    Ok(group.column(column.leaf).byte_range())
                })?;
                check_pages(&mut self.bytes, chunk, &self.file, self.budget)?;
            }
            self.rows_left_in_group = guarded(&self.file, || {
                let group = self.reader.get_row_group(self.next_group)?;
                for column in &mut self.selected {
                    column.reader = Some(group.get_column_reader(column.leaf)?);
                }
                Ok(usize::try_from(group.metadata().num_rows()).unwrap_or_default())
            })?;
            self.next_group += 1;
        }
        let rows = self.rows_left_in_group.min(BATCH);
        for column in &mut self.selected {
            let index = column.index;
            let place = || Place::file(&self.file).column(&self.columns[index]);
            let found = guarded(&self.file, || read_values(column, rows))?;
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
            let leaf = self.leaves[index];
            let descriptor = schema.column(leaf);
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
                    leaf,
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
            Values::Dates(dates) => Cell::Date(dates[value]),
            Values::Texts(texts) => {
                texts[value].as_utf8().map_or(Cell::Null, |text| Cell::Text(text.trim()))
            }
        }
    }
}

/// The names of the columns and their places among the stored ones. Fields of a struct are columns
/// of their own, `outer.inner`; a list, however many columns it is stored as, is one (and unusable).
fn column_names(schema: &SchemaDescriptor) -> (Vec<String>, Vec<usize>) {
    let (mut names, mut leaves) = (Vec::new(), Vec::new());
    let mut last_list = None;
    for (leaf, column) in schema.columns().iter().enumerate() {
        if column.max_rep_level() == 0 {
            names.push(column.path().string());
        } else {
            let root = column.path().parts().first().cloned().unwrap_or_default();
            if last_list.as_ref() == Some(&root) {
                continue;
            }
            last_list = Some(root.clone());
            names.push(root);
        }
        leaves.push(leaf);
    }
    (names, leaves)
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
        // The times of older programs, in nanoseconds whatever the schema says.
        PhysicalType::INT96 => Meaning::Date { per_second: None },
        PhysicalType::FIXED_LEN_BYTE_ARRAY => Meaning::Other(physical.to_string().to_lowercase()),
    };
    let decimal = |scale| match physical {
        PhysicalType::INT32 | PhysicalType::INT64 => Meaning::Integer { unsigned: false, scale },
        PhysicalType::FIXED_LEN_BYTE_ARRAY if column.type_length() <= 16 => {
            Meaning::Integer { unsigned: false, scale }
        }
        _ => Meaning::Other("decimal of more than 38 digits".into()),
    };
    match column.logical_type_ref() {
        Some(LogicalType::Integer(int)) => return plain(!int.is_signed),
        Some(LogicalType::Decimal(kind)) => return decimal(kind.scale),
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => return plain(false),
        Some(LogicalType::Date) => return Meaning::Date { per_second: None },
        Some(LogicalType::Timestamp(kind)) => {
            let per_second = match kind.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            };
            return Meaning::Date { per_second: Some(per_second) };
        }
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
        ConvertedType::DATE => Meaning::Date { per_second: None },
        ConvertedType::TIMESTAMP_MILLIS => Meaning::Date { per_second: Some(1_000) },
        ConvertedType::TIMESTAMP_MICROS => Meaning::Date { per_second: Some(1_000_000) },
        ConvertedType::DECIMAL => decimal(column.type_scale()),
        other => Meaning::Other(other.to_string().to_lowercase()),
    }
}

/// The next `count` rows of a column; returns how many there were.
fn read_values(column: &mut Column, count: usize) -> parquet::errors::Result<usize> {
    let Column { meaning, full_level, reader: Some(reader), values, rows, .. } = column else {
        return Ok(0);
    };
    let (unsigned, scale) = match *meaning {
        Meaning::Integer { unsigned, scale } => (unsigned, scale),
        _ => (false, 0),
    };
    let scaled = |number: i128| scaled(number, scale);
    *values = match reader {
        ColumnReader::BoolColumnReader(reader) => {
            Values::Bools(read(reader, count, *full_level, rows)?)
        }
        ColumnReader::Int32ColumnReader(reader) if matches!(meaning, Meaning::Date { .. }) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Dates(raw.into_iter().map(|day| date::days(i64::from(day), 0)).collect())
        }
        ColumnReader::Int64ColumnReader(reader) if matches!(meaning, Meaning::Date { .. }) => {
            let Meaning::Date { per_second } = *meaning else { return Ok(0) };
            let raw = read(reader, count, *full_level, rows)?;
            let day = |ticks| per_second.map_or(ticks as f64, |unit| date::of_ticks(ticks, unit));
            Values::Dates(raw.into_iter().map(day).collect())
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            let number = |v: i32| if unsigned { i128::from(v as u32) } else { i128::from(v) };
            Values::Numbers(raw.into_iter().map(|v| scaled(number(v))).collect())
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            let number = |v: i64| if unsigned { i128::from(v as u64) } else { i128::from(v) };
            Values::Numbers(raw.into_iter().map(|v| scaled(number(v))).collect())
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
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Numbers(raw.iter().map(|v| scaled(big_endian(v.data()))).collect())
        }
        ColumnReader::Int96ColumnReader(reader) => {
            let raw = read(reader, count, *full_level, rows)?;
            Values::Dates(raw.iter().map(|time| julian(time.data())).collect())
        }
    };
    Ok(rows.len())
}

/// `number · 10^-scale`, rounded once, as the text of the decimal would be.
fn scaled(number: i128, scale: i32) -> f64 {
    let exact = number.unsigned_abs() <= 1 << 53 && (0..=22).contains(&scale);
    match scale {
        0 => number as f64,
        // Both are exact, and a division rounds once.
        _ if exact => number as f64 / 10f64.powi(scale),
        _ => format!("{number}e{}", -i64::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

/// Nanoseconds of the day in two words, then the Julian day, of which 2,440,588 is 1970-01-01.
fn julian(words: &[u32]) -> f64 {
    let &[low, high, day] = words else { return f64::NAN };
    let nanoseconds = (u64::from(high) << 32 | u64::from(low)) as i64;
    date::days(i64::from(day) - 2_440_588, nanoseconds)
}

/// A big-endian two's complement number of at most 16 bytes.
fn big_endian(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|&first| first >= 0x80);
    bytes.iter().fold(if negative { -1 } else { 0 }, |sum, &byte| (sum << 8) | i128::from(byte))
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

/// Runs the decoder. On damaged pages the library may panic where it should return an error; either
/// way the file is damaged, and the table is not used any more.
fn guarded<T>(file: &Path, decode: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    let reason = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(ParquetError::General(reason) | ParquetError::EOF(reason))) => reason,
        Ok(Err(other)) => other.to_string(),
        Err(_) => "a page does not decode".into(),
    };
    Err(Error::Parquet { file: file.to_path_buf(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the text of the decimal would be read.
    #[test]
    fn decimals_are_rounded_once() {
        for (number, scale, text) in [
            (123, 0, "123"),
            (-123, 2, "-1.23"),
            (1, 22, "1e-22"),
            (5, -3, "5000"),
            ((1 << 53) + 1, 0, "9007199254740993"),
            ((1 << 53) + 1, 3, "9007199254740.993"),
            (1, 23, "1e-23"),
            (10i128.pow(37) + 7, 30, "10000000.000000000000000000000000000007"),
        ] {
            assert_eq!(scaled(number, scale), text.parse::<f64>().unwrap(), "{number} {scale}");
        }
    }

    #[test]
    fn julian_days_and_big_endian_numbers() {
        assert_eq!(julian(&[0, 0, 2_440_588]), 0.0);
        assert_eq!(julian(&[0, 0, 2_440_589]), 1.0);
        // Half a day of nanoseconds, 43,200e9 = 10058 * 2^32 + 1_220_837_376 or so.
        let half = 43_200_000_000_000u64;
        assert_eq!(julian(&[half as u32, (half >> 32) as u32, 2_440_587]), -0.5);
        assert!(julian(&[1, 2]).is_nan());
        assert_eq!(big_endian(&[]), 0);
        assert_eq!(big_endian(&[1, 0]), 256);
        assert_eq!(big_endian(&[0xff, 0xfe]), -2);
        assert_eq!(big_endian(&[0x80]), -128);
        assert_eq!(big_endian(&[0x7f, 0xff]), 32767);
    }
}
