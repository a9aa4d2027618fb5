//! `portcullis log`: what is on record of runs.

use crate::args::{Action, Form, LogArguments, RunChoice};
use crate::changes::{hex, line, touched_json};
use crate::records::{Book, BookError, embedded};
use crate::say;
use crate::time::Time;
use portcullis_protocol::control::{Receipt, RunRecord, Verified};
use portcullis_protocol::path::escape;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Shows, checks or writes out.
pub(crate) fn log(arguments: &LogArguments) -> ExitCode {
    let (run, action) = match arguments.wish() {
        Ok(wish) => wish,
        Err(wrong) => {
            say::err(format_args!("portcullis: {wrong}"));
            return ExitCode::from(2);
        }
    };
    let outcome = Book::open(&arguments.place).and_then(|mut book| match (action, run) {
        (Action::Verify, _) => verify(&mut book, arguments.form()),
        (Action::Show, None) => {
            list(&mut book, arguments)?;
            Ok(ExitCode::SUCCESS)
        }
        (Action::Show, Some(run)) => {
            show(&mut book, run, arguments.form())?;
            Ok(ExitCode::SUCCESS)
        }
        (Action::Export, run) => {
            export(&mut book, run)?;
            Ok(ExitCode::SUCCESS)
        }
    });
    outcome.unwrap_or_else(|error| failed(arguments.form(), &error))
}

/// Says why nothing could be told.
pub(crate) fn failed(form: Form, error: &BookError) -> ExitCode {
    match form {
        Form::Json => say::out(json!({"version": 1, "error": error.to_string()})),
        Form::Text => say::err(format_args!("portcullis: {error}")),
    }
    ExitCode::FAILURE
}

fn list(book: &mut Book, arguments: &LogArguments) -> Result<(), BookError> {
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
    Ok(())
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

fn show(book: &mut Book, run: RunChoice, form: Form) -> Result<(), BookError> {
    let record = book.run(run)?;
    match form {
        Form::Json => {
            let mut receipts = Vec::new();
            book.receipts(record.run, |receipt| receipts.push(receipt_json(&receipt)))?;
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
                for line in receipt_lines(&receipt) {
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
    Ok(())
}

fn receipt_lines(receipt: &Receipt) -> Vec<String> {
    let end = &receipt.end;
    let mut lines = vec![format!(
        "receipt {}  {}  {}, {}, by {}",
        receipt.id.number,
        Time(receipt.at_ms),
        end.outcome.name(),
        end.guarantee.name(),
        receipt.witness.name()
    )];
    let touched = end.touched.as_slice().iter();
    lines.extend(touched.map(|touched| format!("  {}", line(receipt, touched))));
    if let Some(refusal) = &end.refusal {
        let text = refusal.to_string();
        let said = text.strip_prefix("nothing was changed: ").unwrap_or(&text);
        lines.push(format!("  because: {said}"));
    }
    if end.left > 0 {
        let left = crate::words::counted(u64::from(end.left), "temporary file");
        lines.push(format!("  {left} could not be removed"));
    }
    lines
}

fn receipt_json(receipt: &Receipt) -> Value {
    let end = &receipt.end;
    let touched = end.touched.as_slice().iter();
    json!({
        "receipt": receipt.id.number,
        "chain": hex(&receipt.id.chain.0),
        "session": receipt.session.0,
        "at": Time(receipt.at_ms).to_string(),
        "witness": receipt.witness.name(),
        "outcome": end.outcome.name(),
        "guarantee": end.guarantee.name(),
        "names": touched.map(|touched| touched_json(receipt, touched)).collect::<Vec<_>>(),
        "because": end.refusal.as_ref().map(|refusal| json!({
            "code": refusal.code.name(),
            "note": refusal.note.as_ref().map(ToString::to_string),
        })),
        "temporaries_left": end.left,
        "diff_bytes": receipt.diff_bytes,
        "diff_cut": end.diff_cut,
    })
}

/// Every receipt of one run, or of all, in the order of their numbers.
fn export(book: &mut Book, run: Option<RunChoice>) -> Result<(), BookError> {
    let runs = match run {
        Some(run) => vec![book.run(run)?],
        None => {
            let mut all = book.runs(usize::MAX)?;
            all.reverse();
            all
        }
    };
    for record in runs {
        let run = record.run.0;
        book.receipts(record.run, |receipt| {
            let mut document = receipt_json(&receipt);
            if let Value::Object(fields) = &mut document {
                fields.insert("version".to_owned(), json!(1));
                fields.insert("run".to_owned(), json!(run));
            }
            say::out(document);
        })?;
    }
    Ok(())
}

fn verify(book: &mut Book, form: Form) -> Result<ExitCode, BookError> {
    let verified = book.verify()?;
    match form {
        Form::Json => say::out(json!({
            "version": 1,
            "sessions": verified.sessions,
            "receipts": verified.receipts,
            "open": verified.open,
            "broken": verified.broken.as_ref().map(ToString::to_string),
        })),
        Form::Text => say::out(verdict(&verified)),
    }
    Ok(match verified.broken {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    })
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
