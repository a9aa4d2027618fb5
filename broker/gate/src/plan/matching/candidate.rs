//! The place in a file that is nearest to a text that is not there: where the longest beginning of
//! it is, blanks at the ends of lines and kinds of punctuation aside. It is only told, never used.

use super::blocks;
use super::form::{SPACES, Standing, first_folded, fold, indent, trim, trim_end, unmarked};
use super::lines::{Text, body, long, short, split, terminator};
use super::miss::{Noted, around, cut};
use super::order::{Block, Wanted};
use super::place::sought;
use super::texts;
use super::work::Work;
use portcullis_protocol::limits::REASON_BYTES_MAX;
use portcullis_protocol::path::is_invisible;
use portcullis_protocol::session::{Tier, Tiers};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a text that are looked for.
const BYTES_MAX: usize = 64 * 1024;
/// Bytes that name the edit before a note.
const EDIT: usize = 16;
/// Characters of a line that are shown.
const SHOWN: usize = 20;

/// A line that leads to a block is not there.
pub(super) fn of_lead(text: &Text<'_>, wanted: &[u8], after: Option<usize>) -> Noted {
    let shown = visible(trim(body(wanted)));
    match after {
        None => {
            let note = format!("the line that leads to it, `{shown}`, is not there");
            Noted::not_unique(&note)
        }
        Some(line) => {
            let note = format!(
                "the line that leads to it, `{shown}`, is not after line {}",
                line + 1
            );
            Noted::not_unique(&note).near(around(text, line..line + 1))
        }
    }
}

/// A block is nowhere.
pub(super) fn of_block(text: &Text<'_>, tiers: Tiers, block: &Block<'_>, work: &mut Work) -> Noted {
    let noted = missing(text, (tiers, Within::Lines), &block.old, work);
    let more = unasked(tiers).iter().skip(1);
    let found = blocks::find(text, more, &[sought(block)], work);
    let found = found
        .ok()
        .and_then(|found| found.into_iter().flatten().next());
    also(noted, found.map(|found| found.tier))
}

/// A text is nowhere.
pub(super) fn of_text(
    text: &Text<'_>,
    tiers: Tiers,
    wanted: &Wanted<'_>,
    work: &mut Work,
) -> Noted {
    let lines: Vec<&[u8]> = split(wanted.old.get(..BYTES_MAX).unwrap_or(wanted.old)).collect();
    let noted = missing(text, (tiers, Within::Bytes), &lines, work);
    let found = texts::find(text, unasked(tiers), &[wanted], work);
    let found = found
        .ok()
        .and_then(|found| found.into_iter().flatten().next());
    also(noted, found.map(|found| found.tier))
}

/// The tiers that were not asked for.
fn unasked(tiers: Tiers) -> Tiers {
    let unasked = Tier::ALL.into_iter().filter(|tier| !tiers.contains(*tier));
    unasked.fold(Tiers::EXACT, Tiers::with)
}

/// Says by which tier it would be there, for the next try.
fn also(mut noted: Noted, tier: Option<Tier>) -> Noted {
    if let Some(tier) = tier {
        let said = format!("; by `{tier}` it is there");
        noted.note = cut(noted.note, REASON_BYTES_MAX - EDIT - said.len()) + &said;
    }
    noted
}

/// Whether a text is whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Lines,
    Bytes,
}

