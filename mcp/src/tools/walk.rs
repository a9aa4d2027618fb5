//! Answers of many results: within the room of one answer, and with what was not seen.

use crate::answer::Answer;
use crate::desk::Job;
use crate::failure::Failure;
use crate::name::Names;
use portcullis_client::protocol::limits::CURSOR_BYTES_MAX;
use portcullis_client::protocol::session::{Completeness, Cursor, Done};
use portcullis_client::protocol::view::Binding;
use portcullis_client::{Error, Part, Stream, StreamItem, json, told};
use serde_json::{Map, Value};

/// Results in one answer where the caller does not say.
pub(super) const RESULTS: u32 = 1000;
/// Results in one answer, at most.
const RESULTS_MAX: u32 = 20_000;

/// How many results an answer shall have: more than there is room for come in parts.
pub(super) fn limit(asked: Option<u64>) -> Result<u32, Failure> {
    counted("limit", asked, RESULTS, RESULTS_MAX)
}

/// A number from 1, of which more than `most` is as good as `most`.
pub(super) fn counted(
    name: &str,
    asked: Option<u64>,
    usual: u32,
    most: u32,
) -> Result<u32, Failure> {
    match asked {
        Some(0) => Err(Failure::Arguments(format!("`{name}`: it is at least 1"))),
        Some(asked) => Ok(u32::try_from(asked).unwrap_or(u32::MAX).min(most)),
        None => Ok(usual),
    }
}

/// A cursor that an earlier answer gave.
pub(super) fn cursor(text: Option<&str>) -> Result<Option<Cursor>, Failure> {
    let Some(text) = text else {
        return Ok(None);
    };
    json::unhex(text)
        .filter(|bytes| bytes.len() <= CURSOR_BYTES_MAX)
        .and_then(|bytes| Cursor::new(bytes).ok())
        .map(Some)
        .ok_or_else(|| {
            Failure::Arguments("cursor: take the one an answer gave, unchanged".to_owned())
        })
}

/// How a walk ended.
pub(super) struct Ended {
    pub(super) start: Option<Binding>,
    pub(super) done: Done,
    pub(super) found: u64,
}

/// Takes what comes, with what the request was bound to, and says how far it is. A call that nobody waits for any more is given up.
pub(super) fn each<T: StreamItem>(
    mut stream: Stream<'_, T>,
    job: &Job,
    mut put: impl FnMut(&Binding, T),
) -> Result<Ended, Error> {
    let mut found = 0_u64;
    while let Some(part) = stream.next_part() {
        match part? {
            Part::Items(items) => {
                found = found.saturating_add(u64::try_from(items.len()).unwrap_or(u64::MAX));
                // It comes with the first items.
                if let Some(start) = stream.start() {
                    items.into_iter().for_each(|item| put(start, item));
                }
            }
            Part::Progress(progress) => job.progress(progress),
        }
        if job.is_cancelled() {
            let start = stream.start().cloned();
            let done = stream.cancel()?;
            return Ok(Ended { start, done, found });
        }
    }
    let start = stream.start().cloned();
    let done = stream.finish()?;
    Ok(Ended { start, done, found })
}

/// Says what was found, and what was not looked at.
pub(super) fn tell(answer: &mut Answer, ended: &Ended, what: &str, names: &Names) {
    let Ended { start, done, found } = ended;
    let place = start.as_ref().map(|start| names.bound(start));
    if let Some(place) = &place {
        answer.fact("path", place.as_str());
    }
    answer.fact("found", *found);
    let complete = done.completeness == Completeness::Complete;
    answer.fact("complete", complete);
    if let Completeness::Cut { reason, cursor } = &done.completeness {
        answer.fact("cut", reason.name());
        if let Some(cursor) = cursor {
            answer.fact("cursor", json::hex(cursor.as_slice()));
        }
    }
    let passed: Map<String, Value> = told::passed_over(&done.statistics)
        .into_iter()
        .map(|(count, reason)| (reason.to_owned(), count.into()))
        .collect();
    if !passed.is_empty() {
        answer.fact("passedOver", passed);
    }
    answer.notes.extend(told::notes(done, "cursor"));
    let mut headline = format!("{found} {what}");
    if let Some(place) = place {
        headline.push_str(&format!(" in {place}"));
    }
    for note in &answer.notes {
        headline.push_str(&format!("; {note}"));
    }
    if answer.text.is_empty() {
        answer.text = format!("{found} {what}");
    }
    answer.headline = headline;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_results_than_there_is_room_for_are_as_many_as_there_is() {
        let of = |asked| limit(asked).ok();
        assert_eq!(of(None), Some(RESULTS));
        assert_eq!(of(Some(1)), Some(1));
        for many in [20_000, 20_001, 1 << 32, u64::MAX] {
            assert_eq!(of(Some(many)), Some(20_000));
        }
        assert_eq!(of(Some(0)), None);
    }

    #[test]
    fn a_cursor_is_one_that_an_answer_gave() {
        assert!(matches!(cursor(None), Ok(None)));
        assert!(matches!(cursor(Some("00ff")), Ok(Some(_))));
        for wrong in ["0", "zz", "\u{e4}", &"00".repeat(CURSOR_BYTES_MAX + 1)] {
            assert!(cursor(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
