//! An executing gate: does one operation that was approved, by the same stages as any other, and
//! answers the worker on its own socket, from which it reads nothing. The warden compares what it is
//! about to do with what was approved, and lets it do that once.

use crate::asked::{AskedFor, read, shows};
use crate::cage::Caged;
use crate::counters::{Counted, Counters};
use crate::execute;
use crate::outlet::{Gone, Outlet};
use crate::pipeline;
use crate::plan::Order;
use crate::session::Session;
use crate::showing::{Found, showing};
use crate::uploads::Uploads;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Asked, SessionEnd};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Reply, Request};
use portcullis_transport::{Endpoint, SessionSide};
use std::sync::Arc;

/// Does one operation. Gives what became of its worker; the session itself goes on without this
/// gate.
pub(crate) fn carry_out(
    _caged: &Caged,
    session: &Arc<Session>,
    (endpoint, counters): (Endpoint<SessionSide>, &Arc<Counters>),
    (asked, content): (&Asked, &[u8]),
) -> SessionEnd {
    let id = RequestId(asked.id);
    let mut outlet = Outlet::new(Arc::new(endpoint), Arc::clone(counters), None, id);
    let answered = match read(asked, content) {
        Ok(AskedFor::Change(set)) => {
            counters.request(Counted::Change);
            let (ledger, none) = (counters.ledger(), Uploads::default());
            let order = Order {
                set: &set,
                content,
                input: Some(asked.input),
            };
            pipeline::change(session, ledger, &none, order, &mut outlet).map(drop)
        }
        Ok(AskedFor::Show(request)) => show(session, counters, (asked, &request), &mut outlet),
        Err(refusal) => outlet.refuse(&refusal),
    };
    match answered {
        Err(Gone) if counters.has_stalled() => SessionEnd::WorkerMisbehaved,
        Ok(()) | Err(Gone) => SessionEnd::WorkerLeft,
    }
}

/// Binds what is to be shown, spends its approval, and shows it.
fn show(
    session: &Arc<Session>,
    counters: &Counters,
    (asked, request): (&Asked, &Request),
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    counters.request(Counted::of(request));
    let bound = shows(request, asked)
        .ok_or_else(|| Refusal::new(Code::Malformed))
        .and_then(|shows| showing(session, shows))
        .and_then(|showing| {
            let intent = showing.intent(asked.input);
            counters.ledger().claim(intent).map(|_claimed| showing)
        });
    let bound = match bound.map(|showing| showing.found) {
        Ok(Found::Object(bound)) => bound,
        Ok(Found::Refused(refusal, _)) | Err(refusal) => return outlet.refuse(&refusal),
    };
    match request {
        Request::Stat(_) => outlet.send(&Reply::Stat(bound.binding()), &[]),
        Request::Read(ask) => execute::read_bound(session, ask, bound, outlet),
        Request::List(ask) => execute::list(session, bound, ask, outlet),
        Request::Glob(ask) => execute::glob(session, bound, ask, outlet),
        Request::Search(ask) => execute::search(session, bound, ask, outlet),
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
        | Request::EndDelegated(_) => outlet.refuse(&Refusal::new(Code::Malformed)),
    }
}
