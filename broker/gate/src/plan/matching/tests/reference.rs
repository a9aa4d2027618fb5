//! The same rules, slow and written once more: every line compared at every place, terminators worked
//! out line by line. Small files of few different lines, so that most texts are in several places.

use super::{Count, Edges, Lines, Plan, Tier, Tiers, hunk};
use portcullis_protocol::refusal::Code;
use proptest::prelude::*;
use std::ops::Range;

/// A file as the rules see it.
struct File {
    mark: bool,
    /// Each line and its terminator.
    lines: Vec<(String, &'static str)>,
}

fn cut(line: &str) -> (String, &'static str) {
    if let Some(line) = line.strip_suffix("\r\n") {
        (line.to_owned(), "\r\n")
    } else if let Some(line) = line.strip_suffix('\n') {
        (line.to_owned(), "\n")
    } else {
        (line.to_owned(), "")
    }
}

/// To the letter, a mark is a part of its line.
fn file(text: &str, tiers: Tiers) -> File {
    let (mark, rest) = match text.strip_prefix('\u{feff}') {
        Some(rest) if tiers != Tiers::EXACT => (true, rest),
        Some(_) | None => (false, text),
    };
    let lines = rest.split_inclusive('\n').map(cut).collect();
    File { mark, lines }
}

fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

fn rtrim(text: &str) -> &str {
    text.trim_end_matches([' ', '\t'])
}

/// Whether a line of a block is a line of the file, by a tier without shifts.
fn same(tier: Tier, (now, now_end): &(String, &str), (old, old_end): &(String, &str)) -> bool {
    match tier {
        Tier::Exact => now == old && now_end == old_end,
        Tier::Terminators => now == old,
        Tier::TrailingBlanks => rtrim(now) == rtrim(old),
        Tier::Punctuation => {
            let fold = |text: &str| rtrim(&text.chars().map(plain).collect::<String>()).to_owned();
            fold(now) == fold(old)
        }
        Tier::Indentation => unreachable!("compared whole"),
    }
}

/// What all lines are shifted by: put before them, or taken away.
#[derive(Clone, PartialEq, Debug)]
enum Shifted {
    In(String),
    Out(String),
}

impl Shifted {
    fn apply(&self, line: &str) -> Option<String> {
        if rtrim(line).is_empty() {
            return Some(line.to_owned());
        }
        match self {
            Self::In(by) => Some(format!("{by}{line}")),
            Self::Out(by) => line.strip_prefix(by.as_str()).map(str::to_owned),
        }
    }
}

/// A hunk as the rules see it.
struct Order {
    old: Vec<(String, &'static str)>,
    /// Of the old lines, and what comes.
    runs: Vec<(Range<usize>, Vec<(String, &'static str)>)>,
    says_end: bool,
}

fn order(lines: &[&str]) -> Order {
    let mut order = Order {
        old: Vec::new(),
        runs: Vec::new(),
        says_end: false,
    };
    let mut changing = false;
    let mut last = "\n";
    for line in lines {
        let (sign, text) = (&line[..1], cut(&line[1..]));
        if sign != " " && !changing {
            let at = order.old.len();
            order.runs.push((at..at, Vec::new()));
        }
        changing = sign != " ";
        match sign {
            "+" => {
                last = text.1;
                order.runs.last_mut().unwrap().1.push(text);
            }
            "-" => {
                order.old.push(text);
                order.runs.last_mut().unwrap().0.end += 1;
            }
            _ => {
                last = "\n";
                order.old.push(text);
            }
        }
    }
    let old_end = order.old.last().map_or("\n", |line| line.1);
    order.says_end = old_end.is_empty() || last.is_empty();
    order
}

/// Where a block is by a tier, and how it is shifted there.
fn places(file: &File, order: &Order, tier: Tier) -> Vec<(usize, Shifted)> {
    let none = Shifted::In(String::new());
    let mut places = Vec::new();
    let (n, m) = (file.lines.len(), order.old.len());
    for start in 0..(n + 1).saturating_sub(m) {
        let now = &file.lines[start..start + m];
        if order.old.last().unwrap().1.is_empty() && start + m != n {
            continue;
        }
        if tier == Tier::Indentation {
            let mut shifts = vec![none.clone()];
            for (line, _) in now.iter().chain(&order.old) {
                let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
                for k in 1..=blanks {
                    shifts.push(Shifted::In(line[..k].to_owned()));
                    shifts.push(Shifted::Out(line[..k].to_owned()));
                }
            }
            let fits = |shift: &&Shifted| {
                let old = now.iter().zip(&order.old).all(|((now, _), (old, _))| {
                    shift
                        .apply(old)
                        .is_some_and(|old| rtrim(&old) == rtrim(now))
                        || (rtrim(old).is_empty() && rtrim(now).is_empty())
                });
                let mut new = order.runs.iter().flat_map(|run| &run.1);
                old && new.all(|(line, _)| shift.apply(line).is_some())
            };
            // With nothing but blank lines no shift can be seen, and none is made.
            places.extend(shifts.iter().find(fits).map(|shift| (start, shift.clone())));
        } else {
            let mut pairs = now.iter().zip(&order.old);
            // To the letter the mark is a part of the first line; no block here has one.
            let marked = tier == Tier::Exact && file.mark && start == 0;
            if pairs.all(|(now, old)| same(tier, now, old)) && !marked {
                places.push((start, none.clone()));
            }
        }
    }
    places
}

/// A place: by which tier, the first line, and the shift there.
type Spot = (Tier, usize, Shifted);

fn place(
    file: &File,
    hunk: &Lines<'_>,
    order: &Order,
    (tiers, previous): (Tiers, Option<usize>),
) -> Option<Spot> {
    let mut from = 0;
    let mut leads = 0;
    for lead in hunk.after {
        let blanks = [' ', '\t'];
        let here = |line: &(String, &str)| {
            let line = line.0.strip_prefix('\u{feff}').unwrap_or(&line.0);
            line.trim_matches(blanks) == lead.trim_matches(blanks)
        };
        let rest = &file.lines[from..];
        leads = rest.iter().filter(|line| here(line)).count();
        from += rest.iter().position(here)? + 1;
    }
    let count = file.lines.len();
    if order.old.is_empty() {
        let line = match hunk.line {
            Some(line) => usize::try_from(line).ok()?.checked_sub(1)?,
            None if !hunk.after.is_empty() => (leads == 1).then_some(from)?,
            None => match hunk.edges {
                Edges::Free => None?,
                Edges::Start | Edges::Both => 0,
                Edges::End => count,
            },
        };
        let fits = match hunk.edges {
            Edges::Free => true,
            Edges::Start => line == 0,
            Edges::End => line == count,
            Edges::Both => count == 0,
        };
        let fits = fits && line >= from && line <= count;
        return fits.then_some((Tier::Exact, line, Shifted::In(String::new())));
    }
    let (tier, all) = tiers
        .iter()
        .map(|tier| (tier, places(file, order, tier)))
        .find(|(_, places)| !places.is_empty())?;
    let end = |line: usize| line + order.old.len() == count;
    let kept: Vec<_> = all
        .into_iter()
        .filter(|(line, _)| *line >= from)
        .filter(|(line, _)| match hunk.edges {
            Edges::Free => true,
            Edges::Start => *line == 0,
            Edges::End => end(*line),
            Edges::Both => *line == 0 && end(*line),
        })
        .collect();
    let hinted = kept
        .iter()
        .find(|(line, _)| Some(*line as u64 + 1) == hunk.line);
    let later: Vec<_> = kept
        .iter()
        .filter(|(line, _)| previous.is_some_and(|previous| *line >= previous))
        .collect();
    let (line, shift) = match (hinted, kept.as_slice(), later.as_slice()) {
        (Some(one), _, _) | (None, [one], _) => one.clone(),
        (None, _, [one]) => (*one).clone(),
        _ => None?,
    };
    Some((tier, line, shift))
}

/// A change: which lines go, what comes, and whether the text says how the file ends.
type Change = (Range<usize>, Vec<(String, &'static str)>, bool);

fn changes(file: &File, order: &Order, tiers: Tiers, (tier, at, shift): &Spot) -> Vec<Change> {
    let literal = tiers == Tiers::EXACT
        || (*tier == Tier::Exact && order.old.iter().any(|line| !line.1.is_empty()));
    let term = |line: usize| Some(file.lines.get(line)?.1).filter(|end| !end.is_empty());
    let first = term(0).unwrap_or("\n");
    let block = *at..at + order.old.len();
    let mut made = Vec::new();
    for (run, new) in &order.runs {
        let gone = at + run.start..at + run.end;
        let lines = new.iter().enumerate().map(|(n, (line, given))| {
            let own = Some(gone.start + n)
                .filter(|line| gone.contains(line))
                .and_then(term);
            let upto = gone.end.min(gone.start + n + 1);
            let before = (block.start..upto).rev().find_map(term);
            let after = Some(gone.end)
                .filter(|line| block.contains(line))
                .and_then(term);
            let beside = || {
                let before = gone.start.checked_sub(1).and_then(term);
                before.or(term(gone.start)).unwrap_or(first)
            };
            let chosen = own.or(before).or(after).unwrap_or_else(|| {
                if order.old.is_empty() {
                    beside()
                } else {
                    first
                }
            });
            let last = n + 1 == new.len() && gone.end == file.lines.len();
            let end = match *given {
                "" if last && (order.says_end || tiers == Tiers::EXACT) => "",
                "" => chosen,
                given if literal => given,
                _ => chosen,
            };
            (shift.apply(line).unwrap(), end)
        });
        let lines = lines.collect();
        made.push((gone, lines, order.says_end || tiers == Tiers::EXACT));
    }
    made
}

/// The new file, or why not.
fn made(old: &str, hunks: &[Lines<'_>], tiers: Tiers) -> Result<String, Code> {
    let file = file(old, tiers);
    let mut all: Vec<Change> = Vec::new();
    let mut previous = None;
    for hunk in hunks {
        let order = order(hunk.lines);
        let spot = place(&file, hunk, &order, (tiers, previous)).ok_or(Code::NotUnique)?;
        let made = changes(&file, &order, tiers, &spot);
        previous = Some(made.last().map_or(spot.1, |change| change.0.end));
        all.extend(made);
    }
    // Stable: what is put at one place keeps its order.
    all.sort_by_key(|change| (change.0.start, change.0.end));
    let mut lines: Vec<(String, &str)> = Vec::new();
    let mut at = 0;
    let mut keeps_end = None;
    for (gone, new, says_end) in all {
        if gone.start < at {
            return Err(Code::Collision);
        }
        lines.extend_from_slice(&file.lines[at..gone.start]);
        if let (Some(last), false) = (lines.last_mut(), new.is_empty())
            && last.1.is_empty()
        {
            let near =
                |line: Option<usize>| Some(file.lines.get(line?)?.1).filter(|end| !end.is_empty());
            last.1 = near(gone.start.checked_sub(1))
                .or(near(Some(gone.start)))
                .or(near(Some(0)))
                .unwrap_or("\n");
        }
        keeps_end = (gone.end == file.lines.len() && !new.is_empty()).then_some(!says_end);
        lines.extend(new);
        at = gone.end;
    }
    if at < file.lines.len() {
        keeps_end = None;
    }
    lines.extend_from_slice(&file.lines[at..]);
    let ended = file.lines.last().is_none_or(|line| !line.1.is_empty());
    if let (Some(last), Some(true), false) = (lines.last_mut(), keeps_end, ended) {
        last.1 = "";
    }
    let text: String = lines
        .iter()
        .map(|(line, end)| format!("{line}{end}"))
        .collect();
    Ok(format!("{}{text}", if file.mark { "\u{feff}" } else { "" }))
}

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
                prop_assert_eq!(super::shown(&got.bytes), want);
                super::properties::outside_is_identical(old.as_bytes(), &got);
            }
            (Err(miss), Err(code)) => {
                let out_of_range = miss.code == Code::OutOfRange && code == Code::NotUnique;
                prop_assert!(miss.code == code || out_of_range, "{:?} {:?}", miss, code);
            }
            (got, want) => prop_assert!(false, "{:?}, reference: {:?}", got, want),
        }
    }
}

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
fn text_places(tier: Tier, tiers: Tiers, old: &str, wanted: &str) -> Vec<Range<usize>> {
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
                prop_assert_eq!(super::shown(&got.bytes), text);
                prop_assert!(got.places.iter().all(|place| place.tier == tier));
                super::properties::outside_is_identical(old.as_bytes(), &got);
            }
            (Err(miss), None, _) => prop_assert_eq!((miss.code, miss.edit), (Code::NotUnique, 0)),
            // The others are refused then.
            (Err(miss), Some(_), 1) => prop_assert_eq!((miss.code, miss.edit), (Code::NotUnique, 1)),
            (got, want, _) => prop_assert!(false, "{:?}, reference: {:?}", got, want),
        }
    }
}

#[test]
fn the_reference_knows_what_it_is_for() {
    let lines = ["-a\n", "+b\n"];
    assert_eq!(
        made("x\na\n", &[hunk(&lines)], Tiers::DEFAULT),
        Ok("x\nb\n".to_owned())
    );
    assert_eq!(
        made("a\na\n", &[hunk(&lines)], Tiers::DEFAULT),
        Err(Code::NotUnique)
    );
    assert_eq!(
        made("a\r\n", &[hunk(&lines)], Tiers::EXACT),
        Err(Code::NotUnique)
    );
}
