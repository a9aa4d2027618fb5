//! `portcullis status`: which broker serves, and what runs on it.

use crate::args::{Form, StatusArguments};
use crate::log::run_json;
use crate::say;
use crate::time::Time;
use portcullis_client::place::{RuntimeDirectory, state_path};
use portcullis_client::{AttachOrStartError, Control, Error, Sessions};
use portcullis_protocol::control::{Build, RunRecord};
use portcullis_protocol::path::escape;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A broker that serves.
struct Serving {
    process: i32,
    socket: PathBuf,
    build: Build,
    gates: Sessions,
    /// Runs whose connection is open.
    runs: Vec<RunRecord>,
}

/// Says who serves.
pub(crate) fn status(arguments: &StatusArguments) -> ExitCode {
    let form = arguments.form();
    match look(arguments.socket.as_deref()) {
        Ok(Some(serving)) => {
            match form {
                Form::Json => say::out(serving.json()),
                Form::Text => serving.print(),
            }
            ExitCode::SUCCESS
        }
        Ok(None) => {
            match form {
                Form::Json => say::out(json!({"version": 1, "serving": null})),
                Form::Text => say::out("no broker serves; `portcullis run` starts one"),
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            match form {
                Form::Json => say::out(json!({"version": 1, "error": error.to_string()})),
                Form::Text => say::err(format_args!("portcullis: {error}")),
            }
            ExitCode::FAILURE
        }
    }
}

fn look(socket: Option<&Path>) -> Result<Option<Serving>, AttachOrStartError> {
    let Some(mut control) = Control::attach(socket)? else {
        return Ok(None);
    };
    let Some(place) = RuntimeDirectory::find(socket)? else {
        return Ok(None);
    };
    let gates = control.peer_gates();
    Ok(Some(Serving {
        process: control.peer_process().unwrap_or(0),
        socket: place.socket_path(),
        build: control.build(),
        gates,
        runs: running(&mut control)?,
    }))
}

/// The runs that go on, among the latest.
fn running(control: &mut Control) -> Result<Vec<RunRecord>, Error> {
    let mut runs = control.runs(None)?;
    runs.retain(|run| run.ended_ms.is_none());
    Ok(runs)
}

impl Serving {
    fn print(&self) {
        let socket = escape(self.socket.as_os_str().as_bytes());
        say::out(format_args!(
            "process {} serves at {socket}, build of {}, {} running",
            self.process,
            Time(self.build.0),
            self.gates
        ));
        for run in &self.runs {
            say::out(format_args!(
                "  run {}: {}, for {}, began {}, {}, {} done, {} failed, {} uncertain",
                run.run.0,
                run.request,
                run.owner,
                Time(run.began_ms),
                crate::words::counted(u64::from(run.sessions), "session"),
                run.done,
                run.failed,
                run.uncertain
            ));
        }
        if let Ok(state) = state_path(None) {
            let log = state.join(portcullis_client::place::LOG_NAME);
            let log = escape(log.as_os_str().as_bytes());
            say::out(format_args!("  its log, where a run started it: {log}"));
        }
    }

    fn json(&self) -> Value {
        json!({
            "version": 1,
            "serving": {
                "process": self.process,
                "socket": escape(self.socket.as_os_str().as_bytes()),
                "build": Time(self.build.0).to_string(),
                "gates": self.gates.0,
                "runs": self.runs.iter().map(run_json).collect::<Vec<_>>(),
            },
        })
    }
}