fn missing(
    text: &Text<'_>,
    (tiers, within): (Tiers, Within),
    lines: &[&[u8]],
    work: &mut Work,
) -> Noted {
    let note = Noted::not_unique;
    let Ok(nearest) = nearest(text, within, lines, work) else {
        return note("it is not there");
    };
    let Some(line) = nearest else {
        let first = lines.iter().find(|line| !trim(body(line)).is_empty());
        let shown = visible(trim(body(first.copied().unwrap_or_default())));
        return note(&format!(
            "it is not there, nor is its first line: `{shown}`"
        ));
    };
    let tier = Tier::ALL
        .into_iter()
        .rev()
        .find(|tier| *tier != Tier::Indentation && tiers.contains(*tier));
    let tier = tier.unwrap_or(Tier::Exact);
    let beginning = format!("it is not there; nearest is line {}", line + 1);
    for (n, wanted) in lines.iter().enumerate() {
        let here = line + n;
        if here >= text.count() {
            let near = around(text, line..here);
            return note(&format!(
                "{beginning}, but the file ends before its line {}",
                n + 1
            ))
            .near(near);
        }
        let open = within == Within::Bytes && terminator(wanted).is_empty();
        let from = match (n, within) {
            (0, Within::Bytes) => beginning_of(text.line(line), wanted),
            (_, Within::Lines | Within::Bytes) => 0,
        };
        let file = unmarked(text.line(here), Standing::of(here));
        let file = file.get(from..).unwrap_or_default();
        let Some((at, wanted)) = difference(tier, file, unmarked(wanted, Standing::of(n)), open)
        else {
            continue;
        };
        let line_now = text.line(here);
        let mark = line_now.len() - unmarked(line_now, Standing::of(here)).len();
        let before = line_now.get(mark..mark + from + at).unwrap_or_default();
        let rest = file.get(at..).unwrap_or_default();
        let (now, wanted) = (shown(rest, tier), shown(wanted, tier));
        let column = String::from_utf8_lossy(before).chars().count() + 1;
        let note = note(&format!(
            "{beginning}, but at line {}, column {column}, the file has {now} and the edit {wanted}",
            here + 1
        ));
        return note.near(around(text, line..here + 1));
    }
    note(&format!(
        "{beginning}, but it must be at the end of the file"
    ))
    .near(around(text, line..line + lines.len()))
}

/// Where in a line of the file the first line of a text begins, when both are there but for blanks.
fn beginning_of(file: &[u8], wanted: &[u8]) -> usize {
    let file = unmarked(file, Standing::Later);
    let (loose_file, loose) = (fold(body(file)), fold(body(wanted)));
    let loose = trim(&loose);
    // What is not there to its end is there to a part of it.
    let mut len = loose.len();
    let at = loop {
        let head = loose.get(..len).unwrap_or_default();
        if let Some(at) = memchr::memmem::find(&loose_file, head) {
            break at;
        }
        len /= 2;
    };
    let mut raw = 0;
    for _ in 0..at {
        let rest = file.get(raw..).unwrap_or_default();
        raw += first_folded(rest).map_or(0, |(_, taken)| taken);
    }
    if indent(file).len() == raw {
        return match indent(wanted) {
            b"" => raw,
            _ => 0,
        };
    }
    raw.saturating_sub(indent(wanted).len())
}

/// The first byte at which a line of the file differs from a line of a text, as a tier compares
/// them, and the rest of the text's line from there. Of an open text only what it has is compared.
fn difference<'w>(
    tier: Tier,
    file: &[u8],
    wanted: &'w [u8],
    open: bool,
) -> Option<(usize, &'w [u8])> {
    let (all, file, counts) = (wanted, counted(tier, file), counted(tier, wanted));
    let (mut at, mut of) = (0, 0);
    loop {
        let now = file.get(at..).unwrap_or_default();
        let then = counts.get(of..).unwrap_or_default();
        match (next(tier, now), next(tier, then)) {
            (Some((a, taken)), Some((b, given))) if a == b => {
                at += taken;
                of += given;
            }
            (None, None) => return None,
            (Some(_), None) if open => return None,
            (Some(_) | None, Some(_) | None) => break,
        }
    }
    // Not in the middle of a character.
    while at > 0 && of > 0 && file.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
        of -= 1;
    }
    Some((at, all.get(of..).unwrap_or_default()))
}

/// What of a line a tier compares, as the line has it.
fn counted(tier: Tier, line: &[u8]) -> &[u8] {
    match tier {
        Tier::Exact => line,
        Tier::Terminators => body(line),
        Tier::TrailingBlanks | Tier::Indentation => trim_end(body(line)),
        Tier::Punctuation => {
            let mut rest = trim_end(body(line));
            while let Some(space) = SPACES.iter().find(|space| rest.ends_with(space)) {
                rest = trim_end(rest.get(..rest.len() - space.len()).unwrap_or_default());
            }
            rest
        }
    }
}

fn next(tier: Tier, text: &[u8]) -> Option<(u8, usize)> {
    match tier {
        Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation => {
            text.first().map(|byte| (*byte, 1))
        }
        Tier::Punctuation => first_folded(text),
    }
}

/// The beginning of what is left of a line, in backquotes, or that nothing is.
fn shown(rest: &[u8], tier: Tier) -> String {
    let rest = match tier {
        Tier::Exact => rest,
        Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation | Tier::Punctuation => {
            body(rest)
        }
    };
    if rest.is_empty() {
        return "nothing more".to_owned();
    }
    format!("`{}`", visible(rest))
}

