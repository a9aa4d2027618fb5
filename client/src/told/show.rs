//! Objects and times as lines for people.

use crate::stamp;
use portcullis_protocol::path::escape;
use portcullis_protocol::view::{Binding, Kind, Timestamp};
use std::fmt;

/// `type mode size time name`, and where a link points.
#[derive(Debug)]
pub struct Line<'a> {
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u16,
    /// Bytes.
    pub size: u64,
    /// Last change of its content.
    pub modified: Timestamp,
    /// Its name, as it is shown.
    pub name: String,
    /// Where a link points.
    pub link: Option<&'a [u8]>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, mode, size) = (self.kind.name(), self.mode, self.size);
        write!(f, "{kind:<9} {mode:04o} {size:>12} ")?;
        write!(f, "{} {}", Utc(self.modified), self.name)?;
        match self.link {
            Some(link) => write!(f, " -> {}", escape(link)),
            None => Ok(()),
        }
    }
}

/// The lines of an object a request was bound to: what it is, and its version.
pub fn bound(binding: &Binding) -> String {
    let seen = &binding.observation;
    let line = Line {
        kind: seen.kind,
        mode: seen.mode,
        size: seen.stamp.size,
        modified: seen.modified,
        name: name(binding.path.as_kernel_bytes(), seen.kind),
        link: binding.link.as_ref().map(|link| link.as_slice()),
    };
    format!("{line}\n{:<9} {}\n", "stamp", stamp::show(&seen.stamp))
}

/// A name, escaped; a directory's ends in a slash.
pub fn name(path: &[u8], kind: Kind) -> String {
    let mut shown = escape(path);
    if kind == Kind::Directory {
        shown.push('/');
    }
    shown
}

/// Writes the same.
pub fn put_name(path: &[u8], kind: Kind, out: &mut Vec<u8>) {
    put_escaped(path, out);
    if kind == Kind::Directory {
        out.push(b'/');
    }
}

/// Writes a name, escaped. Most need no escapes, and are copied.
pub fn put_escaped(path: &[u8], out: &mut Vec<u8>) {
    // Without an end in between, so that many bytes are looked at at once.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') & (*byte != b'\\');
    if path.iter().fold(true, |all, byte| all & is_plain(byte)) {
        out.extend_from_slice(path);
    } else {
        out.extend_from_slice(escape(path).as_bytes());
    }
}

/// A point in time as `2026-11-30T10:00:00Z`.
#[derive(Debug, Clone, Copy)]
pub struct Utc(pub Timestamp);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.seconds;
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = date(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// The Gregorian date of a day since 1970-01-01. Years are counted from March, so that the leap
/// day is the last of its year and every 400 years have the same shape.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_400_YEARS: i64 = 146_097;
    let from_march_0 = days + 719_468;
    let era = from_march_0.div_euclid(DAYS_400_YEARS);
    let day_of_era = from_march_0.rem_euclid(DAYS_400_YEARS);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let start_of_year = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - start_of_year;
    // Months from March have 31, 30, 31, 30, 31 days, again and again: 153 in five.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_796_033_000, "2026-11-30T10:03:20Z"),
        ] {
            let time = Timestamp { seconds, nanos: 0 };
            assert_eq!(Utc(time).to_string(), shown);
        }
    }

    #[test]
    fn a_line_escapes_names_and_targets() {
        let line = Line {
            kind: Kind::Link,
            mode: 0o777,
            size: 3,
            modified: Timestamp {
                seconds: 0,
                nanos: 0,
            },
            name: name(b"a\x1b[31m", Kind::Link),
            link: Some(b"b\n"),
        };
        assert_eq!(
            line.to_string(),
            "link      0777            3 1970-01-01T00:00:00Z a\\x1b[31m -> b\\x0a"
        );
        assert_eq!(name(b"d", Kind::Directory), "d/");
        let mut out = Vec::new();
        for path in [&b"a b~"[..], b"a\\b", b"\x7f", b"\xc3\xa9", b"\xff"] {
            put_name(path, Kind::Directory, &mut out);
            assert_eq!(out, name(path, Kind::Directory).into_bytes());
            out.clear();
        }
    }
}
