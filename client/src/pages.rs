//! Answers that go on where a limit cut them, until they are whole.

use crate::error::Error;
use crate::session::Session;
use crate::stream::{Course, Part, StreamItem};
use portcullis_protocol::session::{
    Completeness, Cursor, CutReason, Done, Entry, Found, Glob, List, Request, Search, Statistics,
};
use portcullis_protocol::view::Binding;

/// A request whose answer can go on: [`List`], [`Glob`] or [`Search`].
pub trait Paged: sealed::GoesOn {}
impl Paged for List {}
impl Paged for Glob {}
impl Paged for Search {}

mod sealed {
    use super::{Cursor, Entry, Found, Glob, List, Request, Search, StreamItem};

    pub trait GoesOn: Clone {
        /// What the answer is made of.
        type Item: StreamItem;
        /// The request as it is sent.
        fn request(&self) -> Request;
        /// Where it goes on.
        fn cursor(&mut self) -> &mut Option<Cursor>;
    }

    macro_rules! goes_on {
        ($($request:ident => $item:ident),*) => {
            $(impl GoesOn for $request {
                type Item = $item;
                fn request(&self) -> Request {
                    Request::$request(self.clone())
                }
                fn cursor(&mut self) -> &mut Option<Cursor> {
                    &mut self.cursor
                }
            })*
        };
    }

    goes_on!(List => Entry, Glob => Entry, Search => Found);
}

/// An answer in pages, as one: where a page ends at the limit of the request, the next one is asked
/// for. So the limit says how much comes at once, not how much there is.
///
/// It is a [`crate::Stream`] otherwise: an iterator over items, that stops the gate when it is
/// dropped. Between two pages others may change what is looked at; a cursor of a directory that is
/// gone is an error.
#[derive(Debug)]
pub struct Pages<'s, R: Paged> {
    session: &'s mut Session,
    request: R,
    course: Course<R::Item>,
    /// What the pages before this one saw.
    before: Statistics,
}

impl<'s, R: Paged> Pages<'s, R> {
    pub(crate) fn open(session: &'s mut Session, request: R) -> Result<Self, Error> {
        let course = Course::open(session, &request.request())?;
        Ok(Self {
            session,
            request,
            course,
            before: Statistics::default(),
        })
    }

    /// What the request was bound to; see [`crate::Stream::start`].
    pub fn start(&self) -> Option<&Binding> {
        self.course.start()
    }

    /// What comes next. An error is the last thing it gives.
    pub fn next_part(&mut self) -> Option<Result<Part<R::Item>, Error>> {
        loop {
            if let Some(part) = self.course.next_part(self.session) {
                return Some(part);
            }
            if let Err(error) = self.turn()? {
                return Some(Err(error));
            }
        }
    }

    /// How the last page ended, with what all of them saw: a directory that two of them entered
    /// counts twice.
    pub fn finish(mut self) -> Result<Done, Error> {
        self.course.stop(self.session)?;
        let mut done = self.course.ended()?;
        done.statistics.add(&self.before);
        Ok(done)
    }

    /// Asks for the next page; nothing when there is none.
    fn turn(&mut self) -> Option<Result<(), Error>> {
        let done = self.course.ended().ok()?;
        let Completeness::Cut {
            reason: CutReason::Limit,
            cursor: cursor @ Some(_),
        } = done.completeness
        else {
            return None;
        };
        // A page that came no further would be asked for again and again.
        if *self.request.cursor() == cursor {
            return None;
        }
        *self.request.cursor() = cursor;
        self.before.add(&done.statistics);
        match Course::open(self.session, &self.request.request()) {
            Ok(course) => {
                self.course = course;
                Some(Ok(()))
            }
            Err(error) => {
                self.course.fail(&error);
                Some(Err(error))
            }
        }
    }
}

impl<R: Paged> Iterator for Pages<'_, R> {
    type Item = Result<R::Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.course.next_item(self.session) {
                return Some(item);
            }
            if let Err(error) = self.turn()? {
                return Some(Err(error));
            }
        }
    }
}

impl<R: Paged> Drop for Pages<'_, R> {
    fn drop(&mut self) {
        // An error here has ended the connection; the next call on the session gives it.
        self.course.stop(self.session).ok();
    }
}
