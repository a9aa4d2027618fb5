//! What `edit` asks for, and the labels it shows afterwards.

use super::ahead::Ahead;
use super::args::{EditArgs, Pair, Target, Text};
use super::place::Place;
use crate::change::{AnchoredDeed, Edit, Replace, TextEdit, Tiers};
use crate::error::Error;
use crate::label;
use portcullis_protocol::session::{Matched, Range};
use std::os::unix::ffi::OsStrExt;

/// Lines shown with their labels before and after what was changed.
const AROUND: u64 = 2;
/// Parts of a file shown with their labels after one edit; each is a request.
const PARTS: usize = 8;

pub(super) fn edit(args: &EditArgs, place: &Place, ahead: &Ahead) -> Result<Edit, Error> {
    let edits = args.pairs.0.iter().map(|pair| one(pair, args, ahead));
    Ok(Edit {
        selector: place.selector(&args.path)?,
        expect: args.expect.expect(),
        edits: edits.collect::<Result<_, _>>()?,
        tiers: args.tiers.over(Tiers::DEFAULT),
        mode: None,
    })
}

fn one(Pair { target, new }: &Pair, args: &EditArgs, ahead: &Ahead) -> Result<TextEdit, Error> {
    let new = text(new, ahead)?;
    Ok(match target {
        Target::Old(old) => {
            let old = text(old, ahead)?;
            if old.is_empty() {
                return Err(Error::invalid(
                    "the old text is empty: give what stands there now; a whole file is made by \
                     `write`",
                ));
            }
            // Where labels stand in the file itself they may be edited.
            let new = match label::copied(&old) {
                Some(_) => new,
                None => unlabelled(new)?,
            };
            TextEdit::Replace(Replace {
                old,
                new,
                count: args.count(),
            })
        }
        Target::Lines(first, last) => TextEdit::Anchored {
            first: *first,
            last: *last,
            deed: AnchoredDeed::Replace(unlabelled(new)?),
        },
        Target::Before(line) => TextEdit::Anchored {
            first: *line,
            last: *line,
            deed: AnchoredDeed::Before(something(unlabelled(new)?)?),
        },
        Target::After(line) => TextEdit::Anchored {
            first: *line,
            last: *line,
            deed: AnchoredDeed::After(something(unlabelled(new)?)?),
        },
        Target::AfterLine(line) => TextEdit::Insert {
            line: *line,
            text: ended(something(new)?),
        },
    })
}

/// A new text that was not copied with its labels: they would become part of the file.
fn unlabelled(text: Vec<u8>) -> Result<Vec<u8>, Error> {
    match label::copied(&text) {
        None => Ok(text),
        Some(line) => Err(Error::invalid(format_args!(
            "line {line} of a new text begins with the label of a line: give the text alone, \
             without labels (a text that only looks so goes in by --insert-after)"
        ))),
    }
}

/// New lines that are not none.
fn something(text: Vec<u8>) -> Result<Vec<u8>, Error> {
    if text.is_empty() {
        return Err(Error::invalid(
            "the new text is empty: there is nothing to insert",
        ));
    }
    Ok(text)
}

/// Whole lines: a newline at the end may be left out.
fn ended(mut text: Vec<u8>) -> Vec<u8> {
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text
}

fn text(text: &Text, ahead: &Ahead) -> Result<Vec<u8>, Error> {
    match text {
        Text::Given(text) => Ok(text.as_bytes().to_vec()),
        Text::In(file) => ahead.whole(file),
    }
}

/// The lines whose labels are shown after an edit: those in the places that were changed, and a few
/// around them.
pub(super) fn around(matched: &[Matched]) -> Vec<Range> {
    let mut places: Vec<(u64, u64)> = matched
        .iter()
        .map(|place| {
            let first = place.new.first.saturating_sub(AROUND).max(1);
            let end = place.new.first.saturating_add(place.new.count);
            (first, end.saturating_add(AROUND))
        })
        .collect();
    places.sort_unstable();
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (first, end) in places {
        match parts.last_mut() {
            Some((_, last)) if first <= *last => *last = end.max(*last),
            Some(_) | None => parts.push((first, end)),
        }
    }
    parts
        .into_iter()
        .take(PARTS)
        .map(|(first, end)| Range::Lines {
            first,
            count: end.saturating_sub(first),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::session::{Lines, Tier};

    #[test]
    fn places_that_are_near_are_shown_together() {
        let place = |first, count| Matched {
            change: 0,
            edit: 0,
            tier: Tier::Exact,
            old: Lines { first: 1, count: 1 },
            new: Lines { first, count },
        };
        let range = |first, count| Range::Lines { first, count };
        assert_eq!(around(&[place(1, 1)]), [range(1, 3)]);
        // Nothing is there any more: the lines between which it was.
        assert_eq!(around(&[place(10, 0)]), [range(8, 4)]);
        assert_eq!(
            around(&[place(30, 2), place(10, 1), place(14, 1)]),
            [range(8, 9), range(28, 6)]
        );
        let many: Vec<Matched> = (1..20).map(|n| place(n * 100, 1)).collect();
        assert_eq!(around(&many).len(), PARTS);
    }
}
