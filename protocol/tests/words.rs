//! Small promises of single words: temporary names, states of a name, spans, sets of verbs.

use portcullis_protocol::ledger::Temporary;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Change, DeleteObject, Deletion, Expect, Selector, Span};
use portcullis_protocol::verb::{Access, Verb, VerbSet};
use portcullis_protocol::view::{Digest, Kind, PathState, Present, Stamp, Timestamp};
use proptest::prelude::*;

#[test]
fn a_temporary_has_one_name_and_is_known_by_it() {
    let temporary = Temporary(std::array::from_fn(|n| u8::try_from(n * 0x11).unwrap()));
    let name = ".portcullis-00112233445566778899aabbccddeeff";
    assert_eq!(temporary.name(), name);
    for known in [name, ".PORTCULLIS-00112233445566778899AABBCCDDEEFF"] {
        assert!(Temporary::is_one(known.as_bytes()), "{known}");
    }
    for other in [
        "",
        ".",
        ".portcullis-",
        &name[..name.len() - 1],
        &name[1..],
        ".portcullis-00112233445566778899aabbccddeeff0",
        ".portcullis-00112233445566778899aabbccddeefg",
        ".portcullis_00112233445566778899aabbccddeeff",
        "a.portcullis-00112233445566778899aabbccddeeff",
    ] {
        assert!(!Temporary::is_one(other.as_bytes()), "{other}");
    }
    // The mark is a number of bytes, and bytes of a longer character may lie across its end.
    assert!(!Temporary::is_one(
        ".portcullis\u{2010}0123456789abcdef0123456789abcdef".as_bytes()
    ));
}

const STAMP: Stamp = Stamp {
    device: 1,
    inode: 2,
    changed: Timestamp {
        seconds: 3,
        nanos: 4,
    },
    born: None,
    size: 5,
};

const FILE: Present = Present {
    kind: Kind::File,
    mode: 0o644,
    size: 5,
    digest: Some(Digest([7; 32])),
    stamp: Some(STAMP),
};

fn agree(a: Present, b: Present) -> bool {
    let [a, b] = [PathState::Present(a), PathState::Present(b)];
    let both = a.agrees(&b);
    assert_eq!(both, b.agrees(&a), "{a:?} {b:?}");
    both
}

#[test]
fn states_agree_when_nothing_that_is_known_differs() {
    assert!(agree(FILE, FILE));
    let later = Stamp {
        changed: Timestamp {
            seconds: 9,
            nanos: 0,
        },
        born: Some(STAMP.changed),
        ..STAMP
    };
    for same in [
        Present {
            digest: None,
            ..FILE
        },
        Present {
            stamp: None,
            ..FILE
        },
        Present {
            stamp: Some(later),
            ..FILE
        },
    ] {
        assert!(agree(FILE, same), "{same:?}");
    }
    let of_object = |device, inode| Present {
        stamp: Some(Stamp {
            device,
            inode,
            ..STAMP
        }),
        ..FILE
    };
    for other in [
        Present {
            kind: Kind::Link,
            ..FILE
        },
        Present {
            mode: 0o645,
            ..FILE
        },
        Present { size: 6, ..FILE },
        Present {
            digest: Some(Digest([8; 32])),
            ..FILE
        },
        of_object(1, 3),
        of_object(2, 2),
    ] {
        assert!(!agree(FILE, other), "{other:?}");
    }
}

#[test]
fn absence_agrees_with_absence_and_what_is_unknown_with_nothing() {
    let states = [
        PathState::Absent,
        PathState::Present(FILE),
        PathState::Unknown,
    ];
    for (n, a) in states.iter().enumerate() {
        for (m, b) in states.iter().enumerate() {
            assert_eq!(a.agrees(b), n == m && n != 2, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_span_is_within_the_content_or_nothing() {
    let of = |start, len| Span { start, len }.of(b"0123");
    assert_eq!(of(0, 4), Some(&b"0123"[..]));
    assert_eq!(of(1, 2), Some(&b"12"[..]));
    assert_eq!(of(4, 0), Some(&b""[..]));
    for (start, len) in [(0, 5), (4, 1), (5, 0), (u32::MAX, u32::MAX), (1, u32::MAX)] {
        assert_eq!(of(start, len), None, "{start} {len}");
    }
}

#[test]
fn verbs_that_read_and_verbs_that_write_are_all_there_are() {
    for verb in Verb::ALL {
        let writes = match verb.access() {
            Access::Read | Access::List => false,
            Access::Write => true,
        };
        assert!(VerbSet::ALL.has(verb), "{verb}");
        assert_eq!(VerbSet::WRITING.has(verb), writes, "{verb}");
        assert_eq!(VerbSet::READING.has(verb), !writes, "{verb}");
    }
    assert_eq!(VerbSet::READING.meet(VerbSet::WRITING), VerbSet::NONE);
    assert_eq!(VerbSet::ALL.iter().collect::<Vec<_>>(), Verb::ALL);
    assert!(VerbSet::CONTENT.within(VerbSet::READING));
    assert_eq!(u32::from(VerbSet::ALL), 0x1fff);
    assert!(VerbSet::try_from(0x2000).is_err());
    // The numbers of verbs that were there before must not move.
    assert_eq!(u32::from(VerbSet::READING), 0b1_1111);
}

#[test]
fn a_tree_is_deleted_by_its_own_verb() {
    let verb = |what| {
        let selector = Selector {
            root: None,
            path: portcullis_protocol::bounded::Bytes::default(),
        };
        Change::Delete(DeleteObject {
            selector,
            expect: Expect::Any,
            what,
        })
        .verb()
    };
    assert_eq!(verb(Deletion::File), Verb::Delete);
    assert_eq!(verb(Deletion::Directory), Verb::Delete);
    assert_eq!(verb(Deletion::Tree), Verb::DeleteTree);
}

#[test]
fn only_a_refusal_says_that_nothing_was_changed() {
    let refusal = Refusal::new(Code::Conflict)
        .of(Verb::Edit)
        .on(b"a\xff")
        .finding(STAMP);
    let cause = "edit `a\\xff` refused: it is not in the version that was expected; \
                 read it again and decide anew";
    assert_eq!(refusal.cause().to_string(), cause);
    assert_eq!(refusal.to_string(), format!("nothing was changed: {cause}"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_temporary_is_known(bits in any::<[u8; 16]>()) {
        let name = Temporary(bits).name();
        prop_assert!(Temporary::is_one(name.as_bytes()));
        prop_assert!(Temporary::is_one(name.to_uppercase().as_bytes()));
    }

    #[test]
    fn a_name_of_any_bytes_is_a_temporary_only_in_its_form(
        name in prop::collection::vec(any::<u8>(), 0..64)
    ) {
        prop_assert!(!Temporary::is_one(&name));
    }
}
