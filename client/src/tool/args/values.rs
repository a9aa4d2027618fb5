//! Values of options, parsed into what they mean.

use clap::builder::RangedI64ValueParser;
use portcullis_protocol::anchor::Anchor;
use portcullis_protocol::authority::Budget;
use portcullis_protocol::limits::{SEARCH_CONTEXT_MAX, SEARCH_FILE_BYTES_MAX};
use portcullis_protocol::path::Label;
use portcullis_protocol::session::{Cursor, Range, TextEncoding};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, Stamp};
use std::time::Duration;

/// A number from 1 to what the protocol allows.
pub(super) fn from_1(most: u32) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(1..=i64::from(most))
}

/// Lines of context that the protocol allows.
pub(super) fn context() -> RangedI64ValueParser<u8> {
    RangedI64ValueParser::new().range(0..=i64::from(SEARCH_CONTEXT_MAX))
}

pub(super) fn label(text: &str) -> Result<Label, String> {
    Label::new(text).map_err(|error| error.to_string())
}

pub(super) fn verb(text: &str) -> Result<Verb, String> {
    Verb::named(text).ok_or_else(|| {
        let names: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

pub(super) fn cursor(text: &str) -> Result<Cursor, String> {
    let bytes = crate::json::unhex(text).ok_or("not hexadecimal: copy it as it was printed")?;
    Cursor::new(bytes).map_err(|error| error.to_string())
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

pub(super) fn lines(text: &str) -> Result<Range, String> {
    let (from, to) = text.split_once(':').unwrap_or((text, text));
    let first = if from.is_empty() { 1 } else { number(from)? };
    let last = if to.is_empty() { u64::MAX } else { number(to)? };
    if first == 0 {
        return Err("lines count from 1".to_owned());
    }
    let between = last
        .checked_sub(first)
        .ok_or("the last line comes before the first")?;
    Ok(Range::Lines {
        first,
        count: between.saturating_add(1),
    })
}

pub(super) fn bytes(text: &str) -> Result<Range, String> {
    let (offset, length) = text.split_once(':').unwrap_or((text, ""));
    Ok(Range::Bytes {
        offset: number(offset)?,
        length: if length.is_empty() {
            u64::MAX
        } else {
            number(length)?
        },
    })
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1024 * 1024),
            None => (text, 1),
        },
    };
    number(digits)?
        .checked_mul(unit)
        .filter(|size| *size <= SEARCH_FILE_BYTES_MAX)
        .ok_or_else(|| format!("at most {} MiB", SEARCH_FILE_BYTES_MAX >> 20))
}

/// The types of objects that [`kind`] reads, for help.
pub(super) const KINDS: &str =
    "file (f), directory (d), link (l), fifo (p), socket (s), device (b, c)";

pub(super) fn kind(text: &str) -> Result<Kind, String> {
    Ok(match text {
        "f" | "file" => Kind::File,
        "d" | "dir" | "directory" => Kind::Directory,
        "l" | "link" | "symlink" => Kind::Link,
        "p" | "pipe" | "fifo" => Kind::Fifo,
        "s" | "socket" => Kind::Socket,
        "b" | "c" | "device" => Kind::Device,
        _ => return Err(format!("one of {KINDS}")),
    })
}

/// How files are read, by our names, those of ripgrep and some that many write.
pub(super) fn encoding(text: &str) -> Result<TextEncoding, String> {
    let name = text.to_ascii_lowercase();
    let known = TextEncoding::ALL.into_iter().find(|one| one.name() == name);
    let other = match name.as_str() {
        "utf8" | "unicode-1-1-utf-8" => Some(TextEncoding::Utf8),
        "utf-16" | "utf16" | "utf16le" => Some(TextEncoding::Utf16Le),
        "utf16be" => Some(TextEncoding::Utf16Be),
        "latin-1" | "iso-8859-1" | "iso8859-1" | "windows-1252" | "cp1252" | "ascii" => {
            Some(TextEncoding::Latin1)
        }
        "sjis" | "shift-jis" | "windows-31j" => Some(TextEncoding::ShiftJis),
        "euc_jp" | "eucjp" => Some(TextEncoding::EucJp),
        "euc_kr" | "euckr" | "ks_c_5601-1987" => Some(TextEncoding::EucKr),
        "gbk" | "gb2312" | "gb-18030" => Some(TextEncoding::Gb18030),
        "big5-hkscs" | "big-5" => Some(TextEncoding::Big5),
        _ => None,
    };
    known.or(other).ok_or_else(|| {
        let names = TextEncoding::ALL.map(TextEncoding::name);
        format!("one of {}", names.join(", "))
    })
}

/// A limit on how much may be done.
pub(super) fn budget(text: &str) -> Result<(Budget, u64), String> {
    let kinds = || Budget::ALL.map(Budget::name).join(", ");
    let (kind, most) = text
        .split_once('=')
        .ok_or_else(|| format!("KIND=N, where KIND is one of {}", kinds()))?;
    let budget = Budget::ALL.into_iter().find(|one| one.name() == kind);
    let budget = budget.ok_or_else(|| format!("`{kind}` is none of {}", kinds()))?;
    Ok((budget, number(most)?))
}

/// A time: seconds, or with `s`, `m` or `h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (digits, seconds) = [("s", 1), ("m", 60), ("h", 3600)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .unwrap_or((text, 1));
    let seconds = number(digits)?.checked_mul(seconds);
    let seconds = seconds.filter(|seconds| *seconds > 0);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("`{text}`: at least a second, such as 90, 5m or 2h"))
}

