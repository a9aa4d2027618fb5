//! Verbs and their modes as people write them: `read,list,write:new`.

use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use std::fmt;
use std::str::FromStr;

/// Verbs, and of those that have modes which.
///
/// Written as names joined by commas: a verb (`read`), a mode of one (`write:new`), or `reading`,
/// `writing` or `all` for every verb of that kind. A verb named without a mode has all of its
/// modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// The verbs.
    pub verbs: VerbSet,
    /// The modes of those that have some.
    pub modes: ModeSet,
}

/// A word that names no verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWord(String);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verbs = Verb::ALL.map(Verb::name).join(", ");
        let modes = Mode::ALL.map(Mode::name).join(", ");
        let word = portcullis_protocol::path::escape(self.0.as_bytes());
        write!(
            f,
            "`{word}` names no verb: there are {verbs}; of some only a mode: {modes}; and \
             `reading`, `writing` and `all`"
        )
    }
}

impl std::error::Error for UnknownWord {}

/// A text that is no `VERBS:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacedError {
    /// A word that names no verb.
    #[error(transparent)]
    Unknown(#[from] UnknownWord),
    /// There is no path.
    #[error("verbs and a path are wanted, such as `read,list:src`")]
    NoPath,
}

impl Words {
    /// Every mode of these verbs.
    pub const fn verbs(verbs: VerbSet) -> Self {
        Self {
            verbs,
            modes: ModeSet::ALL,
        }
    }

    /// Reads names one by one.
    pub fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Self, UnknownWord> {
        let (mut verbs, mut modes) = (Vec::new(), Vec::new());
        for word in words {
            if let Some(mode) = Mode::named(word) {
                verbs.push(mode.verb());
                modes.push(mode);
                continue;
            }
            let group = group(word).ok_or_else(|| UnknownWord(word.to_owned()))?;
            for verb in group.iter() {
                verbs.push(verb);
                modes.extend(Mode::ALL.into_iter().filter(|mode| mode.verb() == verb));
            }
        }
        Ok(Self {
            verbs: VerbSet::of(&verbs),
            modes: ModeSet::of(&modes),
        })
    }

    /// Reads `VERBS:PATH`. A mode counts as such only where a comma or a colon comes behind it, so
    /// that `write:new` is to write a path named `new`.
    pub fn placed(text: &[u8]) -> Result<(Self, &[u8]), PlacedError> {
        let mut words = Vec::new();
        let mut rest = text;
        loop {
            let (word, end, behind) = word(rest, 0).ok_or(PlacedError::NoPath)?;
            let longer = match end {
                b':' => self::word(rest, word.len() + 1),
                _ => None,
            };
            let mode = longer.filter(|(word, ..)| Mode::named(word).is_some());
            let (word, end, behind) = mode.unwrap_or((word, end, behind));
            words.push(word);
            rest = behind;
            if end == b':' {
                break;
            }
        }
        if rest.is_empty() {
            return Err(PlacedError::NoPath);
        }
        Ok((Self::of(words)?, rest))
    }
}

/// The text up to the first comma or colon at or behind `from`, which of both it is, and the rest.
fn word(text: &[u8], from: usize) -> Option<(&str, u8, &[u8])> {
    let ends = |byte: &u8| matches!(byte, b',' | b':');
    let end = from + text.get(from..)?.iter().position(ends)?;
    let (word, behind) = text.split_at_checked(end)?;
    let (end, behind) = behind.split_first()?;
    // What is not UTF-8 names nothing; shown as it begins.
    let word = std::str::from_utf8(word).unwrap_or("\u{fffd}");
    Some((word, *end, behind))
}

fn group(word: &str) -> Option<VerbSet> {
    match word {
        "reading" => Some(VerbSet::READING),
        "writing" => Some(VerbSet::WRITING),
        "all" => Some(VerbSet::ALL),
        verb => Verb::named(verb).map(|verb| VerbSet::of(&[verb])),
    }
}

impl FromStr for Words {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::of(text.split(','))
    }
}

impl fmt::Display for Words {
    /// As they are written, a verb with all of its modes by its name alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut put = |f: &mut fmt::Formatter<'_>, word: &str| {
            let comma = if first { "" } else { ", " };
            first = false;
            write!(f, "{comma}{word}")
        };
        for verb in self.verbs.with_modes(self.modes).iter() {
            let mut of_verb = Mode::ALL.into_iter().filter(|mode| mode.verb() == verb);
            if of_verb.clone().all(|mode| self.modes.has(mode)) {
                put(f, verb.name())?;
            } else {
                of_verb.try_for_each(|mode| match self.modes.has(mode) {
                    true => put(f, mode.name()),
                    false => Ok(()),
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_modes_and_kinds_are_read_and_written_the_same() {
        for (written, shown) in [
            ("read,list", "read, list"),
            ("list,read,read", "read, list"),
            ("write:new", "write:new"),
            ("write:new,write:over", "write"),
            ("write:new,write", "write"),
            ("delete:file,stat", "stat, delete:file"),
            ("reading", "stat, read, list, glob, search"),
            ("move:new,edit", "edit, move:new"),
        ] {
            let words: Words = written.parse().unwrap();
            assert_eq!(words.to_string(), shown, "{written}");
        }
        let all: Words = "all".parse().unwrap();
        assert_eq!(all, Words::verbs(VerbSet::ALL));
        for wrong in ["", "read,", "reed", "write:", "write:newer", "read list"] {
            assert!(wrong.parse::<Words>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_behind_verbs_keeps_its_bytes_and_its_colons() {
        let placed = |text: &'static [u8]| {
            let (words, path) = Words::placed(text).unwrap();
            (words.to_string(), path)
        };
        for (text, words, path) in [
            (&b"read,list:src"[..], "read, list", &b"src"[..]),
            (b"write:new", "write", b"new"),
            (b"write:new:src", "write:new", b"src"),
            (b"write:new,read:a,b:c", "read, write:new", b"a,b:c"),
            (b"read,write:over:/w/x", "read, write:over", b"/w/x"),
            (b"read:a\xff", "read", b"a\xff"),
            (b"write:./new:x", "write", b"./new:x"),
        ] {
            assert_eq!(placed(text), (words.to_owned(), path));
        }
        for wrong in [
            &b"read"[..],
            b"read:",
            b"",
            b":src",
            b"src",
            b"rea\xff:x",
            b"reed:x",
        ] {
            assert!(Words::placed(wrong).is_err(), "{wrong:?}");
        }
    }
}
