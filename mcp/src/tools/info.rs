//! `get_file_info`: what an object is, and what may be done with it.

use crate::answer::Answer;
use crate::failure::Failure;
use crate::name::Names;
use portcullis_client::protocol::refusal::Code;
use portcullis_client::protocol::session::{Selector, Verdict};
use portcullis_client::protocol::verb::Verb;
use portcullis_client::protocol::view::Binding;
use portcullis_client::{Session, ask, json, stamp, told};
use serde::{Deserialize, Deserializer};
use serde_json::Map;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    #[serde(default, deserialize_with = "verb")]
    why: Option<Verb>,
}

fn verb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Verb>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let none = || serde::de::Error::custom(format_args!("why: `{name}` is no operation"));
    Verb::named(&name).map(Some).ok_or_else(none)
}

pub(super) fn run(
    arguments: &Arguments,
    session: &mut Session,
    names: &Names,
) -> Result<Answer, Failure> {
    let selector = names.selector(&arguments.path)?;
    let mut answer = Answer::default();
    let mut lines = Vec::new();
    match session.stat(&ask::stat(selector.clone())) {
        Ok(binding) => seen(&mut answer, &mut lines, &binding, names),
        // What is not there, or cannot be looked at, can still be asked about.
        Err(error) if error.refusal().is_some() && arguments.why.is_some() => {
            answer.fact("path", arguments.path.as_str());
            lines.push(error.to_string());
        }
        Err(error) => return Err(error.into()),
    }
    let mut access = Map::new();
    match arguments.why {
        Some(verb) => {
            let verdict = ask_why(session, verb, &selector)?;
            if is_to_be_made(verb, &verdict) {
                let yet = "nothing of that name is there yet: whether one may be made is said by \
                           the call that makes it, with dryRun nothing is changed";
                lines.push(format!("{}: {yet}", verb.name()));
                access.insert(verb.name().to_owned(), yet.into());
            } else {
                lines.push(said(verb, &verdict));
                access.insert(verb.name().to_owned(), json::verdict(&verdict));
            }
        }
        None => {
            for verb in Verb::ALL {
                let verdict = ask_why(session, verb, &selector)?;
                if let Some(line) = short(&verdict) {
                    lines.push(format!("{}: {line}", verb.name()));
                    access.insert(verb.name().to_owned(), line.into());
                }
            }
        }
    }
    answer.fact("access", access);
    answer.headline = lines.first().cloned().unwrap_or_default();
    answer.text = lines.join("\n");
    Ok(answer)
}

fn ask_why(session: &mut Session, verb: Verb, selector: &Selector) -> Result<Verdict, Failure> {
    Ok(session.why(&ask::why(verb, selector.clone()))?)
}

/// What it is.
fn seen(answer: &mut Answer, lines: &mut Vec<String>, binding: &Binding, names: &Names) {
    let seen = &binding.observation;
    let path = names.bound(binding);
    let modified = told::Utc(seen.modified).to_string();
    lines.push(format!(
        "{path}: {}, {} bytes, mode {:04o}, modified {modified}",
        seen.kind.name(),
        seen.stamp.size,
        seen.mode
    ));
    if seen.links > 1 && seen.kind == portcullis_client::protocol::view::Kind::File {
        lines.push(format!("it has {} names (hard links)", seen.links));
    }
    lines.push(format!("version: {}", stamp::show(&seen.stamp)));
    answer.fact("path", path);
    answer.fact("type", seen.kind.name());
    answer.fact("size", seen.stamp.size);
    answer.fact("mode", format!("{:04o}", seen.mode));
    answer.fact("modified", modified);
    answer.fact("links", seen.links);
    answer.fact("version", stamp::show(&seen.stamp));
    if let Some(born) = seen.stamp.born {
        answer.fact("created", told::Utc(born).to_string());
    }
    if let Some(link) = &binding.link {
        answer.fact(
            "link",
            portcullis_client::protocol::path::escape(link.as_slice()),
        );
    }
}

/// One word, or the reason; nothing where the verb has no meaning for such an object.
fn short(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Allowed { .. } => Some("allowed".to_owned()),
        Verdict::Asks { rule } => Some(match rule {
            Some(rule) => format!("needs an approval ({})", rule.name.as_str()),
            None => "needs an approval".to_owned(),
        }),
        Verdict::Refused(refusal) if is_no_matter(refusal.code) => None,
        Verdict::Refused(refusal) => Some(match &refusal.rule {
            Some(rule) => format!("refused ({}: {})", rule.name.as_str(), rule.reason.as_str()),
            None => format!("refused ({})", refusal.code.name()),
        }),
    }
}

/// Whether such a refusal says only that the verb is for another kind of object.
const fn is_no_matter(code: Code) -> bool {
    matches!(
        code,
        Code::NotADirectory | Code::IsADirectory | Code::Exists | Code::NotFound
    )
}

/// Whether all that is missing is the object, and the verb is one that makes it.
fn is_to_be_made(verb: Verb, verdict: &Verdict) -> bool {
    let makes = matches!(verb, Verb::Write | Verb::Mkdir | Verb::Link);
    makes && matches!(verdict, Verdict::Refused(refusal) if refusal.code == Code::NotFound)
}

/// In full.
fn said(verb: Verb, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allowed { .. } => format!("{}: allowed", verb.name()),
        Verdict::Asks { .. } => format!(
            "{}: {}; a person decides with `portcullis review` once it is asked for",
            verb.name(),
            short(verdict).unwrap_or_default()
        ),
        Verdict::Refused(refusal) => {
            format!("{}: would be refused: {}", verb.name(), refusal.cause())
        }
    }
}
