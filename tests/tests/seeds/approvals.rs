//! An approval is used once, by the session that asked, for exactly what it asked for.

use crate::scene::{
    Seat, approve, approved, asking, at, becomes, decide, done, life, one, proposed, receipts,
    refused, seat, state, world,
};
use portcullis_client::{Changes, Control, MintOrder, Session, Wishes, Words, ask, change};
use portcullis_protocol::approval::{Approver, ProposalId};
use portcullis_protocol::authority::RootId;
use portcullis_protocol::control::{Decision, Proof, Whose};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::{World, rel};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn tree() -> World {
    let world = world();
    world.write("file.txt", "content\n");
    world.write("other.txt", "content\n");
    world
}

fn written() -> Changes {
    one(change::write(at("file.txt"), "new\n"))
}

fn content(world: &World) -> String {
    fs::read_to_string(world.inside().join("file.txt")).unwrap()
}

#[test]
fn an_approval_is_used_once_and_its_receipt_names_it() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let id = proposed(&mut seat.session, &written());
    assert_eq!(proposed(&mut seat.session, &written()), id, "asked again");
    assert_eq!(content(&world), "content\n");
    assert_eq!(
        decide(&mut world.control, id, Decision::Approve),
        Approver::Runtime
    );
    assert_eq!(content(&world), "content\n", "deciding changes nothing");
    done(&mut seat.session, &written());
    assert_eq!(content(&world), "new\n");
    let all = receipts(&mut world.control, seat.run);
    let [receipt] = all.as_slice() else {
        panic!("{all:?}");
    };
    let approval = receipt.approval.unwrap();
    assert_eq!(
        (approval.proposal, approval.approver),
        (id, Approver::Runtime)
    );
    assert_eq!(world.control.verify().unwrap().broken, None);
}

#[test]
fn a_replay_is_refused_also_on_the_very_same_tree() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let same = one(change::chmod(at("file.txt"), 0o644));
    let id = approved(&mut world.control, &mut seat.session, &same);
    done(&mut seat.session, &same);
    becomes(&mut world.control, id, "spent");
    // Exactly this, again: it is asked for anew.
    let again = proposed(&mut seat.session, &same);
    assert_ne!(again, id);
    let input = world.control.proposal(again).unwrap().record.input;
    let decided = world
        .control
        .decide(id, input, Decision::Approve, Proof::Connection);
    assert_eq!(portcullis_tests::code(&decided.unwrap_err()), Code::Decided);
    assert_eq!(state(&mut world.control, again), "pending");
    assert_eq!(receipts(&mut world.control, seat.run).len(), 1);
}

#[test]
fn an_approval_is_for_no_other_operation() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let id = approved(&mut world.control, &mut seat.session, &written());
    let others = [
        one(change::write(at("file.txt"), "other\n")),
        one(change::write(at("other.txt"), "new\n")),
        one(change::write(at("./file.txt"), "new\n")),
        one(change::delete(at("file.txt"))),
        one(change::write(at("file.txt"), "new\n")).with(change::mkdir(at("also"))),
    ];
    let mut ids = BTreeSet::from([id]);
    for other in &others {
        assert!(ids.insert(proposed(&mut seat.session, other)), "{other:?}");
    }
    assert_eq!(content(&world), "content\n");
    assert_eq!(state(&mut world.control, id), "approved");
    done(&mut seat.session, &written());
}

#[test]
fn an_approval_is_for_no_other_session_request_or_owner() {
    let mut world = tree();
    let mut first = asking(&mut world);
    let id = approved(&mut world.control, &mut first.session, &written());
    let order = |owner: &str, request: &str| {
        MintOrder::new(owner)
            .request(request)
            .root(first.root, None)
            .grant(first.root, RelPath::root(), VerbSet::READING)
            .ask(first.root, RelPath::root(), VerbSet::WRITING)
    };
    for (owner, request) in [("tester", ""), ("tester", "another"), ("bob", "")] {
        let mut other = seat(&mut world.control, &order(owner, request), first.root);
        let own = proposed(&mut other.session, &written());
        assert_ne!(own, id);
        assert_eq!(content(&world), "content\n");
        // Refusing it there says nothing of the first.
        decide(&mut world.control, own, Decision::Refuse);
        assert_eq!(refused(&mut other.session, &written()).code, Code::Denied);
    }
    // Nor for what goes on where it was given.
    let (_, mut later) = world.control.continue_session(first.id, "later").unwrap();
    assert_ne!(proposed(&mut later, &written()), id);
    assert_eq!(state(&mut world.control, id), "approved");
    done(&mut first.session, &written());
    assert_eq!(content(&world), "new\n");
}

