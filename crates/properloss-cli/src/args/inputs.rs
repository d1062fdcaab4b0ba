//! The files that a command reads: names, patterns, standard input.

use std::path::{Path, PathBuf};

use properloss_data::Source;

use crate::failure::{Failure, Result};
use crate::output::is_stdout;

/// Files, or patterns of their names, as one source; `-` is standard input, which goes to a temporary
/// file where the memory is limited.
pub fn inputs(paths: &[PathBuf]) -> Result<Source> {
    if let [path] = paths
        && is_stdout(path)
    {
        return Ok(match crate::memory::given() {
            None => Source::stdin(None)?,
            Some(_) => Source::spilled_stdin()?,
        });
    }
    if paths.iter().any(|path| is_stdout(path)) {
        return Err(Failure::usage(
            "standard input cannot be read together with files",
            "give the files, or - alone",
        ));
    }
    let mut files = Vec::new();
    for path in paths {
        if path.exists() || !is_pattern(path) {
            files.push(path.clone());
            continue;
        }
        let found = matching(path)?;
        if found.is_empty() {
            let message = format!("{}: no file has such a name", path.display());
            return Err(Failure::user(message, "check the pattern"));
        }
        files.extend(found);
    }
    let name = match paths {
        [one] => one.clone(),
        [first, ..] => {
            PathBuf::from(format!("{} and {} more", first.display(), files.len().max(2) - 1))
        }
        [] => PathBuf::new(),
    };
    Ok(Source::files(&name, files))
}

fn is_pattern(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(['*', '?']))
}

/// The files of a directory whose names match the last part of a path, sorted.
fn matching(path: &Path) -> Result<Vec<PathBuf>> {
    let pattern = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = path.parent().unwrap_or(Path::new(""));
    let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = std::fs::read_dir(here)
        .map_err(|error| properloss_data::Error::read(here, error))?
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // As in a shell, hidden files are asked for by name.
    let hidden = pattern.starts_with('.');
    let wanted = |name: &String| {
        (hidden || !name.starts_with('.')) && matches(pattern.as_bytes(), name.as_bytes())
    };
    let mut found: Vec<PathBuf> = names.filter(wanted).map(|name| parent.join(name)).collect();
    found.sort();
    Ok(found)
}

/// Whether a name fits a pattern: `*` is any text, `?` any one character (of ASCII).
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // The last star, and where the text that it stands for ends.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, end)) = star {
            star = Some((at, end + 1));
            p = at + 1;
            n = end + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let is = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        for name in ["part-1.csv", "part-.csv", "part-a.b.csv"] {
            assert!(is("part-*.csv", name), "{name}");
        }
        for name in ["part-1.csv.gz", "apart-1.csv", "part-1"] {
            assert!(!is("part-*.csv", name), "{name}");
        }
        assert!(is("*a*b*", "xaxxabx") && !is("*a*b", "xaxxabx"));
        assert!(is("p?.csv", "p1.csv") && !is("p?.csv", "p12.csv"));
        assert!(is("*", "anything") && is("a", "a") && !is("a", "") && is("**", ""));
    }
}
