//! What a tool found or did, before it is written for a client.

use crate::style::Style;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

/// The key of an answer's long part in its object: everything the text says.
pub(crate) const TEXT: &str = "text";

/// An answer. In the text it is `text` and then the notes; in the object it is the facts, and the
/// text as one of them where the client reads nothing else.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// One line that says what this is.
    pub(crate) headline: String,
    /// What was found, exactly; or what was done.
    pub(crate) text: String,
    /// What has to be known of the text: that it is cut, that something was passed over. Facts say
    /// the same.
    pub(crate) notes: Vec<String>,
    /// The facts.
    pub(crate) facts: Map<String, Value>,
    /// Pictures, sounds and other files, as they are.
    pub(crate) media: Vec<ContentBlock>,
}

impl Answer {
    /// An answer whose text is its one line.
    pub(crate) fn line(headline: impl Into<String>) -> Self {
        let headline = headline.into();
        Self {
            text: headline.clone(),
            headline,
            ..Self::default()
        }
    }

    /// Adds a fact.
    pub(crate) fn fact(&mut self, key: &str, value: impl Into<Value>) {
        self.facts.insert(key.to_owned(), value.into());
    }

    /// Writes it.
    pub(crate) fn written(self, style: Style) -> CallToolResult {
        let Self {
            headline,
            text,
            notes,
            mut facts,
            media,
        } = self;
        let mut blocks = Vec::new();
        let object = match style {
            Style::Text => {
                blocks.extend(texts(text, &notes));
                None
            }
            Style::TextAndFacts => {
                blocks.extend(texts(text, &notes));
                Some(facts)
            }
            Style::Both => {
                facts.insert(TEXT.to_owned(), text.as_str().into());
                blocks.extend(texts(text, &notes));
                Some(facts)
            }
            Style::Object => {
                blocks.push(ContentBlock::text(headline));
                if !text.is_empty() {
                    facts.insert(TEXT.to_owned(), text.into());
                }
                Some(facts)
            }
        };
        blocks.extend(media);
        let mut result = CallToolResult::success(blocks);
        result.structured_content = object.map(Value::Object);
        result
    }
}

/// The text by itself, so that it is exact, and then what has to be known of it.
fn texts(text: String, notes: &[String]) -> Vec<ContentBlock> {
    let mut blocks = vec![ContentBlock::text(text)];
    if !notes.is_empty() {
        blocks.push(ContentBlock::text(format!("[{}]", notes.join("; "))));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let mut answer = Answer::line("a: 2 lines");
        answer.text = "x\ny\n".to_owned();
        answer.notes.push("cut".to_owned());
        answer.fact("complete", false);
        answer
    }

    fn both(style: Style) -> (Vec<String>, Option<Value>) {
        let result = answer().written(style);
        let texts = result.content.iter().map(|block| {
            let block = serde_json::to_value(block).unwrap();
            block["text"].as_str().unwrap().to_owned()
        });
        (texts.collect(), result.structured_content)
    }

    #[test]
    fn an_answer_is_said_whole_and_once_unless_twice_is_asked_for() {
        let facts = serde_json::json!({"complete": false});
        let all = serde_json::json!({"complete": false, "text": "x\ny\n"});
        let whole = vec!["x\ny\n".to_owned(), "[cut]".to_owned()];
        assert_eq!(both(Style::Text), (whole.clone(), None));
        assert_eq!(both(Style::TextAndFacts), (whole.clone(), Some(facts)));
        assert_eq!(
            both(Style::Object),
            (vec!["a: 2 lines".to_owned()], Some(all.clone()))
        );
        assert_eq!(both(Style::Both), (whole, Some(all)));
    }
}
