//! `read_text_file`: a file, or a part of one, and where the next part begins.

mod labels;

use super::media;
use crate::answer::Answer;
use crate::failure::Failure;
use crate::name::Names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_client::protocol::session::{
    Encoding, Range, Read, ReadEnd, ReadTail, Rest, Steadiness, Survey, TextSurvey,
};
use portcullis_client::protocol::view::Binding;
use portcullis_client::{Session, ask, stamp};
use serde::Deserialize;
use serde_json::json;

/// Bytes of text in one answer, at most; more come in parts.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a file in one answer of base64, at most; more come in parts.
const RAW_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    head: Option<u64>,
    tail: Option<u64>,
    start_line: Option<u64>,
    end_line: Option<u64>,
    offset: Option<u64>,
    #[serde(default)]
    labels: bool,
    #[serde(default, rename = "as")]
    shape: Shape,
}

/// What a file is wanted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Shape {
    #[default]
    Text,
    Base64,
    Media,
}

pub(crate) fn run(
    arguments: &Arguments,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    match arguments.shape {
        Shape::Text if arguments.labels => labels::read(arguments, session, names),
        Shape::Text => text(arguments, session, names),
        Shape::Base64 => base64(arguments, session, names),
        Shape::Media => {
            if arguments.part()? != Part::Whole || arguments.labels {
                return Err(wrong(
                    "media is of a whole file, without labels: leave the part out",
                ));
            }
            media::read(&arguments.path, session, names)
        }
    }
}

fn wrong(what: &str) -> Failure {
    Failure::Arguments(what.to_owned())
}

/// Which part of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Head(u64),
    Tail(u64),
    /// From this line, so many.
    Lines(u64, u64),
    From(u64),
}

impl Arguments {
    fn part(&self) -> Result<Part, Failure> {
        let lines = match (self.start_line, self.end_line) {
            (None, None) => None,
            (first, last) => {
                let first = first.unwrap_or(1);
                let last = last.unwrap_or(u64::MAX);
                if first == 0 || last < first {
                    return Err(wrong(
                        "lines count from 1, and endLine is not before startLine",
                    ));
                }
                let count = last.saturating_sub(first).saturating_add(1);
                Some(Part::Lines(first, count))
            }
        };
        let all = [
            self.head.map(Part::Head),
            self.tail.map(Part::Tail),
            self.offset.map(Part::From),
            lines,
        ];
        let mut given = all.into_iter().flatten();
        match (given.next(), given.next()) {
            (None, _) => Ok(Part::Whole),
            (Some(part), None) => Ok(part),
            (Some(_), Some(_)) => Err(wrong(
                "one part at a time: head, tail, offset, or startLine and endLine",
            )),
        }
    }
}

impl Part {
    /// The last line that is wanted, where it is one by its number.
    fn last(self) -> Option<u64> {
        match self {
            Self::Head(count) => Some(count),
            Self::Lines(first, count) => first.checked_add(count)?.checked_sub(1),
            Self::Whole | Self::Tail(_) | Self::From(_) => None,
        }
    }

    /// As it is asked for where an answer has room for `most` bytes.
    fn range(self, most: u64) -> Range {
        match self {
            Self::Whole => Range::Bytes {
                offset: 0,
                length: most,
            },
            Self::From(offset) => Range::Bytes {
                offset,
                length: most,
            },
            Self::Head(count) => Range::Head { count },
            Self::Tail(count) => Range::Tail { count },
            Self::Lines(first, count) => Range::Lines { first, count },
        }
    }
}

/// What was read, within the room of an answer.
struct Taken {
    binding: Binding,
    offset: u64,
    bytes: Vec<u8>,
    /// How it ended; none where it was given up because there is no room for more.
    end: Option<ReadEnd>,
}

/// Reads until the part ends or there is no room.
fn take(read: &Read, most: usize, session: &mut Session) -> Result<Taken, Failure> {
    let mut stream = session.read_stream(read)?;
    let mut taken: Option<Taken> = None;
    let mut refused = None;
    while let Some((part, bytes)) = stream.next_part()? {
        if let Some(binding) = part.head {
            taken = Some(Taken {
                binding,
                offset: part.offset,
                bytes: Vec::new(),
                end: None,
            });
        }
        match part.tail {
            Some(ReadTail::Refused(refusal)) => refused = Some(refusal),
            tail => {
                if let Some(taken) = &mut taken {
                    taken.bytes.extend_from_slice(bytes);
                    if let Some(ReadTail::Read(end)) = tail {
                        taken.end = Some(end);
                    }
                }
            }
        }
        if taken.as_ref().is_some_and(|taken| taken.bytes.len() > most) {
            break;
        }
    }
    match (refused, taken) {
        (Some(refusal), _) => Err(portcullis_client::Error::from(refusal).into()),
        (None, Some(taken)) => Ok(taken),
        (None, None) => Err(Failure::Unshown {
            code: "io",
            what: "the file's content did not come".to_owned(),
        }),
    }
}

