//! Whole commands against a gate that follows a script: what they ask, say and exit with.

mod authority;
mod eol;
mod labels;
mod walks;

use super::args::Cli;
use super::*;
use crate::tests::{Gate, bound, session};
use clap::Parser as _;
use portcullis_protocol::authority::AuthorityId;
use portcullis_protocol::bounded::{Few, Text};
use portcullis_protocol::ledger::ReceiptId;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    self as words, Change, ChangeSet, Changed, Count, Deed, Deletion, Expect, Guarantee, Identity,
    Onto, Outcome as End, Parents, Planned, Reply, Request, Source, Touched, Uploaded,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, Kind, PathState, Present, RootIndex};
use serde_json::Value;
use std::io::Read;

/// Runs a command with a gate; gives what it wrote and how it ended.
fn tool(args: &[&str], script: impl FnOnce(&mut Gate) + Send + 'static) -> (String, Outcome) {
    let (mut session, gate) = session(script);
    let ended = run(args, &mut session);
    drop(session);
    gate.join().unwrap();
    ended
}

fn run(args: &[&str], session: &mut Session) -> (String, Outcome) {
    let cli = Cli::try_parse_from([&["portcullis-tool"], args].concat()).unwrap();
    let Task::Ask(question) = &cli.task else {
        panic!("{args:?}");
    };
    let (mut reader, writer) = std::io::pipe().unwrap();
    let report = cli.telling(Report::new(cli.form(), Out::to(writer)));
    let outcome = ask(question, &cli.place(), session, &report, &Ahead::default());
    let outcome = report.finish(outcome);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    (said, outcome)
}

fn present(mode: u16) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode,
        size: 3,
        digest: Some(Digest([1; 32])),
        stamp: Some(bound("x").observation.stamp),
    })
}

fn touched(verb: Verb, path: &str, before: PathState, after: PathState) -> Touched {
    Touched {
        verb,
        root: RootIndex(0),
        path: RelPath::parse(path.as_bytes()).unwrap(),
        before,
        after,
    }
}

fn created(path: &str) -> Touched {
    touched(Verb::Write, path, PathState::Absent, present(0o644))
}

fn changed(outcome: End, names: Vec<Touched>) -> Changed {
    Changed {
        receipt: ReceiptId {
            number: 7,
            chain: Digest([2; 32]),
        },
        outcome,
        guarantee: Guarantee::Exact,
        touched: Few::new(names).unwrap(),
        refusal: None,
        left: 0,
        matched: Few::default(),
        matched_cut: 0,
        diff_cut: 0,
        region: None,
    }
}

/// Answers one change set with `done`, and gives it.
fn answer(gate: &mut Gate, done: Changed) -> (ChangeSet, Vec<u8>) {
    let (id, request, content) = gate.next();
    let Request::Change(set) = request else {
        panic!("{request:?}");
    };
    gate.send(id, &Reply::Changed(done), &[]);
    (set, content)
}

/// Runs a command whose only change satisfies `check`.
fn asks(args: &[&str], check: impl Fn(&Change, &[u8]) -> bool + Send + 'static) {
    let shown = format!("{args:?}");
    let (said, outcome) = tool(args, move |gate| {
        let (set, content) = answer(gate, changed(End::Done, vec![created("x")]));
        assert_eq!(set.deed, Deed::Commit);
        let [one] = set.changes.as_slice() else {
            panic!("{set:?}");
        };
        assert!(check(one, &content), "{shown}: {one:?}");
    });
    assert_eq!(
        (said.as_str(), outcome),
        ("created x\nreceipt 7\n", Outcome::Done)
    );
}

fn file(content: &[u8]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("content");
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn write_says_what_must_be_there() {
    let (_dir, from) = file(b"text\n");
    let stamp = crate::stamp::show(&bound("x").observation.stamp);
    let digest = "01".repeat(32);
    let cases: [(&[&str], Expect); 7] = [
        (&[], Expect::Seen),
        (&["--force"], Expect::Any),
        (&["--overwrite"], Expect::Any),
        (&["--create"], Expect::Absent),
        (&["--if-absent"], Expect::Absent),
        (
            &["--replace", &stamp],
            Expect::Version(bound("x").observation.stamp),
        ),
        (
            &["--expect-digest", &digest],
            Expect::Content(Digest([1; 32])),
        ),
    ];
    for (more, expect) in cases {
        let args = [
            &["write", "a", "--from", &from, "-p", "--mode", "600"],
            more,
        ]
        .concat();
        asks(&args, move |change, content| {
            let Change::Write(write) = change else {
                return false;
            };
            let Source::Inline(span) = write.source else {
                return false;
            };
            span.of(content) == Some(b"text\n")
                && write.expect == expect
                && write.parents == Parents::Make
                && write.mode == Some(0o600)
        });
    }
}

#[test]
fn a_large_file_is_uploaded_as_it_is_read_and_dropped_when_refused() {
    let (_dir, from) = file(&vec![9; 150_000]);
    let (_, outcome) = tool(&["write", "a", "--from", &from], |gate| {
        let mut bytes = 0;
        let upload = loop {
            let (id, request, content) = gate.next();
            if let Request::Change(set) = &request {
                let [Change::Write(write)] = set.changes.as_slice() else {
                    panic!("{set:?}");
                };
                let Source::Upload(upload) = write.source else {
                    panic!("{write:?}");
                };
                gate.send(id, &Reply::Refused(Refusal::new(Code::Exists)), &[]);
                break upload;
            }
            let Request::Upload(part) = request else {
                panic!("{request:?}");
            };
            assert_eq!(part.offset, bytes);
            bytes += content.len() as u64;
            let upload = part.upload;
            gate.send(id, &Reply::Uploaded(Uploaded { upload, bytes }), &[]);
        };
        assert_eq!(bytes, 150_000);
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::DropUpload(drop) if drop.upload == upload));
        gate.send(id, &Reply::Uploaded(Uploaded { upload, bytes: 0 }), &[]);
    });
    assert_eq!(outcome, Outcome::Conflict);
}

