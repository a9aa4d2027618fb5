//! One control peer: its roots, its sessions, and the answers to its orders.

mod records;
mod review;

use crate::gate;
use crate::kept::Kept;
use crate::lookup::{Lookups, Question};
use crate::mint::{self, MintError, Roots};
use crate::proposals::{ConnectionId, Reviewing, Role};
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::socket::{ReceiveError, Received, Socket};
use portcullis_protocol::VERSION;
use portcullis_protocol::authority::{Authority, RootId};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{
    self, Answer, Draining, Ended, Merged, Minted, Order, Over, RunId, Running, Sealed,
    StatusReport, Welcome,
};
use portcullis_protocol::frame::{DecodeError, RequestId};
use portcullis_protocol::ledger::CageReport;
use portcullis_protocol::limits::{ROOTS_MAX, SEND_DEADLINE_MS, SESSIONS_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_transport::ControlSide;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

/// Roots one connection may have sealed at once; each holds a descriptor.
const SEALED_MAX: usize = 1024;
/// Sessions named in a status report.
const NAMED_MAX: usize = 1024;
/// How long a runtime may leave its socket full before its connection is closed.
const DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);

/// What a gate's life reports. For one session: `Failed`, or `Ready` and then `Over`, so that
/// the queue is bounded by the number of sessions.
pub(crate) enum Report {
    /// It is caged and serves.
    Ready {
        worker: OwnedFd,
        cage: CageReport,
        gate: u32,
    },
    /// It could not be; nothing is left of it.
    Failed(Refusal),
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
}

struct Session {
    authority: Arc<Kept>,
    stage: Stage,
    /// Dropped to end it.
    stop: Option<oneshot::Sender<Infallible>>,
    /// The orders to end it, answered when it is over.
    ending: Vec<RequestId>,
}

