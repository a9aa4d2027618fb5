//! New bytes for old ones: which terminators they get, and all of them together.

use super::blocks::Shift;
use super::form::{Standing, trim_start, unmarked};
use super::lines::{BOM, LF, Text, body, ended, split, terminator, told};
use super::miss::Noted;
use super::order::{Block, End, Run};
use super::{Edited, Failed, Placed};
use portcullis_protocol::limits::EDIT_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Tier, Tiers};
use std::borrow::Cow;
use std::ops::Range;

/// New bytes for a range of the file.
#[derive(Debug)]
pub(super) struct Splice<'a> {
    pub(super) edit: usize,
    pub(super) tier: Tier,
    pub(super) range: Range<usize>,
    pub(super) text: Cow<'a, [u8]>,
    pub(super) unit: Unit,
    pub(super) end: End,
}

/// What a splice is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Whole lines: what is before them is ended first.
    Lines,
    /// Bytes.
    Bytes,
}

/// Where and how a block was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) tier: Tier,
    pub(super) tiers: Tiers,
    /// Its first line.
    pub(super) line: usize,
    pub(super) shift: Shift<'a>,
}

/// The splices of a block.
pub(super) fn of_block<'a>(
    text: &Text<'_>,
    (edit, block): (usize, &Block<'a>),
    spot: Spot<'_>,
) -> Result<Vec<Splice<'a>>, Noted> {
    let mut splices = Vec::with_capacity(block.runs.len().max(1));
    for run in &block.runs {
        splices.push(of_run(text, (edit, block), run, spot)?);
    }
    if splices.is_empty() {
        // Nothing changes; that it was found, and where, is told all the same.
        let at = text.start(spot.line);
        splices.push(Splice {
            edit,
            tier: spot.tier,
            range: at..at,
            text: Cow::Borrowed(b""),
            unit: Unit::Lines,
            end: End::AsGiven,
        });
    }
    Ok(splices)
}

fn of_run<'a>(
    text: &Text<'_>,
    (edit, block): (usize, &Block<'a>),
    run: &Run<'a>,
    spot: Spot<'_>,
) -> Result<Splice<'a>, Noted> {
    let first = spot.line + run.old.start;
    let last = spot.line + run.old.end;
    // A mark stays before what is put first, unless the text says where it is.
    let removes_mark = spot.tier == Tier::Exact && !run.old.is_empty();
    let start = if first == 0 && spot.tiers != Tiers::EXACT && !removes_mark {
        text.mark()
    } else {
        text.start(first)
    };
    let mut texts = Terminated {
        text,
        old: first..last,
        block: spot.line..spot.line + block.old.len(),
        literal: is_literal(block, spot),
        open: block.end == End::AsGiven && last == text.count(),
        shift: spot.shift,
        marked: spot.tier != Tier::Exact && first == 0,
    };
    Ok(Splice {
        edit,
        tier: spot.tier,
        range: start..text.start(last).max(start),
        text: texts.of(&run.new)?,
        unit: Unit::Lines,
        end: block.end,
    })
}

/// Whether lines that come are put as they are given: nothing but bytes counts, or they stand with
/// lines that are the file's byte for byte, terminators and all.
fn is_literal(block: &Block<'_>, spot: Spot<'_>) -> bool {
    let by_bytes = block.old.iter().any(|line| line.ends_with(LF));
    spot.tiers == Tiers::EXACT || (spot.tier == Tier::Exact && by_bytes)
}

/// Gives lines that come their terminators.
struct Terminated<'t, 'a> {
    text: &'t Text<'a>,
    /// The lines they come for.
    old: Range<usize>,
    /// The lines of the block.
    block: Range<usize>,
    literal: bool,
    /// Whether the last may be without one.
    open: bool,
    shift: Shift<'t>,
    /// Whether a byte order mark before them does not count.
    marked: bool,
}

