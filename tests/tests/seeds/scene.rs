//! What the tests of this suite share: sessions that may only ask, proposals, decisions, receipts.

use portcullis_client::change::Item;
use portcullis_client::{Changes, Control, MintOrder, Session, ask};
use portcullis_protocol::approval::{Approver, ProposalId};
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::control::{Decision, Proof, Receipt, RunId};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Changed, Outcome, Selector, SessionId};
use portcullis_protocol::verb::VerbSet;
use portcullis_tests::{World, own};
use portcullis_warden::{Config, Embedded, GateExecutable, StartError, StateError, StatePlace};
use std::path::Path;
use std::time::{Duration, Instant};

/// A warden with empty directories.
pub(crate) fn world() -> World {
    World::new(own!("own-gate"))
}

/// A broker whose state is in this directory, and a runtime's connection to it.
pub(crate) fn life(state: &Path) -> (Embedded, Control) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let started = Embedded::start(Config {
            gate: GateExecutable::At(own!("own-gate")),
            state: StatePlace::At(state.to_owned()),
            ..Config::default()
        });
        match started {
            Ok(warden) => {
                let control = Control::new(warden.connect().unwrap()).unwrap();
                return (warden, control);
            }
            // A gate that another test starts at this moment has all locks of this process, until
            // it is another program.
            Err(StartError::State(StateError::InUse { .. })) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A session with what the runtime knows of it.
pub(crate) struct Seat {
    pub(crate) session: Session,
    pub(crate) id: SessionId,
    pub(crate) run: RunId,
    pub(crate) root: RootId,
}

/// A session on all of `inside` that may read as it likes, and change with an approval each time.
pub(crate) fn asking(world: &mut World) -> Seat {
    asking_with(world, |order, _| order)
}

/// The same, with whatever `change` adds.
pub(crate) fn asking_with(
    world: &mut World,
    change: impl FnOnce(MintOrder, RootId) -> MintOrder,
) -> Seat {
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let order = MintOrder::new("tester")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .ask(root, RelPath::root(), VerbSet::WRITING);
    seat(&mut world.control, &change(order, root), root)
}

/// Mints an order.
pub(crate) fn seat(control: &mut Control, order: &MintOrder, root: RootId) -> Seat {
    let (minted, session) = control.mint(order).unwrap();
    Seat {
        session,
        id: minted.session,
        run: minted.run,
        root,
    }
}

/// Seals a directory as a root of this scope.
pub(crate) fn seal(control: &mut Control, path: &Path, scope: Scope) -> RootId {
    let label = Label::new("workspace").unwrap();
    control.seal_path(path, label, scope).unwrap().root
}

/// A name as a worker writes it.
#[track_caller]
pub(crate) fn at(path: impl AsRef<[u8]>) -> Selector {
    ask::selector(path).unwrap()
}

/// One change.
pub(crate) fn one(item: impl Into<Item>) -> Changes {
    Changes::new().with(item)
}

/// It is done.
#[track_caller]
pub(crate) fn done(session: &mut Session, changes: &Changes) -> Changed {
    let made = session.change(changes);
    let changed = made.unwrap_or_else(|error| panic!("{error}: {changes:?}"));
    assert_eq!(changed.changed.outcome, Outcome::Done, "{changed:?}");
    changed.changed
}

/// It is refused before it is begun.
#[track_caller]
pub(crate) fn refused(session: &mut Session, changes: &Changes) -> Refusal {
    let error = match session.change(changes) {
        Ok(made) => panic!("it was done: {made:?} {changes:?}"),
        Err(error) => error,
    };
    assert!(error.receipt().is_none(), "it was begun: {error:?}");
    assert_eq!(error.changed(), portcullis_client::Changed::Unchanged);
    let refusal = error.refusal().unwrap_or_else(|| panic!("{error}"));
    no_host_path(refusal);
    refusal.clone()
}

/// A worker is told no path of the host that it did not write itself.
#[track_caller]
pub(crate) fn no_host_path(refusal: &Refusal) {
    let note = refusal.note.as_ref().map_or("", |note| note.as_str());
    assert!(!note.contains("portcullis-test-"), "a host path: {refusal}");
}

/// It waits for a decision.
#[track_caller]
pub(crate) fn proposed(session: &mut Session, changes: &Changes) -> ProposalId {
    let refusal = refused(session, changes);
    assert_eq!(refusal.code, Code::NeedsApproval, "{refusal}");
    refusal.proposal.unwrap_or_else(|| panic!("{refusal}"))
}

/// Decides as the runtime, about what it was shown.
#[track_caller]
pub(crate) fn decide(control: &mut Control, id: ProposalId, decision: Decision) -> Approver {
    let input = control.proposal(id).unwrap().record.input;
    let decided = control.decide(id, input, decision, Proof::Connection);
    decided.unwrap().approver
}

/// Approves as the runtime.
#[track_caller]
pub(crate) fn approve(control: &mut Control, id: ProposalId) {
    decide(control, id, Decision::Approve);
}

/// Asks, and has it approved.
#[track_caller]
pub(crate) fn approved(
    control: &mut Control,
    session: &mut Session,
    changes: &Changes,
) -> ProposalId {
    let id = proposed(session, changes);
    approve(control, id);
    id
}

/// What has become of a proposal.
#[track_caller]
pub(crate) fn state(control: &mut Control, id: ProposalId) -> String {
    match control.proposal(id) {
        Ok(proposal) => proposal.record.summary.state.name().to_owned(),
        Err(error) => {
            let refusal = error.refusal().unwrap_or_else(|| panic!("{error}"));
            assert_eq!(refusal.code, Code::Decided, "{refusal}");
            let note = refusal.note.as_ref().unwrap().as_str();
            note.strip_prefix("it is ").unwrap().to_owned()
        }
    }
}

/// A proposal comes to be in this state: the worker is answered before the last gate is gone.
#[track_caller]
pub(crate) fn becomes(control: &mut Control, id: ProposalId, wanted: &str) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let is = state(control, id);
        if is == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{id:?} is {is} and not {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The receipts of a run.
#[track_caller]
pub(crate) fn receipts(control: &mut Control, run: RunId) -> Vec<Receipt> {
    control.log(run, 0).unwrap()
}

/// The names that a session's roots have.
#[track_caller]
pub(crate) fn roots(session: &mut Session) -> Vec<String> {
    let identity = session.whoami().unwrap();
    let roots = identity.roots.as_slice().iter();
    roots.map(|root| root.label.as_str().to_owned()).collect()
}

/// The code of what a read is refused with.
#[track_caller]
pub(crate) fn unread(session: &mut Session, path: impl AsRef<[u8]>) -> Code {
    match portcullis_tests::read(session, path.as_ref()) {
        Ok(bytes) => panic!("it was read: {bytes:?}"),
        Err(code) => code,
    }
}
