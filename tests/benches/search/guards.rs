//! What each guard costs: one loop in a process of its own for each set of guards.

use crate::Options;
use crate::clock::median;
use crate::corpus::Corpus;
use crate::floor::{self, Guards};
use crate::query::{Ask, Kind, NOWHERE, Query};
use crate::report::{Bound, Row};
use crate::sides::{Place, Took, order};
use crate::turns::turn;
use portcullis_client::Pattern;
use portcullis_tests::sys::cpu;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags,
    SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Denial patterns of a session, beside the built-in ones.
const PATTERNS: usize = 50;

/// Plays the loop, when this process was started for it: the socket is descriptor 0.
pub fn role(mut arguments: impl Iterator<Item = String>) -> Option<ExitCode> {
    let name = arguments.next()?;
    let guards = Guards::ALL
        .into_iter()
        .find(|guards| guards.name() == name)?;
    let root = floor::root(Path::new(&arguments.next()?));
    guards.close(&root);
    serve(std::io::stdin().as_fd(), root.as_fd(), guards);
    Some(ExitCode::SUCCESS)
}

/// Each packet asks for one walk; the answer is its seconds and its files.
fn serve(socket: BorrowedFd<'_>, root: BorrowedFd<'_>, guards: Guards) {
    let mut order = [0; 1];
    // The cage leaves these two calls to talk with.
    while let Ok(received) = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut order)],
        &mut RecvAncillaryBuffer::default(),
        RecvFlags::empty(),
    ) {
        if received.bytes == 0 {
            return;
        }
        let start = Instant::now();
        let files = floor::walk(root, guards, NOWHERE.as_bytes());
        let took = start.elapsed().as_secs_f64();
        let answer = [took.to_le_bytes(), (files as f64).to_le_bytes()].concat();
        let mut none = SendAncillaryBuffer::default();
        let parts = [IoSlice::new(&answer)];
        sendmsg(socket, &parts, &mut none, SendFlags::NOSIGNAL).unwrap();
    }
}

/// A process that plays it.
struct Loop {
    socket: Option<OwnedFd>,
    child: Child,
}

impl Loop {
    fn start(guards: Guards, root: &Path) -> Self {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .arg(guards.name())
            .arg(root)
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        Self {
            socket: Some(ours),
            child,
        }
    }

    /// What one walk took, and its files.
    fn once(&self) -> (Took, f64) {
        let pid = Pid::from_child(&self.child);
        let before = cpu::used(pid).unwrap();
        let socket = self.socket.as_ref().unwrap();
        rustix::net::send(socket, &[1], SendFlags::NOSIGNAL).unwrap();
        let mut answer = [0; 16];
        let (n, _) = rustix::net::recv(socket, &mut answer, RecvFlags::empty()).unwrap();
        assert_eq!(n, answer.len(), "the loop has ended");
        let number = |at: usize| f64::from_le_bytes(answer[at..at + 8].try_into().unwrap());
        let took = Took {
            wall: Duration::from_secs_f64(number(0)),
            cpu: cpu::used(pid).unwrap() - before,
        };
        (took, number(8))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Its sign to end.
        self.socket = None;
        self.child.wait().unwrap();
    }
}

/// One thing that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Loop(Guards),
    Gate(Rules),
    Rg,
}

/// Which denials a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rules {
    BuiltIn,
    Many,
}

/// Everything below the tree, ignored files and those with a dot as well.
fn whole() -> Query {
    Query {
        name: "no match, -uu",
        kind: Kind::Search,
        ask: Ask::LiteralInAll(NOWHERE),
    }
}

