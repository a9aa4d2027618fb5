//! What may be done by a set is what may be done by its changes, one after the other; and links.

use super::{
    arena, below, create, delete, edit, follow, inode, link, mkdir, names, onto, rename, write,
};
use crate::changeset::set;
use crate::trial::{at, bytes, refused};
use portcullis_client::change::Item;
use portcullis_client::{MintOrder, Session, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::anywhere;
use portcullis_tests::hostile::{Arena, census};
use std::path::Path;

/// A session with all verbs but some below `w`; below `d` it has others.
fn granted(arena: &mut Arena, without: &[Verb], below: &[Verb]) -> Session {
    let inside = arena.inside();
    let root = arena.seal(&inside, "workspace");
    let all: Vec<Verb> = VerbSet::ALL
        .iter()
        .filter(|verb| !without.contains(verb))
        .collect();
    let order = MintOrder::new("t").root(root, None);
    let order = order.grant(root, portcullis_tests::rel("w"), VerbSet::of(&all));
    let order = order.grant(root, portcullis_tests::rel("d"), VerbSet::of(below));
    arena.control.mint(&order).unwrap().1
}

#[test]
fn no_grant_is_got_around_by_a_set() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.write("w/a", "one\n");
    let before = census(&inside);
    let cases: Vec<(&[Verb], &[Verb], Vec<Item>)> = vec![
        (
            &[Verb::Delete],
            &[],
            vec![delete("w/a"), create("w/a", "x")],
        ),
        (
            &[],
            &[Verb::Write],
            vec![create("w/n", "x"), rename("w/n", "d/n")],
        ),
        (
            &[],
            &[Verb::Move],
            vec![create("d/n", "x"), rename("d/n", "w/n")],
        ),
        // Moved to where it may be neither read nor edited, or only one of both.
        (
            &[],
            &[Verb::Move],
            vec![rename("w/a", "d/n"), edit("d/n", "one", "1")],
        ),
        (
            &[],
            &[Verb::Move, Verb::Edit],
            vec![rename("w/a", "d/n"), edit("d/n", "one", "1")],
        ),
        (
            &[],
            &[Verb::Move, Verb::Read],
            vec![rename("w/a", "d/n"), edit("d/n", "one", "1")],
        ),
        // Edited on, through a name where that is granted, and back.
        (
            &[],
            &[Verb::Write, Verb::Read],
            vec![
                rename("d/x", "w/n"),
                edit("w/n", "x", "y"),
                rename("w/n", "d/x"),
            ],
        ),
        (
            &[Verb::Mkdir],
            &[],
            vec![delete("w/a"), below("w/a/x", "x")],
        ),
        (
            &[Verb::Chmod],
            &[],
            vec![create("w/n", "x"), super::chmod("w/n", 0o600)],
        ),
        (&[Verb::Link], &[], vec![delete("w/a"), link("w/a", "b")]),
    ];
    for (without, below, items) in cases {
        let mut session = granted(&mut arena, without, below);
        let refusal = refused(&mut session, &set(items.clone()));
        assert_eq!(refusal.code, Code::NotGranted, "{items:?}: {refusal}");
        assert_eq!(census(&inside), before, "{items:?}");
    }
    // The control: all of it may be done where each is granted.
    let mut session = granted(
        &mut arena,
        &[],
        &[Verb::Move, Verb::Read, Verb::Edit, Verb::Stat],
    );
    follow(
        &mut session,
        &inside,
        vec![rename("w/a", "d/n"), edit("d/n", "one", "1")],
    );
}

#[test]
fn no_denial_is_got_around_by_a_set() {
    let mut arena = arena();
    let inside = arena.inside();
    let mut opened = arena.session_with(|order, _| {
        let verbs = VerbSet::of(&[Verb::Write]);
        order.deny("shut", "not written", verbs, anywhere("shut"))
    });
    let session = &mut opened.session;
    let before = census(&inside);
    for items in [
        vec![mkdir("n"), create("n/x", "x"), rename("n/x", ".mcp.json")],
        vec![mkdir("n"), rename("n", ".git")],
        vec![mkdir("n"), mkdir("n/.git"), create("n/.git/config", "x")],
        vec![delete("a"), below("a/.git/config", "x")],
        vec![rename("a", "n"), onto("n", ".bashrc")],
        vec![delete("a"), create("shut", "x")],
    ] {
        let refusal = refused(session, &set(items.clone()));
        assert_eq!(refusal.code, Code::Denied, "{items:?}: {refusal}");
        assert_eq!(census(&inside), before, "{items:?}");
    }
}

