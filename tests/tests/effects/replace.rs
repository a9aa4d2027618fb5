//! Rows 80 to 92: a version is replaced by another, and never anybody else's.

use crate::deeds::Deed;
use crate::trial::{
    at, bytes, code, digest, done, failed, likeness, no_temporaries, on_overlay, one, refused,
    stamp, surest,
};
use portcullis_client::change::{Count, TextEdit};
use portcullis_client::{Changes, Session, change};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Deletion, Expect, Guarantee, Onto};
use portcullis_protocol::view::{PathState, Stamp};
use portcullis_tests::hostile::{Arena, census, within_bounds};
use portcullis_tests::{World, own};
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.write("spare", "old content\n");
    arena
}

/// Every change that says what it expects of `file`.
fn expecting(expect: Expect) -> Vec<Changes> {
    let mut write = change::write(at("file"), "new content\n");
    write.expect = expect;
    let mut edit = change::replace(at("file"), "o", "0");
    let TextEdit::Replace(replaced) = &mut edit.edits[0] else {
        panic!("{edit:?}");
    };
    replaced.count = Count::All;
    edit.expect = expect;
    let mut rename = change::rename(at("file"), at("free"));
    rename.expect = expect;
    let mut onto = change::rename(at("spare"), at("file"));
    onto.onto = Onto::Replace(expect);
    let mut delete = change::delete(at("file"));
    delete.expect = expect;
    let mut chmod = change::chmod(at("file"), 0o600);
    chmod.expect = expect;
    vec![
        one(write),
        one(edit),
        one(rename),
        one(onto),
        one(delete),
        one(chmod),
    ]
}

/// Every such change conflicts, dry or not, before anything happens, and tells the version.
#[track_caller]
fn conflicts(session: &mut Session, inside: &Path, expect: Expect, wanted: Code) {
    let before = census(inside);
    let current = stamp(session, "file");
    for changes in expecting(expect) {
        let told = |refusal: &Refusal| {
            assert_eq!(refusal.code, wanted, "{changes:?}");
            assert_eq!(
                refusal.current.as_deref().copied(),
                Some(current),
                "{changes:?}"
            );
        };
        told(&refused(session, &changes));
        told(session.plan(&changes).unwrap_err().refusal().unwrap());
        assert_eq!(census(inside), before, "{changes:?}");
    }
}

#[test]
fn row_80_what_is_as_expected_is_changed_and_the_new_version_returned() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut expect = Expect::Version(stamp(session, "file"));
    session.read_file(at("file")).unwrap();
    for n in 0..4 {
        let content = format!("old content {n}\n");
        let mut write = change::write(at("file"), content.as_str());
        write.expect = expect;
        let changed = done(session, &one(write));
        assert_eq!(changed.guarantee, surest(&inside));
        let PathState::Present(now) = changed.touched.as_slice()[0].after else {
            panic!("{changed:?}");
        };
        assert_eq!(now.digest, Some(digest(&content)));
        // The version that comes back is the one that the next change can expect.
        assert_eq!(now.stamp, Some(stamp(session, "file")));
        expect = Expect::Version(now.stamp.unwrap());
        assert_eq!(bytes(inside.join("file")), content.as_bytes());
    }
    for expect in [Expect::Any, Expect::Content(digest("old content\n"))] {
        for changes in expecting(expect) {
            for name in ["file", "spare", "free"] {
                std::fs::remove_file(inside.join(name)).ok();
            }
            arena.write("file", "old content\n");
            arena.write("spare", "old content\n");
            done(session, &changes);
        }
    }
}

#[test]
fn row_81_a_change_of_content_of_the_same_size_is_a_conflict() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = stamp(session, "file");
    let seen = std::fs::metadata(inside.join("file")).unwrap();
    arena.write("file", "OLD CONTENT\n");
    // The time of the content is set back: the version is told by more than that.
    let file = std::fs::File::options()
        .write(true)
        .open(inside.join("file"))
        .unwrap();
    file.set_modified(seen.modified().unwrap()).unwrap();
    drop(file);
    let now = std::fs::metadata(inside.join("file")).unwrap();
    assert_eq!(
        (now.len(), now.modified().unwrap()),
        (seen.len(), seen.modified().unwrap()),
        "a control that compares size and time sees no change"
    );
    conflicts(session, &inside, Expect::Version(before), Code::Conflict);
    conflicts(
        session,
        &inside,
        Expect::Content(digest("old content\n")),
        Code::Conflict,
    );
    conflicts(session, &inside, Expect::Absent, Code::Exists);
}

