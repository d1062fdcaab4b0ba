//! Memory is asked for, never taken: limits and budgets of all readers.

mod common;

use common::{csv_error, gzip};
use properloss::design::FittedScaling;
use properloss_data::encoder::SparseColumns;
use properloss_data::memory::{Budget, COLUMN_LIMIT, FIELD_LIMIT, LINE_LIMIT};
use properloss_data::model_file::Fitted;
use properloss_data::read::{for_each_row, read_encoded};
use properloss_data::{
    Error, Features, Format, ModelFile, ReadOptions, Source, Storage, UnknownCategory, read,
};

fn within(bytes: u64) -> ReadOptions {
    ReadOptions::default().with_memory(Some(bytes))
}

fn error(name: &str, bytes: &[u8], options: &ReadOptions) -> String {
    read(&Source::memory(name, bytes), options).unwrap_err().to_string()
}

#[test]
fn a_table_that_does_not_fit_is_refused_with_its_size() {
    let text = format!("a,b,y\n{}", "1,2,0\n3,4,1\n".repeat(500));
    // 1000 rows of two numbers and a label byte: 17,000 bytes.
    let told = "train.csv: reading it takes 16.6 KB, but 9.8 KB may be used";
    assert_eq!(csv_error(&text, &within(10_000)).to_string(), told);
    assert!(csv_error(&text, &within(10_000)).hint().unwrap().contains("--memory"));
    assert!(read(&common::csv(&text), &within(17_000)).is_ok());
    let half = within(10_000).with_storage(Storage::F32);
    assert!(read(&common::csv(&text), &half).is_ok(), "9,000 bytes");
}

#[test]
fn sparse_rows_and_images_that_do_not_fit_are_refused() {
    let lines = "1 1:1 2:2 3:3\n0 1:2\n".repeat(500);
    let told = error("a.svm", lines.as_bytes(), &within(20_000));
    assert_eq!(told, "a.svm: reading it takes more than 19.5 KB, but 19.5 KB may be used");
    assert!(read(&Source::memory("a.svm", lines.as_bytes()), &within(200_000)).is_ok());
    // 100 images of 20 x 1 pixels: a byte each, and 4 more as numbers.
    let mut idx = vec![0, 0, 8, 2, 0, 0, 0, 100, 0, 0, 0, 20];
    idx.extend([7; 2000]);
    let told = error("images-idx3-ubyte", &idx, &within(9_000));
    let expected = "images-idx3-ubyte: reading it takes 9.8 KB, but 8.8 KB may be used";
    assert_eq!(told, expected);
    let told = error("images-idx3-ubyte", &idx, &within(20_000));
    assert!(told.contains("no label file beside it"), "{told}");
}

#[test]
fn long_lines_fields_and_headers_end_early() {
    let zeros = gzip(&vec![0; LINE_LIMIT + (1 << 20)]);
    for name in ["zeros.csv.gz", "zeros.tsv.gz", "zeros.svm.gz"] {
        let told = error(name, &zeros, &ReadOptions::default());
        assert_eq!(told, format!("{name}, line 1: a line is longer than the limit of 32.0 MB"));
    }
    let quoted = format!("a,y\n\"1,0\n{}", "2,1\n".repeat(FIELD_LIMIT / 4));
    let told = csv_error(&quoted, &ReadOptions::default());
    assert_eq!(told.to_string(), "train.csv, line 2: a field is longer than the limit of 1.0 MB");
    assert_eq!(told.hint().unwrap(), "look for an open quote");
    let wide = ",".repeat(COLUMN_LIMIT + (1 << 17));
    let told = csv_error(&wide, &ReadOptions::default()).to_string();
    assert_eq!(told, format!("train.csv, line 1: more than {COLUMN_LIMIT} columns"));
    // A long text in a message is cut.
    let told = error("a.svm", &[b'x'; 100_000], &ReadOptions::default());
    assert!(told.len() < 400 && told.contains("... (100000 bytes)"), "{told}");
}

