//! The gate's side of the ledger: what it tells the warden, and what it asks of it. Threads ask side
//! by side: each answer finds its asker by the number of the question, so that what one waits for
//! long keeps no other from ending its effect.

use crate::sys::mark;
use portcullis_protocol::frame::{self, Message, RequestId};
use portcullis_protocol::ledger::{
    Asked, Begin, Begun as Granted, Command, Event, Finish, Intent, ReceiptId, TreeLock, Unlock,
};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Delegate, Delegated, EndDelegated};
use portcullis_transport::{Buffer, Endpoint, GateSide, TransportError};
use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// The ledger of one session.
#[derive(Debug)]
pub(crate) struct Ledger {
    endpoint: Endpoint<GateSide>,
    mark: OwnedFd,
    /// Effects that were begun: the number of the last.
    begun: AtomicU64,
    answers: Mutex<Answers>,
    /// Told when an answer came, or whoever received has stopped.
    came: Condvar,
}

/// Questions and their answers.
#[derive(Debug, Default)]
struct Answers {
    /// The number of the last question.
    last: u32,
    /// What came for each that waits; none yet.
    waiting: HashMap<RequestId, Option<Answer>>,
    receiver: Receiver,
    /// Those that sleep until somebody else has received something.
    asleep: usize,
    /// Why nothing comes any more.
    over: Option<Broken>,
}

/// Who receives.
#[derive(Debug, Default)]
enum Receiver {
    /// Nobody: whoever waits next does, with this room.
    Free(Option<Buffer>),
    /// One that waits for its own answer, and takes those of others meanwhile.
    #[default]
    Busy,
}

/// An answer, and what came with it.
#[derive(Debug)]
struct Answer {
    command: Command,
    descriptors: Vec<OwnedFd>,
}

/// Proof that the warden holds the locks of an effect and has its intent in the journal. Made by
/// [`Ledger::begin`], used up by [`Ledger::finish`].
#[derive(Debug)]
#[must_use = "what is begun must be finished"]
pub(crate) struct Begun {
    number: u64,
}

/// Proof that the approval of what only shows is spent, on record. Made by [`Ledger::claim`].
#[derive(Debug)]
pub(crate) struct Claimed(());

/// What became of a proposal.
#[derive(Debug)]
pub(crate) enum Proposed {
    /// It is not done, and the worker is to be told why.
    Refused(Refusal),
    /// It was approved, and the worker has its answer already.
    Answered,
}

/// The warden is gone, or says what it does not say: no effect can be recorded any more, so the
/// gate ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken;

impl Ledger {
    pub(crate) fn new(endpoint: Endpoint<GateSide>, mark: OwnedFd) -> Self {
        Self {
            endpoint,
            mark,
            begun: AtomicU64::new(0),
            answers: Mutex::new(Answers {
                receiver: Receiver::Free(None),
                ..Answers::default()
            }),
            came: Condvar::new(),
        }
    }

    /// Tells the warden something it does not answer.
    pub(crate) fn tell(&self, event: &Event) -> Result<(), TransportError> {
        self.tell_with(event, &[])
    }

    /// The same, with content behind it.
    pub(crate) fn tell_with(&self, event: &Event, content: &[u8]) -> Result<(), TransportError> {
        self.endpoint
            .send(&mut Vec::new(), RequestId::NONE, event, content)
    }

    /// Asks for locks and announces an effect. A refusal means that nothing is held.
    pub(crate) fn begin(&self, tree: TreeLock, intent: Intent) -> Result<Begun, Refusal> {
        let event = Event::Begin(Begin { tree, intent });
        self.granted(&event).map(|()| Begun {
            number: self.begun.fetch_add(1, Ordering::Relaxed) + 1,
        })
    }

    /// Replaces the intent of what is begun. A refusal means that it must end without an effect.
    pub(crate) fn amend(&self, _begun: &Begun, intent: Intent) -> Result<(), Refusal> {
        self.granted(&Event::Amend(intent))
    }

    /// Spends the approval of what only shows. A refusal means that nothing may be shown.
    pub(crate) fn claim(&self, intent: Intent) -> Result<Claimed, Refusal> {
        self.granted(&Event::Claim(intent)).map(Claimed)
    }

