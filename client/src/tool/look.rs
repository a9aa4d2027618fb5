//! `whoami`, `stat` and `why`.

use super::args::{StatArgs, WhyArgs};
use super::place::Place;
use super::report::{Form, Outcome, Report};
use crate::ask;
use crate::error::Error;
use crate::json;
use crate::session::Session;
use crate::told;
use crate::words::Words;
use portcullis_protocol::authority::{AuthorityId, Budget, Budgets, Effect};
use portcullis_protocol::path::escape;
use portcullis_protocol::refusal::Rule;
use portcullis_protocol::session::{DenialView, GrantView, Identity, Links, RootView, Verdict};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Binding, RootIndex};
use std::ffi::OsStr;
use std::fmt::{self, Write as _};

pub(super) fn whoami(session: &mut Session, report: &Report) -> Outcome {
    let identity = match session.whoami() {
        Ok(identity) => identity,
        Err(error) => return report.error(&error),
    };
    // Output that nobody reads is no failure.
    match report.form() {
        Form::Json => drop(report.document("whoami", json::identity(&identity))),
        Form::Text => drop(report.put(identity_text(&identity).unwrap_or_default())),
    }
    Outcome::Done
}

fn identity_text(identity: &Identity) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let short = |id: AuthorityId| json::hex(id.0.get(..8).unwrap_or_default());
    writeln!(
        text,
        "session {} for {}",
        identity.session.0, identity.owner
    )?;
    if !identity.conversation.as_str().is_empty() {
        writeln!(text, "conversation {}", identity.conversation)?;
    }
    writeln!(text, "authority {}…", short(identity.authority))?;
    if let Some(parent) = identity.parent {
        writeln!(text, "within authority {}…", short(parent))?;
    }
    if let Some(expires) = identity.expires_ms {
        writeln!(text, "expires {expires} ms after 1970")?;
    }
    let roots = identity.roots.as_slice();
    writeln!(text, "\nroots (the first is the default)")?;
    for root in roots {
        writeln!(text, "  /{:<20} {}", root.label.as_str(), root.scope.name())?;
    }
    writeln!(text, "\ngrants")?;
    for grant in identity.grants.as_slice() {
        writeln!(text, "{}", grant_line(grant, roots))?;
    }
    if !identity.asks.as_slice().is_empty() {
        writeln!(text, "\nneeds an approval for each use")?;
        for ask in identity.asks.as_slice() {
            writeln!(text, "{}", grant_line(ask, roots))?;
        }
    }
    if identity.budgets != Budgets::UNLIMITED {
        writeln!(text, "\nbudgets (used, of how much)")?;
        for budget in Budget::ALL {
            if let Some(most) = identity.budgets.of(budget) {
                let used = json::used_of(&identity.used, budget);
                writeln!(text, "  {:<21} {used} of {most}", budget.name())?;
            }
        }
    }
    rules_text(identity.denials.as_slice(), &mut text)?;
    Ok(text)
}

/// The rules, each in a line: those that deny, and those that make an approval needed.
fn rules_text(denials: &[DenialView], text: &mut String) -> fmt::Result {
    let of = |effect: Effect| -> Vec<DenialView> {
        let of = denials.iter().filter(|denial| denial.effect == effect);
        of.cloned().collect()
    };
    writeln!(
        text,
        "\nrules that deny (--json has every pattern; rules that hide are not shown)"
    )?;
    rule_lines(&of(Effect::Deny), text)?;
    let asking = of(Effect::Ask);
    if !asking.is_empty() {
        writeln!(text, "\nrules that make an approval needed for each use")?;
        rule_lines(&asking, text)?;
    }
    Ok(())
}

