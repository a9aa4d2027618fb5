//! Operations that wait for a decision, or for their use. Each is held by a gate that only looks: it has
//! the objects open, so that their numbers go to nothing else while people think.
//!
//! What is on record decides; what is kept here is who holds it and what is shown of it. A
//! proposal that is neither pending nor approved is only remembered where it was refused, so that
//! asking again says so.

mod asking;
mod bound;
mod decide;
mod executor;
mod places;
mod proposer;
mod show;

pub(crate) use asking::{Asker, Asks, Became, Reviewing, SocketId};
pub(crate) use decide::{ConnectionId, MadeSessions, Needs, Role, Sees, needs, not_decider};
pub(crate) use places::Ended;

use crate::state::{Decided, NewProposal, State, StateError, now_ms};
use portcullis_protocol::approval::{Approval, Approver, Bound, ProposalId, ProposalState};
use portcullis_protocol::control::ProposalRecord;
use portcullis_protocol::ledger::Intent;
use portcullis_protocol::limits::{PROPOSALS_ALL_MAX, PROPOSALS_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::view::Digest;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Refused operations of one session that are remembered; of the rest it is asked anew.
const REFUSED_MAX: usize = 64;
/// Proposals that wait no longer of which it is remembered who saw them.
const GONE_MAX: usize = 1024;

/// The proposals of one warden.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proposals(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    waiting: BTreeMap<ProposalId, Proposal>,
    sessions: HashMap<SessionId, OfSession>,
    /// The last that waited and do so no longer.
    gone: VecDeque<(ProposalId, Reviewing)>,
}

/// What one session has asked for.
#[derive(Debug)]
struct OfSession {
    family: Family,
    inputs: HashMap<Digest, Known>,
    refused: VecDeque<(Digest, ProposalId)>,
}

/// The outermost of the sessions that one was made within, or itself: a worker that delegates has
/// no more places than one that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family(pub(crate) SessionId);

#[derive(Debug, Clone, Copy)]
enum Known {
    /// A gate works it out.
    Binding,
    /// It waits for a decision or for its use, or is being used.
    Waiting(ProposalId),
}

#[derive(Debug)]
struct Proposal {
    session: SessionId,
    input: Digest,
    reviewing: Reviewing,
    /// All but its state and approver, which are below.
    record: ProposalRecord,
    intent: Arc<Intent>,
    diff: Vec<u8>,
    standing: Standing,
    /// None once its gate is gone, which it may be only while it is being used.
    holder: Option<Holder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Pending,
    Approved(Approver),
    /// A gate is at it, and may or may not have spent it.
    Used(Approver),
}

/// What keeps the gate that holds a proposal; dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Holder {
    _stop: oneshot::Sender<Infallible>,
    gone: oneshot::Receiver<Infallible>,
}

/// The other end of a [`Holder`], for whoever keeps the gate: resolves when it is to be ended.
/// Dropped when it is gone.
#[derive(Debug)]
pub(crate) struct Keeping {
    stopped: oneshot::Receiver<Infallible>,
    _gone: oneshot::Sender<Infallible>,
}

impl Holder {
    pub(crate) fn new() -> (Self, Keeping) {
        let (stop, stopped) = oneshot::channel();
        let (gone, is_gone) = oneshot::channel();
        let holder = Self {
            _stop: stop,
            gone: is_gone,
        };
        let keeping = Keeping {
            stopped,
            _gone: gone,
        };
        (holder, keeping)
    }

    /// Ends the gate, and waits until it is gone.
    pub(crate) async fn end(self) {
        let Self { _stop, gone } = self;
        drop(_stop);
        drop(gone.await);
    }
}

/// What there is of an operation that a session asks for.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing: it may be worked out in this place.
    New(Place),
    /// It waits for a decision.
    Pending(ProposalId),
    /// It was refused.
    Refused(ProposalId),
    /// It was approved, and may be used this once.
    Approved(Execution),
    /// The same operation is being worked out or done.
    Busy,
    /// There is no place.
    Full(Refusal),
}

