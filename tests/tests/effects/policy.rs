//! Rows 64 to 68 and 70: grants and denials, for what changes files.

use crate::deeds::Deed;
use crate::denied::by_rule;
use crate::trial::{Unprotected, at, bytes, done, likeness, one, refused};
use portcullis_client::{Changes, MintOrder, Session, change};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Expect, Onto};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::{anywhere, own};

fn arena() -> Arena {
    let arena = Arena::new(own!("own-gate"));
    arena.write("spare", "old content\n");
    arena.write("file", "old content\n");
    arena.write("d/inner", "old content\n");
    arena
}

#[test]
fn a_move_is_judged_where_it_was_where_it_comes_to_be_and_all_below() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("x/hooks/pre-commit", "old content\n");
    arena.write("x/heads/main", "old content\n");
    arena.directory("refs");
    arena.write("a/heads/main", "old content\n");
    let before = census(&inside);
    let mut opened = arena.session_with(|order, root| {
        order
            .deny(
                "no-source",
                "r",
                VerbSet::of(&[Verb::Move]),
                anywhere("no-source"),
            )
            .deny(
                "no-delete",
                "r",
                VerbSet::of(&[Verb::Delete]),
                anywhere("spare"),
            )
            .deny(
                "below-b",
                "r",
                VerbSet::of(&[Verb::Move]),
                portcullis_client::Pattern::below(root, "b/heads/main"),
            )
    });
    let session = &mut opened.session;
    let moved = |from: &str, to: &str| one(change::rename(at(from), at(to)));
    // A directory made ordinary elsewhere becomes `.git`.
    for (from, to, rule) in [
        ("x", ".git", "builtin:git"),
        ("x", "d/.GIT", "builtin:git"),
        ("x/hooks", "d/.git", "builtin:git"),
        ("spare", ".bashrc", "builtin:shells"),
        ("d", "d2/.claude", "builtin:agents"),
        // What is below it would come to be denied.
        ("x", "refs", "builtin:git-bare"),
        ("a", "b", "below-b"),
    ] {
        if to == "refs" {
            continue;
        }
        let refusal = refused(session, &moved(from, to));
        if to.starts_with("d2/") {
            assert!(
                matches!(refusal.code, Code::NotFound | Code::Denied),
                "{refusal}"
            );
        } else {
            by_rule(&refusal, rule, &format!("{from} to {to}"));
        }
    }
    assert_eq!(census(&inside), before);
    // `heads` becomes `refs/heads`.
    by_rule(
        &refused(session, &moved("x/heads", "refs/heads")),
        "builtin:git-bare",
        "refs",
    );
    std::fs::remove_dir(inside.join("refs")).unwrap();
    by_rule(
        &refused(session, &moved("x", "refs")),
        "builtin:git-bare",
        "x to refs",
    );
    // A denial of deletion is none of moving.
    done(session, &moved("spare", "elsewhere"));
    // The control asks about the two names only.
    let control = Unprotected::new();
    std::fs::create_dir_all(control.inside().join("y/heads")).unwrap();
    std::fs::rename(control.inside().join("y"), control.inside().join("refs")).unwrap();
    assert!(control.inside().join("refs/heads").is_dir());
}

#[test]
fn a_denial_of_one_verb_is_of_that_verb_and_a_hidden_name_is_absent_to_all() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("ghost/file", "old content\n");
    for denied in VerbSet::WRITING.iter() {
        let mut opened = arena.session_with(|order, _| {
            order
                .deny("one", "r", VerbSet::of(&[denied]), anywhere("target"))
                .hide("h", "r", anywhere("ghost"))
        });
        let session = &mut opened.session;
        for deed in Deed::ALL {
            let verb = deed
                .changes("target")
                .items()
                .iter()
                .map(verb_of)
                .next()
                .unwrap();
            let before = likeness(&inside);
            // So that each deed finds what it needs.
            let needs_file = matches!(
                deed,
                Deed::Edit | Deed::MoveFrom | Deed::Delete | Deed::Chmod
            );
            let needs_directory = matches!(deed, Deed::DeleteDirectory | Deed::DeleteTree);
            if needs_file {
                arena.write("target", "old content\n");
            } else if needs_directory {
                arena.directory("target");
            }
            if verb == denied {
                by_rule(
                    &refused(session, &deed.changes("target")),
                    "one",
                    &format!("{deed:?}"),
                );
            } else {
                done(session, &deed.changes("target"));
            }
            for left in ["target", "free"] {
                let left = inside.join(left);
                std::fs::remove_file(&left)
                    .or_else(|_| std::fs::remove_dir_all(&left))
                    .ok();
            }
            if matches!(deed, Deed::MoveTo | Deed::MoveOnto) && verb != denied {
                arena.write("spare", "old content\n");
                continue;
            }
            assert_eq!(likeness(&inside), before, "{deed:?} without {denied}");
        }
        let before = census(&inside);
        for deed in Deed::ALL {
            for name in ["ghost", "ghost/file", "ghost/new", "GHOST", "d/ghost"] {
                let refusal = refused(session, &deed.changes(name));
                assert_eq!(
                    (refusal.code, refusal.rule, refusal.current),
                    (Code::NotFound, None, None),
                    "{deed:?} {name}"
                );
            }
        }
        assert_eq!(census(&inside), before);
        arena.control.end(opened.id).unwrap();
    }
}

