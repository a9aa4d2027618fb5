//! What an untrusted gate may begin and end.

use super::*;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::ledger::{Step, Temporary};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Guarantee, Outcome, Touched};
use portcullis_protocol::verb::{Mode, ModeSet, Verb};
use portcullis_protocol::view::{Digest, Kind, ObjectId, PathState, Present, RootIndex};

fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

/// A session that may write and move below `a` of its only root, until a second after 1970.
fn writer(dir: &crate::testing::TempDir) -> Writer {
    let verbs = VerbSet::of(&[Verb::Read, Verb::Write, Verb::Move, Verb::DeleteTree]);
    writer_of(dir, Grant::whole(RootIndex(0), path("a"), verbs))
}

fn writer_of(dir: &crate::testing::TempDir, grant: Grant) -> Writer {
    let root = crate::testing::sealed(1, dir.path());
    let authority = Authority::seal(portcullis_protocol::authority::Parts {
        request: Default::default(),
        owner: Default::default(),
        roots: vec![root.root().clone()],
        conversation: Default::default(),
        parent: None,
        grants: vec![grant],
        asks: Vec::new(),
        denials: Vec::new(),
        budgets: portcullis_protocol::authority::Budgets::UNLIMITED,
        expires_ms: Some(1000),
    })
    .unwrap();
    let kept = Arc::new(Kept::of(&authority).unwrap());
    let purse = Purse::of(authority.parts().budgets);
    let means = Means {
        kept: &kept,
        roots: &[Arc::new(root)],
        run_as: None,
        purse: &purse,
    };
    Writer::of(&authority, means).unwrap()
}

fn step(verb: Verb, root: u16, at: &str, before: PathState) -> Step {
    Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new(at.rsplit('/').next().unwrap()).unwrap(),
        touched: Touched {
            verb,
            root: RootIndex(root),
            path: path(at),
            before,
            after: PathState::Absent,
        },
        temporary: Some(Temporary([0; 16])),
        deletion: None,
    }
}

fn intent(steps: Vec<Step>) -> Intent {
    Intent {
        steps: Few::new(steps).unwrap(),
        request: Digest([0; 32]),
    }
}

fn one(verb: Verb, root: u16, at: &str) -> Intent {
    intent(vec![step(verb, root, at, PathState::Absent)])
}

fn refused(writer: &Writer, intent: &Intent, now_ms: u64) -> Code {
    check(writer, intent, now_ms).unwrap().unwrap_err().code
}

#[test]
fn an_intent_is_within_what_its_session_was_granted() {
    let dir = crate::testing::TempDir::new();
    let writer = writer(&dir);
    assert_eq!(check(&writer, &one(Verb::Write, 0, "a/x"), 0), Ok(Ok(())));
    for (verb, at) in [
        (Verb::Write, "x"),
        (Verb::Write, "ab/x"),
        (Verb::Chmod, "a/x"),
        (Verb::Delete, "a/x"),
        // Granted, but it changes nothing.
        (Verb::Read, "a/x"),
    ] {
        let code = refused(&writer, &one(verb, 0, at), 0);
        assert_eq!(code, Code::NotGranted, "{verb} {at}");
    }
    let both = intent(vec![
        step(Verb::Write, 0, "a/x", PathState::Absent),
        step(Verb::Write, 0, "b/x", PathState::Absent),
    ]);
    assert_eq!(
        refused(&writer, &both, 0),
        Code::NotGranted,
        "every step counts"
    );
    assert_eq!(
        refused(&writer, &one(Verb::Write, 0, "a/x"), 1000),
        Code::Expired
    );
    assert!(
        check(&writer, &one(Verb::Write, 1, "a/x"), 0).is_err(),
        "no such root"
    );
    assert!(
        check(&writer, &intent(Vec::new()), 0).is_err(),
        "nothing is touched"
    );
}

#[test]
fn an_intent_that_fits_no_frame_is_refused() {
    let dir = crate::testing::TempDir::new();
    let long = "x".repeat(250);
    let name = |n: usize| format!("a/{n:03}{long}");
    let steps = |count: usize| {
        let each = |n| step(Verb::Write, 0, &name(n), PathState::Absent);
        intent((0..count).map(each).collect())
    };
    let writer = writer(&dir);
    assert_eq!(check(&writer, &steps(100), 0), Ok(Ok(())));
    assert_eq!(refused(&writer, &steps(400), 0), Code::OutOfBudget);
}

