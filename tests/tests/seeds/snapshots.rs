//! What is kept for a task keeps what its roots are for good, over lives of the broker, and restores
//! no more than that: a directory that was replaced never, and of an older encoding no root at all.

use crate::scene::{Seat, life, roots, seal, seat, unread};
use portcullis_client::{Control, MintOrder, RestoreOrder, task_input};
use portcullis_protocol::authority::{Denial, RootId, Scope};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::control::{Sealed, TaskId};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Digest, RootIndex};
use portcullis_tests::anywhere;
use portcullis_warden::Embedded;
use std::fs;
use std::path::PathBuf;

/// One state over several lives of the broker.
struct Lives {
    control: Control,
    warden: Embedded,
    place: tempfile::TempDir,
}

fn start(place: &tempfile::TempDir) -> (Embedded, Control) {
    life(&place.path().join("state"))
}

impl Lives {
    fn new() -> Self {
        let place = tempfile::Builder::new()
            .prefix("portcullis-test-")
            .tempdir()
            .unwrap();
        let (warden, control) = start(&place);
        let lives = Self {
            place,
            control,
            warden,
        };
        lives.make();
        lives
    }

    fn inside(&self) -> PathBuf {
        self.place.path().join("inside")
    }

    fn make(&self) {
        fs::create_dir(self.inside()).unwrap();
        fs::write(self.inside().join("file"), "content\n").unwrap();
        fs::write(self.inside().join("secret"), "secret\n").unwrap();
    }

    /// The broker ends; `between` happens, and the next one has another name and other numbers.
    fn next(self, between: impl FnOnce(&Self)) -> Self {
        let Self {
            place,
            control,
            warden,
        } = self;
        let before = control.incarnation();
        drop((control, warden));
        let (warden, mut control) = start(&place);
        assert_ne!(before, control.incarnation());
        // So that ids of roots are others too.
        seal(&mut control, place.path(), Scope::External);
        let lives = Self {
            place,
            control,
            warden,
        };
        between(&lives);
        lives
    }

    /// A session with a denial, and a task of it.
    fn keep(&mut self) -> (Seat, TaskId) {
        let inside = self.inside();
        let root = seal(&mut self.control, &inside, Scope::Workspace);
        let order = MintOrder::new("ann")
            .conversation("c")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::READING)
            .deny("mine", "r", VerbSet::ALL, anywhere("secret"));
        let seat = seat(&mut self.control, &order, root);
        let task = self.control.seal_task(seat.id, input()).unwrap();
        (seat, task)
    }

    fn seal(&mut self) -> RootId {
        let inside = self.inside();
        seal(&mut self.control, &inside, Scope::Workspace)
    }

    #[track_caller]
    fn not_restored(&mut self, order: &RestoreOrder) -> Refusal {
        let error = self.control.restore(order).unwrap_err();
        let refusal = error.refusal().unwrap().clone();
        assert_eq!(refusal.code, Code::NotRestored, "{refusal}");
        refusal
    }
}

fn input() -> Digest {
    task_input(b"every morning")
}

fn order(task: TaskId) -> RestoreOrder {
    RestoreOrder::new(task, input(), "ann", "c")
}

#[test]
fn a_task_knows_its_directory_in_another_life_of_the_broker() {
    let mut lives = Lives::new();
    let (_, task) = lives.keep();
    let mut lives = lives.next(|_| {});
    let root = lives.seal();
    let (_, mut session) = lives
        .control
        .restore(&order(task).root(root, None))
        .unwrap();
    assert!(portcullis_tests::read(&mut session, "file").is_ok());
    assert_eq!(unread(&mut session, "secret"), Code::Denied);
    let identity = session.whoami().unwrap();
    assert!(
        identity
            .grants
            .as_slice()
            .iter()
            .all(|grant| grant.verbs == VerbSet::READING)
    );
    // Also when what is in it, and what is beside it, has changed.
    fs::write(lives.inside().join("file"), "changed\n").unwrap();
    let mut lives = lives.next(|_| {});
    let root = lives.seal();
    let restored = lives.control.restore(&order(task).root(root, None));
    let content = portcullis_tests::read(&mut restored.unwrap().1, "file");
    assert_eq!(content.unwrap(), b"changed\n");
}

#[test]
fn a_directory_that_was_replaced_is_not_the_one_that_was_kept() {
    let mut lives = Lives::new();
    let (_, task) = lives.keep();
    let mut lives = lives.next(|lives| {
        // The old one stays, so that its number is not used again.
        fs::rename(lives.inside(), lives.place.path().join("away")).unwrap();
        lives.make();
    });
    let root = lives.seal();
    let refusal = lives.not_restored(&order(task).root(root, None));
    let note = refusal.note.unwrap();
    let named = ["inode", "birth time", "file handle"];
    let named = named.iter().any(|field| note.as_str().contains(field));
    assert!(named, "it names the field that differs: {note}");
    // The one that was kept is not where it was, and denials are by place.
    let away = lives.place.path().join("away");
    let moved = seal(&mut lives.control, &away, Scope::Workspace);
    lives.not_restored(&order(task).root(moved, None));
    // Put back, it is what it was.
    fs::remove_dir_all(lives.inside()).unwrap();
    fs::rename(&away, lives.inside()).unwrap();
    let root = lives.seal();
    let restored = lives.control.restore(&order(task).root(root, None));
    assert!(portcullis_tests::read(&mut restored.unwrap().1, "file").is_ok());
}

