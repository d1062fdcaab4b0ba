//! CSV and TSV: values, and a message for every mistake.

mod common;

use common::{Directory, csv, csv_error, gzip, read_csv, rows, strings};
use properloss_data::encoder::{Column, ColumnKind, Writing};
use properloss_data::{Error, Features, Missing, ReadOptions, Source, Storage, read};

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