/// A version as `stat` shows it.
pub(super) fn stamp(text: &str) -> Result<Stamp, String> {
    crate::stamp::parse(text).ok_or_else(|| "no stamp: copy it as `stat` shows it".to_owned())
}

/// A blake3 digest, as `read --digest` shows it.
pub(super) fn digest(text: &str) -> Result<Digest, String> {
    crate::json::unhex(text)
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        .map(Digest)
        .ok_or_else(|| {
            "no blake3 digest: 64 hexadecimal digits, as `read --digest` shows".to_owned()
        })
}

/// The label of a line, as `read --labels` shows it.
pub(super) fn anchor(text: &str) -> Result<Anchor, String> {
    text.parse().map_err(|error| match text.split_once('|') {
        Some((before, _)) => format!("give only what stands before the bar, `{before}`"),
        None => format!("{error}; `read --labels` shows them"),
    })
}

/// The labels of a first line and a last, or of one line.
pub(super) fn anchors(text: &str) -> Result<(Anchor, Anchor), String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (anchor(first)?, anchor(last)?);
    if last.line < first.line {
        return Err("the last line comes before the first".to_owned());
    }
    Ok((first, last))
}

/// Permission bits, octal.
pub(super) fn mode(text: &str) -> Result<u16, String> {
    let octal = text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    u16::from_str_radix(text, 8)
        .ok()
        .filter(|mode| octal && *mode <= 0o777)
        .ok_or_else(|| "octal digits up to 777, such as 644 or 755".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges_include_both_ends() {
        let range = |first, count| Ok(Range::Lines { first, count });
        assert_eq!(lines("10:20"), range(10, 11));
        assert_eq!(lines("7"), range(7, 1));
        assert_eq!(lines(":3"), range(1, 3));
        assert_eq!(lines("4:"), range(4, u64::MAX - 3));
        assert_eq!(lines("1:"), range(1, u64::MAX));
        for bad in ["0:3", "5:4", "x", "1:y", "-1:2"] {
            assert!(lines(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units_and_an_upper_bound() {
        assert_eq!(size("10"), Ok(10));
        assert_eq!(size("2K"), Ok(2048));
        assert_eq!(size("3m"), Ok(3 << 20));
        assert!(size("1000M").is_err());
        assert!(size("99999999999999999M").is_err());
    }

    #[test]
    fn encodings_have_one_name_of_ours_and_others() {
        for one in TextEncoding::ALL {
            assert_eq!(encoding(one.name()), Ok(one));
        }
        assert_eq!(encoding("UTF-16LE"), Ok(TextEncoding::Utf16Le));
        assert_eq!(encoding("windows-1252"), Ok(TextEncoding::Latin1));
        assert!(encoding("ebcdic").unwrap_err().contains("shift_jis"));
    }

    #[test]
    fn types_of_objects_have_a_letter_and_a_name() {
        for (text, is) in [
            ("f", Kind::File),
            ("d", Kind::Directory),
            ("symlink", Kind::Link),
            ("fifo", Kind::Fifo),
        ] {
            assert_eq!(kind(text), Ok(is));
        }
        assert!(kind("x").unwrap_err().contains("directory (d)"));
    }

    #[test]
    fn budgets_name_their_kind_and_times_have_units() {
        assert_eq!(budget("read-bytes=9"), Ok((Budget::ReadBytes, 9)));
        for bad in ["read-bytes", "reads=1", "creates=", "creates=-1"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for bad in ["", "0", "m", "1d", "-1", "99999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn modes_are_octal_and_never_set_ids() {
        assert_eq!(mode("644"), Ok(0o644));
        assert_eq!(mode("0755"), Ok(0o755));
        for bad in ["", "888", "+644", "4755", "u+x", "0o644"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn digests_have_their_length() {
        assert_eq!(digest(&"ab".repeat(32)), Ok(Digest([0xab; 32])));
        assert!(digest("ab").is_err());
        assert!(digest(&"zz".repeat(32)).is_err());
    }

    #[test]
    fn labels_are_copied_without_their_lines() {
        let (first, last) = anchors("2:k3f9q..11:00000").unwrap();
        assert_eq!((first.line, last.line), (2, 11));
        let (first, last) = anchors("2:k3f9q").unwrap();
        assert_eq!(first, last);
        assert!(anchor("2:k3f9q|text").unwrap_err().contains("`2:k3f9q`"));
        for bad in [
            "",
            "2",
            "3:k3f9q..2:k3f9q",
            "2:k3f9q..",
            "2:k3f9q..3",
            "2:k3f9q-3:k3f9q",
        ] {
            assert!(anchors(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_verb_can_be_asked_about() {
        for one in Verb::ALL {
            assert_eq!(verb(one.name()), Ok(one));
        }
        assert!(verb("rewrite").unwrap_err().contains("delete-tree"));
    }
}
