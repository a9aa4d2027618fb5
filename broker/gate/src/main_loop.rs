//! The life of a gate: set up, caged, serving, over.

use crate::cage::{self, CageError, Caged, Subtree};
use crate::carry_out::carry_out;
use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::observe::observe;
use crate::propose::propose;
use crate::serve::serve;
use crate::session::{Session, SetupError};
use crate::sys;
use portcullis_protocol::bounded::Text;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Command, Duty, Event, Fault, Intent};
use portcullis_protocol::refusal::Code;
use portcullis_transport::{Buffer, Endpoint, GateSide, SessionSide, TransportError};
use rustix::io::FdFlags;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// How long the warden may leave the ledger full before the gate gives up.
const LEDGER_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
enum GateError {
    #[error("descriptor 0 is not a ledger: {0}")]
    Ledger(TransportError),
    #[error("no setup: {0}")]
    Setup(TransportError),
    #[error("the setup is malformed")]
    Malformed,
    #[error(transparent)]
    Session(#[from] SetupError),
    #[error("session socket: {0}")]
    Socket(TransportError),
    #[error(transparent)]
    Cage(#[from] CageError),
    #[error("the warden is gone: {0}")]
    Warden(TransportError),
}

/// Runs a gate on descriptor 0 until its worker leaves. Exit code 0 when the session ended in
/// order, 1 when it could not be served; what went wrong is said on the ledger, never on a
/// terminal.
pub fn main() -> ExitCode {
    if sys::cage::close_inherited().is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3) else {
        return ExitCode::FAILURE;
    };
    let ledger = match Endpoint::<GateSide>::new(socket).map_err(GateError::Ledger) {
        Ok(ledger) => ledger,
        Err(_) => {
            // Started by hand: this is the one case in which a person may be reading.
            eprintln!("portcullis-gate is started by the broker, with its ledger as descriptor 0");
            return ExitCode::FAILURE;
        }
    };
    match run(ledger) {
        Ok(()) => ExitCode::SUCCESS,
        Err(()) => ExitCode::FAILURE,
    }
}

fn run(ledger: Endpoint<GateSide>) -> Result<(), ()> {
    let fault = |ledger: &Endpoint<GateSide>, error: GateError| {
        let code = match &error {
            GateError::Session(SetupError::Pattern(_)) => Code::BadPattern,
            GateError::Ledger(_)
            | GateError::Setup(_)
            | GateError::Malformed
            | GateError::Session(_)
            | GateError::Socket(_)
            | GateError::Cage(_)
            | GateError::Warden(_) => Code::NotConfined,
        };
        let what = Text::plain(&error.to_string());
        let event = Event::Fault(Fault { code, what });
        ledger
            .send(&mut Vec::new(), RequestId::NONE, &event, &[])
            .unwrap_or_default();
    };
    // One for the whole life: allocated once, and only its first pages are ever touched while the
    // session is idle.
    let mut buffer = Buffer::new();
    if ledger.set_send_deadline(LEDGER_DEADLINE).is_err() {
        return Err(());
    }
    let Ready {
        session,
        duty,
        mark,
        _alive,
    } = match set_up(&ledger, &mut buffer) {
        Ok(ready) => ready,
        Err(error) => {
            fault(&ledger, error);
            return Err(());
        }
    };
    let caged = match enter_cage(&session, &duty) {
        Ok(caged) => caged,
        Err(error) => {
            fault(&ledger, error);
            return Err(());
        }
    };
    sys::cage::give_memory_back();
    let ready = Event::Ready(caged.report().clone());
    let ledger = Arc::new(Ledger::new(ledger, mark));
    ledger
        .tell(&ready)
        .map_err(GateError::Warden)
        .map_err(|_| ())?;
    live(&caged, (session, duty), &ledger, &mut buffer)
}

/// Does what the gate was set up for. Demands the proof of the cage.
fn live(
    caged: &Caged,
    (session, duty): (Session, Task),
    ledger: &Arc<Ledger>,
    buffer: &mut Buffer,
) -> Result<(), ()> {
    match duty {
        Task::Serve(endpoint) => {
            let counters = Arc::new(Counters::new(Arc::clone(ledger)));
            let end = serve(caged, session, endpoint, &counters, buffer);
            counters.finish(end).map_err(|_| ())
        }
        Task::Observe(intent) => {
            let seen = observe(caged, &session, &intent);
            ledger.tell(&Event::Seen(seen)).map_err(|_| ())
        }
        Task::Propose => {
            let (asked, content) = ledger.asked(buffer).map_err(|_| ())?;
            propose(caged, &session, ledger, (&asked, content)).map_err(|_| ())
        }
        Task::Execute(endpoint) => {
            let (asked, content) = ledger.asked(buffer).map_err(|_| ())?;
            let counters = Arc::new(Counters::new(Arc::clone(ledger)));
            let worker = (endpoint, &counters);
            let end = carry_out(caged, &Arc::new(session), worker, (&asked, content));
            counters.finish(end).map_err(|_| ())
        }
    }
}

/// What a gate is set up for.
enum Task {
    Serve(Endpoint<SessionSide>),
    Observe(Intent),
    Propose,
    Execute(Endpoint<SessionSide>),
}

/// A gate that was told what to be.
struct Ready {
    session: Session,
    duty: Task,
    /// Where it says that it changes files.
    mark: OwnedFd,
    /// Open as long as this gate lives: a later warden waits until nobody holds its lock.
    _alive: OwnedFd,
}

/// Closes the cage. One that only looks gets no right to change anything; one that works out what is
/// asked for may list as well, because it judges and counts what is below a directory.
fn enter_cage(session: &Session, duty: &Task) -> Result<Caged, GateError> {
    let mut subtrees = session.subtrees()?;
    match duty {
        Task::Serve(_) | Task::Execute(_) => {}
        Task::Observe(_) => subtrees.iter_mut().for_each(Subtree::only_read),
        Task::Propose => subtrees.iter_mut().for_each(Subtree::only_show),
    }
    Ok(cage::close(&subtrees)?)
}

/// Takes the setup from the warden and becomes the roots' owner.
fn set_up(ledger: &Endpoint<GateSide>, buffer: &mut Buffer) -> Result<Ready, GateError> {
    // Descriptors 0, 1 and 2 were for starting; nothing is inherited beside them.
    let packet = ledger.receive(buffer).map_err(GateError::Setup)?;
    let (frame, mut descriptors) = packet.decode().map_err(|_| GateError::Malformed)?;
    let Command::Setup(setup) = frame.message else {
        return Err(GateError::Malformed);
    };
    for descriptor in &descriptors {
        rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC).map_err(|errno| CageError::Step {
            step: "close-on-exec",
            errno,
        })?;
    }
    let mark = descriptors.pop().ok_or(GateError::Malformed)?;
    let alive = descriptors.pop().ok_or(GateError::Malformed)?;
    let socket = match setup.duty {
        Duty::Serve | Duty::Execute if descriptors.is_empty() => return Err(GateError::Malformed),
        Duty::Serve | Duty::Execute => Some(descriptors.remove(0)),
        Duty::Observe(_) | Duty::Propose => None,
    };
    if let Some(run_as) = setup.run_as {
        cage::become_user(run_as)?;
    }
    let deadline = Duration::from_millis(setup.limits.send_deadline_ms.into());
    let worker = |socket: Option<OwnedFd>| {
        let endpoint = Endpoint::new(socket.ok_or(GateError::Malformed)?);
        let endpoint = endpoint.map_err(GateError::Socket)?;
        endpoint
            .set_send_deadline(deadline)
            .map_err(GateError::Socket)?;
        Ok::<_, GateError>(endpoint)
    };
    let duty = match &setup.duty {
        Duty::Observe(intent) => Task::Observe(intent.clone()),
        Duty::Serve => Task::Serve(worker(socket)?),
        Duty::Propose => Task::Propose,
        Duty::Execute => Task::Execute(worker(socket)?),
    };
    Ok(Ready {
        session: Session::new(setup, descriptors)?,
        duty,
        mark,
        _alive: alive,
    })
}
