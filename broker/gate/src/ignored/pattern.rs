//! One pattern, taken apart: what each name on the way to a match must be.
//!
//! What is meant is what git's `wildmatch` does with a path and the flag that a star matches no
//! slash. A pattern that it can never match anything with is none here.

use portcullis_protocol::limits::{NAME_BYTES_MAX, PATH_BYTES_MAX};

/// Names that one with sets is spelled out as, at most.
const SPELLED_MAX: usize = 8;

/// What one place of a name may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// This byte.
    Byte(u8),
    /// Any byte.
    Any,
    /// One of these.
    Set(Set),
    /// Any number of any bytes.
    Star,
}

/// One step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// One name.
    Name(Name),
    /// Any number of names, also none.
    Deep,
}

/// What a name must be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// These bytes.
    Plain(Vec<u8>),
    /// These bytes, then something, then these bytes.
    Glob {
        head: Vec<u8>,
        middle: Vec<Piece>,
        tail: Vec<u8>,
    },
}

impl Name {
    fn new(pieces: &[Piece]) -> Self {
        let head: Vec<u8> = pieces.iter().map_while(byte).collect();
        if head.len() == pieces.len() {
            return Self::Plain(head);
        }
        let mut tail: Vec<u8> = pieces.iter().rev().map_while(byte).collect();
        tail.reverse();
        let middle = pieces.get(head.len()..pieces.len() - tail.len());
        Self::Glob {
            middle: middle.unwrap_or_default().to_vec(),
            head,
            tail,
        }
    }

    /// The same as several names in which small sets are spelled out: those can be looked up, where
    /// a set must be tried.
    pub(super) fn spelled_out(self) -> Vec<Self> {
        let (head, middle, tail) = match self {
            Self::Plain(_) => return vec![self],
            Self::Glob { head, middle, tail } => (head, middle, tail),
        };
        let plain = |bytes: Vec<u8>| bytes.into_iter().map(Piece::Byte);
        let mut all = vec![Vec::new()];
        for piece in plain(head).chain(middle).chain(plain(tail)) {
            let spelled = spelled(piece, all.len());
            let with = |piece: Piece| {
                let longer = |name: &Vec<Piece>| name.iter().copied().chain([piece]).collect();
                all.iter().map(longer).collect::<Vec<_>>()
            };
            all = spelled.into_iter().flat_map(with).collect();
        }
        all.iter().map(|pieces| Self::new(pieces)).collect()
    }

    /// How many names that are.
    pub(super) fn spellings(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Glob { middle, .. } => middle
                .iter()
                .fold(1, |count, piece| count * spelled(*piece, count).len()),
        }
    }
}

/// What a piece is spelled out as in that many names.
fn spelled(piece: Piece, names: usize) -> Vec<Piece> {
    let members: Vec<Piece> = match piece {
        Piece::Set(set) => set.members().map(Piece::Byte).collect(),
        Piece::Byte(_) | Piece::Any | Piece::Star => Vec::new(),
    };
    if members.is_empty() || members.len() * names > SPELLED_MAX {
        vec![piece]
    } else {
        members
    }
}

fn byte(piece: &Piece) -> Option<u8> {
    match piece {
        Piece::Byte(byte) => Some(*byte),
        Piece::Any | Piece::Set(_) | Piece::Star => None,
    }
}

/// Bytes, one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Set([u64; 4]);

impl Set {
    fn add(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    fn remove(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word &= !(1 << (byte & 63));
        }
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        let word = self.0.get(usize::from(byte >> 6)).copied().unwrap_or(0);
        word >> (byte & 63) & 1 == 1
    }

    fn members(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    fn others(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// The piece that means the same; none when no byte is left.
    fn piece(self) -> Option<Piece> {
        let mut members = self.members();
        let first = members.next()?;
        match members.next() {
            Some(_) => Some(Piece::Set(self)),
            None => Some(Piece::Byte(first)),
        }
    }
}

/// The steps of a pattern that has neither its `!` nor its last slash any more, nor the slash that
/// only says that it is anchored. None when nothing can match it.
pub(super) fn steps(pattern: &[u8]) -> Option<Vec<Step>> {
    let mut taking = Taking {
        rest: Rest { pattern, at: 0 },
        steps: Vec::new(),
        name: Vec::new(),
        least: 0,
        least_of_name: 0,
    };
    while let Some(byte) = taking.rest.next() {
        match byte {
            b'/' => taking.end_name()?,
            b'\\' => match taking.rest.next()? {
                b'/' => taking.end_name()?,
                other => taking.one(Piece::Byte(other))?,
            },
            b'?' => taking.one(Piece::Any)?,
            b'[' => {
                let set = taking.rest.set()?;
                taking.one(set.piece()?)?;
            }
            b'*' => taking.stars()?,
            other => taking.one(Piece::Byte(other))?,
        }
    }
    taking.end_name()?;
    Some(taking.steps)
}

/// A pattern half taken apart.
struct Taking<'a> {
    rest: Rest<'a>,
    steps: Vec<Step>,
    name: Vec<Piece>,
    /// Bytes that a path has at least.
    least: usize,
    least_of_name: usize,
}

impl Taking<'_> {
    fn one(&mut self, piece: Piece) -> Option<()> {
        self.least += 1;
        self.least_of_name += 1;
        self.name.push(piece);
        // What is longer matches no name and no path, and is not taken apart to its end.
        (self.least_of_name <= NAME_BYTES_MAX && self.least <= PATH_BYTES_MAX).then_some(())
    }

