//! Many edits of one file, all sent before the first is answered.

use crate::served::{MODES, guarded, world};
use serde_json::json;
use std::sync::Barrier;

const EDITS: usize = 20;
const ROUNDS: usize = 2;

fn lines() -> String {
    (0..1000).map(|number| format!("line {number}\n")).collect()
}

fn edit(number: usize) -> (String, String) {
    let number = number * 37;
    (format!("line {number}\n"), format!("EDIT {number}\n"))
}

#[test]
fn as_many_edits_are_in_the_file_as_are_said_to_be_done() {
    for mode in MODES {
        let mut world = world(|_| {});
        let mut server = guarded(&mut world, mode);
        for round in 0..ROUNDS {
            let name = format!("f{round}");
            world.write(&name, lines());
            let asked: Vec<u64> = (0..EDITS)
                .map(|number| {
                    let (old, new) = edit(number);
                    let edits = json!([{"oldText": old, "newText": new}]);
                    server.ask("edit_file", &json!({"path": name, "edits": edits}))
                })
                .collect();
            for number in asked {
                let answer = server.wait(number);
                assert_ne!(answer["result"]["isError"], true, "{answer}");
            }
            let text = std::fs::read_to_string(world.inside().join(&name)).unwrap();
            assert_eq!(
                (text.matches("EDIT").count(), text.lines().count()),
                (EDITS, 1000)
            );
        }
    }
}

/// The control: everybody reads, then everybody writes what they read with their edit in it.
#[test]
fn plain_reads_and_writes_lose_all_but_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("f");
    std::fs::write(&path, lines()).unwrap();
    let all_have_read = Barrier::new(EDITS);
    std::thread::scope(|scope| {
        for number in 0..EDITS {
            let (path, all_have_read) = (&path, &all_have_read);
            scope.spawn(move || {
                let (old, new) = edit(number);
                let text = std::fs::read_to_string(path).unwrap();
                all_have_read.wait();
                let temporary = path.with_extension(number.to_string());
                std::fs::write(&temporary, text.replacen(&old, &new, 1)).unwrap();
                std::fs::rename(&temporary, path).unwrap();
            });
        }
    });
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("EDIT").count(), 1);
}
