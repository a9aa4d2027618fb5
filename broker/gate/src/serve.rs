//! The conversation with one worker: hello first, then requests until it leaves.

use crate::cage::Caged;
use crate::composition::Composition;
use crate::counters::{Counted, Counters};
use crate::delegating::Delegating;
use crate::execute::is_of_names;
use crate::outlet::{Gone, Outlet, Running};
use crate::pace::Pace;
use crate::pipeline::{self, Listed, Used};
use crate::plan::Order;
use crate::session::Session;
use crate::streams::{Streams, Work};
use crate::sys;
use crate::uploads::{Uploads, taken_by};
use portcullis_protocol::VERSION;
use portcullis_protocol::frame::{DecodeError, RequestId};
use portcullis_protocol::ledger::SessionEnd;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    ChangeComposed, Closing, Compose, Composed, Hello, Limits, List, Ping, Read, Reply, Request,
    UploadId, Uploaded, Welcome,
};
use portcullis_protocol::view::Digest;
use portcullis_transport::{Buffer, Endpoint, SessionSide, TransportError};
use std::sync::Arc;

/// What the loop does after a packet.
enum Next {
    Go,
    End(SessionEnd),
}

/// Serves one worker to the end. Demands the proof of the cage, so that nothing is served
/// without one.
pub(crate) fn serve(
    _caged: &Caged,
    session: Session,
    endpoint: Endpoint<SessionSide>,
    counters: &Arc<Counters>,
    buffer: &mut Buffer,
) -> SessionEnd {
    converse(session, endpoint, counters, buffer)
}

/// The same without a cage, which would hold a fuzzer as well. There is none in any other build.
#[cfg(fuzzing)]
pub(crate) fn serve_uncaged(
    session: Session,
    endpoint: Endpoint<SessionSide>,
    counters: &Arc<Counters>,
    buffer: &mut Buffer,
) -> SessionEnd {
    converse(session, endpoint, counters, buffer)
}

