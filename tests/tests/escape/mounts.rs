//! Rows 40 to 45: other file systems below the root. Each needs root, and runs in a mount
//! namespace of its own.

use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Completeness;
use portcullis_tests::hostile::{All, Arena, as_root_with_own_mounts, every, mounting_is_refused};
use portcullis_tests::own;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use std::path::Path;

fn tmpfs(at: &Path) {
    mount(
        "tmpfs",
        at,
        "tmpfs",
        MountFlags::empty(),
        None::<&std::ffi::CStr>,
    )
    .unwrap();
}

fn detach(at: &Path) {
    unmount(at, UnmountFlags::DETACH).unwrap();
}

/// Every walk is whole and has passed over `mounts` mounts.
#[track_caller]
fn passed_over(all: &All, mounts: [u64; 3]) {
    let ends = [
        &all.list.as_ref().unwrap().1,
        &all.glob.as_ref().unwrap().1,
        &all.search.as_ref().unwrap().1,
    ];
    assert_eq!(
        ends.map(|done| done.statistics.mounts),
        mounts,
        "list, glob, search"
    );
    assert!(
        ends.iter()
            .all(|done| done.completeness == Completeness::Complete)
    );
}

#[test]
fn row_40_a_tmpfs_mounted_after_sealing_is_never_entered() {
    let test = "mounts::row_40_a_tmpfs_mounted_after_sealing_is_never_entered";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("child/file", "old\n");
        arena.write("deep/child/file", "old\n");
        arena.write("beside", "beside\n");
        arena.link("in", "child/file");
        let mut opened = arena.session();
        let session = &mut opened.session;
        every(session, "child/file").is_file("child/file", "old\n");
        let places = ["child", "deep/child"].map(|place| arena.inside().join(place));
        for place in &places {
            tmpfs(place);
            std::fs::write(place.join("file"), "outside secret\n").unwrap();
        }
        for path in [
            "child",
            "child/file",
            "child/missing",
            "child/.",
            "deep/child/file",
            "in",
        ] {
            every(session, path).refused(Code::MountCrossing);
        }
        every(session, "child/../beside").refused(Code::MountCrossing);
        let whole = every(session, ".");
        assert_eq!(
            whole.listed(),
            [&b"beside"[..], b"child", b"deep", b"deep/child", b"in"]
        );
        assert_eq!(whole.found(), [b"beside"]);
        passed_over(&whole, [2, 2, 2]);
        for place in &places {
            detach(place);
        }
        every(session, "in").is_file("child/file", "old\n");
    });
}

#[test]
fn row_41_a_bind_mount_made_before_sealing_is_never_entered() {
    let test = "mounts::row_41_a_bind_mount_made_before_sealing_is_never_entered";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = Arena::new(own!("own-gate"));
        arena.directory("etc");
        arena.directory("same");
        arena.write("file", "covered\n");
        arena.write("tree/x", "inside\n");
        let inside = arena.inside();
        mount_bind("/etc", inside.join("etc")).unwrap();
        // A bind mount of the same file system, of the root's own directory, and of one file.
        mount_bind(inside.join("tree"), inside.join("same")).unwrap();
        mount_bind("/etc/passwd", inside.join("file")).unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        for path in ["etc", "etc/passwd", "etc/missing", "same", "same/x", "file"] {
            every(session, path).refused_even_as_link(Code::MountCrossing);
        }
        every(session, "tree/x").is_file("tree/x", "inside\n");
        let whole = every(session, ".");
        assert_eq!(
            whole.listed(),
            [&b"etc"[..], b"file", b"same", b"tree", b"tree/x"]
        );
        assert_eq!(whole.found(), [b"tree/x"]);
        // A file that is mounted over is met by all fields and by a search, not by names alone.
        passed_over(&whole, [3, 3, 3]);
        for place in ["etc", "same", "file"] {
            detach(&inside.join(place));
        }
    });
}