fn rule_lines(denials: &[DenialView], text: &mut String) -> fmt::Result {
    let names = denials.iter().map(|denial| denial.rule.name.as_str());
    let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let mut shown: Vec<(&Rule, VerbSet)> = Vec::new();
    for denial in denials {
        if !shown.contains(&(&denial.rule, denial.verbs)) {
            shown.push((&denial.rule, denial.verbs));
            writeln!(text, "{}", rule_line(denial, denials, width))?;
        }
    }
    Ok(())
}

/// A grant or an ask, in a line.
fn grant_line(grant: &GrantView, roots: &[RootView]) -> String {
    let only = match grant.inputs {
        None => String::new(),
        Some(1) => " (one exact operation)".to_owned(),
        Some(count) => format!(" ({count} exact operations)"),
    };
    format!(
        "  {:<21} {}{only}",
        grant_place(grant, roots),
        words_of(grant)
    )
}

fn words_of(grant: &GrantView) -> Words {
    Words {
        verbs: grant.verbs,
        modes: grant.modes,
    }
}

/// One rule, with a few of its patterns: the simplest, which say most to a person.
fn rule_line(one: &DenialView, all: &[DenialView], width: usize) -> String {
    const FEW: usize = 3;
    let same = |other: &&DenialView| (&other.rule, other.verbs) == (&one.rule, one.verbs);
    let mut patterns: Vec<String> = all
        .iter()
        .filter(same)
        .map(|denial| match &denial.pattern {
            Some(pattern) => shortened(escape(pattern.as_slice())),
            None => "one object".to_owned(),
        })
        .collect();
    let count = patterns.len();
    let simple = |pattern: &String| !pattern.contains(['{', '[', '…']);
    if patterns.iter().any(simple) {
        patterns.retain(simple);
    }
    patterns.truncate(FEW);
    let more = match count.saturating_sub(patterns.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (name, reason, verbs) = (one.rule.name.as_str(), &one.rule.reason, one.verbs);
    format!(
        "  {name:<width$} {verbs} of {}{more}: {reason}",
        patterns.join(", ")
    )
}

/// A pattern no longer than a person wants to see of it.
fn shortened(pattern: String) -> String {
    const CHARS: usize = 40;
    match pattern.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", pattern.get(..end).unwrap_or_default()),
        None => pattern,
    }
}

/// Where a grant holds, as a path the session understands.
fn grant_place(grant: &GrantView, roots: &[RootView]) -> String {
    let label = label_of(grant.root, roots);
    if grant.prefix.is_root() {
        format!("/{label}")
    } else {
        format!("/{label}/{}", grant.prefix)
    }
}

fn label_of(root: RootIndex, roots: &[RootView]) -> String {
    match roots.get(usize::from(root.0)) {
        Some(root) => root.label.to_string(),
        None => format!("root {}", root.0),
    }
}

pub(super) fn stat(
    args: &StatArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    let links = if args.no_follow {
        Links::Keep
    } else {
        Links::Follow
    };
    let mut worst = Outcome::Done;
    for path in &args.paths {
        let written = match stat_one(path, links, place, session) {
            Ok(bound) => match report.form() {
                Form::Json => report.document("stat", json::binding(&bound)),
                Form::Text => report.put(told::bound(&bound)),
            },
            Err(error) => {
                worst = worst.max(report.error(&error));
                Ok(())
            }
        };
        if written.is_err() {
            break;
        }
    }
    worst
}

fn stat_one(
    path: &OsStr,
    links: Links,
    place: &Place,
    session: &mut Session,
) -> Result<Binding, Error> {
    let mut stat = ask::stat(place.selector(path)?);
    stat.links = links;
    session.stat(&stat)
}

pub(super) fn why(
    args: &WhyArgs,
    place: &Place,
    session: &mut Session,
    report: &Report,
) -> Outcome {
    match explain(args, place, session, report.form()) {
        Ok(Explanation::Json(verdict)) => drop(report.document("why", verdict)),
        Ok(Explanation::Text(text)) => drop(report.put(text)),
        Err(error) => return report.error(&error),
    }
    Outcome::Done
}

