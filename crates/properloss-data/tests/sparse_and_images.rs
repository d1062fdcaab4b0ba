//! LibSVM and IDX files.

mod common;
mod image_sets;

use common::{Directory, gzip, rows, strings};
use image_sets::find_image_set;
use properloss_data::error::Position;
use properloss_data::read::{for_each_row, read_encoded};
use properloss_data::{
    Classes, Error, Features, Format, ReadOptions, Source, UnknownCategory, read,
};

fn libsvm(text: &str) -> Source {
    Source::memory("train.libsvm", text.as_bytes())
}

#[test]
fn libsvm_rows_are_sparse() {
    let text = "# a comment\n+1 1:0.5 3:-2 # another\n\n-1 2:1e3\n1\n";
    let data = read(&libsvm(text), &ReadOptions::default()).unwrap();
    assert_eq!(
        data.features,
        Features::Csr {
            row_starts: vec![0, 2, 3, 3],
            indices: vec![0, 2, 1],
            values: vec![0.5, -2.0, 1000.0],
            columns: 3
        }
    );
    assert_eq!(rows(&data.features), [[0.5, 0.0, -2.0], [0.0, 1000.0, 0.0], [0.0; 3]]);
    assert_eq!(
        (data.labels.clone(), data.classes.clone()),
        (vec![1, 0, 1], ["-1".into(), "+1".into()])
    );
    assert_eq!(data.feature_names(), ["x1", "x2", "x3"]);
    let sample = data.sample().unwrap();
    assert_eq!((sample.rows(), sample.columns()), (3, 3));
    let options = ReadOptions::default().from_zero().with_features(Some(5));
    let data = read(&libsvm("0 0:1 2:3\n1 4:5\n"), &options).unwrap();
    assert_eq!(rows(&data.features), [[1.0, 0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 5.0]]);
    assert_eq!(data.feature_names()[0], "x0");
    let data = read(&Source::memory("a.svm", gzip(b"0 1:1\n1 1:2\n")), &ReadOptions::default());
    assert_eq!(data.unwrap().rows(), 2);
}

#[test]
fn libsvm_classes_can_be_chosen() {
    let options =
        ReadOptions::default().with_negative(strings(&["1", "2"])).with_positive(strings(&["3"]));
    let data = read(&libsvm("1 1:1\n4 1:2\n3 1:3\n2 1:4\n"), &options).unwrap();
    assert_eq!(data.labels, [0, 1, 0]);
    assert_eq!(rows(&data.features), [[1.0], [3.0], [4.0]]);
    assert_eq!(data.description.dropped_other_class, 1);
}

