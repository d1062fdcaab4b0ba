//! Runs the program in a folder of its own and keeps what it said.
//!
//! A transcript holds commands with their exit status, stdout and stderr. It is compared with the
//! file of the same name in `tests/snapshots`; `PROPERLOSS_BLESS=1 cargo test -p properloss-cli`
//! writes these files anew.
#![allow(dead_code)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the program gave.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// stdout as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in {:?}", self.stdout))
    }
}

/// A folder of its own; names in it are relative, so that messages do not depend on the machine.
pub struct Sandbox {
    pub folder: PathBuf,
}

impl Sandbox {
    /// An empty folder.
    pub fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Reads a file of it.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The program, not yet started.
    pub fn command(&self, line: &str) -> Command {
        // Where the program is of another machine (`make test-aarch64`), an emulator runs it.
        let emulator = std::env::var("PROPERLOSS_EMULATOR").unwrap_or_default();
        let mut line_of = emulator.split_whitespace().chain([env!("CARGO_BIN_EXE_properloss")]);
        let mut command = Command::new(line_of.next().unwrap());
        command
            .args(line_of)
            .args(words(line))
            .current_dir(&self.folder)
            // Wrapping of help texts and colours must not depend on who runs the test.
            .env_remove("COLUMNS")
            .env_remove("CLICOLOR_FORCE")
            .env("NO_COLOR", "1");
        command
    }

    /// Runs the program with the words of `line`.
    pub fn run(&self, line: &str) -> Outcome {
        self.run_with(line, b"")
    }

    /// The same with something on standard input.
    pub fn run_with(&self, line: &str, input: &[u8]) -> Outcome {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // On a thread of its own: a program that streams writes before it has read everything.
            // One that fails early does not read its input at all.
            scope.spawn(move || {
                let _ = stdin.write_all(input);
            });
            child.wait_with_output().unwrap()
        });
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program and expects success.
    pub fn succeed(&self, line: &str) -> Outcome {
        let outcome = self.run(line);
        assert_eq!(outcome.code, 0, "properloss {line}\n{}", outcome.stderr);
        outcome
    }

    /// Files that a command began and left behind.
    pub fn leftovers(&self) -> Vec<String> {
        fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".tmp"))
            .collect()
    }
}

/// Uniform numbers from a fixed stream.
pub fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Gzip of stored blocks: bytes that do not depend on a compressor.
pub fn gzip(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut pieces = bytes.chunks(usize::from(u16::MAX)).peekable();
    while let Some(piece) = pieces.next() {
        let length = u16::try_from(piece.len()).unwrap();
        out.push(u8::from(pieces.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(piece);
    }
    let mut crc = !0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    out.extend((!crc).to_le_bytes());
    out.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    out
}

/// Words between spaces; single quotes keep spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                any = true;
            }
            ' ' if !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => {
                word.push(c);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    words
}

/// Commands and what they gave.
pub struct Transcript<'a> {
    sandbox: &'a Sandbox,
    name: &'static str,
    text: String,
}

impl<'a> Transcript<'a> {
    pub fn new(name: &'static str, sandbox: &'a Sandbox) -> Self {
        Self { sandbox, name, text: String::new() }
    }

    /// Runs a command and keeps everything.
    pub fn run(&mut self, line: &str) -> Outcome {
        self.run_with(line, b"")
    }

    /// The same with something on standard input.
    pub fn run_with(&mut self, line: &str, input: &[u8]) -> Outcome {
        let outcome = self.sandbox.run_with(line, input);
        self.text.push_str(&format!("$ properloss {line}\n[exit {}]\n", outcome.code));
        for (name, content) in
            [("stdout", &without_seconds(&outcome.stdout)), ("stderr", &outcome.stderr)]
        {
            if !content.is_empty() {
                self.text.push_str(&format!("[{name}]\n{content}"));
            }
        }
        self.text.push('\n');
        outcome
    }

    /// Compares with the file, or writes it.
    pub fn check(self) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/snapshots")
            .join(format!("{}.txt", self.name));
        if std::env::var_os("PROPERLOSS_BLESS").is_some() {
            fs::write(&file, &self.text).unwrap();
            return;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        let differs = expected.lines().zip(self.text.lines()).position(|(a, b)| a != b);
        let shorter = expected.lines().count().min(self.text.lines().count());
        if expected != self.text {
            let at = differs.unwrap_or(shorter);
            let around = |text: &str| {
                let lines = text.lines().skip(at.saturating_sub(4)).take(9);
                lines.map(|line| format!("    {line}\n")).collect::<String>()
            };
            panic!(
                "{}, line {}: expected\n{}found\n{}(PROPERLOSS_BLESS=1 writes the file anew)",
                file.display(),
                at + 1,
                around(&expected),
                around(&self.text),
            );
        }
    }
}

/// Times differ from run to run: the last column of a table that ends in `seconds` is masked.
fn without_seconds(text: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in text.lines() {
        let last = line.split_whitespace().last().unwrap_or("");
        if last == "seconds" {
            inside = true;
        } else if inside && last.parse::<f64>().is_ok() {
            let kept = line.len() - last.len();
            out.push_str(line[..kept].trim_end());
            out.push_str("  #.##\n");
            continue;
        } else {
            inside = false;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
