//! What a second look under the locks is for: the directory is another by then, and the path to it
//! leads somewhere all the same.

use portcullis_client::{Changes, ask, change};
use portcullis_protocol::refusal::Code;
use portcullis_tests::{World, code, own};
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
    // One effect holds the name for as long as its gate hangs in the middle of it.
    let mut holder = None;
    for nth in 1..40 {
        std::fs::write(&plan, format!("{nth}.hang")).unwrap();
        let mut opened = world.session();
        std::fs::write(&plan, "").unwrap();
        let id = opened.id;
        let run = std::thread::spawn(move || opened.session.change(&new()).is_ok());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!run.is_finished(), "the effect was over before call {nth}");
        let mut probe = world.session().session;
        // Whether it holds its locks is seen by who has to wait for them.
        let (told, waits) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let answer = probe.change(&new());
            // Nobody listens any more once it was seen to wait.
            told.send(()).unwrap_or_default();
            answer
        });
        if waits.recv_timeout(Duration::from_secs(3)).is_err() {
            holder = Some((id, run, other));
            break;
        }
        assert!(other.join().unwrap().is_ok());
        world.control.end(id).unwrap();
        run.join().unwrap();
        std::fs::remove_file(inside.join("x/hooks/new")).unwrap();
    }
    let (id, run, other) = holder.expect("an effect that hangs with its locks");
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
