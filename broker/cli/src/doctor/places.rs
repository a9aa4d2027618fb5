//! Findings about the user's broker: where it is met, where its records are, whether it serves.

use super::{Row, State};
use crate::limits::{DESCRIPTORS_MIN, most_descriptors};
use portcullis_client::place::{RuntimeDirectory, state_path};
use portcullis_client::{AttachOrStartError, Control};
use portcullis_protocol::path::escape;
use rustix::fs::{Access, AtFlags, CWD};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// All of them. Nothing is made.
pub(super) fn rows() -> Vec<Row> {
    vec![runtime(), state(), broker(), limit()]
}

fn runtime() -> Row {
    let (state, found) = match RuntimeDirectory::find(None) {
        Ok(Some(place)) => (State::Ok, shown(place.path())),
        Ok(None) => (State::Ok, "not there yet; a run makes it".to_owned()),
        Err(error) => (State::Spared, error.to_string()),
    };
    Row {
        name: "runtime-directory",
        found,
        state,
        matters: "where runs meet their broker; without it `run` needs --embedded",
    }
}

/// The nearest directory that is there must be one that this user can write to.
fn state() -> Row {
    let (state, found) = match state_path(None) {
        Ok(path) => {
            let there = path.ancestors().find(|path| path.exists());
            let writable = there.is_some_and(can_write);
            if writable {
                (State::Ok, shown(&path))
            } else {
                let found = format!("{}: cannot be written to", shown(&path));
                (State::Missing, found)
            }
        }
        Err(error) => (State::Missing, error.to_string()),
    };
    Row {
        name: "state-directory",
        found,
        state,
        matters: "every change is recorded there before it is made",
    }
}

fn can_write(directory: &Path) -> bool {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(CWD, directory, access, AtFlags::EACCESS).is_ok()
}

fn broker() -> Row {
    let (state, found) = match Control::attach(None) {
        Ok(Some(control)) => (
            State::Note,
            format!(
                "process {} serves, {} running",
                control.peer_process().unwrap_or(0),
                control.peer_gates()
            ),
        ),
        Ok(None) => (State::Note, "none serves; a run starts one".to_owned()),
        // Told above.
        Err(AttachOrStartError::Place(_)) => (State::Note, "cannot be met".to_owned()),
        Err(error) => (State::Spared, error.to_string()),
    };
    Row {
        name: "broker",
        found,
        state,
        matters: "runs of one user share it; without it `run` needs --embedded",
    }
}

fn limit() -> Row {
    let most = most_descriptors();
    let state = if most < DESCRIPTORS_MIN {
        State::Missing
    } else {
        State::Ok
    };
    Row {
        name: "descriptor-limit",
        found: format!("{most} at most for one process, {DESCRIPTORS_MIN} are needed"),
        state,
        matters: "a worker that fills its user's sockets must not stop the broker",
    }
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}
