//! What is outside the ranges that a reply tells of is what it was, byte for byte.

use super::oracle::{Ours, Verdict};
use super::tree::lines;
use super::{Case, Tally, Wrong};
use portcullis_client::change::Item;
use portcullis_protocol::session::{Matched, Selector};

/// Compares every file that one edit of the set changed.
pub(super) fn outside_is_identical(
    case: &Case,
    ours: &Ours,
    tally: &mut Tally,
) -> Result<(), Wrong> {
    let (Verdict::Applied, Some((changes, changed))) = (&ours.verdict, &ours.done) else {
        return Ok(());
    };
    for (at, item) in (0_u16..).zip(changes.items()) {
        let Item::Edit(edit) = item else { continue };
        let name = edit.selector.path.as_slice();
        let same = |selector: &Selector| selector.path.as_slice() == name;
        let others = changes.items().iter().filter(|item| match item {
            Item::Edit(edit) => same(&edit.selector),
            Item::Write(write) => same(&write.selector),
            Item::Delete(gone) => same(&gone.selector),
            Item::Move(_) | Item::Mkdir(_) | Item::Chmod(_) | Item::Link(_) => false,
        });
        if others.count() > 1 {
            continue;
        }
        let before = changes.items().iter().find_map(|item| match item {
            Item::Move(moved) if same(&moved.destination) => Some(moved.source.path.as_slice()),
            Item::Move(_)
            | Item::Edit(_)
            | Item::Write(_)
            | Item::Delete(_)
            | Item::Mkdir(_)
            | Item::Chmod(_)
            | Item::Link(_) => None,
        });
        let old = case.target.file(before.unwrap_or(name));
        let (Some(old), Some(new)) = (old, ours.after.file(name)) else {
            continue;
        };
        let matched: Vec<Matched> = changed
            .matched
            .as_slice()
            .iter()
            .filter(|matched| matched.change == at)
            .copied()
            .collect();
        if matched.len() < edit.edits.len() {
            return Err(Wrong::Never(format!(
                "{} of {} edits are told of",
                matched.len(),
                edit.edits.len()
            )));
        }
        tally.ranges += 1;
        if !kept(old, new, matched) {
            return Err(Wrong::Never(format!(
                "{:?} do not tell all",
                changed.matched
            )));
        }
    }
    Ok(())
}

fn kept(old: &[u8], new: &[u8], mut matched: Vec<Matched>) -> bool {
    matched.sort_by_key(|one| (one.old.first, one.new.first));
    let (old, new) = (lines(old), lines(new));
    let place = |line: u64, count: usize| {
        let at = usize::try_from(line).unwrap().saturating_sub(1);
        at.min(count)
    };
    let (mut at_old, mut at_new) = (0, 0);
    for one in matched {
        let first_old = place(one.old.first, old.len());
        let first_new = place(one.new.first, new.len());
        if first_old < at_old
            || first_new < at_new
            || old[at_old..first_old] != new[at_new..first_new]
        {
            return false;
        }
        at_old = first_old + usize::try_from(one.old.count).unwrap();
        at_new = first_new + usize::try_from(one.new.count).unwrap();
    }
    old.get(at_old..) == new.get(at_new..)
}
