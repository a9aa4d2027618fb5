//! One session's life: its gate started, serving, reaped, its effect settled. What a gate says is
//! not trusted.

use crate::connection::Report;
use crate::effect::{Effects, Next, Writer};
use crate::kept::Kept;
use crate::launch::{Caged, Launch, Unmade, launch};
use crate::root::SealedRoot;
use crate::settle::{Settled, View, settle};
use crate::shared::Shared;
use crate::socket::{ReceiveError, Received, Socket};
use crate::spawn::Gate;
use crate::state::{NewSession, SessionRow, StateError};
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{Over, OverCause, RunId};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    CageReport, Command, Duty, Event, Finished, NOTES_MAX, RefusalNote, RunAs, SessionEnd, Tally,
};
use portcullis_protocol::limits::SEND_DEADLINE_MS;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_transport::{LedgerSide, TransportError};
use rustix::process::WaitIdStatus;
use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// How long a gate that said its last word may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long a gate may leave its ledger full.
const ANSWER_DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);
/// Bytes of refusal notes kept for one session, so that they fit one frame.
const NOTES_BYTES_MAX: usize = 64 * 1024;
/// Bytes a note takes at most beside its object and rule.
const NOTE_FRAME_BYTES: usize = 16;

/// A session whose gate is to be started.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) run: RunId,
    pub(crate) authority: Authority,
    pub(crate) kept: Arc<Kept>,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
    /// Its place among all sessions of the warden.
    pub(crate) slot: OwnedSemaphorePermit,
}

/// Lives one session's life, and reports it: `Ready` then `Over`, or `Failed` alone. `stop`
/// resolves when its connection wants it ended, or is gone.
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
        // The connection is gone; what was started is killed when it is dropped.
        _ = &mut stop => return,
    };
    let Started {
        gate,
        ledger,
        worker,
        cage,
        row,
    } = match started {
        Ok(started) => started,
        Err(refusal) => {
            // Nobody listens when the connection is gone, and nothing is left to undo.
            drop(reports.send((id, Report::Failed(refusal))));
            return;
        }
    };
    let ready = Report::Ready {
        worker,
        cage,
        gate: gate.pid(),
    };
    let writer = Writer::of(
        &session.authority,
        &session.kept,
        &session.roots,
        session.run_as,
    );
    // The gate has them now; a thousand sessions need not keep them here as well.
    let Session {
        slot,
        authority,
        kept,
        roots,
        ..
    } = session;
    drop((authority, kept, roots));
    let mut life = Life {
        shared: &shared,
        ledger: &ledger,
        record: Record::default(),
        effects: Effects::new(&shared, row, writer.as_ref()),
    };
    let ending = if reports.send((id, ready)).is_ok() {
        life.serve(stop).await
    } else {
        Ending::Revoked
    };
    let grace = match ending {
        Ending::Finished(_) => GRACE,
        Ending::Revoked | Ending::Died(_) => Duration::ZERO,
    };
    let status = gate.end(grace).await;
    let ending = life.drain(ending);
    life.settle(id, row, writer.as_ref()).await;
    let over = life.record.over(id, ending, status.as_ref());
    drop(reports.send((id, Report::Over { over, slot })));
}

/// A gate that is caged and serves, and its session in the journal.
struct Started {
    gate: Gate,
    ledger: Socket<LedgerSide>,
    worker: OwnedFd,
    cage: CageReport,
    row: SessionRow,
}

async fn start(shared: &Shared, session: &Session) -> Result<Started, Refusal> {
    let (worker, served) = match portcullis_transport::pair() {
        Ok(pair) => pair,
        Err(error) => {
            let unmade = Unmade::exhausted("the session's sockets", &error);
            return Err(unmade.refused().await);
        }
    };
    let how = Launch {
        incarnation: shared.incarnation,
        session: session.id,
        authority: &session.authority,
        roots: &session.roots,
        run_as: session.run_as,
        duty: Duty::Serve,
    };
    let Caged { gate, ledger, cage } = match launch(shared, &how, Some(served)).await {
        Ok(caged) => caged,
        Err(unmade) => return Err(unmade.refused().await),
    };
    match begin(shared, session) {
        Ok(row) => Ok(Started {
            gate,
            ledger,
            worker,
            cage,
            row,
        }),
        Err(error) => {
            gate.end(Duration::ZERO).await;
            Err(Refusal::new(Code::NoLedger).noting(&error.to_string()))
        }
    }
}

