//! Files, patterns and directories made to stall or burst whoever reads them: their session
//! answers or ends alone, and another one is served all the while.

use portcullis_client::protocol::path::RelPath;
use portcullis_client::protocol::session::{
    Completeness, Detail, Range, Rest, Survey, Syntax, TextSurvey,
};
use portcullis_client::{Session, ask};
use portcullis_tests::{World, code, own, read};
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Reads in `other` until `work` in `session` is done; gives the reads and the slowest of them.
fn beside<T>(
    other: &mut Session,
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> T + Send,
) -> T
where
    T: Send,
{
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Said also when the work panics.
            struct Say<'a>(&'a AtomicBool);
            impl Drop for Say<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            let _say = Say(&done);
            work(session)
        });
        let mut slowest = Duration::ZERO;
        let mut served = 0_u32;
        while !done.load(Ordering::Relaxed) {
            let began = Instant::now();
            assert_eq!(read(other, "f").unwrap(), b"f");
            slowest = slowest.max(began.elapsed());
            served += 1;
        }
        eprintln!("{served} reads served beside it, slowest {slowest:?}");
        assert!(
            slowest < Duration::from_secs(5),
            "the other session stalled for {slowest:?}"
        );
        worker.join().unwrap()
    })
}

fn world() -> World {
    let world = World::new(own!("own-gate"));
    world.write("f", "f");
    world
}