#[test]
fn libsvm_mistakes_name_line_and_field() {
    let what = |text: &str| read(&libsvm(text), &ReadOptions::default()).unwrap_err().to_string();
    for (second, error) in [
        ("0 1", ": \"1\" is not an index:value pair"),
        ("0 a:1", ": \"a:1\" is not an index:value pair"),
        ("0 1:x", ": \"1:x\" is not an index:value pair"),
        ("0 0:1", ": index 0 is outside 1..=4294967296"),
        ("0 3:1 2:1", ": index 2 comes after 3; indices must increase"),
        ("0 3:1 3:1", ": index 3 comes after 3; indices must increase"),
        ("0 1:inf", ", column \"1\": \"1:inf\" is not finite"),
        ("0 1:nan", ", column \"1\": \"1:nan\" is not finite"),
        ("0 qid:7 1:1", ": \"qid:7\": ranking files (qid) are not supported"),
        ("1:1 2:1", ", column \"label\": \"1:1\" is not a number"),
    ] {
        assert_eq!(what(&format!("1 1:1\n{second}\n")), format!("train.libsvm, line 2{error}"));
    }
    assert_eq!(what("1 1:1\n1 2:1\n"), "train.libsvm: only one class, \"1\"; two are needed");
    assert_eq!(
        what("1 1:1\n0 2:1\n2 1:1\n"),
        "train.libsvm, line 3: \"2\" is a third class, after \"1\" and \"0\""
    );
    assert_eq!(what(""), "train.libsvm: the file is empty");
    assert_eq!(what("# nothing\n"), "train.libsvm: no data row");
    assert_eq!(what("1\n0\n"), "train.libsvm: no feature column is left");
    let error = read(&libsvm("1 1:1\n0 0:1\n"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.hint().unwrap(), "the file counts from 0: pass --zero-based");
    for features in [Some(0), Some(1)] {
        let options = ReadOptions::default().with_features(features).from_zero();
        assert!(read(&libsvm("1 1:1\n0 0:1\n"), &options).is_err());
    }
    // A regression file: a third value at once, however many there are.
    let many: String = (0..100_000).map(|i| format!("{} 1:1\n", f64::from(i) / 7.0)).collect();
    assert!(what(&many).starts_with("train.libsvm, line 3: "));
    let error = read(&Source::memory("b.libsvm", *b"1 1:1\n0 \xff\n"), &ReadOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "b.libsvm, line 2: not valid UTF-8 text");
}

#[test]
fn libsvm_prediction_knows_the_width_of_the_model() {
    let data = read(&libsvm("1 1:1\n0 3:1\n"), &ReadOptions::default()).unwrap();
    let options = ReadOptions::default();
    let mut seen = Vec::new();
    for_each_row(&libsvm("0 2:7\n9\n"), &data.encoder, UnknownCategory::Error, &options, |row| {
        seen.push((row.columns.unwrap().to_vec(), row.features.to_vec()));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(seen, [(vec![1], vec![7.0]), (vec![], vec![])]);
    let unknown = UnknownCategory::Error;
    let error = read_encoded(&libsvm("1 4:1\n"), &data.encoder, unknown, &options).unwrap_err();
    assert_eq!(error.to_string(), "train.libsvm, line 1: index 4 is outside 1..=3");
    let error = read_encoded(&libsvm("1 1:1\n7 1:1\n"), &data.encoder, unknown, &options);
    assert_eq!(
        error.unwrap_err().to_string(),
        "train.libsvm, line 2: \"7\" is not a class of the model, which has \"0\", \"1\""
    );
    let labelled = read_encoded(&libsvm("1.0 1:1\n"), &data.encoder, unknown, &options).unwrap();
    assert_eq!(labelled.labels, [1]);
    let table = common::read_csv("c,y\np,0\nq,1\n", &options).unwrap();
    let error = read_encoded(&libsvm("1 1:1\n"), &table.encoder, unknown, &options).unwrap_err();
    assert!(matches!(error, Error::CategoricalModel { .. }), "{error}");
}

/// Images of 2 x 2 pixels.
fn images(pixels: &[u8]) -> Vec<u8> {
    let count = (pixels.len() / 4) as u8;
    [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2], pixels].concat()
}

fn labels(values: &[u8]) -> Vec<u8> {
    [&[0, 0, 8, 1, 0, 0, 0, values.len() as u8], values].concat()
}

const PIXELS: [u8; 12] = [0, 51, 102, 255, 1, 2, 3, 4, 255, 0, 0, 255];

#[test]
fn idx_images_with_chosen_classes() {
    let directory = Directory::new();
    let path = directory.write("train-images-idx3-ubyte.gz", &gzip(&images(&PIXELS)));
    directory.write("train-labels-idx1-ubyte", &labels(&[8, 3, 0]));
    let source = Source::Path(path);
    assert_eq!(Format::detect(&source).unwrap(), Format::Idx);
    let options =
        ReadOptions::default().with_negative(strings(&["0"])).with_positive(strings(&["8"]));
    let data = read(&source, &options).unwrap();
    assert_eq!(
        data.features,
        Features::DenseF32 { values: vec![0.0, 0.2, 0.4, 1.0, 1.0, 0.0, 0.0, 1.0], columns: 4 }
    );
    assert_eq!((data.labels.clone(), data.classes.clone()), (vec![1, 0], ["0".into(), "8".into()]));
    assert_eq!(data.feature_names(), ["pixel1", "pixel2", "pixel3", "pixel4"]);
    assert_eq!(data.description.dropped_other_class, 1);
    // Of five images two are of other classes.
    let many = directory.write("five-images-idx3-ubyte", &images(&[7; 20]));
    directory.write("five-labels-idx1-ubyte", &labels(&[8, 3, 0, 0, 4]));
    let five = read(&Source::Path(many), &options).unwrap();
    assert_eq!((five.labels, five.description.dropped_other_class), (vec![1, 0, 0], 2));
    // The model's classes at evaluation, and all images at prediction.
    let again =
        read_encoded(&source, &data.encoder, UnknownCategory::Error, &ReadOptions::default());
    assert_eq!(again.unwrap().labels, [1, 0]);
    let mut count = 0;
    for_each_row(&source, &data.encoder, UnknownCategory::Error, &options, |row| {
        count += row.features.len();
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(count, 12);
    // Three classes without a choice.
    let error = read(&source, &ReadOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("row 3: \"0\" is a third class, after \"8\" and \"3\""),
        "{error}"
    );
}

#[test]
fn idx_mistakes() {
    let directory = Directory::new();
    let read_with = |images: &[u8], labels: Option<&[u8]>| {
        let path = directory.write("train-images-idx3-ubyte", images);
        let _ = std::fs::remove_file(directory.0.join("train-labels-idx1-ubyte"));
        if let Some(labels) = labels {
            directory.write("train-labels-idx1-ubyte", labels);
        }
        let error = read(&Source::Path(path), &ReadOptions::default()).unwrap_err();
        error.to_string().replace(&format!("{}/", directory.0.display()), "")
    };
    let good = images(&PIXELS);
    let two = labels(&[0, 1, 1]);
    assert_eq!(
        read_with(&good[..good.len() - 5], Some(&two)),
        "train-images-idx3-ubyte: the header promises 12 bytes of data, the file holds 7"
    );
    assert_eq!(
        read_with(&[good.as_slice(), &[9, 9]].concat(), Some(&two)),
        "train-images-idx3-ubyte: the header promises 12 bytes of data, the file holds 14"
    );
    assert_eq!(
        read_with(&good[..10], Some(&two)),
        "train-images-idx3-ubyte: the header promises 12 bytes of data, the file holds 6"
    );
    let packed = gzip(&good);
    assert_eq!(
        read_with(&packed[..packed.len() - 3], Some(&two)),
        "train-images-idx3-ubyte: the gzip data is cut short"
    );
    assert_eq!(read_with(b"", Some(&two)), "train-images-idx3-ubyte: the file is empty");
    assert_eq!(
        read_with(b"hello", Some(&two)),
        "train-images-idx3-ubyte: not an IDX file: it starts with bytes [68, 65, 6c, 6c]"
    );
    assert_eq!(
        read_with(&two, Some(&two)),
        "train-images-idx3-ubyte: expected images, found an IDX file of 1 dimension (labels?)"
    );
    assert_eq!(
        read_with(&good, Some(&good)),
        "train-labels-idx1-ubyte: expected labels, found an IDX file of 3 dimensions (images?)"
    );
    assert_eq!(
        read_with(&good, Some(&labels(&[0, 1]))),
        "train-images-idx3-ubyte has 3 images, but train-labels-idx1-ubyte has 2 labels"
    );
    assert_eq!(
        read_with(&good, None),
        "train-images-idx3-ubyte: no label file beside it (train-labels-idx1-ubyte does not exist)"
    );
    assert_eq!(
        read_with(&[0, 0, 0x0d, 3, 0, 0, 0, 0], Some(&two)),
        "train-images-idx3-ubyte: expected unsigned bytes, found an IDX file of 4-byte floats"
    );
    // A header that promises more than memory holds is not believed.
    let huge = [&[0, 0, 8, 3], [0xff; 12].as_slice(), &PIXELS].concat();
    assert!(read_with(&huge, Some(&two)).contains("the file holds 12"));
}

#[test]
fn image_sets_are_found_or_the_places_named() {
    let error = find_image_set("no-such-set", "train").unwrap_err();
    assert!(error.contains("no-such-set") && error.contains("PROPERLOSS_DATA"), "{error}");
}

/// The real sets, where they are on this machine.
#[test]
fn the_real_image_sets() {
    let cases = [
        ("mnist", Classes::new(strings(&["0"]), strings(&["8"])).unwrap(), 980, 974),
        ("fashion-mnist", Classes::odd_v_even(), 5000, 5000),
    ];
    for (name, classes, negatives, positives) in cases {
        let source = match find_image_set(name, "t10k") {
            Ok(path) => Source::Path(path),
            Err(error) if std::env::var("CI").as_deref() == Ok("true") => panic!("{error}"),
            Err(error) => {
                eprintln!("skipped: no data: {error}");
                continue;
            }
        };
        let options =
            ReadOptions::default().with_negative(classes.negative).with_positive(classes.positive);
        let data = read(&source, &options).unwrap();
        assert_eq!((data.rows() - data.positives(), data.positives()), (negatives, positives));
        assert_eq!(data.columns(), 784);
        let largest = rows(&data.features).iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
        assert_eq!(largest, 1.0);
    }
}

/// Arrays of other numbers than bytes are called by their type; what is no such type is no IDX file.
#[test]
fn idx_types_are_named() {
    let said = |kind: u8| {
        let bytes = [0, 0, kind, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let source = Source::memory("a.idx", bytes);
        properloss_data::idx::read_idx(&source).unwrap_err()
    };
    for (kind, name) in [
        (0x09, "signed bytes"),
        (0x0b, "2-byte integers"),
        (0x0c, "4-byte integers"),
        (0x0d, "4-byte floats"),
        (0x0e, "8-byte floats"),
    ] {
        match said(kind) {
            Error::WrongIdx { found, .. } => assert_eq!(found, name),
            other => panic!("{kind}: {other}"),
        }
    }
    assert!(matches!(said(0x0a), Error::NotIdx { .. }));
}

/// A model of images of one size takes no others, at evaluation and at prediction.
#[test]
fn images_of_another_size_are_refused() {
    let directory = Directory::new();
    let two = Source::Path(directory.write("a-images-idx3-ubyte", &images(&PIXELS)));
    directory.write("a-labels-idx1-ubyte", &labels(&[0, 1, 1]));
    let one = [&[0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1], &PIXELS[..3]].concat();
    let one = Source::Path(directory.write("b-images-idx3-ubyte", &one));
    directory.write("b-labels-idx1-ubyte", &labels(&[0, 1, 1]));
    let options = ReadOptions::default();
    let encoder = read(&two, &options).unwrap().encoder;
    let unknown = UnknownCategory::Error;
    let rows = for_each_row(&one, &encoder, unknown, &options, |_| Ok::<(), Error>(()));
    for refused in [read_encoded(&one, &encoder, unknown, &options).map(drop), rows] {
        match refused.unwrap_err() {
            Error::FeatureCount { found, expected, .. } => assert_eq!((found, expected), (1, 4)),
            other => panic!("{other}"),
        }
    }
    // Nor does a model of a table.
    let table = common::read_csv("c,y\np,0\nq,1\n", &options).unwrap().encoder;
    let refused = read_encoded(&one, &table, unknown, &options).unwrap_err();
    assert!(matches!(refused, Error::CategoricalModel { format: "IDX", .. }), "{refused}");
    // Every pixel of every image at prediction, numbered from 1.
    let mut seen = Vec::new();
    for_each_row(&two, &encoder, unknown, &options, |row| {
        seen.push((row.position, row.features.to_vec(), row.columns.is_none(), row.unknown));
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(seen.len(), 3);
    for (i, (position, features, dense, unknown)) in seen.into_iter().enumerate() {
        let pixels = PIXELS[4 * i..4 * i + 4].iter().map(|&v| f64::from(f32::from(v) / 255.0));
        assert_eq!(features, pixels.collect::<Vec<_>>());
        assert_eq!((position, dense, unknown), (Position::Row(i as u64 + 1), true, 0));
    }
}

/// The labels are in the file that was named, else beside the images under the name that belongs to
/// theirs, packed or not.
#[test]
fn labels_are_found_beside_the_images() {
    let directory = Directory::new();
    let options = ReadOptions::default();
    let packed = |bytes: &[u8], name: &str| {
        if name.ends_with(".gz") { gzip(bytes) } else { bytes.to_vec() }
    };
    for (n, (image, label)) in [
        ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        ("train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz"),
        ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"),
        ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = directory.0.join(n.to_string());
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join(image);
        std::fs::write(&path, packed(&images(&PIXELS), image)).unwrap();
        std::fs::write(folder.join(label), packed(&labels(&[7, 4, 7]), label)).unwrap();
        let data = read(&Source::Path(path), &options).unwrap();
        assert_eq!(data.labels, [1, 0, 1], "{image} {label}");
        assert_eq!(data.classes, ["4", "7"]);
    }
    let alone = directory.write("x-images-idx3-ubyte", &images(&PIXELS));
    let named = directory.write("answers", &labels(&[1, 1, 2]));
    let named = options.clone().with_labels_file(Some(named));
    let data = read(&Source::Path(alone.clone()), &named).unwrap();
    assert_eq!((data.labels, data.description.rows), (vec![0, 0, 1], 3));
    assert_eq!((data.description.features, data.description.format.as_str()), (4, "idx"));
    // Images under a name that has nothing to replace are not their own labels.
    let odd = directory.write("pictures.idx", &images(&PIXELS));
    for path in [odd, alone] {
        let error = read(&Source::Path(path), &options).unwrap_err();
        assert!(matches!(error, Error::NoIdxLabels { .. }), "{error}");
    }
}

/// Sizes are big-endian numbers of 4 bytes; there may be more than two dimensions, and none is no array.
#[test]
fn arrays_have_the_shape_that_they_say() {
    let read = |bytes: &[u8]| properloss_data::idx::read_idx(&Source::memory("a.idx", bytes));
    let long = [&[0, 0, 8, 1, 0, 0, 1, 2], &[5u8; 258][..]].concat();
    assert_eq!(read(&long).unwrap().shape, [258]);
    let cube = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1], &[1u8, 2, 3, 4, 5, 6][..]];
    let cube = read(&cube.concat()).unwrap();
    assert_eq!((cube.shape, cube.values), (vec![2, 3, 1], vec![1, 2, 3, 4, 5, 6]));
    assert!(matches!(read(&[0, 0, 8, 0]), Err(Error::NotIdx { .. })));
    assert!(matches!(read(&[0, 0, 8]), Err(Error::NotIdx { .. })));
    assert!(matches!(read(&[0, 1, 8, 1, 0, 0, 0, 0]), Err(Error::NotIdx { .. })));
    assert_eq!(read(&[0, 0, 8, 1, 0, 0, 0, 0]).unwrap().values, [0; 0]);
    match read(&[&long[..], &[0; 100_000]].concat()).unwrap_err() {
        Error::IdxLength { expected, found, .. } => assert_eq!((expected, found), (258, 100_258)),
        other => panic!("{other}"),
    }
    // A gzip file that is damaged behind the values is damaged.
    let mut packed = gzip(&long);
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    assert!(matches!(read(&packed), Err(Error::DamagedGzip { .. })));
    // Images of no row.
    let none = Source::memory("n-images-idx3-ubyte", [0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 4]);
    let error = properloss_data::read(&none, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NoRows { .. }), "{error}");
}

/// Of a file of very many columns that stores none of them nothing is learned.
#[test]
fn a_sparse_file_without_values_has_no_features() {
    for (text, features) in [("1\n0\n", Some(100_000)), ("1\n0\n", None)] {
        let options = ReadOptions::default().with_features(features);
        let error = read(&libsvm(text), &options).unwrap_err();
        assert!(matches!(error, Error::NoFeatures { .. }), "{error}");
        let scanned = properloss_data::stream::Scan::new(&libsvm(text), &options).unwrap_err();
        assert!(matches!(scanned, Error::NoFeatures { .. }), "{scanned}");
    }
    // Few columns that were stated are features, stored or not.
    let options = ReadOptions::default().with_features(Some(3));
    assert_eq!(rows(&read(&libsvm("1\n0\n"), &options).unwrap().features), [[0.0; 3]; 2]);
}

/// A pass that holds nothing learns what reading holds: columns, classes, rows and values.
#[test]
fn a_pass_over_a_sparse_file_counts_what_is_kept() {
    use properloss_data::stream::Scan;
    let text = "1 1:1 3:0.1\n2 2:5\n3 1:1 2:1 5:1\n1 4:2\n";
    let two = ReadOptions::default().with_negative(strings(&["1"])).with_positive(strings(&["2"]));
    let scan = Scan::new(&libsvm(text), &two).unwrap();
    assert_eq!((scan.rows(), scan.stored()), (3, 4), "without the row of class 3");
    assert_eq!(*scan.encoder(), read(&libsvm(text), &two).unwrap().encoder);
    assert_eq!(scan.encoder().width(), 5);
    let wide = two.clone().with_features(Some(9));
    assert_eq!(Scan::new(&libsvm(text), &wide).unwrap().encoder().width(), 9);
    let numbered = "1 1:1 70000:2\n2 900000:5\n1 70000:4\n";
    let scan = Scan::new(&libsvm(numbered), &two).unwrap();
    assert_eq!(*scan.encoder(), read(&libsvm(numbered), &two).unwrap().encoder);
    assert_eq!(scan.encoder().sparse.as_ref().unwrap().indices, [0, 69_999, 899_999]);
    assert!(matches!(Scan::new(&libsvm(""), &two), Err(Error::EmptyFile { .. })));
    assert!(matches!(Scan::new(&libsvm("# no\n"), &two), Err(Error::NoRows { .. })));
    let none = two.with_features(Some(0));
    assert!(matches!(Scan::new(&libsvm(text), &none), Err(Error::BadOption { .. })));
}

/// Sparse rows of several files are one after the other; a line that is wrong has the name of its file.
#[test]
fn sparse_files_are_read_one_after_the_other() {
    let directory = Directory::new();
    let first = directory.write("a.svm", b"1 1:1\n0 2:1\n");
    let second = directory.write("b.svm", b"1 3:5\n");
    let both = |paths: Vec<std::path::PathBuf>| Source::files("*.svm".as_ref(), paths);
    let source = both(vec![first.clone(), second]);
    let data = read(&source, &ReadOptions::default()).unwrap();
    assert_eq!(rows(&data.features), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]);
    let wrong = directory.write("c.svm", b"1 3:5\n1 0:5\n");
    let error = read(&both(vec![first, wrong]), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("c.svm, line 2: index 0 is outside 1..=4294967296"));
}
