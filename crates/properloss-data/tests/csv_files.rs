//! CSV and TSV: values, and a message for every mistake.

mod common;

use std::io::Read;

use common::{Directory, csv, csv_error, gzip, read_csv, rows, strings};
use properloss_data::encoder::{Column, ColumnKind, Writing};
use properloss_data::error::Position;
use properloss_data::memory::{FIELD_LIMIT, LINE_LIMIT};
use properloss_data::read::{csv_format, read_encoded, read_encoded_examples};
use properloss_data::table::{Cell, PartsTable, Table};
use properloss_data::{
    Error, Examples, Features, Format, Missing, ReadOptions, Source, Storage, UnknownCategory,
    read, read_examples,
};

fn message(error: &Error) -> (String, String) {
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn numbers_categories_and_labels() {
    let text = "age,colour,y\n1.5,red,no\n-2e3,blue,yes\n+.5,\"red\",no\n 7 , green ,yes\n";
    let data = read_csv(text, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["age", "colour=blue", "colour=green", "colour=red"]);
    assert_eq!(
        rows(&data.features),
        [
            [1.5, 0.0, 0.0, 1.0],
            [-2000.0, 1.0, 0.0, 0.0],
            [0.5, 0.0, 0.0, 1.0],
            [7.0, 0.0, 1.0, 0.0]
        ]
    );
    assert_eq!(data.labels, [0, 1, 0, 1]);
    assert_eq!(data.classes, ["no", "yes"]);
    assert_eq!(data.weights, None);
    assert_eq!((data.description.rows, data.description.features), (4, 4));
    assert_eq!(data.positives(), 2);
    // The view for the core has the same values.
    let sample = data.sample().unwrap();
    assert_eq!((sample.rows(), sample.columns(), sample.base_rate()), (4, 4, 0.5));
}

#[test]
fn quotes_line_breaks_byte_order_mark_and_crlf() {
    let text = "\u{feff}\"a, b\",c,y\r\n1,\"x, \"\"y\"\"\",0\r\n\r\n2,\"z\nw\",1\r\n";
    let data = read_csv(text, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["a, b", "c=x, \"y\"", "c=z\nw"]);
    assert_eq!(rows(&data.features), [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]);
}

#[test]
fn line_numbers_count_blank_lines_and_quoted_line_breaks() {
    // Lines: 1 header, 2 and 3 one record, 4 blank, 5 good, 6 ragged.
    let error = csv_error("a,y\n\"1\n\",0\n\n2,1\n3\n", &ReadOptions::default());
    assert_eq!(message(&error).0, "train.csv, line 6: 1 field(s), but the header has 2");
}

#[test]
fn the_label_may_be_any_column_and_any_two_values() {
    let text = "y,a,b\n2,1,5\n1,2,6\n2.0,3,7\n";
    let options = ReadOptions::default().with_label(Some("y".into()));
    let data = read_csv(text, &options).unwrap();
    // 2 and 2.0 are one value; the larger number is positive.
    assert_eq!(data.labels, [1, 0, 1]);
    assert_eq!(data.classes, ["1", "2"]);
    assert_eq!(data.feature_names(), ["a", "b"]);
    // However a number is written.
    let data = read_csv("a,y\n1,1.0\n2,0\n3,1\n4,-0.0\n5,1e0\n", &ReadOptions::default()).unwrap();
    assert_eq!((data.labels, data.classes), (vec![1, 0, 1, 0, 1], ["0".into(), "1.0".into()]));
    // 10 is larger than 9 as a number, smaller as a text.
    let data = read_csv("a,y\n1,10\n2,9\n", &ReadOptions::default()).unwrap();
    assert_eq!(data.classes, ["9", "10"]);
    let options = ReadOptions::default().with_positive(strings(&["9"]));
    let data = read_csv("a,y\n1,10\n2,9\n", &options).unwrap();
    assert_eq!((data.classes, data.labels), (["10".into(), "9".into()], vec![0, 1]));
    let options = ReadOptions::default().with_negative(strings(&["10"]));
    let data = read_csv("a,y\n1,10\n2,9\n", &options).unwrap();
    assert_eq!(data.labels, [0, 1]);
}

#[test]
fn chosen_classes_leave_other_rows_out() {
    let text = "a,c,y\n1,p,0\n2,q,8\n3,r,3\n4,p,8\n5,s,5\n";
    let options =
        ReadOptions::default().with_negative(strings(&["0", "3"])).with_positive(strings(&["8"]));
    let data = read_csv(text, &options).unwrap();
    assert_eq!(data.labels, [0, 1, 0, 1]);
    assert_eq!(data.classes, ["0|3", "8"]);
    // The category of the row that was left out is not a feature.
    assert_eq!(data.feature_names(), ["a", "c=p", "c=q", "c=r"]);
    assert_eq!(data.description.dropped_other_class, 1);
}

#[test]
fn weights_and_ignored_columns() {
    let text = "id,a,w,y\nx1,1,0.5,0\nx2,2,2,1\nx3,3,0,1\n";
    let options =
        ReadOptions::default().with_weight(Some("w".into())).with_ignore(strings(&["id"]));
    let data = read_csv(text, &options).unwrap();
    assert_eq!(data.feature_names(), ["a"]);
    // The row of weight 0 is left out.
    assert_eq!((data.weights, data.labels), (Some(vec![0.5, 2.0]), vec![0, 1]));
    // A last column that is ignored passes the default label on.
    let options = ReadOptions::default().with_ignore(strings(&["note"]));
    let data = read_csv("a,y,note\n1,0,m\n2,1,\n", &options).unwrap();
    assert_eq!((data.feature_names(), data.labels), (strings(&["a"]), vec![0, 1]));
}

#[test]
fn missing_values_are_refused_filled_or_dropped() {
    let text = "a,c,y\n1,p,0\nNA,q,1\n4,,1\n7,p,0\n";
    let (what, hint) = message(&csv_error(text, &ReadOptions::default()));
    assert_eq!(what, "train.csv, line 3, column \"a\": missing value (\"NA\")");
    assert!(hint.contains("--missing mean"), "{hint}");

    let options = ReadOptions::default().with_missing(Missing::Mean);
    let data = read_csv(text, &options).unwrap();
    // The mean of 1, 4, 7; the shares of p (2 of 3) and q (1 of 3).
    assert_eq!(
        rows(&data.features),
        [[1.0, 1.0, 0.0], [4.0, 0.0, 1.0], [4.0, 2.0 / 3.0, 1.0 / 3.0], [7.0, 1.0, 0.0]]
    );
    assert_eq!(
        data.encoder.columns[0],
        Column {
            name: "a".into(),
            kind: ColumnKind::Numeric { fill: Some(4.0) },
            written: Writing::Numbers
        }
    );

    let options = ReadOptions::default().with_missing(Missing::Drop);
    let error = csv_error(text, &options);
    // Only negatives are left.
    assert_eq!(message(&error).0, "train.csv, column \"y\": only one class, \"0\"; two are needed");
    let data = read_csv(&format!("{text}2,r,1\n"), &options).unwrap();
    assert_eq!(rows(&data.features), [[1.0, 1.0, 0.0], [7.0, 1.0, 0.0], [2.0, 0.0, 1.0]]);
    // q occurs in a dropped row only.
    assert_eq!(data.feature_names(), ["a", "c=p", "c=r"]);
    assert_eq!((data.labels, data.description.dropped_missing), (vec![0, 0, 1], 2));
}

#[test]
fn a_missing_label_is_an_error_unless_rows_are_dropped() {
    let text = "a,y\n1,0\n2,\n3,1\n";
    let options = ReadOptions::default().with_missing(Missing::Mean);
    assert_eq!(
        message(&csv_error(text, &options)).0,
        "train.csv, line 3, column \"y\": missing value"
    );
    let options = ReadOptions::default().with_missing(Missing::Drop);
    assert_eq!(read_csv(text, &options).unwrap().labels, [0, 1]);
    let error = csv_error("a,y\n,0\nNA,1\n", &options);
    assert_eq!(
        message(&error).0,
        "train.csv: no row is left: 2 read, 2 dropped for missing values, 0 of other classes"
    );
}

#[test]
fn declared_and_mixed_categorical_columns() {
    let options = ReadOptions::default().with_categorical(strings(&["a"]));
    let data = read_csv("a,y\n1,0\n2,1\n1,1\n", &options).unwrap();
    assert_eq!(data.feature_names(), ["a=1", "a=2"]);
    assert_eq!(rows(&data.features), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]);
    // Mostly texts: the number is a category as well.
    let text = "a,y\nx,0\n3,1\ny,1\nx,0\n";
    let data = read_csv(text, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["a=3", "a=x", "a=y"]);
    assert_eq!(rows(&data.features)[1], [1.0, 0.0, 0.0]);
}

