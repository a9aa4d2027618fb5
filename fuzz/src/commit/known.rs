//! What a session was shown: content, whichever file it was of. It knows no more than this.

use std::collections::BTreeMap;
use std::ops::Range;

/// Of each content, which bytes were shown.
#[derive(Debug, Default)]
pub struct Known(BTreeMap<Vec<u8>, Vec<bool>>);

impl Known {
    pub fn shown(&mut self, content: &[u8], bytes: Range<usize>) {
        let shown = self.0.entry(content.to_vec());
        let shown = shown.or_insert_with(|| vec![false; content.len()]);
        shown[bytes].fill(true);
    }

    /// The session wrote it.
    pub fn wrote(&mut self, content: &[u8]) {
        self.shown(content, 0..content.len());
    }

    /// It edited a file, and knows what comes of it if it knew all of it.
    pub fn edited(&mut self, old: &[u8], new: &[u8]) {
        if self.has_whole(old) {
            self.wrote(new);
        }
    }

    pub fn has_whole(&self, content: &[u8]) -> bool {
        let shown = self.0.get(content);
        content.is_empty() || shown.is_some_and(|shown| shown.iter().all(|shown| *shown))
    }
}