#[test]
fn who_moves_a_directory_or_removes_a_tree_must_be_alone() {
    let present = |kind| {
        PathState::Present(Present {
            kind,
            mode: 0o755,
            size: 0,
            digest: None,
            stamp: None,
        })
    };
    for (verb, kind, alone) in [
        (Verb::Move, Kind::Directory, true),
        (Verb::DeleteTree, Kind::Directory, true),
        (Verb::Move, Kind::File, false),
        (Verb::Delete, Kind::Directory, false),
        (Verb::Mkdir, Kind::Directory, false),
    ] {
        let begin = |tree| Begin {
            tree,
            intent: intent(vec![step(verb, 0, "a/x", present(kind))]),
        };
        assert_eq!(check_tree(&begin(TreeLock::Exclusive)), Ok(()));
        assert_eq!(
            check_tree(&begin(TreeLock::Shared)).is_err(),
            alone,
            "{verb} {kind:?}"
        );
    }
}

#[test]
fn an_end_tells_of_names_that_were_announced_and_fits() {
    let announced = intent(vec![
        step(Verb::Write, 0, "a/x", PathState::Absent),
        step(Verb::Write, 0, "a/y", PathState::Absent),
    ]);
    let end = |touched: Vec<Touched>| Finish {
        outcome: Outcome::Done,
        guarantee: Guarantee::Exact,
        touched: Few::new(touched).unwrap(),
        refusal: None,
        left: 0,
        diff_cut: 0,
    };
    let touched = |at: &str| step(Verb::Write, 0, at, PathState::Absent).touched;
    assert_eq!(check_end(&announced, &end(vec![touched("a/y")])), Ok(()));
    assert_eq!(check_end(&announced, &end(Vec::new())), Ok(()));
    assert!(check_end(&announced, &end(vec![touched("a/x"), touched("a/z")])).is_err());
    let deep = format!("a/{}", vec!["y".repeat(200); 20].join("/"));
    let announced = one(Verb::Write, 0, &deep);
    assert!(
        check_end(&announced, &end(vec![touched(&deep); 40])).is_err(),
        "too many words"
    );
}

fn present(kind: Kind) -> PathState {
    PathState::Present(Present {
        kind,
        mode: 0o644,
        size: 1,
        digest: None,
        stamp: None,
    })
}

/// Whether a step is allowed by a grant of all verbs in these modes.
fn allowed(verb: Verb, (before, after): (PathState, PathState), modes: &[Mode]) -> bool {
    let dir = crate::testing::TempDir::new();
    let grant = Grant {
        modes: ModeSet::of(modes),
        ..Grant::whole(RootIndex(0), path("a"), VerbSet::ALL)
    };
    let mut one = step(verb, 0, "a/x", before);
    one.touched.after = after;
    check(&writer_of(&dir, grant), &intent(vec![one]), 0) == Ok(Ok(()))
}

#[test]
fn an_intent_uses_verbs_in_modes_that_were_granted() {
    use Mode::{DeleteDirectory, DeleteFile, MoveNew, MoveOver, WriteNew, WriteOver};
    let (file, directory) = (present(Kind::File), present(Kind::Directory));
    let (gone, unknown) = (PathState::Absent, PathState::Unknown);
    for (verb, before, after, needed) in [
        (Verb::Write, gone, file, &[WriteNew][..]),
        (Verb::Write, file, file, &[WriteOver]),
        (Verb::Write, unknown, file, &[WriteNew, WriteOver]),
        (Verb::Move, gone, file, &[MoveNew]),
        (Verb::Move, file, file, &[MoveOver]),
        (Verb::Move, unknown, unknown, &[MoveNew, MoveOver]),
        (Verb::Delete, file, gone, &[DeleteFile]),
        (Verb::Delete, present(Kind::Link), gone, &[DeleteFile]),
        (Verb::Delete, directory, gone, &[DeleteDirectory]),
        (Verb::Delete, unknown, gone, &[DeleteFile, DeleteDirectory]),
    ] {
        for without in Mode::ALL {
            let all = Mode::ALL.into_iter();
            let others: Vec<Mode> = all.filter(|mode| *mode != without).collect();
            assert_eq!(
                allowed(verb, (before, after), &others),
                !needed.contains(&without),
                "{verb} of {before:?} without {}",
                without.name()
            );
        }
    }
    // Where a name is moved from it matters that it is moved at all, and some verbs have no modes.
    assert!(allowed(Verb::Move, (file, gone), &[MoveNew]));
    assert!(!allowed(Verb::Move, (file, gone), &[WriteNew]));
    assert!(allowed(Verb::Chmod, (file, file), &[]));
}

#[test]
fn exact_inputs_are_the_gates_to_judge() {
    use portcullis_protocol::authority::Inputs;
    let dir = crate::testing::TempDir::new();
    let only = Inputs::Only(Few::new(vec![Digest([1; 32])]).unwrap());
    let grant = Grant {
        inputs: only,
        ..Grant::whole(RootIndex(0), path("a"), VerbSet::of(&[Verb::Write]))
    };
    let writer = writer_of(&dir, grant);
    assert_eq!(check(&writer, &one(Verb::Write, 0, "a/x"), 0), Ok(Ok(())));
}