/// The rows of one tree.
pub fn measure(
    place: &mut Place,
    corpus: &Corpus,
    rg: Option<&Path>,
    options: &Options,
) -> Vec<Row> {
    let root = place.seal(corpus);
    let few = place.gate(root);
    let many = (0..PATTERNS).fold(order(root), |order, n| {
        let pattern = match n % 3 {
            0 => Pattern::anywhere(format!("*.kind-{n}")),
            1 => Pattern::anywhere(format!("private-{n}")),
            _ => Pattern::below(root, format!("one/{{secret,hidden}}-{n}/**")),
        };
        order.hide(&format!("rule-{n}"), "of the bench", pattern)
    });
    let many = place.gate_of(many);
    let loops: BTreeMap<Guards, Loop> = Guards::ALL
        .into_iter()
        .map(|guards| (guards, Loop::start(guards, &corpus.path)))
        .collect();
    let mut subjects: Vec<Subject> = Guards::ALL.map(Subject::Loop).to_vec();
    subjects.extend([Rules::BuiltIn, Rules::Many].map(Subject::Gate));
    subjects.extend(rg.map(|_| Subject::Rg));
    let query = whole();
    let mut times: BTreeMap<Subject, Vec<Took>> = BTreeMap::new();
    let mut files = 0.0;
    for round in 0..=options.number(5, 11) {
        for subject in turn(&subjects, round) {
            let took = match subject {
                Subject::Loop(guards) => {
                    let (took, read) = loops[&guards].once();
                    files = read;
                    took
                }
                Subject::Gate(Rules::BuiltIn) => place.tool(&few, &query),
                Subject::Gate(Rules::Many) => place.tool(&many, &query),
                Subject::Rg => place.rg(rg.unwrap(), corpus, &query),
            };
            if round > 0 {
                times.entry(subject).or_default().push(took);
            }
        }
    }
    rows(&corpus.name, &times, files)
}

fn rows(corpus: &str, times: &BTreeMap<Subject, Vec<Took>>, files: f64) -> Vec<Row> {
    let loop_ = Subject::Loop;
    let mut pairs = vec![
        (
            "filter of system calls",
            loop_(Guards::All),
            loop_(Guards::NoFilter),
        ),
        (
            "Landlock",
            loop_(Guards::NoFilter),
            loop_(Guards::NoLandlock),
        ),
        (
            "openat2, not openat",
            loop_(Guards::NoLandlock),
            loop_(Guards::None),
        ),
        ("all of them", loop_(Guards::All), loop_(Guards::None)),
        (
            "50 denials beside the built-in ones",
            Subject::Gate(Rules::Many),
            Subject::Gate(Rules::BuiltIn),
        ),
        (
            "the gate and the tool, beside the guarded loop",
            Subject::Gate(Rules::BuiltIn),
            loop_(Guards::All),
        ),
    ];
    if times.contains_key(&Subject::Rg) {
        pairs.push((
            "rg, beside the loop without guards",
            Subject::Rg,
            loop_(Guards::None),
        ));
        pairs.push((
            "the guarded loop, beside rg: no gate can do better",
            loop_(Guards::All),
            Subject::Rg,
        ));
        pairs.push((
            "the gate and the tool, beside rg",
            Subject::Gate(Rules::BuiltIn),
            Subject::Rg,
        ));
    }
    let wall = |took: &Took| took.wall.as_secs_f64() * 1e3;
    let ms = |subject: &Subject| {
        let mut walls: Vec<f64> = times[subject].iter().map(wall).collect();
        median(&mut walls)
    };
    let ratio = |above: &Subject, below: &Subject, of: &dyn Fn(&Took) -> f64| {
        let both = times[above].iter().zip(&times[below]);
        let mut ratios: Vec<f64> = both.map(|(above, below)| of(above) / of(below)).collect();
        median(&mut ratios)
    };
    pairs
        .into_iter()
        .map(|(name, above, below)| Row {
            name: format!("{corpus}: {name}"),
            value: ratio(&above, &below, &wall),
            unit: "",
            bound: Bound::Shown,
            of: format!(
                "{:.1} ms / {:.1} ms; CPU {:.2}; {files} files read",
                ms(&above),
                ms(&below),
                ratio(&above, &below, &|took| took.cpu.as_secs_f64())
            ),
        })
        .collect()
}
