//! `search_files`, by name, and `search_content`, by what stands in them.

use super::list::{Sort, Unmeant, globs, passing, pattern, put};
use super::walk::{cursor, each, limit, tell};
use crate::answer::Answer;
use crate::desk::Job;
use crate::failure::Failure;
use crate::name::Names;
use portcullis_client::protocol::limits::SEARCH_CONTEXT_MAX;
use portcullis_client::protocol::path::RelPath;
use portcullis_client::protocol::session::{
    Boundaries, Case, Completeness, CutReason, Found, FoundLine, Glob, LineRole, MultiLine, Search,
    SearchMode, Syntax,
};
use portcullis_client::{Session, ask};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Files {
    path: String,
    pattern: String,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    include_ignored: Unmeant,
    #[serde(default)]
    sort_by: Sort,
    limit: Option<u64>,
    cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "as a caller writes them")]
pub(crate) struct Content {
    path: Option<String>,
    pattern: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    whole_words: bool,
    #[serde(default)]
    multiline: bool,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude_patterns: Vec<String>,
    #[serde(default)]
    include_ignored: Unmeant,
    context: Option<u64>,
    #[serde(default)]
    mode: Mode,
    limit: Option<u64>,
    cursor: Option<String>,
}

/// What is told of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

pub(super) fn files(
    arguments: &Files,
    session: &mut Session,
    names: &Names,
    job: &Job,
) -> Result<Answer, Failure> {
    let glob = ask::glob(
        names.selector(&arguments.path)?,
        pattern(&arguments.pattern)?,
    )?;
    let request = Glob {
        passing: passing(arguments.include_ignored, &arguments.exclude_patterns)?,
        order: arguments.sort_by.order(),
        limit: limit(arguments.limit)?,
        cursor: cursor(arguments.cursor.as_deref())?,
        ..glob
    };
    let mut answer = Answer::default();
    let ended = each(session.glob(&request)?, job, |start, entry| {
        let name = names.shown(start.root, &entry.path);
        put(&mut answer.text, &name, &entry);
    })?;
    tell(&mut answer, &ended, "names", names);
    Ok(answer)
}

pub(super) fn content(
    arguments: &Content,
    session: &mut Session,
    names: &Names,
    job: &Job,
) -> Result<Answer, Failure> {
    let request = arguments.request(names)?;
    let mut shown = Shown::default();
    let ended = each(session.search(&request)?, job, |start, found| {
        shown.put(&found, |path| names.shown(start.root, path));
    })?;
    let mut answer = Answer {
        text: shown.text,
        ..Answer::default()
    };
    let what = match arguments.mode {
        Mode::Content => "lines",
        Mode::Files | Mode::Count => "files",
    };
    let ended = super::walk::Ended {
        found: match arguments.mode {
            Mode::Content => shown.matches,
            Mode::Files | Mode::Count => ended.found,
        },
        ..ended
    };
    answer.fact("files", shown.files);
    // A page begins with a whole file, and this one had no room for the first.
    if let Completeness::Cut {
        reason: CutReason::Limit,
        cursor: None,
    } = ended.done.completeness
    {
        answer.notes.push(
            "one file has more than limit lines, so no cursor leads on: take a larger limit or a \
             narrower pattern, or read the file"
                .to_owned(),
        );
    }
    tell(&mut answer, &ended, what, names);
    Ok(answer)
}

impl Content {
    fn request(&self, names: &Names) -> Result<Search, Failure> {
        let context = u8::try_from(self.context.unwrap_or(0)).ok();
        let context = context.filter(|lines| *lines <= SEARCH_CONTEXT_MAX);
        let context = context.ok_or_else(|| {
            Failure::Arguments(format!("context is at most {SEARCH_CONTEXT_MAX} lines"))
        })?;
        let place = names.selector(self.path.as_deref().unwrap_or("."))?;
        let search = ask::search(place, self.pattern.as_bytes())?;
        Ok(Search {
            syntax: if self.regex {
                Syntax::Regex
            } else {
                Syntax::Literal
            },
            case: if self.ignore_case {
                Case::Insensitive
            } else {
                Case::Sensitive
            },
            boundaries: if self.whole_words {
                Boundaries::Word
            } else {
                Boundaries::Anywhere
            },
            multi_line: if self.multiline {
                MultiLine::On
            } else {
                MultiLine::Off
            },
            mode: match self.mode {
                Mode::Content => SearchMode::Content {
                    before: context,
                    after: context,
                },
                Mode::Files => SearchMode::Files,
                Mode::Count => SearchMode::Count,
            },
            passing: passing(self.include_ignored, &self.exclude_patterns)?,
            include: globs("include", &self.include)?,
            limit: limit(self.limit)?,
            cursor: cursor(self.cursor.as_deref())?,
            ..search
        })
    }
}

/// What was found: the name of each file, and below it its lines, `12:` where one matches and
/// `12-` around it.
#[derive(Default)]
struct Shown {
    text: String,
    files: u64,
    matches: u64,
    last: Option<u64>,
}

impl Shown {
    fn put(&mut self, found: &Found, name: impl Fn(&RelPath) -> String) {
        match found {
            Found::File { path } => {
                self.files += 1;
                self.last = None;
                self.text.push_str(&name(path));
                self.text.push('\n');
            }
            Found::Count { path, lines } => {
                self.files += 1;
                self.text.push_str(&format!("{}:{lines}\n", name(path)));
            }
            Found::Line(line) => self.line(line),
        }
    }

    fn line(&mut self, line: &FoundLine) {
        let follows = self.last.and_then(|last| last.checked_add(1)) == Some(line.number);
        if self.last.is_some() && !follows && line.role == LineRole::Context {
            self.text.push_str("--\n");
        }
        self.last = Some(line.number);
        let mark = match line.role {
            LineRole::Match => {
                self.matches += 1;
                ':'
            }
            LineRole::Context => '-',
            LineRole::Binary => {
                self.matches += 1;
                self.text.push_str("a match in a binary file\n");
                return;
            }
        };
        self.text.push_str(&format!("{}{mark}", line.number));
        if line.cut_before > 0 {
            self.text.push_str(&format!("[{} bytes] ", line.cut_before));
        }
        self.text
            .push_str(&String::from_utf8_lossy(line.text.as_slice()));
        if line.cut_after > 0 {
            self.text.push_str(&format!(" [{} bytes]", line.cut_after));
        }
        self.text.push('\n');
    }
}
