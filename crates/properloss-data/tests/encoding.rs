//! One encoder for training and prediction.

mod common;

use common::{csv, read_csv, rows, strings};
use properloss_data::encoder::Column;
use properloss_data::error::Position;
use properloss_data::read::{
    csv_format, for_each_labelled_row, for_each_row, for_each_table_row,
    for_each_table_row_keeping, read_encoded,
};
use properloss_data::table::{CsvFormat, CsvTable};
use properloss_data::{
    Encoder, Error, Format, Missing, ReadOptions, Result, Source, UnknownCategory,
};
use proptest::prelude::*;

const TRAIN: &str = "a,c,w,y\n1,p,1,no\n2,q,2,yes\n4,p,1,yes\n";

fn encoder(missing: Missing) -> Encoder {
    let options = ReadOptions::default().with_missing(missing).with_weight(Some("w".into()));
    read_csv(TRAIN, &options).unwrap().encoder
}

fn predict(encoder: &Encoder, text: &str, unknown: UnknownCategory) -> Result<Vec<Vec<f64>>> {
    let mut seen = Vec::new();
    for_each_row(&csv(text), encoder, unknown, &ReadOptions::default(), |row| {
        seen.push(row.features.to_vec());
        Ok::<(), Error>(())
    })?;
    Ok(seen)
}

#[test]
fn columns_are_found_by_name_and_others_ignored() {
    let encoder = encoder(Missing::Error);
    let text = "extra,c,a\nhello,q,7\n,p,8\n";
    let seen = predict(&encoder, text, UnknownCategory::Error).unwrap();
    assert_eq!(seen, [[7.0, 0.0, 1.0], [8.0, 1.0, 0.0]]);
}

/// A data frame writes the whole numbers of a column with gaps as 1.0, and keeps spaces around names.
#[test]
fn whole_numbers_and_names_have_more_than_one_writing() {
    let options = ReadOptions::default().with_categorical(strings(&["c"]));
    for (first, second) in [("2", "11"), ("2.0", "11.0")] {
        let text = format!("c,y\n{first},no\n{second},yes\n{first},yes\n");
        let encoder = read_csv(&text, &options).unwrap().encoder;
        let seen = predict(&encoder, "c\n2\n2.0\n11\n11.0\n", UnknownCategory::Error).unwrap();
        assert_eq!(seen, [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]);
        for other in ["2.5", "02", "2.00", "-2", "x.0", ".0"] {
            predict(&encoder, &format!("c\n{other}\n"), UnknownCategory::Error).unwrap_err();
        }
    }
    let encoder = Encoder::numeric(strings(&[" a", "b "]));
    let seen = predict(&encoder, "b, a\n1,2\n", UnknownCategory::Error).unwrap();
    assert_eq!(seen, [[2.0, 1.0]]);
}

#[test]
fn standard_input_is_read_once_and_row_by_row() {
    let encoder = encoder(Missing::Error);
    // A reader that cannot be opened twice and never ends: the visitor ends it.
    let endless = std::io::Read::chain(&b"a,c\n"[..], std::io::repeat(b'1'));
    let input = std::io::Read::chain(&b"a,c\n1,p\n2,q\n3,p\n"[..], endless);
    let format = csv_format("standard input".as_ref(), Format::Csv, &ReadOptions::default());
    let table = CsvTable::from_reader(input, "standard input".as_ref(), format).unwrap();
    let mut seen = 0.0;
    let result = for_each_table_row(Box::new(table), &encoder, UnknownCategory::Error, |row| {
        seen += row.features[0];
        if seen == 6.0 {
            return Err(Error::BadOption { what: "x", value: "x".into(), expected: "x".into() });
        }
        Ok(())
    });
    assert!(matches!(result, Err(Error::BadOption { .. })));
    assert_eq!(seen, 6.0);
}

#[test]
fn mistakes_at_prediction() {
    let encoder = encoder(Missing::Error);
    let what = |text: &str| {
        let error = predict(&encoder, text, UnknownCategory::Error).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    };
    assert_eq!(
        what("A,c\n1,p\n"),
        (
            "train.csv: 1 column(s) of the model are not in the file: \"a\"".into(),
            "columns are matched by name; the file has \"A\", \"c\"".into()
        )
    );
    assert_eq!(
        what("a,c\n1,p\n2,r\n"),
        (
            "train.csv, line 3, column \"c\": \"r\" was not among the categories at training \
             time: \"p\", \"q\""
                .into(),
            "correct it, or pass --unknown-category zeros to encode it as none of them".into()
        )
    );
    assert_eq!(what("a,c\nx,p\n").0, "train.csv, line 2, column \"a\": \"x\" is not a number");
    assert_eq!(what("a,c\ninf,p\n").0, "train.csv, line 2, column \"a\": \"inf\" is not finite");
    assert_eq!(
        what("a,c\n1,p\n,p\n").0,
        "train.csv, line 3, column \"a\": missing value, and the model has no rule to fill it"
    );
    assert_eq!(what("a,c\n1\n").0, "train.csv, line 2: 1 field(s), but the header has 2");
    let zeros = predict(&encoder, "a,c\n2,r\n", UnknownCategory::Zeros).unwrap();
    assert_eq!(zeros, [[2.0, 0.0, 0.0]]);
}

