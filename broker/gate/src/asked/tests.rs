//! What can be asked for, and what is read back of it.

use super::*;
use portcullis_protocol::bounded::Few;

use portcullis_protocol::session::{
    Expect, Hello, List, Parents, Ping, Range, Read, Span, Stat, Survey, UploadId, Whoami,
    WriteFile,
};
use portcullis_protocol::view::Digest;
use proptest::prelude::*;

fn selector(path: &str) -> Selector {
    Selector {
        root: None,
        path: Bytes::new(path).unwrap(),
    }
}

fn write(source: Source) -> Change {
    Change::Write(WriteFile {
        selector: selector("f"),
        expect: Expect::Any,
        source,
        mode: None,
        parents: Parents::Exist,
    })
}

fn set(deed: Deed, changes: Vec<Change>) -> Request {
    Request::Change(ChangeSet {
        changes: Few::new(changes).unwrap(),
        deed,
    })
}

fn inline(length: u32) -> Source {
    Source::Inline(Span {
        start: 0,
        len: length,
    })
}

fn reads(paths: &[&str]) -> Request {
    let selectors = paths.iter().map(|path| selector(path)).collect();
    Request::Read(Read {
        selectors: Few::new(selectors).unwrap(),
        range: Range::Head { count: 3 },
        survey: Survey::None,
    })
}

fn stat() -> Request {
    Request::Stat(Stat {
        selector: selector("a/b"),
        links: Links::Keep,
    })
}

const ID: RequestId = RequestId(9);

#[test]
fn what_is_asked_for_is_read_back_whole() {
    let change = set(Deed::Commit, vec![write(inline(3))]);
    for (request, content) in [(change, &b"new"[..]), (stat(), b""), (reads(&["f"]), b"")] {
        let made = asked(ID, &request, content).unwrap();
        assert_eq!((made.id, made.code), (9, request.code()));
        let back = match read(&made, content).unwrap() {
            AskedFor::Change(set) => Request::Change(set),
            AskedFor::Show(request) => request,
        };
        assert_eq!(back, request);
    }
}

#[test]
fn only_one_operation_whole_in_one_frame_can_be_asked_for() {
    let upload = write(Source::Upload(UploadId(1)));
    let ping = Request::Ping(Ping {});
    let large = vec![0; CONTENT_BYTES_MAX + 1];
    let many: Vec<Change> = (0..256).map(|_| long()).collect();
    for (request, content, why) in [
        (
            set(Deed::DryRun, vec![write(inline(0))]),
            &b""[..],
            Unaskable::DryRun,
        ),
        (
            set(Deed::Commit, vec![write(inline(0)), upload]),
            b"",
            Unaskable::Uploads,
        ),
        (reads(&["a", "b"]), b"", Unaskable::Files),
        (reads(&[]), b"", Unaskable::Files),
        (Request::Whoami(Whoami {}), b"", Unaskable::NotOne),
        (ping, b"", Unaskable::NotOne),
        (
            set(Deed::Commit, vec![write(inline(0))]),
            &large,
            Unaskable::TooLarge,
        ),
        (set(Deed::Commit, many), b"", Unaskable::TooLarge),
    ] {
        assert_eq!(
            asked(ID, &request, content).unwrap_err(),
            why,
            "{request:?}"
        );
    }
}

/// A change whose encoding is long.
fn long() -> Change {
    let mut change = write(inline(0));
    if let Change::Write(write) = &mut change {
        write.selector = selector(&"d/".repeat(1000));
    }
    change
}

