//! What changes files: a change set, of one change or many, and the answer to it.

use super::Selector;
use super::edit::{EditFile, Matched, Region};
use crate::bounded::{Bytes, Few};
use crate::ledger::ReceiptId;
use crate::limits::{CHANGES_MAX, MATCHED_MAX, PATH_BYTES_MAX};
use crate::path::RelPath;
use crate::refusal::Refusal;
use crate::verb::Verb;
use crate::view::{Digest, PathState, Role, RootIndex, Stamp};
use serde::{Deserialize, Serialize};

/// Asks for changes, all of them or none. Every object is bound before the first is touched.
/// Changes of one name follow each other: each is judged by what the ones before it leave, and
/// only what all of them leave is made. One object may not be reached by two of its names. Content
/// they need comes behind the request or was uploaded before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// The changes, in the order they are made.
    pub changes: Few<Change, CHANGES_MAX>,
    /// Whether to do it.
    pub deed: Deed,
}

/// Whether a change set is done or only worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// Do it.
    Commit,
    /// Work out what it would do, with the difference; change nothing.
    DryRun,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Make a file or replace its content.
    Write(WriteFile),
    /// Replace parts of a file's content.
    Edit(EditFile),
    /// Make a directory.
    Mkdir(MakeDirectory),
    /// Give an object another name.
    Move(MoveObject),
    /// Remove an object.
    Delete(DeleteObject),
    /// Set permission bits.
    Chmod(SetMode),
    /// Make a symbolic link.
    Link(MakeLink),
}

impl Change {
    /// The verb that must be granted for it.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Write(_) => Verb::Write,
            Self::Edit(_) => Verb::Edit,
            Self::Mkdir(_) => Verb::Mkdir,
            Self::Move(_) => Verb::Move,
            Self::Delete(delete) => match delete.what {
                Deletion::File | Deletion::Directory => Verb::Delete,
                Deletion::Tree => Verb::DeleteTree,
            },
            Self::Chmod(_) => Verb::Chmod,
            Self::Link(_) => Verb::Link,
        }
    }
}

/// Bytes of the content behind the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// How many.
    pub len: u32,
}

impl Span {
    /// The bytes, if the content has them.
    pub fn of(self, content: &[u8]) -> Option<&[u8]> {
        let start = usize::try_from(self.start).ok()?;
        let len = usize::try_from(self.len).ok()?;
        content.get(start..)?.get(..len)
    }
}

/// Number of an upload, chosen by the client, unique among its open ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UploadId(pub u32);

/// Where the new content of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// Behind the request.
    Inline(Span),
    /// Uploaded before; used up when the change set is done.
    Upload(UploadId),
}

/// What a worker believes of an object. Another state is a conflict, before any change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expect {
    /// Nothing: whatever is there, or is not.
    Any,
    /// That nothing is there.
    Absent,
    /// This version.
    Version(Stamp),
    /// A file of this content, whatever its version.
    Content(Digest),
    /// What this session was shown whole, or wrote, and still has that content; or nothing, where
    /// nothing is. Where the content stays, or its loss is what is asked for (an edit, a move, a
    /// deletion, a change of bits), any part of it that was shown is enough.
    Seen,
}

/// Whether missing directories on the way are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Parents {
    /// They must be there.
    Exist,
    /// They are made; needs `mkdir` there.
    Make,
}

/// Makes a file or replaces its content. A replaced file keeps its permission bits, owner, group,
/// access list and extended attributes, but never set-id bits or capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteFile {
    /// The file. A link in the last component is followed to a file that exists.
    pub selector: Selector,
    /// The new content.
    pub source: Source,
    /// [`Expect::Absent`] makes a file and never replaces one; [`Expect::Any`] does either, seen
    /// or not. [`Expect::Version`] replaces only what the session was shown whole in that version,
    /// or in another of the same content.
    pub expect: Expect,
    /// Whether missing directories are made.
    pub parents: Parents,
    /// Permission bits, at most `0o777`; none is `0o644` for a new file and no change for one
    /// that is replaced.
    pub mode: Option<u16>,
}

/// Makes a directory, of mode `0o755` unless its parent's defaults say less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeDirectory {
    /// The directory.
    pub selector: Selector,
    /// With [`Parents::Make`] it may exist already, and missing directories on the way are made.
    pub parents: Parents,
}

/// Gives an object another name in the same root. Links are moved as links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveObject {
    /// What is moved.
    pub source: Selector,
    /// Its new name.
    pub destination: Selector,
    /// What the source must be.
    pub expect: Expect,
    /// What happens to an object that has the new name.
    pub onto: Onto,
    /// Whether missing directories on the way to the new name are made.
    pub parents: Parents,
}

/// What a move does to an object that has the new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Onto {
    /// The move is refused.
    Nothing,
    /// A file or link that is as expected is replaced; a directory never.
    Replace(Expect),
}

/// Removes an object. Links are removed as links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteObject {
    /// The object.
    pub selector: Selector,
    /// What it must be.
    pub expect: Expect,
    /// What may be removed.
    pub what: Deletion,
}

