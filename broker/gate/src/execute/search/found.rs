//! Collecting matches into frames.

use crate::meter::Meter;
use crate::outlet::{Gone, Outlet};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::limits::{SEARCH_LINE_BYTES_MAX, STREAM_FRAME_BYTES};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Found, FoundLine, Matches, Reply, SearchMode, Statistics};
use portcullis_protocol::view::Binding;

/// What one file gave.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    path: &'a RelPath,
    per_file: u32,
    lines: u64,
    named: Named,
    pub(super) over_limit: u64,
    pub(super) binary: bool,
}

/// Whether the file's name was sent before its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

impl<'a> Taken<'a> {
    pub(super) fn new(path: &'a RelPath, per_file: u32) -> Self {
        Self {
            path,
            per_file,
            lines: 0,
            named: Named::No,
            over_limit: 0,
            binary: false,
        }
    }
}

/// All matches of one search, sent in frames.
pub(super) struct Collector<'a> {
    mode: SearchMode,
    limit: u32,
    sent: u32,
    start: Option<Binding>,
    waiting: Vec<Found>,
    bytes: usize,
    outlet: &'a mut Outlet,
    meter: &'a Meter,
    stopped: Option<Stopped>,
}

/// Why nothing more is taken.
#[derive(Debug)]
enum Stopped {
    Gone,
    /// More would be shown than may be.
    Budget(Refusal),
}

impl From<Gone> for Stopped {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        mode: SearchMode,
        limit: u32,
        start: Binding,
        (outlet, meter): (&'a mut Outlet, &'a Meter),
    ) -> Self {
        Self {
            mode,
            limit,
            sent: 0,
            start: Some(start),
            waiting: Vec::new(),
            bytes: 0,
            outlet,
            meter,
            stopped: None,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.sent >= self.limit || self.stopped.is_some()
    }

    /// Why the search was stopped before its end, if more would have been shown than may be.
    pub(super) fn over_budget(&mut self) -> Option<Refusal> {
        match self.stopped.take() {
            Some(Stopped::Budget(refusal)) => Some(refusal),
            Some(Stopped::Gone) | None => None,
        }
    }

    /// Takes the lines of one file.
    pub(super) fn sink<'s, 'p>(
        &'s mut self,
        matcher: &'s RegexMatcher,
        taken: &'s mut Taken<'p>,
    ) -> FileSink<'s, 'a, 'p> {
        FileSink {
            collector: self,
            matcher,
            taken,
        }
    }

    /// Ends one file: in the modes that name files, now is when it is named.
    pub(super) fn close_file(
        &mut self,
        taken: &Taken<'_>,
        statistics: &mut Statistics,
    ) -> Result<(), Gone> {
        match self.stopped {
            Some(Stopped::Gone) => return Err(Gone),
            Some(Stopped::Budget(_)) | None => {}
        }
        if taken.lines > 0 {
            let path = taken.path.clone();
            match self.mode {
                SearchMode::Content { .. } => {}
                SearchMode::Files => {
                    self.sent += 1;
                    self.add(Found::File { path })?;
                }
                SearchMode::Count => {
                    self.sent += 1;
                    self.add(Found::Count {
                        path,
                        lines: taken.lines,
                    })?;
                }
            }
        }
        statistics.sent = self.sent.into();
        Ok(())
    }

    /// Sends what waits; and the binding, if nothing was ever sent.
    pub(super) fn finish(&mut self) -> Result<(), Gone> {
        if self.waiting.is_empty() && self.start.is_none() {
            return Ok(());
        }
        self.flush()
    }

    /// Takes one more thing, unless it is content that may not be shown any more.
    fn push(&mut self, found: Found) -> Result<(), Stopped> {
        match &found {
            Found::File { .. } | Found::Count { .. } => {}
            Found::Line(line) => {
                let bytes = line.text.as_slice().len();
                self.meter.show(bytes).map_err(Stopped::Budget)?;
                self.outlet.count_content(bytes);
            }
        }
        Ok(self.add(found)?)
    }

    fn add(&mut self, found: Found) -> Result<(), Gone> {
        self.bytes += match &found {
            Found::File { path } | Found::Count { path, .. } => path.as_bytes().len() + 32,
            Found::Line(line) => line.text.as_slice().len() + 48,
        };
        self.waiting.push(found);
        if self.bytes >= STREAM_FRAME_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), Gone> {
        self.bytes = 0;
        let found = std::mem::take(&mut self.waiting);
        self.outlet.send(
            &Reply::Matches(Matches {
                start: self.start.take(),
                found,
            }),
            &[],
        )
    }
}

