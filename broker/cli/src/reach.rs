//! What a session reaches, from the command line: roots sealed in a warden, and orders to mint on
//! them.

mod ignore;
mod labels;
mod rules;

use crate::args::{Reach, SeatChoice};
use crate::broker::{Broker, BrokerError};
use crate::policy::{Policy, PolicyError, PolicyTarget};
use crate::time::Time;
pub(crate) use ignore::{IgnoreError, IgnoreRules};
use labels::{free_label, name_of};
use portcullis_client::{AttachOrStartError, Error, MintOrder, Only, Pattern, Session};
use portcullis_protocol::authority::{Budgets, Effect, RootId, Scope};
use portcullis_protocol::control::{Deciding, Merged, Minted, Sealed};
use portcullis_protocol::path::{Label, RelPath, escape};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::verb::VerbSet;
pub(crate) use rules::pattern_bytes;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    /// No directory was named.
    #[error(
        "nothing was changed: a worker reaches nothing that is not named: add --workspace DIR (what the \
         work is about), --read DIR or --policy FILE, for example `--workspace .`"
    )]
    NoRoot,
    /// The policy is none.
    #[error("nothing was changed: {0}")]
    Policy(#[from] PolicyError),
    /// An object that a rule is about cannot be found.
    #[error("nothing was changed: rule `{rule}`: {object}: {source}")]
    Object {
        /// The rule.
        rule: String,
        /// The object.
        object: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// An ignore file cannot be used.
    #[error("nothing was changed: {0}")]
    Ignore(#[from] IgnoreError),
    /// There is no broker.
    #[error("nothing was changed: {0}")]
    Broker(BrokerError),
    /// The warden refused.
    #[error(transparent)]
    Refused(#[from] Error),
    /// A pattern cannot be used, or cannot be shown, so that no rule can be named after it.
    #[error("nothing was changed: {option} `{pattern}`: {why}")]
    Pattern {
        /// `--deny`, `--hide`, `--ask`, or `rule` of a policy.
        option: &'static str,
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
}

impl From<BrokerError> for ReachError {
    fn from(error: BrokerError) -> Self {
        match error {
            // It says so itself.
            BrokerError::Refused(error)
            | BrokerError::Attach(AttachOrStartError::Refused(error)) => Self::Refused(error),
            BrokerError::Attach(_)
            | BrokerError::Place(_)
            | BrokerError::Warden(_)
            | BrokerError::Limit(_)
            | BrokerError::Records { .. } => Self::Broker(error),
        }
    }
}

/// A root of the session.
#[derive(Debug)]
pub(crate) struct SealedRoot {
    /// As it was named.
    pub(crate) given: PathBuf,
    /// Its name in the session.
    pub(crate) label: Label,
    /// What may be done in it.
    pub(crate) verbs: VerbSet,
    /// What the warden says of it.
    pub(crate) sealed: Sealed,
}

impl SealedRoot {
    /// Where it is.
    pub(crate) fn location(&self) -> PathBuf {
        let bytes = self.sealed.location.as_bytes();
        Path::new("/").join(OsStr::from_bytes(bytes))
    }
}

/// Roots, grants and rules, to mint sessions from.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) roots: Vec<SealedRoot>,
    grants: Vec<Granted>,
    asks: Vec<Granted>,
    rules: Vec<Rule>,
    excepts: Vec<String>,
    budgets: Budgets,
    lasts: Option<Duration>,
    deciding: Deciding,
    ignore: IgnoreRules,
}

/// A grant or an ask on one of the roots.
#[derive(Debug)]
struct Granted {
    root: usize,
    prefix: RelPath,
    only: Only,
}

#[derive(Debug)]
struct Rule {
    option: &'static str,
    name: String,
    reason: String,
    effect: Effect,
    verbs: VerbSet,
    target: PolicyTarget,
}

/// The reason of rules that have no other.
const REASON: &str = "given on the command line";

/// What `--hide` becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hiding {
    /// What it says: for a worker.
    Hidden,
    /// A denial that shows its name: for the person who asks why.
    Shown,
}

/// Refuses a command line that names no root.
pub(crate) fn require_roots(reach: &Reach) -> Result<(), ReachError> {
    if reach.workspace.is_empty() && reach.read.is_empty() && reach.policy.is_none() {
        return Err(ReachError::NoRoot);
    }
    Ok(())
}

impl Ground {
    /// Seals every directory.
    pub(crate) fn seal(broker: &mut Broker, reach: &Reach) -> Result<Self, ReachError> {
        let mut rules = rules::rules("--deny", Effect::Deny, &reach.deny)?;
        rules.extend(rules::rules("--hide", Effect::Hide, &reach.hide)?);
        rules.extend(rules::rules("--ask", Effect::Ask, &reach.ask)?);
        let mut ground = match &reach.policy {
            Some(path) => Self::of_policy(broker, Policy::read(path)?)?,
            None => Self::of_options(broker, reach)?,
        };
        ground.rules.extend(rules);
        Ok(ground)
    }

    fn of_options(broker: &mut Broker, reach: &Reach) -> Result<Self, ReachError> {
        let mut taken = BTreeSet::new();
        let mut roots: Vec<SealedRoot> = Vec::new();
        let workspaces = reach.workspace.iter();
        let workspaces = workspaces.map(|path| (path, Scope::Workspace, VerbSet::ALL));
        let reads = reach.read.iter();
        let reads = reads.map(|path| (path, Scope::External, VerbSet::READING));
        for (path, scope, verbs) in workspaces.chain(reads) {
            let wanted = if roots.is_empty() && scope == Scope::Workspace {
                "workspace".to_owned()
            } else {
                name_of(path)
            };
            let label = free_label(&wanted, &mut taken);
            let sealed = broker.control.seal_path(path, label.clone(), scope)?;
            roots.push(SealedRoot {
                given: path.clone(),
                label,
                verbs,
                sealed,
            });
        }
        let grants = roots.iter().enumerate().map(|(root, sealed)| Granted {
            root,
            prefix: RelPath::root(),
            only: Only::verbs(sealed.verbs),
        });
        Ok(Self {
            grants: grants.collect(),
            asks: Vec::new(),
            rules: Vec::new(),
            excepts: reach.except.clone(),
            budgets: Budgets::UNLIMITED,
            lasts: None,
            deciding: Deciding::Anyone,
            ignore: IgnoreRules::default(),
            roots,
        })
    }

    /// Seals what a policy names.
    pub(crate) fn of_policy(broker: &mut Broker, policy: Policy) -> Result<Self, ReachError> {
        let mut roots = Vec::new();
        for (n, root) in policy.roots.iter().enumerate() {
            let label = root.label.clone();
            let sealed = broker
                .control
                .seal_path(&root.path, label.clone(), root.scope)?;
            let here = policy.grants.iter().filter(|grant| grant.root == n);
            let verbs: Vec<_> = here.flat_map(|grant| grant.words.verbs.iter()).collect();
            roots.push(SealedRoot {
                given: root.path.clone(),
                label,
                verbs: VerbSet::of(&verbs),
                sealed,
            });
        }
        let mut ignore = IgnoreRules::default();
        policy
            .ignore_files
            .iter()
            .try_for_each(|file| ignore.add(file))?;
        let granted = |all: Vec<crate::policy::PolicyGrant>| {
            let granted = all.into_iter().map(|grant| Granted {
                root: grant.root,
                prefix: grant.prefix,
                only: grant.only,
            });
            granted.collect()
        };
        let rules = policy.rules.into_iter().map(|rule| Rule {
            option: "rule",
            name: rule.name,
            reason: rule.reason,
            effect: rule.effect,
            verbs: rule.verbs,
            target: rule.target,
        });
        Ok(Self {
            rules: rules.collect(),
            grants: granted(policy.grants),
            asks: granted(policy.asks),
            excepts: policy.excepts,
            budgets: policy.budgets,
            lasts: policy.expires,
            deciding: policy.deciding,
            ignore,
            roots,
        })
    }

    /// Puts further rules of ignore files behind those it has.
    pub(crate) fn ignoring(mut self, rules: &IgnoreRules) -> Result<Self, ReachError> {
        self.ignore = self.ignore.then(rules)?;
        Ok(self)
    }

    /// One session on all of it.
    pub(crate) fn mint(
        &self,
        broker: &mut Broker,
        request: &str,
        hiding: Hiding,
    ) -> Result<(Minted, Session), ReachError> {
        match broker.control.mint(&self.order(request, hiding)?) {
            Ok(minted) => Ok(minted),
            Err(error) if is_bad_pattern(&error) => Err(self.blamed(broker, request, error)),
            Err(error) => Err(error.into()),
        }
    }

    /// A refused pattern, with the option it was given to. The refusal does not say that, so each
    /// rule is tried alone.
    fn blamed(&self, broker: &mut Broker, request: &str, error: Error) -> ReachError {
        for rule in &self.rules {
            let PolicyTarget::Pattern { pattern, .. } = &rule.target else {
                continue;
            };
            let Ok(order) = self.with_rule(self.bare(request), rule, Effect::Deny) else {
                continue;
            };
            match broker.control.mint(&order) {
                Err(alone) if is_bad_pattern(&alone) => {
                    let note = alone.refusal().and_then(|refusal| refusal.note.as_ref());
                    return ReachError::Pattern {
                        option: rule.option,
                        pattern: escape(pattern),
                        why: note.map_or_else(|| alone.to_string(), ToString::to_string),
                    };
                }
                Ok(_) | Err(_) => {}
            }
        }
        error.into()
    }

    fn order(&self, request: &str, hiding: Hiding) -> Result<MintOrder, ReachError> {
        let order = self.bare(request);
        self.rules.iter().try_fold(order, |order, rule| {
            let effect = match (rule.effect, hiding) {
                (Effect::Hide, Hiding::Shown) => Effect::Deny,
                (effect, Hiding::Hidden | Hiding::Shown) => effect,
            };
            self.with_rule(order, rule, effect)
        })
    }

    fn with_rule(
        &self,
        order: MintOrder,
        rule: &Rule,
        effect: Effect,
    ) -> Result<MintOrder, ReachError> {
        let (name, reason) = (rule.name.as_str(), rule.reason.as_str());
        // What hides does so for every verb, however it shows itself.
        let verbs = match rule.effect {
            Effect::Hide => VerbSet::ALL,
            Effect::Deny | Effect::Ask => rule.verbs,
        };
        Ok(match &rule.target {
            PolicyTarget::Pattern { root, pattern } => {
                let pattern = self.pattern(*root, pattern);
                match effect {
                    Effect::Deny => order.deny(name, reason, verbs, pattern),
                    Effect::Hide => order.hide(name, reason, pattern),
                    Effect::Ask => order.ask_pattern(name, reason, verbs, pattern),
                }
            }
            PolicyTarget::Object(path) => {
                let object = rules::object(rule, path)?;
                match effect {
                    Effect::Deny => order.deny_object(name, reason, verbs, object),
                    Effect::Hide => order.hide_object(name, reason, object),
                    Effect::Ask => order.ask_object(name, reason, verbs, object),
                }
            }
        })
    }

    /// A pattern with a slash begins at its root.
    fn pattern(&self, root: usize, pattern: &[u8]) -> Pattern {
        match self.roots.get(root) {
            Some(root) if pattern.contains(&b'/') => Pattern::below(root.sealed.root, pattern),
            Some(_) | None => Pattern::anywhere(pattern),
        }
    }

    /// An order without the rules of the command line or of the policy.
    fn bare(&self, request: &str) -> MintOrder {
        let owner = format!("uid {}", rustix::process::getuid().as_raw());
        let mut order = MintOrder::new(owner).request(request);
        for root in &self.roots {
            order = order.root(root.sealed.root, Some(root.label.clone()));
        }
        let id = |granted: &Granted| self.roots.get(granted.root).map(|root| root.sealed.root);
        for granted in &self.grants {
            if let Some(id) = id(granted) {
                order = order.grant_only(id, granted.prefix.clone(), granted.only.clone());
            }
        }
        for asked in &self.asks {
            if let Some(id) = id(asked) {
                order = order.ask_only(id, asked.prefix.clone(), asked.only.clone());
            }
        }
        order = order
            .budgets(self.budgets)
            .deciding(self.deciding)
            .ignore(self.ignore.as_slice());
        if let Some(lasts) = self.lasts {
            let lasts = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
            order = order.expires_ms(Time::now().0.saturating_add(lasts));
        }
        self.excepts
            .iter()
            .fold(order, |order, name| order.except(name))
    }

    /// Roots that lie in others have no name of their own in the session; says where they are.
    pub(crate) fn merged(&self, minted: &Minted) -> Vec<String> {
        let label = |id: RootId| {
            let root = self.roots.iter().find(|root| root.sealed.root == id);
            root.map_or_else(|| format!("#{}", id.0), |root| root.label.to_string())
        };
        let line = |merged: &Merged| {
            let (inner, outer) = (label(merged.inner), label(merged.outer));
            let prefix = &merged.prefix;
            format!("root `{inner}` lies in root `{outer}`: it is /{outer}/{prefix} in the session")
        };
        minted.merged.as_slice().iter().map(line).collect()
    }

    /// The same with nothing that changes anything.
    pub(crate) fn reading(mut self) -> Self {
        for granted in [&mut self.grants, &mut self.asks] {
            granted.retain_mut(|granted| {
                granted.only = granted.only.clone().of_verbs(VerbSet::READING);
                !granted.only.is_empty()
            });
        }
        for root in &mut self.roots {
            root.verbs = root.verbs.meet(VerbSet::READING);
        }
        for rule in &mut self.rules {
            match rule.effect {
                Effect::Ask => rule.verbs = rule.verbs.meet(VerbSet::READING),
                Effect::Deny | Effect::Hide => {}
            }
        }
        self.rules.retain(|rule| !rule.verbs.is_empty());
        self
    }

    /// Whether a worker may ask for anything at all.
    pub(crate) fn asks(&self) -> bool {
        let asks = |rule: &Rule| rule.effect == Effect::Ask;
        !self.asks.is_empty() || self.rules.iter().any(asks)
    }

    /// Who decides.
    pub(crate) const fn deciding(&self) -> Deciding {
        self.deciding
    }

    /// Why nobody could decide about what a worker of `run` asks for, where it may ask at all. A
    /// question that nobody can answer is refused before anything runs.
    pub(crate) fn undecidable(&self, seat: SeatChoice<'_>) -> Option<&'static str> {
        if !self.asks() {
            return None;
        }
        match (self.deciding, seat) {
            (Deciding::Decider, _) => Some(
                "the policy gives deciding to a connection that its runtime opens, and none is opened \
                 here: take `deciding` out of it",
            ),
            (Deciding::Anyone, SeatChoice::Embedded { .. }) => Some(
                "a broker inside this run is reached by nobody who could decide: leave --embedded \
                 out",
            ),
            (Deciding::Anyone, SeatChoice::Shared { .. }) => None,
        }
    }

    /// Whether a rule of this name hides.
    pub(crate) fn hides(&self, name: &str) -> bool {
        let mut hiding = self.rules.iter().filter(|rule| rule.effect == Effect::Hide);
        hiding.any(|rule| rule.name == name)
    }
}

fn is_bad_pattern(error: &Error) -> bool {
    error
        .refusal()
        .is_some_and(|refusal| refusal.code == Code::BadPattern)
}

#[cfg(test)]
mod tests;
