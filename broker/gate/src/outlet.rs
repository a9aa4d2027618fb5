//! encode: where the answer to one request goes.

use crate::counters::Counters;
use crate::ledger::{Ledger, fitting};
use crate::refused::Refused;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Changed, Conflicted, Delegated, More, Packed, Planned, Reply, Streamed,
};
use portcullis_protocol::view::Binding;
use portcullis_transport::{Buffer, Endpoint, SessionSide, TransportError};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The worker is gone, or did not read in time: nothing more can be said to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

/// The streaming requests of a session that are not answered to the end.
pub(crate) type Running = Arc<Mutex<Streaming>>;

/// See [`Running`].
#[derive(Debug, Default)]
pub(crate) struct Streaming {
    /// Those that are answered here, with what cancels each.
    here: HashMap<RequestId, Arc<AtomicBool>>,
    /// Those whose thread waits for what is answered elsewhere: their numbers may be used again
    /// before it knows.
    elsewhere: usize,
}

impl Streaming {
    /// Threads that are busy with one.
    pub(crate) fn count(&self) -> usize {
        self.here.len() + self.elsewhere
    }

    /// Whether a number is in use.
    pub(crate) fn has(&self, id: RequestId) -> bool {
        self.here.contains_key(&id)
    }

    pub(crate) fn add(&mut self, id: RequestId, cancel: Arc<AtomicBool>) {
        self.here.insert(id, cancel);
    }

    /// What cancels one.
    pub(crate) fn of(&self, id: RequestId) -> Option<&AtomicBool> {
        self.here.get(&id).map(Arc::as_ref)
    }

    /// What cancels each.
    pub(crate) fn all(&self) -> impl Iterator<Item = &AtomicBool> {
        self.here.values().map(Arc::as_ref)
    }

    /// Takes one out, if it is this very request.
    fn take(&mut self, id: RequestId, cancel: &Arc<AtomicBool>) -> Taken {
        if self
            .here
            .get(&id)
            .is_some_and(|flag| Arc::ptr_eq(flag, cancel))
        {
            self.here.remove(&id);
            Taken::Yes
        } else {
            Taken::No
        }
    }
}

/// Whether a request was among those that stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    No,
}

/// Whether a socket was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    Yes,
    NotTaken,
}

/// Answers one request. Several may be open at once; the kernel keeps their packets apart.
#[derive(Debug)]
pub(crate) struct Outlet {
    endpoint: Arc<Endpoint<SessionSide>>,
    counters: Arc<Counters>,
    cancelled: Arc<AtomicBool>,
    id: RequestId,
    scratch: Vec<u8>,
    room: Option<Buffer>,
    /// Where its id stands while it streams; none for what is answered at once.
    running: Option<Running>,
}

impl Outlet {
    pub(crate) fn new(
        endpoint: Arc<Endpoint<SessionSide>>,
        counters: Arc<Counters>,
        running: Option<Running>,
        id: RequestId,
    ) -> Self {
        let cancelled = Arc::new(AtomicBool::new(false));
        Self {
            endpoint,
            counters,
            cancelled,
            id,
            scratch: Vec::new(),
            room: None,
            running,
        }
    }

    /// The same outlet for another request; keeps its memory.
    pub(crate) fn turn_to(&mut self, id: RequestId) {
        self.id = id;
    }

    /// The request that is answered.
    pub(crate) const fn id(&self) -> RequestId {
        self.id
    }

