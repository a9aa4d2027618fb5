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
    /// A file made, or its whole content replaced.
    Write,
    /// Parts of a file's content replaced. Needs `read` as well, because it shows what matched.
    Edit,
    /// A directory made.
    Mkdir,
    /// An object given another name. Needed where it was and where it comes to be.
    Move,
    /// A file, a link or an empty directory removed.
    Delete,
    /// A directory removed with everything below it.
    DeleteTree,
    /// Permission bits of a file or directory set.
    Chmod,
    /// A symbolic link made.
    Link,
}

/// What a verb does to the tree, which is how the built-in denials are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Shows content.
    Read,
    /// Shows names and metadata.
    List,
    /// Changes content, names or metadata.
    Write,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 13] = [
        Self::Stat,
        Self::Read,
        Self::List,
        Self::Glob,
        Self::Search,
        Self::Write,
        Self::Edit,
        Self::Mkdir,
        Self::Move,
        Self::Delete,
        Self::DeleteTree,
        Self::Chmod,
        Self::Link,
    ];

    /// What it does to the tree.
    pub const fn access(self) -> Access {
        match self {
            Self::Read | Self::Search => Access::Read,
            Self::Stat | Self::List | Self::Glob => Access::List,
            Self::Write
            | Self::Edit
            | Self::Mkdir
            | Self::Move
            | Self::Delete
            | Self::DeleteTree
            | Self::Chmod
            | Self::Link => Access::Write,
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
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Mkdir => "mkdir",
            Self::Move => "move",
            Self::Delete => "delete",
            Self::DeleteTree => "delete-tree",
            Self::Chmod => "chmod",
            Self::Link => "link",
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
            Self::Write => 1 << 5,
            Self::Edit => 1 << 6,
            Self::Mkdir => 1 << 7,
            Self::Move => 1 << 8,
            Self::Delete => 1 << 9,
            Self::DeleteTree => 1 << 10,
            Self::Chmod => 1 << 11,
            Self::Link => 1 << 12,
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
    /// Every verb.
    pub const ALL: Self = Self::of(&Verb::ALL);
    /// Every verb that changes nothing.
    pub const READING: Self =
        Self::of(&[Verb::Stat, Verb::Read, Verb::List, Verb::Glob, Verb::Search]);
    /// Every verb that changes something.
    pub const WRITING: Self = Self(Self::ALL.0 & !Self::READING.0);
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
        if bits & !Self::ALL.0 != 0 {
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

/// A way of using a verb that a grant can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// `write` of a file that was not there.
    WriteNew,
    /// `write` of a file that was there.
    WriteOver,
    /// `move` to a name that was free.
    MoveNew,
    /// `move` to a name that was taken.
    MoveOver,
    /// `delete` of a file or a link.
    DeleteFile,
    /// `delete` of an empty directory.
    DeleteDirectory,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 6] = [
        Self::WriteNew,
        Self::WriteOver,
        Self::MoveNew,
        Self::MoveOver,
        Self::DeleteFile,
        Self::DeleteDirectory,
    ];

    /// The verb it is a way of.
    pub const fn verb(self) -> Verb {
        match self {
            Self::WriteNew | Self::WriteOver => Verb::Write,
            Self::MoveNew | Self::MoveOver => Verb::Move,
            Self::DeleteFile | Self::DeleteDirectory => Verb::Delete,
        }
    }

    /// Its name, as policies and messages spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteNew => "write:new",
            Self::WriteOver => "write:over",
            Self::MoveNew => "move:new",
            Self::MoveOver => "move:over",
            Self::DeleteFile => "delete:file",
            Self::DeleteDirectory => "delete:directory",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    const fn bit(self) -> u32 {
        match self {
            Self::WriteNew => 1,
            Self::WriteOver => 1 << 1,
            Self::MoveNew => 1 << 2,
            Self::MoveOver => 1 << 3,
            Self::DeleteFile => 1 << 4,
            Self::DeleteDirectory => 1 << 5,
        }
    }
}

/// A set of modes. There is no union, as of verbs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct ModeSet(u32);

impl ModeSet {
    /// Every mode.
    pub const ALL: Self = Self::of(&Mode::ALL);

    /// The set of these modes.
    pub const fn of(modes: &[Mode]) -> Self {
        let mut bits = 0;
        let mut rest = modes;
        while let [mode, tail @ ..] = rest {
            bits |= mode.bit();
            rest = tail;
        }
        Self(bits)
    }

    /// True when `mode` is in the set.
    pub const fn has(self, mode: Mode) -> bool {
        self.0 & mode.bit() != 0
    }

    /// The modes in both sets.
    pub const fn meet(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True when every mode of `self` is in `other`.
    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The modes of these verbs.
    #[must_use]
    pub fn of_verbs(self, verbs: VerbSet) -> Self {
        let modes: Vec<Mode> = self.iter().filter(|mode| verbs.has(mode.verb())).collect();
        Self::of(&modes)
    }

    /// The modes, in the order of [`Mode::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        Mode::ALL.into_iter().filter(move |mode| self.has(*mode))
    }
}

impl VerbSet {
    /// The verbs that have no modes, or one of these.
    #[must_use]
    pub fn with_modes(self, modes: ModeSet) -> Self {
        let usable = |verb: &Verb| {
            let mut of_verb = Mode::ALL.into_iter().filter(|mode| mode.verb() == *verb);
            let first = of_verb.next();
            first.is_none() || first.into_iter().chain(of_verb).any(|mode| modes.has(mode))
        };
        let verbs: Vec<Verb> = self.iter().filter(usable).collect();
        Self::of(&verbs)
    }
}

impl fmt::Debug for ModeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A number with bits that name no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bits that name no mode")]
pub struct UnknownModes;

impl TryFrom<u32> for ModeSet {
    type Error = UnknownModes;
    fn try_from(bits: u32) -> Result<Self, UnknownModes> {
        if bits & !Self::ALL.0 != 0 {
            Err(UnknownModes)
        } else {
            Ok(Self(bits))
        }
    }
}

impl From<ModeSet> for u32 {
    fn from(set: ModeSet) -> Self {
        set.0
    }
}
