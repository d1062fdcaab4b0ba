//! JSON with `format` and `version`: reading with places, writing without NaN.

use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, Serializer};

use super::bounds;
use crate::error::{Error, Result};

/// The first two fields of every file.
#[derive(Deserialize, Default)]
struct Header {
    format: Option<String>,
    version: Option<u64>,
}

/// What stands in the file besides `format` and `version`.
#[derive(Serialize)]
struct Envelope<'a, T> {
    format: &'a str,
    version: u64,
    #[serde(flatten)]
    content: &'a T,
}

/// The `format` of a file, whatever it is.
pub(super) fn format_of(bytes: &[u8], file: &Path) -> Result<Option<String>> {
    Ok(header(bytes, file)?.format)
}

/// The `version` of a file of this format.
pub(super) fn version_of(bytes: &[u8], file: &Path, format: &str) -> Result<Option<u64>> {
    let header = header(bytes, file)?;
    Ok(header.version.filter(|_| header.format.as_deref() == Some(format)))
}

/// Empty for what is no JSON object: a table given in the place of a model is not a damaged model.
fn header(bytes: &[u8], file: &Path) -> Result<Header> {
    if is_object(bytes) { parse(bytes, file) } else { Ok(Header::default()) }
}

/// The format that was found, in words if there is none.
pub(super) fn described(found: Option<&str>, bytes: &[u8]) -> String {
    match found {
        Some(format) => format!("{format:?}"),
        None if bytes.is_empty() => "an empty file".into(),
        None if is_object(bytes) => "none".into(),
        None => "something else than JSON".into(),
    }
}

fn is_object(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{')
}

/// Reads `bytes` as `format` in a version up to `known`. Unknown fields are ignored, so that a later
/// program may add some without a new version.
pub(super) fn from_json<T: DeserializeOwned>(
    bytes: &[u8],
    file: &Path,
    format: &'static str,
    known: u64,
) -> Result<T> {
    let header = header(bytes, file)?;
    if header.format.as_deref() != Some(format) {
        let found = described(header.format.as_deref(), bytes);
        return Err(Error::WrongFormat { file: file.to_path_buf(), expected: format, found });
    }
    match header.version {
        Some(version) if (1..=known).contains(&version) => parse(bytes, file),
        Some(found) if found > known => {
            Err(Error::NewerVersion { file: file.to_path_buf(), format, found, known })
        }
        other => Err(Error::BadField {
            file: file.to_path_buf(),
            field: "version".into(),
            reason: match other {
                Some(version) => format!("{version} is not a version"),
                None => "missing".into(),
            },
        }),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8], file: &Path) -> Result<T> {
    bounds::check(bytes, file)?;
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let place = format!(" at line {line} column {column}");
        Error::Json {
            file: file.to_path_buf(),
            line,
            column,
            reason: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
            truncated: error.is_eof() || (line, column) == end_of(bytes),
        }
    })
}

/// The line and column of the last byte: a number that is cut after its sign fails there.
fn end_of(bytes: &[u8]) -> (usize, usize) {
    let line = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
    (line, bytes.rsplit(|&byte| byte == b'\n').next().map_or(0, <[u8]>::len))
}

/// Writes `content` with its header: numbers in the shortest form that reads back to the same bits.
pub(super) fn to_json<T: Serialize>(
    content: &T,
    file: &Path,
    format: &str,
    version: u64,
) -> Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, FiniteFormatter::default());
    Envelope { format, version, content }.serialize(&mut serializer).map_err(|error| {
        Error::BadField {
            file: file.to_path_buf(),
            field: "value".into(),
            reason: error.to_string(),
        }
    })?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| Error::BadField {
        file: file.to_path_buf(),
        field: "text".into(),
        reason: error.to_string(),
    })
}

/// One line for each field of an object, arrays on one line, and no null: `serde_json` writes NaN
/// and infinities as null, and nothing else here may be null.
#[derive(Default)]
struct FiniteFormatter {
    depth: usize,
    arrays: usize,
}

impl FiniteFormatter {
    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for FiniteFormatter {
    fn write_null<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::InvalidData, "a value is NaN, infinite or null"))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.arrays += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.arrays -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.arrays == 0 {
            self.new_line(writer)?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if self.arrays > 0 {
            return if first { Ok(()) } else { writer.write_all(b", ") };
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
