//! `portcullis serve`: this user's broker, in the foreground.

use crate::args::{Form, ServeArguments, Ties};
use crate::broker::config;
use crate::limits::{LimitError, raise_descriptors};
use crate::say;
use crate::sys;
use crate::time::Time;
use portcullis_client::place::{
    self, Knock, PlaceError, RuntimeDirectory, SocketFile, WARDEN_LOCK, state_directory,
};
use portcullis_warden::{Listening, Serving, ServingHandle, StartError, StateError, StatePlace};
use rustix::fs::Mode;
use rustix::io::Errno;
use serde_json::json;
use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the warden before may take to be gone: its last session, and the records it holds.
const PREDECESSOR: Duration = Duration::from_secs(8);
/// How often its records are tried again.
const PAUSE: Duration = Duration::from_millis(10);
/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("another broker serves in {0}")]
    Another(PathBuf),
    #[error(transparent)]
    Descriptors(#[from] LimitError),
    #[error("signals: {0}")]
    Signals(Errno),
}

/// Serves until it is idle or told to end.
pub(crate) fn serve(arguments: &ServeArguments) -> ExitCode {
    if arguments.ties() == Ties::Cut {
        match leave() {
            Ok(()) => {}
            Err(error) => return failed(arguments.form(), &ServeError::Signals(error)),
        }
    }
    match serve_to_end(arguments) {
        Ok(()) => {
            log(arguments.form(), "ended");
            ExitCode::SUCCESS
        }
        Err(error) => failed(arguments.form(), &error),
    }
}

fn failed(form: Form, error: &ServeError) -> ExitCode {
    log(form, format_args!("not serving: {error}"));
    ExitCode::FAILURE
}

fn serve_to_end(arguments: &ServeArguments) -> Result<(), ServeError> {
    // Before any thread exists, so that all of them leave these signals to the one that waits.
    sys::block_signals(&[libc::SIGTERM, libc::SIGINT]).map_err(ServeError::Signals)?;
    raise_descriptors()?;
    let state = state_directory(arguments.state.as_deref())?;
    let place = RuntimeDirectory::open(arguments.socket.as_deref())?;
    let deadline = Instant::now() + PREDECESSOR;
    let lock = place.lock(WARDEN_LOCK, deadline)?;
    match place.knock()? {
        Knock::Answered(_) => return Err(ServeError::Another(place.path().to_path_buf())),
        Knock::Nobody => {}
    }
    let Bound { socket, name } = place.listen(&lock).map(Bound::from)?;
    let started = start(arguments, &state, &socket, &name, deadline);
    let serving = match started {
        Ok(serving) => serving,
        Err(error) => {
            name.withdraw();
            return Err(error.into());
        }
    };
    drop((lock, socket));
    watch_signals(serving.handle());
    Ok(serving.wait()?)
}

/// A listening socket, and its name, which is removed once.
struct Bound {
    socket: OwnedFd,
    name: Name,
}

impl From<place::Listening> for Bound {
    fn from(listening: place::Listening) -> Self {
        Self {
            socket: listening.socket,
            name: Name(Arc::new(Mutex::new(Some(listening.name)))),
        }
    }
}

#[derive(Debug, Clone)]
struct Name(Arc<Mutex<Option<SocketFile>>>);

impl Name {
    fn withdraw(&self) {
        let name = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match name.map(SocketFile::remove) {
            // One that cannot be removed leads nowhere, and is replaced by the next broker.
            None | Some(Ok(()) | Err(_)) => {}
        }
    }
}

/// Starts the warden, once the one before has let go of the records. Whoever connects meanwhile
/// waits in the socket.
fn start(
    arguments: &ServeArguments,
    state: &Path,
    socket: &OwnedFd,
    name: &Name,
    deadline: Instant,
) -> Result<Serving, StartError> {
    let form = arguments.form();
    loop {
        let name = name.clone();
        let listening = Listening {
            socket: rustix::io::fcntl_dupfd_cloexec(socket, 3)
                .map_err(|errno| StartError::Socket(errno.into()))?,
            idle: arguments.idle(),
            withdraw: Some(Box::new(move || name.withdraw())),
            tell: Box::new(move |told| log(form, told)),
        };
        let place = StatePlace::At(state.to_path_buf());
        let config = config(arguments.gate.as_deref(), place);
        match Serving::start(config, listening) {
            Err(StartError::State(StateError::InUse { .. })) if Instant::now() < deadline => {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

/// Leaves everything behind that the process has of the run that started it: descriptors that were
/// not meant for it, blocked and ignored signals, the session of the terminal.
fn leave() -> Result<(), Errno> {
    sys::close_from(3)?;
    sys::reset_signals()?;
    rustix::process::setsid()?;
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    Ok(())
}

/// Asked to end it drains, and when it was asked before, or from the keyboard, it ends.
fn watch_signals(handle: ServingHandle) {
    std::thread::spawn(move || {
        let mut asked = 0_u32;
        while let Ok((signal, _)) = sys::wait_for_signal(&[libc::SIGTERM, libc::SIGINT]) {
            if signal == libc::SIGTERM && asked == 0 {
                handle.drain();
            } else {
                handle.stop();
            }
            asked = asked.saturating_add(1);
        }
    });
}

/// One line of the log, with its time.
fn log(form: Form, what: impl Display) {
    let (now, process) = (Time::now(), std::process::id());
    match form {
        Form::Text => say::err(format_args!("{now} portcullis[{process}]: {what}")),
        Form::Json => say::err(json!({
            "version": 1, "at": now.to_string(), "process": process, "what": what.to_string(),
        })),
    }
}
