//! Rows 73 to 77: files made.

use crate::deeds::Deed;
use crate::trial::{
    Unprotected, at, bytes, code, done, failed, mode, no_temporaries, one, refused, set_mode, stamp,
};
use portcullis_client::{Changes, Session, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Outcome, Parents};
use portcullis_tests::hostile::{Arena, census, not_forever};
use portcullis_tests::own;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("spare", "old content\n");
    arena.directory("d");
    arena
}

#[test]
fn row_73_a_file_is_made_where_nothing_is_and_nothing_is_replaced() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("taken/file", "theirs\n");
    arena.directory("taken/directory");
    arena.link("taken/link", "file");
    arena.link("taken/dangling", "missing");
    arena.link("taken/out", "../../outside/new");
    mknodat(
        CWD,
        inside.join("taken/fifo"),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(inside.join("taken/socket")).unwrap();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for name in [
        "file",
        "directory",
        "link",
        "dangling",
        "out",
        "fifo",
        "socket",
    ] {
        let path = format!("taken/{name}");
        for deed in [
            Deed::Create,
            Deed::CreateBelow,
            Deed::Mkdir,
            Deed::Link,
            Deed::MoveTo,
        ] {
            let refusal = refused(session, &deed.changes(&path));
            let codes = [Code::Exists, Code::IsADirectory, Code::NotRegular];
            assert!(codes.contains(&refusal.code), "{deed:?} {path}: {refusal}");
            if refusal.code == Code::Exists {
                let now = std::fs::symlink_metadata(inside.join(&path)).unwrap();
                let current = refusal.current.as_ref().map(|stamp| stamp.inode);
                assert_eq!(current, Some(now.ino()), "{deed:?} {path}: which object");
            }
            assert_eq!(census(&inside), before, "{deed:?} {path}");
        }
    }
    // The control truncates the file and makes what the dangling link names.
    let control = Unprotected::new();
    std::os::unix::fs::symlink("../outside/new", control.inside().join("dangling")).unwrap();
    Deed::Create.naive(&control.inside(), "x").unwrap();
    Deed::Create.naive(&control.inside(), "dangling").unwrap();
    assert_eq!(bytes(control.inside().join("x")), b"new content\n");
    assert!(control.outside().join("new").exists());
}

