//! Outputs that appear whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};

/// A file that is written beside its destination and takes its place on [`AtomicFile::commit`].
///
/// Dropped without a commit (an error, a panic), it leaves the destination as it was and removes
/// what it wrote. A destination that is not a regular file, such as `/dev/null` or a pipe, is
/// written directly.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` once it is committed.
    writer: Option<BufWriter<File>>,
    /// The temporary file; `None` if the destination is written directly.
    temporary: Option<PathBuf>,
    destination: PathBuf,
}

impl AtomicFile {
    /// Opens a temporary file in the directory of `path`. A symbolic link is followed, so that the
    /// file it names is replaced and not the link.
    pub fn create(path: &Path) -> Result<Self> {
        let fail = |source| Error::Write { file: path.to_path_buf(), source };
        let destination = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let existing = std::fs::metadata(&destination).ok();
        if let Some(metadata) = &existing {
            if metadata.is_dir() {
                return Err(fail(std::io::Error::new(
                    std::io::ErrorKind::IsADirectory,
                    "it is a directory",
                )));
            }
            if !metadata.is_file() {
                let file = OpenOptions::new().write(true).open(&destination).map_err(fail)?;
                let writer = Some(BufWriter::new(file));
                return Ok(Self { writer, temporary: None, destination });
            }
            if metadata.permissions().readonly() {
                return Err(fail(std::io::Error::new(
                    std::io::ErrorKind::PermissionDenied,
                    "the file is read-only",
                )));
            }
        }
        let (file, temporary) = create_beside(&destination).map_err(fail)?;
        if let Some(metadata) = existing {
            // Best effort: the new file keeps the rights of the one it replaces.
            let _ = file.set_permissions(metadata.permissions());
        }
        Ok(Self { writer: Some(BufWriter::new(file)), temporary: Some(temporary), destination })
    }

    /// Brings the bytes to the disk and renames the file to its destination.
    pub fn commit(mut self) -> Result<()> {
        let result = self.finish();
        result.map_err(|source| Error::Write { file: self.destination.clone(), source })
    }

    fn finish(&mut self) -> std::io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        file.sync_all()?;
        drop(file);
        std::fs::rename(temporary, &self.destination)?;
        self.temporary = None;
        // The rename itself reaches the disk with the directory; not every system can do this.
        if let Some(directory) = self.destination.parent()
            && let Ok(directory) = File::open(directory)
        {
            let _ = directory.sync_all();
        }
        Ok(())
    }

    fn writer(&mut self) -> std::io::Result<&mut BufWriter<File>> {
        self.writer.as_mut().ok_or_else(|| std::io::Error::other("the file is already committed"))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer()?.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Close first: some systems refuse to remove an open file.
            self.writer = None;
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Writes a file through `write`; if that fails, the destination is as it was.
///
/// ```
/// # use properloss_data::write_atomically;
/// # let path = std::env::temp_dir().join(format!("properloss-doc-{}", std::process::id()));
/// use std::io::Write;
/// write_atomically(&path, |out| writeln!(out, "p\n0.5"))?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "p\n0.5\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), properloss_data::Error>(())
/// ```
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|source| Error::Write { file: path.to_path_buf(), source })?;
    file.commit()
}

fn create_beside(destination: &Path) -> std::io::Result<(File, PathBuf)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let Some(name) = destination.file_name() else {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it names no file"));
    };
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = destination.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            // Left behind by a killed process of the same number: take the next name.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            result => return result.map(|file| (file, temporary)),
        }
    }
}
