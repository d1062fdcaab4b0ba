//! Where bytes come from: a file or memory, plain or gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

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
}

impl Source {
    /// All of standard input, read now.
    pub fn stdin() -> Result<Self> {
        let name = PathBuf::from("standard input");
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| Error::read(&name, e))?;
        Ok(Self::Memory { name, bytes: bytes.into() })
    }

    /// Bytes in memory.
    pub fn memory(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Memory { name: name.into(), bytes: bytes.into() }
    }

    /// The path, or the name of the memory.
    pub fn name(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Memory { name, .. } => name,
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
        }
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
    let mut input = BufReader::with_capacity(BUFFER, input);
    let start = input.fill_buf().map_err(|e| Error::read(name, e))?;
    if start.starts_with(&[0x1f, 0x8b]) {
        let decoder = flate2::bufread::MultiGzDecoder::new(input);
        Ok(Box::new(BufReader::with_capacity(BUFFER, decoder)))
    } else {
        Ok(Box::new(input))
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
