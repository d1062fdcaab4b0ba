//! Outputs appear whole or not at all.

mod common;

use std::io::Write;

use common::Directory;
use properloss_data::{AtomicFile, Error, write_atomically};

#[test]
fn a_failure_leaves_the_old_file_and_no_other() {
    let directory = Directory::new();
    let path = directory.write("out.csv", b"old");
    let error = write_atomically(&path, |out| {
        out.write_all(&vec![b'x'; 1 << 20])?;
        Err(std::io::Error::other("no more"))
    })
    .unwrap_err();
    assert!(error.to_string().ends_with("out.csv: cannot write: no more"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(directory.names(), ["out.csv"]);
    // Dropped without a commit, as by an error in between.
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"half").unwrap();
    file.flush().unwrap();
    assert_eq!(directory.names().len(), 2);
    drop(file);
    assert_eq!(directory.names(), ["out.csv"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn a_commit_replaces_the_file() {
    let directory = Directory::new();
    let path = directory.write("out.csv", b"a long old content");
    write_atomically(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    write_atomically(&directory.0.join("fresh.csv"), |out| out.write_all(b"1")).unwrap();
    assert_eq!(directory.names(), ["fresh.csv", "out.csv"]);
}

#[test]
fn places_that_cannot_be_written() {
    let directory = Directory::new();
    let missing = directory.0.join("no/such/out.csv");
    let error = write_atomically(&missing, |_| Ok(())).unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert!(error.to_string().contains("no/such/out.csv: cannot write: No such file"), "{error}");
    let error = write_atomically(&directory.0, |_| Ok(())).unwrap_err();
    assert!(error.to_string().ends_with("cannot write: it is a directory"), "{error}");
    assert!(error.hint().unwrap().contains("nothing was changed"));
    let path = directory.write("fixed.csv", b"old");
    let mut rights = std::fs::metadata(&path).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&path, rights).unwrap();
    let error = write_atomically(&path, |_| Ok(())).unwrap_err();
    assert!(error.to_string().ends_with("cannot write: the file is read-only"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[cfg(unix)]
#[test]
fn links_rights_and_devices() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let path = directory.write("real.csv", b"old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = directory.0.join("link.csv");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_atomically(&link, |out| out.write_all(b"new")).unwrap();
    // The link stays a link; the file it names has the new content and the old rights.
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    // A device is written, not replaced.
    write_atomically("/dev/null".as_ref(), |out| out.write_all(b"gone")).unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    let error = write_atomically("/dev/full".as_ref(), |out| out.write_all(b"x"));
    if std::path::Path::new("/dev/full").exists() {
        assert!(matches!(error, Err(Error::Write { .. })));
    }
}

/// A program that ends at once (a signal, memory that is refused) takes its temporary files with it, and
/// nothing that it has written in full.
#[cfg(unix)]
#[test]
fn a_program_that_ends_at_once_leaves_no_temporary_file() {
    const FOLDER: &str = "PROPERLOSS_TEST_FOLDER";
    if common::is_alone() {
        let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
        write_atomically(&folder.join("whole"), |out| out.write_all(b"whole")).unwrap();
        let mut half = AtomicFile::create(&folder.join("half")).unwrap();
        half.write_all(b"half").unwrap();
        half.flush().unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        if folder.join("../tried").exists() {
            properloss_data::atomic::try_remove_temporaries();
        } else {
            properloss_data::atomic::remove_temporaries();
        }
        let left = std::fs::read_dir(&folder).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        println!("left {left:?}");
        // Nothing is made or dropped from here on: the list is not given back.
        println!("1 passed");
        std::process::exit(0);
    }
    for tried in [false, true] {
        let directory = Directory::new();
        let folder = directory.0.join("out");
        std::fs::create_dir(&folder).unwrap();
        if tried {
            directory.write("tried", b"");
        }
        let set = format!("{FOLDER}='{}'; export {FOLDER};", folder.display());
        let test = "a_program_that_ends_at_once_leaves_no_temporary_file";
        let said = common::alone(module_path!(), test, &set, b"");
        assert!(said.contains("left [\"whole\"]"), "{said}");
        assert_eq!(std::fs::read(folder.join("whole")).unwrap(), b"whole");
    }
}
