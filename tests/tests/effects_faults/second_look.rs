//! What a second look under the locks is for: what an effect waited for is another by then, and the
//! path to it leads somewhere all the same.

use portcullis_client::change::Made;
use portcullis_client::{Changes, Error, ask, change};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Outcome, SessionId};
use portcullis_tests::{World, code, own};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[test]
fn a_directory_exchanged_while_an_effect_waits_for_its_locks_is_not_worked_in() {
    let place = tempfile::tempdir().unwrap();
    let gate = place.path().join("fault.plan");
    std::fs::copy(own!("own-gate"), &gate).unwrap();
    let plan = place.path().join("plan");
    let mut world = World::new(gate);
    let inside = world.inside();
    for name in ["x/hooks", "y/hooks"] {
        std::fs::create_dir_all(inside.join(name)).unwrap();
    }
    let new = || {
        Changes::new().with(change::create(
            ask::selector("x/hooks/new").unwrap(),
            "new\n",
        ))
    };
    let again = || std::fs::remove_file(inside.join("x/hooks/new")).unwrap();
    let Waiting { id, run, other } = waiting(&mut world, &plan, new, again);
    std::fs::rename(inside.join("x"), inside.join(".git")).unwrap();
    std::fs::rename(inside.join("y"), inside.join("x")).unwrap();
    let began = Instant::now();
    world.control.end(id).unwrap();
    assert!(!run.join().unwrap());
    let answer = other.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(!inside.join(".git/hooks/new").exists(), "{answer:?}");
    match answer {
        // It was planned again, for the directory that is there now.
        Ok(_) => assert!(inside.join("x/hooks/new").exists()),
        Err(error) => assert_eq!(code(&error), Code::Contended),
    }
}

/// An effect that hangs with its locks, and another one that waits for them.
struct Waiting {
    id: SessionId,
    run: JoinHandle<bool>,
    other: JoinHandle<Result<Made, Error>>,
}

/// Makes one effect hold a name for as long as its gate hangs in the middle of it. `again` takes
/// back what the other one did where there was nothing to wait for.
fn waiting(
    world: &mut World,
    plan: &Path,
    changes: impl Fn() -> Changes,
    again: impl Fn(),
) -> Waiting {
    for nth in 1..40 {
        std::fs::write(plan, format!("{nth}.hang")).unwrap();
        let mut opened = world.session();
        std::fs::write(plan, "").unwrap();
        let id = opened.id;
        let (own, others) = (changes(), changes());
        let run = std::thread::spawn(move || opened.session.change(&own).is_ok());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!run.is_finished(), "the effect was over before call {nth}");
        let mut probe = world.session().session;
        // Whether it holds its locks is seen by who has to wait for them.
        let (told, waits) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let answer = probe.change(&others);
            // Nobody listens any more once it was seen to wait.
            told.send(()).unwrap_or_default();
            answer
        });
        if waits.recv_timeout(Duration::from_secs(3)).is_err() {
            return Waiting { id, run, other };
        }
        assert!(other.join().unwrap().is_ok());
        world.control.end(id).unwrap();
        run.join().unwrap();
        again();
    }
    panic!("no effect hangs with its locks");
}

#[test]
fn a_file_that_became_another_while_an_effect_waited_comes_with_its_receipt() {
    let place = tempfile::tempdir().unwrap();
    let gate = place.path().join("fault.plan");
    std::fs::copy(own!("own-gate"), &gate).unwrap();
    let plan = place.path().join("plan");
    let mut world = World::new(gate);
    world.write("f", "one\ntwo\n");
    let file = world.inside().join("f");
    let edit = || Changes::new().with(change::replace(ask::selector("f").unwrap(), "two", "2"));
    let again = || std::fs::write(&file, "one\ntwo\n").unwrap();
    let Waiting { id, run, other } = waiting(&mut world, &plan, edit, again);
    let theirs = "one\nby somebody else\n";
    std::fs::write(&file, theirs).unwrap();
    world.control.end(id).unwrap();
    assert!(!run.join().unwrap());
    let error = other.join().unwrap().unwrap_err();
    let changed = error.receipt().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(changed.outcome, Outcome::Failed);
    assert_eq!(changed.refusal.as_ref().unwrap().code, Code::NotUnique);
    let shown = error.region().unwrap_or_else(|| panic!("{error:?}"));
    assert_eq!(shown.text, theirs.as_bytes());
    assert_eq!((shown.region.first_line, shown.region.total_lines), (1, 2));
    assert_eq!(std::fs::read(&file).unwrap(), theirs.as_bytes());
}
