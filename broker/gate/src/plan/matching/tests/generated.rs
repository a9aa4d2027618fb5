//! Small files of few different lines, so that most texts are in several places; and edits of them.

use super::letters::text_places;
use super::properties::outside_is_identical;
use super::reference::made;
use super::{Count, Edges, Lines, Plan, Tier, Tiers, shown};
use portcullis_protocol::refusal::Code;
use proptest::prelude::*;

const BODIES: [&str; 9] = [
    "a",
    "b",
    "",
    " a",
    "\ta",
    "a ",
    "  a",
    "'a'",
    "\u{2018}a\u{2019}\u{a0}",
];

fn line() -> impl Strategy<Value = String> {
    // Most lines are of three kinds, so that blocks recur.
    let body = prop_oneof![4 => 0..3usize, 2 => 3..9usize];
    let end = prop_oneof![5 => Just("\n"), 1 => Just("\r\n")];
    (body, end).prop_map(|(body, end)| format!("{}{end}", BODIES[body]))
}

fn old_file() -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(line(), 0..9);
    (lines, 0..6u8, 0..4u8).prop_map(|(mut lines, mark, end)| {
        if end == 0
            && let Some(last) = lines.last_mut()
        {
            *last = last.trim_end_matches(['\r', '\n']).to_owned();
        }
        let text: String = lines
            .iter()
            .filter(|line| !line.is_empty())
            .cloned()
            .collect();
        if mark == 0 && !text.is_empty() {
            format!("\u{feff}{text}")
        } else {
            text
        }
    })
}

#[derive(Debug, Clone)]
struct Hunk {
    after: Vec<String>,
    line: Option<u64>,
    edges: Edges,
    lines: Vec<String>,
}

impl Hunk {
    fn with<T>(&self, then: impl FnOnce(&Lines<'_>) -> T) -> T {
        let after: Vec<&str> = self.after.iter().map(String::as_str).collect();
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        then(&Lines {
            after: &after,
            line: self.line,
            edges: self.edges,
            lines: &lines,
        })
    }
}

fn new_hunk() -> impl Strategy<Value = Hunk> {
    let sign = prop_oneof![3 => Just(' '), 2 => Just('-'), 2 => Just('+')];
    let signed = (sign, line()).prop_map(|(sign, line)| format!("{sign}{line}"));
    let edges = prop_oneof![
        6 => Just(Edges::Free),
        1 => Just(Edges::Start),
        1 => Just(Edges::End),
        1 => Just(Edges::Both),
    ];
    let body = prop::sample::select(&["a", "b", " a ", "", "'a'"][..]).prop_map(str::to_owned);
    let after = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(body, 1..3),
    ];
    let line = prop_oneof![2 => Just(None), 1 => (0..10u64).prop_map(Some)];
    let lines = prop::collection::vec(signed, 1..5);
    (lines, after, line, edges, 0..6u8).prop_map(|(mut lines, after, line, edges, end)| {
        // Sometimes the last line of each side says that the file ends there without a newline.
        if end < 2 {
            for side in ["-", "+"] {
                let last = lines
                    .iter()
                    .rposition(|line| line.starts_with([' ']) || line.starts_with(side));
                if let Some(last) = last.filter(|_| end == 0 || side == "+") {
                    let kept = lines[last].trim_end_matches(['\r', '\n']).to_owned();
                    if kept.len() > 1 {
                        lines[last] = kept;
                    }
                }
            }
        }
        Hunk {
            after,
            line,
            edges,
            lines,
        }
    })
}

