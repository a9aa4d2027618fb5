//! What becomes of the few lines that are looked at: a result that waits for an approval, an answer
//! to a question, a call that comes back with an answer.
//!
//! The server can ask for nothing here. Its mark names a proposal; whether there is one, what it
//! is and whether this process may decide about it is what the broker says.

use super::chair::{Came, Chair};
use super::question::{self, Review};
use super::seal::{Asked, Seal, call_digest};
use super::wire::{self, By, Call, Fields, Verdict};
use crate::time::Time;
use memchr::memmem;
use portcullis_client::Proposal;
use portcullis_protocol::approval::ProposalId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Questions that may be open at once; results beyond them only wait.
const QUESTIONS_MAX: usize = 32;
/// Calls that are remembered until a result of theirs asks.
const CALLS_MAX: usize = 256;
/// Longest id of a call that is remembered, in bytes.
const ID_BYTES_MAX: usize = 128;
/// Proposals of which it is remembered that nobody is to be asked again.
const DONE_MAX: usize = 1024;

/// What becomes of a line of the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outward {
    /// It passes.
    Pass,
    /// It passes, and this comes behind it.
    PassThen(Vec<u8>),
    /// This takes its place.
    Instead(Vec<u8>),
}

/// What becomes of a line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inward {
    /// It passes.
    Pass,
    /// It was for this process.
    Taken,
    /// This takes its place.
    Instead(Vec<u8>),
    /// It was for this process, and this is the answer.
    Answered(Vec<u8>),
}

/// What is asked and waited for.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    chair: Chair<'a>,
    seal: Seal,
    review: Review,
    questions: Questions,
    /// Calls by id, the latest last, with what tells them from others.
    calls: VecDeque<(String, [u8; 32])>,
    /// Proposals nobody is asked about again.
    done: BTreeSet<u64>,
    /// Results that would have asked, if there had been room.
    unasked: u64,
}

/// Questions that were not answered yet, by their ids, and until when they can be.
#[derive(Debug)]
struct Questions(BTreeMap<String, (Asked, Time)>);

impl Questions {
    /// Whether one more can be open. One that nobody has answered is over with its proposal.
    fn have_room(&mut self, now: Time) -> bool {
        if self.0.len() >= QUESTIONS_MAX {
            self.0.retain(|_, (_, until)| until.0 > now.0);
        }
        self.0.len() < QUESTIONS_MAX
    }
}

impl<'a> Desk<'a> {
    pub(super) const fn new(chair: Chair<'a>, seal: Seal, review: Review) -> Self {
        Self {
            chair,
            seal,
            review,
            questions: Questions(BTreeMap::new()),
            calls: VecDeque::new(),
            done: BTreeSet::new(),
            unasked: 0,
        }
    }

    /// What lines of the client are searched for, and never get to the server.
    pub(super) fn token(&self) -> String {
        self.seal.token().to_owned()
    }

    /// What did not work, for people.
    pub(super) fn trouble(&self) -> Option<String> {
        (self.unasked > 0).then(|| {
            format!(
                "the client was not asked about {}: too many questions were open",
                crate::words::counted(self.unasked, "approval")
            )
        })
    }

    /// Looks at a line of the server.
    pub(super) fn outward(&mut self, line: &[u8]) -> Outward {
        if memmem::find(line, wire::MARK).is_none() {
            return Outward::Pass;
        }
        let Some((id, mark)) = wire::marked(line) else {
            return Outward::Pass;
        };
        match mark.by {
            By::None => Outward::Pass,
            By::Elicitation => self.elicit(ProposalId(mark.proposal)),
            By::InputRequired => self.require(id, ProposalId(mark.proposal)),
        }
    }

    /// Asks beside the result, once.
    fn elicit(&mut self, id: ProposalId) -> Outward {
        let Some(proposal) = self.waiting(id) else {
            return Outward::Pass;
        };
        if !self.questions.have_room(Time::now()) {
            self.unasked += 1;
            return Outward::Pass;
        }
        self.leave(id);
        let name = self.seal.question();
        let line = wire::question(&name, &question::text(&proposal, self.review));
        let until = Time(proposal.record.summary.expires_ms);
        self.questions.0.insert(name, (asked(&proposal), until));
        Outward::PassThen(line)
    }

    /// Asks in place of the result.
    fn require(&mut self, call: &str, id: ProposalId) -> Outward {
        let known = self.calls.iter().rev().find(|(known, _)| known == call);
        let Some(digest) = known.map(|(_, digest)| *digest) else {
            return Outward::Pass;
        };
        let Some(proposal) = self.waiting(id) else {
            return Outward::Pass;
        };
        let void = Time(proposal.record.summary.expires_ms);
        let state = self
            .seal
            .state(asked(&proposal), &digest, Time::now(), void);
        Outward::Instead(wire::asking(
            call,
            &question::text(&proposal, self.review),
            &state,
        ))
    }

