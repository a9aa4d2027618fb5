//! Bytes of files that are in memory while a set is planned: what came with the request, what was
//! read to be compared or recorded, what was worked out. The difference shows these and reads no
//! file a second time, so that it is of the very bytes whose digests are recorded.

use super::diff::FILE_BYTES_MAX;
use portcullis_protocol::session::Span;
use std::rc::Rc;

/// Bytes kept for all files of a set, at most; files beyond are read again.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The bytes of one file, if they are in memory.
#[derive(Debug, Clone)]
pub(crate) enum Text {
    /// They are not.
    Away,
    /// A part of what came behind the request.
    Request(Span),
    /// Kept until the difference is made.
    Kept(Rc<Vec<u8>>),
}

impl Text {
    /// The bytes; `request` is what came behind the request.
    pub(super) fn bytes<'b>(&'b self, request: &'b [u8]) -> Option<&'b [u8]> {
        match self {
            Self::Away => None,
            Self::Request(span) => span.of(request),
            Self::Kept(bytes) => Some(bytes),
        }
    }
}

/// How many bytes may still be kept.
#[derive(Debug)]
pub(super) struct Keeping(usize);

impl Default for Keeping {
    fn default() -> Self {
        Self(KEPT_BYTES_MAX)
    }
}

impl Keeping {
    /// How large a file may be whose bytes are kept. Of one that is too large to be shown they are
    /// of no use.
    pub(super) fn room(&self) -> usize {
        self.0.min(FILE_BYTES_MAX)
    }

    /// Keeps the bytes of a file, if there is room.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> Text {
        if bytes.len() > self.room() {
            return Text::Away;
        }
        self.0 -= bytes.len();
        Text::Kept(Rc::new(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for_and_nothing_too_large_to_be_shown() {
        let mut keeping = Keeping::default();
        assert!(matches!(
            keeping.keep(vec![0; FILE_BYTES_MAX + 1]),
            Text::Away
        ));
        for _ in 0..KEPT_BYTES_MAX / FILE_BYTES_MAX {
            let text = keeping.keep(vec![7; FILE_BYTES_MAX]);
            assert_eq!(text.bytes(&[]).map(<[u8]>::len), Some(FILE_BYTES_MAX));
        }
        assert!(matches!(keeping.keep(vec![0; 1]), Text::Away));
    }

    #[test]
    fn a_part_of_the_request_is_what_its_span_says() {
        let text = Text::Request(Span { start: 1, len: 2 });
        assert_eq!(text.bytes(b"abcd"), Some(&b"bc"[..]));
        assert_eq!(text.bytes(b"a"), None);
    }
}
