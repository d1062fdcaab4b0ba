//! More rows than memory: a file of blocks between the reader and the trainer.
//!
//! ```text
//! batches of rows   ──one row after the other──▶  BlockWriter  ──64 MB at a time──▶  BlockFile
//!                                                                     │ read again for every question
//!                                                  properloss::rows::InBlocks ◀──┘
//! ```
//!
//! Decoding is slow and done once; blocks are read back as they are. The file goes when the fit is over,
//! unless a [`cache`] was named.

mod block_file;
pub mod cache;
mod scan;
mod writer;

pub use block_file::{BlockFile, Layout};
pub use cache::{Cached, Fingerprint};
pub use scan::{Destination, Scan, write_encoded};
pub use writer::{BlockWriter, Row};

/// Bytes of a block, about: large enough to read at full speed, small beside any memory.
pub const BLOCK_BYTES: u64 = 64 << 20;
/// A block takes at most this share of the memory that may be used: two are held at once, and what a
/// pass needs beside them.
const SHARE: u64 = 12;
/// The least bytes of a block.
const LEAST_BYTES: u64 = 1 << 20;

/// Bytes of a block where so many bytes may be used.
pub fn block_bytes(memory: u64) -> u64 {
    BLOCK_BYTES.min(memory / SHARE).max(LEAST_BYTES)
}
