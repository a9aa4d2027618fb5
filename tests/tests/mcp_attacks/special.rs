//! FIFOs, whose reading waits for a writer that never comes.

use crate::served::{MODES, Mode, guarded, naive, world};
use portcullis_tests::World;
use portcullis_tests::attack::{Attacker, Swap, directory};
use rustix::fs::{CWD, FileType, Mode as Bits};
use serde_json::json;
use std::path::PathBuf;

const FIFOS: usize = 8;
const TRIES: usize = 500;
/// Tries that the control gets to be beaten in.
const CONTROL_TRIES: usize = 2_000_000;

fn tree() -> (World, Vec<PathBuf>) {
    let world = world(|world| world.write("a.txt", "a"));
    let paths: Vec<PathBuf> = (0..FIFOS)
        .map(|number| world.inside().join(format!("p{number}")))
        .collect();
    for path in &paths {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Bits::RWXU, 0).unwrap();
    }
    (world, paths)
}

#[test]
fn a_fifo_is_refused_and_nothing_waits() {
    for mode in MODES {
        let (mut world, _) = tree();
        let mut server = guarded(&mut world, mode);
        let asked: Vec<u64> = (0..FIFOS)
            .map(|number| server.ask("read_text_file", &json!({"path": format!("p{number}")})))
            .collect();
        // Nobody ever writes to them, so an answer is one that did not wait.
        for number in asked {
            assert_eq!(server.wait(number)["result"]["isError"], true);
        }
        let edits = json!([{"oldText": "a", "newText": "b"}]);
        let edit = server.tool("edit_file", &json!({"path": "p0", "edits": edits}));
        assert!(edit.failed(), "{}", edit.result);
        let read = server.tool("read_text_file", &json!({"path": "a.txt"}));
        assert!(read.done().contains('a'));
    }
}

/// A file that is exchanged with a FIFO, all the time: a look before the opening does not help.
fn attack(world: &World) -> Attacker {
    Attacker::start(vec![Swap::Exchange {
        directory: directory(world.inside()),
        names: ["a.txt", "p0"],
    }])
}

#[test]
fn no_read_waits_where_a_file_becomes_a_fifo() {
    for mode in MODES {
        let (mut world, _) = tree();
        let mut server = guarded(&mut world, mode);
        let attacker = attack(&world);
        let (mut read, mut refused) = (0, 0);
        while read + refused < TRIES || read == 0 || refused == 0 {
            // Each of them comes back: nobody ever writes to the FIFO.
            let said = server.tool("read_text_file", &json!({"path": "a.txt"}));
            match said.failed() {
                true => refused += 1,
                false => read += 1,
            }
            assert!(read + refused < CONTROL_TRIES, "{read} {refused}");
        }
        println!(
            "{mode:?}: {read} read, {refused} refused, {} swaps",
            attacker.stop()
        );
    }
}

#[test]
fn the_same_reads_hang_on_a_session_that_looks_and_then_opens() {
    let (world, paths) = tree();
    let both = vec![paths[0].clone(), world.inside().join("a.txt")];
    let (mut server, serving) = naive(world.inside(), both, Mode::Compat);
    let attacker = attack(&world);
    let mut tries = 0;
    while serving.hangs() == 0 {
        server.tool("read_text_file", &json!({"path": "a.txt"}));
        tries += 1;
        assert!(tries < CONTROL_TRIES);
    }
    println!(
        "control: it hung after {tries} reads, {} swaps",
        attacker.stop()
    );
}
