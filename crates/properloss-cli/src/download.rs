//! A file from one of several addresses: resumed where an earlier download stopped, checked, and in
//! its place only when it is whole.

use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use properloss_data::Source;
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::{Response, StatusCode, header};

const BUFFER: usize = 1 << 16;

/// A file to download.
#[derive(Debug, Clone, Copy)]
pub struct RemoteFile {
    /// Its name, at the mirrors and in the folder.
    pub name: &'static str,
    /// SHA-256 of its content after decompression, in hexadecimal.
    pub sha256: &'static str,
}

/// How a file came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was, with the right checksum.
    AlreadyThere,
    /// From its first byte.
    Downloaded,
    /// From where an earlier download had stopped.
    Resumed,
}

/// Why a file is not there.
#[derive(Debug)]
pub enum DownloadError {
    /// A file of this name is there, with another checksum.
    Other { file: PathBuf },
    /// The file cannot be read or written.
    Local { file: PathBuf, source: io::Error },
    /// Every address failed.
    Remote { file: PathBuf, attempts: Vec<(String, String)> },
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { file } => write!(
                f,
                "{}: there is a file of this name with another checksum; it was left as it is, remove it first",
                file.display()
            ),
            Self::Local { file, source } => write!(f, "{}: {source}", file.display()),
            Self::Remote { file, attempts } => {
                write!(f, "{}: cannot be downloaded", file.display())?;
                for (address, reason) in attempts {
                    write!(f, "\n  {address}: {reason}")?;
                }
                Ok(())
            }
        }
    }
}

impl Error for DownloadError {}

/// Downloads into one folder.
pub struct Download<'a> {
    mirrors: &'a [&'a str],
    folder: &'a Path,
    agent: Agent,
}

impl<'a> Download<'a> {
    /// The mirrors are tried in order, as `MIRROR/NAME`.
    pub fn new(mirrors: &'a [&'a str], folder: &'a Path) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .build();
        Self { mirrors, folder, agent: config.into() }
    }

    /// Puts `file` into the folder. `watch` is told how many bytes there are.
    pub fn get(&self, file: &RemoteFile, watch: &dyn Fn(u64)) -> Result<Outcome, DownloadError> {
        let destination = self.folder.join(file.name);
        let part = self.folder.join(format!("{}.part", file.name));
        let local = |path: &Path| {
            let file = path.to_path_buf();
            move |source| DownloadError::Local { file, source }
        };
        if destination.exists() {
            return match has_checksum(&destination, file.sha256) {
                Ok(true) => Ok(Outcome::AlreadyThere),
                Ok(false) => Err(DownloadError::Other { file: destination }),
                Err(source) => Err(local(&destination)(source)),
            };
        }
        let mut attempts = Vec::new();
        for mirror in self.mirrors {
            let address = format!("{}/{}", mirror.trim_end_matches('/'), file.name);
            // A part that does not fit this mirror's file is dropped, and the file begun again, once.
            loop {
                let begun = fs::metadata(&part).map(|metadata| metadata.len()).unwrap_or(0);
                let reason = match self.fetch(&address, &part, begun, watch) {
                    Ok(resumed) => match has_checksum(&part, file.sha256) {
                        Ok(true) => {
                            fs::rename(&part, &destination).map_err(local(&destination))?;
                            let outcome =
                                if resumed { Outcome::Resumed } else { Outcome::Downloaded };
                            return Ok(outcome);
                        }
                        Ok(false) => {
                            fs::remove_file(&part).map_err(local(&part))?;
                            if resumed {
                                continue;
                            }
                            "wrong checksum".to_owned()
                        }
                        Err(source) => return Err(local(&part)(source)),
                    },
                    Err(FetchError::Local(source)) => return Err(local(&part)(source)),
                    Err(FetchError::Remote(reason)) => reason,
                };
                attempts.push((address, reason));
                break;
            }
        }
        Err(DownloadError::Remote { file: destination, attempts })
    }

    /// Appends to `part` what is missing behind its first `begun` bytes; says whether it was resumed.
    fn fetch(
        &self,
        address: &str,
        part: &Path,
        begun: u64,
        watch: &dyn Fn(u64),
    ) -> Result<bool, FetchError> {
        let mut request = self.agent.get(address);
        if begun > 0 {
            request = request.header(header::RANGE, format!("bytes={begun}-"));
        }
        let response = request.call().map_err(|error| FetchError::Remote(error.to_string()))?;
        let status = response.status();
        // Nothing is behind the part: it is whole, or no part of this file. The checksum tells.
        if status == StatusCode::RANGE_NOT_SATISFIABLE && begun > 0 {
            return Ok(true);
        }
        if !status.is_success() {
            return Err(FetchError::Remote(status.to_string()));
        }
        let resumed = status == StatusCode::PARTIAL_CONTENT && starts_at(&response, begun);
        if status == StatusCode::PARTIAL_CONTENT && !resumed {
            return Err(FetchError::Remote("another part than asked for".into()));
        }
        let mut options = OpenOptions::new();
        options.create(true);
        // A server that knows no ranges sends everything.
        let out = if resumed { options.append(true) } else { options.write(true).truncate(true) };
        let mut out = out.open(part).map_err(FetchError::Local)?;
        let mut done = if resumed { begun } else { 0 };
        let promised = response
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok())
            .map(|length| done + length);
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(FetchError::Remote(format!("stopped after {done} bytes: {error}")));
                }
            };
            out.write_all(&buffer[..count]).map_err(FetchError::Local)?;
            done += count as u64;
            watch(done);
        }
        if let Some(promised) = promised.filter(|&promised| promised != done) {
            return Err(FetchError::Remote(format!("stopped after {done} of {promised} bytes")));
        }
        out.sync_all().map_err(FetchError::Local)?;
        Ok(resumed)
    }
}

