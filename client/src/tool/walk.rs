//! `list` and `glob`.

use super::args::{GlobArgs, ListArgs, PageArgs};
use super::out::Gone;
use super::patience::patiently;
use super::place::Place;
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
    let done = patiently(|| {
        let mut list = ask::list(place.selector(&args.path)?);
        list.depth = args.depth;
        list.detail = detail(&args.page);
        list.limit = args.page.limit;
        list.cursor.clone_from(&args.page.cursor);
        entries(session.list(&list)?, &args.page, report)
    });
    done.map_or_else(|error| report.error(&error), |()| Outcome::Done)
}

pub(super) fn glob(
    args: &GlobArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let done = patiently(|| {
        let mut glob = ask::glob(place.selector(&args.path)?, args.pattern.as_bytes())?;
        glob.detail = detail(&args.page);
        glob.limit = args.page.limit;
        glob.cursor.clone_from(&args.page.cursor);
        entries(session.glob(&glob)?, &args.page, report)
    });
    done.map_or_else(|error| report.error(&error), |()| Outcome::Done)
}

fn detail(page: &PageArgs) -> Detail {
    if page.long {
        Detail::Full
    } else {
        Detail::Names
    }
}

/// Writes the entries as they come, then how it ended.
fn entries(mut stream: Stream<'_, Entry>, page: &PageArgs, report: &Report) -> Result<(), Error> {
    for item in stream.by_ref() {
        let entry = item?;
        let written: Result<(), Gone> = match (report.form(), page.null) {
            (Form::Json, _) => report.document("entry", json::entry(&entry)),
            (Form::Text, true) => report.put([entry.path.as_kernel_bytes(), b"\0"].concat()),
            (Form::Text, false) => report.put(line(&entry)),
        };
        if written == Err(Gone) {
            // Nobody reads on: dropping the stream tells the gate to stop.
            return Ok(());
        }
    }
    let start = stream.start().cloned();
    report.done(&stream.finish()?, start.as_ref());
    Ok(())
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
