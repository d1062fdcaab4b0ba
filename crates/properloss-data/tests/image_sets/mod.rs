//! Where the files of real images are, for tests and examples.

use std::path::PathBuf;

/// The images file of `mnist` or `fashion-mnist`, `part` being `train` or `t10k`; looked for in
/// `$PROPERLOSS_DATA`, then, from the current directory upwards, in `data/` and `../shared/data/`.
pub fn find_image_set(name: &str, part: &str) -> Result<PathBuf, String> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PROPERLOSS_DATA").map(PathBuf::from).into_iter().collect();
    for folder in std::env::current_dir().unwrap_or_default().ancestors() {
        folders.push(folder.join("data"));
        folders.extend(folder.parent().map(|above| above.join("shared/data")));
    }
    for folder in &folders {
        for end in [".gz", ""] {
            let path = folder.join(name).join(format!("{part}-images-idx3-ubyte{end}"));
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    let searched: Vec<_> =
        folders.iter().take(3).map(|f| f.join(name).display().to_string()).collect();
    Err(format!(
        "the {name} files were not found in {}: put the four *-ubyte.gz files there, or set PROPERLOSS_DATA to \
         their parent folder",
        searched.join(", ")
    ))
}
