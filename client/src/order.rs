//! An order to mint a session, built step by step.

use crate::error::Error;
use crate::words::Words;
use portcullis_protocol::authority::{Budgets, Effect, Inputs, RootId};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::{
    Deciding, DenialOrder, DenialOrderTarget, GrantOrder, Mint, RootOrder,
};
use portcullis_protocol::limits::{DESCRIPTORS_MAX, IGNORE_BYTES_MAX, REASON_BYTES_MAX};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::{ModeSet, VerbSet};
use portcullis_protocol::view::Digest;
use std::fmt;
use std::os::fd::OwnedFd;

/// What session to mint. It grants nothing until [`Self::grant`] says so.
///
/// A text or a list that is over its limit is remembered, and [`crate::Control::mint`] gives it
/// back as an error before anything is sent.
#[derive(Debug)]
pub struct MintOrder {
    request: String,
    owner: String,
    conversation: String,
    roots: Vec<RootOrder>,
    grants: Vec<GrantOrder>,
    asks: Vec<GrantOrder>,
    budgets: Budgets,
    deciding: Deciding,
    denials: Vec<DenialOrder>,
    exceptions: Vec<Text<REASON_BYTES_MAX>>,
    expires_ms: Option<u64>,
    within: Option<SessionId>,
    ignore: Bytes<IGNORE_BYTES_MAX>,
    descriptors: Vec<OwnedFd>,
    /// The first argument that was none.
    wrong: Option<String>,
}

/// Names that a denial covers. `*` and `?` do not match a slash; `**`, `{a,b}` and `[a-z]` as
/// usual. Without a slash it matches at any depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    root: Option<RootId>,
    pattern: Vec<u8>,
}

/// What of some verbs is allowed: every use of them, some modes, or exact operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    verbs: VerbSet,
    modes: ModeSet,
    inputs: Inputs,
}

impl Only {
    /// Every use of these verbs.
    pub const fn verbs(verbs: VerbSet) -> Self {
        Self {
            verbs,
            modes: ModeSet::ALL,
            inputs: Inputs::Any,
        }
    }

    /// What these words say.
    pub const fn words(words: Words) -> Self {
        Self {
            verbs: words.verbs,
            modes: words.modes,
            inputs: Inputs::Any,
        }
    }

    /// Of its verbs only these.
    #[must_use]
    pub const fn of_verbs(mut self, verbs: VerbSet) -> Self {
        self.verbs = self.verbs.meet(verbs);
        self
    }

    /// Whether it is no verb at all.
    pub const fn is_empty(&self) -> bool {
        self.verbs.is_empty()
    }

    /// Of the verbs that have modes only these, such as making files and replacing none. Verbs
    /// without modes stay.
    #[must_use]
    pub fn in_modes(mut self, modes: ModeSet) -> Self {
        self.modes = modes;
        self
    }

    /// Only these whole operations, as [`crate::Changes::input`] gives them, or
    /// [`input_digest`](portcullis_protocol::session::input_digest) for what only reads.
    pub fn of_inputs(mut self, inputs: Vec<Digest>) -> Result<Self, Error> {
        let inputs = Few::new(inputs);
        let inputs = inputs.map_err(|e| Error::invalid(format_args!("exact operations: {e}")))?;
        self.inputs = Inputs::Only(inputs);
        Ok(self)
    }

    fn at(self, root: RootId, prefix: RelPath) -> GrantOrder {
        let Self {
            verbs,
            modes,
            inputs,
        } = self;
        GrantOrder {
            root,
            prefix,
            verbs,
            modes,
            inputs,
        }
    }
}

impl Pattern {
    /// Matches wherever it fits.
    pub fn anywhere(pattern: impl Into<Vec<u8>>) -> Self {
        Self {
            root: None,
            pattern: pattern.into(),
        }
    }

    /// Begins at a root.
    pub fn below(root: RootId, pattern: impl Into<Vec<u8>>) -> Self {
        Self {
            root: Some(root),
            pattern: pattern.into(),
        }
    }
}

impl MintOrder {
    /// A session for this end user, with no roots and no grants.
    pub fn new(owner: impl Into<String>) -> Self {
        Self {
            request: String::new(),
            owner: owner.into(),
            conversation: String::new(),
            roots: Vec::new(),
            grants: Vec::new(),
            asks: Vec::new(),
            budgets: Budgets::UNLIMITED,
            deciding: Deciding::Anyone,
            denials: Vec::new(),
            exceptions: Vec::new(),
            expires_ms: None,
            within: None,
            ignore: Bytes::default(),
            descriptors: Vec::new(),
            wrong: None,
        }
    }

