//! Outputs that appear whole or not at all.
//!
//! A temporary file is locked while its process lives. A process that is killed leaves its file
//! behind, and the lock goes: the next writer of the same destination finds it free and removes it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::error::{Error, Result};

/// A place where the system may fail. In this crate's own tests each of them does, once.
pub(crate) fn site(_name: &'static str) -> std::io::Result<()> {
    #[cfg(test)]
    tests::visit(_name)?;
    Ok(())
}

/// The temporary files of this process, for [`remove_temporaries`]. Files are made, renamed and
/// removed under this lock, so that the list is true whenever it is free.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process: for a program that ends at once. A thread that
/// makes a file or puts one in its place from here on waits for that end.
pub fn remove_temporaries() {
    remove_all(temporaries());
}

/// [`remove_temporaries`] for a thread that may hold the list itself, as when the memory for an
/// entry of it is refused; nothing is removed then.
pub fn try_remove_temporaries() {
    match TEMPORARIES.try_lock() {
        Ok(held) => remove_all(held),
        Err(TryLockError::Poisoned(held)) => remove_all(held.into_inner()),
        Err(TryLockError::WouldBlock) => {}
    }
}

fn remove_all(held: MutexGuard<'static, Vec<PathBuf>>) {
    for path in held.iter() {
        let _ = std::fs::remove_file(path);
    }
    // Never given back.
    std::mem::forget(held);
}

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
                site("open a device").map_err(fail)?;
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

    /// Where the bytes are until then: to be read again once they are flushed.
    pub fn temporary(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.destination)
    }

    /// Brings the bytes to the disk and renames the file to its destination.
    pub fn commit(mut self) -> Result<()> {
        let result = self.finish();
        result.map_err(|source| Error::Write { file: self.destination.clone(), source })
    }

    fn finish(&mut self) -> std::io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        site("flush")?;
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        site("sync")?;
        file.sync_all()?;
        // Locked until it is in its place, where the system can rename an open file.
        let file = (!cfg!(windows)).then_some(file);
        site("rename")?;
        let mut all = temporaries();
        std::fs::rename(temporary, &self.destination)?;
        all.retain(|path| path != temporary);
        drop(all);
        drop(file);
        self.temporary = None;
        // From here on the new file is in its place, whatever fails. The rename itself reaches the
        // disk with the directory; not every system can do this.
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
        site("write")?;
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
            let mut all = temporaries();
            let _ = std::fs::remove_file(temporary);
            all.retain(|path| path != temporary);
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
    remove_abandoned(destination, name);
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = destination.with_file_name(temporary);
        site("create")?;
        let mut all = temporaries();
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            // Left behind by a killed process of the same number: take the next name.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // Another writer may find it before it is locked, and take it for abandoned. (A
                // system without locks keeps what a killed process leaves.)
                let taken = matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock));
                if taken || !temporary.exists() {
                    continue;
                }
                all.push(temporary.clone());
                return Ok((file, temporary));
            }
        }
    }
}

