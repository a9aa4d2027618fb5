//! Names below a root: parsed once, then never looked at as text again.

use crate::bounded::{BytesVisitor, Text, TextError};
use crate::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Why bytes are not a name or a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing at all; `.` names the root itself.
    #[error("the empty string names nothing; `.` is the root itself")]
    Empty,
    /// It holds a zero byte.
    #[error("a name cannot hold a zero byte")]
    ZeroByte,
    /// One name is longer than [`NAME_BYTES_MAX`].
    #[error("a name has at most {NAME_BYTES_MAX} bytes")]
    NameTooLong,
    /// The path is longer than [`PATH_BYTES_MAX`].
    #[error("a path has at most {PATH_BYTES_MAX} bytes")]
    PathTooLong,
    /// A component is `.`, `..` or empty where a plain name is wanted.
    #[error("not a plain name")]
    NotPlain,
}

/// Holding a `RelPath` means: zero or more names joined by single slashes, none of them empty,
/// `.` or `..`, none with a zero byte or longer than [`NAME_BYTES_MAX`], [`PATH_BYTES_MAX`] bytes
/// in all. The empty path is the root itself. It says nothing of what exists.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// The root itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The root itself, with room for a path of `bytes` bytes to be pushed.
    pub fn with_room(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Reads a path whose every component is a plain name.
    pub fn parse(bytes: &[u8]) -> Result<Self, NameError> {
        if bytes.len() > PATH_BYTES_MAX {
            return Err(NameError::PathTooLong);
        }
        // Most are plain, and one look shows it; what is wrong with another one, its names say.
        if !bytes.is_empty() && !is_plain(bytes) {
            for name in bytes.split(|b| *b == b'/') {
                check_name(name)?;
            }
        }
        Ok(Self(bytes.to_vec()))
    }

    /// A copy with room for one more name to be pushed.
    pub fn with_room_for_name(&self) -> Self {
        let mut path = Self::with_room(self.0.len() + 1 + NAME_BYTES_MAX);
        path.0.extend_from_slice(&self.0);
        path
    }

    /// The path one name deeper.
    pub fn join(&self, name: &[u8]) -> Result<Self, NameError> {
        let mut path = self.clone();
        path.push(name)?;
        Ok(path)
    }

    /// Goes one name deeper in place.
    pub fn push(&mut self, name: &[u8]) -> Result<(), NameError> {
        check_name(name)?;
        let slash = usize::from(!self.0.is_empty());
        if self.0.len() + slash + name.len() > PATH_BYTES_MAX {
            return Err(NameError::PathTooLong);
        }
        if slash == 1 {
            self.0.push(b'/');
        }
        self.0.extend_from_slice(name);
        Ok(())
    }

    /// Goes up one name; false at the root.
    pub fn pop(&mut self) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let keep = self.0.iter().rposition(|b| *b == b'/').unwrap_or(0);
        self.0.truncate(keep);
        true
    }

    /// The names, outermost first.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|name| !name.is_empty())
    }

    /// The last name, if this is not the root.
    pub fn last(&self) -> Option<&[u8]> {
        self.names().next_back()
    }

    /// What is left below `prefix`, if this path is `prefix` or below it.
    pub fn below(&self, prefix: &Self) -> Option<&[u8]> {
        if prefix.is_root() {
            return Some(&self.0);
        }
        match self.0.strip_prefix(prefix.0.as_slice())? {
            [] => Some(&[]),
            [b'/', rest @ ..] => Some(rest),
            [..] => None,
        }
    }

    /// True for the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes; empty for the root.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as a system call wants them: `.` for the root.
    pub fn as_kernel_bytes(&self) -> &[u8] {
        if self.0.is_empty() { b"." } else { &self.0 }
    }
}

/// Whether [`check_name`] accepts all names of a path.
fn is_plain(path: &[u8]) -> bool {
    let has_zero = path.iter().fold(false, |has, byte| has | (*byte == 0));
    !has_zero
        && path.split(|byte| *byte == b'/').all(|name| match name {
            [] | [b'.'] | [b'.', b'.'] => false,
            name => name.len() <= NAME_BYTES_MAX,
        })
}

fn check_name(name: &[u8]) -> Result<(), NameError> {
    match name {
        [] | [b'.'] | [b'.', b'.'] => Err(NameError::NotPlain),
        name if name.len() > NAME_BYTES_MAX => Err(NameError::NameTooLong),
        // One look for both, without an end in between, so that many bytes are looked at at once.
        name if !name.iter().fold(false, |is, b| is | matches!(b, 0 | b'/')) => Ok(()),
        name if name.contains(&0) => Err(NameError::ZeroByte),
        [..] => Err(NameError::NotPlain),
    }
}

