//! `data get`: the public data sets of the paper's experiments (feature `download`).

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use crate::args::{DataCommand, GetArgs, ImageSet};
use crate::download::{Download, Outcome, RemoteFile};
use crate::failure::{Failure, Result};
use crate::output::Talk;
use crate::progress::Progress;

/// A data set: its folder, where it is found, its files.
struct Catalogue {
    folder: &'static str,
    mirrors: &'static [&'static str],
    files: [RemoteFile; 4],
}

// The checksums are those of the content: mirrors pack the same content in different ways.
const MNIST: Catalogue = Catalogue {
    folder: "mnist",
    mirrors: &[
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
    ],
    files: [
        RemoteFile {
            name: "train-images-idx3-ubyte.gz",
            sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        },
        RemoteFile {
            name: "train-labels-idx1-ubyte.gz",
            sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        },
        RemoteFile {
            name: "t10k-images-idx3-ubyte.gz",
            sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        },
        RemoteFile {
            name: "t10k-labels-idx1-ubyte.gz",
            sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
    ],
};

const FASHION_MNIST: Catalogue = Catalogue {
    folder: "fashion-mnist",
    mirrors: &[
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
    ],
    files: [
        RemoteFile {
            name: "train-images-idx3-ubyte.gz",
            sha256: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        },
        RemoteFile {
            name: "train-labels-idx1-ubyte.gz",
            sha256: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        },
        RemoteFile {
            name: "t10k-images-idx3-ubyte.gz",
            sha256: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        },
        RemoteFile {
            name: "t10k-labels-idx1-ubyte.gz",
            sha256: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        },
    ],
};

/// Runs the command.
pub fn run(command: &DataCommand, talk: Talk) -> Result<()> {
    match command {
        DataCommand::Get(args) => get(args, talk),
    }
}

fn get(args: &GetArgs, talk: Talk) -> Result<()> {
    let catalogue = match args.set {
        ImageSet::Mnist => MNIST,
        ImageSet::FashionMnist => FASHION_MNIST,
    };
    let folder = args.out.join(catalogue.folder);
    std::fs::create_dir_all(&folder).map_err(|error| {
        let message = format!("{}: cannot make the directory: {error}", folder.display());
        Failure::user(message, "choose another --out")
    })?;
    let mirrors: Vec<&str> = if args.mirror.is_empty() {
        catalogue.mirrors.to_vec()
    } else {
        args.mirror.iter().map(String::as_str).collect()
    };
    let download = Download::new(&mirrors, &folder);
    let mut said = Vec::new();
    for file in &catalogue.files {
        let progress = Progress::spinner(talk, &format!("downloading {}", file.name));
        let outcome = download.get(file, &|done| {
            progress.message(format!("downloading {}: {:.1} MB", file.name, done as f64 / 1e6));
        });
        drop(progress);
        let outcome = outcome.map_err(|error| with_hint(error.to_string(), &folder))?;
        said.push(json!({
            "file": folder.join(file.name),
            "downloaded": outcome != Outcome::AlreadyThere,
            "resumed": outcome == Outcome::Resumed,
        }));
    }
    let text = || {
        let mut text = String::new();
        for line in &said {
            let what = match (line["downloaded"].as_bool(), line["resumed"].as_bool()) {
                (Some(false), _) => "already there",
                (_, Some(true)) => "downloaded (resumed)",
                _ => "downloaded",
            };
            let _ =
                writeln!(text, "{}: {what}, checksum right", line["file"].as_str().unwrap_or(""));
        }
        text
    };
    talk.result(text, &json!({ "files": said }))
}

fn with_hint(message: String, folder: &Path) -> Failure {
    let hint = format!(
        "run it again to resume, give another address with --mirror, or put the four .gz files into {} by hand",
        folder.display()
    );
    Failure::user(message, hint)
}
