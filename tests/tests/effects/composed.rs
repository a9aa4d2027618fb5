//! Change sets that one frame does not hold: kept in order, within their budget, used once.

use crate::raw::{Raw, edit, set};
use crate::trial::{bytes, no_temporaries};
use portcullis_client::MintOrder;
use portcullis_protocol::limits::{
    CHANGES_MAX, COMPOSED_BYTES_MAX, CONTENT_BYTES_MAX, SET_BYTES_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{
    ChangeComposed, ChangeSet, Deed, Expect, Outcome, Reply, Request, encode_composed,
};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;

const EDITS: usize = 40;

fn code(reply: Reply) -> Code {
    match reply {
        Reply::Refused(refusal) => refusal.code,
        other => panic!("not refused: {other:?}"),
    }
}

/// Files of numbered lines, each of which a set changes.
fn files(arena: &Arena) {
    for file in 0..CHANGES_MAX {
        let lines: String = (0..EDITS)
            .map(|n| format!("line {n} of {file} old;\n"))
            .collect();
        arena.write(format!("many/{file}"), lines);
    }
}

fn edits_of_all(deed: Deed) -> (ChangeSet, Vec<u8>) {
    let mut content = Vec::new();
    let changes = (0..CHANGES_MAX)
        .map(|file| {
            let texts: Vec<(Vec<u8>, Vec<u8>)> = (0..EDITS)
                .map(|n| {
                    let old = format!("line {n} of {file} old;");
                    (
                        old.into_bytes(),
                        format!("LINE {n} of {file} is new;").into_bytes(),
                    )
                })
                .collect();
            let texts: Vec<(&[u8], &[u8])> = texts
                .iter()
                .map(|(old, new)| (old.as_slice(), new.as_slice()))
                .collect();
            edit(format!("many/{file}"), Expect::Any, &texts, &mut content)
        })
        .collect();
    (set(deed, changes), content)
}

#[test]
fn a_set_of_ten_thousand_edits_is_one_effect() {
    let mut arena = Arena::new(own!("own-gate"));
    files(&arena);
    let inside = arena.inside();
    let before = census(&inside);
    let mut raw = Raw::new(arena.session().session);
    let (all, content) = edits_of_all(Deed::DryRun);
    let ask = raw.compose_all(&all, &content);
    assert!(content.len() + ask.set as usize > 4 * CONTENT_BYTES_MAX);
    let (Reply::Planned(planned), _) = raw.ask(&Request::ChangeComposed(ask), &[]) else {
        panic!("not planned");
    };
    assert_eq!(planned.touched.as_slice().len(), CHANGES_MAX);
    assert_eq!(census(&inside), before);
    let (all, content) = edits_of_all(Deed::Commit);
    let ask = raw.compose_all(&all, &content);
    let (Reply::Changed(changed), _) = raw.ask(&Request::ChangeComposed(ask), &[]) else {
        panic!("not changed");
    };
    assert_eq!(changed.outcome, Outcome::Done, "{changed:?}");
    assert_eq!(changed.touched.as_slice().len(), CHANGES_MAX);
    for file in 0..CHANGES_MAX {
        let lines: String = (0..EDITS)
            .map(|n| format!("LINE {n} of {file} is new;\n"))
            .collect();
        assert_eq!(
            bytes(inside.join(format!("many/{file}"))),
            lines.into_bytes()
        );
    }
    // Used up.
    let (again, _) = raw.ask(&Request::ChangeComposed(ask), &[]);
    assert_eq!(code(again), Code::UnknownUpload);
    no_temporaries(&inside);
}

#[test]
fn a_dry_run_or_a_refusal_does_not_use_it_up() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("f", "one\n");
    let inside = arena.inside();
    let mut raw = Raw::new(arena.session().session);
    let mut content = Vec::new();
    let changes = vec![edit("f", Expect::Any, &[(b"one", b"two")], &mut content)];
    let ask = raw.compose_all(&set(Deed::DryRun, changes.clone()), &content);
    for _ in 0..3 {
        let (reply, diff) = raw.ask(&Request::ChangeComposed(ask), &[]);
        assert!(matches!(reply, Reply::Planned(_)), "{reply:?}");
        assert!(diff.ends_with(b"-one\n+two\n"));
    }
    let ask = raw.compose_all(&set(Deed::Commit, changes), &content);
    std::fs::write(inside.join("f"), "none\nof one\n").unwrap();
    let (reply, _) = raw.ask(&Request::ChangeComposed(ask), &[]);
    assert!(
        matches!(reply, Reply::Refused(_) | Reply::Conflicted(_)),
        "{reply:?}"
    );
    std::fs::write(inside.join("f"), "one\n").unwrap();
    let (reply, _) = raw.ask(&Request::ChangeComposed(ask), &[]);
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
    assert_eq!(bytes(inside.join("f")), b"two\n");
}

