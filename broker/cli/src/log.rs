//! `portcullis log`: what is on record of runs.

mod export;
mod file;
mod lines;
mod receipt;
mod repair;
mod verify;

use crate::args::{Form, LogArguments, RunChoice, Wish};
use crate::records::{Book, BookError, embedded};
use crate::say;
use crate::time::Time;
use portcullis_protocol::control::RunRecord;
use portcullis_protocol::path::escape;
use receipt::Digests;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Shows, checks or writes out.
pub(crate) fn log(arguments: &LogArguments) -> ExitCode {
    let wish = match arguments.wish() {
        Ok(wish) => wish,
        Err(wrong) => {
            say::err(format_args!("portcullis: {wrong}"));
            return ExitCode::from(2);
        }
    };
    let form = arguments.form();
    let place = &arguments.place;
    let outcome = match wish {
        Wish::List => Book::open(place).and_then(|mut book| list(&mut book, arguments)),
        Wish::Run(run) => Book::open(place).and_then(|mut book| show(&mut book, run, form)),
        Wish::Receipt(receipt) => {
            Book::open(place).and_then(|mut book| receipt::show(&mut book, receipt, form))
        }
        Wish::Verify { head } => verify::verify(place, head, form),
        Wish::VerifyFile { file, head } => file::verify(file, head, form),
        Wish::Export(run, export) => export::export(place, run, export, form),
        Wish::Repair => repair::repair(place, form),
    };
    outcome.unwrap_or_else(|error| failed(form, &error))
}

/// Says why nothing could be told.
pub(crate) fn failed(form: Form, error: &BookError) -> ExitCode {
    match form {
        Form::Json => say::out(json!({"version": 1, "error": error.to_string()})),
        Form::Text => say::err(format_args!("portcullis: {error}")),
    }
    ExitCode::FAILURE
}

fn list(book: &mut Book, arguments: &LogArguments) -> Result<ExitCode, BookError> {
    let runs = book.runs(arguments.limit)?;
    match arguments.form() {
        Form::Json => {
            let runs: Vec<Value> = runs.iter().map(run_json).collect();
            say::out(json!({"version": 1, "runs": runs}));
        }
        Form::Text => {
            say::out(format_args!(
                "{:>5}  {:20}  {:20}  {:>8}  {:>6}  {:>6}  {:>9}  {:>4}  request",
                "run", "began", "ended", "sessions", "done", "failed", "uncertain", "open"
            ));
            for run in &runs {
                say::out(row(run));
            }
            if arguments.place.state.is_none() {
                for directory in embedded()? {
                    let directory = escape(directory.as_os_str().as_bytes());
                    say::out(format_args!("embedded: portcullis log --state {directory}"));
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(run: &RunRecord) -> String {
    let ended = run
        .ended_ms
        .map_or_else(|| "-".to_owned(), |at| Time(at).to_string());
    format!(
        "{:>5}  {:20}  {ended:20}  {:>8}  {:>6}  {:>6}  {:>9}  {:>4}  {}",
        run.run.0,
        Time(run.began_ms).to_string(),
        run.sessions,
        run.done,
        run.failed,
        run.uncertain,
        run.open,
        run.request,
    )
}

pub(crate) fn run_json(run: &RunRecord) -> Value {
    json!({
        "run": run.run.0,
        "request": run.request.as_str(),
        "owner": run.owner.as_str(),
        "began": Time(run.began_ms).to_string(),
        "ended": run.ended_ms.map(|at| Time(at).to_string()),
        "sessions": run.sessions,
        "done": run.done,
        "failed": run.failed,
        "uncertain": run.uncertain,
        "open": run.open,
    })
}

fn show(book: &mut Book, run: RunChoice, form: Form) -> Result<ExitCode, BookError> {
    let record = book.run(run)?;
    match form {
        Form::Json => {
            let mut receipts = Vec::new();
            book.receipts(record.run, |receipt| {
                receipts.push(receipt::document(&receipt, &Digests::Plain));
            })?;
            say::out(json!({"version": 1, "run": run_json(&record), "receipts": receipts}));
        }
        Form::Text => {
            say::out(format_args!(
                "run {}: {}, began {}",
                record.run.0,
                record.request,
                Time(record.began_ms)
            ));
            let mut count = 0_u64;
            book.receipts(record.run, |receipt| {
                count += 1;
                for line in receipt::lines(&receipt) {
                    say::out(line);
                }
            })?;
            if count == 0 {
                say::out("nothing was changed");
            }
            if record.open > 0 {
                say::out(format_args!(
                    "{} begun and not settled: what happened is being looked into",
                    crate::words::counted(record.open, "change")
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
