//! Lines behind their labels.

use super::{
    Arguments, Part, TEXT_BYTES_MAX, facts, headline, is_text, shown, steady, surveyed, wrong,
};
use crate::answer::Answer;
use crate::failure::Failure;
use crate::name::Names;
use portcullis_client::{Session, ask, label};
use serde_json::json;

/// Lines shown with labels where a whole file has too many bytes for one answer.
const LABELLED_LINES: u64 = 2000;

/// Each line behind its label, by which an edit can name it.
pub(super) fn read(
    arguments: &Arguments,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let selector = names.selector(&arguments.path)?;
    let part = arguments.part()?;
    let range = match part {
        Part::Whole => {
            let seen = session.stat(&ask::stat(selector.clone()))?;
            let most = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
            if seen.observation.stamp.size <= most {
                label::ALL
            } else {
                Part::Lines(1, LABELLED_LINES).range(0)
            }
        }
        part @ (Part::Head(_) | Part::Tail(_) | Part::Lines(..)) => part.range(0),
        Part::From(_) => return Err(wrong("labels are of whole lines: take startLine")),
    };
    let content = session.read_labelled(selector, range)?;
    is_text(
        content.end.text.map(|survey| survey.encoding),
        &content.bytes,
    )?;
    let lines = content.labelled()?;
    // What was read counts as seen, so nothing of it is held back here.
    if content.bytes.len() > TEXT_BYTES_MAX {
        return Err(Failure::Unshown {
            code: "too_large",
            what: format!(
                "these {} lines have more than {TEXT_BYTES_MAX} bytes: ask for fewer by startLine \
                 and endLine",
                lines.len()
            ),
        });
    }
    let mut answer = Answer::default();
    facts(&mut answer, &content.binding, names);
    let last = lines.last().map(|line| line.label.line);
    if let (Some(first), Some(last)) = (lines.first(), last) {
        answer.fact("startLine", first.label.line);
        answer.fact("endLine", last);
    }
    let total = content.end.text.map(|survey| survey.lines);
    surveyed(&mut answer, content.end.text, part);
    steady(&mut answer, &content.end);
    let whole = part != Part::Whole || last.unwrap_or(0) >= total.unwrap_or(0);
    answer.fact("complete", whole);
    if let (false, Some(last)) = (whole, last) {
        let next = json!({ "startLine": last.saturating_add(1), "labels": true });
        answer
            .notes
            .push(format!("cut after line {last}; the rest: {next}"));
        answer.fact("next", next);
    }
    let labelled = label::shown(lines);
    answer.text = shown(&mut answer, &labelled);
    answer.headline = headline(&answer);
    Ok(answer)
}
