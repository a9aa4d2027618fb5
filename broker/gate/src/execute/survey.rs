//! Counting lines and guessing the encoding of bytes that arrive in pieces.

use portcullis_protocol::session::{Encoding, FinalNewline, TextSurvey};

/// What has been seen so far.
#[derive(Debug, Default)]
pub(crate) struct Surveyor {
    bytes: u64,
    lf: u64,
    crlf: u64,
    cr: u64,
    /// The last byte was `\r`, not yet counted.
    pending_cr: Pending,
    last: Option<u8>,
    head: Vec<u8>,
    zero: Seen,
    high: Seen,
    invalid: Seen,
    /// The start of a UTF-8 sequence that the last piece cut.
    partial: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Pending {
    #[default]
    No,
    Yes,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Seen {
    #[default]
    No,
    Yes,
}

impl Surveyor {
    /// Takes the next piece.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        let Some(last) = piece.last() else { return };
        if self.head.len() < 3 {
            let room = 3 - self.head.len();
            self.head.extend(piece.iter().take(room));
        }
        self.bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.count_terminators(piece);
        self.last = Some(*last);
        if memchr::memchr(0, piece).is_some() {
            self.zero = Seen::Yes;
        }
        if !piece.is_ascii() {
            self.high = Seen::Yes;
        }
        self.check_utf8(piece);
    }

    /// Every `\n` is classed by the byte before it, every `\r` by the byte after it; at the edge
    /// of a piece that byte is in another one.
    fn count_terminators(&mut self, piece: &[u8]) {
        if self.pending_cr == Pending::Yes && piece.first() != Some(&b'\n') {
            self.cr += 1;
        }
        self.pending_cr = Pending::No;
        for at in memchr::memchr2_iter(b'\n', b'\r', piece) {
            if piece.get(at) == Some(&b'\n') {
                let before = match at.checked_sub(1) {
                    Some(before) => piece.get(before).copied(),
                    None => self.last,
                };
                if before == Some(b'\r') {
                    self.crlf += 1;
                } else {
                    self.lf += 1;
                }
            } else {
                match piece.get(at + 1) {
                    Some(b'\n') => {}
                    Some(_) => self.cr += 1,
                    None => self.pending_cr = Pending::Yes,
                }
            }
        }
    }

    fn check_utf8(&mut self, piece: &[u8]) {
        if self.invalid == Seen::Yes || (self.partial.is_empty() && piece.is_ascii()) {
            return;
        }
        let joined;
        let bytes = if self.partial.is_empty() {
            piece
        } else {
            joined = [self.partial.as_slice(), piece].concat();
            &joined
        };
        match std::str::from_utf8(bytes) {
            Ok(_) => self.partial = Vec::new(),
            Err(error) if error.error_len().is_none() => {
                self.partial = bytes
                    .get(error.valid_up_to()..)
                    .unwrap_or_default()
                    .to_vec();
            }
            Err(_) => self.invalid = Seen::Yes,
        }
    }

    /// What all pieces together were.
    pub(crate) fn finish(mut self) -> TextSurvey {
        if self.pending_cr == Pending::Yes {
            self.cr += 1;
        }
        if !self.partial.is_empty() {
            self.invalid = Seen::Yes;
        }
        let terminated = self.lf.saturating_add(self.crlf);
        let (lines, final_newline) = match self.last {
            None => (0, FinalNewline::Empty),
            Some(b'\n') => (terminated, FinalNewline::Present),
            Some(_) => (terminated + 1, FinalNewline::Absent),
        };
        TextSurvey {
            lines,
            lf: self.lf,
            crlf: self.crlf,
            cr: self.cr,
            final_newline,
            encoding: self.encoding(),
        }
    }

    fn encoding(&self) -> Encoding {
        match self.head.as_slice() {
            [0xff, 0xfe, ..] => Encoding::Utf16Le,
            [0xfe, 0xff, ..] => Encoding::Utf16Be,
            _ if self.zero == Seen::Yes => Encoding::Binary,
            _ if self.invalid == Seen::Yes => Encoding::Other,
            [0xef, 0xbb, 0xbf] => Encoding::Utf8Bom,
            _ if self.high == Seen::Yes => Encoding::Utf8,
            _ => Encoding::Ascii,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn survey(bytes: &[u8], piece: usize) -> TextSurvey {
        let mut surveyor = Surveyor::default();
        for part in bytes.chunks(piece.max(1)) {
            surveyor.take(part);
        }
        surveyor.finish()
    }

    /// The same, slowly and obviously.
    fn slow(bytes: &[u8]) -> (u64, u64, u64) {
        let (mut lf, mut crlf, mut cr, mut at) = (0, 0, 0, 0);
        while at < bytes.len() {
            match (bytes[at], bytes.get(at + 1)) {
                (b'\r', Some(b'\n')) => {
                    crlf += 1;
                    at += 1;
                }
                (b'\r', _) => cr += 1,
                (b'\n', _) => lf += 1,
                _ => {}
            }
            at += 1;
        }
        (lf, crlf, cr)
    }

    #[test]
    fn encodings_are_told_apart() {
        for (bytes, encoding) in [
            (&b"plain\n"[..], Encoding::Ascii),
            ("h\u{e9}llo".as_bytes(), Encoding::Utf8),
            (b"\xef\xbb\xbfx", Encoding::Utf8Bom),
            (b"\xff\xfex\0", Encoding::Utf16Le),
            (b"\xfe\xff\0x", Encoding::Utf16Be),
            (b"a\0b", Encoding::Binary),
            (b"caf\xe9", Encoding::Other),
            (b"cut \xc3", Encoding::Other),
        ] {
            for piece in 1..4 {
                assert_eq!(
                    survey(bytes, piece).encoding,
                    encoding,
                    "{bytes:?} by {piece}"
                );
            }
        }
        assert_eq!(survey(b"", 1).final_newline, FinalNewline::Empty);
        assert_eq!(survey(b"a\nb", 2).lines, 2);
        assert_eq!(survey(b"a\nb\n", 2).lines, 2);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(
            prop::sample::select(vec![b'a', b'\r', b'\n', 0xc3, 0xa9]), 0..40
        ), piece in 1..9_usize) {
            let got = survey(&bytes, piece);
            prop_assert_eq!((got.lf, got.crlf, got.cr), slow(&bytes));
            prop_assert_eq!(got, survey(&bytes, 1000));
        }
    }
}
