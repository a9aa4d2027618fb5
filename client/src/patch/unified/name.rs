//! Names in the headers of diffs.

/// What a header names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`: there is no file on this side.
    Nothing,
    /// This one, with a prefix where it was written with one.
    File(Vec<u8>),
}

impl Name {
    /// What stands after `--- ` or `+++ `; a tab ends a name that is not quoted. Nothing when the
    /// quotes are damaged.
    pub(super) fn of_header(text: &[u8]) -> Option<Self> {
        let name = if text.starts_with(b"\"") {
            let (name, rest) = unquote(text)?;
            if !matches!(rest, [] | [b'\t', ..]) {
                return None;
            }
            name
        } else {
            let end = text.iter().position(|byte| *byte == b'\t');
            text.get(..end.unwrap_or(text.len()))?.to_vec()
        };
        Some(if name == b"/dev/null" {
            Self::Nothing
        } else {
            Self::File(name)
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

/// Takes `a/` and `b/` away where both sides carry them; a side without a file carries anything.
pub(super) fn without_prefixes(old: Name, new: Name) -> (Name, Name) {
    let bare_old = bare(&old, b"a/");
    let bare_new = bare(&new, b"b/");
    match (bare_old, bare_new) {
        (Some(old), Some(new)) => (old, new),
        (None, _) | (_, None) => (old, new),
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
        assert_eq!(Name::of_header(b"a/b c\t2026-01-01"), file(b"a/b c"));
        assert_eq!(Name::of_header(b"/dev/null"), Some(Name::Nothing));
        assert_eq!(Name::of_header(b"/dev/null\t1970"), Some(Name::Nothing));
        let quoted = br#""a/\303\251\t\"\\\377"	when"#;
        assert_eq!(Name::of_header(quoted), file(b"a/\xc3\xa9\t\"\\\xff"));
        for bad in [&b"\"a"[..], b"\"a\\q\"", b"\"a\"b", b"\"a\\400\"", b"\"\\"] {
            assert_eq!(Name::of_header(bad), None, "{bad:?}");
        }
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
