//! A JSON document as it is written: every key in its order, none twice.

use super::super::PatchError;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Null,
    Flag(Flag),
    /// A whole number from 0; none for another one.
    Number(Option<u64>),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Yes,
    No,
}

impl Node {
    /// What it is, for a person.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Reads a whole text. A key that is there twice, a number that is not finite and text after the
/// document are errors, with their line.
pub(super) fn parse(text: &str) -> Result<Node, PatchError> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The line stands before it, as in every other format.
        let what = said.split(" at line ").next().unwrap_or_default();
        let hint = match error.classify() {
            serde_json::error::Category::Eof => ": was it cut off?",
            serde_json::error::Category::Syntax if what == "trailing characters" => {
                ": there is text after the document; several edits are one list, `[{…}, {…}]`"
            }
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Data
            | serde_json::error::Category::Io => "",
        };
        PatchError::new(error.line().max(1), format!("no JSON: {what}{hint}"))
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(if flag { Flag::Yes } else { Flag::No }))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(Some(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(u64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Number(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = from.next_element()? {
            list.push(node);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut object: Vec<(String, Node)> = Vec::new();
        while let Some(key) = from.next_key::<String>()? {
            // No document of ours has many keys, and one that has is refused for them.
            if object.len() >= KEYS_MAX {
                return Err(A::Error::custom(format_args!(
                    "an object has more than {KEYS_MAX} keys"
                )));
            }
            if object.iter().any(|(other, _)| *other == key) {
                return Err(A::Error::custom(format_args!(
                    "the key `{}` is there twice: which one is meant?",
                    portcullis_protocol::path::escape(key.as_bytes())
                )));
            }
            object.push((key, from.next_value()?));
        }
        Ok(Node::Object(object))
    }
}

/// More keys than any document of ours has.
const KEYS_MAX: usize = 32;

/// The line, from 1, on which each value of the outermost list begins; or the one value there is.
/// Of a text that was read as JSON.
pub(super) fn lines_of_values(text: &str) -> Vec<usize> {
    let (mut lines, mut line, mut depth) = (Vec::new(), 1, 0_usize);
    let mut quoted = Quoted::No;
    let list = text.trim_start().starts_with('[');
    let outer = usize::from(list);
    // The values wanted are objects, so that each begins with a brace.
    for byte in text.bytes() {
        if byte == b'\n' {
            line += 1;
        }
        quoted = match (quoted, byte) {
            (Quoted::No, b'"') => Quoted::Yes,
            (Quoted::No, b'{') => {
                if depth == outer {
                    lines.push(line);
                }
                depth += 1;
                Quoted::No
            }
            (Quoted::No, b'[') => {
                depth += 1;
                Quoted::No
            }
            (Quoted::No, b'}' | b']') => {
                depth = depth.saturating_sub(1);
                Quoted::No
            }
            (Quoted::Yes, b'"') => Quoted::No,
            (Quoted::Yes, b'\\') => Quoted::Escape,
            (Quoted::Escape, _) => Quoted::Yes,
            (quoted @ (Quoted::No | Quoted::Yes), _) => quoted,
        };
    }
    lines
}

/// Whether a byte stands in a text.
#[derive(Debug, Clone, Copy)]
enum Quoted {
    No,
    Yes,
    /// Behind a backslash.
    Escape,
}