impl Terminated<'_, '_> {
    fn of<'a>(&mut self, pieces: &[&'a [u8]]) -> Result<Cow<'a, [u8]>, Noted> {
        if let ([piece], true, true) = (pieces, self.literal, self.shift == Shift::In(b""))
            && (piece.ends_with(LF) || self.open)
        {
            return Ok(Cow::Borrowed(piece));
        }
        let mut made = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
        let mut lines = pieces
            .iter()
            .flat_map(|piece| split(piece))
            .enumerate()
            .peekable();
        while let Some((n, line)) = lines.next() {
            let line = match n {
                0 if self.marked => unmarked(line, Standing::First),
                _ => line,
            };
            let given = terminator(line);
            let end = match (given.is_empty(), lines.peek().is_none()) {
                (true, true) if self.open => b"",
                (false, _) if self.literal => given,
                (true | false, true | false) => self.terminator(n),
            };
            let indent = self.shift.indent(line).unwrap_or_default();
            made.extend_from_slice(&indent);
            made.extend_from_slice(trim_start(body(line)));
            made.extend_from_slice(end);
            within(made.len())?;
        }
        Ok(Cow::Owned(made))
    }

    /// Of the `n`th line: that of the line it replaces; else of the nearest of the block before
    /// it, else after it; else the first of the file.
    fn terminator(&self, n: usize) -> &'static [u8] {
        let Range { start, end } = self.old.clone();
        let of = |line: usize| ended(terminator(self.text.line(line)));
        let replaced = (start + n < end).then(|| of(start + n)).flatten();
        let before = || {
            let from = (start + n).min(end.saturating_sub(1));
            let lines = self.block.start..(from + 1).min(end);
            // Only the last line of a file is not ended.
            lines.rev().take(2).find_map(of)
        };
        let after = || self.block.contains(&end).then(|| of(end)).flatten();
        replaced
            .or_else(before)
            .or_else(after)
            .unwrap_or_else(|| self.beside(start))
    }

    fn beside(&self, line: usize) -> &'static [u8] {
        if self.block.is_empty() {
            self.text.terminator_near(line)
        } else {
            self.text.first_terminator()
        }
    }
}

/// Lines for a range of lines.
pub(super) fn of_lines<'a>(
    text: &Text<'_>,
    tiers: Tiers,
    (edit, lines): (usize, Range<usize>),
    new: &'a [u8],
) -> Result<Splice<'a>, Noted> {
    let start = match lines.start {
        0 if tiers != Tiers::EXACT => text.mark(),
        _ => text.start(lines.start),
    };
    let mut texts = Terminated {
        text,
        block: lines.clone(),
        literal: tiers == Tiers::EXACT,
        open: false,
        shift: Shift::In(b""),
        marked: tiers != Tiers::EXACT && lines.start == 0,
        old: lines.clone(),
    };
    Ok(Splice {
        edit,
        tier: Tier::Exact,
        range: start..text.start(lines.end).max(start),
        text: texts.of(&[new])?,
        unit: Unit::Lines,
        end: End::AsFile,
    })
}

/// A text for a text, at one of its places.
pub(super) fn of_text<'a>(
    text: &Text<'_>,
    (edit, old, new): (usize, &'a [u8], &'a [u8]),
    (tiers, tier): (Tiers, Tier),
    range: Range<usize>,
    shift: Shift<'_>,
) -> Result<Splice<'a>, Noted> {
    let exact = tier == Tier::Exact;
    let at_end = range.end == text.bytes().len() && !text.is_ended();
    let end = if !exact && old.ends_with(LF) && at_end {
        End::AsFile
    } else {
        End::AsGiven
    };
    let splice = |made| Splice {
        edit,
        tier,
        range: range.clone(),
        text: made,
        unit: Unit::Bytes,
        end,
    };
    let literal = tiers == Tiers::EXACT || (exact && old.contains(&b'\n'));
    if literal || !new.contains(&b'\n') && exact {
        return Ok(splice(Cow::Borrowed(new)));
    }
    let (first, last) = (text.at(range.start), text.at(range.end.saturating_sub(1)));
    let fallback =
        ended(terminator(text.line(first))).unwrap_or_else(|| text.terminator_near(first));
    let marked = !exact && range.start <= BOM.len() && first == 0;
    let mut made = Vec::with_capacity(new.len());
    for (n, line) in split(new).enumerate() {
        let line = match n {
            0 if marked && range.start == text.mark() => unmarked(line, Standing::First),
            _ => line,
        };
        let given = terminator(line);
        let own = ended(terminator(text.line((first + n).min(last))));
        let end = match given {
            b"" => b"",
            // It is bare newlines that say nothing of the file.
            b"\r\n" if exact => given,
            _ => own.unwrap_or(fallback),
        };
        let indent = shift.indent(line).unwrap_or_default();
        made.extend_from_slice(&indent);
        made.extend_from_slice(trim_start(body(line)));
        made.extend_from_slice(end);
        within(made.len())?;
    }
    Ok(splice(Cow::Owned(made)))
}

