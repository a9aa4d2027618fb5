//! search: lines of files that match, with the engine of ripgrep on open descriptors.

use super::glob::Patterns;
use super::walk::{Flow, Interrupt, Met, Visitor, Walked, walk};
use crate::bind::Bound;
use crate::outlet::{Gone, Outlet};
use crate::resolve::open_judged;
use crate::session::Session;
use crate::sys::file;
use crate::sys::open::Purpose;
use found::{Collector, Taken};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use portcullis_protocol::limits::{
    SEARCH_CONTEXT_MAX, SEARCH_FILE_BYTES_MAX, SEARCH_HEAP_BYTES_MAX, SEARCH_MATCHES_MAX,
    STREAM_TIME_MS_MAX, WALK_DEPTH_MAX,
};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Completeness, CutReason, Done, Reply, Search, SearchMode, VersionControl,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::Kind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

mod found;
mod pattern;

/// Directories passed over unless the request includes them.
const VERSION_CONTROL: [&[u8]; 4] = [b".git", b".hg", b".svn", b".jj"];

/// Whether the patterns and the bounds of a search can be used.
pub(crate) fn check(ask: &Search) -> Result<(), Refusal> {
    Plan::new(ask).map(drop)
}

/// Answers a search below a directory, or in one file.
#[expect(clippy::needless_pass_by_value, reason = "a bound operation runs once")]
pub(crate) fn search(
    session: &Session,
    bound: Bound,
    ask: &Search,
    outlet: &mut Outlet,
) -> Result<(), Gone> {
    let written = ask.selector.path.as_slice();
    let plan = match Plan::new(ask) {
        Ok(plan) => plan,
        Err(refusal) => return outlet.refuse(&refusal),
    };
    let time = Duration::from_millis(ask.time_ms.min(STREAM_TIME_MS_MAX).into());
    let mut walked = Walked::new(session, &bound, Verb::Search, time, outlet);
    let mut hunt = Hunt {
        start: bound.path().clone(),
        searcher: plan.searcher(),
        plan,
        collector: Collector::new(
            ask.mode,
            ask.limit,
            bound.binding(),
            (outlet, &session.meter),
        ),
    };
    let cut = match bound.observation().kind {
        Kind::Directory => walk(&bound, WALK_DEPTH_MAX, None, &mut walked, &mut hunt)?,
        Kind::File | Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
            let size = bound.observation().stamp.size;
            hunt.file(bound.path(), bound.object(), size, &mut walked)?
        }
    };
    hunt.collector.finish()?;
    if let Some(refusal) = hunt.collector.over_budget() {
        return outlet.refuse(&refusal.of(Verb::Search).on(written));
    }
    let completeness = match cut {
        None => Completeness::Complete,
        Some(reason) => Completeness::Cut {
            reason,
            cursor: None,
        },
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

/// A search, checked and compiled.
struct Plan {
    matcher: RegexMatcher,
    mode: SearchMode,
    include: Patterns,
    exclude: Patterns,
    version_control: VersionControl,
    per_file: u32,
    file_bytes_max: u64,
}

impl Plan {
    fn new(ask: &Search) -> Result<Self, Refusal> {
        let refuse = |code: Code, note: &str| Refusal::new(code).of(Verb::Search).noting(note);
        let range = |note: String| refuse(Code::OutOfRange, &note);
        if ask.limit == 0 || ask.limit > SEARCH_MATCHES_MAX || ask.limit_per_file == 0 {
            return Err(range(format!("limits must be 1 to {SEARCH_MATCHES_MAX}")));
        }
        if ask.file_bytes_max > SEARCH_FILE_BYTES_MAX {
            return Err(range(format!(
                "files of at most {SEARCH_FILE_BYTES_MAX} bytes"
            )));
        }
        if let SearchMode::Content { before, after } = ask.mode
            && before.max(after) > SEARCH_CONTEXT_MAX
        {
            return Err(range(format!(
                "at most {SEARCH_CONTEXT_MAX} lines of context"
            )));
        }
        let patterns = |globs: &[portcullis_protocol::bounded::Bytes<_>]| {
            let globs: Vec<&[u8]> = globs.iter().map(|glob| glob.as_slice()).collect();
            Patterns::compile(&globs).map_err(|note| refuse(Code::BadPattern, &note))
        };
        Ok(Self {
            matcher: pattern::compile(ask).map_err(|note| refuse(Code::BadPattern, &note))?,
            mode: ask.mode,
            include: patterns(ask.include.as_slice())?,
            exclude: patterns(ask.exclude.as_slice())?,
            version_control: ask.version_control,
            per_file: ask.limit_per_file,
            file_bytes_max: ask.file_bytes_max,
        })
    }

    fn searcher(&self) -> Searcher {
        let (before, after) = match self.mode {
            SearchMode::Content { before, after } => (before, after),
            SearchMode::Files | SearchMode::Count => (0, 0),
        };
        SearcherBuilder::new()
            .line_number(true)
            .before_context(before.into())
            .after_context(after.into())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(SEARCH_HEAP_BYTES_MAX))
            .build()
    }
}

