//! The bench's own other processes: one that only echoes, two that make plain system calls, and
//! one that only ends. Each is this executable again, started with the name of its role.

use crate::calls;
use crate::clock::median_of_batches;
use crate::subject::{Cage, Call, Opening};
use portcullis_gate::cage::{self, Subtree};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::verb::VerbSet;
use portcullis_transport::Buffer;
use rustix::fs::{Mode, OFlags};
use rustix::net::{
    AddressFamily, MMsgHdr, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags,
    SocketFlags, SocketType, recvmsg, sendmsg, socketpair, sockopt,
};
use rustix::process::Pid;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// Bytes of the raw ping-pong.
pub const PING_BYTES: usize = 64;
/// First byte of a ping: no call has this number.
const PING: u8 = 0xff;
/// About what is before the content of a gate's answer, in bytes.
const HEAD_BYTES: usize = 128;

/// What another process of the bench does. Its socket is descriptor 0.
#[derive(Clone, Copy)]
pub enum Role {
    Echo,
    Plain(Cage),
    Nothing,
}

impl Role {
    const ALL: [Self; 4] = [
        Self::Echo,
        Self::Plain(Cage::Open),
        Self::Plain(Cage::Closed),
        Self::Nothing,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Echo => "--role-echo",
            Self::Plain(Cage::Open) => "--role-plain",
            Self::Plain(Cage::Closed) => "--role-plain-caged",
            Self::Nothing => "--role-nothing",
        }
    }

    /// The role of this name.
    pub fn of(argument: Option<&str>) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|role| Some(role.name()) == argument)
    }

    /// Plays it until the socket closes.
    pub fn serve(self, mut arguments: impl Iterator<Item = String>) -> ExitCode {
        let stdin = std::io::stdin();
        match self {
            Self::Echo => echo(stdin.as_fd()),
            Self::Plain(cage) => plain(stdin.as_fd(), cage, Path::new(&arguments.next().unwrap())),
            Self::Nothing => {}
        }
        ExitCode::SUCCESS
    }

    /// A command that plays it.
    pub fn command(self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(self.name()).stdin(Stdio::null());
        command
    }
}

/// Answers each packet: a ping with itself, an order to carry with as many packets and bytes as a
/// gate's answer has.
fn echo(socket: BorrowedFd<'_>) {
    let mut order = [0; PING_BYTES];
    let mut buffer = Buffer::new();
    let room = buffer.room(FRAME_BYTES_MAX);
    room.fill(1);
    while let Ok((n @ 1.., _)) = rustix::net::recv(socket, &mut order, RecvFlags::empty()) {
        match Call::ALL.get(usize::from(order[0])) {
            None => {
                rustix::net::send(socket, &order[..n], SendFlags::NOSIGNAL).unwrap();
            }
            Some(call) => {
                for bytes in packets(*call) {
                    rustix::net::send(socket, &room[..bytes], SendFlags::NOSIGNAL).unwrap();
                }
            }
        }
    }
}

/// The packets of a gate's answer, in bytes.
fn packets(call: Call) -> impl Iterator<Item = usize> {
    let full = call.bytes() / CONTENT_BYTES_MAX;
    let rest = call.bytes() % CONTENT_BYTES_MAX;
    std::iter::repeat_n(CONTENT_BYTES_MAX, full)
        .chain((rest > 0 || full == 0).then_some(rest))
        .map(|content| HEAD_BYTES + content)
}

/// Each packet names a call and an opening; the answer is what it takes.
fn plain(socket: BorrowedFd<'_>, cage: Cage, root: &Path) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || rustix::fs::open(root, flags, Mode::empty()).unwrap();
    let directory = open();
    let mut room = calls::Room::new();
    if cage == Cage::Closed {
        let subtree = Subtree {
            directory: open(),
            verbs: VerbSet::READING,
        };
        cage::close(&[subtree]).unwrap();
    }
    // The cage leaves these two calls to talk with.
    let mut order = [0; 2];
    while let Ok(received) = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut order)],
        &mut RecvAncillaryBuffer::default(),
        RecvFlags::empty(),
    ) {
        if received.bytes != order.len() {
            return;
        }
        let call = Call::ALL[usize::from(order[0])];
        let opening = [Opening::Direct, Opening::LookFirst][usize::from(order[1])];
        let path = calls::path(call);
        let (times, batch) = call.times();
        let took = median_of_batches(times, batch, || {
            calls::once(directory.as_fd(), &path, opening, call, &mut room);
        });
        let mut none = SendAncillaryBuffer::default();
        let answer = took.to_le_bytes();
        sendmsg(
            socket,
            &[IoSlice::new(&answer)],
            &mut none,
            SendFlags::NOSIGNAL,
        )
        .unwrap();
    }
}

const fn carry(call: Call) -> [u8; PING_BYTES] {
    [call as u8; PING_BYTES]
}

/// A process in a role, and the socket to it.
pub struct Peer {
    socket: Option<OwnedFd>,
    child: Child,
}

impl Peer {
    pub fn start(role: Role, root: &Path) -> Self {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        for socket in [&ours, &theirs] {
            // As large as a session's, so that an answer of many packets is not throttled more.
            sockopt::set_socket_send_buffer_size(socket, 4 * FRAME_BYTES_MAX).unwrap();
        }
        let child = role
            .command()
            .arg(root)
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Self {
            socket: Some(ours),
            child,
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().unwrap().as_fd()
    }

    /// Once there and back.
    pub fn ping(&self) {
        let mut buffer = [PING; PING_BYTES];
        rustix::net::send(self.socket(), &buffer, SendFlags::NOSIGNAL).unwrap();
        let (n, _) = rustix::net::recv(self.socket(), &mut buffer, RecvFlags::empty()).unwrap();
        assert_eq!(n, PING_BYTES);
    }

    /// The bytes of a call there and back, and nothing else.
    pub fn carry(&self, call: Call, buffer: &mut Buffer) {
        rustix::net::send(self.socket(), &carry(call), SendFlags::NOSIGNAL).unwrap();
        self.take(call, buffer);
    }

    /// The same for many small reads, asked for in one system call.
    pub fn carry_many(&self, many: usize, buffer: &mut Buffer) {
        let order = carry(Call::Small);
        let part = [IoSlice::new(&order)];
        let mut none: Vec<_> = (0..many).map(|_| SendAncillaryBuffer::default()).collect();
        let mut packets: Vec<_> = none
            .iter_mut()
            .map(|none| MMsgHdr::new(&part, none))
            .collect();
        let sent = rustix::net::sendmmsg(self.socket(), &mut packets, SendFlags::NOSIGNAL);
        assert_eq!(sent.unwrap(), many);
        for _ in 0..many {
            self.take(Call::Small, buffer);
        }
    }

    fn take(&self, call: Call, buffer: &mut Buffer) {
        for bytes in packets(call) {
            let room = buffer.room(FRAME_BYTES_MAX);
            let (n, _) = rustix::net::recv(self.socket(), room, RecvFlags::empty()).unwrap();
            assert_eq!(n, bytes);
        }
    }

    /// Has it make plain calls; gives nanoseconds for one.
    pub fn plain(&self, opening: Opening, call: Call) -> f64 {
        let order = [call as u8, opening as u8];
        rustix::net::send(self.socket(), &order, SendFlags::NOSIGNAL).unwrap();
        let mut answer = [0; 8];
        let (n, _) = rustix::net::recv(self.socket(), &mut answer, RecvFlags::empty()).unwrap();
        assert_eq!(n, answer.len());
        f64::from_le_bytes(answer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its sign to end.
        self.socket = None;
        self.child.wait().unwrap();
    }
}
