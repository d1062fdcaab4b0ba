//! A file of blocks that is kept, and taken up by the next fit of the same data.
//!
//! ```text
//! properloss-blocks 1\n
//! {"source": .., "options": .., "encoder": .., "layout": ..}\n     one line of JSON
//! blocks
//! {"entries": .., "description": ..}                               JSON
//! <where it starts, 8 bytes><checksum of it, 4 bytes>
//! ```

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::block_file::{BlockFile, Entry, Layout};
use crate::atomic::AtomicFile;
use crate::dataset::DataDescription;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::options::{Missing, ReadOptions, Storage};
use crate::read::Format;
use crate::source::Source;

const FIRST_LINE: &[u8] = b"properloss-blocks 1\n";
/// Bytes after the index.
const TAIL: u64 = 12;
/// Bytes at either end of a source that are looked at.
const LOOKED_AT: u64 = 1 << 16;
/// The longest header and the longest index, in bytes.
const JSON_LIMIT: u64 = 1 << 28;
/// The name of the file in the directory of a cache.
const NAME: &str = "rows.blocks";

/// The file of blocks in a directory.
pub fn file_in(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Which rows, read in which way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    source: Vec<Part>,
    options: Options,
}

/// What tells a file from another, or from itself before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    file: String,
    bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (u64, u32),
    /// Checksum of its first and last bytes.
    ends: u32,
}

/// The options that rows depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Options {
    format: String,
    label: Option<String>,
    negative: Vec<String>,
    positive: Vec<String>,
    weight: Option<String>,
    ignore: Vec<String>,
    categorical: Vec<String>,
    missing: Missing,
    missing_words: Vec<String>,
    max_categories: usize,
    delimiter: Option<u8>,
    header: bool,
    single_precision: bool,
    zero_based: bool,
    features: Option<usize>,
}

impl Fingerprint {
    /// Of a source, its format, and the options that it is read with.
    pub fn of(source: &Source, format: Format, options: &ReadOptions) -> Result<Self> {
        let source = source.parts().iter().map(part).collect::<Result<_>>()?;
        let options = Options {
            format: format.name().to_owned(),
            label: options.label.clone(),
            negative: options.negative.clone(),
            positive: options.positive.clone(),
            weight: options.weight.clone(),
            ignore: options.ignore.clone(),
            categorical: options.categorical.clone(),
            missing: options.missing,
            missing_words: options.missing_words.clone(),
            max_categories: options.max_categories,
            delimiter: options.delimiter,
            header: options.header,
            single_precision: options.storage == Storage::F32,
            zero_based: options.zero_based,
            features: options.features,
        };
        Ok(Self { source, options })
    }

    /// What differs from those that a cache was made with.
    fn difference(&self, cached: &Self) -> Option<String> {
        if self.options != cached.options {
            return Some("it was made with other options of the data".into());
        }
        if self.source.len() != cached.source.len() {
            let (had, has) = (cached.source.len(), self.source.len());
            return Some(format!("it was made of {had} file(s), not {has}"));
        }
        let (new, old) = self.source.iter().zip(&cached.source).find(|(new, old)| new != old)?;
        Some(if new.file == old.file {
            format!("{} has changed since it was made", new.file)
        } else {
            format!("it was made of {}, not of {}", old.file, new.file)
        })
    }
}

fn part(source: &Source) -> Result<Part> {
    let name = source.name();
    let fail = |error| Error::read(name, error);
    let Some(path) = source.path()? else {
        let reason = "only files can be recognised again".into();
        return Err(Error::StaleCache { file: name.to_path_buf(), reason });
    };
    let mut file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let bytes = metadata.len();
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or((0, 0), |time| (time.as_secs(), time.subsec_nanos()));
    let mut crc = Crc::new();
    for start in [0, bytes.saturating_sub(LOOKED_AT)] {
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(start)).map_err(fail)?;
        (&file).take(LOOKED_AT).read_to_end(&mut piece).map_err(fail)?;
        crc.update(&piece);
    }
    let file = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Part { file, bytes, modified, ends: crc.sum() })
}

/// The first lines of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    fingerprint: Fingerprint,
    encoder: Encoder,
    layout: Layout,
    block_bytes: u64,
    little_endian: bool,
}

impl Header {
    /// Holds what the file says of itself against itself, before memory is taken for it: blocks lie
    /// between `start` and `end`, one after the other, and none is larger than was said.
    fn check(
        &self,
        entries: &[Entry],
        start: u64,
        end: u64,
    ) -> std::result::Result<(), &'static str> {
        let Layout { columns, sparse, .. } = self.layout;
        if self.encoder.check().is_err() || self.encoder.width() != columns {
            return Err("its encoder is damaged");
        }
        // A block ends with the row that fills it.
        let most = self.block_bytes.saturating_add(12 * columns as u64 + 64);
        let mut at = start;
        for Entry { offset, facts } in entries {
            let size = self.layout.bytes(facts).filter(|size| *size <= most);
            let stored = facts.rows.checked_mul(columns as u64);
            let fits = *offset == at
                && facts.columns == columns as u64
                && facts.dense != sparse
                && (sparse || stored == Some(facts.stored))
                && facts.counts[0].checked_add(facts.counts[1]).is_some_and(|n| n <= facts.rows);
            at = match size.and_then(|size| at.checked_add(size)) {
                Some(next) if fits => next,
                _ => return Err("its index does not fit its blocks"),
            };
        }
        if at == end { Ok(()) } else { Err("its index does not fit its blocks") }
    }
}

