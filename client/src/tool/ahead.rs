//! Standard input, read before the session is taken: it may come from another command that waits
//! for the same session, as in `portcullis-tool read a | portcullis-tool write b`.

use super::args::{Deeds, Question, Target, Text};
use crate::error::{Error, ErrorCode};
use portcullis_protocol::limits::CONTENT_BYTES_MAX;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};

/// What was read of it.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    bytes: Vec<u8>,
    rest: Rest,
}

/// What is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Rest {
    /// It came to its end, or is not wanted.
    #[default]
    Nothing,
    /// More than is kept in memory.
    More,
}

impl Ahead {
    /// Reads what a question wants of standard input: all of a patch or a text, and of a file that
    /// is written so much that whatever makes it had its turn.
    pub(super) fn of(question: &Question) -> Result<Self, Error> {
        match wanted(question) {
            0 => Ok(Self::default()),
            most => Self::read(io::stdin().lock(), most).map_err(|e| unreadable("-".as_ref(), &e)),
        }
    }

    fn read(from: impl Read, most: u64) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let read = from.take(most).read_to_end(&mut bytes)?;
        let rest = if u64::try_from(read).unwrap_or(u64::MAX) < most {
            Rest::Nothing
        } else {
            Rest::More
        };
        Ok(Self { bytes, rest })
    }

    /// A file of this program's, or standard input from its beginning.
    pub(super) fn open<'a>(&'a self, file: &OsStr) -> Result<Box<dyn Read + 'a>, Error> {
        if file == "-" {
            let read = self.bytes.as_slice();
            return Ok(match self.rest {
                Rest::Nothing => Box::new(read),
                Rest::More => Box::new(read.chain(io::stdin().lock())),
            });
        }
        match File::open(file) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(unreadable(file, &error)),
        }
    }

    /// All bytes of such a file.
    pub(super) fn whole(&self, file: &OsStr) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.open(file)?.read_to_end(&mut bytes);
        read.map_err(|error| unreadable(file, &error))?;
        Ok(bytes)
    }
}

pub(super) fn unreadable(file: &OsStr, error: &io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or_default();
    Error::new(ErrorCode::CannotOpen(file.into(), number))
}

/// Bytes of standard input to be read ahead.
fn wanted(question: &Question) -> u64 {
    let Question::Change(task) = question else {
        return 0;
    };
    match task {
        Deeds::Write(args) if args.from == "-" => {
            u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX)
        }
        Deeds::Patch(args) if args.file == "-" => u64::MAX,
        Deeds::Edit(args) => {
            let of = |text: &Text| matches!(text, Text::In(file) if file == "-");
            let mut pairs = args.pairs.0.iter();
            let wants = pairs
                .any(|pair| of(&pair.new) || matches!(&pair.target, Target::Old(old) if of(old)));
            if wants { u64::MAX } else { 0 }
        }
        Deeds::Write(_)
        | Deeds::Patch(_)
        | Deeds::Mkdir(_)
        | Deeds::Move(_)
        | Deeds::Delete(_)
        | Deeds::Chmod(_)
        | Deeds::Link(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_ahead_is_the_beginning_and_all_of_it_when_it_ended() {
        for (text, rest) in [(&b"abc"[..], Rest::Nothing), (b"abcd", Rest::More)] {
            let ahead = Ahead::read(text, 4).unwrap();
            assert_eq!((ahead.bytes.as_slice(), ahead.rest), (text, rest));
        }
        let ahead = Ahead::read(&b"abc"[..], 4).unwrap();
        // As often as it is asked for.
        for _ in 0..2 {
            assert_eq!(ahead.whole("-".as_ref()).unwrap(), b"abc");
        }
    }
}
