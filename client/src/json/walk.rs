//! Listings and searches as JSON.

use super::{binding, object, put_content, put_name, timestamp};
use portcullis_protocol::path::RelPath;
use portcullis_protocol::session::{
    Completeness, Done, Entry, Found, LineRole, Progress, Statistics,
};
use portcullis_protocol::view::Binding;
use serde_json::{Map, Value, json};

#[cfg(feature = "tool")]
mod lines;
#[cfg(feature = "tool")]
pub(crate) use lines::{put_entry, put_found};

/// One entry of a listing.
pub fn entry(entry: &Entry) -> Value {
    let mut fields = object(json!({
        "type": entry.kind.name(),
        "denied": entry.denied.as_ref().map(|rule| rule.as_str()),
    }));
    put_name(&mut fields, "path", entry.path.as_kernel_bytes());
    if let Some(detail) = &entry.detail {
        fields.insert("size".to_owned(), detail.size.into());
        fields.insert("mode".to_owned(), format!("{:04o}", detail.mode).into());
        fields.insert("modified".to_owned(), timestamp(detail.modified));
        if let Some(link) = &detail.link {
            put_name(&mut fields, "link", link.as_slice());
        }
    }
    Value::Object(fields)
}

/// What a result of a search is: the kind of its document.
pub const fn found_kind(found: &Found) -> &'static str {
    match found {
        Found::File { .. } => "match_file",
        Found::Line(_) => "match_line",
        Found::Count { .. } => "match_count",
    }
}

/// One result of a search. `file` is the last [`Found::File`], to which a line belongs.
pub fn found(found: &Found, file: Option<&RelPath>) -> Value {
    let mut fields = Map::new();
    match found {
        Found::File { path } => put_name(&mut fields, "path", path.as_kernel_bytes()),
        Found::Line(line) => {
            if let Some(path) = file {
                put_name(&mut fields, "path", path.as_kernel_bytes());
            }
            fields.insert("line".to_owned(), line.number.into());
            fields.insert("offset".to_owned(), line.offset.into());
            fields.insert("column".to_owned(), line.column.into());
            fields.insert("role".to_owned(), role(line.role).into());
            let context = line.role == LineRole::Context;
            fields.insert("context".to_owned(), context.into());
            fields.insert("cut_before".to_owned(), line.cut_before.into());
            fields.insert("cut_after".to_owned(), line.cut_after.into());
            put_content(&mut fields, "text", line.text.as_slice());
        }
        Found::Count { path, lines } => {
            put_name(&mut fields, "path", path.as_kernel_bytes());
            fields.insert("lines".to_owned(), (*lines).into());
        }
    }
    Value::Object(fields)
}

/// What a line of a search result is.
const fn role(role: LineRole) -> &'static str {
    match role {
        LineRole::Match => "match",
        LineRole::Context => "context",
        LineRole::Binary => "binary",
    }
}

/// How a listing or search ended. `start` is what it was bound to.
pub fn done(done: &Done, start: Option<&Binding>) -> Value {
    let (complete, reason, cursor) = match &done.completeness {
        Completeness::Complete => (true, None, None),
        Completeness::Cut { reason, cursor } => (
            false,
            Some(reason.name()),
            cursor.as_ref().map(|cursor| super::hex(cursor.as_slice())),
        ),
    };
    json!({
        "complete": complete,
        "cut": reason,
        "cursor": cursor,
        "start": start.map(binding),
        "statistics": statistics(&done.statistics),
    })
}

/// How far a listing or search is.
pub fn progress(progress: &Progress) -> Value {
    json!({
        "directories": progress.directories,
        "files": progress.files,
        "bytes": progress.bytes,
        "sent": progress.sent,
    })
}

/// What was looked at, and what was passed over and why.
pub fn statistics(seen: &Statistics) -> Value {
    json!({
        "directories": seen.directories,
        "files": seen.files,
        "bytes": seen.bytes,
        "sent": seen.sent,
        "over_file_limit": seen.over_file_limit,
        "rules_left_out": seen.rules_left_out,
        "passed_over": {
            "ignored": seen.ignored,
            "dot_names": seen.dot_names,
            "version_control": seen.version_control,
            "excluded": seen.excluded,
            "binary": seen.binary,
            "too_large": seen.too_large,
            "unreadable": seen.unreadable,
            "denied": seen.denied,
            "not_regular": seen.not_regular,
            "mounts": seen.mounts,
            "changed": seen.changed,
            "too_deep": seen.too_deep,
            "temporaries": seen.temporaries,
        },
    })
}
