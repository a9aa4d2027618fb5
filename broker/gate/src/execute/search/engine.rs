//! Searching one open file.
//!
//! Most files are small and hold nothing that is looked for. Such a file costs one read into a
//! buffer that is there already, and one look at all its lines together. Only where that look finds
//! a candidate the searcher goes through the lines, as `rg` would.

use super::catch::{Catch, Wanted};
use super::plan::{Plan, Reach};
use super::room::Room;
use super::source::{READ_BYTES, Rest, Source, Unread, count};
use super::watch::{Halt, Watch, Watched};
use crate::sys::file;
use glance::{Way, glances_ahead, has_candidate, way};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher};
use memchr::memrchr;
use portcullis_protocol::limits::SEARCH_HEAP_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{CutReason, FoundRef, SearchMode};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

mod glance;

/// Memory of a searcher above which it is not kept for the next file.
const KEPT_BYTES: usize = 1024 * 1024;

/// Takes what is found, in order.
pub(super) trait Taker {
    /// Takes one thing.
    fn take(&mut self, found: &FoundRef<'_>) -> Go;
}

/// Whether a taker wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    Stop,
}

/// How the search of one file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileEnd {
    /// Lines that are meant, up to where the search ended. In the modes that name files it ends at
    /// the first.
    pub(super) lines: u64,
    /// Bytes read.
    pub(super) bytes: u64,
    /// Lines that are meant and were not told as such.
    pub(super) over_file_limit: u64,
    pub(super) nature: Nature,
    pub(super) end: End,
}

impl FileEnd {
    fn unsearched(bytes: u64, end: End) -> Self {
        Self {
            lines: 0,
            bytes,
            over_file_limit: 0,
            nature: Nature::Text,
            end,
        }
    }
}

/// Whether a file was given up because it is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// It was not: it is text, or what is not text in it was looked at too.
    Text,
    /// It was, at a zero byte, or at the first match where such files are searched. The rest of it
    /// was passed over. Not so where one look showed that nothing in it can match.
    Binary,
}

/// Why the search of a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing more is to be told of it.
    Whole,
    /// The taker wanted no more lines.
    Stopped,
    /// It was interrupted.
    Cut(CutReason),
    /// It could not be read.
    Unreadable(Errno),
    /// It is larger than files may be.
    TooLarge,
    /// A line of it, or in a search over lines all of it, is more than may be held in memory.
    OverHeap,
}

/// One thread's means to search.
pub(super) struct Engine {
    plan: Arc<Plan>,
    /// Its own: threads that share one wait for its cache.
    matcher: RegexMatcher,
    searcher: Searcher,
    buffer: Room,
}

/// What is the same for all steps of one file.
struct Job<'a> {
    path: &'a RelPath,
    file: BorrowedFd<'a>,
    halt: &'a dyn Halt,
    taker: &'a mut dyn Taker,
}