pub(super) fn within(bytes: usize) -> Result<(), Noted> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= EDIT_BYTES_MAX) {
        return Ok(());
    }
    let note = format!("the file would be larger than the {EDIT_BYTES_MAX} bytes an edit may make");
    Err(Noted::new(Code::OutOfBudget, &note))
}

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
        old_lines: 0,
        new_lines: 0,
    };
    for splice in &splices {
        made.put(splice);
    }
    made.keep(old.len());
    if let Some(last) = splices.last()
        && last.end == End::AsFile
        && last.range.end == old.len()
        && !last.text.is_empty()
        && !text.is_ended()
    {
        let kept = made.bytes.len() - terminator(&made.bytes).len();
        made.bytes.truncate(kept);
    }
    within(made.bytes.len()).map_err(|why| (None, why))?;
    Ok(Edited {
        bytes: made.bytes,
        places: made.places,
    })
}

fn refuse_overlaps(text: &Text<'_>, splices: &[Splice<'_>]) -> Result<(), Failed> {
    for pair in splices.windows(2) {
        let [one, other] = pair else { continue };
        if other.range.start < one.range.end {
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
    /// Newlines so far, removed and put.
    old_lines: usize,
    new_lines: usize,
}

impl Made<'_, '_> {
    fn keep(&mut self, to: usize) {
        let kept = self.text.bytes().get(self.at..to).unwrap_or_default();
        self.bytes.extend_from_slice(kept);
        self.at = to;
    }

    fn put(&mut self, splice: &Splice<'_>) {
        self.keep(splice.range.start);
        let first = self.text.at(splice.range.start);
        if splice.unit == Unit::Lines && !splice.text.is_empty() && !self.begins_line() {
            let end = self.text.terminator_near(first);
            self.bytes.extend_from_slice(end);
        }
        self.place(splice, first);
        self.bytes.extend_from_slice(&splice.text);
        self.at = splice.range.end;
    }

    /// Whether what comes next begins a line.
    fn begins_line(&self) -> bool {
        self.bytes.last().is_none_or(|last| *last == b'\n') || self.bytes.as_slice() == BOM
    }

    /// Tells of a splice that comes next. The lines around it are those that have a byte of it, or
    /// that are no line of their own any more.
    fn place(&mut self, splice: &Splice<'_>, first: usize) {
        let Range { start, end } = splice.range.clone();
        let old = self.text.bytes();
        let removed = old.get(start..end).unwrap_or_default();
        let begins = start == self.text.start(first);
        let mut lines = match splice.unit {
            Unit::Lines => first..self.text.at(end),
            Unit::Bytes => first..self.text.at(end - 1) + 1,
        };
        let ends = end == self.text.start(lines.end);
        let mut new = newlines(&splice.text);
        let open = match splice.text.last() {
            Some(last) => *last != b'\n',
            None => !begins && splice.unit == Unit::Bytes,
        };
        match (splice.unit, ends) {
            (Unit::Lines, _) => new += usize::from(open),
            // The rest of the last line is still there.
            (Unit::Bytes, false) => new += 1,
            (Unit::Bytes, true) if open => {
                new += 1;
                lines.end = (lines.end + 1).min(self.text.count());
            }
            (Unit::Bytes, true) => {}
        }
        let from = first + self.new_lines - self.old_lines;
        self.places.push(Placed {
            edit: u16::try_from(splice.edit).unwrap_or(u16::MAX),
            tier: splice.tier,
            old: told(&lines),
            new: told(&(from..from + new)),
        });
        self.old_lines += newlines(removed);
        self.new_lines += newlines(&splice.text);
    }
}

fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}
