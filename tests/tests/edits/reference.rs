//! V4A chunks and SEARCH/REPLACE blocks against a reference that looks at every line of the file
//! for every hunk: what it finds in one place is made, everything else is refused.

mod made;

use crate::desk::{Desk, patched};
use made::{as_blocks, case};
use portcullis_protocol::refusal::Code;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::cell::RefCell;
use std::fmt::Write as _;

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Keep(String),
    Remove(String),
    Insert(String),
}

#[derive(Debug, Clone)]
struct Hunk {
    lead: Option<String>,
    /// The line it is said to be at, from 1, right or wrong.
    line: Option<usize>,
    lines: Vec<Line>,
    at_end: bool,
}

impl Hunk {
    fn old_lines(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            Line::Keep(text) | Line::Remove(text) => Some(text.as_str()),
            Line::Insert(_) => None,
        });
        old.collect()
    }

    fn new_lines(&self) -> Vec<&str> {
        let new = self.lines.iter().filter_map(|line| match line {
            Line::Keep(text) | Line::Insert(text) => Some(text.as_str()),
            Line::Remove(_) => None,
        });
        new.collect()
    }

    /// How many of its old lines there are up to the last that is changed.
    fn changed(&self) -> usize {
        let kept = self.lines.iter().rev();
        let kept = kept.take_while(|line| matches!(line, Line::Keep(_)));
        self.old_lines().len() - kept.count()
    }
}

#[derive(Debug, Clone)]
struct Case {
    file: Vec<String>,
    terminator: &'static str,
    ended: bool,
    hunks: Vec<Hunk>,
}

impl Case {
    fn bytes(&self) -> String {
        let mut text = self.file.join(self.terminator);
        if self.ended && !self.file.is_empty() {
            text.push_str(self.terminator);
        }
        text
    }

    fn v4a(&self) -> String {
        let mut out = "*** Begin Patch\n*** Update File: f\n".to_owned();
        for hunk in &self.hunks {
            match &hunk.lead {
                Some(lead) => writeln!(out, "@@ {lead}").unwrap(),
                None => out.push_str("@@\n"),
            }
            if let Some(line) = hunk.line {
                writeln!(out, "@@ -{line},9 +{line},9 @@ words").unwrap();
            }
            for line in &hunk.lines {
                match line {
                    Line::Keep(text) => writeln!(out, " {text}").unwrap(),
                    Line::Remove(text) => writeln!(out, "-{text}").unwrap(),
                    Line::Insert(text) => writeln!(out, "+{text}").unwrap(),
                }
            }
            if hunk.at_end {
                out.push_str("*** End of File\n");
            }
        }
        out.push_str("*** End Patch\n");
        out
    }

    fn blocks(&self) -> String {
        let mut out = "f\n".to_owned();
        for hunk in &self.hunks {
            let text = |lines: Vec<&str>| -> String {
                lines.iter().map(|line| format!("{line}\n")).collect()
            };
            let (old, new) = (text(hunk.old_lines()), text(hunk.new_lines()));
            let line = hunk.line.map_or(String::new(), |line| {
                format!(":start_line:{line}\n-------\n")
            });
            write!(
                out,
                "<<<<<<< SEARCH\n{line}{old}=======\n{new}>>>>>>> REPLACE\n\n"
            )
            .unwrap();
        }
        out
    }
}

/// What a tier of the three that need no asking compares of a line.
fn same(tier: usize, case: &Case, at: usize, wanted: &str) -> bool {
    let line = &case.file[at];
    let last = at + 1 == case.file.len() && !case.ended;
    match tier {
        0 => line == wanted && !last && case.terminator == "\n",
        1 => line == wanted,
        _ => line.trim_end() == wanted.trim_end(),
    }
}

/// Where a hunk belongs: the first of its lines, or the one that new lines are put before.
fn place(case: &Case, hunk: &Hunk, before: usize) -> Option<usize> {
    let old = hunk.old_lines();
    let leads: Vec<usize> = match &hunk.lead {
        Some(lead) => {
            let all = case.file.iter().enumerate();
            let all = all.filter(|(_, line)| line.trim() == lead.trim());
            all.map(|(at, _)| at).collect()
        }
        None => Vec::new(),
    };
    if old.is_empty() {
        return match (&hunk.lead, leads.as_slice()) {
            (None, _) => Some(case.file.len()),
            (Some(_), [one]) => Some(one + 1),
            (Some(_), _) => None,
        };
    }
    let after = match &hunk.lead {
        Some(_) => leads.first()? + 1,
        None => 0,
    };
    let starts = || 0..(case.file.len() + 1).saturating_sub(old.len());
    let is_at = |tier: usize, at: usize| {
        let mut lines = old.iter().enumerate();
        lines.all(|(n, wanted)| same(tier, case, at + n, wanted))
    };
    let hits: Vec<usize> = (0..3)
        .map(|tier| starts().filter(|at| is_at(tier, *at)).collect::<Vec<_>>())
        .find(|hits| !hits.is_empty())?;
    let there = |at: &usize| *at >= after && (!hunk.at_end || at + old.len() == case.file.len());
    let hits: Vec<usize> = hits.into_iter().filter(there).collect();
    let said = hunk.line.map(|line| line - 1);
    match hits.as_slice() {
        [one] => Some(*one),
        _ if said.is_some_and(|line| hits.contains(&line)) => said,
        _ => {
            let mut later = hits.iter().filter(|at| **at >= before);
            later.next().filter(|_| later.next().is_none()).copied()
        }
    }
}

