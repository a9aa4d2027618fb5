//! What needs an approval: a call never waits for a person, and the same call succeeds once.

use crate::client::{Client, NOW, text};
use portcullis_client::protocol::approval::{ProposalId, ProposalState};
use portcullis_client::protocol::control::{Decision, Proof};
use portcullis_client::protocol::path::RelPath;
use portcullis_client::protocol::verb::VerbSet;
use portcullis_client::{MintOrder, Session};
use portcullis_tests::{World, own};
use serde_json::{Value, json};

/// A session that reads all and asks for every change.
fn asking(world: &mut World) -> Session {
    let inside = world.inside();
    let root = world.seal(&inside, "workspace");
    let order = MintOrder::new("tester")
        .root(root, None)
        .grant(root, RelPath::root(), VerbSet::READING)
        .ask(root, RelPath::root(), VerbSet::WRITING);
    world.control.mint(&order).unwrap().1
}

const APPROVAL: &str = "portcullis/approval";

fn proposal(result: &Value) -> ProposalId {
    assert_eq!(result["isError"], true, "{result}");
    ProposalId(result["_meta"][APPROVAL]["proposal"].as_u64().unwrap())
}

#[test]
fn the_call_says_what_is_needed_and_the_same_call_does_it_once() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "old\n");
    let session = asking(&mut world);
    let mut client = Client::start(session);
    let edit = json!({"path": "x", "edits": [{"oldText": "old", "newText": "new"}]});
    let result = client.call("edit_file", &edit);
    let asked = proposal(&result);
    let said = text(&result);
    for word in [
        "nothing was changed: ",
        "code: needs_approval",
        &format!("portcullis review approve {}", asked.0),
        "the very same call",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(result["_meta"][APPROVAL]["by"], "none");
    // Asked again before anybody decided, it is the same proposal.
    assert_eq!(proposal(&client.call("edit_file", &edit)), asked);
    assert_eq!(
        std::fs::read_to_string(world.inside().join("x")).unwrap(),
        "old\n"
    );
    let input = world.control.proposal(asked).unwrap().record.input;
    let decided = world
        .control
        .decide(asked, input, Decision::Approve, Proof::Connection);
    assert_eq!(decided.unwrap().state, ProposalState::Approved);
    client.done("edit_file", &edit);
    assert_eq!(
        std::fs::read_to_string(world.inside().join("x")).unwrap(),
        "new\n"
    );
    // Once.
    let again = json!({"path": "x", "edits": [{"oldText": "new", "newText": "old"}]});
    assert_ne!(proposal(&client.call("edit_file", &again)), asked);
    let said = client.call("get_file_info", &json!({"path": "x"}));
    assert!(text(&said).contains("write: needs an approval"), "{said}");
}

#[test]
fn how_a_person_can_be_asked_is_read_from_the_client() {
    let can = json!({"elicitation": {"form": {}}});
    let write = json!({"path": "y", "content": "y"});
    let by = |result: &Value| result["_meta"][APPROVAL]["by"].as_str().unwrap().to_owned();
    let mut world = World::new(own!("own-gate"));
    let session = asking(&mut world);
    let mut client = Client::start_as(session, NOW, "test", &can);
    assert_eq!(by(&client.call("write_file", &write)), "elicitation");
    let session = asking(&mut world);
    let mut client = Client::start_next(session, &can);
    assert_eq!(by(&client.call("write_file", &write)), "input-required");
    // A client that opens addresses and shows no forms cannot be asked by one.
    for (can, wanted) in [
        (json!({"elicitation": {}}), "elicitation"),
        (
            json!({"elicitation": {"form": {}, "url": {}}}),
            "elicitation",
        ),
        (json!({"elicitation": {"url": {}}}), "none"),
    ] {
        let session = asking(&mut world);
        let mut client = Client::start_as(session, NOW, "test", &can);
        assert_eq!(by(&client.call("write_file", &write)), wanted, "{can}");
    }
    let session = asking(&mut world);
    let mut client = Client::start_next(session, &json!({}));
    assert_eq!(by(&client.call("write_file", &write)), "none");
    assert!(!world.inside().join("y").exists());
}
