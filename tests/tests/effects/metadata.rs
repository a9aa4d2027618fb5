//! Rows 62, 63, 93 and 110: permission bits, groups, access lists, attributes and flags.

use crate::deeds::Deed;
use crate::trial::{
    at, bytes, code, done, failed, likeness, mode, no_temporaries, one, refused, set_mode,
};
use portcullis_client::change;
use portcullis_protocol::refusal::Code;
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::{own, privileged};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

/// An access list in the kernel's form: user, user 4242, group, mask, others.
fn list(others: u16) -> Vec<u8> {
    let entry = |tag: u16, rights: u16, id: u32| {
        let mut bytes = Vec::new();
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes
    };
    let none = u32::MAX;
    let mut all = 2_u32.to_le_bytes().to_vec();
    all.extend(entry(1, 6, none));
    all.extend(entry(2, 4, 4242));
    all.extend(entry(4, 4, none));
    all.extend(entry(0x10, 4, none));
    all.extend(entry(0x20, others, none));
    all
}

/// Gives a directory a default access list.
pub fn set_default_list(directory: &Path) {
    setxattr(
        directory,
        "system.posix_acl_default",
        &list(0),
        XattrFlags::empty(),
    )
    .unwrap();
}

/// An object's access list, if it has one beside its mode.
pub fn list_of(path: &Path) -> Option<Vec<u8>> {
    attribute(path, "system.posix_acl_access")
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut room = vec![0; 4096];
    match getxattr(path, name, room.as_mut_slice()) {
        Ok(len) => Some(room[..len].to_vec()),
        Err(Errno::NODATA) => None,
        Err(error) => panic!("{path:?} {name}: {error}"),
    }
}

/// Replaces a file as most programs do: a new file, renamed over it.
fn naive_replace(path: &Path) {
    let beside = path.with_extension("naive");
    std::fs::write(&beside, "naive\n").unwrap();
    std::fs::rename(&beside, path).unwrap();
}

#[test]
fn row_93_a_replacement_keeps_mode_group_access_list_and_attributes() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let file = inside.join("file");
    arena.write("file", "old content\n");
    arena.write("control", "old content\n");
    for path in [&file, &inside.join("control")] {
        if privileged() {
            std::os::unix::fs::chown(path, None, Some(0)).unwrap();
        }
        set_mode(path, 0o640);
        setxattr(
            path,
            "system.posix_acl_access",
            &list(0),
            XattrFlags::empty(),
        )
        .unwrap();
        setxattr(path, "user.note", b"kept", XattrFlags::empty()).unwrap();
        setxattr(path, "user.empty", b"", XattrFlags::empty()).unwrap();
        setxattr(path, "user.large", &[7; 2000], XattrFlags::empty()).unwrap();
    }
    let before = std::fs::metadata(&file).unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for (n, changes) in [
        one(change::write(at("file"), "old two\n")),
        one(change::replace(at("file"), "old", "new")),
        one(change::write(at("file"), vec![b'x'; 200_000])),
    ]
    .iter()
    .enumerate()
    {
        let displaced = std::fs::metadata(&file).unwrap();
        done(session, changes);
        let now = std::fs::metadata(&file).unwrap();
        assert_ne!(
            now.ino(),
            displaced.ino(),
            "{n}: replaced, never written in place"
        );
        assert_eq!(
            (now.uid(), now.gid(), now.mode()),
            (before.uid(), before.gid(), before.mode())
        );
        assert_eq!(list_of(&file), Some(list(0)), "{n}");
        assert_eq!(
            attribute(&file, "user.note").as_deref(),
            Some(&b"kept"[..]),
            "{n}"
        );
        assert_eq!(
            attribute(&file, "user.empty").as_deref(),
            Some(&b""[..]),
            "{n}"
        );
        assert_eq!(
            attribute(&file, "user.large").map(|value| value.len()),
            Some(2000),
            "{n}"
        );
    }
    // With a mode of its own the rest is kept too.
    let mut write = change::write(at("file"), "moded\n");
    write.mode = Some(0o600);
    done(session, &one(write));
    assert_eq!(mode(&file), 0o600);
    assert_eq!(attribute(&file, "user.note").as_deref(), Some(&b"kept"[..]));
    // A default list of the directory is not given to a file that had none.
    arena.write("listed/file", "old content\n");
    set_default_list(&inside.join("listed"));
    done(session, &Deed::Write.changes("listed/file"));
    assert_eq!(
        (
            list_of(&inside.join("listed/file")),
            mode(inside.join("listed/file"))
        ),
        (None, 0o644)
    );
    // The control loses all of it.
    naive_replace(&inside.join("control"));
    assert_eq!(list_of(&inside.join("control")), None);
    assert_eq!(attribute(&inside.join("control"), "user.note"), None);
    no_temporaries(&inside);
}

