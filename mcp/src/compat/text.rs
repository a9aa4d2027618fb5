//! Sizes, times, names and addresses as the reference server writes them.

use portcullis_client::protocol::path::{escape, unescape};
use portcullis_client::protocol::view::Timestamp;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A size with its unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter().copied();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    format!("{value:.2} {unit}")
}

/// A time, always in UTC: a confined process knows no zone.
pub(super) fn time(time: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (day, second) = (
        time.seconds.div_euclid(86_400),
        time.seconds.rem_euclid(86_400),
    );
    let (year, month, of_month) = date(day);
    let of = |list: &[&'static str], at: i64| {
        usize::try_from(at)
            .ok()
            .and_then(|at| list.get(at).copied())
            .unwrap_or("?")
    };
    format!(
        "{} {} {of_month:02} {year:04} {:02}:{:02}:{:02} GMT+0000 (Coordinated Universal Time)",
        of(&DAYS, day.rem_euclid(7)),
        of(&MONTHS, month),
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// Year, month from 0 and day of the month of a day counted from 1970. Years begin in March here,
/// so that the day that some of them have more is the last.
const fn date(day: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let from_march = day + 719_468;
    let era = from_march.div_euclid(DAYS_OF_400_YEARS);
    let of_era = from_march.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12;
    let year = year_of_era + era * 400 + if month < 2 { 1 } else { 0 };
    (year, month, of_month)
}

/// A name or path as it is shown: as it is, unless it is not UTF-8, or has what moves a cursor or
/// takes no room, or could be read as an escape. [`given`] reads it.
pub(super) fn shown(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains("\\x") && is_visible(text) => Cow::Borrowed(text),
        Ok(_) | Err(_) => Cow::Owned(escape(name)),
    }
}

fn is_visible(text: &str) -> bool {
    // An escape is the only thing that makes a text longer, apart from doubled backslashes.
    text.bytes().all(|b| matches!(b, b' '..=b'~'))
        || escape(text.as_bytes()).len() == text.len() + text.matches('\\').count()
}

/// The bytes of a name or path that somebody gives as it was shown.
pub(super) fn given(text: &str) -> Cow<'_, [u8]> {
    let escaped = text.contains("\\x").then(|| unescape(text)).flatten();
    escaped.map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
}

/// The order of names in a listing with sizes: marks before digits before letters, and letter case
/// only where nothing else differs.
pub(super) fn collate(one: &str, other: &str) -> Ordering {
    const MARKS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let weight = |c: char| match MARKS.find(c) {
        Some(at) => (0, at, c),
        None if c.is_numeric() => (1, 0, c),
        None => (2, 0, c),
    };
    let folded = |text: &str| -> Vec<(u8, usize, char)> {
        text.chars()
            .flat_map(char::to_lowercase)
            .map(weight)
            .collect()
    };
    folded(one).cmp(&folded(other)).then_with(|| other.cmp(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_decimals_from_a_kilobyte_on() {
        let sizes = [
            0,
            1,
            1023,
            1024,
            1536,
            1 << 20,
            5 << 30,
            3 << 40,
            2048 << 40,
        ];
        let texts = [
            "0 B",
            "1 B",
            "1023 B",
            "1.00 KB",
            "1.50 KB",
            "1.00 MB",
            "5.00 GB",
            "3.00 TB",
            "2048.00 TB",
        ];
        assert_eq!(sizes.map(size), texts);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let text = |seconds| time(Timestamp { seconds, nanos: 0 });
        assert_eq!(
            text(0),
            "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)"
        );
        assert!(text(951_782_400).starts_with("Tue Feb 29 2000 00:00:00"));
        assert!(text(1_796_120_218).starts_with("Tue Dec 01 2026 10:16:58"));
        assert!(text(4_107_542_399).starts_with("Sun Feb 28 2100 23:59:59"));
        assert!(text(-1).starts_with("Wed Dec 31 1969 23:59:59"));
    }

    #[test]
    fn every_name_is_shown_so_that_it_can_be_given_back() {
        let names: [&[u8]; 9] = [
            b"a b",
            b"caf\xc3\xa9",
            b"bad-\xff",
            b"a\nb",
            b"back\\slash",
            b"lit\\xff",
            b"\\\\x41",
            b"\\",
            "a\u{202e}b".as_bytes(),
        ];
        for name in names {
            assert_eq!(given(&shown(name)), name, "{}", shown(name));
        }
        assert_eq!(shown(b"back\\slash"), "back\\slash");
        assert_eq!(shown(b"bad-\xff"), "bad-\\xff");
        assert_eq!(shown(b"a\nb"), "a\\x0ab");
        assert_eq!(shown(b"lit\\xff"), "lit\\\\xff");
    }

    #[test]
    fn names_are_ordered_as_people_do() {
        let mut names = ["Zeta", "a", "B", "b", ".x", "_y", "10", "2", "a.txt", "ab"];
        names.sort_by(|a, b| collate(a, b));
        assert_eq!(
            names,
            ["_y", ".x", "10", "2", "a", "a.txt", "ab", "b", "B", "Zeta"]
        );
    }
}
