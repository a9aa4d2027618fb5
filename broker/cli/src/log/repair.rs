//! Bringing a torn tail of the records in order.

use crate::args::{Form, Where};
use crate::records::BookError;
use crate::say;
use crate::words::counted;
use portcullis_client::place::state_path;
use portcullis_protocol::path::escape;
use portcullis_warden::repair as mend;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

pub(super) fn repair(place: &Where, form: Form) -> Result<ExitCode, BookError> {
    let directory = state_path(place.state.as_deref())?;
    let done = mend(&directory)?;
    let evidence = done.evidence.as_ref();
    let evidence = evidence.map(|path| escape(path.as_os_str().as_bytes()));
    match (form, evidence) {
        (Form::Json, evidence) => say::out(json!({
            "version": 1,
            "sessions": done.sessions,
            "removed": done.removed,
            "evidence": evidence,
        })),
        (Form::Text, None) => say::out("nothing was changed: the records hold together"),
        (Form::Text, Some(evidence)) => say::out(format_args!(
            "{} brought up to the last whole receipt, {} that were not whole removed; the database \
             as it was: {evidence}",
            counted(done.sessions, "session"),
            counted(done.removed, "receipt")
        )),
    }
    Ok(ExitCode::SUCCESS)
}