/// A place for an operation that is being worked out. Dropped, it is free again.
#[derive(Debug)]
pub(crate) struct Place {
    proposals: Proposals,
    session: SessionId,
    input: Digest,
}

/// The one use of an approval. Dropped without [`Execution::end`] it stays taken, as it is not known
/// what was done with it; it goes with its session.
#[derive(Debug)]
pub(crate) struct Execution {
    proposals: Proposals,
    approval: Approval,
    intent: Arc<Intent>,
}

/// What a proposal is made of.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) reviewing: Reviewing,
    pub(crate) new: NewProposal,
    pub(crate) bound: Bound,
    /// Its line has no number yet.
    pub(crate) record: ProposalRecord,
    pub(crate) diff: Vec<u8>,
    pub(crate) holder: Holder,
}

impl Proposals {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in the table panics between two of its states.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is of an operation of a session. What is past its time is void.
    pub(crate) fn find(
        &self,
        state: &State,
        (session, family): (SessionId, Family),
        input: Digest,
    ) -> Result<Found, StateError> {
        let mut table = self.table();
        if let Some(Known::Waiting(id)) = table.known(session, input)
            && table.is_over(id, now_ms())
        {
            state.void_proposal(id)?;
            table.remove(id);
        }
        match table.known(session, input) {
            Some(Known::Binding) => return Ok(Found::Busy),
            Some(Known::Waiting(id)) => {
                if let Some(proposal) = table.waiting.get_mut(&id) {
                    return Ok(self.found(id, proposal));
                }
            }
            None => {}
        }
        if let Some(id) = table.refused(session, input) {
            return Ok(Found::Refused(id));
        }
        if let Err(full) = table.room(family) {
            return Ok(Found::Full(full));
        }
        let of_session = table.sessions.entry(session);
        let of_session = of_session.or_insert_with(|| OfSession {
            family,
            inputs: HashMap::new(),
            refused: VecDeque::new(),
        });
        of_session.inputs.insert(input, Known::Binding);
        Ok(Found::New(Place {
            proposals: self.clone(),
            session,
            input,
        }))
    }

    fn found(&self, id: ProposalId, proposal: &mut Proposal) -> Found {
        match proposal.standing {
            Standing::Pending => Found::Pending(id),
            Standing::Used(_) => Found::Busy,
            Standing::Approved(approver) => {
                proposal.standing = Standing::Used(approver);
                Found::Approved(Execution {
                    proposals: self.clone(),
                    approval: Approval {
                        proposal: id,
                        approver,
                    },
                    intent: Arc::clone(&proposal.intent),
                })
            }
        }
    }

    /// Writes a decision down. `seen` is the digest of what was shown to whoever decides.
    pub(crate) fn decide(
        &self,
        state: &State,
        id: ProposalId,
        seen: Digest,
        decided: Decided,
    ) -> Result<ProposalState, Refusal> {
        let mut table = self.table();
        let proposal = table.waiting.get_mut(&id).ok_or_else(unknown)?;
        match proposal.standing {
            Standing::Pending => {}
            Standing::Approved(_) | Standing::Used(_) => return Err(is_decided("approved")),
        }
        if proposal.input != seen {
            let note = "it is not what was shown; look at it again";
            return Err(Refusal::new(Code::Conflict).noting(note));
        }
        let is = state
            .decide_proposal(id, decided)
            .map_err(|error| unwritten(&error))?;
        if is != Some(decided.state()) {
            // It is past its time, or void on record.
            state.void_proposal(id).map_err(|error| unwritten(&error))?;
            table.remove(id);
            return Err(is_decided("void"));
        }
        match decided {
            Decided::Approved(approver) => proposal.standing = Standing::Approved(approver),
            Decided::Refused(_) => table.refuse(id),
        }
        Ok(decided.state())
    }