    /// The runtime's own name for the request that the session serves.
    #[must_use]
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.request = request.into();
        self
    }

    /// The runtime's own name for the conversation, thread or job that the session belongs to. A
    /// session within another one has its conversation and its owner, or nothing.
    #[must_use]
    pub fn conversation(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = conversation.into();
        self
    }

    /// Adds a sealed root; the first is the default of the session. Without a label it keeps the
    /// one it was sealed with.
    #[must_use]
    pub fn root(mut self, root: RootId, label: Option<Label>) -> Self {
        self.roots.push(RootOrder { root, label });
        self
    }

    /// Allows verbs on a subtree of a root; [`RelPath::root`] is all of it.
    #[must_use]
    pub fn grant(self, root: RootId, prefix: RelPath, verbs: VerbSet) -> Self {
        self.grant_only(root, prefix, Only::verbs(verbs))
    }

    /// Allows some modes of verbs, or exact operations, on a subtree of a root.
    #[must_use]
    pub fn grant_only(mut self, root: RootId, prefix: RelPath, only: Only) -> Self {
        self.grants.push(only.at(root, prefix));
        self
    }

    /// Allows verbs on a subtree of a root with an approval for each use.
    #[must_use]
    pub fn ask(self, root: RootId, prefix: RelPath, verbs: VerbSet) -> Self {
        self.ask_only(root, prefix, Only::verbs(verbs))
    }

    /// Allows some modes of verbs, or exact operations, with an approval for each use.
    #[must_use]
    pub fn ask_only(mut self, root: RootId, prefix: RelPath, only: Only) -> Self {
        self.asks.push(only.at(root, prefix));
        self
    }

    /// Bounds how much the session, and all that is made within it, may do in all.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Who decides about what the session asks for; [`Deciding::Anyone`] unless it is said.
    #[must_use]
    pub fn deciding(mut self, deciding: Deciding) -> Self {
        self.deciding = deciding;
        self
    }

    /// Refuses verbs on names that match, visibly: the worker reads the name and the reason.
    #[must_use]
    pub fn deny(self, name: &str, reason: &str, verbs: VerbSet, pattern: Pattern) -> Self {
        self.denial((name, reason), verbs, Effect::Deny, Target::Names(pattern))
    }

    /// Makes names that match absent: not found, not listed, not counted.
    #[must_use]
    pub fn hide(self, name: &str, reason: &str, pattern: Pattern) -> Self {
        let verbs = VerbSet::READING;
        self.denial((name, reason), verbs, Effect::Hide, Target::Names(pattern))
    }

    /// Refuses verbs on one object and what is below it, under any name it has. The descriptor
    /// (`O_PATH` is enough) says which; the order keeps it open.
    #[must_use]
    pub fn deny_object(self, name: &str, reason: &str, verbs: VerbSet, object: OwnedFd) -> Self {
        self.denial((name, reason), verbs, Effect::Deny, Target::Object(object))
    }

    /// Makes one object absent, and what is below it, under any name it has.
    #[must_use]
    pub fn hide_object(self, name: &str, reason: &str, object: OwnedFd) -> Self {
        let verbs = VerbSet::READING;
        self.denial((name, reason), verbs, Effect::Hide, Target::Object(object))
    }

    /// Makes verbs on names that match need an approval for each use, where they are granted. It
    /// grants nothing: what nothing else allows stays refused.
    #[must_use]
    pub fn ask_pattern(self, name: &str, reason: &str, verbs: VerbSet, pattern: Pattern) -> Self {
        self.denial((name, reason), verbs, Effect::Ask, Target::Names(pattern))
    }

    /// The same of one object and what is below it, under any name it has.
    #[must_use]
    pub fn ask_object(self, name: &str, reason: &str, verbs: VerbSet, object: OwnedFd) -> Self {
        self.denial((name, reason), verbs, Effect::Ask, Target::Object(object))
    }

    /// Takes one built-in denial away, by its name.
    #[must_use]
    pub fn except(mut self, name: &str) -> Self {
        if let Some(name) = self.text("an exception", name) {
            self.exceptions.push(name);
        }
        self
    }

    /// Ends the session at this time, in milliseconds since 1970.
    #[must_use]
    pub fn expires_ms(mut self, when: u64) -> Self {
        self.expires_ms = Some(when);
        self
    }

    /// Keeps the session within the authority of another one of the same connection, with which it
    /// ends.
    #[must_use]
    pub fn within(mut self, session: SessionId) -> Self {
        self.within = Some(session);
        self
    }

    /// Rules of ignore files that hold in every root, weaker than those in it: the text of the user's
    /// own ignore file, which no session reads for itself. They narrow what `list`, `glob` and `search`
    /// show, never what may be done.
    #[must_use]
    pub fn ignore(mut self, rules: impl Into<Vec<u8>>) -> Self {
        match Bytes::new(rules) {
            Ok(rules) => self.ignore = rules,
            Err(error) => {
                self.wrong::<()>("rules of ignore files", &error);
            }
        }
        self
    }

    fn denial(
        mut self,
        (name, reason): (&str, &str),
        verbs: VerbSet,
        effect: Effect,
        target: Target,
    ) -> Self {
        let name_text = self.text("the name of a denial", name);
        let reason = self.text("the reason of a denial", reason);
        let target = match target {
            Target::Names(Pattern { root, pattern }) => match Bytes::new(pattern) {
                Ok(pattern) => Some(DenialOrderTarget::Pattern { root, pattern }),
                Err(error) => self.wrong("a pattern", &error),
            },
            Target::Object(object) => {
                let descriptor = u16::try_from(self.descriptors.len()).unwrap_or(u16::MAX);
                self.descriptors.push(object);
                Some(DenialOrderTarget::Object { descriptor })
            }
        };
        if let (Some(name), Some(reason), Some(target)) = (name_text, reason, target) {
            self.denials.push(DenialOrder {
                name,
                reason,
                verbs,
                target,
                effect,
            });
        }
        self
    }

    fn text(&mut self, what: &str, text: &str) -> Option<Text<REASON_BYTES_MAX>> {
        match Text::new(text) {
            Ok(text) => Some(text),
            Err(error) => self.wrong(what, &error),
        }
    }

    fn wrong<T>(&mut self, what: &str, error: &dyn fmt::Display) -> Option<T> {
        self.wrong.get_or_insert_with(|| format!("{what}: {error}"));
        None
    }

    /// The frame's body and the descriptors that go with it.
    pub(crate) fn build(&self) -> Result<(Mint, &[OwnedFd]), Error> {
        if let Some(wrong) = &self.wrong {
            return Err(Error::invalid(wrong));
        }
        if self.descriptors.len() > DESCRIPTORS_MAX {
            return Err(Error::invalid(format_args!(
                "{} objects are denied by descriptor, at most {DESCRIPTORS_MAX} can be",
                self.descriptors.len()
            )));
        }
        let say = |what: &'static str| {
            move |error: &dyn fmt::Display| Error::invalid(format_args!("{what}: {error}"))
        };
        Ok((
            Mint {
                request: Text::new(self.request.as_str())
                    .map_err(|e| say("the name of the request")(&e))?,
                owner: Text::new(self.owner.as_str()).map_err(|e| say("the owner")(&e))?,
                conversation: Text::new(self.conversation.as_str())
                    .map_err(|e| say("the conversation")(&e))?,
                roots: Few::new(self.roots.clone()).map_err(|e| say("roots")(&e))?,
                grants: Few::new(self.grants.clone()).map_err(|e| say("grants")(&e))?,
                asks: Few::new(self.asks.clone()).map_err(|e| say("asks")(&e))?,
                budgets: self.budgets,
                deciding: self.deciding,
                denials: Few::new(self.denials.clone()).map_err(|e| say("denials")(&e))?,
                exceptions: Few::new(self.exceptions.clone()).map_err(|e| say("exceptions")(&e))?,
                expires_ms: self.expires_ms,
                within: self.within,
                ignore: self.ignore.clone(),
            },
            &self.descriptors,
        ))
    }
}

