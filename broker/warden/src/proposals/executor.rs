//! A fresh gate that does one operation that was approved, and answers the worker itself. What it
//! would do is compared with what was approved here, before the claim: the gate's own word for it
//! counts as little as any.

use super::asking::{Became, Stop, Work};
use super::bound::{self, Use};
use super::{Ended, Execution};
use crate::effect::{Effects, Lied, Means, Next, Writer, unclaimed};
use crate::launch::{Caged, Launch, launch};
use crate::settle::{Settled, View, settle};
use crate::socket::{Received, Socket};
use crate::state::Claim;
use portcullis_protocol::authority::Authority;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{
    Answered, Begin, Begun, Claimed, Command, Duty, Event, Intent, NOTES_MAX,
};
use portcullis_protocol::limits::{SEND_DEADLINE_MS, STREAM_TIME_MS_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Outcome;
use portcullis_transport::LedgerSide;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// How long a gate may leave its ledger full.
const SEND_DEADLINE: Duration = Duration::from_millis(SEND_DEADLINE_MS as u64);
/// How long a gate that said its last word may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long showing something may take, with a worker that reads slowly.
const SHOW_DEADLINE: Duration =
    Duration::from_millis(STREAM_TIME_MS_MAX as u64 + SEND_DEADLINE_MS as u64);

/// Does what was approved, if it is still there to be done.
pub(super) async fn execute(work: Work, execution: Execution, worker: OwnedFd) -> Became {
    let authority = match work.asker.kept.open() {
        Ok(authority) => authority,
        Err(refusal) => {
            execution.end(&work.shared.state, Ended::OnRecord);
            return Became::refused(refusal);
        }
    };
    let start = Launch {
        incarnation: work.shared.incarnation,
        session: work.asker.session,
        authority: &authority,
        roots: &work.asker.roots,
        run_as: work.asker.run_as,
        duty: Duty::Execute,
        lineage: Few::default(),
        ignore: Some(&work.asker.ignore),
    };
    // From here on no copy of the worker's socket is in this process.
    let caged = match Box::pin(launch(&work.shared, &start, Some(worker))).await {
        Ok(caged) => caged,
        Err(unmade) => {
            drop(unmade.refused().await);
            execution.end(&work.shared.state, Ended::OnRecord);
            return Became::refused(not_done("no gate for it could be started"));
        }
    };
    let (became, ended) = Box::pin(done(&work, &authority, &execution, caged)).await;
    execution.end(&work.shared.state, ended);
    became
}

/// Why nothing was done, without anything that names the host.
fn not_done(note: &str) -> Refusal {
    Refusal::new(Code::Io).noting(&format!("{note}; it is still approved"))
}

/// Serves the gate until it is gone and what it began has its receipt.
async fn done(
    work: &Work,
    authority: &Authority,
    execution: &Execution,
    Caged {
        gate,
        ledger,
        cage,
        mark,
    }: Caged,
) -> (Became, Ended) {
    let asker = &work.asker;
    let means = Means {
        kept: &asker.kept,
        roots: &asker.roots,
        run_as: asker.run_as,
        purse: &asker.purse,
    };
    let writer = Writer::approved(authority, means);
    let claim = Claim {
        approval: execution.approval(),
        cage: &cage,
    };
    let mut doing = Doing {
        work,
        ledger: &ledger,
        approved: execution.intent(),
        effects: Effects::approved(&work.shared, asker.row, (writer.as_ref(), &mark), claim),
        claim,
        used: Claimed::No,
        ended: Ended::OnRecord,
        until: Instant::now() + work.shared.terms.deadlines.propose,
        notes: 0,
    };
    let ask = Command::Asked(work.asked.clone());
    let sent = ledger.send_content(RequestId::NONE, &ask, &work.content, SEND_DEADLINE);
    let over = match sent.await {
        Ok(()) => doing.serve(work.stop.clone()).await,
        Err(_) => Over::Died,
    };
    let grace = match over {
        Over::Finished => GRACE,
        Over::Died => Duration::ZERO,
    };
    gate.end(grace).await;
    let over = doing.drain(over);
    if let (Some(left), Some(writer)) = (doing.effects.left(), &writer) {
        let view = View {
            incarnation: work.shared.incarnation,
            session: asker.session,
            authority,
            roots: &writer.roots,
            run_as: writer.run_as,
        };
        let cost = left.running.cost;
        // One that has no receipt stays spent, as it is on record.
        match Box::pin(settle(&work.shared, Some(view), left)).await {
            Settled::Yes(Outcome::Failed) => writer.purse.give_back(cost),
            Settled::Yes(Outcome::Done | Outcome::Uncertain) | Settled::No => {}
        }
    }
    let became = match (over, doing.used) {
        (Over::Finished, used) => Became::Answer(Command::Answered(Answered { used })),
        (Over::Died, Claimed::Yes) => Became::Lost,
        (Over::Died, Claimed::No) => {
            Became::refused(not_done("the gate that was to do it ended before it began"))
        }
    };
    (became, doing.ended)
}

/// How the gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// It has answered the worker.
    Finished,
    /// It died, was killed, or said what it must not say.
    Died,
}

