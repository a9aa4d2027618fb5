//! One control peer: its roots, its sessions, and the answers to its orders.

mod lives;
mod mint;
mod records;
mod review;
mod tasks;

use crate::gate::{Answering, Asking};
use crate::lookup::{Lookups, Question};
use crate::mint::Roots;
use crate::proposals::{ConnectionId, Role};
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::socket::{ReceiveError, Received, Socket};
use lives::Wait;
use mint::{Session, Stage};
use portcullis_protocol::VERSION;
use portcullis_protocol::authority::RootId;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{
    self, Answer, Draining, Ended, Order, Over, RunId, Running, Sealed, StatusReport, Welcome,
};
use portcullis_protocol::frame::{DecodeError, RequestId};
use portcullis_protocol::ledger::CageReport;
use portcullis_protocol::limits::SEND_DEADLINE_MS;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_transport::ControlSide;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

/// Roots one connection may have sealed at once; each holds a descriptor.
const SEALED_MAX: usize = 1024;
/// Sessions named in a status report.
const NAMED_MAX: usize = 1024;
/// How long a runtime may leave its socket full before its connection is closed.
const DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);

/// What a gate's life reports. For one session: `Failed`, or `Ready`, `Asks` one at a time,
/// `Ending` and `Over`, so that the queue is bounded by the number of sessions.
pub(crate) enum Report {
    /// It is caged and serves.
    Ready {
        worker: OwnedFd,
        cage: CageReport,
        gate: u32,
    },
    /// It could not be; nothing is left of it.
    Failed(Refusal),
    /// It asks for something on behalf of its worker.
    Asks(Asking, Answering),
    /// It serves no more.
    Ending,
    /// It is reaped. Its slot is free once this is told.
    Over {
        over: Over,
        slot: OwnedSemaphorePermit,
    },
}

/// As what a peer is served.
pub(crate) enum As {
    /// A process of the broker's own user.
    Runtime,
    /// Whoever has the connection that this one opened for deciding, which is over with it.
    Decider {
        opener: ConnectionId,
        opened: oneshot::Receiver<Infallible>,
    },
    /// A process of another user, who may decide.
    User(u32),
}

/// Serves one control socket until it closes, breaks the protocol, does not read, or the warden
/// stops. Then its roots are forgotten and its gates are killed: each has lost its `stop`.
/// `alive` is held until all that is done.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    socket: Socket<ControlSide>,
    whom: As,
    mut stopped: watch::Receiver<()>,
    alive: mpsc::Sender<Infallible>,
) {
    let (role, mut opened) = match whom {
        As::Runtime => (Role::Runtime(shared.next_connection()), None),
        As::Decider { opener, opened } => (Role::Decider(opener), Some(opened)),
        As::User(user) => (Role::User(user), None),
    };
    let (reports, mut reported) = mpsc::unbounded_channel();
    let (lookups, mut found) = Lookups::new();
    let _counted = shared.connected();
    let mut connection = Connection {
        shared,
        socket,
        reports,
        lookups,
        role,
        deciders: Vec::new(),
        run: None,
        stopped: stopped.clone(),
        alive,
        greeting: Greeting::Awaited,
        roots: Roots::new(),
        sessions: BTreeMap::new(),
        waits: Vec::new(),
    };
    loop {
        let next = tokio::select! {
            order = connection.socket.receive(&connection.shared.buffer) => {
                connection.order(order).await
            }
            Some((session, report)) = reported.recv() => connection.report(session, report).await,
            Some(found) = found.recv() => connection.tell(&found).await,
            _ = stopped.changed() => Err(Closed),
            () = closed(&mut opened) => Err(Closed),
        };
        if let Err(Closed) = next {
            return connection.end_run();
        }
    }
}

/// Resolves when the connection that opened this one is over.
async fn closed(opened: &mut Option<oneshot::Receiver<Infallible>>) {
    match opened {
        Some(opened) => drop(opened.await),
        None => std::future::pending().await,
    }
}

