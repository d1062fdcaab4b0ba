//! What several test files use.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use properloss_data::{Dataset, Error, Features, ReadOptions, Result, Source, read};

/// CSV text as a source called `train.csv`.
pub fn csv(text: &str) -> Source {
    Source::memory("train.csv", text.as_bytes())
}

/// Reads CSV text with the options.
pub fn read_csv(text: &str, options: &ReadOptions) -> Result<Dataset> {
    read(&csv(text), options)
}

/// The error of reading CSV text; panics if there is none.
pub fn csv_error(text: &str, options: &ReadOptions) -> Error {
    read_csv(text, options).expect_err("the text is wrong")
}

/// The rows as `f64`.
pub fn rows(features: &Features) -> Vec<Vec<f64>> {
    let mut row = vec![0.0; features.columns()];
    (0..features.rows())
        .map(|i| {
            features.copy_row(i, &mut row);
            row.clone()
        })
        .collect()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A directory of its own for a test, removed at the end.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("properloss-data-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says to a test that it runs in a process of its own.
pub const ALONE: &str = "PROPERLOSS_TEST_ALONE";

/// Whether this is such a process.
pub fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

/// Runs one test of this program in a process of its own, with these bytes on its standard input, under
/// the limits of a shell (`ulimit`), if any; hands over what it printed, once it has passed.
#[cfg(unix)]
#[track_caller]
pub fn alone(module: &str, test: &str, limits: &str, input: &[u8]) -> String {
    use std::process::{Command, Stdio};
    // The name of a test begins below the name of its program.
    let inner = module.split_once("::").map_or(String::new(), |(_, inner)| format!("{inner}::"));
    let mut child = Command::new("sh")
        .args(["-c", &format!("{limits} exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{inner}{test}"), "--nocapture", "--test-threads", "1"])
        .env(ALONE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that ends early does not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    said
}