fn text(arguments: &Arguments, session: &mut Session, names: &Names) -> Result<Answer, Failure> {
    let part = arguments.part()?;
    let most = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    let read = Read {
        range: part.range(most),
        survey: Survey::Text,
        ..ask::read(names.selector(&arguments.path)?)
    };
    let mut taken = take(&read, TEXT_BYTES_MAX, session)?;
    let survey = taken.end.as_ref().and_then(|end| end.text);
    let encoding = survey.map(|survey| survey.encoding);
    is_text(encoding, &taken.bytes)?;
    let whole_lines = cut_to_lines(&mut taken, TEXT_BYTES_MAX);
    let mut answer = Answer::default();
    facts(&mut answer, &taken.binding, names);
    let first = first_line(&taken, part);
    let lines = u64::try_from(taken.bytes.split_inclusive(|byte| *byte == b'\n').count());
    let lines = lines.unwrap_or(u64::MAX);
    if let Some(first) = first
        && lines > 0
    {
        answer.fact("startLine", first);
        answer.fact("endLine", first.saturating_add(lines).saturating_sub(1));
    }
    surveyed(&mut answer, survey, part);
    rest(
        &mut answer,
        &taken,
        (part, Shape::Text),
        first.filter(|_| whole_lines),
        lines,
    );
    if let Some(end) = &taken.end {
        steady(&mut answer, end);
    }
    answer.text = shown(&mut answer, &taken.bytes);
    answer.headline = headline(&answer);
    Ok(answer)
}

/// What is known of the whole file, and that nothing was found behind its end.
fn surveyed(answer: &mut Answer, survey: Option<TextSurvey>, part: Part) {
    let Some(survey) = survey else {
        return;
    };
    answer.fact("totalLines", survey.lines);
    answer.fact("encoding", survey.encoding.name());
    match part {
        Part::Lines(first, _) if first > survey.lines => answer.notes.push(format!(
            "there is no line {first}: the file has {}",
            survey.lines
        )),
        Part::Whole | Part::Head(_) | Part::Tail(_) | Part::Lines(..) | Part::From(_) => {}
    }
}

/// Says where a file was changed while it was read.
pub(super) fn steady(answer: &mut Answer, end: &ReadEnd) {
    match end.steadiness {
        Steadiness::Steady => {}
        Steadiness::Torn => {
            answer.fact("torn", true);
            answer
                .notes
                .push("the file changed while it was read: read it again".to_owned());
        }
    }
}

/// What every answer says of the file.
fn facts(answer: &mut Answer, binding: &Binding, names: &Names) {
    answer.fact("path", names.bound(binding));
    answer.fact("version", stamp::show(&binding.observation.stamp));
    answer.fact("size", binding.observation.stamp.size);
}

/// One line of it.
fn headline(answer: &Answer) -> String {
    let fact = |key| answer.facts.get(key).map(ToString::to_string);
    let path = answer.facts.get("path").and_then(|path| path.as_str());
    let path = path.unwrap_or_default();
    let mut line = match (fact("startLine"), fact("endLine")) {
        (Some(first), Some(last)) => format!("{path}: lines {first} to {last}"),
        (_, _) => path.to_owned(),
    };
    if let Some(total) = fact("totalLines") {
        line.push_str(&format!(" of {total}"));
    }
    for note in &answer.notes {
        line.push_str(&format!("; {note}"));
    }
    line
}

/// Refuses what is no text, and says how it can be had.
fn is_text(encoding: Option<Encoding>, bytes: &[u8]) -> Result<(), Failure> {
    let what = match encoding {
        Some(Encoding::Binary) => "it is binary",
        Some(Encoding::Utf16Le | Encoding::Utf16Be) => "it is UTF-16",
        Some(Encoding::Ascii | Encoding::Utf8 | Encoding::Utf8Bom | Encoding::Other) => {
            return Ok(());
        }
        None if bytes.contains(&0) => "it is binary",
        None => return Ok(()),
    };
    Err(Failure::Unshown {
        code: "not_text",
        what: format!(
            "{what}, so it is not shown as text: `as: base64` gives its bytes, `as: media` a \
             picture or sound"
        ),
    })
}

