//! Exact replacements: bytes for bytes, each found in the content as it is before the edit.

use memchr::memmem;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Place, Replacement, Span};
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

/// The new content. Every byte outside the places that matched is the old one.
pub(super) fn apply(
    old: &[u8],
    replacements: &[Replacement],
    content: &[u8],
) -> Result<Vec<u8>, Miss> {
    if replacements.is_empty() {
        return Err(Miss {
            code: Code::OutOfRange,
            note: "no replacement".to_owned(),
        });
    }
    let bytes = |span: Span| {
        span.of(content).ok_or_else(|| Miss {
            code: Code::OutOfRange,
            note: "no such content".to_owned(),
        })
    };
    let mut found: Vec<(Range<usize>, usize, &[u8])> = Vec::new();
    for (n, replacement) in replacements.iter().enumerate() {
        let (wanted, new) = (bytes(replacement.old)?, bytes(replacement.new)?);
        for start in places(n, old, wanted, &replacement.place, &bytes)? {
            found.push((start..start + wanted.len(), n, new));
        }
    }
    // Insertions at one place keep the order they were given in.
    found.sort_by_key(|(range, n, _)| (range.start, range.end, *n));
    let grown: usize = found.iter().map(|(_, _, new)| new.len()).sum();
    let mut out = Vec::with_capacity(old.len() + grown);
    let mut at = 0;
    for (range, n, new) in found {
        let Some(kept) = old.get(at..range.start) else {
            return Err(Miss {
                code: Code::Collision,
                note: format!("replacement {}: it overlaps another one", n + 1),
            });
        };
        out.extend_from_slice(kept);
        out.extend_from_slice(new);
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
            for (k, anchor) in anchors.as_slice().iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::bounded::Few;

    /// One replacement of `old` by `new`, and the content that holds both.
    fn one(old: &str, new: &str, place: Place) -> (Vec<Replacement>, Vec<u8>) {
        let len = |s: &str| u32::try_from(s.len()).unwrap();
        let replacement = Replacement {
            old: Span {
                start: 0,
                len: len(old),
            },
            new: Span {
                start: len(old),
                len: len(new),
            },
            place,
        };
        (vec![replacement], format!("{old}{new}").into_bytes())
    }

    fn run(file: &str, old: &str, new: &str, place: Place) -> Result<String, Miss> {
        let (replacements, content) = one(old, new, place);
        apply(file.as_bytes(), &replacements, &content).map(|b| String::from_utf8(b).unwrap())
    }

    #[test]
    fn a_count_must_be_met_exactly() {
        let times = |count| Place::Anywhere { count };
        assert_eq!(run("a b a", "a", "c", times(2)).unwrap(), "c b c");
        for count in [0, 1, 3] {
            let missed = run("a b a", "a", "c", times(count)).unwrap_err();
            assert_eq!(missed.code, Code::NotUnique);
            assert!(missed.note.contains("occurs 2 times"), "{}", missed.note);
        }
        assert_eq!(run("a b a", "a", "", Place::All).unwrap(), " b ");
        assert!(run("b", "a", "c", Place::All).is_err());
        assert!(run("b", "", "c", Place::All).is_err());
    }

    #[test]
    fn a_line_is_taken_where_it_stands_or_where_it_is_alone() {
        let at = |number| Place::Line { number };
        assert_eq!(run("x\nx\nx\n", "x\n", "y\n", at(2)).unwrap(), "x\ny\nx\n");
        assert_eq!(run("a\nx\nb\n", "x\n", "y\n", at(9)).unwrap(), "a\ny\nb\n");
        assert!(run("x\na\nx\n", "x\n", "y\n", at(2)).is_err());
        assert_eq!(run("a\n", "", "b\n", at(2)).unwrap(), "a\nb\n");
        assert_eq!(run("", "", "b\n", at(1)).unwrap(), "b\n");
        let overlapping = run("a\na\na\n", "a\na\n", "b\n", at(9)).unwrap_err();
        assert!(overlapping.note.contains("more than once"));
        let behind = run("ba\na\na\n", "a\na\n", "b\n", at(9)).unwrap();
        assert_eq!(behind, "ba\nb\n");
        // Without a newline only the end of the file will do.
        assert!(run("foobar\n", "foo", "x", at(1)).is_err());
        assert_eq!(run("a\nfoo", "foo", "x\n", at(2)).unwrap(), "a\nx\n");
    }

    #[test]
    fn anchors_narrow_and_must_be_whole_lines() {
        let anchored = |text: &str, file: &str| {
            let content = format!("x\ny\n{text}");
            let span = |start, len: usize| Span {
                start,
                len: u32::try_from(len).unwrap(),
            };
            let anchors = Few::new(vec![span(4, text.len())]).unwrap();
            let replacement = Replacement {
                old: span(0, 2),
                new: span(2, 2),
                place: Place::After { anchors },
            };
            apply(file.as_bytes(), &[replacement], content.as_bytes())
                .map(|b| String::from_utf8(b).unwrap())
        };
        assert_eq!(
            anchored("fn b", "fn a\nx\nfn b\nx\n").unwrap(),
            "fn a\nx\nfn b\ny\n"
        );
        assert!(anchored("fn a", "fn a\nx\nfn b\nx\n").is_err());
        assert!(anchored("fn", "fn a\nx\n").is_err());
    }

    #[test]
    fn overlapping_places_are_refused() {
        let content = b"abbcXY";
        let span = |start, len| Span { start, len };
        let place = || Place::Anywhere { count: 1 };
        let replacements = [
            Replacement {
                old: span(0, 2),
                new: span(4, 1),
                place: place(),
            },
            Replacement {
                old: span(2, 2),
                new: span(5, 1),
                place: place(),
            },
        ];
        assert_eq!(
            apply(b"abc", &replacements, content).unwrap_err().code,
            Code::Collision
        );
        assert_eq!(apply(b"ab bc", &replacements, content).unwrap(), b"X Y");
    }
}
