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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<(String, u64)> {
        match check(text.as_bytes(), Path::new("m.json")) {
            Ok(()) => None,
            Err(Error::TooLong { place, what, .. }) => match place.position {
                Some(Position::Line(line)) => Some((what.to_owned(), line)),
                other => panic!("{other:?}"),
            },
            Err(other) => panic!("{other}"),
        }
    }

    /// What is deeper or longer than the limit is refused with its line, what reaches it is not.
    #[test]
    fn nesting_and_numbers_may_reach_their_limits() {
        let (open, close) = ("[".repeat(JSON_DEPTH_LIMIT), "]".repeat(JSON_DEPTH_LIMIT));
        assert_eq!(told(&format!("\n{open}{close}")), None);
        assert_eq!(told(&format!("\n{{{open}{close}}}")), Some(("the nesting".into(), 2)));
        // What was closed does not count, and closing what was never opened is not our matter.
        assert_eq!(told(&"[]".repeat(1000)), None);
        assert_eq!(told(&format!("]]]{open}")), None);
        assert_eq!(told(&format!("{}[", "[{".repeat(JSON_DEPTH_LIMIT / 2))).unwrap().1, 1);
        let digits = "7".repeat(JSON_NUMBER_LIMIT);
        assert_eq!(told(&digits), None);
        assert_eq!(told(&format!("{digits},{digits}.{digits}")), None);
        assert_eq!(told(&format!("1,\n\n-{digits}0")), Some(("a number".into(), 3)));
    }

    /// In texts brackets and digits are letters; a quote behind a backslash does not end one.
    #[test]
    fn texts_have_no_limits() {
        let long = format!("{}{}", "[".repeat(500), "1".repeat(5000));
        assert_eq!(told(&format!("\"{long}\"")), None);
        assert_eq!(told(&format!("\"\\\"{long}\"")), None);
        assert_eq!(told(&format!("\"a\"{long}")).unwrap().0, "the nesting");
        assert_eq!(told(&format!("\"\\\\\"{long}\"")).unwrap().0, "the nesting");
        // Lines in texts count too.
        assert_eq!(told(&format!("\"\n\n\"{long}")).unwrap().1, 3);
    }
}
