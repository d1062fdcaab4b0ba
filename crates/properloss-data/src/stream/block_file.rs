//! Blocks read back from a file, the next one while the present one is worked on.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use properloss::rows::{Block, BlockAnswer, BlockFacts, BlockQuestion, Blocks};
use properloss::sample::{Indices, Matrix, Offsets, Values};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::options::Storage;

/// How the rows of a file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Layout {
    /// Columns of a row.
    pub columns: usize,
    /// 4 bytes a value, not 8.
    pub single: bool,
    /// Compressed sparse rows.
    pub sparse: bool,
    /// A weight for each row.
    pub weighted: bool,
}

impl Layout {
    /// Rows with all their values and without weights; the other fields are the caller's to change.
    pub fn dense(columns: usize, storage: Storage) -> Self {
        Self { columns, single: storage == Storage::F32, sparse: false, weighted: false }
    }

    /// Bytes of a block, if that many can be.
    pub(super) fn bytes(&self, facts: &BlockFacts) -> Option<u64> {
        let value: u64 = if self.single { 4 } else { 8 };
        let index = if self.sparse { 4 } else { 0 };
        let starts = if self.sparse { facts.rows.checked_add(1)?.checked_mul(8)? } else { 0 };
        let weight = if self.weighted { 8 } else { 0 };
        let values = facts.stored.checked_mul(value + index)?;
        values.checked_add(starts)?.checked_add(facts.rows.checked_mul(weight + 1)?)
    }
}

/// Where a block lies in the file. Its parts follow each other: values, columns and starts of sparse
/// rows, weights, labels; numbers as the machine writes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub offset: u64,
    pub facts: BlockFacts,
}

/// The rows of one block.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub narrow: Vec<f32>,
    pub wide: Vec<f64>,
    pub indices: Vec<u32>,
    pub starts: Vec<i64>,
    pub weights: Vec<f64>,
    pub labels: Vec<u8>,
}

impl Buffers {
    /// As the core takes them; `known` if they were checked before.
    pub fn block(&self, layout: Layout, known: bool) -> properloss::Result<Block<'_>> {
        let rows = self.labels.len();
        let matrix = match (layout.sparse, layout.single) {
            (false, true) => Matrix::dense_f32(&self.narrow, rows, layout.columns)?,
            (false, false) => Matrix::dense_f64(&self.wide, rows, layout.columns)?,
            (true, single) => {
                let values =
                    if single { Values::F32(&self.narrow) } else { Values::F64(&self.wide) };
                let starts = Offsets::I64(&self.starts);
                Matrix::csr(starts, Indices::U32(&self.indices), values, layout.columns)?
            }
        };
        let weights = layout.weighted.then_some(&self.weights[..]);
        if known {
            Block::known(matrix, &self.labels, weights)
        } else {
            Block::new(matrix, &self.labels, weights)
        }
    }

    pub fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
        self.indices.clear();
        self.starts.clear();
        self.weights.clear();
        self.labels.clear();
    }

    /// Sizes for a block of so many rows and stored values, then every part as bytes, in their order.
    fn parts(&mut self, layout: Layout, rows: usize, stored: usize) -> [&mut [u8]; 6] {
        let if_so = |given: bool, length: usize| if given { length } else { 0 };
        self.narrow.resize(if_so(layout.single, stored), 0.0);
        self.wide.resize(if_so(!layout.single, stored), 0.0);
        self.indices.resize(if_so(layout.sparse, stored), 0);
        self.starts.resize(if_so(layout.sparse, rows + 1), 0);
        self.weights.resize(if_so(layout.weighted, rows), 0.0);
        self.labels.resize(rows, 0);
        [
            bytemuck::cast_slice_mut(&mut self.narrow),
            bytemuck::cast_slice_mut(&mut self.wide),
            bytemuck::cast_slice_mut(&mut self.indices),
            bytemuck::cast_slice_mut(&mut self.starts),
            bytemuck::cast_slice_mut(&mut self.weights),
            &mut self.labels,
        ]
    }

    /// Every part as bytes, in their order.
    pub fn bytes(&self) -> [&[u8]; 6] {
        [
            bytemuck::cast_slice(&self.narrow),
            bytemuck::cast_slice(&self.wide),
            bytemuck::cast_slice(&self.indices),
            bytemuck::cast_slice(&self.starts),
            bytemuck::cast_slice(&self.weights),
            &self.labels,
        ]
    }
}