#[test]
fn what_is_malformed_or_out_of_order_changes_nothing() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("f", "one\n");
    let inside = arena.inside();
    let before = census(&inside);
    let mut raw = Raw::new(arena.session().session);
    let composed = |set| Request::ChangeComposed(ChangeComposed { set });
    // Nothing there.
    for length in [0, 1, u32::MAX] {
        assert_eq!(code(raw.ask(&composed(length), &[]).0), Code::UnknownUpload);
    }
    assert_eq!(code(raw.compose(7, b"x")), Code::UnknownUpload);
    let mut content = Vec::new();
    let changes = vec![edit("f", Expect::Any, &[(b"one", b"two")], &mut content)];
    let (whole, ask) = encode_composed(&set(Deed::Commit, changes), &content).unwrap();
    let length = ask.set;
    // A set that ends too early, too late, or is said to be larger than one may be.
    assert!(matches!(raw.compose(0, &whole), Reply::Composed(_)));
    let most = u32::try_from(SET_BYTES_MAX).unwrap();
    for (length, wanted) in [
        (0, Code::Malformed),
        (1, Code::Malformed),
        (length - 1, Code::Malformed),
        (length + 1, Code::Malformed),
        (most, Code::Malformed),
        (most + 1, Code::OutOfBudget),
        (u32::MAX, Code::OutOfBudget),
    ] {
        assert_eq!(code(raw.ask(&composed(length), &[]).0), wanted, "{length}");
    }
    // A gap and an overlap leave what was there; the set itself is in no frame of its own.
    for offset in [1, u64::from(length), u64::MAX] {
        assert_eq!(code(raw.compose(offset, b"x")), Code::UnknownUpload);
    }
    // Another encoding of the same set: the first number padded.
    let mut padded = whole.clone();
    padded.splice(0..1, [whole[0] | 0x80, 0]);
    assert!(matches!(raw.compose(0, &padded), Reply::Composed(_)));
    let (reply, _) = raw.ask(&composed(length + 1), &[]);
    assert_eq!(code(reply), Code::Malformed);
    // Every cut and every flipped bit ends in an answer, and none in an effect on another file.
    for at in 0..whole.len().min(48) {
        let mut bad = whole.clone();
        bad[at] ^= 1 << (at % 8);
        raw.compose(0, &bad[..whole.len() - at]);
        let (reply, _) = raw.ask(&composed(length), &[]);
        assert!(!matches!(reply, Reply::Composed(_)), "{reply:?}");
        if matches!(reply, Reply::Changed(_)) {
            std::fs::remove_file(inside.join("f")).ok();
            arena.write("f", "one\n");
        }
    }
    assert_eq!(
        census(&inside).len(),
        before.len(),
        "nothing but `f` was touched"
    );
    // The first part forgets what was there, and an empty one all of it.
    assert!(matches!(raw.compose(0, &whole), Reply::Composed(_)));
    assert!(matches!(raw.compose(0, &[]), Reply::Composed(_)));
    assert_eq!(code(raw.ask(&composed(length), &[]).0), Code::UnknownUpload);
    // The whole of it, after all that.
    arena.write("f", "one\n");
    assert!(matches!(raw.compose(0, &whole), Reply::Composed(_)));
    let (reply, _) = raw.ask(&composed(length), &[]);
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
    assert_eq!(bytes(inside.join("f")), b"two\n");
}

/// Memory of a process that is its own, in KiB.
fn anonymous(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn no_more_is_held_than_may_be_composed_and_it_is_given_back() {
    let mut arena = Arena::new(own!("own-gate"));
    arena.write("f", "one\n");
    let opened = arena.session();
    let report = arena.control.status().unwrap();
    let sessions = report.sessions.as_slice();
    let gate = sessions
        .iter()
        .find(|s| s.session == opened.id)
        .unwrap()
        .gate;
    let mut raw = Raw::new(opened.session);
    let start = anonymous(gate);
    let part = vec![b'x'; CONTENT_BYTES_MAX];
    let mut sent = 0;
    while sent < COMPOSED_BYTES_MAX {
        let reply = raw.compose(u64::try_from(sent).unwrap(), &part);
        assert!(matches!(reply, Reply::Composed(_)), "{sent}: {reply:?}");
        sent += part.len();
    }
    let most = anonymous(gate);
    let mib = COMPOSED_BYTES_MAX / 1024;
    assert!(
        most > start + mib / 2,
        "the control: it is held: {start} {most}"
    );
    assert!(most < start + mib + mib / 4, "{start} {most} KiB");
    let over = raw.compose(u64::try_from(sent).unwrap(), b"x");
    assert_eq!(code(over), Code::OutOfBudget);
    assert!(
        anonymous(gate) < start + 4096,
        "{start} {}",
        anonymous(gate)
    );
    // Used up by an effect, it is given back as well.
    let mut content = Vec::new();
    let change = edit("f", Expect::Any, &[(b"one", b"two")], &mut content);
    content.resize(COMPOSED_BYTES_MAX / 2, b'y');
    let ask = raw.compose_all(&set(Deed::Commit, vec![change]), &content);
    let (reply, _) = raw.ask(&Request::ChangeComposed(ask), &[]);
    assert!(matches!(reply, Reply::Changed(_)), "{reply:?}");
    // What is answered next is answered when that is over.
    assert_eq!(code(raw.compose(7, b"x")), Code::UnknownUpload);
    assert!(
        anonymous(gate) < start + 4096,
        "{start} {}",
        anonymous(gate)
    );
}

#[test]
fn a_session_that_may_change_nothing_composes_nothing() {
    let mut arena = Arena::new(own!("own-gate"));
    for (verbs, wanted) in [
        (VerbSet::READING, Err(Code::NotGranted)),
        (VerbSet::of(&[Verb::Mkdir]), Ok(1)),
    ] {
        let opened = arena.session_with(|_, root| {
            MintOrder::new("tester")
                .root(root, None)
                .grant(root, RelPath::root(), verbs)
        });
        let kept = match Raw::new(opened.session).compose(0, b"x") {
            Reply::Composed(composed) => Ok(composed.bytes),
            other => Err(code(other)),
        };
        assert_eq!(kept, wanted);
    }
}
