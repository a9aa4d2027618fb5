//! In whatever order sessions ask, people decide, gates do, die and come back: an approval is used
//! at most once, and what is on record says so. The table and the database are the real ones; only
//! gates are played.

mod things;

use super::*;
use crate::state::{Claim, IntentId, NewSession, SessionRow};
use crate::testing::TempDir;
use portcullis_protocol::authority::{Authority, Budgets, Parts};
use portcullis_protocol::bounded::Text;
use portcullis_protocol::control::{RunId, Witness};
use portcullis_protocol::session::{Incarnation, Outcome};
use proptest::prelude::*;
use things::{begin, cage, end, intent, made, open};

const SESSIONS: usize = 2;
const INPUTS: u8 = 2;

/// What may happen next; a number chooses among what there is.
#[derive(Debug, Clone, Copy)]
enum Happens {
    /// A session asks for an operation. Where it was approved, a gate does this.
    Ask(usize, u8, Does),
    Decide(usize, Decision),
    /// The gate that holds one dies, or its time is over.
    Lose(usize),
    /// A gate that was left in the middle is settled, or is not any more.
    Settle(usize, Outcome),
    /// A session would use any approval that ever was, by whatever right.
    Replay(usize, usize),
    EndSession(usize),
    /// The broker dies, and another takes its state.
    Crash(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Approve,
    Refuse,
    /// For something else than what is there.
    OtherInput,
}

/// What the gate of an approved operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// It is an effect, and ends so.
    Effect(Outcome),
    /// It begins, and dies.
    BeginAndDie,
    /// It dies before.
    Die,
    /// What it would do is not what was approved.
    Differ,
    /// It shows something.
    Show,
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Failed),
        Just(Outcome::Uncertain)
    ]
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => outcome().prop_map(Does::Effect),
        2 => Just(Does::BeginAndDie),
        1 => Just(Does::Die),
        1 => Just(Does::Differ),
        1 => Just(Does::Show),
    ]
}

fn happens() -> impl Strategy<Value = Happens> {
    let decision = prop_oneof![
        4 => Just(Decision::Approve),
        1 => Just(Decision::Refuse),
        1 => Just(Decision::OtherInput)
    ];
    prop_oneof![
        8 => (0..SESSIONS, 0..INPUTS, does()).prop_map(|(s, i, d)| Happens::Ask(s, i, d)),
        5 => (any::<usize>(), decision).prop_map(|(n, d)| Happens::Decide(n, d)),
        1 => any::<usize>().prop_map(Happens::Lose),
        3 => (any::<usize>(), outcome()).prop_map(|(n, o)| Happens::Settle(n, o)),
        4 => (0..SESSIONS, any::<usize>()).prop_map(|(s, n)| Happens::Replay(s, n)),
        1 => (0..SESSIONS).prop_map(Happens::EndSession),
        1 => outcome().prop_map(Happens::Crash),
    ]
}

/// What the model knows of one proposal.
#[derive(Debug, Clone)]
struct Known {
    row: SessionRow,
    state: ProposalState,
    approver: Approver,
    /// Effects and showings by it that may have happened.
    uses: u32,
}

/// A gate that began and died.
struct Left {
    id: IntentId,
    session: usize,
    proposal: ProposalId,
    execution: Execution,
}