    fn granted(&self, event: &Event) -> Result<(), Refusal> {
        match self.ask(event, &[], &[]).map(|answer| answer.command) {
            Ok(Command::Begun(Granted {})) => Ok(()),
            Ok(Command::NotBegun(refusal)) => Err(refusal),
            Ok(
                Command::Setup(_)
                | Command::Receipted(_)
                | Command::Delegated(_)
                | Command::Answered(_)
                | Command::Asked(_)
                | Command::Noted(_),
            )
            | Err(Broken) => Err(Refusal::new(Code::NoLedger)),
        }
    }

    /// Says that files are changed from here on, where it is looked for when this gate is gone. Nothing
    /// may be changed when it cannot be said.
    pub(crate) fn confirmed(&self, begun: &Begun) -> Result<(), Broken> {
        mark::set(self.mark.as_fd(), begun.number).map_err(|_| Broken)
    }

    /// Gives the locks back early. A ledger that takes no more is met again by `finish`.
    pub(crate) fn unlock(&self, _begun: &Begun) {
        self.tell(&Event::Unlock(Unlock {})).unwrap_or_default();
    }

    /// Ends an effect; gives its receipt, which is on record with as much of the difference as fits
    /// one frame with it. What does not is counted there.
    pub(crate) fn finish(
        &self,
        _begun: Begun,
        finish: &Finish,
        diff: &[u8],
    ) -> Result<ReceiptId, Broken> {
        let event = |cut: u64| {
            let diff_cut = finish.diff_cut.saturating_add(cut);
            Event::Finish(Finish {
                diff_cut,
                ..finish.clone()
            })
        };
        let (event, fits) = fitting(event, diff);
        match self.ask(&event, fits, &[])?.command {
            Command::Receipted(receipt) => Ok(receipt),
            Command::Setup(_)
            | Command::Begun(_)
            | Command::NotBegun(_)
            | Command::Delegated(_)
            | Command::Answered(_)
            | Command::Asked(_)
            | Command::Noted(_) => Err(Broken),
        }
    }

    /// Asks for an approval of an operation, or to use one. Waits as long as what was approved takes:
    /// the gate that does it answers the worker on `socket`.
    pub(crate) fn propose(
        &self,
        asked: Asked,
        content: &[u8],
        socket: BorrowedFd<'_>,
    ) -> Result<Proposed, Broken> {
        match self
            .ask(&Event::Propose(asked), content, &[socket])?
            .command
        {
            Command::NotBegun(refusal) => Ok(Proposed::Refused(refusal)),
            Command::Answered(_) => Ok(Proposed::Answered),
            Command::Setup(_)
            | Command::Begun(_)
            | Command::Receipted(_)
            | Command::Delegated(_)
            | Command::Asked(_)
            | Command::Noted(_) => Err(Broken),
        }
    }

    /// Asks for a session within this one; gives it and its socket.
    pub(crate) fn delegate(&self, ask: Delegate) -> Result<(Delegated, OwnedFd), Refusal> {
        match self.ask(&Event::Delegate(ask), &[], &[]) {
            Ok(Answer {
                command: Command::Delegated(delegated),
                mut descriptors,
            }) => match (descriptors.pop(), descriptors.is_empty()) {
                (Some(socket), true) => Ok((delegated, socket)),
                (Some(_), false) | (None, _) => Err(Refusal::new(Code::NoLedger)),
            },
            Ok(Answer {
                command: Command::NotBegun(refusal),
                ..
            }) => Err(refusal),
            Ok(Answer {
                command:
                    Command::Setup(_)
                    | Command::Begun(_)
                    | Command::Receipted(_)
                    | Command::Answered(_)
                    | Command::Asked(_)
                    | Command::Noted(_),
                ..
            })
            | Err(Broken) => Err(Refusal::new(Code::NoLedger)),
        }
    }

    /// Ends a session within this one. One that is gone is none of this session's.
    pub(crate) fn end_delegated(&self, ask: EndDelegated) -> Result<(), Refusal> {
        let event = Event::EndDelegated(ask);
        match self.ask(&event, &[], &[]).map(|answer| answer.command) {
            Ok(Command::Noted(_)) => Ok(()),
            Ok(Command::NotBegun(refusal)) => Err(refusal),
            Ok(
                Command::Setup(_)
                | Command::Begun(_)
                | Command::Receipted(_)
                | Command::Delegated(_)
                | Command::Answered(_)
                | Command::Asked(_),
            )
            | Err(Broken) => Err(Refusal::new(Code::NoLedger)),
        }
    }

