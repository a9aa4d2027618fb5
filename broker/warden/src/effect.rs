//! The effect of one gate: asked for, begun under its locks with its intent in the journal, ended
//! by its receipt. What the gate says is not trusted: an intent outside of what its session was
//! granted is refused, and a word out of turn ends the gate.

mod check;
mod turns;
mod unwritten;

pub(crate) use check::encoded;
pub(crate) use turns::{Turn, Turns};
pub(crate) use unwritten::{no_ledger, unclaimed};

use crate::alarm::Alarm;
use crate::budget::{Cost, Purse};
use crate::kept::Kept;
use crate::locks::{Held, Keys, Waiting};
use crate::mark::Mark;
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::state::{Claim, IntentId, SessionRow, now_ms};
use check::{check, check_end, check_tree, names};
use portcullis_protocol::authority::{Authority, Grant};
use portcullis_protocol::control::Witness;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Begin, Begun, Command, Finish, Intent, RunAs, TreeLock};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Outcome;
use portcullis_protocol::verb::VerbSet;
use std::future::pending;
use std::sync::Arc;
use tokio::time::Instant;

/// What a session that may change something was granted, and what is needed to settle an effect
/// of it after its gate is gone.
pub(crate) struct Writer {
    grants: Box<[Grant]>,
    expires_ms: Option<u64>,
    pub(crate) purse: Arc<Purse>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
}

/// What a session has beside its authority.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) kept: &'a Arc<Kept>,
    pub(crate) roots: &'a [Arc<SealedRoot>],
    pub(crate) run_as: Option<RunAs>,
    pub(crate) purse: &'a Arc<Purse>,
}

impl Writer {
    /// None for a session that may only look.
    pub(crate) fn of(authority: &Authority, means: Means<'_>) -> Option<Self> {
        Self::with(authority.parts().grants.iter(), authority, means)
    }

    /// Of a gate that does what was approved: what is to be asked for counts as granted. None for
    /// a session that may only look, and ask to look.
    pub(crate) fn approved(authority: &Authority, means: Means<'_>) -> Option<Self> {
        let parts = authority.parts();
        Self::with(parts.grants.iter().chain(&parts.asks), authority, means)
    }

    fn with<'g>(
        grants: impl Iterator<Item = &'g Grant>,
        authority: &Authority,
        means: Means<'_>,
    ) -> Option<Self> {
        let writes = |grant: &&Grant| !grant.verbs.meet(VerbSet::WRITING).is_empty();
        let grants: Box<[Grant]> = grants.filter(writes).cloned().collect();
        (!grants.is_empty()).then(|| Self {
            grants,
            expires_ms: authority.parts().expires_ms,
            purse: Arc::clone(means.purse),
            kept: Arc::clone(means.kept),
            roots: means.roots.to_vec(),
            run_as: means.run_as,
        })
    }
}

/// A gate that said what no gate says. It is ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lied(pub(crate) &'static str);

/// By what right effects are made.
enum Right<'a> {
    /// What the session was granted; in turn with what is approved for it, if anything can be.
    Granted(Option<Turns>),
    /// One approval, which the first of them uses.
    Approved(Claim<'a>),
}

/// The effect of one gate; it has one at a time.
pub(crate) struct Effects<'a> {
    shared: &'a Shared,
    session: SessionRow,
    writer: Option<&'a Writer>,
    right: Right<'a>,
    /// Where the gate says that it changes files.
    mark: &'a Mark,
    /// Effects that were begun: the number of the last.
    begun: u64,
    now: Now,
    /// Rings when the effect that is begun must have ended.
    overdue: Alarm,
}

enum Now {
    Nothing,
    Waiting {
        answer: RequestId,
        begin: Begin,
        waiting: Waiting,
        until: Instant,
        turn: Option<Turn>,
    },
    Begun(Running),
}

/// An effect that is begun and not ended.
pub(crate) struct Running {
    pub(crate) id: IntentId,
    pub(crate) intent: Intent,
    tree: TreeLock,
    /// None once they were given back.
    pub(crate) held: Option<Held>,
    /// What it took of the session's budgets.
    pub(crate) cost: Cost,
    until: Instant,
    /// Kept until it has its receipt.
    _turn: Option<Turn>,
}

/// An effect that its gate did not end.
pub(crate) struct Left {
    pub(crate) running: Running,
    pub(crate) reached: Reached,
}

