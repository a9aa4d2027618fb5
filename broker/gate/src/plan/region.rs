//! What the object in the way has become, as far as the session may read it: found, judged and
//! opened anew like any read, so that nothing is shown that a read would not show.

use super::content;
use crate::admit::admit;
use crate::bind::{Bound, bind};
use crate::refused::{Refused, Shown};
use crate::resolve::resolve;
use crate::session::Session;
use crate::sys::{file, open};
use memchr::memmem;
use portcullis_protocol::authority::Operation;
use portcullis_protocol::limits::{EDIT_BYTES_MAX, REGION_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    AnchoredDeed, Change, EditFile, Lines, Links, Part, Region, Selector, TextEdit,
};
use portcullis_protocol::verb::Verb;

/// Bytes of a region that may come before the lines it is about.
const LEAD_BYTES: usize = REGION_BYTES_MAX / 4;

/// A change that was refused, and the lines of its file that are worth showing with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct InTheWay<'a> {
    pub(super) change: &'a Change,
    pub(super) content: &'a [u8],
    pub(super) focus: Focus,
}

/// What of a file is worth showing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    /// Nobody said: where a text would match, or the beginning.
    Unsaid,
    /// What is around these lines.
    Lines(Lines),
    /// Nothing: it is about content that is not in the file system.
    Nothing,
}

/// The refusal, with a region of the file where that helps and the session may read it.
pub(super) fn with_region(session: &Session, refusal: Refusal, of: InTheWay<'_>) -> Refused {
    // Nothing of a file decides any other, or nothing may be said of it.
    let of_content = matches!(
        refusal.code,
        Code::Conflict | Code::NotSeen | Code::NotUnique | Code::StaleAnchor
    );
    if !of_content {
        return refusal.into();
    }
    match region(session, &refusal, of) {
        Some((refusal, shown)) => Refused {
            refusal,
            shown: Some(Box::new(shown)),
        },
        None => refusal.into(),
    }
}

fn region(session: &Session, refusal: &Refusal, of: InTheWay<'_>) -> Option<(Refusal, Shown)> {
    let (selector, links) = reached(of.change, refusal);
    let admitted = admit(session, Operation::of(Verb::Read), selector, links).ok()?;
    let pinned = resolve(session, admitted).ok()?;
    let bound = bind(session, pinned, selector.path.as_slice()).ok()?;
    let bytes = whole(&bound)?;
    let focus = match of.focus {
        Focus::Lines(lines) => Some(lines.first),
        Focus::Nothing => return None,
        Focus::Unsaid => match of.change {
            Change::Edit(edit) => would_match(&bytes, edit, of.content),
            Change::Write(_)
            | Change::Mkdir(_)
            | Change::Move(_)
            | Change::Delete(_)
            | Change::Chmod(_)
            | Change::Link(_) => None,
        },
    };
    let cut = cut(&bytes, focus.unwrap_or(1))?;
    // It is left out where more would be shown than may be.
    session.meter.show(cut.bytes.len()).ok()?;
    let stamp = bound.observation().stamp;
    let shown = Shown {
        region: Region {
            first_line: cut.first_line,
            total_lines: cut.total_lines,
            object: stamp.object(),
            digest: content::digest(&bytes),
        },
        bytes: cut.bytes.to_vec(),
    };
    Some((refusal.clone().finding(stamp), shown))
}

/// The name of a change that was refused: of a move the one that its refusal is about.
fn reached<'a>(change: &'a Change, refusal: &Refusal) -> (&'a Selector, Links) {
    match change {
        Change::Write(write) => (&write.selector, Links::Follow),
        Change::Edit(edit) => (&edit.selector, Links::Follow),
        Change::Mkdir(mkdir) => (&mkdir.selector, Links::Keep),
        Change::Move(order) => {
            let told = refusal.object.as_ref().map(|object| object.as_slice());
            if told == Some(order.destination.path.as_slice()) {
                (&order.destination, Links::Keep)
            } else {
                (&order.source, Links::Keep)
            }
        }
        Change::Delete(delete) => (&delete.selector, Links::Keep),
        Change::Chmod(chmod) => (&chmod.selector, Links::Follow),
        Change::Link(link) => (&link.selector, Links::Keep),
    }
}

/// All bytes of a file that stood still, when they are not more than an edit may have.
fn whole(bound: &Bound) -> Option<Vec<u8>> {
    let stamp = bound.observation().stamp;
    if stamp.size > EDIT_BYTES_MAX {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(stamp.size).ok()? + 1];
    let n = file::read_at(bound.object(), &mut bytes, 0).ok()?;
    bytes.truncate(n);
    let after = open::observation(bound.object()).ok()?.stamp;
    (after == stamp).then_some(bytes)
}

