//! `list` and `glob`.

use super::args::{GlobArgs, ListArgs, PageArgs, Place};
use super::out::Gone;
use super::report::{Form, Outcome, Report};
use super::show;
use crate::ask;
use crate::error::Error;
use crate::json;
use crate::session::Session;
use crate::stream::Stream;
use portcullis_protocol::session::{Detail, Entry};
use std::os::unix::ffi::OsStrExt;

pub(super) fn list(
    args: &ListArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let stream = place.selector(&args.path).and_then(|selector| {
        let mut list = ask::list(selector);
        list.depth = args.depth;
        list.detail = detail(&args.page);
        list.limit = args.page.limit;
        list.cursor.clone_from(&args.page.cursor);
        session.list(&list)
    });
    entries(stream, &args.page, report)
}

pub(super) fn glob(
    args: &GlobArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let stream = place.selector(&args.path).and_then(|selector| {
        let mut glob = ask::glob(selector, args.pattern.as_bytes())?;
        glob.detail = detail(&args.page);
        glob.limit = args.page.limit;
        glob.cursor.clone_from(&args.page.cursor);
        session.glob(&glob)
    });
    entries(stream, &args.page, report)
}

fn detail(page: &PageArgs) -> Detail {
    if page.long {
        Detail::Full
    } else {
        Detail::Names
    }
}

fn entries(stream: Result<Stream<'_, Entry>, Error>, page: &PageArgs, report: &Report) -> Outcome {
    let mut stream = match stream {
        Ok(stream) => stream,
        Err(error) => return report.error(&error),
    };
    for item in stream.by_ref() {
        let entry = match item {
            Ok(entry) => entry,
            Err(error) => return report.error(&error),
        };
        let written: Result<(), Gone> = match (report.form(), page.null) {
            (Form::Json, _) => report.document("entry", json::entry(&entry)),
            (Form::Text, true) => report.put([entry.path.as_kernel_bytes(), b"\0"].concat()),
            (Form::Text, false) => report.put(line(&entry)),
        };
        if written == Err(Gone) {
            // Nobody reads on: dropping the stream tells the gate to stop.
            return Outcome::Done;
        }
    }
    let start = stream.start().cloned();
    match stream.finish() {
        Ok(done) => {
            report.done(&done, start.as_ref());
            Outcome::Done
        }
        Err(error) => report.error(&error),
    }
}

fn line(entry: &Entry) -> String {
    let name = show::name(entry.path.as_kernel_bytes(), entry.kind);
    let Some(detail) = &entry.detail else {
        return format!("{name}\n");
    };
    let line = show::Line {
        kind: entry.kind,
        mode: detail.mode,
        size: detail.size,
        modified: detail.modified,
        name,
        link: detail.link.as_ref().map(|link| link.as_slice()),
    };
    match &entry.denied {
        Some(rule) => format!("{line} (reading denied by {rule})\n"),
        None => format!("{line}\n"),
    }
}
