//! Where bytes come from: a file or memory, plain or gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory::{Budget, Tally};

const BUFFER: usize = 1 << 16;

/// A source that can be opened more than once: readers make one pass to learn the columns and one
/// to encode them, so that only the encoded matrix is held in memory.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes in memory, for example all of standard input, with a name for messages.
    Memory {
        /// What messages call it.
        name: PathBuf,
        /// The content, plain or gzip.
        bytes: Arc<[u8]>,
    },
    /// Anything that can be opened again and again, such as a member of an archive.
    Stream {
        /// What messages call it.
        name: PathBuf,
        /// Opens it at its start.
        open: Opener,
    },
}

/// A function that opens a stream at its start.
#[derive(Clone)]
pub struct Opener(Arc<dyn Fn() -> std::io::Result<Box<dyn Read>> + Send + Sync>);

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opener")
    }
}

impl Source {
    /// All of standard input, read now, if the bytes `memory` (or what is free) can hold it twice:
    /// once as it comes and once as the source keeps it.
    pub fn stdin(memory: Option<u64>) -> Result<Self> {
        let name = PathBuf::from("standard input");
        let mut input = std::io::stdin().lock();
        let bytes = read_whole(&mut input, &name, Budget::or_machine(memory))?;
        Ok(Self::Memory { name, bytes: bytes.into() })
    }

    /// Bytes in memory.
    pub fn memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Memory { name: name.into(), bytes: bytes.into() }
    }

    /// What `open` opens.
    pub fn stream(
        name: &str,
        open: impl Fn() -> std::io::Result<Box<dyn Read>> + Send + Sync + 'static,
    ) -> Self {
        Self::Stream { name: name.into(), open: Opener(Arc::new(open)) }
    }

    /// The path, or the name of the memory or stream.
    pub fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Memory { name, .. } | Self::Stream { name, .. } => name,
        }
    }

    /// The bytes, decompressed if their first two are those of gzip (whatever the file is called).
    pub fn open(&self) -> Result<Box<dyn BufRead>> {
        match self {
            Self::Path(path) => {
                let file = File::open(path).map_err(|e| Error::read(path, e))?;
                decompressed(file, path)
            }
            Self::Memory { name, bytes } => {
                decompressed(std::io::Cursor::new(Arc::clone(bytes)), name)
            }
            Self::Stream { name, open } => {
                decompressed((open.0)().map_err(|e| Error::read(name, e))?, name)
            }
        }
    }

    /// The same as bytes in memory, for formats that are not read from front to back; a file stays.
    #[cfg(feature = "parquet")]
    pub(crate) fn seekable(&self, budget: Budget) -> Result<Self> {
        let Self::Stream { name, open } = self else { return Ok(self.clone()) };
        let mut input = (open.0)().map_err(|e| Error::read(name, e))?;
        let bytes = read_whole(&mut input, name, budget)?;
        Ok(Self::Memory { name: name.clone(), bytes: bytes.into() })
    }

    /// The first bytes after decompression; fewer if the file is shorter.
    pub(crate) fn first_bytes(&self, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.take(count).read_to_end(&mut bytes).map_err(|e| read_error(self.name(), e))?;
        Ok(bytes)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_path_buf())
    }
}

/// `input`, decompressed if it is gzip (one member or several).
pub(crate) fn decompressed(input: impl Read + 'static, name: &Path) -> Result<Box<dyn BufRead>> {
    let mut input = BufReader::with_capacity(BUFFER, Patient(input));
    let start = input.fill_buf().map_err(|e| Error::read(name, e))?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let decoder = flate2::bufread::MultiGzDecoder::new(input);
        Ok(Box::new(BufReader::with_capacity(BUFFER, decoder)))
    } else {
        Ok(Box::new(input))
    }
}

/// Tries again when a signal interrupts a read: not every reader above does.
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.0.read(out) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Everything that `input` has left, within the budget.
pub(crate) fn read_whole(input: &mut dyn Read, name: &Path, budget: Budget) -> Result<Vec<u8>> {
    let mut tally = Tally::new(Budget::new(budget.bytes() / 2), name);
    let mut bytes: Vec<u8> = Vec::new();
    let mut piece = vec![0; BUFFER];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(count) => tally.extend(&mut bytes, &piece[..count])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(name, error)),
        }
    }
}

/// An error while reading through [`decompressed`]: the gzip decoder reports a cut as
/// `UnexpectedEof` and damage as `InvalidInput` or `InvalidData`; a file itself gives neither.
pub(crate) fn read_error(file: &Path, error: std::io::Error) -> Error {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::TruncatedGzip { file: file.to_path_buf() },
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Error::DamagedGzip { file: file.to_path_buf(), reason: error.to_string() }
        }
        _ => Error::read(file, error),
    }
}
