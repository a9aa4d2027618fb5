//! FIFOs, whose reading waits for a writer that never comes.

use crate::served::{MODES, Mode, guarded, world};
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
fn a_reader_that_opens_what_it_is_told_waits_while_all_others_are_answered() {
    let (mut world, paths) = tree();
    let (sender, read) = std::sync::mpsc::channel();
    let path = paths[0].clone();
    let reader = std::thread::spawn(move || sender.send(std::fs::read(path)).unwrap());
    let mut server = guarded(&mut world, Mode::Default);
    for number in 0..FIFOS {
        let name = format!("p{number}");
        assert!(
            server
                .tool("read_text_file", &json!({"path": name}))
                .failed()
        );
    }
    assert!(read.try_recv().is_err(), "the control did not wait");
    // A writer comes and goes.
    drop(
        std::fs::OpenOptions::new()
            .write(true)
            .open(&paths[0])
            .unwrap(),
    );
    assert_eq!(read.recv().unwrap().unwrap(), b"");
    reader.join().unwrap();
}
