//! Where texts are that may begin and end within lines.

use super::blocks::{self, Block, Last};
use super::form::{self, Standing, first_folded, is_blank, part, trim_end};
use super::lines::{BOM, Text, body, long, short, split, terminator};
use super::miss::Noted;
use super::occurrences::{self, Place, Rest, Sought};
use super::order::Wanted;
use super::work::Work;
use portcullis_protocol::session::{Count, Tier, Tiers};
use std::borrow::Cow;
use std::ops::Range;

/// Where a text is, by the first tier where it is.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) tier: Tier,
    /// In order, not empty. They overlap only where all of them must be known.
    pub(super) ranges: Vec<Range<usize>>,
    /// Whether there may be more than these.
    pub(super) rest: Rest,
}

/// Looks for texts; none for one that is nowhere.
pub(super) fn find(
    text: &Text<'_>,
    tiers: Tiers,
    wanted: &[&Wanted<'_>],
    work: &mut Work,
) -> Result<Vec<Option<Places>>, Noted> {
    let mut found: Vec<Option<Places>> = wanted.iter().map(|_| None).collect();
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
            if let Some(place) = found.get_mut(n).filter(|_| !places.ranges.is_empty()) {
                *place = Some(places);
            }
        }
    }
    Ok(found)
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
    let sought: Vec<Sought<'_>> = wanted
        .iter()
        .map(|one| Sought {
            bytes: one.old,
            takes: one.old.len(),
            count: one.count,
            place: Place::Anywhere,
        })
        .collect();
    let found = occurrences::find(bytes, &sought, whole, work)?;
    let places = found.into_iter().zip(wanted).map(|(found, one)| {
        let ranges = found.starts.iter().map(|at| long(*at));
        Places {
            tier: Tier::Exact,
            ranges: ranges.map(|at| at..at + one.old.len()).collect(),
            rest: found.rest,
        }
    });
    Ok(places.collect())
}

/// A text as a tier compares it.
struct Pattern {
    bytes: Vec<u8>,
    count: Count,
    place: Place,
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
fn as_patterns(tier: Tier, one: &Wanted<'_>) -> impl Iterator<Item = Pattern> {
    let (old, count) = (one.old, one.count);
    let text = old.strip_prefix(BOM);
    let place = match text {
        Some(_) => Place::First,
        None => Place::Anywhere,
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
    let there = (!bytes.is_empty() && !nothing).then_some((bytes, Ends::There));
    let blank = blank.map(|bytes| (bytes, Ends::WithBlanks));
    let both = there.into_iter().chain(blank);
    both.map(move |(bytes, ends)| Pattern {
        bytes,
        count,
        place,
        ends,
    })
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
    let mut patterns: Vec<(usize, Pattern)> = Vec::new();
    for (n, one) in wanted.iter().enumerate() {
        patterns.extend(as_patterns(tier, one).map(|pattern| (n, pattern)));
    }
    let sought: Vec<Sought<'_>> = patterns
        .iter()
        .map(|(_, pattern)| Sought {
            bytes: &pattern.bytes,
            takes: pattern.end(0),
            count: pattern.count,
            place: pattern.place,
        })
        .collect();
    let found = occurrences::find(&seen, &sought, |_| true, work)?;
    let mut ends = Vec::new();
    for ((_, pattern), starts) in patterns.iter().zip(&found) {
        for start in &starts.starts {
            ends.push(*start);
            ends.push(short(pattern.end(long(*start))));
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
    let ranges = patterns.iter().zip(found).map(|((n, pattern), starts)| {
        let ranges = starts.starts.into_iter().map(long);
        let ranges = ranges.map(|start| match pattern.ends {
            Ends::There => place(start)..place(pattern.end(start)),
            Ends::WithBlanks => place(start)..line_end(text, place(pattern.end(start))),
        });
        (*n, ranges.collect(), starts.rest)
    });
    Ok(gathered(tier, wanted.len(), ranges))
}

/// The end of the line, without its terminator, that what counts of it ends at `end`.
fn line_end(text: &Text<'_>, end: usize) -> usize {
    // The byte before is in the line, whatever ends that.
    let line = text.at(end.saturating_sub(1));
    text.start(line) + body(text.line(line)).len()
}

/// Places of each text, from those of its patterns.
fn gathered(
    tier: Tier,
    texts: usize,
    found: impl Iterator<Item = (usize, Vec<Range<usize>>, Rest)>,
) -> Vec<Places> {
    let mut places: Vec<Places> = (0..texts)
        .map(|_| Places {
            tier,
            ranges: Vec::new(),
            rest: Rest::None,
        })
        .collect();
    for (n, ranges, rest) in found {
        let Some(of) = places.get_mut(n) else {
            continue;
        };
        // The end that the last line does not have is no place: there is nothing to replace.
        of.ranges
            .extend(ranges.into_iter().filter(|range| !range.is_empty()));
        of.ranges
            .sort_unstable_by_key(|range| (range.start, range.end));
        if rest == Rest::Unknown {
            of.rest = Rest::Unknown;
        }
    }
    places
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
    let blocks: Vec<Block<'_, '_>> = blocks.map(|(lines, one)| as_block(lines, one)).collect();
    let found = blocks::find(text, std::iter::once(Tier::Indentation), &blocks, work)?;
    let mut places = Vec::with_capacity(wanted.len());
    for ((found, block), one) in found.into_iter().zip(&blocks).zip(wanted) {
        let lines = block.lines.len();
        // Nothing but blanks is not further in or out; it would be every blank line.
        let blank = block
            .lines
            .iter()
            .all(|line| trim_end(body(line)).is_empty());
        let found = found.iter().filter(|_| !blank);
        let hits = found.flat_map(|found| found.hits.iter());
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
pub(super) fn as_block<'b, 'a>(lines: &'b [&'a [u8]], one: &Wanted<'a>) -> Block<'b, 'a> {
    Block {
        lines,
        new: vec![one.new],
        last: Last::Anywhere,
    }
}
