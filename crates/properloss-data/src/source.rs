//! Where bytes come from: a file or memory, plain or gzip.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::atomic::AtomicFile;
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
    /// Bytes that come once, such as standard input or a named pipe, in a temporary file.
    Spilled {
        /// What messages call it.
        name: PathBuf,
        /// The file; it goes with the last copy of the source.
        file: Arc<Spill>,
    },
    /// Several files of the same columns, read one after the other.
    Parts {
        /// What messages call all of them.
        name: PathBuf,
        /// The files, none of them in parts itself.
        parts: Arc<[Source]>,
    },
}

/// A temporary file that is removed when this goes, or when the process is ended by a signal.
#[derive(Debug, Default)]
pub struct Spill {
    /// A pipe that is not read before it is asked for: its writer may come later.
    pipe: PathBuf,
    copy: OnceLock<AtomicFile>,
    copying: Mutex<()>,
}

impl Spill {
    /// All of `input`, copied now.
    fn of(input: impl Read, name: &Path) -> Result<AtomicFile> {
        let mut file = AtomicFile::create(&std::env::temp_dir().join("properloss-input"))?;
        let path = file.temporary().to_path_buf();
        let fail = |source| Error::Write { file: path.clone(), source };
        let mut input = Patient(input);
        let mut piece = vec![0; BUFFER];
        loop {
            let count = input.read(&mut piece).map_err(|error| Error::read(name, error))?;
            if count == 0 {
                break;
            }
            file.write_all(&piece[..count]).map_err(fail)?;
        }
        file.flush().map_err(fail)?;
        Ok(file)
    }

    /// Where the copy is; of a pipe it is made once, by the first who asks.
    fn path(&self) -> Result<&Path> {
        let _one = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        if self.copy.get().is_none() {
            let pipe = File::open(&self.pipe).map_err(|error| Error::read(&self.pipe, error))?;
            let _ = self.copy.set(Self::of(pipe, &self.pipe)?);
        }
        Ok(self.copy.get().map_or(&self.pipe, AtomicFile::temporary))
    }
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

    /// All of standard input, copied now to a temporary file.
    pub fn spilled_stdin() -> Result<Self> {
        let name = PathBuf::from("standard input");
        let copy = Spill::of(std::io::stdin().lock(), &name)?.into();
        Ok(Self::Spilled { name, file: Arc::new(Spill { copy, ..Spill::default() }) })
    }

    /// Files by their names, one or several; `name` is what messages call all of them.
    pub fn files(name: &Path, paths: Vec<PathBuf>) -> Self {
        match <[PathBuf; 1]>::try_from(paths) {
            Ok([path]) => path.as_path().into(),
            Err(paths) => Self::Parts {
                name: name.to_path_buf(),
                parts: paths.iter().map(|path| path.as_path().into()).collect(),
            },
        }
    }

    /// The files that are read one after the other: most sources are one.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Parts { parts, .. } => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// The file on disk, if it is one; a pipe is copied to one first.
    pub fn path(&self) -> Result<Option<&Path>> {
        Ok(match self {
            Self::Path(path) => Some(path),
            Self::Spilled { file, .. } => Some(file.path()?),
            _ => None,
        })
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
            Self::Memory { name, .. }
            | Self::Stream { name, .. }
            | Self::Spilled { name, .. }
            | Self::Parts { name, .. } => name,
        }
    }

    /// The bytes, decompressed if their first two are those of gzip (whatever the file is called);
    /// of several files those of the first.
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
            Self::Spilled { name, file } => {
                decompressed(File::open(file.path()?).map_err(|e| Error::read(name, e))?, name)
            }
            Self::Parts { name, parts } => match parts.first() {
                Some(first) => first.open(),
                None => Err(Error::EmptyFile { file: name.clone() }),
            },
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
    /// A file, or a named pipe (`<(command)` of a shell is one): its bytes come once, and are kept.
    fn from(path: &Path) -> Self {
        let path = path.to_path_buf();
        if is_pipe(&path) {
            let file = Spill { pipe: path.clone(), ..Spill::default() };
            return Self::Spilled { name: path, file: Arc::new(file) };
        }
        Self::Path(path)
    }
}

fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
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