#[test]
fn row_42_mounts_that_come_and_go_change_nothing_but_the_answer() {
    let test = "mounts::row_42_mounts_that_come_and_go_change_nothing_but_the_answer";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("child/file", "old\n");
        let place = arena.inside().join("child");
        let mut opened = arena.session();
        for _ in 0..20 {
            every(&mut opened.session, "child/file").is_file("child/file", "old\n");
            tmpfs(&place);
            std::fs::write(place.join("file"), "outside secret\n").unwrap();
            every(&mut opened.session, "child/file").refused(Code::MountCrossing);
            detach(&place);
        }
    });
}

#[test]
fn row_43_a_subvolume_below_the_root_is_another_file_system() {
    let test = "mounts::row_43_a_subvolume_below_the_root_is_another_file_system";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let made = tempfile::tempdir().unwrap();
        let image = made.path().join("image");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(128 << 20).unwrap();
        let mkfs = std::process::Command::new("mkfs.btrfs")
            .arg("-q")
            .arg(&image)
            .status();
        if mkfs.is_err() {
            let ci = std::env::var_os("CI").is_some();
            assert!(
                !ci,
                "row 43 must be proven in CI, and there is no mkfs.btrfs"
            );
            println!("row 43 is NOT proven here: there is no mkfs.btrfs");
            return;
        }
        let at = made.path().join("mounted");
        std::fs::create_dir(&at).unwrap();
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            assert!(
                std::process::Command::new(program)
                    .args(args)
                    .status()
                    .unwrap()
                    .success()
            );
        };
        run(
            "mount",
            &["-o".as_ref(), "loop".as_ref(), image.as_ref(), at.as_ref()],
        );
        let root = at.join("root");
        std::fs::create_dir(&root).unwrap();
        let sub = root.join("sub");
        run(
            "btrfs",
            &["subvolume".as_ref(), "create".as_ref(), sub.as_ref()],
        );
        std::fs::write(sub.join("file"), "outside secret\n").unwrap();
        std::fs::write(root.join("plain"), "inside\n").unwrap();
        let mut arena = Arena::new(own!("own-gate"));
        let id = arena.seal(&root, "btrfs");
        let order = portcullis_client::MintOrder::new("tester")
            .root(id, None)
            .grant(
                id,
                portcullis_protocol::path::RelPath::root(),
                portcullis_protocol::verb::VerbSet::READING,
            );
        let (_, mut session) = arena.control.mint(&order).unwrap();
        every(&mut session, "plain").is_file("plain", "inside\n");
        for path in ["sub", "sub/file", "sub/missing", "sub/file/x"] {
            every(&mut session, path).refused(Code::MountCrossing);
        }
        let whole = every(&mut session, ".");
        assert_eq!(whole.found(), [b"plain"]);
        assert_eq!(whole.listed(), [&b"plain"[..], b"sub"]);
        drop((session, arena));
        detach(&at);
    });
}

#[test]
fn row_45_walks_pass_over_a_mount_that_appears_between_pages() {
    let test = "mounts::row_45_walks_pass_over_a_mount_that_appears_between_pages";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        use portcullis_client::ask;
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("a", "a\n");
        arena.write("child/file", "old\n");
        arena.write("z", "z\n");
        let place = arena.inside().join("child");
        let mut opened = arena.session();
        let session = &mut opened.session;
        let mut list = ask::list(ask::selector(".").unwrap());
        (list.depth, list.limit) = (9, 2);
        let mut stream = session.list(&list).unwrap();
        let first: Vec<_> = stream
            .by_ref()
            .map(|e| e.unwrap().path.as_bytes().to_vec())
            .collect();
        assert_eq!(first, [&b"a"[..], b"child"]);
        let Completeness::Cut { cursor, .. } = stream.finish().unwrap().completeness else {
            panic!("the page is not cut");
        };
        tmpfs(&place);
        std::fs::write(place.join("new"), "outside secret\n").unwrap();
        list.cursor = cursor;
        let mut stream = session.list(&list).unwrap();
        let rest: Vec<_> = stream
            .by_ref()
            .map(|e| e.unwrap().path.as_bytes().to_vec())
            .collect();
        assert_eq!(rest, [b"z"]);
        assert_eq!(stream.finish().unwrap().statistics.mounts, 1);
        detach(&place);
    });
}
