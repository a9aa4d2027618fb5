//! Whether a file that was exported holds together: with no records, on any host.

use super::export::VERSION;
use super::lines::{Line, first};
use crate::args::Form;
use crate::changes::hex;
use crate::records::BookError;
use crate::say;
use portcullis_protocol::path::escape;
use portcullis_protocol::view::Digest;
use serde_json::json;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

/// Longest line that is read. Those of an export are far shorter.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Changed,
    Missing,
    Reordered,
    Foreign,
    Torn,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Reordered => "reordered",
            Self::Foreign => "foreign",
            Self::Torn => "torn tail",
        }
    }
}

/// The first thing that does not hold.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    kind: Kind,
    what: String,
}

fn fault<T>(kind: Kind, what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault {
        kind,
        what: what.into(),
    })
}

/// What was seen of a file.
#[derive(Debug, Default)]
struct Seen {
    lines: u64,
    sessions: u64,
    receipts: u64,
    refusals: u64,
    /// The link of the last line that holds.
    head: Option<Digest>,
}

pub(super) fn verify(path: &Path, head: Option<Digest>, form: Form) -> Result<ExitCode, BookError> {
    let name = escape(path.as_os_str().as_bytes());
    let failed = |source| BookError::File {
        what: name.clone(),
        source,
    };
    let from: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(failed)?)
    };
    let lines = split(from).map_err(failed)?;
    let mut seen = Seen::default();
    let found = look(&lines, head, &mut seen).err();
    Ok(tell(&name, &seen, found.as_ref(), form))
}

/// A line as it is in the file.
struct Raw {
    bytes: Vec<u8>,
    /// Whether its end is there.
    ended: Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Yes,
    No,
}

fn split(from: impl Read) -> io::Result<Vec<Raw>> {
    let mut from = BufReader::new(from);
    let mut lines = Vec::new();
    loop {
        let mut bytes = Vec::new();
        (&mut from)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut bytes)?;
        let ended = match bytes.pop() {
            None => return Ok(lines),
            Some(b'\n') => Ended::Yes,
            Some(last) => {
                bytes.push(last);
                Ended::No
            }
        };
        lines.push(Raw { bytes, ended });
    }
}

/// A session of the file, as far as its receipts have gone.
struct Session {
    receipts: u64,
    chain: String,
    said: (u64, String),
}

fn look(raw: &[Raw], head: Option<Digest>, seen: &mut Seen) -> Result<(), Fault> {
    let mut sessions = HashMap::new();
    let mut export = None;
    let mut previous = first();
    let mut last: Option<Line> = None;
    for (number, raw_line) in (1..).zip(raw) {
        if last.as_ref().is_some_and(|line| line.kind == "head") {
            return fault(Kind::Foreign, format!("line {number} is after the head"));
        }
        let line = match (Line::read(&raw_line.bytes), raw_line.ended) {
            (Some(line), Ended::Yes) => line,
            (Some(_) | None, Ended::No) => {
                let what = format!("line {number} is cut short; those before it hold together");
                return fault(Kind::Torn, what);
            }
            (None, Ended::Yes) => return fault(Kind::Changed, format!("line {number}")),
        };
        let of = export.get_or_insert_with(|| line.export.clone());
        if line.export != *of {
            return fault(Kind::Foreign, format!("line {number} is of another export"));
        }
        in_place(raw, number, &line, previous)?;
        means(&line, number, &mut sessions, seen)?;
        previous = line.link;
        seen.lines = number;
        seen.head = Some(line.link);
        last = Some(line);
    }
    let Some(last) = last.filter(|line| line.kind == "head") else {
        let what = format!("the file ends after line {}, without its head", seen.lines);
        return fault(Kind::Torn, what);
    };
    ends(&last, &sessions, seen)?;
    match head {
        Some(head) if head != last.link => fault(
            Kind::Changed,
            "the link of the last line is another than the head that was given",
        ),
        Some(_) | None => Ok(()),
    }
}

