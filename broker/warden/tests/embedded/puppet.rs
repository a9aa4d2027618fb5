//! A gate that does on its ledger what the worker tells it in words, and tells it what came back.

use crate::part::Part;
use crate::proposed as asking;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    Begin, Claimed, Command, Event, Finish, Intent, Seen, SeenStep, SessionEnd, Step, TreeLock,
    Unlock,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Guarantee, Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, Present, RootIndex};
use portcullis_transport::Buffer;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

/// What every file holds that a puppet makes.
pub(crate) const CONTENT: &[u8] = b"new";

pub(crate) struct Puppet<'a> {
    part: &'a Part,
    /// The session socket, the roots, the lock of all gates.
    descriptors: Vec<OwnedFd>,
}

impl<'a> Puppet<'a> {
    pub(crate) fn new(part: &'a Part, descriptors: Vec<OwnedFd>) -> Self {
        Self { part, descriptors }
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
            ["unlock"] => self.part.say(&Event::Unlock(Unlock {})),
            ["finish", name] => self.finish(name),
            ["note"] => self.part.say(&crate::part::note(b"noted")),
            ["make", name, root] => {
                let root: usize = root.parse().unwrap();
                std::fs::write(below(&self.descriptors[root + 1], name), CONTENT).unwrap();
            }
            ["ask", verb, name] => asking::ask(self.part, &format!("{verb} {name}"), socket),
            ["ask-alone"] => asking::ask_alone(self.part),
            ["ask-otherwise"] => asking::ask_otherwise(self.part, socket),
            ["hear"] => return self.hear(buffer),
            ["descriptors"] => return self.descriptors.len().to_string(),
            ["die"] => std::process::abort(),
            _ => panic!("{words:?}"),
        }
        "said".to_owned()
    }

    fn begin(&self, verb: Verb, name: &str, tree: TreeLock) {
        let intent = intent(verb, name);
        self.part
            .say_as(RequestId(7), &Event::Begin(Begin { tree, intent }), &[]);
    }

    fn finish(&self, name: &str) {
        let intent = intent(Verb::Write, name);
        let end = Event::Finish(Finish {
            outcome: Outcome::Done,
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
        let (id, command) = self.part.hear(buffer);
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