    /// Has its request answered by somebody who gets the session's socket, and waits for that. The
    /// worker may use the request's number again as soon as it has the answer, so it is free from
    /// here on.
    pub(crate) fn elsewhere<T>(&self, wait: impl FnOnce(&Ledger, BorrowedFd<'_>) -> T) -> T {
        let lent = self.with_running(|running| match running.take(self.id, &self.cancelled) {
            Taken::Yes => {
                running.elsewhere += 1;
                Taken::Yes
            }
            Taken::No => Taken::No,
        });
        let waited = wait(self.counters.ledger(), self.endpoint.as_fd());
        match lent {
            Some(Taken::Yes) => drop(self.with_running(|running| running.elsewhere -= 1)),
            Some(Taken::No) | None => {}
        }
        waited
    }

    fn with_running<T>(&self, work: impl FnOnce(&mut Streaming) -> T) -> Option<T> {
        let mut running = self.running.as_ref()?.lock().ok()?;
        Some(work(&mut running))
    }

    /// Sends one reply whole.
    pub(crate) fn send(&mut self, reply: &Reply, content: &[u8]) -> Result<(), Gone> {
        if is_last(reply) {
            self.release();
        }
        let sent = self
            .endpoint
            .send(&mut self.scratch, self.id, reply, content);
        self.sent(sent, content.len())
    }

    /// Sends items of a streaming answer that are encoded already.
    pub(crate) fn send_packed<T: Streamed>(
        &mut self,
        start: Option<&Binding>,
        packed: &Packed<T>,
        items: Range<usize>,
    ) -> Result<(), Gone> {
        let sent = self
            .endpoint
            .send_packed(&mut self.scratch, self.id, start, (packed, items));
        self.sent(sent, 0)
    }

    /// The same with the first `len` bytes of `room` as content, without a copy of them.
    pub(crate) fn send_room(
        &mut self,
        reply: &Reply,
        room: &mut Buffer,
        len: usize,
    ) -> Result<(), Gone> {
        if is_last(reply) {
            self.release();
        }
        let sent = self
            .endpoint
            .send_room(&mut self.scratch, self.id, reply, room.first(len));
        self.sent(sent, len)
    }

    fn sent(&mut self, sent: Result<(), TransportError>, content: usize) -> Result<(), Gone> {
        match sent {
            Ok(()) => {
                self.counters.content(content);
                Ok(())
            }
            // A reply is built to fit; one that does not is our error, and said as such.
            Err(TransportError::Encode(_)) => {
                let refusal = Refusal::new(Code::OutOfRange).noting("the reply does not fit");
                self.refuse(&refusal)
            }
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Sends the end of an effect, with its receipt, and what is behind it. What of a difference
    /// does not fit is counted; a region always fits.
    pub(crate) fn changed(&mut self, changed: &Changed, behind: &[u8]) -> Result<(), Gone> {
        if let Some(refusal) = &changed.refusal {
            self.counters.refusal(refusal);
        }
        let reply = |cut: u64| {
            let diff_cut = changed.diff_cut.saturating_add(cut);
            Reply::Changed(Changed {
                diff_cut,
                ..changed.clone()
            })
        };
        let (reply, fits) = fitting(reply, behind);
        self.send(&reply, fits)
    }

    /// Sends what a change set would do, and as much of its difference as fits.
    pub(crate) fn planned(&mut self, planned: &Planned, diff: &[u8]) -> Result<(), Gone> {
        let reply = |cut: u64| {
            let diff_cut = planned.diff_cut.saturating_add(cut);
            Reply::Planned(Planned {
                diff_cut,
                ..planned.clone()
            })
        };
        let (reply, fits) = fitting(reply, diff);
        self.send(&reply, fits)
    }

    /// Ends the request with a refusal, and what the object in the way has become.
    pub(crate) fn conflicted(&mut self, refused: Refused) -> Result<(), Gone> {
        let Refused { refusal, shown } = refused;
        let Some(shown) = shown else {
            return self.refuse(&refusal);
        };
        self.counters.refusal(&refusal);
        let region = shown.region;
        self.send(
            &Reply::Conflicted(Conflicted { refusal, region }),
            &shown.bytes,
        )
    }

    /// Hands the socket of a delegated session to the worker.
    pub(crate) fn hand(
        &mut self,
        delegated: Delegated,
        socket: BorrowedFd<'_>,
    ) -> Result<Handed, Gone> {
        let reply = Reply::Delegated(delegated);
        match self.endpoint.send_with(self.id, &reply, &[socket]) {
            Ok(()) => Ok(Handed::Yes),
            // The peer's socket takes no descriptor now, or its user has too many under way.
            Err(TransportError::Kernel(Errno::PERM | Errno::TOOMANYREFS)) => Ok(Handed::NotTaken),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Counts content that is sent inside a reply instead of behind it.
    pub(crate) fn count_content(&self, bytes: usize) {
        self.counters.content(bytes);
    }

    /// Counts a refusal that is told as a part of a larger answer.
    pub(crate) fn note(&self, refusal: &Refusal) {
        self.counters.refusal(refusal);
    }

    /// Ends the request with a refusal.
    pub(crate) fn refuse(&mut self, refusal: &Refusal) -> Result<(), Gone> {
        self.counters.refusal(refusal);
        self.release();
        let reply = Reply::Refused(refusal.clone());
        self.endpoint
            .send(&mut self.scratch, self.id, &reply, &[])
            .map_err(|error| self.lost(&error))
    }

    /// Remembers whether the worker went away or only did not read.
    fn lost(&self, error: &TransportError) -> Gone {
        if matches!(error, TransportError::NotReady) {
            self.counters.stalled();
        }
        Gone
    }

    /// Frees the request's id before its last frame is sent, because the worker may use the id
    /// again as soon as it has read that.
    fn release(&self) {
        self.with_running(|running| running.take(self.id, &self.cancelled));
    }

    /// Room for file content, kept between requests so that it is allocated once. Give it back
    /// with [`Self::keep_room`].
    pub(crate) fn take_room(&mut self) -> Buffer {
        self.room.take().unwrap_or_default()
    }

    /// See [`Self::take_room`].
    pub(crate) fn keep_room(&mut self, room: Buffer) {
        self.room = Some(room);
    }

    /// Whether the worker no longer wants the rest. Asked between units of work.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// What cancels it.
    pub(crate) fn cancel_handle(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }
}

/// Whether a reply ends its request.
const fn is_last(reply: &Reply) -> bool {
    match reply {
        Reply::ReadPart(part) => matches!(part.more, More::Last),
        Reply::Entries(_) | Reply::Matches(_) | Reply::Progress(_) | Reply::Closing(_) => false,
        Reply::Welcome(_)
        | Reply::Refused(_)
        | Reply::Whoami(_)
        | Reply::Stat(_)
        | Reply::Done(_)
        | Reply::Why(_)
        | Reply::Pong(_)
        | Reply::Planned(_)
        | Reply::Changed(_)
        | Reply::Uploaded(_)
        | Reply::Composed(_)
        | Reply::Conflicted(_)
        | Reply::Delegated(_)
        | Reply::Noted(_) => true,
    }
}
