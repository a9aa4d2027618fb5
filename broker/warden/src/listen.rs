//! The serving form of a warden: takes connections at a socket for as long as anybody needs it.
//!
//! It ends by itself when it is idle: no connection, no gate that is not reaped, no effect that is
//! not settled, for as long as it was told. Asked to drain while others are connected it goes on
//! taking connections, because its successor cannot have its records before it is gone, but ends
//! at the first moment without any; asked by the only one, or by a signal, it takes no more.

use crate::connection;
use crate::peer::{self, NotServed, Peer};
use crate::serving::{Listening, Told};
use crate::settle;
use crate::shared::{Intake, Shared};
use crate::socket::{ReceiveError, Socket};
use crate::state::OpenIntent;
use crate::sys::{Watched, watch};
use portcullis_protocol::control::Answer;
use portcullis_protocol::frame::{DecodeError, RequestId};
use portcullis_protocol::refusal::Refusal;
use portcullis_transport::ControlSide;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::convert::Infallible;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Connections served at once. More wait in the socket.
const CONNECTIONS_MAX: usize = 1024;
/// Peers being refused at once; one more is just closed.
const REFUSALS_MAX: usize = 32;
/// How long a peer that is refused may take to say hello.
const HELLO_DEADLINE: Duration = Duration::from_secs(2);
/// How long nothing is taken after the kernel had no room for a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// How often gates that are still there are looked at when everybody has left.
const SWEEP: Duration = Duration::from_millis(10);

/// What a warden that serves is told from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Take no further connection, and end when the last one has closed.
    Drain,
    /// End now.
    Stop,
}

/// Whether it takes connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Until it is idle.
    Open,
    /// Until nobody is connected.
    Retiring,
    /// No more. Those that wait in the socket have been taken.
    Closed,
}

/// Whether connections still wait in the socket.
enum Left {
    Nothing,
    Some,
}

/// Everything one life of a serving warden holds.
struct Server {
    shared: Arc<Shared>,
    door: Arc<AsyncFd<Watched<OwnedFd>>>,
    listening: Listening,
    stage: Stage,
    connections: JoinSet<()>,
    refusals: JoinSet<()>,
    stopped: watch::Receiver<()>,
    /// A clone is held by everything that still has to be waited for.
    alive: mpsc::Sender<Infallible>,
    /// Since when nobody is connected.
    quiet_since: Instant,
}

/// Serves until it is idle, drained or told to stop, then ends all that runs.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    left: Vec<OpenIntent>,
    listening: Listening,
    mut words: mpsc::UnboundedReceiver<Word>,
) -> Result<(), Errno> {
    rustix::io::ioctl_fionbio(&listening.socket, true)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(&listening.socket, 3)?;
    let door = watch(socket, Interest::READABLE)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    settle::settle_left(&shared, left);
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    let (stop, stopped) = watch::channel(());
    listening.say(&Told::Serving);
    let mut server = Server {
        shared,
        door: Arc::new(door),
        listening,
        stage: Stage::Open,
        connections: JoinSet::new(),
        refusals: JoinSet::new(),
        stopped,
        alive,
        quiet_since: Instant::now(),
    };
    server.until_needless(&mut words).await;
    server.close();
    // Connections that are left see the stop, and their gates are killed.
    let deadline = crate::stop_deadline(&server.shared);
    drop((stop, server));
    drop(timeout(deadline, ended.recv()).await);
    Ok(())
}

impl Server {
    async fn until_needless(&mut self, words: &mut mpsc::UnboundedReceiver<Word>) {
        let door = Arc::clone(&self.door);
        let mut intake = self.shared.draining();
        loop {
            if self.connections.is_empty() && self.is_over() {
                return;
            }
            let takes = self.stage != Stage::Closed && self.connections.len() < CONNECTIONS_MAX;
            let look_again = self.look_again();
            tokio::select! {
                ready = door.readable(), if takes => {
                    let Ok(mut guard) = ready else { return };
                    match self.take() {
                        Ok(Left::Nothing) => guard.clear_ready(),
                        Ok(Left::Some) => {}
                        Err(error) => {
                            self.listening.say(&Told::NoRoom(error.to_string()));
                            sleep(PAUSE).await;
                        }
                    }
                }
                Some(_) = self.connections.join_next() => self.left(),
                Some(_) = self.refusals.join_next() => {}
                word = words.recv() => match word {
                    Some(Word::Drain) => self.close(),
                    Some(Word::Stop) | None => return,
                },
                Ok(now) = intake.wait_for(|now| *now == Intake::Draining),
                    if self.stage == Stage::Open => {
                    drop(now);
                    self.drain();
                }
                () = sleep(look_again), if self.connections.is_empty() => {}
            }
        }
    }