fn begin(shared: &Shared, session: &Session) -> Result<SessionRow, StateError> {
    let may_write = Writer::of(&session.authority, &session.kept, &[], None).is_some();
    shared.state.begin_session(&NewSession {
        run: session.run,
        incarnation: shared.incarnation,
        session: session.id,
        authority: &session.authority,
        encoded: may_write.then(|| session.kept.encoded()),
    })
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

/// What is kept of a session for its runtime.
#[derive(Default)]
struct Record {
    notes: Vec<RefusalNote>,
    bytes: usize,
    /// Notes that came.
    came: usize,
    /// What else there is to say.
    said: Vec<String>,
}

/// A session that is served.
struct Life<'a> {
    shared: &'a Shared,
    ledger: &'a Socket<LedgerSide>,
    record: Record,
    effects: Effects<'a>,
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
                    Ok(event) => self.take(event).await,
                    Err(error) => Some(Ending::Died(broken(&error))),
                },
                next = self.effects.next() => match next {
                    Next::Answer(id, command) => self.answer(id, &command).await,
                    Next::Overdue => {
                        Some(Ending::Died("the gate held its locks too long".to_owned()))
                    }
                },
                () = revoked(&wanted, &mut stop) => match wanted {
                    Wanted::On => {
                        let bound = self.shared.terms.deadlines.finish;
                        wanted = Wanted::Ended(Instant::now() + bound);
                        None
                    }
                    Wanted::Ended(_) => Some(Ending::Revoked),
                },
            };
            match (ending, &wanted) {
                (Some(ending), _) => return ending,
                // Only an effect that is begun is waited for.
                (None, Wanted::Ended(_)) if !self.effects.is_begun() => return Ending::Revoked,
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
            ..
        } = event;
        let answer = match message {
            Event::Begin(begin) => self.effects.begin(id, begin),
            Event::Amend(intent) => self.effects.amend(intent).map(Some),
            Event::Confirmed(_) => self.effects.confirmed().map(|()| None),
            Event::Unlock(_) => self.effects.unlock().map(|()| None),
            Event::Finish(end) => self.effects.finish(&end, &content).map(Some),
            Event::Refused(note) => return self.record.note(note),
            Event::Finished(finished) => return Some(Ending::Finished(finished)),
            Event::Fault(fault) => return Some(Ending::Died(fault.what.as_str().to_owned())),
            Event::Ready(_) => return Some(Ending::Died("the gate was ready twice".to_owned())),
            Event::Seen(_) => return Some(Ending::Died("the gate was no observer".to_owned())),
        };
        match answer {
            Ok(Some(command)) => self.answer(id, &command).await,
            Ok(None) => None,
            Err(lied) => Some(Ending::Died(lied.0.to_owned())),
        }
    }

    async fn answer(&self, id: RequestId, command: &Command) -> Option<Ending> {
        let sent = self.ledger.send(id, command, &[], ANSWER_DEADLINE).await;
        sent.err()
            .map(|error| Ending::Died(broken(&ReceiveError::Transport(error))))
    }

    /// Takes what a gate that is gone had said before. Its last word holds over a revocation
    /// that came after it, and the end of its effect over what an observer would see.
    fn drain(&mut self, ending: Ending) -> Ending {
        while let Ok(event) = self.ledger.receive_now(&self.shared.buffer) {
            let goes_on = match (event.message, &ending) {
                (Event::Finish(end), _) => self.effects.finish(&end, &event.content).is_ok(),
                (Event::Confirmed(_), _) => self.effects.confirmed().is_ok(),
                (Event::Refused(note), _) => self.record.note(note).is_none(),
                (Event::Finished(finished), Ending::Revoked) => return Ending::Finished(finished),
                // It asked, and has had no answer: nothing was done.
                (Event::Begin(_) | Event::Amend(_) | Event::Unlock(_), _) => true,
                (Event::Finished(_) | Event::Ready(_) | Event::Fault(_) | Event::Seen(_), _) => {
                    false
                }
            };
            if !goes_on {
                break;
            }
        }
        ending
    }

    /// Settles the effect that the gate left, and ends the session in the journal.
    async fn settle(&mut self, id: SessionId, row: SessionRow, writer: Option<&Writer>) {
        if let (Some(running), Some(writer)) = (self.effects.left(), writer) {
            let authority = writer.kept.open();
            let view = authority.as_ref().ok().map(|authority| View {
                incarnation: self.shared.incarnation,
                session: id,
                authority,
                roots: &writer.roots,
                run_as: writer.run_as,
            });
            if Box::pin(settle(self.shared, view, running)).await == Settled::No {
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

impl Record {
    /// Takes one note; gives how the session ends, if it is one too many.
    fn note(&mut self, note: RefusalNote) -> Option<Ending> {
        self.came += 1;
        if self.came > NOTES_MAX {
            return Some(Ending::Died("the gate sent too many notes".to_owned()));
        }
        let object = note.object.as_ref().map_or(0, |o| o.as_slice().len());
        let rule = note.rule.as_ref().map_or(0, |r| r.as_str().len());
        let bytes = object + rule + NOTE_FRAME_BYTES;
        if self.bytes + bytes <= NOTES_BYTES_MAX {
            self.bytes += bytes;
            self.notes.push(note);
        }
        None
    }

    fn over(self, session: SessionId, ending: Ending, status: Option<&WaitIdStatus>) -> Over {
        let mut said = self.said;
        let (cause, tally): (OverCause, Option<Tally>) = match ending {
            Ending::Finished(Finished { tally, end }) => match end {
                SessionEnd::WorkerLeft => (OverCause::WorkerLeft, Some(tally)),
                SessionEnd::WorkerMisbehaved => (OverCause::WorkerMisbehaved, Some(tally)),
            },
            Ending::Revoked => (OverCause::Revoked, None),
            Ending::Died(why) => {
                said.push(why);
                said.extend(status.and_then(last_words));
                (OverCause::GateDied, None)
            }
        };
        let left_out = self.came - self.notes.len();
        if left_out > 0 {
            said.push(format!("{left_out} refusals are not told one by one"));
        }
        Over {
            session,
            cause,
            tally,
            refusals: Few::new(self.notes).unwrap_or_default(),
            note: (!said.is_empty()).then(|| Text::plain(&said.join("; "))),
        }
    }
}

fn last_words(status: &WaitIdStatus) -> Option<String> {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => Some(format!("it ended by signal {signal}")),
        (None, Some(code)) => Some(format!("it ended with status {code}")),
        (None, None) => None,
    }
}
