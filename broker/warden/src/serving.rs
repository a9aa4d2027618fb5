//! The form of a warden that listens, as whoever starts it sees it.

use crate::config::Config;
use crate::listen::{self, Word};
use crate::{Prepared, StartError, prepare, thread};
use portcullis_protocol::control::Sharing;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

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
    pub(crate) fn withdraw(&mut self) {
        if let Some(withdraw) = self.withdraw.take() {
            withdraw();
        }
    }

    pub(crate) fn say(&self, what: &Told) {
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
/// dropping it ends it at once, as [`crate::Embedded`] does.
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
        self.say(Word::Drain);
    }

    /// It ends now: connections are closed and gates killed.
    pub fn stop(&self) {
        self.say(Word::Stop);
    }

    fn say(&self, word: Word) {
        match self.words.send(word) {
            // Refused only by a warden that has ended.
            Ok(()) | Err(_) => {}
        }
    }
}

impl Serving {
    /// Opens the gate's executable and the state, and starts the warden's threads.
    pub fn start(config: Config, listening: Listening) -> Result<Self, StartError> {
        let Prepared {
            runtime,
            shared,
            left,
            spawning,
        } = prepare(Config {
            sharing: Sharing::User,
            ..config
        })?;
        let (words, spoken) = mpsc::unbounded_channel();
        let warden =
            thread(move || runtime.block_on(listen::serve(shared, left, listening, spoken)))?;
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