    /// Whether nobody is connected and nobody will be. Before it says so the socket is closed, and
    /// whoever came meanwhile is served.
    fn is_over(&mut self) -> bool {
        // One of each is our own; each gate that is not reaped, and each effect that is being
        // settled, has one more.
        if self.alive.strong_count() > 1 || Arc::strong_count(&self.shared) > 1 {
            return false;
        }
        match self.stage {
            Stage::Open if self.quiet_since.elapsed() < self.listening.idle => return false,
            Stage::Open | Stage::Retiring => {
                self.close();
            }
            Stage::Closed => {}
        }
        self.connections.is_empty()
    }

    fn look_again(&self) -> Duration {
        match self.stage {
            Stage::Open => {
                let left = self
                    .listening
                    .idle
                    .saturating_sub(self.quiet_since.elapsed());
                left.max(SWEEP)
            }
            Stage::Retiring | Stage::Closed => SWEEP,
        }
    }

    /// A peer asked, and is still connected.
    fn drain(&mut self) {
        match self.stage {
            Stage::Open if self.connections.len() <= 1 => self.close(),
            Stage::Open => {
                self.stage = Stage::Retiring;
                self.listening.say(&Told::Retiring);
            }
            Stage::Retiring | Stage::Closed => {}
        }
    }

    /// Takes no further connection: first the name goes, then those that came in time are taken.
    fn close(&mut self) {
        if self.stage == Stage::Closed {
            return;
        }
        self.stage = Stage::Closed;
        self.listening.withdraw();
        // What cannot be taken is reset when the socket closes, and asks again elsewhere.
        drop(self.take());
        self.listening.say(&Told::Closed);
    }

    /// Takes the connections that wait, as many as may be.
    fn take(&mut self) -> Result<Left, Errno> {
        while self.connections.len() < CONNECTIONS_MAX {
            let flags = SocketFlags::CLOEXEC;
            let socket = match rustix::net::accept_with(self.door.get_ref().get(), flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(Left::Nothing),
                // A peer that has gone meanwhile.
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error),
            };
            self.welcome(socket);
        }
        Ok(Left::Some)
    }

    fn welcome(&mut self, socket: OwnedFd) {
        let examined = peer::examine(socket.as_fd(), self.shared.demands.users());
        let made = portcullis_transport::make_room(&socket);
        // A socket that cannot be watched is closed, which its peer sees.
        let (Ok(()), Ok(socket)) = (made, Socket::<ControlSide>::new(socket)) else {
            return;
        };
        match examined {
            Ok(peer) => {
                let whom = match peer {
                    Peer::Own => connection::As::Runtime,
                    Peer::Decider(user) => connection::As::User(user),
                };
                self.connections.spawn(connection::serve(
                    Arc::clone(&self.shared),
                    socket,
                    whom,
                    self.stopped.clone(),
                    self.alive.clone(),
                ));
            }
            Err(why) => self.refuse(socket, &why),
        }
    }

    fn refuse(&mut self, socket: Socket<ControlSide>, why: &NotServed) {
        self.listening.say(&Told::Refused(why.to_string()));
        if self.refusals.len() < REFUSALS_MAX {
            let shared = Arc::clone(&self.shared);
            self.refusals.spawn(refuse(shared, socket, why.refusal()));
        }
    }

    fn left(&mut self) {
        if self.connections.is_empty() {
            self.quiet_since = Instant::now();
        }
    }
}

/// Answers the hello of a peer that is not served. Nothing else of it is looked at.
async fn refuse(shared: Arc<Shared>, socket: Socket<ControlSide>, refusal: Refusal) {
    let id = match timeout(HELLO_DEADLINE, socket.receive(&shared.buffer)).await {
        Ok(Ok(hello)) => hello.id,
        Ok(Err(ReceiveError::Decode(
            DecodeError::UnknownCode { id, .. } | DecodeError::Malformed { id, .. },
        ))) => id,
        Ok(Err(ReceiveError::Decode(_) | ReceiveError::Transport(_))) | Err(_) => RequestId::NONE,
    };
    let answer = Answer::Refused(refusal);
    // A peer that does not read it learns it from the end of the connection.
    drop(socket.send(id, &answer, &[], HELLO_DEADLINE).await);
}
