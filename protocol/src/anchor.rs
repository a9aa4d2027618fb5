//! Labels of lines: `12:k3f9q`. A label is made from the file, its whole content, the number of the
//! line and its bytes, so that it names one line of one version and nothing else.

use crate::view::{Digest, ObjectId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Letters of a tag: no `i`, `l`, `o`, `u`, so that no two look alike.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Letters one tag has.
const TAG_LETTERS: usize = 5;

/// Twenty-five bits that tell a line of one version from what it is not. Another line, or the same
/// one of another version, has the same tag once in 33 million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Tag(u32);

/// The label of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// The line, from 1.
    pub line: u64,
    /// What it is.
    pub tag: Tag,
}

/// Makes the labels of one version of one file.
#[derive(Debug, Clone)]
pub struct Labels(blake3::Hasher);

impl Labels {
    /// Of this file, whose whole content has this digest.
    pub fn new(object: ObjectId, digest: &Digest) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("portcullis 2026 label of a line");
        hasher.update(&object.device.to_le_bytes());
        hasher.update(&object.inode.to_le_bytes());
        hasher.update(&digest.0);
        Self(hasher)
    }

    /// The label of a line, from 1, which has these bytes without its terminator.
    pub fn label(&self, line: u64, bytes: &[u8]) -> Anchor {
        let mut hasher = self.0.clone();
        hasher.update(&line.to_le_bytes());
        hasher.update(bytes);
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        Anchor {
            line,
            tag: Tag(u32::from_le_bytes([a, b, c, d]) >> 7),
        }
    }
}

/// Numbers that are no tag, or a text that is no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "no label of a line: those are a number, `:` and {TAG_LETTERS} letters or digits, as in `12:k3f9q`"
)]
pub struct NoAnchor;

impl TryFrom<u32> for Tag {
    type Error = NoAnchor;

    fn try_from(bits: u32) -> Result<Self, NoAnchor> {
        if bits >> (5 * TAG_LETTERS) == 0 {
            Ok(Self(bits))
        } else {
            Err(NoAnchor)
        }
    }
}

impl From<Tag> for u32 {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.line)?;
        for n in (0..TAG_LETTERS).rev() {
            let letter = LETTERS.get(usize::try_from(self.tag.0 >> (5 * n) & 31).unwrap_or(0));
            write!(f, "{}", char::from(*letter.unwrap_or(&b'0')))?;
        }
        Ok(())
    }
}

impl FromStr for Anchor {
    type Err = NoAnchor;

    fn from_str(text: &str) -> Result<Self, NoAnchor> {
        let (line, tag) = text.split_once(':').ok_or(NoAnchor)?;
        if line.is_empty() || !line.bytes().all(|b| b.is_ascii_digit()) || line.starts_with('0') {
            return Err(NoAnchor);
        }
        if tag.len() != TAG_LETTERS {
            return Err(NoAnchor);
        }
        let bits = tag.bytes().try_fold(0, |bits, letter| {
            let value = LETTERS
                .iter()
                .position(|known| *known == letter)
                .ok_or(NoAnchor)?;
            Ok(bits << 5 | u32::try_from(value).map_err(|_| NoAnchor)?)
        })?;
        Ok(Self {
            line: line.parse().map_err(|_| NoAnchor)?,
            tag: Tag(bits),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(inode: u64, digest: u8) -> Labels {
        Labels::new(ObjectId { device: 1, inode }, &Digest([digest; 32]))
    }

    #[test]
    fn a_label_is_of_one_line_of_one_version_of_one_file() {
        let one = labels(2, 3).label(12, b"x");
        assert_eq!(one, labels(2, 3).label(12, b"x"));
        for other in [
            labels(4, 3).label(12, b"x"),
            labels(2, 4).label(12, b"x"),
            labels(2, 3).label(13, b"x"),
            labels(2, 3).label(12, b"y"),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn labels_are_written_as_they_are_read() {
        for line in [1, 12, u64::MAX] {
            let label = labels(2, 3).label(line, b"text");
            assert_eq!(label.to_string().parse(), Ok(label));
        }
        for bad in [
            "",
            "12",
            "12:",
            ":k3f9q",
            "012:k3f9q",
            "0:k3f9q",
            "12:k3f9",
            "12:k3f9qq",
            "12:K3F9Q",
            "12:u3f9q",
            "+1:k3f9q",
            "12:k3f9é",
        ] {
            assert_eq!(bad.parse::<Anchor>(), Err(NoAnchor), "{bad}");
        }
    }
}
