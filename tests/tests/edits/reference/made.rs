//! Files and hunks, made at random.

use super::{Case, Hunk, Line};
use proptest::prelude::*;

/// Lines that differ only in blanks at their ends, or not at all, often.
const TEXTS: [&str; 9] = ["a", "b", "c", "d", "", "  a", "a ", "b\t", "d  "];

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned)
}

/// How a hunk is made of a place: lines before it to pass over, lines of context before it, lines
/// that go, lines that come, lines of context after it, how far before it its lead is, whether
/// blanks at the ends of its lines are lost, and how far the line it is said to be at is off by.
type Shape = (
    usize,
    usize,
    usize,
    Vec<String>,
    usize,
    Option<usize>,
    bool,
    Option<usize>,
);

fn shape() -> impl Strategy<Value = Shape> {
    (
        0..5_usize,
        0..3_usize,
        0..3_usize,
        prop::collection::vec(text(), 0..3),
        0..3_usize,
        prop::option::weighted(0.3, 1..4_usize),
        prop::bool::weighted(0.3),
        prop::option::weighted(0.3, prop::sample::select(vec![0, 0, 1, 3])),
    )
}

fn hunks(file: &[String], shapes: &[Shape], at_end: bool) -> Vec<Hunk> {
    let mut at = 0;
    let mut hunks: Vec<Hunk> = Vec::new();
    for (pass, before, gone, come, after, lead, trim, off) in shapes {
        let start = at + pass;
        let mut cuts = vec![start];
        for count in [before, gone, after] {
            let from = *cuts.last().unwrap();
            cuts.push((from + count).min(file.len().max(from)));
        }
        if start > file.len() || cuts[1] == cuts[2] && come.is_empty() {
            continue;
        }
        let shown = |text: &String| {
            let text = if *trim { text.trim_end() } else { text };
            text.to_owned()
        };
        let part = |from: usize, to: usize| file[from..to].iter().map(shown);
        let mut lines: Vec<Line> = part(cuts[0], cuts[1]).map(Line::Keep).collect();
        lines.extend(part(cuts[1], cuts[2]).map(Line::Remove));
        lines.extend(come.iter().cloned().map(Line::Insert));
        lines.extend(part(cuts[2], cuts[3]).map(Line::Keep));
        let lead = lead.and_then(|far| file.get(start.checked_sub(far)?).cloned());
        let some = lines.iter().any(|line| !matches!(line, Line::Insert(_)));
        hunks.push(Hunk {
            line: off.filter(|_| some).map(|off| start + 1 + off),
            lead: lead.filter(|lead| !lead.trim().is_empty()),
            lines,
            at_end: false,
        });
        at = cuts[3] + 1;
    }
    if let Some(last) = hunks.last_mut()
        && at_end
        && at > file.len()
        && !last.old_lines().is_empty()
    {
        last.at_end = true;
    }
    hunks
}

/// Files, and hunks for them that are apart.
pub(super) fn case() -> impl Strategy<Value = Case> {
    let file = prop_oneof![
        2 => prop::collection::vec(text(), 0..14),
        2 => prop::collection::vec(prop::sample::select(vec!["a", "b", "a "]), 4..14)
            .prop_map(|lines| lines.into_iter().map(str::to_owned).collect()),
        1 => (1..14_usize).prop_map(|count| (0..count).map(|n| format!("line {n}")).collect()),
    ];
    let terminator = prop::sample::select(vec!["\n", "\n", "\r\n"]);
    let shapes = prop::collection::vec(shape(), 1..4);
    (file, terminator, any::<bool>(), shapes, any::<bool>()).prop_map(
        |(mut file, terminator, ended, shapes, at_end)| {
            // A last line that is empty and not ended is none.
            if !ended {
                while file.last().is_some_and(String::is_empty) {
                    file.pop();
                }
            }
            let hunks = hunks(&file, &shapes, at_end);
            Case {
                file,
                terminator,
                ended,
                hunks,
            }
        },
    )
}

/// Leaves of a case what a block can say, as its two sides say it.
pub(super) fn as_blocks(case: &mut Case) {
    case.hunks.retain_mut(|hunk| {
        let (old, new) = (hunk.old_lines(), hunk.new_lines());
        if old == new || old.iter().all(|line| line.trim().is_empty()) {
            return false;
        }
        let pairs = old.iter().zip(&new);
        let before = pairs.take_while(|(old, new)| old == new).count();
        let (start, old) = old.split_at(before);
        let new = &new[before..];
        let pairs = old.iter().rev().zip(new.iter().rev());
        let after = pairs.take_while(|(old, new)| old == new).count();
        let (old, end) = old.split_at(old.len() - after);
        let new = &new[..new.len() - after];
        let keep = |lines: &[&str]| -> Vec<Line> {
            lines.iter().map(|l| Line::Keep((*l).to_owned())).collect()
        };
        let mut lines = keep(start);
        lines.extend(old.iter().map(|line| Line::Remove((*line).to_owned())));
        lines.extend(new.iter().map(|line| Line::Insert((*line).to_owned())));
        lines.extend(keep(end));
        *hunk = Hunk {
            lead: None,
            line: hunk.line,
            lines,
            at_end: false,
        };
        true
    });
}