/// How far a gate says that it is with what it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// It looks at what it bound, and has changed nothing.
    Begun,
    /// What it bound was as planned, and it may have changed anything.
    Confirmed,
}

/// What comes next of an effect by itself.
pub(crate) enum Next {
    /// Its turn came, or did not in time.
    Answer(RequestId, Box<Command>),
    /// It holds its locks for too long.
    Overdue,
}

impl<'a> Effects<'a> {
    /// Of a session's own gate.
    pub(crate) const fn new(
        shared: &'a Shared,
        session: SessionRow,
        (writer, mark): (Option<&'a Writer>, &'a Mark),
        turns: Option<Turns>,
    ) -> Self {
        Self::by(Right::Granted(turns), shared, session, (writer, mark))
    }

    /// Of a gate that does what was approved.
    pub(crate) const fn approved(
        shared: &'a Shared,
        session: SessionRow,
        (writer, mark): (Option<&'a Writer>, &'a Mark),
        claim: Claim<'a>,
    ) -> Self {
        Self::by(Right::Approved(claim), shared, session, (writer, mark))
    }

    const fn by(
        right: Right<'a>,
        shared: &'a Shared,
        session: SessionRow,
        (writer, mark): (Option<&'a Writer>, &'a Mark),
    ) -> Self {
        Self {
            shared,
            session,
            writer,
            right,
            mark,
            begun: 0,
            now: Now::Nothing,
            overdue: Alarm::new(),
        }
    }

    /// Whose effects they are.
    pub(crate) const fn session(&self) -> SessionRow {
        self.session
    }

    pub(crate) const fn is_begun(&self) -> bool {
        matches!(self.now, Now::Begun(_))
    }

    /// The effect that was begun and not ended, if there is one, of a gate that is gone. A wait is given
    /// up.
    pub(crate) fn left(&mut self) -> Option<Left> {
        match std::mem::replace(&mut self.now, Now::Nothing) {
            Now::Begun(running) => Some(Left {
                running,
                reached: self.mark.reached(self.begun),
            }),
            Now::Nothing | Now::Waiting { .. } => None,
        }
    }

    /// Asks for an effect. Gives the answer, or none while it waits for its locks.
    pub(crate) fn begin(&mut self, id: RequestId, begin: Begin) -> Result<Option<Command>, Lied> {
        let turn = match &self.right {
            Right::Granted(Some(turns)) if matches!(self.now, Now::Nothing) => match turns.now() {
                Ok(turn) => Some(turn),
                Err(refusal) => return Ok(Some(Command::NotBegun(refusal))),
            },
            Right::Granted(_) | Right::Approved(_) => None,
        };
        self.begin_in(turn, id, begin)
    }

    /// The same, in a turn that was had already.
    pub(crate) fn begin_in(
        &mut self,
        turn: Option<Turn>,
        id: RequestId,
        begin: Begin,
    ) -> Result<Option<Command>, Lied> {
        if !matches!(self.now, Now::Nothing) {
            return Err(Lied("the gate began a second effect"));
        }
        let writer = self
            .writer
            .ok_or(Lied("a gate that may only look began an effect"))?;
        check_tree(&begin)?;
        if let Err(refusal) = check(writer, &begin.intent, now_ms())? {
            return Ok(Some(Command::NotBegun(refusal)));
        }
        // Nobody waits for locks in vain.
        if let Err(refusal) = writer.purse.has(Cost::of(&begin.intent)) {
            return Ok(Some(Command::NotBegun(refusal)));
        }
        let mut waiting = self.shared.locks.queue(Keys::of(&begin));
        if let Some(held) = waiting.now() {
            return Ok(Some(self.write(writer, begin, held, turn)));
        }
        self.now = Now::Waiting {
            answer: id,
            begin,
            waiting,
            until: Instant::now() + self.shared.terms.deadlines.lock_wait,
            turn,
        };
        Ok(None)
    }

    /// Takes what it costs and writes the intent. If that fails the locks are given back.
    fn write(&mut self, writer: &Writer, begin: Begin, held: Held, turn: Option<Turn>) -> Command {
        let claim = match &self.right {
            Right::Granted(_) => None,
            Right::Approved(claim) => Some(claim),
        };
        let cost = Cost::of(&begin.intent);
        if let Err(refusal) = writer.purse.charge(cost) {
            return Command::NotBegun(refusal);
        }
        let id = match self.shared.state.begin(self.session, &begin, claim) {
            Ok(id) => id,
            Err(error) => {
                writer.purse.give_back(cost);
                return Command::NotBegun(unclaimed(&error));
            }
        };
        self.begun += 1;
        self.now = Now::Begun(Running {
            id,
            intent: begin.intent,
            tree: begin.tree,
            held: Some(held),
            cost,
            until: Instant::now() + self.shared.terms.deadlines.lock_hold,
            _turn: turn,
        });
        Command::Begun(Begun {})
    }

