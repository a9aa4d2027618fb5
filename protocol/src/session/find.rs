//! `list`, `glob` and `search`: what is asked of a walk.

use super::Selector;
use crate::bounded::{Bytes, Few};
use crate::limits::{
    CURSOR_BYTES_MAX, KINDS_MAX, PATTERN_BYTES_MAX, SEARCH_GLOBS_MAX, SEARCH_PATTERN_BYTES_MAX,
    SEARCH_TYPE_GLOBS_MAX,
};
use crate::view::Kind;
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

/// What becomes of names that the rules of ignore files cover. Which rules those are, and how they
/// are read, is what git says; `docs/SEARCH.md` has the files and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ignored {
    /// Passed over, and counted.
    Skip,
    /// Taken like any other; no ignore file is read.
    Include,
}

/// What becomes of names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DotNames {
    /// Passed over, and counted, unless a rule of an ignore file takes them in again.
    Skip,
    /// Taken like any other.
    Include,
}

/// Directories of version control (`.git`, `.hg`, `.svn`, `.jj`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VersionControl {
    /// Passed over, and counted.
    Skip,
    /// Taken like any other.
    Include,
}

/// What a walk passes over, a directory with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// Names that the rules of ignore files cover.
    pub ignored: Ignored,
    /// Names that begin with a dot.
    pub dot_names: DotNames,
    /// Directories of version control.
    pub version_control: VersionControl,
    /// Names that match one of these, in the dialect of [`Glob::pattern`].
    pub exclude: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
}

impl Passing {
    /// Nothing is passed over.
    pub fn nothing() -> Self {
        Self {
            ignored: Ignored::Include,
            dot_names: DotNames::Include,
            version_control: VersionControl::Include,
            exclude: Few::default(),
        }
    }

    /// What a person who looks for something in a project does not mean: what is ignored, names
    /// with a dot, directories of version control.
    pub fn usual() -> Self {
        Self {
            ignored: Ignored::Skip,
            dot_names: DotNames::Skip,
            version_control: VersionControl::Skip,
            exclude: Few::default(),
        }
    }
}

/// The types of objects that are told; none is all.
pub type Kinds = Few<Kind, KINDS_MAX>;

/// In which order entries come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// By the bytes of each name, a directory right before its content.
    Name,
    /// By the last change of content, newest first; of equal ones by path.
    Newest,
    /// The same, oldest first.
    Oldest,
}

/// Asks for the names below a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// The directory.
    pub selector: Selector,
    /// Levels below it: 1 is its own entries.
    pub depth: u32,
    /// Which fields.
    pub detail: Detail,
    /// What is passed over.
    pub passing: Passing,
    /// Which types are told. Directories are entered all the same.
    pub kinds: Kinds,
    /// In which order.
    pub order: Order,
    /// Entries at most, up to [`crate::limits::LIST_ENTRIES_MAX`], or, in another order than by
    /// name, [`crate::limits::SORTED_ENTRIES_MAX`].
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
    /// counts; a pattern without a slash matches at any depth. Where names with a dot are passed
    /// over, a name that the pattern spells with its dot is taken all the same.
    pub pattern: Bytes<PATTERN_BYTES_MAX>,
    /// Levels below the directory.
    pub depth: u32,
    /// Which fields.
    pub detail: Detail,
    /// What is passed over.
    pub passing: Passing,
    /// Which types are told.
    pub kinds: Kinds,
    /// In which order.
    pub order: Order,
    /// Entries at most, as in a listing.
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
    /// Only at the ends of lines: the whole line matches.
    Line,
}

/// Whether a match may reach over the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MultiLine {
    /// It may not; a pattern that asks for it is refused.
    Off,
    /// It may; `.` still stops at the end of a line.
    On,
    /// It may, and `.` matches the end of a line too.
    Dotall,
}

/// Which lines are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sense {
    /// Those that match.
    Matching,
    /// Those that do not.
    Inverted,
}

/// What a file with a zero byte in it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binary {
    /// Not text: it is given up where the zero byte is met, and counted. What matched before stays.
    Stop,
    /// Not text: searched to its first match, which is told without its text.
    Search,
    /// Text like any other.
    Text,
}

/// How the bytes of files are read. Lines come back in UTF-8 where they were decoded, else as they
/// are in the file; offsets count in what was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TextEncoding {
    /// As they are, but UTF-16 where a byte order mark says so.
    Auto,
    /// As they are, whatever they begin with.
    Raw,
    /// UTF-8; what is not stays as it is. A byte order mark of UTF-16 goes before it, as before every
    /// other one.
    Utf8,
    /// UTF-16, little end first.
    Utf16Le,
    /// UTF-16, big end first.
    Utf16Be,
    /// Windows-1252, which is Latin-1 and a little more.
    Latin1,
    /// Shift JIS.
    ShiftJis,
    /// EUC-JP.
    EucJp,
    /// EUC-KR.
    EucKr,
    /// GB 18030, which holds GBK and GB 2312.
    Gb18030,
    /// Big5.
    Big5,
}

impl TextEncoding {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Auto,
        Self::Raw,
        Self::Utf8,
        Self::Utf16Le,
        Self::Utf16Be,
        Self::Latin1,
        Self::ShiftJis,
        Self::EucJp,
        Self::EucKr,
        Self::Gb18030,
        Self::Big5,
    ];

    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Raw => "none",
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Latin1 => "latin1",
            Self::ShiftJis => "shift_jis",
            Self::EucJp => "euc-jp",
            Self::EucKr => "euc-kr",
            Self::Gb18030 => "gb18030",
            Self::Big5 => "big5",
        }
    }
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
    /// Names of files without one.
    FilesWithout,
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
    /// Whether it may reach over the end of a line.
    pub multi_line: MultiLine,
    /// Which lines are meant.
    pub sense: Sense,
    /// What a file with a zero byte in it is.
    pub binary: Binary,
    /// How the bytes of files are read.
    pub encoding: TextEncoding,
    /// What comes back.
    pub mode: SearchMode,
    /// Levels below the directory.
    pub depth: u32,
    /// What is passed over. One file that is named itself never is.
    pub passing: Passing,
    /// Only files that match one of these; none is all. Such a file is taken whatever ignore files
    /// say of it; a directory that is passed over is not entered for it.
    pub include: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
    /// Only files whose name matches one of these; none is all.
    pub types: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_TYPE_GLOBS_MAX>,
    /// No file whose name matches one of these.
    pub types_not: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_TYPE_GLOBS_MAX>,
    /// Matching lines at most, in all; in the modes that name files, files.
    pub limit: u32,
    /// Matching lines at most in one file; more are counted in the statistics.
    pub limit_per_file: u32,
    /// Larger files are passed over, and counted.
    pub file_bytes_max: u64,
    /// Longest run, in milliseconds.
    pub time_ms: u32,
    /// Where to go on: after the last file that was told whole.
    pub cursor: Option<Cursor>,
}