/// Rows in blocks on disk.
#[derive(Debug)]
pub struct BlockFile {
    name: PathBuf,
    file: Mutex<File>,
    pub(super) layout: Layout,
    pub(super) entries: Vec<Entry>,
    facts: Vec<BlockFacts>,
    /// Kept from pass to pass: fresh memory costs as much as reading.
    spare: Mutex<Vec<Buffers>>,
    /// Removed in the end.
    _removed: Option<Removed>,
    /// Blocks that another process wrote are held against what it said of them, once.
    verified: AtomicBool,
}

/// A file that goes when this does.
#[derive(Debug)]
pub(super) struct Removed(pub PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl BlockFile {
    pub(super) fn new(
        name: &Path,
        file: File,
        layout: Layout,
        entries: Vec<Entry>,
        removed: Option<Removed>,
    ) -> Self {
        let facts = entries.iter().map(|entry| entry.facts).collect();
        let (file, spare) = (Mutex::new(file), Mutex::default());
        let (name, verified) = (name.to_path_buf(), AtomicBool::new(true));
        Self { name, file, layout, entries, facts, spare, _removed: removed, verified }
    }

    /// Not written by this process: the first pass looks at every value.
    pub(super) fn unverified(self) -> Self {
        self.verified.store(false, Ordering::Relaxed);
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.facts.iter().map(|facts| facts.rows).sum()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.layout.columns
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.facts.iter().filter_map(|facts| self.layout.bytes(facts)).sum()
    }

    /// Shows every block to `visit`, in order.
    pub fn for_each(
        &self,
        mut visit: impl FnMut(usize, Block<'_>) -> properloss::Result<()>,
    ) -> properloss::Result<()> {
        let count = self.entries.len();
        let verified = self.verified.load(Ordering::Relaxed);
        let (done, empty) = channel::<Buffers>();
        let (hand_on, full) = sync_channel::<Result<Buffers>>(1);
        {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            for _ in 0..2.min(count) {
                let _ = done.send(spare.pop().unwrap_or_default());
            }
        }
        // Both sides own their ends of the channels, so that each ends with the other.
        std::thread::scope(move |scope| {
            scope.spawn(move || {
                for number in 0..count {
                    let Ok(mut buffers) = empty.recv() else { return };
                    let read = self.read(number, &mut buffers);
                    let failed = read.is_err();
                    if hand_on.send(read.map(|()| buffers)).is_err() || failed {
                        return;
                    }
                }
            });
            for number in 0..count {
                let buffers = match full.recv() {
                    Ok(Ok(buffers)) => buffers,
                    Ok(Err(error)) => return Err(core(&error)),
                    Err(_) => return Err(properloss::Error::Interrupted),
                };
                let block = buffers.block(self.layout, verified)?;
                if !verified && block.facts() != self.facts[number] {
                    return Err(core(&self.damaged(number, "is not what was written")));
                }
                visit(number, block)?;
                if number + 2 < count {
                    let _ = done.send(buffers);
                } else {
                    self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
                }
            }
            self.verified.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    fn damaged(&self, number: usize, what: &str) -> Error {
        let reason = format!("block {} of {} {what}", number + 1, self.entries.len());
        Error::Cache { directory: self.name.clone(), reason }
    }

    fn read(&self, number: usize, buffers: &mut Buffers) -> Result<()> {
        let Entry { offset, facts } = self.entries[number];
        let fail = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(number, "ends early"),
            _ => Error::read(&self.name, error),
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset)).map_err(fail)?;
        for part in buffers.parts(self.layout, facts.rows as usize, facts.stored as usize) {
            file.read_exact(part).map_err(fail)?;
        }
        Ok(())
    }
}

/// An error of reading as one of the core.
fn core(error: &Error) -> properloss::Error {
    properloss::Error::Block { reason: error.to_string() }
}

impl Blocks for BlockFile {
    fn facts(&self) -> &[BlockFacts] {
        &self.facts
    }

    fn ask(
        &self,
        question: &BlockQuestion,
        stop: &(dyn Fn() -> bool + Sync),
        take: &mut dyn FnMut(BlockAnswer) -> properloss::Result<()>,
    ) -> properloss::Result<()> {
        self.for_each(|number, block| take(block.answer(question, number, stop)?))
    }

    fn look_at_one(&self, look: &mut dyn FnMut(Block<'_>)) -> properloss::Result<bool> {
        if self.entries.len() != 1 {
            return Ok(false);
        }
        self.for_each(|_, block| {
            look(block);
            Ok(())
        })?;
        Ok(true)
    }
}
