//! The place in a file that is nearest to a text that is not there: where the longest beginning of
//! it is, blanks at the ends of lines and kinds of punctuation aside. It is only told, never used.

use super::form::{Standing, first_folded, fold, indent, part, trim, trim_end, unmarked};
use super::lines::{Text, body, long, short, split, terminator};
use super::miss::{Noted, around};
use super::order::{Block, Wanted};
use super::work::Work;
use portcullis_protocol::path::is_invisible;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Tier, Tiers};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a text that are looked for.
const BYTES_MAX: usize = 64 * 1024;
/// Characters of a line that are shown.
const SHOWN: usize = 20;

/// A line that leads to a block is not there.
pub(super) fn of_lead(text: &Text<'_>, wanted: &[u8], after: Option<usize>) -> Noted {
    let shown = visible(trim(body(wanted)));
    match after {
        None => {
            let note = format!("the line that leads to it, `{shown}`, is not there");
            Noted::new(Code::NotUnique, &note)
        }
        Some(line) => {
            let note = format!(
                "the line that leads to it, `{shown}`, is not after line {}",
                line + 1
            );
            Noted::new(Code::NotUnique, &note).near(around(text, line..line + 1))
        }
    }
}

/// A block is nowhere.
pub(super) fn of_block(text: &Text<'_>, tiers: Tiers, block: &Block<'_>, work: &mut Work) -> Noted {
    missing(text, (tiers, Within::Lines), &block.old, work)
}

/// A text is nowhere.
pub(super) fn of_text(
    text: &Text<'_>,
    tiers: Tiers,
    wanted: &Wanted<'_>,
    work: &mut Work,
) -> Noted {
    let lines: Vec<&[u8]> = split(wanted.old.get(..BYTES_MAX).unwrap_or(wanted.old)).collect();
    missing(text, (tiers, Within::Bytes), &lines, work)
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
    let note = |note: &str| Noted::new(Code::NotUnique, note);
    let Some(line) = nearest(text, within, lines, work) else {
        let first = lines.iter().find(|line| !trim(body(line)).is_empty());
        let shown = visible(trim(body(first.copied().unwrap_or_default())));
        return note(&format!(
            "it is not there, nor is any line that begins it: `{shown}`"
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
/// them, and the rest of the text's line from there.
fn difference<'w>(
    tier: Tier,
    file: &[u8],
    wanted: &'w [u8],
    open: bool,
) -> Option<(usize, &'w [u8])> {
    let compared = |line: &'w [u8]| match tier {
        Tier::Exact => line,
        Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation | Tier::Punctuation => {
            body(line)
        }
    };
    let blanks = |line: &[u8]| match tier {
        Tier::Exact | Tier::Terminators => line.is_empty(),
        Tier::TrailingBlanks | Tier::Indentation | Tier::Punctuation => {
            trim_end(&part(tier, line)).is_empty()
        }
    };
    let next = |line: &[u8]| match tier {
        Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation => {
            line.first().map(|byte| (*byte, 1))
        }
        Tier::Punctuation => first_folded(line),
    };
    let file = match tier {
        Tier::Exact => file,
        Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation | Tier::Punctuation => {
            body(file)
        }
    };
    let wanted = compared(wanted);
    let (mut at, mut of) = (0, 0);
    loop {
        let now = file.get(at..).unwrap_or_default();
        let then = wanted.get(of..).unwrap_or_default();
        if (then.is_empty() && open) || (blanks(now) && blanks(then)) {
            return None;
        }
        match (next(now), next(then)) {
            (Some((a, taken)), Some((b, given))) if a == b => {
                at += taken;
                of += given;
            }
            (Some(_) | None, Some(_) | None) => break,
        }
    }
    // Not in the middle of a character.
    while at > 0 && of > 0 && file.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
        of -= 1;
    }
    Some((at, wanted.get(of..).unwrap_or_default()))
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
fn nearest(text: &Text<'_>, within: Within, lines: &[&[u8]], work: &mut Work) -> Option<usize> {
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
    let enough = enough?;
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
        work.spend(1 + line.len() / 4).ok()?;
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
    found.filter(|_| best >= enough)
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
