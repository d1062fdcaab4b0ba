//! Damaged and invented inputs against everything that reads a file or checks an argument.
//!
//! A [`Target`] takes bytes and must answer with a value or an error: a panic, an abort, a wait of
//! more than five seconds or memory above the budget is a finding, and becomes a file of `corpus/`.
//! Inputs are made by a grammar of the target ([`make`]), or taken from the corpus, and then damaged
//! ([`mutate`]). The stable toolchain suffices; an execution is named by its target and seed.
#![forbid(unsafe_code)]

pub mod make;
pub mod mutate;
pub mod targets;

use std::path::{Path, PathBuf};

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
}

/// All of them.
pub fn targets() -> Vec<Target> {
    use targets::*;
    vec![
        Target { name: "csv", make: make::csv, run: csv },
        Target { name: "tsv", make: make::tsv, run: tsv },
        Target { name: "parquet", make: make::parquet, run: parquet },
        Target { name: "libsvm", make: make::libsvm, run: libsvm },
        Target { name: "idx", make: make::idx, run: idx },
        Target { name: "gzip", make: make::gzip, run: gzip },
        Target { name: "model", make: make::model, run: model },
        Target { name: "loss", make: make::loss, run: loss },
        Target { name: "link", make: make::numbers, run: link },
        Target { name: "chain", make: make::numbers, run: chain },
    ]
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
