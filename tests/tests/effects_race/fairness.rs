//! Nobody overtakes one who waits for a tree alone. Told by the numbers of receipts, which are
//! given in the order in which effects end, and not by any clock.

use crate::drive::at;
use crate::scenario::{alone, is_full};
use portcullis_client::{Changes, Made, Session, change};
use portcullis_tests::{World, own};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Sessions that change something after the move has its place.
const LATER: usize = 6;
/// Files that the holder makes in one effect, so that it can be stopped in the middle of it.
const MANY: usize = 200;
/// Effects that may overtake the move while it is on its way to the queue; many more than can.
const OVERTAKEN: u64 = 5_000;

/// What happened in one round.
struct Seen {
    holder: u64,
    moved: u64,
    /// Of the stream of others, before and after the move had its place.
    stream: Vec<u64>,
    blocked_at: u64,
    later: Vec<u64>,
}

#[test]
fn a_move_of_a_directory_gets_its_turn_behind_a_stream_of_others() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let rounds = if is_full() { 20 } else { 2 };
    let (mut before, mut after) = (0, 0);
    let (mut held, mut tried) = (0, 0);
    while held < rounds {
        tried += 1;
        assert!(tried < 100 * rounds, "no gate was ever stopped in time");
        let Some(seen) = one_round(&mut world, tried) else {
            continue;
        };
        held += 1;
        assert!(seen.holder < seen.moved, "the move did not wait");
        let overtaking = seen.later.iter().filter(|n| **n < seen.moved).count();
        assert_eq!(overtaking, 0, "queued after the move, ended before it");
        // The one that was under way may have been before or behind it; the next is behind.
        let stream = |n: &u64| seen.stream.iter().filter(|s| *s < n).count() as u64;
        assert!(
            stream(&seen.moved) <= seen.blocked_at + 1,
            "the stream went on past the move"
        );
        before += seen.blocked_at;
        after += LATER;
    }
    let text = format!(
        "\neffects race: {rounds} moves of a directory behind a stream of others: {before} effects \
         ended before the move was queued, {after} were begun after it, 0 of those ended before it\n"
    );
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
}

fn ready(world: &mut World) -> Session {
    let mut session = world.session().session;
    session.ping(b"").unwrap();
    session
}

fn number(ended: Result<Made, portcullis_client::Error>) -> u64 {
    ended
        .unwrap_or_else(|e| panic!("{e}"))
        .changed
        .receipt
        .number
}

/// None when the holder was done before it could be stopped.
fn one_round(world: &mut World, round: u64) -> Option<Seen> {
    for directory in ["held", "stream", "later", "from"] {
        world.write(format!("{round}/{directory}/there"), "x");
    }
    let held = world.inside().join(format!("{round}/held"));
    let others = gates();
    let mut holder = ready(world);
    let gate = *gates().difference(&others).next().unwrap();
    let (mut mover, mut streamer) = (ready(world), ready(world));
    let later: Vec<Session> = (0..LATER).map(|_| ready(world)).collect();
    let (answered, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let holding = scope.spawn(move || {
            let name = |n| at(&format!("{round}/held/{n}"));
            let set = (0..MANY).map(|n| change::create(name(n), "x"));
            let set = set.fold(Changes::new(), Changes::with);
            number(holder.change(&set))
        });
        // Nothing panics while it stands still: the other threads would be waited for for ever.
        if !stop_within(gate, &held, || holding.is_finished()) {
            // It is gone with its session when that was done first.
            kill_process(pid(gate), Signal::CONT).unwrap_or_default();
            holding.join().unwrap();
            return None;
        }
        let moving = scope.spawn(move || {
            let (from, to) = (format!("{round}/from"), format!("{round}/to"));
            number(mover.change(&Changes::new().with(change::rename(at(&from), at(&to)))))
        });
        let (count, stop) = (&answered, &enough);
        let streaming = scope.spawn(move || {
            let mut numbers = Vec::new();
            while !stop.load(Ordering::Relaxed) && numbers.len() < 2 * OVERTAKEN as usize {
                let name = format!("{round}/stream/{}", numbers.len());
                let made = Changes::new().with(change::create(at(&name), "x"));
                numbers.push(number(streamer.change(&made)));
                count.fetch_add(1, Ordering::Relaxed);
            }
            numbers
        });
        let blocked_at = wait_until_still(&answered);
        let behind: Vec<_> = later
            .into_iter()
            .enumerate()
            .map(|(n, mut session)| {
                let name = format!("{round}/later/{n}");
                scope.spawn(move || {
                    number(session.change(&Changes::new().with(change::create(at(&name), "x"))))
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20));
        // A gate that is gone is told of by what its session answers.
        kill_process(pid(gate), Signal::CONT).unwrap_or_default();
        let moved = moving.join().unwrap();
        enough.store(true, Ordering::Relaxed);
        Some(Seen {
            holder: holding.join().unwrap(),
            moved,
            stream: streaming.join().unwrap(),
            blocked_at,
            later: behind.into_iter().map(|t| t.join().unwrap()).collect(),
        })
    })
}

/// Stops a gate while it makes the files of one effect: some are there, and not all, so that it
/// holds its locks until it goes on. False when it was too late for that.
fn stop_within(gate: i32, held: &Path, over: impl Fn() -> bool) -> bool {
    while !held.join("0").exists() {
        if over() {
            return false;
        }
        std::thread::yield_now();
    }
    if kill_process(pid(gate), Signal::STOP).is_err() {
        return false;
    }
    while let Some((state, _)) = state_of(gate)
        && state != 'T'
    {
        if over() {
            return false;
        }
        std::thread::yield_now();
    }
    !held.join((MANY - 1).to_string()).exists()
}

/// Waits until the stream makes no step any more, which only the move can bring about; gives how
/// many it made.
fn wait_until_still(answered: &AtomicU64) -> u64 {
    let mut last = answered.load(Ordering::Relaxed);
    loop {
        std::thread::sleep(Duration::from_millis(400));
        let now = answered.load(Ordering::Relaxed);
        // One that goes on past the move is told of by the numbers.
        if now == last || now > OVERTAKEN {
            return now;
        }
        last = now;
    }
}

fn pid(number: i32) -> Pid {
    Pid::from_raw(number).unwrap()
}

/// The children of this process.
fn gates() -> BTreeSet<i32> {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap();
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number| state_of(*number).is_some_and(|(_, parent)| parent == own))
        .collect()
}

/// State and parent of a process.
fn state_of(number: i32) -> Option<(char, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    let mut words = after.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.to_owned()))
}
