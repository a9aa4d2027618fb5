//! Orders about proposals, and connections that are for nothing else.

use super::{As, Closed, Connection, serve};
use crate::decider::Try;
use crate::proposals::{MadeSessions, Needs, Role, Sees, needs, not_decider, unknown};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::state::Decided;
use portcullis_protocol::approval::{Approver, ProposalId};
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{
    self, Answer, Decide, DeciderOpened, Decision, Order, Proof, ProposalsPage,
};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_transport::ControlSide;
use std::convert::Infallible;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// Connections for deciding that one connection may have opened at once.
const DECIDERS_MAX: usize = 16;

/// Whether a connection of this role may give an order.
pub(super) fn may(role: Role, order: &Order) -> Result<(), Refusal> {
    match (role, order) {
        (Role::Runtime(_), _)
        | (
            Role::Decider(_) | Role::User(_),
            Order::Hello(_)
            | Order::Status(_)
            | Order::Proposals(_)
            | Order::Proposal(_)
            | Order::Decide(_),
        ) => Ok(()),
        (
            Role::Decider(_) | Role::User(_),
            Order::Seal(_)
            | Order::Mint(_)
            | Order::End(_)
            | Order::Unseal(_)
            | Order::Runs(_)
            | Order::Log(_)
            | Order::Diff(_)
            | Order::Verify(_)
            | Order::Drain(_)
            | Order::OpenDecider(_)
            | Order::SealTask(_)
            | Order::Restore(_)
            | Order::Continue(_)
            | Order::Refusals(_)
            | Order::Sessions(_),
        ) => {
            let note = "a connection for deciding lists, shows and decides, and does nothing else";
            Err(Refusal::new(Code::OutOfTurn).noting(note))
        }
    }
}

impl Connection {
    fn made(&self) -> MadeSessions {
        match self.run {
            Some(_) => MadeSessions::Some,
            None => MadeSessions::None,
        }
    }

    fn sees(&self) -> Sees {
        self.role.sees(self.made())
    }

    pub(super) fn proposals(&self, order: control::Proposals) -> Result<Answer, Refusal> {
        let sees = self.role.asks(order.whose, self.made())?;
        let page = self.shared.proposals.list(sees, order.after);
        let proposals = Few::new(page).unwrap_or_default();
        Ok(Answer::Proposals(ProposalsPage { proposals }))
    }

    /// Answers with one proposal and its difference.
    pub(super) async fn proposal(
        &self,
        id: RequestId,
        order: control::ShowProposal,
    ) -> Result<(), Closed> {
        let (answer, diff) = match self.shared.proposals.show(self.sees(), order.id) {
            Ok((record, diff)) => (Answer::Proposal(record), diff),
            Err(refusal) => (Answer::Refused(self.gone(order.id, refusal)), Vec::new()),
        };
        let sent = self
            .socket
            .send_content(id, &answer, &diff, super::DEADLINE);
        sent.await.map_err(|_| Closed)
    }

    /// Says of what waits no longer what has become of it, to whoever saw it.
    fn gone(&self, id: ProposalId, unknown: Refusal) -> Refusal {
        let saw = match self.sees() {
            Sees::All => true,
            sees @ Sees::Of(_) => self.shared.proposals.saw(sees, id),
        };
        match self.shared.state.proposal(id) {
            Ok(Some(state)) if saw => {
                Refusal::new(Code::Decided).noting(&format!("it is {}", state.name()))
            }
            Ok(_) | Err(_) => unknown,
        }
    }

    /// Decides, or says why not. With a passphrase that is to be looked at the answer comes later.
    pub(super) async fn decide(&self, id: RequestId, order: Decide) -> Result<(), Closed> {
        match self.may_decide(&order) {
            Ok(Needs::Nothing(approver)) => {
                let answer = decided(&self.shared, &order, approver);
                self.answer(id, answer).await
            }
            Ok(Needs::Passphrase(hash)) => {
                let Proof::Passphrase(shown) = order.proof.clone() else {
                    let note = "a passphrase is set: whoever knows it decides, at a terminal";
                    return self.refuse(id, not_decider(note)).await;
                };
                let shared = Arc::clone(&self.shared);
                let tried = async move {
                    let passphrase = shown.into_vec();
                    match shared.demands.try_one(hash, passphrase).await {
                        Try::Right => decided(&shared, &order, Approver::Passphrase),
                        Try::Wrong => Answer::Refused(not_decider("the passphrase is another one")),
                        Try::Busy => {
                            let note = "too many passphrases wait to be looked at";
                            Answer::Refused(Refusal::new(Code::TooManyInFlight).noting(note))
                        }
                    }
                };
                match self.lookups.later(id, tried) {
                    Ok(()) => Ok(()),
                    Err(refusal) => self.refuse(id, refusal).await,
                }
            }
            Err(refusal) => self.refuse(id, refusal).await,
        }
    }

    fn may_decide(&self, order: &Decide) -> Result<Needs, Refusal> {
        let reviewing = self.shared.proposals.reviewing(self.sees(), order.id);
        let reviewing = reviewing.ok_or_else(|| self.gone(order.id, unknown()))?;
        needs(self.role, &reviewing, &self.shared.demands.now())
    }

    /// Opens a connection for deciding, which ends when this one does.
    pub(super) async fn open_decider(&mut self, id: RequestId) -> Result<(), Closed> {
        self.deciders.retain(|decider| !decider.is_closed());
        let Role::Runtime(opener) = self.role else {
            return Err(Closed);
        };
        if self.deciders.len() >= DECIDERS_MAX {
            let note = format!("{DECIDERS_MAX} connections for deciding are open already");
            let refusal = Refusal::new(Code::TooManyInFlight).noting(&note);
            return self.refuse(id, refusal).await;
        }
        let exhausted = |error: &dyn std::fmt::Display| {
            let note = format!("the sockets for deciding: {error}");
            Refusal::new(Code::Exhausted).noting(&note)
        };
        let pair = portcullis_transport::pair()
            .and_then(|(theirs, ours)| Ok((theirs, Socket::<ControlSide>::new(ours)?)));
        let (theirs, ours) = match pair {
            Ok(pair) => pair,
            Err(error) => return self.refuse(id, exhausted(&error)).await,
        };
        let (decider, opened) = oneshot::channel();
        tokio::spawn(deciding(
            Arc::clone(&self.shared),
            ours,
            As::Decider { opener, opened },
            self.stopped.clone(),
            self.alive.clone(),
        ));
        self.deciders.push(decider);
        let answer = Answer::Decider(DeciderOpened {});
        self.answer_with(id, answer, &[theirs.as_fd()]).await
    }
}

/// A connection is served by a task that a connection started, which the compiler follows only so far.
fn deciding(
    shared: Arc<Shared>,
    socket: Socket<ControlSide>,
    whom: As,
    stopped: watch::Receiver<()>,
    alive: mpsc::Sender<Infallible>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(serve(shared, socket, whom, stopped, alive))
}

/// Writes a decision down.
fn decided(shared: &Shared, order: &Decide, approver: Approver) -> Answer {
    let decision = match order.decision {
        Decision::Approve => Decided::Approved(approver),
        Decision::Refuse => Decided::Refused(approver),
    };
    let (proposals, state) = (&shared.proposals, &shared.state);
    match proposals.decide(state, order.id, order.input, decision) {
        Ok(state) => Answer::Decided(control::Decided { state, approver }),
        Err(refusal) => Answer::Refused(refusal),
    }
}
