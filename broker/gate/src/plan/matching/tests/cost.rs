//! What edits cost, in steps and not in time: as many as there are bytes, whatever they are.

use super::{Count, INDENTATION, Lines, PUNCTUATION, Plan, Tiers, hunk};
use crate::plan::matching::work::Work;
use crate::plan::matching::{Edited, Edits, applied};
use portcullis_protocol::refusal::Code;
use std::fmt::Write as _;

/// The result, and the steps for each byte of the file and of the edits.
fn cost(plan: &Plan, tiers: Tiers, old: &str) -> (Result<Edited, Code>, u64) {
    let order = Edits {
        edits: &plan.edits,
        tiers,
        content: &plan.content,
    };
    let mut work = Work::of(old.len(), plan.content.len());
    let labels = || super::labels(old.as_bytes());
    let made = applied(old.as_bytes(), order, labels, &mut work);
    let bytes = u64::try_from(old.len() + plan.content.len()).unwrap();
    (made.map_err(|(_, why)| why.code), work.done() / bytes)
}

const ALL: Tiers = INDENTATION.with(portcullis_protocol::session::Tier::Punctuation);

#[test]
fn many_blocks_cost_as_much_as_their_bytes() {
    let mut old = String::new();
    for n in 0..40_000 {
        writeln!(old, "    let value_{n} = {n};").unwrap();
    }
    for ends in ["\n", "\r\n", "  \n"] {
        let old = old.replace('\n', ends);
        let mut plan = Plan::default();
        for n in (0..40_000).step_by(4) {
            let keep = format!("     let value_{n} = {n};\n");
            let (minus, plus) = (
                format!("-    let value_{} = {};\n", n + 1, n + 1),
                format!("+    let value_{} = -1;\n", n + 1),
            );
            plan = plan.hunk(&hunk(&[&keep, &minus, &plus]));
        }
        let (made, steps) = cost(&plan, Tiers::DEFAULT, &old);
        assert_eq!(made.unwrap().places.len(), 10_000);
        assert!(steps <= 2, "{steps}");
    }
}

#[test]
fn many_texts_cost_as_much_as_their_bytes() {
    let mut old = String::new();
    let mut plan = Plan::default();
    for n in 0..10_000 {
        let beginning = "the same beginning of every line, longer than what is looked for at once";
        writeln!(old, "{beginning}, and then {n};\nand\nmore").unwrap();
        plan = plan.replace(format!("value of {n};"), "x");
        writeln!(old, "the value of {n};").unwrap();
    }
    let (made, steps) = cost(&plan, Tiers::DEFAULT, &old);
    assert_eq!(made.unwrap().places.len(), 10_000);
    assert!(steps <= 3, "{steps}");
}

#[test]
fn lines_that_are_all_equal_cost_no_more() {
    let old = "x\n".repeat(200_000);
    // Ten thousand times the same block, each at its own line.
    let mut plan = Plan::default();
    for n in 0..10_000u64 {
        let lines = [" x\n", "-x\n", "+y\n", " x\n"];
        let line = Some(4 * n + 1);
        plan = plan.hunk(&Lines {
            line,
            ..hunk(&lines)
        });
    }
    let (made, steps) = cost(&plan, ALL, &old);
    assert_eq!(made.unwrap().places.len(), 10_000);
    assert!(steps <= 2, "{steps}");
    // Without a line each is everywhere.
    let plan = Plan::default().hunk(&hunk(&["-x\n", " x\n"]));
    let (made, steps) = cost(&plan, ALL, &old);
    assert_eq!((made.unwrap_err(), steps <= 2), (Code::NotUnique, true));
}

#[test]
fn blocks_that_are_nearly_everywhere_cost_no_more() {
    let old = "x\n".repeat(100_000);
    // Each is there but for its last line, and of another length.
    let mut plan = Plan::default();
    for n in 1..200 {
        let keep = format!(" {}", "x\n".repeat(n));
        plan = plan.hunk(&hunk(&[&keep, "-y\n"]));
    }
    let (made, steps) = cost(&plan, ALL, &old);
    assert_eq!(made.unwrap_err(), Code::NotUnique);
    assert!(steps <= 20, "{steps}");
    // The same in periods.
    let old = "a\nb\na\nc\n".repeat(25_000);
    let mut plan = Plan::default();
    for n in 1..200 {
        let keep = format!(" {}", "a\nb\na\nc\n".repeat(n));
        plan = plan.hunk(&hunk(&[&keep, "-a\n", "-c\n"]));
    }
    let (made, steps) = cost(&plan, ALL, &old);
    assert_eq!(made.unwrap_err(), Code::NotUnique);
    assert!(steps <= 20, "{steps}");
}

