//! One gate's life: started, caged, serving, reaped. What it says is not trusted.

use crate::connection::Report;
use crate::root::SealedRoot;
use crate::shared::Shared;
use crate::socket::{ReceiveError, Socket};
use crate::spawn::Gate;
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::control::{Over, OverCause};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    CageReport, Command, Event, Finished, LANDLOCK_ABI_MIN, NOTES_MAX, RefusalNote, RunAs,
    SessionEnd, Setup, Tally,
};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::SessionId;
use portcullis_transport::{LedgerSide, TransportError};
use rustix::io::Errno;
use rustix::process::WaitIdStatus;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

/// How long a gate that said its last word may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes of refusal notes kept for one session, so that they fit one frame.
const NOTES_BYTES_MAX: usize = 64 * 1024;
/// Bytes a note takes at most beside its object and rule.
const NOTE_FRAME_BYTES: usize = 16;

/// A session whose gate is to be started.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) authority: Authority,
    pub(crate) roots: Vec<Arc<SealedRoot>>,
    pub(crate) run_as: Option<RunAs>,
    /// Its place among all sessions of the warden.
    pub(crate) slot: OwnedSemaphorePermit,
}

/// Lives one gate's life, and reports it: `Ready` then `Over`, or `Failed` alone. `stop` resolves
/// when its connection wants it ended, or is gone.
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
    } = match started {
        Ok(started) => started,
        Err(unmade) => {
            let refusal = unmade.refused().await;
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
    let Session {
        slot,
        authority,
        roots,
        ..
    } = session;
    // The gate has them now; a thousand sessions need not keep them here as well.
    drop((authority, roots));
    let mut record = Record::default();
    let ending = if reports.send((id, ready)).is_ok() {
        tokio::select! {
            ending = serve(&shared, &ledger, &mut record) => ending,
            _ = &mut stop => Ending::Revoked,
        }
    } else {
        Ending::Revoked
    };
    let grace = match ending {
        Ending::Finished(_) => GRACE,
        Ending::Revoked | Ending::Died(_) => Duration::ZERO,
    };
    let status = gate.end(grace).await;
    let ending = record.drain(&shared, &ledger, ending);
    let over = record.over(id, ending, status.as_ref());
    drop(reports.send((id, Report::Over { over, slot })));
}

/// A gate that is caged and serves.
struct Started {
    gate: Gate,
    ledger: Socket<LedgerSide>,
    worker: OwnedFd,
    cage: CageReport,
}

/// A session that was not made, and its gate, if there was one.
struct Unmade {
    why: Refusal,
    gate: Option<Gate>,
}

impl Unmade {
    fn exhausted(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self {
            why: Refusal::new(Code::Exhausted).noting(&format!("{what}: {error}")),
            gate: None,
        }
    }

    fn unconfined(gate: Option<Gate>, note: &str) -> Self {
        Self {
            why: Refusal::new(Code::NotConfined).noting(note),
            gate,
        }
    }

    /// The refusal, once its gate is gone.
    async fn refused(self) -> Refusal {
        if let Some(gate) = self.gate {
            gate.end(Duration::ZERO).await;
        }
        self.why
    }
}

/// Starts a gate and waits until it is caged, all within the deadline.
async fn start(shared: &Shared, session: &Session) -> Result<Started, Unmade> {
    match timeout(shared.mint_deadline, begin(shared, session)).await {
        Ok(started) => started,
        Err(_) => Err(Unmade::unconfined(
            None,
            &format!(
                "the gate was not caged within {} ms",
                shared.mint_deadline.as_millis()
            ),
        )),
    }
}

async fn begin(shared: &Shared, session: &Session) -> Result<Started, Unmade> {
    let sockets = |error: TransportError| Unmade::exhausted("the session's sockets", &error);
    let (ours, theirs) = portcullis_transport::pair().map_err(sockets)?;
    let (worker, served) = portcullis_transport::pair().map_err(sockets)?;
    let ledger = Socket::<LedgerSide>::new(ours).map_err(sockets)?;
    let gate = match shared.spawner.spawn(theirs).await {
        Ok(gate) => gate,
        Err(error) => return Err(not_started(&error)),
    };
    let mut descriptors = vec![served.as_fd()];
    descriptors.extend(session.roots.iter().map(|root| root.directory()));
    let setup = Command::Setup(Setup {
        authority: session.authority.clone(),
        incarnation: shared.incarnation,
        session: session.id,
        limits: shared.limits,
        run_as: session.run_as,
    });
    let sent = ledger
        .send(RequestId::NONE, &setup, &descriptors, shared.mint_deadline)
        .await;
    // A worker's socket must close when its gate does, so no copy of the gate's end stays here.
    drop(served);
    if let Err(error) = sent {
        let note = format!("the gate's setup: {error}");
        return Err(Unmade::unconfined(Some(gate), &note));
    }
    let wrong = match ledger.receive(&shared.buffer).await {
        Ok(event) => match event.message {
            Event::Ready(cage) => match missing(&cage, session.run_as) {
                None => {
                    return Ok(Started {
                        gate,
                        ledger,
                        worker,
                        cage,
                    });
                }
                Some(missing) => missing,
            },
            Event::Fault(fault) if fault.code == Code::BadPattern => {
                return Err(Unmade {
                    why: Refusal::new(Code::BadPattern).noting(fault.what.as_str()),
                    gate: Some(gate),
                });
            }
            Event::Fault(fault) => fault.what.as_str().to_owned(),
            Event::Refused(_) | Event::Finished(_) => "the gate served before its cage".to_owned(),
        },
        Err(error) => format!("the gate ended before it was caged: {error}"),
    };
    Err(Unmade::unconfined(Some(gate), &wrong))
}

fn not_started(error: &io::Error) -> Unmade {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => {
            Unmade::exhausted("the gate was not started", error)
        }
        Some(_) | None => Unmade::unconfined(None, &format!("the gate was not started: {error}")),
    }
}

