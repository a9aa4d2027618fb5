//! How denials compare names: under case folding and Unicode normalisation, without characters
//! that cannot be seen. Grants never do this; they compare bytes.

use portcullis_protocol::limits::NAME_BYTES_MAX;
use portcullis_protocol::path::is_invisible;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization as _;

/// The form of a name that denials compare. Plain lower-case ASCII is returned as it is. Bytes
/// that are not UTF-8 stay as they are.
pub fn fold(name: &[u8]) -> Cow<'_, [u8]> {
    match shape(name) {
        Shape::Folded => return Cow::Borrowed(name),
        Shape::Ascii => return Cow::Owned(name.to_ascii_lowercase()),
        Shape::Other => {}
    }
    let mut folded = name.to_vec();
    // Stripping can join bytes that were no character before into one; then there is more to fold.
    // Each round but the last shortens the name or folds it further, so this ends.
    loop {
        let mut next = Vec::with_capacity(folded.len() + 8);
        for chunk in folded.utf8_chunks() {
            next.extend_from_slice(fold_text(chunk.valid()).as_bytes());
            next.extend_from_slice(chunk.invalid());
        }
        if next == folded {
            return Cow::Owned(folded);
        }
        folded = next;
    }
}

/// Does something with the folded form of one name of a path, without allocating where it is ASCII.
pub(super) fn with_folded<R>(name: &[u8], act: impl FnOnce(&[u8]) -> R) -> R {
    match shape(name) {
        Shape::Folded => act(name),
        Shape::Ascii => {
            let mut lower = [0; NAME_BYTES_MAX];
            match lower.get_mut(..name.len()) {
                Some(lower) => {
                    lower.copy_from_slice(name);
                    lower.make_ascii_lowercase();
                    act(lower)
                }
                None => act(&fold(name)),
            }
        }
        Shape::Other => act(&fold(name)),
    }
}

/// How much there is to fold.
enum Shape {
    /// Nothing.
    Folded,
    /// The case of ASCII letters.
    Ascii,
    /// Anything.
    Other,
}

fn shape(name: &[u8]) -> Shape {
    // Without an end in between, so that many bytes are looked at at once.
    let mut beyond = 0;
    let mut upper = false;
    for byte in name {
        beyond |= byte;
        upper |= byte.is_ascii_uppercase();
    }
    if !beyond.is_ascii() {
        Shape::Other
    } else if upper {
        Shape::Ascii
    } else {
        Shape::Folded
    }
}

/// Normalised, folded, normalised again: folding can leave the normal form and the other way
/// round, and stripping can bring a mark next to its base.
fn fold_text(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_invisible(*c)).nfc().collect();
    let folded = caseless::default_case_fold_str(&seen);
    folded.chars().filter(|c| !is_invisible(*c)).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_name_fold_alike() {
        for spelling in [
            ".git",
            ".GIT",
            ".Git",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".gi\u{2060}t",
            ".G\u{ad}IT",
        ] {
            assert_eq!(fold(spelling.as_bytes()).as_ref(), b".git", "{spelling:?}");
        }
        assert_eq!(fold("\u{212a}ey".as_bytes()).as_ref(), b"key");
        assert_eq!(fold("stra\u{df}e".as_bytes()), fold(b"STRASSE"));
        assert_eq!(fold("e\u{301}".as_bytes()), fold("\u{c9}".as_bytes()));
        assert_ne!(fold(b".gitx"), fold(b".git"));
        let joined = fold(b"\xc3\xe2\x80\x8b\x89");
        assert_eq!(
            fold(&joined),
            joined,
            "stripping joined two halves of a character"
        );
        assert_eq!(fold(b"a\xffB").as_ref(), b"a\xffb");
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(name in ".{0,24}") {
            let once = fold(name.as_bytes()).into_owned();
            prop_assert_eq!(fold(&once).into_owned(), once.clone());
        }

        #[test]
        fn case_never_matters(name in "[a-zA-Z0-9._ßéÉſK-]{0,24}") {
            prop_assert_eq!(
                fold(name.to_lowercase().as_bytes()).into_owned(),
                fold(name.as_bytes()).into_owned()
            );
        }
    }
}
