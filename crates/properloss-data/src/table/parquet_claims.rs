//! What a Parquet file claims of itself, held against its bytes and the budget.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::thrift::{ELEMENT, Event, skim};
use crate::error::{Error, Result};
use crate::memory::Budget;
use crate::source::Source;

/// Row groups are numbered in 2 bytes.
const ROW_GROUPS: usize = i16::MAX as usize;
/// Groups within groups; the library walks down by recursion.
const SCHEMA_DEPTH: usize = 64;
/// A page header is read this much at a time; longer ones hold long statistics.
const HEADER: usize = 1 << 12;
/// No page header is longer than this.
const HEADER_LIMIT: usize = 16 << 20;
/// The most that a value of a dictionary takes in memory, besides its bytes.
const DICTIONARY_VALUE: u64 = 32;

/// The bytes of the file by their place.
pub(super) struct Bytes(Box<dyn Seekable>);

pub(super) trait Seekable: Read + Seek + Send {}
impl<T: Read + Seek + Send> Seekable for T {}

impl Bytes {
    pub(super) fn open(source: &Source) -> Result<Self> {
        Ok(Self(match (source.path()?, source) {
            (Some(path), _) => {
                Box::new(File::open(path).map_err(|e| Error::read(source.name(), e))?)
            }
            (None, Source::Memory { bytes, .. }) => Box::new(Cursor::new(Arc::clone(bytes))),
            // Made seekable, and taken apart, before.
            (None, _) => Box::new(Cursor::new([])),
        }))
    }

