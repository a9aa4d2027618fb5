//! Rows 60, 102 to 106 and 60: objects removed.

use crate::deeds::Deed;
use crate::trial::{
    Unprotected, at, bytes, code, done, likeness, no_temporaries, one, refused, stamp,
};
use portcullis_client::{Session, change};
use portcullis_protocol::limits::TREE_DEPTH_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Expect, Outcome};
use portcullis_tests::hostile::{Arena, census, deep_tree, limit_descriptors, not_forever};
use portcullis_tests::own;

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("file", "old content\n");
    arena.write("d/e/inner", "old content\n");
    arena.directory("empty");
    arena
}

#[test]
fn row_103_only_the_verb_for_trees_removes_a_directory_that_is_not_empty() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    assert_eq!(
        refused(session, &Deed::DeleteDirectory.changes("d")).code,
        Code::NotEmpty
    );
    assert_eq!(
        refused(session, &Deed::DeleteDirectory.changes("d/e")).code,
        Code::NotEmpty
    );
    assert_eq!(
        refused(session, &Deed::DeleteDirectory.changes("file")).code,
        Code::NotADirectory
    );
    assert_eq!(
        refused(session, &Deed::DeleteTree.changes("file")).code,
        Code::NotADirectory
    );
    for name in ["d", "empty", "d/e"] {
        assert_eq!(
            refused(session, &Deed::Delete.changes(name)).code,
            Code::IsADirectory
        );
    }
    for deed in [Deed::Delete, Deed::DeleteDirectory, Deed::DeleteTree] {
        assert_eq!(
            refused(session, &deed.changes("missing")).code,
            Code::NotFound
        );
        assert_eq!(
            refused(session, &deed.changes("file/x")).code,
            Code::NotADirectory
        );
    }
    assert_eq!(census(&inside), before);
    done(session, &Deed::DeleteDirectory.changes("empty"));
    done(session, &Deed::DeleteTree.changes("d"));
    done(session, &Deed::Delete.changes("file"));
    assert_eq!(std::fs::read_dir(&inside).unwrap().count(), 0);
}

#[test]
fn row_102_a_newcomer_of_the_name_is_not_deleted_in_its_place() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let seen = stamp(session, "file");
    arena.write("newcomer", "theirs\n");
    std::fs::rename(inside.join("newcomer"), inside.join("file")).unwrap();
    let before = census(&inside);
    let mut delete = change::delete(at("file"));
    delete.expect = Expect::Version(seen);
    assert_eq!(code(session, delete), Code::Conflict);
    assert_eq!(census(&inside), before);
    // The control deletes the newcomer.
    std::fs::remove_file(inside.join("file")).unwrap();
}

#[test]
fn row_104_a_tree_that_goes_takes_nothing_outside_with_it() {
    let mut arena = arena();
    let inside = arena.inside();
    let outside = arena.outside().canonicalize().unwrap();
    for depth in ["d", "d/e"] {
        arena.link(format!("{depth}/out"), &outside);
        arena.link(format!("{depth}/up"), "../../outside/directory");
        arena.link(format!("{depth}/file"), outside.join("secret"));
        arena.link(format!("{depth}/self"), ".");
    }
    let mut opened = arena.session();
    done(&mut opened.session, &Deed::DeleteTree.changes("d"));
    assert!(!inside.join("d").exists());
    no_temporaries(&inside);
    // The control asks whether it is a directory, and follows.
    let control = Unprotected::new();
    std::os::unix::fs::symlink("../../outside/directory", control.inside().join("a/up")).unwrap();
    fn naive(path: &std::path::Path) {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                naive(&path);
            } else {
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
    naive(&control.inside().join("a"));
    assert!(!control.outside().join("directory/file").exists());
}

#[test]
fn row_60_a_deep_tree_is_removed_with_few_descriptors_or_refused_whole() {
    not_forever(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let depth = usize::try_from(TREE_DEPTH_MAX).unwrap() - 24;
        arena.directory("deep");
        arena.directory("deeper");
        drop(deep_tree(&inside.join("deep"), b"d", depth));
        drop(deep_tree(&inside.join("deeper"), b"d", 6000));
        let mut opened = arena.session();
        let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
        limit_descriptors(gate, 256);
        let session = &mut opened.session;
        for deed in [Deed::DeleteTree, Deed::MoveFrom] {
            let refusal = refused(session, &deed.changes("deeper"));
            assert_eq!(refusal.code, Code::OutOfBudget, "{deed:?}: {refusal}");
        }
        done(session, &Deed::MoveFrom.changes("deep"));
        done(
            session,
            &one({
                let mut tree = change::delete(at("free"));
                tree.what = Deletion::Tree;
                tree
            }),
        );
        assert!(!inside.join("free").exists() && inside.join("deeper/d/d/d").exists());
        no_temporaries(&inside.join("empty"));
        let leftovers = std::fs::read_dir(&inside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(leftovers.count(), 4, "d, deeper, empty, file");
        // A tree this deep is too much for the standard library's way to remove it, too: emptied
        // from its deepest end here.
        std::process::Command::new("rm")
            .arg("-rf")
            .arg(inside.join("deeper"))
            .status()
            .unwrap();
    });
}

#[test]
fn row_106_of_many_clients_that_delete_one_tree_each_is_told_the_truth() {
    const CLIENTS: usize = 8;
    not_forever(|| {
        let mut arena = arena();
        let inside = arena.inside();
        let mut sessions: Vec<Session> = (0..CLIENTS).map(|_| arena.session().session).collect();
        let before = likeness(&inside);
        let (mut won, mut late) = (0, 0);
        for _ in 0..10 {
            for n in 0..20 {
                arena.write(format!("tree/{n}/file"), "x");
            }
            let ends: Vec<Option<Code>> = std::thread::scope(|scope| {
                let running: Vec<_> = sessions
                    .iter_mut()
                    .map(|session| {
                        scope.spawn(|| match session.change(&Deed::DeleteTree.changes("tree")) {
                            Ok(made) => {
                                let changed = made.changed;
                                assert_eq!((changed.outcome, changed.left), (Outcome::Done, 0));
                                None
                            }
                            Err(error) if portcullis_tests::code(&error) == Code::NotFound => {
                                Some(Code::NotFound)
                            }
                            Err(error) => panic!("{error:?}"),
                        })
                    })
                    .collect();
                running.into_iter().map(|end| end.join().unwrap()).collect()
            });
            for end in &ends {
                match end {
                    None => won += 1,
                    Some(Code::NotFound) => late += 1,
                    Some(other) => panic!("{other:?}"),
                }
            }
            assert_eq!(
                ends.iter().filter(|end| end.is_none()).count(),
                1,
                "{ends:?}"
            );
            assert_eq!(likeness(&inside), before);
        }
        println!("{CLIENTS} clients, 10 trees: {won} removed one, {late} found none");
    });
}

#[test]
fn what_is_deleted_of_a_directory_is_that_name_alone() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("d/e/beside", "stays\n");
    arena.write("d/e/inner2", "stays\n");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let changed = done(session, &Deed::Delete.changes("d/e/inner"));
    assert_eq!(changed.touched.as_slice().len(), 1);
    assert_eq!(bytes(inside.join("d/e/beside")), b"stays\n");
    // A pattern is a name.
    for name in ["d/e/*", "d/e/inner?", "d/*/beside", "{d,e}"] {
        assert_eq!(
            refused(session, &Deed::Delete.changes(name)).code,
            Code::NotFound
        );
    }
    assert_eq!(bytes(inside.join("d/e/inner2")), b"stays\n");
}
