//! Answers that are long, and calls that take long.

use crate::client::Client;
use portcullis_tests::{World, own};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn what_is_too_much_for_one_answer_comes_in_parts_that_are_all_of_it() {
    let mut world = World::new(own!("own-gate"));
    for n in 0..2345 {
        world.write(format!("many/{n}"), "needle\n");
    }
    let lines: String = (0..60_000).map(|n| format!("line {n}\n")).collect();
    world.write("long.txt", &lines);
    let endless = "x".repeat(600_000);
    world.write("line.txt", &endless);
    let mut client = Client::start(world.session().session);
    for (tool, mut arguments) in [
        ("list_directory", json!({"path": "many"})),
        ("directory_tree", json!({"path": "many", "limit": 300})),
        (
            "search_files",
            json!({"path": "many", "pattern": "*", "limit": 777}),
        ),
        (
            "search_content",
            json!({"path": "many", "pattern": "needle", "mode": "files", "limit": 500}),
        ),
    ] {
        let (mut found, mut pages) = (BTreeSet::new(), 0);
        loop {
            let (text, facts) = client.done(tool, &arguments);
            pages += 1;
            for line in text.lines() {
                assert!(found.insert(line.to_owned()), "{tool}: {line} twice");
            }
            if facts["complete"] == true {
                break;
            }
            arguments["cursor"] = facts["cursor"].clone();
        }
        println!("{tool}: {} in {pages} pages", found.len());
        assert_eq!(found.len(), 2345, "{tool}");
        assert!(pages > 2, "{tool}");
    }
    for (path, whole) in [("long.txt", &lines), ("line.txt", &endless)] {
        let (mut arguments, mut came, mut parts) = (json!({"path": path}), String::new(), 0);
        loop {
            let (text, facts) = client.done("read_text_file", &arguments);
            came.push_str(&text);
            parts += 1;
            if facts["complete"] == true {
                break;
            }
            arguments = facts["next"].clone();
            arguments["path"] = path.into();
        }
        println!("{path}: {parts} parts");
        assert!(parts > 1 && came == *whole, "{path}");
    }
}

/// A search that takes a while, over this many MiB.
fn heavy(world: &World, mib: usize) {
    let line = "the quick brown fox jumps over the lazy dog and then some more of it\n";
    let text = line.repeat(1024 * 1024 / line.len());
    for n in 0..mib {
        world.write(format!("heavy/{n}"), &text);
    }
}

const SLOW: &str = r"(\w+\s+){12,}\d{9}|(\w+ ){5}\w*zzz";

#[test]
fn a_long_search_says_how_far_it_is_and_keeps_no_read_waiting() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let session = world.session().session;
    let mut client = Client::start(session);
    let mut mib = 16;
    let (progress, before) = loop {
        heavy(&world, mib);
        let search = json!({
            "name": "search_content",
            "arguments": {"path": "heavy", "pattern": SLOW, "regex": true},
            "_meta": {"progressToken": "far"},
        });
        let long = client.begin("tools/call", search);
        let short = client.begin_call("read_text_file", &json!({"path": "x"}));
        let (mut progress, mut order) = (Vec::new(), Vec::new());
        while order.len() < 2 {
            let message = client.next();
            if message["method"] == "notifications/progress" {
                assert_eq!(message["params"]["progressToken"], "far");
                progress.push(message["params"]["progress"].as_f64().unwrap());
            } else if message["id"] == long || message["id"] == short {
                order.push(message["id"].as_u64().unwrap());
            }
        }
        if !progress.is_empty() || mib > 512 {
            break (progress, order == [short, long]);
        }
        mib *= 2;
    };
    println!("{mib} MiB: progress {progress:?}");
    assert!(!progress.is_empty(), "a search of {mib} MiB said nothing");
    assert!(progress.is_sorted(), "{progress:?}");
    assert!(before, "the read waited for the search");
}

#[test]
fn a_cancelled_call_is_given_up_and_the_next_ones_are_answered() {
    let mut world = World::new(own!("own-gate"));
    heavy(&world, 64);
    world.write("x", "x\n");
    let mut client = Client::start(world.session().session);
    let (mut given_up, mut too_late) = (0, 0);
    for _ in 0..5 {
        let search = json!({"path": "heavy", "pattern": SLOW, "regex": true});
        let id = client.begin_call("search_content", &search);
        let cancel = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "test"},
        });
        client.say(&cancel);
        // One that waits for the same desk is answered once the other was given up.
        client.done("list_directory", &json!({"path": "."}));
        let answered = std::iter::from_fn(|| client.pending()).any(|one| one["id"] == id);
        if answered {
            too_late += 1;
        } else {
            given_up += 1;
        }
    }
    println!("{given_up} given up, {too_late} were done before");
    assert!(given_up > 0);
    let (rest, code) = client.end();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(code, Some(0));
}
