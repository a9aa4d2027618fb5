//! What is true of every edit.

use super::{Count, Edges, Lines, Plan, Tiers, hunk};
use crate::plan::matching::Edited;
use proptest::prelude::*;

/// Lines with their terminators; lines of nothing after the last.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Outside of the lines that are told, both are the same, byte for byte; but for the terminator
/// of a last line after which lines are put.
#[track_caller]
pub(super) fn outside_is_identical(old: &[u8], edited: &Edited) {
    let mark = "\u{feff}".as_bytes();
    let (old, new) = match (old.strip_prefix(mark), edited.bytes.strip_prefix(mark)) {
        // A mark that stays first stays, whatever line is behind it.
        (Some(old), Some(new)) => (old, new),
        _ => (old, edited.bytes.as_slice()),
    };
    let (was, is) = (lines(old), lines(new));
    let at = |n: u64| usize::try_from(n).unwrap();
    let (mut old_at, mut new_at) = (0, 0);
    let mut places = edited.places.clone();
    places.sort_by_key(|place| (place.old.first, place.old.first + place.old.count));
    let mut pieces = Vec::new();
    for place in &places {
        let (from, to) = (at(place.old.first) - 1, at(place.new.first) - 1);
        if from >= old_at {
            pieces.push((old_at..from, new_at..to));
        }
        // Several places in one line share it.
        old_at = old_at.max(from + at(place.old.count));
        new_at = new_at.max(to + at(place.new.count));
    }
    pieces.push((
        old_at.min(was.len())..was.len(),
        new_at.min(is.len())..is.len(),
    ));
    for (n, (before, after)) in pieces.iter().enumerate() {
        let mut before = was[before.clone()].concat();
        let after = is[after.clone()].concat();
        if n + 1 < pieces.len() && !before.is_empty() && !before.ends_with(b"\n") {
            let ends: [&[u8]; 2] = [b"\n", b"\r\n"];
            let ended = ends.map(|end| [&before, end].concat());
            before = ended
                .into_iter()
                .find(|ended| *ended == after)
                .unwrap_or(before);
        }
        assert_eq!(
            before.escape_ascii().to_string(),
            after.escape_ascii().to_string(),
            "{old:?} {edited:?}"
        );
    }
}

