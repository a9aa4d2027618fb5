//! What is offered, held to what is read.

use crate::failure::Failure;
use crate::tool::{Name, Objects};
use crate::tools::Call;
use serde_json::{Value, json};

#[test]
fn the_list_of_tools_is_small_and_says_of_each_what_it_may_do() {
    let tools: Vec<Value> = Name::ALL
        .into_iter()
        .map(|tool| serde_json::to_value(tool.offered(Objects::Promised)).unwrap())
        .collect();
    assert!(tools.len() <= 12);
    let bytes = serde_json::to_vec(&json!({ "tools": tools }))
        .unwrap()
        .len();
    println!("{} tools, {bytes} bytes", tools.len());
    assert!(bytes < 10_000, "{bytes} bytes");
    for tool in &tools {
        let hints = &tool["annotations"];
        assert_eq!(hints["openWorldHint"], false, "{tool}");
        let said = ["readOnlyHint", "destructiveHint", "idempotentHint"].map(|hint| &hints[hint]);
        let (no, yes) = (&json!(false), &json!(true));
        let wanted = match tool["name"].as_str().unwrap() {
            "write_file" => [no, yes, yes],
            "edit_file" | "apply_patch" | "move_file" | "delete_file" => [no, yes, no],
            "create_directory" => [no, no, yes],
            _ => [yes, &Value::Null, &Value::Null],
        };
        assert_eq!(said, wanted, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
    }
}

/// A value that fits a schema, with all that it has a name for.
pub(crate) fn some(schema: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match schema["type"].as_str().unwrap() {
        "string" => json!("x"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([some(&schema["items"])]),
        "object" => {
            let fields = schema["properties"].as_object().unwrap();
            fields
                .iter()
                .map(|(name, one)| (name.clone(), some(one)))
                .collect()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_argument_that_is_offered_is_read_and_no_other() {
    for tool in Name::ALL {
        let offered = serde_json::to_value(tool.offered(Objects::None)).unwrap();
        let schema = &offered["inputSchema"];
        let all = some(schema);
        let fields = all.as_object().unwrap().clone();
        if let Err(error) = Call::read(tool, fields.clone()) {
            panic!("{}: {error:?}", tool.name());
        }
        // The reader names what it knows where a key is none of it.
        let mut more = fields.clone();
        more.insert("no such key".to_owned(), json!(1));
        let said = format!("{:?}", Call::read(tool, more).unwrap_err());
        for name in schema["properties"].as_object().unwrap().keys() {
            assert!(
                said.contains(&format!("`{name}`")),
                "{}: {name}: {said}",
                tool.name()
            );
        }
        let known = said.matches('`').count() / 2 - 1;
        assert_eq!(known, fields.len(), "{}: {said}", tool.name());
        let words = fields.iter().flat_map(|(name, _)| {
            let words = schema["properties"][name]["enum"].as_array().cloned();
            words
                .unwrap_or_default()
                .into_iter()
                .map(move |word| (name, word))
        });
        for (name, word) in words {
            let mut one = fields.clone();
            one.insert(name.clone(), word.clone());
            assert!(
                Call::read(tool, one).is_ok(),
                "{}: {name} {word}",
                tool.name()
            );
        }
    }
}

#[test]
fn an_argument_that_is_missing_null_or_another_thing_is_read_as_its_schema_says() {
    for tool in Name::ALL {
        let schema = Value::Object((*tool.arguments()).clone());
        let fields = some(&schema).as_object().unwrap().clone();
        let required = schema["required"].as_array().unwrap();
        for name in fields.keys() {
            let needed = required.iter().any(|one| one == name);
            let mut less = fields.clone();
            less.remove(name).unwrap();
            let without = Call::read(tool, less.clone()).map(|call| format!("{call:?}"));
            assert_eq!(without.is_err(), needed, "{}: {name}", tool.name());
            // Some clients write what they leave out.
            less.insert(name.clone(), Value::Null);
            match (Call::read(tool, less), without) {
                (Ok(call), Ok(without)) => assert_eq!(format!("{call:?}"), without),
                (Err(Failure::Arguments(said)), Err(_)) => {
                    assert!(said.starts_with(&format!("`{name}`: ")), "{said}");
                }
                (read, without) => panic!("{}: {name}: {read:?} {without:?}", tool.name()),
            }
            let mut wrong = fields.clone();
            wrong.insert(name.clone(), json!({"a": 1}));
            match Call::read(tool, wrong) {
                Err(Failure::Arguments(said)) => {
                    assert!(said.starts_with(&format!("`{name}`: ")), "{said}");
                }
                other => panic!("{}: {name}: {other:?}", tool.name()),
            }
        }
    }
}
