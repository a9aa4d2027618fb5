//! A proposing gate: what it binds, what it counts as lost, and that it changes nothing.

use crate::session::{delete, denial, list, read, search, set, stat, write};
use crate::stage::{Gate, asked, authority, grant};
use portcullis_protocol::approval::Bound;
use portcullis_protocol::authority::{Authority, Denial, DenialTarget, Effect};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::ledger::{Asked, Duty, Event};
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{Deed, Deletion, Expect, Request};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Kind, PathState, Present};
use std::collections::BTreeMap;
use std::path::Path;

/// All may be asked for, nothing is granted.
pub(crate) fn asks() -> Authority {
    authority(Vec::new(), vec![grant("", &Verb::ALL)], Vec::new())
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("file"), "one\ntwo\n").unwrap();
    std::fs::create_dir_all(at("tree/below/deep")).unwrap();
    std::fs::write(at("tree/a"), "12345").unwrap();
    std::fs::write(at("tree/below/b"), "123").unwrap();
    std::os::unix::fs::symlink("a", at("tree/link")).unwrap();
    directory
}

/// Every name below a directory with its content, and whether it changed meanwhile.
fn everything(directory: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let about = std::fs::symlink_metadata(&path).unwrap();
            if about.is_dir() {
                waiting.push(path.clone());
            }
            let content = if about.is_file() {
                std::fs::read_to_string(&path).unwrap()
            } else {
                String::new()
            };
            let said = format!("{:?} {:?} {content}", about.file_type(), about.modified());
            all.insert(path.display().to_string(), said);
        }
    }
    all
}

/// Starts a gate for one operation and gives what it says.
fn proposed(
    directory: &Path,
    authority: &Authority,
    asked: Asked,
    content: &[u8],
) -> (Gate, Event) {
    let gate = Gate::start(directory, authority, Duty::Propose, None);
    gate.ask(asked, content);
    let (_, event, ..) = gate.says();
    (gate, event)
}

pub(crate) fn bound(
    directory: &Path,
    authority: &Authority,
    request: &Request,
    content: &[u8],
) -> (Gate, Bound, String) {
    let gate = Gate::start(directory, authority, Duty::Propose, None);
    gate.ask(asked(5, request, content), content);
    match gate.says() {
        (_, Event::Bound(bound), diff, _) => (gate, bound, String::from_utf8(diff).unwrap()),
        (_, other, ..) => panic!("{other:?}"),
    }
}

fn unbound(directory: &Path, authority: &Authority, request: &Request, content: &[u8]) -> Refusal {
    match proposed(directory, authority, asked(5, request, content), content) {
        (gate, Event::Unbound(refusal)) => {
            assert!(gate.ends().success());
            refusal
        }
        (_, other) => panic!("{other:?}"),
    }
}