/// A search under way.
struct Hunt<'a> {
    plan: Plan,
    start: RelPath,
    searcher: Searcher,
    collector: Collector<'a>,
}

impl Hunt<'_> {
    /// Searches one open file.
    fn file(
        &mut self,
        path: &RelPath,
        object: BorrowedFd<'_>,
        size: u64,
        walked: &mut Walked<'_>,
    ) -> Result<Option<CutReason>, Gone> {
        if size > self.plan.file_bytes_max {
            walked.statistics.too_large += 1;
            return Ok(None);
        }
        walked.statistics.files += 1;
        let mut reader = Reader {
            object,
            at: 0,
            end: self.plan.file_bytes_max,
            interrupt: walked.interrupt.clone(),
            cut: None,
        };
        let mut taken = Taken::new(path, self.plan.per_file);
        let result = {
            let mut sink = self.collector.sink(&self.plan.matcher, &mut taken);
            self.searcher
                .search_reader(&self.plan.matcher, &mut reader, &mut sink)
        };
        let (read, cut) = (reader.at, reader.cut);
        walked.statistics.bytes += read;
        if taken.binary {
            walked.statistics.binary += 1;
        }
        walked.statistics.over_file_limit += taken.over_limit;
        if cut.is_some() {
            self.collector.close_file(&taken, &mut walked.statistics)?;
            return Ok(cut);
        }
        if result.is_err() {
            walked.statistics.unreadable += 1;
        }
        self.collector.close_file(&taken, &mut walked.statistics)?;
        Ok(self.collector.is_full().then_some(CutReason::Limit))
    }
}

impl Visitor for Hunt<'_> {
    fn visit(&mut self, met: &Met<'_>, walk: &mut Walked<'_>) -> Result<Flow, Gone> {
        if met.denied.is_some() {
            walk.statistics.denied += 1;
            return Ok(Flow::Past);
        }
        if self.plan.exclude.take(&self.start, met.path, met.kind) {
            walk.statistics.excluded += 1;
            return Ok(Flow::Past);
        }
        match met.kind {
            Kind::Directory => {
                let name = met.path.last().unwrap_or_default();
                if self.plan.version_control == VersionControl::Skip
                    && VERSION_CONTROL.contains(&name)
                {
                    walk.statistics.version_control += 1;
                    return Ok(Flow::Past);
                }
                Ok(Flow::On)
            }
            Kind::File => {
                if !self.plan.include.is_empty()
                    && !self.plan.include.take(&self.start, met.path, met.kind)
                {
                    walk.statistics.excluded += 1;
                    return Ok(Flow::Past);
                }
                self.open_and_search(met.path, walk)
            }
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => {
                walk.statistics.not_regular += 1;
                Ok(Flow::Past)
            }
        }
    }
}

impl Hunt<'_> {
    fn open_and_search(&mut self, path: &RelPath, walk: &mut Walked<'_>) -> Result<Flow, Gone> {
        let opened = walk
            .root_fd()
            .and_then(|root| open_judged(walk.session, root, path, Purpose::Content));
        let (object, observed) = match opened {
            Ok(opened) => opened,
            Err(errno) => {
                walk.count(errno);
                return Ok(Flow::Past);
            }
        };
        // What the directory called a file may be something else by now.
        if observed.kind != Kind::File {
            walk.statistics.changed += 1;
            return Ok(Flow::Past);
        }
        let stamp = observed.stamp;
        match walk
            .session
            .policy
            .judge_object((stamp.device, stamp.inode), Verb::Search)
        {
            crate::policy::Judgement::Clear => {}
            crate::policy::Judgement::Denied(_) | crate::policy::Judgement::Asks(_) => {
                walk.statistics.denied += 1;
                return Ok(Flow::Past);
            }
            crate::policy::Judgement::Hidden => return Ok(Flow::Past),
        }
        match self.file(path, object.as_fd(), stamp.size, walk)? {
            None => Ok(Flow::Past),
            Some(cut) => Ok(Flow::Stop(cut)),
        }
    }
}

/// A file as the engine reads it: never past the size limit, and interrupted between reads.
struct Reader<'a> {
    object: BorrowedFd<'a>,
    at: u64,
    end: u64,
    interrupt: Interrupt,
    cut: Option<CutReason>,
}

impl std::io::Read for Reader<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        if let Some(cut) = self.interrupt.reason() {
            self.cut = Some(cut);
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let len = room.len().min(left);
        let n = file::read_at(
            self.object,
            room.get_mut(..len).unwrap_or_default(),
            self.at,
        )?;
        self.at += u64::try_from(n).unwrap_or(0);
        Ok(n)
    }
}
