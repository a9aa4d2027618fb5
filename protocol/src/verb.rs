//! What can be asked for, and sets of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One kind of operation on files. A grant and a denial name verbs; a request has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verb {
    /// Type, size, times and the text of a link.
    Stat,
    /// Bytes and lines of regular files.
    Read,
    /// Names below a directory.
    List,
    /// Names below a directory that match a pattern.
    Glob,
    /// Lines of files below a directory that match a pattern.
    Search,
}

/// What a verb does to the tree, which is how the built-in denials are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Shows content.
    Read,
    /// Shows names and metadata.
    List,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 5] = [Self::Stat, Self::Read, Self::List, Self::Glob, Self::Search];

    /// What it does to the tree.
    pub const fn access(self) -> Access {
        match self {
            Self::Read | Self::Search => Access::Read,
            Self::Stat | Self::List | Self::Glob => Access::List,
        }
    }

    /// Its name, as commands and messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Read => "read",
            Self::List => "list",
            Self::Glob => "glob",
            Self::Search => "search",
        }
    }

    /// The verb of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }

    const fn bit(self) -> u32 {
        match self {
            Self::Stat => 1,
            Self::Read => 1 << 1,
            Self::List => 1 << 2,
            Self::Glob => 1 << 3,
            Self::Search => 1 << 4,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of verbs. There is no union on purpose: sets of a grant only meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct VerbSet(u32);

impl VerbSet {
    /// No verb.
    pub const NONE: Self = Self(0);
    /// Every verb that changes nothing.
    pub const READING: Self = Self::of(&Verb::ALL);
    /// The verbs that show content.
    pub const CONTENT: Self = Self::of(&[Verb::Read, Verb::Search]);

    /// The set of these verbs.
    pub const fn of(verbs: &[Verb]) -> Self {
        let mut bits = 0;
        let mut rest = verbs;
        while let [verb, tail @ ..] = rest {
            bits |= verb.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// True when `verb` is in the set.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 & verb.bit() != 0
    }

    /// The verbs in both sets.
    pub const fn meet(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True when every verb of `self` is in `other`.
    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// True for no verb.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The verbs, in the order of [`Verb::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |verb| self.has(*verb))
    }
}

impl fmt::Debug for VerbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for VerbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, verb) in self.iter().enumerate() {
            write!(f, "{}{verb}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A number with bits that name no verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bits that name no verb")]
pub struct UnknownVerbs;

impl TryFrom<u32> for VerbSet {
    type Error = UnknownVerbs;
    fn try_from(bits: u32) -> Result<Self, UnknownVerbs> {
        if bits & !Self::READING.0 != 0 {
            Err(UnknownVerbs)
        } else {
            Ok(Self(bits))
        }
    }
}

impl From<VerbSet> for u32 {
    fn from(set: VerbSet) -> Self {
        set.0
    }
}