#[test]
fn row_93_every_mode_survives_a_replacement() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for bits in [0o777, 0o755, 0o700, 0o600, 0o444, 0o400, 0o640, 0o666] {
        arena.write("file", "old content\n");
        set_mode(inside.join("file"), bits);
        done(session, &Deed::Write.changes("file"));
        assert_eq!(mode(inside.join("file")), bits, "{bits:o}");
        set_mode(inside.join("file"), 0o600);
    }
}

#[test]
fn row_93_a_strangers_file_is_not_replaced_by_one_that_is_not_theirs() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let file = inside.join("theirs");
    arena.write("theirs", "old content\n");
    set_mode(&file, 0o666);
    let given = std::os::unix::fs::chown(&file, Some(4242), Some(4242));
    if !privileged() {
        assert_eq!(given.unwrap_err().raw_os_error(), Some(1));
        println!("a stranger's file needs root: proven in the run as root");
        return;
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for deed in [Deed::Write, Deed::Edit, Deed::Chmod] {
        let refusal = refused(session, &deed.changes("theirs"));
        let codes = [Code::Unkept, Code::Permission];
        assert!(codes.contains(&refusal.code), "{deed:?}: {refusal}");
    }
    assert_eq!(census(&inside), before);
    // The control takes the file from its owner.
    naive_replace(&file);
    assert_eq!(std::fs::metadata(&file).unwrap().uid(), 0);
}

#[test]
fn row_62_a_replacement_has_no_set_id_bit_and_no_capability() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    for (bits, left) in [
        (0o4755, 0o755),
        (0o2755, 0o755),
        (0o6755, 0o755),
        (0o1644, 0o644),
    ] {
        arena.write("file", "old content\n");
        set_mode(inside.join("file"), bits);
        assert_eq!(mode(inside.join("file")), bits);
        for deed in [Deed::Write, Deed::Edit] {
            std::fs::remove_file(inside.join("file")).unwrap();
            arena.write("file", "old content\n");
            set_mode(inside.join("file"), bits);
            match session.change(&deed.changes("file")) {
                Ok(_) => assert_eq!(mode(inside.join("file")), left, "{deed:?} of {bits:o}"),
                // To refuse is as good.
                Err(error) => assert_eq!(portcullis_tests::code(&error), Code::Unkept),
            }
        }
    }
    if privileged() {
        // cap_net_raw, permitted and effective.
        let capability = [
            1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let file = inside.join("file");
        setxattr(
            &file,
            "security.capability",
            &capability,
            XattrFlags::empty(),
        )
        .unwrap();
        done(session, &Deed::Write.changes("file"));
        assert_eq!(attribute(&file, "security.capability"), None);
        // The control: written in place by root, what is in the file now may be anything; copied
        // with its attributes, as backup programs do, the new file has the capability.
        setxattr(
            &file,
            "security.capability",
            &capability,
            XattrFlags::empty(),
        )
        .unwrap();
        let value = attribute(&file, "security.capability").unwrap();
        std::fs::write(inside.join("copy"), "evil\n").unwrap();
        setxattr(
            inside.join("copy"),
            "security.capability",
            &value,
            XattrFlags::empty(),
        )
        .unwrap();
        assert!(attribute(&inside.join("copy"), "security.capability").is_some());
    }
    // The control: a server that carries the old bits over makes a set-user-id file of new content.
    std::fs::write(inside.join("naive"), "evil\n").unwrap();
    set_mode(inside.join("naive"), 0o4755);
    assert_eq!(mode(inside.join("naive")), 0o4755);
}

