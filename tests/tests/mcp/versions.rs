//! The generations of the protocol, and who reads what of an answer.

use crate::client::{Client, NEXT, NOW, text};
use portcullis_tests::{World, own};
use serde_json::json;

#[test]
fn both_generations_are_served_and_old_clients_get_what_they_know() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "content\n");
    let read = json!({"path": "x"});
    let session = world.session().session;
    let mut client = Client::start_next(session, &json!({}));
    let found = client.ask("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains(NEXT) && versions.contains(NOW), "{found}");
    let result = client.call("read_text_file", &read);
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(text(&result), "content\n");
    assert!(client.ask("ping", json!({}))["error"].is_object());
    for (version, objects) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", true),
        (NOW, true),
    ] {
        let session = world.session().session;
        let mut client = Client::start_as(session, version, "test", &json!({}));
        let result = client.call("read_text_file", &read);
        assert_eq!(text(&result), "content\n", "{version}");
        assert_eq!(
            result["structuredContent"].is_object(),
            objects,
            "{version}: {result}"
        );
        assert!(result["resultType"].is_null(), "{version}: {result}");
        let tools = client.ask("tools/list", json!({}));
        let tool = &tools["result"]["tools"][0];
        assert_eq!(
            tool["outputSchema"].is_object(),
            objects,
            "{version}: {tool}"
        );
        assert!(client.ask("ping", json!({}))["result"].is_object());
    }
}

#[test]
fn an_answer_is_whole_where_the_client_looks_and_nowhere_twice() {
    let mut world = World::new(own!("own-gate"));
    world.write("x", "only once\n");
    for (name, in_text, in_object) in [("test", true, false), ("claude-code", false, true)] {
        let session = world.session().session;
        let mut client = Client::start_as(session, NOW, name, &json!({}));
        for (tool, arguments) in [
            ("read_text_file", json!({"path": "x"})),
            ("search_content", json!({"pattern": "only"})),
        ] {
            let result = client.call(tool, &arguments);
            let whole = "only once\n";
            let object = &result["structuredContent"];
            assert_eq!(text(&result).ends_with(whole), in_text, "{name}: {result}");
            let has = object["text"]
                .as_str()
                .is_some_and(|text| text.ends_with(whole));
            assert_eq!(has, in_object, "{name}: {result}");
            assert_eq!(object["complete"], true, "{name}: {result}");
        }
        let said = client.refused("read_text_file", &json!({"path": "none"}));
        assert!(said.contains("code: not_found"), "{name}: {said}");
    }
}
