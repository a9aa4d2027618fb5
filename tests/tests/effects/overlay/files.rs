//! One file, changed more than once.

use super::{
    arena, chmod, create, delete, dress, edit, follow, inode, link, mkdir, names, remove, rename,
    write,
};
use crate::changeset::set;
use crate::trial::{at, bytes, digest, refused, stamp, surest};
use portcullis_client::change;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Expect};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::PathState;
use portcullis_tests::hostile::census;

#[test]
fn row_46_edits_of_one_file_follow_each_other() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let had = dress(inside.join("a"));
    let changed = follow(
        session,
        &inside,
        vec![
            edit("a", "two", "2"),
            edit("b", "one", "1"),
            // Found in what the first left.
            edit("a", "2\na", "3"),
            edit("./d/../a", "one\n3", "four"),
        ],
    );
    assert_eq!(names(&changed), ["a", "b"]);
    assert_eq!(changed.guarantee, surest(&inside));
    assert_eq!(bytes(inside.join("a")), b"four\n");
    assert_eq!(dress(inside.join("a")), had);
    let verbs: Vec<Verb> = changed.touched.as_slice().iter().map(|t| t.verb).collect();
    assert_eq!(verbs, [Verb::Edit, Verb::Edit]);
    // What the one before took away is not found, and nothing is done.
    let before = census(&inside);
    let gone = set([edit("b", "1", "I"), edit("b", "1", "II")]);
    assert_eq!(refused(session, &gone).code, Code::NotUnique);
    assert_eq!(census(&inside), before);
}

#[test]
fn a_file_written_and_edited_is_written_once() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let had = dress(inside.join("a"));
    let items = vec![write("a", "new\nline\n"), edit("a", "line", "last")];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a"]);
    assert_eq!(changed.touched.as_slice()[0].verb, Verb::Write);
    assert_eq!(bytes(inside.join("a")), b"new\nlast\n");
    assert_eq!(dress(inside.join("a")), had);
    let items = vec![
        edit("a", "last", "x"),
        write("a", "whole\n"),
        chmod("a", 0o400),
    ];
    follow(session, &inside, items);
    assert_eq!(bytes(inside.join("a")), b"whole\n");
    assert_eq!(dress(inside.join("a")), (0o400, had.1));
}

#[test]
fn row_50_a_file_deleted_and_made_again_is_replaced() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let had = dress(inside.join("a"));
    let changed = follow(session, &inside, vec![delete("a"), create("a", "again\n")]);
    assert_eq!(names(&changed), ["a"]);
    // Held off writers as any replacement does.
    assert_eq!(changed.guarantee, surest(&inside));
    assert_eq!(bytes(inside.join("a")), b"again\n");
    assert_eq!(dress(inside.join("a")), had);
    // Unless the new one says its bits.
    let mut private = change::create(at("a"), "mine\n");
    private.mode = Some(0o700);
    follow(session, &inside, vec![delete("a"), private.into()]);
    assert_eq!(dress(inside.join("a")), (0o700, had.1));
    // More than once, with an edit between.
    let items = vec![
        edit("b", "one", "1"),
        delete("b"),
        create("b", "x\n"),
        delete("b"),
        create("b", "y\n"),
        edit("b", "y", "z"),
    ];
    let had = dress(inside.join("b"));
    assert_eq!(names(&follow(session, &inside, items)), ["b"]);
    assert_eq!(bytes(inside.join("b")), b"z\n");
    assert_eq!(dress(inside.join("b")), had);
    // What was moved away is not what a new file is like.
    follow(
        session,
        &inside,
        vec![rename("c", "m"), create("c", "new\n")],
    );
    assert_eq!(dress(inside.join("c")), (0o644, None));
    assert_eq!(dress(inside.join("m")), (0o755, Some(b"c".to_vec())));
}

#[test]
fn row_50_a_file_made_and_edited_is_made_as_edited() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let items = vec![
        create("n", "one\n"),
        edit("n", "one", "two"),
        chmod("n", 0o600),
        edit("n", "two", "three"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["n"]);
    assert_eq!(changed.touched.as_slice()[0].verb, Verb::Write);
    assert_eq!(changed.touched.as_slice()[0].before, PathState::Absent);
    assert_eq!(bytes(inside.join("n")), b"three\n");
    assert_eq!(dress(inside.join("n")), (0o600, None));
}

#[test]
fn what_a_set_takes_back_itself_is_nothing() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for items in [
        vec![create("n", "x"), delete("n")],
        vec![
            mkdir("n"),
            create("n/m", "x"),
            delete("n/m"),
            remove("n", Deletion::Directory),
        ],
        vec![rename("a", "n"), rename("n", "m"), rename("m", "a")],
        vec![link("n", "a"), delete("n")],
    ] {
        let refusal = refused(session, &set(items));
        assert_eq!(refusal.code, Code::Collision, "{refusal}");
        assert!(refusal.to_string().contains("changes nothing"), "{refusal}");
        assert_eq!(census(&inside), before);
    }
    // Beside something else it leaves no trace.
    let items = vec![create("n", "x"), edit("a", "one", "1"), delete("n")];
    assert_eq!(names(&follow(session, &inside, items)), ["a"]);
    // An edit before a deletion is deleted with the file, which is what it was.
    let changed = follow(session, &inside, vec![edit("b", "one", "1"), delete("b")]);
    assert_eq!(names(&changed), ["b"]);
    assert_eq!(changed.touched.as_slice()[0].verb, Verb::Delete);
    let refusal = refused(session, &set([delete("c"), edit("c", "one", "1")]));
    assert_eq!(refusal.code, Code::NotFound);
}

#[test]
fn what_is_believed_is_judged_by_what_the_changes_before_leave() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    let version = stamp(session, "a");
    let believing = |expect| {
        let mut edit = change::replace(at("a"), "1", "I");
        edit.expect = expect;
        set([super::edit("a", "one", "1"), edit.into()])
    };
    for (expect, code) in [
        (Expect::Absent, Code::Exists),
        (Expect::Content(digest("one\ntwo\na\n")), Code::Conflict),
        (Expect::Version(stamp(session, "b")), Code::Conflict),
        // The one before it was no sight of the whole, either.
        (Expect::Seen, Code::NotSeen),
    ] {
        assert_eq!(
            refused(session, &believing(expect)).code,
            code,
            "{expect:?}"
        );
        assert_eq!(census(&inside), before);
    }
    for expect in [
        Expect::Any,
        Expect::Version(version),
        Expect::Content(digest("1\ntwo\na\n")),
    ] {
        session.plan(&believing(expect)).unwrap();
    }
    // Content that nobody saw is not lost to who only edited a part of it before.
    let mut whole = change::write(at("a"), "whole");
    whole.expect = Expect::Seen;
    let blind = set([edit("a", "one", "1"), whole.clone().into()]);
    assert_eq!(refused(session, &blind).code, Code::NotSeen);
    let known = set([write("a", "first"), whole.into()]);
    session.plan(&known).unwrap();
    assert_eq!(census(&inside), before);
}

#[test]
fn a_link_and_a_file_take_each_others_place() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("l", "a");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let target = inode(inside.join("a"));
    follow(session, &inside, vec![delete("l"), create("l", "file\n")]);
    assert_eq!(bytes(inside.join("l")), b"file\n");
    assert_eq!(inode(inside.join("a")), target);
    follow(session, &inside, vec![delete("l"), link("l", "b")]);
    assert_eq!(
        std::fs::read_link(inside.join("l")).unwrap(),
        std::path::Path::new("b")
    );
}
