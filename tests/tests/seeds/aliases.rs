//! However a name is written, it leads to one observed object; what was written stays as it was.

use crate::scene::{
    Seat, approve, asking, at, becomes, done, one, proposed, receipts, refused, world,
};
use portcullis_client::{ask, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{World, anywhere, rel};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

/// A file with ways to it.
fn with_aliases() -> (World, Vec<Vec<u8>>) {
    let world = world();
    world.write("dir/file.txt", "content\n");
    world.write("dir/other.txt", "content\n");
    symlink("dir", world.inside().join("way")).unwrap();
    symlink("dir/file.txt", world.inside().join("alias")).unwrap();
    symlink("alias", world.inside().join("alias-of-alias")).unwrap();
    let host = world.inside().join("dir/file.txt");
    let mut aliases: Vec<Vec<u8>> = [
        "dir/file.txt",
        "./dir//file.txt",
        "dir/../dir/./file.txt",
        "/workspace/dir/file.txt",
        "/workspace/way/file.txt",
        "way/file.txt",
        "alias",
        "alias-of-alias",
    ]
    .map(|name| name.as_bytes().to_vec())
    .into();
    aliases.push(host.as_os_str().as_bytes().to_vec());
    (world, aliases)
}

#[test]
fn relative_workspace_host_and_linked_names_reach_one_observed_object() {
    let (mut world, aliases) = with_aliases();
    let mut opened = world.session();
    let session = &mut opened.session;
    let mut look = |name: &[u8]| session.stat(&ask::stat(at(name))).unwrap();
    let first = look(b"dir/file.txt");
    assert_eq!(first.path, rel("dir/file.txt"));
    for alias in &aliases {
        assert_eq!(look(alias), first, "{}", alias.escape_ascii());
    }
    // The control: the same content under another name is another object.
    let other = look(b"dir/other.txt");
    assert_ne!(other.observation.stamp, first.observation.stamp);
    for alias in &aliases {
        let content = portcullis_tests::read(session, alias).unwrap();
        assert_eq!(content, b"content\n", "{}", alias.escape_ascii());
    }
}

#[test]
fn a_refusal_names_the_object_exactly_as_it_was_written() {
    let (mut world, aliases) = with_aliases();
    let mut opened = world.session_with(|order, _| {
        order.deny("mine", "not this one", VerbSet::ALL, anywhere("file.txt"))
    });
    let session = &mut opened.session;
    for alias in &aliases {
        let error = session.read_file(at(alias)).unwrap_err();
        assert_eq!(error.object(), Some(alias.as_slice()), "{error}");
        assert_eq!(error.rule().unwrap().name.as_str(), "mine", "{error}");
        let refusal = refused(session, &one(change::write(at(alias), "new\n")));
        assert_eq!(refusal.code, Code::Denied, "{refusal}");
        let object = refusal.object.as_ref().map(|object| object.as_slice());
        assert_eq!(object, Some(alias.as_slice()), "{refusal}");
    }
    assert!(portcullis_tests::read(session, "dir/other.txt").is_ok());
}

#[test]
fn a_proposal_keeps_the_exact_input_beside_the_object_it_was_bound_to() {
    let (mut world, aliases) = with_aliases();
    let Seat {
        mut session, run, ..
    } = asking(&mut world);
    let target = session.stat(&ask::stat(at("dir/file.txt"))).unwrap();
    let mut inputs = BTreeSet::new();
    let mut ids = Vec::new();
    for alias in &aliases {
        let changes = one(change::write(at(alias), "new\n"));
        let id = proposed(&mut session, &changes);
        let record = world.control.proposal(id).unwrap().record;
        assert_eq!(record.input, changes.input().unwrap());
        let [touched] = record.touched.as_slice() else {
            panic!("{record:?}");
        };
        assert_eq!(touched.path, target.path);
        let portcullis_protocol::view::PathState::Present(before) = touched.before else {
            panic!("{touched:?}");
        };
        assert_eq!(before.stamp, Some(target.observation.stamp));
        assert!(inputs.insert(record.input.0), "one input for two texts");
        ids.push((id, changes));
    }
    // An approval of one spelling is none of another: nothing is done that was not said like that.
    let (host, last) = ids.pop().unwrap();
    approve(&mut world.control, host);
    for (id, changes) in &ids {
        assert_eq!(proposed(&mut session, changes), *id);
    }
    done(&mut session, &last);
    becomes(&mut world.control, host, "spent");
    let receipts = receipts(&mut world.control, run);
    let [receipt] = receipts.as_slice() else {
        panic!("{receipts:?}");
    };
    assert_eq!(receipt.approval.unwrap().proposal, host);
    assert_eq!(receipt.end.touched.as_slice()[0].path, target.path);
    let content = std::fs::read(world.inside().join("dir/file.txt")).unwrap();
    assert_eq!(content, b"new\n");
}
