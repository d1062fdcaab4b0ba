//! Rows in, blocks out.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use properloss::sample::Matrix;

use super::block_file::{BlockFile, Buffers, Entry, Layout, Removed};
use super::cache;
use crate::atomic::{AtomicFile, site};
use crate::dataset::DataDescription;
use crate::error::{Error, Result};

/// The values of a row.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// All of them.
    Dense(&'a [f64]),
    /// Those that are not 0, with their columns, increasing.
    Sparse(&'a [u32], &'a [f64]),
}

/// Collects rows and writes them in blocks.
#[derive(Debug)]
pub struct BlockWriter {
    out: Out,
    name: PathBuf,
    layout: Layout,
    block_bytes: u64,
    pending: Buffers,
    entries: Vec<Entry>,
    offset: u64,
}

#[derive(Debug)]
enum Out {
    /// Without a name from the start where the system allows it: nothing is left behind, however the
    /// process ends.
    Temporary(File, Option<Removed>),
    /// In the caller's directory, in place once it is whole.
    Kept(AtomicFile),
}

impl BlockWriter {
    /// Into a file that goes in the end, in `directory` or where the system keeps such files.
    pub fn temporary(directory: Option<&Path>, layout: Layout, block_bytes: u64) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let directory = directory.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = directory.join(format!("properloss-{}-{number}.blocks", std::process::id()));
        let fail = |source| Error::Write { file: name.clone(), source };
        site("create blocks").map_err(fail)?;
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&name);
        let file = file.map_err(fail)?;
        let removed = Removed(name.clone());
        let removed = if cfg!(unix) {
            drop(removed);
            None
        } else {
            Some(removed)
        };
        Ok(Self::new(Out::Temporary(file, removed), name, layout, block_bytes))
    }

    /// Into this file after a header; it is there once [`Self::finish`] was called.
    pub(super) fn kept(
        name: &Path,
        header: &[u8],
        layout: Layout,
        block_bytes: u64,
    ) -> Result<Self> {
        let out = Out::Kept(AtomicFile::create(name)?);
        let mut writer = Self::new(out, name.to_path_buf(), layout, block_bytes);
        writer.write(header)?;
        Ok(writer)
    }

    fn new(out: Out, name: PathBuf, layout: Layout, block_bytes: u64) -> Self {
        let mut pending = Buffers::default();
        if layout.sparse {
            pending.starts.push(0);
        }
        Self { out, name, layout, block_bytes, pending, entries: Vec::new(), offset: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        write_to(&mut self.out, &self.name, bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// One more row. (Its weight is dropped if the rows have none.)
    pub fn push(&mut self, row: Row<'_>, label: u8, weight: f64) -> Result<()> {
        let (indices, values) = match row {
            Row::Dense(values) => (None, values),
            Row::Sparse(indices, values) => (Some(indices), values),
        };
        if self.layout.single {
            self.pending.narrow.extend(values.iter().map(|&x| x as f32));
        } else {
            self.pending.wide.extend_from_slice(values);
        }
        if let Some(indices) = indices {
            self.pending.indices.extend_from_slice(indices);
            self.pending.starts.push(self.pending.indices.len() as i64);
        }
        self.pending.labels.push(label);
        if self.layout.weighted {
            self.pending.weights.push(weight);
        }
        self.flush_if_full()
    }

    /// Rows of a matrix.
    pub fn push_rows(
        &mut self,
        matrix: &Matrix<'_>,
        labels: &[u8],
        weights: Option<&[f64]>,
    ) -> Result<()> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (i, &label) in labels.iter().enumerate() {
            values.clear();
            columns.clear();
            matrix.for_each_in_row(i, |j, x| {
                columns.push(j as u32);
                values.push(x);
            });
            let row = if self.layout.sparse {
                Row::Sparse(&columns, &values)
            } else {
                Row::Dense(&values)
            };
            self.push(row, label, weights.map_or(1.0, |weights| weights[i]))?;
        }
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        let written: u64 = self.entries.iter().map(|entry| entry.facts.rows).sum();
        written + self.pending.labels.len() as u64
    }

    fn flush_if_full(&mut self) -> Result<()> {
        let pending = &self.pending;
        let values = 4 * pending.narrow.len() + 8 * pending.wide.len();
        let sparse = 4 * pending.indices.len() + 8 * pending.starts.len();
        let rows = 9 * pending.labels.len();
        if (values + sparse + rows) as u64 >= self.block_bytes { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending.labels.is_empty() {
            return Ok(());
        }
        let facts = self.pending.block(self.layout, false)?.facts();
        self.entries.push(Entry { offset: self.offset, facts });
        for part in self.pending.bytes() {
            write_to(&mut self.out, &self.name, part)?;
            self.offset += part.len() as u64;
        }
        self.pending.clear();
        if self.layout.sparse {
            self.pending.starts.push(0);
        }
        Ok(())
    }

    /// The last block, and the file to read from; `description` goes with a file that is kept.
    pub fn finish(mut self, description: &DataDescription) -> Result<BlockFile> {
        self.flush()?;
        if matches!(self.out, Out::Kept(_)) {
            self.write(&cache::index(&self.entries, description, self.offset))?;
        }
        let Self { out, name, layout, entries, .. } = self;
        let (file, removed) = match out {
            Out::Temporary(file, removed) => (file, removed),
            Out::Kept(file) => {
                file.commit()?;
                (File::open(&name).map_err(|error| Error::read(&name, error))?, None)
            }
        };
        Ok(BlockFile::new(&name, file, layout, entries, removed))
    }
}

fn write_to(out: &mut Out, name: &Path, bytes: &[u8]) -> Result<()> {
    let fail = |source| Error::Write { file: name.to_path_buf(), source };
    let out: &mut dyn Write = match out {
        Out::Temporary(file, _) => {
            site("write blocks").map_err(fail)?;
            file
        }
        Out::Kept(file) => file,
    };
    out.write_all(bytes).map_err(fail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::atomic::tests::at_every_site;

    /// Rows enough for blocks larger than the buffer before the disk.
    fn fill(mut out: BlockWriter) -> Result<BlockFile> {
        for i in 0..2000u32 {
            out.push(Row::Dense(&[f64::from(i), 0.5]), (i % 2) as u8, 1.0)?;
        }
        out.finish(&DataDescription::default())
    }

    #[test]
    fn a_fault_at_any_place_leaves_no_blocks() {
        let name = format!("properloss-block-sites-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let files = || std::fs::read_dir(&folder).unwrap().count();
        let layout = Layout { columns: 2, single: false, sparse: false, weighted: true };
        let temporary = || fill(BlockWriter::temporary(Some(&folder), layout, 4096)?).map(drop);
        let sites = at_every_site(temporary, |_| assert_eq!(files(), 0, "blocks have no name"));
        assert_eq!(sites, BTreeSet::from(["create blocks", "write blocks"]));
        // Those of a cache are whole or absent.
        let kept = folder.join("rows.blocks");
        let write = || {
            let _ = std::fs::remove_file(&kept);
            fill(BlockWriter::kept(&kept, b"header\n", layout, 4096)?).map(|file| {
                assert_eq!(file.rows(), 2000);
                file.for_each(|_, block| block.matrix().check_finite()).unwrap();
            })
        };
        let sites = at_every_site(write, |ok| assert_eq!(files(), usize::from(ok)));
        assert_eq!(sites, BTreeSet::from(["create", "flush", "rename", "sync", "write"]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