/// What a denial covers, before it is put on the wire.
enum Target {
    Names(Pattern),
    Object(OwnedFd),
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_protocol::limits::ROOTS_MAX;

    #[test]
    fn objects_are_numbered_in_the_order_of_their_descriptors() {
        let open = || OwnedFd::from(std::fs::File::open("/").unwrap());
        let order = MintOrder::new("o")
            .deny_object("a", "r", VerbSet::READING, open())
            .deny(
                "b",
                "r",
                VerbSet::CONTENT,
                Pattern::below(RootId(3), "x/**"),
            )
            .hide_object("c", "r", open());
        let (mint, descriptors) = order.build().unwrap();
        assert_eq!(descriptors.len(), 2);
        let targets: Vec<_> = mint.denials.as_slice().iter().map(|d| &d.target).collect();
        assert_eq!(targets[0], &DenialOrderTarget::Object { descriptor: 0 });
        assert_eq!(targets[2], &DenialOrderTarget::Object { descriptor: 1 });
        assert_eq!(mint.denials.as_slice()[2].effect, Effect::Hide);
    }

    #[test]
    fn what_is_over_its_limit_is_an_error_of_mint() {
        let long = "x".repeat(REASON_BYTES_MAX + 1);
        assert!(MintOrder::new(long.as_str()).build().is_err());
        assert!(MintOrder::new("o").except(&long).build().is_err());
        let pattern = Pattern::anywhere(vec![b'x'; 1025]);
        assert!(MintOrder::new("o").hide("n", "r", pattern).build().is_err());
        assert!(MintOrder::new("o\n").build().is_err());
        let roots =
            (0..=ROOTS_MAX as u64).fold(MintOrder::new("o"), |o, n| o.root(RootId(n), None));
        assert!(roots.build().is_err());
        assert!(MintOrder::new("o").build().is_ok());
    }
}
