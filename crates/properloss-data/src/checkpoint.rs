//! Checkpoint files: the state of a run under its method and options, with a checksum.
//!
//! ```text
//! properloss-checkpoint 1\n
//! {"method": .., "options": .., "program": ..}\n       one line of JSON
//! <checksum of what follows, 4 bytes><state>
//! ```

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use flate2::Crc;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::atomic::write_atomically;
use crate::error::{Error, Result};
use crate::model_file::program;

const FIRST_LINE: &[u8] = b"properloss-checkpoint 1\n";

/// Which run a state belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The method.
    pub method: String,
    /// Its options, all of them.
    pub options: BTreeMap<String, Value>,
    /// The program and its version.
    pub program: String,
}

impl Run {
    /// A run of this program.
    pub fn new(method: &str, options: BTreeMap<String, Value>) -> Self {
        Self { method: method.to_owned(), options, program: program() }
    }
}

/// Writes a state, whole or not at all.
pub fn write(path: &Path, run: &Run, state: &[u8]) -> Result<()> {
    let bytes = to_bytes(path, run, state)?;
    write_atomically(path, |out| out.write_all(&bytes))
}

/// The bytes of a file.
pub fn to_bytes(path: &Path, run: &Run, state: &[u8]) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(run).map_err(|error| refused(path, &error.to_string()))?;
    Ok([FIRST_LINE, &header, b"\n", &checksum(state).to_le_bytes(), state].concat())
}

/// The state of this run; `None` if there is no file. A file of another run is refused.
pub fn read(path: &Path, run: &Run) -> Result<Option<Vec<u8>>> {
    let fail = |error| Error::read(path, error);
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    // What does not begin as one is not read on: a device may have no end.
    let mut bytes = Vec::new();
    (&mut file).take(FIRST_LINE.len() as u64).read_to_end(&mut bytes).map_err(fail)?;
    if bytes == FIRST_LINE {
        file.read_to_end(&mut bytes).map_err(fail)?;
    }
    parse(&bytes, path, run).map(|state| Some(state.to_vec()))
}

/// The state in the bytes of a file.
pub fn parse<'b>(bytes: &'b [u8], path: &Path, run: &Run) -> Result<&'b [u8]> {
    let Some(rest) = bytes.strip_prefix(FIRST_LINE) else {
        return Err(refused(path, "it is not a checkpoint of this program"));
    };
    let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
        return Err(refused(path, "its header has no end"));
    };
    let found: Run = serde_json::from_slice(&rest[..end])
        .map_err(|error| refused(path, &format!("its header: {error}")))?;
    let Some((sum, state)) = rest[end + 1..].split_first_chunk::<4>() else {
        return Err(refused(path, "it ends too early"));
    };
    if u32::from_le_bytes(*sum) != checksum(state) {
        return Err(refused(path, "its checksum is wrong"));
    }
    if let Some(difference) = difference(run, &found) {
        return Err(refused(path, &difference));
    }
    Ok(state)
}

/// What is not the same in two runs.
fn difference(run: &Run, found: &Run) -> Option<String> {
    if run.program != found.program {
        return Some(format!("it was made by {}, this is {}", found.program, run.program));
    }
    if run.method != found.method {
        return Some(format!("it was made with method {}, not {}", found.method, run.method));
    }
    let names = run.options.keys().chain(found.options.keys());
    for name in names {
        let (here, there) = (run.options.get(name), found.options.get(name));
        if here != there {
            let show = |value: Option<&Value>| value.map_or("none".into(), Value::to_string);
            return Some(format!("it was made with {name} = {}, not {}", show(there), show(here)));
        }
    }
    None
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

pub(crate) fn refused(path: &Path, reason: &str) -> Error {
    Error::Checkpoint { file: path.to_path_buf(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(method: &str, folds: u64) -> Run {
        Run::new(method, BTreeMap::from([("folds".to_owned(), Value::from(folds))]))
    }

    #[track_caller]
    fn refused(bytes: &[u8], run: &Run, why: &str) {
        match parse(bytes, Path::new("a"), run) {
            Err(Error::Checkpoint { reason, .. }) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    /// Only the state of the same run, whole; every byte of it counts.
    #[test]
    fn the_state_of_this_run_or_a_reason() {
        let (here, state) = (run("proper", 5), b"123456789");
        let bytes = to_bytes(Path::new("a"), &here, state).unwrap();
        assert_eq!(parse(&bytes, Path::new("a"), &here).unwrap(), state);
        // The check value of CRC-32.
        assert_eq!(checksum(state), 0xcbf4_3926);
        refused(&bytes, &run("logistic", 5), "method proper, not logistic");
        refused(&bytes, &run("proper", 6), "folds = 5, not 6");
        refused(&bytes, &Run::new("proper", BTreeMap::new()), "folds = 5, not none");
        let other = Run { program: "another 9.9".into(), ..here.clone() };
        refused(&bytes, &other, "this is another 9.9");
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length], Path::new("a"), &here).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(parse(&changed, Path::new("a"), &here).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_no_state() {
        let folder =
            std::env::temp_dir().join(format!("properloss-checkpoint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, here) = (folder.join("state"), run("proper", 5));
        assert!(read(&path, &here).unwrap().is_none());
        write(&path, &here, b"state").unwrap();
        assert_eq!(read(&path, &here).unwrap().unwrap(), b"state");
        assert!(read(&folder, &here).is_err());
        // A place where no file can be is told, not taken for a fresh start.
        assert!(matches!(read(&path.join("inside"), &here), Err(Error::Read { .. })));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
