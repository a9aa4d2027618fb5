//! Who decides is a capability of its own. A program of the same user that no cage holds, such as an
//! agent's own shell, is refused where a decider is configured; otherwise the receipt says that it
//! was nobody in particular.

use crate::place::{Place, Said};
use crate::scene::{Seat, at, done, one, proposed, receipts, seal, seat, state};
use portcullis_client::{Changes, Control, Decider, MintOrder, change};
use portcullis_protocol::approval::{Approver, ProposalId};
use portcullis_protocol::authority::Scope;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::control::{Deciding, Decision, Proof};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;

/// The user's broker, a runtime on it, and a session of that which waits for a decision.
struct Waiting {
    place: Place,
    control: Control,
    seat: Seat,
    changes: Changes,
    id: ProposalId,
}

fn waiting(deciding: Deciding) -> Waiting {
    let place = Place::new();
    // A run starts the broker, which stays as long as there is somebody it serves.
    assert_eq!(place.script(&[], "true").code, 0);
    let runtime = place.at("runtime/portcullis");
    let mut control = Control::attach(Some(&runtime)).unwrap().unwrap();
    let root = seal(&mut control, &place.at("repo"), Scope::Workspace);
    let order = MintOrder::new("tester")
        .root(root, None)
        .ask(root, RelPath::root(), VerbSet::WRITING)
        .deciding(deciding);
    let mut seat = seat(&mut control, &order, root);
    let changes = one(change::write(at("README.md"), "new\n"));
    let id = proposed(&mut seat.session, &changes);
    Waiting {
        place,
        control,
        seat,
        changes,
        id,
    }
}

impl Waiting {
    /// What an agent's own shell would try.
    fn approve(&self) -> Said {
        let id = self.id.0.to_string();
        self.place.portcullis(&["review", "approve", &id, "--yes"])
    }

    fn content(&self) -> String {
        std::fs::read_to_string(self.place.at("repo/README.md")).unwrap()
    }

    /// It still waits, and nothing happened.
    #[track_caller]
    fn waits(&mut self) {
        assert_eq!(state(&mut self.control, self.id), "pending");
        assert_eq!(proposed(&mut self.seat.session, &self.changes), self.id);
        assert!(self.content().starts_with("# title"));
        assert_eq!(receipts(&mut self.control, self.seat.run), []);
    }

    /// It happens, and the receipt says who decided.
    #[track_caller]
    fn happens(&mut self, approver: Approver) {
        done(&mut self.seat.session, &self.changes);
        assert_eq!(self.content(), "new\n");
        let all = receipts(&mut self.control, self.seat.run);
        let [receipt] = all.as_slice() else {
            panic!("{all:?}");
        };
        let approval = receipt.approval.unwrap();
        assert_eq!((approval.proposal, approval.approver), (self.id, approver));
        let run = self.seat.run.0.to_string();
        let exported = self.place.portcullis(&["log", "export", &run]);
        assert!(exported.out.contains(approver.name()), "{exported:?}");
    }
}

#[test]
fn a_program_of_the_same_user_is_refused_where_the_runtime_gave_deciding_away() {
    let mut waiting = waiting(Deciding::Decider);
    let said = waiting.approve();
    assert_eq!(said.code, 77, "{said:?}");
    waiting.waits();
    // Nor does the runtime itself decide any more.
    let input = waiting.control.proposal(waiting.id).unwrap().record.input;
    let decided = waiting
        .control
        .decide(waiting.id, input, Decision::Approve, Proof::Connection);
    assert_eq!(
        portcullis_tests::code(&decided.unwrap_err()),
        Code::NotDecider
    );
    waiting.waits();
    let socket = waiting.control.open_decider().unwrap();
    let mut decider = Decider::new(socket).unwrap();
    let decided = decider.decide(waiting.id, input, Decision::Approve, Proof::Connection);
    assert_eq!(decided.unwrap().approver, Approver::Decider);
    waiting.happens(Approver::Decider);
}

#[test]
fn a_program_of_the_same_user_is_refused_where_a_passphrase_is_set() {
    let mut waiting = waiting(Deciding::Anyone);
    let state = waiting.place.at("state/portcullis");
    portcullis_warden::set_passphrase(&state, None, b"correct horse").unwrap();
    let said = waiting.approve();
    assert_ne!(said.code, 0, "{said:?}");
    waiting.waits();
    let input = waiting.control.proposal(waiting.id).unwrap().record.input;
    let mut decide = |proof| {
        let decided = waiting
            .control
            .decide(waiting.id, input, Decision::Approve, proof);
        decided.map(|decided| decided.approver)
    };
    let shown = |text: &str| Proof::Passphrase(Bytes::new(text).unwrap());
    for proof in [Proof::Connection, shown("battery staple")] {
        let refused = decide(proof).unwrap_err();
        assert_eq!(portcullis_tests::code(&refused), Code::NotDecider);
    }
    assert_eq!(
        decide(shown("correct horse")).unwrap(),
        Approver::Passphrase
    );
    waiting.happens(Approver::Passphrase);
}

#[test]
fn otherwise_a_program_of_the_same_user_decides_and_the_receipt_says_so() {
    let mut waiting = waiting(Deciding::Anyone);
    let said = waiting.approve();
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("same-uid"), "{said:?}");
    waiting.happens(Approver::SameUid);
}

#[test]
fn runtimes_see_their_own_proposals_and_operators_all() {
    let mut waiting = waiting(Deciding::Anyone);
    let runtime = waiting.place.at("runtime/portcullis");
    let mut other = Control::attach(Some(&runtime)).unwrap().unwrap();
    other.mint(&MintOrder::new("another")).unwrap();
    let input = waiting.control.proposal(waiting.id).unwrap().record.input;
    let error = other.proposal(waiting.id).unwrap_err();
    assert_eq!(portcullis_tests::code(&error), Code::UnknownProposal);
    let decided = other.decide(waiting.id, input, Decision::Approve, Proof::Connection);
    assert_eq!(
        portcullis_tests::code(&decided.unwrap_err()),
        Code::UnknownProposal
    );
    waiting.waits();
    let listed = waiting.place.portcullis(&["review", "list"]);
    assert!(listed.out.contains("README.md"), "{listed:?}");
}