#[test]
fn what_is_refused_stays_refused_and_changes_no_authority() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let before = seat.session.whoami().unwrap().authority;
    let id = proposed(&mut seat.session, &written());
    decide(&mut world.control, id, Decision::Refuse);
    let refusal = refused(&mut seat.session, &written());
    assert_eq!(refusal.code, Code::Denied, "{refusal}");
    let other = approved(
        &mut world.control,
        &mut seat.session,
        &one(change::write(at("other.txt"), "new\n")),
    );
    done(
        &mut seat.session,
        &one(change::write(at("other.txt"), "new\n")),
    );
    becomes(&mut world.control, other, "spent");
    let identity = seat.session.whoami().unwrap();
    assert_eq!(identity.authority, before);
    let granted = |verb| identity.grants.as_slice().iter().any(|g| g.verbs.has(verb));
    assert!(!granted(Verb::Write));
    assert_eq!(content(&world), "content\n");
}

/// Children of this process: the gates of its wardens, in all tests that run now.
fn children() -> BTreeSet<i32> {
    let mut all = BTreeSet::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let listed = fs::read_to_string(task.unwrap().path().join("children"));
        let listed = listed.unwrap_or_default();
        all.extend(listed.split_whitespace().map(|n| n.parse::<i32>().unwrap()));
    }
    all
}

/// The one whose cage is that of a proposal: it holds the file open that it is about.
fn holder(of: &Path) -> rustix::process::Pid {
    let of = of.to_str().unwrap();
    let holds = |child: &i32| {
        let held = fs::read_dir(format!("/proc/{child}/fd"))
            .into_iter()
            .flatten();
        let mut held = held.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
        held.any(|path| path.to_str() == Some(of))
    };
    let found: Vec<i32> = children().into_iter().filter(holds).collect();
    let [one] = found.as_slice() else {
        panic!("{found:?} hold {of}");
    };
    rustix::process::Pid::from_raw(*one).unwrap()
}

#[test]
fn a_missing_snapshot_cannot_be_reconstructed() {
    if !portcullis_tests::privileged() {
        // Nobody else may look into a gate to find the one that holds it.
        return another_life_reconstructs_none();
    }
    let mut world = tree();
    let mut seat = asking(&mut world);
    let id = approved(&mut world.control, &mut seat.session, &written());
    // What holds the objects that were bound is gone; all of them are there as they were.
    let gate = holder(&world.inside().join("file.txt"));
    rustix::process::kill_process(gate, rustix::process::Signal::KILL).unwrap();
    becomes(&mut world.control, id, "void");
    let again = proposed(&mut seat.session, &written());
    assert_ne!(again, id, "it is asked for anew");
    assert_eq!(content(&world), "content\n");
    assert_eq!(receipts(&mut world.control, seat.run), []);
    another_life_reconstructs_none();
}

fn asking_in(control: &mut Control, inside: &Path) -> Seat {
    let root = crate::scene::seal(
        control,
        inside,
        portcullis_protocol::authority::Scope::Workspace,
    );
    let order = MintOrder::new("tester")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .ask(root, RelPath::root(), VerbSet::WRITING);
    seat(control, &order, root)
}

fn another_life_reconstructs_none() {
    let place = tempfile::Builder::new()
        .prefix("portcullis-test-")
        .tempdir()
        .unwrap();
    let inside = place.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("file.txt"), "content\n").unwrap();
    let (warden, mut control) = life(&place.path().join("state"));
    let mut seat = asking_in(&mut control, &inside);
    let approved = approved(&mut control, &mut seat.session, &written());
    let pending = proposed(&mut seat.session, &one(change::delete(at("file.txt"))));
    drop((control, warden));
    let (_warden, mut control) = life(&place.path().join("state"));
    for id in [approved, pending] {
        assert_eq!(state(&mut control, id), "void");
    }
    assert_eq!(control.proposals(Whose::All, 0).unwrap(), []);
    let mut seat = asking_in(&mut control, &inside);
    let again = proposed(&mut seat.session, &written());
    assert!(again > pending, "numbers are not used again");
    let content = fs::read(inside.join("file.txt")).unwrap();
    assert_eq!(content, b"content\n");
}

/// A session that may read only with an approval.
fn reading_asks(world: &mut World) -> Seat {
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .ask(root, RelPath::root(), VerbSet::READING);
    seat(&mut world.control, &order, root)
}

#[track_caller]
fn proposed_read(session: &mut Session, name: &str) -> ProposalId {
    let error = session.read_file(at(name)).unwrap_err();
    assert_eq!(
        portcullis_tests::code(&error),
        Code::NeedsApproval,
        "{error}"
    );
    error.proposal().unwrap()
}

