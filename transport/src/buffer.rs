//! Room for frames, where the kernel copies fast.

use portcullis_protocol::limits::FRAME_BYTES_MAX;

/// Room for any frame, in the middle of a page. The kernel copies up to eight times slower when
/// source and destination differ by 1 to 31 bytes within a page; file content begins at a page in
/// the page cache, and a little after the head of a frame in a socket. From the middle of a page
/// neither is that near, whatever the length of the head. Its pages are touched only as far as
/// they are used. Before the room is place for a frame's head, so that content that was put there
/// goes out as one piece ([`crate::Endpoint::send_room`]).
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// Where the room begins. The heap block of a `Vec` never moves while its capacity stays.
    skip: usize,
}

impl Buffer {
    const PAGE: usize = 4096;
    const AFTER: usize = Self::PAGE / 2;
    /// A packet that fills this too is longer than any frame.
    const BEYOND: usize = 1;

    /// Room for any frame.
    pub fn new() -> Self {
        let bytes = vec![0; FRAME_BYTES_MAX + Self::PAGE + Self::AFTER + Self::BEYOND];
        let skip = match bytes.as_ptr().align_offset(Self::PAGE) {
            // The alignment cannot be had: any place will do.
            usize::MAX => 0,
            skip => skip + Self::AFTER,
        };
        Self { bytes, skip }
    }

    /// The first `len` bytes, or all of them.
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(FRAME_BYTES_MAX);
        self.bytes
            .get_mut(self.skip..self.skip + len)
            .unwrap_or_default()
    }

    /// The first `len` bytes of the room, as content.
    pub fn first(&mut self, len: usize) -> Filled<'_> {
        Filled { buffer: self, len }
    }

    /// Room for any frame, and one byte by which a longer packet is known.
    pub(crate) fn room_and_beyond(&mut self) -> &mut [u8] {
        let end = self.skip + FRAME_BYTES_MAX + Self::BEYOND;
        self.bytes.get_mut(self.skip..end).unwrap_or_default()
    }

    pub(crate) fn filled(&self, len: usize) -> Option<&[u8]> {
        self.bytes.get(self.skip..self.skip + len)
    }

    /// Puts `head` right before the first `len` bytes of the room, and gives both as one piece;
    /// none when there is no place for it.
    pub(crate) fn headed(&mut self, head: &[u8], len: usize) -> Option<&[u8]> {
        let start = self.skip.checked_sub(head.len())?;
        let place = self.bytes.get_mut(start..self.skip)?;
        place.copy_from_slice(head);
        self.bytes.get(start..self.skip + len)
    }
}

/// The first bytes of a buffer's room, to be sent as content.
#[derive(Debug)]
pub struct Filled<'b> {
    pub(crate) buffer: &'b mut Buffer,
    pub(crate) len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}
