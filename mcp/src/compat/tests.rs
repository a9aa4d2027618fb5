//! What is offered, held to what is read.

use super::call::Call;
use super::tools::ALL;
use crate::tests::some;
use serde_json::{Map, Value, json};

#[test]
fn every_argument_that_is_offered_is_read() {
    for tool in ALL {
        let schema = Value::Object(tool.input_schema());
        let mut all: Map<String, Value> = some(&schema).as_object().unwrap().clone();
        // Both together are refused only when the file is read.
        Call::parse(tool, &all).unwrap();
        for name in schema["properties"].as_object().unwrap().keys() {
            let good = all.insert(name.clone(), Value::Null).unwrap();
            let said = Call::parse(tool, &all).unwrap_err().to_string();
            assert!(said.ends_with(&format!(" at {name}")), "{said}");
            all.insert(name.clone(), good);
            let mut less = all.clone();
            less.remove(name);
            let required = schema["required"].as_array().unwrap();
            let needed = required.iter().any(|one| one == name);
            assert_eq!(Call::parse(tool, &less).is_err(), needed, "{tool:?} {name}");
        }
    }
}

#[test]
fn every_tool_says_what_it_is_and_gives() {
    for tool in ALL {
        let offered = serde_json::to_value(tool.offered()).unwrap();
        assert_eq!(
            offered["outputSchema"]["required"],
            json!(["content"]),
            "{tool:?}"
        );
        assert_eq!(offered["annotations"]["openWorldHint"], false);
        assert!(offered["annotations"]["readOnlyHint"].is_boolean());
        assert!(!offered["title"].as_str().unwrap().is_empty());
        assert!(
            offered["description"].as_str().unwrap().ends_with('.'),
            "{tool:?}"
        );
    }
}
