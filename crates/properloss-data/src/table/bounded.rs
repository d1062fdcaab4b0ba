//! Input that no record may take too much of.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::memory::{COLUMN_LIMIT, LINE_LIMIT};

/// Why a record was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the record is too long")]
    Length,
    #[error("the record has too many fields")]
    Fields,
}

/// What a record has taken so far, shared by the input and its reader.
#[derive(Debug, Default)]
pub(super) struct Taken {
    bytes: AtomicU64,
    delimiters: AtomicU64,
}

impl Taken {
    /// A new record begins.
    pub(super) fn reset(&self) {
        self.bytes.store(0, Relaxed);
        self.delimiters.store(0, Relaxed);
    }
}

/// Hands on the bytes of `inner`, and refuses once a record has taken more than
/// [`LINE_LIMIT`] bytes or [`COLUMN_LIMIT`] delimiters: the parser behind it would hold them all.
pub(super) struct Bounded {
    inner: Box<dyn BufRead>,
    delimiter: u8,
    taken: Arc<Taken>,
}

impl Bounded {
    pub(super) fn new(inner: Box<dyn BufRead>, delimiter: u8) -> (Self, Arc<Taken>) {
        let taken = Arc::new(Taken::default());
        (Self { inner, delimiter, taken: Arc::clone(&taken) }, taken)
    }
}

impl Read for Bounded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        let bytes = self.taken.bytes.fetch_add(count as u64, Relaxed) + count as u64;
        let found = out[..count].iter().filter(|&&byte| byte == self.delimiter).count() as u64;
        let delimiters = self.taken.delimiters.fetch_add(found, Relaxed) + found;
        if bytes > (LINE_LIMIT + out.len()) as u64 {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, Refusal::Length));
        }
        if delimiters > (COLUMN_LIMIT + out.len()) as u64 {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, Refusal::Fields));
        }
        Ok(count)
    }
}

/// The refusal behind an error of the input.
pub(super) fn refusal(error: &io::Error) -> Option<Refusal> {
    error.get_ref()?.downcast_ref::<Refusal>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(byte: u8, count: usize, records: usize) -> Result<usize, Refusal> {
        let bytes = vec![byte; count];
        let (mut input, taken) = Bounded::new(Box::new(io::Cursor::new(bytes)), b',');
        let (mut out, mut total) = (vec![0; 8192], 0);
        let each = count / records;
        loop {
            match input.read(&mut out) {
                Ok(0) => return Ok(total),
                Ok(n) => total += n,
                Err(error) => return Err(refusal(&error).expect("a refusal")),
            }
            if total % each < 8192 {
                taken.reset();
            }
        }
    }

    /// A record may be as long as the limit and a buffer; the next one counts anew.
    #[test]
    fn a_record_is_bounded_not_the_file() {
        let (line, fields) = (LINE_LIMIT + 8192, COLUMN_LIMIT + 8192);
        assert_eq!(read_all(b'x', line, 1), Ok(line));
        assert_eq!(read_all(b'x', line + 1, 1), Err(Refusal::Length));
        assert_eq!(read_all(b'x', line + 100_000, 4), Ok(line + 100_000));
        assert_eq!(read_all(b',', fields, 1), Ok(fields));
        assert_eq!(read_all(b',', fields + 1, 1), Err(Refusal::Fields));
        assert_eq!(read_all(b',', fields + 100_000, 4), Ok(fields + 100_000));
        assert!(refusal(&io::Error::other("something else")).is_none());
    }
}
