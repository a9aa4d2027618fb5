//! Answers that come in parts: listings and searches.

use crate::error::{Error, ErrorCode, Violation};
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::session::{Done, Entry, Found, Progress, Reply, Request};
use portcullis_protocol::view::Binding;
use std::vec::IntoIter;

/// What a stream can be of: [`Entry`] or [`Found`].
pub trait StreamItem: sealed::FromReply {}
impl StreamItem for Entry {}
impl StreamItem for Found {}

mod sealed {
    use super::{Binding, Entry, Found, Reply};

    /// Items of one frame, and the binding that comes with the first.
    pub trait FromReply: Sized {
        /// The items, or nothing when the reply is of another kind.
        fn from_reply(reply: Reply) -> Option<(Option<Binding>, Vec<Self>)>;
    }

    impl FromReply for Entry {
        fn from_reply(reply: Reply) -> Option<(Option<Binding>, Vec<Self>)> {
            if let Reply::Entries(entries) = reply {
                Some((entries.start, entries.entries))
            } else {
                None
            }
        }
    }

    impl FromReply for Found {
        fn from_reply(reply: Reply) -> Option<(Option<Binding>, Vec<Self>)> {
            if let Reply::Matches(matches) = reply {
                Some((matches.start, matches.found))
            } else {
                None
            }
        }
    }
}

/// A part of an answer, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// Items in order: those of one frame that were not taken yet.
    Items(Vec<T>),
    /// How far the walk is; it comes now and then while nothing else does.
    Progress(Progress),
}

/// The parts of one answer, as they come. It borrows the session: no other request runs
/// meanwhile.
///
/// As an iterator it gives item by item, and passes over what is said of progress;
/// [`Self::next_part`] gives that too, and many items at once. When it has given `None`,
/// [`Self::finish`] says how it ended and what was passed over. Dropped or finished before, it tells
/// the gate to stop and drains what is on its way, so that the session can be used again.
#[derive(Debug)]
pub struct Stream<'s, T: StreamItem> {
    session: &'s mut Session,
    course: Course<T>,
}

impl<'s, T: StreamItem> Stream<'s, T> {
    /// Asks, and waits for the first frame: a request that is refused never becomes a stream.
    pub(crate) fn open(session: &'s mut Session, request: &Request) -> Result<Self, Error> {
        let course = Course::open(session, request)?;
        Ok(Self { session, course })
    }

    /// What the request was bound to; none while nothing was found yet, and when the gate ended it
    /// before it said so.
    pub fn start(&self) -> Option<&Binding> {
        self.course.start()
    }

    /// What comes next. An error ends the stream, and is the last thing it gives.
    pub fn next_part(&mut self) -> Option<Result<Part<T>, Error>> {
        self.course.next_part(self.session)
    }

    /// How it ended. When the stream has not given `None` yet, the rest is cancelled and dropped; where
    /// not even its first items have come, they are waited for, so that a long search that finds
    /// nothing ends by itself.
    pub fn finish(mut self) -> Result<Done, Error> {
        self.course.first(self.session)?;
        self.course.stop(self.session)?;
        self.course.ended()
    }

    /// Tells the gate to stop, whatever has come, and gives how it ended. What is on its way is
    /// dropped.
    pub fn cancel(mut self) -> Result<Done, Error> {
        self.course.stop(self.session)?;
        self.course.ended()
    }
}

impl<T: StreamItem> Iterator for Stream<'_, T> {
    type Item = Result<T, Error>;

    /// The next item. An error ends the stream, and is the last thing it gives.
    fn next(&mut self) -> Option<Self::Item> {
        self.course.next_item(self.session)
    }
}

impl<T: StreamItem> Drop for Stream<'_, T> {
    fn drop(&mut self) {
        // An error here has ended the connection; the next call on the session gives it.
        self.course.stop(self.session).ok();
    }
}

