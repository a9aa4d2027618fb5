//! The bench's own other processes: one that only echoes, and some that make system calls. Each is
//! this executable again, started with the name of its role.

use crate::naive;
use crate::plain::Plain;
use crate::subject::{Cage, Deed, Part, Samples, Short, Subject};
use portcullis_gate::cage::{self, Subtree};
use portcullis_gate::sys::meta;
use portcullis_protocol::verb::VerbSet;
use rustix::fs::{Mode, OFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags,
    SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// Bytes of the raw ping-pong.
pub const PING_BYTES: usize = 64;
/// Numbers in one answer, at most.
const ANSWER_MAX: usize = 64;

/// What another process of the bench does. Its socket is descriptor 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Echo,
    Plain(Cage),
    Naive(Short),
}

impl Role {
    const ALL: [Self; 5] = [
        Self::Echo,
        Self::Plain(Cage::Open),
        Self::Plain(Cage::Closed),
        Self::Naive(Short::Temporary),
        Self::Naive(Short::Direct),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Echo => "--role-echo",
            Self::Plain(Cage::Open) => "--role-plain",
            Self::Plain(Cage::Closed) => "--role-plain-caged",
            Self::Naive(Short::Temporary) => "--role-temporary",
            Self::Naive(Short::Direct) => "--role-direct",
        }
    }

    /// The role of this name.
    pub fn of(argument: Option<&str>) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|role| Some(role.name()) == argument)
    }

    /// What it measures, in the order of its answers.
    fn subjects(self) -> Vec<Subject> {
        let parts = [Part::Plan, Part::Confirm, Part::Execute];
        match self {
            Self::Echo => Vec::new(),
            Self::Plain(cage) => Deed::ALL
                .into_iter()
                .flat_map(|deed| {
                    let parts = parts.map(|part| Subject::PlainPart(cage, deed, part));
                    std::iter::once(Subject::Plain(cage, deed)).chain(parts)
                })
                .collect(),
            Self::Naive(short) => Deed::ALL.map(|deed| Subject::Naive(short, deed)).to_vec(),
        }
    }

    /// Plays it until the socket closes.
    pub fn serve(self, mut arguments: impl Iterator<Item = String>) -> ExitCode {
        let stdin = std::io::stdin();
        let mut root = || arguments.next().unwrap();
        match self {
            Self::Echo => echo(stdin.as_fd()),
            Self::Plain(_) | Self::Naive(_) => {
                self.measure(stdin.as_fd(), Path::new(&root()));
            }
        }
        ExitCode::SUCCESS
    }

    /// Answers each packet with the medians of one turn.
    fn measure(self, socket: BorrowedFd<'_>, root: &Path) {
        let directory = directory(root);
        meta::ignore_broken_leases().unwrap();
        if self == Self::Plain(Cage::Closed) {
            let subtree = Subtree {
                directory: self::directory(root),
                verbs: VerbSet::ALL,
            };
            cage::close(&[subtree]).unwrap();
        }
        let mut order = [0; 4];
        // The cage leaves these two calls to talk with.
        while let Ok(received) = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut order)],
            &mut RecvAncillaryBuffer::default(),
            RecvFlags::empty(),
        ) {
            if received.bytes != order.len() {
                return;
            }
            let round = usize::try_from(u32::from_le_bytes(order)).unwrap();
            let mut samples = Samples::default();
            match self {
                Self::Echo => {}
                Self::Plain(cage) => Plain::new(directory.as_fd(), cage, round).turn(&mut samples),
                Self::Naive(short) => naive::turn(directory.as_fd(), (short, round), &mut samples),
            }
            let medians: std::collections::BTreeMap<Subject, f64> = samples.medians().collect();
            let answer: Vec<u8> = self
                .subjects()
                .iter()
                .flat_map(|subject| medians[subject].to_le_bytes())
                .collect();
            let mut none = SendAncillaryBuffer::default();
            sendmsg(
                socket,
                &[IoSlice::new(&answer)],
                &mut none,
                SendFlags::NOSIGNAL,
            )
            .unwrap();
        }
    }

    /// A command that plays it.
    fn command(self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(self.name());
        command
    }
}

fn directory(root: &Path) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty()).unwrap()
}

fn echo(socket: BorrowedFd<'_>) {
    let mut ping = [0; PING_BYTES];
    while let Ok((n @ 1.., _)) = rustix::net::recv(socket, &mut ping, RecvFlags::empty()) {
        rustix::net::send(socket, &ping[..n], SendFlags::NOSIGNAL).unwrap();
    }
}

/// A process in a role, and the socket to it.
pub struct Peer {
    role: Role,
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
        let child = role
            .command()
            .arg(root)
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Self {
            role,
            socket: Some(ours),
            child,
        }
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().unwrap().as_fd()
    }

    /// Once there and back.
    pub fn ping(&self) {
        let mut buffer = [7; PING_BYTES];
        rustix::net::send(self.socket(), &buffer, SendFlags::NOSIGNAL).unwrap();
        let (n, _) = rustix::net::recv(self.socket(), &mut buffer, RecvFlags::empty()).unwrap();
        assert_eq!(n, PING_BYTES);
    }

    /// Has it take its turn.
    pub fn turn(&self, round: usize, samples: &mut Samples) {
        let order = u32::try_from(round).unwrap().to_le_bytes();
        rustix::net::send(self.socket(), &order, SendFlags::NOSIGNAL).unwrap();
        let mut answer = [0; 8 * ANSWER_MAX];
        let (n, _) = rustix::net::recv(self.socket(), &mut answer, RecvFlags::empty()).unwrap();
        let subjects = self.role.subjects();
        assert_eq!(n, 8 * subjects.len());
        for (subject, bytes) in subjects.into_iter().zip(answer.chunks(8)) {
            samples.add(subject, f64::from_le_bytes(bytes.try_into().unwrap()));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its sign to end.
        self.socket = None;
        self.child.wait().unwrap();
    }
}
