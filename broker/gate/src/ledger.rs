//! The gate's side of the ledger: what it tells the warden, and the two calls around an effect.

use portcullis_protocol::frame::{self, Message, RequestId};
use portcullis_protocol::ledger::{
    Begin, Begun as Granted, Command, Confirmed, Event, Finish, Intent, ReceiptId, TreeLock, Unlock,
};
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, FRAME_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_transport::{Buffer, Endpoint, GateSide, TransportError};
use std::sync::Mutex;

/// The ledger of one session.
#[derive(Debug)]
pub(crate) struct Ledger {
    endpoint: Endpoint<GateSide>,
    /// Room for answers; held by whoever waits for one.
    room: Mutex<Option<Buffer>>,
}

/// Proof that the warden holds the locks of an effect and has its intent in the journal. Made by
/// [`Ledger::begin`], used up by [`Ledger::finish`].
#[derive(Debug)]
#[must_use = "what is begun must be finished"]
pub(crate) struct Begun(());

/// The warden is gone, or says what it does not say: no effect can be recorded any more, so the
/// gate ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken;

impl Ledger {
    pub(crate) fn new(endpoint: Endpoint<GateSide>) -> Self {
        Self {
            endpoint,
            room: Mutex::new(None),
        }
    }

    /// Tells the warden something it does not answer.
    pub(crate) fn tell(&self, event: &Event) -> Result<(), TransportError> {
        self.endpoint
            .send(&mut Vec::new(), RequestId::NONE, event, &[])
    }

    /// Asks for locks and announces an effect. A refusal means that nothing is held.
    pub(crate) fn begin(&self, tree: TreeLock, intent: Intent) -> Result<Begun, Refusal> {
        let event = Event::Begin(Begin { tree, intent });
        match self.ask(&event, &[]) {
            Ok(Command::Begun(Granted {})) => Ok(Begun(())),
            Ok(Command::NotBegun(refusal)) => Err(refusal),
            Ok(Command::Setup(_) | Command::Receipted(_)) | Err(_) => {
                Err(Refusal::new(Code::NoLedger))
            }
        }
    }

    /// Replaces the intent of what is begun. A refusal means that it must end without an effect.
    pub(crate) fn amend(&self, _begun: &Begun, intent: Intent) -> Result<(), Refusal> {
        match self.ask(&Event::Amend(intent), &[]) {
            Ok(Command::Begun(Granted {})) => Ok(()),
            Ok(Command::NotBegun(refusal)) => Err(refusal),
            Ok(Command::Setup(_) | Command::Receipted(_)) | Err(_) => {
                Err(Refusal::new(Code::NoLedger))
            }
        }
    }

    /// Says that files are changed from here on. Nothing may be when it cannot be said.
    pub(crate) fn confirmed(&self, _begun: &Begun) -> Result<(), Broken> {
        let told = self.tell(&Event::Confirmed(Confirmed {}));
        told.map_err(|_| Broken)
    }

    /// Gives the locks back early. A ledger that takes no more is met again by `finish`.
    pub(crate) fn unlock(&self, _begun: &Begun) {
        self.tell(&Event::Unlock(Unlock {})).unwrap_or_default();
    }

    /// Ends an effect; gives its receipt, which is on record with as much of the difference as fits
    /// one frame with it. What does not is counted there.
    pub(crate) fn finish(
        &self,
        Begun(()): Begun,
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
        let (fits, cut) = fitting(event, diff);
        match self.ask(&event(cut), fits) {
            Ok(Command::Receipted(receipt)) => Ok(receipt),
            Ok(Command::Setup(_) | Command::Begun(_) | Command::NotBegun(_)) | Err(_) => {
                Err(Broken)
            }
        }
    }

    fn ask(&self, event: &Event, content: &[u8]) -> Result<Command, TransportError> {
        let mut room = self.room.lock().map_err(|_| TransportError::NotReady)?;
        self.endpoint
            .send(&mut Vec::new(), RequestId::NONE, event, content)?;
        let buffer = room.get_or_insert_with(Buffer::new);
        let (frame, _none) = self.endpoint.receive(buffer)?.decode()?;
        Ok(frame.message)
    }
}

/// As much of `content` as fits a frame behind a message that tells how many bytes of it are cut,
/// and that number.
pub(crate) fn fitting<M: Message>(message: impl Fn(u64) -> M, content: &[u8]) -> (&[u8], u64) {
    let mut frame = Vec::new();
    // No other number has a longer encoding. A message that does not fit at all is met when it is
    // sent.
    let room = match frame::encode(RequestId::NONE, &message(u64::MAX), 0, &mut frame) {
        Ok(()) => FRAME_BYTES_MAX.saturating_sub(frame.len()),
        Err(_) => 0,
    };
    let (fits, cut) = content.split_at(room.min(CONTENT_BYTES_MAX).min(content.len()));
    (fits, u64::try_from(cut.len()).unwrap_or(u64::MAX))
}
