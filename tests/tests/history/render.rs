//! One difference, in each format.

use super::read;
use super::sources::Changed;
use portcullis_client::change::{Count, Edit, Replace, TextEdit, Tiers, replace};
use portcullis_client::{Changes, ask};
use std::ops::Range;

/// A format of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Format {
    /// As `git diff` writes it.
    Git,
    /// The same without the headers of git.
    Plain,
    /// The envelope, with three lines of context where that is enough.
    V4a,
    /// SEARCH/REPLACE blocks.
    Blocks,
    /// A text for a text.
    Strings,
}

impl Format {
    pub(crate) const ALL: [Self; 5] = [
        Self::Git,
        Self::Plain,
        Self::V4a,
        Self::Blocks,
        Self::Strings,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Git => "git diff",
            Self::Plain => "unified diff without the headers of git",
            Self::V4a => "V4A",
            Self::Blocks => "SEARCH/REPLACE",
            Self::Strings => "string replacements",
        }
    }

    /// Whether the format has words for what became of a file: a block or a text for a text changes
    /// a file or makes one, a plain unified diff says nothing of a file without lines.
    pub(crate) fn can_say(self, file: &Changed) -> bool {
        let lines = |side: &Option<Vec<u8>>| side.as_ref().is_none_or(|text| !text.is_empty());
        match self {
            Self::Git | Self::V4a => true,
            Self::Plain => lines(&file.old) && lines(&file.new),
            Self::Blocks => file.new.is_some() && lines(&file.new),
            Self::Strings => file.old.is_some() && file.new.is_some() && lines(&file.old),
        }
    }
}

