//! The rules of an ignore file, line by line, read as git reads them.

use super::pattern::{Step, steps};

/// What a rule says of a name that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// It is ignored.
    Ignore,
    /// It is not, after all.
    Include,
}

/// What a rule covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Covers {
    /// Objects of every type.
    All,
    /// Directories only.
    Directories,
}

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) sense: Sense,
    pub(super) covers: Covers,
    /// The names on the way, from the directory of the file on.
    pub(super) steps: Vec<Step>,
}

/// The lines of a file that may hold a rule.
pub(super) fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    file.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// The rule of a line; none for a line that can match nothing.
pub(super) fn rule(line: &[u8]) -> Option<Rule> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // To git a line is text of C.
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let line = without_spaces(line);
    let (sense, line) = match line.strip_prefix(b"!") {
        Some(line) => (Sense::Include, line),
        None => (Sense::Ignore, line),
    };
    let (covers, line) = match line.strip_suffix(b"/") {
        Some(line) => (Covers::Directories, line),
        None => (Covers::All, line),
    };
    // A slash anywhere else, also in brackets, ties it to the directory of the file.
    let steps = if line.contains(&b'/') {
        steps(line.strip_prefix(b"/").unwrap_or(line))?
    } else {
        anywhere(steps(line)?)
    };
    Some(Rule {
        sense,
        covers,
        steps,
    })
}

fn anywhere(mut steps: Vec<Step>) -> Vec<Step> {
    if steps.first() != Some(&Step::Deep) {
        steps.insert(0, Step::Deep);
    }
    steps
}

/// Without the spaces at its end, unless there is a backslash before the first of them, or nothing
/// behind a last backslash.
fn without_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => {}
            b'\\' => match bytes.next() {
                Some((escaped, _)) => end = escaped + 1,
                None => return line,
            },
            _ => end = at + 1,
        }
    }
    line.get(..end).unwrap_or(line)
}
