//! list: names below a directory, and the frames that carry entries.

use super::walk::{Flow, Met, Visitor, Walked, walk};
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::policy::Judgement;
use crate::session::Session;
use crate::sys::open::{self, Purpose};
use portcullis_protocol::authority::{Level, Operation};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::limits::{LIST_ENTRIES_MAX, STREAM_FRAME_BYTES, STREAM_TIME_MS_MAX};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{
    Completeness, Cursor, CutReason, Detail, Done, Entries, Entry, EntryDetail, List, Reply,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Kind, Stamp};
use rustix::io::Errno;
use std::os::fd::AsFd as _;
use std::time::Duration;

/// Whether the bounds of a listing are within those of the protocol.
pub(crate) fn check(ask: &List) -> Result<(), Refusal> {
    if ask.depth == 0 {
        return Err(out_of_range(Verb::List, "depth must be at least 1"));
    }
    check_limit(Verb::List, ask.limit)
}

pub(super) fn check_limit(verb: Verb, limit: u32) -> Result<(), Refusal> {
    if limit == 0 || limit > LIST_ENTRIES_MAX {
        let note = format!("limit must be 1 to {LIST_ENTRIES_MAX}");
        return Err(out_of_range(verb, &note));
    }
    Ok(())
}

/// Answers a listing.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn list(
    session: &Session,
    bound: Bound,
    ask: &List,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    if let Err(refusal) = check(ask) {
        return outlet.refuse(&refusal);
    }
    let page = Page {
        verb: Verb::List,
        detail: ask.detail,
        limit: ask.limit,
        depth: ask.depth,
        cursor: ask.cursor.as_ref(),
        choose: &|_| Chosen::Yes,
    };
    page.send(session, &bound, outlet)
}

/// Whether an object belongs to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    Yes,
    No,
}

/// One page of a listing or glob.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) verb: Verb,
    pub(super) detail: Detail,
    pub(super) limit: u32,
    pub(super) depth: u32,
    pub(super) cursor: Option<&'a Cursor>,
    pub(super) choose: &'a dyn Fn(&Met<'_>) -> Chosen,
}

impl Page<'_> {
    /// Walks and sends what `choose` takes, up to the limit, and where to go on.
    pub(super) fn send(
        self,
        session: &Session,
        bound: &Bound,
        outlet: &mut Outlet,
    ) -> Result<(), Gone> {
        if let Err(refusal) = check_limit(self.verb, self.limit) {
            return outlet.refuse(&refusal);
        }
        let stamp = bound.observation().stamp;
        let resume = match self
            .cursor
            .map(|cursor| open_cursor(cursor, stamp, bound.path()))
        {
            Some(None) => return outlet.refuse(&Refusal::new(Code::BadCursor).of(self.verb)),
            Some(resume) => resume,
            None => None,
        };
        let time = Duration::from_millis(STREAM_TIME_MS_MAX.into());
        let mut walked = Walked::new(session, bound, self.verb, time, outlet);
        let mut pager = Pager {
            page: self,
            outlet,
            start: Some(bound.binding()),
            entries: Vec::new(),
            bytes: 0,
            sent: 0,
            last: None,
        };
        let cut = walk(bound, self.depth, resume.as_ref(), &mut walked, &mut pager)?;
        pager.flush(Flush::Final)?;
        let completeness = match cut {
            None => Completeness::Complete,
            Some(reason) => {
                let cursor = match reason {
                    CutReason::Limit | CutReason::Time | CutReason::Cancelled => pager
                        .last
                        .as_ref()
                        .or(resume.as_ref())
                        .and_then(|last| make_cursor(stamp, last)),
                    CutReason::Changed => None,
                };
                Completeness::Cut { reason, cursor }
            }
        };
        let statistics = walked.statistics;
        outlet.send(
            &Reply::Done(Done {
                completeness,
                statistics,
            }),
            &[],
        )
    }
}

fn out_of_range(verb: Verb, note: &str) -> Refusal {
    Refusal::new(Code::OutOfRange).of(verb).noting(note)
}

/// Collects entries into frames.
struct Pager<'a> {
    page: Page<'a>,
    outlet: &'a mut Outlet,
    start: Option<Binding>,
    entries: Vec<Entry>,
    bytes: usize,
    sent: u32,
    last: Option<RelPath>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Full,
    Final,
}

impl Pager<'_> {
    /// Sends what waits. The last flush sends even nothing, so that the binding is always told.
    fn flush(&mut self, flush: Flush) -> Result<(), Gone> {
        if self.entries.is_empty() && (flush == Flush::Full || self.start.is_none()) {
            return Ok(());
        }
        self.bytes = 0;
        let entries = std::mem::take(&mut self.entries);
        self.outlet.send(
            &Reply::Entries(Entries {
                start: self.start.take(),
                entries,
            }),
            &[],
        )
    }
}