/// Removes `.name.*.tmp` files beside the destination that nobody has locked any more.
fn remove_abandoned(destination: &Path, name: &std::ffi::OsStr) {
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(parent.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        if is_temporary_of(&entry.file_name(), name)
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether `candidate` is `.{name}.{process}-{number}.tmp`.
fn is_temporary_of(candidate: &std::ffi::OsStr, name: &std::ffi::OsStr) -> bool {
    let numbers = candidate
        .as_encoded_bytes()
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_prefix(name.as_encoded_bytes()))
        .and_then(|rest| rest.strip_prefix(b"."))
        .and_then(|rest| rest.strip_suffix(b".tmp"));
    let Some(numbers) = numbers else { return false };
    let mut parts = numbers.split(|&byte| byte == b'-');
    let number = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    number(parts.next()) && number(parts.next()) && parts.next().is_none()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    thread_local! {
        /// The sites met so far, and the number of the one that fails.
        static FAULTS: RefCell<(Vec<&'static str>, usize)> = const { RefCell::new((Vec::new(), usize::MAX)) };
    }

    pub(super) fn visit(name: &'static str) -> std::io::Result<()> {
        FAULTS.with_borrow_mut(|(met, fails)| {
            met.push(name);
            if met.len() - 1 == *fails {
                Err(std::io::Error::other(format!("injected at {name}")))
            } else {
                Ok(())
            }
        })
    }

    /// Runs `write` with the fault at every place that it meets, one after the other, and once
    /// without; `look` sees whether it succeeded.
    pub(crate) fn at_every_site(
        write: impl Fn() -> Result<()>,
        look: impl Fn(bool),
    ) -> BTreeSet<&'static str> {
        let mut failed = BTreeSet::new();
        for number in 0.. {
            FAULTS.set((Vec::new(), number));
            let result = write();
            let met = FAULTS.take().0;
            FAULTS.set((Vec::new(), usize::MAX));
            look(result.is_ok());
            if number >= met.len() {
                assert!(result.is_ok(), "nothing failed: {result:?}");
                break;
            }
            let text = result.expect_err("a fault was injected").to_string();
            assert!(text.contains(&format!("injected at {}", met[number])), "{text}");
            failed.insert(met[number]);
        }
        failed
    }

    /// What a killed process left is removed by the next writer of the same file, and nothing else.
    #[test]
    fn abandoned_files_are_removed() {
        let folder =
            std::env::temp_dir().join(format!("properloss-abandoned-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str| {
            std::fs::write(folder.join(name), b"half").unwrap();
            folder.join(name)
        };
        let left = file(".out.csv.123-4.tmp");
        let others = [".other.csv.123-4.tmp", ".out.csv.x.tmp", "out.csv.123-4.tmp"].map(file);
        let locked = file(".out.csv.123-5.tmp");
        let held = std::fs::OpenOptions::new().write(true).open(&locked).unwrap();
        held.lock().unwrap();
        write_atomically(&folder.join("out.csv"), |out| out.write_all(b"whole")).unwrap();
        assert!(!left.exists() && locked.exists() && others.iter().all(|path| path.exists()));
        assert_eq!(std::fs::read(folder.join("out.csv")).unwrap(), b"whole");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A name that is taken, by a process of the same number that was killed, is passed over.
    #[test]
    fn names_that_are_taken_are_passed_over() {
        let folder = std::env::temp_dir().join(format!("properloss-taken-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out");
        let first = AtomicFile::create(&path).unwrap();
        let name = first.temporary().file_name().unwrap().to_str().unwrap().to_owned();
        let prefix = format!(".out.{}-", std::process::id());
        let number: u32 =
            name.strip_prefix(&prefix).unwrap().trim_end_matches(".tmp").parse().unwrap();
        // Locked, or they would be removed as abandoned.
        let taken: Vec<_> = (number + 1..=number + 300)
            .map(|number| {
                let path = folder.join(format!("{prefix}{number}.tmp"));
                let file = File::create_new(&path).unwrap();
                file.lock().unwrap();
                (path, file)
            })
            .collect();
        let mut second = AtomicFile::create(&path).unwrap();
        assert!(taken.iter().all(|(path, _)| path != second.temporary() && path.exists()));
        assert!(second.temporary().is_file() && second.temporary() != first.temporary());
        second.write_all(b"whole").unwrap();
        second.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert!(taken.iter().all(|(path, _)| std::fs::read(path).unwrap().is_empty()));
        drop(first);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The bytes are in the temporary file once they are flushed, and in the list until they are in place.
    #[test]
    fn bytes_are_in_the_temporary_file_until_they_are_in_place() {
        let folder = std::env::temp_dir().join(format!("properloss-flush-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out");
        let listed = |path: &Path| temporaries().iter().any(|listed| listed == path);
        let mut file = AtomicFile::create(&path).unwrap();
        let temporary = file.temporary().to_path_buf();
        assert!(listed(&temporary));
        assert_eq!(file.write(b"some").unwrap(), 4);
        assert!(std::fs::read(&temporary).unwrap().is_empty(), "in the buffer");
        file.flush().unwrap();
        assert_eq!(std::fs::read(&temporary).unwrap(), b"some");
        file.commit().unwrap();
        assert!(!listed(&temporary) && !temporary.exists());
        assert_eq!(std::fs::read(&path).unwrap(), b"some");
        // Dropped instead, it is gone from both.
        let file = AtomicFile::create(&path).unwrap();
        let temporary = file.temporary().to_path_buf();
        drop(file);
        assert!(!listed(&temporary) && !temporary.exists());
        // What is no file is its own temporary one.
        let device = AtomicFile::create("/dev/null".as_ref()).unwrap();
        assert_eq!(device.temporary(), Path::new("/dev/null"));
        // A path that ends in no name.
        let error = write_atomically(&folder.join("nowhere/.."), |_| Ok(())).unwrap_err();
        assert!(error.to_string().ends_with("it names no file"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_fault_at_any_place_leaves_the_old_file_or_the_new_one() {
        let folder = std::env::temp_dir().join(format!("properloss-sites-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for old in [None, Some("old")] {
            let path = folder.join(format!("out-{}", old.is_some()));
            let write = || {
                match old {
                    Some(old) => std::fs::write(&path, old).unwrap(),
                    None => drop(std::fs::remove_file(&path)),
                }
                write_atomically(&path, |out| {
                    out.write_all(&vec![b'x'; 100_000])?;
                    out.write_all(b"end")
                })
            };
            let look = |ok: bool| {
                let now = std::fs::read_to_string(&path).ok();
                if ok {
                    assert_eq!(now.map(|text| text.len()), Some(100_003));
                } else {
                    assert_eq!(now.as_deref(), old);
                }
                let names = std::fs::read_dir(&folder).unwrap().flatten();
                let left = names.filter(|e| e.file_name().to_string_lossy().ends_with(".tmp"));
                assert_eq!(left.count(), 0, "a temporary file is left");
            };
            let sites = at_every_site(write, look);
            assert_eq!(sites, BTreeSet::from(["create", "flush", "rename", "sync", "write"]));
            assert!(!TEMPORARIES.lock().unwrap().contains(&path));
        }
        std::fs::remove_dir_all(&folder).unwrap();
        // A device is written directly.
        let sites =
            at_every_site(|| write_atomically("/dev/null".as_ref(), |o| o.write_all(b"x")), |_| {});
        assert_eq!(sites, BTreeSet::from(["flush", "open a device", "write"]));
    }

    /// Whoever holds the list, as a signal does, sees exactly the temporary files that exist: none
    /// is made, renamed or removed meanwhile.
    #[test]
    fn the_list_of_temporary_files_is_true_whenever_it_is_free() {
        let folder = std::env::temp_dir().join(format!("properloss-list-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ended = std::sync::atomic::AtomicBool::new(false);
        let mut seen = 0;
        std::thread::scope(|scope| {
            for k in 0..3 {
                let (path, ended) = (folder.join(format!("out-{k}")), &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let file = AtomicFile::create(&path).unwrap();
                        if k == 0 {
                            drop(file);
                        } else {
                            file.commit().unwrap();
                        }
                    }
                });
            }
            for look in 0..1_000_000 {
                if look >= 2000 && seen > 0 {
                    break;
                }
                // On a busy machine the writers may not have had a turn yet.
                std::thread::sleep(std::time::Duration::from_micros(20));
                let listed = temporaries();
                let mut listed: Vec<_> =
                    listed.iter().filter(|path| path.starts_with(&folder)).collect();
                listed.sort();
                let names = std::fs::read_dir(&folder).unwrap().flatten();
                let mut there: Vec<_> = names.map(|entry| entry.path()).collect();
                there.retain(|path| path.to_string_lossy().ends_with(".tmp"));
                there.sort();
                let same = listed.iter().copied().eq(&there);
                ended.fetch_or(!same, Ordering::Relaxed);
                assert!(same, "listed {listed:?}, there {there:?}");
                seen += there.len();
            }
            ended.store(true, Ordering::Relaxed);
        });
        assert!(seen > 0, "no temporary file was ever seen");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_our_own_names_are_temporary() {
        let is = |candidate: &str| is_temporary_of(candidate.as_ref(), "m.json".as_ref());
        assert!(is(".m.json.12-0.tmp"));
        for other in
            ["m.json", ".m.json.tmp", ".m.json.12.tmp", ".m.json.-1.tmp", ".x.json.1-2.tmp"]
        {
            assert!(!is(other), "{other}");
        }
    }
}