#[test]
fn parquet_claims_are_held_against_the_bytes() {
    let footer = |bytes: &[u8]| {
        let length = (bytes.len() as u32).to_le_bytes();
        [b"PAR1", bytes, &length, b"PAR1"].concat()
    };
    // 2^31 - 1 row groups in a footer of 14 bytes.
    let groups = [0x15, 2, 0x19, 0x0c, 0x16, 0, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0];
    let told = error("a.parquet", &footer(&groups), &ReadOptions::default());
    assert_eq!(told, "a.parquet: not a readable Parquet file: the footer does not decode");
    let path = common::fixture("pandas-snappy.parquet");
    let told = read(&Source::Path(path), &within(16)).unwrap_err();
    assert!(matches!(told, Error::Memory { .. }), "{told}");
}

#[test]
fn json_has_a_depth_and_numbers_a_length() {
    let told = |content: String| {
        let text =
            format!("{{\"format\": \"properloss-model\", \"version\": 1,\n\"x\": {content}}}");
        ModelFile::from_json(text.as_bytes(), "m.json".as_ref()).unwrap_err().to_string()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(told(deep), "m.json, line 2: the nesting is longer than the limit of 64 levels");
    let long = "1".repeat(1_000_000);
    assert_eq!(told(long), "m.json, line 2: a number is longer than the limit of 1024 digits");
    // Brackets and digits in texts are texts.
    assert!(
        told(format!("\"{}\\\"{}\"", "[".repeat(100), "7".repeat(5000))).contains("missing field")
    );
}

const HASHED: &str = "1 1:1 300000000:5\n0 7:2\n1 4294967295:3\n0 300000000:4\n";

#[test]
fn columns_that_no_row_uses_cost_nothing() {
    let source = Source::memory("hashed.svm", HASHED.as_bytes());
    let data = read(&source, &within(4096)).unwrap();
    let sparse =
        SparseColumns { first: 1, features: None, indices: vec![0, 6, 299_999_999, 4_294_967_294] };
    assert_eq!(data.encoder.sparse, Some(sparse));
    assert_eq!(
        data.features,
        Features::Csr {
            row_starts: vec![0, 2, 3, 4, 5],
            indices: vec![0, 2, 1, 3, 2],
            values: vec![1.0, 5.0, 2.0, 3.0, 4.0],
            columns: 4
        }
    );
    assert_eq!(data.feature_names(), [""; 0]);
    let names: Vec<String> = (0..5).map(|j| data.encoder.feature_name(j)).collect();
    assert_eq!(names, ["x1", "x7", "x300000000", "x4294967295", ""]);
    // The last of 2^32 columns, counted from 0 and from 1; one more is an error.
    let zero = ReadOptions::default().from_zero();
    let last = |options: &ReadOptions, index: u64| {
        let text = format!("1 {index}:1\n0 5:1\n");
        read(&Source::memory("a.svm", text.as_bytes()), options).map(|data| data.columns())
    };
    assert_eq!(last(&zero, 4_294_967_295).unwrap(), 2);
    assert_eq!(last(&ReadOptions::default(), 4_294_967_296).unwrap(), 2);
    assert!(last(&zero, 4_294_967_296).is_err());
    // Up to 65,536 columns, or where half of them are used, all are kept.
    assert_eq!(last(&ReadOptions::default(), 65_536).unwrap(), 65_536);
    assert_eq!(last(&ReadOptions::default(), 65_537).unwrap(), 2);
}

#[test]
fn other_rows_find_the_columns_of_the_model() {
    let data = read(&Source::memory("hashed.svm", HASHED.as_bytes()), &within(4096)).unwrap();
    // Column 9 was in no training row: whatever its value, it adds nothing.
    let rows = Source::memory("new.svm", *b"0 7:1 9:100 300000000:2\n1 4000000000:1\n");
    let mut seen = Vec::new();
    for_each_row(&rows, &data.encoder, UnknownCategory::Error, &within(4096), |row| {
        seen.push((row.columns.unwrap().to_vec(), row.features.to_vec()));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(seen, [(vec![1, 2], vec![1.0, 2.0]), (vec![], vec![])]);
    let again = read_encoded(&rows, &data.encoder, UnknownCategory::Error, &within(4096)).unwrap();
    assert_eq!(
        again.features,
        Features::Csr {
            row_starts: vec![0, 2, 2],
            indices: vec![1, 2],
            values: vec![1.0, 2.0],
            columns: 4
        }
    );
    // With the number of columns stated, an index beyond it is a mistake.
    let stated = ReadOptions::default().with_features(Some(1 << 28));
    let text = "1 1:1 5:1\n0 200000000:1\n";
    let data = read(&Source::memory("a.svm", text.as_bytes()), &stated).unwrap();
    let error = read_encoded(&rows, &data.encoder, UnknownCategory::Error, &stated).unwrap_err();
    assert_eq!(error.to_string(), "new.svm, line 1: index 300000000 is outside 1..=268435456");
    let table = Source::memory("a.csv", *b"x1,y\n1,0\n2,1\n");
    let error = read_encoded(&table, &data.encoder, UnknownCategory::Error, &stated).unwrap_err();
    assert!(error.to_string().contains("3 numbered sparse columns"), "{error}");
}

#[test]
fn a_model_of_numbered_columns_reads_back() {
    let data = read(&Source::memory("hashed.svm", HASHED.as_bytes()), &within(4096)).unwrap();
    let link = properloss::link::by_name("sigmoid", &[]).unwrap();
    let model = properloss::train::Model::new(vec![0.5, -1.0, 2.0, 0.25], 0.1, link).unwrap();
    let (none, classes) = (FittedScaling::None, data.classes.clone());
    let file = ModelFile::new(&model, data.encoder, none, classes, Fitted::default());
    let json = file.to_json().unwrap();
    assert!(json.contains("\"indices\": [0, 6, 299999999, 4294967294]"), "{json}");
    let again = ModelFile::from_json(json.as_bytes(), "m.json".as_ref()).unwrap();
    assert_eq!(again, file);
    assert_eq!(again.preprocessing.scaling, FittedScaling::None);
    for (from, to, told) in [
        ("[0, 6, 2", "[6, 0, 2", "m.json: encoder.sparse.indices[1]: 0 after 6"),
        ("\"first\": 1", "\"first\": 2", "m.json: encoder.sparse.first: 2 is neither 0 nor 1"),
        (
            "[0, 6, 299999999, 4294967294]",
            "[0, 6]",
            "m.json: preprocessing.encoder: 2 values, but there are 4 weights",
        ),
    ] {
        let bad = json.replace(from, to);
        assert_ne!(bad, json);
        let error = ModelFile::from_json(bad.as_bytes(), "m.json".as_ref()).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
    assert_eq!(Format::from_name("libsvm").unwrap(), Format::Libsvm);
}

/// `ulimit -v` and `ulimit -d`, less what the program already has, bound what may be taken.
#[cfg(target_os = "linux")]
#[test]
fn limits_of_the_shell_are_kept() {
    if common::is_alone() {
        println!("may take {} bytes", Budget::of_machine().bytes());
        return;
    }
    // In units of 1024 bytes; more than a test takes, less than a machine has.
    for (limit, bytes) in
        [("ulimit -v 900000;", 900_000 << 10), ("ulimit -d 500000;", 500_000 << 10)]
    {
        let said = common::alone(module_path!(), "limits_of_the_shell_are_kept", limit, b"");
        let said = said.split("may take ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        let free: u64 = said.parse().unwrap();
        assert!(free < bytes && free > bytes / 2, "{limit} {free}");
    }
}

/// A table is asked for at once, after its rows were counted: values, labels and weights.
#[test]
fn a_table_is_asked_for_to_the_byte() {
    let rows = 1000u64;
    let text = format!("a,b,w,y\n{}", "1,2,1,0\n3,4,2,1\n".repeat(rows as usize / 2));
    for (storage, value) in [(Storage::F64, 8), (Storage::F32, 4)] {
        for weight in [None, Some("w".to_owned())] {
            let ignore = if weight.is_some() { Vec::new() } else { vec!["w".into()] };
            let needed = rows * (2 * value + 1 + if weight.is_some() { 8 } else { 0 });
            let of = |bytes| {
                within(bytes)
                    .with_storage(storage)
                    .with_weight(weight.clone())
                    .with_ignore(ignore.clone())
            };
            assert_eq!(read(&common::csv(&text), &of(needed)).unwrap().rows(), 1000);
            match csv_error(&text, &of(needed - 1)) {
                Error::Memory { needed: said, budget, so_far, .. } => {
                    assert_eq!((said, budget, so_far), (needed, needed - 1, false));
                }
                other => panic!("{other}"),
            }
            // Rows for a model are not counted before they are read: they grow, within the budget.
            let encoder = read(&common::csv(&text), &of(1 << 20)).unwrap().encoder;
            let again = |bytes| {
                read_encoded(&common::csv(&text), &encoder, UnknownCategory::Error, &of(bytes))
            };
            assert_eq!(again(4 * needed).unwrap().rows(), 1000);
            match again(needed / 2).unwrap_err() {
                Error::Memory { so_far: true, .. } => {}
                other => panic!("{other}"),
            }
        }
    }
}

/// Columns are left out only if there are more than have names, and fewer than half are used.
#[test]
fn few_columns_of_many_are_numbered() {
    let named = SparseColumns::NAMED as u64;
    let width = |last: u64, used: u64| {
        let row: String = (1..used).map(|j| format!(" {j}:1")).collect();
        let text = format!("1{row} {last}:1\n0 1:2\n");
        let data = read(&Source::memory("a.svm", text.as_bytes()), &ReadOptions::default());
        let data = data.unwrap();
        (data.encoder.sparse.is_some(), data.columns() as u64)
    };
    assert_eq!(width(named, 3), (false, named));
    assert_eq!(width(named + 1, 3), (true, 3));
    // 2 · 32768 is below 65537, 2 · 32769 is not.
    assert_eq!(width(named + 1, 32_768), (true, 32_768));
    assert_eq!(width(named + 1, 32_769), (false, named + 1));
    // Half of them is not fewer than half.
    assert_eq!(width(named + 2, 32_768), (true, 32_768));
    assert_eq!(width(named + 2, 32_769), (false, named + 2));
    // Columns that were stated are as many, used or not.
    let stated = |features: u64| {
        let options = ReadOptions::default().with_features(Some(features as usize));
        let text = format!("1 1:1\n0 {features}:2\n");
        read(&Source::memory("a.svm", text.as_bytes()), &options).unwrap().encoder
    };
    assert_eq!(stated(named).sparse, None);
    let sparse = stated(named + 5).sparse.unwrap();
    assert_eq!((sparse.features, sparse.indices), (Some(named + 5), vec![0, 65_540]));
}

/// A pixel is held as a byte and as a number of 4 bytes; images that take as much as there is are read.
#[test]
fn images_are_asked_for_to_the_byte() {
    let folder = common::Directory::new();
    let sizes = [0, 0, 8, 2, 0, 0, 0, 100, 0, 0, 0, 200];
    let path = folder.write("a-images-idx3-ubyte", &[&sizes[..], &[7; 20_000]].concat());
    let labels: Vec<u8> = (0..100).map(|i| i % 2).collect();
    folder.write("a-labels-idx1-ubyte", &[&[0, 0, 8, 1, 0, 0, 0, 100], &labels[..]].concat());
    let source = Source::Path(path);
    let data = read(&source, &within(100_000)).unwrap();
    assert_eq!((data.rows(), data.columns(), data.labels), (100, 200, labels));
    match read(&source, &within(99_990)).unwrap_err() {
        Error::Memory { needed, so_far, .. } => assert_eq!((needed, so_far), (100_000, false)),
        other => panic!("{other}"),
    }
}