#[test]
fn text_among_numbers_names_line_column_and_value() {
    let error = csv_error("a,b,y\n1,2,0\n2,abc,1\n3,4,0\n", &ReadOptions::default());
    let (what, hint) = message(&error);
    assert_eq!(
        what,
        "train.csv, line 3, column \"b\": \"abc\" is not a number (2 of 3 values of the column are)"
    );
    assert_eq!(hint, "correct the value, or pass --categorical b to treat the column as text");
}

#[test]
fn infinite_values_are_refused() {
    for value in ["inf", "-Infinity", "1e400"] {
        let error = csv_error(&format!("a,y\n1,0\n{value},1\n"), &ReadOptions::default());
        let expected = format!("train.csv, line 3, column \"a\": {value:?} is not finite");
        assert_eq!(message(&error).0, expected);
    }
    // Finite in 8 bytes, not in 4.
    let options = ReadOptions::default().with_storage(Storage::F32);
    let error = csv_error("a,y\n1,0\n1e39,1\n", &options);
    assert!(message(&error).0.starts_with("train.csv, line 3, column \"a\": "), "{error}");
    let data = read_csv("a,y\n0.1,0\n2,1\n", &options).unwrap();
    assert_eq!(data.features, Features::DenseF32 { values: vec![0.1, 2.0], columns: 1 });
}

