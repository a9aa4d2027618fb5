//! Content of files: whole answers, and parts without a copy.

use crate::ask;
use crate::error::{Error, Violation};
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{
    Completeness, More, Range, Read, ReadEnd, ReadPart, ReadTail, Reply, Request, Selector,
};
use portcullis_protocol::view::Binding;

/// Room made for a file's bytes before they come, at most; a size is only what the peer says.
const ROOM_BYTES_MAX: usize = 1024 * 1024;

/// One file's part that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// What the selector was bound to.
    pub binding: Binding,
    /// Offset in the file of the first of `bytes`.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How the reading ended: what is left, and what was computed.
    pub end: ReadEnd,
}

/// One file of a request: its part, or why nothing of it was read. The other files of the request
/// are answered all the same.
pub type FileAnswer = Result<FileContent, Refusal>;

impl Session {
    /// Reads files, answered in the order of the request's selectors.
    pub fn read(&mut self, read: &Read) -> Result<Vec<FileAnswer>, Error> {
        let mut assembly = Assembly::new(read);
        let mut stream = self.read_stream(read)?;
        while let Some((part, bytes)) = stream.next_part()? {
            if let Err(violation) = assembly.take(part, bytes) {
                return Err(stream.violated(violation));
            }
        }
        match assembly.finish() {
            Ok(answers) => Ok(answers),
            Err(violation) => Err(stream.violated(violation)),
        }
    }

    /// Reads the whole of one file.
    pub fn read_file(&mut self, selector: Selector) -> Result<FileContent, Error> {
        let answers = self.read(&ask::read(selector))?;
        match <[FileAnswer; 1]>::try_from(answers) {
            Ok([answer]) => answer.map_err(Error::from),
            Err(_) => Err(self.wire.violated(Violation::WrongKind)),
        }
    }

    /// Reads files part by part, each lent from the session's buffer without a copy.
    pub fn read_stream(&mut self, read: &Read) -> Result<ReadStream<'_>, Error> {
        let files = read.selectors.as_slice().len();
        let id = self.ask(&Request::Read(read.clone()), &[])?;
        Ok(ReadStream {
            session: self,
            id,
            order: Order::new(files),
            state: State::Running,
        })
    }
}

/// The parts of one read, in order. Dropped early, it tells the gate to stop and drains what is on
/// its way, so that the session can be used again.
#[derive(Debug)]
pub struct ReadStream<'s> {
    session: &'s mut Session,
    id: RequestId,
    order: Order,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Over,
}

impl ReadStream<'_> {
    /// The next part and its bytes; none after the last. An error ends the stream.
    ///
    /// Guaranteed: files come in the order of the request, each first part has a head or a
    /// refusal, each last part a tail, and the bytes of one file follow one another.
    pub fn next_part(&mut self) -> Result<Option<(ReadPart, &[u8])>, Error> {
        if self.state == State::Over {
            return Ok(None);
        }
        let Session { wire, buffer, .. } = &mut *self.session;
        let (reply, content) = match wire.answer(buffer, self.id) {
            Ok(answer) => answer,
            Err(error) => {
                self.state = State::Over;
                return Err(error);
            }
        };
        match self.order.take(&reply, content.len()) {
            Ok(Step::Part(more)) => {
                if more == More::Last {
                    self.state = State::Over;
                }
                if let Reply::ReadPart(part) = reply {
                    return Ok(Some((part, content)));
                }
                Ok(None)
            }
            Ok(Step::End) => {
                self.state = State::Over;
                Ok(None)
            }
            Err(violation) => {
                self.state = State::Over;
                Err(wire.violated(violation))
            }
        }
    }

    pub(crate) fn violated(&mut self, violation: Violation) -> Error {
        self.state = State::Over;
        self.session.wire.violated(violation)
    }
}

impl Drop for ReadStream<'_> {
    fn drop(&mut self) {
        if self.state == State::Over || self.session.wire.is_over() {
            return;
        }
        // An error here has ended the connection; the next call on the session gives it.
        if self.session.wire.cancel(self.id).is_err() {
            return;
        }
        while matches!(self.next_part(), Ok(Some(_))) {}
    }
}

/// What a frame of a read is.
pub(crate) enum Step {
    /// A part, and whether it is the last frame.
    Part(More),
    /// The end, without a part.
    End,
}

/// Checks that the frames of one read come in order.
#[derive(Debug)]
pub(crate) struct Order {
    files: usize,
    at: usize,
    /// Within a file: the offset its next part must have.
    next_offset: Option<u64>,
}

