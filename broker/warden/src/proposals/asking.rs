//! What one session's gate asks for: each in a task of its own, so that the session goes on meanwhile.

use super::decide::ConnectionId;
use super::{Family, Found, executor, proposer};
use crate::budget::Purse;
use crate::effect::{Lied, Turns, no_ledger};
use crate::kept::Kept;
use crate::launch::Ignore;
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::state::SessionRow;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::control::{Deciding, RunId};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Asked, Command, RunAs};
use portcullis_protocol::limits::PROPOSALS_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::view::Digest;
use std::future::pending;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Whose sessions these are, and who decides about what they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reviewing {
    pub(crate) connection: ConnectionId,
    pub(crate) deciding: Deciding,
}

/// A session that may ask for something.
pub(crate) struct Asker {
    pub(crate) session: SessionId,
    pub(crate) family: Family,
    pub(crate) row: SessionRow,
    pub(crate) run: RunId,
    pub(crate) reviewing: Reviewing,
    pub(crate) kept: Arc<Kept>,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
    pub(crate) ignore: Ignore,
    pub(crate) purse: Arc<Purse>,
    /// What its own gate serves.
    pub(crate) socket: SocketId,
    /// One effect at a time, of its gate and those that do what was approved.
    pub(crate) turns: Turns,
}

/// Which socket, while it is open: what the kernel numbers it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketId(u64, u64);

impl SocketId {
    pub(crate) fn of(socket: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        let stat = rustix::fs::fstat(socket)?;
        Ok(Self(stat.st_dev, stat.st_ino))
    }
}

/// What became of something that was asked for.
#[derive(Debug)]
pub(crate) enum Became {
    /// The gate that asked is told this.
    Answer(Command),
    /// It was begun or shown, and whoever did it is gone without a word to the worker: the session
    /// ends, which the worker sees.
    Lost,
}

impl Became {
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::Answer(Command::NotBegun(refusal))
    }
}

/// What is under way for one session.
pub(crate) struct Asks {
    shared: Arc<Shared>,
    /// None for a session that can ask for nothing.
    asker: Option<Arc<Asker>>,
    running: JoinSet<(RequestId, Became)>,
    stop: watch::Sender<Stop>,
}

/// Whether what is under way is to end: at once, or when what it has begun has ended, within the
/// bound for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Yes,
}

impl Asks {
    pub(crate) fn new(shared: &Arc<Shared>, asker: Option<Asker>) -> Self {
        Self {
            shared: Arc::clone(shared),
            asker: asker.map(Arc::new),
            running: JoinSet::new(),
            stop: watch::Sender::new(Stop::No),
        }
    }

    /// Takes what a gate asks for; gives its answer where that is known at once.
    pub(crate) fn take(
        &mut self,
        id: RequestId,
        asked: Asked,
        content: Vec<u8>,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Option<Command>, Lied> {
        let asker = self.asker.as_ref();
        let asker = asker.ok_or(Lied("a gate that has nothing to ask for asked"))?;
        let Ok([worker]) = <[OwnedFd; 1]>::try_from(descriptors) else {
            return Err(Lied("the gate asked without its session's socket"));
        };
        if SocketId::of(worker.as_fd()) != Ok(asker.socket) {
            return Err(Lied(
                "the gate asked with another socket than its session's",
            ));
        }
        if input_of(&asked, &content) != asked.input {
            return Err(Lied("the gate asked for something else than it said"));
        }
        if self.running.len() >= PROPOSALS_MAX {
            let note = format!("{PROPOSALS_MAX} operations are being worked out already");
            let refusal = Refusal::new(Code::TooManyInFlight).noting(&note);
            return Ok(Some(Command::NotBegun(refusal)));
        }
        let work = Work {
            shared: Arc::clone(&self.shared),
            asker: Arc::clone(asker),
            asked,
            content,
            stop: self.stop.subscribe(),
        };
        self.running
            .spawn(async move { (id, work.ask(worker).await) });
        Ok(None)
    }

    /// Waits for the next to be known. Nothing is lost when the wait is given up.
    pub(crate) async fn next(&mut self) -> (RequestId, Became) {
        match self.running.join_next().await {
            Some(Ok(became)) => became,
            // One that panicked: whether the worker was answered is not known.
            Some(Err(_)) => (RequestId::NONE, Became::Lost),
            None => pending().await,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Nothing more is begun; what is begun may end, within the bound for that.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(Stop::Yes);
    }

    /// Ends what is under way and what waits. Then no gate of it is left.
    pub(crate) async fn end(&mut self) {
        self.stop();
        while self.running.join_next().await.is_some() {}
        if let Some(asker) = &self.asker {
            for holder in self.shared.proposals.forget(asker.session) {
                holder.end().await;
            }
        }
    }
}

/// The digest of a whole operation, of the bytes it came in. They are not decoded here.
fn input_of(asked: &Asked, content: &[u8]) -> Digest {
    let body = asked.body.as_slice();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&asked.code.to_le_bytes());
    hasher.update(&u64::try_from(body.len()).unwrap_or(u64::MAX).to_le_bytes());
    hasher.update(body).update(content);
    Digest(*hasher.finalize().as_bytes())
}

/// One operation that is asked for.
pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) asker: Arc<Asker>,
    pub(super) asked: Asked,
    pub(super) content: Vec<u8>,
    pub(super) stop: watch::Receiver<Stop>,
}

impl Work {
    async fn ask(self, worker: OwnedFd) -> Became {
        let Shared {
            proposals, state, ..
        } = &*self.shared;
        let found = match proposals.find(
            state,
            (self.asker.session, self.asker.family),
            self.asked.input,
        ) {
            Ok(found) => found,
            Err(error) => return Became::refused(no_ledger(&error)),
        };
        match found {
            Found::New(place) => {
                drop(worker);
                Became::refused(proposer::propose(self, place).await)
            }
            Found::Approved(execution) => executor::execute(self, execution, worker).await,
            Found::Pending(id) => Became::refused(awaiting(id)),
            Found::Refused(ProposalId(id)) => {
                let note = format!("proposal {id} was refused by whoever decides");
                Became::refused(Refusal::new(Code::Denied).noting(&note))
            }
            Found::Busy => {
                let note = "exactly this is being worked out, or done, already";
                Became::refused(Refusal::new(Code::TooManyInFlight).noting(note))
            }
            Found::Full(refusal) => Became::refused(refusal),
        }
    }

    /// Resolves when the session is to end.
    pub(super) async fn stopped(stop: &mut watch::Receiver<Stop>) {
        // The sender is gone with the session.
        drop(stop.wait_for(|stop| *stop == Stop::Yes).await);
    }
}

pub(super) fn awaiting(id: ProposalId) -> Refusal {
    Refusal::new(Code::NeedsApproval).awaiting(id)
}