#[test]
fn row_110_set_id_and_sticky_bits_are_never_set() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    arena.write("file", "old content\n");
    arena.directory("d");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for bits in [0o1000, 0o2000, 0o4000, 0o4755, 0o7777, 0o10000, u16::MAX] {
        for path in ["file", "d"] {
            assert_eq!(
                code(session, change::chmod(at(path), bits)),
                Code::OutOfRange,
                "{bits:o}"
            );
        }
        let mut create = change::create(at("new"), "x");
        create.mode = Some(bits);
        assert_eq!(code(session, create), Code::OutOfRange, "{bits:o}");
        let mut write = change::write(at("file"), "x");
        write.mode = Some(bits);
        assert_eq!(code(session, write), Code::OutOfRange, "{bits:o}");
        let mut edit = change::replace(at("file"), "old", "new");
        edit.mode = Some(bits);
        assert_eq!(code(session, edit), Code::OutOfRange, "{bits:o}");
    }
    assert_eq!(census(&inside), before);
    // What a directory's owner set to be passed on stays; on a file such bits go.
    set_mode(inside.join("d"), 0o3755);
    done(session, &one(change::chmod(at("d"), 0o700)));
    assert_eq!(mode(inside.join("d")), 0o3700);
    set_mode(inside.join("file"), 0o6755);
    done(session, &one(change::chmod(at("file"), 0o711)));
    assert_eq!(mode(inside.join("file")), 0o711);
    // The control sets what it is told.
    set_mode(inside.join("file"), 0o4711);
    assert_eq!(mode(inside.join("file")), 0o4711);
    set_mode(inside.join("d"), 0o755);
}

/// Sets or clears a flag of ext4 and its like; whether that could be done.
fn flag(path: &Path, how: &str) -> bool {
    let output = Command::new("chattr").arg(how).arg(path).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn row_63_immutable_and_append_only_objects_stay_and_nothing_is_left() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    arena.write("immutable", "old content\n");
    arena.write("append", "old content\n");
    arena.write("closed/file", "old content\n");
    arena.write("spare", "old content\n");
    let flags = [("immutable", "+i"), ("append", "+a"), ("closed", "+i")];
    for (name, how) in flags {
        if !flag(&inside.join(name), how) {
            assert!(!privileged(), "chattr {how} {name} as root");
            println!("row 63 needs root: proven in the run as root");
            return;
        }
    }
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = likeness(&inside);
    let mut deeds: Vec<(Deed, &str)> = Vec::new();
    for name in ["immutable", "append"] {
        let each = [
            Deed::Write,
            Deed::Edit,
            Deed::MoveFrom,
            Deed::MoveOnto,
            Deed::Delete,
            Deed::Chmod,
        ];
        deeds.extend(each.map(|deed| (deed, name)));
    }
    for deed in [Deed::Create, Deed::Mkdir, Deed::MoveTo, Deed::Link] {
        deeds.push((deed, "closed/new"));
    }
    for deed in [
        Deed::Write,
        Deed::Edit,
        Deed::MoveFrom,
        Deed::MoveOnto,
        Deed::Delete,
    ] {
        deeds.push((deed, "closed/file"));
    }
    deeds.push((Deed::DeleteTree, "closed"));
    deeds.push((Deed::MoveFrom, "closed"));
    for (deed, name) in deeds {
        let error = match session.change(&deed.changes(name)) {
            Ok(changed) => panic!("{deed:?} {name}: {changed:?}"),
            Err(error) => error,
        };
        assert_eq!(
            error.changed(),
            portcullis_client::Changed::Unchanged,
            "{deed:?} {name}: {error}"
        );
        let code = portcullis_tests::code(&error);
        let codes = [Code::ReadOnly, Code::Permission];
        assert!(codes.contains(&code), "{deed:?} {name}: {error}");
        assert_eq!(likeness(&inside), before, "{deed:?} {name}");
    }
    for (name, how) in flags {
        assert!(flag(&inside.join(name), &how.replace('+', "-")));
    }
    no_temporaries(&inside);
}

