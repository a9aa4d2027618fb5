//! A search, checked and compiled, for all threads that work on it.

use super::pattern;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Encoding, Searcher, SearcherBuilder};
use portcullis_protocol::limits::{
    SEARCH_CONTEXT_MAX, SEARCH_FILE_BYTES_MAX, SEARCH_HEAP_BYTES_MAX, SEARCH_MATCHES_MAX,
};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Binary, MultiLine, Search, SearchMode, Sense, TextEncoding};
use portcullis_protocol::verb::Verb;

/// A search as its threads need it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) matcher: RegexMatcher,
    pub(super) mode: SearchMode,
    pub(super) sense: Sense,
    pub(super) binary: Binary,
    pub(super) per_file: u64,
    pub(super) file_bytes_max: u64,
    pub(super) glance: Glance,
    pub(super) reach: Reach,
    multi_line: MultiLine,
    reading: Reading,
}

/// Whether one look at all lines together says that none of them is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glance {
    Tells,
    TellsNothing,
}

/// Whether a match can reach over lines, so that a file must be in memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Line,
    File,
}

/// How bytes become text.
#[derive(Debug, Clone)]
enum Reading {
    Sniffed,
    Raw,
    Decoded(Encoding),
}

impl Plan {
    /// Checks and compiles everything that is asked of one file: the pattern, how it is read, and
    /// the bounds. What is asked of names is not looked at.
    pub(super) fn new(ask: &Search) -> Result<Self, Refusal> {
        let refuse = |code: Code, note: &str| Refusal::new(code).of(Verb::Search).noting(note);
        check_bounds(ask).map_err(|note| refuse(Code::OutOfRange, &note))?;
        let matcher = pattern::compile(ask).map_err(|note| refuse(Code::BadPattern, &note))?;
        let mut plan = Self {
            matcher,
            mode: ask.mode,
            sense: ask.sense,
            binary: ask.binary,
            per_file: ask.limit_per_file.into(),
            file_bytes_max: ask.file_bytes_max,
            glance: Glance::TellsNothing,
            reach: Reach::Line,
            multi_line: ask.multi_line,
            reading: reading(ask.encoding)
                .ok_or_else(|| refuse(Code::OutOfRange, "no such encoding"))?,
        };
        if plan.searcher().multi_line_with_matcher(&plan.matcher) {
            plan.reach = Reach::File;
        } else if plan.sense == Sense::Matching && is_fast(&plan.matcher) {
            plan.glance = Glance::Tells;
        }
        Ok(plan)
    }

    /// A searcher of its own for one thread.
    pub(super) fn searcher(&self) -> Searcher {
        let mut builder = SearcherBuilder::new();
        match self.mode {
            SearchMode::Content { before, after } => {
                builder
                    .line_number(true)
                    .before_context(before.into())
                    .after_context(after.into());
            }
            SearchMode::Files | SearchMode::Count | SearchMode::FilesWithout => {
                builder.line_number(false);
            }
        }
        match &self.reading {
            Reading::Sniffed => {}
            Reading::Raw => {
                builder.bom_sniffing(false);
            }
            Reading::Decoded(encoding) => {
                builder.encoding(Some(encoding.clone()));
            }
        }
        builder
            .invert_match(self.sense == Sense::Inverted)
            .multi_line(self.multi_line != MultiLine::Off)
            .binary_detection(self.detection())
            .heap_limit(Some(SEARCH_HEAP_BYTES_MAX))
            .build()
    }

    /// What the searcher does at a zero byte.
    pub(super) fn detection(&self) -> BinaryDetection {
        match self.binary {
            Binary::Stop => BinaryDetection::quit(0),
            Binary::Search => BinaryDetection::convert(0),
            Binary::Text => BinaryDetection::none(),
        }
    }

    /// Whether a file that begins with `start` is decoded before it is searched.
    pub(super) fn decodes(&self, start: &[u8]) -> bool {
        match self.reading {
            Reading::Sniffed => {
                start.starts_with(b"\xFF\xFE")
                    || start.starts_with(b"\xFE\xFF")
                    || start.starts_with(b"\xEF\xBB\xBF")
            }
            Reading::Raw => false,
            Reading::Decoded(_) => true,
        }
    }
}

fn check_bounds(ask: &Search) -> Result<(), String> {
    if ask.limit == 0 || ask.limit > SEARCH_MATCHES_MAX || ask.limit_per_file == 0 {
        return Err(format!("limits must be 1 to {SEARCH_MATCHES_MAX}"));
    }
    if ask.file_bytes_max > SEARCH_FILE_BYTES_MAX {
        return Err(format!("files of at most {SEARCH_FILE_BYTES_MAX} bytes"));
    }
    match ask.mode {
        SearchMode::Content { before, after } if before.max(after) > SEARCH_CONTEXT_MAX => {
            Err(format!("at most {SEARCH_CONTEXT_MAX} lines of context"))
        }
        SearchMode::Content { .. }
        | SearchMode::Files
        | SearchMode::Count
        | SearchMode::FilesWithout => Ok(()),
    }
}

fn reading(encoding: TextEncoding) -> Option<Reading> {
    match encoding {
        TextEncoding::Auto => Some(Reading::Sniffed),
        TextEncoding::Raw => Some(Reading::Raw),
        TextEncoding::Utf8
        | TextEncoding::Utf16Le
        | TextEncoding::Utf16Be
        | TextEncoding::Latin1
        | TextEncoding::ShiftJis
        | TextEncoding::EucJp
        | TextEncoding::EucKr
        | TextEncoding::Gb18030
        | TextEncoding::Big5 => Encoding::new(encoding.name()).ok().map(Reading::Decoded),
    }
}

/// Whether the searcher looks at many lines at once, so that finding no candidate among them means
/// that none of them matches. It does not where the pattern speaks of the ends of the text: each
/// line is a text then.
fn is_fast(matcher: &RegexMatcher) -> bool {
    let ends_lines = |end: grep_matcher::LineTerminator| end.as_byte() == b'\n';
    matcher.line_terminator().is_some_and(ends_lines)
        || matcher
            .non_matching_bytes()
            .is_some_and(|bytes| bytes.contains(b'\n'))
}
