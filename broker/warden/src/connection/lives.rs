//! Sessions within one another: what a worker asks for, and how they end together.

use super::mint::{Above, Asked, By, New, Within, for_worker};
use super::{Closed, Connection};
use crate::gate::{Answering, Asking, Given};
use crate::launch::Ignore;
use crate::lineage::lineage;
use crate::mint;
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{Answer, Ended, Over};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::Ancestor;
use portcullis_protocol::limits::{CHILDREN_MAX, LINEAGE_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Delegate, SessionId};
use std::collections::BTreeSet;
use tokio::sync::OwnedSemaphorePermit;

/// Somebody who waits for a session, and all within it, to be over.
pub(super) struct Wait {
    left: BTreeSet<SessionId>,
    who: Who,
}

enum Who {
    /// The runtime, for the answer to its order.
    Order(RequestId),
    /// The gate of the session that had it delegated.
    Gate(Answering),
}

impl Connection {
    /// Ends a session for the runtime.
    pub(super) fn end(&mut self, id: RequestId, session: SessionId) -> Result<(), Refusal> {
        // A session is known to nobody before it is minted, and may be asked for twice.
        let known = self.sessions.get(&session);
        if !known.is_some_and(super::mint::Session::is_made) {
            return Err(Refusal::new(Code::UnknownSession));
        }
        let left = self.stop(session);
        self.waits.push(Wait {
            left,
            who: Who::Order(id),
        });
        Ok(())
    }

    /// What a gate asks for on behalf of its worker.
    pub(super) fn asks(&mut self, from: SessionId, asking: Asking, answering: Answering) {
        match asking {
            Asking::Delegate(wished) => self.delegate(from, &wished, answering),
            Asking::End(session) => {
                let own = Some(Within {
                    parent: from,
                    by: By::Worker,
                });
                let known = self.sessions.get(&session);
                if !known.is_some_and(|known| known.within == own && known.is_made()) {
                    let refusal = Refusal::new(Code::UnknownSession)
                        .noting("no such session was delegated from this one and runs");
                    drop(answering.send(Err(refusal)));
                    return;
                }
                let left = self.stop(session);
                self.waits.push(Wait {
                    left,
                    who: Who::Gate(answering),
                });
            }
        }
    }

    fn delegate(&mut self, from: SessionId, wished: &Delegate, answering: Answering) {
        match self.delegated(from, wished) {
            Ok((composed, above, taken)) => {
                let Some(parent) = self.sessions.get(&above.id) else {
                    return;
                };
                let new = New {
                    asked: Asked::Gate(answering),
                    composed,
                    // It has its parent's rights on files, whichever roots are left.
                    run_as: parent.run_as,
                    ignore: Ignore::clone(&parent.ignore),
                    taken,
                    deciding: parent.deciding,
                    within: Some(Within {
                        parent: from,
                        by: By::Worker,
                    }),
                };
                if let Err((refusal, Asked::Gate(answering))) = self.start(new) {
                    drop(answering.send(Err(for_worker(&refusal))));
                }
            }
            // A gate that listens no more has nothing to be told.
            Err(refusal) => drop(answering.send(Err(refusal))),
        }
    }

    fn delegated(
        &self,
        from: SessionId,
        wished: &Delegate,
    ) -> Result<(mint::Composed, Above, crate::budget::Taken), Refusal> {
        let above = self.above(from)?;
        let own = Within {
            parent: from,
            by: By::Worker,
        };
        let children = self.sessions.values().filter(|s| s.within == Some(own));
        if children.count() >= CHILDREN_MAX {
            let note = format!("{CHILDREN_MAX} sessions that were delegated from this one run");
            return Err(Refusal::new(Code::TooManySessions).noting(&note));
        }
        self.check_depth(Some(own))?;
        let taken = above.purse.take(&wished.budgets);
        let composed = mint::delegate(wished, &above.authority, &self.roots, taken.given())?;
        Ok((composed, above, taken))
    }

    /// Whether a session may be made at this place.
    pub(super) fn check_depth(&self, within: Option<Within>) -> Result<(), Refusal> {
        if self.ancestors(within).len() < LINEAGE_MAX {
            return Ok(());
        }
        let note = format!("sessions are within one another at most {LINEAGE_MAX} deep");
        Err(Refusal::new(Code::TooManySessions).noting(&note))
    }

    /// The sessions around one at this place, the nearest first.
    pub(super) fn ancestors(&self, within: Option<Within>) -> Box<[SessionId]> {
        let Some(Within { parent, .. }) = within else {
            return Box::default();
        };
        let above = self.sessions.get(&parent);
        let above = above.map_or(&[][..], |above| &above.ancestors);
        std::iter::once(parent)
            .chain(above.iter().copied())
            .collect()
    }

    /// What the gate of a session at this place is told of those around it.
    pub(super) fn lineage(
        &self,
        authority: &Authority,
        ignore: &Ignore,
        ancestors: &[SessionId],
    ) -> Few<Ancestor, LINEAGE_MAX> {
        let above = ancestors.iter().filter_map(|id| {
            let authority = self.sessions.get(id)?.authority.open().ok()?;
            Some((*id, authority))
        });
        lineage(authority, ignore, above)
    }

    /// Lets a session and all within it end, at once. Gives those that are not over.
    pub(super) fn stop(&mut self, session: SessionId) -> BTreeSet<SessionId> {
        let all = self.with_all_within(session);
        for id in &all {
            if let Some(session) = self.sessions.get_mut(id) {
                drop(session.stop.take());
            }
        }
        all
    }

    /// A session and its descendants.
    fn with_all_within(&self, session: SessionId) -> BTreeSet<SessionId> {
        // Those between may be over already, and these about to be.
        let below = self.sessions.iter();
        let below = below.filter(|(_, known)| known.ancestors.contains(&session));
        std::iter::once(session)
            .chain(below.map(|(id, _)| *id))
            .collect()
    }

    /// Tells that a session is over, and whoever waited for it.
    pub(super) async fn over(
        &mut self,
        id: SessionId,
        over: Over,
        slot: OwnedSemaphorePermit,
    ) -> Result<(), Closed> {
        let session = self.sessions.remove(&id).ok_or(Closed)?;
        let over = Over {
            parent: session.within.map(|within| within.parent),
            ..over
        };
        self.answer(RequestId::NONE, Answer::Over(over)).await?;
        self.ended(id).await?;
        drop(slot);
        Ok(())
    }

    /// Answers those for whom this was the last session to wait for.
    pub(super) async fn ended(&mut self, id: SessionId) -> Result<(), Closed> {
        let gone = |wait: &mut Wait| {
            wait.left.remove(&id);
            wait.left.is_empty()
        };
        let done: Vec<Wait> = self.waits.extract_if(.., gone).collect();
        for wait in done {
            match wait.who {
                Who::Order(order) => self.answer(order, Answer::Ended(Ended {})).await?,
                Who::Gate(answering) => drop(answering.send(Ok(Given::Ended))),
            }
        }
        Ok(())
    }
}
