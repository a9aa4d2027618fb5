//! What stands around a patch and is not part of it: a code fence, a here-document, the command
//! that was to read it.

use super::{Lines, PatchError, shown};

/// What was taken off.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapper {
    /// Where the names of the patch are, by `cd DIRECTORY &&`; empty when that was not said.
    pub(super) directory: Vec<u8>,
    pub(super) end: End,
}

/// Whether a wrapper's own end was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It was, so that the text is not cut off.
    Seen,
    /// There was no wrapper, or not its end.
    NotSeen,
}

/// More wrappers than anybody puts around each other.
const DEEPEST: usize = 4;

/// Takes every wrapper off, the outermost first, with the blank lines around what is in them.
pub(super) fn take_off(lines: &mut Lines<'_>) -> Result<Wrapper, PatchError> {
    let mut taken = Wrapper {
        directory: Vec::new(),
        end: End::NotSeen,
    };
    for _ in 0..DEEPEST {
        lines.skip_blank();
        let Some(first) = lines.peek() else { break };
        let number = lines.number();
        let around = if let Some(fence) = Fence::opened_by(first) {
            Around::Fence(fence)
        } else if let Some(here) = HereDocument::opened_by(number, first)? {
            if !here.directory.is_empty() {
                taken.directory = here.directory;
            }
            Around::HereDocument(here.word)
        } else {
            break;
        };
        lines.skip();
        if lines.last().is_some_and(|line| around.is_closed_by(line)) {
            lines.drop_last();
            taken.end = End::Seen;
        }
    }
    Ok(taken)
}

/// What one wrapper is closed by.
#[derive(Debug, Clone, Copy)]
enum Around<'p> {
    Fence(Fence),
    /// The word it ends at.
    HereDocument(&'p [u8]),
}

impl Around<'_> {
    fn is_closed_by(self, line: &[u8]) -> bool {
        match self {
            Self::Fence(fence) => fence.is_closed_by(line),
            Self::HereDocument(word) => line.trim_ascii_end() == word,
        }
    }
}

/// A fence of Markdown: three or more of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    width: usize,
}

impl Fence {
    /// The fence a line opens, whatever language it names.
    pub(super) fn opened_by(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let mark = *line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let width = line.iter().take_while(|byte| **byte == mark).count();
        let rest = line.get(width..).unwrap_or_default();
        (width >= 3 && !rest.contains(&mark)).then_some(Self { mark, width })
    }

    fn is_closed_by(self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        line.len() >= self.width && line.iter().all(|byte| *byte == self.mark)
    }
}

/// `cd DIRECTORY && apply_patch <<'WORD'`, of which only `<<WORD` must be there.
struct HereDocument<'p> {
    directory: Vec<u8>,
    word: &'p [u8],
}

impl<'p> HereDocument<'p> {
    /// Nothing when the line is no command for a shell.
    fn opened_by(number: usize, line: &'p [u8]) -> Result<Option<Self>, PatchError> {
        let line = line.trim_ascii();
        let commands: [&[u8]; 9] = [
            b"<<",
            b"cd ",
            b"apply_patch",
            b"applypatch",
            b"bash ",
            b"sh ",
            b"cat ",
            b"git apply",
            b"patch ",
        ];
        if !commands.iter().any(|command| line.starts_with(command)) {
            return Ok(None);
        }
        let refused = |what: &str| {
            PatchError::new(
                number,
                format!(
                    "`{}` is {what}: send the patch alone, or with nothing around it but \
                     `apply_patch <<'EOF'` and `EOF`, and `cd DIRECTORY && ` before that",
                    shown(line)
                ),
            )
        };
        let (directory, rest) = match line.strip_prefix(b"cd ") {
            Some(rest) => {
                let (word, rest) = shell_word(rest.trim_ascii_start())
                    .ok_or_else(|| refused("a command whose directory is no plain word"))?;
                let rest = rest.trim_ascii_start().strip_prefix(b"&&");
                let rest = rest.ok_or_else(|| refused("a command that is not understood"))?;
                let directory = plain_directory(word).ok_or_else(|| {
                    refused(
                        "a command that goes to a directory which is no plain relative path, \
                         while names are below the root whatever the directory",
                    )
                })?;
                (directory, rest.trim_ascii_start())
            }
            None => (Vec::new(), line),
        };
        let rest = [&b"apply_patch"[..], b"applypatch"]
            .iter()
            .find_map(|command| rest.strip_prefix(*command))
            .unwrap_or(rest)
            .trim_ascii_start();
        let word = rest.strip_prefix(b"<<").map(<[u8]>::trim_ascii_start);
        let word = word.filter(|word| !word.starts_with(b"<") && !word.starts_with(b"-"));
        let word = word.ok_or_else(|| refused("a command that is not understood"))?;
        match shell_word(word) {
            Some((word, rest)) if rest.trim_ascii().is_empty() => {
                Ok(Some(Self { directory, word }))
            }
            Some(_) | None => Err(refused("a command that is not understood")),
        }
    }
}

/// A word as a shell reads it, in quotes or without any character that means something there; and
/// what comes behind it.
fn shell_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text {
        [quote @ (b'\'' | b'"'), inner @ ..] => {
            let end = inner.iter().position(|byte| byte == quote)?;
            let (word, rest) = inner.split_at_checked(end)?;
            let plain = !word.iter().any(|byte| b"\\$`".contains(byte));
            (plain && !word.is_empty()).then_some((word, rest.get(1..)?))
        }
        _ => {
            let special = |byte: &u8| byte.is_ascii_whitespace() || b"&;|<>".contains(byte);
            let end = text.iter().position(special).unwrap_or(text.len());
            let (word, rest) = text.split_at_checked(end)?;
            let plain = !word.iter().any(|byte| b"\\$`'\"*?[]{}()!#".contains(byte));
            (plain && !word.is_empty()).then_some((word, rest))
        }
    }
}

/// A directory below where one is; `.` is none.
fn plain_directory(word: &[u8]) -> Option<Vec<u8>> {
    if word.starts_with(b"/") || word.starts_with(b"~") || word.starts_with(b"-") {
        return None;
    }
    let mut plain: Vec<&[u8]> = Vec::new();
    for part in word.split(|byte| *byte == b'/') {
        match part {
            b".." => return None,
            b"" | b"." => {}
            part => plain.push(part),
        }
    }
    Some(plain.join(&b'/'))
}
