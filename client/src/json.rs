//! Answers as JSON, for `--json` and for programs in other languages.
//!
//! A document is one object: `"portcullis": 1` is the version of this form, `"kind"` says what it
//! is. Names are text made by [`escape`], and when a name is not UTF-8 its bytes stand beside it in
//! hexadecimal as `…_bytes`. Fields are added in one version, never renamed or removed. Numbers of
//! 64 bits are plain JSON numbers.

mod authority;
mod change;
mod control;
mod records;
mod review;
mod walk;

#[cfg(feature = "tool")]
pub(crate) use authority::used_of;
pub use authority::{budgets, delegated, denial, effect, grant, identity, used, verdict};

pub use change::{changed, excerpt, labelled, made, planned, touched};
pub use control::{cage, minted, over, refusal_note, sealed, status, tally};
pub use records::{approval, difference, receipt, refused, run, session, verified};
pub use review::{approver, decided, proposal, summary, task_sealed};
pub use walk::{done, entry, found, found_kind, progress, statistics};
#[cfg(feature = "tool")]
pub(crate) use walk::{put_entry, put_found};

use crate::error::Error;
use crate::read::FileContent;
use crate::stamp;
use portcullis_protocol::approval::ProposalId;
use portcullis_protocol::path::escape;
use portcullis_protocol::refusal::{Refusal, Rule};
use portcullis_protocol::session::{
    FinalNewline, Incarnation, Limits, ReadEnd, Rest, Steadiness, TextSurvey,
};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Binding, Observation, Timestamp};
use serde_json::{Map, Value, json};

/// The version of the documents.
pub const VERSION: u32 = 1;

/// A whole document: `body`'s fields behind the version and the kind.
pub fn document(kind: &str, body: Value) -> Value {
    let mut fields = object(body);
    fields.insert("portcullis".to_owned(), VERSION.into());
    fields.insert("kind".to_owned(), kind.into());
    Value::Object(fields)
}

/// The fields of an object; anything else is its only field, `value`.
fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value {
        fields
    } else {
        Map::from_iter([("value".to_owned(), value)])
    }
}

/// Puts a name under `key`: as text, and as bytes when the text alone could mislead.
fn put_name(fields: &mut Map<String, Value>, key: &str, name: &[u8]) {
    fields.insert(key.to_owned(), escape(name).into());
    if std::str::from_utf8(name).is_err() {
        fields.insert(format!("{key}_bytes"), hex(name).into());
    }
}

/// Puts content under `key` when it is UTF-8, and as hexadecimal under `key_bytes` when not.
fn put_content(fields: &mut Map<String, Value>, key: &str, content: &[u8]) {
    match std::str::from_utf8(content) {
        Ok(text) => fields.insert(key.to_owned(), text.into()),
        Err(_) => fields.insert(format!("{key}_bytes"), hex(content).into()),
    };
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

/// Reads what [`hex`] wrote.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok())
        .collect()
}

/// An error: whether anything was changed, why, on what, by which rule.
pub fn error(error: &Error) -> Value {
    let mut fields = error
        .refusal()
        .map(|refused| object(refusal(refused)))
        .unwrap_or_default();
    fields.extend(object(json!({
        "changed": error.changed().name(),
        "code": error.code_name(),
        "retryable": error.is_retryable(),
        "message": error.to_string(),
    })));
    if let Some(changed) = error.receipt() {
        fields.insert("effect".to_owned(), change::changed(changed));
    }
    if let Some(region) = error.region() {
        fields.insert("region".to_owned(), excerpt(region));
    }
    Value::Object(fields)
}

/// A refusal.
pub fn refusal(refusal: &Refusal) -> Value {
    let mut fields = object(json!({
        "changed": "unchanged",
        "code": refusal.code.name(),
        "retryable": refusal.code.is_retryable(),
        "message": refusal.to_string(),
        "verb": refusal.verb.map(|verb| verb.name()),
        "rule": refusal.rule.as_ref().map(rule),
        "note": refusal.note.as_ref().map(|note| note.as_str()),
        "current": refusal.current.as_deref().map(stamp::show),
        "proposal": refusal.proposal.map(|ProposalId(number)| number),
    }));
    if let Some(name) = &refusal.object {
        put_name(&mut fields, "object", name.as_slice());
    }
    Value::Object(fields)
}

