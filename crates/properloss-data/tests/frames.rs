//! A table in memory is encoded as the same rows of a file are.

use properloss_data::encoder::{Column, ColumnKind, Writing};
use properloss_data::error::Position;
use properloss_data::table::{Cell, MemoryColumn, MemoryTable, Table};
use properloss_data::{Encoder, Missing, ReadOptions, Source, UnknownCategory, date, read};

fn frame() -> MemoryTable {
    let texts = |values: &[&str], codes: &[i64]| MemoryColumn::Texts {
        codes: codes.to_vec(),
        values: values.iter().map(|&text| text.to_owned()).collect(),
    };
    let ticks = [1_704_067_200_123, i64::MIN, 1_735_689_600_000];
    let days = |&t: &i64| if t == i64::MIN { f64::NAN } else { date::of_ticks(t, 1000) };
    let columns = vec![
        ("n".to_owned(), MemoryColumn::Numbers(vec![0.1, f64::NAN, 3.0])),
        ("b".to_owned(), MemoryColumn::Bools(vec![Some(true), None, Some(false)])),
        ("d".to_owned(), MemoryColumn::Dates(ticks.iter().map(days).collect())),
        ("t".to_owned(), texts(&["red", " blue "], &[0, 1, -1])),
        ("i".to_owned(), texts(&["7", "8"], &[0, 1, 0])),
    ];
    MemoryTable::new("X", columns, 3).unwrap()
}

#[test]
fn the_features_of_a_file_with_the_same_rows() {
    let text = "n,b,d,t,i,y\n0.1,True,2024-01-01T00:00:00.123,red,7,0\n,,,blue,8,1\n\
                3,false,2025-01-01,,7,1\n";
    let options = ReadOptions::default().with_missing(Missing::Mean);
    let dataset = read(&Source::memory("t.csv", text.as_bytes()), &options).unwrap();
    let open = || Ok(Box::new(frame()) as Box<dyn Table>);
    let encoder = Encoder::fit_features(&open, &options).unwrap();
    assert_eq!(encoder.columns, dataset.encoder.columns);
    let (values, unknown) = encoder.encode_all(&mut frame(), UnknownCategory::Error).unwrap();
    let mut expected = Vec::new();
    let mut row = vec![0.0; dataset.columns()];
    for i in 0..3 {
        dataset.features.copy_row(i, &mut row);
        expected.extend_from_slice(&row);
    }
    assert_eq!((values, unknown), (expected, 0));
    assert_eq!(encoder.label, None);
}

#[test]
fn rows_count_from_zero_and_names_are_distinct() {
    let open = || Ok(Box::new(frame()) as Box<dyn Table>);
    let error = Encoder::fit_features(&open, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "X, row 1, column \"n\": missing value (\"NaN\")");
    let twice = vec![
        ("a".to_owned(), MemoryColumn::Numbers(vec![1.0])),
        ("a".to_owned(), MemoryColumn::Numbers(vec![1.0])),
    ];
    assert!(MemoryTable::new("X", twice, 1).is_err());
}

#[test]
fn the_log_odds_of_a_probability() {
    let margin = 0.01;
    let mut encoder = Encoder::numeric(["p".to_owned()]);
    encoder.columns[0].kind = ColumnKind::LogOdds { margin };
    let table = |p: Vec<f64>| {
        let rows = p.len();
        MemoryTable::new("X", vec![("p".to_owned(), MemoryColumn::Numbers(p))], rows).unwrap()
    };
    let (z, _) =
        encoder.encode_all(&mut table(vec![0.0, 0.25, 1.0]), UnknownCategory::Error).unwrap();
    let by_hand = |p: f64| ((p + margin) / (1.0 - p + margin)).ln();
    assert_eq!(z, [by_hand(0.0), by_hand(0.25), by_hand(1.0)]);
    let error = encoder.encode_all(&mut table(vec![0.5, 3.0]), UnknownCategory::Error).unwrap_err();
    assert_eq!(error.to_string(), "X, row 1, column \"p\": 3 is not a probability");
    assert!(!encoder.columns[0].is_plain_number());
    let plain = Column {
        name: "x".into(),
        kind: ColumnKind::Numeric { fill: None },
        written: Writing::Booleans,
    };
    assert!(!plain.is_plain_number());
}

/// Cells are what the columns hold, row after row; after the last there is none, however often one asks.
#[test]
fn the_rows_of_a_frame_come_once() {
    let mut table = frame();
    assert_eq!(table.columns(), ["n", "b", "d", "t", "i"]);
    assert_eq!(table.file().to_str(), Some("X"));
    table.select(&[0, 1]).unwrap();
    assert_eq!(table.next_row().unwrap(), Some(Position::Row(0)));
    assert_eq!([table.cell(0), table.cell(1)], [Cell::Number(0.1), Cell::Bool(true)]);
    assert_eq!([table.cell(3), table.cell(4)], [Cell::Text("red"), Cell::Text("7")]);
    assert!(matches!(table.cell(2), Cell::Date(day) if (day - 19_723.0).abs() < 1e-5));
    assert_eq!(table.next_row().unwrap(), Some(Position::Row(1)));
    assert!(matches!(table.cell(0), Cell::Number(number) if number.is_nan()));
    assert_eq!([table.cell(1), table.cell(2)], [Cell::Null, Cell::Null]);
    assert_eq!(table.cell(3), Cell::Text("blue"), "without the spaces around it");
    assert_eq!(table.next_row().unwrap(), Some(Position::Row(2)));
    assert_eq!([table.cell(1), table.cell(3)], [Cell::Bool(false), Cell::Null]);
    for _ in 0..3 {
        assert_eq!(table.next_row().unwrap(), None);
    }
    let place = table.place(Position::Row(2), 3);
    assert_eq!(place.to_string(), "X, row 2, column \"t\"");
    // A column that is shorter than it says, or a text that is not there, is missing.
    let short = vec![
        ("a".to_owned(), MemoryColumn::Numbers(vec![1.0])),
        ("t".to_owned(), MemoryColumn::Texts { codes: vec![0, 5], values: vec!["x".into()] }),
    ];
    let mut short = MemoryTable::new("X", short, 2).unwrap();
    short.next_row().unwrap();
    short.next_row().unwrap();
    assert_eq!([short.cell(0), short.cell(1)], [Cell::Null, Cell::Null]);
    let unnamed = vec![(String::new(), MemoryColumn::Numbers(vec![1.0]))];
    let error = MemoryTable::new("X", unnamed, 1).unwrap_err();
    assert_eq!(error.to_string(), "X: column number 1 has no name");
}

/// Columns that are ignored are no features; none at all is an error.
#[test]
fn ignored_columns_of_a_frame_are_no_features() {
    let open = || Ok(Box::new(frame()) as Box<dyn Table>);
    let ignore = |names: &[&str]| {
        ReadOptions::default()
            .with_missing(Missing::Mean)
            .with_ignore(names.iter().map(|&name| name.to_owned()).collect())
    };
    let encoder = Encoder::fit_features(&open, &ignore(&["b", "d", "t"])).unwrap();
    assert_eq!(encoder.feature_names(), ["n", "i"]);
    assert_eq!(encoder.columns[0].kind, ColumnKind::Numeric { fill: Some(1.55) });
    let error = Encoder::fit_features(&open, &ignore(&["n", "b", "d", "t", "i"])).unwrap_err();
    assert!(matches!(error, properloss_data::Error::NoFeatures { .. }), "{error}");
}
