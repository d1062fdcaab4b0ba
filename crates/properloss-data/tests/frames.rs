//! A table in memory is encoded as the same rows of a file are.

use properloss_data::encoder::{Column, ColumnKind, Writing};
use properloss_data::table::{MemoryColumn, MemoryTable, Table};
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
