//! The keys of one object, each taken once; what is left is not known here.

use super::super::{PatchError, shown};
use super::node::{Flag, Node};

/// An object that is being read.
pub(super) struct Fields {
    /// Where it begins, for messages.
    line: usize,
    /// What it is, for messages: empty for a whole document.
    what: String,
    left: Vec<(String, Node)>,
}

impl Fields {
    pub(super) fn new(line: usize, what: String, node: Node) -> Result<Self, PatchError> {
        match node {
            Node::Object(left) => Ok(Self { line, what, left }),
            other @ (Node::Null
            | Node::Flag(_)
            | Node::Number(_)
            | Node::Text(_)
            | Node::List(_)) => Err(PatchError::new(
                line,
                format!(
                    "{what}an edit is an object, `{{…}}`; here is {}",
                    other.kind()
                ),
            )),
        }
    }

    pub(super) const fn line(&self) -> usize {
        self.line
    }

    /// An error about this object.
    pub(super) fn wrong(&self, said: impl std::fmt::Display) -> PatchError {
        PatchError::new(self.line, format!("{}{said}", self.what))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.left.iter().any(|(known, _)| known == key)
    }

    fn take(&mut self, key: &str) -> Option<Node> {
        let at = self.left.iter().position(|(known, _)| known == key)?;
        Some(self.left.swap_remove(at).1)
    }

    /// A text, when it is there.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, PatchError> {
        match self.take(key) {
            None => Ok(None),
            Some(Node::Text(text)) => Ok(Some(text)),
            Some(
                other @ (Node::Null
                | Node::Flag(_)
                | Node::Number(_)
                | Node::List(_)
                | Node::Object(_)),
            ) => Err(self.kind(key, "a text", &other)),
        }
    }

    /// A text that must be there.
    pub(super) fn wanted(&mut self, key: &str) -> Result<String, PatchError> {
        self.text(key)?
            .ok_or_else(|| self.wrong(format_args!("`{key}` is missing")))
    }

    /// `true` or `false`; no when it is not there.
    pub(super) fn flag(&mut self, key: &str) -> Result<Flag, PatchError> {
        match self.take(key) {
            None => Ok(Flag::No),
            Some(Node::Flag(flag)) => Ok(flag),
            Some(
                other @ (Node::Null
                | Node::Text(_)
                | Node::Number(_)
                | Node::List(_)
                | Node::Object(_)),
            ) => Err(self.kind(key, "true or false, without quotes,", &other)),
        }
    }

    /// A whole number from 0, when it is there.
    pub(super) fn number(&mut self, key: &str) -> Result<Option<u64>, PatchError> {
        match self.take(key) {
            None => Ok(None),
            Some(Node::Number(Some(number))) => Ok(Some(number)),
            Some(Node::Number(None)) => Err(self.wrong(format_args!(
                "`{key}` is a whole number, not negative and without a point"
            ))),
            Some(
                other @ (Node::Null
                | Node::Flag(_)
                | Node::Text(_)
                | Node::List(_)
                | Node::Object(_)),
            ) => Err(self.kind(key, "a number, without quotes,", &other)),
        }
    }

    /// A list, when it is there.
    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<Node>>, PatchError> {
        match self.take(key) {
            None => Ok(None),
            Some(Node::List(list)) => Ok(Some(list)),
            Some(
                other @ (Node::Null
                | Node::Flag(_)
                | Node::Text(_)
                | Node::Number(_)
                | Node::Object(_)),
            ) => Err(self.kind(key, "a list, `[…]`,", &other)),
        }
    }

    fn kind(&self, key: &str, wanted: &str, found: &Node) -> PatchError {
        let found = found.kind();
        self.wrong(format_args!("`{key}` is {wanted} and here it is {found}"))
    }

    /// Ends the reading: `known` are the keys that an edit of this kind has.
    pub(super) fn done(self, known: &str) -> Result<(), PatchError> {
        match self.left.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.wrong(format_args!(
                "the key `{}` is not known in this kind of edit, which has {known}",
                shown(key.as_bytes())
            ))),
        }
    }
}