/// The beginning of a text, with what cannot be seen, or looks like something else, spelled.
pub(super) fn visible(text: &[u8]) -> String {
    let mut seen = String::new();
    let mut left = SHOWN;
    for chunk in text.utf8_chunks() {
        if left == 0 {
            break;
        }
        for one in chunk.valid().chars() {
            if left == 0 {
                seen.push('…');
                return seen;
            }
            left -= 1;
            let mut room = [0; 4];
            let folds = first_folded(one.encode_utf8(&mut room).as_bytes())
                .is_some_and(|(_, taken)| taken > 1);
            let written = match one {
                '\t' => write!(seen, "\\t"),
                '\r' => write!(seen, "\\r"),
                '\n' => write!(seen, "\\n"),
                _ if folds || is_invisible(one) || one.is_control() => {
                    write!(seen, "U+{:04X}", u32::from(one))
                }
                _ => write!(seen, "{one}"),
            };
            // Writing to a `String` does not fail.
            if written.is_err() {
                return seen;
            }
        }
        for byte in chunk.invalid() {
            left = left.saturating_sub(1);
            if write!(seen, "\\x{byte:02X}").is_err() {
                return seen;
            }
        }
    }
    seen
}

/// What is looked for of a line: no blanks around it, punctuation of one kind.
fn loose(line: &[u8], standing: Standing) -> Cow<'_, [u8]> {
    match fold(body(unmarked(line, standing))) {
        Cow::Borrowed(line) => Cow::Borrowed(trim(line)),
        Cow::Owned(line) => Cow::Owned(trim(&line).to_vec()),
    }
}

/// The line where the longest beginning of a text is, the first of several; none where it is less
/// than half a line.
fn nearest(
    text: &Text<'_>,
    within: Within,
    lines: &[&[u8]],
    work: &mut Work,
) -> Result<Option<usize>, Noted> {
    let mut pattern = match within {
        Within::Lines => b"\n".to_vec(),
        Within::Bytes => Vec::new(),
    };
    let mut enough = None;
    for (n, line) in lines.iter().enumerate() {
        let line = loose(line, Standing::of(n));
        if enough.is_none() && !line.is_empty() {
            enough = Some(pattern.len() + line.len().div_ceil(2));
        }
        pattern.extend_from_slice(&line);
        pattern.push(b'\n');
        if pattern.len() > BYTES_MAX {
            break;
        }
    }
    pattern.truncate(BYTES_MAX);
    let Some(enough) = enough else {
        return Ok(None);
    };
    let fails = fails(&pattern);
    let (mut at, mut best, mut found) = (0, 0, None);
    let first = match within {
        Within::Lines => Some((0, b'\n')),
        Within::Bytes => None,
    };
    if let Some((_, byte)) = first {
        at = step(&pattern, &fails, at, byte);
    }
    for (n, line) in text.lines().enumerate() {
        work.spend(1 + line.len() / 4)?;
        let counts = loose(line, Standing::of(n));
        for byte in counts.iter().copied().chain([b'\n']) {
            at = step(&pattern, &fails, at, byte);
            if at > best {
                best = at;
                let before = pattern.get(..at.saturating_sub(1)).unwrap_or_default();
                let mut newlines = memchr::memchr_iter(b'\n', before).count();
                if within == Within::Lines && at > 0 {
                    newlines = newlines.saturating_sub(1);
                }
                found = n.checked_sub(newlines);
            }
        }
        if best == pattern.len() {
            break;
        }
    }
    Ok(found.filter(|_| best >= enough))
}

/// For each beginning of a pattern, the longest shorter one that it ends with.
fn fails(pattern: &[u8]) -> Vec<u32> {
    let mut fails: Vec<u32> = vec![0; pattern.len() + 1];
    let mut at = 0;
    for (n, byte) in pattern.iter().enumerate().skip(1) {
        at = step(pattern, &fails, at, *byte);
        if let Some(fail) = fails.get_mut(n + 1) {
            *fail = short(at);
        }
    }
    fails
}

/// How much of a pattern is there when one more byte is.
fn step(pattern: &[u8], fails: &[u32], mut at: usize, byte: u8) -> usize {
    loop {
        if pattern.get(at) == Some(&byte) {
            return at + 1;
        }
        if at == 0 {
            return 0;
        }
        at = fails.get(at).map_or(0, |fail| long(*fail));
    }
}
