//! Approvals from end to end: a worker asks for what needs one, a runtime shows and decides it, and it
//! happens once, on what was shown, or not at all.

use portcullis_client::{Changes, Error, Session, ask, change};
use portcullis_protocol::approval::{Approver, ProposalId, ProposalState};
use portcullis_protocol::control::{Decision, Proof, Receipt, RunId, Whose};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Deletion, Outcome, Selector};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_tests::{Opened, World, anywhere, code, own, read};
use std::path::Path;

fn at(path: &str) -> Selector {
    ask::selector(path).unwrap()
}

/// Everything may be read; changes need an approval, and so does reading what is secret.
fn world() -> (World, Opened) {
    let mut world = World::new(own!("own-gate"));
    world.write("notes.txt", "one\ntwo\nthree\n");
    world.write("other.txt", "other\n");
    world.write("secret.txt", "hush\n");
    let opened = world.session_with(|_, root| {
        portcullis_client::MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
            .ask(root, RelPath::root(), VerbSet::WRITING)
            .ask_pattern(
                "secrets",
                "they are secret",
                VerbSet::CONTENT,
                anywhere("secret.*"),
            )
    });
    (world, opened)
}

/// The proposal that a request waits for.
fn waits(result: Result<impl std::fmt::Debug, Error>) -> ProposalId {
    let error = result.unwrap_err();
    assert_eq!(code(&error), Code::NeedsApproval, "{error}");
    error.proposal().unwrap()
}

fn edit() -> Changes {
    Changes::new().with(change::replace(at("notes.txt"), "two", "2"))
}

fn edits(session: &mut Session) -> Result<Outcome, Error> {
    session.change(&edit()).map(|made| made.changed.outcome)
}

fn approve(world: &mut World, id: ProposalId) -> ProposalState {
    let shown = world.control.proposal(id).unwrap();
    let input = shown.record.input;
    let decided = world
        .control
        .decide(id, input, Decision::Approve, Proof::Connection);
    let decided = decided.unwrap();
    assert_eq!(decided.approver, Approver::Runtime);
    decided.state
}

fn receipts(world: &mut World) -> Vec<Receipt> {
    world.control.log(RunId(1), 0).unwrap()
}

fn content(world: &World, path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(world.inside().join(path)).unwrap()
}

#[test]
fn what_was_approved_happens_once_with_the_difference_that_was_shown() {
    let (mut world, mut opened) = world();
    let session = &mut opened.session;
    let id = waits(edits(session));
    assert_eq!(waits(edits(session)), id, "the same waits");
    assert_eq!(content(&world, "notes.txt"), b"one\ntwo\nthree\n");
    let shown = world.control.proposal(id).unwrap();
    let diff = String::from_utf8(shown.diff).unwrap();
    assert!(diff.contains("-two\n+2\n"), "{diff}");
    assert_eq!(shown.record.summary.verb, Verb::Edit);
    let place = world.inside().canonicalize().unwrap().join("notes.txt");
    let shown_place = format!("/{}", shown.record.summary.place);
    assert_eq!(shown_place, place.to_str().unwrap());
    assert_eq!(approve(&mut world, id), ProposalState::Approved);
    assert_eq!(edits(session).unwrap(), Outcome::Done);
    assert_eq!(content(&world, "notes.txt"), b"one\n2\nthree\n");
    let [receipt] = <[_; 1]>::try_from(receipts(&mut world)).unwrap();
    assert_eq!(receipt.approval.unwrap().proposal, id);
    assert_eq!(receipt.approval.unwrap().approver, Approver::Runtime);
    // It is spent: the same again does not match any more, and what would match waits anew.
    world.write("notes.txt", "one\ntwo\nthree\n");
    let again = waits(edits(session));
    assert_ne!(again, id);
    assert_eq!(receipts(&mut world).len(), 1);
    assert_eq!(world.control.verify().unwrap().broken, None);
    // Nothing was added to what the session may do by itself.
    let other = Changes::new().with(change::delete(at("other.txt")));
    waits(session.change(&other));
    assert!(world.inside().join("other.txt").exists());
}

