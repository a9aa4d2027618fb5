//! `search`: lines that match, as `grep` shows them.

use super::args::SearchArgs;
use super::out::Gone;
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use crate::ask;
use crate::error::Error;
use crate::json;
use crate::session::Session;
use crate::stream::Stream;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{PATTERN_BYTES_MAX, SEARCH_GLOBS_MAX};
use portcullis_protocol::path::{RelPath, escape};
use portcullis_protocol::session::{
    Boundaries, Case, Found, FoundLine, LineRole, Search, SearchMode, Syntax, VersionControl,
};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

pub(super) fn search(
    args: &SearchArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let outcome = patiently(|| {
        let search = request(args, place)?;
        results(session.search(&search)?, args, report)
    });
    outcome.unwrap_or_else(|error| report.error(&error))
}

/// Writes the results as they come, then how it ended.
fn results(
    mut stream: Stream<'_, Found>,
    args: &SearchArgs,
    report: &Report,
) -> Result<Outcome, Error> {
    let mut lines = Lines::new(args);
    let mut documents = Documents::new(args);
    let mut outcome = Outcome::NotDone;
    for item in stream.by_ref() {
        let found = item?;
        outcome = Outcome::Done;
        let written = match report.form() {
            Form::Json => documents.put(&found, report),
            Form::Text => report.put(lines.show(&found)),
        };
        if written == Err(Gone) {
            return Ok(outcome);
        }
    }
    let start = stream.start().cloned();
    report.done(&stream.finish()?, start.as_ref());
    Ok(outcome)
}

fn request(args: &SearchArgs, place: &Place) -> Result<Search, Error> {
    let mut search = ask::search(place.selector(&args.path)?, args.pattern.as_bytes())?;
    if args.regex {
        search.syntax = Syntax::Regex;
    }
    if args.ignore_case {
        search.case = Case::Insensitive;
    } else if args.smart_case {
        search.case = Case::Smart;
    }
    if args.word {
        search.boundaries = Boundaries::Word;
    }
    if args.include_vcs {
        search.passing.version_control = VersionControl::Include;
    }
    search.mode = mode(args);
    search.include = globs("--glob", &args.glob)?;
    search.passing.exclude = globs("--exclude", &args.exclude)?;
    search.limit = args.limit;
    search.limit_per_file = args.max_count;
    search.file_bytes_max = args.max_filesize;
    search.time_ms = args.timeout.saturating_mul(1000);
    Ok(search)
}

fn mode(args: &SearchArgs) -> SearchMode {
    if args.files {
        SearchMode::Files
    } else if args.count {
        SearchMode::Count
    } else {
        SearchMode::Content {
            before: args.before.unwrap_or(args.context),
            after: args.after.unwrap_or(args.context),
        }
    }
}

type Globs = Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>;

fn globs(option: &str, patterns: &[OsString]) -> Result<Globs, Error> {
    let patterns: Result<Vec<_>, _> = patterns
        .iter()
        .map(|pattern| Bytes::new(pattern.as_bytes()))
        .collect();
    let patterns = patterns.map_err(|e| Error::invalid(format_args!("{option}: {e}")))?;
    Few::new(patterns).map_err(|e| Error::invalid(format_args!("{option}: {e}")))
}

/// Turns results into documents, each whole in itself.
struct Documents {
    mode: SearchMode,
    file: Option<RelPath>,
}

impl Documents {
    fn new(args: &SearchArgs) -> Self {
        Self {
            mode: mode(args),
            file: None,
        }
    }

    fn put(&mut self, found: &Found, report: &Report) -> Result<(), Gone> {
        if let Found::File { path } = found {
            self.file = Some(path.clone());
            match self.mode {
                SearchMode::Files | SearchMode::FilesWithout => {}
                // Every line names its file.
                SearchMode::Content { .. } | SearchMode::Count => return Ok(()),
            }
        }
        let body = json::found(found, self.file.as_ref());
        report.document(json::found_kind(found), body)
    }
}

