//! One block, from the mark that begins it to the one that ends it.

use super::mark::{Fence, Mark, is_rule, unescaped};
use super::{Lines, PatchError, difference};
use crate::change::Hunk;

/// A block that changes something.
#[derive(Debug)]
pub(super) struct Block<'p> {
    /// The line of the patch it begins at.
    pub(super) number: usize,
    /// The line of the file it is said to be at.
    pub(super) line: Option<u64>,
    /// What is looked for; nothing makes a file.
    pub(super) search: Vec<&'p [u8]>,
    replace: Vec<&'p [u8]>,
}

impl<'p> Block<'p> {
    /// Reads what follows its first mark.
    pub(super) fn read(
        number: usize,
        fence: Fence,
        lines: &mut Lines<'p>,
    ) -> Result<Self, PatchError> {
        let first = lines.at;
        let body = body(number, fence, lines)?;
        let divider = divider(number, first, fence, body)?;
        let (search, replace) = body.split_at(divider);
        let (line, search) = place(first, search)?;
        let text = |lines: &[&'p [u8]]| lines.iter().map(|line| unescaped(line)).collect();
        let block = Self {
            number,
            line,
            search: text(search),
            replace: text(replace.get(1..).unwrap_or_default()),
        };
        let refused = |what: &str| Err(PatchError::new(number, what));
        if block.search.is_empty() && line.is_some() {
            return refused(
                "a block that looks for nothing makes a file, which has no line yet: leave \
                 `:start_line:` out, or give lines of the file to put the new ones beside",
            );
        }
        if block.search.is_empty() {
            return Ok(block);
        }
        if block.search.iter().all(|line| line.trim_ascii().is_empty()) {
            return refused(
                "the block looks for blank lines only: add lines around them, or leave SEARCH \
                 without any line to make a file",
            );
        }
        if block.search == block.replace {
            return refused("the block changes nothing: both its parts are the same");
        }
        Ok(block)
    }

    /// As the content of a new file.
    pub(super) fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for line in &self.replace {
            content.extend_from_slice(line);
            content.push(b'\n');
        }
        content
    }

    pub(super) fn hunk(&self) -> Hunk {
        Hunk {
            line: self.line,
            ..difference::hunk(&self.search, &self.replace)
        }
    }
}

/// The lines between the outer marks. The mark that ends the block is as wide as the one that
/// begins it; where there is none, the next of any width before another block.
fn body<'l, 'p>(
    number: usize,
    fence: Fence,
    lines: &'l mut Lines<'p>,
) -> Result<&'l [&'p [u8]], PatchError> {
    let rest = lines.lines.get(lines.at..).unwrap_or_default();
    let end = |same: &dyn Fn(Fence) -> bool| {
        let marks = rest.iter().enumerate();
        marks
            .filter_map(|(at, line)| match Mark::of(line)? {
                Mark::Search(other) => same(other).then_some(None),
                Mark::Replace(other) => same(other).then_some(Some(at)),
                Mark::Divider(_) => None,
            })
            .next()
            .flatten()
    };
    let same_style = |other: Fence| other.style == fence.style;
    let exact = end(&|other| other == fence);
    let Some(end) = exact.or_else(|| end(&same_style)) else {
        return Err(PatchError::new(
            number,
            "the block is not closed before the next begins, or the patch ends: write `>>>>>>> \
             REPLACE`, as wide as the mark that begins the block",
        ));
    };
    let body = rest.get(..end).unwrap_or_default();
    let first = lines.at;
    let wider = body.iter().position(|line| match Mark::of(line) {
        Some(Mark::Search(other) | Mark::Replace(other)) => {
            same_style(other) && other.width >= fence.width
        }
        Some(Mark::Divider(_)) | None => false,
    });
    if let Some(at) = wider {
        return Err(PatchError::new(
            first + at + 1,
            "a mark inside a block whose own marks are not wider: is it a line of the file? Then \
             write `\\` before it, or make the marks of the block wider, up to nine signs",
        ));
    }
    lines.at += end + 1;
    Ok(lines.lines.get(first..first + end).unwrap_or_default())
}

/// Which line of the body divides it.
fn divider(number: usize, first: usize, fence: Fence, body: &[&[u8]]) -> Result<usize, PatchError> {
    let of = |same: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let lines = body.iter().enumerate();
        lines
            .filter(|(_, line)| matches!(Mark::of(line), Some(Mark::Divider(width)) if same(width)))
            .map(|(at, _)| at)
            .collect()
    };
    let exact = of(&|width| width == fence.width);
    let found = if exact.is_empty() {
        of(&|_| true)
    } else {
        exact
    };
    match found.as_slice() {
        [] => Err(PatchError::new(
            number,
            "`=======` is missing between the lines that are looked for and the ones that come",
        )),
        [one] => Ok(*one),
        [one, another, ..] => Err(PatchError::new(
            first + another + 1,
            format!(
                "which line divides the block, this one or line {}? Write `\\` before the one \
                 that is a line of the file, or make the three marks of the block wider, up to \
                 nine signs",
                first + one + 1
            ),
        )),
    }
}

/// Takes `:start_line:12` and what belongs to it off.
fn place<'b, 'p>(
    first: usize,
    search: &'b [&'p [u8]],
) -> Result<(Option<u64>, &'b [&'p [u8]]), PatchError> {
    let mut rest = search;
    let mut line = None;
    let mut said = false;
    while let [head, tail @ ..] = rest {
        let number = first + search.len() - rest.len() + 1;
        if let Some(text) = head.strip_prefix(b":start_line:") {
            line = Some(counted(number, text)?);
        } else if let Some(text) = head.strip_prefix(b":end_line:") {
            // Only checked: where the block ends is told by its lines.
            counted(number, text)?;
        } else {
            if said && is_rule(head) {
                rest = tail;
            }
            break;
        }
        said = true;
        rest = tail;
    }
    Ok((line, rest))
}

fn counted(number: usize, text: &[u8]) -> Result<u64, PatchError> {
    let text = std::str::from_utf8(text.trim_ascii()).ok();
    let plain = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    plain
        .and_then(|text| text.parse().ok())
        .filter(|line| *line > 0)
        .ok_or_else(|| {
            PatchError::new(
                number,
                "`:start_line:` and `:end_line:` are followed by a line of the file, from 1",
            )
        })
}