#[test]
fn edits_pair_their_texts_and_count_them() {
    let args = [
        "edit", "a", "--old", "x", "--new", "y", "--old", "-z", "--new", "",
    ];
    asks(&args, |change, content| {
        let Change::Edit(edit) = change else {
            return false;
        };
        let [words::TextEdit::Replace(one), words::TextEdit::Replace(two)] = edit.edits.as_slice()
        else {
            return false;
        };
        one.old.of(content) == Some(b"x")
            && one.new.of(content) == Some(b"y")
            && two.old.of(content) == Some(b"-z")
            && two.new.of(content) == Some(b"")
            && one.count == Count::Exactly(1)
    });
    for (more, count) in [
        (&["--count", "3"][..], Count::Exactly(3)),
        (&["--all"], Count::All),
    ] {
        let args = [&["edit", "a", "--old", "x", "--new", "y"], more].concat();
        asks(&args, move |change, _| {
            matches!(change, Change::Edit(edit) if matches!(
                edit.edits.as_slice(),
                [words::TextEdit::Replace(one)] if one.count == count
            ))
        });
    }
}

#[test]
fn the_other_verbs_ask_for_what_they_say() {
    asks(&["mkdir", "-p", "d/e"], |change, _| {
        matches!(change, Change::Mkdir(mkdir)
            if mkdir.parents == Parents::Make && mkdir.selector.path.as_slice() == b"d/e")
    });
    asks(&["move", "a", "b", "--replace"], |change, _| {
        matches!(change, Change::Move(moved) if moved.onto == Onto::Replace(Expect::Any)
            && moved.source.path.as_slice() == b"a" && moved.destination.path.as_slice() == b"b")
    });
    let stamp = bound("x").observation.stamp;
    let onto = format!("--replace={}", crate::stamp::show(&stamp));
    asks(&["move", "a", "b", &onto], move |change, _| {
        let expected = Onto::Replace(Expect::Version(stamp));
        matches!(change, Change::Move(moved) if moved.onto == expected)
    });
    asks(
        &["move", "a", "b"],
        |change, _| matches!(change, Change::Move(moved) if moved.onto == Onto::Nothing),
    );
    for (flag, what) in [
        (&[][..], Deletion::File),
        (&["--dir"], Deletion::Directory),
        (&["--tree"], Deletion::Tree),
    ] {
        asks(
            &[&["delete", "a"], flag].concat(),
            move |change, _| matches!(change, Change::Delete(gone) if gone.what == what),
        );
    }
    asks(
        &["chmod", "600", "a"],
        |change, _| matches!(change, Change::Chmod(chmod) if chmod.mode == 0o600),
    );
    asks(&["--escaped", "link", "..\\x2fa", "l\\xff"], |change, _| {
        matches!(change, Change::Link(link)
            if link.text.as_slice() == b"../a" && link.selector.path.as_slice() == b"l\xff")
    });
    let (_dir, patch) = file(b"*** Begin Patch\n*** Delete File: x\n*** End Patch\n");
    asks(&["patch", &patch, "--root", "docs"], |change, _| {
        matches!(change, Change::Delete(gone)
            if gone.selector.root.as_ref().map(|root| root.as_str()) == Some("docs"))
    });
}

#[test]
fn a_dry_run_prints_the_difference_alone() {
    let (said, outcome) = tool(&["delete", "-n", "a"], |gate| {
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::Change(set) if set.deed == Deed::DryRun));
        let gone = touched(Verb::Delete, "a", present(0o644), PathState::Absent);
        let planned = Planned {
            touched: Few::new(vec![gone]).unwrap(),
            matched: Few::default(),
            matched_cut: 0,
            diff_cut: 0,
        };
        gate.send(id, &Reply::Planned(planned), b"--- a\n-x\n");
    });
    assert_eq!((said.as_str(), outcome), ("--- a\n-x\n", Outcome::Done));
}

#[test]
fn a_guarantee_below_exact_is_said() {
    let (said, _) = tool(&["delete", "a"], |gate| {
        let mut done = changed(End::Done, vec![]);
        done.guarantee = Guarantee::Detected;
        answer(gate, done);
    });
    assert_eq!(said, "receipt 7, guarantee detected\n");
}