/// What a deletion may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deletion {
    /// A file or a link.
    File,
    /// An empty directory.
    Directory,
    /// A directory with everything below it; needs `delete-tree`.
    Tree,
}

/// Sets permission bits of a file or directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetMode {
    /// The object; a link in the last component is followed.
    pub selector: Selector,
    /// What it must be.
    pub expect: Expect,
    /// The bits, at most `0o777`.
    pub mode: u16,
}

/// Makes a symbolic link. Its text must be relative and lead to a place below the root: `..`
/// only at its beginning, and not above the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeLink {
    /// The link.
    pub selector: Selector,
    /// Its text.
    pub text: Bytes<PATH_BYTES_MAX>,
    /// Whether missing directories are made.
    pub parents: Parents,
}

/// A part of an upload: content for a file, kept in a temporary that no name leads to, in the
/// directory where the file is to be. Answered by `Uploaded`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Which upload.
    pub upload: UploadId,
    /// The file it is for.
    pub selector: Selector,
    /// Bytes uploaded before this part; 0 starts it, again too.
    pub offset: u64,
}

/// A part of a change set that one frame does not hold: the set and the content behind it, as
/// [`encode_composed`](crate::session::encode_composed) writes them, in the gate's memory. Answered
/// by `Composed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compose {
    /// Bytes sent before this part; 0 starts it, and forgets what was there.
    pub offset: u64,
}

/// What was composed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Composed {
    /// Its bytes.
    pub bytes: u64,
}

/// Asks for the change set that was composed; it is used up when an effect was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeComposed {
    /// How many of its first bytes are the set; the rest is content.
    pub set: u32,
}

/// Forgets an upload. Answered by `Uploaded`, of 0 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropUpload {
    /// Which.
    pub upload: UploadId,
}

/// A part is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// Which upload.
    pub upload: UploadId,
    /// Bytes uploaded so far.
    pub bytes: u64,
}

/// One name a change set touches, with what is there before and after. A move touches two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Touched {
    /// By which verb.
    pub verb: Verb,
    /// The root.
    pub root: RootIndex,
    /// The canonical path below the root.
    pub path: RelPath,
    /// What was there.
    pub before: PathState,
    /// What is there now, or would be.
    pub after: PathState,
}

impl Touched {
    /// The part this name plays in its operation.
    pub const fn role(&self) -> Role {
        match (self.verb, &self.after) {
            (Verb::Move, PathState::Absent) => Role::Source,
            (Verb::Move, PathState::Present(_) | PathState::Unknown) => Role::Destination,
            (Verb::Stat | Verb::Read, _) => Role::Source,
            (Verb::List | Verb::Glob | Verb::Search, _) => Role::SearchRoot,
            (
                Verb::Write
                | Verb::Edit
                | Verb::Mkdir
                | Verb::Delete
                | Verb::DeleteTree
                | Verb::Chmod
                | Verb::Link,
                _,
            ) => Role::Target,
        }
    }
}

/// Most names one change set may touch: a move two, and each directory made on the way one.
pub const TOUCHED_MAX: usize = 2 * CHANGES_MAX + crate::limits::PARENTS_MAX;

/// What a change set would do. Nothing was changed. Behind it comes the difference, as a unified
/// diff of what the session may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Every name it would touch.
    pub touched: Few<Touched, TOUCHED_MAX>,
    /// Where its edits matched, and by which tier.
    pub matched: Few<Matched, MATCHED_MAX>,
    /// Places that matched and are not told.
    pub matched_cut: u64,
    /// Bytes of the difference that did not fit.
    pub diff_cut: u64,
}

/// How an effect ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// All of it happened.
    Done,
    /// Nothing was changed, provably.
    Failed,
    /// It is not known what of it happened; the state of each name says what was seen.
    Uncertain,
}

impl Outcome {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Uncertain => "uncertain",
        }
    }
}

/// How sure it is that no other process's version was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Guarantee {
    /// The kernel held writers off, or nothing was there to lose.
    Exact,
    /// What was displaced was looked at afterwards and is what was expected.
    Detected,
    /// Neither could be had.
    BestEffort,
}

impl Guarantee {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Detected => "detected",
            Self::BestEffort => "best-effort",
        }
    }
}

/// The end of a change set that was begun: its receipt. Behind it comes the difference of one that
/// is done, as a unified diff of what the session may read; or, of one that failed for what an
/// object has become, what [`Self::region`] says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The receipt.
    pub receipt: ReceiptId,
    /// How it ended.
    pub outcome: Outcome,
    /// The least sure of its changes.
    pub guarantee: Guarantee,
    /// Every name it touched, with what is there now.
    pub touched: Few<Touched, TOUCHED_MAX>,
    /// Why it is not done.
    pub refusal: Option<Refusal>,
    /// Temporaries that could not be removed.
    pub left: u32,
    /// Where its edits matched, and by which tier.
    pub matched: Few<Matched, MATCHED_MAX>,
    /// Places that matched and are not told.
    pub matched_cut: u64,
    /// Bytes of the difference that did not fit.
    pub diff_cut: u64,
    /// What is behind it, when it failed for what an object has become.
    pub region: Option<Region>,
}
