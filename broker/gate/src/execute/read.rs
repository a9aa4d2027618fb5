//! read: bytes and lines of regular files, each from one open descriptor.

mod span;

use crate::bind::Bound;
use crate::memory::{Memory, Part};
use crate::outlet::{Gone, Outlet};
use crate::session::Session;
use crate::sys::{file, open};
use portcullis_protocol::limits::{EDIT_BYTES_MAX, SCAN_BYTES_MAX};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Completeness, CutReason, Done, More, Range, Read, ReadEnd, ReadPart, ReadTail, Reply, Rest,
    Selector, Statistics, Steadiness, Survey, TextSurvey,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Digest};
use portcullis_transport::Buffer;
use rustix::io::Errno;
use span::{Broken, Span, first_of_tail, fit, span, whole};

/// Reads of at most this many bytes are answered at once; longer ones are streams.
const SHORT_BYTES: u64 = 1024 * 1024;
/// Files of at most this many bytes that were read in parts are read once more for their digest,
/// so that one that is only touched afterwards is known again.
const COMPLETED_BYTES_MAX: u64 = SHORT_BYTES;

/// Whether reading this part of this file takes a bounded handful of system calls.
pub(crate) fn is_short(bound: &Bound, ask: &Read) -> bool {
    let size = bound.observation().stamp.size;
    let bytes = match ask.range {
        Range::Bytes { offset, length } => length.min(size.saturating_sub(offset)),
        Range::Lines { .. } | Range::Head { .. } | Range::Tail { .. } => size,
    };
    match ask.survey {
        Survey::None => bytes <= SHORT_BYTES,
        Survey::Text | Survey::TextAndDigest => size <= SHORT_BYTES,
    }
}

/// Answers a read of one file that is bound.
pub(crate) fn read_bound(
    session: &Session,
    ask: &Read,
    bound: Bound,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let mut bound = Some(bound);
    // The one selector of the request is what was bound; there is no second to ask for.
    let reach = |_: &Selector| bound.take().ok_or_else(|| Refusal::new(Code::Malformed));
    read(session, ask, reach, outlet)
}

/// Answers a read: each file's parts in order, then the next file's. `reach` binds a selector; it
/// is called for one file at a time, so one descriptor is open at once.
pub(crate) fn read(
    session: &Session,
    ask: &Read,
    reach: impl FnMut(&Selector) -> Result<Bound, Refusal>,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    if ask.selectors.as_slice().is_empty() {
        return outlet.refuse(
            &Refusal::new(Code::OutOfRange)
                .of(Verb::Read)
                .noting("no file"),
        );
    }
    let mut room = outlet.take_room();
    let answered = files((session, ask), reach, &mut room, outlet);
    outlet.keep_room(room);
    answered
}

fn files(
    (session, ask): (&Session, &Read),
    mut reach: impl FnMut(&Selector) -> Result<Bound, Refusal>,
    room: &mut Buffer,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let selectors = ask.selectors.as_slice();
    for (n, selector) in selectors.iter().enumerate() {
        let more = if n + 1 == selectors.len() {
            More::Last
        } else {
            More::Follows
        };
        let mut parts = Parts {
            file: u16::try_from(n).unwrap_or(u16::MAX),
            more,
            head: None,
            outlet: &mut *outlet,
            session,
        };
        let written = selector.path.as_slice();
        let outcome = match reach(selector) {
            Ok(bound) => {
                parts.head = Some(bound.binding());
                one(&bound, ask, room, &mut parts, written)
            }
            Err(refusal) => Err(Failure::Refused(refusal)),
        };
        match outcome {
            Ok(()) => {}
            Err(Failure::Gone) => return Err(Gone),
            Err(Failure::Cancelled) => return cancelled(outlet),
            // One file alone is refused like any request; among others only its own part is.
            Err(Failure::Refused(refusal)) if selectors.len() == 1 => {
                return outlet.refuse(&refusal);
            }
            Err(Failure::Refused(refusal)) => parts.refused(refusal)?,
        }
    }
    Ok(())
}

