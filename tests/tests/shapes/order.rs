//! One answer, however many threads work.

use crate::measure::{list, search};
use portcullis_client::Session;
use portcullis_client::protocol::bounded::Bytes;
use portcullis_client::protocol::session::{
    Detail, Done, Entry, Found, Passing, SearchMode, Statistics, Syntax,
};
use portcullis_tests::{World, own};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Everything that two answers must have in common.
type Answers = (Vec<Entry>, Vec<Found>, Vec<Statistics>);

fn tree(world: &World) {
    for n in 0..120_u32 {
        for m in 0..n % 17 {
            let at = format!("d{:02}/e{}/f{n:03}-{m}", n % 23, n % 5);
            world.write(
                at,
                format!("fox {n}\nx\nfox {m}\n").repeat(1 + n as usize % 40),
            );
        }
    }
    world.write("d05/.gitignore", "e1\n*-3\n");
    world.write("d07/.hidden/a", "fox\n");
    world.write("large", "x fox x\n".repeat(300_000));
}

fn answers(session: &mut Session) -> Answers {
    let mut numbers = Vec::new();
    let mut told = |done: Done| numbers.push(done.statistics);
    let mut full = list(".");
    full.detail = Detail::Full;
    let mut stream = session.list(&full).unwrap();
    let entries: Vec<Entry> = stream.by_ref().map(Result::unwrap).collect();
    told(stream.finish().unwrap());
    let mode = SearchMode::Content {
        before: 1,
        after: 2,
    };
    let mut wanted = search(".", "fox [0-9]*7", mode);
    (wanted.passing, wanted.syntax) = (Passing::usual(), Syntax::Regex);
    let mut stream = session.search(&wanted).unwrap();
    let mut found: Vec<Found> = stream.by_ref().map(Result::unwrap).collect();
    told(stream.finish().unwrap());
    wanted.pattern = Bytes::new("fox").unwrap();
    wanted.mode = SearchMode::Count;
    let mut stream = session.search(&wanted).unwrap();
    found.extend(stream.by_ref().map(Result::unwrap));
    told(stream.finish().unwrap());
    (entries, found, numbers)
}

#[test]
fn one_thread_and_many_give_the_same_answer() {
    let mut world = World::new(own!("own-gate"));
    tree(&world);
    let all = sched_getaffinity(None).unwrap();
    let many = answers(&mut world.session().session);
    // What is started from here on has this thread's processors: a gate with one has no helpers.
    let mut one = CpuSet::new();
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap();
    one.set(first);
    sched_setaffinity(None, &one).unwrap();
    let mut alone = World::new(own!("own-gate"));
    sched_setaffinity(None, &all).unwrap();
    std::mem::swap(&mut alone.place, &mut world.place);
    let mut opened = alone.session();
    let gate = alone.control.status().unwrap().sessions.as_slice()[0].gate;
    let status = std::fs::read_to_string(format!("/proc/{gate}/status")).unwrap();
    let allowed = status
        .lines()
        .find(|l| l.starts_with("Cpus_allowed_list:"))
        .unwrap();
    assert_eq!(
        allowed.split_whitespace().nth(1),
        Some(first.to_string().as_str())
    );
    let single = answers(&mut opened.session);
    let threads = std::fs::read_to_string(format!("/proc/{gate}/status")).unwrap();
    let threads = threads.lines().find(|l| l.starts_with("Threads:")).unwrap();
    println!(
        "many threads on {} processors; alone: {threads}",
        all.count()
    );
    assert!(many.0.len() > 500 && many.1.len() > 500);
    assert!(many.0 == single.0, "entries differ");
    assert!(many.1 == single.1, "results differ");
    assert_eq!(many.2, single.2);
}