#[test]
fn row_82_the_same_bytes_in_another_file_are_another_version() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = stamp(session, "file");
    std::fs::rename(inside.join("spare"), inside.join("file")).unwrap();
    arena.write("spare", "old content\n");
    conflicts(session, &inside, Expect::Version(before), Code::Conflict);
    // By content they are the same, as is said.
    let mut write = change::write(at("file"), "new content\n");
    write.expect = Expect::Content(digest("old content\n"));
    done(session, &one(write));
}

#[test]
fn row_83_a_number_that_another_file_got_is_another_version() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut reused = 0;
    for _ in 0..50 {
        let before = stamp(session, "file");
        std::fs::remove_file(inside.join("file")).unwrap();
        arena.write("file", "old content\n");
        if std::fs::metadata(inside.join("file")).unwrap().ino() == before.inode {
            reused += 1;
        }
        let mut write = change::write(at("file"), "new content\n");
        write.expect = Expect::Version(before);
        assert_eq!(code(session, write), Code::Conflict);
    }
    println!("inode numbers used again: {reused} of 50");
    // A version made up from the right numbers and another time is none.
    let real = stamp(session, "file");
    let mut forged: Stamp = real;
    forged.changed.nanos ^= 1;
    conflicts(session, &inside, Expect::Version(forged), Code::Conflict);
    forged = real;
    forged.size += 1;
    conflicts(session, &inside, Expect::Version(forged), Code::Conflict);
    forged = real;
    forged.born = None;
    if real.born.is_some() {
        conflicts(session, &inside, Expect::Version(forged), Code::Conflict);
    }
}

#[test]
fn row_86_a_file_that_somebody_writes_is_busy_and_their_version_stays() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut writer = std::fs::File::options()
        .append(true)
        .open(inside.join("file"))
        .unwrap();
    let before = likeness(&inside);
    for deed in [Deed::Write, Deed::Edit] {
        let (code, _) = failed(session, &deed.changes("file"));
        assert_eq!(code, Code::Busy, "{deed:?}");
        assert_eq!(likeness(&inside), before, "{deed:?}");
    }
    writer.write_all(b"theirs\n").unwrap();
    assert_eq!(bytes(inside.join("file")), b"old content\ntheirs\n");
    drop(writer);
    done(session, &Deed::Edit.changes("file"));
    assert_eq!(bytes(inside.join("file")), b"new content\ntheirs\n");
    no_temporaries(&inside);
    // The control: what is written after a rename over the file is nowhere.
    let mut writer = std::fs::File::options()
        .append(true)
        .open(inside.join("file"))
        .unwrap();
    arena.write("temporary", "naive\n");
    std::fs::rename(inside.join("temporary"), inside.join("file")).unwrap();
    writer.write_all(b"lost\n").unwrap();
    assert_eq!(bytes(inside.join("file")), b"naive\n");
}

#[test]
fn row_87_a_file_that_somebody_has_mapped_for_writing_is_busy() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mapped = {
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(inside.join("file"))
            .unwrap();
        portcullis_tests::sys::Mapping::of(&file, 12).unwrap()
        // The descriptor is closed; only the mapping is left.
    };
    if on_overlay(&inside) {
        // The gap that CAVEATS tells of; the reply does not claim more.
        let changed = done(session, &Deed::Write.changes("file"));
        assert_eq!(changed.guarantee, Guarantee::Detected);
        return;
    }
    let before = likeness(&inside);
    for deed in [Deed::Write, Deed::Edit] {
        let (code, _) = failed(session, &deed.changes("file"));
        assert_eq!(code, Code::Busy, "{deed:?}");
    }
    assert_eq!(likeness(&inside), before);
    mapped.store(0, b'O');
    assert_eq!(bytes(inside.join("file")), b"Old content\n");
    // The control: what is stored after a rename over the file is lost.
    std::fs::rename(inside.join("spare"), inside.join("file")).unwrap();
    mapped.store(0, b'X');
    assert_eq!(bytes(inside.join("file")), b"old content\n");
    drop(mapped);
    done(session, &Deed::Write.changes("file"));
}