#[test]
fn another_operation_session_or_decision_is_not_what_was_approved() {
    let (mut world, mut opened) = world();
    let id = waits(edits(&mut opened.session));
    approve(&mut world, id);
    let other = Changes::new().with(change::replace(at("notes.txt"), "two", "22"));
    assert_ne!(waits(opened.session.change(&other)), id);
    let mut second = world.session_with(|_, root| {
        portcullis_client::MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
            .ask(root, RelPath::root(), VerbSet::WRITING)
    });
    assert_ne!(waits(edits(&mut second.session)), id);
    assert!(receipts(&mut world).is_empty());
    let refused = waits(edits(&mut second.session));
    let input = world.control.proposal(refused).unwrap().record.input;
    let decided = world
        .control
        .decide(refused, input, Decision::Refuse, Proof::Connection);
    assert_eq!(decided.unwrap().state, ProposalState::Refused);
    let error = edits(&mut second.session).unwrap_err();
    assert_eq!(code(&error), Code::Denied, "{error}");
    // What the first session was approved is still its own.
    assert_eq!(edits(&mut opened.session).unwrap(), Outcome::Done);
}

/// Approves the edit, changes something, and gives what the worker is told then.
fn after(change: impl FnOnce(&World)) -> (World, Opened, ProposalId, Error) {
    let (mut world, mut opened) = world();
    let id = waits(edits(&mut opened.session));
    approve(&mut world, id);
    change(&world);
    let error = edits(&mut opened.session).unwrap_err();
    (world, opened, id, error)
}

#[test]
fn what_has_changed_since_it_was_approved_is_refused_and_not_spent() {
    let replace = |world: &World| {
        world.write("new", "one\ntwo\nthree\n");
        std::fs::rename(world.inside().join("new"), world.inside().join("notes.txt")).unwrap();
    };
    let rewrite = |world: &World| world.write("notes.txt", "0\none\ntwo\nthree\n");
    let same = |world: &World| world.write("notes.txt", "one\ntwo\nthree\n");
    for (how, change) in [
        ("replaced by its equal", &replace as &dyn Fn(&World)),
        ("other content", &rewrite),
        ("rewritten as it was", &same),
    ] {
        let (mut world, mut opened, id, error) = after(change);
        assert_eq!(code(&error), Code::Conflict, "{how}: {error}");
        assert!(receipts(&mut world).is_empty(), "{how}");
        let left = content(&world, "notes.txt");
        assert!(
            left.ends_with(b"one\ntwo\nthree\n"),
            "{how}: nothing was done"
        );
        assert_ne!(waits(edits(&mut opened.session)), id, "{how}: it is void");
    }
}

#[test]
fn an_alias_that_leads_elsewhere_is_not_what_was_approved() {
    let (mut world, mut opened) = world();
    std::os::unix::fs::symlink("notes.txt", world.inside().join("alias")).unwrap();
    let through = Changes::new().with(change::replace(at("alias"), "h", "H"));
    let result = opened.session.change(&through);
    let id = waits(result);
    let names = world.control.proposal(id).unwrap().record.touched;
    assert_eq!(names.as_slice()[0].path.as_bytes(), b"notes.txt");
    approve(&mut world, id);
    std::fs::remove_file(world.inside().join("alias")).unwrap();
    std::os::unix::fs::symlink("other.txt", world.inside().join("alias")).unwrap();
    let error = opened.session.change(&through).unwrap_err();
    assert_eq!(code(&error), Code::Conflict, "{error}");
    assert_eq!(content(&world, "other.txt"), b"other\n");
    assert_eq!(content(&world, "notes.txt"), b"one\ntwo\nthree\n");
}

