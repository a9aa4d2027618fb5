//! What a run was refused, as grants to be decided about: the least that would have allowed each,
//! never more, and nothing that a rule refused.

use crate::args::SuggestArguments;
use crate::records::{Book, BookError};
use portcullis_protocol::control::{RefusalRecord, SessionRecord};
use portcullis_protocol::path::{RelPath, Start, Step, escape, parse_selector};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::{Verb, VerbSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A suggestion.
#[derive(Debug)]
pub(super) struct Suggested {
    /// In the form of a policy file, without its roots.
    pub(super) text: String,
    /// How many grants it has.
    pub(super) grants: usize,
}

/// Suggests.
pub(super) fn suggest(arguments: &SuggestArguments) -> Result<Suggested, BookError> {
    let mut book = Book::open(&arguments.place)?;
    let run = book.run(arguments.run)?.run;
    let sessions = book.sessions(run)?;
    let (refusals, left_out) = book.refusals(run)?;
    Ok(write(run.0, &sessions, &refusals, left_out))
}

fn write(
    run: u64,
    sessions: &[SessionRecord],
    refusals: &[RefusalRecord],
    left_out: u64,
) -> Suggested {
    let mut text = format!("# What run {run} was refused because nothing granted it.\n");
    let mut put = |line: String| {
        // Writing to a string does not fail.
        writeln!(text, "{line}").unwrap_or_default();
    };
    put("# Put what shall be allowed into a policy, as a grant or as an ask.".to_owned());
    let mut wanted: BTreeMap<(String, RelPath), BTreeSet<&'static str>> = BTreeMap::new();
    let mut others: BTreeSet<String> = BTreeSet::new();
    for refusal in refusals {
        match place(sessions, refusal) {
            Some(place) if refusal.note.code == Code::NotGranted => {
                let verbs = wanted.entry(place).or_default();
                verbs.extend(refusal.note.verb.map(Verb::name));
            }
            Some(_) | None => others.extend(other(refusal)),
        }
    }
    for ((root, path), verbs) in &wanted {
        let verbs: Vec<String> = verbs.iter().map(|verb| quoted(verb)).collect();
        put(format!("\n[[grant]]\nroot = {}", quoted(root)));
        if !path.is_root() {
            put(format!("path = {}", quoted(&path.to_string())));
        }
        put(format!("verbs = [{}]", verbs.join(", ")));
    }
    if !others.is_empty() {
        put("\n# Refused for other reasons, which a grant does not change:".to_owned());
        others.iter().for_each(|line| put(format!("# {line}")));
    }
    if left_out > 0 {
        put(format!(
            "# {left_out} refusals are not on record one by one."
        ));
    }
    Suggested {
        text,
        grants: wanted.len(),
    }
}

/// The root and the path below it that a refused object is at, as the worker wrote it. None for
/// what goes up, is not UTF-8, or names no root of its session: that is nobody's to guess.
fn place(sessions: &[SessionRecord], refusal: &RefusalRecord) -> Option<(String, RelPath)> {
    let SessionId(_) = refusal.session;
    let session = sessions.iter().find(|one| one.session == refusal.session)?;
    let written = refusal.note.object.as_ref()?.as_slice();
    std::str::from_utf8(written).ok()?;
    let parsed = parse_selector(written).ok()?;
    let mut path = RelPath::root();
    for step in parsed.steps {
        match step {
            Step::Down(name) => path.push(name).ok()?,
            Step::Up => return None,
        }
    }
    let labels = session.roots.as_slice();
    match parsed.start {
        Start::Root => Some((labels.first()?.to_string(), path)),
        Start::Slash => {
            let mut names = path.names();
            let first = names.next()?;
            let label = labels
                .iter()
                .find(|label| label.as_str().as_bytes() == first)?;
            let mut below = RelPath::root();
            names.try_for_each(|name| below.push(name)).ok()?;
            Some((label.to_string(), below))
        }
    }
}

fn other(refusal: &RefusalRecord) -> Option<String> {
    let note = &refusal.note;
    let object = note.object.as_ref().map_or_else(String::new, |object| {
        format!(" `{}`", escape(object.as_slice()))
    });
    let verb = note.verb?;
    let by = match (&note.rule, note.code) {
        (Some(rule), _) => format!("rule {rule}"),
        (None, code) => code.name().to_owned(),
    };
    let hint = match &note.rule {
        Some(rule) if rule.as_str().starts_with("builtin:") => {
            format!(
                "; `except = [{}]` takes the rule away",
                quoted(rule.as_str())
            )
        }
        Some(_) | None => String::new(),
    };
    // What a worker asks and is told that nothing is there is no matter of policy.
    let concerns = VerbSet::ALL.has(verb) && note.code != Code::NotFound;
    concerns.then(|| format!("{verb}{object}: {by}{hint}"))
}

/// A string as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::authority::AuthorityId;
    use portcullis_protocol::bounded::{Bytes, Few, Text};
    use portcullis_protocol::ledger::RefusalNote;
    use portcullis_protocol::path::Label;
    use portcullis_protocol::session::Incarnation;
    use portcullis_protocol::view::Digest;

    fn session() -> SessionRecord {
        let labels = ["workspace", "docs"].map(|label| Label::new(label).unwrap());
        SessionRecord {
            row: 1,
            incarnation: Incarnation([0; 16]),
            session: SessionId(3),
            authority: AuthorityId([0; 32]),
            request: Text::default(),
            owner: Text::default(),
            conversation: Text::default(),
            parent: None,
            roots: Few::new(labels.to_vec()).unwrap(),
            cage: Digest([0; 32]),
            began_ms: 0,
            ended_ms: None,
            receipts: 0,
            first: Digest([0; 32]),
            head: Digest([0; 32]),
        }
    }

    fn refused(verb: Verb, object: &[u8], code: Code, rule: Option<&str>) -> RefusalRecord {
        RefusalRecord {
            number: 1,
            session: SessionId(3),
            at_ms: 0,
            note: RefusalNote {
                verb: Some(verb),
                object: Some(Bytes::new(object).unwrap()),
                code,
                rule: rule.map(Text::plain),
            },
        }
    }

    #[test]
    fn what_nothing_granted_becomes_the_least_grant_and_what_a_rule_refused_a_remark() {
        let refusals = [
            refused(Verb::Write, b"src/a \"b\".rs", Code::NotGranted, None),
            refused(Verb::Edit, b"./src/a \"b\".rs", Code::NotGranted, None),
            refused(Verb::Read, b"/docs/x", Code::NotGranted, None),
            refused(Verb::Read, b".env", Code::Denied, Some("builtin:env")),
            refused(Verb::Read, b"../up", Code::Escape, None),
            refused(Verb::Read, b"absent", Code::NotFound, None),
            refused(Verb::Write, b"a\xff", Code::NotGranted, None),
            refused(
                Verb::Write,
                b"x\n[[grant]]\nverbs = [\"all\"]",
                Code::NotGranted,
                None,
            ),
        ];
        let suggested = write(7, &[session()], &refusals, 2);
        assert_eq!(suggested.grants, 3, "{}", suggested.text);
        let parsed: toml::Value = toml::from_str(&suggested.text).unwrap();
        let grants = parsed["grant"].as_array().unwrap();
        let told: Vec<(&str, &str, usize)> = grants
            .iter()
            .map(|grant| {
                let verbs = grant["verbs"].as_array().unwrap().len();
                let text = |key: &str| grant[key].as_str().unwrap();
                (text("root"), text("path"), verbs)
            })
            .collect();
        assert_eq!(told[0], ("docs", "x", 1));
        assert_eq!(told[1], ("workspace", "src/a \"b\".rs", 2));
        assert_eq!((told[2].0, told[2].2), ("workspace", 1));
        for line in [
            "# read `.env`: rule builtin:env",
            "# read `../up`: escape",
            "# write `a\\xff`",
        ] {
            assert!(suggested.text.contains(line), "{line}: {}", suggested.text);
        }
        assert!(!suggested.text.contains("absent"));
    }
}
