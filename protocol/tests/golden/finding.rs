//! `list`, `glob` and `search`, asked and answered.

use crate::values::{CAFE, Case, binding, bytes, few, in_root, path, selector, text, time};
use portcullis_protocol::session::{
    Binary, Boundaries, Case as LetterCase, Completeness, CutReason, Detail, Done, DotNames,
    Entries, Entry, EntryDetail, Found, FoundLine, Glob, Ignored, LineRole, List, Matches,
    MultiLine, Order, Passing, Progress, Reply, Request, Search, SearchMode, Sense, Statistics,
    Syntax, TextEncoding, VersionControl,
};
use portcullis_protocol::view::Kind;

pub(crate) fn requests() -> Vec<Case<Request>> {
    vec![
        Case::new("request-04-list", 5, Request::List(list())),
        Case::new("request-04-list-least", 5, Request::List(least_list())),
        Case::new("request-05-glob", 6, Request::Glob(glob())),
        Case::new("request-05-glob-least", 6, Request::Glob(least_glob())),
        Case::new("request-06-search", 7, Request::Search(search())),
        Case::new("request-06-search-names", 7, Request::Search(names())),
        Case::new("request-06-search-least", 7, Request::Search(least())),
    ]
}

fn list() -> List {
    List {
        selector: in_root("docs", b"."),
        depth: 2,
        detail: Detail::Full,
        passing: Passing {
            ignored: Ignored::Skip,
            dot_names: DotNames::Include,
            version_control: VersionControl::Skip,
            exclude: few(vec![bytes(b"*.o"), bytes(b"caf\xe9/")]),
        },
        kinds: few(vec![Kind::Link, Kind::File]),
        order: Order::Newest,
        limit: 10_000,
        cursor: Some(bytes(b"\x01caf\xe9")),
    }
}

/// The whole of the first root.
fn least_list() -> List {
    List {
        selector: selector(b"."),
        depth: 1,
        detail: Detail::Names,
        passing: Passing::nothing(),
        kinds: few(Vec::new()),
        order: Order::Name,
        limit: 1,
        cursor: None,
    }
}

fn glob() -> Glob {
    Glob {
        selector: selector(b"src"),
        pattern: bytes(b"**/caf\xe9.{rs,toml}"),
        depth: 2048,
        detail: Detail::Full,
        passing: Passing {
            ignored: Ignored::Include,
            dot_names: DotNames::Skip,
            version_control: VersionControl::Include,
            exclude: few(vec![bytes(b"target/")]),
        },
        kinds: few(vec![Kind::Directory]),
        order: Order::Oldest,
        limit: 100,
        cursor: Some(bytes(b"\x01caf\xe9")),
    }
}

fn least_glob() -> Glob {
    Glob {
        selector: selector(b"."),
        pattern: bytes(b"*"),
        depth: 1,
        detail: Detail::Names,
        passing: Passing::usual(),
        kinds: few(Vec::new()),
        order: Order::Name,
        limit: 1,
        cursor: None,
    }
}

fn search() -> Search {
    Search {
        selector: selector(b"src"),
        pattern: bytes(br"fn \w+\("),
        syntax: Syntax::Regex,
        case: LetterCase::Smart,
        boundaries: Boundaries::Word,
        multi_line: MultiLine::On,
        sense: Sense::Inverted,
        binary: Binary::Search,
        encoding: TextEncoding::ShiftJis,
        mode: SearchMode::Content {
            before: 1,
            after: 2,
        },
        depth: 300,
        passing: Passing {
            exclude: few(vec![bytes(b"target")]),
            ..Passing::usual()
        },
        include: few(vec![bytes(b"*.rs"), bytes(b"*.toml")]),
        types: few(vec![bytes(b"*.rs")]),
        types_not: few(vec![bytes(b"*.lock"), bytes(b"*.min.js")]),
        limit: 10_000_000,
        limit_per_file: 10,
        file_bytes_max: 16 * 1024 * 1024,
        time_ms: 120_000,
        cursor: Some(bytes(b"\x01caf\xe9")),
    }
}

