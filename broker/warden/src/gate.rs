//! One session's life: its gate started, serving, reaped, its effect settled. What a gate says is
//! not trusted.

mod after;
mod asking;
mod record;
mod starting;

pub(crate) use asking::{Answering, Asking, Given};

use crate::budget::Purse;
use crate::connection::Report;
use crate::effect::{Effects, Lied, Means, Next, Writer};
use crate::kept::Kept;
use crate::launch::Ignore;
use crate::proposals::{Asks, Became, Reviewing};
use crate::root::SealedRoot;
use crate::settle::{Settled, View, settle};
use crate::shared::Shared;
use crate::socket::{ReceiveError, Received, Socket};
use crate::state::SessionRow;
use crate::vigil::Vigil;
use asking::Asked;
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::{Over, RunId};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Ancestor, Command, Event, Finished, RunAs};
use portcullis_protocol::limits::{LINEAGE_MAX, SEND_DEADLINE_MS};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_transport::{LedgerSide, TransportError};
use record::Record;
use starting::{Started, asker, start};
use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// How long a gate that said its last word may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long a gate may leave its ledger full.
const ANSWER_DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);

/// A session whose gate is to be started.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) run: RunId,
    pub(crate) authority: Authority,
    pub(crate) kept: Arc<Kept>,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
    pub(crate) reviewing: Reviewing,
    pub(crate) purse: Arc<Purse>,
    /// The sessions it is made within, the nearest first.
    pub(crate) lineage: Few<Ancestor, LINEAGE_MAX>,
    pub(crate) ignore: Ignore,
    /// Its place among all sessions of the warden.
    pub(crate) slot: OwnedSemaphorePermit,
}

impl Session {
    fn means(&self) -> Means<'_> {
        Means {
            kept: &self.kept,
            roots: &self.roots,
            run_as: self.run_as,
            purse: &self.purse,
        }
    }
}

/// Lives one session's life, and reports it: `Ready`, then what it asks for, then `Ending` and
/// `Over`; or `Failed` alone. `stop` resolves when its connection wants it ended, or is gone.
pub(crate) async fn live(
    shared: Arc<Shared>,
    session: Session,
    mut stop: oneshot::Receiver<Infallible>,
    reports: mpsc::UnboundedSender<(SessionId, Report)>,
) {
    let id = session.id;
    let started = tokio::select! {
        // Boxed, so that the task of a running session is small.
        started = Box::pin(start(&shared, &session)) => started,
        // What was started is killed when it is dropped.
        _ = &mut stop => {
            let note = "the session it was to be within is over";
            Err(Refusal::new(Code::UnknownSession).noting(note))
        }
    };
    let last = match started {
        Ok(started) => {
            let tell = Tell {
                id,
                reports: &reports,
            };
            let (over, slot) = run(&shared, session, started, stop, tell).await;
            Report::Over { over, slot }
        }
        Err(refusal) => Report::Failed(refusal),
    };
    // Nobody listens when the connection is gone, and nothing is left to undo.
    drop(reports.send((id, last)));
}

/// The life of a session whose gate is caged, until that is reaped and its last effect settled.
async fn run(
    shared: &Arc<Shared>,
    session: Session,
    started: Started,
    stop: oneshot::Receiver<Infallible>,
    tell: Tell<'_>,
) -> (Over, OwnedSemaphorePermit) {
    let Started {
        gate,
        ledger,
        worker,
        cage,
        mark,
        row,
        socket,
    } = started;
    let ready = Report::Ready {
        worker,
        cage,
        gate: gate.pid(),
    };
    let writer = Writer::of(&session.authority, session.means());
    let asker = asker(&session, row, socket);
    let turns = asker.as_ref().map(|asker| asker.turns.clone());
    // The gate has its roots now; a thousand sessions need not keep them, and more, here as well.
    let Session {
        slot,
        authority,
        kept,
        roots,
        lineage,
        ..
    } = session;
    drop((authority, kept, roots, lineage));
    let mut life = Life {
        shared,
        ledger: &ledger,
        tell,
        record: Record::default(),
        effects: Effects::new(shared, row, (writer.as_ref(), &mark), turns),
        asks: Asks::new(shared, asker),
        asked: Asked::default(),
        vigil: Vigil::default(),
    };
    let ending = if life.tell.say(ready).is_ok() {
        life.serve(stop).await
    } else {
        Ending::Revoked
    };
    // What is within it ends with it, and not when its last effect is settled.
    life.tell.say(Report::Ending).ok();
    let grace = match ending {
        Ending::Finished(_) => GRACE,
        Ending::Revoked | Ending::Died(_) => Duration::ZERO,
    };
    let status = gate.end(grace).await;
    let ending = life.drain(ending);
    // What is being done in its stead may end, within its bounds, before its row does.
    life.asks.end().await;
    life.note_last_refusals(&ending);
    life.settle(life.tell.id, row, writer.as_ref()).await;
    let over = life.record.over(life.tell.id, ending, status.as_ref());
    (over, slot)
}

