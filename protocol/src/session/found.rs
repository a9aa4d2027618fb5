//! What `list`, `glob` and `search` find, and how such an answer ends.

use super::Cursor;
use crate::bounded::{Bytes, Text};
use crate::limits::{PATH_BYTES_MAX, REASON_BYTES_MAX, SEARCH_LINE_BYTES_MAX};
use crate::path::RelPath;
use crate::view::{Binding, Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path below the root.
    pub path: RelPath,
    /// Its type; links are not followed.
    pub kind: Kind,
    /// The rule that denies reading it, if one does.
    pub denied: Option<Text<REASON_BYTES_MAX>>,
    /// With [`super::Detail::Full`], when it could be had.
    pub detail: Option<EntryDetail>,
}

/// The further fields of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDetail {
    /// Size in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u16,
    /// Last change of content.
    pub modified: Timestamp,
    /// The text of the link, for links.
    pub link: Option<Bytes<PATH_BYTES_MAX>>,
}

/// Some entries of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// With the first frame: what the selector was bound to.
    pub start: Option<Binding>,
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// Some results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matches {
    /// With the first frame: what the selector was bound to.
    pub start: Option<Binding>,
    /// The results, in order of path, then line.
    pub found: Vec<Found>,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// The lines after this one belong to this file.
    File {
        /// Its path below the root.
        path: RelPath,
    },
    /// A line of the last `File`.
    Line(FoundLine),
    /// A file and its number of matching lines.
    Count {
        /// Its path below the root.
        path: RelPath,
        /// Matching lines.
        lines: u64,
    },
}

/// What a line of a search result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineRole {
    /// One that was looked for.
    Match,
    /// One near it.
    Context,
    /// The first match in a file that is not text; its bytes are not told.
    Binary,
}

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLine {
    /// What it is.
    pub role: LineRole,
    /// Its number, from 1; 0 for [`LineRole::Binary`].
    pub number: u64,
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// First byte of the first match that begins in the line, from 1; 0 where none does.
    pub column: u32,
    /// Its bytes without terminator, or those around the match.
    pub text: Bytes<SEARCH_LINE_BYTES_MAX>,
    /// Bytes of the line before `text` that were left out.
    pub cut_before: u32,
    /// Bytes of the line after `text` that were left out.
    pub cut_after: u32,
}

/// How far a walk is. Sent now and then while nothing else is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Directories entered.
    pub directories: u64,
    /// Entries seen, or files searched.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries sent, or matching lines sent.
    pub sent: u64,
}

/// How a streaming request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Whether everything asked for was looked at.
    pub completeness: Completeness,
    /// What was looked at and what was passed over.
    pub statistics: Statistics,
}

/// Whether an answer is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completeness {
    /// Nothing is missing but what the statistics count.
    Complete,
    /// It stopped early.
    Cut {
        /// Why.
        reason: CutReason,
        /// Where to go on, if it can.
        cursor: Option<Cursor>,
    },
}

/// Why an answer stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CutReason {
    /// The limit of the request was reached.
    Limit,
    /// Its time was up.
    Time,
    /// It was cancelled.
    Cancelled,
    /// The start itself changed or went away.
    Changed,
}

impl CutReason {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Time => "time",
            Self::Cancelled => "cancelled",
            Self::Changed => "changed",
        }
    }
}

/// Declares numbers of which each is a sum.
macro_rules! sums {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// Adds what another part of the same walk saw.
            pub fn add(&mut self, other: &Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        }
    };
}

sums! {
    /// What a walk looked at, and what it passed over and why. Hidden objects are in none of these.
    pub struct Statistics {
        /// Directories entered.
        directories,
        /// Entries seen, or files searched.
        files,
        /// Bytes read.
        bytes,
        /// Entries sent, or matching lines sent.
        sent,
        /// Matching lines not sent because of a limit on one file.
        over_file_limit,
        /// A zero byte was met; the rest of the file was passed over.
        binary,
        /// Passed over: larger than the limit.
        too_large,
        /// Passed over: the file's own permissions, or an error of the disk.
        unreadable,
        /// Passed over: a denial.
        denied,
        /// Passed over: a link, FIFO, socket or device where a file is wanted.
        not_regular,
        /// Passed over: another file system is mounted there.
        mounts,
        /// Passed over: changed between being listed and being opened.
        changed,
        /// Passed over: path over 4095 bytes or deeper than the limit.
        too_deep,
        /// Passed over: directories of version control.
        version_control,
        /// Passed over: excluded by the request's own globs.
        excluded,
        /// Passed over: temporaries of the broker, of effects that are under way or were cut off.
        temporaries,
        /// Passed over: covered by the rules of an ignore file.
        ignored,
        /// Passed over: names that begin with a dot.
        dot_names,
        /// Rules of ignore files that were left out: over a limit, or in a file that could not be read.
        rules_left_out,
    }
}
