//! An executing gate: what it asks the warden before it does anything, what it does, and whom it
//! answers.

use crate::proposed::{asks, bound};
use crate::session::{delete, list, read, set, stat, write};
use crate::stage::{Gate, Sockets, asked, sockets};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{Begun, Command, Duty, Event, Intent, ReceiptId, Step};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deed, Deletion, Expect, Outcome, Reply, Request};
use portcullis_protocol::view::{Digest, PathState};
use std::path::Path;

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "old").unwrap();
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    directory
}

fn execute(directory: &Path, request: &Request, content: &[u8]) -> (Gate, Sockets) {
    let sockets = sockets();
    let gate = Gate::start(directory, &asks(), Duty::Execute, Some(&sockets.served));
    gate.ask(asked(8, request, content), content);
    (gate, sockets)
}

const RECEIPT: ReceiptId = ReceiptId {
    number: 4,
    chain: Digest([4; 32]),
};

/// What the warden compares.
fn agrees(bound: &Intent, now: &Intent) -> bool {
    let same = |(a, b): (&Step, &Step)| {
        (a.parent, &a.name, a.touched.verb, &a.touched.path)
            == (b.parent, &b.name, b.touched.verb, &b.touched.path)
            && a.touched.before == b.touched.before
            && a.touched.after.agrees(&b.touched.after)
    };
    let (a, b) = (bound.steps.as_slice(), now.steps.as_slice());
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn finished(gate: Gate) {
    let (_, event, ..) = gate.says();
    assert!(matches!(event, Event::Finished(_)), "{event:?}");
    assert!(gate.ends().success());
}

#[test]
fn what_was_bound_is_what_is_begun_and_the_worker_is_answered() {
    let directory = directory();
    let change = set(
        Deed::Commit,
        vec![
            write("file", b"new", Expect::Seen),
            write("sub/made", b"new", Expect::Absent),
        ],
    );
    let (held, proposal, _) = bound(directory.path(), &asks(), &change, b"new");
    let (gate, sockets) = execute(directory.path(), &change, b"new");
    let (id, event, ..) = gate.says();
    let Event::Begin(begin) = event else {
        panic!("{event:?}");
    };
    assert!(id != RequestId::NONE && agrees(&proposal.intent, &begin.intent));
    assert_eq!(
        std::fs::read(directory.path().join("file")).unwrap(),
        b"old"
    );
    gate.tell(id, &Command::Begun(Begun {}));
    let (id, event, ..) = gate.says();
    let Event::Finish(finish) = event else {
        panic!("{event:?}");
    };
    assert_eq!(finish.outcome, Outcome::Done);
    assert!(
        sockets.worker.has_heard_nothing(),
        "the receipt comes first"
    );
    gate.tell(id, &Command::Receipted(RECEIPT));
    let (heard, reply, _) = sockets.worker.hears();
    let Reply::Changed(changed) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!((heard, changed.receipt), (8, RECEIPT));
    assert_eq!(
        std::fs::read(directory.path().join("file")).unwrap(),
        b"new"
    );
    assert_eq!(
        std::fs::read(directory.path().join("sub/made")).unwrap(),
        b"new"
    );
    finished(gate);
    assert!(held.end().success());
}

#[test]
fn what_the_warden_refuses_is_not_done_and_the_worker_is_told() {
    let directory = directory();
    let change = set(Deed::Commit, vec![write("file", b"new", Expect::Any)]);
    for (request, content) in [
        (change, &b"new"[..]),
        (read(&["file"]), b""),
        (list("sub"), b""),
    ] {
        let (gate, sockets) = execute(directory.path(), &request, content);
        let (id, event, ..) = gate.says();
        assert!(
            matches!(event, Event::Begin(_) | Event::Claim(_)),
            "{event:?}"
        );
        let refusal = Refusal::new(Code::Conflict).noting("what was approved has changed since");
        gate.tell(id, &Command::NotBegun(refusal));
        let (heard, reply, content) = sockets.worker.hears();
        let Reply::Refused(refusal) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!((heard, refusal.code), (8, Code::Conflict));
        assert!(content.is_empty() && sockets.worker.has_heard_nothing());
        finished(gate);
    }
    assert_eq!(
        std::fs::read(directory.path().join("file")).unwrap(),
        b"old"
    );
}

#[test]
fn what_only_shows_is_claimed_before_a_byte_of_it_is_sent() {
    let directory = directory();
    for request in [read(&["file"]), stat("file"), list("sub"), read(&["gone"])] {
        let (held, proposal, _) = bound(directory.path(), &asks(), &request, b"");
        let (gate, sockets) = execute(directory.path(), &request, b"");
        let (id, event, ..) = gate.says();
        let Event::Claim(intent) = event else {
            panic!("{event:?}");
        };
        assert!(agrees(&proposal.intent, &intent), "{request:?}");
        assert!(sockets.worker.has_heard_nothing());
        gate.tell(id, &Command::Begun(Begun {}));
        let (heard, reply, content) = sockets.worker.hears();
        assert_eq!(heard, 8);
        match (&request, reply) {
            (Request::Read(_), Reply::ReadPart(_)) => assert_eq!(content, b"old"),
            (Request::Read(_), Reply::Refused(refusal)) => {
                assert_eq!(refusal.code, Code::NotFound);
            }
            (Request::Stat(_), Reply::Stat(_)) => {}
            (Request::List(_), Reply::Entries(_)) => {
                assert!(matches!(sockets.worker.hears(), (8, Reply::Done(_), _)));
            }
            (_, reply) => panic!("{reply:?}"),
        }
        finished(gate);
        assert!(held.end().success());
    }
}

/// An approved read of what was not there, another file of the name, another content, another way
/// of the link: each time the warden is told of something else than it was bound to.
#[test]
fn what_changed_since_is_told_as_it_is_now() {
    type Change = fn(&Path);
    let appeared: Change = |at| std::fs::write(at.join("gone"), "appeared").unwrap();
    let replaced: Change = |at| {
        std::fs::write(at.join("other"), "old").unwrap();
        std::fs::rename(at.join("other"), at.join("file")).unwrap();
    };
    let rewritten: Change = |at| std::fs::write(at.join("file"), "OLD").unwrap();
    let retargeted: Change = |at| {
        std::fs::remove_file(at.join("link")).unwrap();
        std::os::unix::fs::symlink("sub", at.join("link")).unwrap();
    };
    let parent: Change = |at| {
        std::fs::rename(at.join("sub"), at.join("gone-sub")).unwrap();
        std::fs::create_dir(at.join("sub")).unwrap();
    };
    let change = |path: &str| set(Deed::Commit, vec![write(path, b"new", Expect::Any)]);
    for (request, content, meanwhile) in [
        (read(&["gone"]), &b""[..], appeared),
        (change("gone"), b"new", appeared),
        (read(&["file"]), b"", replaced),
        (read(&["file"]), b"", rewritten),
        (change("file"), b"new", replaced),
        (change("file"), b"new", rewritten),
        (
            set(Deed::Commit, vec![delete("file", Deletion::File)]),
            b"",
            replaced,
        ),
        (list("link"), b"", retargeted),
        (change("sub/new"), b"new", parent),
        (list("sub"), b"", parent),
    ] {
        let directory = directory();
        std::fs::create_dir(directory.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join("link")).unwrap();
        let (held, proposal, _) = bound(directory.path(), &asks(), &request, content);
        meanwhile(directory.path());
        let (gate, _sockets) = execute(directory.path(), &request, content);
        let (_, event, ..) = gate.says();
        let now = match event {
            Event::Claim(intent) => intent,
            Event::Begin(begin) => begin.intent,
            other => panic!("{other:?}"),
        };
        assert!(!agrees(&proposal.intent, &now), "{request:?}");
        assert!(held.end().success());
    }
}

/// Somebody changes the file after the warden compared: the effect fails whole, once, and is not
/// begun again.
#[test]
fn an_approval_is_tried_once() {
    let directory = directory();
    let change = set(Deed::Commit, vec![write("file", b"new", Expect::Any)]);
    let (gate, sockets) = execute(directory.path(), &change, b"new");
    let (id, event, ..) = gate.says();
    assert!(matches!(event, Event::Begin(_)));
    std::fs::write(directory.path().join("file"), "theirs").unwrap();
    gate.tell(id, &Command::Begun(Begun {}));
    let (id, event, ..) = gate.says();
    let Event::Finish(finish) = event else {
        panic!("{event:?}");
    };
    assert_eq!(finish.outcome, Outcome::Failed);
    let touched = &finish.touched.as_slice()[0];
    assert!(touched.before == touched.after && touched.before != PathState::Absent);
    gate.tell(id, &Command::Receipted(RECEIPT));
    let Reply::Changed(changed) = sockets.worker.hears().1 else {
        panic!("the worker is told of the receipt");
    };
    assert_eq!(changed.outcome, Outcome::Failed);
    assert_eq!(
        std::fs::read(directory.path().join("file")).unwrap(),
        b"theirs"
    );
    finished(gate);
}

/// What the worker has in its socket is for the session's own gate.
#[test]
fn nothing_is_read_from_the_worker() {
    let directory = directory();
    let (gate, sockets) = execute(directory.path(), &stat("file"), b"");
    let (id, ..) = gate.says();
    sockets.worker.asks(9, &stat("sub"), b"");
    gate.tell(id, &Command::Begun(Begun {}));
    assert!(matches!(sockets.worker.hears(), (8, Reply::Stat(_), _)));
    finished(gate);
    let served =
        portcullis_transport::Endpoint::<portcullis_transport::SessionSide>::new(sockets.served)
            .unwrap();
    let mut buffer = portcullis_transport::Buffer::new();
    let (frame, _none) = served.receive(&mut buffer).unwrap().decode().unwrap();
    assert_eq!(frame.id, RequestId(9));
}