    /// A slash. Where no name stands before it, it would have to match an empty name.
    fn end_name(&mut self) -> Option<()> {
        if self.name.is_empty() {
            return None;
        }
        self.least += 1;
        self.least_of_name = 0;
        self.steps.push(Step::Name(Name::new(&self.name)));
        self.name.clear();
        Some(())
    }

    fn deep(&mut self) {
        if self.steps.last() != Some(&Step::Deep) {
            self.steps.push(Step::Deep);
        }
    }

    /// One star was taken. Two or more of them that are all between two slashes are any names;
    /// everywhere else they are the same as one.
    fn stars(&mut self) -> Option<()> {
        let begins = self.rest.at_start_of_name();
        let mut count = 1;
        while self.rest.peek(0) == Some(b'*') {
            self.rest.skip(1);
            count += 1;
        }
        if count >= 2 && begins {
            match (self.rest.peek(0), self.rest.peek(1)) {
                (Some(b'/'), _) => {
                    self.rest.skip(1);
                    self.deep();
                    return Some(());
                }
                // At least one name.
                (Some(b'\\'), Some(b'/')) => {
                    self.rest.skip(2);
                    self.deep();
                    self.name.push(Piece::Star);
                    return self.end_name();
                }
                (None, _) => self.deep(),
                (Some(_), _) => {}
            }
        }
        self.name.push(Piece::Star);
        Some(())
    }
}

/// The bytes of a pattern that are not taken yet.
struct Rest<'a> {
    pattern: &'a [u8],
    at: usize,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek(0)?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.pattern.get(self.at + ahead).copied()
    }

    fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Whether the byte taken last is the first of the pattern, or of those after a slash.
    fn at_start_of_name(&self) -> bool {
        match self.at.checked_sub(2) {
            None => true,
            Some(before) => self.pattern.get(before) == Some(&b'/'),
        }
    }

    /// What stands in brackets, after the first of them. None where git gives up.
    fn set(&mut self) -> Option<Set> {
        let negated = matches!(self.peek(0), Some(b'!' | b'^'));
        if negated {
            self.skip(1);
        }
        let mut set = Set::default();
        // What a range may begin with.
        let mut before = None;
        let mut byte = self.next()?;
        loop {
            before = match (byte, before) {
                (b'\\', _) => {
                    let escaped = self.next()?;
                    set.add(escaped);
                    Some(escaped)
                }
                (b'-', Some(first)) if !matches!(self.peek(0), None | Some(b']')) => {
                    let last = match self.next()? {
                        b'\\' => self.next()?,
                        other => other,
                    };
                    (first..=last).for_each(|byte| set.add(byte));
                    None
                }
                (b'[', _) if self.peek(0) == Some(b':') => self.class(&mut set)?,
                (other, _) => {
                    set.add(other);
                    Some(other)
                }
            };
            byte = self.next()?;
            if byte == b']' {
                break;
            }
        }
        if negated {
            set = set.others();
        }
        set.remove(b'/');
        Some(set)
    }

    /// A named class, after its first bracket; or only that bracket. Gives what a range may begin
    /// with after it.
    fn class(&mut self, set: &mut Set) -> Option<Option<u8>> {
        let inner = self.pattern.get(self.at + 1..)?;
        let end = inner.iter().position(|byte| *byte == b']')?;
        let Some(name) = inner.get(..end).and_then(|inner| inner.strip_suffix(b":")) else {
            set.add(b'[');
            return Some(Some(b'['));
        };
        let has = class(name)?;
        (0..=u8::MAX).filter(has).for_each(|byte| set.add(byte));
        self.skip(end + 2);
        Some(None)
    }
}

/// A class by its name. What is a space or a mark of punctuation is git's own idea of it, in every
/// locale.
fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

/// Whether a text is what these pieces say. With a star that does not reach far enough the last
/// one alone is tried again: a star before it never needs to be. So the work is at most the
/// product of both lengths.
pub(super) fn matches(pieces: &[Piece], text: &[u8]) -> bool {
    let (mut piece, mut at) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        let fits = match (pieces.get(piece), text.get(at)) {
            (None, None) => return true,
            (Some(Piece::Star), _) => {
                again = Some((piece + 1, at));
                piece += 1;
                continue;
            }
            (None, Some(_)) => false,
            // Without a byte left no later try has one.
            (Some(_), None) => return false,
            (Some(Piece::Byte(wanted)), Some(byte)) => wanted == byte,
            (Some(Piece::Any), Some(_)) => true,
            (Some(Piece::Set(set)), Some(byte)) => set.has(*byte),
        };
        if fits {
            piece += 1;
            at += 1;
            continue;
        }
        let Some((after, from)) = again else {
            return false;
        };
        again = Some((after, from + 1));
        piece = after;
        at = from + 1;
    }
}
