//! The gate's side of approvals: what a session's gate asks for, and the gates that work it out and
//! do it. An operation is two words, a verb and a name; how it is done is in the file `how`.

use crate::part::{Part, finished, forever, ignores};
use crate::puppet::{CONTENT, below, confirm, file};
use portcullis_protocol::approval::{Bound, Lost};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    Asked, Begin, Command, Event, Finish, Intent, SessionEnd, Setup, Step, TreeLock,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Guarantee, Outcome, Touched};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{
    Digest, ObjectId, PathState, Present, RootIndex, Stamp, Timestamp,
};
use portcullis_transport::Buffer;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The number of what a puppet asks for on its ledger.
const ASKS: RequestId = RequestId(9);

fn asked(body: &str) -> Asked {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&99u16.to_le_bytes());
    hasher.update(&(body.len() as u64).to_le_bytes());
    hasher.update(body.as_bytes());
    Asked {
        id: 5,
        code: 99,
        body: Bytes::new(body).unwrap(),
        input: Digest(*hasher.finalize().as_bytes()),
    }
}

pub(crate) fn ask(part: &Part, body: &str, socket: BorrowedFd<'_>) {
    part.say_with(ASKS, &Event::Propose(asked(body)), &[socket]);
}

/// Without the socket that is to be answered on.
pub(crate) fn ask_alone(part: &Part) {
    part.say_with(ASKS, &Event::Propose(asked("write a")), &[]);
}

/// For something else than it says.
pub(crate) fn ask_otherwise(part: &Part, socket: BorrowedFd<'_>) {
    let otherwise = Asked {
        input: asked("write b").input,
        ..asked("write a")
    };
    part.say_with(ASKS, &Event::Propose(otherwise), &[socket]);
}

fn told(part: &Part, buffer: &mut Buffer) -> (String, String) {
    let (_, Command::Asked(asked)) = part.hear(buffer) else {
        panic!("nothing was asked");
    };
    let body = String::from_utf8(asked.body.into_vec()).unwrap();
    let (verb, name) = body.split_once(' ').unwrap();
    (verb.to_owned(), name.to_owned())
}

/// What is at a name now.
fn seen(root: &OwnedFd, name: &str) -> PathState {
    let path = below(root, name);
    let (Ok(content), Ok(meta)) = (std::fs::read(&path), std::fs::metadata(&path)) else {
        return PathState::Absent;
    };
    let PathState::Present(present) = file(&content) else {
        panic!("a file is there");
    };
    PathState::Present(Present {
        stamp: Some(Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            changed: Timestamp {
                seconds: meta.ctime(),
                nanos: u32::try_from(meta.ctime_nsec()).unwrap(),
            },
            born: None,
            size: meta.len(),
        }),
        ..present
    })
}

fn bound(root: &OwnedFd, verb: Verb, name: &str) -> Intent {
    let before = seen(root, name);
    let parent = rustix::fs::fstat(root).unwrap();
    let step = Step {
        parent: ObjectId {
            device: parent.st_dev,
            inode: parent.st_ino,
        },
        name: Bytes::new(name).unwrap(),
        touched: Touched {
            verb,
            root: RootIndex(0),
            path: RelPath::parse(name.as_bytes()).unwrap(),
            before,
            after: if verb == Verb::Read {
                before
            } else if verb == Verb::Delete {
                PathState::Absent
            } else {
                file(CONTENT)
            },
        },
        temporary: None,
        deletion: None,
    };
    Intent {
        steps: Few::new(vec![step]).unwrap(),
        request: Digest([4; 32]),
    }
}

/// Works one operation out and holds it.
pub(crate) fn propose(part: &Part, setup: &Setup, roots: &[OwnedFd], buffer: &mut Buffer) {
    let (verb, name) = told(part, buffer);
    // What it is given for its walks is not as it was said.
    if verb == "ignores" && ignores(setup) != format!("ignores {name}") {
        return part.say(&Event::Unbound(Refusal::new(Code::Conflict)));
    }
    if verb == "nothing" || verb == "ignores" {
        return part.say(&Event::Unbound(Refusal::new(Code::NotFound)));
    }
    let verb = Verb::named(&verb).unwrap();
    let event = Event::Bound(Bound {
        verb,
        intent: bound(&roots[0], verb, &name),
        lost: Lost::default(),
        rule: None,
        diff_cut: 0,
    });
    part.say_as(RequestId::NONE, &event, b"+new\n");
    forever();
}

/// Does it, as the file `how` says, and answers the worker.
pub(crate) fn execute(part: &Part, setup: &Setup, held: &[OwnedFd], buffer: &mut Buffer) {
    let (worker, root) = (&held[0], &held[1]);
    let (verb, name) = told(part, buffer);
    let verb = Verb::named(&verb).unwrap();
    let how = std::fs::read_to_string(below(root, "how")).unwrap_or_default();
    let tell = |words: &str| {
        let flags = rustix::net::SendFlags::NOSIGNAL;
        rustix::net::send(worker, words.as_bytes(), flags).unwrap();
        part.say(&finished(SessionEnd::WorkerLeft));
    };
    if how == "ignores" {
        return tell(&ignores(setup));
    }
    if how == "die-before" {
        std::process::abort();
    }
    let name = if how == "other" { "other" } else { &name };
    let intent = bound(root, verb, name);
    let begin = if verb == Verb::Read {
        Event::Claim(intent.clone())
    } else {
        Event::Begin(Begin {
            tree: TreeLock::Shared,
            intent: intent.clone(),
        })
    };
    part.say_as(RequestId(1), &begin, &[]);
    let (_, answer) = part.hear(buffer);
    if let Command::NotBegun(refusal) = answer {
        return tell(&format!("refused {}", refusal.code.name()));
    }
    assert!(matches!(answer, Command::Begun(_)), "{answer:?}");
    if verb == Verb::Read {
        return tell("shown");
    }
    match how.as_str() {
        "die-begun" => std::process::abort(),
        "slow" => std::thread::sleep(Duration::from_millis(300)),
        _ => {}
    }
    confirm(held, 1);
    let outcome = if how == "failed" {
        Outcome::Failed
    } else {
        std::fs::write(below(root, name), CONTENT).unwrap();
        Outcome::Done
    };
    if how == "die-done" {
        std::process::abort();
    }
    finish(part, &intent, outcome);
    let (_, Command::Receipted(_)) = part.hear(buffer) else {
        panic!("no receipt");
    };
    tell(outcome.name());
}

fn finish(part: &Part, intent: &Intent, outcome: Outcome) {
    let end = Event::Finish(Finish {
        outcome,
        guarantee: Guarantee::Exact,
        touched: Few::new(vec![intent.steps.as_slice()[0].touched.clone()]).unwrap(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    });
    part.say_as(RequestId(2), &end, b"+new\n");
}
