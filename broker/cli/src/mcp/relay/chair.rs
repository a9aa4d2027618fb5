//! Deciding about what this process's own session asks for: on its own connection, so that the
//! receipt says `runtime`, or on one for deciding alone where the policy wants nobody else to.

use super::seal::Asked;
use super::wire::Verdict;
use portcullis_client::{Control, Decider, Error, Proposal};
use portcullis_protocol::approval::{ProposalId, ProposalState};
use portcullis_protocol::control::{Deciding, Decision, Proof};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::view::Digest;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long the broker may take for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Who decides.
#[derive(Debug)]
pub(super) enum Chair<'a> {
    Runtime(&'a mut Control),
    Decider(Box<Decider>),
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// It is on record, or was decided already by somebody else.
    Decided,
    /// Nothing was: nobody wanted to, or this connection may not.
    Nothing,
}

impl<'a> Chair<'a> {
    pub(super) fn new(control: &'a mut Control, deciding: Deciding) -> Result<Self, Error> {
        let mut chair = match deciding {
            Deciding::Anyone => Self::Runtime(control),
            Deciding::Decider => {
                let socket = control.open_decider()?;
                Self::Decider(Box::new(Decider::new(socket)?))
            }
        };
        chair.hurry();
        Ok(chair)
    }

    /// A broker that does not answer does not hold the lines up: without an answer nothing is
    /// asked, and results say how else they are decided.
    fn hurry(&mut self) {
        let socket = match self {
            Self::Runtime(control) => (**control).as_fd(),
            Self::Decider(decider) => (**decider).as_fd(),
        };
        let kind = rustix::net::sockopt::Timeout::Recv;
        match rustix::net::sockopt::set_socket_timeout(socket, kind, Some(ANSWER)) {
            Ok(()) | Err(_) => {}
        }
    }

    /// A proposal that waits and that this connection may decide about.
    pub(super) fn open(&mut self, id: ProposalId) -> Option<Proposal> {
        let shown = match self {
            Self::Runtime(control) => control.proposal(id),
            Self::Decider(decider) => decider.proposal(id),
        };
        let shown = shown.ok()?;
        (shown.record.summary.state == ProposalState::Pending && self.may(&shown)).then_some(shown)
    }

    /// Whether anything but the answer is missing. It is asked with the digest of something else,
    /// about which nothing can be decided.
    fn may(&mut self, shown: &Proposal) -> bool {
        let Digest(mut other) = shown.record.input;
        if let Some(first) = other.first_mut() {
            *first = !*first;
        }
        let asked = Asked {
            proposal: shown.record.summary.id,
            input: Digest(other),
        };
        match self.give(asked, Decision::Refuse) {
            Ok(()) => false,
            Err(error) => refused(&error) == Some(Code::Conflict),
        }
    }

    /// Has it decided as the client said.
    pub(super) fn decide(&mut self, asked: Asked, verdict: Verdict) -> Came {
        let decision = match verdict {
            Verdict::Approve => Decision::Approve,
            Verdict::Refuse => Decision::Refuse,
            Verdict::Nothing => return Came::Nothing,
        };
        match self.give(asked, decision) {
            Ok(()) => Came::Decided,
            Err(error) if refused(&error) == Some(Code::Decided) => Came::Decided,
            Err(_) => Came::Nothing,
        }
    }

    fn give(&mut self, asked: Asked, decision: Decision) -> Result<(), Error> {
        let Asked { proposal, input } = asked;
        match self {
            Self::Runtime(control) => control.decide(proposal, input, decision, Proof::Connection),
            Self::Decider(decider) => decider.decide(proposal, input, decision, Proof::Connection),
        }
        .map(drop)
    }
}

fn refused(error: &Error) -> Option<Code> {
    error.refusal().map(|refusal| refusal.code)
}
