//! Lines with their labels: `12:k3f9q|text`. A label is of one line of one version of one file, and
//! an edit can name lines by it ([`crate::change::TextEdit::Anchored`]).
//!
//! Labels are made here, from what a read says of the file; the gate makes its own and compares.

use crate::error::{Error, Violation};
use crate::read::{Assembly, FileAnswer, FileContent};
use crate::session::Session;
use portcullis_protocol::anchor::{Anchor, Labels};
use portcullis_protocol::limits::EDIT_BYTES_MAX;
use portcullis_protocol::session::{
    Encoding, Range, Read, Region, Rest, Selector, Steadiness, Survey,
};
use portcullis_protocol::view::{Digest, ObjectId, Observation};

/// What stands between a label and its line.
const BAR: u8 = b'|';

/// A line with its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled<'t> {
    /// The label.
    pub label: Anchor,
    /// The line, with its terminator; the last one of a file may have none.
    pub line: &'t [u8],
}

impl<'t> Labelled<'t> {
    /// The line without its terminator: LF or CRLF. A lone carriage return belongs to the line.
    pub fn body(self) -> &'t [u8] {
        body(self.line)
    }
}

fn body(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n")
        .or_else(|| line.strip_suffix(b"\n"))
        .unwrap_or(line)
}

/// Whole lines that follow one another, the first of them line `first` of the file.
fn lines<'t>(labels: &Labels, first: u64, text: &'t [u8]) -> Vec<Labelled<'t>> {
    let numbers = std::iter::successors(Some(first), |number| number.checked_add(1));
    text.split_inclusive(|byte| *byte == b'\n')
        .zip(numbers)
        .map(|(line, number)| Labelled {
            label: labels.label(number, body(line)),
            line,
        })
        .collect()
}

/// The lines as they are shown: each behind its label and a bar, with its own terminator.
pub fn shown<'t>(lines: impl IntoIterator<Item = Labelled<'t>>) -> Vec<u8> {
    lines.into_iter().fold(Vec::new(), |mut text, one| {
        text.extend_from_slice(one.label.to_string().as_bytes());
        text.push(BAR);
        text.extend_from_slice(one.line);
        text
    })
}

/// The first line of a text, from 1, that begins with a label and a bar (or a blank, which some
/// write instead): it was copied from what was shown, labels and all.
pub fn copied(text: &[u8]) -> Option<usize> {
    text.split(|byte| *byte == b'\n')
        .position(|line| {
            let bar = line
                .iter()
                .position(|byte| [BAR, b' ', b'\t'].contains(byte));
            let label = bar.and_then(|bar| line.get(..bar));
            label.is_some_and(|label| {
                std::str::from_utf8(label).is_ok_and(|label| label.parse::<Anchor>().is_ok())
            })
        })
        .map(|at| at + 1)
}

/// All lines of a file.
pub const ALL: Range = Range::Lines {
    first: 1,
    count: u64::MAX,
};

impl Session {
    /// Reads lines of one file with what their labels are made of, which is the whole file: see
    /// [`FileContent::labelled`]. A file larger than what is edited ([`EDIT_BYTES_MAX`]) is given up
    /// at its first part.
    pub fn read_labelled(
        &mut self,
        selector: Selector,
        range: Range,
    ) -> Result<FileContent, Error> {
        let read = Read {
            range,
            survey: Survey::TextAndDigest,
            ..crate::ask::read(selector)
        };
        let mut assembly = Assembly::new(&read);
        let mut stream = self.read_stream(&read)?;
        while let Some((part, bytes)) = stream.next_part()? {
            if let Some(head) = &part.head {
                editable(&head.observation)?;
            }
            if let Err(violation) = assembly.take(part, bytes) {
                return Err(stream.violated(violation));
            }
        }
        match assembly.finish().map(<[FileAnswer; 1]>::try_from) {
            Ok(Ok([answer])) => answer.map_err(Error::from),
            Ok(Err(_)) => Err(stream.violated(Violation::WrongKind)),
            Err(violation) => Err(stream.violated(violation)),
        }
    }
}

/// Labels are for edits, and what is larger is not edited.
fn editable(seen: &Observation) -> Result<(), Error> {
    let size = seen.stamp.size;
    if size <= EDIT_BYTES_MAX {
        return Ok(());
    }
    Err(unlabelled(format_args!(
        "it has {size} bytes, and files of at most {EDIT_BYTES_MAX} are edited: read a part of it \
         without labels"
    )))
}

