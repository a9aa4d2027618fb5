//! Names told by how they ended up.

use super::*;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::control::Witness;
use portcullis_protocol::ledger::{Finish, ReceiptId};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::{Guarantee, SessionId};
use portcullis_protocol::view::{Digest, Kind, RootIndex};

fn file(content: u8, mode: u16) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode,
        size: 12,
        digest: Some(Digest([content; 32])),
        stamp: None,
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

fn receipt(outcome: Outcome, touched: Vec<Touched>) -> Receipt {
    Receipt {
        id: ReceiptId {
            number: 7,
            chain: Digest([0; 32]),
        },
        session: SessionId(1),
        at_ms: 0,
        witness: Witness::Gate,
        end: Finish {
            outcome,
            guarantee: Guarantee::Exact,
            touched: Few::new(touched).unwrap(),
            refusal: None,
            left: 0,
            diff_cut: 0,
        },
        roots: Few::new(vec![Label::new("w").unwrap()]).unwrap(),
        diff_bytes: 0,
        authority: portcullis_protocol::authority::AuthorityId([0; 32]),
        began_ms: 0,
        request: Digest([0; 32]),
        previous: Digest([0; 32]),
        cage: Digest([0; 32]),
        approval: None,
    }
}

const NONE: PathState = PathState::Absent;

#[test]
fn names_are_told_by_how_they_ended_up() {
    let mut changes = Changes::default();
    for touched in [
        touched(Verb::Write, "new", NONE, file(1, 0o644)),
        touched(Verb::Edit, "new", file(1, 0o644), file(2, 0o644)),
        touched(Verb::Edit, "old", file(1, 0o644), file(2, 0o644)),
        touched(Verb::Chmod, "mode", file(1, 0o644), file(1, 0o600)),
        touched(Verb::Delete, "gone", file(1, 0o644), NONE),
        touched(Verb::Write, "brief", NONE, file(1, 0o644)),
        touched(Verb::Delete, "brief", file(1, 0o644), NONE),
    ] {
        changes.add(&receipt(Outcome::Done, vec![touched]));
    }
    changes.add(&receipt(
        Outcome::Done,
        vec![
            touched(Verb::Move, "a", file(1, 0o644), NONE),
            touched(Verb::Move, "b", NONE, file(1, 0o644)),
        ],
    ));
    let lines: Vec<String> = changes.lines().collect();
    assert_eq!(
        lines,
        [
            "moved /w/a → /w/b",
            "changed and restored /w/brief (2 times)",
            "deleted /w/gone",
            "mode changed /w/mode",
            "created /w/new (2 times)",
            "replaced /w/old",
        ]
    );
    assert_eq!(
        changes.counts(),
        [
            ("created", 1),
            ("replaced", 1),
            ("moved", 1),
            ("mode changed", 1),
            ("deleted", 1),
            ("changed and restored", 1),
        ]
    );
}

fn moved(from: &str, to: &str) -> Receipt {
    receipt(
        Outcome::Done,
        vec![
            touched(Verb::Move, from, file(1, 0o644), NONE),
            touched(Verb::Move, to, NONE, file(1, 0o644)),
        ],
    )
}

#[test]
fn moves_are_followed() {
    let mut changes = Changes::default();
    let made = touched(Verb::Write, "draft", NONE, file(1, 0o644));
    changes.add(&receipt(Outcome::Done, vec![made]));
    for (from, to) in [("draft", "final"), ("a", "b"), ("b", "c")] {
        changes.add(&moved(from, to));
    }
    let lines: Vec<String> = changes.lines().collect();
    assert_eq!(lines, ["moved /w/a → /w/c", "created /w/final"]);
}

#[test]
fn a_mode_alone_is_told_without_a_look_at_the_content() {
    let bare = |mode| {
        PathState::Present(Present {
            kind: Kind::File,
            mode,
            size: 12,
            digest: None,
            stamp: None,
        })
    };
    let mut changes = Changes::default();
    for (name, after) in [("x", bare(0o600)), ("y", bare(0o644))] {
        let chmod = touched(Verb::Chmod, name, bare(0o644), after);
        changes.add(&receipt(Outcome::Done, vec![chmod]));
    }
    let lines: Vec<String> = changes.lines().collect();
    assert_eq!(lines, ["mode changed /w/x", "changed and restored /w/y"]);
}

#[test]
fn what_failed_changed_nothing_and_what_is_uncertain_may_have() {
    let mut changes = Changes::default();
    let write = || vec![touched(Verb::Write, "a", NONE, file(1, 0o644))];
    changes.add(&receipt(Outcome::Failed, write()));
    assert!(changes.is_empty());
    assert_eq!(changes.failed, 1);
    changes.add(&receipt(Outcome::Uncertain, write()));
    assert!(!changes.is_empty());
    let (number, names) = &changes.uncertain[0];
    assert_eq!(*number, 7);
    assert!(
        names[0].starts_with("write /w/a: file 0644, 12 bytes"),
        "{names:?}"
    );
    assert_eq!(changes.lines().count(), 0);
}

#[test]
fn a_name_is_told_before_and_after() {
    let one = touched(Verb::Write, "a", NONE, file(0xab, 0o755));
    let receipt = receipt(Outcome::Done, vec![one.clone()]);
    assert_eq!(
        line(&receipt, &one),
        "write /w/a: nothing → file 0755, 12 bytes, abababab…"
    );
    assert_eq!(state(&PathState::Unknown), "not known");
}
