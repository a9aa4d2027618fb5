//! New bytes for old ones: which terminators they get, and all of them together.

use super::blocks::Shift;
use super::form::{Standing, trim_start, unmarked};
use super::lines::{BOM, LF, Text, body, ended, split, terminator};
use super::miss::Noted;
use super::order::{Block, End, Run};
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
        meant: Meant::of(block, spot),
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

/// Which terminators of lines that come are put as they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// All: nothing but bytes counts, or the lines stand with ones that are the file's byte for
    /// byte, terminators and all.
    All,
    /// CRLF: they stand with a last line that is the file's and is not ended, so that bare newlines
    /// say nothing of the file.
    Crlf,
    /// None.
    None,
}

impl Meant {
    fn of(block: &Block<'_>, spot: Spot<'_>) -> Self {
        let ended = block.old.iter().any(|line| line.ends_with(LF));
        let exact = spot.tier == Tier::Exact;
        if spot.tiers == Tiers::EXACT || (exact && ended) {
            Self::All
        } else if exact && !block.old.is_empty() {
            Self::Crlf
        } else {
            Self::None
        }
    }

    fn keeps(self, given: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Crlf => given.len() > LF.len(),
            Self::None => false,
        }
    }
}

/// Gives lines that come their terminators.
struct Terminated<'t, 'a> {
    text: &'t Text<'a>,
    /// The lines they come for.
    old: Range<usize>,
    /// The lines of the block.
    block: Range<usize>,
    meant: Meant,
    /// Whether the last may be without one.
    open: bool,
    shift: Shift<'t>,
    /// Whether a byte order mark before them does not count.
    marked: bool,
}

impl Terminated<'_, '_> {
    fn of<'a>(&mut self, pieces: &[&'a [u8]]) -> Result<Cow<'a, [u8]>, Noted> {
        if let ([piece], true, true) = (
            pieces,
            self.meant == Meant::All,
            self.shift == Shift::In(b""),
        ) && (piece.ends_with(LF) || self.open)
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
                (false, _) if self.meant.keeps(given) => given,
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
        meant: if tiers == Tiers::EXACT {
            Meant::All
        } else {
            Meant::None
        },
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