#[test]
fn wrong_classes() {
    let (what, hint) = message(&csv_error("a,y\n1,0\n2,1\n3,0\n4,2\n", &ReadOptions::default()));
    assert_eq!(
        what,
        "train.csv, line 5, column \"y\": \"2\" is a third class, after \"0\" and \"1\""
    );
    assert_eq!(
        hint,
        "the last column was taken; name another with --label, or choose the classes with \
         --negative and --positive"
    );
    let (what, _) = message(&csv_error("a,y\n1,0\n2,0\n", &ReadOptions::default()));
    assert_eq!(what, "train.csv, column \"y\": only one class, \"0\"; two are needed");
    let named = |negative: &[&str], positive: &[&str]| {
        ReadOptions::default().with_negative(strings(negative)).with_positive(strings(positive))
    };
    let text = "a,y\n1,n\n2,y\n3,maybe\n";
    let (what, _) = message(&csv_error(text, &named(&[], &["Y"])));
    assert_eq!(
        what,
        "train.csv, column \"y\": no row of class \"Y\"; the file has \"maybe\", \"n\", \"y\""
    );
    let (what, _) = message(&csv_error(text, &named(&[], &["y"])));
    assert_eq!(
        what,
        "train.csv, line 4, column \"y\": \"maybe\" is a third class, after \"n\" and \"y\""
    );
    let (what, _) = message(&csv_error(text, &named(&["n"], &["y", "n"])));
    assert_eq!(what, "class \"n\" is named both negative and positive");
    let (what, _) = message(&csv_error("a,y\n1,n\n2,y\n", &named(&[], &["y", "n"])));
    assert_eq!(what, "train.csv, column \"y\": only one class, \"y|n\"; two are needed");
    // A column of measurements taken for the label: found out without reading all of it.
    let many: String = (0..5000).map(|i| format!("1,{}\n", f64::from(i) / 7.0)).collect();
    let error = csv_error(&format!("a,y\n{many}"), &ReadOptions::default());
    assert!(matches!(error, Error::TooManyClasses { .. }), "{error}");
}

#[test]
fn wrong_columns() {
    let text = "a,w,y\n1,2,0\n2,3,1\n";
    let default = ReadOptions::default;
    let cases: [(ReadOptions, &str); 8] = [
        (
            default().with_label(Some("Y".into())),
            "train.csv: there is no label column \"Y\"; the file has \"a\", \"w\", \"y\"",
        ),
        (
            default().with_weight(Some("v".into())),
            "train.csv: there is no weight column \"v\"; the file has \"a\", \"w\", \"y\"",
        ),
        (
            default().with_ignore(strings(&["z"])),
            "train.csv: there is no ignore column \"z\"; the file has \"a\", \"w\", \"y\"",
        ),
        (
            default().with_categorical(strings(&["z"])),
            "train.csv: there is no categorical column \"z\"; the file has \"a\", \"w\", \"y\"",
        ),
        (
            default().with_label(Some("w".into())).with_weight(Some("w".into())),
            "column \"w\" cannot be the label column and the weight column at once",
        ),
        (
            default().with_label(Some("w".into())).with_ignore(strings(&["w"])),
            "column \"w\" cannot be the label column and the ignored column at once",
        ),
        (
            default().with_categorical(strings(&["w"])).with_ignore(strings(&["w"])),
            "column \"w\" cannot be the categorical column and the ignored column at once",
        ),
        (default().with_ignore(strings(&["a", "w"])), "train.csv: no feature column is left"),
    ];
    for (options, expected) in cases {
        assert_eq!(message(&csv_error(text, &options)).0, expected);
    }
    let options = default().with_ignore(strings(&["a", "w", "y"]));
    assert_eq!(message(&csv_error(text, &options)).0, "train.csv: no feature column is left");
}

#[test]
fn wrong_weights() {
    let options = ReadOptions::default().with_weight(Some("w".into()));
    let what = |text: &str| message(&csv_error(text, &options)).0;
    assert_eq!(
        what("a,w,y\n1,1,0\n2,-3,1\n"),
        "train.csv, line 3, column \"w\": the weight -3 is negative"
    );
    assert_eq!(
        what("a,w,y\n1,1,0\n2,0,1\n"),
        "train.csv, column \"w\": every weight of class \"1\" is zero"
    );
    assert_eq!(
        what("a,w,y\n1,1,0\n2,heavy,1\n"),
        "train.csv, line 3, column \"w\": \"heavy\" is not a number"
    );
    assert_eq!(what("a,w,y\n1,1,0\n2,,1\n"), "train.csv, line 3, column \"w\": missing value");
}

