//! Answers that come in parts: listings and searches.

use crate::error::{Error, ErrorCode, Violation};
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::session::{Done, Entry, Found, Reply, Request};
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

/// The parts of one answer, as they come. It borrows the session: no other request runs
/// meanwhile.
///
/// When it has given `None`, [`Self::finish`] says how it ended and what was passed over. Dropped or
/// finished before, it tells the gate to stop and drains what is on its way, so that the session
/// can be used again.
#[derive(Debug)]
pub struct Stream<'s, T: StreamItem> {
    session: &'s mut Session,
    id: RequestId,
    start: Option<Binding>,
    items: IntoIter<T>,
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

impl<'s, T: StreamItem> Stream<'s, T> {
    /// Asks, and waits for the first frame: a request that is refused never becomes a stream.
    pub(crate) fn open(session: &'s mut Session, request: &Request) -> Result<Self, Error> {
        let id = session.ask(request, &[])?;
        let mut stream = Self {
            session,
            id,
            start: None,
            items: Vec::new().into_iter(),
            state: State::Running,
        };
        let first = stream.receive(Place::First);
        first.map(|()| stream)
    }

    /// What the request was bound to; none when the gate ended it before it said so.
    pub fn start(&self) -> Option<&Binding> {
        self.start.as_ref()
    }

    /// How it ended. When the stream has not given `None` yet, the rest is cancelled and dropped.
    pub fn finish(mut self) -> Result<Done, Error> {
        self.stop()?;
        match &self.state {
            State::Done(done) => Ok(done.clone()),
            State::Failed(error) => Err(error.clone()),
            State::Running => Err(Error::new(ErrorCode::Closed(None))),
        }
    }

    /// Tells the gate to stop, if it has not, and takes what is on its way.
    fn stop(&mut self) -> Result<(), Error> {
        if !matches!(self.state, State::Running) {
            return Ok(());
        }
        self.session.wire.cancel(self.id)?;
        while matches!(self.state, State::Running) {
            self.receive(Place::Later)?;
        }
        Ok(())
    }

    /// Takes one frame.
    fn receive(&mut self, place: Place) -> Result<(), Error> {
        let session = &mut *self.session;
        let received = session.wire.answer(&mut session.buffer, self.id);
        let taken = match received {
            Ok((Reply::Done(done), _)) => {
                self.state = State::Done(done);
                return Ok(());
            }
            Ok((Reply::Progress(_), _)) => return Ok(()),
            Ok((reply, _)) => T::from_reply(reply),
            Err(error) => {
                self.state = State::Failed(error.clone());
                return Err(error);
            }
        };
        match (taken, place) {
            (Some((start, items)), Place::First) => {
                self.start = start;
                self.items = items.into_iter();
                Ok(())
            }
            (Some((None, items)), Place::Later) => {
                self.items = items.into_iter();
                Ok(())
            }
            (Some((Some(_), _)), Place::Later) | (None, _) => {
                let error = self.session.wire.violated(Violation::WrongKind);
                self.state = State::Failed(error.clone());
                Err(error)
            }
        }
    }
}

/// Where in a stream a frame stands.
#[derive(Clone, Copy)]
enum Place {
    First,
    Later,
}

impl<T: StreamItem> Iterator for Stream<'_, T> {
    type Item = Result<T, Error>;

    /// The next item. An error ends the stream, and is the last thing it gives.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(Ok(item));
            }
            match self.state {
                State::Running => {}
                State::Done(_) | State::Failed(_) => return None,
            }
            if let Err(error) = self.receive(Place::Later) {
                return Some(Err(error));
            }
        }
    }
}

impl<T: StreamItem> Drop for Stream<'_, T> {
    fn drop(&mut self) {
        // An error here has ended the connection; the next call on the session gives it.
        self.stop().ok();
    }
}
