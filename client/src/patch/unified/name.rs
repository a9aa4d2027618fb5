//! Names in the headers of diffs.

/// What a header names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`: there is no file on this side.
    Nothing,
    /// This one, with a prefix where it was written with one.
    File(Vec<u8>),
}

/// What a `---` or `+++` line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: Name,
    pub(super) time: Time,
}

/// The time of a file in a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// There is none, or it is not written as `diff` writes it.
    Unknown,
    /// The beginning of time, which `diff` gives a file that is not there.
    Epoch,
    /// A second and no part of it: of files that were packed, or made up.
    Whole,
    /// To the nanosecond, as nobody writes by hand.
    Exact,
}

impl Header {
    /// What stands after `--- ` or `+++ `; a tab ends a name that is not quoted. Nothing when the
    /// quotes are damaged.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let (name, rest) = if text.starts_with(b"\"") {
            let (name, rest) = unquote(text)?;
            if !matches!(rest, [] | [b'\t', ..]) {
                return None;
            }
            (name, rest)
        } else {
            let end = text.iter().position(|byte| *byte == b'\t');
            let (name, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
            (name.to_vec(), rest)
        };
        let name = if name == b"/dev/null" {
            Name::Nothing
        } else {
            Name::File(name)
        };
        let time = Time::read(rest.get(1..).unwrap_or_default());
        Some(Self { name, time })
    }
}

impl Time {
    /// `2026-01-31 12:34:56.123456789 +0100`.
    fn read(text: &[u8]) -> Self {
        Self::of(text).unwrap_or(Self::Unknown)
    }

