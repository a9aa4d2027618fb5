//! How long a walk goes on after it was told to stop: from before the cancel is sent until its end
//! has come, what was on its way taken first.

use crate::Options;
use crate::corpus::Corpus;
use crate::query::{NO_LITERAL, NOWHERE};
use crate::report::{Bound, Row};
use crate::sides::Place;
use crate::spread::Spread;
use portcullis_client::{Session, ask};
use portcullis_protocol::VERSION;
use portcullis_protocol::bounded::Text;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::limits::WALK_DEPTH_MAX;
use portcullis_protocol::session::{
    Cancel, Completeness, CutReason, Done, Hello, Reply, Request, Syntax,
};
use portcullis_transport::{Buffer, Endpoint, WorkerSide};
use std::time::{Duration, Instant};

/// Milliseconds a walk is left alone before it is told, at first; each next one is a little longer.
const LEFT_ALONE: u64 = 4;
/// How many such steps there are.
const STEPS: u64 = 16;

/// The requests that are cancelled.
fn requests() -> Vec<(&'static str, Request)> {
    let here = || ask::selector(".").unwrap();
    let mut engine = ask::search(here(), NO_LITERAL).unwrap();
    engine.syntax = Syntax::Regex;
    let mut list = ask::list(here());
    list.depth = WALK_DEPTH_MAX;
    vec![
        (
            "search, no match",
            Request::Search(ask::search(here(), NOWHERE).unwrap()),
        ),
        ("search, regex without a literal", Request::Search(engine)),
        // Nobody takes what it finds, so its threads wait for room in the socket.
        (
            "search, many hits, none taken",
            Request::Search(ask::search(here(), "e").unwrap()),
        ),
        ("list, nothing taken", Request::List(list)),
    ]
}

/// A session, spoken to bare.
struct Wire {
    endpoint: Endpoint<WorkerSide>,
    scratch: Vec<u8>,
    buffer: Buffer,
    last: u32,
}

impl Wire {
    fn new(session: Session) -> Self {
        let mut wire = Self {
            endpoint: Endpoint::new(session.into_socket().unwrap()).unwrap(),
            scratch: Vec::new(),
            buffer: Buffer::new(),
            last: 0,
        };
        wire.send(&Request::Hello(Hello {
            version: VERSION,
            limits: portcullis_warden::default_limits(),
            incarnation: None,
            client: Text::default(),
        }));
        let packet = wire.endpoint.receive(&mut wire.buffer).unwrap();
        assert!(matches!(
            packet.decode().unwrap().0.message,
            Reply::Welcome(_)
        ));
        wire
    }

    fn send(&mut self, request: &Request) -> RequestId {
        self.last += 1;
        let id = RequestId(self.last);
        self.endpoint
            .send(&mut self.scratch, id, request, &[])
            .unwrap();
        id
    }

    fn done(&mut self, id: RequestId) -> Done {
        loop {
            let packet = self.endpoint.receive(&mut self.buffer).unwrap();
            let (frame, _) = packet.decode().unwrap();
            assert_eq!(frame.id, id);
            match frame.message {
                Reply::Done(done) => return done,
                Reply::Refused(refusal) => panic!("{refusal:?}"),
                _ => {}
            }
        }
    }

    /// Asks, waits, cancels; none when it had ended before it was told.
    fn cancelled(&mut self, request: &Request, alone: Duration) -> Option<Duration> {
        let id = self.send(request);
        std::thread::sleep(alone);
        let start = Instant::now();
        self.send(&Request::Cancel(Cancel { request: id.0 }));
        let done = self.done(id);
        let took = start.elapsed();
        let cut = matches!(
            done.completeness,
            Completeness::Cut {
                reason: CutReason::Cancelled,
                ..
            }
        );
        cut.then_some(took)
    }
}

/// The rows of one tree.
pub fn measure(place: &mut Place, corpus: &Corpus, options: &Options) -> Vec<Row> {
    let root = place.seal(corpus);
    let mut wire = Wire::new(place.session(root).0);
    let mut rows = Vec::new();
    for (name, request) in requests() {
        let mut took = Vec::new();
        let mut ended = 0;
        for n in 0..options.number(16, 200) {
            let alone = LEFT_ALONE + u64::try_from(n).unwrap() % STEPS;
            match wire.cancelled(&request, Duration::from_millis(alone)) {
                Some(one) => took.push(one),
                None => ended += 1,
            }
        }
        if took.is_empty() {
            eprintln!(
                "{}: {name}: always at its end before it was cancelled",
                corpus.name
            );
            continue;
        }
        let spread = Spread::of(took);
        rows.push(Row {
            name: format!("{}: {name}, p99", corpus.name),
            value: spread.part(99),
            unit: " ms",
            bound: Bound::AtMost {
                goal: 10.0,
                limit: 10.0,
            },
            of: format!("{spread}; {ended} had ended before"),
        });
    }
    rows
}
