//! Points in time, as they are written: RFC 3339, in UTC, whatever the place and the language.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;
/// Days of 400 years, after which the calendar repeats itself.
const ERA: u64 = 146_097;

/// A point in time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Year, month and day, of the Gregorian calendar. Counted from 1 March of the year 0, so that
    /// a leap day is the last of its year.
    const fn date(self) -> (u64, u64, u64) {
        let days = self.0 / 1000 / DAY + 719_468;
        let (era, day) = (days / ERA, days % ERA);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let in_month = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        (era * 400 + year + next, month, in_month)
    }

    const fn clock(self) -> (u64, u64, u64) {
        let second = self.0 / 1000 % DAY;
        (second / 3600, second / 60 % 60, second % 60)
    }

    /// Without signs between, for names of files.
    pub(crate) fn compact(self) -> String {
        let ((year, month, day), (hour, minute, second)) = (self.date(), self.clock());
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }
}

impl fmt::Display for Time {
    /// To the second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), (hour, minute, second)) = (self.date(), self.clock());
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(Time(seconds * 1000 + 999).to_string(), text);
        }
        assert_eq!(Time(951_782_399_000).compact(), "20000228T235959Z");
    }
}
