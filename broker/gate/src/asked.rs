//! One operation that can be asked for: from a request, and back to one. Where it is worked out and
//! where it is done it is read anew from the bytes that were asked with, so that what is decided
//! about is what is done.

use portcullis_protocol::authority::Operation;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::frame::{Message as _, RequestId};
use portcullis_protocol::ledger::Asked;
use portcullis_protocol::limits::CONTENT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Change, ChangeSet, Deed, Links, Request, Selector, Source, input_digest,
};
use portcullis_protocol::verb::Verb;

/// What is asked for. Holding one means: it is one operation on files, whole in itself.
#[derive(Debug, PartialEq)]
pub(crate) enum AskedFor {
    /// A change set that is to be done, with all its content behind it.
    Change(ChangeSet),
    /// What only shows, of one object.
    Show(Request),
}

/// The object that is shown, and how it is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shows<'a> {
    pub(crate) operation: Operation,
    pub(crate) selector: &'a Selector,
    pub(crate) links: Links,
}

/// Why a request cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unaskable {
    /// It changes nothing, and what it would tell is told to whoever decides.
    DryRun,
    /// Its content is not behind it.
    Uploads,
    /// It is of several files, of which each is decided about alone.
    Files,
    /// It does not fit one frame.
    TooLarge,
    /// It is no operation on files.
    NotOne,
}

impl Unaskable {
    /// What a worker is told.
    pub(crate) const fn note(self) -> &'static str {
        match self {
            Self::DryRun => "ask for the change itself: its difference is shown to who decides",
            Self::Uploads => "ask for it with its content in the same frame, without an upload",
            Self::Files => "ask for this file alone",
            Self::TooLarge => "ask for less at once: it has to fit one frame with its content",
            Self::NotOne => "only an operation on files can be asked for",
        }
    }
}

/// The form in which a request is asked for.
pub(crate) fn asked(id: RequestId, request: &Request, content: &[u8]) -> Result<Asked, Unaskable> {
    check(request)?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(Unaskable::TooLarge);
    }
    let input = input_digest(request, content).ok_or(Unaskable::NotOne)?;
    let body = request
        .encode_body(Vec::new())
        .map_err(|_| Unaskable::TooLarge)?;
    Ok(Asked {
        id: id.0,
        code: request.code(),
        body: Bytes::new(body).map_err(|_| Unaskable::TooLarge)?,
        input,
    })
}

/// Whether a request is one operation, whole in itself.
fn check(request: &Request) -> Result<(), Unaskable> {
    match request {
        Request::Change(set) => match set.deed {
            Deed::DryRun => Err(Unaskable::DryRun),
            Deed::Commit if set.changes.as_slice().iter().all(is_inside) => Ok(()),
            Deed::Commit => Err(Unaskable::Uploads),
        },
        Request::Read(read) => match read.selectors.as_slice() {
            [_] => Ok(()),
            [] | [..] => Err(Unaskable::Files),
        },
        Request::Stat(_) | Request::List(_) | Request::Glob(_) | Request::Search(_) => Ok(()),
        Request::Hello(_)
        | Request::Whoami(_)
        | Request::Why(_)
        | Request::Cancel(_)
        | Request::Ping(_)
        | Request::Upload(_)
        | Request::DropUpload(_)
        | Request::Compose(_)
        | Request::ChangeComposed(_)
        | Request::Delegate(_)
        | Request::Acknowledge(_)
        | Request::EndDelegated(_) => Err(Unaskable::NotOne),
    }
}

/// Whether the content of a change is behind its set.
fn is_inside(change: &Change) -> bool {
    match change {
        Change::Write(write) => match write.source {
            Source::Inline(_) => true,
            Source::Upload(_) => false,
        },
        Change::Edit(_)
        | Change::Mkdir(_)
        | Change::Move(_)
        | Change::Delete(_)
        | Change::Chmod(_)
        | Change::Link(_) => true,
    }
}

/// Reads back what was asked for: exactly what [`asked`] makes, with exactly this content.
pub(crate) fn read(asked: &Asked, content: &[u8]) -> Result<AskedFor, Refusal> {
    let malformed = || Refusal::new(Code::Malformed);
    let body = asked.body.as_slice();
    let (request, left) = Request::decode_body(asked.code, body).map_err(|_| malformed())?;
    let whole = left == 0 && request.encodes_to(body) && asked.id != RequestId::NONE.0;
    let behind = content.is_empty() || request.carries_content();
    if !whole || !behind || input_digest(&request, content) != Some(asked.input) {
        return Err(malformed());
    }
    check(&request).map_err(|why| malformed().noting(why.note()))?;
    Ok(if let Request::Change(set) = request {
        AskedFor::Change(set)
    } else {
        AskedFor::Show(request)
    })
}

/// The object that a request shows.
pub(crate) fn shows<'a>(request: &'a Request, asked: &Asked) -> Option<Shows<'a>> {
    let operation = |verb| Operation {
        input: Some(asked.input),
        ..Operation::of(verb)
    };
    let follow = |verb, selector| Shows {
        operation: operation(verb),
        selector,
        links: Links::Follow,
    };
    match request {
        Request::Stat(ask) => Some(Shows {
            operation: operation(Verb::Stat),
            selector: &ask.selector,
            links: ask.links,
        }),
        Request::Read(read) => match read.selectors.as_slice() {
            [one] => Some(follow(Verb::Read, one)),
            [] | [..] => None,
        },
        Request::List(ask) => Some(follow(Verb::List, &ask.selector)),
        Request::Glob(ask) => Some(follow(Verb::Glob, &ask.selector)),
        Request::Search(ask) => Some(follow(Verb::Search, &ask.selector)),
        Request::Hello(_)
        | Request::Whoami(_)
        | Request::Why(_)
        | Request::Cancel(_)
        | Request::Ping(_)
        | Request::Change(_)
        | Request::Upload(_)
        | Request::DropUpload(_)
        | Request::Compose(_)
        | Request::ChangeComposed(_)
        | Request::Delegate(_)
        | Request::Acknowledge(_)
        | Request::EndDelegated(_) => None,
    }
}

#[cfg(test)]
mod tests;
