//! How an effect ended, by what is there: a table of cases.

use super::*;
use portcullis_protocol::authority::{Budgets, Denial, DenialTarget, Effect};
use portcullis_protocol::bounded::{Bytes, Text};
use portcullis_protocol::ledger::{Step, Temporary};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Digest, Kind, ObjectId, RootIndex, Stamp, Timestamp};

const GONE: PathState = PathState::Absent;
const UNKNOWN: PathState = PathState::Unknown;

fn present(kind: Kind, inode: Option<u64>, content: Option<u8>) -> PathState {
    PathState::Present(Present {
        kind,
        mode: 0o644,
        size: 3,
        digest: content.map(|c| Digest([c; 32])),
        stamp: inode.map(|inode| Stamp {
            device: 1,
            inode,
            changed: Timestamp {
                seconds: 0,
                nanos: 0,
            },
            born: None,
            size: 3,
        }),
    })
}

/// A file that is there.
fn file(inode: u64, content: u8) -> PathState {
    present(Kind::File, Some(inode), Some(content))
}

/// A file that is to be made.
fn planned(content: u8) -> PathState {
    present(Kind::File, None, Some(content))
}

fn step(name: &str, before: PathState, after: PathState) -> Step {
    Step {
        parent: ObjectId {
            device: 1,
            inode: 9,
        },
        name: Bytes::cut(name.as_bytes()),
        touched: Touched {
            verb: Verb::Write,
            root: RootIndex(0),
            path: RelPath::parse(name.as_bytes()).unwrap(),
            before,
            after,
        },
        temporary: Some(Temporary([1; 16])),
        deletion: None,
    }
}

fn intent(steps: &[(PathState, PathState)]) -> Intent {
    let steps = steps.iter().enumerate();
    let steps = steps.map(|(n, (before, after))| step(&format!("n{n}"), *before, *after));
    Intent {
        steps: Few::new(steps.collect()).unwrap(),
        request: Digest([7; 32]),
    }
}

/// How it ended, and how many temporaries are left.
fn ended(steps: &[(PathState, PathState)], seen: &[(PathState, PathState)]) -> (Outcome, u32) {
    let seen: Vec<SeenStep> = seen
        .iter()
        .map(|(now, temporary)| SeenStep {
            now: *now,
            temporary: *temporary,
        })
        .collect();
    let end = judge(&intent(steps), &seen, Names::Held);
    let states: Vec<PathState> = end.touched.as_slice().iter().map(|t| t.after).collect();
    assert_eq!(states, seen.iter().map(|s| s.now).collect::<Vec<_>>());
    (end.outcome, end.left)
}

#[test]
fn one_name_is_as_meant_as_before_or_neither() {
    let create = [(GONE, planned(1))];
    let replace = [(file(5, 1), planned(2))];
    let delete = [(file(5, 1), GONE)];
    use Outcome::{Done, Failed, Uncertain};
    for (steps, now, temporary, how) in [
        (&create, file(6, 1), GONE, (Done, 0)),
        (&create, GONE, GONE, (Failed, 0)),
        (&create, file(6, 2), GONE, (Uncertain, 0)),
        (&create, UNKNOWN, GONE, (Uncertain, 0)),
        // The new content is linked under its temporary name and no further.
        (&create, GONE, file(6, 1), (Failed, 1)),
        (&replace, file(6, 2), GONE, (Done, 0)),
        // Exchanged; what was displaced is still there.
        (&replace, file(6, 2), file(5, 1), (Done, 1)),
        (&replace, file(5, 1), GONE, (Failed, 0)),
        (&replace, file(5, 1), file(6, 2), (Failed, 1)),
        // The same bytes in another file: somebody else's, or put back by hand.
        (&replace, file(7, 1), GONE, (Uncertain, 0)),
        (&replace, GONE, file(5, 1), (Uncertain, 1)),
        (&replace, file(5, 1), UNKNOWN, (Failed, 1)),
        (&delete, GONE, GONE, (Done, 0)),
        // Claimed under a temporary name and not removed.
        (&delete, GONE, file(5, 1), (Done, 1)),
        (&delete, file(5, 1), GONE, (Failed, 0)),
        // A newcomer has the name while the old object is claimed.
        (&delete, file(8, 1), file(5, 1), (Uncertain, 1)),
    ] {
        assert_eq!(ended(steps, &[(now, temporary)]), how, "{steps:?} {now:?}");
    }
}