/// What must come of the case.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    File(String),
    Refused,
    /// Hunks that were to be apart touch: it may be either.
    Open,
}

fn wanted(case: &Case) -> Wanted {
    let mut before = 0;
    let mut places = Vec::new();
    for hunk in &case.hunks {
        let Some(at) = place(case, hunk, before) else {
            return Wanted::Refused;
        };
        before = at + hunk.changed();
        places.push((at, at + hunk.old_lines().len(), hunk));
    }
    places.sort_by_key(|(start, end, _)| (*start, *end));
    if places.windows(2).any(|pair| pair[1].0 <= pair[0].1) {
        return Wanted::Open;
    }
    // Each line, and which of the file's it is.
    let mut lines: Vec<(&str, Option<usize>)> = Vec::new();
    let old = |from: usize, to: usize| (from..to).map(|at| (case.file[at].as_str(), Some(at)));
    let mut at = 0;
    for (start, end, hunk) in places {
        lines.extend(old(at, start));
        at = start;
        for line in &hunk.lines {
            match line {
                Line::Keep(_) => {
                    lines.extend(old(at, at + 1));
                    at += 1;
                }
                Line::Remove(_) => at += 1,
                Line::Insert(text) => lines.push((text, None)),
            }
        }
        assert_eq!(at, end);
    }
    lines.extend(old(at, case.file.len()));
    let terminator = if case.bytes().contains('\n') {
        case.terminator
    } else {
        "\n"
    };
    let mut made = String::new();
    for (text, _) in &lines {
        made.push_str(text);
        made.push_str(terminator);
    }
    // The end of the file stays as it was. A line that is the last because others went stays too.
    let open = match lines.last() {
        Some((_, Some(last))) => last + 1 == case.file.len(),
        Some((_, None)) => !case.file.is_empty(),
        None => false,
    };
    // An empty line without a terminator would be no line.
    let is_empty = lines.last().is_some_and(|(text, _)| text.is_empty());
    if open && !case.ended && !is_empty {
        made.truncate(made.len() - terminator.len());
    }
    Wanted::File(made)
}

#[derive(Debug, Default)]
struct Tally {
    made: u32,
    refused: u32,
    open: u32,
}

/// Runs cases, as `prepare` leaves them, each as the patch that `render` makes of it, and compares
/// what is left on disk by `alike`.
fn compare(
    prepare: fn(&mut Case),
    render: fn(&Case) -> String,
    alike: fn(&Case, &str, &str) -> bool,
) -> Tally {
    let desk = RefCell::new(Desk::new(&[("f", b"")]));
    let tally = RefCell::new(Tally::default());
    let mut runner = TestRunner::new(Config {
        cases: 4000,
        failure_persistence: None,
        ..Config::default()
    });
    let run = runner.run(&case(), |mut case| {
        prepare(&mut case);
        prop_assume!(!case.hunks.is_empty());
        let (mut desk, mut tally) = (desk.borrow_mut(), tally.borrow_mut());
        desk.write_outside("f", case.bytes());
        let patch = render(&case);
        let answer = desk.make(&patched(&patch));
        let left = String::from_utf8(desk.bytes("f")).unwrap();
        match (wanted(&case), answer) {
            (Wanted::Open, _) => tally.open += 1,
            (Wanted::Refused, Err(error)) => {
                let code = error.refusal().map(|refusal| refusal.code);
                prop_assert_eq!(code, Some(Code::NotUnique), "{}", error);
                tally.refused += 1;
            }
            (Wanted::Refused, Ok(())) => {
                return Err(TestCaseError::fail(format!("taken: {patch}left {left:?}")));
            }
            (Wanted::File(file), Ok(())) => {
                prop_assert!(
                    alike(&case, &left, &file),
                    "{patch}left {left:?}, not {file:?}"
                );
                tally.made += 1;
            }
            (Wanted::File(file), Err(error)) => {
                return Err(TestCaseError::fail(format!("{error}: {patch}not {file:?}")));
            }
        }
        Ok(())
    });
    match run {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{:?}", case.bytes()),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    tally.into_inner()
}

#[test]
fn v4a_does_what_the_reference_does() {
    let tally = compare(|_| (), Case::v4a, |_, left, wanted| left == wanted);
    assert!(tally.made > 1000 && tally.refused > 400, "{tally:?}");
    println!("{tally:?}");
}

/// Whether two files differ at most in blanks at the ends of lines, and, where the file did not end
/// in a newline, in whether it does now: which of two equal lines stays as the file has it is not
/// said by a block.
fn alike(case: &Case, left: &str, wanted: &str) -> bool {
    let lines = |text: &str| -> Vec<(String, String)> {
        let text = if case.ended {
            text
        } else {
            text.trim_end_matches(['\n', '\r'])
        };
        let lines = text.split_inclusive('\n').map(|line| {
            let body = line.trim_end_matches(['\n', '\r']);
            let end = line[body.len()..].to_owned();
            (body.trim_end().to_owned(), end)
        });
        lines.collect()
    };
    lines(left) == lines(wanted)
}

#[test]
fn blocks_do_what_the_reference_does() {
    let tally = compare(as_blocks, Case::blocks, alike);
    assert!(tally.made > 1000 && tally.refused > 400, "{tally:?}");
    println!("{tally:?}");
}