enum FetchError {
    Local(io::Error),
    Remote(String),
}

/// `Content-Range: bytes BEGUN-...`.
fn starts_at<B>(response: &Response<B>, begun: u64) -> bool {
    response
        .headers()
        .get(header::CONTENT_RANGE)
        .and_then(|value| value.to_str().ok()?.strip_prefix("bytes "))
        .is_some_and(|range| range.starts_with(&format!("{begun}-")))
}

/// Is this the SHA-256 of the decompressed content? Content that cannot be decompressed has none.
fn has_checksum(path: &Path, sha256: &str) -> io::Result<bool> {
    // Unreadable is the machine's fault, broken content is not.
    drop(File::open(path)?);
    let Ok(mut content) = Source::from(path).open() else { return Ok(false) };
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(false),
        }
    }
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(found == sha256)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// `abcdefghij` repeated 1000 times; its SHA-256 comes from `sha256sum`.
    fn content() -> Vec<u8> {
        b"abcdefghij".repeat(1000)
    }
    const FILE: RemoteFile = RemoteFile {
        name: "letters",
        sha256: "dce9b45e4f753351e0334bbae236195ad216b15c9b29fa0872dadd83cd10854d",
    };

    /// How the server behaves.
    #[derive(Clone, Copy, PartialEq)]
    enum Habit {
        Ranges,
        NoRanges,
        WrongRange,
        BreaksOff(usize),
    }

    /// A server of `content` under any name; it keeps the `Range` header of each request.
    fn serve(content: Vec<u8>, habit: Habit) -> (String, Arc<Mutex<Vec<Option<String>>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut range = None;
                for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                    let line = line.unwrap();
                    if line.is_empty() {
                        break;
                    }
                    if let Some((name, value)) = line.split_once(": ")
                        && name.eq_ignore_ascii_case("range")
                    {
                        range = Some(value.to_owned());
                    }
                }
                let from = range
                    .as_deref()
                    .and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok())
                    .filter(|_| habit != Habit::NoRanges);
                kept.lock().unwrap().push(range);
                let total = content.len();
                let start: usize = from.unwrap_or(0);
                let mut head = match from {
                    Some(start) if start >= total => {
                        let text = "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n";
                        let _ =
                            stream.write_all(format!("{text}Connection: close\r\n\r\n").as_bytes());
                        continue;
                    }
                    Some(start) => {
                        let start = if habit == Habit::WrongRange { start + 1 } else { start };
                        format!(
                            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{}/{total}\r\n",
                            total - 1
                        )
                    }
                    None => "HTTP/1.1 200 OK\r\n".to_owned(),
                };
                head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", total - start);
                let end = if let Habit::BreaksOff(count) = habit {
                    (start + count).min(total)
                } else {
                    total
                };
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&content[start..end]);
            }
        });
        (address, seen)
    }

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("properloss-get-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn get(mirrors: &[&str], folder: &Path) -> Result<Outcome, DownloadError> {
        Download::new(mirrors, folder).get(&FILE, &|_| {})
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_downloaded_once() {
        let folder = folder("once");
        let (address, seen) = serve(content(), Habit::Ranges);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::Downloaded);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::AlreadyThere);
        assert_eq!(fs::read(folder.join("letters")).unwrap(), content());
        assert_eq!(names(&folder), ["letters"]);
        assert_eq!(*seen.lock().unwrap(), [None]);
    }

    #[test]
    fn a_broken_download_is_resumed_where_it_stopped() {
        let folder = folder("resume");
        let (breaking, _) = serve(content(), Habit::BreaksOff(4321));
        let error = get(&[&breaking], &folder).unwrap_err().to_string();
        assert!(error.contains(&format!("{breaking}/letters: stopped after 4321")), "{error}");
        assert_eq!(names(&folder), ["letters.part"]);
        let (address, seen) = serve(content(), Habit::Ranges);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::Resumed);
        assert_eq!(*seen.lock().unwrap(), [Some("bytes=4321-".to_owned())]);
        assert_eq!(fs::read(folder.join("letters")).unwrap(), content());
        assert_eq!(names(&folder), ["letters"]);
    }

    #[test]
    fn a_whole_part_is_only_checked() {
        let folder = folder("whole-part");
        fs::write(folder.join("letters.part"), content()).unwrap();
        let (address, _) = serve(content(), Habit::Ranges);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::Resumed);
        assert_eq!(names(&folder), ["letters"]);
    }

    #[test]
    fn a_part_of_another_file_is_dropped_and_the_file_begun_again() {
        let folder = folder("foreign-part");
        fs::write(folder.join("letters.part"), [b'?'; 500]).unwrap();
        let (address, seen) = serve(content(), Habit::Ranges);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::Downloaded);
        assert_eq!(*seen.lock().unwrap(), [Some("bytes=500-".to_owned()), None]);
    }

    #[test]
    fn a_server_without_ranges_sends_everything() {
        let folder = folder("no-ranges");
        fs::write(folder.join("letters.part"), &content()[..500]).unwrap();
        let (address, _) = serve(content(), Habit::NoRanges);
        assert_eq!(get(&[&address], &folder).unwrap(), Outcome::Downloaded);
        assert_eq!(fs::read(folder.join("letters")).unwrap(), content());
    }

    #[test]
    fn a_part_that_was_not_asked_for_is_refused() {
        let folder = folder("wrong-range");
        fs::write(folder.join("letters.part"), &content()[..500]).unwrap();
        let (address, _) = serve(content(), Habit::WrongRange);
        let error = get(&[&address], &folder).unwrap_err().to_string();
        assert!(error.ends_with("another part than asked for"), "{error}");
    }

    #[test]
    fn the_next_mirror_is_tried_after_a_wrong_checksum_and_a_refused_connection() {
        let folder = folder("mirrors");
        let (wrong, _) = serve(b"something else".to_vec(), Habit::Ranges);
        let nobody = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let error = get(&[&wrong, &nobody], &folder).unwrap_err();
        let DownloadError::Remote { attempts, .. } = &error else { panic!("{error}") };
        assert_eq!(attempts[0], (format!("{wrong}/letters"), "wrong checksum".to_owned()));
        assert_eq!(attempts[1].0, format!("{nobody}/letters"));
        assert!(names(&folder).is_empty(), "nothing wrong is kept");
        let (address, _) = serve(content(), Habit::Ranges);
        assert_eq!(get(&[&wrong, &nobody, &address], &folder).unwrap(), Outcome::Downloaded);
    }

    #[test]
    fn a_file_that_is_there_is_never_overwritten() {
        let folder = folder("mine");
        fs::write(folder.join("letters"), "mine").unwrap();
        let (address, seen) = serve(content(), Habit::Ranges);
        let error = get(&[&address], &folder).unwrap_err();
        assert!(matches!(error, DownloadError::Other { .. }), "{error}");
        assert_eq!(fs::read_to_string(folder.join("letters")).unwrap(), "mine");
        assert!(seen.lock().unwrap().is_empty());
    }
}
