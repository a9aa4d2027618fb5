//! Where texts are in bytes: a few by one search each, many by one search for the beginnings of all.

use super::lines::{long, short};
use super::miss::Noted;
use super::work::Work;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Count;
use std::collections::HashMap;

/// Texts that are looked for one by one.
const FEW: usize = 16;
/// Bytes of each text that are looked for together with those of others. The automaton takes some
/// forty bytes for each, and there are at most 16384 texts.
const BEGINNING: usize = 64;
/// Places of all texts together, at most.
const PLACES_MAX: usize = 1 << 20;
/// Places of one text that are counted beyond those it must have.
const BEYOND: usize = 16;

/// A text that is looked for; not empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought<'a> {
    pub(super) bytes: &'a [u8],
    /// How many of them a place takes; what is behind them is only looked at.
    pub(super) takes: usize,
    pub(super) count: Count,
    pub(super) place: Place,
}

/// Where it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Anywhere,
}

/// Where it begins, in order. Where a number of places is asked for, those that overlap are places
/// too: which of them is meant would be a guess.
#[derive(Debug, Default)]
pub(super) struct Starts {
    pub(super) starts: Vec<u32>,
    pub(super) rest: Rest,
}

/// Whether there are more places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Rest {
    #[default]
    None,
    Unknown,
}

/// Whether a text is looked for further.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Search,
    Enough,
}

/// Looks for texts, of all places at those that `fits` accepts.
pub(super) fn find(
    haystack: &[u8],
    sought: &[Sought<'_>],
    fits: impl Fn(usize) -> bool,
    work: &mut Work,
) -> Result<Vec<Starts>, Noted> {
    let mut found = Found {
        starts: sought.iter().map(|_| Starts::default()).collect(),
        left: PLACES_MAX,
    };
    if sought.len() <= FEW {
        for (n, one) in sought.iter().enumerate() {
            alone(haystack, (n, one), &fits, (&mut found, work))?;
        }
    } else {
        together(haystack, sought, &fits, (&mut found, work))?;
    }
    Ok(found.starts)
}

struct Found {
    starts: Vec<Starts>,
    left: usize,
}

impl Found {
    /// Adds a place of a text, after those it has.
    fn add(&mut self, (n, one): (usize, &Sought<'_>), at: usize) -> Result<Next, Noted> {
        let Some(found) = self.starts.get_mut(n) else {
            return Ok(Next::Enough);
        };
        let last = found.starts.last().map(|last| long(*last));
        let overlaps = last.is_some_and(|last| last + one.takes > at);
        let most = match one.count {
            Count::All if overlaps => return Ok(Next::Search),
            Count::All => usize::MAX,
            Count::Exactly(n) => long(n).saturating_add(BEYOND),
        };
        found.starts.push(short(at));
        if found.starts.len() >= most || overlaps {
            found.rest = Rest::Unknown;
            return Ok(Next::Enough);
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                let note = "the texts to replace are in more than 1048576 places";
                return Err(Noted::new(Code::OutOfBudget, note));
            }
        }
        Ok(Next::Search)
    }
}

fn alone(
    haystack: &[u8],
    (n, one): (usize, &Sought<'_>),
    fits: &impl Fn(usize) -> bool,
    (found, work): (&mut Found, &mut Work),
) -> Result<(), Noted> {
    work.spend(haystack.len() / 16)?;
    if one.place == Place::First {
        if haystack.starts_with(one.bytes) && fits(0) {
            found.add((n, one), 0)?;
        }
        return Ok(());
    }
    let finder = memmem::Finder::new(one.bytes);
    let mut from = 0;
    while let Some(at) = haystack.get(from..).and_then(|rest| finder.find(rest)) {
        let at = from + at;
        work.spend(1 + one.bytes.len() / 16)?;
        let hit = fits(at);
        if hit && found.add((n, one), at)? == Next::Enough {
            break;
        }
        from = match (one.count, hit) {
            (Count::All, true) => at + one.takes.max(1),
            (Count::All, false) | (Count::Exactly(_), _) => at + 1,
        };
    }
    Ok(())
}

fn together(
    haystack: &[u8],
    sought: &[Sought<'_>],
    fits: &impl Fn(usize) -> bool,
    (found, work): (&mut Found, &mut Work),
) -> Result<(), Noted> {
    let mut numbers: HashMap<&[u8], usize> = HashMap::new();
    let mut beginnings: Vec<&[u8]> = Vec::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (n, one) in sought.iter().enumerate() {
        let beginning = one.bytes.get(..BEGINNING).unwrap_or(one.bytes);
        let group = *numbers.entry(beginning).or_insert(groups.len());
        if group == groups.len() {
            beginnings.push(beginning);
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(group) {
            group.push(n);
        }
    }
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(&beginnings);
    let Ok(automaton) = automaton else {
        let note = "the texts to replace are too many to be looked for together";
        return Err(Noted::new(Code::OutOfBudget, note));
    };
    work.spend(haystack.len())?;
    for hit in automaton.find_overlapping_iter(haystack) {
        work.spend(1)?;
        let at = hit.start();
        let Some(group) = groups.get_mut(hit.pattern().as_usize()) else {
            continue;
        };
        let mut k = 0;
        while let Some((n, one)) = group.get(k).and_then(|n| Some((*n, sought.get(*n)?))) {
            let placed = one.place == Place::Anywhere || at == 0;
            let is_there = placed && goes_on(haystack, at, one.bytes, work)?;
            if is_there && fits(at) && found.add((n, one), at)? == Next::Enough {
                group.swap_remove(k);
            } else {
                k += 1;
            }
        }
    }
    Ok(())
}

/// Whether a text whose beginning is at a place is there whole. A little more of it is looked at
/// first: that mostly tells.
fn goes_on(haystack: &[u8], at: usize, text: &[u8], work: &mut Work) -> Result<bool, Noted> {
    work.spend(1)?;
    let there = haystack.get(at..).unwrap_or_default();
    let more = text.get(..2 * BEGINNING).unwrap_or(text);
    if !there.starts_with(more) {
        return Ok(false);
    }
    work.spend(text.len() / 16)?;
    Ok(there.starts_with(text))
}
