//! The lines that lead to blocks.

use super::candidate;
use super::form::trim;
use super::lines::{BOM, Text, body, long, short};
use super::miss::{Noted, around, numbers};
use super::order::{Block, Item};
use super::work::Work;
use std::collections::HashMap;

/// Where the lines are that lead to blocks.
#[derive(Debug)]
pub(super) struct Leads<'a> {
    /// In order, by what counts of them.
    lines: HashMap<&'a [u8], Vec<u32>>,
}

/// What counts of a line that leads.
fn lead(line: &[u8]) -> &[u8] {
    trim(body(line))
}

impl<'a> Leads<'a> {
    pub(super) fn new(text: &Text<'_>, items: &[Item<'a>], work: &mut Work) -> Result<Self, Noted> {
        let mut lines: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for item in items {
            match item {
                Item::Block(block) => {
                    lines.extend(block.leads.iter().map(|line| (lead(line), Vec::new())));
                }
                Item::Replace(_) | Item::Put { .. } | Item::Labelled { .. } => {}
            }
        }
        if lines.is_empty() {
            return Ok(Self { lines });
        }
        for (n, line) in text.lines().enumerate() {
            work.spend(1 + line.len() / 16)?;
            let line = match n {
                0 => line.strip_prefix(BOM).unwrap_or(line),
                _ => line,
            };
            if let Some(known) = lines.get_mut(lead(line)) {
                known.push(short(n));
                work.keep()?;
            }
        }
        Ok(Self { lines })
    }

    fn of(&self, line: &[u8]) -> &[u32] {
        self.lines.get(lead(line)).map_or(&[], Vec::as_slice)
    }

    /// The last line that leads to a block, each the first one after the one before it.
    pub(super) fn after(&self, text: &Text<'_>, block: &Block<'_>) -> Result<Option<usize>, Noted> {
        self.walk(text, &block.leads)
    }

    fn walk(&self, text: &Text<'_>, leads: &[&[u8]]) -> Result<Option<usize>, Noted> {
        let mut after: Option<usize> = None;
        for wanted in leads {
            let lines = self.of(wanted);
            let next = lines.partition_point(|line| after.is_some_and(|at| long(*line) <= at));
            let Some(line) = lines.get(next) else {
                return Err(candidate::of_lead(text, wanted, after));
            };
            after = Some(long(*line));
        }
        Ok(after)
    }

    /// The last line that leads to a block, which must be in one place.
    pub(super) fn only(&self, text: &Text<'_>, block: &Block<'_>) -> Result<usize, Noted> {
        let Some((last, before)) = block.leads.split_last() else {
            return Ok(0);
        };
        let after = self.walk(text, before)?;
        let lines = self.of(last);
        let from = lines.partition_point(|line| after.is_some_and(|at| long(*line) <= at));
        match lines.get(from..).unwrap_or_default() {
            [only] => Ok(long(*only)),
            several => {
                let note = format!(
                    "the line that leads to it is there {} times, and must be once: {}",
                    several.len(),
                    numbers(several.iter().map(|line| long(*line)), several.len())
                );
                let first = several.first().map_or(0, |line| long(*line));
                Err(Noted::not_unique(&note).near(around(text, first..first + 1)))
            }
        }
    }
}
