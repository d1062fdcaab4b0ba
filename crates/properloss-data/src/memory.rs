//! Memory is asked for, never taken: what reading may use, and the limits that no file passes.
//!
//! A reader that knows a size before it reads (IDX and Parquet say it, a table is counted in its
//! first pass) asks [`Budget::ask`] once. One that does not know it grows its vectors through a
//! [`Tally`], which asks before each growth. Both refuse with the number of bytes; and allocation
//! itself may fail, and is then the same error and not an abort.

use std::path::{Path, PathBuf};

use crate::error::{Error, Place, Result};

/// The longest line of a text file, and the longest record of a table, in bytes.
pub const LINE_LIMIT: usize = 32 << 20;
/// The longest field of a table, in bytes; an open quote makes a longer one.
pub const FIELD_LIMIT: usize = 1 << 20;
/// The most columns of a text table. (LibSVM files may have 2^32.)
pub const COLUMN_LIMIT: usize = 1 << 20;
/// The most categories of a column, however it was declared.
pub const CATEGORY_LIMIT: usize = 1 << 20;
/// The deepest nesting of a JSON file.
pub const JSON_DEPTH_LIMIT: usize = 64;
/// The longest number of a JSON file, in characters.
pub const JSON_NUMBER_LIMIT: usize = 1024;

/// How many bytes may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
}

impl Budget {
    /// This many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// The bytes given, or else what the machine has free.
    pub fn or_machine(bytes: Option<u64>) -> Self {
        bytes.map_or_else(Self::of_machine, Self::new)
    }

    /// What is free: the least of the machine's available memory, what the control group leaves,
    /// and the limits on address space and data. Without any of them (not Linux) there is no limit.
    pub fn of_machine() -> Self {
        let free = [
            machine_free(),
            cgroup_free(),
            limit_free("Max address space", "VmSize:"),
            limit_free("Max data size", "VmData:"),
        ];
        Self { bytes: free.into_iter().flatten().min().unwrap_or(u64::MAX) }
    }

    /// The bytes.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether `needed` bytes may be taken for `file`.
    pub fn ask(self, file: &Path, needed: u64) -> Result<()> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(Error::Memory {
            place: Box::new(Place::file(file)),
            needed,
            budget: self.bytes,
            so_far: false,
        })
    }
}

/// `2GB`, `500M`, `1.5 GiB` or plain bytes; units are powers of 1024.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim().to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or(unit.strip_suffix('B')).unwrap_or(&unit);
    let power = match unit {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    let bytes = number * 1024f64.powi(power);
    (bytes.is_finite() && bytes >= 1.0).then_some(bytes as u64)
}

/// `15.5 GB`: three digits at most, units of 1024.
pub fn shown_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["bytes", "KB", "MB", "GB", "TB"] {
        if value < 999.5 || unit == "TB" {
            let decimals = usize::from(value < 99.95 && unit != "bytes");
            return format!("{value:.decimals$} {unit}");
        }
        value /= 1024.0;
    }
    unreachable!("the last unit always returns")
}

/// The memory of one reading that does not know its size: asked for before each growth.
#[derive(Debug)]
pub struct Tally {
    budget: Budget,
    file: PathBuf,
    held: u64,
}

impl Tally {
    /// Nothing held yet.
    pub fn new(budget: Budget, file: &Path) -> Self {
        Self { budget, file: file.to_path_buf(), held: 0 }
    }

    /// Room for `additional` more values, or an error; the vector is not changed then.
    ///
    /// A vector doubles while the budget has room for it, and takes what it needs after that.
    pub fn reserve<T>(&mut self, vector: &mut Vec<T>, additional: usize) -> Result<()> {
        let free = vector.capacity() - vector.len();
        if free >= additional {
            return Ok(());
        }
        let size = size_of::<T>().max(1) as u64;
        let exact = (additional - free) as u64 * size;
        let doubled = exact.max(vector.capacity() as u64 * size);
        let left = self.budget.bytes.saturating_sub(self.held);
        let more = if doubled <= left { doubled } else { exact };
        let room = vector.capacity() - vector.len() + (more / size) as usize;
        if more > left || vector.try_reserve_exact(room).is_err() {
            return Err(Error::Memory {
                place: Box::new(Place::file(&self.file)),
                needed: self.held.saturating_add(more),
                budget: self.budget.bytes,
                so_far: true,
            });
        }
        self.held += more;
        Ok(())
    }

    /// One more value.
    pub fn push<T>(&mut self, vector: &mut Vec<T>, value: T) -> Result<()> {
        self.reserve(vector, 1)?;
        vector.push(value);
        Ok(())
    }

    /// Some more values.
    pub fn extend<T: Copy>(&mut self, vector: &mut Vec<T>, values: &[T]) -> Result<()> {
        self.reserve(vector, values.len())?;
        vector.extend_from_slice(values);
        Ok(())
    }
}

/// `MemAvailable`: what can be had without swapping.
fn machine_free() -> Option<u64> {
    field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The limit of the control group less what it uses, page cache that can be dropped not counted.
fn cgroup_free() -> Option<u64> {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let (limit, used, statistics, cache) = match number("/sys/fs/cgroup/memory.max") {
        Some(limit) => (limit, "memory.current", "memory.stat", "inactive_file "),
        None => (
            number("/sys/fs/cgroup/memory/memory.limit_in_bytes")?,
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file ",
        ),
    };
    let used = number(&format!("/sys/fs/cgroup/{used}"))?;
    let cache = std::fs::read_to_string(format!("/sys/fs/cgroup/{statistics}"))
        .ok()
        .and_then(|text| field(&text, cache))
        .map_or(0, |cache| cache / 1024);
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

/// A limit of this process (`ulimit -v`, `ulimit -d`) less what counts towards it.
fn limit_free(limit: &str, used: &str) -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    let used = field(&std::fs::read_to_string("/proc/self/status").ok()?, used)?;
    Some(limit.saturating_sub(used))
}

/// The number after `name`, in units of 1024 bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kb| kb.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        let cases = [("1", 1), ("2GB", 2 << 30), ("500m", 500 << 20), ("1.5 GiB", 3 << 29)];
        let more = [("7k", 7 << 10), ("7KB", 7 << 10), ("3T", 3 << 40), (" 12 b ", 12)];
        for (text, bytes) in cases.into_iter().chain(more) {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for text in ["", "GB", "-1", "0", "1e3", "2 X", "nan", "1.2.3"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
        let shown = [512, 1536, 200 << 20, 16_643_000_000].map(shown_bytes);
        assert_eq!(shown, ["512 bytes", "1.5 KB", "200 MB", "15.5 GB"]);
    }

    #[test]
    fn a_tally_grows_to_its_budget_and_not_beyond() {
        let mut tally = Tally::new(Budget::new(1000), Path::new("f"));
        let mut values: Vec<u64> = Vec::new();
        let mut count = 0;
        while tally.push(&mut values, count).is_ok() {
            count += 1;
        }
        assert_eq!(count, 125, "8 bytes each");
        assert_eq!(values, (0..125).collect::<Vec<u64>>());
        let error = tally.push(&mut values, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f: reading it takes more than 1000 bytes, but 1000 bytes may be used"
                .replace("1000 bytes", "1.0 KB")
        );
        // What no machine has is refused, not taken.
        let mut all = Tally::new(Budget::new(u64::MAX), Path::new("f"));
        assert!(all.reserve(&mut values, usize::MAX / 32).is_err());
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(Budget::of_machine().bytes() > 1 << 20);
    }
}
