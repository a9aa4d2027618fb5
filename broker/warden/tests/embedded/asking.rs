//! Approvals, as a warden sees them: what is asked for, held, decided and done once, by gates that
//! die where it hurts.

use crate::effects::{Session, TempDir, config, log, verified};
use crate::runtime::{Runtime, no_children_soon};
use portcullis_protocol::approval::{Approval, Approver, ProposalId, ProposalState};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::control::{
    Answer, Decide, Decided, Deciding, Decision, GrantOrder, OpenDecider, Order, OverCause, Proof,
    ProposalRecord, ProposalSummary, Proposals, ShowProposal, Whose, Witness,
};
use portcullis_protocol::limits::PROPOSALS_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::Outcome;
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Digest, PathState};
use portcullis_warden::{Embedded, StatePlace, set_passphrase};
use std::path::Path;
use std::time::Duration;

/// May write, and read, with an approval for each use.
pub(crate) fn asking(runtime: &mut Runtime, deciding: Deciding) -> Session {
    let mut order = runtime.order("puppet", VerbSet::of(&[Verb::List]));
    let grant = order.grants.as_slice()[0].clone();
    order.asks = Few::new(vec![GrantOrder {
        verbs: VerbSet::of(&[Verb::Write, Verb::Read]),
        ..grant
    }])
    .unwrap();
    order.deciding = deciding;
    Session::of(runtime.mint_as(order).unwrap())
}

struct World {
    root: TempDir,
    warden: Embedded,
    runtime: Runtime,
    session: Session,
}

impl World {
    fn new(name: &str) -> Self {
        Self::with(name, Deciding::Anyone)
    }

    fn with(name: &str, deciding: Deciding) -> Self {
        let root = TempDir::new(name);
        let warden = Embedded::start(config(StatePlace::Private)).unwrap();
        let mut runtime = Runtime::greeted_in(&warden, &root.0);
        let session = asking(&mut runtime, deciding);
        Self {
            root,
            warden,
            runtime,
            session,
        }
    }

    fn how(&self, how: &str) {
        std::fs::write(self.root.0.join("how"), how).unwrap();
    }

    /// Asks for something that waits, or is refused at once.
    fn asks(&self, words: &str) -> String {
        self.session.ask(&format!("ask {words}"))
    }

    /// Asks for something that was approved: what its own gate tells the worker, and what the session's
    /// gate is told.
    fn does(&self, words: &str) -> (String, String) {
        assert_eq!(self.session.tell(&format!("ask {words}")), "said");
        let told = self.session.reply().unwrap();
        (told, self.session.tell("hear"))
    }

    fn approves(&mut self, id: u64) -> Result<Decided, Code> {
        decide(&mut self.runtime, id, Decision::Approve)
    }

    fn waits(&mut self) -> Vec<ProposalSummary> {
        list(&mut self.runtime, Whose::Own).unwrap()
    }
}

pub(crate) fn list(runtime: &mut Runtime, whose: Whose) -> Result<Vec<ProposalSummary>, Code> {
    let answer = runtime.ask(Order::Proposals(Proposals { whose, after: 0 }));
    if let Answer::Refused(refusal) = answer {
        return Err(refusal.code);
    }
    let Answer::Proposals(page) = answer else {
        panic!("{answer:?}");
    };
    Ok(page.proposals.into_vec())
}

fn show(runtime: &mut Runtime, id: u64) -> Result<(ProposalRecord, Vec<u8>), Code> {
    let order = Order::Proposal(ShowProposal { id: ProposalId(id) });
    match runtime.ask_content(&order) {
        (Answer::Proposal(record), diff) => Ok((record, diff)),
        (Answer::Refused(refusal), _) => Err(refusal.code),
        other => panic!("{other:?}"),
    }
}

/// Decides about what it is shown.
pub(crate) fn decide(runtime: &mut Runtime, id: u64, decision: Decision) -> Result<Decided, Code> {
    let input = show(runtime, id).map_or(Digest([0; 32]), |(record, _)| record.input);
    decide_by(runtime, id, (input, decision), Proof::Connection)
}

fn decide_by(
    runtime: &mut Runtime,
    id: u64,
    (input, decision): (Digest, Decision),
    proof: Proof,
) -> Result<Decided, Code> {
    let order = Order::Decide(Decide {
        id: ProposalId(id),
        input,
        decision,
        proof,
    });
    let answer = runtime.ask(order);
    if let Answer::Refused(refusal) = answer {
        return Err(refusal.code);
    }
    let Answer::Decided(decided) = answer else {
        panic!("{answer:?}");
    };
    Ok(decided)
}

