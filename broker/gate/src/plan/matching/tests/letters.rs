//! Where texts are, slow and once more: in letters, of which the end of a line is one, compared at
//! every place.

use super::reference::plain;
use super::{Tier, Tiers};
use std::ops::Range;

/// One letter of a text, or the end of a line with the blanks before it that do not count; and
/// where it is.
type Letter = (char, Range<usize>);

/// A text in letters. A file gets an end for its last line that has none.
fn letters(tier: Tier, text: &str, is_file: bool) -> Vec<Letter> {
    let mut letters: Vec<Letter> = Vec::new();
    let mut all = text.char_indices().peekable();
    while let Some((at, c)) = all.next() {
        let mut end = at + c.len_utf8();
        let mut letter = if tier == Tier::Punctuation {
            plain(c)
        } else {
            c
        };
        if at == 0 && c == '\u{feff}' && tier != Tier::Exact {
            continue;
        }
        if tier != Tier::Exact && c == '\r' && all.peek().is_some_and(|next| next.1 == '\n') {
            all.next();
            letter = '\n';
            end += 1;
        }
        letters.push((letter, at..end));
    }
    if is_file && tier != Tier::Exact && !text.is_empty() && !text.ends_with('\n') {
        letters.push(('\n', text.len()..text.len()));
    }
    if matches!(tier, Tier::TrailingBlanks | Tier::Punctuation) {
        let mut joined: Vec<Letter> = Vec::new();
        for (c, range) in letters {
            let mut start = range.start;
            while c == '\n'
                && joined
                    .last()
                    .is_some_and(|last| matches!(last.0, ' ' | '\t'))
            {
                start = joined.pop().unwrap().1.start;
            }
            joined.push((c, start..range.end));
        }
        return joined;
    }
    letters
}

fn windows(file: &[Letter], wanted: &[Letter]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for start in 0..(file.len() + 1).saturating_sub(wanted.len()) {
        let here = &file[start..start + wanted.len()];
        if here.iter().zip(wanted).all(|(a, b)| a.0 == b.0) {
            found.push(here[0].1.start..here[wanted.len() - 1].1.end);
        }
    }
    found
}

/// Where a text is by a tier.
pub(super) fn text_places(tier: Tier, tiers: Tiers, old: &str, wanted: &str) -> Vec<Range<usize>> {
    let file = letters(tier, old, true);
    let text = letters(tier, wanted, false);
    if tier != Tier::Exact && text.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let only_ends = text.iter().all(|letter| letter.0 == '\n');
    if tier != Tier::TrailingBlanks && tier != Tier::Punctuation || !only_ends {
        // A place that ends before the end of a line leaves the blanks there.
        found = windows(&file, &text);
    }
    if tier == Tier::Exact && tiers != Tiers::EXACT {
        found.retain(|range| {
            !(old[range.start..].starts_with('\n') && old[..range.start].ends_with('\r'))
        });
    }
    let kept = text
        .iter()
        .rposition(|letter| !matches!(letter.0, ' ' | '\t'));
    let ends_blank = kept.is_some_and(|kept| kept + 1 < text.len() && text[kept].0 != '\n');
    if ends_blank && matches!(tier, Tier::TrailingBlanks | Tier::Punctuation) {
        let mut at_end = text[..=kept.unwrap()].to_vec();
        at_end.push(('\n', 0..0));
        for range in windows(&file, &at_end) {
            let place = &old[..range.end];
            let place = place
                .strip_suffix('\n')
                .map_or(place, |p| p.strip_suffix('\r').unwrap_or(p));
            found.push(range.start..place.len());
        }
    }
    if tier != Tier::Exact && wanted.starts_with('\u{feff}') {
        let first = if old.starts_with('\u{feff}') { 3 } else { 0 };
        found.retain(|range| range.start == first);
    }
    // The end that the last line does not have is nothing.
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| (range.start, range.end));
    found
}
