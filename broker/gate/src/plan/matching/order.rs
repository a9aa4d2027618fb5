//! Edits, read: their spans are there, and each could be made in some file.

use super::lines::{Text, body, split};
use super::miss::{Noted, around};
use super::{Edits, Failed};
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::limits::COMPOSED_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    AnchoredDeed, Count, Edges, Hunk, Part, Replace, Span, TextEdit, Tiers,
};
use std::collections::HashMap;
use std::ops::Range;

/// Lines that stay or go, in all edits together: the automaton that looks for them takes about fifty
/// bytes for each.
const LINES_MAX: usize = 4 << 20;

/// One edit.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Replace(Wanted<'a>),
    Block(Block<'a>),
    /// Lines after a line.
    Put {
        line: u64,
        text: &'a [u8],
    },
    Labelled {
        first: Anchor,
        last: Anchor,
        deed: Deed<'a>,
    },
}

/// A text for a text.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// Not empty.
    pub(super) old: &'a [u8],
    pub(super) new: &'a [u8],
    pub(super) count: Count,
}

/// Whole lines. Only the last of `old` may lack its newline.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) leads: Vec<&'a [u8]>,
    pub(super) line: Option<u64>,
    pub(super) edges: Edges,
    /// What stays and goes.
    pub(super) old: Vec<&'a [u8]>,
    pub(super) runs: Vec<Run<'a>>,
    pub(super) end: End,
}

/// What goes, of the old lines, and what comes instead: lines, in pieces.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) old: Range<usize>,
    pub(super) new: Vec<&'a [u8]>,
}

/// How a file ends when a text reaches its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// As it did.
    AsFile,
    /// As the text does.
    AsGiven,
}

#[derive(Debug)]
pub(super) enum Deed<'a> {
    Replace(&'a [u8]),
    Before(&'a [u8]),
    After(&'a [u8]),
}

/// Reads edits.
pub(super) fn read(order: Edits<'_>) -> Result<Vec<Item<'_>>, Failed> {
    let mut room = Room {
        content: order.content,
        bytes: COMPOSED_BYTES_MAX,
        lines: LINES_MAX,
    };
    let items = order.edits.iter().enumerate();
    items
        .map(|(n, edit)| item(order.tiers, edit, &mut room).map_err(|why| (Some(n), why)))
        .collect()
}

/// What edits may still have: spans may be of the same bytes, so that the content does not bound
/// them.
struct Room<'a> {
    content: &'a [u8],
    bytes: usize,
    lines: usize,
}

impl<'a> Room<'a> {
    fn bytes(&mut self, span: Span) -> Result<&'a [u8], Noted> {
        let Some(bytes) = span.of(self.content) else {
            return refuse("no such content");
        };
        let note = "the texts of the edits are too many bytes together";
        let left = self.bytes.checked_sub(bytes.len());
        self.bytes = left.ok_or_else(|| Noted::new(Code::OutOfBudget, note))?;
        Ok(bytes)
    }

    /// The lines of a text that stay or go.
    fn lines(&mut self, text: &'a [u8]) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>, Noted> {
        let count = memchr::memchr_iter(b'\n', text).count() + 1;
        let note = "the edits have more than 4194304 lines that stay or go";
        let left = self.lines.checked_sub(count);
        self.lines = left.ok_or_else(|| Noted::new(Code::OutOfBudget, note))?;
        Ok(split(text))
    }
}

fn refuse<T>(note: &str) -> Result<T, Noted> {
    Err(Noted::new(Code::OutOfRange, note))
}

fn item<'a>(tiers: Tiers, edit: &TextEdit, room: &mut Room<'a>) -> Result<Item<'a>, Noted> {
    match edit {
        TextEdit::Replace(one) => wanted(*one, room).map(Item::Replace),
        TextEdit::Hunk(hunk) => block(tiers, hunk, room).map(Item::Block),
        TextEdit::Insert(one) => Ok(Item::Put {
            line: one.line,
            text: some(room.bytes(one.text)?)?,
        }),
        TextEdit::Anchored(one) => {
            let deed = match one.deed {
                AnchoredDeed::Replace(text) => Deed::Replace(unlabelled(room.bytes(text)?)?),
                AnchoredDeed::Before(text) => Deed::Before(unlabelled(some(room.bytes(text)?)?)?),
                AnchoredDeed::After(text) => Deed::After(unlabelled(some(room.bytes(text)?)?)?),
            };
            if one.first.line > one.last.line {
                let note = format!("`{}` is after `{}`", one.first, one.last);
                return refuse(&note);
            }
            Ok(Item::Labelled {
                first: one.first,
                last: one.last,
                deed,
            })
        }
    }
}

