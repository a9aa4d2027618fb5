//! What a worker believes of an object, against what is there and what the session knows of it.

use super::target::Asked;
use crate::memory::{Memory, Name, Ranges, Seen, Version};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::Expect;
use portcullis_protocol::view::{Digest, Kind, Stamp};

/// Pieces of a file that a note names; more are counted.
const TOLD_MAX: usize = 4;

/// What has the name.
#[derive(Debug, Clone, Copy)]
pub(super) struct There<'a> {
    pub(super) name: Name<'a>,
    pub(super) kind: Kind,
    pub(super) stamp: Stamp,
    /// Of a file's content, where it can be read and is not too large.
    pub(super) digest: Option<Digest>,
}

/// How much of a file must be known for what is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// All of it: the content goes, and what comes instead was not made from what is not known.
    Whole,
    /// Any of it: the content stays, or its loss is what was asked for.
    Any,
}

/// Compares what the worker believes with what is there. Nothing is changed by then.
pub(super) fn check(
    memory: &Memory,
    asked: Asked<'_>,
    expect: Expect,
    need: Need,
    there: Option<There<'_>>,
) -> Result<(), Refusal> {
    let Some(there) = there else {
        return match expect {
            Expect::Any | Expect::Seen | Expect::Absent => Ok(()),
            Expect::Version(_) | Expect::Content(_) => Err(asked.refuse(Code::Conflict)),
        };
    };
    let refuse = |code| asked.refuse(code).finding(there.stamp);
    match expect {
        Expect::Any => Ok(()),
        Expect::Absent => Err(refuse(Code::Exists)),
        Expect::Content(wanted) if there.digest == Some(wanted) => Ok(()),
        Expect::Content(_) => Err(refuse(Code::Conflict)),
        Expect::Version(wanted) => {
            let known = memory.versions(there.name, &wanted);
            let touched = || {
                let mut had = known.iter().filter(|version| version.had(&wanted));
                there.digest.is_some() && had.any(|version| version.digest == there.digest)
            };
            if wanted != there.stamp && !touched() {
                return Err(refuse(Code::Conflict));
            }
            match need {
                Need::Any => Ok(()),
                Need::Whole => seen(memory, asked, need, there),
            }
        }
        Expect::Seen => seen(memory, asked, need, there),
    }
}

/// Whether the session knows what is there.
fn seen(memory: &Memory, asked: Asked<'_>, need: Need, there: There<'_>) -> Result<(), Refusal> {
    if memory.is_decided() {
        return Ok(());
    }
    let known = memory.versions(there.name, &there.stamp);
    let now = |version: &&Version| version.is(&there.stamp, there.digest);
    let refuse = |code| asked.refuse(code).finding(there.stamp);
    let mut part = None;
    for version in known.iter().filter(now) {
        match (&version.seen, need) {
            (Seen::Whole, _) | (Seen::Part(_), Need::Any) => return Ok(()),
            (Seen::Part(ranges), Need::Whole) => part = Some(ranges),
        }
    }
    let other = |version: &Version| need == Need::Any || version.seen == Seen::Whole;
    match part {
        Some(ranges) => Err(refuse(Code::NotSeen).noting(&told(ranges, there.stamp.size))),
        None if known.iter().any(other) => Err(refuse(Code::Conflict)),
        None if !known.is_empty() => {
            Err(refuse(Code::NotSeen)
                .noting("only a part of it was seen, and that of another version"))
        }
        None if there.kind == Kind::File => {
            Err(refuse(Code::NotSeen).noting("not seen, or too long ago"))
        }
        None => Err(refuse(Code::NotSeen).noting("it is no file, and only files are seen")),
    }
}

/// What of a file was seen, for a note.
fn told(ranges: &Ranges, size: u64) -> String {
    let pieces: Vec<String> = ranges
        .iter()
        .take(TOLD_MAX)
        .map(|range| format!("{}-{}", range.start, range.end))
        .collect();
    let more = match ranges.iter().len().saturating_sub(TOLD_MAX) {
        0 => String::new(),
        more => format!(" and {more} more pieces"),
    };
    if pieces.is_empty() {
        return format!("none of its {size} bytes since it was edited");
    }
    format!("bytes seen: {}{more} of {size}", pieces.join(", "))
}
