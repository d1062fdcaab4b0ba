//! `data get` against servers on this machine.

mod common;
#[path = "../../properloss-data/tests/image_sets/mod.rs"]
mod image_sets;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use common::Sandbox;
use image_sets::find_image_set;

/// A server of the files of a folder, with ranges; 404 for others.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let name = request[0].split(' ').nth(1).unwrap().trim_start_matches('/');
            let range = request.iter().find_map(|line| {
                let line = line.to_ascii_lowercase();
                line.strip_prefix("range: bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
            });
            let head = "Connection: close\r\nContent-Length:";
            let Ok(content) = fs::read(folder.join(name)) else {
                let _ = write!(stream, "HTTP/1.1 404 Not Found\r\n{head} 0\r\n\r\n");
                continue;
            };
            let start = range.unwrap_or(0);
            let (length, last) = (content.len() - start, content.len() - 1);
            let _ = match range {
                None => write!(stream, "HTTP/1.1 200 OK\r\n{head} {length}\r\n\r\n"),
                Some(_) => write!(
                    stream,
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{last}/{}\r\n{head} {length}\r\n\r\n",
                    content.len()
                ),
            };
            let _ = stream.write_all(&content[start..]);
        }
    });
    address
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn leftovers(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn without_a_network_every_address_is_named_with_its_reason_and_a_way_out() {
    let sandbox = Sandbox::new("get-no-network");
    let (first, empty) = (nobody(), serve(sandbox.path("nothing")));
    let outcome = sandbox.run(&format!("data get mnist --mirror {first} --mirror {empty}/"));
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    let name = "train-images-idx3-ubyte.gz";
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(lines[0], format!("error: data/mnist/{name}: cannot be downloaded"));
    assert!(
        lines[1].starts_with(&format!("  {first}/{name}: io: Connection refused")),
        "{}",
        lines[1]
    );
    assert_eq!(lines[2], format!("  {empty}/{name}: 404 Not Found"));
    assert!(lines[3].starts_with("hint: ") && lines[3].contains("into data/mnist by hand"));
    assert!(leftovers(&sandbox.path("data/mnist")).is_empty());
}

#[test]
fn a_file_with_another_checksum_is_not_kept() {
    let sandbox = Sandbox::new("get-checksum");
    fs::create_dir(sandbox.path("mirror")).unwrap();
    sandbox.write("mirror/train-images-idx3-ubyte.gz", "not those images");
    let mirror = serve(sandbox.path("mirror"));
    let outcome = sandbox.run(&format!("data get fashion-mnist --out here --mirror {mirror}"));
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("train-images-idx3-ubyte.gz: wrong checksum"),
        "{}",
        outcome.stderr
    );
    assert!(leftovers(&sandbox.path("here/fashion-mnist")).is_empty());
}

#[test]
fn the_genuine_files_pass_and_a_begun_one_is_resumed() {
    for name in ["mnist", "fashion-mnist"] {
        let folder = match find_image_set(name, "train") {
            Ok(path) => path.parent().unwrap().to_path_buf(),
            Err(error) if std::env::var("CI").as_deref() == Ok("true") => panic!("{error}"),
            _ => {
                println!("skipped: no data");
                continue;
            }
        };
        let sandbox = Sandbox::new(&format!("get-{name}"));
        let begun = sandbox.path(&format!("data/{name}/t10k-images-idx3-ubyte.gz.part"));
        fs::create_dir_all(begun.parent().unwrap()).unwrap();
        let genuine = fs::read(folder.join("t10k-images-idx3-ubyte.gz")).unwrap();
        fs::write(&begun, &genuine[..1_000_000]).unwrap();
        let line = format!("--json data get {name} --mirror {}", serve(folder));
        let got = |outcome: &common::Outcome, what: &str| -> Vec<bool> {
            let json = outcome.json();
            json["files"].as_array().unwrap().iter().map(|f| f[what].as_bool().unwrap()).collect()
        };
        let outcome = sandbox.succeed(&line);
        assert_eq!(got(&outcome, "downloaded"), [true; 4]);
        assert_eq!(got(&outcome, "resumed"), [false, false, true, false]);
        assert_eq!(fs::read(begun.with_extension("")).unwrap(), genuine);
        assert_eq!(leftovers(begun.parent().unwrap()).len(), 4);
        assert_eq!(got(&sandbox.succeed(&line), "downloaded"), [false; 4]);
    }
}
