//! Data that come once: named pipes, the substitution of a shell, standard input.
#![cfg(unix)]

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Directory, alone, fixture, gzip, is_alone, strings};
use properloss_data::stream::{Destination, Scan, write_encoded};
use properloss_data::{Dataset, Error, Format, ReadOptions, Source, UnknownCategory, read};

const CSV: &[u8] = b"a,b,y\n1,x,0\n2,z,1\n3,x,0\n4,z,1\n";
const SVM: &[u8] = b"1 1:1 3:2\n0 2:1\n1 3:1\n";

/// A named pipe that is given these bytes once, when somebody reads it.
fn pipe(directory: &Directory, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.0.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (to, bytes) = (path.clone(), bytes.to_vec());
    std::thread::spawn(move || {
        let _ = std::fs::write(to, bytes);
    });
    path
}

fn from(path: &Path) -> Source {
    Source::from(path)
}

#[track_caller]
fn same_rows(piped: &Dataset, whole: &Dataset) {
    assert_eq!((&piped.features, &piped.labels), (&whole.features, &whole.labels));
    assert_eq!((&piped.encoder, &piped.classes), (&whole.encoder, &whole.classes));
    assert_eq!(piped.description.format, whole.description.format);
}

/// Formats are told, columns learned and rows encoded in passes of their own; a pipe has one.
#[test]
fn a_pipe_is_read_as_a_file_of_any_format() {
    let directory = Directory::new();
    let parquet = std::fs::read(fixture("pandas-snappy.parquet")).unwrap();
    for (name, bytes) in [
        ("t.csv", CSV.to_vec()),
        ("t.tsv", String::from_utf8_lossy(CSV).replace(',', "\t").into_bytes()),
        ("t.csv.gz", gzip(CSV)),
        ("t.svm", SVM.to_vec()),
        ("t.parquet", parquet),
    ] {
        let ignore = if name == "t.parquet" { strings(&["when"]) } else { Vec::new() };
        let options = ReadOptions::default().with_ignore(ignore);
        let whole = read(&Source::memory(name, bytes.clone()), &options).unwrap();
        let source = from(&pipe(&directory, name, &bytes));
        let piped = read(&source, &options).unwrap();
        same_rows(&piped, &whole);
        assert_eq!(piped.description.source, directory.0.join(name).display().to_string());
        // Again: the bytes are kept as long as the source.
        same_rows(&read(&source, &options).unwrap(), &whole);
        let kept = source.path().unwrap().unwrap().to_path_buf();
        assert_eq!(std::fs::read(&kept).unwrap(), bytes);
        drop(source);
        assert!(!kept.exists(), "{}", kept.display());
    }
    // A format that is said is not looked for.
    let options = ReadOptions::default().with_format(Some(Format::Parquet));
    let options = options.with_ignore(strings(&["when"]));
    let bytes = std::fs::read(fixture("pandas-gzip.parquet")).unwrap();
    let piped = read(&from(&pipe(&directory, "said", &bytes)), &options).unwrap();
    assert_eq!(piped.rows(), 1200);
}

/// `<(command)` is a name such as `/dev/fd/63`, which tells no format: a table, as on standard input.
#[cfg(target_os = "linux")]
#[test]
fn what_a_shell_substitutes_is_a_table() {
    use std::os::fd::AsRawFd as _;
    let (reader, mut writer) = std::io::pipe().unwrap();
    let source = from(format!("/dev/fd/{}", reader.as_raw_fd()).as_ref());
    writer.write_all(CSV).unwrap();
    drop(writer);
    assert_eq!(Format::detect(&source).unwrap(), Format::Csv);
    let whole = read(&common::csv(std::str::from_utf8(CSV).unwrap()), &ReadOptions::default());
    same_rows(&read(&source, &ReadOptions::default()).unwrap(), &whole.unwrap());
}