enum Stage {
    Minting {
        order: RequestId,
        merged: Few<Merged, ROOTS_MAX>,
    },
    Running {
        gate: u32,
    },
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
            Order::Mint(order) => match self.mint(id, &order, &descriptors) {
                // Answered when the gate is caged.
                Ok(()) => return Ok(()),
                Err(refusal) => Err(refusal),
            },
            Order::End(order) => match self.end(id, order.session) {
                // Answered when the gate is reaped.
                Ok(()) => return Ok(()),
                Err(refusal) => Err(refusal),
            },
            Order::Unseal(order) => match self.roots.remove(&order.root) {
                Some(_) => Ok(Answer::Ended(Ended {})),
                None => Err(Refusal::new(Code::UnknownRoot)),
            },
            Order::Status(_) => Ok(self.status()),
            Order::Runs(order) => return self.look(id, Question::Runs(order)).await,
            Order::Log(order) => return self.look(id, Question::Log(order)).await,
            Order::Diff(order) => return self.look(id, Question::Diff(order)).await,
            Order::Verify(_) => return self.look(id, Question::Verify).await,
            Order::Refusals(order) => return self.look(id, Question::Refusals(order)).await,
            Order::Sessions(order) => return self.look(id, Question::Sessions(order)).await,
            Order::Drain(_) => {
                self.shared.drain();
                let connections = self.shared.connections();
                Ok(Answer::Draining(Draining { connections }))
            }
            Order::Proposals(order) => self.proposals(order),
            Order::Proposal(order) => return self.proposal(id, order).await,
            Order::Decide(order) => return self.decide(id, order).await,
            Order::OpenDecider(_) => return self.open_decider(id).await,
            Order::SealTask(_) | Order::Restore(_) | Order::Continue(_) => {
                Err(Refusal::new(Code::UnsupportedVerb))
            }
        };
        self.answer(id, answer.unwrap_or_else(Answer::Refused))
            .await
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

    /// Sets a gate on its way; it reports when it is caged.
    fn mint(
        &mut self,
        id: RequestId,
        order: &control::Mint,
        objects: &[OwnedFd],
    ) -> Result<(), Refusal> {
        let within = order
            .within
            .map(|parent| self.running(parent))
            .transpose()?;
        let refused = |error: MintError| error.refusal();
        let own = &self.shared.own;
        let composed = mint::compose(order, &self.roots, within.as_ref(), objects, own);
        let composed = composed.map_err(refused)?;
        let kept = Arc::new(Kept::of(&composed.authority)?);
        let run_as = mint::run_as(&composed.roots).map_err(refused)?;
        let slots = Arc::clone(&self.shared.slots);
        let slot = slots.try_acquire_owned().map_err(|_| {
            Refusal::new(Code::Exhausted).noting(&format!("{SESSIONS_MAX} sessions run already"))
        })?;
        let run = self.run(order)?;
        let Role::Runtime(connection) = self.role else {
            return Err(Refusal::new(Code::OutOfTurn));
        };
        let reviewing = Reviewing {
            connection,
            deciding: order.deciding,
        };
        let (stop, stopped) = oneshot::channel();
        let session = SessionId(self.shared.next_session());
        let life = gate::live(
            Arc::clone(&self.shared),
            gate::Session {
                id: session,
                run,
                authority: composed.authority,
                kept: Arc::clone(&kept),
                roots: composed.roots,
                run_as,
                reviewing,
                slot,
            },
            stopped,
            self.reports.clone(),
        );
        let alive = self.alive.clone();
        tokio::spawn(async move {
            life.await;
            drop(alive);
        });
        self.sessions.insert(
            session,
            Session {
                authority: kept,
                stage: Stage::Minting {
                    order: id,
                    merged: composed.merged,
                },
                stop: Some(stop),
                ending: Vec::new(),
            },
        );
        Ok(())
    }

    /// The authority of a session of this connection.
    fn running(&self, session: SessionId) -> Result<Authority, Refusal> {
        match self.sessions.get(&session) {
            Some(Session {
                authority,
                stage: Stage::Running { .. },
                ..
            }) => authority.open(),
            Some(_) | None => Err(Refusal::new(Code::UnknownSession)),
        }
    }

    fn end(&mut self, id: RequestId, session: SessionId) -> Result<(), Refusal> {
        match self.sessions.get_mut(&session) {
            Some(session) if matches!(session.stage, Stage::Running { .. }) => {
                session.ending.push(id);
                drop(session.stop.take());
                Ok(())
            }
            // A session is known to nobody before it is minted.
            Some(_) | None => Err(Refusal::new(Code::UnknownSession)),
        }
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

    /// Tells what became of a session.
    async fn report(&mut self, id: SessionId, report: Report) -> Result<(), Closed> {
        match report {
            Report::Ready { worker, cage, gate } => self.minted(id, &worker, cage, gate).await,
            Report::Failed(refusal) => match self.sessions.remove(&id).map(|s| s.stage) {
                Some(Stage::Minting { order, .. }) => self.refuse(order, refusal).await,
                Some(Stage::Running { .. }) | None => Err(Closed),
            },
            Report::Over { over, slot } => {
                let session = self.sessions.remove(&id).ok_or(Closed)?;
                self.answer(RequestId::NONE, Answer::Over(over)).await?;
                for order in session.ending {
                    self.answer(order, Answer::Ended(Ended {})).await?;
                }
                drop(slot);
                Ok(())
            }
        }
    }

    /// Hands out the worker's socket; the copy here closes with the report.
    async fn minted(
        &mut self,
        id: SessionId,
        worker: &OwnedFd,
        cage: CageReport,
        gate: u32,
    ) -> Result<(), Closed> {
        let session = self.sessions.get_mut(&id).ok_or(Closed)?;
        let authority = session.authority.id();
        let run = self.run.ok_or(Closed)?;
        let stage = std::mem::replace(&mut session.stage, Stage::Running { gate });
        let Stage::Minting { order, merged } = stage else {
            return Err(Closed);
        };
        let minted = Answer::Minted(Minted {
            session: id,
            authority,
            run,
            merged,
            cage,
        });
        self.answer_with(order, minted, &[worker.as_fd()]).await
    }
}