/// The connection is over.
struct Closed;

/// Whether the peer said hello.
enum Greeting {
    Awaited,
    Done,
}

struct Connection {
    shared: Arc<Shared>,
    socket: Socket<ControlSide>,
    reports: mpsc::UnboundedSender<(SessionId, Report)>,
    lookups: Lookups,
    role: Role,
    /// The connections for deciding that it opened; dropped, they are over.
    deciders: Vec<oneshot::Sender<Infallible>>,
    /// Its sessions are one run, which begins with the first of them.
    run: Option<RunId>,
    stopped: watch::Receiver<()>,
    alive: mpsc::Sender<Infallible>,
    greeting: Greeting,
    roots: Roots,
    sessions: BTreeMap<SessionId, Session>,
    /// Who waits for sessions to be over.
    waits: Vec<Wait>,
}

impl Connection {
    async fn answer(&self, id: RequestId, answer: Answer) -> Result<(), Closed> {
        self.answer_with(id, answer, &[]).await
    }

    async fn answer_with(
        &self,
        id: RequestId,
        answer: Answer,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), Closed> {
        let sent = self.socket.send(id, &answer, descriptors, DEADLINE).await;
        sent.map_err(|_| Closed)
    }

    async fn refuse(&self, id: RequestId, refusal: Refusal) -> Result<(), Closed> {
        self.answer(id, Answer::Refused(refusal)).await
    }

    /// Answers one order. Descriptors it does not use are closed.
    async fn order(
        &mut self,
        order: Result<Received<ControlSide>, ReceiveError>,
    ) -> Result<(), Closed> {
        let Received {
            id,
            message,
            descriptors,
            ..
        } = match order {
            Ok(received) => received,
            Err(ReceiveError::Transport(_)) => return Err(Closed),
            Err(ReceiveError::Decode(error)) => return self.misread(error).await,
        };
        if let Order::Hello(hello) = message {
            return self.hello(id, &hello).await;
        }
        if matches!(self.greeting, Greeting::Awaited) {
            let refusal = Refusal::new(Code::OutOfTurn).noting("a hello is wanted first");
            return self.refuse(id, refusal).await;
        }
        if let Err(refusal) = review::may(self.role, &message) {
            return self.refuse(id, refusal).await;
        }
        let answer = match message {
            Order::Hello(_) => return Err(Closed),
            Order::Seal(order) => self.seal(order, descriptors),
            // Answered when the gate is caged.
            Order::Mint(order) => {
                let begun = self.mint(id, &order, &descriptors);
                return self.later(id, begun).await;
            }
            // Answered when its gate, and all within it, is reaped.
            Order::End(order) => {
                let begun = self.end(id, order.session);
                return self.later(id, begun).await;
            }
            Order::Unseal(order) => self.unseal(order.root),
            Order::Status(_) => Ok(self.status()),
            Order::Runs(order) => return self.look(id, Question::Runs(order)).await,
            Order::Log(order) => return self.look(id, Question::Log(order)).await,
            Order::Diff(order) => return self.look(id, Question::Diff(order)).await,
            Order::Verify(_) => return self.look(id, Question::Verify).await,
            Order::Refusals(order) => return self.look(id, Question::Refusals(order)).await,
            Order::Sessions(order) => return self.look(id, Question::Sessions(order)).await,
            Order::Drain(_) => Ok(self.drain()),
            Order::Proposals(order) => self.proposals(order),
            Order::Proposal(order) => return self.proposal(id, order).await,
            Order::Decide(order) => return self.decide(id, order).await,
            Order::OpenDecider(_) => return self.open_decider(id).await,
            Order::SealTask(order) => self.seal_task(&order),
            // Both are answered when the gate is caged.
            Order::Restore(order) => {
                let begun = self.restore(id, &order);
                return self.later(id, begun).await;
            }
            Order::Continue(order) => {
                let begun = self.go_on(id, &order);
                return self.later(id, begun).await;
            }
        };
        self.answer(id, answer.unwrap_or_else(Answer::Refused))
            .await
    }