/// What stopped the answer of one file.
enum Failure {
    Refused(Refusal),
    Cancelled,
    Gone,
}

impl Broken {
    fn or(self, written: &[u8]) -> Failure {
        match self {
            Self::Errno(errno) => Failure::Refused(refusal(errno, written)),
            Self::Budget(refusal) => Failure::Refused(refusal.of(Verb::Read).on(written)),
            Self::Cancelled => Failure::Cancelled,
            Self::Gone => Failure::Gone,
        }
    }
}

impl From<Gone> for Failure {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

fn cancelled(outlet: &mut Outlet) -> Result<(), Gone> {
    let completeness = Completeness::Cut {
        reason: CutReason::Cancelled,
        cursor: None,
    };
    outlet.send(
        &Reply::Done(Done {
            completeness,
            statistics: Statistics::default(),
        }),
        &[],
    )
}

/// The frames of one file.
struct Parts<'a> {
    file: u16,
    more: More,
    head: Option<Binding>,
    outlet: &'a mut Outlet,
    session: &'a Session,
}

impl Parts<'_> {
    /// Sends the first `len` bytes of `room`, which are at `offset` of the file.
    fn send(
        &mut self,
        offset: u64,
        room: &mut Buffer,
        len: usize,
        tail: Option<ReadTail>,
    ) -> Result<(), Gone> {
        let part = self.part(offset, tail);
        self.outlet.send_room(&part, room, len)
    }

    fn refused(&mut self, refusal: Refusal) -> Result<(), Gone> {
        self.outlet.note(&refusal);
        let part = self.part(0, Some(ReadTail::Refused(refusal)));
        self.outlet.send(&part, &[])
    }

    fn part(&mut self, offset: u64, tail: Option<ReadTail>) -> Reply {
        Reply::ReadPart(ReadPart {
            file: self.file,
            offset,
            head: self.head.take(),
            more: match tail {
                Some(_) => self.more,
                None => More::Follows,
            },
            tail,
        })
    }
}

fn one(
    bound: &Bound,
    ask: &Read,
    room: &mut Buffer,
    parts: &mut Parts<'_>,
    written: &[u8],
) -> Result<(), Failure> {
    let failed = |errno: Errno| Failure::Refused(refusal(errno, written));
    let size = bound.observation().stamp.size;
    let (text, digest) = match ask.survey {
        Survey::None => (None, None),
        Survey::Text | Survey::TextAndDigest if size > SCAN_BYTES_MAX => (None, None),
        Survey::Text => (
            Some(whole(bound, room, parts.outlet, None).map_err(|f| f.or(written))?),
            None,
        ),
        Survey::TextAndDigest => {
            let mut hasher = blake3::Hasher::new();
            let text =
                whole(bound, room, parts.outlet, Some(&mut hasher)).map_err(|f| f.or(written))?;
            (Some(text), Some(*hasher.finalize().as_bytes()))
        }
    };
    let mut span = span(bound, ask.range, room, parts.outlet).map_err(|f| f.or(written))?;
    if let (Range::Tail { .. }, Some(text)) = (ask.range, &text)
        && span.first_line == 0
    {
        span.first_line = first_of_tail(bound, &span, text, room).map_err(failed)?;
    }
    let surveyed = Surveyed { text, digest };
    send_span(bound, &span, surveyed, room, parts).map_err(|f| f.or(written))
}

/// What was computed over the whole file.
#[derive(Clone, Copy)]
struct Surveyed {
    text: Option<TextSurvey>,
    digest: Option<[u8; 32]>,
}

