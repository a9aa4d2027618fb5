//! Rows 9, 10, 94 and 115 to 120, for what changes files: what runs out, and who holds on.

use crate::deeds::Deed;
use crate::trial::{at, bytes, done, likeness, no_temporaries, one, refused};
use portcullis_client::{Changes, change};
use portcullis_protocol::limits::PATH_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_tests::hostile::{
    Arena, as_root_with_own_mounts, census, limit_descriptors, mounting_is_refused, not_forever,
    within_bounds,
};
use portcullis_tests::own;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::io::Read as _;
use std::process::{Command, Stdio};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.write("spare", "old content\n");
    arena.write("d/inner", "old content\n");
    arena.directory("empty");
    arena
}

fn gate(arena: &mut Arena) -> u32 {
    arena.control.status().unwrap().sessions.as_slice()[0].gate
}

/// One request of every kind that could be done.
fn possible() -> Vec<(Deed, &'static str)> {
    vec![
        (Deed::Write, "file"),
        (Deed::Create, "new"),
        (Deed::CreateBelow, "p/q/new"),
        (Deed::Edit, "file"),
        (Deed::Mkdir, "new"),
        (Deed::MkdirBelow, "p/q"),
        (Deed::MoveFrom, "file"),
        (Deed::MoveFrom, "d"),
        (Deed::MoveTo, "new"),
        (Deed::MoveOnto, "file"),
        (Deed::Delete, "file"),
        (Deed::DeleteDirectory, "empty"),
        (Deed::DeleteTree, "d"),
        (Deed::Chmod, "file"),
        (Deed::Link, "new"),
    ]
}

#[test]
fn row_10_paths_of_4095_bytes_are_changed_and_longer_ones_refused() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let level = "n".repeat(200);
    let directories = [level.as_str(); 20].join("/");
    done(session, &Deed::MkdirBelow.changes(&directories));
    let room = PATH_BYTES_MAX - directories.len() - 1;
    let fits = format!("{directories}/{}", "f".repeat(room));
    let over = format!("{directories}/{}", "f".repeat(room + 1));
    assert_eq!(fits.len(), PATH_BYTES_MAX);
    done(session, &one(change::create(at(&fits), "old content\n")));
    done(session, &Deed::Edit.changes(&fits));
    done(session, &Deed::Chmod.changes(&fits));
    let before = census(&inside.join("d"));
    for deed in Deed::ALL {
        assert_eq!(
            refused(session, &deed.changes(&over)).code,
            Code::NameTooLong,
            "{deed:?}"
        );
    }
    assert_eq!(census(&inside.join("d")), before);
    // A move that would make what is below it too long leaves it where it is.
    let from = level.clone();
    let refusal = refused(
        session,
        &one(change::rename(at(&from), at("m".repeat(250)))),
    );
    assert_eq!(refusal.code, Code::OutOfBudget, "{refusal}");
    done(session, &Deed::Delete.changes(&fits));
    done(session, &Deed::DeleteTree.changes(&from));
    assert!(!inside.join(&from).exists());
}

#[test]
fn row_94_a_full_disk_leaves_the_old_content_and_no_residue() {
    let test = "limits::row_94_a_full_disk_leaves_the_old_content_and_no_residue";
    as_root_with_own_mounts(test, mounting_is_refused, || {
        let mut arena = Arena::new(own!("own-gate"));
        let inside = arena.inside();
        let options = c"size=256k,nr_inodes=40,mode=755";
        mount(
            "tmpfs",
            &inside,
            "tmpfs",
            MountFlags::empty(),
            Some(options),
        )
        .unwrap();
        arena.write("file", "old content\n");
        arena.write("d/inner", "old content\n");
        let mut opened = arena.session();
        let session = &mut opened.session;
        let before = likeness(&inside);
        let large = vec![7; 400_000];
        for changes in [
            one(change::write(at("file"), large.clone())),
            one(change::create(at("new"), large.clone())),
            one(change::create(at("new"), "small\n"))
                .with(change::write(at("file"), large.clone())),
            one(change::write(at("d/inner"), "small\n"))
                .with(change::create(at("new"), large.clone())),
            {
                let mut below = change::create(at("p/q/new"), vec![7; 60_000]);
                below.parents = portcullis_protocol::session::Parents::Make;
                let filler = change::create(at("filler"), vec![7; 200_000]);
                one(filler).with(below)
            },
        ] {
            let error = match session.change(&changes) {
                Ok(changed) => panic!("{changed:?}"),
                Err(error) => error,
            };
            assert_eq!(
                error.changed(),
                portcullis_client::Changed::Unchanged,
                "{error}"
            );
            assert_eq!(portcullis_tests::code(&error), Code::DiskFull, "{error}");
            assert_eq!(likeness(&inside), before);
            no_temporaries(&inside);
        }
        // No inode is left either: what needs none still works.
        let mut fillers = Vec::new();
        while let Ok(file) = std::fs::File::create(inside.join(format!("i{}", fillers.len()))) {
            fillers.push(file);
        }
        let before = likeness(&inside);
        for deed in [Deed::Write, Deed::Edit] {
            let refusal = refused(session, &deed.changes("file"));
            assert_eq!(refusal.code, Code::DiskFull, "{deed:?}");
        }
        for deed in [Deed::Mkdir, Deed::Link, Deed::Create] {
            let error = session.change(&deed.changes("new")).unwrap_err();
            assert_eq!(
                portcullis_tests::code(&error),
                Code::DiskFull,
                "{deed:?}: {error}"
            );
        }
        assert_eq!(likeness(&inside), before);
        done(session, &Deed::Delete.changes("file"));
        done(session, &Deed::Create.changes("file"));
        // The control truncates first, and has nothing to put there.
        assert!(std::fs::write(inside.join("d/inner"), &large).is_err());
        assert_ne!(bytes(inside.join("d/inner")), b"old content\n");
        drop((opened, fillers));
        unmount(&inside, UnmountFlags::DETACH).unwrap();
    });
}