fn verb_of(item: &change::Item) -> Verb {
    use portcullis_client::change::Item;
    use portcullis_protocol::session::Deletion;
    match item {
        Item::Write(_) => Verb::Write,
        Item::Edit(_) => Verb::Edit,
        Item::Mkdir(_) => Verb::Mkdir,
        Item::Move(_) => Verb::Move,
        Item::Delete(delete) => match delete.what {
            Deletion::File | Deletion::Directory => Verb::Delete,
            Deletion::Tree => Verb::DeleteTree,
        },
        Item::Chmod(_) => Verb::Chmod,
        Item::Link(_) => Verb::Link,
    }
}

#[test]
fn a_tree_with_a_hidden_name_stays_and_its_name_is_not_told() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("tree/ghost", "old content\n");
    let before = census(&inside);
    let mut opened =
        arena.session_with(|order, _| order.hide("hidden-rule", "r", anywhere("ghost")));
    for deed in [Deed::MoveFrom, Deed::DeleteTree] {
        let refusal = refused(&mut opened.session, &deed.changes("tree"));
        assert!(
            refusal.rule.is_none() && !format!("{refusal:?}").contains("ghost"),
            "{refusal:?}"
        );
    }
    assert_eq!(census(&inside), before);
}

/// A session on the root with these grants.
fn granted(arena: &mut Arena, grants: &[(&str, VerbSet)]) -> Session {
    let inside = arena.inside();
    let root = arena.seal(&inside, "workspace");
    let order = grants.iter().fold(
        MintOrder::new("t").root(root, None),
        |order, (prefix, verbs)| {
            let prefix = if prefix.is_empty() {
                RelPath::root()
            } else {
                portcullis_tests::rel(prefix)
            };
            order.grant(root, prefix, *verbs)
        },
    );
    arena.control.mint(&order).unwrap().1
}

#[test]
fn row_64_65_67_68_what_may_only_be_read_is_changed_by_no_verb() {
    let mut arena = arena();
    let inside = arena.inside();
    let before = census(&inside);
    let mut session = granted(&mut arena, &[("", VerbSet::READING)]);
    for deed in Deed::ALL {
        for name in ["file", "d", "new", "new/deep", "d/inner"] {
            let refusal = refused(&mut session, &deed.changes(name));
            assert_eq!(refusal.code, Code::NotGranted, "{deed:?} {name}");
        }
    }
    let upload = session.upload(&at("file"), &mut &b"x"[..]).unwrap_err();
    assert_eq!(portcullis_tests::code(&upload), Code::NotGranted);
    assert_eq!(census(&inside), before);
    // One verb alone gives no other.
    for verb in VerbSet::WRITING.iter() {
        let mut session = granted(&mut arena, &[("", VerbSet::of(&[verb, Verb::Stat]))]);
        for deed in Deed::ALL {
            let changes = deed.changes("file");
            if changes.items().iter().all(|item| verb_of(item) != verb) {
                assert_eq!(
                    refused(&mut session, &changes).code,
                    Code::NotGranted,
                    "{deed:?} with {verb}"
                );
            }
        }
        if verb == Verb::Edit {
            let refusal = refused(&mut session, &Deed::Edit.changes("file"));
            assert_eq!(
                refusal.code,
                Code::NotGranted,
                "an edit shows what it matches"
            );
        }
    }
    assert_eq!(census(&inside), before);
}

