//! `log export`: sessions and receipts for elsewhere, in lines that are linked to one another.
//! Documented in PROTOCOL.

use super::lines::Lines;
use super::receipt::{self, Digests, said};
use crate::args::{DigestChoice, ExportArguments, Form, RefusalChoice, RunChoice, Where};
use crate::changes::hex;
use crate::records::{Book, BookError, own};
use crate::say;
use crate::time::Time;
use portcullis_protocol::control::{Receipt, RefusalRecord, RunId, SessionRecord};
use portcullis_protocol::path::escape;
use portcullis_protocol::view::Digest;
use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

/// Version of what the lines say. The first had receipts alone, with no links between lines.
pub(super) const VERSION: u64 = 2;

/// Writes the receipts of one run, or of all, in the order of their numbers within each run.
pub(super) fn export(
    place: &Where,
    run: Option<RunChoice>,
    arguments: &ExportArguments,
    form: Form,
) -> Result<ExitCode, BookError> {
    let records = own(place)?;
    records.hold()?;
    let key = records.export_key()?;
    let state = hex(&key.state());
    let digests = match arguments.digests() {
        DigestChoice::Plain => Digests::Plain,
        DigestChoice::Keyed => Digests::Keyed(key),
    };
    let end = End {
        broken: records.verify()?.broken.as_ref().map(ToString::to_string),
        head: records.head()?,
    };
    let mut book = Book::State(records);
    let runs = match run {
        Some(run) => vec![book.run(run)?.run],
        None => {
            let all = book.runs(usize::MAX)?;
            all.iter().rev().map(|run| run.run).collect()
        }
    };
    let mut export = [0; 16];
    getrandom(&mut export, GetRandomFlags::empty()).map_err(|errno| written(errno.into()))?;
    let mut pages = Export {
        lines: Lines::new(target(arguments.output.as_deref())?, export),
        book,
        digests,
        counts: Counts::default(),
    };
    pages.begin(&state, run.is_some())?;
    for run in &runs {
        pages.run(*run, arguments.refusals())?;
    }
    pages.end(&end, arguments.output.as_deref(), form)
}

fn written(source: io::Error) -> BookError {
    BookError::File {
        what: "the export".to_owned(),
        source,
    }
}

fn target(output: Option<&Path>) -> Result<Box<dyn Write>, BookError> {
    let Some(path) = output else {
        return Ok(Box::new(BufWriter::new(io::stdout().lock())));
    };
    let mut new = OpenOptions::new();
    let file = new.write(true).create_new(true).mode(0o600).open(path);
    match file {
        Ok(file) => Ok(Box::new(BufWriter::new(file))),
        Err(source) => Err(BookError::File {
            what: escape(path.as_os_str().as_bytes()),
            source,
        }),
    }
}

#[derive(Debug, Default)]
struct Counts {
    sessions: u64,
    receipts: u64,
    refusals: u64,
    refusals_left_out: u64,
}

/// How the state itself ends.
struct End {
    broken: Option<String>,
    head: Option<Digest>,
}

struct Export {
    lines: Lines<Box<dyn Write>>,
    book: Book,
    digests: Digests,
    counts: Counts,
}

impl Export {
    fn begin(&mut self, state: &str, one: bool) -> Result<(), BookError> {
        let now = Time::now();
        let line = json!({
            "format": "portcullis export",
            "version": VERSION,
            "digests": self.digests.name(),
            "state": state,
            "runs": if one { "one" } else { "all" },
            "at": now.to_string(),
            "at_ms": now.0,
        });
        self.lines.write("export", line).map_err(written)
    }

