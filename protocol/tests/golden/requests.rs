//! Every request, worker to gate.

use crate::values::{CAFE, Case, few, in_root, incarnation, limits, selector, text};
use portcullis_protocol::session::{
    Cancel, Hello, Links, Ping, Range, Read, Request, Stat, Survey, Whoami, Why,
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
    cases.extend(crate::finding::requests());
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