/// Whether a line that is whole is where it belongs.
fn in_place(raw: &[Raw], number: u64, line: &Line, previous: Digest) -> Result<(), Fault> {
    if line.number == number && line.previous == previous {
        return Ok(());
    }
    if line.number == number {
        // It is whole, and was written after another line than the one that is before it.
        let before = number.saturating_sub(1);
        return fault(
            Kind::Changed,
            format!("line {before}, which line {number} was not written after"),
        );
    }
    let wanted = |other: &Raw| {
        Line::read(&other.bytes)
            .is_some_and(|other| other.number == number && other.export == line.export)
    };
    if line.number < number || raw.iter().any(wanted) {
        let what = format!("line {number} was line {} when it was written", line.number);
        return fault(Kind::Reordered, what);
    }
    let what = match line.number - number {
        1 => format!("line {number}"),
        _ => format!("lines {number} to {}", line.number - 1),
    };
    fault(Kind::Missing, what)
}

/// Whether a line says what the lines before it let it say.
fn means(
    line: &Line,
    number: u64,
    sessions: &mut HashMap<(u64, u64), Session>,
    seen: &mut Seen,
) -> Result<(), Fault> {
    let unfit = || Fault {
        kind: Kind::Changed,
        what: format!("line {number} does not say what such a line says"),
    };
    let ids = || Some((line.count("run")?, line.count("session")?));
    match (line.kind.as_str(), number) {
        ("export", 1) => match line.count("version") {
            Some(VERSION) => Ok(()),
            Some(other) => fault(
                Kind::Foreign,
                format!("its version is {other}, and {VERSION} is the one that is known"),
            ),
            None => Err(unfit()),
        },
        ("export", _) | (_, 1) => Err(unfit()),
        ("session", _) => {
            let said = || {
                let first = line.text("first_chain")?.to_owned();
                let last = line.text("last_chain")?.to_owned();
                Some((ids()?, first, (line.count("receipts")?, last)))
            };
            let (ids, chain, said) = said().ok_or_else(unfit)?;
            seen.sessions += 1;
            let session = Session {
                receipts: 0,
                chain,
                said,
            };
            match sessions.insert(ids, session) {
                None => Ok(()),
                Some(_) => Err(unfit()),
            }
        }
        ("receipt", _) => {
            let session = ids()
                .and_then(|ids| sessions.get_mut(&ids))
                .ok_or_else(unfit)?;
            if line.text("previous_chain") != Some(&session.chain) {
                return Err(unfit());
            }
            session.chain = line.text("chain").ok_or_else(unfit)?.to_owned();
            session.receipts += 1;
            seen.receipts += 1;
            Ok(())
        }
        ("refusal", _) => {
            seen.refusals += 1;
            Ok(())
        }
        ("head", _) => Ok(()),
        (_, _) => Err(unfit()),
    }
}

/// Whether sessions and the whole end as they say.
fn ends(head: &Line, sessions: &HashMap<(u64, u64), Session>, seen: &Seen) -> Result<(), Fault> {
    for ((run, session), state) in sessions {
        if state.said.0 != state.receipts || state.said.1 != state.chain {
            let what = format!("session {session} of run {run} does not end with its last receipt");
            return fault(Kind::Changed, what);
        }
    }
    let said = ["sessions", "receipts", "refusals"].map(|field| head.count(field));
    if said != [seen.sessions, seen.receipts, seen.refusals].map(Some) {
        return fault(Kind::Changed, "the head says other numbers than there are");
    }
    Ok(())
}

fn tell(name: &str, seen: &Seen, found: Option<&Fault>, form: Form) -> ExitCode {
    let head = seen.head.map(|head| hex(&head.0));
    match form {
        Form::Json => say::out(json!({
            "version": 1,
            "file": name,
            "lines": seen.lines,
            "sessions": seen.sessions,
            "receipts": seen.receipts,
            "refusals": seen.refusals,
            "head": head,
            "kind": found.map(|fault| fault.kind.name()),
            "broken": found.map(|fault| format!("{}: {}", fault.kind.name(), fault.what)),
        })),
        Form::Text => {
            let counts = format!(
                "{} of {}",
                crate::words::counted(seen.receipts, "receipt"),
                crate::words::counted(seen.sessions, "session")
            );
            match found {
                None => say::out(format_args!("whole: {counts}")),
                Some(fault) => say::out(format_args!(
                    "BROKEN: {}: {} ({counts} looked at)",
                    fault.kind.name(),
                    fault.what
                )),
            }
            if let Some(head) = head {
                say::out(format_args!("head {head}"));
            }
        }
    }
    match found {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests;
