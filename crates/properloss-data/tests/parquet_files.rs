//! Parquet files written by pandas (snappy, gzip) and polars (zstd, snappy).
#![cfg(feature = "parquet")]

mod common;

use std::sync::Arc;

use common::{Directory, fixture, rows, strings};
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use properloss_data::error::Position;
use properloss_data::table::{Cell, ParquetTable, Table};
use properloss_data::{Error, Missing, ReadOptions, Source, UnknownCategory, read};

fn ignore(names: &[&str]) -> ReadOptions {
    ReadOptions::default().with_ignore(strings(names))
}

#[test]
fn pandas_files_give_every_value() {
    for name in ["pandas-snappy.parquet", "pandas-gzip.parquet"] {
        let data = read(&Source::Path(fixture(name)), &ignore(&["when"])).unwrap();
        assert_eq!(
            data.feature_names(),
            [
                "f64",
                "f32",
                "i32",
                "i64",
                "u64",
                "flag",
                "colour=blue",
                "colour=green",
                "colour=red",
                "kind=a",
                "kind=b"
            ]
        );
        assert_eq!((data.rows(), &data.classes), (1200, &["no".into(), "yes".into()]));
        // The formulas of make_parquet.py.
        for (i, row) in rows(&data.features).iter().enumerate() {
            let x = i as f64;
            let one = |condition: bool| f64::from(u8::from(condition));
            let expected = [
                x * 0.5 - 3.0,
                x / 8.0,
                (i % 7) as f64 - 3.0,
                x * 10.0,
                2f64.powi(63) + 4096.0 * x,
                one(i % 3 == 0),
                one(i % 3 == 2),
                one(i % 3 == 1),
                one(i % 3 == 0),
                one(i % 2 == 1),
                one(i % 2 == 0),
            ];
            assert_eq!(row[..], expected, "row {i} of {name}");
            assert_eq!(data.labels[i], u8::from(i % 2 == 0));
        }
    }
}

#[test]
fn polars_nulls_and_nan_are_missing_and_decimals_are_numbers() {
    for name in ["polars-zstd-nulls.parquet", "polars-snappy-nulls.parquet"] {
        let source = Source::Path(fixture(name));
        let error = read(&source, &ignore(&["list"])).unwrap_err();
        assert!(error.to_string().ends_with("row 1, column \"pair.v\": missing value"), "{error}");
        let options = ignore(&["list"]).with_missing(Missing::Mean);
        let data = read(&source, &options).unwrap();
        assert_eq!(
            data.feature_names(),
            ["a", "text=x", "text=y", "price", "small", "pair.u", "pair.v"]
        );
        assert_eq!(
            rows(&data.features),
            [
                [1.5, 1.0, 0.0, 1.25, -1.5, -1.0, 6.0],
                [2.75, 2.0 / 3.0, 1.0 / 3.0, -2.5, 2.5, 2.0, 5.0],
                [2.75, 0.0, 1.0, 3.75, 3.5, 3.0, 6.0],
                [4.0, 1.0, 0.0, 0.1, 0.5, 4.0, 7.0]
            ]
        );
        assert_eq!(data.labels, [0, 1, 0, 1]);
    }
}

/// A timestamp is days since 1970-01-01: 18262 is 2020-01-01, and the rows are a day apart.
#[test]
fn timestamps_are_days() {
    let source = Source::Path(fixture("pandas-snappy.parquet"));
    let data = read(&source, &ReadOptions::default()).unwrap();
    let when = data.feature_names().iter().position(|name| name == "when").unwrap();
    let mut row = vec![0.0; data.columns()];
    for i in 0..28 {
        data.features.copy_row(i, &mut row);
        assert_eq!(row[when], 18_262.0 + i as f64);
    }
}

#[test]
fn columns_that_are_neither_number_nor_text_are_named() {
    let error = read(&Source::Path(fixture("polars-zstd-nulls.parquet")), &ReadOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("values of type list cannot be used"), "{error}");
}

#[test]
fn a_label_that_is_not_there_names_the_columns() {
    let options = ReadOptions::default().with_label(Some("target".into()));
    let error = read(&Source::Path(fixture("pandas-snappy.parquet")), &options).unwrap_err();
    assert!(matches!(&error, Error::NoSuchColumn { name, available, .. }
        if name == "target" && available.len() == 10));
}