impl Engine {
    pub(super) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            matcher: plan.matcher.clone(),
            searcher: plan.searcher(),
            buffer: Room::new(READ_BYTES),
        }
    }

    /// Searches an open file of `size` bytes. Whether it is to stop is first looked at before the
    /// second read.
    pub(super) fn search(
        &mut self,
        path: &RelPath,
        (file, size): (BorrowedFd<'_>, u64),
        halt: &dyn Halt,
        taker: &mut dyn Taker,
    ) -> FileEnd {
        let bytes_max = self.plan.file_bytes_max;
        if size > bytes_max {
            return FileEnd::unsearched(0, End::TooLarge);
        }
        if self.plan.reach == Reach::File && size >= count(SEARCH_HEAP_BYTES_MAX) {
            return FileEnd::unsearched(0, End::OverHeap);
        }
        let first = match First::read(file, &mut self.buffer, size) {
            Ok(first) => first,
            Err(errno) => return FileEnd::unsearched(0, End::Unreadable(errno)),
        };
        let bytes = count(first.len);
        if bytes > bytes_max {
            return FileEnd::unsearched(bytes, End::TooLarge);
        }
        let mut job = Job {
            path,
            file,
            halt,
            taker,
        };
        match first.more {
            More::No => self.small(first.len, &mut job),
            More::Perhaps => self.large(first.len, &mut job),
        }
    }

    /// A file that is in the buffer as a whole.
    fn small(&mut self, len: usize, job: &mut Job<'_>) -> FileEnd {
        let text = self.buffer.get(..len).unwrap_or_default();
        match way(&self.plan, &self.matcher, text) {
            Way::Nothing => self.nothing(count(len), job),
            Way::Slice => self.slice(len, job),
            Way::Reader => self.reader(len, Rest::None, job),
        }
    }

    /// Ends a file in which nothing can match.
    fn nothing(&self, bytes: u64, job: &mut Job<'_>) -> FileEnd {
        match self.plan.mode {
            SearchMode::Content { .. } | SearchMode::Files | SearchMode::Count => {}
            SearchMode::FilesWithout => {
                job.taker.take(&FoundRef::File { path: job.path });
            }
        }
        FileEnd::unsearched(bytes, End::Whole)
    }

    fn slice(&mut self, len: usize, job: &mut Job<'_>) -> FileEnd {
        let watch = Watch::new(job.halt);
        let text = self.buffer.get(..len).unwrap_or_default();
        let mut catch = Catch::new((&self.plan, &self.matcher), &watch, job.path, job.taker);
        let matcher = Watched {
            matcher: &self.matcher,
            watch: &watch,
        };
        // It was looked for zero bytes already.
        self.searcher.set_binary_detection(BinaryDetection::none());
        let result = self.searcher.search_slice(&matcher, text, &mut catch);
        self.searcher.set_binary_detection(self.plan.detection());
        let end = match result {
            Ok(()) => End::Whole,
            Err(_) => End::OverHeap,
        };
        conclude(&mut catch, count(len), end)
    }

    /// A file as a stream, of which the buffer holds the first `held` bytes.
    fn reader(&mut self, held: usize, rest: Rest<'_>, job: &mut Job<'_>) -> FileEnd {
        let watch = Watch::new(job.halt);
        let prefix = self.buffer.get(..held).unwrap_or_default();
        let mut source = Source::new(prefix, rest, self.plan.file_bytes_max, &watch);
        let mut catch = Catch::new((&self.plan, &self.matcher), &watch, job.path, job.taker);
        let matcher = Watched {
            matcher: &self.matcher,
            watch: &watch,
        };
        let result = self
            .searcher
            .search_reader(&matcher, &mut source, &mut catch);
        let end = match (result, source.unread()) {
            (_, Some(Unread::Errno(errno))) => End::Unreadable(errno),
            (_, Some(Unread::TooLarge)) => End::TooLarge,
            (Ok(()), None) => End::Whole,
            (Err(_), None) => End::OverHeap,
        };
        let (bytes, room) = (source.bytes(), source.room_max());
        let file_end = conclude(&mut catch, bytes, end);
        if room > KEPT_BYTES {
            self.searcher = self.plan.searcher();
        }
        file_end
    }

    /// A file that is not in the buffer as a whole. As long as one look at the lines in the buffer
    /// shows that none of them matches, nothing else is done with them.
    fn large(&mut self, len: usize, job: &mut Job<'_>) -> FileEnd {
        let start = self.buffer.get(..len).unwrap_or_default();
        if !glances_ahead(&self.plan, start) {
            return self.reader(len, Rest::File(job.file), job);
        }
        let watch = Watch::new(job.halt);
        match self.ahead(len, job.file, &watch) {
            Ahead::Nothing(bytes) => self.nothing(bytes, job),
            Ahead::Something(held) => self.reader(held, Rest::File(job.file), job),
            Ahead::Ended(bytes, end) => FileEnd::unsearched(bytes, end),
        }
    }

    fn ahead(&mut self, len: usize, file: BorrowedFd<'_>, watch: &Watch<'_>) -> Ahead {
        let (mut held, mut at) = (len, count(len));
        loop {
            let lines = self.buffer.get(..held).unwrap_or_default();
            let is_end = held < self.buffer.len();
            let whole = match memrchr(b'\n', lines) {
                _ if is_end => held,
                Some(end) => end + 1,
                // A line that is longer than the buffer.
                None => 0,
            };
            let lines = lines.get(..whole).unwrap_or_default();
            if whole == 0 && !is_end || has_candidate(&self.matcher, lines) {
                // The buffer holds the start of the file only as long as nothing was read into it.
                let held = if at == count(held) { held } else { 0 };
                return Ahead::Something(held);
            }
            if is_end {
                return Ahead::Nothing(at);
            }
            if watch.look().is_err() {
                let reason = watch.cut().unwrap_or(CutReason::Cancelled);
                return Ahead::Ended(at, End::Cut(reason));
            }
            self.buffer.copy_within(whole..held, 0);
            held -= whole;
            let room = self.buffer.get_mut(held..).unwrap_or_default();
            match file::read_at(file, room, at) {
                Ok(n) => {
                    held += n;
                    at += count(n);
                }
                Err(errno) => return Ahead::Ended(at, End::Unreadable(errno)),
            }
            if at > self.plan.file_bytes_max {
                return Ahead::Ended(at, End::TooLarge);
            }
        }
    }
}