    /// A proposal that was not used waits no longer: its time is over, or its gate is gone. One
    /// that is being used goes on without its gate, and is void afterwards.
    pub(crate) fn lost(&self, state: &State, id: ProposalId) {
        let mut table = self.table();
        let Some(proposal) = table.waiting.get_mut(&id) else {
            return;
        };
        match proposal.standing {
            Standing::Used(_) => proposal.holder = None,
            // Where the journal does not take it, it is gone here all the same, and the next warden
            // makes it void.
            Standing::Pending | Standing::Approved(_) => {
                state.void_proposal(id).ok();
                table.remove(id);
            }
        }
    }

    /// Forgets all that a session asked for, which is void with it; gives what holds it. What is
    /// on record of it ends with the session's row.
    #[must_use = "the gates are to be waited for"]
    pub(crate) fn forget(&self, session: SessionId) -> Vec<Holder> {
        let mut table = self.table();
        let of_session = |p: &Proposal| p.session == session;
        let ids: Vec<_> = table
            .waiting
            .iter()
            .filter(|(_, proposal)| of_session(proposal))
            .map(|(id, _)| *id)
            .collect();
        table.sessions.remove(&session);
        let gone = ids.into_iter().filter_map(|id| table.remove(id));
        gone.filter_map(|proposal| proposal.holder).collect()
    }
}

impl Table {
    fn known(&self, session: SessionId, input: Digest) -> Option<Known> {
        self.sessions.get(&session)?.inputs.get(&input).copied()
    }

    fn refused(&self, session: SessionId, input: Digest) -> Option<ProposalId> {
        let refused = &self.sessions.get(&session)?.refused;
        let found = refused.iter().find(|(is, _)| *is == input);
        found.map(|(_, id)| *id)
    }

    fn is_over(&self, id: ProposalId, now_ms: u64) -> bool {
        self.waiting.get(&id).is_some_and(|proposal| {
            let used = matches!(proposal.standing, Standing::Used(_));
            !used && now_ms >= proposal.record.summary.expires_ms
        })
    }

    fn room(&self, family: Family) -> Result<(), Refusal> {
        let full = |note: &str| Err(Refusal::new(Code::TooManyInFlight).noting(note));
        let of_family = self.sessions.values().filter(|s| s.family == family);
        let mine: usize = of_family.map(|s| s.inputs.len()).sum();
        if mine >= PROPOSALS_MAX {
            return full(&format!(
                "{PROPOSALS_MAX} operations of this session, and of those it was made within or \
                 that are within it, wait for a decision or for their use"
            ));
        }
        let all: usize = self.sessions.values().map(|s| s.inputs.len()).sum();
        if all >= PROPOSALS_ALL_MAX {
            return full(&format!(
                "{PROPOSALS_ALL_MAX} operations wait in this broker for a decision or for their use"
            ));
        }
        Ok(())
    }

    /// Takes a proposal away; its gate is killed.
    fn remove(&mut self, id: ProposalId) -> Option<Proposal> {
        let proposal = self.waiting.remove(&id)?;
        self.gone.push_back((id, proposal.reviewing));
        if self.gone.len() > GONE_MAX {
            self.gone.pop_front();
        }
        if let Some(of_session) = self.sessions.get_mut(&proposal.session) {
            of_session.inputs.remove(&proposal.input);
        }
        Some(proposal)
    }

    fn refuse(&mut self, id: ProposalId) {
        let Some(proposal) = self.remove(id) else {
            return;
        };
        if let Some(of_session) = self.sessions.get_mut(&proposal.session) {
            of_session.refused.push_back((proposal.input, id));
            if of_session.refused.len() > REFUSED_MAX {
                of_session.refused.pop_front();
            }
        }
    }
}

impl Table {
    fn is_past(&self, id: ProposalId) -> bool {
        let over = |p: &Proposal| now_ms() >= p.record.summary.expires_ms;
        self.waiting.get(&id).is_some_and(over)
    }
}

pub(crate) fn unknown() -> Refusal {
    Refusal::new(Code::UnknownProposal)
}

fn is_decided(how: &str) -> Refusal {
    Refusal::new(Code::Decided).noting(&format!("it is {how}"))
}

fn unwritten(error: &StateError) -> Refusal {
    Refusal::new(Code::NoLedger).noting(&error.to_string())
}

#[cfg(test)]
mod model;