/// A file in which every line is another, and lines to change of it.
fn numbered() -> impl Strategy<Value = (Vec<String>, Vec<bool>)> {
    let line = (0..1000u32, prop::sample::select(&["\n", "\r\n"][..]));
    prop::collection::vec((line, any::<bool>()), 1..30).prop_map(|lines| {
        let text = lines.iter().enumerate();
        let text = text.map(|(n, ((word, end), _))| format!("{n} {word}{end}"));
        (text.collect(), lines.iter().map(|line| line.1).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn what_is_made_and_unmade_is_the_file_as_it_was((file, changed) in numbered(), literal in any::<bool>()) {
        let old = file.concat();
        let tiers = if literal { Tiers::EXACT } else { Tiers::DEFAULT };
        let (mut there, mut back) = (Plan::default(), Plan::default());
        for (n, line) in file.iter().enumerate().filter(|(n, _)| changed[*n]) {
            let new = format!("new {n}{}", if line.ends_with("\r\n") { "\r\n" } else { "\n" });
            let (minus, plus) = (format!("-{line}"), format!("+{new}"));
            let (undo, redo) = (format!("-{new}"), format!("+{line}"));
            there = there.hunk(&hunk(&[&minus, &plus]));
            back = back.hunk(&hunk(&[&undo, &redo]));
        }
        let new = there.by(tiers, &old);
        if there.edits.is_empty() {
            prop_assert_eq!(new.unwrap().bytes, old.into_bytes());
            return Ok(());
        }
        let new = new.unwrap();
        prop_assert_eq!(new.places.len(), there.edits.len());
        outside_is_identical(old.as_bytes(), &new);
        let again = back.by(tiers, &new.bytes).unwrap();
        prop_assert_eq!(again.bytes, old.into_bytes());
    }

    #[test]
    fn any_bytes_are_edited_or_refused(
        old in prop::collection::vec(prop::sample::select(&b"ab \t\r\n\n\xe9\xef\xbb\xbf\xe2\x80\x99"[..]), 0..40),
        text in prop::collection::vec(prop::sample::select(&b"ab \t\r\n\n\xe9\xef\xbb\xbf\xe2\x80\x99"[..]), 1..6),
        new in prop::collection::vec(prop::sample::select(&b"xy\r\n\n\xe9"[..]), 0..5),
        bits in 0..32u8,
        all in any::<bool>(),
    ) {
        let tiers = Tiers::try_from(bits | 1).unwrap();
        let count = if all { Count::All } else { Count::Exactly(1) };
        match Plan::default().replace_some(&text, &new, count).by(tiers, &old) {
            Ok(edited) => outside_is_identical(&old, &edited),
            Err(miss) => prop_assert!(miss.note.len() <= 256 && !miss.note.is_empty()),
        }
    }

    #[test]
    fn lines_are_put_between_lines((file, _) in numbered(), at in 0..31u64, ended in any::<bool>()) {
        let mut old = file.concat();
        if !ended {
            old.truncate(old.trim_end().len());
        }
        let lines = ["+x\n", "+y\n"];
        let order = Lines { after: &[], line: Some(at + 1), edges: Edges::Free, lines: &lines };
        let by_hunk = Plan::default().hunk(&order).by(Tiers::DEFAULT, &old);
        let by_line = Plan::default().insert(at, "x\ny").by(Tiers::DEFAULT, &old);
        if usize::try_from(at).unwrap() > file.len() {
            prop_assert!(by_hunk.is_err() && by_line.is_err());
            return Ok(());
        }
        let (by_hunk, by_line) = (by_hunk.unwrap(), by_line.unwrap());
        prop_assert_eq!(&by_hunk.bytes, &by_line.bytes);
        outside_is_identical(old.as_bytes(), &by_line);
        prop_assert_eq!(by_line.bytes.ends_with(b"\n"), old.ends_with('\n'));
    }

    #[test]
    fn edits_of_all_kinds_are_told_where_they_are(
        old in "[ab]{0,2}(\r?\n[ab \r]{0,2}){0,6}",
        texts in prop::collection::vec(("\n?[ab]?\n?", "[x\n]{0,3}"), 0..3),
        puts in prop::collection::vec((0..7u64, "[yz]\n?"), 0..3),
        goes in prop::collection::vec((1..8u64, 0..2u64, "(w\n){0,2}"), 0..2),
    ) {
        let mut plan = Plan::default();
        for (text, new) in texts.iter().filter(|(text, _)| !text.is_empty()) {
            plan = plan.replace_some(text, new, Count::All);
        }
        for (line, text) in &puts {
            plan = plan.insert(*line, text);
        }
        let count = u64::try_from(lines(old.as_bytes()).len()).unwrap();
        for (line, more, text) in goes.iter().filter(|(line, more, _)| line + more <= count) {
            let label = |line: u64| {
                let at = usize::try_from(line - 1).unwrap();
                let bytes = lines(old.as_bytes())[at];
                let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                // CR ends a line with LF alone.
                let ended = lines(old.as_bytes())[at].ends_with(b"\r\n");
                let bytes = if ended { &bytes[..bytes.len() - 1] } else { bytes };
                super::labels(old.as_bytes()).label(line, bytes)
            };
            let span = super::Span { start: 0, len: 0 };
            let deed = super::AnchoredDeed::Replace(span);
            plan = plan.anchored(label(*line), label(line + more), deed, text);
        }
        if let Ok(edited) = plan.by(Tiers::DEFAULT, &old) {
            outside_is_identical(old.as_bytes(), &edited);
        }
    }
}
