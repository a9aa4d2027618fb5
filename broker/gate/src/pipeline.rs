//! One request, from what the worker wrote to what it is answered:
//!
//! ```text
//! decode → admit → resolve → bind → execute → encode
//! Request  Admitted Pinned   Bound  Reply     Outlet
//! ```
//!
//! Each stage consumes the last one's value, and only that stage can make its own. Every failure
//! here is a refusal: nothing happened. Nothing of this version changes a file, so there is no
//! `begin`, `confirm` or `finish` yet; they will stand around `execute`.

use crate::admit::admit;
use crate::bind::{Bound, bind};
use crate::execute;
use crate::outlet::{Gone, Outlet};
use crate::resolve::resolve;
use crate::session::Session;
use crate::suggest::suggest;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Links, Read, Reply, Request, Selector};
use portcullis_protocol::verb::Verb;

/// Answers one decoded request. Hello, ping and cancel belong to the conversation and are
/// answered by [`crate::serve`].
pub(crate) fn answer(
    session: &Session,
    request: &Request,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let outcome = match request {
        Request::Whoami(_) => execute::whoami(session).map(Some),
        Request::Stat(ask) => reach(session, Verb::Stat, &ask.selector, ask.links)
            .map(|bound| Some(Reply::Stat(bound.binding()))),
        Request::Why(ask) => {
            let reached = follow(session, ask.verb, &ask.selector);
            Ok(Some(execute::why(session, ask.verb, reached)))
        }
        Request::Read(ask) => {
            return execute::read(
                ask,
                |selector| follow(session, Verb::Read, selector),
                outlet,
            );
        }
        Request::List(ask) => match follow(session, Verb::List, &ask.selector) {
            Ok(bound) => return execute::list(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Glob(ask) => match follow(session, Verb::Glob, &ask.selector) {
            Ok(bound) => return execute::glob(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Search(ask) => match follow(session, Verb::Search, &ask.selector) {
            Ok(bound) => return execute::search(session, bound, ask, outlet),
            Err(refusal) => Err(refusal),
        },
        Request::Hello(_) | Request::Ping(_) | Request::Cancel(_) => Ok(None),
    };
    match outcome {
        Ok(Some(reply)) => outlet.send(&reply, &[]),
        Ok(None) => Ok(()),
        Err(refusal) => outlet.refuse(&refusal),
    }
}

/// Answers a read of one file at once if the part asked for is short; else gives back the bound
/// file, for [`execute::read_bound`] on a stream.
pub(crate) fn answer_short(
    session: &Session,
    ask: &Read,
    selector: &Selector,
    outlet: &mut Outlet,
) -> Result<Option<Bound>, Gone> {
    match follow(session, Verb::Read, selector) {
        Ok(bound) if execute::is_short(&bound, ask) => {
            execute::read_bound(ask, bound, outlet).map(|()| None)
        }
        Ok(bound) => Ok(Some(bound)),
        Err(refusal) => outlet.refuse(&refusal).map(|()| None),
    }
}

/// The same as [`reach`], through a link in the last component.
fn follow(session: &Session, verb: Verb, selector: &Selector) -> Result<Bound, Refusal> {
    reach(session, verb, selector, Links::Follow)
}

/// From a selector to an object bound to one verb.
fn reach(
    session: &Session,
    verb: Verb,
    selector: &Selector,
    links: Links,
) -> Result<Bound, Refusal> {
    let admitted = admit(session, verb, selector, links)?;
    resolve(session, admitted)
        .and_then(|pinned| bind(session, pinned, selector.path.as_slice()))
        .map_err(|refusal| suggest(session, selector, refusal))
}
