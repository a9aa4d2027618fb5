//! `list` and `glob`.

use super::args::{GlobArgs, ListArgs, PageArgs};
use super::find::globs;
use super::flow::flow;
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use crate::ask;
use crate::error::Error;
use crate::json;
use crate::session::Session;
use crate::stream::Stream;
use crate::told;
use portcullis_protocol::bounded::Few;
use portcullis_protocol::limits::SORTED_ENTRIES_MAX;
use portcullis_protocol::session::{Detail, Entry, Glob, Kinds, List, Order};
use portcullis_protocol::view::Kind;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;

pub(super) fn list(
    args: &ListArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let done = patiently(|| {
        let list = listing(args, place)?;
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
        let glob = globbing(args, place)?;
        entries(session.glob(&glob)?, &args.page, report)
    });
    done.map_or_else(|error| report.error(&error), |()| Outcome::Done)
}

pub(super) fn listing(args: &ListArgs, place: &Place) -> Result<List, Error> {
    let page = &args.page;
    let mut list = ask::list(place.selector(&args.path)?);
    list.depth = args.depth();
    list.detail = detail(page);
    list.passing = args.passing();
    list.passing.exclude = excluded(page)?;
    list.kinds = kinds(page)?;
    (list.order, list.limit) = bounds(page)?;
    list.cursor.clone_from(&page.cursor);
    Ok(list)
}

pub(super) fn globbing(args: &GlobArgs, place: &Place) -> Result<Glob, Error> {
    let page = &args.page;
    let mut glob = ask::glob(place.selector(&args.path)?, args.pattern.as_bytes())?;
    glob.depth = args.depth;
    glob.detail = detail(page);
    glob.passing = args.passing.passing();
    glob.passing.exclude = excluded(page)?;
    glob.kinds = kinds(page)?;
    (glob.order, glob.limit) = bounds(page)?;
    glob.cursor.clone_from(&page.cursor);
    Ok(glob)
}

fn excluded(page: &PageArgs) -> Result<super::find::Globs, Error> {
    globs("--exclude", page.exclude.iter().map(OsString::as_os_str))
}

fn kinds(page: &PageArgs) -> Result<Kinds, Error> {
    let mut kinds: Vec<Kind> = Vec::new();
    for kind in &page.kinds {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    Few::new(kinds).map_err(|error| Error::invalid(format_args!("--type: {error}")))
}

/// The order, and how many entries there are at most in it.
fn bounds(page: &PageArgs) -> Result<(Order, u32), Error> {
    let (order, limit) = (page.order(), page.limit());
    if order != Order::Name && limit > SORTED_ENTRIES_MAX {
        return Err(Error::invalid(format_args!(
            "--limit: at most {SORTED_ENTRIES_MAX} in another order than by name"
        )));
    }
    Ok((order, limit))
}

fn detail(page: &PageArgs) -> Detail {
    if page.long {
        Detail::Full
    } else {
        Detail::Names
    }
}

/// Writes the entries as they come, then how it ended.
fn entries(stream: Stream<'_, Entry>, page: &PageArgs, report: &Report) -> Result<(), Error> {
    let came = match (report.form(), page.null) {
        (Form::Json, _) => flow(stream, report, |entry, out| json::put_entry(out, entry)),
        (Form::Text, true) => flow(stream, report, |entry, out| {
            out.extend_from_slice(entry.path.as_kernel_bytes());
            out.push(0);
        }),
        (Form::Text, false) => flow(stream, report, put_line),
    };
    came.map(drop)
}

fn put_line(entry: &Entry, out: &mut Vec<u8>) {
    let path = entry.path.as_kernel_bytes();
    let Some(detail) = &entry.detail else {
        told::put_name(path, entry.kind, out);
        out.push(b'\n');
        return;
    };
    let line = told::Line {
        kind: entry.kind,
        mode: detail.mode,
        size: detail.size,
        modified: detail.modified,
        name: told::name(path, entry.kind),
        link: detail.link.as_ref().map(|link| link.as_slice()),
    };
    // Writing to memory cannot fail.
    write!(out, "{line}").ok();
    if let Some(rule) = &entry.denied {
        write!(out, " (reading denied by {rule})").ok();
    }
    out.push(b'\n');
}