struct World {
    dir: TempDir,
    state: Option<State>,
    proposals: Proposals,
    run: RunId,
    life: u8,
    next_session: u64,
    sessions: Vec<(SessionId, SessionRow)>,
    known: BTreeMap<ProposalId, Known>,
    left: Vec<Left>,
    /// Their gates.
    keeping: Vec<Keeping>,
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new();
        let state = open(&dir);
        let run = state.begin_run("a request", "somebody").unwrap();
        let mut world = Self {
            dir,
            state: Some(state),
            proposals: Proposals::default(),
            run,
            life: 1,
            next_session: 1,
            sessions: Vec::new(),
            known: BTreeMap::new(),
            left: Vec::new(),
            keeping: Vec::new(),
        };
        world.sessions = (0..SESSIONS).map(|_| world.session()).collect();
        world
    }

    fn state(&self) -> &State {
        self.state.as_ref().unwrap()
    }

    fn session(&mut self) -> (SessionId, SessionRow) {
        let authority = Authority::seal(Parts {
            request: Text::default(),
            owner: Text::default(),
            conversation: Text::default(),
            parent: None,
            roots: Vec::new(),
            grants: Vec::new(),
            asks: Vec::new(),
            denials: Vec::new(),
            budgets: Budgets::UNLIMITED,
            expires_ms: None,
        })
        .unwrap();
        let id = SessionId(self.next_session);
        self.next_session += 1;
        let row = self.state().begin_session(&NewSession {
            run: self.run,
            incarnation: Incarnation([self.life; 16]),
            session: id,
            authority: &authority,
            encoded: None,
            cage: &cage(),
        });
        (id, row.unwrap())
    }

    fn pick(&self, n: usize) -> Option<ProposalId> {
        let count = self.known.len();
        let ids = self.known.keys();
        (count > 0).then(|| ids.copied().nth(n % count)).flatten()
    }

    fn is_busy(&self, session: usize) -> bool {
        self.left.iter().any(|left| left.session == session)
    }

    fn become_(&mut self, id: ProposalId, state: ProposalState) {
        self.known.get_mut(&id).unwrap().state = state;
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Happens::Ask(session, input, does) => self.ask(session, input, does),
            Happens::Decide(n, decision) => self.decide(n, decision),
            Happens::Lose(n) => {
                let Some(id) = self.pick(n) else { return };
                self.proposals.lost(self.state(), id);
                let in_use = self.left.iter().any(|left| left.proposal == id);
                let waits = [ProposalState::Pending, ProposalState::Approved];
                if waits.contains(&self.known[&id].state) && !in_use {
                    self.become_(id, ProposalState::Void);
                }
            }
            Happens::Settle(n, outcome) => self.settle(n, outcome),
            Happens::Replay(session, n) => self.replay(session, n),
            Happens::EndSession(session) => self.end_session(session),
            Happens::Crash(outcome) => self.crash(outcome),
        }
    }

    fn ask(&mut self, session: usize, input: u8, does: Does) {
        let who = self.sessions[session];
        let found = self
            .proposals
            .find(self.state(), (who.0, Family(who.0)), Digest([input; 32]))
            .unwrap();
        let is = |known: &Known, state| known.row == who.1 && known.state == state;
        match found {
            Found::New(place) => {
                let (holder, keeping) = Holder::new();
                self.keeping.push(keeping);
                let id = place.fill(self.state(), made(who, input, holder)).unwrap();
                let known = Known {
                    row: who.1,
                    state: ProposalState::Pending,
                    approver: Approver::Runtime,
                    uses: 0,
                };
                assert!(
                    self.known.insert(id, known).is_none(),
                    "a number of its own"
                );
            }
            Found::Pending(id) => assert!(is(&self.known[&id], ProposalState::Pending)),
            Found::Refused(id) => assert!(is(&self.known[&id], ProposalState::Refused)),
            Found::Approved(execution) => {
                let id = execution.approval().proposal;
                assert!(is(&self.known[&id], ProposalState::Approved));
                self.execute(session, input, execution, does);
            }
            Found::Busy => assert!(self.is_busy(session)),
            Found::Full(refusal) => panic!("{refusal}"),
        }
    }

    fn execute(&mut self, session: usize, input: u8, execution: Execution, does: Does) {
        let row = self.sessions[session].1;
        let approval = execution.approval();
        let id = approval.proposal;
        let ended = match does {
            Does::Die => Ended::OnRecord,
            Does::Differ => {
                let other = intent(input, "y");
                assert!(bound::same(execution.intent(), &other).is_err());
                self.become_(id, ProposalState::Void);
                Ended::Changed
            }
            Does::Show => {
                self.state().spend_shown(row, &approval).unwrap();
                self.used(id);
                Ended::OnRecord
            }
            // One effect at a time, as its turn makes sure.
            Does::Effect(_) | Does::BeginAndDie if self.is_busy(session) => Ended::OnRecord,
            Does::Effect(outcome) => {
                let intent = self.begun(row, &approval, execution.intent());
                self.finish(intent, id, outcome, ProposalState::Approved);
                Ended::OnRecord
            }
            Does::BeginAndDie => {
                let intent = self.begun(row, &approval, execution.intent());
                self.left.push(Left {
                    id: intent,
                    session,
                    proposal: id,
                    execution,
                });
                return;
            }
        };
        execution.end(self.state(), ended);
    }

    fn begun(&mut self, row: SessionRow, approval: &Approval, intent: &Intent) -> IntentId {
        let cage = cage();
        let claim = Claim {
            approval: *approval,
            cage: &cage,
        };
        let begun = self.state().begin(row, &begin(intent), Some(&claim));
        self.used(approval.proposal);
        begun.unwrap()
    }

    fn used(&mut self, id: ProposalId) {
        let known = self.known.get_mut(&id).unwrap();
        assert_eq!(known.state, ProposalState::Approved, "only then");
        known.state = ProposalState::Spent;
        known.uses += 1;
        assert_eq!(known.uses, 1, "at most once");
    }

    /// The receipt of an effect; a failed one gives its approval back.
    fn finish(&mut self, intent: IntentId, id: ProposalId, outcome: Outcome, back: ProposalState) {
        let state = self.state();
        state
            .finish(intent, &end(outcome), &[], Witness::Observer)
            .unwrap();
        if outcome == Outcome::Failed {
            let known = self.known.get_mut(&id).unwrap();
            known.uses -= 1;
            known.state = back;
        }
    }

    fn settle(&mut self, n: usize, outcome: Outcome) {
        if self.left.is_empty() {
            return;
        }
        let left = self.left.swap_remove(n % self.left.len());
        self.finish(left.id, left.proposal, outcome, ProposalState::Approved);
        left.execution.end(self.state(), Ended::OnRecord);
        // Its gate may have been lost meanwhile.
        let held = self.proposals.show(Sees::All, left.proposal).is_ok();
        if outcome == Outcome::Failed && !held {
            self.become_(left.proposal, ProposalState::Void);
        }
    }

    fn decide(&mut self, n: usize, decision: Decision) {
        let Some(id) = self.pick(n) else { return };
        let shown = self.proposals.show(Sees::All, id);
        let seen = shown.map_or(Digest([9; 32]), |(record, _)| record.input);
        let (seen, decided) = match decision {
            Decision::Approve => (seen, Decided::Approved(Approver::Decider)),
            Decision::Refuse => (seen, Decided::Refused(Approver::Uid(7))),
            Decision::OtherInput => (Digest([99; 32]), Decided::Approved(Approver::SameUid)),
        };
        let became = self.proposals.decide(self.state(), id, seen, decided);
        let known = self.known.get_mut(&id).unwrap();
        let may = known.state == ProposalState::Pending && decision != Decision::OtherInput;
        assert_eq!(became.is_ok(), may, "{became:?} {known:?}");
        if may {
            known.state = decided.state();
            known.approver = decided.approver();
        }
    }

    /// Nothing that was not found approved is spent by knowing its number.
    fn replay(&mut self, session: usize, n: usize) {
        let Some(id) = self.pick(n) else { return };
        if self.is_busy(session) {
            return;
        }
        let row = self.sessions[session].1;
        let known = self.known[&id].clone();
        let right = known.state == ProposalState::Approved && known.row == row;
        let approvers = [Approver::SameUid, known.approver];
        for approver in approvers.into_iter().take(if right { 1 } else { 2 }) {
            let approval = Approval {
                proposal: id,
                approver,
            };
            let cage = cage();
            let claim = Claim {
                approval,
                cage: &cage,
            };
            let begun = self
                .state()
                .begin(row, &begin(&intent(0, "x")), Some(&claim));
            assert!(matches!(begun, Err(StateError::NotApproved { .. })));
            let shown = self.state().spend_shown(row, &approval);
            assert!(matches!(shown, Err(StateError::NotApproved { .. })));
        }
    }

    fn end_session(&mut self, session: usize) {
        while let Some(n) = self.left.iter().position(|left| left.session == session) {
            self.settle(n, Outcome::Done);
        }
        let (id, row) = self.sessions[session];
        drop(self.proposals.forget(id));
        self.state().end_session(row).unwrap();
        self.void_waiting(|known| known.row == row);
        self.sessions[session] = self.session();
    }

    fn void_waiting(&mut self, whose: impl Fn(&Known) -> bool) {
        for known in self.known.values_mut().filter(|known| whose(known)) {
            match known.state {
                ProposalState::Pending | ProposalState::Approved => {
                    known.state = ProposalState::Void;
                }
                ProposalState::Refused | ProposalState::Spent | ProposalState::Void => {}
            }
        }
    }

    fn crash(&mut self, outcome: Outcome) {
        self.state = None;
        self.proposals = Proposals::default();
        self.keeping.clear();
        let left = std::mem::take(&mut self.left);
        let spends: Vec<_> = left.iter().map(|left| (left.id, left.proposal)).collect();
        drop(left);
        let state = open(&self.dir);
        state.void_waiting_proposals().unwrap();
        state.end_left_sessions().unwrap();
        let open = state.open_intents().unwrap();
        self.state = Some(state);
        self.life += 1;
        self.void_waiting(|_| true);
        for open in open {
            let (_, id) = spends.iter().find(|(id, _)| *id == open.id).unwrap();
            self.finish(open.id, *id, outcome, ProposalState::Void);
            self.state().end_session(open.session).unwrap();
        }
        self.sessions = (0..SESSIONS).map(|_| self.session()).collect();
    }

    /// Every state on record is the one that the model knows.
    fn check(&self) {
        for (id, known) in &self.known {
            let recorded = self.state().proposal(*id).unwrap();
            assert_eq!(recorded, Some(known.state), "{id:?}");
            assert!(known.uses <= 1, "{id:?}");
        }
        for summary in self.proposals.list(Sees::All, 0) {
            let known = &self.known[&summary.id];
            let in_use = self.left.iter().any(|left| left.proposal == summary.id);
            assert!(known.state == summary.state || in_use, "{known:?}");
        }
        let waits = |known: &&Known| {
            matches!(
                known.state,
                ProposalState::Pending | ProposalState::Approved
            )
        };
        let listed = self.known.values().filter(waits).count() + self.left.len();
        assert_eq!(self.proposals.list(Sees::All, 0).len(), listed);
    }
}

