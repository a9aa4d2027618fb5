//! Where texts are that may begin and end within lines.

use super::blocks::{self, Last, Sought};
use super::form::{self, Standing, first_folded, is_blank, part, trim_end};
use super::lines::{BOM, Text, body, long, short, split, terminator};
use super::miss::Noted;
use super::order::Wanted;
use super::work::Work;
use memchr::memmem;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Count, Tier, Tiers};
use std::borrow::Cow;
use std::ops::Range;

/// Places of all texts together, at most.
const PLACES_MAX: usize = 1 << 20;
/// Places of one text that are counted beyond those it must have.
const BEYOND: usize = 16;

/// Where a text is, by the first tier where it is.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) tier: Tier,
    /// In order, not empty. They overlap only where all of them must be known.
    pub(super) ranges: Vec<Range<usize>>,
    /// Whether there may be more than these.
    pub(super) rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    None,
    Unknown,
}

/// Looks for texts; none for one that is nowhere.
pub(super) fn find(
    text: &Text<'_>,
    tiers: Tiers,
    wanted: &[&Wanted<'_>],
    work: &mut Work,
) -> Result<Vec<Option<Places>>, Noted> {
    let mut found: Vec<Option<Places>> = wanted.iter().map(|_| None).collect();
    let mut total = 0;
    for tier in tiers.iter() {
        let waiting: Vec<(usize, &Wanted<'_>)> = wanted
            .iter()
            .enumerate()
            .filter(|(n, _)| found.get(*n).is_some_and(Option::is_none))
            .map(|(n, one)| (n, *one))
            .collect();
        if waiting.is_empty() {
            break;
        }
        let texts: Vec<&Wanted<'_>> = waiting.iter().map(|(_, one)| *one).collect();
        let places = match tier {
            Tier::Exact => exact(text, tiers, &texts, work)?,
            Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => {
                normal(text, tier, &texts, work)?
            }
            Tier::Indentation => shifted(text, &texts, work)?,
        };
        for ((n, _), places) in waiting.into_iter().zip(places) {
            total += places.ranges.len();
            if let Some(place) = found.get_mut(n).filter(|_| !places.ranges.is_empty()) {
                *place = Some(places);
            }
        }
        if total > PLACES_MAX {
            let note = "the texts to replace are in more than 1048576 places";
            return Err(Noted::new(Code::OutOfBudget, note));
        }
    }
    Ok(found)
}

/// Where something begins, in order.
struct Starts {
    starts: Vec<usize>,
    rest: Rest,
}

/// The places of `pattern` in `haystack` that `fits` accepts. Where a number of places is asked
/// for, those that overlap count too: which of them is meant would be a guess.
fn occurrences(
    haystack: &[u8],
    pattern: &[u8],
    count: Count,
    fits: impl Fn(usize) -> bool,
    work: &mut Work,
) -> Result<Starts, Noted> {
    let most = match count {
        Count::Exactly(n) => long(n).saturating_add(BEYOND).min(PLACES_MAX + 1),
        Count::All => PLACES_MAX + 1,
    };
    let finder = memmem::Finder::new(pattern);
    let mut starts: Vec<usize> = Vec::new();
    let mut from = 0;
    work.spend(haystack.len() / 16)?;
    while let Some(at) = haystack.get(from..).and_then(|rest| finder.find(rest)) {
        let at = from + at;
        work.spend(1 + pattern.len() / 16)?;
        let hit = fits(at);
        let overlapping = starts.last().is_some_and(|last| last + pattern.len() > at);
        if hit {
            starts.push(at);
        }
        if starts.len() >= most || (hit && overlapping) {
            let rest = Rest::Unknown;
            return Ok(Starts { starts, rest });
        }
        from = match (count, hit) {
            (Count::All, true) => at + pattern.len(),
            (Count::All, false) | (Count::Exactly(_), _) => at + 1,
        };
    }
    let rest = Rest::None;
    Ok(Starts { starts, rest })
}

fn exact(
    text: &Text<'_>,
    tiers: Tiers,
    wanted: &[&Wanted<'_>],
    work: &mut Work,
) -> Result<Vec<Places>, Noted> {
    let bytes = text.bytes();
    // CRLF is one terminator: a text that begins with LF does not begin in the middle of it,
    // unless bytes are all that counts.
    let whole = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        tiers == Tiers::EXACT || bytes.get(at) != Some(&b'\n') || before != Some(&b'\r')
    };
    let mut places = Vec::with_capacity(wanted.len());
    for one in wanted {
        let found = occurrences(bytes, one.old, one.count, whole, work)?;
        let ranges = found.starts.iter().map(|at| *at..*at + one.old.len());
        places.push(Places {
            tier: Tier::Exact,
            ranges: ranges.collect(),
            rest: found.rest,
        });
    }
    Ok(places)
}

/// A text as a tier compares it.
struct Pattern {
    bytes: Vec<u8>,
    standing: Standing,
    ends: Ends,
}

impl Pattern {
    /// Where it ends, in the file as the tier sees it, when it begins at `start`.
    fn end(&self, start: usize) -> usize {
        let end = start + self.bytes.len();
        match self.ends {
            Ends::There => end,
            // The newline is only looked at.
            Ends::WithBlanks => end - 1,
        }
    }
}

/// Where a place ends in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Where the text does.
    There,
    /// At the end of the line, before its terminator: the text has blanks there, which do not count.
    WithBlanks,
}

/// A text as it is looked for: with what comes after its last newline as it is; and, if blanks end
/// that, without them, at the end of a line.
fn patterns(tier: Tier, old: &[u8]) -> Vec<Pattern> {
    let text = old.strip_prefix(BOM);
    let standing = match text {
        Some(_) => Standing::First,
        None => Standing::Later,
    };
    let mut bytes = Vec::with_capacity(old.len());
    let (mut plain, mut last) = (true, &b""[..]);
    for line in split(text.unwrap_or(old)) {
        if terminator(line).is_empty() {
            last = line;
            break;
        }
        let counts = part(tier, body(line));
        plain &= counts.is_empty();
        bytes.extend_from_slice(&counts);
        bytes.push(b'\n');
    }
    let blank = match tier {
        Tier::Exact | Tier::Terminators => None,
        Tier::TrailingBlanks | Tier::Indentation | Tier::Punctuation => {
            let folded = folded(tier, last);
            let counts = trim_end(&folded);
            let differs = !counts.is_empty() && counts.len() < folded.len();
            differs.then(|| [&bytes, counts, b"\n"].concat())
        }
    };
    bytes.extend_from_slice(&folded(tier, last));
    // What is left of nothing but blanks is at the end of every line.
    let nothing = plain && last.is_empty() && tier != Tier::Terminators;
    let mut patterns = Vec::new();
    if !bytes.is_empty() && !nothing {
        patterns.push(Pattern {
            bytes,
            standing,
            ends: Ends::There,
        });
    }
    patterns.extend(blank.map(|bytes| Pattern {
        bytes,
        standing,
        ends: Ends::WithBlanks,
    }));
    patterns
}

fn folded(tier: Tier, text: &[u8]) -> Cow<'_, [u8]> {
    match tier {
        Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Indentation => {
            Cow::Borrowed(text)
        }
        Tier::Punctuation => form::fold(text),
    }
}

