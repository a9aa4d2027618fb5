//! Where an approval is all that a request lacks: it is handed to the warden, which has it worked out
//! and held, or done when it was approved before. Nothing was begun by then, and nothing of what is
//! only to be asked for was looked at here.

use crate::asked::{Unaskable, asked};
use crate::ledger::{Broken, Proposed};
use crate::outlet::{Gone, Outlet};
use crate::refused::Refused;
use crate::session::Session;
use crate::standing::Standing;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Request;

/// How a request ended that was not done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The worker was told why.
    Refused,
    /// It was approved, and done elsewhere: the worker has its answer.
    Answered,
}

/// Ends a request that was refused: with the refusal, or with what came of asking.
pub(crate) fn refused(
    session: &Session,
    (request, content): (&Request, &[u8]),
    refused: Refused,
    outlet: &mut Outlet,
) -> Result<Ended, Gone> {
    let Refused { refusal, shown } = refused;
    if !lacks_approval(session, &refusal) {
        let refused = Refused { refusal, shown };
        return outlet.conflicted(refused).map(|()| Ended::Refused);
    }
    let asked = match asked(outlet.id(), request, content) {
        Ok(asked) => asked,
        Err(why) => {
            let refusal = refusal.noting(why.note());
            return outlet.refuse(&refusal).map(|()| Ended::Refused);
        }
    };
    let told = match outlet.elsewhere(|ledger, socket| ledger.propose(asked, content, socket)) {
        Ok(Proposed::Answered) => return Ok(Ended::Answered),
        Ok(Proposed::Refused(told)) => told,
        Err(Broken) => Refusal::new(Code::NoLedger),
    };
    outlet
        .refuse(&completed(told, refusal))
        .map(|()| Ended::Refused)
}

/// A refusal that is only a part of an answer, or of what is no operation by itself: it cannot be
/// asked for, and says how it can.
pub(crate) fn alone(session: &Session, refusal: Refusal, why: Unaskable) -> Refusal {
    if lacks_approval(session, &refusal) {
        refusal.noting(why.note())
    } else {
        refusal
    }
}

/// Whether an approval is what is missing, and nobody asked for one yet.
fn lacks_approval(session: &Session, refusal: &Refusal) -> bool {
    session.standing == Standing::Serves
        && refusal.code == Code::NeedsApproval
        && refusal.proposal.is_none()
}

/// What the warden or a proposing gate said, in the words of the request.
fn completed(told: Refusal, own: Refusal) -> Refusal {
    let rule = if told.code == Code::NeedsApproval {
        told.rule.or(own.rule)
    } else {
        // Another reason than the rule that made an approval needed.
        told.rule
    };
    Refusal {
        verb: told.verb.or(own.verb),
        object: told.object.or(own.object),
        rule,
        ..told
    }
}