#[test]
fn files_without_end_and_lines_without_end_are_read_up_to_the_limit() {
    let mut world = world();
    File::create(world.inside().join("sparse"))
        .unwrap()
        .set_len(8 << 40)
        .unwrap();
    File::create(world.inside().join("gibi"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let (mut other, mut opened) = (world.session().session, world.session().session);
    beside(&mut other, &mut opened, |session| {
        for (file, size) in [("sparse", 8_u64 << 40), ("gibi", 1 << 30)] {
            for (range, survey) in [
                (Range::Head { count: 1 }, Survey::None),
                (Range::Tail { count: 1 }, Survey::None),
                (
                    Range::Bytes {
                        offset: size - 1,
                        length: 10,
                    },
                    Survey::None,
                ),
                (
                    Range::Bytes {
                        offset: 0,
                        length: 10,
                    },
                    Survey::TextAndDigest,
                ),
            ] {
                let mut ask = ask::read(ask::selector(file).unwrap());
                (ask.range, ask.survey) = (range, survey);
                // Parts are dropped as they come, as a client must that asks for a line.
                let mut stream = session.read_stream(&ask).unwrap();
                let mut end = None;
                let mut bytes = 0;
                while let Some((part, content)) = stream.next_part().unwrap() {
                    bytes += content.len() as u64;
                    end = part.tail.or(end);
                }
                use portcullis_client::protocol::session::ReadTail;
                let Some(ReadTail::Read(end)) = end else {
                    panic!("{file} {range:?}: {end:?}")
                };
                assert!(bytes <= 256 << 20, "{file} {range:?}: {bytes} bytes");
                let surveyed: Option<TextSurvey> = end.text;
                match (range, survey) {
                    (Range::Bytes { .. }, Survey::None) => {
                        assert_eq!((bytes, end.rest), (1, Rest::End))
                    }
                    (Range::Bytes { .. }, _) => {
                        assert_eq!(bytes, 10);
                        assert!(
                            surveyed.is_none() && end.digest.is_none(),
                            "a part is not the whole"
                        );
                    }
                    _ => assert_eq!(end.rest, Rest::CutAtScanLimit, "{file} {range:?}"),
                }
            }
        }
    });
}

#[test]
fn searches_of_endless_lines_and_large_files_are_bounded_and_say_so() {
    let mut world = world();
    File::create(world.inside().join("sparse"))
        .unwrap()
        .set_len(8 << 40)
        .unwrap();
    world.write("line", vec![b'x'; 64 << 20]);
    let (mut other, mut opened) = (world.session().session, world.session().session);
    let done = beside(&mut other, &mut opened, |session| {
        let mut search = ask::search(ask::selector(".").unwrap(), "xy").unwrap();
        search.file_bytes_max = 256 << 20;
        session.search(&search).unwrap().finish().unwrap()
    });
    assert_eq!(done.completeness, Completeness::Complete);
    // One is larger than a search reads, the line in the other than it may hold: passed over, and said.
    assert_eq!(done.statistics.too_large, 2, "{:?}", done.statistics);
    assert_eq!(done.statistics.unreadable, 0, "{:?}", done.statistics);
}

#[test]
fn patterns_that_explode_are_refused_or_run_in_linear_time() {
    let mut world = world();
    world.write("x", format!("{}\n", "x".repeat(100_000)).repeat(10));
    let (mut other, mut opened) = (world.session().session, world.session().session);
    beside(&mut other, &mut opened, |session| {
        let mut refused = 0;
        let deep = format!("{}x{}", "(".repeat(1_000), ")".repeat(1_000));
        let bombs = [
            "(x+x+)+y",
            "(x|x|x|xx)*y",
            "(?:x{0,1000}){0,1000}y",
            "((((x{1,100}){1,100}){1,100}){1,100}){1,100}",
            r"\p{L}{1,1000}\p{L}{1,1000}y",
            r"(?i)(\w{1,200}\W){1,200}y",
            deep.as_str(),
        ];
        for pattern in bombs {
            let began = Instant::now();
            let mut search = ask::search(ask::selector("x").unwrap(), pattern).unwrap();
            search.syntax = Syntax::Regex;
            search.time_ms = 3_000;
            match session.search(&search) {
                Ok(stream) => drop(stream.finish().unwrap()),
                Err(error) => {
                    use portcullis_client::protocol::refusal::Code;
                    assert_eq!(code(&error), Code::BadPattern, "{pattern}");
                    refused += 1;
                }
            }
            eprintln!("{:.60}: {:?}", pattern, began.elapsed());
            assert!(began.elapsed() < Duration::from_secs(20), "{pattern}");
        }
        assert!(refused > 0, "no pattern was too large");
        session.ping(b"still here").unwrap();
    });
}

/// Entries of the huge directory. `PORTCULLIS_HUGE_ENTRIES` sets another number; a walk holds at
/// most 200,000 names, so that more than that is what matters.
fn huge() -> usize {
    std::env::var("PORTCULLIS_HUGE_ENTRIES").map_or(250_000, |n| n.parse().unwrap())
}

#[test]
fn a_directory_larger_than_a_walk_may_hold_is_listed_whole_and_in_order() {
    let mut world = world();
    let directory = world.inside().join("huge");
    std::fs::create_dir(&directory).unwrap();
    // Links of few files are made faster than files.
    for n in 0..huge() {
        let name = directory.join(format!("{n:08}"));
        if n % 50_000 == 0 {
            File::create(&name).unwrap();
        } else {
            let first = directory.join(format!("{:08}", n - n % 50_000));
            std::fs::hard_link(first, &name).unwrap();
        }
    }
    let (mut other, mut opened) = (world.session().session, world.session().session);
    beside(&mut other, &mut opened, |session| {
        let mut seen = 0;
        let mut last: Option<RelPath> = None;
        let mut list = ask::list(ask::selector("huge").unwrap());
        (list.detail, list.limit) = (Detail::Names, 10_000);
        loop {
            let mut stream = session.list(&list).unwrap();
            for entry in &mut stream {
                let entry = entry.unwrap();
                let after = last
                    .as_ref()
                    .is_none_or(|l| l.as_bytes() < entry.path.as_bytes());
                assert!(after, "{last:?} before {}", entry.path);
                last = Some(entry.path);
                seen += 1;
            }
            match stream.finish().unwrap().completeness {
                Completeness::Complete => break,
                Completeness::Cut { cursor, .. } => list.cursor = Some(cursor.unwrap()),
            }
            // Two pages show that it goes on; all of them would read the directory 25 times.
            if seen >= 20_000 {
                break;
            }
        }
        assert_eq!(seen, 20_000.min(huge()));
        let mut search = ask::search(ask::selector("huge").unwrap(), "x").unwrap();
        search.time_ms = 20_000;
        let done = session.search(&search).unwrap().finish().unwrap();
        // Whole, or cut by its time on a slow machine, and said so.
        match done.completeness {
            Completeness::Complete => assert_eq!(done.statistics.files as usize, huge()),
            Completeness::Cut { reason, .. } => assert_eq!(reason.name(), "time"),
        }
    });
}