    /// Waits for what comes by itself. Nothing is lost when the wait is given up.
    pub(crate) async fn next(&mut self) -> Next {
        let held = match &mut self.now {
            Now::Nothing => pending().await,
            Now::Begun(Running { held: None, .. }) => pending().await,
            Now::Begun(running) => {
                self.overdue.at(running.until).await;
                return Next::Overdue;
            }
            Now::Waiting { waiting, until, .. } => waiting.until(*until).await,
        };
        let Now::Waiting {
            answer,
            begin,
            turn,
            ..
        } = std::mem::replace(&mut self.now, Now::Nothing)
        else {
            return pending().await;
        };
        let command = match (held, self.writer) {
            (Ok(held), Some(writer)) => self.write(writer, begin, held, turn),
            (Err(refusal), _) => Command::NotBegun(refusal),
            // Only who may write waits.
            (Ok(_), None) => Command::NotBegun(Refusal::new(Code::NotGranted)),
        };
        Next::Answer(answer, Box::new(command))
    }

    /// Replaces the intent of the effect that is begun, under the same locks.
    pub(crate) fn amend(&mut self, intent: Intent) -> Result<Command, Lied> {
        let (Now::Begun(running), Some(writer)) = (&mut self.now, self.writer) else {
            return Err(Lied("the gate amended an effect that was not begun"));
        };
        if running.held.is_none() {
            return Err(Lied("the gate amended an effect whose locks it gave back"));
        }
        if self.mark.reached(self.begun) == Reached::Confirmed {
            return Err(Lied("the gate amended an effect that it had confirmed"));
        }
        if names(&running.intent) != names(&intent) {
            return Err(Lied("the gate amended an effect with other names"));
        }
        let begin = Begin {
            tree: running.tree,
            intent,
        };
        check_tree(&begin)?;
        // What was granted a moment ago is so now, so that only a lie or an expiry is refused,
        // and the intent that stands holds for what follows.
        if check(writer, &begin.intent, 0)?.is_err() {
            return Err(Lied("the gate amended an effect beyond its grants"));
        }
        let cost = Cost::of(&begin.intent);
        if let Err(refusal) = writer.purse.exchange(running.cost, cost) {
            return Ok(Command::NotBegun(refusal));
        }
        running.cost = cost;
        match self.shared.state.amend(running.id, &begin.intent) {
            Ok(()) => {
                running.intent = begin.intent;
                Ok(Command::Begun(Begun {}))
            }
            // Nothing is changed yet; the settling says so in the receipt.
            Err(_) => Err(Lied("the journal does not take the amended effect")),
        }
    }

    /// Gives the locks back.
    pub(crate) fn unlock(&mut self) -> Result<(), Lied> {
        match &mut self.now {
            Now::Begun(running) if running.held.is_some() => {
                self.shared.state.number(running.id);
                running.held = None;
                Ok(())
            }
            Now::Nothing | Now::Waiting { .. } | Now::Begun(_) => {
                Err(Lied("the gate gave back locks that it does not hold"))
            }
        }
    }

    /// Writes the receipt, then gives the locks back.
    pub(crate) fn finish(&mut self, end: &Finish, diff: &[u8]) -> Result<Command, Lied> {
        let Now::Begun(running) = &self.now else {
            return Err(Lied("the gate ended an effect that was not begun"));
        };
        check_end(&running.intent, end)?;
        let (state, cost) = (&self.shared.state, running.cost);
        match state.finish(running.id, end, diff, Witness::Gate) {
            Ok(receipt) => {
                if let (Outcome::Failed, Some(writer)) = (end.outcome, self.writer) {
                    writer.purse.give_back(cost);
                }
                self.now = Now::Nothing;
                Ok(Command::Receipted(receipt))
            }
            // It stays open: what cannot be told is not claimed, and settling tries again.
            Err(_) => Err(Lied("the journal does not take the receipt")),
        }
    }
}

#[cfg(test)]
mod tests;