/// Places by what a tier compares. The file is made once as the tier sees it, and gone through
/// once more to know where the places are.
fn normal(
    text: &Text<'_>,
    tier: Tier,
    wanted: &[&Wanted<'_>],
    work: &mut Work,
) -> Result<Vec<Places>, Noted> {
    let seen = as_seen(text, tier);
    work.spend(seen.len() / 4)?;
    let mut found = Vec::new();
    let mut ends = Vec::new();
    for (n, one) in wanted.iter().enumerate() {
        for pattern in patterns(tier, one.old) {
            let fits = |at: usize| match pattern.standing {
                Standing::First => at == 0,
                Standing::Later => true,
            };
            let starts = occurrences(&seen, &pattern.bytes, one.count, fits, work)?;
            for start in &starts.starts {
                ends.push(short(*start));
                ends.push(short(pattern.end(*start)));
            }
            found.push((n, pattern, starts));
        }
    }
    ends.sort_unstable();
    ends.dedup();
    drop(seen);
    let there = located(text, tier, &ends);
    work.spend(text.bytes().len() / 4 + 4 * ends.len())?;
    let place = |at: usize| {
        let known = ends.binary_search(&short(at)).ok();
        known.and_then(|n| there.get(n)).map_or(0, |at| long(*at))
    };
    let mut places: Vec<Places> = wanted
        .iter()
        .map(|_| Places {
            tier,
            ranges: Vec::new(),
            rest: Rest::None,
        })
        .collect();
    for (n, pattern, starts) in found {
        let Some(of) = places.get_mut(n) else {
            continue;
        };
        if starts.rest == Rest::Unknown {
            of.rest = Rest::Unknown;
        }
        for start in starts.starts {
            let end = place(pattern.end(start));
            let end = match pattern.ends {
                Ends::There => end,
                Ends::WithBlanks => {
                    // The byte before is in the line, whatever ends that.
                    let line = text.at(end.saturating_sub(1));
                    text.start(line) + body(text.line(line)).len()
                }
            };
            of.ranges.push(place(start)..end);
        }
        of.ranges
            .sort_unstable_by_key(|range| (range.start, range.end));
    }
    Ok(places)
}

/// A file as a tier compares it: of each line what counts, and a newline.
fn as_seen(text: &Text<'_>, tier: Tier) -> Vec<u8> {
    let mut seen = Vec::with_capacity(text.bytes().len() + 1);
    for (n, line) in text.lines().enumerate() {
        let line = body(form::unmarked(line, Standing::of(n)));
        seen.extend_from_slice(&part(tier, line));
        seen.push(b'\n');
    }
    seen
}

/// Positions of [`as_seen`], in order, as positions of the file. The newline of a line is where its
/// blanks begin that do not count; the beginning of a line that begins the file is after its mark.
fn located(text: &Text<'_>, tier: Tier, seen: &[u32]) -> Vec<u32> {
    let mut there = Vec::with_capacity(seen.len());
    let mut waiting = seen.iter().copied().map(long).peekable();
    let (mut before, mut start) = (0, 0);
    for (n, line) in text.lines().enumerate() {
        if waiting.peek().is_none() {
            break;
        }
        let line_body = body(form::unmarked(line, Standing::of(n)));
        let begins = start + line.len() - terminator(line).len() - line_body.len();
        let len = part(tier, line_body).len();
        let (mut at_seen, mut at) = (0, 0);
        while let Some(within) = waiting.next_if(|at| *at <= before + len) {
            let within = within - before;
            if len == line_body.len() || tier != Tier::Punctuation {
                at = within;
            }
            while tier == Tier::Punctuation && len != line_body.len() && at_seen < within {
                let rest = line_body.get(at..).unwrap_or_default();
                at += first_folded(rest).map_or(1, |(_, taken)| taken);
                at_seen += 1;
            }
            there.push(short(begins + at));
        }
        before += len + 1;
        start += line.len();
    }
    there.extend(waiting.map(|_| short(text.bytes().len())));
    there
}

/// Places by whole lines that are further in or out.
fn shifted(text: &Text<'_>, wanted: &[&Wanted<'_>], work: &mut Work) -> Result<Vec<Places>, Noted> {
    let lines: Vec<Vec<&[u8]>> = wanted.iter().map(|one| split(one.old).collect()).collect();
    let blocks = lines.iter().zip(wanted);
    let blocks: Vec<Sought<'_, '_>> = blocks.map(|(lines, one)| as_block(lines, one)).collect();
    let found = blocks::find(text, std::iter::once(Tier::Indentation), &blocks, work)?;
    let mut places = Vec::with_capacity(wanted.len());
    for ((found, block), one) in found.into_iter().zip(&blocks).zip(wanted) {
        let lines = block.lines.len();
        let hits = found.iter().flat_map(|found| found.hits.iter());
        let range = |hit: usize| {
            let start = match hit {
                0 => text.mark(),
                _ => text.start(hit),
            };
            let last = hit + lines - 1;
            let end = if one.old.ends_with(b"\n") {
                text.start(last + 1)
            } else {
                let line = body(text.line(last));
                let blank = one.old.last().is_some_and(|byte| is_blank(*byte));
                let counts = if blank { line } else { trim_end(line) };
                text.start(last) + counts.len()
            };
            start..end
        };
        places.push(Places {
            tier: Tier::Indentation,
            ranges: hits.map(range).collect(),
            rest: Rest::None,
        });
    }
    Ok(places)
}

/// A text as whole lines, which `lines` are.
pub(super) fn as_block<'b, 'a>(lines: &'b [&'a [u8]], one: &Wanted<'a>) -> Sought<'b, 'a> {
    Sought {
        lines,
        new: vec![one.new],
        last: Last::Anywhere,
    }
}
