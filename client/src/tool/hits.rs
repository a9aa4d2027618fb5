//! What a search found, as lines and as documents.

use super::args::SearchArgs;
use crate::json;
use crate::told::put_escaped;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{Found, FoundLine, LineRole, SearchMode};
use std::io::Write as _;

/// Turns results into documents, each whole in itself.
pub(super) struct Documents {
    mode: SearchMode,
    file: Option<RelPath>,
}

impl Documents {
    pub(super) fn new(mode: SearchMode) -> Self {
        Self { mode, file: None }
    }

    pub(super) fn put(&mut self, found: &Found, out: &mut Vec<u8>) {
        if let Found::File { path } = found {
            self.file = Some(path.clone());
            match self.mode {
                SearchMode::Files | SearchMode::FilesWithout => {}
                // Every line names its file.
                SearchMode::Content { .. } | SearchMode::Count => return,
            }
        }
        json::put_found(out, found, self.file.as_ref());
    }
}

/// What stands beside a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    name: Name,
    column: Column,
}

/// How a name ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Escaped, with a mark or a newline behind it.
    Shown,
    /// As it is, with a zero byte behind it.
    Raw,
}

/// Whether the column of a match is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Shown,
    Not,
}

impl Look {
    pub(super) fn of(args: &SearchArgs) -> Self {
        Self {
            name: if args.shown.null {
                Name::Raw
            } else {
                Name::Shown
            },
            column: if args.shown.column {
                Column::Shown
            } else {
                Column::Not
            },
        }
    }
}

/// Turns results into lines.
pub(super) struct Lines {
    mode: SearchMode,
    look: Look,
    /// The name of the file that lines belong to, as it is shown.
    file: Vec<u8>,
    /// The last line shown of it.
    last: Option<u64>,
    /// Whether anything was shown yet.
    begun: bool,
}

impl Lines {
    pub(super) fn new(mode: SearchMode, look: Look) -> Self {
        Self {
            mode,
            look,
            file: Vec::new(),
            last: None,
            begun: false,
        }
    }

    pub(super) fn put(&mut self, found: &Found, out: &mut Vec<u8>) {
        match found {
            Found::File { path } => {
                self.file.clear();
                self.look.put_name(path, &mut self.file);
                self.last = None;
                match self.mode {
                    SearchMode::Files | SearchMode::FilesWithout => {
                        out.extend_from_slice(&self.file);
                        self.end_name(b'\n', out);
                    }
                    SearchMode::Content { .. } | SearchMode::Count => {}
                }
            }
            Found::Count { path, lines } => {
                self.look.put_name(path, out);
                self.end_name(b':', out);
                writeln!(out, "{lines}").ok();
            }
            Found::Line(line) => self.put_line(line, out),
        }
    }

    fn put_line(&mut self, line: &FoundLine, out: &mut Vec<u8>) {
        let follows = self.last.and_then(|last| last.checked_add(1)) == Some(line.number);
        if self.has_context() && self.begun && !follows {
            out.extend_from_slice(b"--\n");
        }
        self.last = Some(line.number);
        self.begun = true;
        out.extend_from_slice(&self.file);
        let mark = match line.role {
            LineRole::Context => '-',
            LineRole::Match => ':',
            LineRole::Binary => {
                self.end_name(b':', out);
                writeln!(out, " binary file matches (line {})", line.number).ok();
                return;
            }
        };
        self.end_name(if mark == '-' { b'-' } else { b':' }, out);
        write!(out, "{}{mark}", line.number).ok();
        if self.look.column == Column::Shown && line.column > 0 {
            write!(out, "{}{mark}", line.column).ok();
        }
        if line.cut_before > 0 {
            write!(out, "[{} bytes] ", line.cut_before).ok();
        }
        out.extend_from_slice(line.text.as_slice());
        if line.cut_after > 0 {
            write!(out, " [{} bytes]", line.cut_after).ok();
        }
        out.push(b'\n');
    }

    /// What stands behind a name.
    fn end_name(&self, mark: u8, out: &mut Vec<u8>) {
        out.push(match self.look.name {
            Name::Shown => mark,
            Name::Raw => 0,
        });
    }

    fn has_context(&self) -> bool {
        match self.mode {
            SearchMode::Content { before, after } => before > 0 || after > 0,
            SearchMode::Files | SearchMode::FilesWithout | SearchMode::Count => false,
        }
    }
}

impl Look {
    fn put_name(self, path: &RelPath, out: &mut Vec<u8>) {
        match self.name {
            Name::Shown => put_escaped(path.as_kernel_bytes(), out),
            Name::Raw => out.extend_from_slice(path.as_kernel_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::bounded::Bytes;

    fn line(number: u64, column: u32, text: &[u8]) -> Found {
        Found::Line(FoundLine {
            role: if column == 0 {
                LineRole::Context
            } else {
                LineRole::Match
            },
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
        looking(mode, PLAIN, found)
    }

    const PLAIN: Look = Look {
        name: Name::Shown,
        column: Column::Not,
    };

    fn looking(mode: SearchMode, look: Look, found: &[Found]) -> Vec<u8> {
        let mut lines = Lines::new(mode, look);
        let mut out = Vec::new();
        for one in found {
            lines.put(one, &mut out);
        }
        out
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

    #[test]
    fn a_binary_file_is_said_and_columns_and_raw_names_are_shown_when_asked_for() {
        let mode = SearchMode::Content {
            before: 0,
            after: 0,
        };
        let binary = Found::Line(FoundLine {
            role: LineRole::Binary,
            number: 4,
            offset: 0,
            column: 0,
            text: Bytes::default(),
            cut_before: 0,
            cut_after: 0,
        });
        let found = [file(b"a\n"), line(1, 7, b"x"), file(b"b"), binary];
        assert_eq!(
            shown(mode, &found).escape_ascii().to_string(),
            "a\\\\x0a:1:x\\nb: binary file matches (line 4)\\n"
        );
        let look = Look {
            name: Name::Raw,
            column: Column::Shown,
        };
        assert_eq!(looking(mode, look, &found[..2]), b"a\n\x001:7:x\n");
        assert_eq!(
            looking(SearchMode::FilesWithout, look, &found[..1]),
            b"a\n\0"
        );
    }
}