fn present(state: PathState) -> Present {
    match state {
        PathState::Present(present) => present,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_is_bound_to_the_exact_result_and_nothing_is_written() {
    let directory = directory();
    let before = everything(directory.path());
    let change = set(
        Deed::Commit,
        vec![
            write("file", b"one\nTWO\n", Expect::Seen),
            write("new", b"one\nTWO\n", Expect::Absent),
        ],
    );
    let (mut gate, bound, diff) = bound(directory.path(), &asks(), &change, b"one\nTWO\n");
    assert_eq!(bound.verb, Verb::Write);
    let [over, new] = bound.intent.steps.as_slice() else {
        panic!("{bound:?}");
    };
    let (was, is) = (present(over.touched.before), present(over.touched.after));
    let digest = |text: &str| Some(*blake3::hash(text.as_bytes()).as_bytes());
    assert_eq!(was.digest.map(|d| d.0), digest("one\ntwo\n"));
    assert_eq!(is.digest.map(|d| d.0), digest("one\nTWO\n"));
    assert!(was.stamp.is_some() && is.stamp.is_none());
    assert_eq!(new.touched.before, PathState::Absent);
    assert_eq!(
        present(new.touched.after).digest.map(|d| d.0),
        digest("one\nTWO\n")
    );
    let lost = bound.lost;
    assert_eq!((lost.files, lost.directories, lost.bytes), (1, 0, 8));
    assert!(diff.contains("-two\n+TWO\n"), "{diff}");
    assert_eq!(everything(directory.path()), before);
    // It holds what it bound until the warden lets go.
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(gate.is_alive());
    assert!(gate.end().success());
    assert_eq!(everything(directory.path()), before);
}

/// What was bound stays open: no other file gets its numbers while it is decided about.
#[test]
fn the_numbers_of_what_is_bound_are_given_to_no_other() {
    let directory = directory();
    let path = directory.path().join("file");
    let (gate, bound, _) = bound(directory.path(), &asks(), &read(&["file"]), b"");
    let held = present(bound.intent.steps.as_slice()[0].touched.before)
        .stamp
        .unwrap();
    for n in 0..64 {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, format!("other {n}")).unwrap();
        let now = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&path).unwrap());
        assert_ne!(now, held.inode);
    }
    assert!(gate.end().success());
}

#[test]
fn what_is_below_a_tree_that_goes_is_counted() {
    let directory = directory();
    let before = everything(directory.path());
    let change = set(Deed::Commit, vec![delete("tree", Deletion::Tree)]);
    let (gate, bound, _) = bound(directory.path(), &asks(), &change, b"");
    let lost = bound.lost;
    // a, below/b and the link; tree, below and deep; the bytes of files alone.
    assert_eq!((lost.files, lost.directories, lost.bytes), (3, 3, 8));
    assert_eq!(bound.verb, Verb::DeleteTree);
    assert!(gate.end().success());
    assert_eq!(everything(directory.path()), before);
}

#[test]
fn what_only_shows_is_bound_to_what_is_there() {
    let directory = directory();
    for (request, verb, kind, digest) in [
        (read(&["tree/link"]), Verb::Read, Kind::File, Some("12345")),
        (
            read(&["tree/../file"]),
            Verb::Read,
            Kind::File,
            Some("one\ntwo\n"),
        ),
        (stat("tree/link"), Verb::Stat, Kind::Link, Some("a")),
        (stat("tree/a"), Verb::Stat, Kind::File, None),
        (list("."), Verb::List, Kind::Directory, None),
        (list("tree"), Verb::List, Kind::Directory, None),
        (
            search("tree/below", "x"),
            Verb::Search,
            Kind::Directory,
            None,
        ),
        (
            search("tree/a", "x"),
            Verb::Search,
            Kind::File,
            Some("12345"),
        ),
        // What the verb does not take is bound as what it is, and learnt by nobody before.
        (read(&["tree"]), Verb::Read, Kind::Directory, None),
        (list("file"), Verb::List, Kind::File, None),
    ] {
        let (gate, bound, diff) = bound(directory.path(), &asks(), &request, b"");
        let [step] = bound.intent.steps.as_slice() else {
            panic!("{bound:?}");
        };
        assert_eq!((bound.verb, step.touched.verb), (verb, verb), "{request:?}");
        assert_eq!(step.touched.before, step.touched.after);
        let state = present(step.touched.before);
        assert_eq!(state.kind, kind, "{request:?}");
        let wanted = digest.map(|text| *blake3::hash(text.as_bytes()).as_bytes());
        assert_eq!(state.digest.map(|d| d.0), wanted, "{request:?}");
        assert!(state.stamp.is_some() && diff.is_empty());
        assert_eq!(bound.lost, Default::default());
        assert!(gate.end().success());
    }
}

