//! The warden: keeps roots and authorities, and starts one caged gate for each session.
//!
//! It has two forms. [`Embedded`] serves the process it is in, and ends with it. [`Serving`] takes
//! connections of every runtime of its user at a listening socket, and ends when nobody needs it.
//! Either way it owns its threads, and a runtime speaks to it over a control socket as
//! `portcullis_protocol::control` says. It never parses what a worker wrote, and treats what a
//! gate writes as untrusted.
//!
//! | module | what |
//! |---|---|
//! | `config` | what the embedder decides |
//! | `serving`, `listen`, `peer` | the form that listens: who may connect, and when it ends |
//! | `connection` | one control peer: its roots, its sessions, its orders |
//! | `root` | sealing a directory from its descriptor, and what it is known by for good |
//! | `mint`, `overlap`, `builtin`, `own` | from an order to an authority |
//! | `state` | journal and receipts, in SQLite |
//! | `locks` | who may change which names, in turn |
//! | `launch`, `spawn` | starting a caged gate, and the thread that starts gates |
//! | `effect`, `settle` | an effect from its begin to its receipt, and when its gate is gone |
//! | `gate` | one session's life |
//! | `budget` | what a session has left of its budgets |
//! | `lineage` | the sessions around one, as its gate is told of them |
//! | `lookup` | orders that only read the records |
//! | `shared`, `socket`, `sys` | what connections share, and how they wait |
//!
//! Each session holds two descriptors of the process (the ledger and the gate's pidfd), each root
//! one. Where they run out, orders are refused as *exhausted*; an embedder that wants many
//! sessions raises its own limit.

mod alarm;
mod budget;
mod builtin;
mod config;
mod connection;
mod decider;
mod effect;
mod gate;
mod kept;
mod launch;
mod lineage;
mod listen;
mod locks;
mod lookup;
mod mark;
mod mint;
mod overlap;
mod own;
mod peer;
mod proposals;
mod root;
mod serving;
mod settle;
mod shared;
mod socket;
mod spawn;
mod state;
mod sys;
#[cfg(test)]
mod testing;
mod vigil;

pub use config::{Config, Deadlines, GateExecutable, default_limits, own_build};
pub use decider::{
    DeciderError, Deciders, PassphraseHash, has_passphrase, remove_passphrase, set_passphrase,
};
pub use serving::{Listening, Serving, ServingHandle, Told};
pub use spawn::ExecutableError;
pub use state::{
    ExportKey, Records, RepairError, Repaired, StateError, StatePlace, repair, usual_state,
};

use portcullis_protocol::limits::GATE_DESCRIPTORS;
use portcullis_transport::{ControlSide, TransportError};
use shared::{Intake, Shared, Terms};
use socket::Socket;
use spawn::{Executable, Spawner};
use state::{OpenIntent, State};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How long a warden that stops waits for its killed gates to be gone, beside the time that
/// running effects have to end and to be settled.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// Why a warden did not start, or a connection was not made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The gate's executable cannot be used.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The process may have fewer descriptors open than each of its gates.
    #[error("{has} open files are allowed, a gate alone may have {GATE_DESCRIPTORS}; allow more")]
    Descriptors {
        /// The soft limit.
        has: u64,
    },
    /// The kernel gave no randomness, thread or event loop.
    #[error("{what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// Why it was not given.
        #[source]
        source: io::Error,
    },
    /// No control socket could be made.
    #[error("the control socket: {0}")]
    Socket(#[from] TransportError),
    /// The warden's thread is gone.
    #[error("the warden has stopped")]
    Stopped,
}

