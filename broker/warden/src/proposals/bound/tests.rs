//! What an untrusted gate may say an operation is bound to, and what counts as the same later.

use super::*;
use portcullis_protocol::approval::Lost;
use portcullis_protocol::authority::{Budgets, Grant, Inputs, Parts, Root};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::{ModeSet, Verb};
use portcullis_protocol::view::{ObjectId, RootIndex, Stamp, Timestamp};

const INPUT: Digest = Digest([7; 32]);

fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

/// Granted: reading in `open`. To be asked for: writing in `asked`, deleting there by one input.
fn authority(root: &Root) -> Authority {
    let grant = |prefix: &str, verbs: &[Verb], inputs| Grant {
        root: RootIndex(0),
        prefix: path(prefix),
        verbs: VerbSet::of(verbs),
        modes: ModeSet::ALL,
        inputs,
    };
    let only = Inputs::Only(Few::new(vec![INPUT]).unwrap());
    Authority::seal(Parts {
        request: Default::default(),
        owner: Default::default(),
        conversation: Default::default(),
        parent: None,
        roots: vec![root.clone()],
        grants: vec![grant("open", &[Verb::Read], Inputs::Any)],
        asks: vec![
            grant("asked", &[Verb::Write, Verb::Read], Inputs::Any),
            grant("asked", &[Verb::Delete], only),
        ],
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    })
    .unwrap()
}

fn stamp(inode: u64, seconds: i64) -> Stamp {
    Stamp {
        device: 1,
        inode,
        changed: Timestamp { seconds, nanos: 0 },
        born: None,
        size: 3,
    }
}

fn file(stamp: Option<Stamp>) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0o644,
        size: 3,
        digest: Some(Digest([1; 32])),
        stamp,
    })
}

fn directory(stamp: Stamp) -> PathState {
    PathState::Present(Present {
        kind: Kind::Directory,
        mode: 0o755,
        size: 0,
        digest: None,
        stamp: Some(stamp),
    })
}

fn step(verb: Verb, at: &str, before: PathState, after: PathState) -> Step {
    Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new(at.rsplit('/').next().unwrap()).unwrap(),
        touched: Touched {
            verb,
            root: RootIndex(0),
            path: path(at),
            before,
            after,
        },
        temporary: None,
        deletion: None,
    }
}

fn intent(steps: Vec<Step>) -> Intent {
    Intent {
        steps: Few::new(steps).unwrap(),
        request: Digest([0; 32]),
    }
}

fn bound(verb: Verb, steps: Vec<Step>) -> Bound {
    Bound {
        verb,
        intent: intent(steps),
        lost: Lost::default(),
        rule: None,
        diff_cut: 0,
    }
}

fn write(at: &str) -> Step {
    step(Verb::Write, at, PathState::Absent, file(None))
}

fn read(at: &str, state: PathState) -> Step {
    step(Verb::Read, at, state, state)
}

#[test]
fn only_what_may_be_asked_for_is_taken_from_a_gate() {
    let dir = crate::testing::TempDir::new();
    let root = crate::testing::sealed(1, dir.path());
    let authority = authority(root.root());
    let checked = |bound: &Bound| check(&authority, INPUT, bound);
    assert_eq!(
        checked(&bound(Verb::Write, vec![write("asked/x")])),
        Ok(Use::Changes)
    );
    let absent = read("asked/x", PathState::Absent);
    let seen = read("open/x", file(Some(stamp(9, 1))));
    assert_eq!(
        checked(&bound(Verb::Read, vec![absent.clone(), seen])),
        Ok(Use::Shows)
    );
    let delete = step(
        Verb::Delete,
        "asked/x",
        file(Some(stamp(9, 1))),
        PathState::Absent,
    );
    let deletes = bound(Verb::Delete, vec![delete]);
    assert_eq!(checked(&deletes), Ok(Use::Changes));
    assert!(
        check(&authority, Digest([8; 32]), &deletes).is_err(),
        "another input"
    );
    let elsewhere = Step {
        touched: Touched {
            root: RootIndex(1),
            ..write("asked/x").touched
        },
        ..write("asked/x")
    };
    let long = format!("asked/{}", "x".repeat(250));
    let many = (0..400).map(|_| write(&long)).collect();
    for (why, unsound) in [
        ("nothing", bound(Verb::Write, vec![])),
        ("beside", bound(Verb::Write, vec![write("other/x")])),
        ("looks alike", bound(Verb::Write, vec![write("askedx")])),
        (
            "one of two",
            bound(Verb::Write, vec![write("asked/x"), write("open/x")]),
        ),
        ("no such root", bound(Verb::Write, vec![elsewhere])),
        (
            "both",
            bound(Verb::Write, vec![write("asked/x"), absent.clone()]),
        ),
        ("another verb", bound(Verb::Read, vec![write("asked/x")])),
        (
            "a read that changes",
            bound(
                Verb::Read,
                vec![step(Verb::Read, "asked/x", PathState::Absent, file(None))],
            ),
        ),
        ("too much", bound(Verb::Write, many)),
    ] {
        assert!(checked(&unsound).is_err(), "{why}");
    }
}

