//! What `properloss --version --verbose` says of the build.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PROPERLOSS_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // A release sets the variable; a packaged crate carries the commit in a file of cargo's. A
    // checkout says nothing: every commit would compile the program again.
    if let Some(commit) = env::var("PROPERLOSS_COMMIT").ok().or_else(packaged_commit) {
        println!("cargo::rustc-env=PROPERLOSS_COMMIT={commit}");
    }
    println!("cargo::rustc-env=PROPERLOSS_TARGET={}", env::var("TARGET").unwrap_or_default());
    let compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo::rustc-env=PROPERLOSS_COMPILER={}", compiler.unwrap_or_default());
}

/// `"sha1": "..."` of `.cargo_vcs_info.json`.
fn packaged_commit() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    commit.chars().all(|c| c.is_ascii_hexdigit()).then(|| commit.to_owned())
}