/// A gate that does what was approved.
struct Doing<'a> {
    work: &'a Work,
    ledger: &'a Socket<LedgerSide>,
    approved: &'a Intent,
    effects: Effects<'a>,
    claim: Claim<'a>,
    used: Claimed,
    ended: Ended,
    /// When it must have come to its next step.
    until: Instant,
    notes: usize,
}

/// What one event leads to.
enum Step {
    Answer(Command),
    Nothing,
    Over(Over),
}

impl Doing<'_> {
    async fn serve(&mut self, mut stop: watch::Receiver<Stop>) -> Over {
        let mut stopping = Stop::No;
        loop {
            let step = tokio::select! {
                event = self.ledger.receive(&self.work.shared.buffer) => match event {
                    Ok(event) => {
                        let id = event.id;
                        let next = self.take(event, &mut stop, stopping).await;
                        (id, next.unwrap_or(Step::Over(Over::Died)))
                    }
                    Err(_) => (RequestId::NONE, Step::Over(Over::Died)),
                },
                next = self.effects.next() => match next {
                    Next::Answer(id, command) => (id, Step::Answer(*command)),
                    Next::Overdue => (RequestId::NONE, Step::Over(Over::Died)),
                },
                () = sleep_until(self.until) => (RequestId::NONE, Step::Over(Over::Died)),
                () = Work::stopped(&mut stop), if stopping == Stop::No => {
                    stopping = Stop::Yes;
                    let bound = self.work.shared.terms.deadlines.finish;
                    self.until = self.until.min(Instant::now() + bound);
                    (RequestId::NONE, Step::Nothing)
                }
            };
            self.note_use();
            match step {
                (id, Step::Answer(command)) => {
                    let sent = self.ledger.send(id, &command, &[], SEND_DEADLINE).await;
                    if sent.is_err() {
                        return Over::Died;
                    }
                }
                (_, Step::Nothing) => {}
                (_, Step::Over(over)) => return over,
            }
            // Only what was begun or is being shown is waited for, and its answer.
            if stopping == Stop::Yes && self.used == Claimed::No {
                return Over::Died;
            }
        }
    }

    /// An effect that is begun has spent its approval.
    fn note_use(&mut self) {
        if self.effects.is_begun() && self.used == Claimed::No {
            self.used = Claimed::Yes;
            let hold = self.work.shared.terms.deadlines.lock_hold;
            self.until = Instant::now() + hold + SEND_DEADLINE;
        }
    }

    async fn take(
        &mut self,
        event: Received<LedgerSide>,
        stop: &mut watch::Receiver<Stop>,
        stopping: Stop,
    ) -> Result<Step, Lied> {
        if !event.descriptors.is_empty() {
            return Err(Lied("the gate sent a descriptor"));
        }
        match event.message {
            Event::Begin(begin) => match stopping {
                Stop::No => self.begin(event.id, begin, stop).await,
                Stop::Yes => Ok(Step::Over(Over::Died)),
            },
            Event::Claim(intent) => self.claim(&intent).map(Step::Answer),
            Event::Unlock(_) => self.effects.unlock().map(|()| Step::Nothing),
            Event::Finish(end) => {
                let receipt = self.effects.finish(&end, &event.content)?;
                // What is left is the answer to the worker.
                self.until = Instant::now() + SEND_DEADLINE + GRACE;
                Ok(Step::Answer(receipt))
            }
            // It is told by the session's own gate, if at all.
            Event::Refused(_) if self.notes < NOTES_MAX => {
                self.notes += 1;
                Ok(Step::Nothing)
            }
            Event::Finished(_) => Ok(Step::Over(Over::Finished)),
            Event::Refused(_)
            | Event::Fault(_)
            | Event::Ready(_)
            | Event::Amend(_)
            | Event::Seen(_)
            | Event::Delegate(_)
            | Event::EndDelegated(_)
            | Event::Propose(_)
            | Event::Bound(_)
            | Event::Unbound(_) => Ok(Step::Over(Over::Died)),
        }
    }

    /// An effect: only as approved, and in its turn among those of its session.
    async fn begin(
        &mut self,
        id: RequestId,
        begin: Begin,
        stop: &mut watch::Receiver<Stop>,
    ) -> Result<Step, Lied> {
        if self.used == Claimed::Yes {
            return Err(Lied("the gate would use its approval twice"));
        }
        if let Err(refusal) = self.as_approved(&begin.intent, Use::Changes)? {
            return Ok(Step::Answer(Command::NotBegun(refusal)));
        }
        let wait = self.work.shared.terms.deadlines.lock_wait;
        // It may wait for its session's other effects, and then for its locks.
        self.until = Instant::now() + 2 * wait + SEND_DEADLINE;
        let turn = tokio::select! {
            turn = self.work.asker.turns.wait(wait) => turn,
            () = Work::stopped(stop) => return Ok(Step::Over(Over::Died)),
        };
        match turn {
            Ok(turn) => Ok(match self.effects.begin_in(Some(turn), id, begin)? {
                Some(command) => Step::Answer(command),
                None => Step::Nothing,
            }),
            Err(refusal) => Ok(Step::Answer(Command::NotBegun(refusal))),
        }
    }

    /// What only shows: the approval is spent, on record, before anything is shown.
    fn claim(&mut self, intent: &Intent) -> Result<Command, Lied> {
        if self.used == Claimed::Yes {
            return Err(Lied("the gate would use its approval twice"));
        }
        if let Err(refusal) = self.as_approved(intent, Use::Shows)? {
            return Ok(Command::NotBegun(refusal));
        }
        let state = &self.work.shared.state;
        match state.spend_shown(self.work.asker.row, &self.claim.approval) {
            Ok(()) => {
                self.used = Claimed::Yes;
                self.until = Instant::now() + SHOW_DEADLINE;
                Ok(Command::Begun(Begun {}))
            }
            Err(error) => Ok(Command::NotBegun(unclaimed(&error))),
        }
    }

    /// Whether what the gate would do is what was approved. If it is not, the approval is void.
    fn as_approved(&mut self, intent: &Intent, used: Use) -> Result<Result<(), Refusal>, Lied> {
        if bound::used_for(intent) != Ok(used) {
            return Err(Lied("the gate would do another kind of thing than it says"));
        }
        let same = bound::same(self.approved, intent).and_then(|()| self.check_roots(intent));
        if same.is_err() {
            self.ended = Ended::Changed;
        }
        Ok(same)
    }

    /// Whether the roots are what they were: the places that were shown to whoever approved lead
    /// through them.
    fn check_roots(&self, intent: &Intent) -> Result<(), Refusal> {
        let mut seen = None;
        for step in intent.steps.as_slice() {
            let index = step.touched.root;
            if seen == Some(index) {
                continue;
            }
            let root = self.work.asker.roots.get(usize::from(index.0));
            if !root.is_some_and(|root| root.stands()) {
                return Err(bound::changed(Some(step), "its root is not where it was"));
            }
            seen = Some(index);
        }
        Ok(())
    }

    /// Takes what the gate had said before it was gone.
    fn drain(&mut self, over: Over) -> Over {
        while let Ok(event) = self.ledger.receive_now(&self.work.shared.buffer) {
            match event.message {
                Event::Finish(end) => {
                    if self.effects.finish(&end, &event.content).is_err() {
                        break;
                    }
                }
                Event::Finished(_) => return Over::Finished,
                Event::Refused(_) | Event::Unlock(_) => {}
                // It asked, and has had no answer: nothing was done.
                Event::Begin(_) | Event::Claim(_) => {}
                Event::Amend(_)
                | Event::Ready(_)
                | Event::Fault(_)
                | Event::Seen(_)
                | Event::Delegate(_)
                | Event::EndDelegated(_)
                | Event::Propose(_)
                | Event::Bound(_)
                | Event::Unbound(_) => break,
            }
        }
        over
    }
}