pub(crate) const fn approved(approver: Approver) -> Result<Decided, Code> {
    Ok(Decided {
        state: ProposalState::Approved,
        approver,
    })
}

pub(crate) fn what_is_approved_is_done_once_by_a_gate_of_its_own() {
    let mut world = World::new("once");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    assert!(!world.root.0.join("a").exists());
    let [waits] = <[_; 1]>::try_from(world.waits()).unwrap();
    assert_eq!(
        (waits.session, waits.state, waits.verb, waits.names),
        (world.session.id, ProposalState::Pending, Verb::Write, 1)
    );
    let place = world.root.0.canonicalize().unwrap().join("a");
    assert_eq!(format!("/{}", waits.place), place.to_str().unwrap());
    let (record, diff) = show(&mut world.runtime, 1).unwrap();
    assert_eq!((record.summary, diff.as_slice()), (waits, &b"+new\n"[..]));
    assert_eq!(record.touched.as_slice()[0].before, PathState::Absent);
    let other = (Digest([0; 32]), Decision::Approve);
    let seen = decide_by(&mut world.runtime, 1, other, Proof::Connection);
    assert_eq!(seen, Err(Code::Conflict), "it is not what was shown");
    assert_eq!(world.approves(1), approved(Approver::Runtime));
    assert_eq!(world.approves(1), Err(Code::Decided));
    let done = ("done".to_owned(), "answered 9 used".to_owned());
    assert_eq!(world.does("write a"), done);
    assert!(world.root.0.join("a").exists());
    let [receipt] = <[_; 1]>::try_from(log(&mut world.runtime, world.session.run)).unwrap();
    let approval = Approval {
        proposal: ProposalId(1),
        approver: Approver::Runtime,
    };
    assert_eq!(
        (receipt.end.outcome, receipt.witness, receipt.approval),
        (Outcome::Done, Witness::Gate, Some(approval))
    );
    assert!(world.waits().is_empty(), "it is spent");
    assert_eq!(world.approves(1), Err(Code::Decided));
    // Asked again it is another proposal, about what is there now.
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 2");
    verified(&mut world.runtime);
}

pub(crate) fn what_only_shows_is_claimed_before_it_is_shown() {
    let mut world = World::new("shows");
    assert_eq!(world.asks("read a"), "not begun 9 needs_approval 1");
    world.approves(1).unwrap();
    // An approved absence does not cover what has appeared.
    std::fs::write(world.root.0.join("a"), "x").unwrap();
    let refused = (
        "refused conflict".to_owned(),
        "answered 9 unused".to_owned(),
    );
    assert_eq!(world.does("read a"), refused);
    assert_eq!(world.asks("read a"), "not begun 9 needs_approval 2");
    world.approves(2).unwrap();
    let shown = ("shown".to_owned(), "answered 9 used".to_owned());
    assert_eq!(world.does("read a"), shown);
    assert_eq!(world.asks("read a"), "not begun 9 needs_approval 3");
    assert!(log(&mut world.runtime, world.session.run).is_empty());
}

pub(crate) fn what_is_refused_or_beyond_asking_is_not_done() {
    let mut world = World::new("refused");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    let refused = decide(&mut world.runtime, 1, Decision::Refuse).unwrap();
    assert_eq!(refused.state, ProposalState::Refused);
    assert_eq!(world.asks("write a"), "not begun 9 denied");
    assert_eq!(world.asks("write a"), "not begun 9 denied");
    assert_eq!(
        world.asks("delete how"),
        "not begun 9 io",
        "no ask covers it"
    );
    assert_eq!(world.asks("nothing a"), "not begun 9 not_found");
    for n in 0..PROPOSALS_MAX {
        let waits = world.asks(&format!("write f{n}"));
        assert!(waits.contains("needs_approval"), "{n}: {waits}");
    }
    assert_eq!(world.asks("write g"), "not begun 9 too_many_in_flight");
}

pub(crate) fn what_has_changed_since_is_refused_and_never_spent() {
    for (name, change) in [
        (
            "replaced",
            (|at: &Path| {
                std::fs::write(at.with_extension("new"), "old").unwrap();
                std::fs::rename(at.with_extension("new"), at).unwrap();
            }) as fn(&Path),
        ),
        ("edited", |at| std::fs::write(at, "other").unwrap()),
        ("removed", |at| std::fs::remove_file(at).unwrap()),
    ] {
        let mut world = World::new(name);
        let at = world.root.0.join("a");
        std::fs::write(&at, "old").unwrap();
        assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
        world.approves(1).unwrap();
        change(&at);
        let refused = (
            "refused conflict".to_owned(),
            "answered 9 unused".to_owned(),
        );
        assert_eq!(world.does("write a"), refused, "{name}");
        assert!(log(&mut world.runtime, world.session.run).is_empty());
        // It is void, and nobody can bring it back.
        assert_eq!(world.approves(1), Err(Code::Decided));
        assert_eq!(world.asks("write a"), "not begun 9 needs_approval 2");
    }
    let mut world = World::new("other");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    world.approves(1).unwrap();
    world.how("other");
    let refused = (
        "refused conflict".to_owned(),
        "answered 9 unused".to_owned(),
    );
    assert_eq!(
        world.does("write a"),
        refused,
        "a gate that does another thing"
    );
}

