//! `portcullis policy`: a file is asked what it means by making a session of it, in a broker that
//! leaves no records.

use super::{Policy, PolicyError, Test, suggest};
use crate::args::{Form, PolicyAction, PolicyArguments, PolicyFile};
use crate::broker::{Broker, BrokerError};
use crate::reach::{Ground, Hiding, ReachError};
use crate::records::BookError;
use crate::say;
use crate::words::counted;
use portcullis_client::{Error, Session, Words, ask, json};
use portcullis_protocol::authority::{Budget, Effect};
use portcullis_protocol::session::{GrantView, Identity, Verdict};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Why a policy does not hold. Nothing was done.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error("nothing was changed: {0}")]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Asked(#[from] Error),
    #[error(transparent)]
    Book(#[from] BookError),
}

/// Checks, shows, tests, suggests.
pub(crate) fn policy(arguments: &PolicyArguments) -> ExitCode {
    let form = arguments.form();
    let done =
        match &arguments.action {
            PolicyAction::Check(file) => check(file, form),
            PolicyAction::Show(file) => show(file, form),
            PolicyAction::Test(file) => test(file, form),
            PolicyAction::Suggest(which) => suggest::suggest(which)
                .map_err(CommandError::from)
                .map(|suggested| {
                    match form {
                        Form::Json => say::out(json!({
                            "version": 1, "policy": suggested.text, "grants": suggested.grants,
                        })),
                        Form::Text => say::out(suggested.text.trim_end()),
                    }
                    ExitCode::SUCCESS
                }),
        };
    done.unwrap_or_else(|error| {
        match form {
            Form::Json => say::out(json!({"version": 1, "error": error.to_string()})),
            Form::Text => say::err(format_args!("portcullis: {error}")),
        }
        ExitCode::FAILURE
    })
}

/// A session made of a policy, and what it was made of.
struct Made {
    _broker: Broker,
    ground: Ground,
    session: Session,
    tests: Vec<Test>,
}

fn make(file: &PolicyFile, hiding: Hiding) -> Result<Made, CommandError> {
    let mut policy = Policy::read(&file.file)?;
    let tests = std::mem::take(&mut policy.tests);
    let mut broker = Broker::to_ask(file.gate.as_deref())?;
    let ground = Ground::of_policy(&mut broker, policy)?;
    let (_, session) = ground.mint(&mut broker, "portcullis policy", hiding)?;
    Ok(Made {
        _broker: broker,
        ground,
        session,
        tests,
    })
}

fn check(file: &PolicyFile, form: Form) -> Result<ExitCode, CommandError> {
    let mut made = make(file, Hiding::Shown)?;
    let identity = made.session.whoami()?;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let roots = identity.roots.as_slice().len();
    let (grants, asks) = (
        identity.grants.as_slice().len(),
        identity.asks.as_slice().len(),
    );
    let tests = made.tests.len();
    match form {
        Form::Json => say::out(json!({
            "version": 1, "holds": true, "roots": roots, "grants": grants, "asks": asks,
            "tests": tests,
        })),
        Form::Text => say::out(format_args!(
            "it holds: {}, {}, {}, {}",
            counted(count(roots), "root"),
            counted(count(grants), "grant"),
            counted(count(asks), "ask"),
            counted(count(tests), "test")
        )),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(file: &PolicyFile, form: Form) -> Result<ExitCode, CommandError> {
    let mut made = make(file, Hiding::Shown)?;
    let identity = made.session.whoami()?;
    match form {
        Form::Json => {
            let mut document = json!({"version": 1});
            if let (Some(fields), Value::Object(told)) =
                (document.as_object_mut(), json::identity(&identity))
            {
                fields.extend(told);
            }
            say::out(document);
        }
        Form::Text => print(&made.ground, &identity),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(ground: &Ground, identity: &Identity) {
    for root in identity.roots.as_slice() {
        let sealed = ground
            .roots
            .iter()
            .find(|sealed| sealed.label == root.label);
        let place = sealed.map_or_else(String::new, |sealed| shown(&sealed.location()));
        say::out(format_args!(
            "root /{} ({}): {place}",
            root.label,
            root.scope.name()
        ));
    }
    for (what, grants) in [("grant", &identity.grants), ("ask", &identity.asks)] {
        for grant in grants.as_slice() {
            say::out(format_args!("{what} {}", granted(identity, grant)));
        }
    }
    for denial in identity.denials.as_slice() {
        let hides = ground.hides(denial.rule.name.as_str());
        let effect = match denial.effect {
            Effect::Deny if hides => "hide",
            Effect::Deny => "deny",
            Effect::Hide => "hide",
            Effect::Ask => "ask",
        };
        let what = match &denial.pattern {
            Some(pattern) => {
                format!(
                    "`{}`",
                    portcullis_protocol::path::escape(pattern.as_slice())
                )
            }
            None => "one object".to_owned(),
        };
        say::out(format_args!(
            "{effect} {what}: {} (rule {}: {})",
            denial.verbs, denial.rule.name, denial.rule.reason
        ));
    }
    for budget in Budget::ALL {
        if let Some(limit) = identity.budgets.of(budget) {
            say::out(format_args!("budget {}: {limit}", budget.name()));
        }
    }
    if let Some(end) = identity.expires_ms {
        say::out(format_args!("expires {}", crate::time::Time(end)));
    }
}

fn shown(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    portcullis_protocol::path::escape(path.as_os_str().as_bytes())
}

fn granted(identity: &Identity, grant: &GrantView) -> String {
    let root = identity.roots.as_slice().get(usize::from(grant.root.0));
    let root = root.map_or_else(|| "?".to_owned(), |root| root.label.to_string());
    let words = Words {
        verbs: grant.verbs,
        modes: grant.modes,
    };
    let exact = match grant.inputs {
        None => String::new(),
        Some(inputs) => format!(", {} only", counted(inputs.into(), "exact operation")),
    };
    if grant.prefix.is_root() {
        format!("/{root}: {words}{exact}")
    } else {
        format!("/{root}/{}: {words}{exact}", grant.prefix)
    }
}

/// One test that was run.
struct Ran {
    line: usize,
    verb: &'static str,
    path: String,
    expected: &'static str,
    /// What was answered instead; none when it is as expected.
    wrong: Option<String>,
}

fn test(file: &PolicyFile, form: Form) -> Result<ExitCode, CommandError> {
    let mut made = make(file, Hiding::Hidden)?;
    let mut ran = Vec::new();
    for test in std::mem::take(&mut made.tests) {
        ran.push(run(&mut made.session, test)?);
    }
    let failed = ran.iter().filter(|one| one.wrong.is_some()).count();
    match form {
        Form::Json => {
            let all: Vec<Value> = ran.iter().map(Ran::json).collect();
            say::out(json!({"version": 1, "tests": all, "failed": failed}));
        }
        Form::Text => {
            ran.iter().for_each(Ran::print);
            let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
            let all = counted(count(ran.len()), "test");
            say::out(format_args!("{all}, {failed} failed"));
        }
    }
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run(session: &mut Session, test: Test) -> Result<Ran, CommandError> {
    use super::ExpectWord;
    let path = portcullis_protocol::path::escape(test.selector.path.as_slice());
    let verdict = session.why(&ask::why(test.verb, test.selector))?;
    let (got, rule) = match &verdict {
        Verdict::Allowed { .. } => (ExpectWord::Granted, None),
        Verdict::Asks { rule } => (ExpectWord::Ask, rule.as_ref()),
        Verdict::Refused(refusal) => (ExpectWord::Refused, refusal.rule.as_ref()),
    };
    let rule = rule.map(|rule| rule.name.as_str());
    let right = got == test.expect && test.rule.as_deref().is_none_or(|name| rule == Some(name));
    let said = match &verdict {
        Verdict::Allowed { .. } | Verdict::Asks { .. } => {
            let by = rule.map_or_else(String::new, |name| format!(" by rule {name}"));
            format!("{}{by}", got.name())
        }
        Verdict::Refused(refusal) => refusal.to_string(),
    };
    Ok(Ran {
        line: test.line,
        verb: test.verb.name(),
        path,
        expected: test.expect.name(),
        wrong: (!right).then_some(said),
    })
}

impl Ran {
    fn print(&self) {
        let Self {
            line,
            verb,
            path,
            expected,
            wrong,
        } = self;
        match wrong {
            None => say::out(format_args!(
                "ok      line {line}: {verb} {path}: {expected}"
            )),
            Some(said) => say::out(format_args!(
                "FAILED  line {line}: {verb} {path}: expected {expected}, but {said}"
            )),
        }
    }

    fn json(&self) -> Value {
        json!({
            "line": self.line, "verb": self.verb, "path": self.path, "expected": self.expected,
            "holds": self.wrong.is_none(), "instead": self.wrong,
        })
    }
}