/// What looking ahead in a large file showed.
enum Ahead {
    /// Nothing in it can match; so many bytes were read.
    Nothing(u64),
    /// Something may match; the buffer holds so many bytes of its start.
    Something(usize),
    /// It ended, after so many bytes.
    Ended(u64, End),
}

/// Whether a file goes on behind what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    No,
    Perhaps,
}

/// The first read of a file.
struct First {
    len: usize,
    more: More,
}

impl First {
    /// One call is enough for a file that is as large as it was said to be and less than the
    /// buffer. What says of itself that it has no bytes and has some is not believed again.
    fn read(file: BorrowedFd<'_>, room: &mut [u8], size: u64) -> Result<Self, Errno> {
        let mut len = file::read_once(file, room, 0)?;
        let is_told = count(len) >= size && (len == 0 || size > 0);
        if len < room.len() && !is_told {
            let rest = room.get_mut(len..).unwrap_or_default();
            len += file::read_at(file, rest, count(len))?;
        }
        let more = if len < room.len() {
            More::No
        } else {
            More::Perhaps
        };
        Ok(Self { len, more })
    }
}

/// Ends a file that the searcher went through; names it, in the modes that do.
fn conclude(catch: &mut Catch<'_>, bytes: u64, end: End) -> FileEnd {
    let end = match (catch.wanted, catch.watch.cut()) {
        (Wanted::Stopped, _) => End::Stopped,
        (Wanted::Nothing, _) => End::Whole,
        (Wanted::More, Some(reason)) => End::Cut(reason),
        (Wanted::More, None) => end,
    };
    let path = catch.path;
    let is_whole = end == End::Whole && catch.nature == Nature::Text;
    let told = match catch.plan.mode {
        SearchMode::Content { .. } => None,
        SearchMode::Files => (catch.lines > 0).then_some(FoundRef::File { path }),
        // A number that is not that of the whole file would mislead.
        SearchMode::Count => (is_whole && catch.lines > 0).then_some(FoundRef::Count {
            path,
            lines: catch.lines,
        }),
        SearchMode::FilesWithout => {
            (is_whole && catch.lines == 0).then_some(FoundRef::File { path })
        }
    };
    if let Some(told) = told {
        catch.taker.take(&told);
    }
    FileEnd {
        lines: catch.lines,
        bytes,
        over_file_limit: catch.over_file_limit,
        nature: catch.nature,
        end,
    }
}

#[cfg(test)]
pub(super) mod tests;
