//! FIFOs, whose reading waits for a writer that never comes.

use crate::served::{MODES, Mode, guarded, naive, world};
use portcullis_tests::World;
use rustix::fs::{CWD, FileType, Mode as Bits};
use serde_json::json;
use std::path::PathBuf;

const FIFOS: usize = 8;

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

#[test]
fn the_same_reads_hang_on_a_session_that_opens_what_it_is_told() {
    let (world, paths) = tree();
    let (mut server, serving) = naive(world.inside(), paths, Mode::Compat);
    server.tool("read_text_file", &json!({"path": "p0"}));
    assert!(serving.hangs() > 0);
}
