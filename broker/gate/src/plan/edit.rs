//! Exact replacements: bytes for bytes, each found in the content as it is before the edit.

use memchr::memmem;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Count, Part, Span, TextEdit};
use std::ops::Range;

/// Why an edit cannot be made. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Miss {
    pub(super) code: Code,
    pub(super) note: String,
}

fn miss(n: usize, note: &str) -> Miss {
    Miss {
        code: Code::NotUnique,
        note: format!("replacement {}: {note}", n + 1),
    }
}

/// Where a text is looked for.
enum Place {
    Anywhere { count: u32 },
    All,
    After { anchors: Vec<Span> },
    Line { number: u64 },
}

/// The new content. Every byte outside the places that matched is the old one.
pub(super) fn apply(old: &[u8], edits: &[TextEdit], content: &[u8]) -> Result<Vec<u8>, Miss> {
    let bytes = |span: Span| {
        span.of(content).ok_or_else(|| Miss {
            code: Code::OutOfRange,
            note: "no such content".to_owned(),
        })
    };
    let mut found: Vec<(Range<usize>, usize, Vec<u8>)> = Vec::new();
    for (n, edit) in edits.iter().enumerate() {
        let (wanted, new, place) = match edit {
            TextEdit::Replace(one) => (
                bytes(one.old)?.to_vec(),
                bytes(one.new)?.to_vec(),
                match one.count {
                    Count::Exactly(count) => Place::Anywhere { count },
                    Count::All => Place::All,
                },
            ),
            TextEdit::Hunk(hunk) => {
                let (mut wanted, mut new) = (Vec::new(), Vec::new());
                for part in hunk.parts.as_slice() {
                    match part {
                        Part::Keep(span) => {
                            wanted.extend_from_slice(bytes(*span)?);
                            new.extend_from_slice(bytes(*span)?);
                        }
                        Part::Remove(span) => wanted.extend_from_slice(bytes(*span)?),
                        Part::Insert(span) => new.extend_from_slice(bytes(*span)?),
                    }
                }
                let place = match hunk.line {
                    Some(number) => Place::Line { number },
                    None => Place::After {
                        anchors: hunk.after.as_slice().to_vec(),
                    },
                };
                (wanted, new, place)
            }
            TextEdit::Insert(_) | TextEdit::Anchored(_) => return Err(miss(n, "not served")),
        };
        for start in places(n, old, &wanted, &place, &bytes)? {
            found.push((start..start + wanted.len(), n, new.clone()));
        }
    }
    // Insertions at one place keep the order they were given in.
    found.sort_by_key(|(range, n, _)| (range.start, range.end, *n));
    let mut out = Vec::with_capacity(old.len());
    let mut at = 0;
    for (range, n, new) in found {
        let Some(kept) = old.get(at..range.start) else {
            return Err(Miss {
                code: Code::Collision,
                note: format!("replacement {}: it overlaps another one", n + 1),
            });
        };
        out.extend_from_slice(kept);
        out.extend_from_slice(&new);
        at = range.end;
    }
    out.extend_from_slice(old.get(at..).unwrap_or_default());
    Ok(out)
}

/// Where one replacement begins.
fn places<'a>(
    n: usize,
    old: &[u8],
    wanted: &[u8],
    place: &Place,
    bytes: &impl Fn(Span) -> Result<&'a [u8], Miss>,
) -> Result<Vec<usize>, Miss> {
    match place {
        Place::Anywhere { count } => {
            let found = anywhere(n, old, wanted)?;
            if u32::try_from(found.len()) != Ok(*count) {
                return Err(often(n, found.len(), &format!("expected {count}")));
            }
            Ok(found)
        }
        Place::All => {
            let found = anywhere(n, old, wanted)?;
            if found.is_empty() {
                return Err(often(n, 0, "expected at least 1"));
            }
            Ok(found)
        }
        Place::After { anchors } => {
            let mut from = 0;
            for (k, anchor) in anchors.iter().enumerate() {
                let line = bytes(*anchor)?;
                from = after_line(old, from, line).ok_or_else(|| {
                    miss(n, &format!("line {} that leads to it is not there", k + 1))
                })?;
            }
            if wanted.is_empty() {
                return Ok(vec![from]);
            }
            once(n, old, from, wanted)
        }
        Place::Line { number } => {
            let start = line_start(old, *number);
            if let Some(start) = start.filter(|start| fits(old, *start, wanted)) {
                return Ok(vec![start]);
            }
            if wanted.is_empty() {
                return Err(miss(n, "the file has no such line"));
            }
            once(n, old, 0, wanted)
        }
    }
}

fn often(n: usize, times: usize, expected: &str) -> Miss {
    miss(n, &format!("it occurs {times} times, {expected}"))
}

fn anywhere(n: usize, old: &[u8], wanted: &[u8]) -> Result<Vec<usize>, Miss> {
    if wanted.is_empty() {
        return Err(miss(n, "what is to be replaced is empty"));
    }
    Ok(memmem::find_iter(old, wanted).collect())
}

/// The one place at or after `from`, which begins a line, where whole lines are `wanted`. Linear in
/// the file, whatever is looked for: at most two searches.
fn once(n: usize, old: &[u8], from: usize, wanted: &[u8]) -> Result<Vec<usize>, Miss> {
    if !wanted.ends_with(b"\n") {
        // Without a newline it can only be the end of the file.
        let start = old.len().checked_sub(wanted.len());
        return match start.filter(|start| *start >= from && fits(old, *start, wanted)) {
            Some(start) => Ok(vec![start]),
            None => Err(often(n, 0, "expected 1, at the end of the file")),
        };
    }
    let line = [b"\n", wanted].concat();
    let finder = memmem::Finder::new(&line);
    let next = |after: usize| {
        let found = old.get(after..).and_then(|rest| finder.find(rest));
        found.map(|at| after + at + 1)
    };
    let first = if from == 0 && old.starts_with(wanted) {
        Some(0)
    } else {
        next(from.saturating_sub(1))
    };
    let Some(first) = first else {
        return Err(often(n, 0, "expected 1"));
    };
    match next(first) {
        None => Ok(vec![first]),
        Some(_) => Err(miss(n, "it occurs more than once, expected 1")),
    }
}

/// Whether `wanted` stands at `start` as whole lines.
fn fits(old: &[u8], start: usize, wanted: &[u8]) -> bool {
    let begins = start == 0 || start.checked_sub(1).and_then(|n| old.get(n)) == Some(&b'\n');
    let end = start + wanted.len();
    let ends = wanted.is_empty() || wanted.ends_with(b"\n") || end == old.len();
    begins && ends && old.get(start..end) == Some(wanted)
}

/// Where line `number` begins, from 1; one more than the last is the end of a file whose last
/// line is ended.
fn line_start(old: &[u8], number: u64) -> Option<usize> {
    let before = usize::try_from(number.checked_sub(1)?).ok()?;
    if before == 0 {
        return Some(0);
    }
    memchr::memchr_iter(b'\n', old)
        .nth(before - 1)
        .map(|at| at + 1)
}

/// Where the line after the first line `line` at or after `from` begins.
fn after_line(old: &[u8], from: usize, line: &[u8]) -> Option<usize> {
    let mut start = from;
    while let Some(rest) = old.get(start..).filter(|rest| !rest.is_empty()) {
        let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let this = rest.get(..len)?;
        let text = this.strip_suffix(b"\n").unwrap_or(this);
        if text.strip_suffix(b"\r").unwrap_or(text) == line || text == line {
            return Some(start + len);
        }
        start += len;
    }
    None
}