#[test]
fn a_reader_keeps_its_version_and_a_name_is_never_absent_or_torn() {
    within_bounds(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let mut opened = arena.session();
        let session = &mut opened.session;
        let mut reader = std::fs::File::open(inside.join("file")).unwrap();
        let versions: Vec<Vec<u8>> = (0..8_u8)
            .map(|n| vec![b'a' + n; 3000 + usize::from(n)])
            .collect();
        let path = inside.join("file");
        let stop = std::sync::atomic::AtomicBool::new(false);
        done(
            session,
            &one(change::write(at("file"), versions[0].clone())),
        );
        let reads = std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut reads = 0_u32;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let now = std::fs::read(&path).unwrap();
                    assert!(versions.contains(&now), "{} bytes", now.len());
                    reads += 1;
                }
                reads
            });
            for n in 0..200 {
                let content = versions[n % versions.len()].clone();
                done(session, &one(change::write(at("file"), content)));
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            reading.join().unwrap()
        });
        println!("row 90: {reads} reads beside 200 replacements, each of one whole version");
        reader.rewind().unwrap();
        let mut old = String::new();
        std::io::Read::read_to_string(&mut reader, &mut old).unwrap();
        assert_eq!(old, "old content\n");
    });
}

#[test]
fn row_91_a_file_with_other_names_is_refused_and_the_name_outside_unchanged() {
    // No arena: a name more outside is a change outside, and made by the test itself.
    let mut world = World::new(own!("own-gate"));
    let (inside, outside) = (world.inside(), world.outside());
    world.write("spare", "old content\n");
    world.write("twice/a", "old content\n");
    std::fs::write(outside.join("alias"), "old content\n").unwrap();
    std::fs::hard_link(outside.join("alias"), inside.join("file")).unwrap();
    std::fs::hard_link(inside.join("twice/a"), inside.join("twice/b")).unwrap();
    let mut opened = world.session();
    let session = &mut opened.session;
    let before = (census(&inside), census(&outside));
    for name in ["file", "twice/a", "twice/b"] {
        for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
            let refusal = refused(session, &deed.changes(name));
            assert_eq!(refusal.code, Code::HardLinked, "{deed:?} {name}");
            assert_eq!(
                (census(&inside), census(&outside)),
                before,
                "{deed:?} {name}"
            );
        }
    }
    // Both names in one set are one object.
    let both = Changes::new()
        .with(change::delete(at("twice/a")))
        .with(change::delete(at("twice/b")));
    assert_eq!(refused(session, &both).code, Code::Collision);
    // A name is moved and removed without touching what the other one shows.
    done(session, &Deed::MoveFrom.changes("file"));
    done(session, &one(change::delete(at("free"))));
    assert_eq!(bytes(outside.join("alias")), b"old content\n");
    // The control writes in place, and through the other name.
    std::fs::hard_link(outside.join("alias"), inside.join("file")).unwrap();
    Deed::Write.naive(&inside, "file").unwrap();
    assert_eq!(bytes(outside.join("alias")), b"new content\n");
}

#[test]
fn row_92_a_running_program_is_replaced_and_runs_on() {
    let mut arena = arena();
    let inside = arena.inside();
    let tool = inside.join("tool");
    std::fs::copy("/bin/sleep", &tool).unwrap();
    let start = || loop {
        // Another test's child may hold our descriptor of the copy until it executes.
        match Command::new(&tool).arg("60").spawn() {
            Err(error) if error.raw_os_error() == Some(26) => std::thread::yield_now(),
            started => break started.unwrap(),
        }
    };
    let mut running = start();
    // The control cannot write it in place.
    let naive = std::fs::write(&tool, "x").unwrap_err();
    assert_eq!(naive.raw_os_error(), Some(26));
    let mut opened = arena.session();
    done(
        &mut opened.session,
        &one(change::write(at("tool"), "new content\n")),
    );
    assert_eq!(bytes(&tool), b"new content\n");
    assert!(running.try_wait().unwrap().is_none(), "it still runs");
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn an_expectation_of_a_directory_or_a_link_is_kept_too() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.directory("d");
    arena.link("l", "file");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = stamp(session, "d");
    arena.write("d/inner", "x");
    let now = census(&inside);
    for what in [Deletion::Directory, Deletion::Tree] {
        let mut delete = change::delete(at("d"));
        (delete.what, delete.expect) = (what, Expect::Version(before));
        let refusal = refused(session, &one(delete));
        let codes = [Code::Conflict, Code::NotEmpty];
        assert!(codes.contains(&refusal.code), "{refusal}");
    }
    let mut rename = change::rename(at("d"), at("free"));
    rename.expect = Expect::Version(before);
    assert_eq!(code(session, rename), Code::Conflict);
    let mut chmod = change::chmod(at("d"), 0o700);
    chmod.expect = Expect::Version(before);
    assert_eq!(code(session, chmod), Code::Conflict);
    let mut delete = change::delete(at("l"));
    delete.expect = Expect::Content(digest("other"));
    assert_eq!(code(session, delete.clone()), Code::Conflict);
    assert_eq!(census(&inside), now);
    delete.expect = Expect::Content(digest("file"));
    done(session, &one(delete));
}