#[test]
fn pipes_are_parts_beside_files() {
    let directory = Directory::new();
    let paths = vec![
        pipe(&directory, "a.csv", b"x,y\n1,no\n2,yes\n"),
        directory.write("b.csv", b"x,y\n3,no\n"),
        pipe(&directory, "c.csv", b"y,x\nyes,4\n"),
    ];
    let data = read(&Source::files(Path::new("*.csv"), paths), &ReadOptions::default()).unwrap();
    assert_eq!(common::rows(&data.features), [[1.0], [2.0], [3.0], [4.0]]);
    assert_eq!(data.labels, [0, 1, 0, 1]);
}

#[test]
fn rows_in_blocks_come_from_a_pipe_too() {
    let directory = Directory::new();
    let options = ReadOptions::default();
    for (name, bytes, rows) in [("t.csv", CSV, 4), ("t.svm", SVM, 3)] {
        let source = from(&pipe(&directory, name, bytes));
        let scan = Scan::new(&source, &options).unwrap();
        let blocks = scan.write(&source, &options, Destination::Temporary, 40).unwrap();
        assert_eq!(blocks.blocks.rows(), rows);
        let (encoder, unknown) = (&blocks.encoder, UnknownCategory::Error);
        let again = write_encoded(&source, encoder, unknown, &options, 1 << 20).unwrap();
        assert_eq!(again.blocks.rows(), rows);
    }
}

#[test]
fn a_pipe_without_bytes_is_an_empty_file() {
    let directory = Directory::new();
    for name in ["t.csv", "t.svm", "nameless"] {
        let error = read(&from(&pipe(&directory, name, b"")), &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::EmptyFile { .. }), "{name}: {error}");
    }
}

/// All of standard input, in memory or in a file: read again and again, and called by what it is.
#[test]
fn standard_input_is_kept() {
    if !is_alone() {
        for input in [CSV, &gzip(CSV)] {
            for test in ["standard_input_is_kept_in_memory", "standard_input_is_kept_in_a_file"] {
                let said = alone(module_path!(), test, "", input);
                assert!(said.contains("4 rows"), "{said}");
            }
        }
        let said = alone(module_path!(), "standard_input_has_a_budget", "", &[b'1'; 3000]);
        assert!(said.contains("refused"), "{said}");
    }
}

fn look_at(source: &Source) {
    for _ in 0..2 {
        assert_eq!(Format::detect(source).unwrap(), Format::Csv);
        let data = read(source, &ReadOptions::default()).unwrap();
        assert_eq!((data.rows(), data.labels), (4, vec![0, 1, 0, 1]));
        assert_eq!(data.description.source, "standard input");
    }
    println!("4 rows");
}

#[test]
fn standard_input_is_kept_in_memory() {
    if is_alone() {
        let source = Source::stdin(None).unwrap();
        assert_eq!(source.path().unwrap(), None);
        look_at(&source);
    }
}

#[test]
fn standard_input_is_kept_in_a_file() {
    if is_alone() {
        let source = Source::spilled_stdin().unwrap();
        look_at(&source);
        let path = source.path().unwrap().unwrap().to_path_buf();
        assert!(path.is_file());
        drop(source);
        assert!(!path.exists());
    }
}

/// It is held twice for a moment: as it comes, and as the source keeps it.
#[test]
fn standard_input_has_a_budget() {
    if is_alone() {
        let error = Source::stdin(Some(5999)).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        println!("refused");
    }
}

/// A file of another kind in the place of a model is judged by its beginning, though it has no end.
#[test]
fn what_is_no_model_is_not_read_to_its_end() {
    for line in [&b"1,2,3\n"[..], b"{\0\n"] {
        let directory = Directory::new();
        let path = directory.0.join("model.json");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let to = path.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = std::fs::File::options().write(true).open(to).unwrap();
            let piece = line.repeat(10_000);
            (0..2000).take_while(|_| pipe.write_all(&piece).is_ok()).count()
        });
        assert!(properloss_data::ModelFile::read(&path).is_err());
        let pieces = writer.join().unwrap();
        assert!(pieces < 100, "{pieces} pieces of {} bytes were taken", 10_000 * line.len());
    }
}