/// The engine's view of one file's results.
pub(super) struct FileSink<'s, 'a, 'p> {
    collector: &'s mut Collector<'a>,
    matcher: &'s RegexMatcher,
    taken: &'s mut Taken<'p>,
}

impl FileSink<'_, '_, '_> {
    fn line(&mut self, bytes: &[u8], number: Option<u64>, offset: u64, hit: Hit) -> Go {
        let line = strip_terminator(bytes);
        let at = match hit {
            Hit::Match => self.matcher.find(line).ok().flatten().map(|m| m.start()),
            Hit::Context => None,
        };
        let (before, text, after) = around(line, at.unwrap_or(0));
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let found = Found::Line(FoundLine {
            number: number.unwrap_or(0),
            offset,
            column: match hit {
                Hit::Match => count(at.unwrap_or(0)).saturating_add(1),
                Hit::Context => 0,
            },
            text: Bytes::cut(text),
            cut_before: count(before),
            cut_after: count(after),
        });
        match self.collector.push(found) {
            Ok(()) => Go::On,
            Err(stopped) => {
                self.collector.stopped = Some(stopped);
                Go::Stop
            }
        }
    }

    fn name_file_once(&mut self) -> Go {
        if self.taken.named == Named::Yes {
            return Go::On;
        }
        self.taken.named = Named::Yes;
        match self.collector.push(Found::File {
            path: self.taken.path.clone(),
        }) {
            Ok(()) => Go::On,
            Err(stopped) => {
                self.collector.stopped = Some(stopped);
                Go::Stop
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hit {
    Match,
    Context,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

impl Sink for FileSink<'_, '_, '_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        if self.collector.is_full() {
            return Ok(false);
        }
        self.taken.lines += 1;
        match self.collector.mode {
            SearchMode::Files => Ok(false),
            SearchMode::Count => Ok(true),
            SearchMode::Content { .. } => {
                if self.taken.lines > u64::from(self.taken.per_file) {
                    self.taken.over_limit += 1;
                    return Ok(true);
                }
                if self.name_file_once() == Go::Stop {
                    return Ok(false);
                }
                self.collector.sent += 1;
                let go = self.line(
                    found.bytes(),
                    found.line_number(),
                    found.absolute_byte_offset(),
                    Hit::Match,
                );
                Ok(go == Go::On)
            }
        }
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, std::io::Error> {
        if self.taken.lines >= u64::from(self.taken.per_file) {
            return Ok(true);
        }
        // Context before the first match comes first.
        if self.name_file_once() == Go::Stop {
            return Ok(false);
        }
        let go = self.line(
            near.bytes(),
            near.line_number(),
            near.absolute_byte_offset(),
            Hit::Context,
        );
        Ok(go == Go::On)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), std::io::Error> {
        self.taken.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn strip_terminator(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The part of a line that is sent, around byte `at`, and how much was left out on either side.
fn around(line: &[u8], at: usize) -> (usize, &[u8], usize) {
    if line.len() <= SEARCH_LINE_BYTES_MAX {
        return (0, line, 0);
    }
    let start = at
        .saturating_sub(SEARCH_LINE_BYTES_MAX / 4)
        .min(line.len() - SEARCH_LINE_BYTES_MAX);
    let end = start + SEARCH_LINE_BYTES_MAX;
    (
        start,
        line.get(start..end).unwrap_or_default(),
        line.len() - end,
    )
}
