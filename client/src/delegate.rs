//! Narrower sessions: what is wished for, and the session that comes.

use crate::error::{Error, Violation};
use crate::session::Session;
use crate::wire::match_reply;
use crate::words::Words;
use portcullis_protocol::authority::{AuthorityId, Budgets, Effect};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::{RelPath, Start, Step, escape, parse_selector};
use portcullis_protocol::session::{
    Acknowledge, Delegate, EndDelegated, Noted, Reply, Request, RootView, Selector, SessionId,
    Wish, WishedDenial,
};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::RootIndex;

/// What a delegated session shall be. It has nothing but what is wished for, and of that only what
/// the session that asks has.
///
/// A text or a list that is over its limit is an error of [`Session::delegate`], before anything is
/// asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wishes {
    request: String,
    grants: Vec<(Words, Selector)>,
    asks: Vec<(Words, Selector)>,
    denials: Vec<WishedRule>,
    budgets: Budgets,
    expires_ms: Option<u64>,
}

/// A denial that is wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WishedRule {
    name: String,
    reason: String,
    verbs: VerbSet,
    pattern: Vec<u8>,
    effect: Effect,
}

/// A session that was delegated.
#[derive(Debug)]
pub struct Delegation {
    /// Which session it is.
    pub id: SessionId,
    /// Its authority. What is in it is what its own `whoami` says.
    pub authority: AuthorityId,
    /// The session itself, unused: to be used here, or handed on by [`Session::attach`]. It is over
    /// when nobody holds it any more, and with the session it was asked of at the latest.
    pub session: Session,
}

impl Wishes {
    /// A session that may do nothing, for what is named here.
    pub fn new(request: impl Into<String>) -> Self {
        Self {
            request: request.into(),
            grants: Vec::new(),
            asks: Vec::new(),
            denials: Vec::new(),
            budgets: Budgets::UNLIMITED,
            expires_ms: None,
        }
    }

    /// Wishes for these verbs on a subtree. The selector is below the first root, in the root it
    /// names, or `/label/…`; `..` and links have no meaning in it.
    #[must_use]
    pub fn grant(mut self, words: Words, subtree: Selector) -> Self {
        self.grants.push((words, subtree));
        self
    }

    /// The same with an approval for each use. What the session that asks may do only so itself
    /// needs an approval in any case.
    #[must_use]
    pub fn ask(mut self, words: Words, subtree: Selector) -> Self {
        self.asks.push((words, subtree));
        self
    }

    /// Refuses verbs on names that match, visibly. A pattern without a slash matches at any depth.
    #[must_use]
    pub fn deny(self, name: &str, reason: &str, verbs: VerbSet, pattern: &[u8]) -> Self {
        self.rule((name, reason), verbs, pattern, Effect::Deny)
    }

    /// Makes names that match absent: not found, not listed, not counted.
    #[must_use]
    pub fn hide(self, name: &str, reason: &str, pattern: &[u8]) -> Self {
        self.rule((name, reason), VerbSet::READING, pattern, Effect::Hide)
    }

    /// Makes verbs on names that match need an approval for each use, where they are granted.
    #[must_use]
    pub fn ask_pattern(self, name: &str, reason: &str, verbs: VerbSet, pattern: &[u8]) -> Self {
        self.rule((name, reason), verbs, pattern, Effect::Ask)
    }

    /// How much it may do in all, taken from what the session that asks has left, for good. Where
    /// that has a limit and nothing is said here, half of what is left.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Ends it at this time, in milliseconds since 1970.
    #[must_use]
    pub fn expires_ms(mut self, when: u64) -> Self {
        self.expires_ms = Some(when);
        self
    }

    fn rule(
        mut self,
        (name, reason): (&str, &str),
        verbs: VerbSet,
        pattern: &[u8],
        effect: Effect,
    ) -> Self {
        self.denials.push(WishedRule {
            name: name.to_owned(),
            reason: reason.to_owned(),
            verbs,
            pattern: pattern.to_vec(),
            effect,
        });
        self
    }

