//! Tools that tell or ask the client something while the call runs.
#![expect(
    deprecated,
    reason = "the older generation has sampling and logging, and is tried too"
)]

use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientCapabilities, ClientResult, ContentBlock, CreateMessageRequestParams,
    ElicitRequest, ElicitRequestParams, JsonObject, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, SamplingMessage, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::fixtures::{broken, text};
use crate::subscribers::{Change, Subscribers};

#[derive(Clone, Copy)]
pub(crate) enum Live {
    Logging,
    LoggingIfAsked,
    Progress,
    NeedsSampling,
    Sample,
    Elicit,
    ElicitDefaults,
    ElicitChoices,
    ToolsChange,
    PromptsChange,
    Header,
}

pub(crate) struct Call<'a> {
    pub(crate) arguments: Option<&'a JsonObject>,
    pub(crate) context: RequestContext<RoleServer>,
    pub(crate) subscribers: &'a Subscribers,
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

impl Call<'_> {
    pub(crate) async fn run(&self, live: Live) -> Result<CallToolResult, ErrorData> {
        match live {
            Live::Logging => self.log_three_times().await,
            Live::LoggingIfAsked => {
                if self.context.meta.log_level().is_some() {
                    self.log("Tool execution started").await?;
                }
                Ok(said("Logged where it was asked for"))
            }
            Live::Progress => self.progress().await,
            Live::NeedsSampling => {
                if self.client().sampling.is_none() {
                    let needed = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                Ok(said("The client can sample"))
            }
            Live::Sample => self.sample().await,
            Live::Elicit => {
                let message = text(self.arguments, "message")?;
                self.elicit(&message, plain(), "User response").await
            }
            Live::ElicitDefaults => self.elicit("Please check", defaults(), DONE).await,
            Live::ElicitChoices => self.elicit("Please choose", choices(), DONE).await,
            Live::ToolsChange => {
                self.subscribers.tell(Change::Tools).await?;
                Ok(said("Told of changed tools"))
            }
            Live::PromptsChange => {
                self.subscribers.tell(Change::Prompts).await?;
                Ok(said("Told of changed prompts"))
            }
            Live::Header => Ok(said(text(self.arguments, "value")?)),
        }
    }

    fn client(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }

    async fn log(&self, message: &str) -> Result<(), ErrorData> {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        self.context
            .peer
            .notify_logging_message(told)
            .await
            .map_err(broken)
    }

    async fn log_three_times(&self) -> Result<CallToolResult, ErrorData> {
        self.log("Tool execution started").await?;
        a_moment().await;
        self.log("Tool processing data").await?;
        a_moment().await;
        self.log("Tool execution completed").await?;
        Ok(said("Logged three times"))
    }

    async fn progress(&self) -> Result<CallToolResult, ErrorData> {
        let token = self.context.meta.get_progress_token();
        for progress in [0.0, 50.0, 100.0] {
            if let Some(token) = token.clone() {
                let told = ProgressNotificationParam::new(token, progress).with_total(100.0);
                self.context
                    .peer
                    .notify_progress(told)
                    .await
                    .map_err(broken)?;
            }
            a_moment().await;
        }
        Ok(said("Told of progress where it was asked for"))
    }

    async fn sample(&self) -> Result<CallToolResult, ErrorData> {
        let prompt = text(self.arguments, "prompt")?;
        let asked = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
        let answer = self
            .context
            .peer
            .create_message(asked)
            .await
            .map_err(broken)?;
        let answer = answer
            .message
            .content
            .first()
            .and_then(|block| block.as_text());
        let answer = answer.map_or("", |text| &text.text);
        Ok(said(format!("LLM response: {answer}")))
    }

    async fn elicit(
        &self,
        message: &str,
        schema: Value,
        heading: &str,
    ) -> Result<CallToolResult, ErrorData> {
        let asked = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message.to_owned(),
            requested_schema: serde_json::from_value(schema).map_err(broken)?,
        };
        let asked = ServerRequest::ElicitRequest(ElicitRequest::new(asked));
        let ClientResult::ElicitResult(answer) = self
            .context
            .peer
            .send_request(asked)
            .await
            .map_err(broken)?
        else {
            return Err(broken("an answer to something else"));
        };
        let action = serde_json::to_value(&answer.action).map_err(broken)?;
        let action = action.as_str().unwrap_or_default();
        let content = answer.content.unwrap_or(Value::Null);
        Ok(said(format!(
            "{heading}: action={action}, content={content}"
        )))
    }
}

const DONE: &str = "Elicitation completed";

fn plain() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn choices() -> Value {
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")},
        ])
    };
    let untitled = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": untitled},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": untitled}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
    })
}
