//! Line ends that are asked for by name. Without a word every byte is as it was given.

use super::{Changes, Content, Item, Write};
use crate::error::Error;
use portcullis_protocol::path::escape;

/// How every line of a text is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eol {
    /// In a newline alone.
    Lf,
    /// In a carriage return and a newline.
    Crlf,
}

/// Content that has no line ends: it has a zero byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "line ends can be given to text only, and there is a zero byte at offset {at}: it is binary, or \
     UTF-16. Ask for no line ends (leave --eol out), and every byte stays as it is"
)]
pub struct NoText {
    /// Where it is.
    pub at: usize,
}

impl Eol {
    const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
        }
    }

    /// The text with these line ends. Carriage returns right before a newline are part of its line
    /// end, however many; any other is a byte of its line. A last line without an end gets none.
    pub fn convert(self, text: &[u8]) -> Result<Vec<u8>, NoText> {
        if let Some(at) = text.iter().position(|byte| *byte == 0) {
            return Err(NoText { at });
        }
        let mut made = Vec::with_capacity(text.len());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(mut line) = line.strip_suffix(b"\n") else {
                made.extend_from_slice(line);
                continue;
            };
            while let Some(rest) = line.strip_suffix(b"\r") {
                line = rest;
            }
            made.extend_from_slice(line);
            made.extend_from_slice(self.bytes());
        }
        Ok(made)
    }
}

impl Changes {
    /// The same, with these line ends in every file whose whole content a change gives. Lines that
    /// are put into a file take that file's ends, whatever is said here.
    pub fn with_line_ends(mut self, eol: Eol) -> Result<Self, Error> {
        for item in &mut self.items {
            let Item::Write(Write {
                selector,
                content: Content::Bytes(text),
                ..
            }) = item
            else {
                continue;
            };
            let name = || escape(selector.path.as_slice());
            *text = eol
                .convert(text)
                .map_err(|error| Error::invalid(format_args!("{}: {error}", name())))?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ask, change};

    #[test]
    fn every_line_ends_as_it_is_asked_and_nothing_else_changes() {
        for (text, lf, crlf) in [
            (&b""[..], &b""[..], &b""[..]),
            (b"a", b"a", b"a"),
            (b"a\nb\r\nc", b"a\nb\nc", b"a\r\nb\r\nc"),
            (b"\n\r\n", b"\n\n", b"\r\n\r\n"),
            (b"a\r\r\n", b"a\n", b"a\r\n"),
            (b"a\rb\n\r", b"a\rb\n\r", b"a\rb\r\n\r"),
            (
                b"\xef\xbb\xbfcaf\xe9 \t\n",
                b"\xef\xbb\xbfcaf\xe9 \t\n",
                b"\xef\xbb\xbfcaf\xe9 \t\r\n",
            ),
        ] {
            for (eol, wanted) in [(Eol::Lf, lf), (Eol::Crlf, crlf)] {
                let made = eol.convert(text).unwrap();
                assert_eq!(made, wanted, "{eol:?} of {}", text.escape_ascii());
                assert_eq!(eol.convert(&made).unwrap(), made, "again");
            }
        }
        assert_eq!(Eol::Lf.convert(b"a\n\0"), Err(NoText { at: 2 }));
    }

    #[test]
    fn of_a_set_only_whole_files_are_converted() {
        let at = |name: &str| ask::selector(name).unwrap();
        let edit = change::replace(at("old"), "a\n", "b\n");
        let set = Changes::new()
            .with(change::create(at("new"), "a\nb\n"))
            .with(edit.clone());
        let converted = set.with_line_ends(Eol::Crlf).unwrap();
        let wanted = Changes::new()
            .with(change::create(at("new"), "a\r\nb\r\n"))
            .with(edit);
        assert_eq!(converted, wanted);
        let binary = Changes::new().with(change::create(at("b.bin"), "a\n\0"));
        let error = binary.with_line_ends(Eol::Lf).unwrap_err().to_string();
        assert!(error.starts_with("nothing was changed: b.bin: "), "{error}");
        assert!(error.contains("offset 2"), "{error}");
    }
}