impl fmt::Display for RelPath {
    /// Shows every byte: printable ones as they are, others escaped. `.` for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(self.as_kernel_bytes()))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_bytes(BytesVisitor)?;
        Self::parse(bytes).map_err(D::Error::custom)
    }
}

/// Shows bytes as text that can neither move a cursor nor be mistaken for another name: valid
/// UTF-8 without control or invisible characters stays; a backslash is doubled; everything else
/// is `\xNN` for each byte. [`unescape`] gives the bytes back.
pub fn escape(bytes: &[u8]) -> String {
    escaped(bytes).into_owned()
}

/// The same, without a copy of what stays as it is: most names are printable ASCII.
pub fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(plain) => Cow::Borrowed(text),
        Ok(_) | Err(_) => Cow::Owned(escaped_by_char(bytes)),
    }
}

fn escaped_by_char(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                shown.push_str("\\\\");
            } else if c.is_control() || is_invisible(c) {
                let mut utf8 = [0; 4];
                for byte in c.encode_utf8(&mut utf8).bytes() {
                    push_hex(&mut shown, byte);
                }
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            push_hex(&mut shown, *byte);
        }
    }
    shown
}

fn push_hex(text: &mut String, byte: u8) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    text.push_str("\\x");
    for half in [byte >> 4, byte & 15] {
        text.push(DIGITS.get(usize::from(half)).copied().unwrap_or('?'));
    }
}

/// Reads what [`escape`] wrote. A backslash that starts no escape is refused, so that no two
/// texts of one name exist by accident.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', tail @ ..] => {
                bytes.push(b'\\');
                rest = tail;
            }
            [b'\\', b'x', high, low, tail @ ..] => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let byte = digit(*high)? * 16 + digit(*low)?;
                bytes.push(u8::try_from(byte).ok()?);
                rest = tail;
            }
            [b'\\', ..] => return None,
            [byte, tail @ ..] => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
}

/// Characters that take no room on a screen or reorder their neighbours, so that two names look
/// alike with and without them. Denials ignore them; messages show them escaped.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// One step of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Into this name.
    Down(&'a [u8]),
    /// `..`
    Up,
}

/// Where a selector starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Below a root.
    Root,
    /// It began with a slash: a root's label, or a host path that may lie beneath one.
    Slash,
}

/// What a selector says of its object's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Anything.
    Any,
    /// It ended in `/` or `/.`: only a directory will do.
    Directory,
}

/// A selector, parsed: what a worker wrote, as steps. It proves nothing but its own syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// Where it starts.
    pub start: Start,
    /// Its steps; `.` and empty components are gone.
    pub steps: Vec<Step<'a>>,
    /// What its end asks for.
    pub want: Want,
}

/// Reads a selector. `./a`, `a//b` and `a/./b` are canonical forms of `a` and `a/b`; `..` stays
/// a step, because what it means depends on links.
pub fn parse_selector(bytes: &[u8]) -> Result<Parsed<'_>, NameError> {
    if bytes.is_empty() {
        return Err(NameError::Empty);
    }
    if bytes.contains(&0) {
        return Err(NameError::ZeroByte);
    }
    let mut steps = Vec::with_capacity(8);
    let mut down_bytes = 0;
    for name in bytes.split(|b| *b == b'/') {
        match name {
            [] | [b'.'] => {}
            [b'.', b'.'] => steps.push(Step::Up),
            name if name.len() > NAME_BYTES_MAX => return Err(NameError::NameTooLong),
            name => {
                down_bytes += name.len() + 1;
                steps.push(Step::Down(name));
            }
        }
    }
    let ups = steps.iter().any(|step| matches!(step, Step::Up));
    if !ups && down_bytes > PATH_BYTES_MAX + 1 {
        return Err(NameError::PathTooLong);
    }
    let start = if bytes.first() == Some(&b'/') {
        Start::Slash
    } else {
        Start::Root
    };
    let last = bytes.rsplit(|b| *b == b'/').next().unwrap_or_default();
    let want = match last {
        b"" | b".." => Want::Directory,
        b"." if bytes.len() > 1 => Want::Directory,
        _ => Want::Any,
    };
    Ok(Parsed { start, steps, want })
}