    /// What was begun is answered later; what was not, now.
    async fn later(&self, id: RequestId, begun: Result<(), Refusal>) -> Result<(), Closed> {
        match begun {
            Ok(()) => Ok(()),
            Err(refusal) => self.refuse(id, refusal).await,
        }
    }

    fn unseal(&mut self, root: RootId) -> Result<Answer, Refusal> {
        match self.roots.remove(&root) {
            Some(_) => Ok(Answer::Ended(Ended {})),
            None => Err(Refusal::new(Code::UnknownRoot)),
        }
    }

    fn drain(&self) -> Answer {
        self.shared.drain();
        let connections = self.shared.connections();
        Answer::Draining(Draining { connections })
    }

    /// An order that is not understood is refused when it can be told which it was.
    async fn misread(&self, error: DecodeError) -> Result<(), Closed> {
        let (id, code) = match error {
            DecodeError::NotAFrame | DecodeError::WrongEndpoint(_) => return Err(Closed),
            DecodeError::UnknownCode { id, .. } => (id, Code::UnsupportedVerb),
            DecodeError::Malformed { id, .. } => (id, Code::Malformed),
        };
        self.refuse(id, Refusal::new(code).noting(&error.to_string()))
            .await
    }

    async fn hello(&mut self, id: RequestId, hello: &control::Hello) -> Result<(), Closed> {
        if matches!(self.greeting, Greeting::Done) {
            let refusal = Refusal::new(Code::OutOfTurn).noting("hello was said already");
            return self.refuse(id, refusal).await;
        }
        let wrong = if hello.version != VERSION {
            Some(format!(
                "the runtime speaks version {}, this broker {VERSION}",
                hello.version
            ))
        } else if hello
            .incarnation
            .is_some_and(|i| i != self.shared.incarnation)
        {
            Some("this is another broker, or another life of it, than expected".to_owned())
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let refusal = Refusal::new(Code::VersionMismatch).noting(&wrong);
            self.refuse(id, refusal).await?;
            return Err(Closed);
        }
        self.greeting = Greeting::Done;
        let welcome = Welcome {
            version: VERSION,
            incarnation: self.shared.incarnation,
            build: self.shared.terms.build,
            sharing: self.shared.terms.sharing,
        };
        self.answer(id, Answer::Welcome(welcome)).await
    }

    fn seal(&mut self, order: control::Seal, descriptors: Vec<OwnedFd>) -> Result<Answer, Refusal> {
        let cannot = |why: &str| Refusal::new(Code::CannotSeal).noting(why);
        if self.roots.len() >= SEALED_MAX {
            return Err(cannot(&format!(
                "this connection has {SEALED_MAX} roots; unseal some"
            )));
        }
        let id = RootId(self.shared.next_root());
        let sealed = SealedRoot::seal(id, order.label, order.scope, descriptors)
            .map_err(|error| cannot(&error.to_string()))?;
        let answer = Answer::Sealed(Sealed {
            root: id,
            location: sealed.root().location.clone(),
            identity: sealed.root().identity,
        });
        self.roots.insert(id, Arc::new(sealed));
        Ok(answer)
    }

    fn status(&self) -> Answer {
        let running: Vec<Running> = self
            .sessions
            .iter()
            .filter_map(|(id, session)| match session.stage {
                Stage::Running { gate } => Some(Running { session: *id, gate }),
                Stage::Minting { .. } => None,
            })
            .collect();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Answer::Status(StatusReport {
            roots: count(self.roots.len()),
            running: count(running.len()),
            sessions: Few::new(running.into_iter().take(NAMED_MAX).collect()).unwrap_or_default(),
        })
    }
}
