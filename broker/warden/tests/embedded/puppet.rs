//! A gate that does on its ledger what the worker tells it in words, and tells it what came back.

use crate::part::Part;
use crate::proposed as asking;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::authority::Budgets;
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    Begin, Claimed, Command, Event, Finish, Intent, Seen, SeenStep, SessionEnd, Setup, Step,
    TreeLock, Unlock,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Delegate, EndDelegated, Guarantee, Outcome, SessionId, Touched, Wish,
};
use portcullis_protocol::verb::{ModeSet, Verb, VerbSet};
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, Present, RootIndex};
use portcullis_transport::Buffer;
use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

/// What every file holds that a puppet makes.
pub(crate) const CONTENT: &[u8] = b"new";

pub(crate) struct Puppet<'a> {
    part: &'a Part,
    setup: &'a Setup,
    /// The session socket, the roots, the lock of all gates, the mark.
    descriptors: Vec<OwnedFd>,
    /// Effects that it asked for.
    begun: Cell<u64>,
    /// The workers' sockets of the sessions that it had delegated.
    children: RefCell<Vec<OwnedFd>>,
}

impl<'a> Puppet<'a> {
    pub(crate) fn new(part: &'a Part, setup: &'a Setup, descriptors: Vec<OwnedFd>) -> Self {
        Self {
            part,
            setup,
            descriptors,
            begun: Cell::new(0),
            children: RefCell::default(),
        }
    }

    /// Obeys until its worker leaves.
    pub(crate) fn obey(&self, buffer: &mut Buffer) {
        let socket = &self.descriptors[0];
        let mut word = [0; 512];
        loop {
            let got = rustix::net::recv(socket, &mut word, rustix::net::RecvFlags::empty());
            let Ok((_, len @ 1..)) = got else {
                return self
                    .part
                    .say(&crate::part::finished(SessionEnd::WorkerLeft));
            };
            let words = String::from_utf8(word[..len].to_vec()).unwrap();
            let words: Vec<&str> = words.split(' ').collect();
            let reply = self.act(&words, buffer);
            rustix::net::send(socket, reply.as_bytes(), rustix::net::SendFlags::NOSIGNAL).unwrap();
        }
    }

    fn act(&self, words: &[&str], buffer: &mut Buffer) -> String {
        let socket = self.descriptors[0].as_fd();
        match *words {
            ["begin", name] => self.begin(Verb::Write, name, TreeLock::Shared),
            ["begin", verb, name, tree] => {
                let tree = match tree {
                    "alone" => TreeLock::Exclusive,
                    _ => TreeLock::Shared,
                };
                self.begin(Verb::named(verb).unwrap(), name, tree);
            }
            ["amend", name] => self.part.say(&Event::Amend(intent(Verb::Write, name))),
            ["confirm"] => confirm(&self.descriptors, self.begun.get()),
            ["unlock"] => self.part.say(&Event::Unlock(Unlock {})),
            ["finish", name] => self.finish(name, Outcome::Done),
            ["fail", name] => self.finish(name, Outcome::Failed),
            ["delegate", request] => self.delegate(request),
            ["end-delegated", session] => {
                let session = SessionId(session.parse().unwrap());
                let end = Event::EndDelegated(EndDelegated { session });
                self.part.say_as(RequestId(10), &end, &[]);
            }
            ["child", n, ref words @ ..] => return self.tell_child(n, &words.join(" ")),
            ["close-child"] => drop(self.children.borrow_mut().pop()),
            ["note"] => self.part.say(&crate::part::note(b"noted")),
            ["make", name, root] => {
                let root: usize = root.parse().unwrap();
                std::fs::write(below(&self.descriptors[root + 1], name), CONTENT).unwrap();
            }
            ["ask", verb, name] => asking::ask(self.part, &format!("{verb} {name}"), socket),
            ["ask-alone"] => asking::ask_alone(self.part),
            ["ask-otherwise"] => asking::ask_otherwise(self.part, socket),
            ["hear"] => return self.hear(buffer),
            ["ignores"] => return crate::part::ignores(self.setup),
            ["descriptors"] => return self.descriptors.len().to_string(),
            ["die"] => std::process::abort(),
            _ => panic!("{words:?}"),
        }
        "said".to_owned()
    }

    fn begin(&self, verb: Verb, name: &str, tree: TreeLock) {
        let intent = intent(verb, name);
        self.begun.set(self.begun.get() + 1);
        self.part
            .say_as(RequestId(7), &Event::Begin(Begin { tree, intent }), &[]);
    }

