//! Edits of a file's content: what is looked for, how strictly, and where it was found.

use super::{Expect, Selector, Span};
use crate::anchor::Anchor;
use crate::bounded::Few;
use crate::limits::{EDITS_MAX, LEADS_MAX, PARTS_MAX};
use crate::refusal::Refusal;
use crate::view::{Digest, ObjectId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Replaces parts of a file's content, each found in the content as it is before the edit. Every
/// byte outside the places that are replaced stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditFile {
    /// The file.
    pub selector: Selector,
    /// What it must be.
    pub expect: Expect,
    /// The edits. What they replace must not overlap; lines that stay may.
    pub edits: Few<TextEdit, EDITS_MAX>,
    /// How strictly texts are compared.
    pub tiers: Tiers,
    /// Permission bits, at most `0o777`; none leaves them.
    pub mode: Option<u16>,
}

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextEdit {
    /// A text, wherever it stands in its lines.
    Replace(Replace),
    /// Whole lines, with the ones around them.
    Hunk(Hunk),
    /// Lines at a place given by its number.
    Insert(InsertLines),
    /// Lines named by the labels they were shown with.
    Anchored(Anchored),
}

/// A text for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replace {
    /// What must be there; not empty.
    pub old: Span,
    /// What comes instead.
    pub new: Span,
    /// How often it must be there.
    pub count: Count,
}

/// How often a text must occur. All of its places are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Count {
    /// So often.
    Exactly(u32),
    /// At least once.
    All,
}

/// Whole lines in order: some stay, some go, some come. What stays and what goes is looked for as
/// one block, which must be in exactly one place; `after`, `line`, `edges` and the order of the
/// hunks of an edit only narrow where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Lines that lead to it, each a whole line without its terminator, each found after the one
    /// before it. Blanks around them do not count.
    pub after: Few<Span, LEADS_MAX>,
    /// The line it was at, from 1: where the block is there, it is meant, however often else it
    /// occurs. With nothing that stays or goes, the line before which lines come.
    pub line: Option<u64>,
    /// Which ends of the file the block reaches.
    pub edges: Edges,
    /// The lines. With nothing that stays or goes and no `line`, what comes is put directly after
    /// the last of `after`, which must then be in one place; without `after`, where `edges` says.
    pub parts: Few<Part, PARTS_MAX>,
}

/// A run of whole lines, each ended by a newline; the last of a file's may lack it, and then the
/// file ends there without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// They stay, byte for byte as the file has them.
    Keep(Span),
    /// They go.
    Remove(Span),
    /// They come.
    Insert(Span),
}

/// Which ends of the file a block must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Edges {
    /// Neither has to be.
    Free,
    /// It begins at the first line.
    Start,
    /// It ends at the last line.
    End,
    /// It is the whole file.
    Both,
}

/// Lines put at a place given by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertLines {
    /// The line they come after; 0 is the beginning of the file.
    pub line: u64,
    /// The lines.
    pub text: Span,
}

/// Lines named by their labels. A label that is not the line's own, in this file, in this
/// version, is refused as `stale_anchor`, with the lines as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchored {
    /// The first line.
    pub first: Anchor,
    /// The last line; the first one's label again where it is one line.
    pub last: Anchor,
    /// What is done.
    pub deed: AnchoredDeed,
}

/// What is done with lines named by their labels. Text is whole lines; a newline at its end may be
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnchoredDeed {
    /// These come instead of them; empty, they only go.
    Replace(Span),
    /// These come before the first.
    Before(Span),
    /// These come after the last.
    After(Span),
}

/// How a text was compared with a file, from the strictest. At the first tier where a text is
/// found at all it must be found as often as was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// Byte for byte.
    Exact,
    /// Line terminators are equal: LF, CRLF, and none at the end of the file; a byte order mark
    /// before the first line does not count.
    Terminators,
    /// Blanks at the ends of lines do not count either.
    TrailingBlanks,
    /// All lines may be further in, or out, by the same blanks; lines that come are shifted too.
    Indentation,
    /// Dashes, quotes and spaces of one kind are equal, besides what `TrailingBlanks` ignores.
    Punctuation,
}

impl Tier {
    /// Every tier, in order.
    pub const ALL: [Self; 5] = [
        Self::Exact,
        Self::Terminators,
        Self::TrailingBlanks,
        Self::Indentation,
        Self::Punctuation,
    ];

    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Terminators => "terminators",
            Self::TrailingBlanks => "trailing-blanks",
            Self::Indentation => "indentation",
            Self::Punctuation => "punctuation",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Exact => 1,
            Self::Terminators => 2,
            Self::TrailingBlanks => 4,
            Self::Indentation => 8,
            Self::Punctuation => 16,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The tiers an edit may use; [`Tier::Exact`] is always one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Tiers(u8);

impl Tiers {
    /// Byte for byte, nothing else.
    pub const EXACT: Self = Self(Tier::Exact.bit());
    /// What needs no asking: it never takes one text for another that reads differently.
    pub const DEFAULT: Self = Self::EXACT
        .with(Tier::Terminators)
        .with(Tier::TrailingBlanks);

    /// The same with one more.
    #[must_use]
    pub const fn with(self, tier: Tier) -> Self {
        Self(self.0 | tier.bit())
    }

    /// Whether a tier may be used.
    pub const fn contains(self, tier: Tier) -> bool {
        self.0 & tier.bit() != 0
    }

    /// The tiers, from the strictest.
    pub fn iter(self) -> impl Iterator<Item = Tier> {
        Tier::ALL
            .into_iter()
            .filter(move |tier| self.contains(*tier))
    }
}

/// Bits that are no set of tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0:#04x} is no set of tiers")]
pub struct NoTiers(pub u8);

impl TryFrom<u8> for Tiers {
    type Error = NoTiers;

    fn try_from(bits: u8) -> Result<Self, NoTiers> {
        let all = Tier::ALL.iter().fold(0, |all, tier| all | tier.bit());
        if bits & !all == 0 && bits & Tier::Exact.bit() != 0 {
            Ok(Self(bits))
        } else {
            Err(NoTiers(bits))
        }
    }
}

impl From<Tiers> for u8 {
    fn from(tiers: Tiers) -> Self {
        tiers.0
    }
}

/// Lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    /// The first, from 1; with none, the line before which they would be.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// Where an edit matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Matched {
    /// Which change of the set, from 0.
    pub change: u16,
    /// Which edit of it, from 0.
    pub edit: u16,
    /// How.
    pub tier: Tier,
    /// The lines that were changed, as they were.
    pub old: Lines,
    /// The lines in their place.
    pub new: Lines,
}

/// A part of a file as it is now, in the content behind the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Region {
    /// Its first line, from 1.
    pub first_line: u64,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// The file, for the labels of its lines.
    pub object: ObjectId,
    /// Digest of the whole file, for the labels of its lines.
    pub digest: Digest,
}

/// Nothing happened, and why; with what the object has become, as far as the session may read it,
/// in the content behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflicted {
    /// Why.
    pub refusal: Refusal,
    /// What is behind it.
    pub region: Region,
}
