//! Between a client and the server, where something needs an approval: this process asks the client
//! itself, and has the broker decide as it is answered. The server could at most write to the client.
//!
//! Two threads carry lines, one for each way, in bounded memory. All but a few pass as they came.

mod chair;
mod desk;
mod io;
mod lines;
mod output;
mod question;
mod seal;
mod wire;

use crate::run::RunError;
use crate::worker::{Ended, Streams};
use chair::Chair;
use desk::{Desk, Inward, Outward};
use io::{Stop, Then};
use lines::{Ends, Lines, Piece};
use memchr::memmem;
use output::Output;
use portcullis_client::Control;
use portcullis_protocol::control::Deciding;
pub(super) use question::Review;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use seal::Seal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// This process's ends of the server's pipes.
#[derive(Debug)]
pub(super) struct Between {
    to_server: OwnedFd,
    from_server: OwnedFd,
}

impl Between {
    /// Pipes for a server, and this process's ends of them.
    pub(super) fn pipes() -> Result<(Streams, Self), Errno> {
        let (input, to_server) = pipe_with(PipeFlags::CLOEXEC)?;
        let (from_server, output) = pipe_with(PipeFlags::CLOEXEC)?;
        let mine = Self {
            to_server,
            from_server,
        };
        Ok((Streams::Pipes { input, output }, mine))
    }

    /// Carries lines until `wait`, which waits for the server, is over.
    pub(super) fn carry(
        self,
        control: &mut Control,
        (deciding, review): (Deciding, Review),
        wait: impl FnOnce() -> Result<Ended, RunError>,
    ) -> Result<Ended, RunError> {
        let chair = Chair::new(control, deciding);
        let chair = chair.map_err(|error| RunError::Client(error.to_string()))?;
        let desk = Mutex::new(Desk::new(chair, Seal::new()?, review));
        let (stopped, stop) = Stop::pair()?;
        let output = Mutex::new(Output::new(rustix::stdio::stdout(), &stopped));
        let Self {
            to_server,
            from_server,
        } = self;
        let mut ended = std::thread::scope(|threads| {
            threads.spawn(|| {
                // Closed when this thread ends, which ends the server.
                let to_server = to_server;
                inward(to_server.as_fd(), &stopped, &desk, &output)
            });
            let out = threads.spawn(|| {
                // The same: a server that nobody reads is told so by its pipe.
                let from_server = from_server;
                outward(from_server.as_fd(), &stopped, &desk, &output)
            });
            let ended = wait();
            drop(stop);
            let carried = out.join().unwrap_or(Err(Errno::IO));
            ended.map(|ended| told(ended, carried))
        })?;
        ended.troubles.extend(locked(&desk).trouble());
        ended.troubles.extend(locked(&output).trouble());
        Ok(ended)
    }
}

/// What is lost is no success.
fn told(mut ended: Ended, carried: Result<(), Errno>) -> Ended {
    if let Err(error) = carried {
        ended
            .troubles
            .push(format!("not all output was passed on: {error}"));
        ended.code = match ended.code {
            0 => 1,
            code => code,
        };
    }
    ended
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics between two states of what is in them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From the server to the client.
fn outward(
    from: BorrowedFd<'_>,
    stop: &Stop,
    desk: &Mutex<Desk<'_>>,
    output: &Mutex<Output<'_>>,
) -> Result<(), Errno> {
    let mut lines = Lines::new(from, stop, Then::Finish);
    while let Some(piece) = lines.next()? {
        match piece {
            Piece::Part(part, ends) => locked(output).pass(part, ends)?,
            Piece::Line(line) => {
                let becomes = locked(desk).outward(line);
                let mut output = locked(output);
                match becomes {
                    Outward::Pass => output.pass(line, Ends::Here)?,
                    Outward::Instead(other) => output.pass(&other, Ends::Here)?,
                    Outward::PassThen(own) => {
                        output.pass(line, Ends::Here)?;
                        output.say(own)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// From the client to the server.
fn inward(
    to: BorrowedFd<'_>,
    stop: &Stop,
    desk: &Mutex<Desk<'_>>,
    output: &Mutex<Output<'_>>,
) -> Result<(), Errno> {
    let stdin = rustix::stdio::stdin();
    let mut lines = Lines::new(stdin, stop, Then::Leave);
    let mut long = Long::new(locked(desk).token());
    let write = |bytes: &[u8]| io::write_all(to, bytes, stop, Then::Leave);
    while let Some(piece) = lines.next()? {
        match piece {
            Piece::Part(part, ends) => write(&long.part(part, ends))?,
            Piece::Line(line) => {
                let becomes = locked(desk).inward(line);
                match becomes {
                    Inward::Pass => write(line)?,
                    Inward::Taken => {}
                    Inward::Instead(other) => write(&other)?,
                    Inward::Answered(own) => locked(output).say(own)?,
                }
            }
        }
    }
    Ok(())
}

/// A line of the client that is too long to be looked at. The token does not get to the server in
/// it either: the line is cut before it.
struct Long {
    token: String,
    /// The last bytes, as long as the token could begin in them.
    held: Vec<u8>,
    state: Cut,
}

/// Whether the line was cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Not,
    Here,
}

impl Long {
    const fn new(token: String) -> Self {
        Self {
            token,
            held: Vec::new(),
            state: Cut::Not,
        }
    }

    /// What of a part is passed on.
    fn part(&mut self, part: &[u8], ends: Ends) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held);
        match self.state {
            Cut::Here => {}
            Cut::Not => bytes.extend_from_slice(part),
        }
        if let Some(at) = memmem::find(&bytes, self.token.as_bytes()) {
            bytes.truncate(at);
            bytes.push(b'\n');
            self.state = Cut::Here;
        }
        match (ends, self.state) {
            (Ends::Here, _) => self.state = Cut::Not,
            (Ends::Later, Cut::Here) => {}
            (Ends::Later, Cut::Not) => {
                let kept = self.token.len().saturating_sub(1);
                self.held = bytes.split_off(bytes.len().saturating_sub(kept));
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_before_the_token() {
        let pass = |parts: &[(&str, Ends)]| {
            let mut long = Long::new("TOKEN".to_owned());
            let all = parts.iter();
            let all = all.flat_map(|(part, ends)| long.part(part.as_bytes(), *ends));
            String::from_utf8(all.collect()).unwrap()
        };
        let (here, later) = (Ends::Here, Ends::Later);
        assert_eq!(
            pass(&[
                ("abcdef", later),
                ("ghi", later),
                ("j\n", here),
                ("k\n", here)
            ]),
            "abcdefghij\nk\n"
        );
        for parts in [
            &[("abTOKENcd", later), ("ef\n", here), ("next\n", here)][..],
            &[
                ("abTO", later),
                ("K", later),
                ("ENcd\n", here),
                ("next\n", here),
            ],
            &[("abT", later), ("OKENcdTOKEN\n", here), ("next\n", here)],
        ] {
            assert_eq!(pass(parts), "ab\nnext\n");
        }
    }
}