fn converse(
    session: Session,
    endpoint: Endpoint<SessionSide>,
    counters: &Arc<Counters>,
    buffer: &mut Buffer,
) -> SessionEnd {
    let running = Running::default();
    let session = Arc::new(session);
    let endpoint = Arc::new(endpoint);
    let mut talk = Conversation {
        outlet: Outlet::new(
            Arc::clone(&endpoint),
            Arc::clone(counters),
            None,
            RequestId::NONE,
        ),
        streams: Streams::new(
            Arc::clone(&session),
            Arc::clone(&endpoint),
            Arc::clone(&running),
        ),
        running,
        session,
        endpoint: Arc::clone(&endpoint),
        counters: Arc::clone(counters),
        uploads: Uploads::default(),
        composition: Composition::default(),
        delegating: Delegating::default(),
        greeted: Greeted::No,
        pace: Pace::default(),
    };
    loop {
        match talk.turn(&endpoint, buffer) {
            Ok(Next::Go) => {}
            Ok(Next::End(end)) => {
                talk.streams.cancel_all();
                return end;
            }
            Err(Gone) => {
                talk.streams.cancel_all();
                if !counters.has_stalled() {
                    return SessionEnd::WorkerLeft;
                }
                talk.close(Closing::NotReading);
                return SessionEnd::WorkerMisbehaved;
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Greeted {
    No,
    Yes,
}

struct Conversation {
    session: Arc<Session>,
    endpoint: Arc<Endpoint<SessionSide>>,
    counters: Arc<Counters>,
    outlet: Outlet,
    streams: Streams,
    running: Running,
    uploads: Uploads,
    composition: Composition,
    delegating: Delegating,
    greeted: Greeted,
    pace: Pace,
}

impl Conversation {
    /// Takes one packet and answers it, or hands it to a stream.
    fn turn(
        &mut self,
        endpoint: &Endpoint<SessionSide>,
        buffer: &mut Buffer,
    ) -> Result<Next, Gone> {
        let packet = match self.pace.receive(endpoint, buffer) {
            Ok(packet) => packet,
            // A stream that could not send shut the socket down to end this wait.
            Err(TransportError::Closed) if self.counters.has_stalled() => return Err(Gone),
            Err(TransportError::Closed) => return Ok(Next::End(SessionEnd::WorkerLeft)),
            Err(_) => return Ok(self.misbehaved(Closing::NotAFrame)),
        };
        let (frame, _none) = match packet.decode() {
            Ok(decoded) => decoded,
            Err(DecodeError::NotAFrame | DecodeError::WrongEndpoint(_)) => {
                return Ok(self.misbehaved(Closing::NotAFrame));
            }
            Err(DecodeError::UnknownCode { id, .. }) => {
                return self.refuse(id, Code::UnsupportedVerb);
            }
            Err(DecodeError::Malformed { id, .. }) => return self.refuse(id, Code::Malformed),
        };
        self.outlet.turn_to(frame.id);
        match (self.greeted, frame.message) {
            // Again as well: programs of one worker take turns on its socket.
            (_, Request::Hello(hello)) => self.greet(&hello),
            (Greeted::No, _) => self.refuse(frame.id, Code::OutOfTurn),
            (Greeted::Yes, _) if frame.id == RequestId::NONE => {
                self.refuse(frame.id, Code::Malformed)
            }
            (Greeted::Yes, Request::Ping(_)) => {
                self.outlet.send(&Reply::Pong(Ping {}), frame.content)?;
                Ok(Next::Go)
            }
            (Greeted::Yes, Request::Cancel(cancel)) => {
                self.streams.cancel(RequestId(cancel.request));
                Ok(Next::Go)
            }
            (Greeted::Yes, request) => self.admit_request(frame.id, request, frame.content),
        }
    }

    fn admit_request(
        &mut self,
        id: RequestId,
        request: Request,
        content: &[u8],
    ) -> Result<Next, Gone> {
        self.counters.request(Counted::of(&request));
        if let Err(refusal) = self.session.meter.operation(&request) {
            self.outlet.refuse(&refusal)?;
            return Ok(Next::Go);
        }
        let input = self.session.input(&request, content);
        match request {
            Request::Read(read) => self.read(id, read, input)?,
            Request::List(list) if is_of_names(&list) => self.list(id, list, input)?,
            Request::List(_) | Request::Glob(_) | Request::Search(_) => {
                self.stream(id, Work::Request(request))?;
            }
            // One at a time, and nothing else of the session meanwhile: an effect is short, and what
            // the worker asks after it must see it.
            Request::Change(set) => {
                self.change(Order {
                    set: &set,
                    content,
                    input,
                })?;
            }
            Request::Upload(ask) => {
                let (session, outlet) = (&self.session, &mut self.outlet);
                sys::fault::enter();
                let kept = pipeline::upload(session, &mut self.uploads, &ask, content, outlet);
                sys::fault::leave();
                kept?;
            }
            Request::DropUpload(ask) => {
                self.uploads.forget(ask.upload);
                let (upload, bytes) = (ask.upload, 0);
                self.outlet
                    .send(&Reply::Uploaded(Uploaded { upload, bytes }), &[])?;
            }
            Request::Compose(ask) => self.compose(ask, content)?,
            Request::ChangeComposed(ask) => self.change_composed(ask)?,
            Request::Delegate(ask) => {
                let (session, ledger) = (&self.session, self.counters.ledger());
                self.delegating
                    .delegate(session, ledger, ask, &mut self.outlet)?;
            }
            Request::Acknowledge(ask) => {
                let noted = self.delegating.acknowledge(ask);
                self.reply(noted)?;
            }
            Request::EndDelegated(ask) => {
                let noted = self.delegating.end(self.counters.ledger(), ask);
                self.reply(noted)?;
            }
            Request::Hello(_)
            | Request::Whoami(_)
            | Request::Stat(_)
            | Request::Why(_)
            | Request::Cancel(_)
            | Request::Ping(_) => pipeline::answer(&self.session, &request, &mut self.outlet)?,
        }
        Ok(Next::Go)
    }

    /// Keeps a part of a change set, for a session that may change something.
    fn compose(&mut self, ask: Compose, part: &[u8]) -> Result<(), Gone> {
        let kept = if self.session.may_change() {
            self.composition.add(ask.offset, part)
        } else {
            Err(Refusal::new(Code::NotGranted))
        };
        match kept {
            Ok(bytes) => self.outlet.send(&Reply::Composed(Composed { bytes }), &[]),
            Err(refusal) => self.outlet.refuse(&refusal),
        }
    }

    /// Answers what was composed, which is used up when an effect was begun.
    fn change_composed(&mut self, ask: ChangeComposed) -> Result<(), Gone> {
        let composition = std::mem::take(&mut self.composition);
        match composition.read(ask) {
            Ok((set, content)) => match self.change(Order {
                set: &set,
                content,
                // Said in parts, it is no exact operation.
                input: None,
            })? {
                Used::Yes => return Ok(()),
                Used::No => {}
            },
            Err(refusal) => self.outlet.refuse(&refusal)?,
        }
        self.composition = composition;
        Ok(())
    }

    fn change(&mut self, order: Order<'_>) -> Result<Used, Gone> {
        let uploads: Vec<UploadId> = taken_by(order.set).collect();
        sys::fault::enter();
        let answered = pipeline::change(
            &self.session,
            self.counters.ledger(),
            &self.uploads,
            order,
            &mut self.outlet,
        );
        sys::fault::leave();
        let used = answered?;
        match used {
            // What was given a name cannot be given another.
            Used::Yes => uploads.into_iter().for_each(|id| self.uploads.forget(id)),
            Used::No => {}
        }
        Ok(used)
    }

    /// One file is answered here if its part is short; everything else is a stream.
    fn read(&mut self, id: RequestId, read: Read, input: Option<Digest>) -> Result<(), Gone> {
        let [selector] = read.selectors.as_slice() else {
            return self.stream(id, Work::Request(Request::Read(read)));
        };
        match pipeline::answer_short(&self.session, (&read, input), selector, &mut self.outlet)? {
            None => Ok(()),
            Some(bound) => self.stream(id, Work::Read(read, bound)),
        }
    }

    /// The names of one directory are answered here if they are few.
    fn list(&mut self, id: RequestId, list: List, input: Option<Digest>) -> Result<(), Gone> {
        match pipeline::list_short(&self.session, (&list, input), &mut self.outlet)? {
            Listed::Answered => Ok(()),
            Listed::Many(bound) => self.stream(id, Work::List(list, bound)),
            Listed::Refused => self.stream(id, Work::Request(Request::List(list))),
        }
    }

    fn stream(&mut self, id: RequestId, work: Work) -> Result<(), Gone> {
        let outlet = Outlet::new(
            Arc::clone(&self.endpoint),
            Arc::clone(&self.counters),
            Some(Arc::clone(&self.running)),
            id,
        );
        match self.streams.start(work, id, outlet) {
            Ok(()) => Ok(()),
            Err(refused) => self.outlet.refuse(&refused),
        }
    }

    fn greet(&mut self, hello: &Hello) -> Result<Next, Gone> {
        let other = hello
            .incarnation
            .is_some_and(|i| i != self.session.incarnation);
        let ours = &self.session.limits;
        if hello.version != VERSION || other || hello.limits.frame_bytes < ours.frame_bytes {
            let note = if hello.version != VERSION {
                format!(
                    "the broker speaks version {VERSION}, the client {}",
                    hello.version
                )
            } else if other {
                "the client expects another incarnation of the broker".to_owned()
            } else {
                format!("the client must take frames of {} bytes", ours.frame_bytes)
            };
            self.outlet
                .refuse(&Refusal::new(Code::VersionMismatch).noting(&note))?;
            return Ok(self.misbehaved(Closing::Incompatible));
        }
        self.delegating.turn(self.counters.ledger());
        self.greeted = Greeted::Yes;
        let welcome = Welcome {
            version: VERSION,
            limits: Limits {
                in_flight: ours.in_flight.min(hello.limits.in_flight),
                streams: ours.streams.min(hello.limits.streams),
                ..*ours
            },
            incarnation: self.session.incarnation,
            session: self.session.id,
        };
        self.outlet.send(&Reply::Welcome(welcome), &[])?;
        Ok(Next::Go)
    }

    fn reply(&mut self, answer: Result<Reply, Refusal>) -> Result<(), Gone> {
        match answer {
            Ok(reply) => self.outlet.send(&reply, &[]),
            Err(refusal) => self.outlet.refuse(&refusal),
        }
    }

    fn refuse(&mut self, id: RequestId, code: Code) -> Result<Next, Gone> {
        self.outlet.turn_to(id);
        self.outlet.refuse(&Refusal::new(code))?;
        Ok(Next::Go)
    }

    fn misbehaved(&self, closing: Closing) -> Next {
        self.close(closing);
        Next::End(SessionEnd::WorkerMisbehaved)
    }

    fn close(&self, closing: Closing) {
        // Not waited for: the worker may be gone or not reading, and the end of the socket says
        // the same.
        self.endpoint
            .try_send(&mut Vec::new(), RequestId::NONE, &Reply::Closing(closing))
            .unwrap_or_default();
    }
}