    /// Whether the labels of the session's roots have to be known.
    fn names_roots(&self) -> bool {
        let mut all = self.grants.iter().chain(&self.asks);
        all.any(|(_, subtree)| {
            subtree.root.is_some() || subtree.path.as_slice().first() == Some(&b'/')
        })
    }

    fn build(&self, roots: &[RootView]) -> Result<Delegate, Error> {
        let wishes = |wished: &[(Words, Selector)]| -> Result<Vec<Wish>, Error> {
            wished.iter().map(|one| wish(one, roots)).collect()
        };
        let denials: Result<Vec<WishedDenial>, Error> = self.denials.iter().map(denial).collect();
        Ok(Delegate {
            request: Text::new(self.request.as_str()).map_err(|e| wrong("the request", &e))?,
            grants: Few::new(wishes(&self.grants)?).map_err(|e| wrong("grants", &e))?,
            asks: Few::new(wishes(&self.asks)?).map_err(|e| wrong("asks", &e))?,
            denials: Few::new(denials?).map_err(|e| wrong("denials", &e))?,
            budgets: self.budgets,
            expires_ms: self.expires_ms,
        })
    }
}

fn wrong(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::invalid(format_args!("{what}: {error}"))
}

fn wish((words, subtree): &(Words, Selector), roots: &[RootView]) -> Result<Wish, Error> {
    let (root, prefix) = place(subtree, roots)?;
    Ok(Wish {
        root,
        prefix,
        verbs: words.verbs,
        modes: words.modes,
    })
}

fn denial(rule: &WishedRule) -> Result<WishedDenial, Error> {
    let text = |text: &str| Text::new(text).map_err(|e| wrong("a denial", &e));
    Ok(WishedDenial {
        name: text(&rule.name)?,
        reason: text(&rule.reason)?,
        verbs: rule.verbs,
        root: None,
        pattern: Bytes::new(rule.pattern.as_slice()).map_err(|e| wrong("a pattern", &e))?,
        effect: rule.effect,
    })
}

/// Which root a subtree is in, and where. Nothing is looked up: a grant is a prefix of names.
fn place(subtree: &Selector, roots: &[RootView]) -> Result<(RootIndex, RelPath), Error> {
    let written = subtree.path.as_slice();
    let refuse = |why: &str| Error::invalid(format_args!("`{}`: {why}", escape(written)));
    let parsed = parse_selector(written).map_err(|error| refuse(&error.to_string()))?;
    let mut names = Vec::with_capacity(parsed.steps.len());
    for step in parsed.steps {
        match step {
            Step::Down(name) => names.push(name),
            Step::Up => return Err(refuse("name the directory itself, without `..`")),
        }
    }
    let mut names = names.into_iter();
    let label = match (&subtree.root, parsed.start) {
        (Some(label), Start::Root) => Some(label.as_str().as_bytes()),
        (None, Start::Root) => None,
        (None, Start::Slash) => Some(names.next().ok_or_else(|| refuse("name a root"))?),
        (Some(_), Start::Slash) => {
            return Err(refuse("a path in a named root begins without a slash"));
        }
    };
    let at = match label {
        None => Some(0),
        Some(label) => roots
            .iter()
            .position(|root| root.label.as_str().as_bytes() == label),
    };
    let unknown = || refuse("no root of this session has that label; `whoami` lists them");
    let at = at.ok_or_else(unknown)?;
    let mut prefix = RelPath::root();
    for name in names {
        let pushed = prefix.push(name);
        pushed.map_err(|error| refuse(&error.to_string()))?;
    }
    Ok((RootIndex(u16::try_from(at).unwrap_or(u16::MAX)), prefix))
}

