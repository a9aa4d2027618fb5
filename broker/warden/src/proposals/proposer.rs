//! A gate that only looks: it works out one operation, says what it is bound to, and holds that while
//! people think.

use super::asking::{Work, awaiting};
use super::{Holder, Keeping, Made, Place, bound, show};
use crate::effect::no_ledger;
use crate::launch::{Caged, Launch, launch};
use crate::shared::Shared;
use crate::socket::Socket;
use crate::spawn::Gate;
use crate::state::{NewProposal, now_ms};
use portcullis_protocol::approval::{Bound, ProposalId};
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Command, Duty, Event};
use portcullis_protocol::limits::{PROPOSAL_TIME_MS, SEND_DEADLINE_MS};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::view::Digest;
use portcullis_transport::LedgerSide;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a gate may leave its ledger full.
const SEND_DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);

/// A gate that holds an operation, and what it said of it.
struct Holding {
    gate: Gate,
    ledger: Socket<LedgerSide>,
    bound: Bound,
    diff: Vec<u8>,
}

/// Has an operation worked out; gives what the worker is told: that it waits, or why it cannot.
pub(super) async fn propose(work: Work, place: Place) -> Refusal {
    let mut stop = work.stop.clone();
    tokio::select! {
        refusal = Box::pin(made(&work, place)) => refusal,
        // What was started is killed when it is dropped.
        () = Work::stopped(&mut stop) => Refusal::new(Code::Expired).noting("the session ends"),
    }
}

async fn made(work: &Work, place: Place) -> Refusal {
    let authority = match work.asker.kept.open() {
        Ok(authority) => authority,
        Err(refusal) => return refusal,
    };
    let holding = match worked_out(work, &authority).await {
        Ok(holding) => holding,
        Err(refusal) => return refusal,
    };
    match keep(work, place, &authority, holding).await {
        Ok(id) => awaiting(id),
        Err(refusal) => refusal,
    }
}

/// Why there is no proposal, without anything that names the host.
fn broken(note: &str) -> Refusal {
    Refusal::new(Code::Io).noting(&format!("no approval can be asked for: {note}"))
}

async fn worked_out(work: &Work, authority: &Authority) -> Result<Holding, Refusal> {
    let shared = &work.shared;
    let start = Launch {
        incarnation: shared.incarnation,
        session: work.asker.session,
        authority,
        roots: &work.asker.roots,
        run_as: work.asker.run_as,
        duty: Duty::Propose,
        lineage: Few::default(),
        ignore: Some(&work.asker.ignore),
    };
    let Caged { gate, ledger, .. } = match launch(shared, &start, None).await {
        Ok(caged) => caged,
        Err(unmade) => {
            drop(unmade.refused().await);
            return Err(broken("no gate for it could be started; ask again"));
        }
    };
    match said(work, &ledger).await {
        Ok((bound, diff)) => match bound::check(authority, work.asked.input, &bound) {
            Ok(_) => Ok(Holding {
                gate,
                ledger,
                bound,
                diff,
            }),
            Err(bound::Unsound(why)) => {
                gate.end(Duration::ZERO).await;
                Err(broken(why))
            }
        },
        Err(refusal) => {
            gate.end(Duration::ZERO).await;
            Err(refusal)
        }
    }
}

/// The one word of the gate.
async fn said(work: &Work, ledger: &Socket<LedgerSide>) -> Result<(Bound, Vec<u8>), Refusal> {
    let ask = Command::Asked(work.asked.clone());
    let sent = ledger.send_content(RequestId::NONE, &ask, &work.content, SEND_DEADLINE);
    if sent.await.is_err() {
        return Err(broken("the gate that was to work it out takes nothing"));
    }
    let deadline = work.shared.terms.deadlines.propose;
    let word = timeout(deadline, ledger.receive(&work.shared.buffer)).await;
    let Ok(Ok(word)) = word else {
        return Err(broken("the gate that was to work it out said nothing"));
    };
    match word.message {
        Event::Bound(bound) => Ok((bound, word.content)),
        Event::Unbound(refusal) => Err(refusal),
        Event::Ready(_)
        | Event::Refused(_)
        | Event::Finished(_)
        | Event::Fault(_)
        | Event::Begin(_)
        | Event::Amend(_)
        | Event::Unlock(_)
        | Event::Finish(_)
        | Event::Seen(_)
        | Event::Delegate(_)
        | Event::EndDelegated(_)
        | Event::Propose(_)
        | Event::Claim(_) => Err(broken("the gate that was to work it out broke")),
    }
}

/// Puts it on record, and has its gate kept.
async fn keep(
    work: &Work,
    place: Place,
    authority: &Authority,
    holding: Holding,
) -> Result<ProposalId, Refusal> {
    let Holding {
        gate,
        ledger,
        bound,
        diff,
    } = holding;
    let at_ms = now_ms();
    let until = at_ms.saturating_add(PROPOSAL_TIME_MS);
    let expires_ms = authority.parts().expires_ms.unwrap_or(until).min(until);
    let times = (at_ms, expires_ms);
    let shown = show::record(&work.asker, authority, &work.asked, (&bound, &diff), times);
    let (record, diff) = match shown {
        Ok(shown) => shown,
        Err(refusal) => {
            gate.end(Duration::ZERO).await;
            return Err(refusal);
        }
    };
    let (holder, keeping) = Holder::new();
    let made = Made {
        reviewing: work.asker.reviewing,
        new: NewProposal {
            session: work.asker.row,
            input: work.asked.input,
            bound: digest(&bound),
            at_ms,
            expires_ms,
        },
        bound,
        record,
        diff,
        holder,
    };
    match place.fill(&work.shared.state, made) {
        Ok(id) => {
            let left = Duration::from_millis(expires_ms.saturating_sub(now_ms()));
            let shared = Arc::clone(&work.shared);
            tokio::spawn(hold(shared, id, gate, ledger, (keeping, left)));
            Ok(id)
        }
        Err(error) => {
            gate.end(Duration::ZERO).await;
            Err(no_ledger(&error))
        }
    }
}

/// The digest of what an operation is bound to, for the record.
fn digest(bound: &Bound) -> Digest {
    let encoded = postcard::to_extend(bound, Vec::new()).unwrap_or_default();
    Digest(*blake3::hash(&encoded).as_bytes())
}

/// Keeps the gate until it is not needed, its time is over, or it says or does anything else than to hold.
async fn hold(
    shared: Arc<Shared>,
    id: ProposalId,
    gate: Gate,
    ledger: Socket<LedgerSide>,
    (keeping, left): (Keeping, Duration),
) {
    let Keeping { mut stopped, _gone } = keeping;
    tokio::select! {
        _ = &mut stopped => {}
        _ = ledger.receive(&shared.buffer) => shared.proposals.lost(&shared.state, id),
        () = sleep(left) => shared.proposals.lost(&shared.state, id),
    }
    gate.end(Duration::ZERO).await;
}
