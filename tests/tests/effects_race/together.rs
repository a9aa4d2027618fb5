//! Many sessions change the same at once, and all of them have their way.

use crate::drive::at;
use crate::scenario::{alone, asked};
use portcullis_client::protocol::session::Parents;
use portcullis_client::{Changes, Session, change};
use portcullis_tests::{World, own};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Barrier, Mutex};

fn sessions(world: &mut World, how_many: usize) -> Vec<Session> {
    let open = |_| {
        let mut session = world.session().session;
        session.ping(b"").unwrap();
        session
    };
    (0..how_many).map(open).collect()
}

fn say(text: &str) {
    std::io::stderr()
        .write_all(format!("\neffects race: {text}\n").as_bytes())
        .unwrap();
}

const EDITORS: usize = 20;

#[test]
fn twenty_sessions_edit_one_file_at_once_and_every_edit_stands() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let lines: String = (0..EDITORS).map(|k| format!("line {k}: 0\n")).collect();
    world.write("file", lines);
    let file = world.inside().join("file");
    let sessions = sessions(&mut world, EDITORS);
    let rounds = asked().div_ceil(2_000).max(3);
    let (start, stop) = (Barrier::new(EDITORS + 1), Barrier::new(EDITORS + 1));
    // Told at the end: who left early would leave the others waiting.
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (k, mut session) in sessions.into_iter().enumerate() {
            let (start, stop, failures) = (&start, &stop, &failures);
            scope.spawn(move || {
                for round in 0..rounds {
                    start.wait();
                    let line = |value| format!("line {k}: {value}\n");
                    let edit = change::replace(at("file"), line(round), line(round + 1));
                    let ended = session.change(&Changes::new().with(edit));
                    if let Err(error) = ended {
                        let what = format!("round {round}, line {k}: {error}");
                        failures.lock().unwrap().push(what);
                    }
                    stop.wait();
                }
            });
        }
        for round in 0..rounds {
            start.wait();
            stop.wait();
            let expected: String = (0..EDITORS)
                .map(|k| format!("line {k}: {}\n", round + 1))
                .collect();
            let is = std::fs::read_to_string(&file).unwrap_or_default();
            if is != expected {
                let what = format!("round {round}: {is}");
                failures.lock().unwrap().push(what);
            }
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
    let names = names(&world.inside());
    assert_eq!(names, BTreeSet::from(["file".to_owned()]));
    say(&format!(
        "{EDITORS} sessions edited one file {rounds} times each, all at once; every edit stands"
    ));
}

const MAKERS: usize = 64;

#[test]
fn sixty_four_sessions_make_one_path_at_once_and_all_succeed() {
    let _alone = alone();
    let mut world = World::new(own!("own-gate"));
    let sessions = sessions(&mut world, MAKERS);
    let rounds = asked().div_ceil(10_000).max(2);
    let start = Barrier::new(MAKERS);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for mut session in sessions {
            let (start, failures) = (&start, &failures);
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut made = change::mkdir(at(&format!("{round}/a/b/c/d")));
                    made.parents = Parents::Make;
                    start.wait();
                    let ended = session.change(&Changes::new().with(made));
                    if let Err(error) = ended {
                        let what = format!("round {round}: {error}");
                        failures.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
    for round in 0..rounds {
        let deepest = world.inside().join(format!("{round}/a/b/c/d"));
        assert!(deepest.is_dir());
        assert!(names(&deepest).is_empty());
    }
    assert_eq!(names(&world.inside()).len() as u64, rounds);
    say(&format!(
        "{MAKERS} sessions made one path of five directories {rounds} times, all at once"
    ));
}

fn names(directory: &std::path::Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
