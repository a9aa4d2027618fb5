//! Both sides as whole processes: `rg` in a tree, and the tool on a session of the same tree.

use crate::corpus::Corpus;
use crate::query::Query;
use portcullis_client::MintOrder;
use portcullis_client::SOCKET_VARIABLE;
use portcullis_client::Session;
use portcullis_protocol::authority::RootId;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::sys::cpu;
use portcullis_tests::{World, own};
use rustix::io::FdFlags;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where output goes, if it is there: memory, so that no disk is measured.
const MEMORY: &str = "/dev/shm";

/// Another build of the tool, in the place of the one that was built with this bench.
const TOOL: &str = "PORTCULLIS_BENCH_TOOL";

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// From before it was started until it had ended.
    pub wall: Duration,
    /// Of all that worked for it: the process, and the gate.
    pub cpu: Duration,
}

/// A world whose sessions are on the trees.
pub struct Place {
    pub world: World,
    tool: PathBuf,
    output: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let mut output = tempfile::Builder::new();
        output.prefix("portcullis-bench-");
        Self {
            world: World::new(own!("own-gate")),
            tool: std::env::var_os(TOOL).map_or_else(|| own!("own-tool"), PathBuf::from),
            output: match Path::new(MEMORY).is_dir() {
                true => output.tempdir_in(MEMORY).unwrap(),
                false => output.tempdir().unwrap(),
            },
        }
    }

    /// Seals a tree.
    pub fn seal(&mut self, corpus: &Corpus) -> RootId {
        self.world.seal(&corpus.path, &corpus.name)
    }

    /// A session on it that may only look, with the built-in denials, and its gate.
    pub fn session(&mut self, root: RootId) -> (Session, Pid) {
        self.session_of(order(root))
    }

    pub fn session_of(&mut self, order: MintOrder) -> (Session, Pid) {
        let before = children();
        let (_, session) = self.world.control.mint(&order).unwrap();
        let gates: Vec<i32> = children().difference(&before).copied().collect();
        let [gate] = gates[..] else {
            panic!("one gate for a session, not {gates:?}");
        };
        (session, Pid::from_raw(gate).unwrap())
    }

    /// The same, as a socket that is handed from one tool to the next.
    pub fn gate(&mut self, root: RootId) -> Gate {
        self.gate_of(order(root))
    }

    pub fn gate_of(&mut self, order: MintOrder) -> Gate {
        let (session, pid) = self.session_of(order);
        Gate {
            socket: session.into_socket().unwrap(),
            pid,
        }
    }

    /// A file for the output of one side.
    pub fn output(&self, name: &str) -> PathBuf {
        self.output.path().join(name)
    }

    /// The tool, once, on this session. No other process is started meanwhile.
    pub fn tool(&self, gate: &Gate, query: &Query) -> Took {
        let mut command = Command::new(self.tool.as_os_str());
        command
            .args(query.tool())
            .env(SOCKET_VARIABLE, gate.socket.as_raw_fd().to_string());
        let before = cpu::used(gate.pid).unwrap();
        // Both sides are started in the same way, without a fork that copies this process's pages:
        // that is why the socket is made to be inherited here.
        rustix::io::fcntl_setfd(&gate.socket, FdFlags::empty()).unwrap();
        let mut took = self.run(&mut command, "tool");
        rustix::io::fcntl_setfd(&gate.socket, FdFlags::CLOEXEC).unwrap();
        took.cpu += cpu::used(gate.pid).unwrap() - before;
        took
    }

    /// `rg`, once.
    pub fn rg(&self, rg: &Path, corpus: &Corpus, query: &Query) -> Took {
        let mut command = Command::new(rg);
        command.args(query.rg()).current_dir(&corpus.path);
        self.run(&mut command, "rg")
    }

    fn run(&self, command: &mut Command, name: &str) -> Took {
        let said = self.output(&format!("{name}-says"));
        command
            .stdin(Stdio::null())
            .stdout(File::create(self.output(name)).unwrap())
            .stderr(File::create(&said).unwrap());
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        let pid = Pid::from_child(&child);
        // Left to be waited for once more, so that what it used can still be asked for.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), ended).unwrap();
        let wall = start.elapsed();
        let cpu = cpu::used(pid).unwrap();
        let status = child.wait().unwrap();
        // Nothing found is 1 on both sides.
        if !matches!(status.code(), Some(0 | 1)) {
            let said = std::fs::read_to_string(said).unwrap();
            panic!("{command:?}: {status}: {said}");
        }
        Took { wall, cpu }
    }
}

/// A session's socket, and the process behind it.
pub struct Gate {
    pub socket: OwnedFd,
    pub pid: Pid,
}

impl Gate {
    /// The most memory the gate has had in use, in KiB: of files it maps too.
    pub fn peak(&self) -> f64 {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let field = line.and_then(|line| line.split_whitespace().nth(1));
        field.unwrap().parse().unwrap()
    }
}

/// Every verb that looks, on a whole tree.
pub fn order(root: RootId) -> MintOrder {
    MintOrder::new("bench")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
}

/// The processes this one has started and not reaped.
fn children() -> BTreeSet<i32> {
    let own = rustix::process::getpid().as_raw_nonzero();
    let mut children = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // A process may end between being listed and being read.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name in brackets may hold anything, so fields count from its end.
        let after = stat.rsplit(')').next();
        let parent = after.and_then(|rest| rest.split_whitespace().nth(1));
        if parent.is_some_and(|parent| parent == own.to_string()) {
            children.insert(pid);
        }
    }
    children
}
