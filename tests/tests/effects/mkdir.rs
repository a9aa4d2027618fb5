//! Rows 23, 107 and 108: directories made.

use crate::deeds::Deed;
use crate::trial::{Unprotected, at, done, mode, one, refused};
use portcullis_client::{Session, change};
use portcullis_protocol::limits::PARENTS_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Outcome, Parents};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{Arena, census, not_forever};
use portcullis_tests::{anywhere, own};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.write("spare", "old content\n");
    arena.directory("d");
    arena
}

#[test]
fn row_107_many_clients_that_make_one_path_all_succeed() {
    const CLIENTS: usize = 16;
    not_forever(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let mut sessions: Vec<Session> = (0..CLIENTS).map(|_| arena.session().session).collect();
        for round in 0..10 {
            let path = format!("d/{round}/a/b/c");
            let made: usize = std::thread::scope(|scope| {
                let running: Vec<_> = sessions
                    .iter_mut()
                    .map(|session| {
                        scope.spawn(|| {
                            let made = session.change(&Deed::MkdirBelow.changes(&path)).unwrap();
                            let changed = made.changed;
                            assert_eq!(changed.outcome, Outcome::Done);
                            let touched = changed.touched.as_slice().iter();
                            touched
                                .filter(|touched| touched.before != touched.after)
                                .count()
                        })
                    })
                    .collect();
                running.into_iter().map(|end| end.join().unwrap()).sum()
            });
            assert!(inside.join(&path).is_dir());
            assert_eq!(made, 4, "each directory is in one receipt as made");
        }
    });
}

#[test]
fn row_108_no_directory_is_made_through_what_is_none() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("dangling", "missing");
    arena.link("loop", "loop");
    arena.link("out", "../outside");
    arena.link("to-file", "file");
    arena.link("in", "d");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for (path, codes) in [
        ("file/x/y", &[Code::NotADirectory][..]),
        ("to-file/x", &[Code::NotADirectory]),
        ("loop/x", &[Code::LinkLoop]),
        ("out/x/y", &[Code::Escape]),
        ("dangling/x", &[Code::NotFound]),
        ("file", &[Code::Exists]),
        ("dangling", &[Code::Exists]),
        ("loop", &[Code::Exists]),
        ("out", &[Code::Exists]),
        ("d/../../x", &[Code::Escape]),
        ("none/../x", &[Code::NotFound]),
    ] {
        for deed in [Deed::MkdirBelow, Deed::CreateBelow] {
            let refusal = refused(session, &deed.changes(path));
            assert!(codes.contains(&refusal.code), "{deed:?} {path}: {refusal}");
            assert_eq!(census(&inside), before, "{deed:?} {path}");
        }
    }
    // Through a link that stays inside it goes on, and what exists is as it was.
    done(session, &Deed::MkdirBelow.changes("in/x/y"));
    assert!(inside.join("d/x/y").is_dir());
    done(session, &Deed::MkdirBelow.changes("d/x/y"));
    done(session, &Deed::MkdirBelow.changes("d"));
    assert_eq!(
        refused(session, &Deed::Mkdir.changes("d")).code,
        Code::Exists
    );
    // The control makes them outside.
    let control = Unprotected::new();
    std::os::unix::fs::symlink("../outside", control.inside().join("out")).unwrap();
    Deed::MkdirBelow
        .naive(&control.inside(), "out/x/y")
        .unwrap();
    assert!(control.outside().join("x/y").is_dir());
}

#[test]
fn directories_on_the_way_need_their_own_grant_and_no_rule_against_them() {
    let mut arena = arena();
    let inside = arena.inside();
    let before = census(&inside);
    let mut opened = arena.session_with(|order, _| {
        let mkdir = VerbSet::of(&[Verb::Mkdir]);
        order.deny("no-new", "r", mkdir, anywhere("new"))
    });
    let session = &mut opened.session;
    for deed in [Deed::CreateBelow, Deed::MkdirBelow] {
        for path in ["new/x", "d/new/x", "d/new/deep/x"] {
            let refusal = refused(session, &deed.changes(path));
            let codes = [Code::Denied, Code::NotGranted];
            assert!(codes.contains(&refusal.code), "{deed:?} {path}: {refusal}");
            assert_eq!(census(&inside), before, "{deed:?} {path}");
        }
    }
    let mut rename = change::rename(at("spare"), at("new/spare"));
    rename.parents = Parents::Make;
    refused(session, &one(rename));
    assert_eq!(census(&inside), before);
    // Write alone makes no directory.
    let root = arena.seal(&inside, "w");
    let order = portcullis_client::MintOrder::new("t")
        .root(root, None)
        .grant(
            root,
            portcullis_protocol::path::RelPath::root(),
            VerbSet::of(&[Verb::Stat, Verb::Read, Verb::Write]),
        );
    let (_, mut session) = arena.control.mint(&order).unwrap();
    let refusal = refused(&mut session, &Deed::CreateBelow.changes("p/q"));
    assert_eq!(
        (refusal.code, refusal.verb),
        (Code::NotGranted, Some(Verb::Mkdir))
    );
    assert_eq!(census(&inside), before);
    done(&mut session, &Deed::Create.changes("q"));
}

#[test]
fn a_change_makes_at_most_so_many_directories_on_the_way() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let path = |levels: usize| format!("{}x", "n/".repeat(levels));
    for deed in [Deed::CreateBelow, Deed::MkdirBelow] {
        let refusal = refused(session, &deed.changes(path(PARENTS_MAX + 1)));
        let codes = [Code::OutOfBudget, Code::NotFound];
        assert!(codes.contains(&refusal.code), "{deed:?}: {refusal}");
        assert_eq!(census(&inside), before, "{deed:?}");
    }
    done(session, &Deed::MkdirBelow.changes(path(PARENTS_MAX - 1)));
    assert!(inside.join(path(PARENTS_MAX - 1)).is_dir());
    assert_eq!(mode(inside.join("n/n/n")), 0o755);
    // One set makes a directory once, whoever of it needs it.
    let mut set = portcullis_client::Changes::new();
    for name in ["s/t/one", "s/t/two", "s/u/three"] {
        let mut create = change::create(at(name), "x");
        create.parents = Parents::Make;
        set.push(create);
    }
    let changed = done(session, &set);
    assert_eq!(changed.touched.as_slice().len(), 6, "{changed:?}");
}
