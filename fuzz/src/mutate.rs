//! Damage: what a bad disk, a bad program or a bad person does to a file.

use properloss_data::random::Random;

/// Numbers at the edges of types and formats.
const NUMBERS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "4294967295",
    "4294967296",
    "300000000",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e309",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "1e",
    ".",
    "99999999999999999999999999999999999999",
];

/// One to eight changes.
pub fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(8) {
        change(bytes, other, random);
    }
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let length = bytes.len();
    if length == 0 {
        bytes.extend_from_slice(&other[..random.below(other.len() + 1)]);
        return;
    }
    let at = random.below(length);
    match random.below(12) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.bits() as u8,
        2 => bytes[at] = b"\n,\"\t:#{}[]\0\xff"[random.below(12)],
        3 => bytes.truncate(at),
        // A piece is lost, doubled, moved, or comes from another file.
        4 => drop(bytes.drain(at..(at + 1 + random.below(64)).min(length))),
        5 | 6 => {
            let end = (at + 1 + random.below(256)).min(length);
            let piece = bytes[at..end].to_vec();
            let most = if random.below(50) == 0 { 2000 } else { 3 };
            let times = 1 + random.below(most);
            let to = random.below(length);
            bytes.splice(to..to, piece.repeat(times));
        }
        7 if !other.is_empty() => {
            let from = random.below(other.len());
            let end = (from + 1 + random.below(256)).min(other.len());
            bytes.splice(at..at, other[from..end].iter().copied());
        }
        // A number becomes another.
        8 | 9 => {
            let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
            if let Some(start) = bytes[at..].iter().position(digit).map(|k| at + k) {
                let end =
                    bytes[start..].iter().position(|b| !digit(b)).map_or(length, |k| start + k);
                let number = NUMBERS[random.below(NUMBERS.len())];
                bytes.splice(start..end, number.bytes());
            }
        }
        // Four or eight bytes, as binary headers have them.
        10 => {
            let value = [0, 1, 0x7f, 0x80, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];
            let value = value[random.below(8)];
            let raw = if random.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
            let end = (at + 4).min(length);
            let raw = if random.below(2) == 0 { &raw[..4] } else { &raw[4..] };
            bytes.splice(at..end, raw.iter().copied());
        }
        _ => bytes.insert(at, random.bits() as u8),
    }
}
