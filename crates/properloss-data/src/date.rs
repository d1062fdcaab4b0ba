//! Dates and times as numbers: days since 1970-01-01.
//!
//! ```text
//! days + nanoseconds of the day / (86400 · 10⁹)
//! ```
//! Both are whole numbers until the division, so that a text, a Parquet file of any unit and a data
//! frame give the same bits.

/// Nanoseconds of a day.
const DAY: i64 = 86_400_000_000_000;

/// Days since 1970-01-01, from whole days and nanoseconds after them.
pub fn days(days: i64, nanoseconds: i64) -> f64 {
    let (days, rest) = (days + nanoseconds.div_euclid(DAY), nanoseconds.rem_euclid(DAY));
    days as f64 + rest as f64 / DAY as f64
}

/// The same, from a number of parts of a second since 1970-01-01.
pub fn of_ticks(ticks: i64, per_second: i64) -> f64 {
    let day = 86_400 * per_second;
    days(ticks.div_euclid(day), ticks.rem_euclid(day) * (1_000_000_000 / per_second))
}

/// `2024-01-31`, with a time `T09:30`, `09:30:15.25` and a zone `Z`, `+02:00` or none; else `None`.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    // Cheap for everything else: the first dash stands fifth.
    if bytes.len() < 10 || bytes[4] != b'-' || bytes[7] != b'-' || !text.is_ascii() {
        return None;
    }
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let date = days_from_civil(year, month, day);
    if bytes.len() == 10 {
        return Some(days(date, 0));
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let (time, shift) = zone(&text[11..])?;
    let mut parts = time.split(':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(second) => {
            let (whole, part) = second.split_once('.').unwrap_or((second, ""));
            let scale = 10i64.pow(9u32.checked_sub(u32::try_from(part.len()).ok()?)?);
            (digits(whole)?, if part.is_empty() { 0 } else { digits(part)? * scale })
        }
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = 3600 * hour + 60 * minute + second - shift;
    Some(days(date, seconds * 1_000_000_000 + fraction))
}

/// The time without its zone, and the seconds that the zone is ahead.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (hours, minutes) = match text[at + 1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == at + 5 => text[at + 1..].split_at(2),
        None => (&text[at + 1..], "0"),
    };
    let ahead = 3600 * digits(hours)? + 60 * digits(minutes)?;
    Some((&text[..at], if text.as_bytes()[at] == b'-' { -ahead } else { ahead }))
}

/// A whole number of digits only.
fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar; years start in March, so that the leap day ends one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days, with its time if it has one: the writing that [`parse`] reads back.
pub(crate) fn text(value: f64) -> String {
    let whole = value.floor();
    let z = whole as i64 + 719_468;
    let (era, of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * part + 2) / 5 + 1, (part + 2) % 12 + 1);
    let year = year + era * 400 + i64::from(month <= 2);
    let date = format!("{year:04}-{month:02}-{day:02}");
    let seconds = ((value - whole) * 86_400.0).round() as i64;
    if seconds == 0 {
        return date;
    }
    format!("{date}T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (written, expected) in [
            ("1970-01-01", 0.0),
            ("2024-02-29", 19_782.0),
            ("1969-12-31", -1.0),
            ("2000-03-01", 11_017.0),
            ("2024-02-29T12:00", 19_782.5),
            ("2024-02-29 06:00:00", 19_782.25),
            ("2024-02-29T12:00:00Z", 19_782.5),
            ("2024-02-29T12:00:00.000", 19_782.5),
            ("2024-02-29T14:00:00+02:00", 19_782.5),
            ("2024-02-28T22:00-1400", 19_782.5),
        ] {
            assert_eq!(parse(written), Some(expected), "{written}");
        }
        for wrong in [
            "2024-02-30",
            "2023-02-29",
            "2024-13-01",
            "2024-1-1",
            "20240101",
            "2024-01-01x",
            "2024-01-01T24:00",
            "2024-01-01T12",
            "2024-01-01T12:00:00:00",
            "-024-01-01",
            "",
            "2024-01-01T12:00:00.1234567890",
            "2024-01-01T+2:00",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        for day in (-800_000..800_000).step_by(997) {
            assert_eq!(
                parse(&text(f64::from(day))),
                Some(f64::from(day)).filter(|d| *d > -719_528.0)
            );
        }
    }

    #[test]
    fn every_unit_gives_the_same_bits() {
        let nanos = 1_709_251_199_123_456_000i64;
        let written = parse("2024-02-29T23:59:59.123456").unwrap();
        assert_eq!(of_ticks(nanos, 1_000_000_000).to_bits(), written.to_bits());
        assert_eq!(of_ticks(nanos / 1000, 1_000_000).to_bits(), written.to_bits());
        assert_eq!(of_ticks(-1, 1_000), parse("1969-12-31T23:59:59.999").unwrap());
    }
}
