//! Many reads in flight at once, up to what the hello allows.

use crate::error::{Error, Violation};
use crate::link::Expected;
use crate::read::{Assembly, FileAnswer, Order, Step};
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::limits::{CONTENT_BYTES_MAX, HEADER_BYTES, LABEL_BYTES_MAX};
use portcullis_protocol::session::{Limits, More, Range, Read, Reply, Request, Survey};
use std::collections::VecDeque;

/// The answer to one of many reads: its files, or why all of it was refused.
pub type ReadAnswer = Result<Vec<FileAnswer>, Error>;

/// One request that waits for its answer.
struct Waiting {
    id: RequestId,
    /// Which of the reads.
    index: usize,
    /// Its size in the socket, at most.
    bytes: usize,
    weight: Weight,
    order: Order,
    assembly: Assembly,
}

impl Session {
    /// Sends many reads without waiting for each, and gives their answers in the order of `reads`.
    /// A request that is refused as a whole is an error in its place; an error that ends the
    /// connection is the error of the call.
    pub fn pipeline_read(&mut self, reads: &[Read]) -> Result<Vec<ReadAnswer>, Error> {
        let limits = self.limits()?;
        let mut answers: Vec<Option<ReadAnswer>> = Vec::new();
        answers.resize_with(reads.len(), || None);
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut unsent: VecDeque<(usize, &Read)> = reads.iter().enumerate().collect();
        loop {
            let mut batch = Vec::new();
            while let Some((index, read)) = unsent.pop_front() {
                if !has_room(&waiting, read, &limits) {
                    unsent.push_front((index, read));
                    break;
                }
                let one = self.prepare(index, read);
                batch.push((one.id, Request::Read(read.clone())));
                waiting.push(one);
            }
            self.send_many(batch.iter().map(|(id, request)| (*id, request)))?;
            if waiting.is_empty() {
                break;
            }
            if let Some((index, answer)) = self.take(&mut waiting)?
                && let Some(place) = answers.get_mut(index)
            {
                *place = Some(answer);
            }
        }
        let all: Option<Vec<_>> = answers.into_iter().collect();
        all.ok_or_else(|| self.wire.violated(Violation::WrongKind))
    }

    fn prepare(&mut self, index: usize, read: &Read) -> Waiting {
        Waiting {
            id: self.wire.fresh_id(),
            index,
            bytes: size_at_most(read),
            weight: Weight::of(read),
            order: Order::new(read.selectors.as_slice().len()),
            assembly: Assembly::new(read),
        }
    }

    /// Takes one frame; gives an answer when that was its last.
    fn take(&mut self, waiting: &mut Vec<Waiting>) -> Result<Option<(usize, ReadAnswer)>, Error> {
        let Self { wire, buffer, .. } = self;
        let expected = match waiting.as_slice() {
            [] | [_] => Expected::One,
            [..] => Expected::Many,
        };
        let (from, reply, content) = wire.next(buffer, expected)?;
        let Some(at) = waiting.iter().position(|one| one.id == from) else {
            return Err(wire.violated(Violation::UnknownId(from.0)));
        };
        if let Reply::Refused(refusal) = reply {
            let one = waiting.remove(at);
            return Ok(Some((one.index, Err(refusal.into()))));
        }
        let Some(one) = waiting.get_mut(at) else {
            return Ok(None);
        };
        let step = one.order.take(&reply, content.len());
        let step = step.map_err(|violation| wire.violated(violation))?;
        if let Reply::ReadPart(part) = reply {
            let taken = one.assembly.take(part, content);
            taken.map_err(|violation| wire.violated(violation))?;
        }
        match step {
            Step::Part(More::Follows) => Ok(None),
            Step::Part(More::Last) | Step::End => {
                let one = waiting.remove(at);
                let answer = one.assembly.finish();
                let answer = answer.map_err(|violation| wire.violated(violation))?;
                Ok(Some((one.index, Ok(answer))))
            }
        }
    }
}

/// What a read takes from the limits of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// One file's bytes that fit one frame: the gate answers at once.
    Small,
    /// Anything else: the gate runs it as one of its few streams.
    Stream,
}

impl Weight {
    fn of(read: &Read) -> Self {
        let fits = match read.range {
            Range::Bytes { length, .. } => {
                usize::try_from(length).is_ok_and(|length| length <= CONTENT_BYTES_MAX)
            }
            Range::Lines { .. } | Range::Head { .. } | Range::Tail { .. } => false,
        };
        if fits && read.survey == Survey::None && read.selectors.as_slice().len() == 1 {
            Self::Small
        } else {
            Self::Stream
        }
    }
}

/// Whether another request may be sent. One always may, whatever its size.
fn has_room(waiting: &[Waiting], read: &Read, limits: &Limits) -> bool {
    let bytes: usize = waiting.iter().map(|one| one.bytes).sum();
    let most = usize::try_from(limits.in_flight_bytes).unwrap_or(usize::MAX);
    let is_stream = |weight: Weight| weight == Weight::Stream;
    let streams = waiting.iter().filter(|one| is_stream(one.weight)).count();
    waiting.is_empty()
        || (waiting.len() < usize::from(limits.in_flight)
            && bytes + size_at_most(read) <= most
            && (!is_stream(Weight::of(read)) || streams < usize::from(limits.streams)))
}

/// More bytes than a request has on the wire: header, range and list, then for each selector its
/// path, its label, and their lengths.
fn size_at_most(read: &Read) -> usize {
    let selectors = read.selectors.as_slice().iter();
    let paths: usize = selectors
        .map(|selector| selector.path.as_slice().len() + LABEL_BYTES_MAX + 8)
        .sum();
    HEADER_BYTES + 32 + paths
}