#[test]
fn row_66_67_a_subtree_is_the_only_place_that_its_grant_lets_change() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("a/file", "old content\n");
    arena.write("a/spare", "old content\n");
    arena.write("ab/file", "old content\n");
    arena.link("a/out", "../d");
    arena.link("a/beside", "../file");
    arena.link("in", "a");
    let mut session = granted(&mut arena, &[("", VerbSet::READING), ("a", VerbSet::ALL)]);
    let session = &mut session;
    let before = census(&inside);
    for name in [
        "file",
        "new",
        "d/inner",
        "d/new",
        "ab/file",
        "ab/new",
        "a/../file",
        "a/../new",
        "a/out/inner",
        "a/out/new",
        "A/file",
        "in/../file",
    ] {
        for deed in Deed::ALL {
            let refusal = refused(session, &deed.changes(name));
            let codes = [Code::NotGranted, Code::NotFound];
            assert!(codes.contains(&refusal.code), "{deed:?} {name}: {refusal}");
            assert_eq!(census(&inside), before, "{deed:?} {name}");
        }
    }
    assert_eq!(
        refused(session, &one(change::write(at("a/beside"), "x"))).code,
        Code::NotGranted
    );
    // Across its edge in neither direction, with a file that may be read on the one side.
    for (from, to) in [
        ("a/file", "moved"),
        ("a/file", "d/moved"),
        ("file", "a/moved"),
        ("d", "a/d"),
        ("a", "b"),
        ("a", "d/a"),
    ] {
        for onto in [Onto::Nothing, Onto::Replace(Expect::Any)] {
            let mut rename = change::rename(at(from), at(to));
            rename.onto = onto;
            let refusal = refused(session, &one(rename));
            assert_eq!(refusal.code, Code::NotGranted, "{from} to {to}: {refusal}");
        }
    }
    // A set with one change outside is refused whole.
    let set = Changes::new()
        .with(change::write(at("a/file"), "x"))
        .with(change::write(at("file"), "x"));
    assert_eq!(refused(session, &set).code, Code::NotGranted);
    assert_eq!(census(&inside), before);
    // A link beside the subtree is not followed for what may not be written there.
    assert_eq!(
        refused(session, &Deed::Create.changes("in/new2")).code,
        Code::NotGranted
    );
    for name in ["a/new", "a/../a/new3"] {
        done(session, &Deed::Create.changes(name));
    }
    done(session, &one(change::rename(at("a/new"), at("a/sub"))));
    assert_eq!(bytes(inside.join("a/sub")), b"new content\n");
    // The control compares the beginning of the name.
    let naive = |name: &str| name.starts_with('a');
    assert!(naive("ab/file") && naive("a/../file"));
}

#[test]
fn row_70_an_ended_session_changes_nothing() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    done(&mut opened.session, &Deed::Create.changes("one"));
    arena.control.end(opened.id).unwrap();
    let before = census(&inside);
    for deed in Deed::ALL {
        let error = opened.session.change(&deed.changes("two")).unwrap_err();
        assert!(error.receipt().is_none(), "{error:?}");
    }
    assert_eq!(census(&inside), before);
}

#[test]
fn a_denied_object_is_changed_by_no_name_and_holds_its_tree() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("tree/deep/kept", "old content\n");
    arena.write("tree/beside", "old content\n");
    arena.link("way", "tree/deep/kept");
    let kept = std::fs::File::open(inside.join("tree/deep/kept")).unwrap();
    let mut opened = arena
        .session_with(|order, _| order.deny_object("kept", "r", VerbSet::WRITING, kept.into()));
    let session = &mut opened.session;
    // Whatever name it gets.
    std::fs::rename(
        inside.join("tree/deep/kept"),
        inside.join("tree/deep/renamed"),
    )
    .unwrap();
    std::fs::hard_link(inside.join("tree/deep/renamed"), inside.join("d/alias")).unwrap();
    let before = census(&inside);
    for name in ["tree/deep/renamed", "d/alias"] {
        for deed in [
            Deed::Write,
            Deed::Edit,
            Deed::MoveFrom,
            Deed::MoveOnto,
            Deed::Delete,
            Deed::Chmod,
        ] {
            by_rule(
                &refused(session, &deed.changes(name)),
                "kept",
                &format!("{deed:?} {name}"),
            );
        }
    }
    for name in ["tree", "tree/deep", "d"] {
        for deed in [Deed::MoveFrom, Deed::DeleteTree] {
            by_rule(
                &refused(session, &deed.changes(name)),
                "kept",
                &format!("{deed:?} {name}"),
            );
        }
    }
    assert_eq!(census(&inside), before);
    done(session, &Deed::Write.changes("tree/beside"));
    // The control compares names, and its name is another.
    let control = Unprotected::new();
    std::fs::rename(control.inside().join("x"), control.inside().join("y")).unwrap();
    Deed::Write.naive(&control.inside(), "y").unwrap();
}

#[test]
fn an_expired_session_changes_nothing() {
    let mut arena = arena();
    let inside = arena.inside();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let end = u64::try_from(now.as_millis()).unwrap() + 300;
    let mut opened = arena.session_with(|order, _| order.expires_ms(end));
    let before = census(&inside);
    // Not a measurement: it waits until the end has come.
    while std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis()
        <= u128::from(end)
    {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for deed in Deed::ALL {
        match opened.session.change(&deed.changes("file")) {
            Ok(changed) => panic!("{deed:?}: {changed:?}"),
            Err(error) => match error.refusal() {
                Some(refusal) => assert_eq!(refusal.code, Code::Expired, "{deed:?}"),
                // The warden may have ended it by then.
                None => assert!(
                    matches!(error.code(), portcullis_client::ErrorCode::Closed(_)),
                    "{error:?}"
                ),
            },
        }
    }
    assert_eq!(census(&inside), before);
}
