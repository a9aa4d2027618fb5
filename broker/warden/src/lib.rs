//! The warden: keeps roots and authorities, and starts one caged gate for each session.
//!
//! It has two forms. [`Embedded`] serves the process it is in, and ends with it. [`Serving`] takes
//! connections of every runtime of its user at a listening socket, and ends when nobody needs it.
//! Either way it owns its two threads, and a runtime speaks to it over a control socket as
//! `portcullis_protocol::control` says. It never parses what a worker wrote, and treats what a
//! gate writes as untrusted.
//!
//! | module | what |
//! |---|---|
//! | `config` | what the embedder decides |
//! | `listen`, `peer` | who may connect to a warden that serves, and when it ends |
//! | `connection` | one control peer: its roots, its sessions, its orders |
//! | `root` | sealing a directory from its descriptor |
//! | `mint`, `overlap`, `builtin` | from an order to an authority |
//! | `gate`, `spawn` | one gate's life, and the thread that starts gates |
//! | `shared`, `socket`, `sys` | what connections share, and how they wait |
//!
//! Each session holds two descriptors of the process (the ledger and the gate's pidfd), each root
//! one. Where they run out, orders are refused as *exhausted*; an embedder that wants many
//! sessions raises its own limit.

mod builtin;
mod config;
mod connection;
mod gate;
mod kept;
mod listen;
mod mint;
mod overlap;
mod peer;
mod root;
mod shared;
mod socket;
mod spawn;
mod sys;
#[cfg(test)]
mod testing;

pub use config::{Config, GateExecutable, default_limits};
pub use spawn::ExecutableError;

use listen::Word;
use portcullis_protocol::control::Sharing;
use portcullis_transport::{ControlSide, TransportError};
use rustix::io::Errno;
use shared::Shared;
use socket::Socket;
use spawn::{Executable, Spawner};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How long a warden that stops waits for its killed gates to be gone.
const STOP_DEADLINE: Duration = Duration::from_secs(5);

/// Why a warden did not start, or a connection was not made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The gate's executable cannot be used.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
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
/// they are reaped (at most some seconds), and joins its threads.
#[derive(Debug)]
pub struct Embedded {
    /// Dropped first: that is the sign to stop.
    sockets: Option<mpsc::UnboundedSender<OwnedFd>>,
    warden: Option<JoinHandle<()>>,
    spawner: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Opens the gate's executable and starts the warden's threads.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let Prepared {
            runtime,
            shared,
            spawning,
        } = prepare(config, Sharing::Embedded)?;
        let (sockets, connected) = mpsc::unbounded_channel();
        let warden = thread(move || runtime.block_on(accept(shared, connected)))?;
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

/// A socket at which a warden serves, and what goes with it.
pub struct Listening {
    /// A listening local SEQPACKET socket that only its user can reach.
    pub socket: OwnedFd,
    /// How long it serves after the last connection has closed and the last effect is settled.
    pub idle: Duration,
    /// Called once, when no further connection shall come: removes the socket's name.
    pub withdraw: Option<Box<dyn FnOnce() + Send>>,
    /// Called with what happens, on the event loop; must not block.
    pub tell: Box<dyn Fn(&Told) + Send>,
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening")
            .field("socket", &self.socket)
            .field("idle", &self.idle)
            .finish_non_exhaustive()
    }
}

impl Listening {
    fn withdraw(&mut self) {
        if let Some(withdraw) = self.withdraw.take() {
            withdraw();
        }
    }

    fn say(&self, what: &Told) {
        (self.tell)(what);
    }
}

/// What happens at a socket, for a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Told {
    /// Connections are taken.
    #[error("serving")]
    Serving,
    /// A peer is not served, for this reason.
    #[error("a peer is not served: {0}")]
    Refused(String),
    /// The kernel has no room for a connection; it waits.
    #[error("a connection waits: {0}")]
    NoRoom(String),
    /// It ends as soon as nobody is connected.
    #[error("asked to make room for a newer one: ends when nobody is connected")]
    Retiring,
    /// No further connection is taken.
    #[error("no further connection is taken")]
    Closed,
}

/// A warden that serves at a socket. It ends by itself when it is idle, and when it was drained;
/// dropping it ends it at once, as [`Embedded`] does.
#[derive(Debug)]
pub struct Serving {
    handle: ServingHandle,
    warden: Option<JoinHandle<Result<(), Errno>>>,
    spawner: Option<JoinHandle<()>>,
}

/// Tells a serving warden to end, from any thread.
#[derive(Debug, Clone)]
pub struct ServingHandle {
    words: mpsc::UnboundedSender<Word>,
}

impl ServingHandle {
    /// It takes no further connection, and ends when the last one has closed.
    pub fn drain(&self) {
        // Refused only by a warden that has ended.
        drop(self.words.send(Word::Drain));
    }

    /// It ends now: connections are closed and gates killed.
    pub fn stop(&self) {
        drop(self.words.send(Word::Stop));
    }
}

impl Serving {
    /// Opens the gate's executable and starts the warden's threads.
    pub fn start(config: Config, listening: Listening) -> Result<Self, StartError> {
        let Prepared {
            runtime,
            shared,
            spawning,
        } = prepare(config, Sharing::User)?;
        let (words, spoken) = mpsc::unbounded_channel();
        let warden = thread(move || runtime.block_on(listen::serve(shared, listening, spoken)))?;
        Ok(Self {
            handle: ServingHandle { words },
            warden: Some(warden),
            spawner: Some(spawning),
        })
    }

    /// A handle to end it with.
    pub fn handle(&self) -> ServingHandle {
        self.handle.clone()
    }

    /// Waits until it has ended.
    pub fn wait(mut self) -> Result<(), StartError> {
        let ended = self.warden.take().map_or(Ok(Ok(())), JoinHandle::join);
        match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(errno)) => Err(StartError::Socket(errno.into())),
            Err(_) => Err(StartError::Stopped),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.stop();
        drop(self.warden.take().map(JoinHandle::join));
        drop(self.spawner.take().map(JoinHandle::join));
    }
}

/// What both forms start with.
struct Prepared {
    runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
    spawning: JoinHandle<()>,
}

fn prepare(config: Config, sharing: Sharing) -> Result<Prepared, StartError> {
    let Config {
        gate,
        limits,
        mint_deadline,
    } = config;
    let executable = Executable::open(gate)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(system("the event loop"))?;
    let (spawner, spawning) =
        Spawner::start(executable).map_err(system("the thread that starts gates"))?;
    let shared =
        Shared::new(limits, mint_deadline, spawner, sharing).map_err(system("/dev/urandom"))?;
    Ok(Prepared {
        runtime,
        shared: Arc::new(shared),
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

/// Serves control sockets until no more can come, then ends all that runs.
async fn accept(shared: Arc<Shared>, mut connected: mpsc::UnboundedReceiver<OwnedFd>) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    let (stop, stopped) = watch::channel(());
    while let Some(socket) = connected.recv().await {
        // A socket that cannot be watched is closed, which its runtime sees.
        if let Ok(socket) = Socket::<ControlSide>::new(socket) {
            tokio::spawn(connection::serve(
                Arc::clone(&shared),
                socket,
                stopped.clone(),
                alive.clone(),
            ));
        }
    }
    drop((stop, alive));
    // After the deadline the rest is dropped with the event loop: killed, reaped by the spawner.
    drop(timeout(STOP_DEADLINE, ended.recv()).await);
}
