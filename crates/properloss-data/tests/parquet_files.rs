//! Parquet files written by pandas (snappy, gzip) and polars (zstd, snappy).
#![cfg(feature = "parquet")]

mod common;

use common::{Directory, fixture, rows, strings};
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
