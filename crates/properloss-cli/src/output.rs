//! Data on stdout, words on stderr, files whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use properloss_data::AtomicFile;

use crate::failure::{Failure, Result};

/// What the global options say about talking.
#[derive(Debug, Clone, Copy)]
pub struct Talk {
    /// Results as JSON on stdout.
    pub json: bool,
    /// No words on stderr, except errors.
    pub quiet: bool,
}

impl Talk {
    /// A line of words on stderr.
    pub fn say(self, words: impl AsRef<str>) {
        if !self.quiet {
            // A closed stderr is no reason to fail.
            let _ = writeln!(io::stderr().lock(), "{}", words.as_ref());
        }
    }

    /// The result of a command: the text for people, or the JSON for machines.
    pub fn result(self, text: impl FnOnce() -> String, json: &serde_json::Value) -> Result<()> {
        if self.json { print(&format!("{json:#}\n")) } else { print(&text()) }
    }

    /// Tables about files that were written, and their names. Beside a file on standard output they are words.
    pub fn tables(self, tables: &str, written: &[PathBuf]) -> Result<()> {
        if written.iter().any(|path| is_stdout(path)) {
            self.say(tables.trim_end());
        } else {
            print(tables)?;
        }
        for path in written.iter().filter(|path| !is_stdout(path)) {
            self.say(format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

/// Writes to stdout.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(stdout_failure)
}

/// A reader that has gone away is not an error.
pub fn stdout_failure(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failure::BrokenPipe
    } else {
        Failure::user(format!("standard output: cannot write: {error}"), "is the disk full?")
    }
}

/// A file to be written at the end of a command. It is opened at the start, so that an output that
/// cannot be written is found before the work and not after it.
/// `-` is standard output.
pub struct OutputFile {
    path: PathBuf,
    file: Option<AtomicFile>,
}

impl OutputFile {
    /// Opens a temporary file beside the destination.
    pub fn create(path: &Path) -> Result<Self> {
        let file = if is_stdout(path) { None } else { Some(AtomicFile::create(path)?) };
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// The destination.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes everything and puts the file in its place.
    pub fn finish(mut self, content: &str) -> Result<()> {
        let Some(mut file) = self.file.take() else { return print(content) };
        file.write_all(content.as_bytes()).map_err(|error| self.failure(error))?;
        Ok(file.commit()?)
    }

    /// Writes a piece of a file.
    fn write(&mut self, text: &str) -> Result<()> {
        match &mut self.file {
            None => print(text),
            Some(file) => {
                let written = file.write_all(text.as_bytes());
                written.map_err(|error| self.failure(error))
            }
        }
    }

    fn failure(&self, source: io::Error) -> Failure {
        properloss_data::Error::Write { file: self.path.clone(), source }.into()
    }
}

/// Whether a name stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses two outputs of the same name.
pub fn check_distinct<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let mut seen: Vec<&PathBuf> = Vec::new();
    for path in paths {
        if seen.contains(&path) {
            let message = format!("{}: two outputs have this name", path.display());
            return Err(Failure::usage(message, "give each output a file of its own"));
        }
        seen.push(path);
    }
    Ok(())
}

/// Refuses an output that would take the place of an input.
pub fn check_inputs<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    outputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    let outputs: Vec<&PathBuf> = outputs.into_iter().filter(|path| !is_stdout(path)).collect();
    for input in inputs {
        if let Some(output) = outputs.iter().find(|output| same(input, output)) {
            return Err(Failure::usage(
                format!(
                    "{}: an input of the command, which would be overwritten",
                    output.display()
                ),
                "give the output another name",
            ));
        }
    }
    Ok(())
}

/// Rows that go to a file or to stdout as they come.
pub enum Stream {
    /// stdout, buffered.
    Stdout(BufWriter<io::Stdout>),
    /// A file that appears when it is complete.
    File(OutputFile),
}

impl Stream {
    /// A file, or stdout without one.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        Ok(match path {
            None => Self::Stdout(BufWriter::new(io::stdout())),
            Some(path) if is_stdout(path) => Self::open(None)?,
            Some(path) => Self::File(OutputFile::create(path)?),
        })
    }

    /// Writes a piece.
    pub fn write(&mut self, text: &str) -> Result<()> {
        match self {
            Self::Stdout(out) => out.write_all(text.as_bytes()).map_err(stdout_failure),
            Self::File(out) => out.write(text),
        }
    }

    /// Brings everything to its place.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush().map_err(stdout_failure),
            Self::File(out) => out.finish(""),
        }
    }
}
