//! Sessions of a connection, from the order or the wish to the worker's socket.

use super::{Closed, Connection, Report};
use crate::budget::{Purse, Taken};
use crate::gate::{self, Answering, Given};
use crate::kept::Kept;
use crate::launch::Ignore;
use crate::mint::{self, Around, Composed, MintError};
use crate::proposals::{Reviewing, Role};
use portcullis_protocol::authority::{Authority, Budgets};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{self, Answer, Deciding, Merged, Minted, RunId};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{CageReport, RunAs};
use portcullis_protocol::limits::{ROOTS_MAX, SESSIONS_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Delegated, SessionId};
use std::convert::Infallible;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

pub(super) struct Session {
    pub(super) authority: Arc<Kept>,
    pub(super) purse: Arc<Purse>,
    pub(super) deciding: Deciding,
    pub(super) run_as: Option<RunAs>,
    pub(super) ignore: Ignore,
    pub(super) within: Option<Within>,
    /// The sessions around it, the nearest first.
    pub(super) ancestors: Box<[SessionId]>,
    pub(super) stage: Stage,
    /// Dropped to end it.
    pub(super) stop: Option<oneshot::Sender<Infallible>>,
}

impl Session {
    /// Whether its socket was handed out.
    pub(super) const fn is_made(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }
}

/// What a session was made within. It ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) parent: SessionId,
    pub(super) by: By,
}

/// Whose wish a session within another one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The runtime's.
    Runtime,
    /// The worker's of the other one, which alone may end it beside the runtime.
    Worker,
}

pub(super) enum Stage {
    Minting {
        asked: Asked,
        merged: Few<Merged, ROOTS_MAX>,
        /// Its budgets go back if it is not made.
        taken: Taken,
    },
    Running {
        gate: u32,
    },
}

/// Who is told of a session when it is made.
pub(super) enum Asked {
    /// The runtime, in answer to its order.
    Order(RequestId),
    /// The gate of the session that delegates.
    Gate(Answering),
}

/// A session that is to be.
pub(super) struct New {
    pub(super) asked: Asked,
    pub(super) composed: Composed,
    pub(super) run_as: Option<RunAs>,
    pub(super) ignore: Ignore,
    pub(super) taken: Taken,
    pub(super) deciding: Deciding,
    pub(super) within: Option<Within>,
}

/// A session that runs, for one that is to be made within it or of it.
pub(super) struct Above {
    pub(super) id: SessionId,
    pub(super) authority: Authority,
    pub(super) purse: Arc<Purse>,
}

impl Above {
    /// What a session within it, or none, is given of what is wished for.
    pub(super) fn take(above: Option<&Self>, wished: &Budgets) -> Taken {
        match above {
            Some(above) => above.purse.take(wished),
            None => Taken::from_nobody(*wished),
        }
    }
}

impl Connection {
    /// Sets a gate on its way; it reports when it is caged.
    pub(super) fn mint(
        &mut self,
        id: RequestId,
        order: &control::Mint,
        objects: &[OwnedFd],
    ) -> Result<(), Refusal> {
        let above = order.within.map(|parent| self.above(parent)).transpose()?;
        let taken = Above::take(above.as_ref(), &order.budgets);
        let refused = |error: MintError| error.refusal();
        let around = Around {
            within: above.as_ref().map(|above| &above.authority),
            own: &self.shared.own,
            budgets: taken.given(),
        };
        let composed = mint::compose(order, &self.roots, objects, &around).map_err(refused)?;
        let run_as = mint::run_as(&composed.roots).map_err(refused)?;
        self.start(New {
            asked: Asked::Order(id),
            composed,
            run_as,
            ignore: Ignore::new(order.ignore.clone()),
            taken,
            deciding: order.deciding,
            within: above.map(|above| Within {
                parent: above.id,
                by: By::Runtime,
            }),
        })
        .map_err(|(refusal, _)| refusal)
    }

    /// Starts the life of a session. Who asked for it comes back with a refusal.
    pub(super) fn start(&mut self, new: New) -> Result<(), (Refusal, Asked)> {
        let New {
            asked,
            composed,
            run_as,
            ignore,
            taken,
            deciding,
            within,
        } = new;
        let (kept, slot, reviewing, run) = match self.prepare(&composed, within, deciding) {
            Ok(ready) => ready,
            Err(refusal) => return Err((refusal, asked)),
        };
        let purse = Purse::of(composed.authority.parts().budgets);
        let (stop, stopped) = oneshot::channel();
        let session = SessionId(self.shared.next_session());
        let ancestors = self.ancestors(within);
        let life = gate::live(
            Arc::clone(&self.shared),
            gate::Session {
                id: session,
                run,
                lineage: self.lineage(&composed.authority, &ignore, &ancestors),
                authority: composed.authority,
                kept: Arc::clone(&kept),
                roots: composed.roots,
                run_as,
                ignore: Arc::clone(&ignore),
                purse: Arc::clone(&purse),
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
                purse,
                deciding,
                run_as,
                ignore,
                within,
                ancestors,
                stage: Stage::Minting {
                    asked,
                    merged: composed.merged,
                    taken,
                },
                stop: Some(stop),
            },
        );
        Ok(())
    }