#[test]
fn a_root_that_is_not_passed_again_is_not_there() {
    let mut lives = Lives::new();
    let (_, task) = lives.keep();
    let mut lives = lives.next(|_| {});
    let (_, mut session) = lives.control.restore(&order(task)).unwrap();
    assert!(roots(&mut session).is_empty());
    assert_eq!(unread(&mut session, "file"), Code::NoSuchRoot);
    let denials = session.whoami().unwrap().denials;
    let named = |name: &str| {
        let mut all = denials.as_slice().iter();
        all.any(|denial| denial.rule.name.as_str() == name)
    };
    assert!(named("mine"), "what was denied stays denied");
    // Another root than it had is none of it, whatever its label.
    let outside = lives.place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let other = lives
        .control
        .seal_path(&outside, Label::new("other").unwrap(), Scope::Workspace)
        .unwrap();
    let restored = lives.control.restore(&order(task).root(other.root, None));
    assert!(roots(&mut restored.unwrap().1).is_empty());
}

#[test]
fn an_unknown_or_damaged_task_restores_nothing() {
    let mut lives = Lives::new();
    let (_, task) = lives.keep();
    lives.not_restored(&order(TaskId([7; 16])));
    let lives = lives.next(|_| {});
    let database = lives.place.path().join("state/state.db");
    let mut lives = lives;
    for (damage, wanted) in [
        ("UPDATE tasks SET owner = 'bob'", "damaged"),
        (
            "UPDATE tasks SET owner = 'ann', body = substr(body, 1, 40)",
            "damaged",
        ),
        ("UPDATE tasks SET version = 9, body = x'0901'", "encoding 9"),
        ("DELETE FROM tasks", "no such task"),
    ] {
        lives = lives.next(|_| {});
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute(damage, ()).unwrap();
        drop(connection);
        let root = lives.seal();
        let refusal = lives.not_restored(&order(task).root(root, None));
        let note = refusal.note.unwrap();
        assert!(note.as_str().contains(wanted), "{damage}: {note}");
    }
}

#[test]
fn an_older_snapshot_keeps_its_restrictions_and_gets_no_roots() {
    let mut lives = Lives::new();
    let (mut seat, task) = lives.keep();
    let identity = seat.session.whoami().unwrap();
    let inside = lives.inside();
    let sealed = lives
        .control
        .seal_path(&inside, Label::new("workspace").unwrap(), Scope::Workspace)
        .unwrap();
    let encoded = legacy(&sealed, &identity.denials.as_slice()[0].rule);
    let mut lives = lives.next(|_| {});
    let connection = rusqlite::Connection::open(lives.place.path().join("state/state.db"));
    let changed = connection.unwrap().execute(
        "UPDATE tasks SET version = 1, authority = ?1, body = ?2",
        (
            blake3::hash(&encoded).to_hex().as_str(),
            [&[1], encoded.as_slice()].concat(),
        ),
    );
    assert_eq!(changed.unwrap(), 1);
    let root = lives.seal();
    let (_, mut session) = lives
        .control
        .restore(&order(task).root(root, None))
        .unwrap();
    assert!(roots(&mut session).is_empty());
    assert_eq!(unread(&mut session, "file"), Code::NoSuchRoot);
    let restored = session.whoami().unwrap();
    assert!(restored.grants.as_slice().is_empty());
    assert_eq!(restored.expires_ms, Some(u64::MAX / 2));
    let denial = &restored.denials.as_slice()[0];
    assert_eq!(denial.rule, identity.denials.as_slice()[0].rule);
    assert_eq!(denial.pattern, Some(Bytes::new("old-secret").unwrap()));
}

/// An authority as it was encoded before roots had anything that lasts: request, owner, roots,
/// grants, denials, expiry.
fn legacy(sealed: &Sealed, rule: &portcullis_protocol::refusal::Rule) -> Vec<u8> {
    use portcullis_protocol::authority::{DenialTarget, Effect, FileSystem};
    use portcullis_protocol::bounded::Text;
    type Name = Text<{ portcullis_protocol::limits::REASON_BYTES_MAX }>;
    let root = (
        sealed.root,
        Label::new("workspace").unwrap(),
        Scope::Workspace,
        sealed.location.clone(),
        sealed.identity,
        FileSystem::Ext,
    );
    let grant = (RootIndex(0), RelPath::root(), VerbSet::ALL);
    let Denial {
        rule,
        verbs,
        target,
        effect,
    } = Denial {
        rule: rule.clone(),
        verbs: VerbSet::ALL,
        target: DenialTarget::Pattern {
            anchor: None,
            pattern: Bytes::new("old-secret").unwrap(),
        },
        effect: Effect::Deny,
    };
    let parts = (
        Name::new("r").unwrap(),
        Name::new("ann").unwrap(),
        vec![root],
        vec![grant],
        vec![(rule, verbs, target, effect)],
        Some(u64::MAX / 2),
    );
    postcard::to_allocvec(&parts).unwrap()
}
