//! The same documents written at once, a line each: a tree of values for each of many entries costs
//! more than the walk that found them.

use super::role;
use crate::json::VERSION;
use portcullis_protocol::path::{RelPath, escape};
use portcullis_protocol::session::{Entry, EntryDetail, Found, FoundLine, LineRole};
use std::io::Write as _;

/// Writes the document of an entry.
pub(crate) fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let mut fields = Fields::begin(out, "entry");
    fields.name("path", entry.path.as_kernel_bytes());
    fields.text("type", entry.kind.name());
    match &entry.denied {
        Some(rule) => fields.text("denied", rule.as_str()),
        None => fields.plain("denied", "null"),
    }
    if let Some(detail) = &entry.detail {
        put_detail(&mut fields, detail);
    }
    fields.end();
}

fn put_detail(fields: &mut Fields<'_>, detail: &EntryDetail) {
    fields.plain("size", detail.size);
    fields.text("mode", &format!("{:04o}", detail.mode));
    let time = detail.modified;
    let modified = format_args!("{{\"seconds\":{},\"nanos\":{}}}", time.seconds, time.nanos);
    fields.plain("modified", modified);
    if let Some(link) = &detail.link {
        fields.name("link", link.as_slice());
    }
}

/// Writes the document of a result of a search. `file` is the last [`Found::File`].
pub(crate) fn put_found(out: &mut Vec<u8>, found: &Found, file: Option<&RelPath>) {
    let mut fields = Fields::begin(out, super::found_kind(found));
    match found {
        Found::File { path } => fields.name("path", path.as_kernel_bytes()),
        Found::Line(line) => {
            if let Some(path) = file {
                fields.name("path", path.as_kernel_bytes());
            }
            put_line(&mut fields, line);
        }
        Found::Count { path, lines } => {
            fields.name("path", path.as_kernel_bytes());
            fields.plain("lines", lines);
        }
    }
    fields.end();
}

fn put_line(fields: &mut Fields<'_>, line: &FoundLine) {
    fields.plain("line", line.number);
    fields.plain("offset", line.offset);
    fields.plain("column", line.column);
    fields.text("role", role(line.role));
    fields.plain("context", line.role == LineRole::Context);
    fields.plain("cut_before", line.cut_before);
    fields.plain("cut_after", line.cut_after);
    match std::str::from_utf8(line.text.as_slice()) {
        Ok(text) => fields.text("text", text),
        Err(_) => fields.hex("text_bytes", line.text.as_slice()),
    }
}

/// An object that is being written. Writing to memory cannot fail, nor can what is written here be
/// no JSON.
struct Fields<'o>(&'o mut Vec<u8>);

impl<'o> Fields<'o> {
    fn begin(out: &'o mut Vec<u8>, kind: &str) -> Self {
        write!(out, "{{\"portcullis\":{VERSION},\"kind\":\"{kind}\"").ok();
        Self(out)
    }

    fn key(&mut self, key: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// A value that is written as it is.
    fn plain(&mut self, key: &str, value: impl std::fmt::Display) {
        self.key(key);
        write!(self.0, "{value}").ok();
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        serde_json::to_writer(&mut *self.0, text).ok();
    }

    fn name(&mut self, key: &str, name: &[u8]) {
        self.text(key, &escape(name));
        if std::str::from_utf8(name).is_err() {
            self.hex(&format!("{key}_bytes"), name);
        }
    }

    fn hex(&mut self, key: &str, bytes: &[u8]) {
        self.text(key, &crate::json::hex(bytes));
    }

    fn end(self) {
        self.0.extend_from_slice(b"}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{document, entry, found, found_kind};
    use portcullis_protocol::bounded::{Bytes, Text};
    use portcullis_protocol::view::{Kind, Timestamp};
    use serde_json::Value;

    fn read(line: &[u8]) -> Value {
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(line).unwrap()
    }

    #[test]
    fn an_entry_is_the_document_that_values_make() {
        let bare = Entry {
            path: RelPath::parse(b"a\"\\\n\xff").unwrap(),
            kind: Kind::File,
            denied: None,
            detail: None,
        };
        let full = Entry {
            path: RelPath::root(),
            kind: Kind::Link,
            denied: Some(Text::new("rule \"x\"").unwrap()),
            detail: Some(EntryDetail {
                size: u64::MAX,
                mode: 0o644,
                modified: Timestamp {
                    seconds: -1,
                    nanos: 5,
                },
                link: Some(Bytes::new(b"\xfe").unwrap()),
            }),
        };
        for one in [bare, full] {
            let mut line = Vec::new();
            put_entry(&mut line, &one);
            assert_eq!(read(&line), document("entry", entry(&one)));
        }
    }

    #[test]
    fn a_result_is_the_document_that_values_make() {
        let path = RelPath::parse(b"d/f").unwrap();
        let line = |role, text: &[u8]| {
            Found::Line(FoundLine {
                role,
                number: 3,
                offset: 9,
                column: 1,
                text: Bytes::new(text).unwrap(),
                cut_before: 2,
                cut_after: 5,
            })
        };
        let all = [
            Found::File { path: path.clone() },
            Found::Count {
                path: path.clone(),
                lines: 4,
            },
            line(LineRole::Match, b"a\tb\"\x01"),
            line(LineRole::Context, b"\xff\n"),
            line(LineRole::Binary, b""),
        ];
        for one in all {
            for file in [None, Some(&path)] {
                let mut line = Vec::new();
                put_found(&mut line, &one, file);
                let value = document(found_kind(&one), found(&one, file));
                assert_eq!(read(&line), value);
            }
        }
    }
}