#[test]
fn an_approved_absent_read_cannot_bind_a_file_that_appeared() {
    let mut world = tree();
    let mut seat = reading_asks(&mut world);
    let id = proposed_read(&mut seat.session, "later.txt");
    approve(&mut world.control, id);
    world.write("later.txt", "secret\n");
    let error = seat.session.read_file(at("later.txt")).unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.code, Code::Conflict, "{refusal}");
    let note = refusal.note.as_ref().unwrap().as_str();
    assert!(
        note.contains("something of that name has appeared"),
        "{note}"
    );
    becomes(&mut world.control, id, "void");
    assert_ne!(proposed_read(&mut seat.session, "later.txt"), id);
    // The control: where it stays absent, that is what was approved, once.
    let id = proposed_read(&mut seat.session, "never.txt");
    approve(&mut world.control, id);
    let error = seat.session.read_file(at("never.txt")).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::NotFound, "{error}");
    becomes(&mut world.control, id, "spent");
}

#[test]
fn an_approved_read_shows_what_was_bound_once_and_nothing_that_replaced_it() {
    let mut world = tree();
    let mut seat = reading_asks(&mut world);
    let id = proposed_read(&mut seat.session, "file.txt");
    approve(&mut world.control, id);
    let file = seat.session.read_file(at("file.txt")).unwrap();
    assert_eq!(file.bytes, b"content\n");
    becomes(&mut world.control, id, "spent");
    let id = proposed_read(&mut seat.session, "file.txt");
    approve(&mut world.control, id);
    fs::rename(
        world.outside().join("secret"),
        world.inside().join("file.txt"),
    )
    .unwrap();
    let error = seat.session.read_file(at("file.txt")).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::Conflict, "{error}");
    becomes(&mut world.control, id, "void");
    let stat = seat.session.stat(&ask::stat(at("file.txt"))).unwrap_err();
    assert_eq!(portcullis_tests::code(&stat), Code::NeedsApproval);
}

/// A child that asks as its parent does, below a subtree.
fn child(session: &mut Session, words: VerbSet, subtree: &str) -> Session {
    let wishes = Wishes::new("child")
        .grant(Words::verbs(VerbSet::READING), at(subtree))
        .ask(Words::verbs(words), at(subtree));
    session.delegate(&wishes).unwrap().session
}

#[test]
fn a_child_cannot_use_its_parents_approval() {
    let mut world = tree();
    world.write("dir/file.txt", "content\n");
    let mut seat = asking(&mut world);
    let id = approved(&mut world.control, &mut seat.session, &written());
    let mut delegated = child(&mut seat.session, VerbSet::WRITING, ".");
    let own = proposed(&mut delegated, &written());
    assert_ne!(own, id);
    // One that may not even ask, or not there, has nothing to ask for.
    let mut mute = child(&mut seat.session, VerbSet::of(&[Verb::Mkdir]), ".");
    assert_eq!(refused(&mut mute, &written()).code, Code::NotGranted);
    let mut narrow = child(&mut seat.session, VerbSet::WRITING, "dir");
    assert_eq!(refused(&mut narrow, &written()).code, Code::NotGranted);
    let within = MintOrder::new("tester")
        .root(seat.root, None)
        .grant(seat.root, RelPath::root(), VerbSet::ALL)
        .within(seat.id);
    let mut within = self::seat(&mut world.control, &within, seat.root);
    assert_ne!(proposed(&mut within.session, &written()), id);
    assert_eq!(content(&world), "content\n");
    assert_eq!(state(&mut world.control, id), "approved");
    done(&mut seat.session, &written());
    // And what a child was approved, its parent has not.
    let changes = one(change::write(at("dir/file.txt"), "new\n"));
    let approved = approved(&mut world.control, &mut narrow, &changes);
    assert_ne!(proposed(&mut seat.session, &changes), approved);
}

#[test]
fn an_approval_does_not_exceed_what_the_child_may_ask_for() {
    let mut world = tree();
    world.write("dir/file.txt", "content\n");
    let inside = world.inside();
    let root: RootId = world.seal(&inside, "workspace");
    let order = MintOrder::new("tester")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .ask(root, rel("dir"), VerbSet::of(&[Verb::Write]));
    let mut seat = seat(&mut world.control, &order, root);
    let mut child = child(&mut seat.session, VerbSet::WRITING, ".");
    let dir = one(change::write(at("dir/file.txt"), "new\n"));
    approved(&mut world.control, &mut child, &dir);
    done(&mut child, &dir);
    assert_eq!(refused(&mut child, &written()).code, Code::NotGranted);
    let deleted = one(change::delete(at("dir/file.txt")));
    assert_eq!(refused(&mut child, &deleted).code, Code::NotGranted);
}

#[test]
fn what_was_asked_for_ends_with_its_session() {
    let mut world = tree();
    let mut seat = asking(&mut world);
    let id = approved(&mut world.control, &mut seat.session, &written());
    world.control.end(seat.id).unwrap();
    becomes(&mut world.control, id, "void");
    assert_eq!(content(&world), "content\n");
}