#[test]
fn row_94_a_limit_on_the_size_of_files_is_said_and_ends_no_gate() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let gate = gate(&mut arena);
    let limit = Rlimit {
        current: Some(8192),
        maximum: Some(1 << 30),
    };
    prlimit(
        Pid::from_raw(i32::try_from(gate).unwrap()),
        Resource::Fsize,
        limit,
    )
    .unwrap();
    let session = &mut opened.session;
    let before = census(&inside);
    for changes in [
        one(change::write(at("file"), vec![7; 20_000])),
        one(change::create(at("new"), vec![7; 200_000])),
        one(change::write(at("spare"), "x")).with(change::create(at("new"), vec![7; 8193])),
    ] {
        let refusal = refused(session, &changes);
        assert!(
            matches!(refusal.code, Code::OutOfBudget | Code::DiskFull),
            "{refusal}"
        );
        assert_eq!(census(&inside), before);
    }
    done(session, &one(change::write(at("file"), vec![7; 8192])));
    // The control: an ordinary program is ended by a signal there.
    let script = "import os,resource\nresource.setrlimit(resource.RLIMIT_FSIZE,(8192,8192))\nf=os.open(os.sys.argv[1],os.O_WRONLY|os.O_TRUNC)\nimport signal\nsignal.signal(signal.SIGXFSZ,signal.SIG_DFL)\nos.write(f,b'x'*8192)\nos.write(f,b'x')";
    let status = Command::new("python3")
        .args(["-c", script])
        .arg(inside.join("spare"))
        .status()
        .unwrap();
    assert!(!status.success());
    assert_eq!(
        bytes(inside.join("spare")).len(),
        8192,
        "half of it is there"
    );
}

#[test]
fn row_115_hundreds_of_changes_leave_no_descriptor_open() {
    not_forever(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let mut opened = arena.session();
        let gate = gate(&mut arena);
        limit_descriptors(gate, 40);
        let session = &mut opened.session;
        for n in 0..100 {
            done(
                session,
                &one(change::write(at("file"), format!("old {n}\n"))),
            );
            done(session, &one(change::replace(at("file"), "old", "new")));
            done(session, &one(change::mkdir(at("m"))));
            done(session, &one(change::rename(at("m"), at("empty/m"))));
            let mut delete = change::delete(at("empty/m"));
            delete.what = portcullis_protocol::session::Deletion::Tree;
            done(session, &one(delete));
            session.plan(&Deed::Write.changes("file")).unwrap();
            refused(session, &Deed::Create.changes("file"));
            refused(session, &Deed::Write.changes("../outside/secret"));
            session
                .upload(&at("u"), &mut &b"x"[..])
                .map(|(id, _)| session.drop_upload(id))
                .unwrap()
                .unwrap();
        }
        no_temporaries(&inside);
    });
}