    /// A proposal that somebody may be asked about here.
    fn waiting(&mut self, id: ProposalId) -> Option<Proposal> {
        match self.done.contains(&id.0) {
            true => None,
            false => self.chair.open(id),
        }
    }

    /// Nobody is asked about it again.
    fn leave(&mut self, ProposalId(id): ProposalId) {
        while self.done.len() >= DONE_MAX {
            self.done.pop_first();
        }
        self.done.insert(id);
    }

    /// Looks at a line of the client.
    pub(super) fn inward(&mut self, line: &[u8]) -> Inward {
        if memmem::find(line, self.seal.token().as_bytes()).is_some() {
            return self.own(line);
        }
        if memmem::find(line, wire::CALL).is_some()
            && let Some(call) = Fields::parse(line).and_then(Call::of)
        {
            self.remember(&call);
        }
        Inward::Pass
    }

    fn remember(&mut self, call: &Call<'_>) {
        if call.id.len() > ID_BYTES_MAX {
            return;
        }
        if self.calls.len() >= CALLS_MAX {
            self.calls.pop_front();
        }
        let digest = call_digest(&call.name, &call.arguments);
        self.calls.push_back((call.id.to_owned(), digest));
    }

    /// A line that carries the token. The server never gets it: a request is answered, so that
    /// nobody waits for it, and everything else is taken.
    fn own(&mut self, line: &[u8]) -> Inward {
        let Some(message) = Fields::parse(line) else {
            return Inward::Taken;
        };
        match (message.raw("method"), message.raw("id")) {
            (None, _) => {
                self.answer(&message);
                Inward::Taken
            }
            (Some(_), None) => Inward::Taken,
            (Some(_), Some(id)) => match Call::of(message) {
                Some(call) => self.returned(&call),
                None => Inward::Answered(wire::refusal(id.get(), MISPLACED)),
            },
        }
    }

    /// The answer to a question, which is over with it.
    fn answer(&mut self, message: &Fields<'_>) {
        let id: Option<String> = message.read("id");
        let Some((asked, _)) = id.and_then(|id| self.questions.0.remove(&id)) else {
            return;
        };
        let verdict = match message.raw("result") {
            Some(result) => wire::verdict(result),
            None => Verdict::Nothing,
        };
        match self.chair.decide(asked, verdict) {
            // Nobody is asked again; whoever calls again is told how it stands.
            Came::Decided | Came::Nothing => {}
        }
    }

    /// A call that comes back with a state: decides, and passes the call on without it.
    fn returned(&mut self, call: &Call<'_>) -> Inward {
        let refuse = |why: &str| Inward::Answered(wire::refusal(call.id, why));
        let Some(state) = call.state() else {
            return refuse(MISPLACED);
        };
        let plain = call.plain();
        if memmem::find(&plain, self.seal.token().as_bytes()).is_some() {
            return refuse(MISPLACED);
        }
        let digest = call_digest(&call.name, &call.arguments);
        let asked = match self.seal.open(&state, &digest, Time::now()) {
            Ok(asked) => asked,
            Err(why) => return refuse(&format!("{why}; call the tool again without it")),
        };
        let verdict = call.answer().map_or(Verdict::Nothing, wire::verdict);
        match self.chair.decide(asked, verdict) {
            Came::Decided => {}
            // The result of this call is the one that says how else it can be decided.
            Came::Nothing => self.leave(asked.proposal),
        }
        self.remember(call);
        Inward::Instead(plain)
    }
}

/// Why a request is not passed on.
const MISPLACED: &str =
    "an id or a state of Portcullis stands where it does not belong; take it out of the request";

fn asked(proposal: &Proposal) -> Asked {
    Asked {
        proposal: proposal.record.summary.id,
        input: proposal.record.input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::view::Digest;

    #[test]
    fn questions_that_nobody_answers_are_over_with_their_proposals() {
        let mut questions = Questions(BTreeMap::new());
        let asked = Asked {
            proposal: ProposalId(1),
            input: Digest([0; 32]),
        };
        for at in 0..QUESTIONS_MAX {
            assert!(questions.have_room(Time(0)));
            let until = Time(if at == 0 { 500 } else { 1000 });
            questions.0.insert(at.to_string(), (asked, until));
        }
        assert!(!questions.have_room(Time(499)));
        assert!(questions.have_room(Time(500)));
        assert_eq!(questions.0.len(), QUESTIONS_MAX - 1);
        questions.0.insert("more".to_owned(), (asked, Time(1000)));
        assert!(!questions.have_room(Time(999)));
        assert!(questions.have_room(Time(1000)));
        assert!(questions.0.is_empty());
    }
}
