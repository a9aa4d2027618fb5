//! `search`: lines that match, as `grep` shows them.

use super::args::{Question, SearchArgs};
use super::flow::{Came, flow};
use super::hits::{Documents, Lines, Look};
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use super::types::{TypeGlobs, Types};
use crate::ask;
use crate::error::Error;
use crate::session::Session;
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::{PATTERN_BYTES_MAX, SEARCH_GLOBS_MAX};
use portcullis_protocol::session::Search;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

pub(super) fn search(
    args: &SearchArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let came = patiently(|| {
        let search = request(args, place)?;
        let mode = search.mode;
        let stream = session.search(&search)?;
        match report.form() {
            Form::Json => {
                let mut documents = Documents::new(mode);
                flow(stream, report, |found, out| documents.put(found, out))
            }
            Form::Text => {
                let mut lines = Lines::new(mode, Look::of(args));
                flow(stream, report, |found, out| lines.put(found, out))
            }
        }
    });
    match came {
        Ok(Came::Something) => Outcome::Done,
        Ok(Came::Nothing) => Outcome::NotDone,
        Err(error) => report.error(&error),
    }
}

/// The answer to what needs no session: the list of file types.
pub(super) fn types(question: &Question, report: &Report) -> Option<Outcome> {
    let Question::Search(args) = question else {
        return None;
    };
    args.which.type_list.then(|| {
        match Types::with(&args.which.type_add) {
            // Output that nobody reads is no failure.
            Ok(types) => drop(report.put(types.listed())),
            Err(wrong) => return report.error(&invalid("--type-add", wrong)),
        }
        Outcome::Done
    })
}

fn invalid(option: &str, wrong: impl std::fmt::Display) -> Error {
    Error::invalid(format_args!("{option}: {wrong}"))
}

pub(super) fn request(args: &SearchArgs, place: &Place) -> Result<Search, Error> {
    let (how, which, bounds) = (&args.how, &args.which, &args.bounds);
    let (include, exclude) = sorted(&which.glob);
    let exclude = exclude
        .into_iter()
        .chain(which.exclude.iter().map(OsString::as_os_str));
    let of_types = |option: &str, names: &[String]| {
        if names.is_empty() && which.type_add.is_empty() {
            // The table is not read for nothing.
            return Ok(TypeGlobs::default());
        }
        let types = Types::with(&which.type_add).map_err(|wrong| invalid("--type-add", wrong))?;
        types.globs(names).map_err(|wrong| invalid(option, wrong))
    };
    let mut search = ask::search(place.selector(&args.path)?, args.pattern.as_bytes())?;
    search.syntax = how.syntax();
    search.case = how.case();
    search.boundaries = how.boundaries();
    search.multi_line = how.multi_line();
    search.sense = how.sense();
    search.binary = which.binary();
    search.encoding = which.encoding;
    search.mode = args.shown.mode();
    search.depth = which.depth;
    search.passing = which.passing.passing();
    search.passing.exclude = globs("--exclude", exclude)?;
    search.include = globs("--glob", include)?;
    search.types = of_types("--type", &which.types)?;
    search.types_not = of_types("--type-not", &which.types_not)?;
    search.limit = bounds.limit;
    search.limit_per_file = bounds.max_count;
    search.file_bytes_max = which.max_filesize;
    search.time_ms = bounds.timeout.saturating_mul(1000);
    search.cursor.clone_from(&bounds.cursor);
    Ok(search)
}

/// Globs that are to match, and those with `!` before them, which are not.
fn sorted(globs: &[OsString]) -> (Vec<&OsStr>, Vec<&OsStr>) {
    let (mut include, mut exclude) = (Vec::new(), Vec::new());
    for glob in globs {
        match glob.as_bytes().strip_prefix(b"!") {
            Some(not) => exclude.push(OsStr::from_bytes(not)),
            None => include.push(glob.as_os_str()),
        }
    }
    (include, exclude)
}

pub(super) type Globs = Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>;

/// Globs as they are sent.
pub(super) fn globs<'a>(
    option: &str,
    patterns: impl IntoIterator<Item = &'a OsStr>,
) -> Result<Globs, Error> {
    let patterns = patterns.into_iter();
    let patterns: Result<Vec<_>, _> = patterns.map(|it| Bytes::new(it.as_bytes())).collect();
    let patterns = patterns.map_err(|error| invalid(option, error))?;
    Few::new(patterns).map_err(|error| invalid(option, error))
}