#[test]
fn documents_say_what_changed_and_what_is_not_known() {
    let read = |said: &str| -> Value { serde_json::from_str(said.trim_end()).unwrap() };
    let (said, _) = tool(&["--json", "delete", "a"], |gate| {
        answer(gate, changed(End::Done, vec![created("n")]));
    });
    let document = read(&said);
    assert_eq!(
        (&document["portcullis"], &document["kind"]),
        (&1.into(), &"changed".into())
    );
    assert_eq!(document["receipt"], 7);
    assert_eq!(document["outcome"], "done");
    assert_eq!(document["touched"][0]["path"], "n");
    assert_eq!(document["touched"][0]["before"]["state"], "absent");
    assert_eq!(document["touched"][0]["after"]["blake3"], "01".repeat(32));

    let (said, outcome) = tool(&["--json", "delete", "a"], |gate| {
        answer(gate, changed(End::Uncertain, vec![created("n")]));
    });
    let document = read(&said);
    assert_eq!(outcome, Outcome::Uncertain);
    assert_eq!(document["kind"], "error");
    assert_eq!(document["changed"], "unknown");
    assert_eq!(document["code"], "change_uncertain");
    assert_eq!(document["effect"]["receipt"], 7);

    let (said, outcome) = tool(&["--json", "delete", "a"], |gate| drop(gate.next()));
    assert_eq!(outcome, Outcome::Uncertain);
    assert_eq!(read(&said)["code"], "change_unanswered");

    let (said, outcome) = tool(&["--json", "delete", "a"], |gate| {
        let (id, ..) = gate.next();
        let conflict = Refusal::new(Code::Conflict).finding(bound("a").observation.stamp);
        gate.send(id, &Reply::Refused(conflict), &[]);
    });
    let document = read(&said);
    assert_eq!(outcome, Outcome::Conflict);
    assert_eq!(document["changed"], "unchanged");
    assert_eq!(document["current"], "1.2.6.1.2");
    assert_eq!(
        crate::stamp::parse("1.2.6.1.2"),
        Some(bound("a").observation.stamp)
    );
}

#[test]
fn names_in_other_roots_are_shown_with_their_labels() {
    let (said, _) = tool(&["delete", "a"], |gate| {
        let mut other = created("n");
        other.root = RootIndex(1);
        answer(gate, changed(End::Done, vec![other]));
        let (id, request, _) = gate.next();
        assert!(matches!(request, Request::Whoami(_)));
        let root = |label: &str| portcullis_protocol::session::RootView {
            label: portcullis_protocol::path::Label::new(label).unwrap(),
            scope: portcullis_protocol::authority::Scope::Workspace,
        };
        let identity = Identity {
            session: portcullis_protocol::session::SessionId(9),
            authority: AuthorityId([0; 32]),
            owner: Text::new("ann").unwrap(),
            conversation: Text::default(),
            parent: None,
            expires_ms: None,
            roots: Few::new(vec![root("one"), root("two")]).unwrap(),
            grants: Few::default(),
            asks: Few::default(),
            budgets: portcullis_protocol::authority::Budgets::UNLIMITED,
            used: portcullis_protocol::session::Used::default(),
            denials: Few::default(),
            limits: crate::wire::OFFERED,
        };
        gate.send(id, &Reply::Whoami(identity), &[]);
    });
    assert_eq!(said, "created /two/n\nreceipt 7\n");
}

#[test]
fn what_is_wrong_here_is_said_before_anything_is_sent() {
    let (_dir, patch) = file(b"hello\n");
    for args in [
        &["patch", &patch][..],
        &["patch", "/nowhere/at/all"],
        &["write", "a", "--from", "/nowhere/at/all"],
        &["edit", "a", "--old", "", "--new", "x"],
        &["delete", "a", "b", "--expect", "1.2.3.4.5"],
    ] {
        let (ours, _theirs) = portcullis_transport::pair().unwrap();
        let mut session = Session::from_socket(ours).unwrap();
        let (said, outcome) = run(&[&["--json"], args].concat(), &mut session);
        assert_eq!(outcome, Outcome::NotDone, "{args:?}");
        let document: Value = serde_json::from_str(said.trim_end()).unwrap();
        assert_eq!(document["changed"], "unchanged", "{said}");
    }
}

#[test]
fn stat_and_read_show_a_stamp_that_can_be_given_back() {
    let (said, _) = tool(&["stat", "a"], |gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Stat(bound("a")), &[]);
    });
    let stamp = said.lines().find_map(|line| line.strip_prefix("stamp"));
    let stamp = crate::stamp::parse(stamp.unwrap().trim());
    assert_eq!(stamp, Some(bound("a").observation.stamp), "{said}");
    let (said, _) = tool(&["--json", "stat", "a"], |gate| {
        let (id, ..) = gate.next();
        gate.send(id, &Reply::Stat(bound("a")), &[]);
    });
    let document: Value = serde_json::from_str(said.trim_end()).unwrap();
    let shown = document["version"].as_str().unwrap();
    assert_eq!(
        crate::stamp::parse(shown),
        Some(bound("a").observation.stamp)
    );
}