#[test]
fn wrong_headers_and_shapes() {
    let what = |text: &str| message(&csv_error(text, &ReadOptions::default())).0;
    assert_eq!(what(""), "train.csv: the file is empty");
    assert_eq!(what("\n\n"), "train.csv: the file is empty");
    assert_eq!(what("a,y\n"), "train.csv: no data row");
    assert_eq!(what(",a,y\n0,1,0\n1,2,1\n"), "train.csv, line 1: column number 1 has no name");
    assert_eq!(
        what("a,b,a\n1,2,0\n"),
        "train.csv, line 1, column \"a\": the header names the column twice (columns number 1 and 3)"
    );
    assert_eq!(
        what("1.5,2,0\n2.5,3,1\n"),
        "train.csv, line 1: the header looks like data: every name is a number"
    );
    assert_eq!(
        what("a;b;y\n1;2;0\n"),
        "train.csv, line 1: the header holds one column only, \"a;b;y\""
    );
    assert_eq!(what("a,b,y\n1,2,0\n1,2\n"), "train.csv, line 3: 2 field(s), but the header has 3");
    assert_eq!(
        what("a,b,y\n1,2,0\n1,2,3,1\n"),
        "train.csv, line 3: 4 field(s), but the header has 3"
    );
    // An open quote swallows the rest.
    let error = csv_error("a,b,y\n1,\"2,0\n1,3,1\n", &ReadOptions::default());
    assert_eq!(message(&error).0, "train.csv, line 2: 2 field(s), but the header has 3");
    assert!(message(&error).1.contains("open quote"));
    assert_eq!(what("a,b,y\n1,,0\n1,,1\n"), "train.csv, line 2, column \"b\": missing value");
    let options = ReadOptions::default().with_missing(Missing::Mean);
    let error = csv_error("a,b,y\n1,,0\n1,NaN,1\n", &options);
    assert_eq!(message(&error).0, "train.csv, column \"b\": every value is missing");
    assert_eq!(message(&error).1, "pass --ignore b");
}

#[test]
fn identifiers_are_not_taken_for_categories() {
    let many: String = (0..300).map(|i| format!("id{i},{}\n", i % 2)).collect();
    let text = format!("name,y\n{many}");
    let (what, hint) = message(&csv_error(&text, &ReadOptions::default()));
    assert_eq!(
        what,
        "train.csv, column \"name\": more than 256 different texts in 300 rows; is it an identifier?"
    );
    assert_eq!(hint, "pass --ignore name, or --categorical name to keep it");
    let options = ReadOptions::default().with_categorical(strings(&["name"]));
    assert_eq!(read_csv(&text, &options).unwrap().columns(), 300);
}

#[test]
fn delimiters_and_files_without_a_header() {
    let options = ReadOptions::default().with_delimiter(Some(b';'));
    assert_eq!(read_csv("a;y\n1;0\n2;1\n", &options).unwrap().labels, [0, 1]);
    let data = read(&Source::memory("t.tsv", *b"a\ty\n1\t0\n2\t1\n"), &ReadOptions::default());
    assert_eq!(data.unwrap().feature_names(), ["a"]);
    let options = ReadOptions::default().without_header();
    let data = read_csv("5,6,0\n7,8,1\n", &options).unwrap();
    assert_eq!(data.feature_names(), ["x1", "x2"]);
    assert_eq!(rows(&data.features), [[5.0, 6.0], [7.0, 8.0]]);
    // Names that count the columns are a header.
    let data = read_csv("0,1,2\n5,6,0\n7,8,1\n", &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["0", "1"]);
}

#[test]
fn gzip_is_found_by_its_content_and_a_cut_is_named() {
    let directory = Directory::new();
    let text: String = (0..2000).map(|i| format!("{},{}\n", i * 7 % 1000, i % 2)).collect();
    let packed = gzip(format!("a,y\n{text}").as_bytes());
    // The name does not matter, in either direction.
    for name in ["train.csv.gz", "train.csv"] {
        let path = directory.write(name, &packed);
        let data = read(&Source::Path(path), &ReadOptions::default()).unwrap();
        assert_eq!((data.rows(), rows(&data.features)[3][0]), (2000, 21.0));
    }
    let path = directory.write("plain.csv.gz", b"a,y\n1,0\n2,1\n");
    assert_eq!(read(&Source::Path(path), &ReadOptions::default()).unwrap().rows(), 2);
    let two_members = [gzip(b"a,y\n1,0\n"), gzip(b"2,1\n")].concat();
    let data = read(&Source::memory("m.csv", two_members), &ReadOptions::default()).unwrap();
    assert_eq!(data.labels, [0, 1]);

    let error = |bytes: &[u8]| {
        let path = directory.write("bad.csv.gz", bytes);
        read(&Source::Path(path), &ReadOptions::default()).unwrap_err()
    };
    for cut in [12, packed.len() / 2, packed.len() - 1] {
        let error = error(&packed[..cut]);
        assert!(matches!(error, Error::TruncatedGzip { .. }), "cut at {cut}: {error}");
    }
    let mut damaged = packed.clone();
    let length = damaged.len();
    damaged[length - 6] ^= 0xff; // the checksum
    assert!(matches!(error(&damaged), Error::DamagedGzip { .. }));
}