#[test]
fn all_names_have_to_be_alike() {
    let moved = [(file(5, 1), GONE), (GONE, file(5, 1))];
    let swap = [(file(5, 1), file(6, 2)), (file(6, 2), file(5, 1))];
    let at = |states: [PathState; 2]| states.map(|state| (state, GONE));
    use Outcome::{Done, Failed, Uncertain};
    for (steps, now, how) in [
        (&moved, [GONE, file(5, 1)], Done),
        (&moved, [file(5, 1), GONE], Failed),
        // Both names have it, or none has.
        (&moved, [file(5, 1), file(5, 1)], Uncertain),
        (&moved, [GONE, GONE], Uncertain),
        (&moved, [GONE, file(6, 1)], Uncertain),
        (&swap, [file(6, 2), file(5, 1)], Done),
        (&swap, [file(5, 1), file(6, 2)], Failed),
        (&swap, [file(6, 2), file(6, 2)], Uncertain),
        (&swap, [file(6, 2), UNKNOWN], Uncertain),
    ] {
        assert_eq!(ended(steps, &at(now)).0, how, "{steps:?} {now:?}");
    }
}

#[test]
fn what_cannot_be_compared_proves_nothing() {
    let bulky = present(Kind::File, None, None);
    let seen = present(Kind::File, Some(6), None);
    let (outcome, _) = ended(&[(GONE, bulky)], &[(seen, GONE)]);
    assert_eq!(outcome, Outcome::Uncertain, "only size and mode are alike");
    let same = present(Kind::File, Some(5), None);
    let (outcome, _) = ended(&[(same, GONE)], &[(same, GONE)]);
    assert_eq!(outcome, Outcome::Failed, "the object is the same");
    let directory = present(Kind::Directory, None, None);
    let made = present(Kind::Directory, Some(6), None);
    let (outcome, _) = ended(&[(GONE, directory)], &[(made, GONE)]);
    assert_eq!(outcome, Outcome::Done);
}

#[test]
fn what_nobody_saw_is_uncertain_and_unknown() {
    let intent = intent(&[(file(5, 1), planned(2)), (GONE, planned(3))]);
    let end = unseen(&intent, Names::Held);
    assert_eq!((end.outcome, end.left), (Outcome::Uncertain, 2));
    let touched = end.touched.as_slice();
    assert_eq!(touched[0].before, file(5, 1));
    assert!(touched.iter().all(|t| t.after == UNKNOWN));
    let end = unseen(&intent, Names::Untouched);
    assert_eq!((end.outcome, end.left), (Outcome::Failed, 0));
    let is_unknown = |t: &Touched| [t.before, t.after] == [UNKNOWN; 2];
    assert!(end.touched.as_slice().iter().all(is_unknown));
}

#[test]
fn who_had_not_looked_changed_nothing_and_what_is_there_was_there() {
    let delete = [(file(5, 1), GONE)];
    for now in [GONE, file(5, 1), file(6, 2), UNKNOWN] {
        let temporary = if now == UNKNOWN { UNKNOWN } else { GONE };
        let seen = [SeenStep { now, temporary }];
        let end = judge(&intent(&delete), &seen, Names::Untouched);
        assert_eq!((end.outcome, end.left), (Outcome::Failed, 0), "{now:?}");
        let touched = &end.touched.as_slice()[0];
        assert_eq!([touched.before, touched.after], [now; 2]);
    }
}

#[test]
fn an_end_that_is_too_long_with_versions_is_told_without_them() {
    let long = "x".repeat(140);
    let steps: Vec<Step> = (0..500)
        .map(|n| step(&format!("{n}{long}"), GONE, planned(1)))
        .collect();
    let intent = Intent {
        steps: Few::new(steps).unwrap(),
        request: Digest([7; 32]),
    };
    let seen: Vec<SeenStep> = (0..500)
        .map(|n| SeenStep {
            now: if n == 0 { GONE } else { file(u64::MAX - n, 1) },
            temporary: GONE,
        })
        .collect();
    let end = judge(&intent, &seen, Names::Held);
    assert!(encoded(&end) <= EFFECT_BYTES_MAX.max(encoded(&unseen(&intent, Names::Held))));
    assert_eq!(end.outcome, Outcome::Uncertain);
    assert_eq!(end.touched.as_slice()[0].after, GONE);
    assert_eq!(end.touched.as_slice()[1].after, planned(1));
}