/// The end of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    entries: Vec<Entry>,
    description: DataDescription,
}

/// What stands before the blocks.
pub(super) fn header(
    fingerprint: &Fingerprint,
    encoder: &Encoder,
    layout: Layout,
    block_bytes: u64,
) -> Vec<u8> {
    let (fingerprint, encoder) = (fingerprint.clone(), encoder.clone());
    let little_endian = cfg!(target_endian = "little");
    let header = Header { fingerprint, encoder, layout, block_bytes, little_endian };
    let json = serde_json::to_vec(&header).unwrap_or_default();
    [FIRST_LINE, &json, b"\n"].concat()
}

/// What stands after the blocks, which end at `offset`.
pub(super) fn index(entries: &[Entry], description: &DataDescription, offset: u64) -> Vec<u8> {
    let index = Index { entries: entries.to_vec(), description: description.clone() };
    let json = serde_json::to_vec(&index).unwrap_or_default();
    let mut crc = Crc::new();
    crc.update(&json);
    [&json[..], &offset.to_le_bytes(), &crc.sum().to_le_bytes()].concat()
}

/// Rows in blocks, with how they were encoded.
#[derive(Debug)]
pub struct Cached {
    /// The rows.
    pub blocks: BlockFile,
    /// How further rows are encoded the same way.
    pub encoder: Encoder,
    /// Where the rows came from.
    pub description: DataDescription,
}

/// The cache in a directory, which is made if it is not there, if there is one: refused if it is of other rows, if its blocks are larger
/// than `block_bytes`, or if it is damaged.
pub fn open(
    directory: &Path,
    fingerprint: &Fingerprint,
    block_bytes: u64,
) -> Result<Option<Cached>> {
    let name = file_in(directory);
    if directory.exists() && !directory.is_dir() {
        let source = std::io::Error::new(std::io::ErrorKind::NotADirectory, "it is a file");
        return Err(Error::Write { file: directory.to_path_buf(), source });
    }
    let file = match File::open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // A directory that cannot be written is found before anything is decoded.
            let fail = |source| Error::Write { file: directory.to_path_buf(), source };
            std::fs::create_dir_all(directory).map_err(fail)?;
            drop(AtomicFile::create(&name)?);
            return Ok(None);
        }
        Err(error) => return Err(Error::read(&name, error)),
    };
    let stale = |reason: String| Error::StaleCache { file: name.clone(), reason };
    let damaged = |reason: &str| Error::Cache { directory: name.clone(), reason: reason.into() };
    let fail = |error| Error::read(&name, error);
    let length = file.metadata().map_err(fail)?.len();
    let mut input = BufReader::new(file);
    let mut line = Vec::new();
    (&mut input).take(FIRST_LINE.len() as u64).read_to_end(&mut line).map_err(fail)?;
    if line != FIRST_LINE {
        return Err(stale("it is no file of blocks of this version".into()));
    }
    line.clear();
    (&mut input).take(length.min(JSON_LIMIT)).read_until(b'\n', &mut line).map_err(fail)?;
    let start = (FIRST_LINE.len() + line.len()) as u64;
    let header: Header =
        serde_json::from_slice(&line).map_err(|_| damaged("its header is damaged"))?;
    drop(line);
    if let Some(reason) = fingerprint.difference(&header.fingerprint) {
        return Err(stale(reason));
    }
    if header.little_endian != cfg!(target_endian = "little") {
        return Err(stale("it was made on a machine of another byte order".into()));
    }
    if header.block_bytes > block_bytes {
        let reason = format!(
            "its blocks are of {}, and this much memory allows {}",
            crate::memory::shown_bytes(header.block_bytes),
            crate::memory::shown_bytes(block_bytes),
        );
        return Err(stale(reason));
    }
    let cut = || damaged("it ends early");
    let index = length.checked_sub(TAIL).ok_or_else(cut)?;
    let mut tail = [0; TAIL as usize];
    input.seek(SeekFrom::Start(index)).map_err(fail)?;
    input.read_exact(&mut tail).map_err(fail)?;
    let (mut offset, mut sum) = ([0; 8], [0; 4]);
    offset.copy_from_slice(&tail[..8]);
    sum.copy_from_slice(&tail[8..]);
    let offset = u64::from_le_bytes(offset);
    let bytes = index.checked_sub(offset).filter(|bytes| *bytes <= JSON_LIMIT).ok_or_else(cut)?;
    let mut json = Vec::new();
    input.seek(SeekFrom::Start(offset)).map_err(fail)?;
    (&mut input).take(bytes).read_to_end(&mut json).map_err(fail)?;
    let mut crc = Crc::new();
    crc.update(&json);
    if crc.sum() != u32::from_le_bytes(sum) {
        return Err(cut());
    }
    let index: Index =
        serde_json::from_slice(&json).map_err(|_| damaged("its index is damaged"))?;
    header.check(&index.entries, start, offset).map_err(damaged)?;
    let file = input.into_inner();
    let blocks = BlockFile::new(&name, file, header.layout, index.entries, None).unverified();
    Ok(Some(Cached { blocks, encoder: header.encoder, description: index.description }))
}
