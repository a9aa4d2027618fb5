//! What a session's small reads cost beside two searches of other sessions.

use crate::Options;
use crate::corpus::Corpus;
use crate::query::{NO_LITERAL, NOWHERE};
use crate::report::{Bound, Row};
use crate::sides::{Place, order};
use crate::spread::Spread;
use portcullis_client::{Session, ask};
use portcullis_protocol::session::{Search, Syntax};
use rustix::fs::{Gid, Uid};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Searches that run beside.
const SEARCHES: usize = 2;
/// The file that is read: its name, its bytes.
const SMALL: (&str, usize) = ("small", 4096);
/// Time between two reads of a worker that does something with what it read.
const THINKING: Duration = Duration::from_millis(1);

/// How a worker reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// The next one at once.
    Steady,
    /// Something else between two.
    Thinking,
}

/// What runs beside.
fn searches() -> [(&'static str, Search); 2] {
    let here = || ask::selector(".").unwrap();
    let mut engine = ask::search(here(), NO_LITERAL).unwrap();
    engine.syntax = Syntax::Regex;
    [
        ("no match", ask::search(here(), NOWHERE).unwrap()),
        ("regex without a literal", engine),
    ]
}

/// The rows: reads of one session, searches in the tree.
pub fn measure(place: &mut Place, corpus: &Corpus, options: &Options) -> Vec<Row> {
    let mut reader = reader(place);
    let root = place.seal(corpus);
    let mut searching: Vec<Session> = (0..SEARCHES).map(|_| place.session(root).0).collect();
    let mut rows = Vec::new();
    for (name, search) in searches() {
        for pace in [Pace::Steady, Pace::Thinking] {
            let (mut quiet, mut beside) = (Vec::new(), Vec::new());
            for _ in 0..options.number(1, 5) {
                let phase = Duration::from_millis(options.number(500, 2000) as u64);
                quiet.extend(reads(&mut reader, pace, phase));
                beside.extend(while_searching(&mut searching, &search, || {
                    reads(&mut reader, pace, phase)
                }));
            }
            let (quiet, beside) = (Spread::of(quiet), Spread::of(beside));
            let pace = match pace {
                Pace::Steady => "one after the other",
                Pace::Thinking => "1 ms between",
            };
            rows.push(Row {
                name: format!("{}: {name}; reads {pace}", corpus.name),
                value: beside.part(99) / quiet.part(99),
                unit: "",
                bound: Bound::AtMost {
                    goal: 4.0,
                    limit: 10.0,
                },
                of: format!("{beside} / quiet: {quiet}"),
            });
        }
    }
    rows
}

/// A session with one small file, of an ordinary owner so that its gate opens it directly.
fn reader(place: &mut Place) -> Session {
    let inside = place.world.inside();
    place.world.write(SMALL.0, vec![b'x'; SMALL.1]);
    if portcullis_tests::privileged() {
        let (user, group) = (Uid::from_raw(1234), Gid::from_raw(1234));
        for path in [inside.join(SMALL.0), inside.clone()] {
            rustix::fs::chown(&path, Some(user), Some(group)).unwrap();
        }
    }
    let root = place.world.seal(&inside, "reader");
    place.session_of(order(root)).0
}

fn reads(session: &mut Session, pace: Pace, phase: Duration) -> Vec<Duration> {
    let read = ask::read(ask::selector(SMALL.0).unwrap());
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < phase {
        let start = Instant::now();
        let mut stream = session.read_stream(&read).unwrap();
        let mut bytes = 0;
        while let Some((_, content)) = stream.next_part().unwrap() {
            bytes += content.len();
        }
        drop(stream);
        times.push(start.elapsed());
        assert_eq!(bytes, SMALL.1);
        match pace {
            Pace::Steady => {}
            Pace::Thinking => std::thread::sleep(THINKING),
        }
    }
    times
}

/// Does something while every one of the sessions searches, over and over.
fn while_searching<T>(sessions: &mut [Session], search: &Search, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for session in sessions {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let mut stream = session.search(search).unwrap();
                    while !stop.load(Ordering::SeqCst) {
                        match stream.next() {
                            Some(found) => drop(found.unwrap()),
                            None => break,
                        }
                    }
                    stream.finish().unwrap();
                }
            });
        }
        // Until they are under way.
        std::thread::sleep(Duration::from_millis(100));
        let done = work();
        stop.store(true, Ordering::SeqCst);
        done
    })
}