#[test]
fn row_61_the_files_own_permissions_decide_and_a_denied_effect_leaves_nothing() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    arena.write("spare", "old content\n");
    arena.write("shut/file", "old content\n");
    arena.directory("shut/empty");
    set_mode(inside.join("shut"), 0o555);
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = likeness(&inside);
    for (deed, name) in [
        (Deed::Create, "shut/new"),
        (Deed::Write, "shut/file"),
        (Deed::Edit, "shut/file"),
        (Deed::Mkdir, "shut/new"),
        (Deed::MoveFrom, "shut/file"),
        (Deed::MoveTo, "shut/new"),
        (Deed::MoveOnto, "shut/file"),
        (Deed::Delete, "shut/file"),
        (Deed::DeleteDirectory, "shut/empty"),
        (Deed::Link, "shut/new"),
    ] {
        let error = match session.change(&deed.changes(name)) {
            Ok(changed) => panic!("{deed:?} {name}: {changed:?}"),
            Err(error) => error,
        };
        assert_eq!(
            error.changed(),
            portcullis_client::Changed::Unchanged,
            "{deed:?} {name}: {error}"
        );
        assert_eq!(
            portcullis_tests::code(&error),
            Code::Permission,
            "{deed:?} {name}: {error}"
        );
        assert_eq!(likeness(&inside), before, "{deed:?} {name}");
    }
    // What cannot be emptied is said not to be removed whole, and says what is left.
    let (gone, _) = {
        arena.write("tree/free", "x");
        arena.write("tree/shut/file", "x");
        set_mode(inside.join("tree/shut"), 0o555);
        let tree = Deed::DeleteTree.changes("tree");
        match session.change(&tree) {
            Ok(changed) => panic!("{changed:?}"),
            Err(error) => (
                error.receipt().is_some() || error.refusal().is_some(),
                error,
            ),
        }
    };
    assert!(gone);
    for path in ["shut", "tree/shut"] {
        if inside.join(path).exists() {
            set_mode(inside.join(path), 0o755);
        }
    }
    for entry in std::fs::read_dir(&inside).unwrap() {
        let path = entry.unwrap().path().join("shut");
        if path.is_dir() {
            set_mode(path, 0o755);
        }
    }
}

#[test]
fn a_mode_is_changed_of_one_name_only() {
    let mut arena = Arena::new(own!("own-gate"));
    let inside = arena.inside();
    arena.write("file", "old content\n");
    arena.directory("d");
    std::fs::hard_link(inside.join("file"), inside.join("d/alias")).unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for path in ["file", "d/alias"] {
        assert_eq!(
            code(session, change::chmod(at(path), 0o777)),
            Code::HardLinked
        );
    }
    assert_eq!(census(&inside), before);
    std::fs::remove_file(inside.join("d/alias")).unwrap();
    done(session, &one(change::chmod(at("file"), 0)));
    assert_eq!(mode(inside.join("file")), 0);
    done(session, &one(change::chmod(at("file"), 0o644)));
    assert_eq!(bytes(inside.join("file")), b"old content\n");
    // Taken back when a later change of the set cannot be made.
    set_mode(inside.join("d"), 0o555);
    let before = likeness(&inside);
    let set = one(change::chmod(at("file"), 0o600)).with(change::mkdir(at("d/x")));
    assert_eq!(failed(session, &set).0, Code::Permission);
    assert_eq!(likeness(&inside), before);
    set_mode(inside.join("d"), 0o755);
}
