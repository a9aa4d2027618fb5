//! What the searcher finds in one file, on its way to who takes it.

use super::engine::{Go, Nature, Taker};
use super::lines::{around, without_end};
use super::plan::{Plan, Reach};
use super::source::count;
use super::watch::{Halted, LINE_COST, Watch};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkError, SinkFinish, SinkMatch};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Binary, FoundRef, LineRef, LineRole, SearchMode, Sense};
use std::fmt;
use std::ops::Range;

/// How far behind lines that match the engine looks for their matches again; `rg` has the same.
const LOOK_AHEAD: usize = 128;

/// The search of a file ended before the end of the file. Why, what made it end knows: the catch, the
/// watch or the source. The searcher is told in this way and no other, because it goes on with the
/// next buffer of an inverted search when it is only told that nothing more is wanted.
#[derive(Debug)]
pub(super) struct Failed;

impl SinkError for Failed {
    fn error_message<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl From<Halted> for Failed {
    fn from(Halted: Halted) -> Self {
        Self
    }
}

/// Whether more of the file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It is.
    More,
    /// All that is told of it is known.
    Nothing,
    /// Its taker has enough.
    Stopped,
}

/// Whether the file was named before its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// What is known of a line before it is told.
struct Line<'b> {
    role: LineRole,
    number: u64,
    offset: u64,
    /// Where its first match begins.
    at: Option<usize>,
    bytes: &'b [u8],
}

/// Takes what the searcher finds in one file.
pub(super) struct Catch<'a> {
    pub(super) plan: &'a Plan,
    pub(super) matcher: &'a RegexMatcher,
    pub(super) watch: &'a Watch<'a>,
    pub(super) path: &'a RelPath,
    pub(super) taker: &'a mut dyn Taker,
    /// Lines that are meant.
    pub(super) lines: u64,
    pub(super) over_file_limit: u64,
    pub(super) wanted: Wanted,
    pub(super) nature: Nature,
    /// Whether a zero byte was met.
    zero: Option<u64>,
    named: Named,
    /// Last line that is told when no more matching ones may be.
    last: u64,
}

impl<'a> Catch<'a> {
    pub(super) fn new(
        (plan, matcher): (&'a Plan, &'a RegexMatcher),
        watch: &'a Watch<'a>,
        path: &'a RelPath,
        taker: &'a mut dyn Taker,
    ) -> Self {
        Self {
            plan,
            matcher,
            watch,
            path,
            taker,
            lines: 0,
            over_file_limit: 0,
            wanted: Wanted::More,
            nature: Nature::Text,
            zero: None,
            named: Named::No,
            last: 0,
        }
    }

    fn take(&mut self, found: &FoundRef<'_>) -> Result<(), Failed> {
        match self.taker.take(found) {
            Go::On => Ok(()),
            Go::Stop => {
                self.wanted = Wanted::Stopped;
                Err(Failed)
            }
        }
    }

    /// Ends the search of a file of which all is known.
    fn nothing_more(&mut self) -> Failed {
        self.wanted = Wanted::Nothing;
        Failed
    }

    fn tell(&mut self, line: &Line<'_>) -> Result<(), Failed> {
        if self.named == Named::No {
            self.named = Named::Yes;
            self.take(&FoundRef::File { path: self.path })?;
        }
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let shown = around(without_end(line.bytes), line.at.unwrap_or(0));
        self.take(&FoundRef::Line(LineRef {
            role: line.role,
            number: line.number,
            offset: line.offset,
            column: line.at.map_or(0, |at| narrow(at).saturating_add(1)),
            text: shown.text,
            cut_before: narrow(shown.before),
            cut_after: narrow(shown.after),
        }))
    }

    /// Tells a line that is meant, if so many may be told.
    fn tell_match(&mut self, mut line: Line<'_>) -> Result<(), Failed> {
        self.lines += 1;
        if self.lines > self.plan.per_file {
            self.over_file_limit += 1;
            if line.number > self.last {
                return Ok(());
            }
            // It is shown all the same, as one near the last that was taken.
            line.role = LineRole::Context;
        } else {
            let after = match self.plan.mode {
                SearchMode::Content { after, .. } => u64::from(after),
                SearchMode::Files | SearchMode::Count | SearchMode::FilesWithout => 0,
            };
            self.last = line.number.saturating_add(after);
        }
        self.tell(&line)
    }

    /// The first match of a file that is not text.
    fn tell_binary(&mut self, offset: u64) -> Result<(), Failed> {
        self.lines += 1;
        self.nature = Nature::Binary;
        if self.lines > self.plan.per_file {
            self.over_file_limit += 1;
            return Err(self.nothing_more());
        }
        let line = Line {
            role: LineRole::Binary,
            number: 0,
            offset,
            at: None,
            bytes: &[],
        };
        self.tell(&line)?;
        Err(self.nothing_more())
    }

    /// Whether the file turned out not to be text, and is searched all the same.
    fn is_converted(&self) -> bool {
        match self.plan.binary {
            Binary::Search => self.zero.is_some(),
            Binary::Stop | Binary::Text => false,
        }
    }