#[test]
fn sessions_within_one_another_share_their_places() {
    let mut world = World::new();
    let family = Family(world.sessions[0].0);
    let mut places = Vec::new();
    for n in 0..=PROPOSALS_MAX {
        let session = world.session();
        let found = world
            .proposals
            .find(world.state(), (session.0, family), Digest([0; 32]));
        match found.unwrap() {
            Found::New(place) => places.push(place),
            Found::Full(refusal) => {
                assert_eq!((n, refusal.code), (PROPOSALS_MAX, Code::TooManyInFlight));
            }
            other @ (Found::Pending(_) | Found::Refused(_) | Found::Approved(_) | Found::Busy) => {
                panic!("{other:?}")
            }
        }
    }
    assert_eq!(places.len(), PROPOSALS_MAX);
    // Another family has places of its own, and one that was left is free again.
    let other = world.sessions[1].0;
    let found = |session, family| {
        let found = world
            .proposals
            .find(world.state(), (session, family), Digest([1; 32]));
        matches!(found.unwrap(), Found::New(_))
    };
    assert!(found(other, Family(other)));
    assert!(!found(family.0, family));
    places.pop();
    assert!(found(family.0, family));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_approval_is_used_at_most_once_in_any_order(
        all in proptest::collection::vec(happens(), 1..60)
    ) {
        let mut world = World::new();
        for happens in all {
            world.happen(happens);
            world.check();
        }
    }
}
