//! A client that takes requests is asked beside a result that waits. The question is this
//! command's own, and so is the answer.

use crate::client::{ASKS, Client, place, plan, states, waiting, wanted};
use crate::place::Place;
use serde_json::{Value, json};

/// Calls, and gives the result and the question behind it.
#[track_caller]
fn asked(client: &mut Client, content: &str) -> (Value, Value) {
    let result = client.result("write", &wanted(content, "elicitation"));
    assert_eq!(result["isError"], true, "{result}");
    let question = client.next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (result, question)
}

fn answer(question: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}

fn accepted(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

/// The lines that the server got carry nothing of the questions.
#[track_caller]
fn the_server_saw_no_answer(client: &mut Client) {
    let seen = client.seen();
    let strange = |line: &&String| line.contains("portcullis-") || line.contains("action");
    assert_eq!(seen.iter().find(strange), None);
}

#[test]
fn what_the_client_approves_happens_once() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let (_, question) = asked(&mut client, "new\n");
    let text = question["params"]["message"].as_str().unwrap();
    let object = format!("write {}/repo/deploy/plan.txt", place.host());
    for part in [
        object.as_str(),
        "--ask deploy/**",
        "lost: ",
        "│ -old",
        "│ +new",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["decision"]));
    let choices = &schema["properties"]["decision"];
    assert_eq!(choices["enum"], json!(["approve", "refuse"]));
    assert!(choices["default"].is_null(), "{choices}");
    assert_eq!(plan(&place).unwrap(), "old\n");
    client.send(&answer(&question, &accepted("approve")));
    let write = wanted("new\n", "elicitation");
    let done = client.result("write", &write);
    assert!(done["isError"].is_null(), "{done}");
    assert_eq!(plan(&place).unwrap(), "new\n");
    // Once: what would do it again asks again.
    place.write("repo/deploy/plan.txt", "old\n");
    let (_, again) = asked(&mut client, "new\n");
    assert_ne!(again["id"], question["id"]);
    // The first answer again is an answer to nothing.
    client.send(&answer(&question, &accepted("approve")));
    the_server_saw_no_answer(&mut client);
    assert_eq!(states(&place), ["pending"]);
    assert_eq!(client.close().code, 0);
    let log = place.portcullis(&["log", "export", "last"]);
    assert!(log.out.contains("\"runtime\""), "{log:?}");
}

#[test]
fn what_the_client_refuses_does_not_happen() {
    for refusal in [
        accepted("refuse"),
        json!({"action": "decline"}),
        json!({"action": "decline", "content": {"decision": "approve"}}),
    ] {
        let place = place();
        let mut client = Client::start(&place, &ASKS);
        let (_, question) = asked(&mut client, "new\n");
        client.send(&answer(&question, &refusal));
        let again = client.result("write", &wanted("new\n", "elicitation"));
        let text = again["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("refused"), "{again}");
        assert!(again["_meta"].is_null(), "{again}");
        assert_eq!(states(&place), [""; 0], "{refusal}");
        assert_eq!(plan(&place).unwrap(), "old\n");
        the_server_saw_no_answer(&mut client);
    }
}

#[test]
fn what_is_no_answer_decides_nothing_and_asks_once() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    for (n, no_answer) in [
        json!({"action": "cancel"}),
        json!({"action": "cancel", "content": {"decision": "approve"}}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"decision": "Approve"}}),
        json!({"action": "accept", "content": {"decision": true}}),
        json!({"content": {"decision": "approve"}}),
        json!("approve"),
    ]
    .iter()
    .enumerate()
    {
        let content = format!("{n}\n");
        let (_, question) = asked(&mut client, &content);
        client.send(&answer(&question, no_answer));
        // It is over with it: a second answer is none.
        client.send(&answer(&question, &accepted("approve")));
        // The next line of all is the result: nobody is asked again.
        let again = client.result("write", &wanted(&content, "elicitation"));
        assert_eq!(again["isError"], true, "{again}");
        the_server_saw_no_answer(&mut client);
        assert_eq!(states(&place), vec!["pending"; n + 1], "{no_answer}");
    }
    let (_, question) = asked(&mut client, "error\n");
    client.send(&json!({
        "jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "approve"},
    }));
    the_server_saw_no_answer(&mut client);
    assert_eq!(states(&place).len(), 8);
    assert_eq!(plan(&place).unwrap(), "old\n");
    // Somebody else still can.
    let id = waiting(&place)[0]["proposal"].as_u64().unwrap().to_string();
    let said = place.portcullis(&["review", "approve", &id, "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    let done = client.result("write", &wanted("0\n", "elicitation"));
    assert!(done["isError"].is_null(), "{done}");
}

#[test]
fn long_differences_are_cut_and_that_is_said() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let content: String = (0..5000).map(|n| format!("line {n}\n")).collect();
    let (_, question) = asked(&mut client, &content);
    let text = question["params"]["message"].as_str().unwrap();
    assert!(text.len() < 10_000, "{}", text.len());
    assert!(text.contains("more, which are not shown here"), "{text}");
    assert!(text.contains("THIS IS NOT ALL OF IT"), "{text}");
    let (_, question) = asked(&mut client, &"x".repeat(5000));
    let text = question["params"]["message"].as_str().unwrap();
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.contains("characters more)"), "{text}");
    assert!(text.contains("THIS IS NOT ALL OF IT"), "{text}");
    let (_, question) = asked(&mut client, "a\u{1b}[2J\u{202e}b\n");
    let text = question["params"]["message"].as_str().unwrap();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert!(!text.contains("THIS IS NOT ALL OF IT"), "{text}");
}