/// Sends the bytes of a span, the last piece with the end of the file's answer.
fn send_span(
    bound: &Bound,
    span: &Span,
    surveyed: Surveyed,
    room: &mut Buffer,
    parts: &mut Parts<'_>,
) -> Result<(), Broken> {
    // A read is of the file as it was bound: what is appended meanwhile is told, not sent, so
    // that a writer faster than the reader cannot keep it going.
    let until = span.end.min(bound.observation().stamp.size);
    let mut at = span.start;
    let mut hasher = hasher(bound, (at, until), &surveyed, &parts.session.memory);
    loop {
        if parts.outlet.is_cancelled() {
            return Err(Broken::Cancelled);
        }
        let piece = fit(room, until.saturating_sub(at));
        let wanted = piece.len();
        let n = file::read_at(bound.object(), piece, at).map_err(Broken::Errno)?;
        // Before it is sent, and before it is remembered as shown.
        parts.session.meter.show(n).map_err(Broken::Budget)?;
        let next = at.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        if let Some(hasher) = &mut hasher {
            hasher.update(piece.get(..n).unwrap_or_default());
        }
        if n == wanted && next < until {
            parts.send(at, room, n, None).map_err(|Gone| Broken::Gone)?;
            at = next;
            continue;
        }
        let after = open::observation(bound.object())
            .map_err(Broken::Errno)?
            .stamp;
        let steady = after == bound.observation().stamp;
        if steady && parts.session.memory.keeps() {
            let hashed = hasher.map(|hasher| *hasher.finalize().as_bytes());
            remember(
                bound,
                span.start..next,
                surveyed.digest.or(hashed),
                &parts.session.memory,
            );
        }
        let rest = match span.rest {
            Rest::CutAtScanLimit => Rest::CutAtScanLimit,
            Rest::End | Rest::More if next < after.size => Rest::More,
            Rest::End | Rest::More => Rest::End,
        };
        let end = ReadEnd {
            first_line: span.first_line,
            next_offset: next,
            rest,
            text: surveyed.text,
            digest: surveyed.digest,
            steadiness: if steady {
                Steadiness::Steady
            } else {
                Steadiness::Torn
            },
        };
        return parts
            .send(at, room, n, Some(ReadTail::Read(end)))
            .map_err(|Gone| Broken::Gone);
    }
}

/// What works out the digest of a file while it is sent whole, for the session's memory.
fn hasher(
    bound: &Bound,
    (start, until): (u64, u64),
    surveyed: &Surveyed,
    memory: &Memory,
) -> Option<blake3::Hasher> {
    let size = bound.observation().stamp.size;
    let whole = start == 0 && until == size && size <= EDIT_BYTES_MAX;
    (memory.keeps() && whole && surveyed.digest.is_none()).then(blake3::Hasher::new)
}

/// Remembers bytes of a file that stood still, before the last of them are sent: the worker may
/// ask for a change as soon as it has them.
fn remember(bound: &Bound, bytes: std::ops::Range<u64>, digest: Option<[u8; 32]>, memory: &Memory) {
    let mut part = Part {
        stamp: bound.observation().stamp,
        bytes,
        digest: digest.map(Digest),
    };
    if part.stamp.size <= COMPLETED_BYTES_MAX && memory.completes(&part) {
        part.digest = digest_of(bound);
    }
    memory.shown((bound.root(), bound.path()), part);
}

/// The digest of a small file that was sent in parts; none if it is not what it was.
fn digest_of(bound: &Bound) -> Option<Digest> {
    let stamp = bound.observation().stamp;
    let mut bytes = vec![0; usize::try_from(stamp.size).ok()? + 1];
    let n = file::read_at(bound.object(), &mut bytes, 0).ok()?;
    let after = open::observation(bound.object()).ok()?.stamp;
    (after == stamp).then(|| Digest(*blake3::hash(bytes.get(..n).unwrap_or_default()).as_bytes()))
}

fn refusal(errno: Errno, written: &[u8]) -> Refusal {
    let code = match errno {
        Errno::ISDIR => Code::IsADirectory,
        Errno::NOMEM => Code::Exhausted,
        Errno::AGAIN => Code::Contended,
        _ => Code::Io,
    };
    Refusal::new(code).of(Verb::Read).on(written)
}