pub(crate) fn what_failed_may_be_done_again_and_no_more() {
    let mut world = World::new("failed");
    world.how("failed");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    world.approves(1).unwrap();
    let failed = ("failed".to_owned(), "answered 9 used".to_owned());
    assert_eq!(world.does("write a"), failed);
    assert_eq!(world.does("write a"), failed);
    world.how("die-before");
    assert_eq!(world.asks("write a"), "not begun 9 io");
    world.how("done");
    let done = ("done".to_owned(), "answered 9 used".to_owned());
    assert_eq!(world.does("write a"), done);
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 2");
    let ends = log(&mut world.runtime, world.session.run).into_iter();
    let ends: Vec<_> = ends
        .map(|receipt| (receipt.end.outcome, receipt.approval.map(|a| a.proposal)))
        .collect();
    let first = Some(ProposalId(1));
    assert_eq!(
        ends,
        [
            (Outcome::Failed, first),
            (Outcome::Failed, first),
            (Outcome::Done, first)
        ]
    );
    verified(&mut world.runtime);
}

pub(crate) fn a_gate_that_dies_at_it_is_settled_and_ends_its_session() {
    for (how, outcome) in [("die-begun", Outcome::Failed), ("die-done", Outcome::Done)] {
        let mut world = World::new(how);
        world.how(how);
        assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
        world.approves(1).unwrap();
        assert_eq!(world.session.tell("ask write a"), "said");
        let over = world.runtime.over();
        assert_eq!(over.cause, OverCause::GateDied, "{how}");
        let [receipt] = <[_; 1]>::try_from(log(&mut world.runtime, world.session.run)).unwrap();
        assert_eq!(
            (receipt.end.outcome, receipt.witness),
            (outcome, Witness::Observer),
            "{how}"
        );
        assert_eq!(receipt.approval.unwrap().proposal, ProposalId(1));
        assert_eq!(world.approves(1), Err(Code::Decided), "{how}");
        assert!(world.waits().is_empty());
        no_children_soon();
    }
}

pub(crate) fn an_ended_session_waits_for_what_was_approved_and_leaves_nothing() {
    let mut world = World::new("ended");
    world.how("slow");
    assert_eq!(world.asks("write b"), "not begun 9 needs_approval 1");
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 2");
    world.approves(2).unwrap();
    assert_eq!(world.session.tell("ask write a"), "said");
    // Long enough to begin, and not to end.
    std::thread::sleep(Duration::from_millis(150));
    let ended = world.runtime.end(world.session.id);
    assert!(matches!(ended, Answer::Ended(_)), "{ended:?}");
    // Nothing is left of it, held or at work.
    no_children_soon();
    let over = world.runtime.over();
    assert_eq!(over.cause, OverCause::Revoked);
    let [receipt] = <[_; 1]>::try_from(log(&mut world.runtime, world.session.run)).unwrap();
    assert_eq!(receipt.end.outcome, Outcome::Done);
    assert_eq!(world.approves(1), Err(Code::Decided), "void with it");
}

pub(crate) fn gates_that_ask_falsely_are_ended() {
    for words in ["ask-alone", "ask-otherwise"] {
        let mut world = World::new(words);
        world.session.send(words);
        assert_eq!(world.runtime.over().cause, OverCause::GateDied, "{words}");
    }
    // One that has nothing to ask for.
    let root = TempDir::new("nothing");
    let warden = Embedded::start(config(StatePlace::Private)).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = Session::new(&mut runtime, "puppet");
    session.send("ask write a");
    assert_eq!(runtime.over().cause, OverCause::GateDied);
}