    /// What a session needs beside what it is made of.
    fn prepare(
        &mut self,
        composed: &Composed,
        within: Option<Within>,
        deciding: Deciding,
    ) -> Result<(Arc<Kept>, OwnedSemaphorePermit, Reviewing, RunId), Refusal> {
        self.check_depth(within)?;
        let kept = Arc::new(Kept::of(&composed.authority)?);
        let slots = Arc::clone(&self.shared.slots);
        let slot = slots.try_acquire_owned().map_err(|_| {
            let note = format!("{SESSIONS_MAX} sessions run already");
            Refusal::new(Code::Exhausted).noting(&note)
        })?;
        let Role::Runtime(connection) = self.role else {
            return Err(Refusal::new(Code::OutOfTurn));
        };
        let reviewing = Reviewing {
            connection,
            deciding,
        };
        Ok((kept, slot, reviewing, self.run(composed.authority.parts())?))
    }

    /// A session of this connection that runs and is not about to end.
    pub(super) fn running(&self, id: SessionId) -> Result<&Session, Refusal> {
        match self.sessions.get(&id) {
            Some(
                session @ Session {
                    stage: Stage::Running { .. },
                    stop: Some(_),
                    ..
                },
            ) => Ok(session),
            Some(_) | None => Err(Refusal::new(Code::UnknownSession)),
        }
    }

    /// The same, for another one to be made within it or of it.
    pub(super) fn above(&self, id: SessionId) -> Result<Above, Refusal> {
        let session = self.running(id)?;
        Ok(Above {
            id,
            authority: session.authority.open()?,
            purse: Arc::clone(&session.purse),
        })
    }

    /// Tells what a session says of its life.
    pub(super) async fn report(&mut self, id: SessionId, report: Report) -> Result<(), Closed> {
        match report {
            Report::Ready { worker, cage, gate } => self.minted(id, worker, cage, gate).await,
            Report::Failed(refusal) => self.failed(id, refusal).await,
            Report::Asks(asking, answering) => {
                self.asks(id, asking, answering);
                Ok(())
            }
            Report::Ending => {
                self.stop(id);
                Ok(())
            }
            Report::Over { over, slot } => self.over(id, over, slot).await,
        }
    }

    /// Hands out the worker's socket.
    async fn minted(
        &mut self,
        id: SessionId,
        worker: OwnedFd,
        cage: CageReport,
        gate: u32,
    ) -> Result<(), Closed> {
        let session = self.sessions.get_mut(&id).ok_or(Closed)?;
        let authority = session.authority.id();
        let run = self.run.ok_or(Closed)?;
        let stage = std::mem::replace(&mut session.stage, Stage::Running { gate });
        let Stage::Minting {
            asked,
            merged,
            taken,
        } = stage
        else {
            return Err(Closed);
        };
        taken.for_good();
        match asked {
            Asked::Order(order) => {
                let minted = Answer::Minted(Minted {
                    session: id,
                    authority,
                    run,
                    merged,
                    cage,
                });
                self.answer_with(order, minted, &[worker.as_fd()]).await
            }
            Asked::Gate(answering) => {
                let delegated = Delegated {
                    session: id,
                    authority,
                };
                // A gate that listens no more is about to end, and this session with it.
                drop(answering.send(Ok(Given::Session(delegated, worker))));
                Ok(())
            }
        }
    }

    async fn failed(&mut self, id: SessionId, refusal: Refusal) -> Result<(), Closed> {
        let stage = self.sessions.remove(&id).map(|session| session.stage);
        let Some(Stage::Minting { asked, .. }) = stage else {
            return Err(Closed);
        };
        self.ended(id).await?;
        match asked {
            Asked::Order(order) => self.refuse(order, refusal).await,
            Asked::Gate(answering) => {
                drop(answering.send(Err(for_worker(&refusal))));
                Ok(())
            }
        }
    }
}

/// Why a gate could not be had, for a worker: notes are for the runtime, and may name host things.
pub(super) fn for_worker(refusal: &Refusal) -> Refusal {
    Refusal::new(refusal.code).noting("the new session could not be started")
}