    fn of(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let shape = text.bytes().map(|byte| match byte {
            b'0'..=b'9' => b'9',
            b'-' => b'+',
            other => other,
        });
        if !shape.eq(*b"9999+99+99 99:99:99.999999999 +9999") {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i32>().ok();
        let minutes = number(11, 13)? * 60 + number(14, 16)?;
        let zone = number(31, 33)? * 60 + number(33, 35)?;
        let east = match text.get(30..31)? {
            "-" => -zone,
            _ => zone,
        };
        let since = match text.get(..10)? {
            "1970-01-01" => Some(minutes - east),
            "1969-12-31" => Some(minutes - east - 24 * 60),
            _ => None,
        };
        let part = text.get(20..29)?.bytes().any(|digit| digit != b'0');
        Some(match (since, part) {
            (_, true) => Self::Exact,
            (Some(0), false) if text.get(17..19)? == "00" => Self::Epoch,
            (_, false) => Self::Whole,
        })
    }
}

/// A name that fills the rest of its line, quoted or not.
pub(super) fn whole(text: &[u8]) -> Option<Vec<u8>> {
    if !text.starts_with(b"\"") {
        return Some(text.to_vec());
    }
    let (name, rest) = unquote(text)?;
    rest.is_empty().then_some(name)
}

/// What git puts before the names of the two sides: `a/` and `b/`, also when it writes the
/// difference backwards, and the letters of `diff.mnemonicPrefix`.
const PREFIXES: [(&[u8], &[u8]); 10] = [
    (b"a/", b"b/"),
    (b"b/", b"a/"),
    (b"i/", b"w/"),
    (b"w/", b"i/"),
    (b"c/", b"i/"),
    (b"i/", b"c/"),
    (b"c/", b"w/"),
    (b"w/", b"c/"),
    (b"o/", b"w/"),
    (b"w/", b"o/"),
];

/// Takes the prefixes of git away where both sides carry them. Beside a side without a file only
/// `a/` and `b/` are known as one.
pub(super) fn without_prefixes(old: Name, new: Name) -> (Name, Name) {
    let known = match (&old, &new) {
        (Name::File(_), Name::File(_)) => PREFIXES.len(),
        (Name::Nothing, _) | (_, Name::Nothing) => 2,
    };
    for (left, right) in PREFIXES.iter().take(known) {
        if let (Some(old), Some(new)) = (bare(&old, left), bare(&new, right)) {
            return (old, new);
        }
    }
    (old, new)
}

/// Whether one of two names is the other with what editors and `patch` put at the end of the name
/// of an older version; then the other.
pub(super) fn without_backup(old: Vec<u8>, new: Vec<u8>) -> Result<Vec<u8>, (Vec<u8>, Vec<u8>)> {
    let older = |name: &[u8], of: &[u8]| {
        name.strip_prefix(of)
            .is_some_and(|end| [&b""[..], b".orig", b"~"].contains(&end))
    };
    if older(&old, &new) {
        Ok(new)
    } else if older(&new, &old) {
        Ok(old)
    } else {
        Err((old, new))
    }
}

fn bare(name: &Name, prefix: &[u8]) -> Option<Name> {
    match name {
        Name::Nothing => Some(Name::Nothing),
        Name::File(name) => name
            .strip_prefix(prefix)
            .filter(|rest| !rest.is_empty())
            .map(|rest| Name::File(rest.to_vec())),
    }
}

/// The one name of a `diff --git` line, which is needed where no other line has it. Nothing when
/// its two names differ or cannot be told apart.
pub(super) fn of_git_line(text: &[u8]) -> Option<Vec<u8>> {
    let (old, new) = if text.starts_with(b"\"") {
        let (old, rest) = unquote(text)?;
        (old, whole(rest.strip_prefix(b" ")?)?)
    } else if let Some(at) = text.windows(2).position(|two| two == b" \"") {
        let (old, new) = text.split_at_checked(at)?;
        (old.to_vec(), whole(new.get(1..)?)?)
    } else {
        // Both are of one length: spaces in them need no quotes.
        let (old, new) = text.split_at_checked(text.len() / 2)?;
        (old.to_vec(), new.strip_prefix(b" ")?.to_vec())
    };
    let (old, new) = without_prefixes(Name::File(old), Name::File(new));
    match (old, new) {
        (Name::File(old), Name::File(new)) if old == new => Some(old),
        (Name::File(_) | Name::Nothing, _) => None,
    }
}

/// Reads a name in the quotes of git; gives what stands after it.
fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::with_capacity(rest.len());
    loop {
        match rest {
            [b'"', after @ ..] => return Some((name, after)),
            [
                b'\\',
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
                after @ ..,
            ] => {
                let digit = |byte: &u8| byte - b'0';
                name.push(digit(high) * 64 + digit(middle) * 8 + digit(low));
                rest = after;
            }
            [b'\\', letter, after @ ..] => {
                name.push(escaped(*letter)?);
                rest = after;
            }
            [byte, after @ ..] => {
                name.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

const fn escaped(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' => b'"',
        b'\\' => b'\\',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &[u8]) -> Option<Name> {
        Some(Name::File(name.to_vec()))
    }

    #[test]
    fn names_end_at_a_tab_unless_quoted() {
        let name = |text: &[u8]| Header::read(text).map(|header| header.name);
        assert_eq!(name(b"a/b c\t2026-01-01"), file(b"a/b c"));
        assert_eq!(name(b"/dev/null"), Some(Name::Nothing));
        assert_eq!(name(b"/dev/null\t1970"), Some(Name::Nothing));
        let quoted = br#""a/\303\251\t\"\\\377"	when"#;
        assert_eq!(name(quoted), file(b"a/\xc3\xa9\t\"\\\xff"));
        for bad in [&b"\"a"[..], b"\"a\\q\"", b"\"a\"b", b"\"a\\400\"", b"\"\\"] {
            assert_eq!(name(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn times_are_read_as_diff_writes_them() {
        for (text, time) in [
            ("1970-01-01 00:00:00.000000000 +0000", Time::Epoch),
            ("1970-01-01 01:00:00.000000000 +0100", Time::Epoch),
            ("1969-12-31 18:30:00.000000000 -0530", Time::Epoch),
            ("1970-01-01 00:00:00.000000000 +0100", Time::Whole),
            ("1970-01-01 00:00:00.000000001 +0000", Time::Exact),
            ("1970-01-01 00:00:01.000000000 +0000", Time::Whole),
            ("2026-11-30 16:46:53.028735185 +0000", Time::Exact),
            ("2026-11-30 16:46:53 +0000", Time::Unknown),
            ("(revision 12)", Time::Unknown),
            ("", Time::Unknown),
        ] {
            let line = format!("a/x\t{text}");
            assert_eq!(Header::read(line.as_bytes()).unwrap().time, time, "{text}");
        }
    }

    #[test]
    fn an_older_version_has_the_name_of_its_file() {
        let one = |old: &[u8], new: &[u8]| without_backup(old.to_vec(), new.to_vec()).ok();
        assert_eq!(one(b"x", b"x"), Some(b"x".to_vec()));
        assert_eq!(one(b"x.orig", b"x"), Some(b"x".to_vec()));
        assert_eq!(one(b"x", b"x~"), Some(b"x".to_vec()));
        assert_eq!(one(b"x", b"xy"), None);
        assert_eq!(one(b"x", b"y"), None);
    }

    #[test]
    fn prefixes_go_only_from_both() {
        let both = |old: &[u8], new: &[u8]| {
            without_prefixes(Name::File(old.to_vec()), Name::File(new.to_vec()))
        };
        let named = |name: &[u8]| Name::File(name.to_vec());
        assert_eq!(both(b"a/x", b"b/x"), (named(b"x"), named(b"x")));
        assert_eq!(both(b"a/x", b"a/x"), (named(b"a/x"), named(b"a/x")));
        assert_eq!(both(b"x", b"b/x"), (named(b"x"), named(b"b/x")));
        assert_eq!(both(b"a/", b"b/"), (named(b"a/"), named(b"b/")));
        assert_eq!(both(b"b/x", b"a/x"), (named(b"x"), named(b"x")));
        assert_eq!(both(b"i/x", b"w/x"), (named(b"x"), named(b"x")));
        assert_eq!(
            without_prefixes(named(b"i/x"), Name::Nothing),
            (named(b"i/x"), Name::Nothing)
        );
        let made = without_prefixes(Name::Nothing, named(b"b/x"));
        assert_eq!(made, (Name::Nothing, named(b"x")));
    }

    #[test]
    fn the_line_of_git_gives_one_name_or_none() {
        let one = |text: &[u8]| of_git_line(text);
        assert_eq!(one(b"a/x y b/x y"), Some(b"x y".to_vec()));
        assert_eq!(one(b"x x"), Some(b"x".to_vec()));
        assert_eq!(one(b"\"a/\\t\" \"b/\\t\""), Some(b"\t".to_vec()));
        assert_eq!(one(b"a/x b/y"), None);
        assert_eq!(one(b"a/x \"b/\\t\""), None);
        assert_eq!(one(b""), None);
    }
}
