//! `read`: content of files, as it is.

use super::args::ReadArgs;
use super::out::Gone;
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use crate::ask;
use crate::error::Error;
use crate::json;
use crate::label;
use crate::session::Session;
use crate::stamp;
use portcullis_protocol::session::{
    FinalNewline, Range, Read, ReadEnd, ReadTail, Rest, Steadiness, Survey, TextSurvey,
};
use serde_json::json;
use std::ffi::OsStr;

pub(super) fn read(
    args: &ReadArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let job = Job {
        args,
        place,
        report,
    };
    let mut worst = Outcome::Done;
    let mut refused = 0_u64;
    for (n, path) in args.paths.iter().enumerate() {
        let header = match (args.paths.len(), n) {
            (1, _) => Header::None,
            (_, 0) => Header::First,
            (_, _) => Header::Later,
        };
        let result = patiently(|| {
            let result = match report.form() {
                Form::Json => job.document(path, session),
                Form::Text => job.text(path, header, session),
            };
            match result {
                Ok(()) => Ok(Ok(())),
                Err(Stop::Gone) => Ok(Err(Gone)),
                Err(Stop::Error(error)) => Err(error),
            }
        });
        match result {
            Ok(Ok(())) => {}
            Ok(Err(Gone)) => return worst,
            Err(error) => {
                refused += 1;
                worst = worst.max(report.error(&error));
            }
        }
    }
    if report.form() == Form::Json {
        let files = args.paths.len();
        drop(report.document("summary", json!({ "files": files, "refused": refused })));
    }
    worst
}

/// Why one file is not gone on with.
enum Stop {
    Error(Error),
    Gone,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Gone> for Stop {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// What stands before a file's content.
#[derive(Clone, Copy)]
enum Header {
    None,
    First,
    Later,
}

impl Header {
    fn put(self, name: &str, report: &Report) -> Result<(), Gone> {
        match self {
            Self::None => Ok(()),
            Self::First => report.put(format!("==> {name} <==\n")),
            Self::Later => report.put(format!("\n==> {name} <==\n")),
        }
    }
}

fn request(args: &ReadArgs, path: &OsStr, place: &Place) -> Result<Read, Error> {
    let mut read = ask::read(place.selector(path)?);
    if let Some(range) = args.range() {
        read.range = range;
    } else if args.number || args.labels {
        read.range = Range::Lines {
            first: 1,
            count: u64::MAX,
        };
    }
    // The number of a last line is known only when all lines before it are counted.
    let counts = args.number && matches!(read.range, Range::Tail { .. });
    read.survey = match (args.digest, args.survey || counts) {
        (true, _) => Survey::TextAndDigest,
        (false, true) => Survey::Text,
        (false, false) => Survey::None,
    };
    Ok(read)
}

/// What all files of one command share.
struct Job<'a> {
    args: &'a ReadArgs,
    place: &'a Place,
    report: &'a Report,
}

impl Job<'_> {
    /// One file as a document.
    fn document(&self, path: &OsStr, session: &mut Session) -> Result<(), Stop> {
        let read = request(self.args, path, self.place)?;
        if self.args.labels {
            let selector = self.place.selector(path)?;
            let content = session.read_labelled(selector, read.range)?;
            return Ok(self
                .report
                .document("file", json::labelled_file(&content)?)?);
        }
        for answer in session.read(&read)? {
            let content = answer.map_err(Error::from)?;
            self.report.document("file", json::file(&content))?;
        }
        Ok(())
    }