pub(crate) fn who_sees_and_decides_is_a_matter_of_the_connection() {
    let mut world = World::with("deciders", Deciding::Decider);
    assert_eq!(world.asks("write a"), "not begun 9 needs_approval 1");
    assert_eq!(world.approves(1), Err(Code::NotDecider));
    // An operator sees it, and may not either.
    let mut operator = Runtime::connect(&world.warden);
    operator.hello();
    assert_eq!(list(&mut operator, Whose::All).unwrap().len(), 1);
    assert!(list(&mut operator, Whose::Own).unwrap().is_empty());
    let approves = |runtime: &mut Runtime, id| decide(runtime, id, Decision::Approve);
    assert_eq!(approves(&mut operator, 1), Err(Code::NotDecider));
    // Another runtime does not even see it, nor does its decider.
    let mut other = Runtime::greeted_in(&world.warden, &world.root.0);
    let others = asking(&mut other, Deciding::Anyone);
    assert_eq!(list(&mut other, Whose::All), Err(Code::NotDecider));
    assert_eq!(approves(&mut other, 1), Err(Code::UnknownProposal));
    let mut theirs = decider(&mut other);
    assert_eq!(approves(&mut theirs, 1), Err(Code::UnknownProposal));
    // The decider does, and can do nothing else.
    let mut decider = decider(&mut world.runtime);
    assert_eq!(list(&mut decider, Whose::Own).unwrap().len(), 1);
    assert_eq!(list(&mut decider, Whose::All), Err(Code::NotDecider));
    let mint = Order::Mint(decider.order("puppet", VerbSet::ALL));
    for order in [mint, Order::OpenDecider(OpenDecider {})] {
        let Answer::Refused(refusal) = decider.ask(order) else {
            panic!("it does more than decide");
        };
        assert_eq!(refusal.code, Code::OutOfTurn);
    }
    assert_eq!(approves(&mut decider, 1), approved(Approver::Decider));
    assert_eq!(approves(&mut decider, 1), Err(Code::Decided));
    // Where anyone may, the receipt says who it was.
    assert_eq!(others.ask("ask write a"), "not begun 9 needs_approval 2");
    assert_eq!(approves(&mut operator, 2), approved(Approver::SameUid));
    drop(world.runtime);
    assert!(decider.is_closed(), "it ends with its opener");
}

fn decider(runtime: &mut Runtime) -> Runtime {
    let (answer, sockets) = runtime.ask_with(&Order::OpenDecider(OpenDecider {}), &[]);
    assert!(matches!(answer, Answer::Decider(_)), "{answer:?}");
    let [socket] = <[_; 1]>::try_from(sockets).unwrap();
    let mut decider = Runtime::on(socket);
    decider.hello();
    decider
}

pub(crate) fn a_passphrase_is_demanded_of_everyone_of_the_same_user() {
    const WORDS: &[u8] = b"correct horse";
    let root = TempDir::new("words-root");
    let state = TempDir::new("words");
    set_passphrase(&state.0, None, WORDS).unwrap();
    let warden = Embedded::start(config(StatePlace::At(state.0.clone()))).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = asking(&mut runtime, Deciding::Anyone);
    assert_eq!(session.ask("ask write a"), "not begun 9 needs_approval 1");
    let input = show(&mut runtime, 1).unwrap().0.input;
    let shows = |runtime: &mut Runtime, words: &[u8]| {
        let proof = Proof::Passphrase(Bytes::new(words).unwrap());
        decide_by(runtime, 1, (input, Decision::Approve), proof)
    };
    let approves = |runtime: &mut Runtime| decide(runtime, 1, Decision::Approve);
    let mut decider = decider(&mut runtime);
    for peer in [&mut runtime, &mut decider] {
        assert_eq!(approves(peer), Err(Code::NotDecider));
        assert_eq!(shows(peer, b"battery staple"), Err(Code::NotDecider));
    }
    assert_eq!(shows(&mut runtime, WORDS), approved(Approver::Passphrase));
}

pub(crate) fn a_stopped_warden_leaves_nothing_that_could_be_used() {
    let root = TempDir::new("stopped-root");
    let state = TempDir::new("stopped");
    let place = || StatePlace::At(state.0.clone());
    let warden = Embedded::start(config(place())).unwrap();
    let mut runtime = Runtime::greeted_in(&warden, &root.0);
    let session = asking(&mut runtime, Deciding::Anyone);
    assert_eq!(session.ask("ask write a"), "not begun 9 needs_approval 1");
    assert_eq!(session.ask("ask write b"), "not begun 9 needs_approval 2");
    decide(&mut runtime, 1, Decision::Approve).unwrap();
    drop((warden, runtime));
    no_children_soon();
    let warden = Embedded::start(config(place())).unwrap();
    let mut operator = Runtime::connect(&warden);
    operator.hello();
    assert!(list(&mut operator, Whose::All).unwrap().is_empty());
    for id in [1, 2] {
        let again = decide(&mut operator, id, Decision::Approve);
        assert_eq!(again, Err(Code::Decided), "void");
    }
    let never = decide(&mut operator, 3, Decision::Approve);
    assert_eq!(never, Err(Code::UnknownProposal));
}