#[test]
fn empty_cut_and_damaged_files() {
    let options = ReadOptions::default();
    let error = read(&Source::Path(fixture("polars-no-rows.parquet")), &options).unwrap_err();
    assert!(matches!(error, Error::NoRows { .. }), "{error}");
    let directory = Directory::new();
    let path = directory.write("empty.parquet", b"");
    let error = read(&Source::Path(path), &options).unwrap_err();
    assert!(matches!(error, Error::EmptyFile { .. }), "{error}");

    let whole = std::fs::read(fixture("pandas-snappy.parquet")).unwrap();
    for cut in [4, 100, whole.len() / 2, whole.len() - 1] {
        let path = directory.write("cut.parquet", &whole[..cut]);
        let error = read(&Source::Path(path), &ignore(&["when"])).unwrap_err();
        assert!(matches!(error, Error::Parquet { .. }), "cut at {cut}: {error}");
    }
    // Text in a file that is called Parquet.
    let path = directory.write("text.parquet", b"a,y\n1,0\n2,1\n");
    let error = read(&Source::Path(path), &options).unwrap_err();
    assert!(matches!(error, Error::Parquet { .. }), "{error}");
    // Memory is read as a file is.
    let data = read(&Source::memory("stdin", whole), &ignore(&["when"])).unwrap();
    assert_eq!(data.rows(), 1200);
}

#[test]
fn prediction_reads_the_columns_of_the_model_only() {
    let source = Source::Path(fixture("pandas-snappy.parquet"));
    let options = ignore(&["when", "u64", "i64", "i32", "f32", "kind"]);
    let data = read(&source, &options).unwrap();
    let expected = rows(&data.features);
    let mut seen = Vec::new();
    properloss_data::read::for_each_row(
        &source,
        &data.encoder,
        UnknownCategory::Error,
        &ReadOptions::default(),
        |row| {
            seen.push(row.features.to_vec());
            Ok::<(), Error>(())
        },
    )
    .unwrap();
    assert_eq!(seen, expected);
}

/// Damaged bytes are read or refused. A panic inside the Parquet library would show here.
#[test]
fn damaged_files_do_not_panic() {
    let mut random = properloss_data::random::Random::new(1);
    let full = std::env::var("PROPERLOSS_PROFILE").is_ok_and(|p| p == "fuzz" || p == "full");
    for (name, unusable) in
        [("pandas-snappy.parquet", "when"), ("polars-zstd-nulls.parquet", "list")]
    {
        let mut read_to_the_end = 0;
        let whole = std::fs::read(fixture(name)).unwrap();
        for _ in 0..if full { 5_000 } else { 60 } {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(3) {
                // Half of the damage to the description at the end, where it hurts most.
                let from = if random.below(2) == 0 { 0 } else { bytes.len() - bytes.len() / 4 };
                let at = from + random.below(bytes.len() - from);
                bytes[at] = random.bits() as u8;
            }
            let options = ignore(&[unusable]).with_missing(Missing::Mean);
            let result = read(&Source::memory("damaged.parquet", bytes), &options);
            read_to_the_end += usize::from(result.is_ok());
        }
        assert!(read_to_the_end > 0, "every damage is found before the values are decoded");
    }
}

/// A type that is no number and no text is called by its name.
#[test]
fn times_of_day_are_refused_by_name() {
    let source = Source::Path(fixture("polars-times.parquet"));
    let error = read(&source, &ReadOptions::default()).unwrap_err();
    let said = error.to_string();
    assert!(said.ends_with("column \"at\": values of type time cannot be used"), "{said}");
    assert_eq!(error.hint().as_deref(), Some("pass --ignore at"));
}

