//! Walks: all entries of an answer, and what has to be said of those that are not in it.

use super::text::shown;
use crate::desk::Job;
use portcullis_client::protocol::session::{Completeness, Done, Entry};
use portcullis_client::protocol::view::Kind;
use portcullis_client::{Error, Paged, Part, Session, told};
use std::borrow::Cow;

/// What a walk told.
#[derive(Debug)]
pub(super) struct Walk {
    /// Where it began, below its root.
    pub(super) start: Vec<u8>,
    /// All entries, in order.
    pub(super) entries: Vec<Entry>,
    /// What is missing in them, for people.
    pub(super) notes: Vec<String>,
}

/// An entry as it is shown.
#[derive(Debug)]
pub(super) struct Below<'w> {
    pub(super) kind: Kind,
    /// Its path below the start.
    pub(super) path: Cow<'w, str>,
    /// Its path below the root.
    pub(super) below_root: Cow<'w, str>,
}

impl Walk {
    /// The entries as they are shown.
    pub(super) fn below(&self) -> impl Iterator<Item = Below<'_>> {
        let above = match self.start.len() {
            0 => 0,
            start => start + 1,
        };
        self.entries.iter().map(move |entry| {
            let path = entry.path.as_bytes();
            Below {
                kind: entry.kind,
                path: shown(path.get(above..).unwrap_or_default()),
                below_root: shown(path),
            }
        })
    }
}

/// Takes all that a listing or glob tells, and says how far it is. A call that nobody waits for
/// any more is given up.
pub(super) fn walk<R>(session: &mut Session, request: &R, job: &Job) -> Result<Walk, Error>
where
    R: Paged<Item = Entry>,
{
    let mut pages = session.pages(request)?;
    let mut entries = Vec::new();
    while let Some(part) = pages.next_part() {
        match part? {
            Part::Items(items) => entries.extend(items),
            Part::Progress(progress) => job.progress(progress),
        }
        if job.is_cancelled() {
            break;
        }
    }
    let start = pages
        .start()
        .map(|start| start.path.as_bytes().to_vec())
        .unwrap_or_default();
    let done = pages.finish()?;
    Ok(Walk {
        start,
        entries,
        notes: missing(&done),
    })
}

/// What an answer lacks.
fn missing(done: &Done) -> Vec<String> {
    let passed_over = told::passed_over(&done.statistics).into_iter();
    let mut notes: Vec<String> = passed_over
        .map(|(count, reason)| format!("passed over: {count} {reason}"))
        .collect();
    match &done.completeness {
        Completeness::Complete => {}
        Completeness::Cut { reason, .. } => notes.push(format!(
            "incomplete: {}; ask for a part of the tree",
            reason.name()
        )),
    }
    notes
}
