//! Memory is asked for, never taken: what reading may use, and the limits that no file passes.
//!
//! A reader that knows a size before it reads (IDX says it, a table that is read twice was counted in its
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
            cgroup_free(Path::new("/sys/fs/cgroup")),
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
fn cgroup_free(root: &Path) -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let (limit, used, statistics, cache) = match number("memory.max") {
        Some(limit) => (limit, "memory.current", "memory.stat", "inactive_file "),
        None => (
            number("memory/memory.limit_in_bytes")?,
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file ",
        ),
    };
    let cache =
        text(statistics).and_then(|text| field(&text, cache)).map_or(0, |cache| cache / 1024);
    Some(limit.saturating_sub(number(used)?.saturating_sub(cache)))
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
        // Three digits at most: at 999.5 the next unit, at 99.95 no decimal.
        let shown = [0, 7, 999, 1000, 1023, 1024, 99 << 10, 102_348, 102_349, 999 << 10, 1 << 20];
        assert_eq!(
            shown.map(shown_bytes),
            [
                "0 bytes",
                "7 bytes",
                "999 bytes",
                "1.0 KB",
                "1.0 KB",
                "1.0 KB",
                "99.0 KB",
                "99.9 KB",
                "100 KB",
                "999 KB",
                "1.0 MB"
            ]
        );
        assert_eq!([5 << 40, u64::MAX].map(shown_bytes), ["5.0 TB", "16777216 TB"]);
    }

    /// A vector doubles as long as the budget has room for that, then it takes what it needs.
    #[test]
    fn a_tally_counts_what_is_held() {
        let mut tally = Tally::new(Budget::new(100), Path::new("f"));
        let (mut bytes, mut numbers) = (Vec::<u8>::new(), Vec::<u32>::new());
        tally.extend(&mut bytes, &[1; 10]).unwrap();
        assert_eq!((tally.held, bytes.capacity()), (10, 10));
        tally.push(&mut bytes, 2).unwrap();
        assert_eq!((tally.held, bytes.capacity()), (20, 20), "doubled");
        tally.extend(&mut bytes, &[3; 9]).unwrap();
        assert_eq!((tally.held, bytes.len()), (20, 20), "there was room");
        tally.extend(&mut bytes, &[4; 50]).unwrap();
        assert_eq!((tally.held, bytes.capacity()), (70, 70), "more than twice");
        tally.reserve(&mut numbers, 7).unwrap();
        assert_eq!((tally.held, numbers.capacity()), (98, 7), "4 bytes each");
        // Neither twice as much nor one more fits, and nothing was taken.
        assert!(tally.reserve(&mut numbers, 8).is_err());
        tally.push(&mut bytes, 5).unwrap();
        tally.push(&mut bytes, 5).unwrap();
        assert_eq!((tally.held, bytes.capacity()), (100, 72), "what it needs, and no more");
        match tally.push(&mut bytes, 5) {
            Err(Error::Memory { needed, budget, so_far: true, .. }) => {
                assert_eq!((needed, budget), (101, 100));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((tally.held, bytes.len(), numbers.len()), (100, 72, 0));
    }

    /// The limits are those that the system states.
    #[test]
    fn the_system_states_its_limits() {
        let text = "MemTotal:  100 kB\nMemAvailable:    64 kB\nMemAvailableX: 7 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(64 << 10));
        assert_eq!(field(text, "MemTotal:"), Some(100 << 10));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field(text, "Swap:"), None);
        assert_eq!(field("inactive_file 8192\n", "inactive_file ").unwrap() / 1024, 8192);
        // No limit is larger than the machine.
        if let Ok(stated) = std::fs::read_to_string("/proc/meminfo") {
            let (total, free) = (field(&stated, "MemTotal:"), machine_free());
            assert!(free > Some(1 << 20) && free < total, "{free:?} of {total:?}");
            assert!(Budget::of_machine().bytes() <= total.unwrap());
            assert_eq!(Budget::or_machine(Some(12)).bytes(), 12);
            // What counts towards a limit is little; the program itself is more than nothing.
            let used = field(&std::fs::read_to_string("/proc/self/status").unwrap(), "VmSize:");
            assert!(used > Some(1 << 20), "{used:?}");
            assert_eq!(limit_free("Max no such thing", "VmSize:"), None);
            assert_eq!(limit_free("Max open files", "No such thing:"), None);
            // A limit of files is a number, and far below the bytes in use: nothing is left of it.
            assert_eq!(limit_free("Max open files", "VmSize:"), Some(0));
        }
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
    /// Both versions of control groups; a group without a limit has none.
    #[test]
    fn a_control_group_leaves_its_limit_less_what_it_uses() {
        let name = format!("properloss-cgroup-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir_all(root.join("memory")).unwrap();
        assert_eq!(cgroup_free(&root), None);
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write("memory/memory.limit_in_bytes", "5000\n");
        assert_eq!(cgroup_free(&root), None, "what it uses is not known");
        write("memory/memory.usage_in_bytes", "1000\n");
        assert_eq!(cgroup_free(&root), Some(4000));
        write("memory/memory.stat", "inactive_file 900\ntotal_inactive_file 300\n");
        assert_eq!(cgroup_free(&root), Some(4300));
        write("memory.max", "max\n");
        assert_eq!(cgroup_free(&root), Some(4300), "no limit of the second version");
        write("memory.max", "70000\n");
        write("memory.current", "80000\n");
        assert_eq!(cgroup_free(&root), Some(0));
        write("memory.stat", "file 5\ninactive_file 30000\n");
        assert_eq!(cgroup_free(&root), Some(20_000));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
