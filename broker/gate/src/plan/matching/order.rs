//! Edits, read: their spans are there, and each could be made in some file.

use super::lines::{Text, body, split};
use super::miss::{Noted, around};
use super::{Edits, Failed};
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    AnchoredDeed, Count, Edges, Hunk, Part, Replace, Span, TextEdit, Tiers,
};
use std::ops::Range;

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
    let items = order.edits.iter().enumerate();
    items
        .map(|(n, edit)| item(order, edit).map_err(|why| (Some(n), why)))
        .collect()
}

fn refuse<T>(note: &str) -> Result<T, Noted> {
    Err(Noted::new(Code::OutOfRange, note))
}

fn item<'a>(order: Edits<'a>, edit: &'a TextEdit) -> Result<Item<'a>, Noted> {
    let bytes = |span: Span| match span.of(order.content) {
        Some(bytes) => Ok(bytes),
        None => refuse("no such content"),
    };
    match edit {
        TextEdit::Replace(one) => wanted(*one, bytes).map(Item::Replace),
        TextEdit::Hunk(hunk) => block(order.tiers, hunk, bytes).map(Item::Block),
        TextEdit::Insert(one) => Ok(Item::Put {
            line: one.line,
            text: some(bytes(one.text)?)?,
        }),
        TextEdit::Anchored(one) => {
            let deed = match one.deed {
                AnchoredDeed::Replace(text) => Deed::Replace(unlabelled(bytes(text)?)?),
                AnchoredDeed::Before(text) => Deed::Before(unlabelled(some(bytes(text)?)?)?),
                AnchoredDeed::After(text) => Deed::After(unlabelled(some(bytes(text)?)?)?),
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

fn wanted<'a>(
    one: Replace,
    bytes: impl Fn(Span) -> Result<&'a [u8], Noted>,
) -> Result<Wanted<'a>, Noted> {
    let wanted = Wanted {
        old: bytes(one.old)?,
        new: bytes(one.new)?,
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

fn block<'a>(
    tiers: Tiers,
    hunk: &Hunk,
    bytes: impl Fn(Span) -> Result<&'a [u8], Noted>,
) -> Result<Block<'a>, Noted> {
    let (mut old, mut runs) = (Vec::new(), Vec::<Run<'a>>::new());
    let mut open = false;
    let mut last_new: &[u8] = b"";
    for part in hunk.parts.as_slice() {
        let (Part::Keep(span) | Part::Remove(span) | Part::Insert(span)) = part;
        let text = bytes(*span)?;
        if text.is_empty() {
            continue;
        }
        if let Part::Keep(_) = part {
            old.extend(split(text));
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
                old.extend(split(text));
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
        leads: leads.map(|lead| bytes(*lead)).collect::<Result<_, _>>()?,
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
    for (n, item) in items.iter().enumerate() {
        let (first, last) = match item {
            Item::Labelled { first, last, .. } => (first, last),
            Item::Replace(_) | Item::Block(_) | Item::Put { .. } => continue,
        };
        for asked in [first, last] {
            check_label(text, *asked, labels).map_err(|why| (Some(n), why))?;
        }
    }
    Ok(())
}

fn check_label(text: &Text<'_>, asked: Anchor, labels: &Labels) -> Result<(), Noted> {
    let line = usize::try_from(asked.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let stale = |note: String| {
        let near = around(text, line..line.saturating_add(1));
        Err(Noted::new(Code::StaleAnchor, &note).near(near))
    };
    if line >= text.count() {
        return stale(format!("`{asked}`: the file has {} lines", text.count()));
    }
    let now = labels.label(asked.line, body(text.line(line)));
    if now == asked {
        return Ok(());
    }
    stale(format!("`{asked}`: that line is `{now}` now"))
}
