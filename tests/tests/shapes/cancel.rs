//! What comes after a cancel, and what comes before anything is found.

use crate::measure::{alone, in_memory, list, search};
use portcullis_client::protocol::VERSION;
use portcullis_client::protocol::bounded::Text;
use portcullis_client::protocol::frame::RequestId;
use portcullis_client::protocol::limits::STREAM_FRAME_BYTES;
use portcullis_client::protocol::session::{
    Cancel, Completeness, CutReason, Found, Hello, Reply, Request, SearchMode, Syntax,
};
use portcullis_client::{Part, Session};
use portcullis_tests::World;
use portcullis_transport::{Buffer, Endpoint, WorkerSide};
use std::time::Duration;

/// Bytes that may come after a cancel was read: what waits in the socket, and a frame from each that
/// works. Not counted in frames, because those that are sent early are small.
const BYTES: usize = 16 * STREAM_FRAME_BYTES;
/// What takes longer than this on a busy machine hangs.
const PATIENCE: Duration = Duration::from_secs(60);

struct Raw {
    endpoint: Endpoint<WorkerSide>,
    buffer: Buffer,
}

impl Raw {
    fn new(session: Session) -> Self {
        use rustix::net::sockopt::{Timeout, set_socket_timeout};
        let endpoint = Endpoint::new(session.into_socket().unwrap()).unwrap();
        set_socket_timeout(&endpoint, Timeout::Recv, Some(PATIENCE)).unwrap();
        let mut raw = Self {
            endpoint,
            buffer: Buffer::new(),
        };
        raw.ask(
            1,
            &Request::Hello(Hello {
                version: VERSION,
                limits: portcullis_warden::default_limits(),
                incarnation: None,
                client: Text::new("raw").unwrap(),
            }),
        );
        assert!(matches!(raw.next(), Reply::Welcome(_)));
        raw
    }

    fn ask(&self, id: u32, request: &Request) {
        let mut scratch = Vec::new();
        self.endpoint
            .send(&mut scratch, RequestId(id), request, &[])
            .unwrap();
    }

    fn next(&mut self) -> Reply {
        let (frame, _) = self
            .endpoint
            .receive(&mut self.buffer)
            .unwrap()
            .decode()
            .unwrap();
        frame.message
    }
}

/// Bytes of what a frame tells, about.
fn told(reply: &Reply) -> usize {
    match reply {
        Reply::Entries(entries) => entries
            .entries
            .iter()
            .map(|entry| entry.path.as_bytes().len() + 4)
            .sum(),
        Reply::Matches(matches) => matches
            .found
            .iter()
            .map(|found| match found {
                Found::Line(line) => line.text.as_slice().len() + 10,
                Found::File { path } | Found::Count { path, .. } => path.as_bytes().len() + 4,
            })
            .sum(),
        other => panic!("{other:?}"),
    }
}

/// A long answer that is cancelled ends after a few frames, whatever is left of it.
fn cancelled(world: &mut World, request: &Request) {
    let mut raw = Raw::new(world.session().session);
    raw.ask(2, request);
    let mut some = 0;
    while some < 3 {
        match raw.next() {
            Reply::Entries(_) | Reply::Matches(_) => some += 1,
            Reply::Progress(_) => {}
            other => panic!("{other:?}"),
        }
    }
    raw.ask(3, &Request::Cancel(Cancel { request: 2 }));
    // The gate cannot send while nobody reads, and has the time to read itself.
    std::thread::sleep(Duration::from_secs(1));
    let (mut frames, mut bytes) = (0, 0);
    let done = loop {
        let reply = raw.next();
        match &reply {
            Reply::Entries(_) | Reply::Matches(_) => {
                frames += 1;
                bytes += told(&reply);
            }
            Reply::Progress(_) => {}
            Reply::Done(done) => break done.clone(),
            other => panic!("{other:?}"),
        }
    };
    println!("{frames} frames, {bytes} bytes after the cancel");
    assert!(bytes <= BYTES, "{bytes} bytes after the cancel");
    let Completeness::Cut { reason, .. } = done.completeness else {
        panic!("it was complete: the answer is too short for this test")
    };
    assert_eq!(reason, CutReason::Cancelled);
}

#[test]
fn a_cancelled_answer_ends_after_a_few_frames() {
    let _alone = alone();
    let mut world = in_memory();
    world.write("lines", "x\n".repeat(4_000_000));
    for n in 0..300 {
        let at = world.inside().join(format!("d{n:03}"));
        std::fs::create_dir(&at).unwrap();
        for n in 0..200 {
            std::fs::write(at.join(format!("{n:0200}")), "").unwrap();
        }
    }
    let content = SearchMode::Content {
        before: 0,
        after: 0,
    };
    cancelled(&mut world, &Request::Search(search(".", "x", content)));
    cancelled(&mut world, &Request::List(list(".")));
}

#[test]
fn a_long_search_that_finds_nothing_says_how_far_it_is_and_ends_when_cancelled() {
    let _alone = alone();
    let mut world = in_memory();
    let line = b"the quick brown fox jumps over the lazy dog and goes on to the next hill\n";
    world.write("haystack/000", line.repeat(8 * 1024 * 1024 / line.len()));
    for n in 1..2000 {
        let name = world.inside().join(format!("haystack/{n:03}"));
        std::fs::hard_link(world.inside().join("haystack/000"), name).unwrap();
    }
    let mut opened = world.session();
    let content = SearchMode::Content {
        before: 0,
        after: 0,
    };
    let mut long = search("haystack", "([a-z]+ ){9}[A-Z][0-9]", content);
    long.syntax = Syntax::Regex;
    let mut stream = opened.session.search(&long).unwrap();
    let mut told = Vec::new();
    while told.len() < 3 {
        match stream
            .next_part()
            .expect("too short for this test")
            .unwrap()
        {
            Part::Progress(progress) => told.push(progress),
            Part::Items(items) => assert!(items.is_empty()),
        }
    }
    let done = stream.cancel().unwrap();
    assert!(told.is_sorted_by_key(|progress| (progress.directories, progress.bytes)));
    let last = told.last().unwrap();
    assert_eq!((last.directories, last.sent), (1, 0));
    assert!(last.bytes > 0 && last.files > 0, "{last:?}");
    assert!(matches!(
        done.completeness,
        Completeness::Cut {
            reason: CutReason::Cancelled,
            ..
        }
    ));
    opened.session.ping(b"goes on").unwrap();
}
