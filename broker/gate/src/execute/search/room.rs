//! Room that files are read into, where the kernel copies fast.

use std::ops::{Deref, DerefMut};

const PAGE: usize = 4096;

/// Begins in the middle of a page, as the transport's buffer does and for its reasons: a file's
/// content begins at a page in the page cache, and the kernel copies slower to where the low bits of
/// an address are a little more than there, or no multiple of a cache line.
pub(super) struct Room {
    bytes: Vec<u8>,
    /// The heap block of a `Vec` does not move while its capacity stays.
    start: usize,
    len: usize,
}

impl Room {
    /// Room for `len` bytes.
    pub(super) fn new(len: usize) -> Self {
        let bytes = vec![0; len + PAGE + PAGE / 2];
        let start = match bytes.as_ptr().align_offset(PAGE) {
            // The alignment cannot be had: any place will do.
            usize::MAX => 0,
            start => start + PAGE / 2,
        };
        Self { bytes, start, len }
    }
}

impl Deref for Room {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let whole = self.start..self.start + self.len;
        self.bytes.get(whole).unwrap_or_default()
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        let whole = self.start..self.start + self.len;
        self.bytes.get_mut(whole).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_there_and_it_begins_in_the_middle_of_a_page() {
        for len in [1, PAGE, 64 * 1024] {
            let mut room = Room::new(len);
            assert_eq!(room.len(), len);
            assert_eq!(room.as_ptr().align_offset(PAGE), PAGE / 2);
            room.fill(7);
            assert!(room.iter().all(|byte| *byte == 7));
        }
    }
}