/// The changes that a difference is in a format.
pub(crate) fn render(file: &Changed, format: Format) -> Result<Changes, String> {
    match format {
        Format::Git => read(&file.diff),
        Format::Plain => read(&plain(&file.diff)),
        Format::V4a => read(&v4a(file)),
        Format::Blocks => read(&blocks(file)),
        Format::Strings => strings(file),
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn plain(diff: &[u8]) -> Vec<u8> {
    let all = lines(diff);
    let texts = all.iter().position(|line| line.starts_with(b"--- "));
    all[texts.unwrap_or(0)..].concat()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep,
    Remove,
    Insert,
}

/// A run of the difference, in lines of the old file.
#[derive(Debug, Clone)]
struct Hunk {
    old: Range<usize>,
    steps: Vec<(Step, Vec<u8>)>,
}

impl Hunk {
    fn side(&self, not: Step) -> Vec<u8> {
        let side = self.steps.iter().filter(|(step, _)| *step != not);
        side.flat_map(|(_, line)| line.clone()).collect()
    }
}

/// The hunks of a difference, with the lines as they are in the files.
fn hunks(diff: &[u8]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in lines(diff) {
        if line.starts_with(b"@@ ") {
            let text = String::from_utf8_lossy(line).into_owned();
            let range = text.split(' ').nth(1).unwrap().trim_start_matches('-');
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let (start, count): (usize, usize) = (start.parse().unwrap(), count.parse().unwrap());
            let first = if count == 0 { start } else { start - 1 };
            let old = first..first + count;
            hunks.push(Hunk {
                old,
                steps: Vec::new(),
            });
        } else if let Some(hunk) = hunks.last_mut() {
            let text = line[1..].to_vec();
            match line[0] {
                b' ' => hunk.steps.push((Step::Keep, text)),
                b'-' => hunk.steps.push((Step::Remove, text)),
                b'+' => hunk.steps.push((Step::Insert, text)),
                b'\\' => drop(hunk.steps.last_mut().unwrap().1.pop()),
                other => panic!("{other}"),
            }
        }
    }
    hunks
}

/// Hunks whose old text `is_one` says is in one place: with more lines around them where it is not,
/// and those that then meet made one.
fn unique(file: &Changed, is_one: impl Fn(&Hunk) -> bool) -> Vec<Hunk> {
    let old = lines(file.old.as_deref().unwrap_or_default());
    let mut all = hunks(&file.diff);
    let mut at = 0;
    while at < all.len() {
        if is_one(&all[at]) {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map_or(0, |at| all[at].old.end);
        let after = all.get(at + 1).map_or(old.len(), |next| next.old.start);
        let hunk = &mut all[at];
        if hunk.old == (0..old.len()) {
            at += 1;
        } else if hunk.old.start > before || hunk.old.end < after {
            if hunk.old.start > before {
                hunk.old.start -= 1;
                let line = old[hunk.old.start].to_vec();
                hunk.steps.insert(0, (Step::Keep, line));
            }
            if hunk.old.end < after {
                hunk.steps.push((Step::Keep, old[hunk.old.end].to_vec()));
                hunk.old.end += 1;
            }
        } else {
            let with = if after < old.len() || at == 0 {
                at
            } else {
                at - 1
            };
            let next = all.remove(with + 1);
            let first = &mut all[with];
            first.old.end = next.old.end;
            first.steps.extend(next.steps);
            at = with;
        }
    }
    all
}

/// In how many places these lines stand, whatever ends them.
fn places(file: &[&[u8]], block: &[&[u8]], from: usize) -> usize {
    let bare = |line: &[u8]| line.trim_ascii_end().to_vec();
    let (file, block): (Vec<_>, Vec<_>) = (
        file.iter().map(|line| bare(line)).collect(),
        block.iter().map(|line| bare(line)).collect(),
    );
    if block.is_empty() {
        return 2;
    }
    let windows = file.windows(block.len()).enumerate();
    windows
        .filter(|(at, window)| *at >= from && *window == block)
        .count()
}

/// A line that leads to the hunk, so that its text is found once behind it.
fn lead(file: &[&[u8]], hunk: &Hunk) -> Option<Vec<u8>> {
    let block = &file[hunk.old.clone()];
    let bare = |line: &[u8]| line.trim_ascii().to_vec();
    (0..hunk.old.start).rev().find_map(|at| {
        let text = bare(file[at]);
        let first = file.iter().position(|line| bare(line) == text)?;
        let leads = !text.is_empty() && first == at && places(file, block, at + 1) == 1;
        leads.then_some(text)
    })
}

/// A line without its end, whatever it is.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn v4a(file: &Changed) -> Vec<u8> {
    let mut out = b"*** Begin Patch\n".to_vec();
    let name = file.name.as_bytes();
    match (&file.old, &file.new) {
        (Some(_), None) => out.extend([b"*** Delete File: ", name, b"\n"].concat()),
        (_, Some(new)) if file.old.is_none() => {
            out.extend([b"*** Add File: ", name, b"\n"].concat());
            for line in lines(new) {
                put(&mut out, b"+", line);
            }
        }
        (old, _) => {
            out.extend([b"*** Update File: ", name, b"\n"].concat());
            let old = lines(old.as_deref().unwrap_or_default());
            let one = |hunk: &Hunk| {
                places(&old, &old[hunk.old.clone()], 0) == 1 || lead(&old, hunk).is_some()
            };
            for hunk in unique(file, one) {
                let alone = places(&old, &old[hunk.old.clone()], 0) == 1;
                match lead(&old, &hunk).filter(|_| !alone) {
                    Some(line) => out.extend([b"@@ ", &line[..], b"\n"].concat()),
                    None => out.extend_from_slice(b"@@\n"),
                }
                for (step, line) in &hunk.steps {
                    let mark: &[u8] = match step {
                        Step::Keep => b" ",
                        Step::Remove => b"-",
                        Step::Insert => b"+",
                    };
                    put(&mut out, mark, line);
                }
            }
        }
    }
    out.extend_from_slice(b"*** End Patch\n");
    out
}

fn put(out: &mut Vec<u8>, mark: &[u8], line: &[u8]) {
    out.extend([mark, bare(line), b"\n"].concat());
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\\ No newline at end of file\n");
    }
}

fn blocks(file: &Changed) -> Vec<u8> {
    let mut out = format!("{}\n", file.name).into_bytes();
    let old = lines(file.old.as_deref().unwrap_or_default());
    let one = |hunk: &Hunk| file.old.is_none() || places(&old, &old[hunk.old.clone()], 0) == 1;
    for hunk in unique(file, one) {
        out.extend_from_slice(b"<<<<<<< SEARCH\n");
        side(&mut out, &hunk.side(Step::Insert));
        out.extend_from_slice(b"=======\n");
        side(&mut out, &hunk.side(Step::Remove));
        out.extend_from_slice(b">>>>>>> REPLACE\n");
    }
    out
}

fn side(out: &mut Vec<u8>, text: &[u8]) {
    for line in lines(text) {
        if [&b"<<<<<"[..], b"=====", b">>>>>", b":start_line"]
            .iter()
            .any(|mark| line.starts_with(mark))
        {
            out.push(b'\\');
        }
        out.extend_from_slice(bare(line));
        out.push(b'\n');
    }
}

fn strings(file: &Changed) -> Result<Changes, String> {
    let old = file.old.as_deref().unwrap_or_default();
    let count = |hunk: &Hunk| {
        let text = hunk.side(Step::Insert);
        !text.is_empty() && memchr::memmem::find_iter(old, &text).count() == 1
    };
    let edits = unique(file, count).into_iter().map(|hunk| {
        TextEdit::Replace(Replace {
            old: hunk.side(Step::Insert),
            new: hunk.side(Step::Remove),
            count: Count::Exactly(1),
        })
    });
    let selector = ask::selector(file.name.as_str()).map_err(|error| error.to_string())?;
    Ok(Changes::new().with(Edit {
        edits: edits.collect(),
        tiers: Tiers::DEFAULT,
        ..replace(selector, "-", "-")
    }))
}
