//! Workers that do not read, and work that is stopped.

use crate::raw::{PATIENCE, Raw, cause, haystack, long_search};
use portcullis_client::ask;
use portcullis_client::protocol::control::OverCause;
use portcullis_client::protocol::frame::RequestId;
use portcullis_client::protocol::path::RelPath;
use portcullis_client::protocol::session::{Cancel, Completeness, CutReason, Ping, Reply, Request};
use portcullis_client::protocol::verb::VerbSet;
use portcullis_client::{Control, MintOrder};
use portcullis_tests::{Opened, World, own, read};
use portcullis_warden::{Config, Embedded, GateExecutable, default_limits};
use std::time::{Duration, Instant};

/// A world whose gates wait for a worker this long at most.
fn impatient(deadline_ms: u32) -> World {
    let mut world = World::new(own!("own-gate"));
    let config = Config {
        gate: GateExecutable::At(own!("own-gate")),
        limits: portcullis_client::protocol::session::Limits {
            send_deadline_ms: deadline_ms,
            ..default_limits()
        },
        ..Config::default()
    };
    world.warden = Embedded::start(config).unwrap();
    world.control = Control::new(world.warden.connect().unwrap()).unwrap();
    world
}

#[test]
fn a_worker_that_never_reads_is_closed_while_another_is_served() {
    let mut world = impatient(300);
    world.write("f", vec![b'x'; 60_000]);
    let mut other = world.session();
    let streaming = world.session();
    let asking = world.session();
    // One lets a stream run full, one asks on and on.
    let streams = Raw::greeted(streaming.session);
    let mut whole = ask::read(ask::selector("f").unwrap());
    whole.selectors =
        portcullis_client::protocol::bounded::Few::new(vec![ask::selector("f").unwrap(); 64])
            .unwrap();
    streams.ask(1, &Request::Read(whole));
    let asks = Raw::greeted(asking.session);
    let asker = std::thread::spawn(move || {
        let small = Request::Read(ask::read(ask::selector("f").unwrap()));
        let flags = rustix::net::SendFlags::NOSIGNAL;
        let bytes = crate::raw::bytes_of(1, &small);
        use std::os::fd::AsFd as _;
        while rustix::net::send(asks.endpoint.as_fd(), &bytes, flags).is_ok() {}
        asks
    });
    let until = Instant::now() + PATIENCE;
    let mut ended = 0;
    let mut served = 0_u32;
    let mut slowest = Duration::ZERO;
    while ended < 2 {
        assert!(
            Instant::now() < until,
            "a worker that does not read is still served"
        );
        let began = Instant::now();
        assert_eq!(read(&mut other.session, "f").unwrap().len(), 60_000);
        slowest = slowest.max(began.elapsed());
        served += 1;
        for id in [streaming.id, asking.id] {
            if let Some(over) = world.control.wait_over(id, Some(Duration::ZERO)).unwrap() {
                assert_eq!(over.cause, OverCause::WorkerMisbehaved);
                ended += 1;
            }
        }
    }
    eprintln!("served {served} reads meanwhile, slowest {slowest:?}");
    assert!(served > 10 && slowest < Duration::from_secs(5));
    drop((asker.join().unwrap(), streams));
}

#[test]
fn a_cancelled_search_stops_and_pings_are_answered_while_it_runs() {
    let mut world = World::new(own!("own-gate"));
    haystack(&world);
    let opened = world.session();
    let mut raw = Raw::greeted(opened.session);
    raw.ask(1, &Request::Search(long_search()));
    for id in 2..30 {
        let began = Instant::now();
        raw.ask(id, &Request::Ping(Ping {}));
        let answer = raw.next();
        assert!(
            matches!(answer, (RequestId(n), Reply::Pong(_)) if n == id),
            "{answer:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    raw.ask(30, &Request::Cancel(Cancel { request: 1 }));
    let began = Instant::now();
    loop {
        match raw.next() {
            (RequestId(1), Reply::Matches(_)) => {}
            (RequestId(1), Reply::Done(done)) => {
                let cancelled = Completeness::Cut {
                    reason: CutReason::Cancelled,
                    cursor: None,
                };
                assert_eq!(done.completeness, cancelled);
                assert!(
                    done.statistics.files < 400,
                    "it was over before it was cancelled"
                );
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // Cancelling what is not there is no answer and no end.
    raw.ask(31, &Request::Cancel(Cancel { request: 77 }));
    raw.goes_on();
}

#[test]
fn a_worker_that_leaves_in_the_middle_of_a_search_takes_its_gate_along() {
    let mut world = World::new(own!("own-gate"));
    haystack(&world);
    let opened = world.session();
    let gate = crate::raw::pid(&mut world, &opened);
    let id = opened.id;
    let raw = Raw::greeted(opened.session);
    raw.ask(1, &Request::Search(long_search()));
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    drop(raw);
    assert_eq!(cause(&mut world, id), OverCause::WorkerLeft);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(!crate::raw::exists(gate));
}

#[test]
fn a_session_that_is_expired_answers_nothing_any_more() {
    let mut world = World::new(own!("own-gate"));
    world.write("f", "f");
    let soon = std::time::SystemTime::now() + Duration::from_millis(1_500);
    let ms = soon
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let inside = world.inside();
    let root = world.seal(&inside, "w");
    let order = MintOrder::new("t")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .expires_ms(u64::try_from(ms).unwrap());
    let (minted, session) = world.control.mint(&order).unwrap();
    let mut opened = Opened {
        session,
        id: minted.session,
        root,
    };
    assert_eq!(read(&mut opened.session, "f").unwrap(), b"f");
    std::thread::sleep(Duration::from_millis(1_600));
    let after = read(&mut opened.session, "f").unwrap_err();
    assert_eq!(after, portcullis_client::protocol::refusal::Code::Expired);
}
