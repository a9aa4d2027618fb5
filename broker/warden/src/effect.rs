//! The effect of one gate: asked for, begun under its locks with its intent in the journal, ended
//! by its receipt. What the gate says is not trusted: an intent outside of what its session was
//! granted is refused, and a word out of turn ends the gate.

use crate::alarm::Alarm;
use crate::kept::Kept;
use crate::locks::{Held, Keys, Waiting};
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::state::{IntentId, SessionRow, StateError, now_ms};
use portcullis_protocol::authority::{Authority, Grant};
use portcullis_protocol::control::Witness;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Begin, Begun, Command, Finish, Intent, RunAs, Step, TreeLock};
use portcullis_protocol::limits::EFFECT_BYTES_MAX;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Kind, PathState};
use std::future::pending;
use std::sync::Arc;
use tokio::time::Instant;

/// What a session that may change something was granted, and what is needed to settle an effect
/// of it after its gate is gone.
pub(crate) struct Writer {
    grants: Box<[Grant]>,
    expires_ms: Option<u64>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
}

impl Writer {
    /// None for a session that may only look.
    pub(crate) fn of(
        authority: &Authority,
        kept: &Arc<Kept>,
        roots: &[Arc<SealedRoot>],
        run_as: Option<RunAs>,
    ) -> Option<Self> {
        let parts = authority.parts();
        let writes = |grant: &&Grant| !grant.verbs.meet(VerbSet::WRITING).is_empty();
        let grants: Box<[Grant]> = parts.grants.iter().filter(writes).cloned().collect();
        (!grants.is_empty()).then(|| Self {
            grants,
            expires_ms: parts.expires_ms,
            kept: Arc::clone(kept),
            roots: roots.to_vec(),
            run_as,
        })
    }
}

/// A gate that said what no gate says. It is ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lied(pub(crate) &'static str);