    /// Asks for a session with this request that may do all that its own may.
    fn delegate(&self, request: &str) {
        let delegate = Event::Delegate(Delegate {
            request: Text::new(request).unwrap(),
            grants: Few::new(vec![Wish {
                root: RootIndex(0),
                prefix: RelPath::root(),
                verbs: VerbSet::ALL,
                modes: ModeSet::ALL,
            }])
            .unwrap(),
            asks: Few::default(),
            denials: Few::default(),
            budgets: Budgets::UNLIMITED,
            expires_ms: None,
        });
        self.part.say_as(RequestId(9), &delegate, &[]);
    }

    /// Tells the gate of a session that was delegated; its answer, or that it is gone.
    fn tell_child(&self, n: &str, words: &str) -> String {
        let children = self.children.borrow();
        let socket = &children[n.parse::<usize>().unwrap()];
        let flags = rustix::net::SendFlags::NOSIGNAL;
        rustix::net::send(socket, words.as_bytes(), flags).ok();
        let mut bytes = [0; 512];
        match rustix::net::recv(socket, &mut bytes, rustix::net::RecvFlags::empty()) {
            Ok((_, len @ 1..)) => String::from_utf8(bytes[..len].to_vec()).unwrap(),
            Ok((_, 0)) | Err(_) => "gone".to_owned(),
        }
    }

    fn finish(&self, name: &str, outcome: Outcome) {
        let intent = intent(Verb::Write, name);
        let end = Event::Finish(Finish {
            outcome,
            guarantee: Guarantee::Exact,
            touched: Few::new(vec![intent.steps.as_slice()[0].touched.clone()]).unwrap(),
            refusal: None,
            left: 0,
            diff_cut: 0,
        });
        self.part.say_as(RequestId(8), &end, b"+new\n");
    }

    /// The warden's next word.
    fn hear(&self, buffer: &mut Buffer) -> String {
        let (id, command, descriptors) = self.part.hear_all(buffer);
        self.children.borrow_mut().extend(descriptors);
        match command {
            Command::Setup(_) => "setup".to_owned(),
            Command::Begun(_) => format!("begun {}", id.0),
            Command::NotBegun(refusal) => {
                let waits = refusal.proposal.map(|ProposalId(n)| format!(" {n}"));
                let code = refusal.code.name();
                format!("not begun {} {code}{}", id.0, waits.unwrap_or_default())
            }
            Command::Receipted(receipt) => format!("receipt {} {}", id.0, receipt.number),
            Command::Delegated(made) => format!("delegated {} {}", id.0, made.session.0),
            Command::Answered(answered) => match answered.used {
                Claimed::Yes => format!("answered {} used", id.0),
                Claimed::No => format!("answered {} unused", id.0),
            },
            Command::Asked(_) => "asked".to_owned(),
            Command::Noted(_) => format!("noted {}", id.0),
        }
    }

    /// Looks at what an intent names, as an observer does.
    pub(crate) fn observe(&self, intent: &Intent) {
        let state = |step: &Step| {
            let root = &self.descriptors[usize::from(step.touched.root.0)];
            let name = std::str::from_utf8(step.name.as_slice()).unwrap();
            match std::fs::read(below(root, name)) {
                Ok(content) => file(&content),
                Err(_) => PathState::Absent,
            }
        };
        let steps = intent.steps.as_slice().iter().map(|step| SeenStep {
            now: state(step),
            temporary: PathState::Absent,
        });
        let steps = Few::new(steps.collect()).unwrap();
        self.part.say(&Event::Seen(Seen { steps }));
    }
}

/// Says that files are changed by the effect of this number.
pub(crate) fn confirm(descriptors: &[OwnedFd], effect: u64) {
    let mark = descriptors.last().unwrap();
    let written = rustix::io::pwrite(mark, &effect.to_le_bytes(), 0).unwrap();
    assert_eq!(written, 8);
}

pub(crate) fn below(root: &OwnedFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", root.as_raw_fd()))
}

pub(crate) fn file(content: &[u8]) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0o644,
        size: content.len() as u64,
        digest: Some(Digest(*blake3::hash(content).as_bytes())),
        stamp: None,
    })
}

/// To make this file.
fn intent(verb: Verb, name: &str) -> Intent {
    let step = Step {
        parent: ObjectId {
            device: 1,
            inode: 1,
        },
        name: Bytes::new(name).unwrap(),
        touched: Touched {
            verb,
            root: RootIndex(0),
            path: RelPath::parse(name.as_bytes()).unwrap(),
            before: PathState::Absent,
            after: file(CONTENT),
        },
        temporary: None,
        deletion: None,
    };
    Intent {
        steps: Few::new(vec![step]).unwrap(),
        request: Digest([4; 32]),
    }
}
