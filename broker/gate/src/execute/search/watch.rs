//! What ends the search of one file from outside, also in the middle of one buffer.

use crate::execute::walk::Interrupt;
use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::RegexMatcher;
use portcullis_protocol::session::CutReason;
use std::cell::Cell;
use std::fmt;

/// What says that a search must stop.
pub(super) trait Halt {
    /// Why it must stop now, if it must.
    fn reason(&self) -> Option<CutReason>;
}

impl Halt for Interrupt {
    fn reason(&self) -> Option<CutReason> {
        Interrupt::reason(self)
    }
}

/// Bytes searched between two looks at the clock: a few milliseconds of the slowest engine.
const SPENT_MAX: usize = 256 * 1024;
/// What a line that is found costs beside searching it, in bytes searched.
pub(super) const LINE_COST: usize = 512;
/// What one call of the engine costs beside the bytes it is shown.
const CALL_COST: usize = 64;

/// Looks now and then whether the search must stop.
pub(super) struct Watch<'a> {
    halt: &'a dyn Halt,
    spent: Cell<usize>,
    cut: Cell<Option<CutReason>>,
}

/// The search must stop; the watch knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halted;

impl fmt::Display for Halted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(halt: &'a dyn Halt) -> Self {
        Self {
            halt,
            spent: Cell::new(0),
            cut: Cell::new(None),
        }
    }

    /// Why the search was stopped, if it was.
    pub(super) fn cut(&self) -> Option<CutReason> {
        self.cut.get()
    }

    /// Looks at once.
    pub(super) fn look(&self) -> Result<(), Halted> {
        self.spent.set(0);
        match self.halt.reason() {
            None => Ok(()),
            Some(reason) => {
                self.cut.set(Some(reason));
                Err(Halted)
            }
        }
    }

    /// Looks when enough was done since the last time.
    pub(super) fn spend(&self, cost: usize) -> Result<(), Halted> {
        let spent = self.spent.get().saturating_add(cost);
        if spent < SPENT_MAX {
            self.spent.set(spent);
            Ok(())
        } else {
            self.look()
        }
    }
}

/// The matcher as the searcher uses it: each call may be the one that is stopped. A searcher that
/// finds only false candidates, or joins matches, calls nothing else for a long time.
pub(super) struct Watched<'a> {
    pub(super) matcher: &'a RegexMatcher,
    pub(super) watch: &'a Watch<'a>,
}

impl Watched<'_> {
    fn spend(&self, haystack: &[u8], at: usize) -> Result<(), Halted> {
        let bytes = haystack.len().saturating_sub(at);
        self.watch.spend(bytes.saturating_add(CALL_COST))
    }
}

impl Matcher for Watched<'_> {
    type Captures = NoCaptures;
    type Error = Halted;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, Halted> {
        self.spend(haystack, at)?;
        self.matcher.find_at(haystack, at).map_err(|_| Halted)
    }

    fn new_captures(&self) -> Result<NoCaptures, Halted> {
        Ok(NoCaptures::new())
    }

    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, Halted> {
        self.spend(haystack, at)?;
        let found = self.matcher.shortest_match_at(haystack, at);
        found.map_err(|_| Halted)
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.matcher.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.matcher.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, Halted> {
        self.spend(haystack, 0)?;
        let found = self.matcher.find_candidate_line(haystack);
        found.map_err(|_| Halted)
    }
}
