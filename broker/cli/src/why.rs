//! `portcullis why`: what a worker would be told, and, for the person who asks, the truth.

use crate::args::{Form, WhyArguments};
use crate::broker::Broker;
use crate::reach::{Ground, Hiding, ReachError, require_roots};
use crate::say;
use portcullis_client::{Words, ask};
use portcullis_protocol::path::{RelPath, escape};
use portcullis_protocol::refusal::Refusal;
use portcullis_protocol::session::{Verdict, Why};
use portcullis_protocol::verb::VerbSet;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Exit code: a worker would be refused.
const REFUSED: u8 = 77;
/// Exit code: a worker would have to ask.
const NEEDS_APPROVAL: u8 = 76;

/// What a worker would be told, and whether that is the whole truth.
struct Answer {
    told: Verdict,
    truth: Truth,
    /// The session's roots, by number. Roots that lie in others are merged by the warden, so these
    /// are not those of the command line.
    labels: Vec<String>,
    /// Where those are, in words.
    merged: Vec<String>,
}

enum Truth {
    AsTold,
    /// It is hidden, by the rule of this name.
    Hidden(String),
}

/// Asks.
pub(crate) fn why(arguments: &WhyArguments) -> ExitCode {
    match answer(arguments) {
        Ok(answer) => {
            match arguments.form() {
                Form::Json => say::out(answer.json(arguments)),
                Form::Text => answer.print(arguments),
            }
            match answer.told {
                Verdict::Allowed { .. } => ExitCode::SUCCESS,
                Verdict::Asks { .. } => ExitCode::from(NEEDS_APPROVAL),
                Verdict::Refused(_) => ExitCode::from(REFUSED),
            }
        }
        Err(error) => {
            match arguments.form() {
                Form::Json => say::out(json!({"version": 1, "error": error.to_string()})),
                Form::Text => say::err(format_args!("portcullis: {error}")),
            }
            ExitCode::FAILURE
        }
    }
}

fn answer(arguments: &WhyArguments) -> Result<Answer, ReachError> {
    require_roots(&arguments.reach)?;
    let mut broker = Broker::to_ask(arguments.gate.as_deref())?;
    let ground = Ground::seal(&mut broker, &arguments.reach)?;
    let selector = ask::selector(arguments.path.as_bytes())?;
    let question = ask::why(arguments.verb, selector);
    let asked = verdict(&mut broker, &ground, Hiding::Hidden, &question)?;
    // A second session, because the first must not be able to tell even its owner what it hides:
    // whatever can be asked of a worker's session, a worker can ask.
    let shown = verdict(&mut broker, &ground, Hiding::Shown, &question)?;
    let truth = match &shown.verdict {
        Verdict::Refused(refusal) if shown.verdict != asked.verdict => match &refusal.rule {
            Some(rule) if ground.hides(rule.name.as_str()) => Truth::Hidden(rule.name.to_string()),
            Some(_) | None => Truth::AsTold,
        },
        Verdict::Refused(_) | Verdict::Allowed { .. } | Verdict::Asks { .. } => Truth::AsTold,
    };
    Ok(Answer {
        told: asked.verdict,
        truth,
        labels: asked.labels,
        merged: asked.merged,
    })
}

/// One session's answer.
struct Asked {
    verdict: Verdict,
    labels: Vec<String>,
    merged: Vec<String>,
}

fn verdict(
    broker: &mut Broker,
    ground: &Ground,
    hiding: Hiding,
    question: &Why,
) -> Result<Asked, ReachError> {
    let (minted, mut session) = ground.mint(broker, "portcullis why", hiding)?;
    let identity = session.whoami()?;
    let verdict = session.why(question)?;
    drop(session);
    // The gate sees its socket close and takes its leave; the warden ends with this process.
    let labels = identity.roots.as_slice().iter();
    Ok(Asked {
        verdict,
        labels: labels.map(|root| root.label.to_string()).collect(),
        merged: ground.merged(&minted),
    })
}

impl Answer {
    fn print(&self, arguments: &WhyArguments) {
        let verb = arguments.verb;
        let path = escape(arguments.path.as_bytes());
        for line in &self.merged {
            say::out(line);
        }
        match &self.told {
            Verdict::Allowed { grant, binding } => {
                let root = self.label(usize::from(binding.root.0));
                let kind = binding.observation.kind.name();
                say::out(format_args!("allowed: {verb} `{path}`"));
                let object = place(&root, &binding.path);
                say::out(format_args!("  object: {object} ({kind})"));
                let granted = place(&self.label(usize::from(grant.root.0)), &grant.prefix);
                let words = Words {
                    verbs: grant.verbs,
                    modes: grant.modes,
                };
                let verbs = if words == Words::verbs(VerbSet::ALL) {
                    "every verb".to_owned()
                } else {
                    words.to_string()
                };
                say::out(format_args!("  by: the grant of {verbs} on {granted}"));
            }
            Verdict::Asks { rule } => {
                say::out(format_args!(
                    "needs an approval for each use: {verb} `{path}`"
                ));
                match rule {
                    Some(rule) => {
                        say::out(format_args!("  by: rule {}: {}", rule.name, rule.reason));
                    }
                    None => say::out("  by: an ask; nothing grants it"),
                }
            }
            Verdict::Refused(refusal) => match &self.truth {
                Truth::AsTold => say::out(format_args!("refused: {refusal}")),
                Truth::Hidden(rule) => {
                    say::out(format_args!("a worker is told: {refusal}"));
                    say::out(format_args!("in truth: it is hidden by {rule}"));
                }
            },
        }
    }

    fn json(&self, arguments: &WhyArguments) -> Value {
        let told = match &self.told {
            Verdict::Allowed { grant, binding } => json!({
                "verdict": "allowed",
                "root": self.label(usize::from(binding.root.0)),
                "path": binding.path.to_string(),
                "kind": binding.observation.kind.name(),
                "grant": {
                    "root": self.label(usize::from(grant.root.0)),
                    "prefix": grant.prefix.to_string(),
                    "verbs": grant.verbs.iter().map(|verb| verb.name()).collect::<Vec<_>>(),
                },
            }),
            Verdict::Asks { rule } => json!({
                "verdict": "needs_approval",
                "rule": rule.as_ref().map(|rule| json!({
                    "name": rule.name.as_str(), "reason": rule.reason.as_str(),
                })),
            }),
            Verdict::Refused(refusal) => refused(refusal),
        };
        let hidden = match &self.truth {
            Truth::AsTold => None,
            Truth::Hidden(rule) => Some(rule),
        };
        json!({
            "version": 1,
            "verb": arguments.verb.name(),
            "asked": escape(arguments.path.as_bytes()),
            "worker_is_told": told,
            "hidden_by": hidden,
            "merged": self.merged,
        })
    }

    fn label(&self, number: usize) -> String {
        let known = self.labels.get(number).cloned();
        known.unwrap_or_else(|| format!("#{number}"))
    }
}

/// A path as the session understands it.
fn place(label: &str, path: &RelPath) -> String {
    if path.is_root() {
        format!("/{label}")
    } else {
        format!("/{label}/{path}")
    }
}

fn refused(refusal: &Refusal) -> Value {
    json!({
        "verdict": "refused",
        "code": refusal.code.name(),
        "rule": refusal.rule.as_ref().map(|rule| json!({
            "name": rule.name.as_str(), "reason": rule.reason.as_str(),
        })),
        "note": refusal.note.as_ref().map(ToString::to_string),
        "message": refusal.to_string(),
    })
}
