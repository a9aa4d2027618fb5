//! What a second look under the locks is for: what an effect waited for is another by then, and the
//! path to it leads somewhere all the same.

use crate::bench::log;
use portcullis_client::change::Made;
use portcullis_client::{Changes, Error, MintOrder, Session, ask, change};
use portcullis_protocol::control::{Minted, Receipt};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Outcome, SessionId};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::PathState;
use portcullis_tests::tree::state;
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
    let Waiting { id, run, other, .. } = waiting(&mut world, &plan, new, again);
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
    /// The session of the other one.
    others: Minted,
}

/// A session on the whole of `inside` with every verb.
fn minted(world: &mut World) -> (Minted, Session) {
    let root = world.seal(&world.inside(), "workspace");
    let order =
        MintOrder::new("tester")
            .root(root, None)
            .grant(root, RelPath::root(), VerbSet::ALL);
    world.control.mint(&order).unwrap()
}

/// The receipts of one session.
fn receipts(world: &mut World, minted: &Minted) -> Vec<Receipt> {
    let mut receipts = log(&mut world.control, minted.run, 0);
    receipts.retain(|receipt| receipt.session == minted.session);
    receipts
}

/// Makes one effect hold a name for as long as its gate hangs in the middle of it, and the same one
/// wait for it.
fn waiting(
    world: &mut World,
    plan: &Path,
    changes: impl Fn() -> Changes,
    again: impl Fn(),
) -> Waiting {
    waiting_for(world, plan, (&changes, &changes), again)
}

/// Makes one effect wait for another one, whose gate hangs in the middle of it. `again` takes back
/// what the waiting one did where there was nothing to wait for.
fn waiting_for(
    world: &mut World,
    plan: &Path,
    (holds, waits): (impl Fn() -> Changes, impl Fn() -> Changes),
    again: impl Fn(),
) -> Waiting {
    for nth in 1..40 {
        std::fs::write(plan, format!("{nth}.hang")).unwrap();
        let mut opened = world.session();
        std::fs::write(plan, "").unwrap();
        let id = opened.id;
        let (own, others) = (holds(), waits());
        let run = std::thread::spawn(move || opened.session.change(&own).is_ok());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!run.is_finished(), "the effect was over before call {nth}");
        let (minted, mut probe) = minted(world);
        // Whether it holds its locks is seen by who has to wait for them.
        let (told, waits) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let answer = probe.change(&others);
            // Nobody listens any more once it was seen to wait.
            told.send(()).unwrap_or_default();
            answer
        });
        if waits.recv_timeout(Duration::from_secs(3)).is_err() {
            return Waiting {
                id,
                run,
                other,
                others: minted,
            };
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
    let Waiting { id, run, other, .. } = waiting(&mut world, &plan, edit, again);
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

/// Whether a receipt says of its only name what `now` is, or that it does not know.
fn says(receipt: &Receipt, now: &PathState) -> bool {
    let [touched] = receipt.end.touched.as_slice() else {
        panic!("one name: {receipt:#?}");
    };
    assert_eq!(receipt.end.outcome, Outcome::Failed, "{receipt:#?}");
    assert_eq!(touched.before, touched.after);
    touched.before.agrees(now) || touched.before == PathState::Unknown
}

#[test]
fn a_failed_effect_tells_nothing_of_a_directory_in_which_it_locked_no_name() {
    let place = tempfile::tempdir().unwrap();
    let gate = place.path().join("fault.plan");
    std::fs::copy(own!("own-gate"), &gate).unwrap();
    let plan = place.path().join("plan");
    let mut world = World::new(gate);
    let inside = world.inside();
    for name in ["x/f", "y/f"] {
        world.write(name, "one\n");
    }
    let edit = || Changes::new().with(change::replace(ask::selector("x/f").unwrap(), "one", "2"));
    let again = || std::fs::write(inside.join("x/f"), "one\n").unwrap();
    let Waiting {
        id,
        run,
        other,
        others,
        ..
    } = waiting(&mut world, &plan, edit, again);
    std::fs::rename(inside.join("x"), inside.join("z")).unwrap();
    std::fs::rename(inside.join("y"), inside.join("x")).unwrap();
    let moved_in = state(&inside.join("x/f"));
    world.control.end(id).unwrap();
    assert!(!run.join().unwrap());
    other.join().unwrap().unwrap();
    let receipts = receipts(&mut world, &others);
    let [first, last] = receipts.as_slice() else {
        panic!("it was begun twice: {receipts:#?}");
    };
    // Any other effect may have changed what is there between the look and the receipt.
    assert!(says(first, &PathState::Unknown), "{first:#?}");
    // Begun anew, with the lock of the name that the path leads to.
    assert_eq!(last.end.outcome, Outcome::Done);
    assert!(last.end.touched.as_slice()[0].before.agrees(&moved_in));
}

/// Calls of an effect that is planned twice, and does not stand the second time.
const CALLS: u32 = 48;

/// One file for each call that fails. All effects wait for one that has the tree for itself.
#[test]
fn a_failed_effect_that_could_not_look_again_does_not_tell_what_it_was_planned_with() {
    let place = tempfile::tempdir().unwrap();
    let gate = place.path().join("fault.plan");
    std::fs::copy(own!("own-gate"), &gate).unwrap();
    let plan = place.path().join("plan");
    let mut world = World::new(gate);
    let inside = world.inside();
    for call in 0..=CALLS {
        world.write(call.to_string(), "one\ntwo\n");
    }
    std::fs::create_dir(inside.join("d")).unwrap();
    let named = |name: &str| ask::selector(name).unwrap();
    let edit =
        |call: u32| Changes::new().with(change::replace(named(&call.to_string()), "two", "2"));
    let alone = || Changes::new().with(change::rename(named("d"), named("e")));
    let Waiting { id, run, other, .. } =
        waiting_for(&mut world, &plan, (alone, || edit(0)), || {
            std::fs::write(inside.join("0"), "one\ntwo\n").unwrap();
        });
    let start = |call: u32| {
        // What dies has no word of its own: an observer tells what is there.
        let how = if call.is_multiple_of(3) { "die" } else { "5" };
        std::fs::write(&plan, format!("{call}.{how}")).unwrap();
        let (waits, mut session) = minted(&mut world);
        let changes = edit(call);
        let run = std::thread::spawn(move || session.change(&changes).is_ok());
        (call, waits, run)
    };
    let started: Vec<_> = (1..=CALLS).map(start).collect();
    std::fs::write(&plan, "").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    for call in 1..=CALLS {
        let theirs = inside.join("theirs");
        std::fs::write(&theirs, "one\nby somebody else\n").unwrap();
        std::fs::rename(&theirs, inside.join(call.to_string())).unwrap();
    }
    world.control.end(id).unwrap();
    assert!(!run.join().unwrap());
    other.join().unwrap().unwrap();
    let mut failed = 0;
    for (call, waits, run) in started {
        assert!(!run.join().unwrap());
        world.control.wait_over(waits.session, None).unwrap();
        let now = state(&inside.join(call.to_string()));
        for receipt in receipts(&mut world, &waits) {
            assert!(says(&receipt, &now), "{call}: {now:?} {receipt:#?}");
            failed += 1;
        }
    }
    println!("== {failed} effects failed, each told what was there");
    assert!(failed > CALLS / 3);
}
