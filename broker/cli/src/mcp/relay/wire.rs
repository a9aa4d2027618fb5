//! The few messages that are read and written here. Every other passes as it came.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;

/// How the server marks a result that waits for an approval, as bytes of its line.
pub(super) const MARK: &[u8] = b"\"portcullis/approval\"";
/// What every line with a call of a tool holds.
pub(super) const CALL: &[u8] = b"\"tools/call\"";
/// The one question of a result that asks.
const APPROVAL: &str = "approval";
/// Code of an error: the parameters cannot be used.
const INVALID_PARAMS: i32 = -32602;

/// Fields of an object, in their order, each name once: of what a name twice would mean, the two
/// sides of this process need not have the same opinion.
#[derive(Debug)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    if fields.iter().any(|(known, _)| *known == name.0) {
                        return Err(A::Error::custom("a name twice"));
                    }
                    fields.push((name.0, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[derive(Deserialize, PartialEq)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let field = self.0.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| *value)
    }

    pub(super) fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// The same without some, as text; `instead` takes the place of a value.
    fn text(&self, without: &[&str], instead: Option<(&str, &str)>) -> String {
        let mut text = String::from("{");
        let kept = self.0.iter();
        for (name, value) in kept.filter(|(name, _)| !without.contains(&name.as_ref())) {
            let value = match instead {
                Some((other, value)) if other == name => value,
                Some(_) | None => value.get(),
            };
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name.as_ref()).to_string());
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

/// Who is to ask, as the server read it from what the client can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    Elicitation,
    InputRequired,
    None,
}

/// The server's mark. It is no more than a hint at which proposal to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Mark {
    pub(super) proposal: u64,
    pub(super) by: By,
}

/// A marked result: the id of its call as text, and the mark.
pub(super) fn marked(line: &[u8]) -> Option<(&str, Mark)> {
    let message = Fields::parse(line)?;
    if message.raw("method").is_some() {
        return None;
    }
    let result: Fields<'_> = message.read("result")?;
    let meta: Fields<'_> = result.read("_meta")?;
    Some((message.raw("id")?.get(), meta.read("portcullis/approval")?))
}

/// What a client says of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Approve,
    Refuse,
    /// Nothing: the question was put away, or the answer is none.
    Nothing,
}

#[derive(Deserialize)]
struct Answered {
    action: Action,
    content: Option<Chosen>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

#[derive(Deserialize)]
struct Chosen {
    decision: Choice,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Approve,
    Refuse,
}

/// Reads the answer to a question. What is not exactly one decides nothing.
pub(super) fn verdict(answer: &RawValue) -> Verdict {
    let answered: Answered = match serde_json::from_str(answer.get()) {
        Ok(answered) => answered,
        Err(_) => return Verdict::Nothing,
    };
    match (answered.action, answered.content) {
        (
            Action::Accept,
            Some(Chosen {
                decision: Choice::Approve,
            }),
        ) => Verdict::Approve,
        (
            Action::Accept,
            Some(Chosen {
                decision: Choice::Refuse,
            }),
        )
        | (Action::Decline, _) => Verdict::Refuse,
        (Action::Accept, None) | (Action::Cancel, _) => Verdict::Nothing,
    }
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call<'a> {
    message: Fields<'a>,
    params: Fields<'a>,
    /// The id, as text.
    pub(super) id: &'a str,
    /// The tool.
    pub(super) name: Cow<'a, str>,
    /// Its arguments, in one spelling.
    pub(super) arguments: String,
}

impl<'a> Call<'a> {
    pub(super) fn of(message: Fields<'a>) -> Option<Self> {
        let method: Name<'_> = message.read("method")?;
        if method.0 != "tools/call" {
            return None;
        }
        let params: Fields<'_> = message.read("params")?;
        let name: Name<'_> = params.read("name")?;
        let arguments: Value = match params.raw("arguments") {
            Some(raw) => serde_json::from_str(raw.get()).ok()?,
            None => Value::Null,
        };
        Some(Self {
            id: message.raw("id")?.get(),
            name: name.0,
            arguments: arguments.to_string(),
            params,
            message,
        })
    }

    /// The state that a client gives back.
    pub(super) fn state(&self) -> Option<String> {
        self.params.read("requestState")
    }

    /// The answer to the question, if there is one.
    pub(super) fn answer(&self) -> Option<&'a RawValue> {
        let answers: Fields<'_> = self.params.read("inputResponses")?;
        answers.raw(APPROVAL)
    }

    /// The call without what was for this process.
    pub(super) fn plain(&self) -> Vec<u8> {
        let params = self.params.text(&["inputResponses", "requestState"], None);
        let mut line = self.message.text(&[], Some(("params", &params)));
        line.push('\n');
        line.into_bytes()
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "description": "approve: let it happen once, exactly as shown; refuse: it will not happen",
                "enum": ["approve", "refuse"],
            },
        },
        "required": ["decision"],
    })
}

/// A question to a client of a generation that takes requests. The mode is left out: a form is what
/// every one of them takes it for.
pub(super) fn question(id: &str, text: &str) -> Vec<u8> {
    line(&json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "elicitation/create",
        "params": {"message": text, "requestedSchema": schema()},
    }))
}

/// A result that asks, in place of one that waits.
pub(super) fn asking(id: &str, text: &str, state: &str) -> Vec<u8> {
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {
            APPROVAL: {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": text, "requestedSchema": schema()},
            },
        },
        "requestState": state,
    });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes()
}

/// An answer to what cannot be passed on.
pub(super) fn refusal(id: &str, why: &str) -> Vec<u8> {
    let message = format!("nothing was changed and nothing was decided: {why}");
    let error = json!({"code": INVALID_PARAMS, "message": message});
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").into_bytes()
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}