/// What a cage lacks, if it lacks something.
fn missing(cage: &CageReport, run_as: Option<RunAs>) -> Option<String> {
    let expected = run_as.unwrap_or(RunAs {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    });
    let is = RunAs {
        user: cage.user,
        group: cage.group,
    };
    if is != expected {
        return Some(format!(
            "the gate runs as {}:{} instead of {}:{}",
            is.user, is.group, expected.user, expected.group
        ));
    }
    (!cage.is_whole()).then(|| {
        format!(
            "the gate's cage is not whole: landlock ABI {} of at least {LANDLOCK_ABI_MIN}, \
             handled rights {:#x}, seccomp mode {}, no_new_privs {}, capabilities {:#x}, \
             dumpable {}, probes refused {} of {}",
            cage.landlock_abi,
            cage.landlock_handled,
            cage.seccomp_mode,
            cage.no_new_privs,
            cage.capabilities,
            cage.dumpable,
            cage.probes_refused,
            cage.probes_made
        )
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
}

/// Takes what the gate says until the session is over.
async fn serve(shared: &Shared, ledger: &Socket<LedgerSide>, record: &mut Record) -> Ending {
    loop {
        let ending = match ledger.receive(&shared.buffer).await {
            Ok(event) => record.take(event.message),
            Err(error) => Some(Ending::Died(broken(&error))),
        };
        if let Some(ending) = ending {
            return ending;
        }
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
    /// Takes one event; gives how the session ends, if it ends with it.
    fn take(&mut self, event: Event) -> Option<Ending> {
        match event {
            Event::Refused(note) => {
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
            Event::Finished(finished) => Some(Ending::Finished(finished)),
            Event::Fault(fault) => Some(Ending::Died(fault.what.as_str().to_owned())),
            Event::Ready(_) => Some(Ending::Died("the gate was ready twice".to_owned())),
        }
    }

    /// Takes what a gate that is gone had said before. Its last word holds over a revocation
    /// that came after it.
    fn drain(&mut self, shared: &Shared, ledger: &Socket<LedgerSide>, ending: Ending) -> Ending {
        if !matches!(ending, Ending::Revoked) {
            return ending;
        }
        while let Ok(event) = ledger.receive_now(&shared.buffer) {
            match self.take(event.message) {
                None => {}
                Some(Ending::Finished(finished)) => return Ending::Finished(finished),
                Some(Ending::Revoked | Ending::Died(_)) => return ending,
            }
        }
        ending
    }

    fn over(self, session: SessionId, ending: Ending, status: Option<&WaitIdStatus>) -> Over {
        let mut said = Vec::new();
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
