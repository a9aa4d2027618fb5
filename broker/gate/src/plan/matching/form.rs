//! What a tier compares: of each line, the bytes that count.

use super::lines::{BOM, body};
use portcullis_protocol::session::Tier;
use std::borrow::Cow;

pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(super) fn trim_end(text: &[u8]) -> &[u8] {
    let kept = text.iter().rposition(|byte| !is_blank(*byte));
    text.get(..kept.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

pub(super) fn trim_start(text: &[u8]) -> &[u8] {
    text.get(indent(text).len()..).unwrap_or_default()
}

pub(super) fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}

/// The blanks a line begins with; all of a blank line.
pub(super) fn indent(text: &[u8]) -> &[u8] {
    let kept = text.iter().position(|byte| !is_blank(*byte));
    text.get(..kept.unwrap_or(text.len())).unwrap_or_default()
}

/// Spaces that fold to the ASCII one.
pub(super) const SPACES: [&[u8]; 13] = [
    b"\xc2\xa0",
    b"\xe2\x80\x82",
    b"\xe2\x80\x83",
    b"\xe2\x80\x84",
    b"\xe2\x80\x85",
    b"\xe2\x80\x86",
    b"\xe2\x80\x87",
    b"\xe2\x80\x88",
    b"\xe2\x80\x89",
    b"\xe2\x80\x8a",
    b"\xe2\x80\xaf",
    b"\xe2\x81\x9f",
    b"\xe3\x80\x80",
];

/// Where a line stands that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// At the beginning of a text or file: a byte order mark does not count there.
    First,
    /// Elsewhere.
    Later,
}

impl Standing {
    /// Of a line by its number, from 0.
    pub(super) const fn of(line: usize) -> Self {
        match line {
            0 => Self::First,
            _ => Self::Later,
        }
    }
}

/// A line without the byte order mark that does not count.
pub(super) fn unmarked(line: &[u8], standing: Standing) -> &[u8] {
    match standing {
        Standing::First => line.strip_prefix(BOM).unwrap_or(line),
        Standing::Later => line,
    }
}

/// What of a line counts when whole lines are compared. At [`Tier::Indentation`] that is what all
/// shifts have in common; how far a line is in is compared apart.
pub(super) fn key(tier: Tier, line: &[u8], standing: Standing) -> Cow<'_, [u8]> {
    match tier {
        Tier::Exact => Cow::Borrowed(line),
        Tier::Indentation => Cow::Borrowed(trim(body(unmarked(line, standing)))),
        Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => {
            part(tier, body(unmarked(line, standing)))
        }
    }
}

/// What of a line without terminator counts, from its beginning.
pub(super) fn part(tier: Tier, text: &[u8]) -> Cow<'_, [u8]> {
    match tier {
        Tier::Exact | Tier::Terminators => Cow::Borrowed(text),
        Tier::TrailingBlanks | Tier::Indentation => Cow::Borrowed(trim_end(text)),
        Tier::Punctuation => match fold(text) {
            Cow::Borrowed(text) => Cow::Borrowed(trim_end(text)),
            Cow::Owned(mut text) => {
                text.truncate(trim_end(&text).len());
                Cow::Owned(text)
            }
        },
    }
}

/// A text with dashes, quotes and spaces of every kind as the ASCII ones.
pub(super) fn fold(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut folded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, taken)) = first_folded(rest) {
        folded.push(byte);
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(folded)
}

/// The byte a text begins with once it is folded, and how many it was.
pub(super) fn first_folded(text: &[u8]) -> Option<(u8, usize)> {
    let first = *text.first()?;
    let folded = match text {
        [0xc2, 0xa0, ..] => Some((b' ', 2)),
        [0xe2, 0x80, last, ..] => match last {
            // U+2010 to U+2015
            0x90..=0x95 => Some((b'-', 3)),
            // U+2018 to U+201B
            0x98..=0x9b => Some((b'\'', 3)),
            // U+201C to U+201F
            0x9c..=0x9f => Some((b'"', 3)),
            // U+2002 to U+200A, U+202F
            0x82..=0x8a | 0xaf => Some((b' ', 3)),
            _ => None,
        },
        // U+205F
        [0xe2, 0x81, 0x9f, ..] => Some((b' ', 3)),
        // U+2212
        [0xe2, 0x88, 0x92, ..] => Some((b'-', 3)),
        // U+3000
        [0xe3, 0x80, 0x80, ..] => Some((b' ', 3)),
        _ => None,
    };
    Some(folded.unwrap_or((first, 1)))
}
