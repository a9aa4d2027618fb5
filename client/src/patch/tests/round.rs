//! Differences of random files, made here, lead from one to the other.

use super::apply::{Files, patched};
use proptest::prelude::*;

/// A step of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep,
    Remove,
    Add,
}

type Line<'f> = &'f [u8];

fn lines(file: &[u8]) -> Vec<Line<'_>> {
    file.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The steps from one file to another, by the longest common subsequence.
fn steps<'f>(old: &[Line<'f>], new: &[Line<'f>]) -> Vec<(Step, Line<'f>)> {
    let mut best = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            best[i][j] = if old[i] == new[j] {
                best[i + 1][j + 1] + 1
            } else {
                best[i + 1][j].max(best[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push((Step::Keep, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && best[i + 1][j] >= best[i][j + 1] {
            out.push((Step::Remove, old[i]));
            i += 1;
        } else {
            out.push((Step::Add, new[j]));
            j += 1;
        }
    }
    out
}

/// The parts of the steps within `context` lines of a change, with their first index.
fn hunks(steps: &[(Step, Line<'_>)], context: usize) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, (step, _)) in steps.iter().enumerate() {
        if *step == Step::Keep {
            continue;
        }
        let range = at.saturating_sub(context)..(at + context + 1).min(steps.len());
        match hunks.last_mut() {
            Some(last) if last.end >= range.start => last.end = range.end,
            Some(_) | None => hunks.push(range),
        }
    }
    hunks
}

fn body(steps: &[(Step, Line<'_>)], mark_end: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (step, line) in steps {
        out.push(match step {
            Step::Keep => b' ',
            Step::Remove => b'-',
            Step::Add => b'+',
        });
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") && mark_end {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
    out
}

fn count(steps: &[(Step, Line<'_>)], not: Step) -> usize {
    steps.iter().filter(|(step, _)| *step != not).count()
}

fn unified(name: &str, old: &[u8], new: &[u8], context: usize) -> Vec<u8> {
    let steps = steps(&lines(old), &lines(new));
    let mut out = format!("--- a/{name}\n+++ b/{name}\n").into_bytes();
    for range in hunks(&steps, context) {
        let (before, part) = (&steps[..range.start], &steps[range]);
        let start = |not: Step| {
            let first = count(before, not);
            let some = usize::from(count(part, not) > 0);
            format!("{},{}", first + some, count(part, not))
        };
        let header = format!("@@ -{} +{} @@ x\n", start(Step::Add), start(Step::Remove));
        out.extend_from_slice(header.as_bytes());
        out.extend(body(part, true));
    }
    out
}

fn v4a(name: &str, old: &[u8], new: &[u8], context: usize) -> Vec<u8> {
    let steps = steps(&lines(old), &lines(new));
    let mut out = format!("*** Begin Patch\n*** Update File: {name}\n").into_bytes();
    for range in hunks(&steps, context) {
        out.extend_from_slice(b"@@\n");
        out.extend(body(&steps[range], false));
    }
    out.extend_from_slice(b"*** End Patch\n");
    out
}

fn text(
    alphabet: &'static str,
    last: impl Strategy<Value = bool>,
) -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(alphabet.split(' ').collect::<Vec<_>>());
    (prop::collection::vec(line, 0..30), last).prop_map(|(lines, newline)| {
        let mut text = lines.join("\n").into_bytes();
        if newline && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

const SOME: &str = "a b c \r -- ++ @@ \\x --- +++ ***";

/// A file of lines that are all different, some of them then changed.
fn distinct() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let edit = prop::sample::select(vec!["keep", "keep", "keep", "remove", "change", "add"]);
    prop::collection::vec(edit, 1..40).prop_map(|edits| {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (n, edit) in edits.into_iter().enumerate() {
            let line = format!("line {n}\n");
            old.extend_from_slice(line.as_bytes());
            match edit {
                "keep" => new.extend_from_slice(line.as_bytes()),
                "change" => new.extend_from_slice(format!("changed {n}\n").as_bytes()),
                "add" => new.extend_from_slice(format!("{line}added {n}\n").as_bytes()),
                _ => {}
            }
        }
        (old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_unified_diff_leads_from_one_file_to_the_other(
        old in text(SOME, any::<bool>()),
        new in text(SOME, any::<bool>()),
        context in 0_usize..5,
    ) {
        prop_assume!(old != new);
        let files = |text: &[u8]| Files::from([(b"f".to_vec(), text.to_vec())]);
        let patch = unified("f", &old, &new, context);
        let shown = String::from_utf8_lossy(&patch).into_owned();
        let after = patched(&patch, &files(&old)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(after, Some(files(&new)), "{}", shown);
    }

    #[test]
    fn two_files_in_one_diff_do_not_run_into_each_other(
        old in text(SOME, Just(true)),
        new in text(SOME, Just(true)),
    ) {
        prop_assume!(old != new);
        let files = |f: &[u8], g: &[u8]| {
            Files::from([(b"f".to_vec(), f.to_vec()), (b"g".to_vec(), g.to_vec())])
        };
        let patch = [unified("f", &old, &new, 3), unified("g", &new, &old, 3)].concat();
        let after = patched(&patch, &files(&old, &new));
        let after = after.map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(after, Some(files(&new, &old)));
    }

    #[test]
    fn a_v4a_patch_leads_from_one_file_to_the_other((old, new) in distinct()) {
        prop_assume!(old != new);
        let files = |text: &[u8]| Files::from([(b"f".to_vec(), text.to_vec())]);
        let patch = v4a("f", &old, &new, 1);
        let after = patched(&patch, &files(&old)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(after, Some(files(&new)));
    }
}