    /// The sessions of a run, then its receipts, then what it was refused.
    fn run(&mut self, run: RunId, wanted: RefusalChoice) -> Result<(), BookError> {
        let Self {
            lines,
            book,
            digests,
            counts,
        } = self;
        for session in book.sessions(run)? {
            counts.sessions += 1;
            let line = session_line(run, &session, digests);
            lines.write("session", line).map_err(written)?;
        }
        let mut failed = Ok(());
        book.receipts(run, |receipt| {
            if failed.is_ok() {
                counts.receipts += 1;
                failed = lines.write("receipt", receipt_line(run, &receipt, digests));
            }
        })?;
        failed.map_err(written)?;
        match wanted {
            RefusalChoice::LeftOut => {}
            RefusalChoice::Told => {
                let (refusals, left_out) = book.refusals(run)?;
                counts.refusals_left_out += left_out;
                for refusal in &refusals {
                    counts.refusals += 1;
                    let line = refusal_line(run, refusal);
                    lines.write("refusal", line).map_err(written)?;
                }
            }
        }
        Ok(())
    }

    fn end(mut self, end: &End, output: Option<&Path>, form: Form) -> Result<ExitCode, BookError> {
        let End { broken, head } = end;
        let line = json!({
            "sessions": self.counts.sessions,
            "receipts": self.counts.receipts,
            "refusals": self.counts.refusals,
            "refusals_left_out": self.counts.refusals_left_out,
            "state_head": head.as_ref().map(|head| self.digests.of(head)),
            "state_broken": broken,
        });
        self.lines.write("head", line).map_err(written)?;
        let (link, to) = self.lines.end().map_err(written)?;
        drop(to);
        if let Some(output) = output {
            let file = escape(output.as_os_str().as_bytes());
            match form {
                Form::Json => say::out(json!({
                    "version": 1,
                    "file": file,
                    "sessions": self.counts.sessions,
                    "receipts": self.counts.receipts,
                    "refusals": self.counts.refusals,
                    "head": hex(&link.0),
                    "broken": broken,
                })),
                Form::Text => say::out(format_args!(
                    "{} of {} in {file}\nhead {}",
                    crate::words::counted(self.counts.receipts, "receipt"),
                    crate::words::counted(self.counts.sessions, "session"),
                    hex(&link.0)
                )),
            }
        }
        match broken {
            None => Ok(ExitCode::SUCCESS),
            Some(broken) => {
                say::err(format_args!(
                    "portcullis: the records that were exported do not hold together: {broken}"
                ));
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

fn session_line(run: RunId, session: &SessionRecord, digests: &Digests) -> Value {
    let roots = session.roots.as_slice().iter();
    json!({
        "run": run.0,
        "row": session.row,
        "incarnation": hex(&session.incarnation.0),
        "session": session.session.0,
        "authority": hex(&session.authority.0),
        "parent": session.parent.map(|parent| hex(&parent.0)),
        "request": session.request.as_str(),
        "owner": session.owner.as_str(),
        "conversation": session.conversation.as_str(),
        "roots": roots.map(|root| root.as_str()).collect::<Vec<_>>(),
        "cage": said(&session.cage),
        "began_ms": session.began_ms,
        "ended_ms": session.ended_ms,
        "receipts": session.receipts,
        "first_chain": digests.of(&session.first),
        "last_chain": digests.of(&session.head),
    })
}

fn receipt_line(run: RunId, receipt: &Receipt, digests: &Digests) -> Value {
    let mut line = receipt::document(receipt, digests);
    if let Value::Object(fields) = &mut line {
        fields.insert("run".to_owned(), json!(run.0));
    }
    line
}

fn refusal_line(run: RunId, refusal: &RefusalRecord) -> Value {
    let note = &refusal.note;
    json!({
        "run": run.0,
        "refusal": refusal.number,
        "session": refusal.session.0,
        "at": Time(refusal.at_ms).to_string(),
        "at_ms": refusal.at_ms,
        "verb": note.verb.map(|verb| verb.name()),
        "object": note.object.as_ref().map(|object| escape(object.as_slice())),
        "code": note.code.name(),
        "rule": note.rule.as_ref().map(|rule| rule.as_str()),
    })
}