/// A running warden. Dropping it closes its control connections, kills every gate, waits until
/// they are reaped and what they had begun is settled (at most some seconds each, see [`Deadlines`]),
/// and joins its threads.
#[derive(Debug)]
pub struct Embedded {
    /// Dropped first: that is the sign to stop.
    sockets: Option<mpsc::UnboundedSender<OwnedFd>>,
    warden: Option<JoinHandle<()>>,
    spawner: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Opens the gate's executable and the state, and starts the warden's threads.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let Prepared {
            runtime,
            shared,
            left,
            spawning,
        } = prepare(config)?;
        let (sockets, connected) = mpsc::unbounded_channel();
        let warden = thread(move || runtime.block_on(accept(shared, left, connected)))?;
        Ok(Self {
            sockets: Some(sockets),
            warden: Some(warden),
            spawner: Some(spawning),
        })
    }

    /// A new control socket: the runtime's end. Closing it ends its sessions.
    pub fn connect(&self) -> Result<OwnedFd, StartError> {
        let (theirs, ours) = portcullis_transport::pair()?;
        let sockets = self.sockets.as_ref().ok_or(StartError::Stopped)?;
        sockets.send(ours).map_err(|_| StartError::Stopped)?;
        Ok(theirs)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.sockets = None;
        // The spawner ends after the warden, which asks it for gates. A thread that panicked has
        // nothing left to wait for, and has dropped, and so killed, its gates.
        for thread in [self.warden.take(), self.spawner.take()] {
            drop(thread.map(JoinHandle::join));
        }
    }
}

fn check_descriptors() -> Result<(), StartError> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    match limit.current {
        Some(has) if has <= GATE_DESCRIPTORS => Err(StartError::Descriptors { has }),
        Some(_) | None => Ok(()),
    }
}

/// What both forms start with.
struct Prepared {
    runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
    /// What earlier lives on this state began and did not end.
    left: Vec<OpenIntent>,
    spawning: JoinHandle<()>,
}

fn prepare(config: Config) -> Result<Prepared, StartError> {
    check_descriptors()?;
    let executable = Executable::open(config.gate)?;
    let state = State::open(&config.state, config.deadlines.old_gates)?;
    state.void_waiting_proposals()?;
    state.end_left_sessions()?;
    let left = state.open_intents()?;
    let terms = Terms {
        limits: config.limits,
        mint_deadline: config.mint_deadline,
        deadlines: config.deadlines,
        build: config.build,
        sharing: config.sharing,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(system("the event loop"))?;
    let (spawner, spawning) =
        Spawner::start(executable).map_err(system("the thread that starts gates"))?;
    let shared =
        Shared::new(terms, spawner, state, config.deciders).map_err(system("/dev/urandom"))?;
    Ok(Prepared {
        runtime,
        shared: Arc::new(shared),
        left,
        spawning,
    })
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> StartError {
    move |source| StartError::System { what, source }
}

fn thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, StartError> {
    std::thread::Builder::new()
        .name("portcullis-warden".to_owned())
        .spawn(work)
        .map_err(system("the warden's thread"))
}

/// How long a warden that stops waits for what runs.
fn stop_deadline(shared: &Shared) -> Duration {
    let terms = &shared.terms;
    STOP_DEADLINE + terms.deadlines.finish + terms.mint_deadline + terms.deadlines.settle
}

/// Serves control sockets until no more can come, then ends all that runs.
async fn accept(
    shared: Arc<Shared>,
    left: Vec<OpenIntent>,
    mut connected: mpsc::UnboundedReceiver<OwnedFd>,
) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    settle::settle_left(&shared, left);
    let (stop, stopped) = watch::channel(());
    let draining = shared.draining();
    while let Some(socket) = connected.recv().await {
        if *draining.borrow() == Intake::Draining {
            continue;
        }
        // A socket that cannot be watched is closed, which its runtime sees.
        if let Ok(socket) = Socket::<ControlSide>::new(socket) {
            tokio::spawn(connection::serve(
                Arc::clone(&shared),
                socket,
                connection::As::Runtime,
                stopped.clone(),
                alive.clone(),
            ));
        }
    }
    drop((stop, alive));
    // After the deadline the rest is dropped with the event loop: killed, reaped by the spawner.
    drop(timeout(stop_deadline(&shared), ended.recv()).await);
}