/// Turns results into lines.
struct Lines {
    mode: SearchMode,
    /// The name of the file that lines belong to, escaped.
    file: String,
    /// The last line shown of it.
    last: Option<u64>,
    /// Whether anything was shown yet.
    begun: bool,
}

impl Lines {
    fn new(args: &SearchArgs) -> Self {
        Self {
            mode: mode(args),
            file: String::new(),
            last: None,
            begun: false,
        }
    }

    fn show(&mut self, found: &Found) -> Vec<u8> {
        match found {
            Found::File { path } => {
                self.file = escape(path.as_kernel_bytes());
                self.last = None;
                match self.mode {
                    SearchMode::Files | SearchMode::FilesWithout => {
                        format!("{}\n", self.file).into_bytes()
                    }
                    SearchMode::Content { .. } | SearchMode::Count => Vec::new(),
                }
            }
            Found::Count { path, lines } => {
                format!("{}:{lines}\n", escape(path.as_kernel_bytes())).into_bytes()
            }
            Found::Line(line) => self.line(line),
        }
    }

    fn line(&mut self, line: &FoundLine) -> Vec<u8> {
        let mut shown = Vec::new();
        let follows = self.last.and_then(|last| last.checked_add(1)) == Some(line.number);
        if self.has_context() && self.begun && !follows {
            shown.extend_from_slice(b"--\n");
        }
        let mark = match line.role {
            LineRole::Context => '-',
            LineRole::Match | LineRole::Binary => ':',
        };
        shown.extend_from_slice(format!("{}{mark}{}{mark}", self.file, line.number).as_bytes());
        if line.cut_before > 0 {
            shown.extend_from_slice(format!("[{} bytes] ", line.cut_before).as_bytes());
        }
        shown.extend_from_slice(line.text.as_slice());
        if line.cut_after > 0 {
            shown.extend_from_slice(format!(" [{} bytes]", line.cut_after).as_bytes());
        }
        shown.push(b'\n');
        self.last = Some(line.number);
        self.begun = true;
        shown
    }

    fn has_context(&self) -> bool {
        match self.mode {
            SearchMode::Content { before, after } => before > 0 || after > 0,
            SearchMode::Files | SearchMode::FilesWithout | SearchMode::Count => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, column: u32, text: &[u8]) -> Found {
        Found::Line(FoundLine {
            number,
            offset: 0,
            column,
            text: Bytes::new(text).unwrap(),
            cut_before: 0,
            cut_after: 0,
        })
    }

    fn file(path: &[u8]) -> Found {
        Found::File {
            path: RelPath::parse(path).unwrap(),
        }
    }

    fn shown(mode: SearchMode, found: &[Found]) -> Vec<u8> {
        let mut lines = Lines {
            mode,
            file: String::new(),
            last: None,
            begun: false,
        };
        found.iter().flat_map(|one| lines.show(one)).collect()
    }

    #[test]
    fn context_is_marked_and_gaps_are_shown() {
        let mode = SearchMode::Content {
            before: 1,
            after: 0,
        };
        let found = [
            file(b"a"),
            line(1, 0, b"before"),
            line(2, 3, b"match"),
            line(9, 1, b"far"),
            file(b"b\n"),
            line(10, 1, b"raw \xff"),
        ];
        assert_eq!(
            shown(mode, &found).escape_ascii().to_string(),
            "a-1-before\\na:2:match\\n--\\na:9:far\\n--\\nb\\\\x0a:10:raw \\xff\\n"
        );
    }

    #[test]
    fn without_context_there_are_no_gaps() {
        let mode = SearchMode::Content {
            before: 0,
            after: 0,
        };
        let found = [file(b"a"), line(1, 1, b"x"), line(9, 1, b"y")];
        assert_eq!(shown(mode, &found), b"a:1:x\na:9:y\n");
    }

    #[test]
    fn names_and_counts() {
        assert_eq!(
            shown(SearchMode::Files, &[file(b"a"), file(b"b")]),
            b"a\nb\n"
        );
        let count = Found::Count {
            path: RelPath::parse(b"a").unwrap(),
            lines: 3,
        };
        assert_eq!(shown(SearchMode::Count, &[count]), b"a:3\n");
    }
}