    fn lines_of(&mut self, found: &SinkMatch<'_>) -> Result<(), Failed> {
        let mut starts = match (self.plan.sense, self.plan.reach) {
            (Sense::Inverted, Reach::Line | Reach::File) => None,
            (Sense::Matching, Reach::Line) => {
                let line = found.bytes();
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                let at = self.matcher.find(line).ok().flatten();
                return self.tell_match(Line {
                    role: LineRole::Match,
                    number: found.line_number().unwrap_or(0),
                    offset: found.absolute_byte_offset(),
                    at: at.map(|at| at.start()),
                    bytes: found.bytes(),
                });
            }
            (Sense::Matching, Reach::File) => Some(Starts::new((self.matcher, self.watch), found)),
        };
        let first = found.line_number().unwrap_or(0);
        let mut done = 0;
        for (number, bytes) in (first..).zip(found.lines()) {
            self.watch.spend(LINE_COST)?;
            let base = found.bytes_range_in_buffer().start + done;
            let at = match &mut starts {
                None => None,
                Some(starts) => starts.within(base..base + bytes.len())?,
            };
            let line = Line {
                role: LineRole::Match,
                number,
                offset: found.absolute_byte_offset().saturating_add(count(done)),
                at,
                bytes,
            };
            self.tell_match(line)?;
            done += bytes.len();
        }
        Ok(())
    }
}

impl Sink for Catch<'_> {
    type Error = Failed;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Failed> {
        self.watch.spend(LINE_COST)?;
        match self.plan.mode {
            SearchMode::Files | SearchMode::FilesWithout => {
                self.lines += 1;
                Err(self.nothing_more())
            }
            SearchMode::Count => {
                self.lines += match self.plan.reach {
                    Reach::Line => 1,
                    Reach::File => count(found.lines().count()),
                };
                Ok(true)
            }
            SearchMode::Content { .. } if self.is_converted() => {
                self.tell_binary(found.absolute_byte_offset())?;
                Ok(true)
            }
            SearchMode::Content { .. } => {
                self.lines_of(found)?;
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, Failed> {
        let number = near.line_number().unwrap_or(0);
        if self.lines >= self.plan.per_file && number > self.last {
            return Ok(true);
        }
        self.watch.spend(LINE_COST)?;
        // Of a file that is not text nothing is told but that it matches.
        if self.is_converted() {
            return Ok(true);
        }
        let at = match self.plan.sense {
            Sense::Matching => None,
            Sense::Inverted => {
                let line = near.bytes();
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                self.matcher.find(line).ok().flatten()
            }
        };
        self.tell(&Line {
            role: LineRole::Context,
            number,
            offset: near.absolute_byte_offset(),
            at: at.map(|at| at.start()),
            bytes: near.bytes(),
        })?;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> Result<bool, Failed> {
        self.zero = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Failed> {
        match self.plan.binary {
            // The searcher gave up here.
            Binary::Stop if finish.binary_byte_offset().is_some() => {
                self.nature = Nature::Binary;
            }
            Binary::Stop | Binary::Search | Binary::Text => {}
        }
        Ok(())
    }
}

/// Where matches begin in lines that match together.
struct Starts<'b> {
    matcher: &'b RegexMatcher,
    watch: &'b Watch<'b>,
    buffer: &'b [u8],
    /// Where the next match is looked for.
    from: usize,
    next: Option<usize>,
    /// Where the last match ended: nothing right there is no further match.
    ended: Option<usize>,
}

impl<'b> Starts<'b> {
    fn new((matcher, watch): (&'b RegexMatcher, &'b Watch<'b>), found: &SinkMatch<'b>) -> Self {
        let Range { start, end } = found.bytes_range_in_buffer();
        let buffer = found.buffer();
        let shown = buffer.len().min(end.saturating_add(LOOK_AHEAD));
        Self {
            matcher,
            watch,
            buffer: buffer.get(..shown).unwrap_or(buffer),
            from: start,
            next: None,
            ended: None,
        }
    }

    /// Where in `line` the first match begins that begins there.
    fn within(&mut self, line: Range<usize>) -> Result<Option<usize>, Halted> {
        loop {
            match self.next {
                Some(start) if start >= line.end => return Ok(None),
                Some(start) if start >= line.start => return Ok(Some(start - line.start)),
                Some(_) | None => {}
            }
            if self.from > self.buffer.len() {
                return Ok(None);
            }
            self.watch.spend(self.buffer.len() - self.from)?;
            let found = self.matcher.find_at(self.buffer, self.from);
            let Some(found) = found.ok().flatten() else {
                self.from = self.buffer.len() + 1;
                self.next = None;
                return Ok(None);
            };
            self.from = found.end() + usize::from(found.is_empty());
            let at_its_end = self.ended.replace(found.end()) == Some(found.end());
            if !(found.is_empty() && at_its_end) {
                self.next = Some(found.start());
            }
        }
    }
}