    /// Takes the one operation that a gate was started for, with its content.
    pub(crate) fn asked<'b>(&self, buffer: &'b mut Buffer) -> Result<(Asked, &'b [u8]), Broken> {
        let packet = self.endpoint.receive(buffer).map_err(|_| Broken)?;
        let (frame, _none) = packet.decode().map_err(|_| Broken)?;
        match frame.message {
            Command::Asked(asked) => Ok((asked, frame.content)),
            Command::Setup(_)
            | Command::Begun(_)
            | Command::NotBegun(_)
            | Command::Receipted(_)
            | Command::Delegated(_)
            | Command::Answered(_)
            | Command::Noted(_) => Err(Broken),
        }
    }

    /// Waits until the warden closes the ledger or says anything: who waits here is told nothing.
    pub(crate) fn wait_for_end(&self) {
        // What comes does not matter: nothing is to come.
        drop(self.endpoint.receive(&mut Buffer::new()));
    }

    fn ask(
        &self,
        event: &Event,
        content: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Answer, Broken> {
        let id = self.expect()?;
        let sent = self.endpoint.send_all(id, event, content, descriptors);
        if sent.is_err() {
            if let Ok(mut answers) = self.answers.lock() {
                answers.waiting.remove(&id);
            }
            return Err(Broken);
        }
        self.wait(id)
    }

    /// A number for a question, under which its answer is kept from now on.
    fn expect(&self) -> Result<RequestId, Broken> {
        let mut answers = self.answers.lock().map_err(|_| Broken)?;
        if let Some(broken) = answers.over {
            return Err(broken);
        }
        answers.last = answers.last.checked_add(1).unwrap_or(1);
        let id = RequestId(answers.last);
        answers.waiting.insert(id, None);
        Ok(id)
    }

    /// Waits for one answer: receives itself when nobody does.
    fn wait(&self, id: RequestId) -> Result<Answer, Broken> {
        let mut answers = self.answers.lock().map_err(|_| Broken)?;
        loop {
            if let Some(Some(_)) = answers.waiting.get(&id) {
                return answers.waiting.remove(&id).flatten().ok_or(Broken);
            }
            if let Some(broken) = answers.over {
                answers.waiting.remove(&id);
                return Err(broken);
            }
            answers = match std::mem::take(&mut answers.receiver) {
                Receiver::Free(room) => self.receive(answers, room.unwrap_or_default())?,
                Receiver::Busy => {
                    answers.asleep += 1;
                    let mut answers = self.came.wait(answers).map_err(|_| Broken)?;
                    answers.asleep -= 1;
                    answers
                }
            };
        }
    }

    /// Receives one answer, for whomever it is, without the lock.
    fn receive<'l>(
        &'l self,
        answers: MutexGuard<'l, Answers>,
        mut room: Buffer,
    ) -> Result<MutexGuard<'l, Answers>, Broken> {
        drop(answers);
        let came = self
            .endpoint
            .receive(&mut room)
            .and_then(|packet| Ok(packet.decode()?))
            .map(|(frame, descriptors)| {
                let command = frame.message;
                (
                    frame.id,
                    Answer {
                        command,
                        descriptors,
                    },
                )
            });
        let mut answers = self.answers.lock().map_err(|_| Broken)?;
        match came {
            Ok((id, answer)) => match answers.waiting.get_mut(&id) {
                Some(slot) => *slot = Some(answer),
                // It answers what nobody asked.
                None => answers.over = Some(Broken),
            },
            Err(_) => answers.over = Some(Broken),
        }
        answers.receiver = Receiver::Free(Some(room));
        // To wake nobody is a system call as well.
        if answers.asleep > 0 {
            self.came.notify_all();
        }
        Ok(answers)
    }
}

/// A message that tells how many bytes of `content` are cut, and as much of that as fits a frame
/// behind it.
pub(crate) fn fitting<M: Message>(message: impl Fn(u64) -> M, content: &[u8]) -> (M, &[u8]) {
    let room = |message: &M| match frame::len(message, 0) {
        Ok(len) => FRAME_BYTES_MAX.saturating_sub(len).min(CONTENT_BYTES_MAX),
        // It is met when it is sent.
        Err(_) => 0,
    };
    let whole = message(0);
    if content.len() <= room(&whole) {
        return (whole, content);
    }
    // No other number has a longer encoding.
    let most = room(&message(u64::MAX)).min(content.len());
    let (fits, cut) = content.split_at(most);
    let cut = u64::try_from(cut.len()).unwrap_or(u64::MAX);
    (message(cut), fits)
}

#[cfg(test)]
mod tests;
