//! Thrift's compact protocol, skimmed: the claims of a Parquet file, before anyone believes them.
//!
//! The decoder behind us reserves what a header promises. A list cannot have more elements than
//! there are bytes left, a text cannot be longer than them, and no file nests deeper than
//! [`DEPTH`]; whatever breaks this is damaged.

/// Structs within lists within structs; a Parquet footer has eight levels.
const DEPTH: usize = 24;
/// Stands for "an element" in a path.
pub(super) const ELEMENT: i16 = -1;

/// What was met at a path of field numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A struct begins.
    Struct,
    /// An integer.
    Number(i64),
    /// A list or set of so many elements.
    List(usize),
}

/// Skims one struct; `visit` sees the path and the event, and ends it with an error. Gives the
/// number of bytes of the struct. `None`: the bytes end in the middle of it, or make no sense.
pub(super) fn skim(bytes: &[u8], visit: &mut dyn FnMut(&[i16], Event)) -> Option<usize> {
    let mut skimmer = Skimmer { bytes, at: 0, path: Vec::new(), visit };
    skimmer.fields()?;
    Some(skimmer.at)
}

struct Skimmer<'a> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<i16>,
    visit: &'a mut dyn FnMut(&[i16], Event),
}

impl Skimmer<'_> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn event(&mut self, event: Event) {
        (self.visit)(&self.path, event);
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        (count <= self.left()).then(|| self.at += count)
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn size(&mut self) -> Option<usize> {
        let size = usize::try_from(self.varint()?).ok()?;
        (size <= self.left()).then_some(size)
    }

    fn fields(&mut self) -> Option<()> {
        if self.path.len() > DEPTH {
            return None;
        }
        self.event(Event::Struct);
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(());
            }
            id = match header >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                delta => id.checked_add(i16::from(delta))?,
            };
            self.path.push(id);
            match header & 0x0f {
                // The type is the value of a truth value.
                1 | 2 => {}
                kind => self.value(kind)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let number = self.zigzag()?;
                self.event(Event::Number(number));
                Some(())
            }
            7 => self.skip(8),
            8 => {
                let size = self.size()?;
                self.skip(size)
            }
            9 | 10 => self.list(),
            11 => self.map(),
            12 => self.fields(),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self) -> Option<()> {
        let header = self.byte()?;
        let size = match header >> 4 {
            15 => self.size()?,
            size => usize::from(size),
        };
        self.event(Event::List(size));
        self.path.push(ELEMENT);
        for _ in 0..size {
            self.value(header & 0x0f)?;
        }
        self.path.pop();
        Some(())
    }

    fn map(&mut self) -> Option<()> {
        let size = self.size()?;
        if size == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        self.path.push(ELEMENT);
        for _ in 0..size {
            self.value(kinds >> 4)?;
            self.value(kinds & 0x0f)?;
        }
        self.path.pop();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Option<(usize, Vec<(Vec<i16>, Event)>)> {
        let mut seen = Vec::new();
        let length = skim(bytes, &mut |path, event| seen.push((path.to_vec(), event)))?;
        Some((length, seen))
    }

    #[test]
    fn fields_lists_and_structs_are_found() {
        // 1: i32 = -3, 2: binary "ab", 4: list of two structs { 1: i64 = 150 } and {}, 5: true.
        let bytes = [0x15, 5, 0x18, 2, b'a', b'b', 0x29, 0x2c, 0x16, 0xac, 0x02, 0, 0, 0x11, 0, 99];
        let (length, seen) = events(&bytes).unwrap();
        assert_eq!(length, 15, "the byte after the struct is not of it");
        assert_eq!(
            seen,
            [
                (vec![], Event::Struct),
                (vec![1], Event::Number(-3)),
                (vec![4], Event::List(2)),
                (vec![4, ELEMENT], Event::Struct),
                (vec![4, ELEMENT, 1], Event::Number(150)),
                (vec![4, ELEMENT], Event::Struct),
            ]
        );
        for end in 0..length {
            assert!(events(&bytes[..end]).is_none(), "cut at {end}");
        }
    }

    #[test]
    fn claims_beyond_the_bytes_are_refused() {
        // A list of 2^31 - 1 structs, a text of 2^40 bytes, a nesting of 1000, an endless number.
        assert!(events(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0]).is_none());
        assert!(events(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0]).is_none());
        assert!(events(&[0x1c; 1000]).is_none());
        assert!(
            events(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none()
        );
    }

    #[test]
    fn maps_are_passed_over() {
        // 1: a map of two pairs of numbers (-1: 1, 2: -2); 2: an empty map; 3: i32 = 7.
        let bytes = [0x1b, 2, 0x55, 1, 2, 4, 3, 0x1b, 0, 0x15, 14, 0];
        let (length, seen) = events(&bytes).unwrap();
        assert_eq!(length, bytes.len());
        let inside = [-1, 1, 2, -2].map(|number| (vec![1, ELEMENT], Event::Number(number)));
        assert_eq!(seen[0], (vec![], Event::Struct));
        assert_eq!(seen[1..5], inside);
        assert_eq!(seen[5..], [(vec![3], Event::Number(7))]);
        // More pairs than bytes.
        assert!(events(&[0x1b, 9, 0x55, 1, 2, 0]).is_none());
    }

    #[test]
    fn structs_may_be_nested_to_the_limit() {
        let nested = |depth: usize| [vec![0x1c; depth], vec![0; depth + 1]].concat();
        assert_eq!(events(&nested(DEPTH)).unwrap().1.len(), DEPTH + 1);
        assert!(events(&nested(DEPTH + 1)).is_none());
    }
    /// Every type has its length; what follows is found behind it.
    #[test]
    fn every_type_is_as_long_as_it_is() {
        let seven = (vec![2], Event::Number(7));
        let after = |field: &[u8]| {
            let bytes = [field, &[0x15, 14, 0]].concat();
            let (length, seen) = events(&bytes)?;
            assert_eq!(length, bytes.len());
            assert_eq!(seen.first(), Some(&(vec![], Event::Struct)));
            Some(seen[1..].to_vec())
        };
        let only = Some(vec![seven.clone()]);
        assert_eq!(after(&[0x11]), only, "true");
        assert_eq!(after(&[0x12]), only, "false");
        assert_eq!(after(&[0x13, 9]), only, "a byte");
        assert_eq!(after(&[0x17, 1, 2, 3, 4, 5, 6, 7, 8]), only, "a double");
        assert_eq!(after(&[0x18, 3, 1, 2, 3]), only, "a text");
        assert_eq!(after(&[[0x1d].as_slice(), &[9; 16]].concat()), only, "an identifier");
        for kind in [0x14, 0x16] {
            let found = Some(vec![(vec![1], Event::Number(-2)), seven.clone()]);
            assert_eq!(after(&[kind, 3]), found, "integers");
        }
        // A set is a list; truth values in one have a byte each.
        for header in [0x19, 0x1a] {
            let found = Some(vec![(vec![1], Event::List(3)), seven.clone()]);
            assert_eq!(after(&[header, 0x31, 1, 0, 1]), found);
            assert_eq!(after(&[header, 0x33, 1, 0, 1]), found);
        }
        // Fifteen elements and more have a length of their own.
        let long = [[0x19, 0xf5, 15].as_slice(), &[2; 15]].concat();
        let found = after(&long).unwrap();
        assert_eq!((found.len(), &found[0]), (17, &(vec![1], Event::List(15))));
        assert_eq!(found[1..16], vec![(vec![1, ELEMENT], Event::Number(1)); 15]);
        for kind in [0x1e, 0x1f, 0x10] {
            assert_eq!(after(&[kind, 0, 0, 0]), None, "{kind:x} is no type");
        }
    }

    /// Fields are numbered by steps, or by a number of their own, up to the last of 2 bytes.
    #[test]
    fn fields_are_numbered_by_steps() {
        let numbers = |bytes: &[u8]| {
            let seen = events(bytes)?.1;
            Some(seen[1..].iter().map(|(path, _)| path[0]).collect::<Vec<_>>())
        };
        // 1, 16 (a step of 15), 300 (its own number), 301.
        assert_eq!(
            numbers(&[0x15, 2, 0xf5, 2, 0x05, 0xd8, 0x04, 2, 0x15, 2, 0]).unwrap(),
            [1, 16, 300, 301]
        );
        // 32767 is the last; a step beyond it, or a number of more bytes, makes no sense.
        assert_eq!(numbers(&[0x05, 0xfe, 0xff, 0x03, 2, 0]).unwrap(), [32767]);
        assert_eq!(numbers(&[0x05, 0xfe, 0xff, 0x03, 2, 0x15, 2, 0]), None);
        assert_eq!(numbers(&[0x05, 0x80, 0x80, 0x04, 2, 0]), None);
    }

    #[test]
    fn numbers_have_seven_bits_a_byte_and_a_sign() {
        let number = |bytes: &[u8]| {
            let seen = events(&[&[0x16], bytes, &[0]].concat())?.1;
            match seen[..] {
                [_, (_, Event::Number(number))] => Some(number),
                _ => panic!("{seen:?}"),
            }
        };
        for (bytes, expected) in [
            (&[0][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x7f], -64),
            (&[0x80, 1], 64),
            (&[0xff, 0xff, 0x03], -32768),
            (&[0xfe, 0xff, 0xff, 0xff, 0x0f], i64::from(i32::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MIN),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MAX),
        ] {
            assert_eq!(number(bytes), Some(expected), "{bytes:x?}");
        }
    }
}