#[test]
fn what_an_observer_is_told_fits_a_frame() {
    let dir = crate::testing::TempDir::new();
    let root = crate::testing::sealed(1, dir.path());
    let grant = |prefix: &str| {
        let prefix = RelPath::parse(prefix.as_bytes()).unwrap();
        Grant::whole(RootIndex(0), prefix, VerbSet::ALL)
    };
    let denials = (0..300).map(|n| Denial {
        rule: Rule {
            name: Text::new(format!("rule {n}")).unwrap(),
            reason: Text::new("r".repeat(250)).unwrap(),
        },
        verbs: VerbSet::ALL,
        target: DenialTarget::Object {
            device: 1,
            inode: n,
        },
        effect: Effect::Deny,
    });
    let authority = Authority::seal(Parts {
        request: Text::default(),
        owner: Text::default(),
        conversation: Text::default(),
        parent: None,
        roots: vec![root.root().clone()],
        grants: vec![grant("n"), grant("unused")],
        asks: Vec::new(),
        denials: denials.collect(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    })
    .unwrap();
    let steps = |count: usize| {
        let name = |n| format!("n/{n}{}", "x".repeat(200));
        let each = |n| Step {
            name: Bytes::new("x").unwrap(),
            ..step(&name(n), GONE, planned(1))
        };
        Intent {
            steps: Few::new((0..count).map(each).collect()).unwrap(),
            request: Digest([7; 32]),
        }
    };
    assert_eq!(
        narrow_to_fit(&authority, &steps(1)),
        None,
        "it fits as it is"
    );
    let large = steps(250);
    assert!(encoded(&authority) + encoded(&large) > BODY_BYTES_MAX);
    let narrow = narrow_to_fit(&authority, &large).unwrap();
    assert!(encoded(&narrow) + encoded(&large) <= BODY_BYTES_MAX);
    let parts = narrow.parts();
    assert_eq!(
        (&parts.roots, &parts.grants),
        (&authority.parts().roots, &vec![grant("n")])
    );
}

#[test]
fn names_that_were_given_back_prove_nothing() {
    let steps = [(file(1, 1), GONE), (GONE, planned(2))];
    // Another effect has made a file where this one deleted one.
    let seen = [
        SeenStep {
            now: file(7, 7),
            temporary: file(1, 1),
        },
        SeenStep {
            now: file(2, 2),
            temporary: GONE,
        },
    ];
    let end = judge(&intent(&steps), &seen, Names::GivenBack);
    assert_eq!((end.outcome, end.left), (Outcome::Done, 1));
    let after = |end: &Finish| -> Vec<PathState> {
        end.touched.as_slice().iter().map(|t| t.after).collect()
    };
    assert_eq!(after(&end), [GONE, file(2, 2)]);
    let end = judge(&intent(&steps), &seen, Names::Held);
    assert_eq!(end.outcome, Outcome::Uncertain);
    assert_eq!(after(&end), [file(7, 7), file(2, 2)]);
}

#[test]
fn what_was_begun_before_the_system_started_anew_is_looked_at_on_todays_devices() {
    let dir = crate::testing::TempDir::new();
    let root = crate::testing::sealed(1, dir.path()).root().clone();
    let before = |change: &dyn Fn(&mut Root)| {
        let mut was = root.clone();
        change(&mut was);
        let authority = Authority::seal(Parts {
            request: Text::default(),
            owner: Text::default(),
            conversation: Text::default(),
            parent: None,
            roots: vec![was],
            grants: vec![Grant::whole(RootIndex(0), RelPath::root(), VerbSet::ALL)],
            asks: Vec::new(),
            denials: Vec::new(),
            budgets: Budgets::UNLIMITED,
            expires_ms: None,
        });
        found_again(&authority.unwrap())
    };
    let found = before(&|was| {
        was.identity.device += 7;
        was.identity.mount += 7;
    });
    let found = found.unwrap();
    assert_eq!(found.authority.parts().roots, std::slice::from_ref(&root));
    assert_eq!(found.authority.parts().grants.len(), 1);
    assert!(before(&|was| was.durable.inode += 1).is_none());
    assert!(before(&|was| was.location = RelPath::parse(b"nowhere").unwrap()).is_none());
}
