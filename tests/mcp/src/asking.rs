//! Tools that ask the client before they answer: the result is the question, and the same call comes
//! again with answers and the sealed state.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, JsonObject, RequestStateCodec, SealOptions,
};
use serde_json::{Value, json};

use crate::fixtures::broken;

#[derive(Clone, Copy)]
pub(crate) enum Asking {
    Stream,
    Name,
    Capital,
    Roots,
    State,
    Three,
    Twice,
    Able,
}

/// What came with the call.
pub(crate) struct Round<'a> {
    pub(crate) tool: &'a str,
    pub(crate) answers: Option<&'a InputResponses>,
    pub(crate) state: Option<&'a str>,
    pub(crate) client: ClientCapabilities,
    pub(crate) codec: &'a RequestStateCodec,
}

/// An answer counts when it has the shape of one.
pub(crate) fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a JsonObject> {
    answers?.get(key)?.as_object()
}

pub(crate) fn form(message: &str, field: &str, kind: &str) -> Result<InputRequest, ErrorData> {
    request(json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": message,
            "requestedSchema": {
                "type": "object",
                "properties": {field: {"type": kind}},
                "required": [field],
            },
        },
    }))
}

fn model(question: &str) -> Result<InputRequest, ErrorData> {
    request(json!({
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": question}}],
            "maxTokens": 100,
        },
    }))
}

fn roots() -> Result<InputRequest, ErrorData> {
    request(json!({"method": "roots/list", "params": {}}))
}

fn request(value: Value) -> Result<InputRequest, ErrorData> {
    serde_json::from_value(value).map_err(broken)
}

pub(crate) fn ask<const N: usize>(asked: [(&str, InputRequest); N]) -> InputRequiredResult {
    let asked = asked.map(|(key, request)| (key.to_owned(), request));
    InputRequiredResult::from_input_requests(InputRequests::from(asked))
}

fn said(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn field<'a>(answer: &'a JsonObject, name: &str) -> &'a str {
    answer
        .get("content")
        .and_then(|content| content.get(name))
        .and_then(Value::as_str)
        .unwrap_or("nothing")
}

impl Round<'_> {
    pub(crate) fn play(&self, asking: Asking) -> Result<CallToolResponse, ErrorData> {
        match asking {
            Asking::Stream => {
                self.one(("value", form("Which value?", "value", "string")?), "value")
            }
            Asking::Name => self.one(
                ("user_name", form("What is your name?", "name", "string")?),
                "name",
            ),
            Asking::Capital => {
                let question = model("What is the capital of France?")?;
                self.one(("capital_question", question), "text")
            }
            Asking::Roots => match answer(self.answers, "client_roots") {
                None => Ok(ask([("client_roots", roots()?)]).into()),
                Some(answer) => Ok(said(format!("Roots: {}", json!(answer.get("roots"))))),
            },
            Asking::State => self.with_state(),
            Asking::Three => self.three(),
            Asking::Twice => self.twice(),
            Asking::Able => self.able(),
        }
    }

    fn one(
        &self,
        (key, asked): (&str, InputRequest),
        name: &str,
    ) -> Result<CallToolResponse, ErrorData> {
        match answer(self.answers, key) {
            None => Ok(ask([(key, asked)]).into()),
            Some(answer) => Ok(said(format!("Hello, {}!", field(answer, name)))),
        }
    }

    fn with_state(&self) -> Result<CallToolResponse, ErrorData> {
        let opened = self.opened()?;
        match (opened, answer(self.answers, "confirm")) {
            (Some(1), Some(_)) => Ok(said("state-ok".to_owned())),
            (Some(_) | None, Some(_) | None) => self.asked_with_state(
                ask([("confirm", form("Please confirm", "ok", "boolean")?)]),
                1,
            ),
        }
    }

    fn three(&self) -> Result<CallToolResponse, ErrorData> {
        let opened = self.opened()?;
        let answered = ["user_name", "greeting", "client_roots"]
            .iter()
            .all(|key| answer(self.answers, key).is_some());
        if opened == Some(1) && answered {
            return Ok(said("All three are answered".to_owned()));
        }
        let asked = ask([
            ("user_name", form("What is your name?", "name", "string")?),
            ("greeting", model("Say a greeting")?),
            ("client_roots", roots()?),
        ]);
        self.asked_with_state(asked, 1)
    }

    fn twice(&self) -> Result<CallToolResponse, ErrorData> {
        let second = || form("Step 2: What is your favorite color?", "color", "string");
        match self.opened()? {
            Some(2) if answer(self.answers, "step2").is_some() => {
                Ok(said("Both steps are done".to_owned()))
            }
            Some(2) => self.asked_with_state(ask([("step2", second()?)]), 2),
            Some(1) if answer(self.answers, "step1").is_some() => {
                self.asked_with_state(ask([("step2", second()?)]), 2)
            }
            Some(_) | None => {
                let first = form("Step 1: What is your name?", "name", "string")?;
                self.asked_with_state(ask([("step1", first)]), 1)
            }
        }
    }

    /// Only what the client says it can answer.
    fn able(&self) -> Result<CallToolResponse, ErrorData> {
        let mut asked = InputRequests::new();
        if self.client.elicitation.is_some() {
            asked.insert(
                "user_name".to_owned(),
                form("What is your name?", "name", "string")?,
            );
        }
        if self.client.sampling.is_some() {
            asked.insert("greeting".to_owned(), model("Say a greeting")?);
        }
        if asked.keys().any(|key| answer(self.answers, key).is_some()) {
            return Ok(said("Answered".to_owned()));
        }
        if asked.is_empty() {
            return Ok(said("The client can be asked nothing".to_owned()));
        }
        Ok(InputRequiredResult::from_input_requests(asked).into())
    }

    fn asked_with_state(
        &self,
        mut asked: InputRequiredResult,
        round: u8,
    ) -> Result<CallToolResponse, ErrorData> {
        let bound = SealOptions::new().associated_data(self.tool.as_bytes());
        let sealed = self.codec.seal_json_with(&round, &bound).map_err(broken)?;
        asked.request_state = Some(sealed);
        Ok(asked.into())
    }

    /// The round that the state tells of; one that this server did not seal for this tool is refused.
    fn opened(&self) -> Result<Option<u8>, ErrorData> {
        let Some(sealed) = self.state else {
            return Ok(None);
        };
        self.codec
            .open_json_with(sealed, self.tool.as_bytes())
            .map(Some)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
    }
}
