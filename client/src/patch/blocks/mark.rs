//! The lines that begin, divide and end a block.

/// A mark: 5 to 9 signs, and a word where it has one. It begins at the first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `<<<<<<< SEARCH`, or `------- SEARCH`.
    Search(Fence),
    /// `=======`, so wide.
    Divider(usize),
    /// `>>>>>>> REPLACE`, or `+++++++ REPLACE`.
    Replace(Fence),
}

/// What the outer marks of a block are made of. Both are made of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) style: Style,
    pub(super) width: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `<` and `>`.
    Angles,
    /// `-` and `+`.
    Signs,
}

const NARROWEST: usize = 5;
const WIDEST: usize = 9;

impl Mark {
    /// Nothing when the line is none. Blanks at its end do not count, nor a `>` that some put
    /// behind the word.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let (sign, width) = run(line)?;
        if width > WIDEST {
            return None;
        }
        let rest = line.get(width..)?.trim_ascii_end();
        let word = rest.strip_suffix(b">").unwrap_or(rest);
        let fence = |style| Fence { style, width };
        match (sign, word) {
            (b'=', b"") if rest.is_empty() => Some(Self::Divider(width)),
            (b'<', b" SEARCH") => Some(Self::Search(fence(Style::Angles))),
            (b'-', b" SEARCH") => Some(Self::Search(fence(Style::Signs))),
            (b'>', b" REPLACE") => Some(Self::Replace(fence(Style::Angles))),
            (b'+', b" REPLACE") => Some(Self::Replace(fence(Style::Signs))),
            _ => None,
        }
    }
}

/// The sign a line begins with at least so often as a mark does, and how often.
fn run(line: &[u8]) -> Option<(u8, usize)> {
    let sign = *line.first().filter(|sign| b"<=>-+".contains(sign))?;
    let width = line.iter().take_while(|byte| **byte == sign).count();
    (width >= NARROWEST).then_some((sign, width))
}

/// Whether a line ends what is said of the place of a block: `-------`.
pub(super) fn is_rule(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    run(line).is_some_and(|(sign, width)| sign == b'-' && width == line.len())
}

/// A line of the file: one `\` before what would be a mark is taken away.
pub(super) fn unescaped(line: &[u8]) -> &[u8] {
    let Some(rest) = line.strip_prefix(b"\\") else {
        return line;
    };
    let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
    let text = rest.get(slashes..).unwrap_or_default();
    let said = [&b":start_line:"[..], b":end_line:"];
    if run(text).is_some() || said.iter().any(|key| text.starts_with(key)) {
        rest
    } else {
        line
    }
}