#[test]
fn absence_is_bound_with_the_directory_it_is_in() {
    let directory = directory();
    let identity = |name: &str| {
        let about = std::fs::metadata(directory.path().join(name)).unwrap();
        std::os::unix::fs::MetadataExt::ino(&about)
    };
    for (path, parent, name) in [
        ("gone", ".", "gone"),
        ("tree/gone", "tree", "gone"),
        ("tree/gone/below", "tree", "gone"),
        ("tree/below/../gone", "tree", "gone"),
    ] {
        for request in [stat(path), read(&[path]), list(path), search(path, "x")] {
            let (gate, bound, _) = bound(directory.path(), &asks(), &request, b"");
            let [step] = bound.intent.steps.as_slice() else {
                panic!("{bound:?}");
            };
            assert_eq!(step.touched.before, PathState::Absent, "{request:?}");
            assert_eq!(step.touched.after, PathState::Absent, "{request:?}");
            assert_eq!(step.parent.inode, identity(parent), "{request:?}");
            assert_eq!(step.name.as_slice(), name.as_bytes(), "{request:?}");
            assert!(gate.end().success());
        }
    }
}

fn shallow(path: &str) -> Request {
    match list(path) {
        Request::List(mut ask) => {
            ask.depth = 0;
            Request::List(ask)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_done_is_bound_to_nothing_and_the_worker_is_told_why() {
    let directory = directory();
    let asks = asks();
    for (request, content, code) in [
        (
            set(Deed::Commit, vec![delete("gone", Deletion::File)]),
            &b""[..],
            Code::NotFound,
        ),
        (
            set(Deed::Commit, vec![write("file", b"x", Expect::Absent)]),
            b"x",
            Code::Exists,
        ),
        (
            set(Deed::Commit, vec![delete("tree", Deletion::Directory)]),
            b"",
            Code::NotEmpty,
        ),
        (read(&["../up"]), b"", Code::Escape),
        // Nobody is asked about what is refused whatever is there.
        (search("tree", ""), b"", Code::BadPattern),
        (shallow("tree"), b"", Code::OutOfRange),
    ] {
        let refusal = unbound(directory.path(), &asks, &request, content);
        assert_eq!(refusal.code, code, "{request:?}");
    }
    let nothing = authority(vec![grant("tree", &[Verb::Stat])], Vec::new(), Vec::new());
    let refusal = unbound(directory.path(), &nothing, &read(&["file"]), b"");
    assert_eq!(refusal.code, Code::NotGranted);
}

#[test]
fn the_rule_that_asks_is_named_and_a_stronger_one_still_holds() {
    let directory = directory();
    let denials = vec![
        denial("file", Effect::Ask),
        denial("a", Effect::Deny),
        denial("b", Effect::Hide),
    ];
    let authority = authority(vec![grant("", &Verb::ALL)], Vec::new(), denials);
    let (gate, told, _) = bound(directory.path(), &authority, &read(&["file"]), b"");
    assert_eq!(
        told.rule.map(|rule| rule.name.as_str().to_owned()),
        Some("file".to_owned())
    );
    assert!(gate.end().success());
    let (gate, told, _) = bound(directory.path(), &asks(), &read(&["file"]), b"");
    assert_eq!(told.rule, None);
    assert!(gate.end().success());
    let refusal = unbound(directory.path(), &authority, &read(&["tree/a"]), b"");
    assert_eq!(refusal.code, Code::Denied);
    // What is below a tree is judged with it.
    let tree = set(Deed::Commit, vec![delete("tree", Deletion::Tree)]);
    let refusal = unbound(directory.path(), &authority, &tree, b"");
    assert_eq!(refusal.code, Code::Denied);
}

/// What a gate that lies could have asked for.
#[test]
fn what_is_no_operation_is_bound_to_nothing() {
    let directory = directory();
    let good = asked(5, &read(&["file"]), b"");
    let cut = Bytes::new(&good.body.as_slice()[1..]).unwrap();
    for bad in [
        Asked {
            id: 0,
            ..good.clone()
        },
        Asked {
            code: 0,
            ..good.clone()
        },
        Asked {
            code: 2,
            ..good.clone()
        },
        Asked {
            code: 999,
            ..good.clone()
        },
        Asked {
            body: cut,
            ..good.clone()
        },
        asked(5, &read(&["file", "tree/a"]), b""),
        asked(
            5,
            &set(Deed::DryRun, vec![delete("file", Deletion::File)]),
            b"",
        ),
    ] {
        match proposed(directory.path(), &asks(), bad.clone(), b"") {
            (gate, Event::Unbound(refusal)) => {
                assert_eq!(refusal.code, Code::Malformed, "{bad:?}");
                assert!(gate.ends().success());
            }
            (_, other) => panic!("{other:?}"),
        }
    }
}

/// It has the filter of a gate that may change nothing, whatever may be asked for.
#[test]
fn the_kernel_lets_a_proposing_gate_change_nothing() {
    let directory = directory();
    let filter = |authority: &Authority, duty| {
        let gate = Gate::start(directory.path(), authority, duty, None);
        let digest = gate.cage.seccomp_digest;
        gate.end();
        digest
    };
    let looks = authority(vec![grant("", &[Verb::Stat])], Vec::new(), Vec::new());
    let proposing = filter(&asks(), Duty::Propose);
    assert_eq!(proposing, filter(&looks, Duty::Propose));
    let sockets = crate::stage::sockets();
    let served = Some(&sockets.served);
    let executing = Gate::start(directory.path(), &asks(), Duty::Execute, served);
    assert_ne!(executing.cage.seccomp_digest, proposing);
    executing.end();
    // A session that may only ask has it too: its own gate does nothing of it.
    let session = Gate::start(directory.path(), &asks(), Duty::Serve, served);
    assert_eq!(session.cage.seccomp_digest, proposing);
    drop(sockets);
    assert!(session.ends().success());
}

/// What is hidden is bound as what is not there, by whatever it is hidden.
#[test]
fn what_is_hidden_is_bound_like_what_is_not_there() {
    let directory = directory();
    let about = std::fs::metadata(directory.path().join("tree/below")).unwrap();
    let object = DenialTarget::Object {
        device: std::os::unix::fs::MetadataExt::dev(&about),
        inode: std::os::unix::fs::MetadataExt::ino(&about),
    };
    let name = DenialTarget::Pattern {
        anchor: None,
        pattern: Bytes::new("file").unwrap(),
    };
    let denials = [object, name].map(|target| Denial {
        rule: Rule {
            name: Text::new("hides").unwrap(),
            reason: Text::default(),
        },
        verbs: VerbSet::NONE,
        target,
        effect: Effect::Hide,
    });
    let authority = authority(
        Vec::new(),
        vec![grant("", &Verb::ALL)],
        denials.into_iter().collect(),
    );
    let told = |path: &str, request: &Request| {
        let (gate, bound, diff) = bound(directory.path(), &authority, request, b"");
        assert!(gate.end().success());
        let [step] = bound.intent.steps.as_slice() else {
            panic!("{bound:?}");
        };
        assert_eq!(step.touched.path.as_bytes(), path.as_bytes());
        let name = String::from_utf8(step.name.as_slice().to_vec()).unwrap();
        (step.parent, name, step.touched.before, bound.lost, diff)
    };
    for (hidden, gone, names) in [
        ("file", "gone", ["file", "gone"]),
        ("tree/below", "tree/gone", ["below", "gone"]),
        ("tree/below/b", "tree/gone/b", ["below", "gone"]),
    ] {
        for request in [stat, |path: &str| read(&[path]), list] {
            let mut here = told(hidden, &request(hidden));
            let there = told(gone, &request(gone));
            assert_eq!([&here.1, &there.1], names, "{hidden}");
            here.1 = there.1.clone();
            assert_eq!(here, there, "{hidden}");
            assert_eq!(there.2, PathState::Absent);
        }
    }
}