enum Explanation {
    Json(serde_json::Value),
    Text(String),
}

fn explain(
    args: &WhyArgs,
    place: &Place,
    session: &mut Session,
    form: Form,
) -> Result<Explanation, Error> {
    let verdict = session.why(&ask::why(args.verb, place.selector(&args.path)?))?;
    match form {
        Form::Json => Ok(Explanation::Json(json::verdict(&verdict))),
        Form::Text => {
            let roots = session.whoami()?.roots.into_vec();
            let asked = place.shown(&args.path);
            Ok(Explanation::Text(verdict_text(
                args.verb, &asked, &verdict, &roots,
            )))
        }
    }
}

fn verdict_text(verb: Verb, asked: &str, verdict: &Verdict, roots: &[RootView]) -> String {
    match verdict {
        Verdict::Allowed { grant, binding } => format!(
            "allowed: {verb} of `{asked}`, which is /{}/{}, by the grant of {} on {}\n",
            label_of(binding.root, roots),
            binding.path,
            words_of(grant),
            grant_place(grant, roots),
        ),
        Verdict::Asks { rule: Some(rule) } => format!(
            "needs an approval for each use: {verb} of `{asked}`, by the rule {}: {}\n",
            rule.name, rule.reason
        ),
        Verdict::Asks { rule: None } => format!(
            "needs an approval for each use: {verb} of `{asked}`, which is allowed only so\n"
        ),
        Verdict::Refused(refusal) => {
            // Nothing was tried, so there is nothing to say about what was changed.
            let said = refusal.to_string();
            format!(
                "{}\n",
                said.strip_prefix("nothing was changed: ").unwrap_or(&said)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::bounded::{Bytes, Text};
    use portcullis_protocol::refusal::{Code, Refusal};

    #[test]
    fn one_rule_is_one_line_however_many_patterns_it_has() {
        let denial = |pattern: &str| DenialView {
            rule: Rule {
                name: Text::new("builtin:ssh").unwrap(),
                reason: Text::new("keys").unwrap(),
            },
            verbs: VerbSet::CONTENT,
            pattern: Some(Bytes::new(pattern).unwrap()),
            effect: Effect::Deny,
        };
        let all = ["a", "b", "c\n", "d"].map(denial);
        assert_eq!(
            rule_line(&all[0], &all, 12),
            "  builtin:ssh  read, search of a, b, c\\x0a and 1 more: keys"
        );
        assert_eq!(
            rule_line(&all[0], &all[..1], 11),
            "  builtin:ssh read, search of a: keys"
        );
    }

    #[test]
    fn patterns_that_say_little_to_a_person_are_counted() {
        let denial = |pattern: &str| DenialView {
            rule: Rule {
                name: Text::new("r").unwrap(),
                reason: Text::new("why").unwrap(),
            },
            verbs: VerbSet::CONTENT,
            pattern: Some(Bytes::new(pattern).unwrap()),
            effect: Effect::Deny,
        };
        let all = ["{a,b}", "c"].map(denial);
        assert_eq!(
            rule_line(&all[0], &all, 1),
            "  r read, search of c and 1 more: why"
        );
        assert_eq!(
            rule_line(&all[0], &all[..1], 1),
            "  r read, search of {a,b}: why"
        );
    }

    #[test]
    fn long_patterns_are_cut_between_characters() {
        assert_eq!(shortened("é".repeat(40)), "é".repeat(40));
        assert_eq!(shortened("é".repeat(41)), format!("{}…", "é".repeat(40)));
    }

    #[test]
    fn a_verdict_says_refused_once_and_nothing_of_changes() {
        let refusal = Refusal::new(Code::NotFound).of(Verb::Read).on(b"x");
        let text = verdict_text(Verb::Read, "x", &Verdict::Refused(refusal), &[]);
        assert_eq!(text, "read `x` refused: there is nothing of that name\n");
    }
}
