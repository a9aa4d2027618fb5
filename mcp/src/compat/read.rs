//! Reading files.

use super::answer::{Answer, Doing, Trouble, failure};
use super::call::Part;
use super::directories::{Directories, Place};
use crate::tools::{Media, address};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_client::protocol::bounded::Few;
use portcullis_client::protocol::limits::{READ_FILES_MAX, SCAN_BYTES_MAX};
use portcullis_client::protocol::session::{Range, Read, Rest, Steadiness, Survey};
use portcullis_client::{Error, FileAnswer, FileContent, Session, ask};

/// How often a file that changes under the reading is read.
const TRIES: usize = 3;

/// Reads a file's text.
pub(super) fn text(
    session: &mut Session,
    directories: &Directories,
    path: &str,
    part: Part,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let range = match part {
        Part::Whole => ask::WHOLE,
        Part::Head(count) => Range::Head { count },
        Part::Tail(count) => Range::Tail { count },
        Part::HeadAndTail => {
            let both = "Cannot specify both head and tail parameters simultaneously";
            return Err(both.to_owned().into());
        }
    };
    let content = content(session, directories, &place, range)?;
    let mut text = lossy(content.bytes);
    match part {
        // Lines are joined by newlines, and none is at the end.
        Part::Head(_) | Part::Tail(_) if text.ends_with('\n') => {
            text.pop();
        }
        Part::Whole | Part::Head(_) | Part::Tail(_) | Part::HeadAndTail => {}
    }
    Ok(Answer::text(text))
}

/// Reads a file's bytes.
pub(super) fn media(
    session: &mut Session,
    directories: &Directories,
    path: &str,
) -> Result<Answer, Trouble> {
    let place = directories.place(path)?;
    let content = content(session, directories, &place, ask::WHOLE)?;
    let found = place.sibling(content.binding.path.as_bytes());
    Ok(Answer::Media {
        kind: Media::of(found.path()),
        data: STANDARD.encode(&content.bytes),
        address: address(found.path()),
    })
}

/// Reads several files; each has its own answer or error.
pub(super) fn many(session: &mut Session, directories: &Directories, paths: &[String]) -> Answer {
    let mut parts: Vec<String> = Vec::with_capacity(paths.len());
    for paths in paths.chunks(READ_FILES_MAX) {
        let places: Vec<_> = paths.iter().map(|path| directories.place(path)).collect();
        let known: Vec<Place> = places.iter().flatten().cloned().collect();
        let mut read = read_some(session, directories, &known).into_iter();
        for (path, place) in paths.iter().zip(places) {
            let came = match place {
                Ok(_) => read.next(),
                Err(error) => Some(Err(error.into())),
            };
            parts.push(match came {
                Some(Ok(text)) => format!("{path}:\n{text}\n"),
                Some(Err(error)) => format!("{path}: Error - {error}"),
                None => format!("{path}: Error - it was not answered"),
            });
        }
    }
    Answer::text(parts.join("\n---\n"))
}

/// Reads at most [`READ_FILES_MAX`] files in one request.
fn read_some(
    session: &mut Session,
    directories: &Directories,
    places: &[Place],
) -> Vec<Result<String, Trouble>> {
    if places.is_empty() {
        return Vec::new();
    }
    let asked = places
        .iter()
        .map(Place::selector)
        .collect::<Result<Vec<_>, _>>();
    let read = asked.and_then(ask::read_many);
    let answers = match read.and_then(|read| session.read(&read)) {
        Ok(answers) => answers,
        Err(error) => {
            let failed = |place| Err(failure(error.clone(), Doing::Open, place, directories));
            return places.iter().map(failed).collect();
        }
    };
    let mut texts = Vec::with_capacity(places.len());
    for (place, answer) in places.iter().zip(answers) {
        texts.push(match settled(answer) {
            Settled::Whole(content) => Ok(lossy(content.bytes)),
            Settled::Refused(error) => Err(failure(error, Doing::Open, place, directories)),
            // Once more, alone.
            Settled::Torn => {
                content(session, directories, place, ask::WHOLE).map(|content| lossy(content.bytes))
            }
            Settled::TooLarge => Err(too_large()),
        });
    }
    texts
}

/// Reads one file's part, again where it changed meanwhile.
fn content(
    session: &mut Session,
    directories: &Directories,
    place: &Place,
    range: Range,
) -> Result<FileContent, Trouble> {
    let failed = |error| failure(error, Doing::Open, place, directories);
    let read = Read {
        selectors: Few::new(vec![place.selector().map_err(failed)?]).unwrap_or_default(),
        range,
        survey: Survey::None,
    };
    for _ in 0..TRIES {
        let mut answers = session.read(&read).map_err(failed)?;
        match answers.pop().map(settled) {
            Some(Settled::Whole(content)) => return Ok(content),
            Some(Settled::Refused(error)) => return Err(failed(error)),
            Some(Settled::TooLarge) => return Err(too_large()),
            Some(Settled::Torn) | None => {}
        }
    }
    Err(format!(
        "nothing was read: {} was changed while it was read, {TRIES} times; read it again, or only \
         its last lines with `tail`",
        place.text()
    )
    .into())
}

/// What came of one file.
enum Settled {
    Whole(FileContent),
    Refused(Error),
    Torn,
    TooLarge,
}

fn settled(answer: FileAnswer) -> Settled {
    match answer {
        Err(refusal) => Settled::Refused(refusal.into()),
        Ok(content) => match (content.end.rest, content.end.steadiness) {
            (Rest::CutAtScanLimit, _) => Settled::TooLarge,
            (Rest::End | Rest::More, Steadiness::Torn) => Settled::Torn,
            (Rest::End | Rest::More, Steadiness::Steady) => Settled::Whole(content),
        },
    }
}

fn too_large() -> Trouble {
    Trouble::Said(format!(
        "nothing was read: the file is larger than {} MiB; read its first or last lines with `head` \
         or `tail`",
        SCAN_BYTES_MAX >> 20
    ))
}

/// What is not UTF-8 is shown as such. Most files are, and are not copied.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