#[test]
fn files_that_are_not_there_or_not_text() {
    let options = ReadOptions::default();
    let error = read(&Source::Path("no/such.csv".into()), &options).unwrap_err();
    assert_eq!(message(&error).0, "no/such.csv: no such file");
    let directory = Directory::new();
    let path = directory.write("what.dat", b"hello");
    let error = read(&Source::Path(path), &options).unwrap_err();
    assert!(matches!(error, Error::UnknownFormat { .. }), "{error}");
    let error = read(&Source::Path(directory.0.clone()), &options).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
    let error = read(&Source::memory("l.csv", *b"a,c,y\n1,x,0\n2,\xff,1\n"), &options).unwrap_err();
    assert_eq!(message(&error).0, "l.csv, line 3, column \"c\": not valid UTF-8 text");
}

#[test]
fn the_source_can_be_read_again() {
    let source = csv("a,y\n1,0\n2,1\n");
    let options = ReadOptions::default();
    assert_eq!(read(&source, &options).unwrap(), read(&source, &options).unwrap());
}

/// Several files are one table: columns are found by their names, whatever their order.
#[test]
fn parts_are_read_one_after_the_other() {
    let directory = Directory::new();
    let paths = [
        directory.write("a.csv", b"x,z,y\n1,10,no\n2,20,yes\n"),
        directory.write("b.csv", b"y,x,z\nno,3,30\n"),
        directory.write("c.csv", b"x,y,z\n4,yes,40\n5,no,50\n"),
    ];
    let source = Source::files(std::path::Path::new("*.csv"), paths.to_vec());
    let data = read(&source, &ReadOptions::default()).unwrap();
    let expected = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 50.0]];
    assert_eq!(rows(&data.features), expected);
    assert_eq!(data.feature_names(), ["x", "z"]);
    assert_eq!(data.labels, [0, 1, 0, 1, 0]);
}

/// Rows that are dropped for a hole and rows of other classes, counted apart.
#[test]
fn no_row_is_left() {
    let options = ReadOptions::default()
        .with_missing(Missing::Drop)
        .with_negative(strings(&["no"]))
        .with_positive(strings(&["yes"]));
    let text = "x,y\n,no\n1,maybe\n,yes\n2,maybe\n3,perhaps\n";
    match csv_error(text, &options) {
        Error::NoRowsLeft { rows, dropped, other_class, .. } => {
            assert_eq!((rows, dropped, other_class), (5, 2, 3));
        }
        other => panic!("{other:?}"),
    }
}

/// Writings of one number, or of a truth value, are one class; texts that only look like numbers are not.
#[test]
fn writings_of_a_class_are_one_class() {
    let classes = |labels: &[&str]| {
        let rows: String = labels.iter().enumerate().map(|(k, y)| format!("{k},{y}\n")).collect();
        let data = read_csv(&format!("x,y\n{rows}"), &ReadOptions::default());
        data.map(|data| (data.classes.to_vec(), data.labels)).map_err(|error| error.to_string())
    };
    let found = classes(&["False", "TRUE", "FALSE", "true", "false", "True"]).unwrap();
    assert_eq!(found, (strings(&["False", "TRUE"]), vec![0, 1, 0, 1, 0, 1]));
    assert_eq!(classes(&["0", "1.0", "-0", "1", "0.0"]).unwrap().1, [0, 1, 0, 1, 0]);
    // `inf` and `Infinity` are two texts, not one number.
    let found = classes(&["inf", "Infinity", "inf", "Infinity"]).unwrap();
    assert_eq!(found.1.iter().map(|&y| usize::from(y)).sum::<usize>(), 2);
}

/// A mistake is told with the file that it is in; what concerns all rows, with the name of all files.
#[test]
fn a_mistake_in_a_part_names_its_file() {
    let directory = Directory::new();
    let told = |second: &str, options: &ReadOptions| {
        let first = directory.write("a.csv", b"x,c,y\n1,u,no\n2,v,no\n");
        let second = directory.write("b.csv", second.as_bytes());
        let source = Source::files(std::path::Path::new("*.csv"), vec![first, second]);
        let error = read(&source, options).unwrap_err().to_string();
        error.replace(&format!("{}/", directory.0.display()), "")
    };
    let plain = ReadOptions::default();
    assert_eq!(
        told("x,c,y\n3,u,yes\n,u,no\n", &plain),
        "b.csv, line 3, column \"x\": missing value"
    );
    assert_eq!(
        told("c,y,x\nu,yes,3\nu,yes,inf\n", &plain),
        "b.csv, line 3, column \"x\": \"inf\" is not finite"
    );
    assert_eq!(
        told("x,c,y\n3,u,no\n", &plain),
        "*.csv, column \"y\": only one class, \"no\"; two are needed"
    );
    for (header, reason) in [
        ("x,y", "it lacks the columns \"c\""),
        ("x,c,y,z", "it has the further columns \"z\""),
        ("x,d,y", "it has the columns \"d\" instead of \"c\""),
    ] {
        let text = format!("{header}\n1,u,yes,0\n");
        let told = told(&text, &plain);
        assert!(told.starts_with("b.csv") && told.contains(reason), "{told}");
        assert!(told.contains("a.csv"), "{told}");
    }
    // A sparse file is no table.
    let first = directory.write("a.csv", b"x,y\n1,no\n2,yes\n");
    let second = directory.write("b.svm", b"1 1:1\n");
    let source = Source::files(std::path::Path::new("*"), vec![first, second]);
    let error = read(&source, &plain).unwrap_err();
    assert!(error.to_string().contains("its format is libsvm"), "{error}");
    // No file at all is an empty one.
    let none = Source::files(std::path::Path::new("*.csv"), Vec::new());
    assert_eq!((none.parts().len(), none.name().to_str()), (0, Some("*.csv")));
    assert!(matches!(none.open().err(), Some(Error::EmptyFile { .. })));
    let opened = PartsTable::open("*.csv".as_ref(), Vec::new().into(), &plain).err();
    assert!(matches!(opened, Some(Error::EmptyFile { .. })));
}