impl FileContent {
    /// The lines of what [`Session::read_labelled`] read, or another read of whole lines that asked
    /// for the digest. An error when the file has no labels: it is not text, is larger than what is edited
    /// ([`EDIT_BYTES_MAX`]), or changed while it was read.
    pub fn labelled(&self) -> Result<Vec<Labelled<'_>>, Error> {
        let labels = self.labels()?;
        let first = match (self.end.first_line, self.offset, self.end.rest) {
            (0, 0, Rest::End) => 1,
            (0, _, _) => return Err(unlabelled("a part by bytes has no whole lines")),
            (first, _, _) => first,
        };
        Ok(lines(&labels, first, &self.bytes))
    }

    fn labels(&self) -> Result<Labels, Error> {
        editable(&self.binding.observation)?;
        match self.end.text.as_ref().map(|text| text.encoding) {
            Some(Encoding::Binary) => {
                return Err(unlabelled(
                    "it holds zero bytes, so it is no text: read it by --bytes",
                ));
            }
            Some(
                Encoding::Ascii
                | Encoding::Utf8
                | Encoding::Utf8Bom
                | Encoding::Utf16Le
                | Encoding::Utf16Be
                | Encoding::Other,
            )
            | None => {}
        }
        match self.end.steadiness {
            Steadiness::Steady => {}
            Steadiness::Torn => {
                return Err(unlabelled("it changed while it was read: read it again"));
            }
        }
        let digest = self.end.digest.ok_or_else(|| {
            unlabelled("its digest is not known: ask for it with the read, of the whole file")
        })?;
        Ok(Labels::new(
            object(&self.binding.observation),
            &Digest(digest),
        ))
    }
}

fn unlabelled(why: impl std::fmt::Display) -> Error {
    Error::invalid(format_args!("the file's lines have no labels: {why}"))
}

fn object(seen: &Observation) -> ObjectId {
    ObjectId {
        device: seen.stamp.device,
        inode: seen.stamp.inode,
    }
}

/// A part of a file as it is now, which came with a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Which lines of which version.
    pub region: Region,
    /// The bytes: whole lines, unless the first is too long to be shown whole.
    pub text: Vec<u8>,
}

impl Excerpt {
    pub(crate) fn new(region: Region, text: &[u8]) -> Self {
        Self {
            region,
            text: text.to_vec(),
        }
    }

    /// The lines with their labels, which an edit can name at once.
    pub fn lines(&self) -> Vec<Labelled<'_>> {
        let labels = Labels::new(self.region.object, &self.region.digest);
        lines(&labels, self.region.first_line, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &[u8]) -> Excerpt {
        let region = Region {
            first_line: 9,
            total_lines: 20,
            object: ObjectId {
                device: 1,
                inode: 2,
            },
            digest: Digest([3; 32]),
        };
        Excerpt::new(region, text)
    }

    #[test]
    fn terminators_are_shown_and_no_part_of_what_a_label_is_made_of() {
        let lf = excerpt(b"a\nb\r\nc\rd\ne\r");
        let lines = lf.lines();
        let bodies: Vec<&[u8]> = lines.iter().map(|one| one.body()).collect();
        assert_eq!(bodies, [&b"a"[..], b"b", b"c\rd", b"e\r"]);
        assert_eq!(
            lines.iter().map(|one| one.label.line).collect::<Vec<_>>(),
            [9, 10, 11, 12]
        );
        let crlf = excerpt(b"a\r\nb\nc\rd\r\ne\r\r\n");
        let same = crlf
            .lines()
            .iter()
            .zip(&lines)
            .all(|(a, b)| a.label == b.label);
        assert!(same, "a label is of the line, not of its terminator");
        let [first, .., last] = lines.as_slice() else {
            panic!("{lines:?}");
        };
        let text = shown(lf.lines());
        let (first, last) = (
            format!("{}|a\n", first.label),
            format!("{}|e\r", last.label),
        );
        assert!(text.starts_with(first.as_bytes()) && text.ends_with(last.as_bytes()));
    }

    #[test]
    fn a_copied_label_is_found_on_any_line_and_nothing_else_is_one() {
        assert_eq!(copied(b"12:k3f9q|x\n"), Some(1));
        assert_eq!(copied(b"a\n\n7:00000|"), Some(3));
        assert_eq!(copied(b"a\n7:00000 x"), Some(2));
        for text in [
            &b""[..],
            b"a | b",
            b"12:k3f9q",
            b" 12:k3f9q|x",
            b"0:k3f9q|x",
            b"12:k3f9|x",
            b"12:K3F9Q|x",
            b"x12:k3f9q|x",
            b"12:k3f9\xff|x",
        ] {
            assert_eq!(copied(text), None, "{text:?}");
        }
    }
}
