//! The limits of a JSON file, looked at before it is parsed: nesting and the length of numbers.

use std::path::Path;

use crate::error::{Error, Place, Position, Result};
use crate::memory::{JSON_DEPTH_LIMIT, JSON_NUMBER_LIMIT};

/// One pass over the bytes; what is not JSON is left to the parser.
pub(super) fn check(bytes: &[u8], file: &Path) -> Result<()> {
    let (mut depth, mut digits, mut line) = (0usize, 0usize, 1u64);
    let (mut in_string, mut escaped) = (false, false);
    let too_long = |line, what, limit: String| {
        Err(Error::TooLong { place: Place::at(file, Position::Line(line)), what, limit })
    };
    for &byte in bytes {
        if byte == b'\n' {
            line += 1;
        }
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > JSON_NUMBER_LIMIT {
            return too_long(line, "a number", format!("{JSON_NUMBER_LIMIT} digits"));
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_LIMIT {
            return too_long(line, "the nesting", format!("{JSON_DEPTH_LIMIT} levels"));
        }
    }
    Ok(())
}