/// Rows, cells and columns of several files, one by one; parts without rows are passed over.
#[test]
fn the_table_of_several_files_goes_from_part_to_part() {
    let parts = [
        ("a.csv", "x,y,z\n1,no,p\n"),
        ("b.csv", "z,x,y\n"),
        ("c.tsv", "z\ty\tx\nq\tyes\t2\nr\tno\t3\n"),
        ("d.csv", "x,y,z\n"),
    ];
    let sources: Vec<Source> =
        parts.iter().map(|(name, text)| Source::memory(name, text.as_bytes())).collect();
    let options = ReadOptions::default();
    let mut table = PartsTable::open("all".as_ref(), sources.into(), &options).unwrap();
    assert_eq!(table.columns(), ["x", "y", "z"]);
    table.select(&[0]).unwrap();
    table.select(&[2]).unwrap();
    for (file, line, x, z) in
        [("a.csv", 2, "1", "p"), ("c.tsv", 2, "2", "q"), ("c.tsv", 3, "3", "r")]
    {
        assert_eq!(table.next_row().unwrap(), Some(Position::Line(line)));
        assert_eq!(table.file().to_str(), Some(file));
        assert_eq!((table.cell(0), table.cell(2)), (Cell::Text(x), Cell::Text(z)));
    }
    for _ in 0..3 {
        assert_eq!(table.next_row().unwrap(), None);
        assert_eq!(table.file().to_str(), Some("all"));
    }
}

/// A column that is selected later is found in every further part as well.
#[test]
fn selected_columns_are_selected_in_every_part() {
    let bytes = std::fs::read(common::fixture("pandas-snappy.parquet")).unwrap();
    let part = |name| Source::memory(name, bytes.clone());
    let parts = vec![part("a.parquet"), part("b.parquet")];
    let mut table =
        PartsTable::open("all".as_ref(), parts.into(), &ReadOptions::default()).unwrap();
    let at = |name: &str| table.columns().iter().position(|column| column == name).unwrap();
    let (f64s, i32s) = (at("f64"), at("i32"));
    table.select(&[f64s]).unwrap();
    table.select(&[i32s]).unwrap();
    for i in (0..1200).chain(0..1200) {
        table.next_row().unwrap().unwrap();
        assert_eq!(table.cell(f64s), Cell::Number(f64::from(i) * 0.5 - 3.0));
        assert_eq!(table.cell(i32s), Cell::Number(f64::from(i % 7) - 3.0));
    }
    assert_eq!(table.next_row().unwrap(), None);
}

/// The first bytes tell Parquet and images, then the name does; a name that tells nothing is refused,
/// but for bytes in memory, which are a table.
#[test]
fn formats_are_told_by_bytes_and_names() {
    let told = |name: &str, bytes: &[u8]| {
        let bytes: std::sync::Arc<[u8]> = bytes.into();
        let stream = Source::stream(name, move || {
            Ok(Box::new(std::io::Cursor::new(std::sync::Arc::clone(&bytes))) as Box<dyn Read>)
        });
        Format::detect(&stream)
    };
    for (name, format) in [
        ("a.csv", Format::Csv),
        ("A.CSV.gz", Format::Csv),
        ("a.tsv", Format::Tsv),
        ("a.b.tab", Format::Tsv),
        ("a.parquet", Format::Parquet),
        ("a.pq", Format::Parquet),
        ("a.libsvm", Format::Libsvm),
        ("a.svm.gz", Format::Libsvm),
        ("a.svmlight", Format::Libsvm),
        ("a.idx", Format::Idx),
        ("train-images-idx3-ubyte.gz", Format::Idx),
    ] {
        assert_eq!(told(name, b"1,2\n").unwrap(), format, "{name}");
        assert_eq!(told(name, b"PAR1....").unwrap(), Format::Parquet, "{name}");
        assert_eq!(told(name, &[0, 0, 8, 3, 0]).unwrap(), Format::Idx, "{name}");
        assert_eq!(Format::from_name(format.name()).unwrap(), format);
    }
    for magic in [[0, 0, 7, 1], [0, 0, 15, 1], [0, 0, 8, 0], [0, 0, 8, 5], [1, 0, 8, 1]] {
        assert_eq!(told("a.csv", &magic).unwrap(), Format::Csv, "{magic:?}");
    }
    for name in ["csv", "noname", "a.xlsx", "data-file"] {
        assert!(matches!(told(name, b"1,2\n"), Err(Error::UnknownFormat { .. })), "{name}");
        assert!(matches!(told(name, b""), Err(Error::EmptyFile { .. })), "{name}");
        assert_eq!(Format::detect(&Source::memory(name, *b"1,2\n")).unwrap(), Format::Csv);
    }
    let error = Format::from_name("xlsx").unwrap_err().to_string();
    assert!(error.contains("\"xlsx\"") && error.contains("libsvm"), "{error}");
}