#[test]
fn the_training_means_fill_missing_values_at_prediction() {
    let encoder = encoder(Missing::Mean);
    let seen = predict(&encoder, "a,c\nNA,\n", UnknownCategory::Error).unwrap();
    assert_eq!(seen, [[7.0 / 3.0, 2.0 / 3.0, 1.0 / 3.0]]);
    // A model that dropped rows at training must still answer each row at prediction.
    let error = predict(&self::encoder(Missing::Drop), "a,c\nNA,p\n", UnknownCategory::Error);
    assert!(matches!(error, Err(Error::MissingAtPrediction { .. })));
}

#[test]
fn evaluation_uses_the_classes_and_weights_of_the_model() {
    let encoder = encoder(Missing::Error);
    let options = ReadOptions::default();
    let read = |text: &str| read_encoded(&csv(text), &encoder, UnknownCategory::Error, &options);
    // One class is enough here, and it keeps its number.
    let data = read("y,w,c,a\nyes,3,q,5\n").unwrap();
    assert_eq!((data.labels, data.weights), (vec![1], Some(vec![3.0])));
    assert_eq!(rows(&data.features), [[5.0, 0.0, 1.0]]);
    assert_eq!(
        read("y,w,c,a\nmaybe,3,q,5\n").unwrap_err().to_string(),
        "train.csv, line 2, column \"y\": \"maybe\" is not a class of the model, which has \
         \"no\", \"yes\""
    );
    assert!(matches!(read("w,c,a\n3,q,5\n"), Err(Error::NoSuchColumn { role: "label", .. })));
    assert!(matches!(read("y,c,a\nno,q,5\n"), Err(Error::NoSuchColumn { role: "weight", .. })));
}

#[test]
fn chosen_classes_leave_rows_out_at_evaluation_too() {
    let options =
        ReadOptions::default().with_negative(strings(&["0"])).with_positive(strings(&["8"]));
    let encoder = read_csv("a,y\n1,0\n2,8\n3,5\n", &options).unwrap().encoder;
    let data = read_encoded(
        &csv("a,y\n4,5\n5,8\n"),
        &encoder,
        UnknownCategory::Error,
        &ReadOptions::default(),
    );
    assert_eq!(data.unwrap().labels, [1]);
}

proptest! {
    /// Any finite matrix written as CSV reads back to the same bits, at training and prediction.
    #[test]
    fn numbers_survive_csv(values in prop::collection::vec(
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 2..60))
    {
        let mut text = String::from("x,label\n");
        for (i, value) in values.iter().enumerate() {
            text.push_str(&format!("{value:?},{}\n", i % 2));
        }
        let data = read_csv(&text, &ReadOptions::default()).unwrap();
        let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let read: Vec<f64> = rows(&data.features).concat();
        prop_assert_eq!(bits(&read), bits(&values));
        let predicted = predict(&data.encoder, &text, UnknownCategory::Error).unwrap().concat();
        prop_assert_eq!(bits(&predicted), bits(&values));
        // And through the writer.
        let mut out = Vec::new();
        properloss_data::write_csv(&data, &[], &mut out).unwrap();
        let again = properloss_data::read(&Source::memory("o.csv", out), &ReadOptions::default());
        prop_assert_eq!(bits(&rows(&again.unwrap().features).concat()), bits(&values));
    }

    /// No text makes the reader panic, and every category is one-hot: rows sum to 1.
    #[test]
    fn any_text_is_read_or_refused(text in "[a-c0-9,\"\n.NA-]{0,80}") {
        for missing in [Missing::Error, Missing::Mean, Missing::Drop] {
            let options = ReadOptions::default().with_missing(missing);
            if let Ok(data) = read_csv(&text, &options) {
                prop_assert_eq!(data.labels.len(), data.features.rows());
                prop_assert!(rows(&data.features).concat().iter().all(|x| x.is_finite()));
            }
        }
    }

    #[test]
    fn categories_survive_csv(values in prop::collection::vec("[a-z \",\n;é]{1,6}", 4..40)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["c", "y"]).unwrap();
        for (i, value) in values.iter().enumerate() {
            let value = format!("<{value}>"); // spaces at the ends do not count
            writer.write_record([value.as_str(), if i % 2 == 0 { "0" } else { "1" }]).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let data = properloss_data::read(&Source::memory("c.csv", bytes), &ReadOptions::default());
        let data = data.unwrap();
        for (row, value) in rows(&data.features).iter().zip(&values) {
            let hot: Vec<usize> = (0..row.len()).filter(|&j| row[j] == 1.0).collect();
            prop_assert_eq!(hot.len(), 1);
            prop_assert_eq!(row.iter().sum::<f64>(), 1.0);
            prop_assert_eq!(&data.feature_names()[hot[0]], &format!("c=<{value}>"));
        }
    }
}

