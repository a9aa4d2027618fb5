//! What a tool answers, before it is put into the protocol's words.

use super::directories::{Directories, Place};
use crate::tools::Media;
use portcullis_client::Error;
use portcullis_client::protocol::refusal::Code;
use std::fmt;

/// An answer of a tool.
#[derive(Debug)]
pub(super) enum Answer {
    /// A text, and what has to be said beside it.
    Text { text: String, notes: Vec<String> },
    /// A file's bytes in base64, what it is, and its address.
    Media {
        kind: Media,
        data: String,
        address: String,
    },
}

impl Answer {
    /// A text with nothing beside it.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            notes: Vec::new(),
        }
    }
}

/// Why a call did not do what it was asked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The reference server has words for it.
    Said(String),
    /// The broker has.
    Broker(Box<Error>),
}

impl From<String> for Trouble {
    fn from(said: String) -> Self {
        Self::Said(said)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Broker(Box::new(error))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(said) => f.write_str(said),
            Self::Broker(error) => error.fmt(f),
        }
    }
}

/// What was done when it failed, in the words of the reference server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Open,
    Write,
    List,
    Look,
    MakeDirectory,
}

impl Doing {
    const fn word(self) -> &'static str {
        match self {
            Self::Open | Self::Write => "open",
            Self::List => "scandir",
            Self::Look => "stat",
            Self::MakeDirectory => "mkdir",
        }
    }
}

/// What is said of a directory where a file's content is wanted.
pub(super) const IS_A_DIRECTORY: &str = "EISDIR: illegal operation on a directory, read";

/// Why something was not done at a place. What the reference server has words for is said in
/// them; everything else in those of the broker, with its rule and remedy.
pub(super) fn failure(
    error: Error,
    doing: Doing,
    place: &Place,
    directories: &Directories,
) -> Trouble {
    let Some(code) = error.refusal().map(|refusal| refusal.code) else {
        return error.into();
    };
    let path = place.text();
    let word = doing.word();
    let known = match (code, doing) {
        (Code::NotFound, _) => format!("ENOENT: no such file or directory, {word} '{path}'"),
        (Code::NotADirectory, _) => format!("ENOTDIR: not a directory, {word} '{path}'"),
        (Code::IsADirectory, Doing::Open) => IS_A_DIRECTORY.to_owned(),
        (Code::IsADirectory, Doing::Write | Doing::List | Doing::Look | Doing::MakeDirectory) => {
            format!("EISDIR: illegal operation on a directory, {word} '{path}'")
        }
        (Code::Exists, _) => format!("EEXIST: file already exists, {word} '{path}'"),
        (Code::Permission, _) => format!("EACCES: permission denied, {word} '{path}'"),
        (Code::LinkLoop, _) => {
            format!("ELOOP: too many symbolic links encountered, {word} '{path}'")
        }
        (Code::NameTooLong, _) => format!("ENAMETOOLONG: name too long, {word} '{path}'"),
        // Where a link leads is nothing that may be told.
        (Code::Escape, _) => format!(
            "Access denied - symlink target outside allowed directories: {path} not in {}",
            directories.listed()
        ),
        _ => return error.into(),
    };
    Trouble::Said(known)
}
