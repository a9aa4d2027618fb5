//! The client's end of standard input: a server whose client is gone is not kept.

use crate::worker::Handle;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the server may take to answer what it was asked before the client closed.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// What became of a client that is watched.
#[derive(Debug)]
pub(super) struct Client(Arc<AtomicBool>);

impl Client {
    /// What to say of it at the end.
    pub(super) fn trouble(&self) -> Option<String> {
        self.0.load(Ordering::Acquire).then(|| {
            let seconds = LAST_ANSWERS.as_secs();
            format!(
                "the server did not end within {seconds} seconds of the client and was killed; what \
                 it had begun is finished by the broker"
            )
        })
    }
}

/// Starts a thread that kills the server some time after the client has closed its end, where it
/// has not ended by itself.
pub(super) fn client(server: Handle) -> Client {
    let killed = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&killed);
    std::thread::spawn(move || {
        if closed() {
            std::thread::sleep(LAST_ANSWERS);
            if server.signal(Signal::KILL).is_ok() {
                tell.store(true, Ordering::Release);
            }
        }
    });
    Client(killed)
}

/// Waits until the other end of standard input is closed. What never hangs up, such as a file, is
/// read to its end by the server itself.
fn closed() -> bool {
    let gone = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR;
    loop {
        let stdin = rustix::stdio::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::RDHUP)];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => {
                let [stdin] = &polled;
                return stdin.revents().intersects(gone);
            }
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