/// A file of this schema; `write` is called for every column of every row group.
fn written(
    schema: &str,
    groups: usize,
    properties: WriterProperties,
    mut write: impl FnMut(usize, &str, &mut SerializedColumnWriter<'_>),
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let columns = file.schema_descr().columns().to_vec();
    for group in 0..groups {
        let mut rows = file.next_row_group().unwrap();
        for descriptor in &columns {
            let mut column = rows.next_column().unwrap().unwrap();
            write(group, &descriptor.path().string(), &mut column);
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    file.into_inner().unwrap()
}

fn fill<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &[T::T]) {
    column.typed::<T>().write_batch(values, None, None).unwrap();
}

/// Numbers, truth values, dates and texts, under the logical types of today and the converted types
/// of older programs.
#[test]
fn every_type_is_read_by_its_meaning() {
    let schema = "message m {
        required boolean flag; required float f32; required double f64;
        required int32 i32; required int32 i8 (INTEGER(8,true)); required int32 u32 (INTEGER(32,false));
        required int64 i64; required int64 u64 (INTEGER(64,false)); required int32 old_u32 (UINT_32);
        required int64 old_u64 (UINT_64); required int32 old_i16 (INT_16);
        required int32 price (DECIMAL(9,2)); required int64 long_price (DECIMAL(18,3));
        required fixed_len_byte_array(5) wide_price (DECIMAL(10,1));
        required int32 day (DATE); required int64 millis (TIMESTAMP(MILLIS,true));
        required int64 micros (TIMESTAMP(MICROS,false)); required int64 nanos (TIMESTAMP(NANOS,true));
        required int64 old_millis (TIMESTAMP_MILLIS); required int64 old_micros (TIMESTAMP_MICROS);
        required int96 julian; required binary text (STRING); required binary old_text (UTF8);
        required binary plain; required binary choice (ENUM); required binary json (JSON);
        required int32 y;
    }";
    let bytes = written(schema, 1, WriterProperties::default(), |_, name, column| match name {
        "flag" => fill::<BoolType>(column, &[true, false]),
        "f32" => fill::<FloatType>(column, &[0.1, -2.0]),
        "f64" => fill::<DoubleType>(column, &[0.1, 1e300]),
        "i8" | "old_i16" => fill::<Int32Type>(column, &[-128, 127]),
        "u32" | "old_u32" => fill::<Int32Type>(column, &[-1, 7]),
        "i32" => fill::<Int32Type>(column, &[-1, 7]),
        "i64" => fill::<Int64Type>(column, &[-1, 1 << 40]),
        "u64" | "old_u64" => fill::<Int64Type>(column, &[-1, 5]),
        "price" => fill::<Int32Type>(column, &[-125, 30]),
        "long_price" => fill::<Int64Type>(column, &[1, -7_500]),
        "wide_price" => {
            let number = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
            let values = [[0xff, 0xff, 0xff, 0xff, 0xfb], [0, 0, 0, 1, 0]].map(|b| number(&b));
            fill::<FixedLenByteArrayType>(column, &values);
        }
        "day" => fill::<Int32Type>(column, &[-1, 20_000]),
        "millis" | "old_millis" => fill::<Int64Type>(column, &[-43_200_000, 86_400_000]),
        "micros" | "old_micros" => fill::<Int64Type>(column, &[-43_200_000_000, 86_400_000_000]),
        "nanos" => fill::<Int64Type>(column, &[-43_200_000_000_000, 86_400_000_000_000]),
        "julian" => {
            let day = |day: u32| {
                let mut value = Int96::new();
                value.set_data(0, 0, day);
                value
            };
            fill::<Int96Type>(column, &[day(2_440_588), day(2_440_590)]);
        }
        "y" => fill::<Int32Type>(column, &[0, 1]),
        _ => fill::<ByteArrayType>(column, &["one".into(), " two ".into()]),
    });
    let data = read(&Source::memory("t.parquet", bytes), &ReadOptions::default()).unwrap();
    let names = data.feature_names();
    let found = rows(&data.features);
    let value = |name: &str| {
        let at = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}"));
        [found[0][at], found[1][at]]
    };
    for (name, expected) in [
        ("flag", [1.0, 0.0]),
        ("f32", [f64::from(0.1f32), -2.0]),
        ("f64", [0.1, 1e300]),
        ("i32", [-1.0, 7.0]),
        ("i8", [-128.0, 127.0]),
        ("old_i16", [-128.0, 127.0]),
        ("u32", [4_294_967_295.0, 7.0]),
        ("old_u32", [4_294_967_295.0, 7.0]),
        ("i64", [-1.0, 1_099_511_627_776.0]),
        ("u64", [18_446_744_073_709_551_615.0, 5.0]),
        ("old_u64", [18_446_744_073_709_551_615.0, 5.0]),
        ("price", [-1.25, 0.3]),
        ("long_price", [0.001, -7.5]),
        ("wide_price", [-0.5, 25.6]),
        ("day", [-1.0, 20_000.0]),
        ("millis", [-0.5, 1.0]),
        ("old_millis", [-0.5, 1.0]),
        ("micros", [-0.5, 1.0]),
        ("old_micros", [-0.5, 1.0]),
        ("nanos", [-0.5, 1.0]),
        ("julian", [0.0, 2.0]),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    for name in ["text", "old_text", "plain", "choice", "json"] {
        assert_eq!(value(&format!("{name}=one")), [1.0, 0.0]);
        assert_eq!(value(&format!("{name}=two")), [0.0, 1.0]);
    }
    assert_eq!(data.labels, [0, 1]);
}

/// What is no number, date or text is refused by the name of its type, and only if it is asked for.
#[test]
fn other_types_are_refused_by_name() {
    for (column, kind) in [
        ("fixed_len_byte_array(3) odd", "fixed_len_byte_array"),
        ("fixed_len_byte_array(17) odd (DECIMAL(40,2))", "decimal of more than 38 digits"),
        ("binary odd (DECIMAL(9,2))", "decimal of more than 38 digits"),
        ("int32 odd (TIME(MILLIS,true))", "time"),
        ("int32 odd (TIME_MILLIS)", "time"),
        ("binary odd (BSON)", "bson"),
        ("fixed_len_byte_array(16) odd (UUID)", "uuid"),
        ("fixed_len_byte_array(12) odd (INTERVAL)", "interval"),
    ] {
        let schema =
            format!("message m {{ required int32 a; required {column}; required int32 y; }}");
        let bytes =
            written(&schema, 1, WriterProperties::default(), |_, name, writer| match name {
                "odd" if column.starts_with("int32") => fill::<Int32Type>(writer, &[1, 2]),
                "odd" if column.starts_with("binary") => {
                    fill::<ByteArrayType>(writer, &["a".into(), "b".into()]);
                }
                "odd" => {
                    let length = column[21..].split(')').next().unwrap().parse().unwrap();
                    let value = FixedLenByteArray::from(vec![0; length]);
                    fill::<FixedLenByteArrayType>(writer, &[value.clone(), value]);
                }
                _ => fill::<Int32Type>(writer, &[0, 1]),
            });
        let source = Source::memory("t.parquet", bytes);
        match read(&source, &ReadOptions::default()).unwrap_err() {
            Error::ParquetType { place, kind: found } => {
                assert!(found.starts_with(kind), "{column}: {found}");
                assert_eq!(place.column.as_deref(), Some("odd"));
            }
            other => panic!("{column}: {other}"),
        }
        assert_eq!(rows(&read(&source, &ignore(&["odd"])).unwrap().features), [[0.0], [1.0]]);
    }
}

const NUMBERED: &str =
    "message m { optional double a; required binary c (UTF8); required int32 y; }";

/// Rows 0, 1, 2, ... in groups of these many; every fifth value is null.
fn numbered(groups: &[i32]) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(1000)
        .set_write_batch_size(1000)
        .build();
    let first = |group: usize| groups[..group].iter().sum::<i32>();
    written(NUMBERED, groups.len(), properties, |group, name, column| {
        let rows = first(group)..first(group) + groups[group];
        match name {
            "a" => {
                let levels: Vec<i16> = rows.clone().map(|i| i16::from(i % 5 != 0)).collect();
                let values: Vec<f64> = rows.filter(|i| i % 5 != 0).map(f64::from).collect();
                let column = column.typed::<DoubleType>();
                column.write_batch(&values, Some(&levels), None).unwrap();
            }
            "c" => {
                let texts: Vec<ByteArray> =
                    rows.map(|i| format!("{}", i % 3).as_str().into()).collect();
                fill::<ByteArrayType>(column, &texts);
            }
            _ => fill::<Int32Type>(column, &rows.map(|i| i % 2).collect::<Vec<_>>()),
        }
    })
}

