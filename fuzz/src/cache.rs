//! Files of blocks that a streamed fit keeps: whole ones, damaged. The checksum of the index refuses
//! nearly all damage, so it is also mended, as someone who makes a file on purpose would.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use properloss::train::Silent;
use properloss_data::random::Random;
use properloss_data::stream::{Destination, Fingerprint, Scan, cache};
use properloss_data::training::Training;
use properloss_data::{ReadOptions, Source};
use serde_json::Value;

use crate::{BUDGET, folder, mutate};

/// Whole files: tables and sparse rows, weights, one block and several.
fn whole() -> &'static [Vec<u8>] {
    static WHOLE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let folder = folder().join("whole");
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut random = Random::new(1);
        let mut table = "a,place,w,y\n".to_owned();
        let mut sparse = String::new();
        for i in 0..60 {
            let (x, y) = (random.gaussian(), random.below(2));
            table.push_str(&format!("{x:.3},{},{},{y}\n", ["n", "s"][i % 2], i % 3));
            sparse.push_str(&format!("{y} {}:{x:.2} 900001:1\n", 1 + i % 3));
        }
        let weighted = ReadOptions::default().with_weight(Some("w".into()));
        let plain = ReadOptions::default();
        let mut files = Vec::new();
        for (name, text, options) in
            [("a.csv", &table, &weighted), ("b.csv", &table, &plain), ("c.svm", &sparse, &plain)]
        {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("a file");
            let source = Source::Path(path);
            let format = options.format_of(&source).expect("a format");
            let fingerprint = Fingerprint::of(&source, format, options).expect("a fingerprint");
            for bytes in [300, 1 << 20] {
                let scan = Scan::new(&source, options).expect("a scan");
                let to = Destination::Kept(&folder, &fingerprint);
                drop(scan.write(&source, options, to, bytes).expect("a cache"));
                files.push(std::fs::read(cache::file_in(&folder)).expect("its file"));
            }
        }
        let _ = std::fs::remove_dir_all(folder);
        files
    })
}

/// Header, blocks and index of a file.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let newline =
        |from: usize| bytes[from..].iter().position(|&b| b == b'\n').map(|at| from + at + 1);
    let first = newline(0)?;
    let header = newline(first)?;
    let tail = bytes.len().checked_sub(12)?;
    let offset = u64::from_le_bytes(bytes[tail..tail + 8].try_into().ok()?);
    let offset = usize::try_from(offset).ok()?;
    (header <= offset && offset <= tail)
        .then(|| (&bytes[first..header], &bytes[header..offset], &bytes[offset..tail]))
}

/// A file of these parts, with the right checksum.
fn joined(header: &[u8], blocks: &[u8], index: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(index);
    let head = [b"properloss-blocks 1\n", header].concat();
    let offset = (head.len() + blocks.len()) as u64;
    [&head[..], blocks, index, &offset.to_le_bytes(), &crc.sum().to_le_bytes()].concat()
}

/// Another number somewhere in a piece of JSON.
fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            match random.below(12) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => change(&mut items[at], random),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let at = random.below(map.len());
            if let Some(value) = map.values_mut().nth(at) {
                change(value, random);
            }
        }
        Value::Bool(flag) => *flag = !*flag,
        _ => {
            let numbers = [0, 1, 2, 7, 255, 1 << 20, 1 << 32, 1 << 40, 1 << 62, u64::MAX];
            *value = numbers[random.below(numbers.len())].into();
        }
    }
}

/// A whole file; in half of the cases with another number in its header or index.
pub fn make(random: &mut Random) -> Vec<u8> {
    let bytes = whole()[random.below(whole().len())].clone();
    let Some((header, blocks, index)) = parts(&bytes) else { return bytes };
    let damaged = |json: &[u8], random: &mut Random| -> Vec<u8> {
        let Ok(mut value) = serde_json::from_slice::<Value>(json) else { return json.to_vec() };
        for _ in 0..=random.below(2) {
            change(&mut value, random);
        }
        serde_json::to_vec(&value).unwrap_or_default()
    };
    match random.below(6) {
        0 => joined(&[&damaged(header, random)[..], b"\n"].concat(), blocks, index),
        1 => joined(header, blocks, &damaged(index, random)),
        2 => {
            let mut blocks = blocks.to_vec();
            mutate::damage(&mut blocks, &[], random);
            joined(header, &blocks, index)
        }
        _ => bytes,
    }
}

/// Taken as the cache of the rows that it names, as it is and with the checksum mended.
pub fn run(bytes: &[u8]) -> bool {
    let as_it_is = open(bytes);
    let mended = parts(bytes).map(|(header, blocks, index)| joined(header, blocks, index));
    as_it_is | mended.is_some_and(|mended| mended != bytes && open(&mended))
}

fn open(bytes: &[u8]) -> bool {
    let Some((header, ..)) = parts(bytes) else {
        return opened(bytes, &any_fingerprint());
    };
    let fingerprint = serde_json::from_slice::<Value>(header)
        .ok()
        .and_then(|header| serde_json::from_value(header["fingerprint"].clone()).ok());
    opened(bytes, &fingerprint.unwrap_or_else(any_fingerprint))
}

fn any_fingerprint() -> Fingerprint {
    let (header, ..) = parts(&whole()[0]).expect("a whole file");
    let header: Value = serde_json::from_slice(header).expect("its header");
    serde_json::from_value(header["fingerprint"].clone()).expect("its fingerprint")
}

fn opened(bytes: &[u8], fingerprint: &Fingerprint) -> bool {
    let folder = folder();
    let write =
        |path: &Path| std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(path, bytes));
    write(&cache::file_in(&folder)).expect("a file");
    let Ok(Some(cached)) = cache::open(&folder, fingerprint, BUDGET / 12) else { return false };
    let _ = cached.classes();
    let (mut rows, stop) = (0, AtomicBool::new(false));
    let read = cached.blocks.for_each(|_, block| {
        block.matrix().check_finite()?;
        rows += block.labels().len() as u64;
        Ok(())
    });
    if read.is_err() {
        return false;
    }
    assert_eq!(rows, cached.blocks.rows());
    let training = Training::named("proper").expect("a method");
    let trained = training.run_blocks(&cached.blocks, &stop, &mut Silent);
    trained.is_ok_and(|trained| trained.fit.model.coefficients().iter().all(|w| w.is_finite()))
}