#[test]
fn row_116_without_free_descriptors_every_verb_changes_nothing_and_the_next_one_works() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let gate = gate(&mut arena);
    let session = &mut opened.session;
    done(session, &Deed::Create.changes("warm"));
    done(session, &Deed::Delete.changes("warm"));
    let before = likeness(&inside);
    let mut held = [0_u32; 4];
    // As many as it has open, and a few more, so that each open of an effect is the one that fails.
    for most in 1..20 {
        for (deed, name) in possible() {
            let usual = limit_descriptors(gate, most);
            let ended = session.change(&deed.changes(name));
            limit_descriptors(gate, usual);
            match ended {
                // There were enough for this one: made good again.
                Ok(_) => {
                    held[0] += 1;
                    restore(&arena);
                }
                // It is gone from its name, and what could not be removed of it is said.
                Err(error) if error.changed() == portcullis_client::Changed::Unknown => {
                    assert_eq!(deed, Deed::DeleteTree, "{most}: {error}");
                    assert!(
                        error.receipt().is_some_and(|receipt| receipt.left > 0),
                        "{error:?}"
                    );
                    held[3] += 1;
                    restore(&arena);
                }
                Err(error) => {
                    assert_eq!(
                        error.changed(),
                        portcullis_client::Changed::Unchanged,
                        "{deed:?} {most}: {error}"
                    );
                    assert_eq!(
                        portcullis_tests::code(&error),
                        Code::Exhausted,
                        "{deed:?} {most}: {error}"
                    );
                    assert_eq!(
                        likeness(&inside),
                        before_like(&before, &inside),
                        "{deed:?} {most}"
                    );
                    held[usize::from(error.receipt().is_some()) + 1] += 1;
                }
            }
            no_temporaries(&inside);
        }
    }
    let [ended, kept, undone, left] = held;
    println!(
        "few descriptors: {ended} done, {kept} refused, {undone} taken back, {left} trees not emptied"
    );
    assert!(held[0] > 0 && held[1] > 0, "{held:?}");
    for (deed, name) in possible() {
        done(session, &deed.changes(name));
        restore(&arena);
    }
}

/// The tree as [`arena`] makes it, with new objects.
fn restore(arena: &Arena) {
    for entry in std::fs::read_dir(arena.inside()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
    }
    for name in ["file", "spare", "d/inner"] {
        arena.write(name, "old content\n");
    }
    arena.directory("empty");
}

/// What the tree was before the attempt: its names and contents, whatever its objects are by now.
fn before_like(before: &[String], inside: &std::path::Path) -> Vec<String> {
    let now = likeness(inside);
    let names = |lines: &[String]| -> Vec<String> {
        lines
            .iter()
            .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names(before), names(&now));
    for name in ["file", "spare", "d/inner"] {
        assert_eq!(bytes(inside.join(name)), b"old content\n");
    }
    now
}

#[test]
fn row_118_a_lease_held_by_another_process_makes_a_change_wait_bounded() {
    within_bounds(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let script = "import fcntl,os,signal,sys\n\
            signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
            f=os.open(sys.argv[1], os.O_RDWR)\n\
            fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
            print('held', flush=True)\n\
            sys.stdin.read()\n";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(inside.join("file"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut said)
            .unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        let before = likeness_without_reading(&inside);
        for deed in [
            Deed::Write,
            Deed::Edit,
            Deed::Delete,
            Deed::MoveFrom,
            Deed::MoveOnto,
        ] {
            let error = session.change(&deed.changes("file")).unwrap_err();
            assert_eq!(
                error.changed(),
                portcullis_client::Changed::Unchanged,
                "{deed:?}: {error}"
            );
            let code = portcullis_tests::code(&error);
            assert!(
                matches!(code, Code::Contended | Code::Busy),
                "{deed:?}: {error}"
            );
        }
        assert_eq!(likeness_without_reading(&inside), before);
        done(session, &Deed::Write.changes("spare"));
        drop(child.stdin.take());
        child.wait().unwrap();
        done(session, &Deed::Write.changes("file"));
    });
}

fn likeness_without_reading(tree: &std::path::Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(tree)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

#[test]
fn row_120_a_storm_of_signals_has_no_effect() {
    not_forever(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let mut opened = arena.session();
        let gate = Pid::from_raw(i32::try_from(gate(&mut arena)).unwrap()).unwrap();
        let session = &mut opened.session;
        let stop = std::sync::atomic::AtomicBool::new(false);
        let sent = std::thread::scope(|scope| {
            let storm = scope.spawn(|| {
                let mut sent = 0_u64;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    for signal in [Signal::IO, Signal::WINCH, Signal::CONT, Signal::URG] {
                        kill_process(gate, signal).unwrap();
                        sent += 1;
                    }
                    std::thread::yield_now();
                }
                sent
            });
            for n in 0..100 {
                let content = format!("old {n}\n");
                done(session, &one(change::write(at("file"), content.as_str())));
                assert_eq!(bytes(inside.join("file")), content.as_bytes());
                done(
                    session,
                    &Changes::new()
                        .with(change::create(at("new"), vec![7; 100_000]))
                        .with(change::rename(at("spare"), at("empty/spare"))),
                );
                done(
                    session,
                    &Changes::new()
                        .with(change::delete(at("new")))
                        .with(change::rename(at("empty/spare"), at("spare"))),
                );
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            storm.join().unwrap()
        });
        println!("row 120: {sent} signals beside 300 changes");
        no_temporaries(&inside);
    });
}
