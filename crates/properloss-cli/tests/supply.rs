//! What the sources may hold: unsafe code in two places, counted; licences that are known.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A block, function or implementation that is unsafe; comments and lints are not.
fn unsafe_uses(text: &str) -> usize {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .filter(|line| !line.contains("unsafe_"))
        .map(|line| line.matches("unsafe ").count())
        .sum()
}

#[test]
fn unsafe_code_is_where_it_must_be() {
    let mut found = Vec::new();
    let root = root();
    for folder in ["crates", "fuzz", "bench"] {
        let mut files = Vec::new();
        rust_files(&root.join(folder), &mut files);
        for path in files {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let count = unsafe_uses(&std::fs::read_to_string(&path).unwrap());
            if count > 0 && !name.ends_with("tests/supply.rs") {
                found.push((name, count));
            }
        }
    }
    found.sort();
    // The allocator: one implementation, four methods, four calls. The bindings: one borrow.
    let expected =
        [("crates/properloss-cli/src/memory.rs", 9), ("crates/properloss-py/src/doorway.rs", 1)];
    assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count)));
    for name in ["properloss", "properloss-data"] {
        let text = std::fs::read_to_string(root.join(format!("crates/{name}/src/lib.rs"))).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{name}");
    }
}

/// The licences of `deny.toml` cover every dependency in use; without cargo's network nothing is
/// looked at.
#[test]
fn licences_are_known() {
    let deny = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let start = deny.find("allow = [").unwrap();
    let end = start + deny[start..].find(']').unwrap();
    let allowed: Vec<&str> = deny[start..end].split('"').skip(1).step_by(2).collect();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    if !output.status.success() {
        return;
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("none").replace('/', " OR ");
        // Any of the alternatives will do, and of each all of its parts.
        let known = |one: &str| allowed.contains(&one.trim().trim_matches(['(', ')']));
        let fine = licence.split(" OR ").any(|choice| choice.split(" AND ").all(known))
            || licence.split(" AND ").all(|part| part.split(" OR ").any(known));
        assert!(fine, "{name}: {licence}");
        let source = package["source"].as_str().unwrap_or("");
        assert!(!source.starts_with("git+"), "{name} comes from {source}");
    }
}
