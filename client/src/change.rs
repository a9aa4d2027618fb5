//! A change set as a worker builds it: with its bytes, wherever they will travel.

mod pack;
mod send;

pub use send::Plan;

use crate::error::Error;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::session::{
    DeleteObject, Deletion, Expect, MakeDirectory, MakeLink, MoveObject, Onto, Parents, Selector,
    SetMode, UploadId,
};

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// These bytes. They travel with the change where there is room, and before it where not.
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
    /// The replacements, found in the file as it is before the edit.
    pub replacements: Vec<Replace>,
    /// Permission bits, at most `0o777`; none leaves them.
    pub mode: Option<u16>,
}

/// Exact bytes for exact bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replace {
    /// What must be there.
    pub old: Vec<u8>,
    /// What comes instead.
    pub new: Vec<u8>,
    /// Where.
    pub at: At,
}

/// Where a replacement is looked for. See [`Place`](portcullis_protocol::session::Place).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// Anywhere, exactly this often; all are replaced.
    Anywhere(u32),
    /// Wherever it occurs, at least once.
    All,
    /// Exactly once after these lines, each a whole line without its terminator.
    After(Vec<Vec<u8>>),
    /// At the beginning of this line, from 1; where it is not there, exactly once in the file.
    Line(u64),
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

/// Changes that are made together: all of them or none. No two may concern one object or name.
///
/// ```no_run
/// use portcullis_client::{Changes, Session, ask, change};
///
/// fn main() -> Result<(), portcullis_client::Error> {
///     let mut session = Session::from_env()?;
///     let changes = Changes::new()
///         .with(change::write(ask::selector("notes.txt")?, "one\n"))
///         .with(change::replace(ask::selector("a.rs")?, "foo()", "bar()"));
///     let changed = session.change(&changes)?;
///     println!("receipt {}", changed.receipt.number);
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

    /// Adds an edit to the one of the same file, if there is one: both are found in the file as
    /// it is before either.
    pub(crate) fn merge(&mut self, edit: Edit) {
        let same = self.items.iter_mut().find_map(|item| match item {
            Item::Edit(other) if other.selector == edit.selector => Some(other),
            Item::Edit(_)
            | Item::Write(_)
            | Item::Mkdir(_)
            | Item::Move(_)
            | Item::Delete(_)
            | Item::Chmod(_)
            | Item::Link(_) => None,
        });
        match same {
            Some(other) => other.replacements.extend(edit.replacements),
            None => self.push(edit),
        }
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
        replacements: vec![Replace {
            old: old.into(),
            new: new.into(),
            at: At::Anywhere(1),
        }],
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
    Few::new(items).map_err(|e| Error::invalid(format_args!("{what}: {e}")))
}
