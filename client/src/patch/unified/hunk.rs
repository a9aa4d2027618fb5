//! One hunk: its header, and the lines that are its own.

use super::super::{Lines, PatchEnd, PatchError};
use super::{Origin, header};
use crate::change::{self, Edges, TextEdit};
use texts::{Taken, Texts};

mod texts;

/// A hunk, its texts with terminators as they are in the files.
#[derive(Debug)]
pub(super) struct Hunk {
    /// The line of its header in the patch.
    pub(super) number: usize,
    at: At,
    texts: Texts,
}

/// Where a header says the hunk is.
#[derive(Debug, Clone)]
enum At {
    /// The line of the file where its old text begins; with no old text, the line it comes after.
    Line(u64),
    /// After this line, or anywhere.
    After(Option<Vec<u8>>),
}

/// Which ends of the file the hunks of a section must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// None: the numbers are hints, and context is shown as it pleases.
    Free,
    /// Where `git apply` wants it: a hunk from line 1 begins the file, and one without context
    /// after its changes ends it.
    Strict,
    /// Where `git apply --unidiff-zero` wants it: only what comes before line 1 has to be there.
    Zero,
    /// At the first line.
    Start,
    /// The same, and what only adds is all there is: nobody says that there was more.
    Top,
    /// Both: there was nothing in the file.
    Empty,
}

/// The numbers of a hunk header.
#[derive(Debug, Clone, Copy)]
struct Counts {
    start: u64,
    old: u64,
    new: u64,
}

impl Hunk {
    pub(super) fn old(&self) -> &[u8] {
        self.texts.old()
    }

    pub(super) fn new_text(&self) -> &[u8] {
        self.texts.new_text()
    }

    /// Whether it shows a line that stays.
    pub(super) fn shows_context(&self) -> bool {
        self.texts.leading() + self.texts.trailing() > 0
    }

    /// Whether it begins before or in the first line.
    pub(super) fn is_from_the_first_line(&self) -> bool {
        match self.at {
            At::Line(line) => line == 0 || line == 1 && self.texts.old_lines() > 0,
            At::After(_) => false,
        }
    }

    /// The lines of the file it says it is about, in numbers that begin at the line after which
    /// something only comes; none where it says nothing.
    pub(super) fn range(&self) -> Option<std::ops::Range<u64>> {
        match self.at {
            At::Line(after) if self.texts.old_lines() == 0 => Some(after..after),
            At::Line(start) => Some(start..start.saturating_add(self.texts.old_lines())),
            At::After(_) => None,
        }
    }

    /// As an edit.
    pub(super) fn edit(self, reach: Reach) -> TextEdit {
        let begins = match self.at {
            At::Line(start) => start,
            At::After(_) => u64::MAX,
        };
        // A line without a newline is the last of its file.
        let ends = self.texts.ends_file();
        let edges = match reach {
            Reach::Free => Edges::Free,
            Reach::Empty => Edges::Both,
            Reach::Zero => edges(begins == 0, ends),
            Reach::Start => edges(true, ends),
            Reach::Top => edges(true, ends || self.texts.old_lines() == 0),
            Reach::Strict => edges(begins <= 1, ends || self.texts.trailing() == 0),
        };
        let (line, after) = match self.at {
            At::Line(start) if self.texts.old_lines() == 0 => (Some(start.saturating_add(1)), None),
            At::Line(start) => (Some(start.max(1)), None),
            At::After(lead) => (None, lead),
        };
        TextEdit::Hunk(change::Hunk {
            after: after.into_iter().collect(),
            line,
            edges,
            parts: self.texts.into_parts(),
        })
    }
}

/// The ends of a file that are reached, as two answers say.
const fn edges(start: bool, end: bool) -> Edges {
    match (start, end) {
        (true, true) => Edges::Both,
        (true, false) => Edges::Start,
        (false, true) => Edges::End,
        (false, false) => Edges::Free,
    }
}