/// The delimiter is the one asked for, else that of the format asked for, else that of the name.
#[test]
fn delimiters_come_from_options_formats_and_names() {
    let of = |name: &str, format, options: &ReadOptions| {
        let format = csv_format(name.as_ref(), format, options);
        (format.delimiter, format.header)
    };
    let plain = ReadOptions::default();
    assert_eq!(of("a.csv", Format::Csv, &plain), (b',', true));
    assert_eq!(of("a.tsv.gz", Format::Csv, &plain), (b'\t', true));
    assert_eq!(of("a.csv", Format::Tsv, &plain), (b'\t', true));
    let bare = plain.without_header().with_delimiter(Some(b';'));
    assert_eq!(of("a.tsv", Format::Tsv, &bare), (b';', false));
}

/// Three classes are refused where two are wanted, and kept where several are.
#[test]
fn several_classes_are_asked_for() {
    let text = "a,c,w,y\n1,u,1,r\n2,v,2,s\n3,u,0,t\n4,v,4,t\n5,u,5,r\n6,v,6,s\n";
    let options = ReadOptions::default().with_several_classes().with_weight(Some("w".into()));
    let Examples::Several(data) = read_examples(&csv(text), &options).unwrap() else {
        panic!("three classes")
    };
    // The row of weight 0 is left out.
    assert_eq!(data.labels, [0, 1, 2, 0, 1]);
    assert_eq!(data.weights.as_deref(), Some(&[1.0, 2.0, 4.0, 5.0, 6.0][..]));
    assert_eq!((data.classes.len(), data.counts()), (3, vec![2, 2, 1]));
    assert_eq!(data.sample().unwrap().classes(), 3);
    assert!(matches!(read(&csv(text), &options), Err(Error::TooManyClasses { .. })));
    // A model of them evaluates rows of any of them, and no others.
    let unknown = UnknownCategory::Error;
    let new = csv("a,c,w,y\n7,v,3,t\n8,u,1,r\n");
    match read_encoded_examples(&new, &data.encoder, unknown, &options).unwrap() {
        Examples::Several(new) => assert_eq!((new.labels, new.classes), (vec![2, 0], data.classes)),
        Examples::Two(_) => panic!("three classes"),
    }
    assert!(matches!(
        read_encoded(&new, &data.encoder, unknown, &options),
        Err(Error::TooManyClasses { .. })
    ));
    let other = csv("a,c,w,y\n7,v,3,q\n");
    match read_encoded_examples(&other, &data.encoder, unknown, &options).unwrap_err() {
        Error::UnknownLabel { known, value, .. } => {
            assert_eq!((known, value.as_str()), (strings(&["r", "s", "t"]), "q"));
        }
        other => panic!("{other}"),
    }
}

/// The most classes that a column may have are taken; with one more reading ends at once.
#[test]
fn a_thousand_classes_are_the_most() {
    let text = |classes: usize, rows: usize| {
        let rows: String = (0..rows).map(|i| format!("{i},c{}\n", i % classes)).collect();
        format!("x,y\n{rows}")
    };
    let options = ReadOptions::default().with_several_classes();
    match read_examples(&csv(&text(1000, 2000)), &options).unwrap() {
        Examples::Several(data) => {
            assert_eq!((data.rows(), data.classes.len()), (2000, 1000));
            assert_eq!(data.counts(), [2; 1000]);
        }
        Examples::Two(_) => panic!("a thousand classes"),
    }
    match read_examples(&csv(&text(1500, 3000)), &options).unwrap_err() {
        Error::NoClasses { values, rows, .. } => assert_eq!((values, rows), (1001, 1001)),
        other => panic!("{other}"),
    }
}

/// As many categories as are allowed are allowed, of a declared column as well.
#[test]
fn the_number_of_categories_has_a_limit() {
    let text = |categories: usize| {
        let rows: String =
            (0..2 * categories).map(|i| format!("v{},{}\n", i % categories, i % 2)).collect();
        format!("c,y\n{rows}")
    };
    assert_eq!(read_csv(&text(256), &ReadOptions::default()).unwrap().columns(), 256);
    match csv_error(&text(257), &ReadOptions::default()) {
        Error::TooManyCategories { limit, rows, .. } => assert_eq!((limit, rows), (256, 514)),
        other => panic!("{other}"),
    }
    let three = ReadOptions::default().with_max_categories(3);
    assert_eq!(read_csv(&text(3), &three).unwrap().columns(), 3);
    assert!(read_csv(&text(4), &three).is_err());
    let declared = three.with_categorical(strings(&["c"]));
    assert_eq!(read_csv(&text(4), &declared).unwrap().columns(), 4);
    // Truth values and dates are no categories, however many there are.
    let dates: String = (1..=28).map(|d| format!("2024-02-{d:02},{}\n", d % 2)).collect();
    let data =
        read_csv(&format!("when,y\n{dates}"), &ReadOptions::default().with_max_categories(3));
    assert_eq!(data.unwrap().columns(), 1);
}

