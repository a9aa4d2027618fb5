//! `portcullis doctor`: what this host can enforce, found out by trying.

mod host;
mod places;
mod trial;

use crate::args::{DoctorArguments, Form};
use crate::say;
use serde_json::{Value, json};
use std::process::ExitCode;

/// First argument of the process that tries to make a user namespace. Not for people.
pub(crate) const NAMESPACE_ARGUMENT: &str = "__namespace";

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// Its stable name.
    name: &'static str,
    /// What was found, in words.
    found: String,
    /// Whether it is there.
    state: State,
    /// What it is for, and what its absence costs.
    matters: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There.
    Ok,
    /// Absent, and nothing works without it.
    Missing,
    /// Absent; something else is as strong, or this version does not use it.
    Spared,
    /// Only said.
    Note,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Spared => "absent",
            Self::Note => "note",
        }
    }
}

/// Looks, tries, and says.
pub(crate) fn doctor(arguments: &DoctorArguments) -> ExitCode {
    let mut rows = host::rows();
    rows.extend(places::rows());
    rows.push(trial::session(arguments.gate.as_deref()));
    rows.push(trial::worker());
    let whole = rows.iter().all(|row| match row.state {
        State::Missing => false,
        State::Ok | State::Spared | State::Note => true,
    });
    match arguments.form() {
        Form::Json => say::out(document(&rows, whole)),
        Form::Text => print(&rows, whole),
    }
    if whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn document(rows: &[Row], whole: bool) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name, "state": row.state.name(),
                "found": row.found, "matters": row.matters,
            })
        })
        .collect();
    json!({"version": 1, "can_confine": whole, "findings": rows})
}

fn print(rows: &[Row], whole: bool) {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        let (state, name) = (row.state.name(), row.name);
        say::out(format_args!("{state:7} {name:width$}  {}", row.found));
        match row.state {
            State::Missing | State::Spared => {
                let (none, matters) = ("", row.matters);
                say::out(format_args!("{none:7} {none:width$}  → {matters}"));
            }
            State::Ok | State::Note => {}
        }
    }
    say::out(if whole {
        "\nSessions and workers can be confined on this host."
    } else {
        "\nSessions or workers cannot be confined on this host; `portcullis run` will refuse."
    });
}
