//! Damaged and invented inputs against everything that reads a file or checks an argument.
//!
//! A [`Target`] takes bytes and must answer with a value or an error: a panic, an abort, a wait of
//! more than five seconds or memory above the budget is a finding, and becomes a file of `corpus/`.
//! Inputs are made by a grammar of the target ([`make`]), or taken from the corpus, and then damaged
//! ([`mutate`]). The stable toolchain suffices; an execution is named by its target and seed.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod cache;
pub mod checkpoint;
pub mod make;
pub mod mutate;
pub mod rows;
pub mod targets;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use properloss_data::random::Random;

/// What reading may take in every execution.
pub const BUDGET: u64 = 64 << 20;

/// One thing that takes bytes from outside.
pub struct Target {
    /// Its name, and its folder in the corpus.
    pub name: &'static str,
    /// A well-formed input, or nearly so.
    pub make: fn(&mut Random) -> Vec<u8>,
    /// Takes any bytes; `true` if it accepted them.
    pub run: fn(&[u8]) -> bool,
    /// Executions before the next target has its turn: fewer where one takes long.
    pub turn: u64,
}

/// All of them.
pub fn targets() -> Vec<Target> {
    use targets::*;
    let target = |name, make, run| Target { name, make, run, turn: 500 };
    vec![
        target("csv", make::csv, csv),
        target("tsv", make::tsv, tsv),
        target("parquet", make::parquet, parquet),
        target("libsvm", make::libsvm, libsvm),
        target("idx", make::idx, idx),
        // A file of labels is written for each.
        Target { turn: 100, ..target("images", make::images, images) },
        // Up to 50 MB of zeros a time.
        Target { turn: 5, ..target("gzip", make::gzip, gzip) },
        target("model", make::model, model),
        target("classes", make::classes, classes),
        target("loss", make::loss, loss),
        target("export", make::export, export),
        Target { turn: 50, ..target("checkpoint", checkpoint::make, checkpoint::run) },
        Target { turn: 20, ..target("cache", cache::make, cache::run) },
        target("rows", rows::make, rows::run),
        Target { turn: 10, ..target("blocks", blocks::make, blocks::run) },
        target("link", make::numbers, link),
        target("chain", make::numbers, chain),
        // Thousands of points.
        Target { turn: 5, ..target("long-chain", make::numbers, long_chain) },
    ]
}

/// A folder of this process; each thread of a test has one.
pub(crate) fn folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    thread_local!(static MINE: u32 = NUMBER.fetch_add(1, Ordering::Relaxed));
    let name = format!("properloss-fuzz-{}-{}", std::process::id(), MINE.with(|mine| *mine));
    std::env::temp_dir().join(name)
}

/// The corpus of a target: its files in the order of their names.
pub fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    files.into_iter().filter_map(|path| Some((path.clone(), std::fs::read(&path).ok()?))).collect()
}

/// The input of a seed: made or taken from the corpus, damaged in three cases of four.
pub fn input(target: &Target, corpus: &[(PathBuf, Vec<u8>)], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = if corpus.is_empty() || random.below(2) == 0 {
        (target.make)(&mut random)
    } else {
        corpus[random.below(corpus.len())].1.clone()
    };
    if random.below(4) > 0 {
        let other = if corpus.is_empty() { &[][..] } else { &corpus[random.below(corpus.len())].1 };
        mutate::damage(&mut bytes, other, &mut random);
    }
    bytes
}