/// Rows with their labels, weights and places, one by one; with what the options leave out left out.
#[test]
fn labelled_rows_come_one_by_one() {
    let encoder = encoder(Missing::Error);
    let text = "y,w,c,a\nyes,3,q,5\nno,0.5,r,-1\n";
    let open =
        |text: &str| Box::new(CsvTable::open(&csv(text), CsvFormat::of("t.csv".as_ref())).unwrap());
    let mut seen = Vec::new();
    for_each_labelled_row(open(text), &encoder, UnknownCategory::Zeros, |row| {
        seen.push((row.position, row.features.to_vec(), row.label, row.weight, row.unknown));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(
        seen,
        [
            (Position::Line(2), vec![5.0, 0.0, 1.0], 1, 3.0, 0),
            (Position::Line(3), vec![-1.0, 0.0, 0.0], 0, 0.5, 1)
        ]
    );
    let mut count = 0;
    let ended = for_each_labelled_row(open(text), &encoder, UnknownCategory::Zeros, |_| {
        count += 1;
        Err(Error::NoRows { file: "x".into() })
    });
    assert!(matches!(ended, Err(Error::NoRows { .. })) && count == 1);
    // Other classes are left out where the model leaves them out.
    let two = ReadOptions::default().with_negative(strings(&["0"])).with_positive(strings(&["8"]));
    let digits = read_csv("a,y\n1,0\n2,8\n3,5\n", &two).unwrap().encoder;
    let mut labels = Vec::new();
    let rows = open("a,y\n1,8\n2,5\n3,0\n");
    for_each_labelled_row(rows, &digits, UnknownCategory::Error, |row| {
        labels.push((row.features[0], row.label, row.weight));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(labels, [(1.0, 1, 1.0), (3.0, 0, 1.0)]);
}

/// Columns that are kept come as the texts of the table, beside the features.
#[test]
fn kept_columns_come_as_they_stand() {
    let encoder = encoder(Missing::Error);
    let text = "id,c,a,when\n007,q,5,2024-01-01\nx y,p,-1,\n";
    let table = CsvTable::open(&csv(text), CsvFormat::of("t.csv".as_ref())).unwrap();
    let keep = strings(&["when", "id", "a"]);
    let mut seen = Vec::new();
    let unknown = UnknownCategory::Error;
    for_each_table_row_keeping(Box::new(table), &encoder, unknown, &keep, |row, texts| {
        seen.push((row.features.to_vec(), texts.to_vec()));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(
        seen,
        [
            (vec![5.0, 0.0, 1.0], strings(&["2024-01-01", "007", "5"])),
            (vec![-1.0, 1.0, 0.0], strings(&["", "x y", "-1"]))
        ]
    );
    let table = CsvTable::open(&csv(text), CsvFormat::of("t.csv".as_ref())).unwrap();
    let none = strings(&["nowhere"]);
    let error = for_each_table_row_keeping(Box::new(table), &encoder, unknown, &none, |_, _| {
        Ok::<(), Error>(())
    });
    assert!(matches!(error, Err(Error::NoSuchColumn { role: "keep", .. })));
}

/// Unknown categories are counted, not only let pass.
#[test]
fn unknown_categories_are_counted() {
    let encoder = encoder(Missing::Error);
    let table = |text: &str| CsvTable::open(&csv(text), CsvFormat::of("t.csv".as_ref())).unwrap();
    let text = "a,c\n1,r\n2,p\n3,s\n4,\u{e9}\n";
    let (values, unknown) = encoder.encode_all(&mut table(text), UnknownCategory::Zeros).unwrap();
    assert_eq!(values, [1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 3.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    assert_eq!(unknown, 3);
    assert!(encoder.encode_all(&mut table(text), UnknownCategory::Error).is_err());
    let labelled = "a,c,w,y\n1,r,1,no\n2,p,1,yes\n3,s,1,no\n";
    let read =
        read_encoded(&csv(labelled), &encoder, UnknownCategory::Zeros, &ReadOptions::default());
    assert_eq!(read.unwrap().description.unknown_categories, 2);
}

/// A number that has no place in 4 bytes is told with its own column, behind one-hot columns too.
#[test]
fn a_number_too_large_for_4_bytes_names_its_column() {
    let options = ReadOptions::default().with_storage(properloss_data::Storage::F32);
    let text = "c,big,y\nu,1,no\nv,-1e39,yes\n";
    for error in [
        read_csv(text, &options).unwrap_err(),
        read_encoded(
            &csv("c,big,y\nu,1,no\nv,-1e39,yes\n"),
            &read_csv(text, &ReadOptions::default()).unwrap().encoder,
            UnknownCategory::Error,
            &options,
        )
        .unwrap_err(),
    ] {
        let said = error.to_string();
        assert!(said.starts_with("train.csv, line 3, column \"big\": \"-1000000"), "{said}");
        assert!(said.contains("in 4 bytes"), "{said}");
    }
    // The largest that has.
    let most = format!("a,y\n{},no\n-{},yes\n", f32::MAX, f32::MAX);
    let data = read_csv(&most, &options).unwrap();
    assert_eq!(rows(&data.features), [[f64::from(f32::MAX)], [-f64::from(f32::MAX)]]);
}

/// A model without a label column (of arrays) reads rows without labels as class 0, and sparse files
/// with the labels 0 and 1.
#[test]
fn an_encoder_without_a_label_names_its_classes_0_and_1() {
    let encoder = Encoder::numeric(strings(&["x1", "x2"]));
    let options = ReadOptions::default();
    let unknown = UnknownCategory::Error;
    let data = read_encoded(&csv("x2,x1\n1,2\n3,4\n"), &encoder, unknown, &options).unwrap();
    assert_eq!((data.labels, data.classes), (vec![0, 0], ["0".into(), "1".into()]));
    assert_eq!(rows(&data.features), [[2.0, 1.0], [4.0, 3.0]]);
    let sparse = Source::memory("t.svm", *b"1 1:5\n0 2:7\n1.0 1:1\n");
    let data = read_encoded(&sparse, &encoder, unknown, &options).unwrap();
    assert_eq!((data.labels, data.classes), (vec![1, 0, 1], ["0".into(), "1".into()]));
    assert_eq!(rows(&data.features), [[5.0, 0.0], [0.0, 7.0], [1.0, 0.0]]);
    let other = Source::memory("t.svm", *b"2 1:5\n");
    let error = read_encoded(&other, &encoder, unknown, &options).unwrap_err();
    assert!(matches!(error, Error::UnknownLabel { .. }), "{error}");
}

/// The names of features, and which columns are numbers as they stand.
#[test]
fn features_are_named_by_column_and_category() {
    let encoder = encoder(Missing::Mean);
    assert_eq!((encoder.width(), encoder.feature_names()), (3, strings(&["a", "c=p", "c=q"])));
    let names: Vec<String> = (0..4).map(|j| encoder.feature_name(j)).collect();
    assert_eq!(names, ["a", "c=p", "c=q", ""]);
    let plain: Vec<bool> = encoder.columns.iter().map(Column::is_plain_number).collect();
    assert_eq!(plain, [false, false], "filled, categories");
    assert!(Encoder::numeric(strings(&["a"])).columns[0].is_plain_number());
    assert_eq!(encoder.columns.iter().map(Column::width).collect::<Vec<_>>(), [1, 2]);
}

/// Rows of other classes are left out only where both classes were named; else a new class is an error.
#[test]
fn one_named_class_leaves_no_rows_out() {
    let (yes, no) = (strings(&["1"]), strings(&["0"]));
    let both = ReadOptions::default().with_positive(yes.clone()).with_negative(no.clone());
    for (options, skips) in [
        (ReadOptions::default(), false),
        (ReadOptions::default().with_positive(yes), false),
        (ReadOptions::default().with_negative(no), false),
        (both, true),
    ] {
        for (name, known, new) in [
            ("t.csv", "a,y\n1,0\n2,1\n", "a,y\n3,2\n4,1\n"),
            ("t.svm", "0 1:1\n1 1:2\n", "2 1:3\n1 1:4\n"),
        ] {
            let of = |text: &str| Source::memory(name, text.as_bytes());
            let encoder = properloss_data::read(&of(known), &options).unwrap().encoder;
            let plain = ReadOptions::default();
            let found = read_encoded(&of(new), &encoder, UnknownCategory::Error, &plain);
            match found {
                Ok(data) => assert_eq!((data.labels, skips), (vec![1], true), "{name}"),
                Err(Error::UnknownLabel { value, .. }) => {
                    assert_eq!((value.as_str(), skips), ("2", false), "{name}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
