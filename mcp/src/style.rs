//! Which part of an answer a client reads, so that it is said once and whole.
//!
//! An answer has a text, and an object (`structuredContent`) that its tool's output schema
//! describes. Most clients give their model the text. Some give it the object alone wherever there is
//! one, and would lose what stands in the text only. Everything twice would be safe, and would cost
//! those who join both twice the room.

use rmcp::model::{Implementation, ProtocolVersion};

/// The first version of the protocol that has objects in answers.
const STRUCTURED_SINCE: ProtocolVersion = ProtocolVersion::V_2025_06_18;
/// Clients, by the beginning of the name they give, that pass on the object alone.
const READ_THE_OBJECT: [&str; 2] = ["claude-code", "codex"];

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Answers {
    /// As this client reads them
    Auto,
    /// All in the text; no output schemas
    Text,
    /// All in the object; the text is one line
    Structured,
    /// All in both
    Both,
}

/// How one answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A text alone.
    Text,
    /// A text that says all, and an object with everything but what is long.
    TextAndFacts,
    /// One line, and an object that says all.
    Object,
    /// Both, each of which says all.
    Both,
}

impl Style {
    /// For this client.
    pub(crate) fn of(
        answers: Answers,
        client: Option<&Implementation>,
        version: Option<&ProtocolVersion>,
    ) -> Self {
        // Versions are dates, and so in order as texts.
        let knows = version.is_none_or(|version| version.as_str() >= STRUCTURED_SINCE.as_str());
        match answers {
            Answers::Text => Self::Text,
            _ if !knows => Self::Text,
            Answers::Structured => Self::Object,
            Answers::Both => Self::Both,
            Answers::Auto => match client {
                Some(client)
                    if READ_THE_OBJECT
                        .iter()
                        .any(|name| client.name.to_ascii_lowercase().starts_with(name)) =>
                {
                    Self::Object
                }
                Some(_) | None => Self::TextAndFacts,
            },
        }
    }

    /// Whether answers have objects, so that output schemas can be promised.
    pub(crate) const fn has_objects(self) -> bool {
        match self {
            Self::Text => false,
            Self::TextAndFacts | Self::Object | Self::Both => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_only_the_object_gets_all_in_it_and_old_clients_get_a_text() {
        let client = |name: &str| Implementation::new(name.to_owned(), "1".to_owned());
        let auto =
            |name: &str, version| Style::of(Answers::Auto, Some(&client(name)), Some(&version));
        let now = ProtocolVersion::V_2025_11_25;
        assert_eq!(auto("claude-code", now.clone()), Style::Object);
        assert_eq!(auto("codex-mcp-client", now.clone()), Style::Object);
        assert_eq!(auto("Visual Studio Code", now.clone()), Style::TextAndFacts);
        assert_eq!(
            auto("claude-code", ProtocolVersion::V_2025_03_26),
            Style::Text
        );
        assert_eq!(Style::of(Answers::Both, None, None), Style::Both);
        assert_eq!(
            Style::of(Answers::Text, Some(&client("claude-code")), Some(&now)),
            Style::Text
        );
    }
}
