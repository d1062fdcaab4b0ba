//! A reader that fails: at every call, with every format, once.

mod common;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{fixture, gzip};
use properloss_data::read::{for_each_row, read_encoded};
use properloss_data::{Dataset, Error, ReadOptions, Source, UnknownCategory, read};

/// Reads at most `most` bytes a call; call number `fails`, over all openings, gives the error.
struct Faulty {
    bytes: Arc<[u8]>,
    at: usize,
    most: usize,
    calls: Arc<AtomicUsize>,
    fails: usize,
    kind: io::ErrorKind,
}

impl Read for Faulty {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.calls.fetch_add(1, Relaxed) == self.fails {
            return Err(io::Error::new(self.kind, "injected"));
        }
        let count = out.len().min(self.most).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn faulty(
    name: &str,
    bytes: &[u8],
    fails: usize,
    kind: io::ErrorKind,
) -> (Source, Arc<AtomicUsize>) {
    let (bytes, calls): (Arc<[u8]>, _) = (bytes.into(), Arc::new(AtomicUsize::new(0)));
    let (count, most) = (Arc::clone(&calls), bytes.len().div_ceil(12));
    let open = move || {
        let (bytes, calls) = (Arc::clone(&bytes), Arc::clone(&count));
        Ok(Box::new(Faulty { bytes, at: 0, most, calls, fails, kind }) as Box<dyn Read>)
    };
    (Source::stream(name, open), calls)
}

/// Files of every format that are read from front to back, or whole.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let csv = String::from("a,b,y\n1,x,0\n2,z,1\n3,x,0\n4,z,1\n");
    let svm = "1 1:1 300000000:2\n0 2:1\n1 3:1\n";
    vec![
        ("t.csv", csv.clone().into_bytes()),
        ("t.tsv", csv.replace(',', "\t").into_bytes()),
        ("t.csv.gz", gzip(csv.as_bytes())),
        ("t.svm", svm.into()),
        ("t.svm.gz", gzip(svm.as_bytes())),
        ("t.parquet", std::fs::read(fixture("pandas-snappy.parquet")).unwrap()),
    ]
}

/// The Parquet file has a column of dates.
fn options(name: &str) -> ReadOptions {
    let ignore = if name.ends_with("parquet") { vec!["when".into()] } else { Vec::new() };
    ReadOptions::default().with_ignore(ignore)
}

fn read_whole(name: &str, bytes: &[u8]) -> (ReadOptions, Dataset) {
    let options = options(name);
    let whole = read(&Source::memory(name, bytes.to_vec()), &options).unwrap();
    (options, whole)
}

#[test]
fn every_read_fails_once_and_is_told() {
    let mut sites = 0;
    for (name, bytes) in files() {
        let (options, whole) = read_whole(name, &bytes);
        for fails in 0.. {
            let (source, calls) = faulty(name, &bytes, fails, io::ErrorKind::Other);
            match read(&source, &options) {
                Err(Error::Read { file, source }) => {
                    assert_eq!(
                        (file.to_str(), source.to_string().as_str()),
                        (Some(name), "injected")
                    );
                    sites += 1;
                }
                Ok(data) if calls.load(Relaxed) <= fails => {
                    assert_eq!(data, whole);
                    break;
                }
                other => panic!("{name}, call {fails}: {other:?}"),
            }
        }
        // The same for a model that exists: evaluation and prediction.
        let unknown = UnknownCategory::Error;
        for fails in 0.. {
            let (source, calls) = faulty(name, &bytes, fails, io::ErrorKind::Other);
            let evaluated = read_encoded(&source, &whole.encoder, unknown, &options).is_ok();
            let first = calls.load(Relaxed);
            let predicted =
                for_each_row(&source, &whole.encoder, unknown, &options, |_| Ok::<(), Error>(()))
                    .is_ok();
            if evaluated && predicted {
                assert!(calls.load(Relaxed) <= fails, "{name}, call {fails} of {first}");
                break;
            }
            assert!(evaluated != predicted, "{name}: one fault, two failures");
            sites += 1;
        }
    }
    assert!(sites > 150, "{sites} faults were injected");
}

#[test]
fn an_interrupted_read_is_tried_again() {
    for (name, bytes) in files() {
        let (options, whole) = read_whole(name, &bytes);
        for fails in 0..20 {
            let (source, _) = faulty(name, &bytes, fails, io::ErrorKind::Interrupted);
            match read(&source, &options) {
                Ok(data) => assert_eq!(data, whole),
                Err(error) => panic!("{name}, call {fails}: {error}"),
            }
        }
    }
}
