//! What is used, given and given back.

use super::*;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::Touched;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Digest, ObjectId, RootIndex};

const GONE: PathState = PathState::Absent;

fn file(size: u64, digest: u8) -> PathState {
    of(Kind::File, size, digest)
}

fn of(kind: Kind, size: u64, digest: u8) -> PathState {
    PathState::Present(Present {
        kind,
        mode: 0o644,
        size,
        digest: Some(Digest([digest; 32])),
        stamp: None,
    })
}

fn cost(touched: &[(Verb, PathState, PathState)]) -> Cost {
    let step = |(verb, before, after): &(Verb, PathState, PathState)| Step {
        parent: ObjectId {
            device: 1,
            inode: 2,
        },
        name: Bytes::new("x").unwrap(),
        touched: Touched {
            verb: *verb,
            root: RootIndex(0),
            path: RelPath::parse(b"x").unwrap(),
            before: *before,
            after: *after,
        },
        temporary: None,
        deletion: None,
    };
    Cost::of(&Intent {
        steps: Few::new(touched.iter().map(step).collect()).unwrap(),
        request: Digest([0; 32]),
    })
}

fn is(written_bytes: u64, creates: u64, deletes: u64) -> Cost {
    Cost {
        written_bytes,
        creates,
        deletes,
    }
}

#[test]
fn an_effect_costs_what_comes_to_be_what_goes_and_what_is_new_in_it() {
    let directory = of(Kind::Directory, 0, 0);
    for (touched, costs) in [
        (vec![(Verb::Write, GONE, file(7, 1))], is(7, 1, 0)),
        (vec![(Verb::Write, file(9, 2), file(7, 1))], is(7, 0, 0)),
        (vec![(Verb::Edit, file(9, 2), file(10, 1))], is(10, 0, 0)),
        (vec![(Verb::Mkdir, GONE, directory)], is(0, 1, 0)),
        (vec![(Verb::Link, GONE, of(Kind::Link, 20, 3))], is(0, 1, 0)),
        (vec![(Verb::Delete, file(9, 2), GONE)], is(0, 0, 1)),
        (vec![(Verb::DeleteTree, directory, GONE)], is(0, 0, 1)),
        // It has the same content under another name, and with other bits.
        (
            vec![
                (Verb::Move, file(9, 2), GONE),
                (Verb::Move, GONE, file(9, 2)),
            ],
            is(0, 1, 1),
        ),
        (vec![(Verb::Chmod, file(9, 2), file(9, 2))], is(0, 0, 0)),
        // A set may move a file and give it other content, whichever verb stands for that.
        (
            vec![
                (Verb::Move, file(9, 2), GONE),
                (Verb::Move, GONE, file(8, 3)),
            ],
            is(8, 1, 1),
        ),
        (
            vec![(Verb::Write, PathState::Unknown, file(7, 1))],
            is(7, 1, 0),
        ),
        (vec![(Verb::Delete, PathState::Unknown, GONE)], is(0, 0, 1)),
    ] {
        assert_eq!(cost(&touched), costs, "{touched:?}");
    }
}

#[test]
fn what_is_not_there_is_refused_by_name_and_takes_nothing() {
    let purse = Purse::of(Budgets {
        written_bytes: Some(10),
        creates: Some(2),
        ..Budgets::UNLIMITED
    });
    // Nothing limits what goes.
    purse.charge(is(6, 1, 1000)).unwrap();
    let refused = purse.charge(is(4, 2, 0)).unwrap_err();
    assert_eq!(refused.code, Code::OutOfBudget);
    assert_eq!(
        refused.note.unwrap().as_str(),
        "creates: 2 in all, 1 left, 2 needed"
    );
    assert_eq!(purse.left().written_bytes, Some(4), "all of it or nothing");
    purse.has(is(4, 1, 0)).unwrap();
    let refused = purse.has(is(5, 0, 0)).unwrap_err();
    assert_eq!(
        refused.note.unwrap().as_str(),
        "written-bytes: 10 in all, 4 left, 5 needed"
    );
    purse.give_back(is(6, 1, 1000));
    assert_eq!(purse.left(), purse.limits);
}

#[test]
fn another_plan_is_paid_instead_of_the_first_or_not_at_all() {
    let purse = Purse::of(Budgets {
        written_bytes: Some(10),
        ..Budgets::UNLIMITED
    });
    purse.charge(is(8, 0, 0)).unwrap();
    purse.exchange(is(8, 0, 0), is(9, 0, 0)).unwrap();
    assert_eq!(purse.left().written_bytes, Some(1));
    purse.exchange(is(9, 0, 0), is(11, 0, 0)).unwrap_err();
    assert_eq!(purse.left().written_bytes, Some(1));
}

#[test]
fn what_is_given_is_taken_for_good_and_what_is_not_wished_for_is_half() {
    let purse = Purse::of(Budgets {
        operations: Some(100),
        creates: Some(9),
        deletes: Some(3),
        ..Budgets::UNLIMITED
    });
    let wished = Budgets {
        operations: Some(40),
        written_bytes: Some(5),
        deletes: Some(50),
        ..Budgets::UNLIMITED
    };
    let taken = purse.take(&wished);
    let given = taken.given();
    assert_eq!(
        given,
        Budgets {
            operations: Some(40),
            read_bytes: None,
            // Its own limit, where the other has none.
            written_bytes: Some(5),
            creates: Some(4),
            deletes: Some(3),
        }
    );
    assert!(given.within(&purse.limits));
    let left = Budgets {
        operations: Some(60),
        creates: Some(5),
        deletes: Some(0),
        ..Budgets::UNLIMITED
    };
    assert_eq!(purse.left(), left);
    taken.for_good();
    assert_eq!(purse.left(), left);
    drop(purse.take(&Budgets::UNLIMITED));
    assert_eq!(
        purse.left(),
        left,
        "a session that is not made costs nothing"
    );
}