    /// Up to `count` bytes from `start`; fewer at the end.
    fn at(&mut self, start: u64, count: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.seek(SeekFrom::Start(start))?;
        (&mut self.0).take(count as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn damaged(file: &Path, reason: &str) -> Error {
    Error::Parquet { file: file.to_path_buf(), reason: reason.into() }
}

/// The footer: `metadata, its length in 4 bytes, "PAR1"`. What is not such a file at all is left to
/// the library, whose message is better.
pub(super) fn check_footer(bytes: &mut Bytes, file: &Path, budget: Budget) -> Result<()> {
    let fail = |error| Error::read(file, error);
    let length = bytes.0.seek(SeekFrom::End(0)).map_err(fail)?;
    let tail = bytes.at(length.saturating_sub(8), 8).map_err(fail)?;
    let [a, b, c, d, b'P', b'A', b'R', b'1'] = tail[..] else { return Ok(()) };
    let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = length.checked_sub(8 + footer) else { return Ok(()) };
    // As the library holds it: mostly small numbers and names, each in a struct.
    budget.ask(file, footer.saturating_mul(16))?;
    let footer = bytes.at(start, footer as usize).map_err(fail)?;
    let mut groups = 0;
    // The children that each open group of the schema still waits for.
    let (mut open, mut deepest) = (Vec::<i64>::new(), 0);
    let skimmed = skim(&footer, &mut |path, event| match (path, event) {
        (&[4], Event::List(count)) => groups = count,
        (&[2, ELEMENT], Event::Struct) => {
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(waiting) = open.last_mut() {
                *waiting -= 1;
            }
        }
        (&[2, ELEMENT, 5], Event::Number(children)) if children > 0 => {
            open.push(children);
            deepest = deepest.max(open.len());
        }
        _ => {}
    });
    if skimmed.is_none() {
        return Err(damaged(file, "the footer does not decode"));
    }
    if groups > ROW_GROUPS {
        return Err(damaged(file, "more row groups than the format allows"));
    }
    if deepest > SCHEMA_DEPTH {
        return Err(damaged(file, "the columns are nested too deep"));
    }
    Ok(())
}

/// The page headers of a column chunk of `length` bytes: no page claims more values or bytes than
/// it can have, or than may be used.
pub(super) fn check_pages(
    bytes: &mut Bytes,
    (start, length): (u64, u64),
    file: &Path,
    budget: Budget,
) -> Result<()> {
    let end = start.saturating_add(length);
    let mut at = start;
    while at < end {
        let (header, claims) = page_header(bytes, at, file)?;
        let Some(stored) = claims.stored.and_then(|stored| u64::try_from(stored).ok()) else {
            return Err(damaged(file, "a page header without its size"));
        };
        let plain = claims.plain.and_then(|plain| u64::try_from(plain).ok()).unwrap_or(u64::MAX);
        let values = match claims.dictionary.map(u64::try_from) {
            None => 0,
            Some(Ok(values)) if values <= plain => values,
            Some(_) => return Err(damaged(file, "a dictionary of more values than bytes")),
        };
        budget.ask(file, plain.saturating_add(stored).saturating_add(values * DICTIONARY_VALUE))?;
        at = at.saturating_add(header).saturating_add(stored);
    }
    Ok(())
}

/// What a page says of itself.
#[derive(Default)]
struct Claims {
    plain: Option<i64>,
    stored: Option<i64>,
    dictionary: Option<i64>,
}

fn page_header(bytes: &mut Bytes, at: u64, file: &Path) -> Result<(u64, Claims)> {
    let mut size = HEADER;
    loop {
        let header = bytes.at(at, size).map_err(|error| Error::read(file, error))?;
        let mut claims = Claims::default();
        let length = skim(&header, &mut |path, event| match (path, event) {
            (&[2], Event::Number(number)) => claims.plain = Some(number),
            (&[3], Event::Number(number)) => claims.stored = Some(number),
            (&[7, 1], Event::Number(number)) => claims.dictionary = Some(number),
            _ => {}
        });
        if let Some(length) = length {
            return Ok((length as u64, claims));
        }
        if header.len() < size || size >= HEADER_LIMIT {
            return Err(damaged(file, "a page header does not decode"));
        }
        size *= 16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of the compact protocol: zigzag, seven bits a byte.
    fn number(value: i64) -> Vec<u8> {
        let mut rest = ((value << 1) ^ (value >> 63)) as u64;
        let mut bytes = Vec::new();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    /// A page header (type, plain size, stored size, values of a dictionary) and its stored bytes.
    fn page(plain: i64, stored: i64, dictionary: Option<i64>, bytes: usize) -> Vec<u8> {
        let mut page =
            [&[0x15], &number(2)[..], &[0x15], &number(plain), &[0x15], &number(stored)].concat();
        if let Some(values) = dictionary {
            page.extend([&[0x4c, 0x15], &number(values)[..], &[0x15, 0, 0]].concat());
        }
        page.push(0);
        page.resize(page.len() + bytes, 7);
        page
    }

    fn check(bytes: &[u8], budget: u64) -> Result<()> {
        let length = bytes.len() as u64;
        // The chunk does not begin the file.
        let mut file = Bytes(Box::new(Cursor::new([b"PAR1", bytes].concat())));
        check_pages(&mut file, (4, length), Path::new("a.parquet"), Budget::new(budget))
    }

    #[track_caller]
    fn refused(bytes: &[u8], why: &str) {
        match check(bytes, 1 << 30) {
            Err(Error::Parquet { reason, .. }) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    /// Every page is asked for: its bytes, plain and stored, and 32 a value of its dictionary.
    #[test]
    fn pages_are_held_against_the_budget() {
        let pages = [page(100, 40, Some(10), 40), page(200, 60, None, 60)].concat();
        assert!(check(&pages, 100 + 40 + 320).is_ok());
        assert!(matches!(check(&pages, 100 + 40 + 319), Err(Error::Memory { .. })));
        let later = [page(10, 10, None, 10), page(500, 60, None, 60)].concat();
        assert!(check(&later, 560).is_ok());
        assert!(matches!(check(&later, 559), Err(Error::Memory { .. })));
        assert!(check(&[], 0).is_ok());
    }

    #[test]
    fn claims_that_cannot_be_are_refused() {
        assert!(check(&page(100, 40, Some(100), 40), 1 << 20).is_ok());
        refused(&page(100, 40, Some(101), 40), "more values than bytes");
        refused(&page(100, 40, Some(-1), 40), "more values than bytes");
        refused(&page(100, -1, None, 40), "without its size");
        let whole = page(100, 40, None, 40);
        refused(&whole[..3], "does not decode");
        refused(&[0xff; 40], "does not decode");
        // A negative size is any size: more than there is.
        assert!(matches!(check(&page(-5, 40, None, 40), 1 << 40), Err(Error::Memory { .. })));
    }

    /// A file whose schema has elements of so many children each, and so many row groups.
    fn footer(children: &[i64], groups: usize) -> Result<()> {
        let schema =
            children.iter().flat_map(|&count| [&[0x55], &number(count)[..], &[0]].concat());
        let many = |count: usize| [vec![0xfc], number_of(count)].concat();
        let footer = [
            vec![0x29],
            many(children.len()),
            schema.collect(),
            vec![0x29],
            many(groups),
            vec![0; groups + 1],
        ]
        .concat();
        let length = (footer.len() as u32).to_le_bytes();
        let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
        check_footer(
            &mut Bytes(Box::new(Cursor::new(file))),
            Path::new("a.parquet"),
            Budget::new(1 << 30),
        )
    }

    /// A length: seven bits a byte, no sign.
    fn number_of(mut rest: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    #[test]
    fn columns_are_nested_to_the_limit_and_groups_are_counted() {
        let says = |found: Result<()>, why: &str| match found {
            Err(Error::Parquet { reason, .. }) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}"),
        };
        // Groups within groups, and a column that says it has no children.
        let nested = |depth: usize| [vec![1; depth], vec![0]].concat();
        assert!(footer(&nested(SCHEMA_DEPTH), 0).is_ok());
        says(footer(&nested(SCHEMA_DEPTH + 1), 0), "nested too deep");
        // As many groups one after the other are not deep.
        let beside: Vec<i64> = [vec![100], [1, 0].repeat(100)].concat();
        assert!(footer(&beside, 0).is_ok());
        assert!(footer(&[1, 0], ROW_GROUPS).is_ok());
        says(footer(&[1, 0], ROW_GROUPS + 1), "more row groups");
    }
    /// Headers with long statistics are read in larger pieces, up to a limit.
    #[test]
    fn long_page_headers_are_read_whole() {
        // Sizes first, then a text of so many bytes in a field that nobody asks for.
        let long = |text: usize| {
            let mut page = [&[0x15], &number(2)[..], &[0x15], &number(100)].concat();
            page.extend([&[0x15], &number(40)[..], &[0x68], &number_of(text)].concat());
            page.resize(page.len() + text, b'x');
            page.push(0);
            page.resize(page.len() + 40, 7);
            page
        };
        for text in [4000, 4090, 5000, 70_000, 1 << 20] {
            let pages = [long(text), page(200, 60, None, 60)].concat();
            assert!(check(&pages, 260).is_ok(), "{text}");
            assert!(matches!(check(&pages, 259), Err(Error::Memory { needed: 260, .. })));
        }
        refused(&long(HEADER_LIMIT + 1000), "does not decode");
    }

    /// A footer is asked for, sixteen times its bytes, before it is read.
    #[test]
    fn a_footer_is_held_against_the_budget() {
        let file = [b"PAR1", &[0; 90][..], &[0x15, 2, 0], &93u32.to_le_bytes(), b"PAR1"].concat();
        let ask = |file: &[u8], budget| {
            let mut bytes = Bytes(Box::new(Cursor::new(file.to_vec())));
            check_footer(&mut bytes, Path::new("a.parquet"), Budget::new(budget))
        };
        assert!(matches!(ask(&file, 93 * 16 - 1), Err(Error::Memory { needed: 1488, .. })));
        // Its first byte ends the struct.
        assert!(ask(&file, 93 * 16).is_ok());
        // A footer longer than the file, a file that is no such file: left to the library.
        let mut long = file.clone();
        let at = long.len() - 8;
        long[at..at + 4].copy_from_slice(&2000u32.to_le_bytes());
        assert!(ask(&long, 0).is_ok());
        for other in [&b""[..], b"PAR1", b"....PAR2"] {
            assert!(ask(other, 0).is_ok());
        }
    }

    /// The same bytes of a file and of memory, as many as there are.
    #[test]
    fn bytes_are_found_by_their_place() {
        let path = std::env::temp_dir().join(format!("properloss-bytes-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").unwrap();
        let memory = Source::memory("m", *b"0123456789");
        for source in [Source::Path(path.clone()), memory] {
            let mut bytes = Bytes::open(&source).unwrap();
            assert_eq!(bytes.0.seek(SeekFrom::End(0)).unwrap(), 10);
            let places = [(0, 3), (7, 3), (8, 9), (10, 1), (99, 5)];
            let found = places.map(|(start, count)| bytes.at(start, count).unwrap());
            assert_eq!(found, [&b"012"[..], b"789", b"89", b"", b""]);
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Bytes::open(&Source::Path(path)).is_err());
    }
}