/// Cuts what has no room, after a whole line where there is one. False when a line was cut.
fn cut_to_lines(taken: &mut Taken, most: usize) -> bool {
    let more = match &taken.end {
        Some(end) => end.rest != Rest::End,
        None => true,
    };
    let too_long = taken.bytes.len() > most;
    if !too_long && !more {
        return true;
    }
    taken.bytes.truncate(most);
    if !too_long && taken.bytes.ends_with(b"\n") {
        return true;
    }
    match taken.bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => {
            taken.bytes.truncate(at + 1);
            true
        }
        None => {
            // One line without an end: cut between characters.
            let whole = taken.bytes.len().saturating_sub(begun(&taken.bytes));
            taken.bytes.truncate(whole);
            false
        }
    }
}

/// Bytes at the end that begin a character and lack the rest of it, whatever comes before them.
fn begun(bytes: &[u8]) -> usize {
    let is_begun = |count: &usize| {
        let last = bytes
            .len()
            .checked_sub(*count)
            .and_then(|at| bytes.get(at..));
        let read = last.map(std::str::from_utf8);
        matches!(read, Some(Err(error)) if error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3).find(is_begun).unwrap_or(0)
}

/// The number of the first line of what was read, where it is known.
fn first_line(taken: &Taken, part: Part) -> Option<u64> {
    match (part, taken.end.as_ref().map(|end| end.first_line)) {
        (_, Some(first @ 1..)) => Some(first),
        (Part::Lines(first, _), None) => Some(first),
        (Part::Whole | Part::Head(_), _) => Some(1),
        (Part::From(0), _) => Some(1),
        (Part::From(_) | Part::Tail(_) | Part::Lines(..), _) => None,
    }
}

/// Says whether that is all that was asked for, and where the rest begins.
fn rest(
    answer: &mut Answer,
    taken: &Taken,
    (part, shape): (Part, Shape),
    first: Option<u64>,
    lines: u64,
) {
    let end = taken
        .offset
        .saturating_add(u64::try_from(taken.bytes.len()).unwrap_or(u64::MAX));
    let size = taken.binding.observation.stamp.size;
    let complete = match (part, &taken.end) {
        // What was asked for came, and nothing of it was cut away here.
        (Part::Head(_) | Part::Tail(_) | Part::Lines(..), Some(read)) => end >= read.next_offset,
        (Part::Whole | Part::From(_), Some(read)) => {
            read.rest == Rest::End && end >= read.next_offset
        }
        (_, None) => false,
    };
    answer.fact("complete", complete);
    if complete {
        return;
    }
    let next = match first {
        Some(first) => {
            let mut next = json!({ "startLine": first.saturating_add(lines) });
            if let (Some(last), Some(fields)) = (part.last(), next.as_object_mut()) {
                fields.insert("endLine".to_owned(), last.into());
            }
            next
        }
        None if shape == Shape::Base64 => json!({ "offset": end, "as": "base64" }),
        None => json!({ "offset": end }),
    };
    answer.notes.push(format!(
        "cut here, at byte {end} of {size}; the rest: {next}"
    ));
    answer.fact("next", next);
}

/// Bytes as a text, and how many are none of it.
fn shown(answer: &mut Answer, bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => return text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    };
    let foreign: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    answer.fact("notUtf8", foreign);
    answer.notes.push(format!(
        "{foreign} bytes are not UTF-8 and shown as U+FFFD: edits of other places keep them, `as: \
         base64` shows them"
    ));
    text
}

fn base64(arguments: &Arguments, session: &mut Session, names: &Names) -> Result<Answer, Failure> {
    let part = arguments.part()?;
    let range = match part {
        Part::Whole | Part::From(_) => part.range(RAW_BYTES_MAX),
        Part::Head(_) | Part::Tail(_) | Part::Lines(..) => {
            return Err(wrong("bytes have no lines: take offset, or the whole"));
        }
    };
    if arguments.labels {
        return Err(wrong("bytes have no labels"));
    }
    let read = Read {
        range,
        ..ask::read(names.selector(&arguments.path)?)
    };
    let taken = take(&read, usize::MAX, session)?;
    let mut answer = Answer::default();
    facts(&mut answer, &taken.binding, names);
    answer.fact("encoding", "base64");
    answer.fact("offset", taken.offset);
    rest(&mut answer, &taken, (part, Shape::Base64), None, 0);
    if let Some(end) = &taken.end {
        steady(&mut answer, end);
    }
    answer.text = STANDARD.encode(&taken.bytes);
    answer.headline = headline(&answer);
    Ok(answer)
}

#[cfg(test)]
mod tests;