/// The effect of one gate; it has one at a time.
pub(crate) struct Effects<'a> {
    shared: &'a Shared,
    session: SessionRow,
    writer: Option<&'a Writer>,
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
    pub(crate) reached: Reached,
    until: Instant,
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
    pub(crate) const fn new(
        shared: &'a Shared,
        session: SessionRow,
        writer: Option<&'a Writer>,
    ) -> Self {
        Self {
            shared,
            session,
            writer,
            now: Now::Nothing,
            overdue: Alarm::new(),
        }
    }

    pub(crate) const fn is_begun(&self) -> bool {
        matches!(self.now, Now::Begun(_))
    }

    /// The effect that was begun and not ended, if there is one. A wait is given up.
    pub(crate) fn left(&mut self) -> Option<Running> {
        match std::mem::replace(&mut self.now, Now::Nothing) {
            Now::Begun(running) => Some(running),
            Now::Nothing | Now::Waiting { .. } => None,
        }
    }

    /// Asks for an effect. Gives the answer, or none while it waits for its turn.
    pub(crate) fn begin(&mut self, id: RequestId, begin: Begin) -> Result<Option<Command>, Lied> {
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
        let mut waiting = self.shared.locks.queue(Keys::of(&begin));
        if let Some(held) = waiting.now() {
            return Ok(Some(self.write(begin, held)));
        }
        self.now = Now::Waiting {
            answer: id,
            begin,
            waiting,
            until: Instant::now() + self.shared.terms.deadlines.lock_wait,
        };
        Ok(None)
    }

    /// Writes the intent. If that fails the locks are given back.
    fn write(&mut self, begin: Begin, held: Held) -> Command {
        let id = match self.shared.state.begin(self.session, &begin) {
            Ok(id) => id,
            Err(error) => return Command::NotBegun(no_ledger(&error)),
        };
        self.now = Now::Begun(Running {
            id,
            intent: begin.intent,
            tree: begin.tree,
            held: Some(held),
            reached: Reached::Begun,
            until: Instant::now() + self.shared.terms.deadlines.lock_hold,
        });
        Command::Begun(Begun {})
    }

    /// Waits for what comes by itself. Nothing is lost when the wait is given up.
    pub(crate) async fn next(&mut self) -> Next {
        let turn = match &mut self.now {
            Now::Nothing => pending().await,
            Now::Begun(Running { held: None, .. }) => pending().await,
            Now::Begun(running) => {
                self.overdue.at(running.until).await;
                return Next::Overdue;
            }
            Now::Waiting { waiting, until, .. } => waiting.until(*until).await,
        };
        let Now::Waiting { answer, begin, .. } = std::mem::replace(&mut self.now, Now::Nothing)
        else {
            return pending().await;
        };
        let command = match turn {
            Ok(held) => self.write(begin, held),
            Err(refusal) => Command::NotBegun(refusal),
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
        if running.reached == Reached::Confirmed {
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
        match self.shared.state.amend(running.id, &begin.intent) {
            Ok(()) => {
                running.intent = begin.intent;
                Ok(Command::Begun(Begun {}))
            }
            // Nothing is changed yet; the settling says so in the receipt.
            Err(_) => Err(Lied("the journal does not take the amended effect")),
        }
    }

    /// Notes that files are changed from here on.
    pub(crate) fn confirmed(&mut self) -> Result<(), Lied> {
        match &mut self.now {
            Now::Begun(running) if running.reached == Reached::Begun => {
                running.reached = Reached::Confirmed;
                Ok(())
            }
            Now::Nothing | Now::Waiting { .. } | Now::Begun(_) => {
                Err(Lied("the gate confirmed an effect that was not begun"))
            }
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
        let state = &self.shared.state;
        match state.finish(running.id, end, diff, Witness::Gate) {
            Ok(receipt) => {
                self.now = Now::Nothing;
                Ok(Command::Receipted(receipt))
            }
            // It stays open: what cannot be told is not claimed, and settling tries again.
            Err(_) => Err(Lied("the journal does not take the receipt")),
        }
    }
}

fn no_ledger(error: &StateError) -> Refusal {
    // Its words may name host paths, which a gate hands on to its worker.
    let note = match error {
        StateError::Files { .. } => "there is no room for the receipt",
        StateError::Database(_) => "its database refuses",
        StateError::Foreign { .. }
        | StateError::InUse { .. }
        | StateError::OldGates { .. }
        | StateError::Missing { .. }
        | StateError::Newer { .. }
        | StateError::Damaged(_) => "its records are damaged",
    };
    Refusal::new(Code::NoLedger).noting(note)
}

/// Names and parents of an intent, in an order of their own.
fn names(intent: &Intent) -> Vec<(u64, u64, &[u8])> {
    let steps = intent.steps.as_slice().iter();
    let name = |s: &'_ Step| (s.parent.device, s.parent.inode);
    let mut all: Vec<_> = steps
        .map(|s| (name(s).0, name(s).1, s.name.as_slice()))
        .collect();
    all.sort_unstable();
    all
}

/// Whoever gives directories another place, or takes trees away, must be alone: other sessions
/// have bound names through them.
fn check_tree(begin: &Begin) -> Result<(), Lied> {
    let is_directory = |state: &PathState| match state {
        PathState::Present(present) => present.kind == Kind::Directory,
        PathState::Absent | PathState::Unknown => false,
    };
    let moves = |step: &Step| match step.touched.verb {
        Verb::Move => is_directory(&step.touched.before) || is_directory(&step.touched.after),
        Verb::DeleteTree => true,
        Verb::Stat
        | Verb::Read
        | Verb::List
        | Verb::Glob
        | Verb::Search
        | Verb::Write
        | Verb::Edit
        | Verb::Mkdir
        | Verb::Delete
        | Verb::Chmod
        | Verb::Link => false,
    };
    if begin.tree == TreeLock::Shared && begin.intent.steps.as_slice().iter().any(moves) {
        return Err(Lied("the gate would move a directory without being alone"));
    }
    Ok(())
}

/// Whether an intent is within what its session was granted. Denials are the gate's own work.
fn check(writer: &Writer, intent: &Intent, now_ms: u64) -> Result<Result<(), Refusal>, Lied> {
    let steps = intent.steps.as_slice();
    if steps.is_empty() {
        return Err(Lied("the gate began an effect that touches nothing"));
    }
    if writer.expires_ms.is_some_and(|end| now_ms >= end) {
        return Ok(Err(Refusal::new(Code::Expired)));
    }
    for step in steps {
        let touched = &step.touched;
        if usize::from(touched.root.0) >= writer.roots.len() {
            return Err(Lied("the gate began an effect in a root it does not have"));
        }
        let grants = |grant: &Grant| {
            grant.root == touched.root
                && grant.verbs.has(touched.verb)
                && touched.path.below(&grant.prefix).is_some()
        };
        if !VerbSet::WRITING.has(touched.verb) || !writer.grants.iter().any(grants) {
            let refusal = Refusal::new(Code::NotGranted).of(touched.verb);
            return Ok(Err(refusal.on(touched.path.as_bytes())));
        }
    }
    if encoded(intent) > EFFECT_BYTES_MAX {
        let note = "the names it touches are too many or too long for one effect";
        return Ok(Err(Refusal::new(Code::OutOfBudget).noting(note)));
    }
    Ok(Ok(()))
}

/// An end concerns names of its intent, and fits.
fn check_end(intent: &Intent, end: &Finish) -> Result<(), Lied> {
    let known: std::collections::HashSet<_> = intent
        .steps
        .as_slice()
        .iter()
        .map(|step| (step.touched.root, &step.touched.path))
        .collect();
    let meant = |touched: &portcullis_protocol::session::Touched| {
        known.contains(&(touched.root, &touched.path))
    };
    if !end.touched.as_slice().iter().all(meant) {
        return Err(Lied(
            "the gate ended an effect on names it did not announce",
        ));
    }
    if encoded(end) > EFFECT_BYTES_MAX {
        return Err(Lied("the gate ended an effect with too many words"));
    }
    Ok(())
}

/// Bytes of a value on the wire.
pub(crate) fn encoded<T: serde::Serialize>(value: &T) -> usize {
    postcard::to_extend(value, Vec::new()).map_or(usize::MAX, |bytes| bytes.len())
}

#[cfg(test)]
mod tests;
