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
fn a_cancelled_search_stops_and_the_next_at_its_desk_is_answered() {
    let mut world = World::new(own!("own-gate"));
    let mut client = Client::start(world.session().session);
    let search = json!({
        "name": "search_content",
        "arguments": {"path": "heavy", "pattern": SLOW, "regex": true},
        "_meta": {"progressToken": "far"},
    });
    let line = "the quick brown fox jumps over the lazy dog and then some more of it\n";
    world.write("heavy/0", line.repeat(15 * 1024 * 1024 / line.len()));
    let names = world.inside().join("heavy");
    let mut files = 1;
    // The control: how often one says how far it is that is not cancelled.
    let whole = loop {
        let id = client.begin("tools/call", search.clone());
        let ticks = ticks_before(&mut client, id);
        if ticks >= 6 || files > 16 * 1024 {
            break ticks;
        }
        for n in files..files * 2 {
            std::fs::hard_link(names.join("0"), names.join(n.to_string())).unwrap();
        }
        files *= 2;
    };
    let id = client.begin("tools/call", search);
    assert_eq!(client.next()["method"], "notifications/progress");
    client.say(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "test"},
    }));
    let next = client.begin_call("search_files", &json!({"path": ".", "pattern": "none"}));
    let more = ticks_before(&mut client, next);
    println!("{files} files: {whole} in all, {more} once cancelled");
    assert!(
        whole >= 6,
        "a search of {files} files said {whole} times how far it is"
    );
    assert!(more < whole / 2, "{more} of {whole}");
    let (rest, code) = client.end();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(code, Some(0));
}

/// How often something else was told before this was answered.
fn ticks_before(client: &mut Client, id: u64) -> usize {
    let mut ticks = 0;
    loop {
        let message = client.next();
        if message["id"] == id {
            assert!(message["result"].is_object(), "{message}");
            return ticks;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        ticks += 1;
    }
}

#[test]
fn a_call_that_is_cancelled_before_its_turn_is_not_done() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "x\n");
    let mut client = Client::start(world.session().session);
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "write_file", "arguments": {"path": id.to_string(), "content": "x"}}})
    };
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 500},
    });
    // In one piece: it is cancelled before anything is done.
    client.raw(format!("{}\n{cancel}\n{}\n", call(500), call(501)).as_bytes());
    assert_eq!(client.next()["id"], 501);
    let (rest, code) = client.end();
    assert_eq!((rest, code), (Vec::new(), Some(0)));
    assert!(!world.inside().join("500").exists());
    assert!(world.inside().join("501").exists());
}
