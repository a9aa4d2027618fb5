//! Sessions within this one, as far as their worker asks here for them. The warden makes them, of
//! this session's authority and nothing else; through this gate pass a wish and a socket.

use crate::admit::is_over;
use crate::ledger::Ledger;
use crate::outlet::{Gone, Handed, Outlet};
use crate::session::Session;
use portcullis_protocol::authority::Budgets;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Acknowledge, Delegate, EndDelegated, Noted, Reply, SessionId};
use std::os::fd::AsFd as _;

/// Of all sessions within this one the one whose socket the worker has not said it has. There is
/// one at most, so that no more than one socket is under way that nobody may ever take.
#[derive(Debug, Default)]
pub(crate) struct Delegating {
    unacknowledged: Option<SessionId>,
}

impl Delegating {
    /// Has a session made and hands its socket to the worker.
    pub(crate) fn delegate(
        &mut self,
        session: &Session,
        ledger: &Ledger,
        ask: Delegate,
        outlet: &mut Outlet,
    ) -> Result<(), Gone> {
        if is_over(session) {
            return outlet.refuse(&Refusal::new(Code::Expired));
        }
        if let Some(SessionId(open)) = self.unacknowledged {
            let note = format!("the socket of session {open} is not acknowledged");
            return outlet.refuse(&Refusal::new(Code::TooManyInFlight).noting(&note));
        }
        // Taken before it is asked for, so that requests that run meanwhile cannot use it as well.
        let share = session.meter.share(&ask.budgets);
        let given = share.budgets();
        let ask = Delegate {
            budgets: Budgets {
                operations: given.operations,
                read_bytes: given.read_bytes,
                // Counted by the warden, which fills in what is not wished for.
                ..ask.budgets
            },
            ..ask
        };
        let (made, socket) = match ledger.delegate(ask) {
            Ok(made) => made,
            Err(refusal) => {
                session.meter.give_back(share);
                return outlet.refuse(&refusal);
            }
        };
        match outlet.hand(made, socket.as_fd())? {
            Handed::Yes => self.unacknowledged = Some(made.session),
            // Closing the socket ends it. What it was given is gone, as with any other that ends.
            Handed::NotTaken => {
                let note = "the client takes no socket now";
                outlet.refuse(&Refusal::new(Code::OutOfTurn).noting(note))?;
            }
        }
        Ok(())
    }

    /// The worker has the socket.
    pub(crate) fn acknowledge(&mut self, ask: Acknowledge) -> Result<Reply, Refusal> {
        match self.unacknowledged {
            Some(open) if open == ask.session => {
                self.unacknowledged = None;
                Ok(Reply::Noted(Noted {}))
            }
            Some(_) | None => {
                let note = "no session that waits for this";
                Err(Refusal::new(Code::UnknownSession).noting(note))
            }
        }
    }

    /// Ends a session within this one.
    pub(crate) fn end(&mut self, ledger: &Ledger, ask: EndDelegated) -> Result<Reply, Refusal> {
        if self.unacknowledged == Some(ask.session) {
            self.unacknowledged = None;
        }
        ledger.end_delegated(ask).map(|()| Reply::Noted(Noted {}))
    }

    /// Another program takes its turn on the session's socket: the one before it will not say any
    /// more that it has a socket, and what nobody has does not block the next.
    pub(crate) fn turn(&mut self, ledger: &Ledger) {
        if let Some(session) = self.unacknowledged.take() {
            // One that has ended by itself is no failure.
            ledger
                .end_delegated(EndDelegated { session })
                .unwrap_or_default();
        }
    }
}
