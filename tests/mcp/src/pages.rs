//! Resources and prompts that the scenarios read by name.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
    ReadResourceResult, Resource, ResourceTemplate,
};
use serde_json::{Value, json};

use crate::asking::{answer, ask, form};
use crate::fixtures::{PNG, broken, text};

pub(crate) const SCHEME: &str = "test://";
const TEMPLATE: (&str, &str) = ("test://template/", "/data");

pub(crate) fn resources() -> Vec<Resource> {
    [
        ("test://static-text", "A text", "text/plain"),
        ("test://static-binary", "An image", "image/png"),
        ("test://watched-resource", "A text to watch", "text/plain"),
    ]
    .map(|(uri, name, kind)| {
        Resource::new(uri, name)
            .with_description(name)
            .with_mime_type(kind)
    })
    .to_vec()
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let uri = format!("{}{{id}}{}", TEMPLATE.0, TEMPLATE.1);
    let template = ResourceTemplate::new(uri, "Data of an id")
        .with_description("Data of an id")
        .with_mime_type("application/json");
    vec![template]
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let content = match uri {
        "test://static-text" | "test://watched-resource" => json!({
            "uri": uri,
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        other => templated(other)?,
    };
    let content = serde_json::from_value(content).map_err(broken)?;
    Ok(ReadResourceResult::new(vec![content]))
}

fn templated(uri: &str) -> Result<Value, ErrorData> {
    let id = uri
        .strip_prefix(TEMPLATE.0)
        .and_then(|rest| rest.strip_suffix(TEMPLATE.1));
    let Some(id) = id else {
        let data = json!({"uri": uri});
        return Err(ErrorData::resource_not_found(
            "There is no such resource",
            Some(data),
        ));
    };
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Ok(json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()}))
}

const ASKING: &str = "test_input_required_result_prompt";

pub(crate) fn prompts() -> Vec<Prompt> {
    [
        ("test_simple_prompt", &[][..]),
        ("test_prompt_with_arguments", &["arg1", "arg2"][..]),
        ("test_prompt_with_embedded_resource", &["resourceUri"][..]),
        ("test_prompt_with_image", &[][..]),
        (ASKING, &[][..]),
    ]
    .map(|(name, arguments)| {
        let arguments = arguments
            .iter()
            .map(|argument| {
                PromptArgument::new(*argument)
                    .with_description("An argument")
                    .with_required(true)
            })
            .collect();
        Prompt::new(name, Some("A prompt"), Some(arguments))
    })
    .to_vec()
}

/// None for a prompt that is not one of these.
pub(crate) fn prompt(
    request: &GetPromptRequestParams,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    let arguments = request.arguments.as_ref();
    let messages = match request.name.as_str() {
        "test_simple_prompt" => Ok(json!([user("This is a simple prompt for testing.")])),
        "test_prompt_with_arguments" => with_arguments(arguments),
        "test_prompt_with_embedded_resource" => with_resource(arguments),
        "test_prompt_with_image" => Ok(json!([
            {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
            user("Please analyze the image above."),
        ])),
        ASKING => return Some(asking(request)),
        _ => return None,
    };
    Some(messages.and_then(shown))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": {"type": "text", "text": text}})
}

fn shown(messages: Value) -> Result<GetPromptResponse, ErrorData> {
    let messages = serde_json::from_value(messages).map_err(broken)?;
    Ok(GetPromptResult::new(messages).into())
}

fn with_arguments(arguments: Option<&rmcp::model::JsonObject>) -> Result<Value, ErrorData> {
    let (first, second) = (text(arguments, "arg1")?, text(arguments, "arg2")?);
    let said = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
    Ok(json!([user(&said)]))
}

fn with_resource(arguments: Option<&rmcp::model::JsonObject>) -> Result<Value, ErrorData> {
    let uri = text(arguments, "resourceUri")?;
    Ok(json!([
        {"role": "user", "content": {"type": "resource", "resource": {
            "uri": uri,
            "mimeType": "text/plain",
            "text": "Embedded resource content for testing.",
        }}},
        user("Please process the embedded resource above."),
    ]))
}

fn asking(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    match answer(request.input_responses.as_ref(), "user_context") {
        None => {
            let question = form("What context should the prompt use?", "context", "string")?;
            Ok(ask([("user_context", question)]).into())
        }
        Some(answer) => shown(json!([user(&format!("With this: {}", json!(answer)))])),
    }
}
