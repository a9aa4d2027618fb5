//! Proposals, and deciding about them.

use super::Control;
use crate::error::{Error, Violation};
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::control::{
    Answer, Decide, Decided, Decision, OpenDecider, Order, Proof, ProposalRecord, ProposalSummary,
    Proposals, ShowProposal, Whose,
};
use portcullis_protocol::view::Digest;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A proposal: what is asked for, bound to what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What it is.
    pub record: ProposalRecord,
    /// The difference it would make, as a unified diff, as far as it was kept.
    pub diff: Vec<u8>,
}

impl Control {
    /// A page of the proposals that wait for a decision or for their use, the oldest first: those
    /// after number `after`; 0 begins with the first. An empty page means that there are no more.
    pub fn proposals(&mut self, whose: Whose, after: u64) -> Result<Vec<ProposalSummary>, Error> {
        let answer = self.order_plain(&Order::Proposals(Proposals { whose, after }), &[])?;
        let Answer::Proposals(page) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(page.proposals.into_vec())
    }

    /// One proposal, whole, with its difference.
    pub fn proposal(&mut self, id: ProposalId) -> Result<Proposal, Error> {
        let answered = self.order(&Order::Proposal(ShowProposal { id }), &[])?;
        if !answered.descriptors.is_empty() {
            return Err(self.link.violated(Violation::Descriptors));
        }
        let Answer::Proposal(record) = answered.answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        if record.summary.id != id {
            return Err(self.link.violated(Violation::WrongKind));
        }
        Ok(Proposal {
            record,
            diff: answered.content,
        })
    }

    /// Approves or refuses a proposal. `input` is [`ProposalRecord::input`] of what was looked at:
    /// where the proposal is another one, nothing is decided.
    pub fn decide(
        &mut self,
        id: ProposalId,
        input: Digest,
        decision: Decision,
        proof: Proof,
    ) -> Result<Decided, Error> {
        let decide = Decide {
            id,
            input,
            decision,
            proof,
        };
        let answer = self.order_plain(&Order::Decide(decide), &[])?;
        let Answer::Decided(decided) = answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        Ok(decided)
    }

    /// Opens a connection on which the proposals of this connection's sessions can be decided, and
    /// nothing else done; give it to [`Decider::new`], here or in another process. It is over when
    /// this one is. Where an order says
    /// [`Deciding::Decider`](portcullis_protocol::control::Deciding::Decider), nobody else decides.
    pub fn open_decider(&mut self) -> Result<OwnedFd, Error> {
        let answered = self.order(&Order::OpenDecider(OpenDecider {}), &[])?;
        let Answer::Decider(_) = answered.answer else {
            return Err(self.link.violated(Violation::WrongKind));
        };
        self.one(answered.descriptors)
    }
}

/// A connection that decides about proposals, and does nothing else.
#[derive(Debug)]
pub struct Decider(Control);

impl Decider {
    /// Takes the socket of [`Control::open_decider`] and says hello.
    pub fn new(socket: OwnedFd) -> Result<Self, Error> {
        Control::new(socket).map(Self)
    }

    /// A page of the proposals it may decide about. See [`Control::proposals`].
    pub fn proposals(&mut self, after: u64) -> Result<Vec<ProposalSummary>, Error> {
        self.0.proposals(Whose::Own, after)
    }

    /// One proposal, whole, with its difference.
    pub fn proposal(&mut self, id: ProposalId) -> Result<Proposal, Error> {
        self.0.proposal(id)
    }

    /// Approves or refuses a proposal. See [`Control::decide`]; a passphrase that the broker
    /// demands is demanded here too.
    pub fn decide(
        &mut self,
        id: ProposalId,
        input: Digest,
        decision: Decision,
        proof: Proof,
    ) -> Result<Decided, Error> {
        self.0.decide(id, input, decision, proof)
    }
}

impl AsFd for Decider {
    /// The socket, to wait on together with others; nothing else should be done with it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