/// The note of the refusal, where they are not the same.
fn differ(approved: &[&Step], now: &[&Step]) -> Option<String> {
    let intent = |steps: &[&Step]| intent(steps.iter().map(|step| (*step).clone()).collect());
    let refusal = same(&intent(approved), &intent(now)).err()?;
    assert_eq!(refusal.code, Code::Conflict);
    Some(refusal.note.unwrap().as_str().to_owned())
}

#[test]
fn the_same_names_versions_and_results_are_the_same() {
    let was = step(Verb::Write, "asked/x", file(Some(stamp(9, 1))), file(None));
    assert_eq!(differ(&[&was], &[&was]), None);
    let elsewhere = Step {
        temporary: Some(Temporary([1; 16])),
        ..was.clone()
    };
    assert_eq!(differ(&[&was], &[&elsewhere]), None, "its own affair");
    let made = Step {
        touched: Touched {
            after: file(Some(stamp(10, 2))),
            ..was.touched.clone()
        },
        ..was.clone()
    };
    assert_eq!(differ(&[&was], &[&made]), None, "it has an object now");
    let inner = step(Verb::Write, "asked/d/x", file(None), file(None));
    assert_eq!(differ(&[&inner], &[&inner]), None, "made by the set");
    // An entry of a directory has come or gone: its name is bound, not what is below.
    let (before, after) = (directory(stamp(5, 1)), directory(stamp(5, 2)));
    let chmod = |before| step(Verb::Chmod, "asked/d", before, directory(stamp(5, 3)));
    assert_eq!(differ(&[&chmod(before)], &[&chmod(after)]), None);
}

#[test]
fn whatever_has_changed_since_is_told() {
    let was = step(Verb::Write, "asked/x", file(Some(stamp(9, 1))), file(None));
    let with = |change: &dyn Fn(&mut Step)| {
        let mut now = was.clone();
        change(&mut now);
        differ(&[&was], &[&now])
    };
    let before = |state: PathState| with(&|s| s.touched.before = state);
    let gone = before(PathState::Absent).unwrap();
    assert!(gone.ends_with("it is gone"), "{gone}");
    for state in [
        file(Some(stamp(9, 2))),
        file(Some(stamp(8, 1))),
        file(None),
        directory(stamp(9, 1)),
        PathState::Unknown,
    ] {
        assert!(before(state).is_some(), "{state:?}");
    }
    assert!(with(&|s| s.parent.inode = 3).is_some(), "its parent");
    assert!(with(&|s| s.name = Bytes::new("y").unwrap()).is_some());
    assert!(with(&|s| s.touched.path = path("asked/y")).is_some());
    assert!(with(&|s| s.touched.verb = Verb::Edit).is_some());
    assert!(with(&|s| s.deletion = Some(Deletion::File)).is_some());
    assert!(with(&|s| s.touched.after = PathState::Absent).is_some());
    let other = Present {
        digest: Some(Digest([2; 32])),
        ..match file(None) {
            PathState::Present(present) => present,
            PathState::Absent | PathState::Unknown => panic!("it is there"),
        }
    };
    assert!(with(&|s| s.touched.after = PathState::Present(other)).is_some());
    assert!(differ(&[&was], &[]).is_some(), "fewer");
    assert!(differ(&[&was], &[&was, &was]).is_some(), "more");
    // An approved absence does not cover what has appeared.
    let absent = read("asked/x", PathState::Absent);
    let appeared = read("asked/x", file(Some(stamp(9, 1))));
    let note = differ(&[&absent], &[&appeared]).unwrap();
    assert!(
        note.ends_with("something of that name has appeared"),
        "{note}"
    );
    // A tree that goes is bound with its entries.
    let tree = |at| Step {
        deletion: Some(Deletion::Tree),
        ..step(
            Verb::DeleteTree,
            "asked/d",
            directory(stamp(5, at)),
            PathState::Absent,
        )
    };
    assert!(differ(&[&tree(1)], &[&tree(2)]).is_some());
    assert_eq!(differ(&[&tree(1)], &[&tree(1)]), None);
}