/// What a hunk header says.
enum Numbers {
    Counts(Counts),
    /// No numbers; a text, where there is one, is a line that leads to the hunk.
    None(Option<Vec<u8>>),
}

/// Reads one hunk, its header first.
pub(super) fn read(lines: &mut Lines<'_>, origin: Origin) -> Result<Hunk, PatchError> {
    let number = lines.number();
    let numbers = numbers(number, header(lines.peek().unwrap_or_default()))?;
    lines.skip();
    let (at, texts) = match (numbers, origin) {
        (Numbers::Counts(counts), Origin::Program) => {
            let texts = counted(number, counts, lines)?;
            whole(lines)?;
            (At::Line(counts.start), texts)
        }
        (Numbers::Counts(counts), Origin::Hand) => {
            let body = lines.at;
            let texts = match counted(number, counts, lines) {
                Ok(texts) => texts,
                Err(_) => {
                    lines.at = body;
                    uncounted(lines)?
                }
            };
            (At::Line(counts.start), texts)
        }
        (Numbers::None(lead), Origin::Hand) => (At::After(lead), uncounted(lines)?),
        (Numbers::None(_), Origin::Program) => return Err(no_header(number)),
    };
    if texts.changes() {
        Ok(Hunk { number, at, texts })
    } else {
        Err(PatchError::new(
            number,
            "the hunk changes nothing: it has neither `-` nor `+` lines",
        ))
    }
}

/// The lines that the header counts; refused where they are not that many, or where what follows
/// looks like one more.
fn counted(number: usize, counts: Counts, lines: &mut Lines<'_>) -> Result<Texts, PatchError> {
    let mut texts = Texts::default();
    while texts.old_lines() < counts.old || texts.new_lines() < counts.new {
        let taken = match lines.peek() {
            Some(line) => texts.take(lines.number(), line)?,
            None => Taken::NotOfAHunk,
        };
        let over = texts.old_lines() > counts.old || texts.new_lines() > counts.new;
        if over || taken == Taken::NotOfAHunk {
            return Err(miscounted(number, counts, &texts));
        }
        lines.skip();
    }
    if let Some(line @ [b'\\', ..]) = lines.peek() {
        texts.take(lines.number(), line)?;
        lines.skip();
    }
    match lines.peek() {
        Some([b' ' | b'+' | b'-' | b'\\', ..]) if !is_end(lines) => Err(PatchError::new(
            lines.number(),
            "one line more than the counts of the hunk header say: correct the counts in \
             `@@ -LINE,COUNT +LINE,COUNT @@`",
        )),
        Some(_) | None => Ok(texts),
    }
}

/// The lines up to the next hunk, section or end. Wholly empty ones at their end are none of them:
/// they stand between, and nothing is lost with them.
fn uncounted(lines: &mut Lines<'_>) -> Result<Texts, PatchError> {
    let mut texts = Texts::default();
    let mut blank = Vec::new();
    while let Some(line) = lines.peek() {
        let number = lines.number();
        match line {
            _ if is_end(lines) => break,
            [] | b"\r" => blank.push((number, line)),
            [b' ' | b'+' | b'-' | b'\\', ..] => {
                for (number, _) in blank.drain(..) {
                    texts.take(number, b" ")?;
                }
                texts.take(number, line)?;
            }
            _ if !blank.is_empty() && only_prose(lines) => break,
            _ => {
                return Err(PatchError::new(
                    number,
                    "this line of the hunk begins with neither a space, `-` nor `+`: begin every \
                     line with one of them, or correct the counts in `@@ -LINE,COUNT +LINE,COUNT \
                     @@`",
                ));
            }
        }
        lines.skip();
    }
    Ok(texts)
}

