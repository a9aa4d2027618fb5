//! The directory of a file is exchanged with a link that leads outside, all the time.

use crate::served::{MODES, Mode, guarded, naive, world};
use portcullis_tests::World;
use portcullis_tests::attack::{Attacker, Swap, directory};
use portcullis_tests::rpc::Rpc;
use serde_json::json;

const TRIES: usize = 1_000;
/// Tries that the control gets to be beaten in.
const CONTROL_TRIES: usize = 2_000_000;
const SECRET: &str = "it came from outside";

fn tree() -> World {
    world(|world| {
        world.write("d/f", "it is inside");
        std::fs::write(world.outside().join("f"), SECRET).unwrap();
        std::os::unix::fs::symlink(world.outside(), world.inside().join("l")).unwrap();
    })
}

fn attack(world: &World) -> Attacker {
    Attacker::start(vec![Swap::Exchange {
        directory: directory(world.inside()),
        names: ["d", "l"],
    }])
}

/// What came of reads, or of writes.
#[derive(Debug, Default)]
struct Tally {
    tries: usize,
    done: usize,
    refused: usize,
    outside: usize,
}

fn read(server: &mut Rpc, tally: &mut Tally) {
    let said = server.tool("read_text_file", &json!({"path": "d/f"}));
    tally.tries += 1;
    match (said.text().contains(SECRET), said.failed()) {
        (true, _) => tally.outside += 1,
        (false, true) => tally.refused += 1,
        (false, false) => tally.done += 1,
    }
}

fn write(server: &mut Rpc, world: &World, tally: &mut Tally) {
    let path = format!("d/n{}", tally.tries);
    let said = server.tool("write_file", &json!({"path": path, "content": "x"}));
    tally.tries += 1;
    match said.failed() {
        true => tally.refused += 1,
        false => tally.done += 1,
    }
    tally.outside = std::fs::read_dir(world.outside()).unwrap().count();
}

#[test]
fn no_read_shows_what_is_outside() {
    for mode in MODES {
        let mut world = tree();
        let mut server = guarded(&mut world, mode);
        let (mut tally, attacker) = (Tally::default(), attack(&world));
        // On until both states were met: how often one comes depends on the machine.
        while tally.tries < TRIES || tally.done == 0 || tally.refused == 0 {
            read(&mut server, &mut tally);
            assert!(tally.tries < CONTROL_TRIES, "{tally:?}");
        }
        println!("{mode:?}: {tally:?}, {} swaps", attacker.stop());
        assert_eq!(tally.outside, 0);
    }
}

#[test]
fn the_same_reads_on_a_session_that_checks_paths_show_it() {
    let world = tree();
    let (mut server, _serving) = naive(world.inside(), Vec::new(), Mode::Compat);
    let (mut tally, attacker) = (Tally::default(), attack(&world));
    while tally.outside == 0 {
        read(&mut server, &mut tally);
        assert!(tally.tries < CONTROL_TRIES, "{tally:?}");
    }
    println!("control: {tally:?}, {} swaps", attacker.stop());
}

#[test]
fn no_write_lands_outside() {
    for mode in MODES {
        let mut world = tree();
        let before = std::fs::read_dir(world.outside()).unwrap().count();
        let mut server = guarded(&mut world, mode);
        let (mut tally, attacker) = (Tally::default(), attack(&world));
        while tally.tries < TRIES || tally.done == 0 || tally.refused == 0 {
            write(&mut server, &world, &mut tally);
            assert!(tally.tries < CONTROL_TRIES, "{tally:?}");
        }
        println!("{mode:?}: {tally:?}, {} swaps", attacker.stop());
        assert_eq!(tally.outside, before);
        // Each that was said to be done is there, where it belongs.
        let there = std::fs::read_dir(world.inside().join("d")).unwrap().count() - 1;
        assert_eq!(there, tally.done);
    }
}

#[test]
fn the_same_writes_on_a_session_that_checks_paths_land_there() {
    let world = tree();
    let before = std::fs::read_dir(world.outside()).unwrap().count();
    let (mut server, _serving) = naive(world.inside(), Vec::new(), Mode::Compat);
    let (mut tally, attacker) = (Tally::default(), attack(&world));
    while tally.outside <= before {
        write(&mut server, &world, &mut tally);
        assert!(tally.tries < CONTROL_TRIES, "{tally:?}");
    }
    println!("control: {tally:?}, {} swaps", attacker.stop());
}
