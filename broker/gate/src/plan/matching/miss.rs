//! What is said of an edit that cannot be made.

use super::lines::{Text, told};
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Lines;
use std::ops::Range;

/// Lines that are named of those where a text is.
const NAMED: usize = 8;
/// Lines before and after one that is shown.
const AROUND: usize = 5;

/// A refusal without the edit it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) code: Code,
    pub(super) note: String,
    pub(super) near: Option<Lines>,
}

impl Noted {
    pub(super) fn new(code: Code, note: &str) -> Self {
        Self {
            code,
            note: note.to_owned(),
            near: None,
        }
    }

    /// A text is not where it must be, or not so often.
    pub(super) fn not_unique(note: &str) -> Self {
        Self::new(Code::NotUnique, note)
    }

    pub(super) fn near(mut self, near: Option<Lines>) -> Self {
        self.near = near;
        self
    }
}

/// Lines and some around them, of those the file has.
pub(super) fn around(text: &Text<'_>, lines: Range<usize>) -> Option<Lines> {
    let end = lines.end.saturating_add(AROUND).min(text.count());
    let start = lines.start.min(end).saturating_sub(AROUND);
    (start < end).then(|| told(&(start..end)))
}

/// A note, cut at a character to what a refusal carries.
pub(super) fn short(note: String) -> String {
    cut(note, REASON_BYTES_MAX)
}

/// A text of at most `most` bytes, cut at a character.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let mut end = most - '…'.len_utf8();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Lines from 0 by their numbers: `lines 4, 9 and 12`.
pub(super) fn numbers(lines: impl Iterator<Item = usize>, of: usize) -> String {
    let named: Vec<String> = lines
        .take(NAMED)
        .map(|line| (line + 1).to_string())
        .collect();
    let s = if of == 1 { "" } else { "s" };
    match (named.split_last(), of > named.len()) {
        (None, _) => String::new(),
        (Some(_), true) => format!("line{s} {}, …", named.join(", ")),
        (Some((last, [])), false) => format!("line{s} {last}"),
        (Some((last, rest)), false) => format!("line{s} {} and {last}", rest.join(", ")),
    }
}

/// `once`, or how many times.
pub(super) fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}
