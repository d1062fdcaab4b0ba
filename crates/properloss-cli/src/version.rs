//! What this program was built from, and what it runs on: `properloss --version --verbose`.

use properloss::design::instruction_set;

/// Did the command line ask for all of it?
pub fn verbose() -> bool {
    std::env::args_os().any(|argument| argument == "--verbose")
}

/// One fact a line.
pub fn text() -> String {
    let mut features = Vec::new();
    if cfg!(feature = "download") {
        features.push("download");
    }
    if cfg!(feature = "parquet") {
        features.push("parquet");
    }
    let features = if features.is_empty() { "none".into() } else { features.join(", ") };
    // Set by build.rs.
    let commit = option_env!("PROPERLOSS_COMMIT").unwrap_or("unknown (not built for a release)");
    format!(
        "properloss {}\ncommit: {commit}\nfeatures: {features}\ntarget: {}\ncompiler: {}\n\
         instruction set: {}\n",
        env!("CARGO_PKG_VERSION"),
        env!("PROPERLOSS_TARGET"),
        env!("PROPERLOSS_COMPILER"),
        instruction_set(),
    )
}
