//! `--print-config`: what makes a client start this server, and what of that client is not held by
//! it. The configuration goes to standard output, so that it can be kept; what is said about it to
//! standard error.

mod known;
mod written;

use crate::args::{ConfigFor, Form, McpArguments};
use crate::reach::{ReachError, require_roots};
use crate::say;
use known::Client;
use portcullis_protocol::path::escape;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
enum ConfigError {
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("where this is, is not known: {0}")]
    Place(#[from] std::io::Error),
    #[error(
        "`{0}` is not UTF-8, which no client's configuration can hold: link to it from a name that is"
    )]
    NotText(String),
}

/// What a client is to start.
#[derive(Debug)]
struct Start {
    command: String,
    arguments: Vec<String>,
}

/// Writes the configuration for one client, or names the clients.
pub(super) fn print(client: ConfigFor, arguments: &McpArguments) -> ExitCode {
    let Some(known) = known::client(client) else {
        list(arguments.form());
        return ExitCode::SUCCESS;
    };
    let start = match start(arguments) {
        Ok(start) => start,
        Err(error) => {
            let error = error.to_string();
            match arguments.form() {
                Form::Json => say::out(json!({"version": 1, "error": error})),
                Form::Text => say::err(format_args!("portcullis: {error}")),
            }
            return ExitCode::FAILURE;
        }
    };
    let config = written::config(known.shape, &start);
    let remarks = remarks(&start, arguments);
    match arguments.form() {
        Form::Json => say::out(document(client, &known, &config, &remarks)),
        Form::Text => {
            say::out(config.trim_end());
            for line in known.lines().into_iter().chain(remarks) {
                say::err(line);
            }
        }
    }
    ExitCode::SUCCESS
}

fn list(form: Form) {
    let all = known::all();
    match form {
        Form::Json => {
            let all: Vec<Value> = all
                .map(|(name, client)| {
                    json!({"client": name, "title": client.title, "files": client.files})
                })
                .collect();
            say::out(json!({"version": 1, "clients": all}));
        }
        Form::Text => {
            for (name, client) in all {
                say::out(format_args!("{name:<15} {}", client.title));
            }
        }
    }
}

fn start(arguments: &McpArguments) -> Result<Start, ConfigError> {
    require_roots(&arguments.reach())?;
    let own = std::env::current_exe()?;
    let words: Result<Vec<String>, ConfigError> =
        arguments.again()?.iter().map(|word| text(word)).collect();
    Ok(Start {
        command: text(own.as_os_str())?,
        arguments: words?,
    })
}

fn text(word: &OsStr) -> Result<String, ConfigError> {
    let known = word.to_str().map(str::to_owned);
    known.ok_or_else(|| ConfigError::NotText(escape(word.as_bytes())))
}

/// What would make this configuration another one than was meant.
fn remarks(start: &Start, arguments: &McpArguments) -> Vec<String> {
    let mut remarks = Vec::new();
    if start.arguments.iter().any(|word| word.contains('$')) {
        remarks.push(
            "NOTE: an argument holds `$`, which some clients take for the beginning of a variable"
                .to_owned(),
        );
    }
    let reach = arguments.reach();
    for directory in reach.workspace.iter().chain(&reach.read) {
        if !directory.is_dir() {
            remarks.push(format!(
                "NOTE: {} is no directory now",
                escape(directory.as_os_str().as_bytes())
            ));
        }
    }
    let beside = Path::new(&start.command).with_file_name(super::server::NAME);
    if arguments.server.is_none() && !beside.is_file() {
        remarks.push(format!(
            "NOTE: there is no {} beside this executable: nothing will serve",
            super::server::NAME
        ));
    }
    remarks
}

fn document(client: ConfigFor, known: &Client, config: &str, remarks: &[String]) -> Value {
    json!({
        "version": 1,
        "client": client.name(),
        "title": known.title,
        "files": known.files,
        "format": known.shape.format(),
        "config": config,
        "outside": known.outside,
        "switch_off": known.off.iter().map(|off| json!({
            "where": off.place, "text": off.text,
        })).collect::<Vec<_>>(),
        "remains": known.remains,
        "remarks": remarks,
    })
}