/// The line where the first text of an edit would match now, as far as a plain look tells.
fn would_match(bytes: &[u8], edit: &EditFile, content: &[u8]) -> Option<u64> {
    let first = edit.edits.as_slice().first()?;
    let (span, line) = match first {
        TextEdit::Replace(one) => (Some(one.old), None),
        TextEdit::Hunk(hunk) => {
            let old = hunk.parts.as_slice().iter().find_map(|part| match part {
                Part::Keep(span) | Part::Remove(span) => Some(*span),
                Part::Insert(_) => None,
            });
            let lead = hunk.after.as_slice().last().copied();
            (old.or(lead), hunk.line)
        }
        TextEdit::Insert(insert) => (None, Some(insert.line)),
        TextEdit::Anchored(anchored) => match anchored.deed {
            AnchoredDeed::Replace(_) | AnchoredDeed::Before(_) => (None, Some(anchored.first.line)),
            AnchoredDeed::After(_) => (None, Some(anchored.last.line)),
        },
    };
    let text = span.and_then(|span| span.of(content)).unwrap_or_default();
    let spoken = |line: &&[u8]| !line.trim_ascii().is_empty();
    let lines = text.split(|b| *b == b'\n').filter(spoken);
    let mut wanted = std::iter::once(text)
        .chain(lines)
        .map(<[u8]>::trim_ascii)
        .filter(|text| !text.is_empty());
    let found = wanted.find_map(|text| memmem::find(bytes, text));
    found.map(|at| line_of(bytes, at)).or(line)
}

/// The number of the line that a byte is in.
fn line_of(bytes: &[u8], at: usize) -> u64 {
    let before = bytes.get(..at).unwrap_or_default();
    count(memchr::memchr_iter(b'\n', before).count()) + 1
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Whole lines of a text.
#[derive(Debug)]
struct Cut<'a> {
    first_line: u64,
    total_lines: u64,
    bytes: &'a [u8],
}

/// As many whole lines as may be shown from a little before a line on; none of what is no text, or
/// where a line alone is too long.
fn cut(bytes: &[u8], focus: u64) -> Option<Cut<'_>> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let focus = usize::try_from(focus).unwrap_or(usize::MAX);
    let focus = focus.saturating_sub(1).min(lines.len().saturating_sub(1));
    let (before, after) = lines.split_at_checked(focus)?;
    let fitting = |lines: &mut dyn Iterator<Item = &&[u8]>, mut room: usize| {
        let mut fits = 0;
        for line in lines {
            match room.checked_sub(line.len()) {
                Some(left) => room = left,
                None => break,
            }
            fits += 1;
        }
        (fits, room)
    };
    let (lead, left) = fitting(&mut before.iter().rev(), LEAD_BYTES);
    let lead_bytes = LEAD_BYTES - left;
    let (follow, room) = fitting(&mut after.iter(), REGION_BYTES_MAX - lead_bytes);
    // What is left over at the end of the file goes to the lines before.
    let (more, _) = match before.split_at_checked(focus - lead) {
        Some((earlier, _)) if follow == after.len() => fitting(&mut earlier.iter().rev(), room),
        Some(_) | None => (0, room),
    };
    if follow == 0 && !after.is_empty() {
        return None;
    }
    let (first, end) = (focus - lead - more, focus + follow);
    let length = |lines: Option<&[&[u8]]>| -> usize {
        lines
            .unwrap_or_default()
            .iter()
            .map(|line| line.len())
            .sum()
    };
    let (start, size) = (length(lines.get(..first)), length(lines.get(first..end)));
    let shown = bytes.get(start..)?.get(..size)?;
    if memchr::memchr(0, shown).is_some() {
        return None;
    }
    Some(Cut {
        first_line: count(first) + 1,
        total_lines: count(lines.len()),
        bytes: shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_small_file_is_shown_whole_wherever_it_is_about() {
        for focus in [0, 1, 2, 3, 4, u64::MAX] {
            let cut = cut(b"one\ntwo\nthree", focus).unwrap();
            assert_eq!(cut.bytes, b"one\ntwo\nthree");
            assert_eq!((cut.first_line, cut.total_lines), (1, 3));
        }
        let empty = cut(b"", 1).unwrap();
        assert_eq!(
            (empty.first_line, empty.total_lines, empty.bytes.len()),
            (1, 0, 0)
        );
    }

    #[test]
    fn what_is_no_text_or_one_endless_line_is_not_shown() {
        assert!(cut(b"one\n\0two\n", 1).is_none());
        assert!(cut(&vec![b'x'; REGION_BYTES_MAX + 1], 1).is_none());
        assert!(cut(&vec![b'x'; REGION_BYTES_MAX], 1).is_some());
        let far = [b"x\n".repeat(REGION_BYTES_MAX), b"\0".to_vec()].concat();
        assert!(cut(&far, 1).is_some(), "what is not shown is not judged");
    }

    proptest! {
        #[test]
        fn a_region_is_whole_lines_with_the_line_it_is_about(
            lengths in prop::collection::vec(0_usize..600, 1..60),
            focus in 1_u64..60,
        ) {
            let mut bytes = Vec::new();
            for (n, length) in lengths.iter().enumerate() {
                bytes.extend(std::iter::repeat_n(b'a' + (n % 26) as u8, *length));
                bytes.push(b'\n');
            }
            let cut = cut(&bytes, focus).unwrap();
            prop_assert!(cut.bytes.len() <= REGION_BYTES_MAX);
            let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
            let first = usize::try_from(cut.first_line).unwrap() - 1;
            let shown = cut.bytes.split_inclusive(|b| *b == b'\n').count();
            prop_assert_eq!(lines[first..first + shown].concat(), cut.bytes);
            let about = usize::try_from(focus).unwrap().min(lines.len()) - 1;
            prop_assert!((first..first + shown).contains(&about));
            // It could not be longer.
            let next = lines.get(first + shown).map_or(usize::MAX, |line| line.len());
            prop_assert!(next == usize::MAX || cut.bytes.len() + next > REGION_BYTES_MAX);
        }
    }
}