/// Why a session ends.
enum Ending {
    /// The gate said so.
    Finished(Finished),
    /// Its runtime wants it, or is gone.
    Revoked,
    /// The gate is dead, or says what a gate does not say.
    Died(String),
}

/// A session that is served.
struct Life<'a> {
    shared: &'a Shared,
    ledger: &'a Socket<LedgerSide>,
    tell: Tell<'a>,
    record: Record,
    effects: Effects<'a>,
    asks: Asks,
    asked: Asked,
    vigil: Vigil,
}

/// Where a session's life is told.
#[derive(Clone, Copy)]
struct Tell<'a> {
    id: SessionId,
    reports: &'a mpsc::UnboundedSender<(SessionId, Report)>,
}

/// The connection is gone.
struct Unheard;

impl Tell<'_> {
    fn say(&self, report: Report) -> Result<(), Unheard> {
        self.reports.send((self.id, report)).map_err(|_| Unheard)
    }
}

/// Whether the session is wanted to end.
enum Wanted {
    On,
    /// At once, or when the effect that is begun has ended, at most until then.
    Ended(Instant),
}

impl Life<'_> {
    /// Takes what the gate says until the session is over.
    async fn serve(&mut self, mut stop: oneshot::Receiver<Infallible>) -> Ending {
        let mut wanted = Wanted::On;
        loop {
            let ending = tokio::select! {
                event = self.ledger.receive(&self.shared.buffer) => match event {
                    Ok(event) => {
                        self.vigil.end();
                        self.take(event).await
                    }
                    Err(error) => Some(Ending::Died(broken(&error))),
                },
                next = self.effects.next() => match next {
                    Next::Answer(id, command) => self.answer(id, &command, &[]).await,
                    Next::Overdue => {
                        Some(Ending::Died("the gate held its locks too long".to_owned()))
                    }
                },
                (id, became) = self.asks.next() => match became {
                    Became::Answer(command) => self.answer(id, &command, &[]).await,
                    Became::Lost => Some(Ending::Died(
                        "the gate that did what was approved ended without an answer".to_owned(),
                    )),
                },
                (id, command, socket) = self.asked.next() => {
                    let with: Vec<_> = socket.iter().map(AsFd::as_fd).collect();
                    self.answer(id, &command, &with).await
                }
                never = self.vigil.keep() => match never {},
                () = revoked(&wanted, &mut stop) => match wanted {
                    Wanted::On => {
                        self.asks.stop();
                        let bound = self.shared.terms.deadlines.finish;
                        wanted = Wanted::Ended(Instant::now() + bound);
                        None
                    }
                    Wanted::Ended(_) => Some(Ending::Revoked),
                },
            };
            match (ending, &wanted) {
                (Some(ending), _) => return ending,
                // Only effects that are begun are waited for.
                (None, Wanted::Ended(_)) if !self.effects.is_begun() && self.asks.is_idle() => {
                    return Ending::Revoked;
                }
                (None, Wanted::Ended(_) | Wanted::On) => {}
            }
        }
    }

    /// Takes one event; gives how the session ends, if it ends with it.
    async fn take(&mut self, event: Received<LedgerSide>) -> Option<Ending> {
        let Received {
            id,
            message,
            content,
            descriptors,
        } = event;
        if !descriptors.is_empty() && !matches!(message, Event::Propose(_)) {
            return Some(Ending::Died("the gate sent a descriptor".to_owned()));
        }
        let answer = match message {
            Event::Begin(begin) => self.effects.begin(id, begin),
            Event::Amend(intent) => self.effects.amend(intent).map(Some),
            Event::Unlock(_) => self.effects.unlock().map(|()| None),
            Event::Finish(end) => self.effects.finish(&end, &content).map(Some),
            Event::Refused(note) => {
                let ending = self.record.note(note);
                self.note_refusals();
                return ending;
            }
            Event::Finished(finished) => return Some(Ending::Finished(finished)),
            Event::Fault(fault) => return Some(Ending::Died(fault.what.as_str().to_owned())),
            Event::Ready(_) => return Some(Ending::Died("the gate was ready twice".to_owned())),
            Event::Seen(_) => return Some(Ending::Died("the gate was no observer".to_owned())),
            Event::Propose(asked) => self.asks.take(id, asked, content, descriptors),
            Event::Claim(_) => {
                return Some(Ending::Died("the gate has nothing to use".to_owned()));
            }
            Event::Delegate(wished) => self.ask(id, Asking::Delegate(Box::new(wished))),
            Event::EndDelegated(end) => self.ask(id, Asking::End(end.session)),
            Event::Bound(_) | Event::Unbound(_) => {
                return Some(Ending::Died(
                    "the gate was asked for no proposal".to_owned(),
                ));
            }
        };
        match answer {
            Ok(Some(command)) => self.answer(id, &command, &[]).await,
            Ok(None) => None,
            Err(lied) => Some(Ending::Died(lied.0.to_owned())),
        }
    }

    /// Asks the connection, which answers while everything else goes on.
    fn ask(&mut self, id: RequestId, asking: Asking) -> Result<Option<Command>, Lied> {
        let answering = self.asked.ask(id)?;
        let report = Report::Asks(asking, answering);
        // Nobody listens when the connection is gone; then the answer says so.
        self.tell.say(report).ok();
        Ok(None)
    }

    async fn answer(
        &mut self,
        id: RequestId,
        command: &Command,
        with: &[BorrowedFd<'_>],
    ) -> Option<Ending> {
        let sent = self.ledger.send(id, command, with, ANSWER_DEADLINE).await;
        if matches!(command, Command::Begun(_)) {
            self.vigil.start();
        }
        sent.err()
            .map(|error| Ending::Died(broken(&ReceiveError::Transport(error))))
    }

    /// Settles the effect that the gate left, and ends the session in the journal.
    async fn settle(&mut self, id: SessionId, row: SessionRow, writer: Option<&Writer>) {
        if let (Some(left), Some(writer)) = (self.effects.left(), writer) {
            let authority = writer.kept.open();
            let view = authority.as_ref().ok().map(|authority| View {
                incarnation: self.shared.incarnation,
                session: id,
                authority,
                roots: &writer.roots,
                run_as: writer.run_as,
            });
            if Box::pin(settle(self.shared, view, left)).await == Settled::No {
                let word = "its last effect has no receipt yet: the journal does not take it";
                self.record.said.push(word.to_owned());
                return;
            }
        }
        if self.shared.state.end_session(row).is_err() {
            let word = "its end is not in the journal, which does not take it";
            self.record.said.push(word.to_owned());
        }
    }
}

/// Resolves when a session that runs is wanted to end, or one that is wanted to end has had the
/// time for it.
async fn revoked(wanted: &Wanted, stop: &mut oneshot::Receiver<Infallible>) {
    match wanted {
        Wanted::On => drop(stop.await),
        Wanted::Ended(bound) => sleep_until(*bound).await,
    }
}

fn broken(error: &ReceiveError) -> String {
    match error {
        ReceiveError::Transport(TransportError::Closed) => "the gate ended unasked".to_owned(),
        ReceiveError::Transport(other) => format!("the gate's ledger broke: {other}"),
        ReceiveError::Decode(other) => format!("the gate wrote no ledger event: {other}"),
    }
}