fn wanted<'a>(one: Replace, room: &mut Room<'a>) -> Result<Wanted<'a>, Noted> {
    let wanted = Wanted {
        old: room.bytes(one.old)?,
        new: room.bytes(one.new)?,
        count: one.count,
    };
    if wanted.old.is_empty() {
        return refuse(
            "the text to replace is empty, and that is everywhere; name the text there, insert \
             lines by number, or write the whole file",
        );
    }
    if wanted.count == Count::Exactly(0) {
        return refuse("a text to be replaced 0 times");
    }
    Ok(wanted)
}

fn block<'a>(tiers: Tiers, hunk: &Hunk, room: &mut Room<'a>) -> Result<Block<'a>, Noted> {
    let (mut old, mut runs) = (Vec::new(), Vec::<Run<'a>>::new());
    let mut open = false;
    let mut last_new: &[u8] = b"";
    for part in hunk.parts.as_slice() {
        let (Part::Keep(span) | Part::Remove(span) | Part::Insert(span)) = part;
        let text = room.bytes(*span)?;
        if text.is_empty() {
            continue;
        }
        if let Part::Keep(_) = part {
            old.extend(room.lines(text)?);
            open = false;
            last_new = b"\n";
            continue;
        }
        if !open {
            let here = old.len()..old.len();
            runs.push(Run {
                old: here,
                new: Vec::new(),
            });
            open = true;
        }
        let Some(run) = runs.last_mut() else { continue };
        match part {
            Part::Keep(_) => {}
            Part::Remove(_) => {
                old.extend(room.lines(text)?);
                run.old.end = old.len();
            }
            Part::Insert(_) => {
                run.new.push(text);
                last_new = text;
            }
        }
    }
    if old.is_empty() && runs.is_empty() {
        return refuse("the hunk has no lines");
    }
    let (last, before) = match old.split_last() {
        Some((last, before)) => (*last, before),
        None => (b"\n".as_slice(), [].as_slice()),
    };
    if before.iter().any(|line| !line.ends_with(b"\n")) {
        return refuse("a line without a newline can only be the last of what stays and goes");
    }
    let given = tiers == Tiers::EXACT || !last.ends_with(b"\n") || !last_new.ends_with(b"\n");
    let leads = hunk.after.as_slice().iter();
    Ok(Block {
        leads: leads
            .map(|lead| room.bytes(*lead))
            .collect::<Result<_, _>>()?,
        line: hunk.line,
        edges: hunk.edges,
        old,
        runs,
        end: if given { End::AsGiven } else { End::AsFile },
    })
}

/// Lines that are to come.
fn some(text: &[u8]) -> Result<&[u8], Noted> {
    if text.is_empty() {
        return refuse("nothing to insert; an empty line is a newline");
    }
    Ok(text)
}

/// Refuses text with labels in it: they would become part of the file.
fn unlabelled(text: &[u8]) -> Result<&[u8], Noted> {
    for line in split(text) {
        // Twenty digits, a colon, five letters.
        let beginning = line.get(..27).unwrap_or(line);
        let cut = beginning.iter().position(|byte| b"|\t ".contains(byte));
        let label = cut.and_then(|cut| std::str::from_utf8(beginning.get(..cut)?).ok());
        if let Some(label) = label.filter(|label| label.parse::<Anchor>().is_ok()) {
            return refuse(&format!(
                "the new text has the label `{label}`; labels are not part of the file, leave \
                 them out (text that only looks so can be inserted by line number)"
            ));
        }
    }
    Ok(text)
}

/// Every label of every edit is that of its line, or the first that is not is refused.
pub(super) fn check_labels(
    text: &Text<'_>,
    items: &[Item<'_>],
    labels: &Labels,
) -> Result<(), Failed> {
    // Each line is hashed once, however many edits name it.
    let mut known: HashMap<u64, Anchor> = HashMap::new();
    for (n, item) in items.iter().enumerate() {
        let (first, last) = match item {
            Item::Labelled { first, last, .. } => (first, last),
            Item::Replace(_) | Item::Block(_) | Item::Put { .. } => continue,
        };
        for asked in [*first, *last] {
            let line = usize::try_from(asked.line.saturating_sub(1)).unwrap_or(usize::MAX);
            let stale = |note: &str| {
                let near = around(text, line..line.saturating_add(1));
                (Some(n), Noted::new(Code::StaleAnchor, note).near(near))
            };
            if line >= text.count() {
                let note = format!("`{asked}`: the file has {} lines", text.count());
                return Err(stale(&note));
            }
            let now = *known
                .entry(asked.line)
                .or_insert_with(|| labels.label(asked.line, body(text.line(line))));
            if now != asked {
                return Err(stale(&format!("`{asked}`: that line is `{now}` now")));
            }
        }
    }
    Ok(())
}