impl Order {
    pub(crate) const fn new(files: usize) -> Self {
        Self {
            files,
            at: 0,
            next_offset: None,
        }
    }

    /// Judges one frame.
    pub(crate) fn take(&mut self, reply: &Reply, bytes: usize) -> Result<Step, Violation> {
        match reply {
            Reply::ReadPart(part) => self.part(part, bytes).map(Step::Part),
            Reply::Done(done) => match done.completeness {
                Completeness::Complete if !self.is_whole() => Err(Violation::WrongKind),
                Completeness::Complete | Completeness::Cut { .. } => Ok(Step::End),
            },
            Reply::Welcome(_)
            | Reply::Refused(_)
            | Reply::Whoami(_)
            | Reply::Stat(_)
            | Reply::Entries(_)
            | Reply::Matches(_)
            | Reply::Why(_)
            | Reply::Pong(_)
            | Reply::Closing(_)
            | Reply::Planned(_)
            | Reply::Changed(_)
            | Reply::Uploaded(_)
            | Reply::Composed(_)
            | Reply::Delegated(_)
            | Reply::Noted(_)
            | Reply::Progress(_)
            | Reply::Conflicted(_) => Err(Violation::WrongKind),
        }
    }

    fn part(&mut self, part: &ReadPart, bytes: usize) -> Result<More, Violation> {
        let refused = matches!(part.tail, Some(ReadTail::Refused(_)));
        let right_head = match self.next_offset {
            None => part.head.is_some() || refused,
            Some(offset) => part.head.is_none() && (bytes == 0 || part.offset == offset),
        };
        if usize::from(part.file) != self.at || self.at >= self.files || !right_head {
            return Err(Violation::WrongKind);
        }
        if part.tail.is_some() {
            self.at += 1;
            self.next_offset = None;
        } else {
            let length = u64::try_from(bytes).unwrap_or(u64::MAX);
            let next = part.offset.checked_add(length);
            self.next_offset = Some(next.ok_or(Violation::WrongKind)?);
        }
        if part.more == More::Last && !self.is_whole() {
            return Err(Violation::WrongKind);
        }
        Ok(part.more)
    }

    fn is_whole(&self) -> bool {
        self.at == self.files && self.next_offset.is_none()
    }
}

/// Puts the parts of one read together. The parts have been judged by [`Order`].
#[derive(Debug)]
pub(crate) struct Assembly {
    files: usize,
    /// Bytes of each file that were asked for, where the request says.
    wanted: u64,
    answers: Vec<FileAnswer>,
    /// The file whose parts come now.
    open: Option<(Binding, u64, Vec<u8>)>,
}

impl Assembly {
    pub(crate) fn new(read: &Read) -> Self {
        Self {
            files: read.selectors.as_slice().len(),
            wanted: match read.range {
                Range::Bytes { length, .. } => length,
                Range::Lines { .. } | Range::Head { .. } | Range::Tail { .. } => 0,
            },
            answers: Vec::new(),
            open: None,
        }
    }

    /// Takes one part.
    pub(crate) fn take(&mut self, part: ReadPart, bytes: &[u8]) -> Result<(), Violation> {
        if let Some(head) = part.head {
            let left = head.observation.stamp.size.saturating_sub(part.offset);
            let room = usize::try_from(left.min(self.wanted)).unwrap_or(usize::MAX);
            let bytes = Vec::with_capacity(room.min(ROOM_BYTES_MAX));
            self.open = Some((head, part.offset, bytes));
        }
        if let Some((_, _, content)) = &mut self.open {
            content.extend_from_slice(bytes);
        }
        match part.tail {
            None => Ok(()),
            Some(ReadTail::Refused(refusal)) => {
                self.open = None;
                self.answers.push(Err(refusal));
                Ok(())
            }
            Some(ReadTail::Read(end)) => {
                let (binding, offset, bytes) = self.open.take().ok_or(Violation::WrongKind)?;
                self.answers.push(Ok(FileContent {
                    binding,
                    offset,
                    bytes,
                    end,
                }));
                Ok(())
            }
        }
    }

    /// The answers, one for each file.
    pub(crate) fn finish(self) -> Result<Vec<FileAnswer>, Violation> {
        if self.answers.len() == self.files && self.open.is_none() {
            Ok(self.answers)
        } else {
            Err(Violation::WrongKind)
        }
    }
}