#[test]
fn row_74_of_two_clients_that_make_one_name_one_wins() {
    const CLIENTS: usize = 4;
    let rounds: usize = std::env::var("PORTCULLIS_RACE_ATTEMPTS")
        .ok()
        .and_then(|text| text.parse::<usize>().ok())
        .map_or(100, |attempts| (attempts / CLIENTS).clamp(10, 200));
    not_forever(move || {
        let mut arena = arena();
        let inside = arena.inside();
        let mut sessions: Vec<Session> = (0..CLIENTS).map(|_| arena.session().session).collect();
        let mut losers = [0_u32; 2];
        for round in 0..rounds {
            let name = format!("d/{round}");
            let ends: Vec<Option<Code>> = std::thread::scope(|scope| {
                let running: Vec<_> = sessions
                    .iter_mut()
                    .enumerate()
                    .map(|(n, session)| {
                        let create = change::create(at(&name), format!("of {n}\n"));
                        scope.spawn(move || match session.change(&one(create)) {
                            Ok(made) => {
                                assert_eq!(made.changed.outcome, Outcome::Done);
                                None
                            }
                            Err(error) => Some(portcullis_tests::code(&error)),
                        })
                    })
                    .collect();
                running.into_iter().map(|end| end.join().unwrap()).collect()
            });
            let winners: Vec<usize> = (0..CLIENTS).filter(|n| ends[*n].is_none()).collect();
            assert_eq!(winners.len(), 1, "{ends:?}");
            let content = bytes(inside.join(&name));
            assert_eq!(content, format!("of {}\n", winners[0]).as_bytes());
            for end in ends.into_iter().flatten() {
                match end {
                    Code::Exists => losers[0] += 1,
                    Code::Contended => losers[1] += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        println!(
            "{rounds} names, {CLIENTS} clients: {} found it taken, {} contended",
            losers[0], losers[1]
        );
        no_temporaries(&inside);
    });
}

#[test]
fn row_75_a_parent_that_is_missing_or_no_directory_is_said_so() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for deed in [
        Deed::Write,
        Deed::Create,
        Deed::Mkdir,
        Deed::MoveTo,
        Deed::Link,
    ] {
        let codes = ["none/x", "none/deep/x", "spare/x", "spare/deep/x"]
            .map(|path| refused(session, &deed.changes(path)).code);
        let (missing, file) = (Code::NotFound, Code::NotADirectory);
        assert_eq!(codes, [missing, missing, file, file], "{deed:?}");
    }
    for deed in [Deed::CreateBelow, Deed::MkdirBelow] {
        let refusal = refused(session, &deed.changes("spare/deep/x"));
        assert_eq!(refusal.code, Code::NotADirectory, "{deed:?}");
    }
    assert_eq!(census(&inside), before, "no directory was made on the way");
    // The control makes directories before it finds that the file cannot be made.
    let control = Unprotected::new();
    Deed::CreateBelow
        .naive(&control.inside(), "made/x/")
        .unwrap_err();
    assert!(control.inside().join("made").exists());
}

#[test]
fn row_77_modes_set_group_and_default_lists_of_the_directory_are_inherited() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let made = |name: &str| inside.join(name);
    done(session, &Deed::Create.changes("plain"));
    done(session, &Deed::Mkdir.changes("directory"));
    assert_eq!(
        (mode(made("plain")), mode(made("directory"))),
        (0o644, 0o755)
    );
    for bits in [0o600, 0o755, 0o400, 0o777, 0] {
        let mut create = change::create(at("exact"), "x");
        create.mode = Some(bits);
        done(session, &one(create));
        assert_eq!(mode(made("exact")), u32::from(bits));
        done(session, &Deed::Delete.changes("exact"));
    }
    // A directory with set-group-id passes its group on, to files made in it and below.
    set_mode(made("d"), 0o2755);
    done(session, &Deed::CreateBelow.changes("d/below/file"));
    done(session, &Deed::Create.changes("d/file"));
    let group = std::fs::metadata(made("d")).unwrap().gid();
    for name in ["d/file", "d/below", "d/below/file"] {
        assert_eq!(
            std::fs::metadata(made(name)).unwrap().gid(),
            group,
            "{name}"
        );
    }
    assert_eq!(mode(made("d/below")) & 0o2000, 0o2000);
    assert_eq!(mode(made("d/file")), 0o644);
    // A default access list is the new file's own: user 4242 may read what is made here.
    arena.directory("listed");
    crate::metadata::set_default_list(&made("listed"));
    done(session, &Deed::Create.changes("listed/file"));
    done(session, &Deed::Mkdir.changes("listed/directory"));
    for name in ["listed/file", "listed/directory"] {
        let list = crate::metadata::list_of(&made(name));
        assert!(list.is_some(), "{name} has no access list");
    }
    // The control: a file made in a directory of its own and moved here has none of it.
    let elsewhere = made("elsewhere");
    std::fs::write(&elsewhere, "x").unwrap();
    std::fs::rename(&elsewhere, made("listed/naive")).unwrap();
    assert!(crate::metadata::list_of(&made("listed/naive")).is_none());
}

#[test]
fn expectations_of_a_file_to_be_made_are_kept() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let old = stamp(session, "spare");
    let before = census(&inside);
    for expect in [
        Expect::Version(old),
        Expect::Content(crate::trial::digest("old content\n")),
    ] {
        let mut write = change::write(at("new"), "x");
        write.expect = expect;
        let refusal = refused(session, &one(write.clone()));
        assert_eq!((refusal.code, refusal.current), (Code::Conflict, None));
        write.selector = at("none/new");
        write.parents = Parents::Make;
        assert_eq!(code(session, write), Code::Conflict);
    }
    assert_eq!(census(&inside), before);
    // What fails after it was begun leaves no directory that was made on the way.
    set_mode(inside.join("d"), 0o555);
    let set = Changes::new()
        .with({
            let mut create = change::create(at("p/q/r"), "x");
            create.parents = Parents::Make;
            create
        })
        .with(change::mkdir(at("d/x")));
    let (code, _) = failed(session, &set);
    assert_eq!(code, Code::Permission);
    set_mode(inside.join("d"), 0o755);
    assert!(!inside.join("p").exists());
    no_temporaries(&inside);
}