/// The name of a root inside one session, as `/label/…` or in an explicit root field: printable,
/// no slash, not `.` or `..`, at most [`LABEL_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Text<LABEL_BYTES_MAX>", into = "Text<LABEL_BYTES_MAX>")]
pub struct Label(Text<LABEL_BYTES_MAX>);

/// Why a text is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Too long, or a control character.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Empty, `.`, `..`, or with a slash.
    #[error("a label is one plain name")]
    NotPlain,
}

impl Label {
    /// Takes `text`, or says why it is no label.
    pub fn new(text: impl Into<String>) -> Result<Self, LabelError> {
        Self::try_from(Text::new(text)?)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<Text<LABEL_BYTES_MAX>> for Label {
    type Error = LabelError;
    fn try_from(text: Text<LABEL_BYTES_MAX>) -> Result<Self, LabelError> {
        check_name(text.as_str().as_bytes()).map_err(|_| LabelError::NotPlain)?;
        Ok(Self(text))
    }
}

impl From<Label> for Text<LABEL_BYTES_MAX> {
    fn from(label: Label) -> Self {
        label.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_only() {
        for bad in [
            &b"a//b"[..],
            b"/a",
            b"a/",
            b".",
            b"..",
            b"a/../b",
            b"a/./b",
            b"a\0b",
        ] {
            assert!(RelPath::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RelPath::parse(&[b'a'; 255]).unwrap().names().count(), 1);
        assert_eq!(RelPath::parse(&[b'a'; 256]), Err(NameError::NameTooLong));
    }

    #[test]
    fn below_is_by_component_not_by_prefix() {
        let path = |text: &str| RelPath::parse(text.as_bytes()).unwrap();
        assert_eq!(path("proj/x").below(&path("proj")), Some(&b"x"[..]));
        assert_eq!(path("proj").below(&path("proj")), Some(&b""[..]));
        assert_eq!(path("proj-evil/x").below(&path("proj")), None);
        assert_eq!(path("a").below(&RelPath::root()), Some(&b"a"[..]));
    }

    #[test]
    fn selectors_keep_dotdot_and_drop_noise() {
        let parsed = parse_selector(b".//a/./b//../c/").unwrap();
        assert_eq!(
            parsed.steps,
            [
                Step::Down(b"a"),
                Step::Down(b"b"),
                Step::Up,
                Step::Down(b"c")
            ]
        );
        assert_eq!((parsed.start, parsed.want), (Start::Root, Want::Directory));
        for (written, want) in [
            (&b"notes.."[..], Want::Any),
            (b"a/...", Want::Any),
            (b"a.", Want::Any),
            (b".", Want::Any),
            (b"a/.", Want::Directory),
            (b"a/..", Want::Directory),
            (b"..", Want::Directory),
            (b"a//", Want::Directory),
        ] {
            assert_eq!(parse_selector(written).unwrap().want, want, "{written:?}");
        }
        assert_eq!(parse_selector(b""), Err(NameError::Empty));
        assert_eq!(parse_selector(b"a\0"), Err(NameError::ZeroByte));
        assert_eq!(parse_selector(&[b'n'; 256]), Err(NameError::NameTooLong));
        assert!(parse_selector(&[b'n'; 255]).is_ok());
    }

    proptest! {
        #[test]
        fn escape_is_reversible(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let shown = escape(&bytes);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert_eq!(&shown, &escaped_by_char(&bytes));
            prop_assert_eq!(unescape(&shown), Some(bytes));
        }

        #[test]
        fn one_look_at_a_path_says_what_its_names_say(
            bytes in prop::collection::vec(prop::sample::select(&b"aa./\0"[..]), 1..12),
            long in 250_usize..260,
        ) {
            for path in [bytes.clone(), [&bytes[..], &vec![b'x'; long][..]].concat()] {
                let mut names = path.split(|byte| *byte == b'/');
                prop_assert_eq!(is_plain(&path), names.all(|name| check_name(name).is_ok()));
                prop_assert_eq!(is_plain(&path), RelPath::parse(&path).is_ok());
            }
        }

        #[test]
        fn pop_undoes_push(names in prop::collection::vec("[a-z]{1,8}", 0..8)) {
            let mut path = RelPath::root();
            for name in &names {
                path.push(name.as_bytes()).unwrap();
            }
            prop_assert_eq!(RelPath::parse(path.as_bytes()).unwrap(), path.clone());
            for _ in &names {
                prop_assert!(path.pop());
            }
            prop_assert!(path.is_root() && !path.pop());
        }
    }
}
