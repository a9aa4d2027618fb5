//! A client of the stateless generation is asked in place of the result, and calls again with the
//! answer and a state that only this command can have made.

use crate::client::{ASKS, Client, place, plan, states, wanted};
use serde_json::{Value, json};

/// Calls, and gives the result that asks.
#[track_caller]
fn asked(client: &mut Client, content: &str) -> Value {
    let result = client.result("write", &wanted(content, "input-required"));
    assert_eq!(result["resultType"], "input_required", "{result}");
    result
}

/// Calls again with an answer. Gives the whole message that comes.
#[track_caller]
fn returned(client: &mut Client, content: &str, state: &Value, answer: &Value) -> Value {
    let more = json!({"requestState": state, "inputResponses": {"approval": answer}});
    let arguments = wanted(content, "input-required");
    let id = client.call_with("write", &arguments, &more);
    let message = client.next();
    assert_eq!(message["id"], json!(id), "{message}");
    message
}

fn approve() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

#[test]
fn the_call_that_comes_back_with_an_approval_succeeds() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let result = asked(&mut client, "new\n");
    let question = &result["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "form");
    let text = question["params"]["message"].as_str().unwrap();
    assert!(text.contains("│ +new"), "{text}");
    let done = returned(&mut client, "new\n", &result["requestState"], &approve());
    assert!(done["result"]["isError"].is_null(), "{done}");
    assert_eq!(plan(&place).unwrap(), "new\n");
    let seen = client.seen();
    let strange = ["requestState", "inputResponses", "portcullis-"];
    for word in strange {
        assert!(
            !seen.iter().any(|line| line.contains(word)),
            "{word} {seen:?}"
        );
    }
    // What else was in the call came through as it was.
    assert_eq!(
        seen.iter()
            .filter(|line| line.contains("\"new\\n\""))
            .count(),
        2
    );
    client.close();
    let log = place.portcullis(&["log", "export", "last"]);
    assert!(log.out.contains("\"runtime\""), "{log:?}");
}

#[test]
fn the_call_that_comes_back_refused_is_refused() {
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "accept", "content": {"decision": "refuse"}}),
    ] {
        let place = place();
        let mut client = Client::start(&place, &ASKS);
        let result = asked(&mut client, "new\n");
        let back = returned(&mut client, "new\n", &result["requestState"], &answer);
        let text = back["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("refused"), "{back}");
        assert_eq!(states(&place), [""; 0]);
        assert_eq!(plan(&place).unwrap(), "old\n");
    }
}

#[test]
fn what_is_no_answer_decides_nothing_and_does_not_ask_for_ever() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    for (n, answer) in [json!({"action": "cancel"}), json!({}), json!(7)]
        .iter()
        .enumerate()
    {
        let content = format!("{n}\n");
        let result = asked(&mut client, &content);
        let back = returned(&mut client, &content, &result["requestState"], answer);
        // The result that waits, which names the other way.
        assert_eq!(back["result"]["isError"], true, "{back}");
        assert!(back["result"]["_meta"].is_object(), "{back}");
        assert_eq!(states(&place), vec!["pending"; n + 1]);
    }
}

/// Nothing was decided, and the client is told.
#[track_caller]
fn is_refused(message: &Value, why: &str) {
    let error = &message["error"];
    assert_eq!(error["code"], -32602, "{message}");
    let text = error["message"].as_str().unwrap();
    assert!(text.contains("nothing was decided"), "{message}");
    assert!(text.contains(why), "{message}");
}

#[test]
fn a_state_that_is_not_this_calls_decides_nothing() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let result = asked(&mut client, "new\n");
    let state = result["requestState"].as_str().unwrap().to_owned();
    // Forged: any digit, anywhere behind the token.
    for at in [60, 100, state.len() - 1] {
        let mut forged = state.clone().into_bytes();
        forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
        let forged = json!(String::from_utf8(forged).unwrap());
        let back = returned(&mut client, "new\n", &forged, &approve());
        is_refused(&back, "not made here");
    }
    // Of other arguments, and of another tool.
    let other = returned(&mut client, "other\n", &json!(state), &approve());
    is_refused(&other, "other arguments");
    let more = json!({"requestState": state, "inputResponses": {"approval": approve()}});
    client.call_with("seen", &wanted("new\n", "input-required"), &more);
    is_refused(&client.next(), "another tool");
    assert_eq!(states(&place), ["pending"]);
    assert_eq!(plan(&place).unwrap(), "old\n");
    // It is still good for its own call, in any spelling, once.
    let done = returned(&mut client, "new\n", &json!(state), &approve());
    assert!(done["result"]["isError"].is_null(), "{done}");
    place.write("repo/deploy/plan.txt", "old\n");
    let again = returned(&mut client, "new\n", &json!(state), &approve());
    is_refused(&again, "used already");
    assert_eq!(plan(&place).unwrap(), "old\n");
}

#[test]
fn arguments_are_the_same_in_another_order() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let result = asked(&mut client, "new\n");
    let state = &result["requestState"];
    client.raw(&format!(
        "{{\"method\": \"tools/call\", \"params\": {{\"requestState\": {state}, \"inputResponses\": \
         {{\"approval\": {}}}, \"arguments\": {{\"by\": \"input-required\", \"content\":\"new\\u000a\", \
         \"path\": \"deploy/plan.txt\"}}, \"name\": \"write\"}}, \"id\": \"x\", \"jsonrpc\": \"2.0\"}}\n",
        approve()
    ));
    let done = client.next();
    assert_eq!(done["id"], "x", "{done}");
    assert!(done["result"]["isError"].is_null(), "{done}");
    assert_eq!(plan(&place).unwrap(), "new\n");
}

#[test]
fn a_state_where_it_does_not_belong_is_answered_and_not_passed_on() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let result = asked(&mut client, "new\n");
    let state = &result["requestState"];
    client.call("raw", &json!({"text": state}));
    is_refused(&client.next(), "does not belong");
    client.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": state}}));
    is_refused(&client.next(), "does not belong");
    let twice =
        json!({"requestState": state, "inputResponses": {"approval": approve()}, "x": state});
    client.call_with("write", &wanted("new\n", "input-required"), &twice);
    is_refused(&client.next(), "does not belong");
    // What waits for no answer is taken.
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/x", "params": state}));
    client.raw(&format!("{state} is no message\n"));
    let token = &state.as_str().unwrap()[..40];
    let seen = client.seen();
    assert!(!seen.iter().any(|line| line.contains(token)), "{seen:?}");
    assert_eq!(states(&place), ["pending"]);
}

#[test]
fn a_name_twice_is_no_call() {
    let place = place();
    let mut client = Client::start(&place, &ASKS);
    let result = asked(&mut client, "new\n");
    let state = &result["requestState"];
    let arguments = wanted("new\n", "input-required");
    client.raw(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{{\"name\":\"write\",\
         \"arguments\":{{}},\"arguments\":{arguments},\"requestState\":{state},\
         \"inputResponses\":{{\"approval\":{}}}}}}}\n",
        approve()
    ));
    is_refused(&client.next(), "does not belong");
    assert_eq!(states(&place), ["pending"]);
    assert_eq!(plan(&place).unwrap(), "old\n");
}