impl Visitor for Pager<'_> {
    fn visit(&mut self, met: &Met<'_>, walk: &mut Walked<'_>) -> Result<Flow, Gone> {
        walk.statistics.files += 1;
        if met.denied.is_some() {
            walk.statistics.denied += 1;
        }
        if (self.page.choose)(met) == Chosen::No {
            return Ok(Flow::On);
        }
        // Only when a further entry is met is the answer known to be cut.
        if self.sent == self.page.limit {
            return Ok(Flow::Stop(CutReason::Limit));
        }
        let denied = met.denied.or_else(|| denies(walk, met, Verb::Read));
        let entry = Entry {
            path: met.path.clone(),
            kind: met.kind,
            denied: denied.map(|rule| rule.name.clone()),
            detail: match self.page.detail {
                Detail::Names => None,
                Detail::Full => detail(walk, met),
            },
        };
        self.bytes += entry.path.as_bytes().len() + 64;
        self.bytes += entry
            .detail
            .as_ref()
            .and_then(|d| d.link.as_ref())
            .map_or(0, |link| link.as_slice().len());
        self.last = Some(entry.path.clone());
        self.entries.push(entry);
        self.sent += 1;
        walk.statistics.sent += 1;
        if self.bytes >= STREAM_FRAME_BYTES {
            self.flush(Flush::Full)?;
        }
        Ok(Flow::On)
    }
}

/// The rule that denies `verb` on what was met, or makes an approval needed for it, which a walk has
/// not.
fn denies<'a>(walk: &Walked<'a>, met: &Met<'_>, verb: Verb) -> Option<&'a Rule> {
    let policy = &walk.session.policy;
    let by_name = policy.judge_place(met.place, verb);
    match by_name.or(policy.judge_object(met.object, verb)) {
        Judgement::Denied(rule) | Judgement::Asks(rule) => Some(rule),
        Judgement::Clear | Judgement::Hidden => None,
    }
}

/// The further fields of an entry, from the object itself. None when it is gone or unreachable,
/// and where the session may not `stat` it: a right to list gives no metadata.
fn detail(walk: &mut Walked<'_>, met: &Met<'_>) -> Option<EntryDetail> {
    let stat = Operation::of(Verb::Stat);
    match walk.session.level(walk.root, met.path, stat) {
        Level::Granted => {}
        Level::Ask | Level::Nothing => return None,
    }
    if denies(walk, met, Verb::Stat).is_some() {
        return None;
    }
    let looked = walk.root_fd().and_then(|root| {
        let object = open::below(root, met.path, Purpose::LookAtLink)?;
        let observed = open::observation(&object)?;
        let link = match observed.kind {
            Kind::Link => Some(open::link_text(object.as_fd())?),
            Kind::File
            | Kind::Directory
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => None,
        };
        Ok((observed, link))
    });
    match looked {
        Ok((observed, link)) => Some(EntryDetail {
            size: observed.stamp.size,
            mode: observed.mode,
            modified: observed.modified,
            link: link.and_then(|text| Bytes::new(text).ok()),
        }),
        // The walk counts a mount when it does not enter it; once is enough.
        Err(Errno::XDEV) if met.kind == Kind::Directory => None,
        Err(errno) => {
            walk.count(errno);
            None
        }
    }
}

const CURSOR_VERSION: u8 = 1;

/// A cursor names the directory it was made in and the last path sent.
fn make_cursor(start: Stamp, last: &RelPath) -> Option<Cursor> {
    let mut bytes = vec![CURSOR_VERSION];
    bytes.extend_from_slice(&start.device.to_le_bytes());
    bytes.extend_from_slice(&start.inode.to_le_bytes());
    bytes.extend_from_slice(last.as_bytes());
    Cursor::new(bytes).ok()
}

/// The path of a cursor that was made in this very directory, whatever has changed inside.
fn open_cursor(cursor: &Cursor, start: Stamp, within: &RelPath) -> Option<RelPath> {
    let [version, rest @ ..] = cursor.as_slice() else {
        return None;
    };
    let (device, rest) = rest.split_first_chunk::<8>()?;
    let (inode, path) = rest.split_first_chunk::<8>()?;
    let same = u64::from_le_bytes(*device) == start.device
        && u64::from_le_bytes(*inode) == start.inode
        && *version == CURSOR_VERSION;
    let path = RelPath::parse(path).ok()?;
    (same && path != *within && path.below(within).is_some()).then_some(path)
}