#[test]
fn a_parent_that_was_exchanged_and_a_name_that_appeared_are_told() {
    for exchange in ["parent", "name"] {
        let (mut world, mut opened) = world();
        world.write("d/keep", "");
        let creates = Changes::new().with(change::create(at("d/new"), "new\n"));
        let id = waits(opened.session.change(&creates));
        approve(&mut world, id);
        let d = world.inside().join("d");
        if exchange == "parent" {
            std::fs::rename(&d, world.inside().join("was-d")).unwrap();
            std::fs::create_dir(&d).unwrap();
        } else {
            std::fs::write(d.join("new"), "mine\n").unwrap();
        }
        let error = opened.session.change(&creates).unwrap_err();
        let told = code(&error);
        let expected = if exchange == "parent" {
            Code::Conflict
        } else {
            Code::Exists
        };
        assert_eq!(told, expected, "{exchange}: {error}");
        assert!(receipts(&mut world).is_empty());
        let made = world.inside().join("was-d/new").exists();
        assert!(!made, "nothing was done");
    }
}

#[test]
fn what_is_only_shown_with_an_approval_is_shown_once() {
    let (mut world, mut opened) = world();
    let session = &mut opened.session;
    let shows = |session: &mut Session| session.read_file(at("secret.txt"));
    let id = waits(shows(session));
    let shown = world.control.proposal(id).unwrap();
    assert_eq!(shown.record.rule.unwrap().name.as_str(), "secrets");
    approve(&mut world, id);
    assert_eq!(shows(session).unwrap().bytes, b"hush\n");
    let again = waits(shows(session));
    assert_ne!(again, id);
    approve(&mut world, again);
    world.write("secret.txt", "another secret\n");
    let error = shows(session).unwrap_err();
    assert_eq!(code(&error), Code::Conflict, "{error}");
    assert_eq!(read(session, "notes.txt").unwrap(), b"one\ntwo\nthree\n");
}

#[test]
fn a_session_that_is_over_leaves_nothing_to_decide() {
    let (mut world, mut opened) = world();
    let id = waits(edits(&mut opened.session));
    approve(&mut world, id);
    world.control.end(opened.id).unwrap();
    assert!(world.control.proposals(Whose::Own, 0).unwrap().is_empty());
    let gone = world.control.proposal(id).unwrap_err();
    assert_eq!(code(&gone), Code::Decided, "{gone}");
}

/// What somebody does between a decision and its use.
type Meanwhile = fn(&World);

/// A tree that is deleted whole, three deep.
fn delete_tree(session: &mut Session) -> Result<Outcome, Error> {
    let mut delete = change::delete(at("tree"));
    delete.what = Deletion::Tree;
    let changes = Changes::new().with(delete);
    session.change(&changes).map(|made| made.changed.outcome)
}

#[test]
fn a_tree_is_deleted_as_it_was_shown_down_to_its_last_file() {
    let change: [(&str, Meanwhile); 5] = [
        ("nothing", |_| {}),
        ("content", |world| {
            world.write("tree/a/b/deep.txt", "other\n");
        }),
        ("a new file", |world| {
            world.write("tree/a/b/new.txt", "new\n")
        }),
        ("one gone", |world| {
            std::fs::remove_file(world.inside().join("tree/a/b/deep.txt")).unwrap();
        }),
        ("another of the same content", |world| {
            let deep = world.inside().join("tree/a/b/deep.txt");
            let content = std::fs::read(&deep).unwrap();
            let beside = world.inside().join("beside");
            std::fs::write(&beside, content).unwrap();
            std::fs::rename(beside, deep).unwrap();
        }),
    ];
    for (what, change) in change {
        let (mut world, mut opened) = world();
        world.write("tree/top.txt", "top\n");
        world.write("tree/a/b/deep.txt", "deep\n");
        let id = waits(delete_tree(&mut opened.session));
        let lost = world.control.proposal(id).unwrap().record.lost;
        assert_eq!((lost.files, lost.directories, lost.bytes), (2, 3, 9));
        approve(&mut world, id);
        change(&world);
        let done = delete_tree(&mut opened.session);
        if what == "nothing" {
            assert_eq!(done.unwrap(), Outcome::Done);
            assert!(!world.inside().join("tree").exists());
            continue;
        }
        assert_eq!(code(&done.unwrap_err()), Code::Conflict, "{what}");
        assert!(world.inside().join("tree/top.txt").exists(), "{what}");
        assert!(receipts(&mut world).is_empty(), "{what}");
    }
}
