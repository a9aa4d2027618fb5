//! A file with all of its splices made.

use super::lines::{BOM, Text, terminator, told};
use super::miss::Noted;
use super::order::End;
use super::splice::{Splice, Unit, within};
use super::{Edited, Failed, Placed};
use portcullis_protocol::refusal::Code;

/// The file with all splices made.
pub(super) fn join(text: &Text<'_>, mut splices: Vec<Splice<'_>>) -> Result<Edited, Failed> {
    // Insertions at one place keep the order of their edits.
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end, splice.edit));
    refuse_overlaps(text, &splices)?;
    let old = text.bytes();
    let more: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let less: usize = splices.iter().map(|splice| splice.range.len()).sum();
    let size = old.len() + more - less;
    within(size).map_err(|why| (None, why))?;
    let mut made = Made {
        text,
        bytes: Vec::with_capacity(size + splices.len().min(8) * 2),
        at: 0,
        places: Vec::with_capacity(splices.len()),
        lines: 0,
    };
    for (splice, after) in splices.iter().zip(afters(&splices)) {
        made.put(splice, after);
    }
    made.keep(old.len());
    if let Some(last) = splices.iter().rfind(|splice| changes(splice))
        && last.end == End::AsFile
        && last.range.end == old.len()
        && !last.text.is_empty()
        && !text.is_ended()
    {
        let kept = made.bytes.len() - terminator(&made.bytes).len();
        let line = made.bytes.get(..kept).unwrap_or_default();
        // An empty line without a terminator would be no line.
        if !(line.is_empty() || line == BOM || line.ends_with(b"\n")) {
            made.bytes.truncate(kept);
        }
    }
    within(made.bytes.len()).map_err(|why| (None, why))?;
    Ok(Edited {
        bytes: made.bytes,
        places: made.places,
    })
}

/// What comes behind a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// A line that is put there: what is before it is ended.
    Line,
    /// Another splice, of bytes or only taking lines away.
    Splice,
    /// The file, as it was.
    File,
}

fn afters(splices: &[Splice<'_>]) -> Vec<After> {
    let mut afters = Vec::with_capacity(splices.len());
    let mut next: Option<&Splice<'_>> = None;
    for splice in splices.iter().rev() {
        let next_to = next.filter(|next| next.range.start == splice.range.end);
        afters.push(match next_to {
            None => After::File,
            Some(next) if next.unit == Unit::Lines && !next.text.is_empty() => After::Line,
            Some(_) => After::Splice,
        });
        if changes(splice) {
            next = Some(splice);
        }
    }
    afters.reverse();
    afters
}

/// What is only told changes nothing, and is in nobody's way.
fn changes(splice: &Splice<'_>) -> bool {
    !splice.range.is_empty() || !splice.text.is_empty()
}

fn refuse_overlaps(text: &Text<'_>, splices: &[Splice<'_>]) -> Result<(), Failed> {
    let mut before: Option<&Splice<'_>> = None;
    for other in splices.iter().filter(|splice| changes(splice)) {
        let one = before.replace(other);
        // What changes a byte order mark changes where the first line begins.
        let mark = text.mark();
        let moves = |one: &Splice<'_>| one.range.start < mark && other.range.start == mark;
        if let Some(one) = one.filter(|one| other.range.start < one.range.end || moves(one)) {
            let (first, second) = (one.edit.min(other.edit), one.edit.max(other.edit));
            let line = text.at(other.range.start);
            let note = format!(
                "it changes what edit {} changes too, at line {}; edits are found in the file as \
                 it is before all of them",
                first + 1,
                line + 1
            );
            let near = told(&(line..text.at(other.range.end.max(1) - 1) + 1));
            let why = Noted::new(Code::Collision, &note).near(Some(near));
            return Err((Some(second), why));
        }
    }
    Ok(())
}

/// A file under construction.
struct Made<'t, 'a> {
    text: &'t Text<'a>,
    bytes: Vec<u8>,
    /// Bytes of the old file that are done.
    at: usize,
    places: Vec<Placed>,
    /// Newlines so far.
    lines: usize,
}

impl Made<'_, '_> {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.lines += newlines(bytes);
    }

    fn keep(&mut self, to: usize) {
        // What changes nothing may be told of a place in the middle of what goes.
        if let Some(kept) = self.text.bytes().get(self.at..to) {
            self.add(kept);
            self.at = to;
        }
    }

    fn put(&mut self, splice: &Splice<'_>, after: After) {
        self.keep(splice.range.start);
        let first = self.text.at(splice.range.start);
        if splice.unit == Unit::Lines && !splice.text.is_empty() && !self.begins_line() {
            let end = self.text.terminator_near(first);
            self.add(end);
        }
        self.place(splice, first, after);
        self.add(&splice.text);
        self.at = self.at.max(splice.range.end);
    }

    /// Whether what comes next begins a line.
    fn begins_line(&self) -> bool {
        self.bytes.last().is_none_or(|last| *last == b'\n') || self.bytes.as_slice() == BOM
    }

    /// Tells of a splice that comes next. The lines around it are those that have a byte of it, or
    /// that are no line of their own any more.
    fn place(&mut self, splice: &Splice<'_>, first: usize, after: After) {
        let end = splice.range.end;
        let mut lines = match splice.unit {
            Unit::Lines => first..self.text.at(end),
            // Of nothing at the very start, it is the first line.
            Unit::Bytes => first..self.text.at(end.max(1) - 1) + 1,
        };
        let ends = splice.unit == Unit::Lines || end == self.text.start(lines.end);
        let mut new = newlines(&splice.text);
        let open = match splice.text.last() {
            Some(last) => *last != b'\n',
            None => changes(splice) && !self.begins_line(),
        };
        match (ends, open, after) {
            // The line goes on, or its rest is a line; unless another splice tells of that.
            (false, true, After::Line | After::Splice | After::File)
            | (false, false, After::File)
            | (true, true, After::Line) => new += 1,
            // The next line is joined to it.
            (true, true, After::Splice | After::File) => {
                new += 1;
                lines.end = (lines.end + 1).min(self.text.count());
            }
            (false, false, After::Line | After::Splice)
            | (true, false, After::Line | After::Splice | After::File) => {}
        }
        let from = self.lines;
        self.places.push(Placed {
            edit: u16::try_from(splice.edit).unwrap_or(u16::MAX),
            tier: splice.tier,
            old: told(&lines),
            new: told(&(from..from + new)),
        });
    }
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}