/// Why an effect that was begun is not done: as a refusal, but its outcome says what was changed.
fn cause(refused: &Refusal) -> Value {
    let mut fields = object(refusal(refused));
    fields.remove("changed");
    fields.insert("message".to_owned(), refused.cause().to_string().into());
    Value::Object(fields)
}

/// A rule: its name and reason.
pub fn rule(rule: &Rule) -> Value {
    json!({ "name": rule.name.as_str(), "reason": rule.reason.as_str() })
}

/// A point in time: seconds since 1970 and nanoseconds.
pub fn timestamp(time: Timestamp) -> Value {
    json!({ "seconds": time.seconds, "nanos": time.nanos })
}

/// A set of verbs, as their names.
pub fn verbs(set: VerbSet) -> Value {
    set.iter().map(|verb| verb.name()).collect()
}

/// What the kernel said of an object.
pub fn observation(seen: &Observation) -> Value {
    json!({
        "type": seen.kind.name(),
        "mode": format!("{:04o}", seen.mode),
        "links": seen.links,
        "size": seen.stamp.size,
        "modified": timestamp(seen.modified),
        "stamp": {
            "device": seen.stamp.device,
            "inode": seen.stamp.inode,
            "changed": timestamp(seen.stamp.changed),
            "born": seen.stamp.born.map(timestamp),
        },
        "version": stamp::show(&seen.stamp),
    })
}

/// What a selector was bound to.
pub fn binding(bound: &Binding) -> Value {
    let mut fields = object(observation(&bound.observation));
    fields.insert("role".to_owned(), bound.role.name().into());
    fields.insert("root".to_owned(), bound.root.0.into());
    put_name(&mut fields, "path", bound.path.as_kernel_bytes());
    if let Some(link) = &bound.link {
        put_name(&mut fields, "link", link.as_slice());
    }
    Value::Object(fields)
}

/// One file of a read, with its content: `content` when it is UTF-8, else `content_bytes`.
pub fn file(content: &FileContent) -> Value {
    let mut fields = object(binding(&content.binding));
    fields.insert("offset".to_owned(), content.offset.into());
    fields.insert("length".to_owned(), content.bytes.len().into());
    fields.extend(object(read_end(&content.end)));
    put_content(&mut fields, "content", &content.bytes);
    Value::Object(fields)
}

/// One file of a read of labelled lines: `lines`, each with its label, in place of `content`.
pub fn labelled_file(content: &FileContent) -> Result<Value, Error> {
    let lines = content.labelled()?;
    let mut fields = object(binding(&content.binding));
    fields.insert("offset".to_owned(), content.offset.into());
    fields.insert("length".to_owned(), content.bytes.len().into());
    fields.extend(object(read_end(&content.end)));
    fields.insert("lines".to_owned(), labelled(lines));
    Ok(Value::Object(fields))
}

/// How the reading of one file ended.
pub fn read_end(end: &ReadEnd) -> Value {
    json!({
        "first_line": (end.first_line != 0).then_some(end.first_line),
        "next_offset": end.next_offset,
        "rest": match end.rest {
            Rest::End => "end",
            Rest::More => "more",
            Rest::CutAtScanLimit => "cut_at_scan_limit",
        },
        "steadiness": match end.steadiness {
            Steadiness::Steady => "steady",
            Steadiness::Torn => "torn",
        },
        "text": end.text.as_ref().map(text_survey),
        "blake3": end.digest.map(|digest| hex(&digest)),
    })
}

/// Lines, terminators and encoding.
pub fn text_survey(text: &TextSurvey) -> Value {
    json!({
        "lines": text.lines,
        "lf": text.lf,
        "crlf": text.crlf,
        "cr": text.cr,
        "final_newline": match text.final_newline {
            FinalNewline::Present => "present",
            FinalNewline::Absent => "absent",
            FinalNewline::Empty => "empty",
        },
        "encoding": text.encoding.name(),
    })
}

/// What bounds a session.
pub fn limits(limits: &Limits) -> Value {
    json!({
        "frame_bytes": limits.frame_bytes,
        "content_bytes": limits.content_bytes,
        "in_flight": limits.in_flight,
        "streams": limits.streams,
        "in_flight_bytes": limits.in_flight_bytes,
        "send_deadline_ms": limits.send_deadline_ms,
    })
}

/// A broker's life.
pub fn incarnation(incarnation: Incarnation) -> Value {
    hex(&incarnation.0).into()
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