    /// One file as it is.
    fn text(&self, path: &OsStr, header: Header, session: &mut Session) -> Result<(), Stop> {
        let Self { args, report, .. } = *self;
        if args.labels {
            return self.labelled(path, header, session);
        }
        let name = self.place.shown(path);
        let read = request(args, path, self.place)?;
        let mut numbers = Numbers::new(args, &read);
        let mut stream = session.read_stream(&read)?;
        while let Some((part, bytes)) = stream.next_part()? {
            if let Some(head) = &part.head {
                header.put(&name, report)?;
                if args.stamp {
                    let version = stamp::show(&head.observation.stamp);
                    report.note(&format!("{name}: stamp {version}"));
                }
            }
            numbers.put(bytes, report)?;
            match part.tail {
                None => {}
                Some(ReadTail::Refused(refusal)) => return Err(Error::from(refusal).into()),
                Some(ReadTail::Read(end)) => {
                    numbers.finish(end.first_line, report)?;
                    for note in notes(args, &end) {
                        report.note(&format!("{name}: {note}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// One file with a label before each line. What they are made of comes with its end.
    fn labelled(&self, path: &OsStr, header: Header, session: &mut Session) -> Result<(), Stop> {
        let Self { args, report, .. } = *self;
        let name = self.place.shown(path);
        let range = request(args, path, self.place)?.range;
        let content = session.read_labelled(self.place.selector(path)?, range)?;
        let lines = content.labelled()?;
        header.put(&name, report)?;
        if args.stamp {
            let version = stamp::show(&content.binding.observation.stamp);
            report.note(&format!("{name}: stamp {version}"));
        }
        report.put(label::shown(lines))?;
        for note in notes(args, &content.end) {
            report.note(&format!("{name}: {note}"));
        }
        Ok(())
    }
}

/// Line numbers before lines, where asked for.
enum Numbers {
    /// Content goes out as it is.
    Off,
    /// The number of the next line is known.
    Known { next: u64, at_start: bool },
    /// It comes with the end: the content is kept until then.
    AtEnd(Vec<u8>),
}

impl Numbers {
    fn new(args: &ReadArgs, read: &Read) -> Self {
        if !args.number {
            return Self::Off;
        }
        let next = match read.range {
            Range::Tail { .. } => return Self::AtEnd(Vec::new()),
            Range::Lines { first, .. } => first,
            Range::Head { .. } | Range::Bytes { .. } => 1,
        };
        Self::Known {
            next,
            at_start: true,
        }
    }

    fn put(&mut self, bytes: &[u8], report: &Report) -> Result<(), Gone> {
        match self {
            Self::Off => report.put(bytes),
            Self::AtEnd(kept) => {
                kept.extend_from_slice(bytes);
                Ok(())
            }
            Self::Known { next, at_start } => report.put(numbered(bytes, next, at_start)),
        }
    }

    fn finish(&mut self, first_line: u64, report: &Report) -> Result<(), Gone> {
        match self {
            Self::Off | Self::Known { .. } => Ok(()),
            Self::AtEnd(kept) => {
                let (mut next, mut at_start) = (first_line, true);
                report.put(numbered(kept, &mut next, &mut at_start))
            }
        }
    }
}

/// The bytes with a number before each line. `at_start` says whether they begin a line, then
/// whether what follows does.
fn numbered(bytes: &[u8], next: &mut u64, at_start: &mut bool) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if *at_start {
            shown.extend_from_slice(format!("{next:>6}\t").as_bytes());
            *next = next.saturating_add(1);
        }
        shown.extend_from_slice(line);
        *at_start = line.ends_with(b"\n");
    }
    shown
}

/// What a person should know of how a file was read.
fn notes(args: &ReadArgs, end: &ReadEnd) -> Vec<String> {
    let mut notes = Vec::new();
    match end.rest {
        Rest::End | Rest::More => {}
        Rest::CutAtScanLimit => notes.push(format!(
            "cut at the limit of one request; go on with --bytes {}:",
            end.next_offset
        )),
    }
    match end.steadiness {
        Steadiness::Steady => {}
        Steadiness::Torn => {
            notes.push("it changed while it was read: the bytes may be of two versions".to_owned());
        }
    }
    if args.survey || args.digest {
        notes.push(match &end.text {
            Some(text) => survey_text(text),
            None => "no survey: it is larger than one request may scan".to_owned(),
        });
    }
    // Labels want the digest too, and need not be told it.
    if let (true, Some(digest)) = (args.digest, &end.digest) {
        notes.push(format!("blake3 {}", json::hex(digest)));
    }
    notes
}

fn survey_text(text: &TextSurvey) -> String {
    let last = match text.final_newline {
        FinalNewline::Present => "the last one ended",
        FinalNewline::Absent => "the last one not ended",
        FinalNewline::Empty => "no line at all",
    };
    let (lines, lf, crlf, cr) = (text.lines, text.lf, text.crlf, text.cr);
    let encoding = text.encoding.name();
    format!("{lines} lines ({lf} LF, {crlf} CRLF, {cr} lone CR; {last}), {encoding}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_at_the_start_of_lines_whatever_the_parts() {
        let text = b"a\nbb\n\nc";
        let whole = "     9\ta\n    10\tbb\n    11\t\n    12\tc";
        for cut in 0..=text.len() {
            let (mut next, mut at_start) = (9, true);
            let (head, tail) = text.split_at(cut);
            let mut shown = numbered(head, &mut next, &mut at_start);
            shown.extend(numbered(tail, &mut next, &mut at_start));
            assert_eq!(String::from_utf8(shown).unwrap(), whole, "cut at {cut}");
        }
    }
}