/// Truth values and dates are numbers, and their mean fills a hole.
#[test]
fn means_of_truth_values_and_dates() {
    let text = "flag,when,n,y\ntrue,1970-01-02,1,0\nFALSE,1970-01-03,2,1\nTrue,1970-01-06,6,0\n\
                ,,,1\nfalse,1970-01-06,7,1\n";
    let options = ReadOptions::default().with_missing(Missing::Mean);
    let data = read_csv(text, &options).unwrap();
    let written: Vec<_> = data.encoder.columns.iter().map(|column| column.written).collect();
    assert_eq!(written, [Writing::Booleans, Writing::Dates, Writing::Numbers]);
    assert_eq!(
        rows(&data.features),
        [[1.0, 1.0, 1.0], [0.0, 2.0, 2.0], [1.0, 5.0, 6.0], [0.5, 3.25, 4.0], [0.0, 5.0, 7.0]]
    );
    // Truth values among texts are categories, with one writing each.
    let mixed = "c,y\ntrue,0\nTRUE,1\nmaybe,0\nfalse,1\n";
    let data = read_csv(mixed, &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["c=false", "c=maybe", "c=true"]);
    assert_eq!(rows(&data.features)[1], [0.0, 0.0, 1.0]);
}

/// Half of the values or more being numbers, a text is a mistake; fewer, and the numbers are names.
#[test]
fn half_of_the_values_decide_what_a_column_is() {
    let text = |values: &[&str]| {
        let rows: String =
            values.iter().enumerate().map(|(i, v)| format!("{v},{}\n", i % 2)).collect();
        format!("a,y\n{rows}")
    };
    match csv_error(&text(&["1", "2", "x", "y"]), &ReadOptions::default()) {
        Error::TextInNumericColumn { numbers, values, value, .. } => {
            assert_eq!((numbers, values, value.as_str()), (2, 4, "x"));
        }
        other => panic!("{other}"),
    }
    let data = read_csv(&text(&["1", "2", "x", "y", "x"]), &ReadOptions::default()).unwrap();
    assert_eq!(data.feature_names(), ["a=1", "a=2", "a=x", "a=y"]);
    // A declared column takes anything for a name, infinite numbers too.
    let options = ReadOptions::default().with_categorical(strings(&["a"]));
    let data = read_csv(&text(&["1", "inf", "1", "-inf"]), &options).unwrap();
    assert_eq!(data.feature_names(), ["a=-inf", "a=1", "a=inf"]);
    // The shares of the categories fill a hole: of the numbers too.
    let options = options.with_missing(Missing::Mean);
    let data = read_csv(&text(&["1", "2", "", "1", "x"]), &options).unwrap();
    assert_eq!(rows(&data.features)[2], [0.5, 0.25, 0.25]);
}

/// A field, a line and a header may be as long as their limits.
#[test]
fn fields_and_lines_may_reach_their_limits() {
    let of = |length: usize| {
        let field = "x".repeat(length);
        read_csv(&format!("c,y\n{field},0\nz,1\n"), &ReadOptions::default())
    };
    assert_eq!(of(FIELD_LIMIT).unwrap().columns(), 2);
    assert!(matches!(of(FIELD_LIMIT + 1), Err(Error::TooLong { what: "a field", .. })));
    let line = |length: usize| {
        let first = "1 1:1 #";
        let text = format!("{first}{}\n0 2:1\n", "x".repeat(length - first.len() - 1));
        read(&Source::memory("a.svm", text.into_bytes()), &ReadOptions::default())
    };
    assert_eq!(line(LINE_LIMIT).unwrap().rows(), 2);
    assert!(matches!(line(LINE_LIMIT + 1), Err(Error::TooLong { what: "a line", .. })));
}

/// Rows that are left out are not learned from: their categories, their numbers, their classes.
#[test]
fn rows_left_out_are_not_learned_from() {
    let text = "a,c,y\n1,u,no\n,v,yes\n1e300,w,maybe\n3,u,yes\n2,x,no\n";
    let options = ReadOptions::default()
        .with_missing(Missing::Drop)
        .with_negative(strings(&["no"]))
        .with_positive(strings(&["yes"]));
    let data = read_csv(text, &options).unwrap();
    assert_eq!(data.feature_names(), ["a", "c=u", "c=x"]);
    assert_eq!(rows(&data.features), [[1.0, 1.0, 0.0], [3.0, 1.0, 0.0], [2.0, 0.0, 1.0]]);
    assert_eq!((data.labels, data.classes), (vec![0, 1, 0], ["no".into(), "yes".into()]));
    let description = data.description;
    assert_eq!((description.dropped_missing, description.dropped_other_class), (1, 1));
    assert_eq!((description.rows, description.features), (3, 3));
    assert_eq!((description.source.as_str(), description.format.as_str()), ("train.csv", "csv"));
}
