//! Places where edits matched, one line each.

use crate::change::{Changes, Item};
use portcullis_protocol::path::escape;
use portcullis_protocol::session::{Lines, Matched, Tier};

/// Places that are told to a person; a program finds all of them in the documents.
const TOLD: usize = 32;

/// Where the edits of a change set matched; the tier when it is not the strictest.
pub fn told(changes: &Changes, matched: &[Matched], cut: u64) -> Vec<String> {
    let mut lines: Vec<String> = matched
        .iter()
        .take(TOLD)
        .map(|place| {
            let item = changes.items().get(usize::from(place.change));
            let name = match item {
                Some(Item::Edit(edit)) => escape(edit.selector.path.as_slice()),
                Some(
                    Item::Write(_)
                    | Item::Mkdir(_)
                    | Item::Move(_)
                    | Item::Delete(_)
                    | Item::Chmod(_)
                    | Item::Link(_),
                )
                | None => format!("change {}", u32::from(place.change) + 1),
            };
            let tier = match place.tier {
                Tier::Exact => String::new(),
                tier @ (Tier::Terminators
                | Tier::TrailingBlanks
                | Tier::Indentation
                | Tier::Punctuation) => format!(" (matched by tier {tier})"),
            };
            format!("  {name}: {}{tier}", turned(place.old, place.new))
        })
        .collect();
    let told = u64::try_from(matched.len().saturating_sub(TOLD)).unwrap_or(u64::MAX);
    match told.saturating_add(cut) {
        0 => {}
        more => lines.push(format!("  and {more} places more")),
    }
    lines
}

fn turned(old: Lines, new: Lines) -> String {
    match (old.count, new.count) {
        (0, 0) => format!("nothing at line {}", old.first),
        (0, _) => format!("{} inserted", span(new)),
        (_, 0) => format!("{} removed", span(old)),
        (_, _) if old == new => span(old),
        (_, _) => format!("{} -> {}", span(old), span(new)),
    }
}

fn span(lines: Lines) -> String {
    match lines.count {
        1 => format!("line {}", lines.first),
        count => format!(
            "lines {}-{}",
            lines.first,
            lines.first.saturating_add(count.saturating_sub(1))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ask, change};

    #[test]
    fn each_place_has_its_lines_and_a_tier_that_is_not_the_strictest() {
        let changes = Changes::new()
            .with(change::mkdir(ask::selector("d").unwrap()))
            .with(change::replace(ask::selector("a\n").unwrap(), "x", "y"));
        let place = |tier, old: (u64, u64), new: (u64, u64)| Matched {
            change: 1,
            edit: 0,
            tier,
            old: Lines {
                first: old.0,
                count: old.1,
            },
            new: Lines {
                first: new.0,
                count: new.1,
            },
        };
        let places = [
            place(Tier::Exact, (3, 1), (3, 1)),
            place(Tier::Punctuation, (3, 2), (4, 1)),
            place(Tier::Exact, (3, 0), (3, 2)),
            place(Tier::Exact, (7, 1), (7, 0)),
        ];
        assert_eq!(
            told(&changes, &places, 5),
            [
                "  a\\x0a: line 3",
                "  a\\x0a: lines 3-4 -> line 4 (matched by tier punctuation)",
                "  a\\x0a: lines 3-4 inserted",
                "  a\\x0a: line 7 removed",
                "  and 5 places more",
            ]
        );
        let many = vec![place(Tier::Exact, (1, 1), (1, 1)); 40];
        let told = told(&changes, &many, 0);
        assert_eq!((told.len(), told[32].as_str()), (33, "  and 8 places more"));
    }
}
