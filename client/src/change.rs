//! A change set as a worker builds it: with its bytes, wherever they will travel.

mod eol;
mod pack;
mod pipe;
mod send;

pub use eol::{Eol, NoText};
pub use send::{Made, Plan};

use crate::error::Error;
pub use portcullis_protocol::anchor::Anchor;
use portcullis_protocol::bounded::{Bytes, Few};
pub use portcullis_protocol::session::{Count, Edges, Tier, Tiers};
use portcullis_protocol::session::{
    DeleteObject, Deletion, Expect, MakeDirectory, MakeLink, MoveObject, Onto, Parents, Selector,
    SetMode, UploadId,
};

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes. They travel with the change, or before it where there is no room or they are
    /// many.
    Bytes(Vec<u8>),
    /// What was uploaded before, by [`crate::Session::upload`].
    Upload(UploadId),
}

/// A file made, or its content replaced. See
/// [`WriteFile`](portcullis_protocol::session::WriteFile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub selector: Selector,
    /// The new content.
    pub content: Content,
    /// What must be there before.
    pub expect: Expect,
    /// Whether missing directories are made.
    pub parents: Parents,
    /// Permission bits, at most `0o777`.
    pub mode: Option<u16>,
}

/// Parts of a file's content replaced. See [`EditFile`](portcullis_protocol::session::EditFile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub selector: Selector,
    /// What it must be.
    pub expect: Expect,
    /// The edits, found in the file as it is before them.
    pub edits: Vec<TextEdit>,
    /// How strictly texts are compared.
    pub tiers: Tiers,
    /// Permission bits, at most `0o777`; none leaves them.
    pub mode: Option<u16>,
}

/// One edit. See [`TextEdit`](portcullis_protocol::session::TextEdit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextEdit {
    /// A text, wherever it stands in its lines.
    Replace(Replace),
    /// Whole lines, with the ones around them.
    Hunk(Hunk),
    /// Lines put after this line; 0 is the beginning of the file.
    Insert {
        /// The line.
        line: u64,
        /// The lines.
        text: Vec<u8>,
    },
    /// Lines named by the labels they were shown with.
    Anchored {
        /// The first line.
        first: Anchor,
        /// The last line.
        last: Anchor,
        /// What is done.
        deed: AnchoredDeed,
    },
}

impl TextEdit {
    /// Whether it names its lines by labels.
    pub const fn is_anchored(&self) -> bool {
        match self {
            Self::Anchored { .. } => true,
            Self::Replace(_) | Self::Hunk(_) | Self::Insert { .. } => false,
        }
    }
}

/// A text for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// What must be there.
    pub old: Vec<u8>,
    /// What comes instead.
    pub new: Vec<u8>,
    /// How often it must be there; all places are replaced.
    pub count: Count,
}

/// Whole lines in order: some stay, some go, some come. See
/// [`Hunk`](portcullis_protocol::session::Hunk).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Lines that lead to it, each a whole line without its terminator.
    pub after: Vec<Vec<u8>>,
    /// The line it was at, from 1.
    pub line: Option<u64>,
    /// Which ends of the file it reaches.
    pub edges: Edges,
    /// The lines.
    pub parts: Vec<Part>,
}

/// A run of whole lines, with their terminators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// They stay.
    Keep(Vec<u8>),
    /// They go.
    Remove(Vec<u8>),
    /// They come.
    Insert(Vec<u8>),
}

/// What is done with lines named by their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchoredDeed {
    /// These come instead of them.
    Replace(Vec<u8>),
    /// These come before the first.
    Before(Vec<u8>),
    /// These come after the last.
    After(Vec<u8>),
}

impl Hunk {
    /// A hunk without lines yet, that may be anywhere.
    pub fn new() -> Self {
        Self {
            after: Vec::new(),
            line: None,
            edges: Edges::Free,
            parts: Vec::new(),
        }
    }

    /// Adds a line that stays, without its newline.
    pub fn keep(&mut self, line: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Keep(run)) => put(run, line),
            Some(Part::Remove(_) | Part::Insert(_)) | None => {
                self.parts.push(Part::Keep(ended(line)));
            }
        }
    }

    /// Adds a line that goes, without its newline.
    pub fn remove(&mut self, line: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Remove(run)) => put(run, line),
            Some(Part::Keep(_) | Part::Insert(_)) | None => {
                self.parts.push(Part::Remove(ended(line)));
            }
        }
    }

    /// Adds a line that comes, without its newline.
    pub fn insert(&mut self, line: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Insert(run)) => put(run, line),
            Some(Part::Keep(_) | Part::Remove(_)) | None => {
                self.parts.push(Part::Insert(ended(line)));
            }
        }
    }

    /// Whether nothing of the file stays or goes in it.
    pub fn only_inserts(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Insert(_) => true,
            Part::Keep(_) | Part::Remove(_) => false,
        })
    }

    /// Whether nothing comes or goes in it.
    pub fn changes_nothing(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Keep(_) => true,
            Part::Remove(_) | Part::Insert(_) => false,
        })
    }
}

impl Default for Hunk {
    fn default() -> Self {
        Self::new()
    }
}

fn put(run: &mut Vec<u8>, line: &[u8]) {
    run.extend_from_slice(line);
    run.push(b'\n');
}

