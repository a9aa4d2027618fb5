//! The same rules, slow and written once more: every line compared at every place, terminators worked
//! out line by line. Small files of few different lines, so that most texts are in several places.

use super::{Edges, Lines, Tier, Tiers, hunk};
use portcullis_protocol::refusal::Code;
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

pub(super) fn plain(c: char) -> char {
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

type OneRun = (Range<usize>, Vec<(String, &'static str)>);

/// A hunk as the rules see it.
struct Order {
    old: Vec<(String, &'static str)>,
    /// Of the old lines, and what comes.
    runs: Vec<OneRun>,
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
                "\r\n" if *tier == Tier::Exact && !order.old.is_empty() => "\r\n",
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
pub(super) fn made(old: &str, hunks: &[Lines<'_>], tiers: Tiers) -> Result<String, Code> {
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
    if let (Some(last), Some(true), false) = (lines.last_mut(), keeps_end, ended)
        && !last.0.is_empty()
    {
        last.1 = "";
    }
    let text: String = lines
        .iter()
        .map(|(line, end)| format!("{line}{end}"))
        .collect();
    Ok(format!("{}{text}", if file.mark { "\u{feff}" } else { "" }))
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