#[test]
fn a_denied_object_is_denied_under_the_name_that_a_set_gives_it() {
    let mut arena = arena();
    let inside = arena.inside();
    let object = std::fs::File::open(inside.join("a")).unwrap();
    let mut opened = arena.session_with(|order, _| {
        let verbs = VerbSet::of(&[Verb::Edit, Verb::Delete]);
        order.deny_object("kept", "neither edited nor deleted", verbs, object.into())
    });
    let session = &mut opened.session;
    let before = census(&inside);
    for items in [
        vec![rename("a", "n"), edit("n", "one", "1")],
        vec![rename("a", "n"), delete("n")],
        vec![rename("a", "n"), rename("n", "m"), edit("m", "one", "1")],
    ] {
        let refusal = refused(session, &set(items.clone()));
        assert_eq!(refusal.code, Code::Denied, "{items:?}: {refusal}");
        assert_eq!(census(&inside), before, "{items:?}");
    }
    // The control: its name is free for another.
    follow(session, &inside, vec![rename("a", "n"), create("a", "1\n")]);
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_changed() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("l", "a");
    arena.link("way", "d");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let object = inode(inside.join("l"));
    let items = vec![
        edit("l", "one", "1"),
        edit("a", "two", "2"),
        write("way/x", "new\n"),
        edit("d/x", "new", "newer"),
        rename("way/y", "y"),
    ];
    let changed = follow(session, &inside, items);
    assert_eq!(names(&changed), ["a", "d/x", "d/y", "y"]);
    assert_eq!(bytes(inside.join("a")), b"1\n2\na\n");
    assert_eq!(bytes(inside.join("d/x")), b"newer\n");
    assert_eq!(inode(inside.join("l")), object);
    // Deleted and moved it is the link, whose name is free then.
    let items = vec![delete("l"), create("l", "x\n"), rename("way", "n")];
    follow(session, &inside, items);
    assert_eq!(bytes(inside.join("l")), b"x\n");
    assert_eq!(
        std::fs::read_link(inside.join("n")).unwrap(),
        Path::new("d")
    );
    assert_eq!(bytes(inside.join("a")), b"1\n2\na\n");
    let items = vec![delete("n"), mkdir("n"), create("n/x", "1\n")];
    follow(session, &inside, items);
    assert_eq!(bytes(inside.join("d/x")), b"newer\n");
}

#[test]
fn a_link_of_the_same_set_leads_nowhere() {
    let mut arena = arena();
    let inside = arena.inside();
    arena.link("l", "d");
    let mut opened = arena.session();
    let session = &mut opened.session;
    let before = census(&inside);
    for items in [
        vec![link("n", "a"), edit("n", "one", "1")],
        vec![link("n", "a"), write("n", "x")],
        vec![link("n", "d"), create("n/z", "x")],
        vec![link("n", "d"), super::chmod("n", 0o600)],
        vec![rename("l", "n"), create("n/z", "x")],
        vec![rename("l", "n"), write("n/x", "x")],
    ] {
        let refusal = refused(session, &set(items.clone()));
        assert_eq!(refusal.code, Code::Collision, "{items:?}: {refusal}");
        assert!(refusal.to_string().contains("link"), "{refusal}");
        assert_eq!(census(&inside), before, "{items:?}");
    }
    // As a name it is as good as any.
    follow(session, &inside, vec![link("n", "a"), rename("n", "m")]);
    let mut taken = change::create(at("m"), "x");
    taken.mode = Some(0o600);
    follow(session, &inside, vec![delete("m"), taken.into()]);
}