/// Whether the line that comes next cannot be of the hunk before it.
fn is_end(lines: &Lines<'_>) -> bool {
    let line = lines.peek().unwrap_or_default();
    let next = lines.lines.get(lines.at + 1).copied();
    let starts = |with: &[&[u8]]| with.iter().any(|with| line.starts_with(with));
    match line {
        [b'-', ..] if line.starts_with(b"--- ") => {
            next.is_some_and(|next| next.starts_with(b"+++ "))
        }
        // The mark before the signature of a mail, which is the version of git.
        [b'-', ..] => header(line) == b"-- " && next.is_none_or(|next| !of_a_hunk(next)),
        _ => starts(&[
            b"@@", b"diff ", b"Index: ", b"===", b"```", b"From ", b"commit ",
        ]),
    }
}

const fn of_a_hunk(line: &[u8]) -> bool {
    matches!(line, [b' ' | b'+' | b'-' | b'\\' | b'@', ..])
}

/// Whether nothing up to the next section could be of a hunk.
fn only_prose(lines: &Lines<'_>) -> bool {
    let rest = lines.lines.get(lines.at..).unwrap_or_default();
    rest.iter()
        .take_while(|line| !line.starts_with(b"diff ") && !line.starts_with(b"--- "))
        .all(|line| !matches!(line, [b'+' | b'-' | b'@', ..]))
}

/// Refuses a patch that ends in the middle of a line: what follows may be missing.
fn whole(lines: &Lines<'_>) -> Result<(), PatchError> {
    let last = lines.lines.last().copied().unwrap_or_default();
    // Of `\ No newline at end of file`, in whatever language, enough is enough.
    let marks = last.starts_with(b"\\ ") && last.len() > 12;
    if lines.peek().is_none() && lines.end == PatchEnd::Open && !marks {
        return Err(PatchError::new(
            lines.number(),
            "the patch ends in the middle of a line: if it was cut, send all of it, and if not, \
             end it with a newline",
        ));
    }
    Ok(())
}

fn miscounted(number: usize, counts: Counts, texts: &Texts) -> PatchError {
    PatchError::new(
        number,
        format!(
            "the header of the hunk counts {} old and {} new lines, but {} and {} were read \
             when it ended or had one too many: correct the counts, and begin every line with a \
             space, `-` or `+`; without an `index` line the counts are not taken at their word",
            counts.old,
            counts.new,
            texts.old_lines(),
            texts.new_lines()
        ),
    )
}

fn no_header(number: usize) -> PatchError {
    PatchError::new(
        number,
        "a hunk header is `@@ -LINE,COUNT +LINE,COUNT @@`, with lines from 1",
    )
}

/// Reads `@@ -1,2 +3,4 @@ anything`, or `@@ line that leads to it`.
fn numbers(number: usize, line: &[u8]) -> Result<Numbers, PatchError> {
    if let Some(rest) = line.strip_prefix(b"@@ -")
        && rest.first().is_none_or(u8::is_ascii_digit)
    {
        let counts = counts(line).ok_or_else(|| no_header(number))?;
        return Ok(Numbers::Counts(counts));
    }
    let text = line.strip_prefix(b"@@").unwrap_or_default().trim_ascii();
    let text = text.strip_suffix(b"@@").unwrap_or(text).trim_ascii();
    let lead = ![&b""[..], b"..."].contains(&text);
    Ok(Numbers::None(lead.then(|| text.to_vec())))
}

/// The numbers of `@@ -1,2 +3,4 @@ anything`; a count that is left out is 1.
fn counts(line: &[u8]) -> Option<Counts> {
    let text = std::str::from_utf8(line.split(|byte| *byte == b'@').nth(2)?).ok()?;
    let closed = line.get(2 + text.len()..)?;
    let (old, new) = text
        .strip_prefix(" -")?
        .strip_suffix(' ')?
        .split_once(" +")?;
    let (start, old) = range(old)?;
    let (_, new) = range(new)?;
    let counted = old > 0 || new > 0;
    let placed = old == 0 || start > 0;
    (closed.starts_with(b"@@") && counted && placed).then_some(Counts { start, old, new })
}

fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    match text.split_once(',') {
        Some((start, count)) => Some((number(start)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}
