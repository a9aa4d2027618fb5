//! What the scenarios call by name: each tool with what it does when it is called.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject, ResultType, Tool};
use serde_json::{Value, json};

use crate::asking::Asking;
use crate::live::Live;

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// Four samples of silence.
const WAV: &str = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgIC=";

#[derive(Clone, Copy)]
pub(crate) enum Act {
    /// Always the same answer.
    Answer(fn() -> Value),
    /// An answer that asks the client first, in rounds.
    Ask(Asking),
    /// Something that happens while the call runs.
    Live(Live),
}

#[derive(Clone, Copy)]
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) act: Act,
    description: &'static str,
    schema: fn() -> Value,
}

const fn tool(name: &'static str, description: &'static str, act: Act) -> Fixture {
    Fixture {
        name,
        act,
        description,
        schema: nothing,
    }
}

pub(crate) fn named(name: &str) -> Option<&'static Fixture> {
    TOOLS.iter().find(|fixture| fixture.name == name)
}

pub(crate) fn all() -> impl Iterator<Item = Tool> {
    TOOLS.iter().map(Fixture::listed)
}

impl Fixture {
    pub(crate) fn listed(&self) -> Tool {
        let schema = rmcp::model::object((self.schema)());
        Tool::new(self.name, self.description, schema)
    }
}

/// The answer that a tool always gives.
pub(crate) fn constant(answer: fn() -> Value) -> Result<CallToolResult, ErrorData> {
    let mut result: CallToolResult = serde_json::from_value(answer()).map_err(broken)?;
    result.result_type = Some(ResultType::COMPLETE);
    Ok(result)
}

/// What is wrong with a fixture is an error of this program.
pub(crate) fn broken(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

pub(crate) fn text(arguments: Option<&JsonObject>, name: &str) -> Result<String, ErrorData> {
    arguments
        .and_then(|arguments| arguments.get(name))
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| ErrorData::invalid_params(format!("{name} must be a text"), None))
}

const TOOLS: &[Fixture] = &[
    tool(
        "test_simple_text",
        "Answers with a text",
        Act::Answer(simple_text),
    ),
    tool(
        "test_image_content",
        "Answers with an image",
        Act::Answer(image),
    ),
    tool(
        "test_audio_content",
        "Answers with a sound",
        Act::Answer(audio),
    ),
    tool(
        "test_embedded_resource",
        "Answers with a resource",
        Act::Answer(resource),
    ),
    tool(
        "test_multiple_content_types",
        "Answers with several kinds",
        Act::Answer(mixed),
    ),
    tool(
        "test_error_handling",
        "Answers with an error",
        Act::Answer(error),
    ),
    tool(
        "test_reconnection",
        "Answers with a text",
        Act::Answer(simple_text),
    ),
    tool(
        "test_tool_with_logging",
        "Logs three times",
        Act::Live(Live::Logging),
    ),
    tool(
        "test_logging_tool",
        "Logs where it is asked to",
        Act::Live(Live::LoggingIfAsked),
    ),
    tool(
        "test_tool_with_progress",
        "Tells of its progress",
        Act::Live(Live::Progress),
    ),
    tool(
        "test_missing_capability",
        "Needs sampling",
        Act::Live(Live::NeedsSampling),
    ),
    tool(
        "test_trigger_tool_change",
        "Tells that tools changed",
        Act::Live(Live::ToolsChange),
    ),
    tool(
        "test_trigger_prompt_change",
        "Tells that prompts changed",
        Act::Live(Live::PromptsChange),
    ),
    tool(
        "test_elicitation_sep1034_defaults",
        "Asks with defaults",
        Act::Live(Live::ElicitDefaults),
    ),
    tool(
        "test_elicitation_sep1330_enums",
        "Asks with choices",
        Act::Live(Live::ElicitChoices),
    ),
    Fixture {
        name: "test_sampling",
        description: "Asks the client's model",
        act: Act::Live(Live::Sample),
        schema: || one_text("prompt"),
    },
    Fixture {
        name: "test_elicitation",
        description: "Asks the user",
        act: Act::Live(Live::Elicit),
        schema: || one_text("message"),
    },
    Fixture {
        name: "test_custom_header",
        description: "Says the value that came in the header too",
        act: Act::Live(Live::Header),
        schema: in_header,
    },
    Fixture {
        name: "json_schema_2020_12_tool",
        description: "Has a schema of many words",
        act: Act::Answer(simple_text),
        schema: many_words,
    },
    tool(
        "test_streaming_elicitation",
        "Asks for a value",
        Act::Ask(Asking::Stream),
    ),
    tool(
        "test_input_required_result_elicitation",
        "Asks for a name",
        Act::Ask(Asking::Name),
    ),
    tool(
        "test_input_required_result_sampling",
        "Asks a model",
        Act::Ask(Asking::Capital),
    ),
    tool(
        "test_input_required_result_list_roots",
        "Asks for roots",
        Act::Ask(Asking::Roots),
    ),
    tool(
        "test_input_required_result_request_state",
        "Asks and keeps state",
        Act::Ask(Asking::State),
    ),
    tool(
        "test_input_required_result_multiple_inputs",
        "Asks three things",
        Act::Ask(Asking::Three),
    ),
    tool(
        "test_input_required_result_multi_round",
        "Asks twice",
        Act::Ask(Asking::Twice),
    ),
    tool(
        "test_input_required_result_tampered_state",
        "Checks its state",
        Act::Ask(Asking::State),
    ),
    tool(
        "test_input_required_result_capabilities",
        "Asks what it may",
        Act::Ask(Asking::Able),
    ),
];

fn nothing() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

fn one_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn in_header() -> Value {
    json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"],
    })
}

fn many_words() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn simple_text() -> Value {
    json!({"content": [{"type": "text", "text": "This is a simple text response for testing."}]})
}

fn image() -> Value {
    json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]})
}

fn audio() -> Value {
    json!({"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]})
}

fn resource() -> Value {
    json!({"content": [{"type": "resource", "resource": {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    }}]})
}

fn mixed() -> Value {
    json!({"content": [
        {"type": "text", "text": "Multiple content types test:"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "resource", "resource": {
            "uri": "test://mixed-content-resource",
            "mimeType": "application/json",
            "text": r#"{"test":"data","value":123}"#,
        }},
    ]})
}

fn error() -> Value {
    json!({
        "isError": true,
        "content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}],
    })
}
