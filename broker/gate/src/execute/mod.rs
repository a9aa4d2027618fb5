//! execute: what each verb does with its bound object.

mod apply;
mod cursor;
mod entries;
mod frames;
mod glob;
mod list;
mod read;
mod search;
mod sorted;
mod survey;
mod walk;

pub(crate) use apply::{Ended, apply};
pub(crate) use entries::Answered;
pub(crate) use glob::{check as check_glob, glob};
pub(crate) use list::{check as check_list, is_of_names, list, list_short};
pub(crate) use read::{is_short, read, read_bound};
pub(crate) use search::{check as check_search, search};

use crate::bind::Bound;
use crate::lacking::not_granted;
use crate::session::Session;
use portcullis_protocol::authority::{DenialTarget, Effect, Grant, Inputs, Level, Operation};
use portcullis_protocol::bounded::{Bytes, Few};
use portcullis_protocol::limits::PATTERN_BYTES_MAX;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    DenialView, GrantView, Identity, Limits, Reply, RootView, Verdict,
};
use portcullis_protocol::verb::{Mode, Verb};
use portcullis_protocol::view::Kind;

/// What the session may do. Hiding denials are absent, and nothing counts them.
pub(crate) fn whoami(session: &Session) -> Result<Reply, Refusal> {
    let parts = session.authority.parts();
    let too_many = |_| Refusal::new(Code::OutOfRange);
    let roots = parts
        .roots
        .iter()
        .map(|root| RootView {
            label: root.label.clone(),
            scope: root.scope,
        })
        .collect();
    let views = |grants: &[Grant]| Few::new(grants.iter().map(view).collect()).map_err(too_many);
    let seen = |effect| match effect {
        Effect::Deny | Effect::Ask => true,
        Effect::Hide => false,
    };
    let denials = parts
        .denials
        .iter()
        .filter(|denial| seen(denial.effect))
        .map(|denial| DenialView {
            rule: denial.rule.clone(),
            verbs: denial.verbs,
            pattern: shown_pattern(session, &denial.target),
            effect: denial.effect,
        })
        .collect();
    Ok(Reply::Whoami(Identity {
        session: session.id,
        authority: session.authority.id(),
        owner: parts.owner.clone(),
        conversation: parts.conversation.clone(),
        parent: parts.parent,
        expires_ms: parts.expires_ms,
        roots: Few::new(roots).map_err(too_many)?,
        grants: views(&parts.grants)?,
        asks: views(&parts.asks)?,
        budgets: parts.budgets,
        used: session.meter.used(),
        denials: Few::new(denials).map_err(too_many)?,
        limits: Limits { ..session.limits },
    }))
}

/// A grant, for its worker: of the exact operations it is for only how many.
fn view(grant: &Grant) -> GrantView {
    GrantView {
        root: grant.root,
        prefix: grant.prefix.clone(),
        verbs: grant.verbs,
        modes: grant.modes,
        inputs: match &grant.inputs {
            Inputs::Any => None,
            Inputs::Only(inputs) => u16::try_from(inputs.as_slice().len()).ok(),
        },
    }
}

/// The pattern of a denial, for its worker. One that is tied to a place above or beside every root
/// is not shown: it would tell where on the host something is.
fn shown_pattern(session: &Session, target: &DenialTarget) -> Option<Bytes<PATTERN_BYTES_MAX>> {
    let roots = &session.authority.parts().roots;
    match target {
        DenialTarget::Pattern { anchor, pattern } => {
            let within = |place: &RelPath| {
                let mut roots = roots.iter();
                roots.any(|root| place.below(&root.location).is_some())
            };
            anchor.as_ref().is_none_or(within).then(|| pattern.clone())
        }
        DenialTarget::Object { .. } => None,
    }
}

/// What a request of this verb would have met. The same stages decided it that decide a request,
/// so the answer cannot differ from the deed, and shows nothing that the deed would not.
pub(crate) fn why(session: &Session, verb: Verb, reached: Result<Bound, Refusal>) -> Reply {
    let verdict = match reached {
        Ok(bound) => allowed(session, &bound, verb),
        Err(refusal) if refusal.code == Code::NeedsApproval => Verdict::Asks { rule: refusal.rule },
        Err(refusal) => Verdict::Refused(refusal),
    };
    Reply::Why(verdict)
}

/// How far a verb is allowed on an object that is there: which of its modes that is, is known.
fn allowed(session: &Session, bound: &Bound, verb: Verb) -> Verdict {
    let binding = bound.binding();
    let operation = Operation {
        mode: on_what_is_there(verb, binding.observation.kind),
        ..Operation::of(verb)
    };
    let (root, path) = (bound.root(), bound.path());
    match (
        session.authority.grant(root, path, operation),
        session.level(root, path, operation),
    ) {
        (Some(grant), _) => Verdict::Allowed {
            grant: view(grant),
            binding,
        },
        (None, Level::Ask | Level::Granted) => Verdict::Asks { rule: None },
        (None, Level::Nothing) => {
            let refusal = not_granted(session, operation, path.as_bytes(), (root, path));
            Verdict::Refused(refusal)
        }
    }
}

/// The mode of a verb on an object of this kind. A move's is known only with where it goes.
const fn on_what_is_there(verb: Verb, kind: Kind) -> Option<Mode> {
    match (verb, kind) {
        (Verb::Write, _) => Some(Mode::WriteOver),
        (Verb::Delete, Kind::Directory) => Some(Mode::DeleteDirectory),
        (Verb::Delete, _) => Some(Mode::DeleteFile),
        (
            Verb::Stat
            | Verb::Read
            | Verb::List
            | Verb::Glob
            | Verb::Search
            | Verb::Edit
            | Verb::Mkdir
            | Verb::Move
            | Verb::DeleteTree
            | Verb::Chmod
            | Verb::Link,
            _,
        ) => None,
    }
}
