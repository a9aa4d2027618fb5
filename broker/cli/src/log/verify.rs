//! Whether the records hold together.

use crate::args::{Form, Where};
use crate::changes::hex;
use crate::records::{Book, BookError, own};
use crate::say;
use portcullis_protocol::bounded::Text;
use portcullis_protocol::control::Verified;
use portcullis_protocol::view::Digest;
use serde_json::json;
use std::process::ExitCode;

/// Looks at all of them. With a head that was seen before, that one must be among them too.
pub(super) fn verify(
    place: &Where,
    head: Option<Digest>,
    form: Form,
) -> Result<ExitCode, BookError> {
    let mut verified = Book::open(place)?.verify()?;
    let last = match (own(place), head) {
        (Ok(records), head) => {
            if let Some(head) = head
                && verified.broken.is_none()
                && !records.had_head(head)?
            {
                let what = "missing: the head that was seen before, and what led to it";
                verified.broken = Some(Text::plain(what));
            }
            records.head()?
        }
        (Err(error), Some(_)) => return Err(error),
        // Where the broker keeps them elsewhere, its word on the chains is all there is.
        (Err(_), None) => None,
    };
    Ok(tell(&verified, last, form))
}

fn tell(verified: &Verified, head: Option<Digest>, form: Form) -> ExitCode {
    let head = head.map(|head| hex(&head.0));
    match form {
        Form::Json => say::out(json!({
            "version": 1,
            "sessions": verified.sessions,
            "receipts": verified.receipts,
            "open": verified.open,
            "head": head,
            "broken": verified.broken.as_ref().map(ToString::to_string),
        })),
        Form::Text => {
            say::out(verdict(verified));
            if let Some(head) = head {
                say::out(format_args!("head {head}"));
            }
        }
    }
    match verified.broken {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

fn verdict(verified: &Verified) -> String {
    let counts = format!(
        "{} of {}",
        crate::words::counted(verified.receipts, "receipt"),
        crate::words::counted(verified.sessions, "session")
    );
    match (&verified.broken, verified.open) {
        (Some(broken), _) => format!("BROKEN: {broken} ({counts} looked at)"),
        (None, 0) => format!("whole: {counts}"),
        (None, open) => format!("whole: {counts}; {open} changes are not settled yet"),
    }
}