fn ended(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Make a file or replace its content.
    Write(Write),
    /// Replace parts of a file's content.
    Edit(Edit),
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

macro_rules! items {
    ($($arm:ident($body:ty)),*) => {
        $(impl From<$body> for Item {
            fn from(body: $body) -> Self {
                Self::$arm(body)
            }
        })*
    };
}

items!(
    Write(Write),
    Edit(Edit),
    Mkdir(MakeDirectory),
    Move(MoveObject),
    Delete(DeleteObject),
    Chmod(SetMode),
    Link(MakeLink)
);

/// Changes that are made together: all of them or none. Changes of one name follow each other.
///
/// ```no_run
/// use portcullis_client::{Changes, Session, ask, change};
///
/// fn main() -> Result<(), portcullis_client::Error> {
///     let mut session = Session::from_env()?;
///     let changes = Changes::new()
///         .with(change::write(ask::selector("notes.txt")?, "one\n"))
///         .with(change::replace(ask::selector("a.rs")?, "foo()", "bar()"));
///     let made = session.change(&changes)?;
///     println!("receipt {}", made.changed.receipt.number);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    items: Vec<Item>,
}

impl Changes {
    /// No change yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more, made after the others.
    #[must_use]
    pub fn with(mut self, item: impl Into<Item>) -> Self {
        self.push(item);
        self
    }

    /// Adds one, made after the others.
    pub fn push(&mut self, item: impl Into<Item>) {
        self.items.push(item.into());
    }

    /// Adds edits by labels to those of the same file before it, unless something else was done
    /// since: labels are of one version, so all of them are found in the file as it is.
    pub(crate) fn join(&mut self, edit: Edit) {
        for item in self.items.iter_mut().rev() {
            match item {
                Item::Edit(other) if other.selector != edit.selector => {}
                Item::Edit(other) if other.edits.iter().all(TextEdit::is_anchored) => {
                    other.edits.extend(edit.edits);
                    return;
                }
                Item::Edit(_)
                | Item::Write(_)
                | Item::Mkdir(_)
                | Item::Move(_)
                | Item::Delete(_)
                | Item::Chmod(_)
                | Item::Link(_) => break,
            }
        }
        self.push(edit);
    }

    /// The same, with other tiers for every edit: `tiers` gives them from those an edit has.
    #[must_use]
    pub fn with_tiers(mut self, tiers: impl Fn(Tiers) -> Tiers) -> Self {
        for item in &mut self.items {
            match item {
                Item::Edit(edit) => edit.tiers = tiers(edit.tiers),
                Item::Write(_)
                | Item::Mkdir(_)
                | Item::Move(_)
                | Item::Delete(_)
                | Item::Chmod(_)
                | Item::Link(_) => {}
            }
        }
        self
    }

    /// The changes, in the order they are made.
    pub fn items(&self) -> &[Item] {
        &self.items
    }
}

/// Makes a file, or replaces one whatever it holds; its directory must be there.
pub fn write(selector: Selector, content: impl Into<Vec<u8>>) -> Write {
    Write {
        selector,
        content: Content::Bytes(content.into()),
        expect: Expect::Any,
        parents: Parents::Exist,
        mode: None,
    }
}

/// Makes a file, and never replaces one.
pub fn create(selector: Selector, content: impl Into<Vec<u8>>) -> Write {
    Write {
        expect: Expect::Absent,
        ..write(selector, content)
    }
}

/// Replaces the one place where `old` occurs in a file.
pub fn replace(selector: Selector, old: impl Into<Vec<u8>>, new: impl Into<Vec<u8>>) -> Edit {
    Edit {
        selector,
        expect: Expect::Any,
        edits: vec![TextEdit::Replace(Replace {
            old: old.into(),
            new: new.into(),
            count: Count::Exactly(1),
        })],
        tiers: Tiers::DEFAULT,
        mode: None,
    }
}

/// Makes a directory whose parent is there.
pub fn mkdir(selector: Selector) -> MakeDirectory {
    MakeDirectory {
        selector,
        parents: Parents::Exist,
    }
}

/// Gives an object another name; refused when something has that name.
pub fn rename(source: Selector, destination: Selector) -> MoveObject {
    MoveObject {
        source,
        destination,
        expect: Expect::Any,
        onto: Onto::Nothing,
        parents: Parents::Exist,
    }
}

/// Removes a file or a link.
pub fn delete(selector: Selector) -> DeleteObject {
    DeleteObject {
        selector,
        expect: Expect::Any,
        what: Deletion::File,
    }
}

/// Sets permission bits, at most `0o777`.
pub fn chmod(selector: Selector, mode: u16) -> SetMode {
    SetMode {
        selector,
        expect: Expect::Any,
        mode,
    }
}

/// Makes a symbolic link that says `text`.
pub fn link(selector: Selector, text: impl AsRef<[u8]>) -> Result<MakeLink, Error> {
    Ok(MakeLink {
        selector,
        text: Bytes::new(text.as_ref())
            .map_err(|e| Error::invalid(format_args!("the text of the link: {e}")))?,
        parents: Parents::Exist,
    })
}

/// A bounded list, or what of it is too many.
pub(crate) fn few<T, const MAX: usize>(what: &str, items: Vec<T>) -> Result<Few<T, MAX>, Error> {
    Few::new(items)
        .map_err(|e| Error::invalid(format_args!("{what}: {e}; make them in several requests")))
}
