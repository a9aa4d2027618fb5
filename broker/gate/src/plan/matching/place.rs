//! Which of its places an edit means: there must be one, and only what narrows them may make it so.

use super::blocks::{self, Found, Hits, Last, Shift};
use super::leads::Leads;
use super::lines::{Text, long, split};
use super::miss::{Noted, around, numbers, times};
use super::occurrences::Rest;
use super::order::{Block, Deed, Item, Wanted};
use super::splice::{self, Splice, Spot};
use super::texts::{self, Places};
use super::work::Work;
use super::{Failed, candidate};
use portcullis_protocol::anchor::Anchor;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Count, Edges, Tier, Tiers};
use std::ops::Range;
use std::vec;

/// What is looked for, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'s, 'a> {
    pub(super) text: &'s Text<'a>,
    pub(super) tiers: Tiers,
    pub(super) items: &'s [Item<'a>],
}

impl<'s, 'a> Search<'s, 'a> {
    /// What all edits change, in their order.
    pub(super) fn splices(self, work: &mut Work) -> Result<Vec<Splice<'a>>, Failed> {
        let mut texts = self.texts(work).map_err(|why| (None, why))?;
        let mut blocks = self.blocks(work).map_err(|why| (None, why))?;
        let leads = Leads::new(self.text, self.items, work).map_err(|why| (None, why))?;
        let mut splices = Vec::with_capacity(self.items.len());
        let (mut previous, mut bytes) = (None, 0);
        for (n, item) in self.items.iter().enumerate() {
            let from = splices.len();
            let made = match item {
                Item::Replace(wanted) => {
                    let places = texts.next().flatten();
                    self.replace((n, wanted), places, work)
                        .map(|made| splices.extend(made))
                }
                Item::Block(block) => {
                    let found = if block.old.is_empty() {
                        None
                    } else {
                        blocks.next().flatten()
                    };
                    self.block((n, block), found, (&leads, previous), work)
                        .map(|(end, made)| {
                            previous = Some(end);
                            splices.extend(made);
                        })
                }
                Item::Put { line, text } => {
                    self.put((n, *line), text).map(|made| splices.push(made))
                }
                Item::Labelled { first, last, deed } => self
                    .labelled(n, (*first, *last), deed)
                    .map(|made| splices.push(made)),
            };
            made.map_err(|why| (Some(n), why))?;
            let new = splices.iter().skip(from).map(|splice| splice.text.len());
            bytes += new.sum::<usize>();
            splice::within(bytes).map_err(|why| (Some(n), why))?;
        }
        Ok(splices)
    }

    fn texts(self, work: &mut Work) -> Result<vec::IntoIter<Option<Places>>, Noted> {
        let wanted = self.items.iter().filter_map(|item| match item {
            Item::Replace(wanted) => Some(wanted),
            Item::Block(_) | Item::Put { .. } | Item::Labelled { .. } => None,
        });
        let wanted: Vec<&Wanted<'_>> = wanted.collect();
        Ok(texts::find(self.text, self.tiers, &wanted, work)?.into_iter())
    }

    fn blocks(self, work: &mut Work) -> Result<vec::IntoIter<Option<Found>>, Noted> {
        let blocks = self.items.iter().filter_map(|item| match item {
            Item::Block(block) => (!block.old.is_empty()).then(|| sought(block)),
            Item::Replace(_) | Item::Put { .. } | Item::Labelled { .. } => None,
        });
        let blocks: Vec<blocks::Block<'_, '_>> = blocks.collect();
        Ok(blocks::find(self.text, self.tiers.iter(), &blocks, work)?.into_iter())
    }

    fn replace(
        self,
        (n, wanted): (usize, &Wanted<'a>),
        places: Option<Places>,
        work: &mut Work,
    ) -> Result<Vec<Splice<'a>>, Noted> {
        let Some(mut places) = places else {
            return Err(candidate::of_text(self.text, self.tiers, wanted, work));
        };
        match wanted.count {
            Count::All => {
                let mut end = 0;
                places.ranges.retain(|range| {
                    let apart = range.start >= end;
                    if apart {
                        end = range.end;
                    }
                    apart
                });
            }
            Count::Exactly(count) => self.counted(&places, count)?,
        }
        let lines: Vec<&[u8]> = match places.tier {
            Tier::Indentation => split(wanted.old).collect(),
            Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => {
                Vec::new()
            }
        };
        let block = texts::as_block(&lines, wanted);
        let mut made = Vec::with_capacity(places.ranges.len());
        let mut bytes = 0;
        for range in places.ranges {
            let shift = match places.tier {
                Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => None,
                Tier::Indentation => {
                    let line = self.text.at(range.start);
                    blocks::shift(self.text, &block, line, work)?
                }
            };
            let shift = shift.unwrap_or(Shift::In(b""));
            let tiers = (self.tiers, places.tier);
            let edit = (n, wanted.old, wanted.new);
            let splice = splice::of_text(self.text, edit, tiers, range, shift)?;
            bytes += splice.text.len();
            splice::within(bytes)?;
            made.push(splice);
        }
        Ok(made)
    }

    /// There are as many places as there must be, apart from each other.
    fn counted(self, places: &Places, count: u32) -> Result<(), Noted> {
        let ranges = &places.ranges;
        let overlap = ranges.windows(2).any(|pair| match pair {
            [one, other] => other.start < one.end,
            _ => false,
        });
        if ranges.len() == long(count) && places.rest == Rest::None && !overlap {
            return Ok(());
        }
        let at_least = match places.rest {
            Rest::None => "",
            Rest::Unknown => "at least ",
        };
        let apart = if overlap { ", and they overlap" } else { "" };
        let lines = ranges.iter().map(|range| self.text.at(range.start));
        let note = format!(
            "it is there {at_least}{} ({}){apart}, and must be {}: {}",
            times(ranges.len()),
            places.tier,
            times(long(count)),
            numbers(lines, ranges.len()),
        );
        let first = ranges.first().map_or(0, |range| self.text.at(range.start));
        Err(Noted::not_unique(&note).near(around(self.text, first..first + 1)))
    }

    /// The splices of a block, and the line after the last one it changes.
    fn block(
        self,
        (n, block): (usize, &Block<'a>),
        found: Option<Found>,
        (leads, previous): (&Leads<'_>, Option<usize>),
        work: &mut Work,
    ) -> Result<(usize, Vec<Splice<'a>>), Noted> {
        let (tier, line, shift) = if block.old.is_empty() {
            let line = self.insertion(block, leads)?;
            (Tier::Exact, line, Shift::In(b""))
        } else {
            let Some(found) = found else {
                return Err(candidate::of_block(self.text, self.tiers, block, work));
            };
            let tier = found.tier;
            let line = self.narrowed(block, found, (leads, previous))?;
            let shift = match tier {
                Tier::Exact | Tier::Terminators | Tier::TrailingBlanks | Tier::Punctuation => None,
                Tier::Indentation => blocks::shift(self.text, &sought(block), line, work)?,
            };
            (tier, line, shift.unwrap_or(Shift::In(b"")))
        };
        let spot = Spot {
            tier,
            tiers: self.tiers,
            line,
            shift,
        };
        let end = block.runs.last().map_or(line, |run| line + run.old.end);
        let made = splice::of_block(self.text, (n, block), spot)?;
        Ok((end, made))
    }

    /// The one place of a block that is meant.
    fn narrowed(
        self,
        block: &Block<'_>,
        found: Found,
        (leads, previous): (&Leads<'_>, Option<usize>),
    ) -> Result<usize, Noted> {
        let Found { tier, hits: all } = found;
        let after = leads.after(self.text, block)?;
        let hits = match after {
            Some(lead) => all.clone().since(lead + 1),
            None => all.clone(),
        };
        if hits.len() == 0 {
            return Err(self.elsewhere(&all, tier, "not after the line that leads to it"));
        }
        let end = self.text.count().checked_sub(block.old.len());
        let (hits, edge) = match block.edges {
            Edges::Free => (hits, ""),
            Edges::Start => (hits.only(0), "not at the beginning of the file"),
            Edges::End => (
                hits.only(end.unwrap_or(usize::MAX)),
                "not at the end of the file",
            ),
            Edges::Both if end == Some(0) => (hits.only(0), "not the whole file"),
            Edges::Both => (hits.only(usize::MAX), "not the whole file"),
        };
        if hits.len() == 0 {
            return Err(self.elsewhere(&all, tier, edge));
        }
        if let Some(line) = block.line.and_then(|line| index(line).checked_sub(1))
            && let Some(there) = hits.clone().only(line).first()
        {
            return Ok(there);
        }
        if let (1, Some(there)) = (hits.len(), hits.first()) {
            return Ok(there);
        }
        let later = previous.map(|line| hits.clone().since(line));
        if let Some((1, Some(there))) = later.map(|later| (later.len(), later.first())) {
            return Ok(there);
        }
        let note = format!(
            "it is there {} times ({tier}), and must be once: {}",
            hits.len(),
            numbers(hits.iter(), hits.len())
        );
        let first = hits.first().unwrap_or(0);
        Err(Noted::not_unique(&note).near(around(self.text, first..first + block.old.len())))
    }

    fn elsewhere(self, hits: &Hits, tier: Tier, why: &str) -> Noted {
        let lines = numbers(hits.iter(), hits.len());
        let first = hits.first().unwrap_or(0);
        let note = format!("it is at {lines} ({tier}), {why}");
        Noted::not_unique(&note).near(around(self.text, first..first + 1))
    }

    /// The line before which lines come that stand with none.
    fn insertion(self, block: &Block<'_>, leads: &Leads<'_>) -> Result<usize, Noted> {
        let count = self.text.count();
        let after = leads.after(self.text, block)?;
        let line = match (block.line, after, block.edges) {
            (Some(line), after, _) => {
                let line = index(line).checked_sub(1);
                let Some(line) = line.filter(|line| *line <= count) else {
                    return Err(self.beyond(block.line.unwrap_or(0)));
                };
                if after.is_some_and(|lead| line <= lead) {
                    let note = format!("line {} is not after the line that leads to it", line + 1);
                    return Err(Noted::not_unique(&note).near(around(self.text, line..line)));
                }
                line
            }
            (None, Some(_), _) => leads.only(self.text, block)? + 1,
            (None, None, Edges::Start) => 0,
            (None, None, Edges::End) => count,
            (None, None, Edges::Both) => 0,
            (None, None, Edges::Free) => {
                let note = "nothing says where its lines come: give lines around them, a line \
                            that leads to it, or a line number";
                return Err(Noted::not_unique(note));
            }
        };
        let fits = match block.edges {
            Edges::Free => true,
            Edges::Start => line == 0,
            Edges::End => line == count,
            Edges::Both => count == 0,
        };
        if !fits {
            let note = match block.edges {
                Edges::Start => "the place is not the beginning of the file",
                Edges::End => "the place is not the end of the file",
                Edges::Both | Edges::Free => "the file is not empty",
            };
            return Err(Noted::not_unique(note).near(around(self.text, line..line)));
        }
        Ok(line)
    }

    fn beyond(self, line: u64) -> Noted {
        let count = self.text.count();
        let note = format!("there is no line {line}: the file has {count} lines");
        Noted::new(Code::OutOfRange, &note).near(around(self.text, count..count))
    }

    fn put(self, (n, line): (usize, u64), text: &'a [u8]) -> Result<Splice<'a>, Noted> {
        let at = index(line);
        if at > self.text.count() {
            return Err(self.beyond(line));
        }
        splice::of_lines(self.text, self.tiers, (n, at..at), text)
    }

    fn labelled(
        self,
        n: usize,
        (first, last): (Anchor, Anchor),
        deed: &Deed<'a>,
    ) -> Result<Splice<'a>, Noted> {
        // They were checked: both are lines of the file.
        let (first, after) = (index(first.line).saturating_sub(1), index(last.line));
        let (lines, new): (Range<usize>, &'a [u8]) = match deed {
            Deed::Replace(new) => (first..after, new),
            Deed::Before(new) => (first..first, new),
            Deed::After(new) => (after..after, new),
        };
        splice::of_lines(self.text, self.tiers, (n, lines), new)
    }
}

fn index(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

pub(super) fn sought<'b, 'a>(block: &'b Block<'a>) -> blocks::Block<'b, 'a> {
    let new = block.runs.iter().flat_map(|run| run.new.iter().copied());
    blocks::Block {
        lines: &block.old,
        new: new.collect(),
        last: Last::EndsFile,
    }
}