/// Batches of 1024 rows, pages of 1000 and row groups of any length, an empty one too, are one table.
#[test]
fn row_groups_and_pages_are_one_table() {
    for groups in [&[1024, 1][..], &[2048], &[1, 1, 1, 4], &[1500, 0, 2500], &[1023, 1025]] {
        let total = groups.iter().sum::<i32>();
        let source = Source::memory("t.parquet", numbered(groups));
        let mut table = ParquetTable::open(&source, None).unwrap();
        assert_eq!(table.columns(), ["a", "c", "y"]);
        table.select(&[0]).unwrap();
        table.select(&[1, 0]).unwrap();
        for i in 0..total {
            assert_eq!(table.next_row().unwrap(), Some(Position::Row(i as u64 + 1)));
            let expected = if i % 5 == 0 { Cell::Null } else { Cell::Number(f64::from(i)) };
            assert_eq!(table.cell(0), expected, "row {i} of {groups:?}");
            assert_eq!(table.cell(1), Cell::Text(["0", "1", "2"][(i % 3) as usize]));
            // What was not asked for is not there.
            assert_eq!(table.cell(2), Cell::Null);
        }
        assert_eq!(table.next_row().unwrap(), None);
        assert_eq!(table.next_row().unwrap(), None);
        let place = table.place(Position::Row(3), 1);
        assert_eq!(place.to_string(), "t.parquet, row 3, column \"c\"");
    }
}

