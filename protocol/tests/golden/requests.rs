//! Every request, worker to gate.

use crate::values::{CAFE, Case, bytes, few, in_root, incarnation, limits, selector, text};
use portcullis_protocol::session::{
    Boundaries, Cancel, Case as LetterCase, Detail, Glob, Hello, Links, List, Ping, Range, Read,
    Request, Search, SearchMode, Stat, Survey, Syntax, VersionControl, Whoami, Why,
};
use portcullis_protocol::verb::Verb;

pub(crate) fn cases() -> Vec<Case<Request>> {
    let mut cases = vec![
        Case::new("request-00-hello", 1, Request::Hello(hello())),
        Case::new("request-01-whoami", 2, Request::Whoami(Whoami {})),
        Case::new(
            "request-02-stat",
            3,
            Request::Stat(Stat {
                selector: selector(CAFE),
                links: Links::Keep,
            }),
        ),
        Case::new("request-04-list", 5, Request::List(list())),
        Case::new("request-05-glob", 6, Request::Glob(glob())),
        Case::new("request-06-search", 7, Request::Search(search())),
        Case::new("request-06-search-least", 7, Request::Search(least())),
        Case::new(
            "request-07-why",
            8,
            Request::Why(Why {
                verb: Verb::Glob,
                selector: selector(b"/workspace/x"),
            }),
        ),
        Case::new(
            "request-08-cancel",
            9,
            Request::Cancel(Cancel { request: 7 }),
        ),
        Case::new("request-09-ping", u32::MAX, Request::Ping(Ping {})).with(b"\x00still\xff"),
    ];
    cases.extend(reads());
    cases.extend(crate::changes::cases());
    cases.extend(crate::granted::requests());
    cases
}

fn hello() -> Hello {
    Hello {
        version: portcullis_protocol::VERSION,
        limits: limits(),
        incarnation: Some(incarnation()),
        client: text("portcullis-tool 0.1.0"),
    }
}

fn reads() -> Vec<Case<Request>> {
    let read = |range, survey| {
        Request::Read(Read {
            selectors: few(vec![selector(CAFE), in_root("docs", b"a//../b")]),
            range,
            survey,
        })
    };
    let all = Range::Bytes {
        offset: 0,
        length: u64::MAX,
    };
    let lines = Range::Lines {
        first: 10,
        count: 300,
    };
    vec![
        Case::new("request-03-read", 4, read(all, Survey::None)),
        Case::new("request-03-read-lines", 4, read(lines, Survey::Text)),
        Case::new(
            "request-03-read-head",
            4,
            read(Range::Head { count: 1 }, Survey::TextAndDigest),
        ),
        Case::new(
            "request-03-read-tail",
            4,
            read(Range::Tail { count: 128 }, Survey::None),
        ),
    ]
}

fn list() -> List {
    List {
        selector: in_root("docs", b"."),
        depth: 2,
        detail: Detail::Full,
        limit: 10_000,
        cursor: Some(bytes(b"\x01caf\xe9")),
    }
}

fn glob() -> Glob {
    Glob {
        selector: selector(b"src"),
        pattern: bytes(b"**/caf\xe9.{rs,toml}"),
        detail: Detail::Names,
        limit: 100,
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
        mode: SearchMode::Content {
            before: 1,
            after: 2,
        },
        include: few(vec![bytes(b"*.rs"), bytes(b"*.toml")]),
        exclude: few(vec![bytes(b"target")]),
        version_control: VersionControl::Include,
        limit: 100_000,
        limit_per_file: 10,
        file_bytes_max: 16 * 1024 * 1024,
        time_ms: 120_000,
    }
}

fn least() -> Search {
    Search {
        pattern: bytes(b"\xff"),
        syntax: Syntax::Literal,
        case: LetterCase::Sensitive,
        boundaries: Boundaries::Anywhere,
        mode: SearchMode::Count,
        include: few(Vec::new()),
        exclude: few(Vec::new()),
        version_control: VersionControl::Skip,
        ..search()
    }
}