fn names() -> Search {
    Search {
        case: LetterCase::Insensitive,
        boundaries: Boundaries::Line,
        multi_line: MultiLine::Dotall,
        sense: Sense::Matching,
        binary: Binary::Text,
        encoding: TextEncoding::Raw,
        mode: SearchMode::FilesWithout,
        passing: Passing::nothing(),
        ..search()
    }
}

fn least() -> Search {
    Search {
        selector: selector(b"."),
        pattern: bytes(b"\xff"),
        syntax: Syntax::Literal,
        case: LetterCase::Sensitive,
        boundaries: Boundaries::Anywhere,
        multi_line: MultiLine::Off,
        sense: Sense::Matching,
        binary: Binary::Stop,
        encoding: TextEncoding::Auto,
        mode: SearchMode::Count,
        depth: 1,
        passing: Passing::usual(),
        include: few(Vec::new()),
        types: few(Vec::new()),
        types_not: few(Vec::new()),
        limit: 1,
        limit_per_file: 1,
        file_bytes_max: 1,
        time_ms: 1,
        cursor: None,
    }
}

pub(crate) fn replies() -> Vec<Case<Reply>> {
    vec![
        Case::new("reply-05-entries", 5, Reply::Entries(entries())),
        Case::new("reply-06-matches", 7, Reply::Matches(matches())),
        Case::new("reply-07-done", 7, Reply::Done(done())),
        Case::new("reply-07-done-cut", 5, Reply::Done(cut())),
        Case::new("reply-18-progress", 7, Reply::Progress(progress())),
    ]
}

fn entries() -> Entries {
    Entries {
        start: Some(binding(b"src", Kind::Directory)),
        entries: vec![
            Entry {
                path: path(CAFE),
                kind: Kind::Link,
                denied: None,
                detail: Some(EntryDetail {
                    size: 9,
                    mode: 0o777,
                    modified: time(0),
                    link: Some(bytes(b"\xff")),
                }),
            },
            Entry {
                path: path(b"src/.env"),
                kind: Kind::Fifo,
                denied: Some(text("builtin:env")),
                detail: None,
            },
        ],
    }
}

fn matches() -> Matches {
    Matches {
        start: None,
        found: vec![
            Found::File { path: path(CAFE) },
            Found::Line(FoundLine {
                role: LineRole::Context,
                number: 299,
                offset: 8_994,
                column: 0,
                text: bytes(b"above"),
                cut_before: 0,
                cut_after: 0,
            }),
            Found::Line(FoundLine {
                role: LineRole::Match,
                number: 300,
                offset: 9_000,
                column: 1,
                text: bytes(b"h\xe9llo"),
                cut_before: 128,
                cut_after: 70_000,
            }),
            Found::File {
                path: path(b"src/a.out"),
            },
            Found::Line(FoundLine {
                role: LineRole::Binary,
                number: 1,
                offset: 0,
                column: 128,
                text: bytes(b""),
                cut_before: 0,
                cut_after: 0,
            }),
            Found::Count {
                path: path(CAFE),
                lines: 128,
            },
        ],
    }
}

fn progress() -> Progress {
    Progress {
        directories: 1,
        files: 300,
        bytes: 9_000_000_000,
        sent: 4,
    }
}

fn done() -> Done {
    Done {
        completeness: Completeness::Complete,
        statistics: Statistics {
            directories: 1,
            files: 2,
            bytes: 300,
            sent: 4,
            over_file_limit: 5,
            binary: 6,
            too_large: 7,
            unreadable: 8,
            denied: 9,
            not_regular: 10,
            mounts: 11,
            changed: 12,
            too_deep: 13,
            version_control: 14,
            excluded: 15,
            temporaries: 16,
            ignored: 17,
            dot_names: 18,
            rules_left_out: 19,
        },
    }
}

fn cut() -> Done {
    Done {
        completeness: Completeness::Cut {
            reason: CutReason::Limit,
            cursor: Some(bytes(b"\x01caf\xe9")),
        },
        statistics: Statistics::default(),
    }
}
