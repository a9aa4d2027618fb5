//! What is remembered, what is forgotten, and what one version says of another.

use super::*;
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Timestamp;

const ROOT: RootIndex = RootIndex(0);

fn stamp(inode: u64, changed: i64, size: u64) -> Stamp {
    Stamp {
        device: 1,
        inode,
        changed: Timestamp {
            seconds: changed,
            nanos: 0,
        },
        born: None,
        size,
    }
}

fn path(name: &str) -> RelPath {
    RelPath::parse(name.as_bytes()).unwrap()
}

fn memory() -> Memory {
    Memory::new(Keeping::Shown)
}

fn show(memory: &Memory, name: &str, stamp: Stamp, bytes: Range<u64>, digest: Option<u8>) {
    let digest = digest.map(|n| Digest([n; 32]));
    let part = Part {
        stamp,
        bytes,
        digest,
    };
    memory.shown((ROOT, &path(name)), part);
}

/// Whether the content of this stamp and digest, under this name, is known whole.
fn whole(memory: &Memory, name: &str, stamp: Stamp, digest: u8) -> bool {
    let digest = Some(Digest([digest; 32]));
    memory
        .versions((ROOT, &path(name)), &stamp)
        .iter()
        .any(|version| version.seen == Seen::Whole && version.is(&stamp, digest))
}

fn present(stamp: Stamp, digest: u8) -> PathState {
    PathState::Present(Present {
        kind: Kind::File,
        mode: 0o644,
        size: stamp.size,
        digest: Some(Digest([digest; 32])),
        stamp: Some(stamp),
    })
}

fn touched(name: &str, before: PathState, after: PathState) -> Touched {
    Touched {
        verb: Verb::Write,
        root: ROOT,
        path: path(name),
        before,
        after,
    }
}

#[test]
fn parts_of_one_version_make_it_whole_and_parts_of_two_do_not() {
    let memory = memory();
    let (one, two) = (stamp(7, 1, 100), stamp(7, 2, 100));
    show(&memory, "f", one, 50..100, None);
    assert!(!whole(&memory, "f", one, 9));
    show(&memory, "f", one, 0..50, None);
    assert!(whole(&memory, "f", one, 9));
    show(&memory, "g", stamp(8, 1, 100), 0..50, None);
    show(&memory, "g", stamp(8, 2, 100), 50..100, None);
    assert!(!whole(&memory, "g", stamp(8, 2, 100), 9));
    assert!(!whole(&memory, "f", two, 9), "another version");
}

#[test]
fn what_is_touched_or_replaced_is_known_by_its_content() {
    let memory = memory();
    let one = stamp(7, 1, 100);
    show(&memory, "f", one, 0..100, Some(9));
    assert!(whole(&memory, "f", stamp(7, 2, 100), 9), "touched");
    assert!(whole(&memory, "f", stamp(8, 2, 100), 9), "replaced");
    assert!(!whole(&memory, "f", stamp(8, 2, 100), 10), "other content");
    assert!(
        !whole(&memory, "g", stamp(8, 2, 100), 9),
        "another name and object"
    );
    assert!(whole(&memory, "g", one, 9), "the object by another name");
    // A part of the new object leaves what is known of the old content.
    show(&memory, "f", stamp(8, 2, 100), 0..10, None);
    assert!(whole(&memory, "f", stamp(8, 2, 100), 9));
    assert!(!whole(&memory, "f", stamp(8, 2, 100), 10));
    // Two contents under one stamp: the digest decides.
    assert!(!whole(&memory, "f", one, 10));
}

#[test]
fn an_old_stamp_of_the_same_content_stays_known() {
    let memory = memory();
    for n in 1..=3 {
        show(&memory, "f", stamp(7, n, 100), 0..100, Some(9));
    }
    let known = memory.versions((ROOT, &path("f")), &stamp(7, 1, 100));
    assert_eq!(known.len(), 1);
    assert!((1..=3).all(|n| known[0].had(&stamp(7, n, 100))));
    for n in 4..40 {
        show(&memory, "f", stamp(7, n, 100), 0..100, Some(9));
    }
    let known = memory.versions((ROOT, &path("f")), &stamp(7, 1, 100));
    assert_eq!(known[0].stamps.len(), STAMPS_MAX);
}

