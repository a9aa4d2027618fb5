//! `read`: parts of files, and what is said of the whole.

use super::Selector;
use crate::bounded::Few;
use crate::limits::READ_FILES_MAX;
use crate::refusal::Refusal;
use crate::view::Binding;
use serde::{Deserialize, Serialize};

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Range {
    /// `length` bytes from `offset`; `u64::MAX` reads to the end.
    Bytes {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// `count` lines from line `first`, which counts from 1.
    Lines {
        /// First line.
        first: u64,
        /// How many.
        count: u64,
    },
    /// The first lines.
    Head {
        /// How many.
        count: u64,
    },
    /// The last lines; a final newline does not start another.
    Tail {
        /// How many.
        count: u64,
    },
}

/// What is computed over the whole file beside the part asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Survey {
    /// Nothing: only the part is read.
    None,
    /// Lines, terminators, encoding.
    Text,
    /// The same and the blake3 digest.
    TextAndDigest,
}

/// Asks for content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The files, answered in this order.
    pub selectors: Few<Selector, READ_FILES_MAX>,
    /// Which part of each.
    pub range: Range,
    /// What else to compute.
    pub survey: Survey,
}

/// Terminators and encoding of a whole file, or of what was read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextSurvey {
    /// Lines; a last one without a terminator counts.
    pub lines: u64,
    /// Lines that end in `\n` alone.
    pub lf: u64,
    /// Lines that end in `\r\n`.
    pub crlf: u64,
    /// Lone `\r`.
    pub cr: u64,
    /// Whether the last line has a terminator.
    pub final_newline: FinalNewline,
    /// A guess from the bytes.
    pub encoding: Encoding,
}

/// Whether a file's last line has a terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FinalNewline {
    /// It has.
    Present,
    /// It has not.
    Absent,
    /// There is no line.
    Empty,
}

/// What the bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// All bytes below 128, none zero.
    Ascii,
    /// Valid UTF-8.
    Utf8,
    /// Valid UTF-8 after a byte order mark.
    Utf8Bom,
    /// A UTF-16 byte order mark, little endian.
    Utf16Le,
    /// A UTF-16 byte order mark, big endian.
    Utf16Be,
    /// A zero byte: not text.
    Binary,
    /// No zero byte, but not UTF-8 either: an eight-bit encoding.
    Other,
}

impl Encoding {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Binary => "binary",
            Self::Other => "other-8-bit",
        }
    }
}

/// A part of one file. A file has one part or more; the first has `head`, the last has `tail`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// Which selector of the request.
    pub file: u16,
    /// Offset in the file of the first byte of the content.
    pub offset: u64,
    /// With the first part: what the selector was bound to.
    pub head: Option<Binding>,
    /// With the last part: how it ended.
    pub tail: Option<ReadTail>,
    /// Whether `Done` or another part follows, or this is the end of the whole request.
    pub more: More,
}

/// Whether a frame ends its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum More {
    /// Further frames follow.
    Follows,
    /// This is the last frame of the request.
    Last,
}

/// How the reading of one file ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadTail {
    /// The part asked for was read.
    Read(ReadEnd),
    /// Nothing of this file was read.
    Refused(Refusal),
}

/// The end of one file's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReadEnd {
    /// Number of the first line sent, for line ranges; 0 for byte ranges.
    pub first_line: u64,
    /// First byte after what was sent: where the next read goes on.
    pub next_offset: u64,
    /// Whether the file goes on after what was sent.
    pub rest: Rest,
    /// Lines and encoding of the whole file, when asked for.
    pub text: Option<TextSurvey>,
    /// blake3 of the whole file, when asked for.
    pub digest: Option<[u8; 32]>,
    /// How sure this is.
    pub steadiness: Steadiness,
}

/// What lies after the part that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rest {
    /// Nothing: the file ends there.
    End,
    /// More bytes, not asked for.
    More,
    /// More bytes that were asked for, not sent because the scan limit was reached; text and
    /// digest cover only what was scanned and are absent.
    CutAtScanLimit,
}

/// Whether the file stood still while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Steadiness {
    /// Its stamp was the same before and after.
    Steady,
    /// Its stamp moved: the bytes may be of two versions.
    Torn,
}