/// What a gate that lies could say: nothing of it is read back.
#[test]
fn nothing_else_is_read_back() {
    let good = asked(ID, &stat(), b"").unwrap();
    assert!(read(&good, b"").is_ok());
    let with = |change: &dyn Fn(&mut Asked)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let body = good.body.as_slice().to_vec();
    let longer = [&body[..], &[0]].concat();
    let shorter = body[..body.len() - 1].to_vec();
    let digest = |request: &Request| input_digest(request, b"");
    for bad in [
        with(&|asked| asked.id = 0),
        with(&|asked| asked.code = 6),
        with(&|asked| asked.code = 999),
        with(&|asked| asked.input = Digest([0; 32])),
        with(&|asked| asked.body = Bytes::new(longer.clone()).unwrap()),
        with(&|asked| asked.body = Bytes::new(shorter.clone()).unwrap()),
    ] {
        assert_eq!(read(&bad, b"").unwrap_err().code, Code::Malformed);
    }
    // Content where none belongs, with a digest that says so.
    let mut behind = good.clone();
    behind.input = input_digest(&stat(), b"x").unwrap();
    assert_eq!(read(&behind, b"x").unwrap_err().code, Code::Malformed);
    // Another content than was asked with.
    let change = set(Deed::Commit, vec![write(inline(3))]);
    let made = asked(ID, &change, b"new").unwrap();
    assert!(read(&made, b"new").is_ok());
    assert_eq!(read(&made, b"old").unwrap_err().code, Code::Malformed);
    // Sound, and no operation.
    let several = reads(&["a", "b"]);
    let hello = Request::Whoami(Whoami {});
    let dry = set(Deed::DryRun, vec![write(inline(0))]);
    for request in [several, hello, dry] {
        let bad = Asked {
            id: 9,
            code: request.code(),
            body: Bytes::new(request.encode_body(Vec::new()).unwrap()).unwrap(),
            input: digest(&request).unwrap_or(Digest([0; 32])),
        };
        assert_eq!(
            read(&bad, b"").unwrap_err().code,
            Code::Malformed,
            "{request:?}"
        );
    }
}

/// A number with more bytes than it needs is the same to a lenient reader, and not here.
#[test]
fn there_is_one_form_of_one_operation() {
    let request = Request::List(List {
        selector: selector("d"),
        depth: 1,
        detail: portcullis_protocol::session::Detail::Names,
        passing: portcullis_protocol::session::Passing::nothing(),
        kinds: Few::default(),
        order: portcullis_protocol::session::Order::Name,
        limit: 10,
        cursor: None,
    });
    let made = asked(ID, &request, b"").unwrap();
    let body = made.body.as_slice();
    let mut found = 0;
    for at in 0..body.len() {
        // The same byte as a number of two bytes.
        let mut padded = body.to_vec();
        padded[at] |= 0x80;
        padded.insert(at + 1, 0);
        let decoded = Request::decode_body(request.code(), &padded);
        let Ok((same, 0)) = decoded else { continue };
        if same != request {
            continue;
        }
        found += 1;
        let lenient = Asked {
            body: Bytes::new(padded).unwrap(),
            ..made.clone()
        };
        assert_eq!(read(&lenient, b"").unwrap_err().code, Code::Malformed);
    }
    assert!(found > 0, "the codec has no second form to refuse");
}

proptest! {
    #[test]
    fn any_bytes_are_read_back_as_what_makes_them_or_not_at_all(
        code in 0_u16..20,
        body in prop::collection::vec(any::<u8>(), 0..64),
        content in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let input = Request::decode_body(code, &body)
            .ok()
            .and_then(|(request, _)| input_digest(&request, &content))
            .unwrap_or(Digest([7; 32]));
        let bytes = Asked { id: 1, code, body: Bytes::new(body).unwrap(), input };
        if let Ok(back) = read(&bytes, &content) {
            let request = match back {
                AskedFor::Change(set) => Request::Change(set),
                AskedFor::Show(request) => request,
            };
            prop_assert_eq!(asked(RequestId(1), &request, &content).unwrap(), bytes);
        }
    }
}

#[test]
fn a_hello_shows_nothing() {
    let hello = Request::Hello(Hello {
        version: 1,
        limits: portcullis_protocol::session::Limits {
            frame_bytes: 0,
            content_bytes: 0,
            in_flight: 0,
            streams: 0,
            in_flight_bytes: 0,
            send_deadline_ms: 0,
        },
        incarnation: None,
        client: portcullis_protocol::bounded::Text::default(),
    });
    let good = asked(ID, &stat(), b"").unwrap();
    assert!(shows(&hello, &good).is_none());
    assert!(shows(&reads(&["a", "b"]), &good).is_none());
    let one = stat();
    let shown = shows(&one, &good).unwrap();
    assert_eq!(shown.operation.input, Some(good.input));
    assert_eq!(shown.links, Links::Keep);
}