/// Damage is told with the row group that it is in, found at its start or in the middle of it.
#[test]
fn damage_is_told_with_its_row_group() {
    let whole = numbered(&[3000, 3000]);
    let reader = SerializedFileReader::new(bytes::Bytes::from(whole.clone())).unwrap();
    let column = |group: usize| reader.metadata().row_group(group).column(0).byte_range();
    let options = ReadOptions::default().with_missing(Missing::Mean);
    let told = |from: u64, count: usize| {
        let mut bytes = whole.clone();
        bytes[from as usize..from as usize + count].fill(0xff);
        match read(&Source::memory("t.parquet", bytes), &options).unwrap_err() {
            Error::Parquet { reason, .. } => reason,
            other => panic!("{other}"),
        }
    };
    for group in 0..2 {
        let (start, length) = column(group);
        let named = format!("row group {} of 2: ", group + 1);
        let header = told(start, 8);
        assert!(header.starts_with(&named), "{header}");
        // The bytes of the last page, after its header was believed.
        let page = told(start + length - 64, 64);
        assert!(page.starts_with(&named), "{page}");
    }
    assert!(read(&Source::memory("t.parquet", whole.clone()), &options).is_ok());
}

/// A text that is none is told with its column, not read as something else.
#[test]
fn texts_must_be_utf8() {
    let schema = "message m { required binary c (UTF8); required int32 y; }";
    let bytes = written(schema, 1, WriterProperties::default(), |_, name, column| match name {
        "c" => fill::<ByteArrayType>(column, &["a".into(), vec![0xff, 0xfe].into(), "b".into()]),
        _ => fill::<Int32Type>(column, &[0, 1, 0]),
    });
    match read(&Source::memory("t.parquet", bytes), &ReadOptions::default()).unwrap_err() {
        Error::NotUtf8 { place } => assert_eq!(place.column.as_deref(), Some("c")),
        other => panic!("{other}"),
    }
}

/// Fields of a struct are columns of their own; a list is one, however it is stored.
#[test]
fn nested_columns_have_names() {
    let schema = "message m {
        required group p { required int32 a; required group q { required int32 b; } }
        repeated group l { required int32 k; required int32 v; }
        required int32 y;
    }";
    let bytes = written(schema, 1, WriterProperties::default(), |_, name, column| match name {
        "l.k" | "l.v" => {
            let column = column.typed::<Int32Type>();
            column.write_batch(&[1, 2], Some(&[1, 1]), Some(&[0, 0])).unwrap();
        }
        "y" => fill::<Int32Type>(column, &[0, 1]),
        _ => fill::<Int32Type>(column, &[3, 4]),
    });
    let source = Source::memory("t.parquet", bytes);
    let table = ParquetTable::open(&source, None).unwrap();
    assert_eq!(table.columns(), ["p.a", "p.q.b", "l", "y"]);
    let data = read(&source, &ignore(&["l"])).unwrap();
    assert_eq!(rows(&data.features), [[3.0, 3.0], [4.0, 4.0]]);
    match read(&source, &ReadOptions::default()).unwrap_err() {
        Error::ParquetType { kind, .. } => assert_eq!(kind, "list"),
        other => panic!("{other}"),
    }
}