fn some_tiers() -> impl Strategy<Value = Tiers> {
    prop::sample::select(vec![
        Tiers::EXACT,
        Tiers::DEFAULT,
        Tiers::DEFAULT.with(Tier::Indentation),
        Tiers::DEFAULT.with(Tier::Punctuation),
        Tiers::DEFAULT
            .with(Tier::Indentation)
            .with(Tier::Punctuation),
        Tiers::EXACT.with(Tier::TrailingBlanks),
        Tiers::EXACT.with(Tier::Indentation),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn blocks_are_found_and_made_as_the_reference_does(
        old in old_file(),
        hunks in prop::collection::vec(new_hunk(), 1..4),
        tiers in some_tiers(),
    ) {
        let mut plan = Plan::default();
        for hunk in &hunks {
            plan = hunk.with(|lines| plan.hunk(lines));
        }
        let got = plan.by(tiers, &old);
        if let Err(miss) = &got {
            prop_assert!(miss.note.len() <= 256);
            // What cannot be in any file is refused before; the reference knows no such thing.
            if miss.code == Code::OutOfRange && !miss.note.contains("there is no line") {
                return Ok(());
            }
        }
        let after: Vec<Vec<&str>> = hunks.iter().map(|h| h.after.iter().map(String::as_str).collect()).collect();
        let lines: Vec<Vec<&str>> = hunks.iter().map(|h| h.lines.iter().map(String::as_str).collect()).collect();
        let orders: Vec<Lines<'_>> = hunks
            .iter()
            .enumerate()
            .map(|(n, h)| Lines { after: &after[n], line: h.line, edges: h.edges, lines: &lines[n] })
            .collect();
        let want = made(&old, &orders, tiers);
        match (got, want) {
            (Ok(got), Ok(want)) => {
                prop_assert_eq!(shown(&got.bytes), want);
                outside_is_identical(old.as_bytes(), &got);
            }
            (Err(miss), Err(code)) => {
                let out_of_range = miss.code == Code::OutOfRange && code == Code::NotUnique;
                prop_assert!(miss.code == code || out_of_range, "{:?} {:?}", miss, code);
            }
            (got, want) => prop_assert!(false, "{:?}, reference: {:?}", got, want),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn texts_are_found_as_the_reference_does(
        old in old_file(),
        wanted in "\u{feff}?[ab '\u{2018}\t]{0,2}(\r?\n)?[ab \u{a0}]{0,3}(\r?\n)?[a ]{0,2}",
        count in prop_oneof![4 => Just(Count::Exactly(1)), 1 => Just(Count::Exactly(2)), 2 => Just(Count::All)],
        tiers in prop::sample::select(vec![Tiers::EXACT, Tiers::DEFAULT, Tiers::DEFAULT.with(Tier::Punctuation)]),
        others in 0..2usize,
    ) {
        if wanted.is_empty() {
            return Ok(());
        }
        // Found alone, and together with many others, which are nowhere.
        let mut plan = Plan::default().replace_some(&wanted, "<>", count);
        for n in 0..others * 20 {
            plan = plan.replace(format!("zz{n}"), "");
        }
        let got = plan.by(tiers, &old);
        let found = tiers
            .iter()
            .map(|tier| (tier, text_places(tier, tiers, &old, &wanted)))
            .find(|(_, places)| !places.is_empty());
        let mut want = None;
        if let Some((tier, mut places)) = found {
            if count == Count::All {
                let mut end = 0;
                places.retain(|range| {
                    let apart = range.start >= end;
                    end = if apart { range.end } else { end };
                    apart
                });
            }
            let apart = places.windows(2).all(|pair| pair[0].end <= pair[1].start);
            let right = match count {
                Count::All => true,
                Count::Exactly(n) => places.len() == usize::try_from(n).unwrap() && apart,
            };
            if right {
                let mut text = old.clone();
                for range in places.iter().rev() {
                    text.replace_range(range.clone(), "<>");
                }
                want = Some((tier, text));
            }
        }
        match (got, want, others) {
            (Ok(got), Some((tier, text)), 0) => {
                prop_assert_eq!(shown(&got.bytes), text);
                prop_assert!(got.places.iter().all(|place| place.tier == tier));
                outside_is_identical(old.as_bytes(), &got);
            }
            (Err(miss), None, _) => prop_assert_eq!((miss.code, miss.edit), (Code::NotUnique, 0)),
            // The others are refused then.
            (Err(miss), Some(_), 1) => prop_assert_eq!((miss.code, miss.edit), (Code::NotUnique, 1)),
            (got, want, _) => prop_assert!(false, "{:?}, reference: {:?}", got, want),
        }
    }
}