#[test]
fn what_the_session_made_it_knows_as_well_as_what_it_was_made_of() {
    let memory = memory();
    let before = |n: u64| stamp(n, 1, 100);
    let after = |n: u64| stamp(100 + n, 2, 50);
    show(&memory, "whole", before(1), 0..100, Some(1));
    show(&memory, "part", before(2), 0..99, None);
    let (old, new) = (
        |n: u8| present(before(n.into()), n),
        |n: u8| present(after(n.into()), 100 + n),
    );
    let from = |state: PathState| match state {
        PathState::Present(was) => Origin::Object(was),
        PathState::Absent | PathState::Unknown => Origin::Other,
    };
    change(
        &memory,
        &[
            (touched("whole", old(1), new(1)), from(old(1))),
            (touched("part", old(2), new(2)), from(old(2))),
            (touched("never", old(3), new(3)), from(old(3))),
            (touched("written", old(4), new(4)), Origin::Request),
            (touched("made", PathState::Absent, new(5)), Origin::Request),
            // Moved here and edited, never seen.
            (touched("there", PathState::Absent, new(6)), from(old(6))),
        ],
    );
    assert!(whole(&memory, "whole", after(1), 101));
    assert!(!whole(&memory, "part", after(2), 102));
    assert!(!whole(&memory, "never", after(3), 103));
    assert!(whole(&memory, "written", after(4), 104));
    assert!(whole(&memory, "made", after(5), 105));
    assert!(!whole(&memory, "there", after(6), 106));
    assert!(
        !whole(&memory, "whole", before(1), 1),
        "what is gone is forgotten"
    );
    // Another mode, another name: the same knowledge.
    show(&memory, "part", after(2), 0..50, Some(102));
    let (moded, moved) = (stamp(102, 3, 50), stamp(102, 4, 50));
    let (now, then) = (present(after(2), 102), present(moded, 102));
    change(&memory, &[(touched("part", now, then), from(now))]);
    assert!(whole(&memory, "part", moded, 102));
    let arrived = present(moved, 102);
    change(
        &memory,
        &[
            (touched("part", then, PathState::Absent), Origin::Other),
            (touched("else", PathState::Absent, arrived), from(then)),
        ],
    );
    assert!(whole(&memory, "else", moved, 102));
}

fn change(memory: &Memory, made: &[(Touched, Origin)]) {
    memory.changed(made.iter().map(|(touched, origin)| (touched, origin)));
}

#[test]
fn the_oldest_is_forgotten_for_another() {
    let memory = memory();
    let most = u64::try_from(OBJECTS_MAX).unwrap();
    for n in 0..most {
        show(&memory, &format!("{n}"), stamp(n, 1, 10), 0..10, None);
    }
    show(&memory, "0", stamp(0, 1, 10), 0..1, None);
    for n in most..most + 10 {
        show(&memory, &format!("{n}"), stamp(n, 1, 10), 0..10, None);
    }
    assert!(whole(&memory, "0", stamp(0, 1, 10), 9), "touched last");
    for n in 1..=10 {
        assert!(!whole(&memory, &format!("{n}"), stamp(n, 1, 10), 9), "{n}");
    }
    assert!(whole(&memory, "11", stamp(11, 1, 10), 9));
    let kept = memory.kept.as_ref().unwrap().lock().unwrap();
    let names: usize = kept.names.values().map(HashMap::len).sum();
    assert_eq!(
        (kept.objects.len(), kept.ages.len(), names),
        (OBJECTS_MAX, OBJECTS_MAX, OBJECTS_MAX)
    );
}

#[test]
fn one_name_of_many_objects_is_one_name() {
    let memory = memory();
    for n in 0..100 {
        show(&memory, "f", stamp(n % 10, 1, 10), 0..10, None);
    }
    let kept = memory.kept.as_ref().unwrap().lock().unwrap();
    let names: usize = kept.names.values().map(HashMap::len).sum();
    assert_eq!((kept.objects.len(), kept.ages.len(), names), (10, 10, 1));
}

#[test]
fn a_session_that_may_change_nothing_keeps_nothing() {
    let memory = Memory::new(Keeping::Nothing);
    show(&memory, "f", stamp(7, 1, 100), 0..100, Some(9));
    assert!(!memory.keeps());
    assert!(
        memory
            .versions((ROOT, &path("f")), &stamp(7, 1, 100))
            .is_empty()
    );
}

/// Two objects, of which the second got the number of the first.
fn one_number_twice() -> (Stamp, Stamp) {
    let born = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let first = Stamp {
        born: born(1),
        ..stamp(7, 1, 100)
    };
    let second = Stamp {
        born: born(2),
        ..stamp(7, 2, 100)
    };
    (first, second)
}

#[test]
fn a_number_that_another_object_got_says_nothing_of_it() {
    let (first, second) = one_number_twice();
    let memory = memory();
    show(&memory, "f", first, 0..100, Some(1));
    assert!(whole(&memory, "f", first, 1));
    // By another name there is nothing, not even another version.
    let other = (ROOT, &path("other"));
    assert!(memory.versions(other, &second).is_empty());
    assert!(!memory.versions(other, &first).is_empty());
    // What is shown of it is of itself.
    show(&memory, "other", second, 0..3, None);
    let known = memory.versions(other, &second);
    assert!(
        known.iter().all(|version| version.seen != Seen::Whole),
        "{known:?}"
    );
    assert!(memory.versions((ROOT, &path("f")), &first).is_empty());
}

#[test]
fn what_had_the_name_is_known_though_its_number_was_given_to_the_next() {
    let (first, second) = one_number_twice();
    let memory = memory();
    show(&memory, "f", first, 0..100, Some(1));
    assert!(
        whole(&memory, "f", second, 1),
        "saved again with the same content"
    );
    show(&memory, "f", second, 0..3, None);
    assert!(whole(&memory, "f", second, 1));
}
