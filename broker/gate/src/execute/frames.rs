//! encode: what a walk found becomes the frames of a streaming answer, up to its limit.

use super::walk::{Last, Piece};
use crate::meter::Meter;
use crate::outlet::{Gone, Outlet};
use portcullis_protocol::limits::{PROGRESS_MS, STREAM_FRAME_BYTES};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{CutReason, Packed, Progress, Reply, Statistics, Streamed};
use portcullis_protocol::view::Binding;
use std::time::{Duration, Instant};

/// How long what was found waits for more to go with it.
const GATHER: Duration = Duration::from_millis(5);

/// Why no more is taken.
#[derive(Debug)]
pub(super) enum Stop {
    /// The worker is gone.
    Gone,
    /// The limit of the request: more was found.
    Limit,
    /// Where the walk began is not there any more.
    StartGone,
    /// More would be shown than may be.
    Budget(Box<Refusal>),
}

impl From<Gone> for Stop {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// Sends items in order.
pub(super) struct Frames<'a, T> {
    outlet: &'a mut Outlet,
    meter: &'a Meter,
    start: Option<Binding>,
    pending: Packed<T>,
    limit: u64,
    sent_at: Instant,
    statistics: Statistics,
    /// The last object told whole.
    last: Option<RelPath>,
}

impl<'a, T: Streamed> Frames<'a, T> {
    /// An answer of at most `limit` items that count, with what its selector was bound to in the
    /// first frame.
    pub(super) fn new(
        outlet: &'a mut Outlet,
        meter: &'a Meter,
        start: Binding,
        limit: u32,
    ) -> Self {
        Self {
            outlet,
            meter,
            start: Some(start),
            pending: Packed::default(),
            limit: limit.into(),
            sent_at: Instant::now(),
            statistics: Statistics::default(),
            last: None,
        }
    }

    /// Sends one result, or keeps it for the next frame.
    pub(super) fn take(&mut self, piece: &Piece<T>) -> Result<(), Stop> {
        let (items, stop) = self.allowed(piece);
        let packed = piece.packed();
        self.statistics.sent += packed.counted(items.clone());
        self.send(packed, items.clone())?;
        match stop {
            None => {
                piece.count_into(&mut self.statistics);
                match &piece.last {
                    Last::Nothing => {}
                    Last::Item => self.last = packed.last_path(items.end).or(self.last.take()),
                    Last::Name(above, name) => {
                        self.last = above.join(name).ok().or(self.last.take());
                    }
                }
                Ok(())
            }
            Some(stop) => {
                // What was told whole before the item that is too much.
                if let Some(path) = packed.last_whole(items) {
                    self.last = Some(path);
                }
                Err(stop)
            }
        }
    }

    /// How many items of a result may be sent, and why not all.
    fn allowed(&self, piece: &Piece<T>) -> (std::ops::Range<usize>, Option<Stop>) {
        let (packed, whole) = (piece.packed(), piece.items());
        let left = self.limit.saturating_sub(self.statistics.sent);
        let (mut end, mut stop) = match packed.over(whole.clone(), left) {
            Some(end) => (end, Some(Stop::Limit)),
            None => (whole.end, None),
        };
        let shown = packed.shown(whole.start..end);
        if shown > 0 && self.meter.show(shown).is_err() {
            // As many as may be, one by one.
            let too_much = (whole.start..end).find_map(|item| {
                let refusal = self.meter.show(packed.shown(item..item + 1)).err()?;
                Some((item, refusal))
            });
            if let Some((item, refusal)) = too_much {
                (end, stop) = (item, Some(Stop::Budget(Box::new(refusal))));
            }
        }
        self.outlet.count_content(packed.shown(whole.start..end));
        (whole.start..end, stop)
    }

    fn send(&mut self, packed: &Packed<T>, items: std::ops::Range<usize>) -> Result<(), Gone> {
        if self.pending.bytes() + packed.bytes_of(items.clone()) < STREAM_FRAME_BYTES {
            self.pending.append(packed, items);
            return Ok(());
        }
        self.flush()?;
        let mut at = items.start;
        while at < items.end {
            let fits = packed.fitting(at..items.end, STREAM_FRAME_BYTES);
            if at + fits == items.end && packed.bytes_of(at..items.end) < STREAM_FRAME_BYTES / 2 {
                self.pending.append(packed, at..items.end);
                return Ok(());
            }
            self.outlet
                .send_packed(self.start.take().as_ref(), packed, at..at + fits)?;
            self.sent_at = Instant::now();
            at += fits;
        }
        Ok(())
    }

    /// Sends what waits, whatever it is.
    fn flush(&mut self) -> Result<(), Gone> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let whole = 0..self.pending.len();
        self.outlet
            .send_packed(self.start.take().as_ref(), &self.pending, whole)?;
        self.pending.clear();
        self.sent_at = Instant::now();
        Ok(())
    }

    /// Called between units of work: what waited long enough is sent, and how far the walk is when
    /// nothing was for a while. `seen` is what the walk as a whole has seen by now.
    pub(super) fn breathe(&mut self, seen: impl FnOnce() -> Progress) -> Result<(), Gone> {
        let since = self.sent_at.elapsed();
        if !self.pending.is_empty() && since >= GATHER {
            return self.flush();
        }
        if since >= Duration::from_millis(PROGRESS_MS.into()) {
            self.sent_at = Instant::now();
            let sent = self.statistics.sent;
            return self
                .outlet
                .send(&Reply::Progress(Progress { sent, ..seen() }), &[]);
        }
        Ok(())
    }

    /// Sends the rest; the binding is always told, even where nothing was found.
    pub(super) fn finish(mut self) -> Result<Sent, Gone> {
        self.flush()?;
        if let Some(start) = self.start.take() {
            self.outlet.send_packed(Some(&start), &self.pending, 0..0)?;
        }
        Ok(Sent {
            statistics: self.statistics,
            last: self.last,
        })
    }
}

/// How a walk ended, for whoever asked for it.
pub(super) enum Ended {
    /// To the end, or cut.
    Told(Option<CutReason>),
    /// More would be shown than may be.
    Refused(Box<Refusal>),
}

impl Ended {
    /// From how a walk came back.
    pub(super) fn of(ended: Result<Option<CutReason>, Stop>) -> Result<Self, Gone> {
        match ended {
            Ok(cut) => Ok(Self::Told(cut)),
            Err(Stop::Gone) => Err(Gone),
            Err(Stop::Limit) => Ok(Self::Told(Some(CutReason::Limit))),
            Err(Stop::StartGone) => Ok(Self::Told(Some(CutReason::Changed))),
            Err(Stop::Budget(refusal)) => Ok(Self::Refused(refusal)),
        }
    }
}

/// What was sent in all.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) statistics: Statistics,
    /// The last object told whole.
    pub(super) last: Option<RelPath>,
}