impl Session {
    /// Asks for a session within this one, and takes its socket. What is wished for and not had is
    /// left out without a word: the new session's own `whoami` says what it got.
    ///
    /// Refused when too many sessions are within one another or at once
    /// ([`TooManySessions`](portcullis_protocol::refusal::Code::TooManySessions)).
    pub fn delegate(&mut self, wishes: &Wishes) -> Result<Delegation, Error> {
        let roots = if wishes.names_roots() {
            self.whoami()?.roots.into_vec()
        } else {
            Vec::new()
        };
        let asked = Request::Delegate(wishes.build(&roots)?);
        // Greeted before a descriptor may come with anything.
        self.id()?;
        self.wire.link.accept_descriptor()?;
        let sent = self.ask(&asked, &[]);
        let answered = sent.and_then(|id| self.wire.answer_with_socket(&mut self.buffer, id));
        let closed = self.wire.link.refuse_descriptors();
        let (reply, socket) = answered?;
        closed?;
        let delegated = match_reply!(self.wire, reply, Delegated)?;
        let Ok(mut session) = Self::from_socket(socket) else {
            return Err(self.wire.violated(Violation::Descriptors));
        };
        session.wire.expected = self.wire.expected;
        let id = self.ask(
            &Request::Acknowledge(Acknowledge {
                session: delegated.session,
            }),
            &[],
        )?;
        self.noted(id)?;
        Ok(Delegation {
            id: delegated.session,
            authority: delegated.authority,
            session,
        })
    }

    /// Ends a session that was delegated from this one, and all within it, at once.
    pub fn end_delegated(&mut self, session: SessionId) -> Result<(), Error> {
        let id = self.ask(&Request::EndDelegated(EndDelegated { session }), &[])?;
        self.noted(id)
    }

    fn noted(&mut self, id: RequestId) -> Result<(), Error> {
        let (reply, _) = self.wire.answer(&mut self.buffer, id)?;
        let Noted {} = match_reply!(self.wire, reply, Noted)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask;
    use portcullis_protocol::authority::Scope;
    use portcullis_protocol::path::Label;

    fn roots() -> Vec<RootView> {
        let root = |label: &str| RootView {
            label: Label::new(label).unwrap(),
            scope: Scope::Workspace,
        };
        vec![root("workspace"), root("docs")]
    }

    #[test]
    fn a_subtree_is_below_the_first_root_or_in_the_one_it_names() {
        let at = |path: &str| {
            let (root, prefix) = place(&ask::selector(path).unwrap(), &roots())?;
            Ok::<_, Error>((root.0, prefix.to_string()))
        };
        assert_eq!(at("src/./a").unwrap(), (0, "src/a".to_owned()));
        assert_eq!(at(".").unwrap(), (0, RelPath::root().to_string()));
        assert_eq!(at("/docs/x").unwrap(), (1, "x".to_owned()));
        assert_eq!(at("/docs").unwrap().0, 1);
        let named = ask::selector_in(Label::new("docs").unwrap(), "x").unwrap();
        assert_eq!(place(&named, &roots()).unwrap().0, RootIndex(1));
        for wrong in ["/", "/etc/x", "a/../b", "..", "/docs/.."] {
            assert_eq!(at(wrong).unwrap_err().code_name(), "invalid_argument");
        }
        let both = ask::selector_in(Label::new("docs").unwrap(), "/docs").unwrap();
        assert!(place(&both, &roots()).is_err());
    }

    #[test]
    fn what_is_over_its_limit_is_said_before_anything_is_asked_for() {
        let long = "x".repeat(300);
        let over = [
            Wishes::new(long.as_str()),
            Wishes::new("r").deny("n", &long, VerbSet::ALL, b"x"),
            Wishes::new("r").hide("n", "r", &[b'x'; 2000]),
            (0..300).fold(Wishes::new("r"), |wishes, _| {
                let root = ask::selector(".").unwrap();
                wishes.ask(Words::verbs(VerbSet::ALL), root)
            }),
        ];
        for wishes in over {
            let error = wishes.build(&roots()).unwrap_err();
            assert_eq!(error.code_name(), "invalid_argument");
        }
    }
}
