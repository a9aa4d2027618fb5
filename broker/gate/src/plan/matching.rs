//! Where edits are in a file, and the file with them made: bytes in, bytes out, nothing else. Every
//! edit is found in the file as it is before all of them.
//!
//! What costs: a few passes over the file and over the texts of the edits, whatever they are. Work
//! is counted and bounded ([`Work`]), and so are places, so that texts made to be found almost
//! everywhere are refused instead of searched.

mod blocks;
mod candidate;
mod form;
mod join;
mod leads;
mod lines;
mod miss;
mod occurrences;
mod order;
mod place;
mod splice;
mod texts;
mod work;

#[cfg(test)]
mod tests;

use lines::Text;
use miss::Noted;
use order::Item;
use portcullis_protocol::anchor::Labels;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Lines, TextEdit, Tier, Tiers};
use work::Work;

/// Edits of one file.
#[derive(Debug, Clone, Copy)]
pub struct Edits<'a> {
    /// The edits.
    pub edits: &'a [TextEdit],
    /// How strictly texts are compared.
    pub tiers: Tiers,
    /// What their spans are of.
    pub content: &'a [u8],
}

/// A file with its edits made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// Its content.
    pub bytes: Vec<u8>,
    /// What was changed, in the order of the file. The lines outside are the old ones, byte for
    /// byte, but for a terminator that the last line gets when lines are put after it.
    pub places: Vec<Placed>,
}

/// Lines that were changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// By which edit, from 0.
    pub edit: u16,
    /// How it was found.
    pub tier: Tier,
    /// The lines as they were.
    pub old: Lines,
    /// The lines in their place.
    pub new: Lines,
}

/// Why edits cannot be made. There is no part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// Why.
    pub code: Code,
    /// The edit that is refused, from 0.
    pub edit: usize,
    /// What a person reads: which edit, and what there is instead. At most 256 bytes.
    pub note: String,
    /// The lines of the file that are worth showing with it.
    pub near: Option<Lines>,
}

/// Makes edits in `old`. `labels` is called only when an edit names lines by their labels.
///
/// # Errors
///
/// `not_unique` where a text is not as often there as it must be, `stale_anchor` for a label that
/// is not its line's, `collision` where two edits change the same bytes, `out_of_range` for an edit
/// that could be made in no file, `out_of_budget` for what is too large or too much work.
pub fn apply(
    old: &[u8],
    order: Edits<'_>,
    labels: impl FnOnce() -> Labels,
) -> Result<Edited, Miss> {
    let mut work = Work::of(old.len(), order.content.len());
    applied(old, order, labels, &mut work).map_err(|(edit, noted)| {
        let note = match edit {
            Some(edit) if order.edits.len() > 1 => format!("edit {}: {}", edit + 1, noted.note),
            Some(_) | None => noted.note,
        };
        Miss {
            code: noted.code,
            edit: edit.unwrap_or(0),
            note: miss::short(note),
            near: noted.near,
        }
    })
}

/// The edit that is refused, where it is one of them, and why.
type Failed = (Option<usize>, Noted);

fn applied(
    old: &[u8],
    order: Edits<'_>,
    labels: impl FnOnce() -> Labels,
    work: &mut Work,
) -> Result<Edited, Failed> {
    let items = order::read(order)?;
    let text = Text::new(old).map_err(|why| (None, why))?;
    if items
        .iter()
        .any(|item| matches!(item, Item::Labelled { .. }))
    {
        order::check_labels(&text, &items, &labels())?;
    }
    let search = place::Search {
        text: &text,
        tiers: order.tiers,
        items: &items,
    };
    let splices = search.splices(work)?;
    join::join(&text, splices)
}
