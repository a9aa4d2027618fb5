//! The worker's standard descriptors. A descriptor of a file is authority over that file (its
//! mode, its offset, its earlier content), so a worker gets none: pipes, terminals and /dev/null
//! pass as they are, everything else is relayed through a pipe by threads of the launcher.

use super::Streams;
use super::plan::Terminal;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

/// Bytes relayed at once.
const CHUNK: usize = 64 * 1024;

/// The worker's ends, and the launcher's relays.
#[derive(Debug)]
pub(super) struct Stdio {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
    pub(super) terminal: Terminal,
    pub(super) relays: Relays,
}

/// Threads that carry bytes between the worker's pipes and what the launcher was given.
#[derive(Debug, Default)]
pub(super) struct Relays {
    outputs: Vec<(JoinHandle<Result<(), Errno>>, OwnedFd)>,
}

impl Relays {
    /// Carries over what the worker left in its pipes and ends. A process that the worker left
    /// behind is not waited for. Gives the first error of writing.
    pub(super) fn finish(self) -> Result<(), Errno> {
        let mut result = Ok(());
        for (thread, stop) in self.outputs {
            drop(stop);
            result = result.and(thread.join().unwrap_or(Err(Errno::IO)));
        }
        result
    }
}

enum Way {
    Pass,
    PassTerminal,
    Relay,
}

/// Looks at the launcher's own standard descriptors, where they are wanted, and makes the worker's.
pub(super) fn prepare(streams: Streams) -> Result<Stdio, Errno> {
    match streams {
        Streams::Own => own(),
        Streams::Pipes { input, output } => between(input, output),
    }
}

/// Only standard error is the launcher's.
fn between(input: OwnedFd, output: OwnedFd) -> Result<Stdio, Errno> {
    let stderr = rustix::stdio::stderr();
    let mut terminal = Terminal::None;
    let mut relays = Relays::default();
    let error = match way(stderr, &mut terminal)? {
        Way::Pass | Way::PassTerminal => copy(stderr)?,
        Way::Relay => relay_output(stderr, &mut relays)?,
    };
    Ok(Stdio {
        input,
        output,
        error,
        terminal,
        relays,
    })
}

fn own() -> Result<Stdio, Errno> {
    let (stdin, stdout, stderr) = (
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    );
    let mut terminal = Terminal::None;
    let mut relays = Relays::default();
    let input = match way(stdin, &mut terminal)? {
        Way::Pass | Way::PassTerminal => copy(stdin)?,
        Way::Relay => relay_input(stdin)?,
    };
    let output = match way(stdout, &mut terminal)? {
        Way::Pass | Way::PassTerminal => copy(stdout)?,
        Way::Relay => relay_output(stdout, &mut relays)?,
    };
    let error = match way(stderr, &mut terminal)? {
        Way::Pass | Way::PassTerminal => copy(stderr)?,
        // One pipe for both keeps the order in which the worker wrote.
        Way::Relay if same(stdout, stderr)? => copy(output.as_fd())?,
        Way::Relay => relay_output(stderr, &mut relays)?,
    };
    Ok(Stdio {
        input,
        output,
        error,
        terminal,
        relays,
    })
}

fn copy(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    rustix::io::fcntl_dupfd_cloexec(fd, 3)
}

fn way(fd: BorrowedFd<'_>, terminal: &mut Terminal) -> Result<Way, Errno> {
    let stat = rustix::fs::fstat(fd)?;
    let null = (
        rustix::fs::major(stat.st_rdev),
        rustix::fs::minor(stat.st_rdev),
    ) == (1, 3);
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Way::Pass,
        FileType::CharacterDevice if null => Way::Pass,
        FileType::CharacterDevice if rustix::termios::isatty(fd) => {
            *terminal = Terminal::Passed;
            Way::PassTerminal
        }
        FileType::CharacterDevice
        | FileType::RegularFile
        | FileType::Directory
        | FileType::Symlink
        | FileType::Socket
        | FileType::BlockDevice
        | FileType::Unknown => Way::Relay,
    })
}

fn same(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> Result<bool, Errno> {
    let (a, b) = (rustix::fs::fstat(a)?, rustix::fs::fstat(b)?);
    Ok((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

fn relay_input(from: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let from = copy(from)?;
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    // Not joined: a worker that never reads must not keep the launcher.
    std::thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(bytes @ 1..) = read_some(from.as_fd(), &mut buffer) {
            if write_all(write.as_fd(), buffer.get(..bytes).unwrap_or_default()).is_err() {
                break;
            }
        }
    });
    Ok(read)
}

fn relay_output(to: BorrowedFd<'_>, relays: &mut Relays) -> Result<OwnedFd, Errno> {
    let to = copy(to)?;
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (stopped, stop) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let thread = std::thread::spawn(move || carry(&read, &to, &stopped));
    relays.outputs.push((thread, stop));
    Ok(write)
}

/// Carries until the pipe ends, or `stopped` hangs up and nothing more is in the pipe.
fn carry(read: &OwnedFd, to: &OwnedFd, stopped: &OwnedFd) -> Result<(), Errno> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut ready = [
            PollFd::new(read, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        match rustix::event::poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            other => drop(other?),
        }
        let [pipe, _] = &ready;
        if pipe.revents().is_empty() {
            return Ok(());
        }
        match read_some(read.as_fd(), &mut buffer)? {
            0 => return Ok(()),
            bytes => write_all(to.as_fd(), buffer.get(..bytes).unwrap_or_default())?,
        }
    }
}

fn read_some(fd: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(fd, buffer.as_mut_slice()) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Someone made the caller's own descriptor non-blocking.
            Err(Errno::AGAIN) => {
                let mut ready = [PollFd::new(&fd, PollFlags::OUT)];
                rustix::event::poll(&mut ready, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