/// Nobody is asked: the line behind the result is the result of the next call.
#[track_caller]
fn nobody_is_asked(place: &Place, options: &[&str]) {
    let mut client = Client::start(place, options);
    for by in ["elicitation", "input-required", "none"] {
        let result = client.result("write", &wanted("new\n", by));
        assert_eq!(result["isError"], true, "{options:?} {result}");
        let mark = &result["_meta"]["portcullis/approval"];
        assert_eq!(mark["by"], by, "{options:?} {result}");
        client.seen();
    }
    assert_eq!(states(place), ["pending"], "{options:?}");
    client.close();
}

#[test]
fn nobody_is_asked_who_could_not_decide() {
    let place = place();
    nobody_is_asked(&place, &[&ASKS[..], &["--decide", "review"]].concat());
    // Until a passphrase is demanded, the client decides.
    let mut client = Client::start(&place, &ASKS);
    asked(&mut client, "new\n");
    client.close();
    let state = place.at("state/portcullis");
    portcullis_warden::set_passphrase(&state, None, b"correct horse").unwrap();
    nobody_is_asked(&place, &ASKS);
}

#[test]
fn a_passphrase_that_comes_while_a_question_is_open_is_demanded() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let (_, question) = asked(&mut client, "new\n");
    let state = place.at("state/portcullis");
    portcullis_warden::set_passphrase(&state, None, b"correct horse").unwrap();
    client.send(&answer(&question, &accepted("approve")));
    let again = client.result("write", &wanted("new\n", "elicitation"));
    assert_eq!(again["isError"], true, "{again}");
    assert_eq!(states(&place), ["pending"]);
    assert_eq!(plan(&place).unwrap(), "old\n");
}

#[test]
fn where_the_policy_wants_nobody_else_only_the_client_decides() {
    let place = place();
    place.write(
        "p.toml",
        "version = 1\ndeciding = \"decider\"\n\
         [[root]]\nlabel = \"workspace\"\npath = \"repo\"\n\
         [[grant]]\nroot = \"workspace\"\nverbs = [\"reading\"]\n\
         [[ask]]\nroot = \"workspace\"\nverbs = [\"writing\"]\n",
    );
    let mut client = Client::start(&place, &["--policy", "p.toml"]);
    let (_, question) = asked(&mut client, "new\n");
    let id = waiting(&place)[0]["proposal"].as_u64().unwrap().to_string();
    let said = place.portcullis(&["review", "approve", &id, "--yes"]);
    assert_eq!(said.code, 77, "{said:?}");
    client.send(&answer(&question, &accepted("approve")));
    let done = client.result("write", &wanted("new\n", "elicitation"));
    assert!(done["isError"].is_null(), "{done}");
    client.close();
    let log = place.portcullis(&["log", "export", "last"]);
    assert!(log.out.contains("\"decider\""), "{log:?}");
}

#[test]
fn inside_one_process_the_client_decides_as_well() {
    let place = place();
    let mut client = Client::start(&place, &[&ASKS[..], &["--embedded"]].concat());
    let (_, question) = asked(&mut client, "new\n");
    // Nothing is named that does not reach this broker.
    let text = question["params"]["message"].as_str().unwrap();
    assert!(!text.contains("portcullis review"), "{text}");
    client.send(&answer(&question, &accepted("approve")));
    let done = client.result("write", &wanted("new\n", "elicitation"));
    assert!(done["isError"].is_null(), "{done}");
    assert_eq!(plan(&place).unwrap(), "new\n");
}
