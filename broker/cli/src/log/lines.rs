//! Lines that are linked to one another: written, and read again.
//!
//! A line is one JSON object in one form: keys in order, no spaces, nothing said twice. Its link is
//! blake3 of the link before it and of the line without its own link; the link before the first line
//! is blake3 of [`FIRST`].

use crate::changes::hex;
use portcullis_protocol::view::Digest;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// What the first line comes after.
const FIRST: &[u8] = b"portcullis export 2";

/// The link before the first line.
pub(super) fn first() -> Digest {
    Digest(*blake3::hash(FIRST).as_bytes())
}

/// Writes lines.
#[derive(Debug)]
pub(super) struct Lines<W> {
    to: W,
    export: String,
    previous: Digest,
    line: u64,
}

impl<W: Write> Lines<W> {
    /// `export` is what all lines of one export say, and those of no other.
    pub(super) fn new(to: W, export: [u8; 16]) -> Self {
        Self {
            to,
            export: hex(&export),
            previous: first(),
            line: 1,
        }
    }

    /// Writes the next line. Fields of the line itself are added, over those of the same name.
    pub(super) fn write(&mut self, kind: &str, fields: Value) -> io::Result<()> {
        let mut fields = match fields {
            Value::Object(fields) => fields,
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)) => Map::from_iter([("value".to_owned(), other)]),
        };
        fields.extend([
            ("kind".to_owned(), json!(kind)),
            ("export".to_owned(), json!(self.export)),
            ("line".to_owned(), json!(self.line)),
            ("previous".to_owned(), json!(hex(&self.previous.0))),
        ]);
        let link = link(&self.previous, &fields);
        fields.insert("link".to_owned(), json!(hex(&link.0)));
        writeln!(self.to, "{}", Value::Object(fields))?;
        self.previous = link;
        self.line += 1;
        Ok(())
    }

    /// The link of the last line, once all of them are out.
    pub(super) fn end(mut self) -> io::Result<(Digest, W)> {
        self.to.flush()?;
        Ok((self.previous, self.to))
    }
}

/// The link of a line whose own link is not among its fields.
fn link(previous: &Digest, fields: &Map<String, Value>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&previous.0);
    hasher.update(Value::Object(fields.clone()).to_string().as_bytes());
    Digest(*hasher.finalize().as_bytes())
}

/// A line that is whole in itself: its link is that of what it says.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) kind: String,
    pub(super) export: String,
    pub(super) number: u64,
    pub(super) previous: Digest,
    pub(super) link: Digest,
    pub(super) fields: Map<String, Value>,
}

impl Line {
    /// Reads a line without its end. None when it was changed, or is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        // The one form there is: no byte can be another and say the same.
        if value.to_string().as_bytes() != bytes {
            return None;
        }
        let Value::Object(mut fields) = value else {
            return None;
        };
        let said = fields.remove("link")?;
        let previous = digest(fields.get("previous")?)?;
        let link = link(&previous, &fields);
        if said.as_str() != Some(&hex(&link.0)) {
            return None;
        }
        Some(Self {
            kind: fields.get("kind")?.as_str()?.to_owned(),
            export: fields.get("export")?.as_str()?.to_owned(),
            number: fields.get("line")?.as_u64()?,
            previous,
            link,
            fields,
        })
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    pub(super) fn count(&self, field: &str) -> Option<u64> {
        self.fields.get(field)?.as_u64()
    }
}

fn digest(value: &Value) -> Option<Digest> {
    let text = value.as_str()?;
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(Digest(bytes))
}
