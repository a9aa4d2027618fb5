//! From a path argument to a selector.

use crate::ask;
use crate::error::Error;
use portcullis_protocol::path::{Label, escape, unescape};
use portcullis_protocol::session::Selector;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// How path arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Byte for byte.
    Bytes,
    /// As this tool shows them.
    Escaped,
}

/// The root that the paths of this command are in, and how they are written.
#[derive(Debug)]
pub(super) struct Place {
    root: Option<Label>,
    spelling: Spelling,
}

impl Place {
    pub(super) fn new(root: Option<Label>, spelling: Spelling) -> Self {
        Self { root, spelling }
    }

    /// An argument as it is shown to people.
    pub(super) fn shown(&self, path: &OsStr) -> String {
        let named = self.bytes(path);
        escape(named.as_deref().unwrap_or(path.as_bytes()))
    }

    /// The selector of an argument.
    pub(super) fn selector(&self, path: &OsStr) -> Result<Selector, Error> {
        let bytes = self.named(path)?;
        match &self.root {
            Some(root) => ask::selector_in(root.clone(), bytes),
            None => ask::selector(bytes),
        }
    }

    /// The root that is named, if one is.
    pub(super) fn root(&self) -> Option<&Label> {
        self.root.as_ref()
    }

    /// The bytes of an argument that is no path, written as paths are.
    pub(super) fn named<'a>(&self, text: &'a OsStr) -> Result<Cow<'a, [u8]>, Error> {
        self.bytes(text).ok_or_else(badly_written)
    }

    /// The bytes an argument names, if it is written well.
    fn bytes<'a>(&self, path: &'a OsStr) -> Option<Cow<'a, [u8]>> {
        match self.spelling {
            Spelling::Bytes => Some(Cow::Borrowed(path.as_bytes())),
            Spelling::Escaped => path.to_str().and_then(unescape).map(Cow::Owned),
        }
    }
}

fn badly_written() -> Error {
    Error::invalid("escapes are \\xNN and \\\\: copy the name as it was shown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(spelling: Spelling, written: &[u8]) -> Option<Vec<u8>> {
        let selector = Place::new(None, spelling).selector(OsStr::from_bytes(written));
        selector.ok().map(|selector| selector.path.into_vec())
    }

    #[test]
    fn paths_keep_their_bytes() {
        let raw = b"a\xff\n\\x41".to_vec();
        assert_eq!(path(Spelling::Bytes, &raw), Some(raw));
    }

    #[test]
    fn a_shown_name_can_be_given_back() {
        let shown = escape(b"bad-\xff\n\\");
        let back = path(Spelling::Escaped, shown.as_bytes());
        assert_eq!(back, Some(b"bad-\xff\n\\".to_vec()));
        let place = Place::new(None, Spelling::Escaped);
        assert_eq!(place.shown(OsStr::new(&shown)), shown, "not escaped twice");
        assert_eq!(path(Spelling::Escaped, b"a\\q"), None);
        assert_eq!(
            path(Spelling::Escaped, b"a\xff"),
            None,
            "shown names are text"
        );
    }
}