/// One answer under way, without the session that it comes through.
#[derive(Debug)]
pub(crate) struct Course<T> {
    id: RequestId,
    start: Option<Binding>,
    /// Where the next frame of items stands.
    place: Place,
    /// Items of the last frame that were not given yet.
    items: IntoIter<T>,
    /// What was said of progress and not given yet.
    progress: Option<Progress>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Frames may follow.
    Running,
    /// The gate has said how it ended.
    Done(Done),
    /// It ended in an error, which was given.
    Failed(Error),
}

/// Where in a stream a frame of items stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    First,
    Later,
}

impl<T: StreamItem> Course<T> {
    /// Asks, and waits for the first frame.
    pub(crate) fn open(session: &mut Session, request: &Request) -> Result<Self, Error> {
        let mut course = Self {
            id: session.ask_to_look(request)?,
            start: None,
            place: Place::First,
            items: Vec::new().into_iter(),
            progress: None,
            state: State::Running,
        };
        course.receive(session).map(|()| course)
    }

    pub(crate) fn start(&self) -> Option<&Binding> {
        self.start.as_ref()
    }

    /// How it ended, once it has.
    pub(crate) fn ended(&self) -> Result<Done, Error> {
        match &self.state {
            State::Done(done) => Ok(done.clone()),
            State::Failed(error) => Err(error.clone()),
            State::Running => Err(Error::new(ErrorCode::Closed(None))),
        }
    }

    /// Ends it in this error.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.state = State::Failed(error.clone());
    }

    pub(crate) fn next_part(&mut self, session: &mut Session) -> Option<Result<Part<T>, Error>> {
        loop {
            if self.items.len() > 0 {
                let items = std::mem::take(&mut self.items);
                return Some(Ok(Part::Items(items.collect())));
            }
            if let Some(progress) = self.progress.take() {
                return Some(Ok(Part::Progress(progress)));
            }
            if let Err(error) = self.more(session)? {
                return Some(Err(error));
            }
        }
    }

    pub(crate) fn next_item(&mut self, session: &mut Session) -> Option<Result<T, Error>> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(Ok(item));
            }
            if let Err(error) = self.more(session)? {
                return Some(Err(error));
            }
        }
    }

    /// Takes one frame; nothing when the answer has ended.
    fn more(&mut self, session: &mut Session) -> Option<Result<(), Error>> {
        match self.state {
            State::Running => Some(self.receive(session)),
            State::Done(_) | State::Failed(_) => None,
        }
    }

    /// Takes what comes up to the first items.
    fn first(&mut self, session: &mut Session) -> Result<(), Error> {
        while self.start.is_none() && matches!(self.state, State::Running) {
            self.receive(session)?;
        }
        Ok(())
    }

    /// Tells the gate to stop, if it has not, and takes what is on its way.
    pub(crate) fn stop(&mut self, session: &mut Session) -> Result<(), Error> {
        if !matches!(self.state, State::Running) {
            return Ok(());
        }
        session.wire.cancel(self.id)?;
        while matches!(self.state, State::Running) {
            self.receive(session)?;
        }
        Ok(())
    }

    /// Takes one frame.
    fn receive(&mut self, session: &mut Session) -> Result<(), Error> {
        let received = session.wire.answer(&mut session.buffer, self.id);
        let taken = match received {
            Ok((Reply::Done(done), _)) => {
                self.state = State::Done(done);
                return Ok(());
            }
            Ok((Reply::Progress(progress), _)) => {
                self.progress = Some(progress);
                return Ok(());
            }
            Ok((reply, _)) => T::from_reply(reply),
            Err(error) => {
                self.state = State::Failed(error.clone());
                return Err(error);
            }
        };
        match (taken, self.place) {
            (Some((start, items)), Place::First) => {
                (self.start, self.place) = (start, Place::Later);
                self.items = items.into_iter();
                Ok(())
            }
            (Some((None, items)), Place::Later) => {
                self.items = items.into_iter();
                Ok(())
            }
            (Some((Some(_), _)), Place::Later) | (None, _) => {
                let error = session.wire.violated(Violation::WrongKind);
                self.state = State::Failed(error.clone());
                Err(error)
            }
        }
    }
}
