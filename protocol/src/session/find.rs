//! `list`, `glob` and `search`: what is asked of a walk, and what it finds.

use super::Selector;
use crate::bounded::{Bytes, Few, Text};
use crate::limits::{
    CURSOR_BYTES_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX, SEARCH_GLOBS_MAX,
    SEARCH_LINE_BYTES_MAX, SEARCH_PATTERN_BYTES_MAX,
};
use crate::path::RelPath;
use crate::view::{Binding, Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// Which fields a listing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Detail {
    /// Name and type.
    Names,
    /// Also size, mode, time and the text of links: one system call for each entry.
    Full,
}

/// A place in a listing, to go on from. Opaque; made by the gate, checked when it comes back.
pub type Cursor = Bytes<CURSOR_BYTES_MAX>;

/// Asks for the names below a directory, sorted by the bytes of each name, a directory right before
/// its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// The directory.
    pub selector: Selector,
    /// Levels below it: 1 is its own entries.
    pub depth: u32,
    /// Which fields.
    pub detail: Detail,
    /// Entries at most, up to [`crate::limits::LIST_ENTRIES_MAX`].
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// Asks for the names below a directory that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glob {
    /// The directory.
    pub selector: Selector,
    /// `*` and `?` do not match a slash, `**` any number of directories, `{a,b}`, `[a-z]`; case
    /// counts; a leading dot is nothing special; a pattern without a slash matches at any depth.
    pub pattern: Bytes<PATTERN_BYTES_MAX>,
    /// Which fields.
    pub detail: Detail,
    /// Entries at most.
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// How a search pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Syntax {
    /// Byte for byte.
    Literal,
    /// A regular expression of the `regex` engine: linear time, no look-around, no
    /// back-references.
    Regex,
}

/// Whether letter case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Case {
    /// It counts.
    Sensitive,
    /// It does not.
    Insensitive,
    /// It counts when the pattern has an upper-case letter.
    Smart,
}

/// Where a match may begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Boundaries {
    /// Anywhere.
    Anywhere,
    /// Only at the ends of words.
    Word,
}

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchMode {
    /// Matching lines.
    Content {
        /// Lines before each.
        before: u8,
        /// Lines after each.
        after: u8,
    },
    /// Names of files with a match.
    Files,
    /// Matching lines counted for each file.
    Count,
}

/// Directories of version control (`.git`, `.hg`, `.svn`, `.jj`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VersionControl {
    /// Passed over, and counted.
    Skip,
    /// Searched like any other.
    Include,
}

/// Asks for lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// A directory, or one file.
    pub selector: Selector,
    /// What to look for.
    pub pattern: Bytes<SEARCH_PATTERN_BYTES_MAX>,
    /// How it is read.
    pub syntax: Syntax,
    /// Whether letter case counts.
    pub case: Case,
    /// Where a match may begin and end.
    pub boundaries: Boundaries,
    /// What comes back.
    pub mode: SearchMode,
    /// Only files that match one of these; none is all.
    pub include: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
    /// No file or directory that matches one of these.
    pub exclude: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
    /// Directories of version control.
    pub version_control: VersionControl,
    /// Matching lines at most, in all.
    pub limit: u32,
    /// Matching lines at most in one file; more are counted in the statistics.
    pub limit_per_file: u32,
    /// Larger files are passed over, and counted.
    pub file_bytes_max: u64,
    /// Longest run, in milliseconds.
    pub time_ms: u32,
}

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path below the root.
    pub path: RelPath,
    /// Its type; links are not followed.
    pub kind: Kind,
    /// The rule that denies reading it, if one does.
    pub denied: Option<Text<REASON_BYTES_MAX>>,
    /// With [`Detail::Full`], when it could be had.
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

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLine {
    /// Its number, from 1.
    pub number: u64,
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// First byte of the first match in the line, from 1; 0 for context.
    pub column: u32,
    /// Its bytes without terminator, or those around the match.
    pub text: Bytes<SEARCH_LINE_BYTES_MAX>,
    /// Bytes of the line before `text` that were left out.
    pub cut_before: u32,
    /// Bytes of the line after `text` that were left out.
    pub cut_after: u32,
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

/// What a walk looked at, and what it passed over and why. Hidden objects are in none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Statistics {
    /// Directories entered.
    pub directories: u64,
    /// Entries seen, or files searched.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries sent, or matching lines sent.
    pub sent: u64,
    /// Matching lines not sent because of a limit on one file.
    pub over_file_limit: u64,
    /// A zero byte was met; the rest of the file was passed over.
    pub binary: u64,
    /// Passed over: larger than the limit.
    pub too_large: u64,
    /// Passed over: the file's own permissions, or an error of the disk.
    pub unreadable: u64,
    /// Passed over: a denial.
    pub denied: u64,
    /// Passed over: a link, FIFO, socket or device where a file is wanted.
    pub not_regular: u64,
    /// Passed over: another file system is mounted there.
    pub mounts: u64,
    /// Passed over: changed between being listed and being opened.
    pub changed: u64,
    /// Passed over: path over 4095 bytes or deeper than the limit.
    pub too_deep: u64,
    /// Passed over: directories of version control.
    pub version_control: u64,
    /// Passed over: excluded by the request's own globs.
    pub excluded: u64,
    /// Passed over: temporaries of the broker, of effects that are under way or were cut off.
    pub temporaries: u64,
}