#[test]
fn blocks_of_many_lengths_that_are_everywhere_are_refused() {
    let old = "x\n".repeat(1 << 20);
    let mut plan = Plan::default();
    for n in 1..100 {
        let keep = format!(" {}", "x\n".repeat(n));
        plan = plan.hunk(&hunk(&[&keep, "+y\n"]));
    }
    let (made, _) = cost(&plan, Tiers::DEFAULT, &old);
    assert_eq!(made.unwrap_err(), Code::OutOfBudget);
}

#[test]
fn shifts_that_nearly_fit_are_worked_out_within_bounds() {
    // At every line the block fits but for its last line's indentation.
    let old = " x\n".repeat(200_000);
    let keep = format!(" {}", "x\n".repeat(20_000));
    let plan = Plan::default().hunk(&hunk(&[&keep, "-  x\n"]));
    let (made, steps) = cost(&plan, INDENTATION, &old);
    assert_eq!(made.unwrap_err(), Code::OutOfBudget);
    assert!(steps <= 100, "{steps}");
}

#[test]
fn texts_that_are_nearly_everywhere_cost_no_more() {
    let old = "a".repeat(1 << 20);
    // A few, long and of one letter.
    for tiers in [Tiers::DEFAULT, PUNCTUATION] {
        let plan = Plan::default().replace("a".repeat(1 << 18) + "b", "x");
        let (made, steps) = cost(&plan, tiers, &old);
        assert_eq!(
            (made.unwrap_err(), steps <= 4),
            (Code::NotUnique, true),
            "{steps}"
        );
        let plan = Plan::default().replace("a".repeat(1 << 18), "x");
        let (made, steps) = cost(&plan, tiers, &old);
        assert_eq!(
            (made.unwrap_err(), steps <= 4),
            (Code::NotUnique, true),
            "{steps}"
        );
    }
    // Many, with one beginning.
    let mut plan = Plan::default();
    for n in 0..5_000 {
        plan = plan.replace(format!("{}{n}", "a".repeat(200)), "x");
    }
    let (made, steps) = cost(&plan, Tiers::DEFAULT, &old);
    assert_eq!(made.unwrap_err(), Code::OutOfBudget);
    assert!(steps <= 60, "{steps}");
    // Many, of many lengths.
    let mut plan = Plan::default();
    for n in 1..64 {
        plan = plan.replace_some("a".repeat(n), "x", Count::Exactly(1));
    }
    let (made, steps) = cost(&plan, Tiers::DEFAULT, &old);
    assert_eq!(made.unwrap_err(), Code::OutOfBudget);
    assert!(steps <= 60, "{steps}");
}

#[test]
fn what_would_be_too_large_is_not_made() {
    let old = "a\n".repeat(1 << 16);
    let new = "y".repeat(1 << 16);
    let plan = Plan::default().replace_some("a", &new, Count::All);
    assert_eq!(plan.miss(&old).code, Code::OutOfBudget);
    let old = "a".repeat((1 << 20) + 2);
    let plan = Plan::default().replace_some("a", "b", Count::All);
    assert_eq!(plan.miss(&old).code, Code::OutOfBudget);
    let plan = Plan::default().replace_some("a", "b", Count::All);
    assert_eq!(plan.on(&old[2..]).len(), 1 << 20);
}

#[test]
fn texts_of_the_same_bytes_count_each_time() {
    let mut plan = Plan::default();
    let span = plan.span("x\n".repeat(1 << 19).as_bytes());
    for parts in [100, 10_000] {
        let part = portcullis_protocol::session::Part::Remove(span);
        plan.edits = vec![portcullis_protocol::session::TextEdit::Hunk(
            portcullis_protocol::session::Hunk {
                after: super::Few::default(),
                line: None,
                edges: super::Edges::Free,
                parts: super::Few::new(vec![part; parts]).unwrap(),
            },
        )];
        let miss = plan.miss("x\n");
        assert_eq!(miss.code, Code::OutOfBudget, "{miss:?}");
    }
    let span = plan.span("x".repeat(1 << 20).as_bytes());
    let replace = super::Replace {
        old: span,
        new: span,
        count: Count::All,
    };
    plan.edits = vec![super::TextEdit::Replace(replace); 1_000];
    assert_eq!(plan.miss("x\n").code, Code::OutOfBudget);
}

#[test]
fn a_long_line_is_hashed_once_for_all_labels() {
    let old = "a".repeat(1 << 16);
    let label = super::labels(old.as_bytes()).label(1, old.as_bytes());
    let mut plan = Plan::default();
    for _ in 0..2_000 {
        let nothing = super::Span { start: 0, len: 0 };
        let deed = super::AnchoredDeed::After(nothing);
        plan = plan.anchored(label, label, deed, "x\n");
    }
    let edited = plan.by(Tiers::DEFAULT, &old).unwrap();
    assert_eq!(edited.places.len(), 2_000);
    assert_eq!(edited.bytes.len(), old.len() + 4_000);
}
