//! The tools that are offered: their names, what they promise of themselves, and which of them a
//! session can use.

mod shape;

use portcullis_client::protocol::session::Identity;
use portcullis_client::protocol::verb::{Verb, VerbSet};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use std::sync::Arc;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    ReadTextFile,
    WriteFile,
    EditFile,
    ApplyPatch,
    CreateDirectory,
    ListDirectory,
    DirectoryTree,
    MoveFile,
    DeleteFile,
    SearchFiles,
    SearchContent,
    GetFileInfo,
}

impl Name {
    /// Every tool, in the order they are offered.
    pub(crate) const ALL: [Self; 12] = [
        Self::ReadTextFile,
        Self::ListDirectory,
        Self::DirectoryTree,
        Self::SearchFiles,
        Self::SearchContent,
        Self::GetFileInfo,
        Self::EditFile,
        Self::WriteFile,
        Self::ApplyPatch,
        Self::CreateDirectory,
        Self::MoveFile,
        Self::DeleteFile,
    ];

    /// As it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ReadTextFile => "read_text_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::ApplyPatch => "apply_patch",
            Self::CreateDirectory => "create_directory",
            Self::ListDirectory => "list_directory",
            Self::DirectoryTree => "directory_tree",
            Self::MoveFile => "move_file",
            Self::DeleteFile => "delete_file",
            Self::SearchFiles => "search_files",
            Self::SearchContent => "search_content",
            Self::GetFileInfo => "get_file_info",
        }
    }

    /// The tool that is called so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Verbs one of which it needs.
    const fn needs(self) -> VerbSet {
        match self {
            Self::ReadTextFile => VerbSet::of(&[Verb::Read]),
            Self::WriteFile => VerbSet::of(&[Verb::Write]),
            Self::EditFile => VerbSet::of(&[Verb::Edit]),
            Self::ApplyPatch => VerbSet::WRITING,
            Self::CreateDirectory => VerbSet::of(&[Verb::Mkdir]),
            Self::ListDirectory | Self::DirectoryTree => VerbSet::of(&[Verb::List]),
            Self::MoveFile => VerbSet::of(&[Verb::Move]),
            Self::DeleteFile => VerbSet::of(&[Verb::Delete, Verb::DeleteTree]),
            Self::SearchFiles => VerbSet::of(&[Verb::Glob]),
            Self::SearchContent => VerbSet::of(&[Verb::Search]),
            Self::GetFileInfo => VerbSet::of(&[Verb::Stat]),
        }
    }

    /// Whether a session may do anything by it, with an approval or without.
    pub(crate) fn is_of_use(self, identity: &Identity) -> bool {
        let grants = identity.grants.as_slice().iter();
        let mut all = grants.chain(identity.asks.as_slice());
        all.any(|grant| !grant.verbs.meet(self.needs()).is_empty())
    }

    /// What it says of itself. Clients decide by it whether to ask a person, so it is the worst that
    /// can happen.
    fn annotations(self) -> ToolAnnotations {
        let closed = ToolAnnotations::new().open_world(false);
        match self {
            Self::ReadTextFile
            | Self::ListDirectory
            | Self::DirectoryTree
            | Self::SearchFiles
            | Self::SearchContent
            | Self::GetFileInfo => closed.read_only(true),
            // What is there stays.
            Self::CreateDirectory => closed.read_only(false).destructive(false).idempotent(true),
            // Again, it finds what it asks for done.
            Self::WriteFile => closed.read_only(false).destructive(true).idempotent(true),
            Self::EditFile | Self::ApplyPatch | Self::MoveFile | Self::DeleteFile => {
                closed.read_only(false).destructive(true).idempotent(false)
            }
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::ReadTextFile => {
                "Read a file, or lines of it. Long files come in parts: the answer says where the \
                 next begins. labels puts a label before each line, by which edit_file can name it."
            }
            Self::WriteFile => {
                "Make a file, and directories on the way, or replace one whole. One that was not \
                 read whole is not replaced unless overwrite is true."
            }
            Self::EditFile => {
                "Replace texts in a file, in order, all or none. oldText must be in one place \
                 (count says otherwise) and every other byte stays. lines names whole lines by \
                 labels: 12:k3f9q..14:9x2mm. The answer is a diff."
            }
            Self::ApplyPatch => {
                "Change several files at once, all or none: V4A (*** Begin Patch), unified or git \
                 diff, SEARCH/REPLACE blocks, or JSON edits."
            }
            Self::CreateDirectory => "Make a directory, with its parents. It may be there already.",
            Self::ListDirectory => {
                "List a directory; `/` lists the directories there are. Directories end in /."
            }
            Self::DirectoryTree => "List a directory and all below it as an indented tree.",
            Self::MoveFile => {
                "Move or rename a file or directory. Nothing is overwritten unless asked."
            }
            Self::DeleteFile => {
                "Delete a file, link or empty directory; with recursive a whole tree."
            }
            Self::SearchFiles => {
                "Find files by a glob such as **/*.rs; one without a slash matches at any depth."
            }
            Self::SearchContent => {
                "Find lines that hold a text, or match a regex. The answer ends with what was not \
                 searched."
            }
            Self::GetFileInfo => {
                "Type, size, times, permissions, and why: which operations are allowed, need an \
                 approval or are refused, and by which rule."
            }
        }
    }

    /// The schema of its arguments.
    pub(crate) fn arguments(self) -> Arc<JsonObject> {
        shape::input(self)
    }

    /// The tool as it is offered.
    pub(crate) fn offered(self, objects: Objects) -> Tool {
        let tool = Tool::new(self.name(), self.description(), shape::input(self))
            .with_annotations(self.annotations());
        match objects {
            Objects::Promised => tool.with_raw_output_schema(shape::output(self)),
            Objects::None => tool,
        }
    }
}

/// Whether answers have objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// Each has one, as its tool's schema says.
    Promised,
    /// None has.
    None,
}
