//! Narrower sessions, asked for by a worker: a socket comes back, and with it never more than the
//! session that asked has.

use super::SessionId;
use crate::authority::{AuthorityId, Budgets, Effect};
use crate::bounded::{Bytes, Few, Text};
use crate::limits::{DENIALS_MAX, GRANTS_MAX, PATTERN_BYTES_MAX, REASON_BYTES_MAX};
use crate::path::RelPath;
use crate::verb::{ModeSet, VerbSet};
use crate::view::RootIndex;
use serde::{Deserialize, Serialize};

/// Asks for a session within this one. What is wished for and not had is left out: the new session
/// says in `whoami` what it got. Only one may be unacknowledged at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    /// The worker's own name for what it is for.
    pub request: Text<REASON_BYTES_MAX>,
    /// What the new session shall be granted.
    pub grants: Few<Wish, GRANTS_MAX>,
    /// What it shall have with an approval for each use.
    pub asks: Few<Wish, GRANTS_MAX>,
    /// What it shall not, beside what this session may not.
    pub denials: Few<WishedDenial, DENIALS_MAX>,
    /// How much it may do in all; taken from what this session has left, for good. Where this
    /// session has a limit and this says none, half of what is left.
    pub budgets: Budgets,
    /// When it ends, in milliseconds since 1970; with this session at the latest.
    pub expires_ms: Option<u64>,
}

/// A grant or an ask that is wished for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// A root of this session.
    pub root: RootIndex,
    /// The subtree.
    pub prefix: RelPath,
    /// The verbs.
    pub verbs: VerbSet,
    /// Which modes of them.
    pub modes: ModeSet,
}

/// A denial by pattern that is wished for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WishedDenial {
    /// The rule's name; it cannot begin with `builtin:`.
    pub name: Text<REASON_BYTES_MAX>,
    /// Why it exists.
    pub reason: Text<REASON_BYTES_MAX>,
    /// The verbs it refuses; ignored by [`Effect::Hide`].
    pub verbs: VerbSet,
    /// The root below which a pattern with a slash begins; none is anywhere.
    pub root: Option<RootIndex>,
    /// The pattern. See [`crate::authority::DenialTarget::Pattern`].
    pub pattern: Bytes<PATTERN_BYTES_MAX>,
    /// How it shows itself.
    pub effect: Effect,
}

/// A delegated session is made; its socket comes with this frame. It ends with the session it was
/// delegated from, at the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegated {
    /// The session.
    pub session: SessionId,
    /// Its authority.
    pub authority: AuthorityId,
}

/// Says that the socket of a delegated session has arrived. One that is never acknowledged blocks
/// the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledge {
    /// The session.
    pub session: SessionId,
}

/// Ends a session that was delegated from this one, with all within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndDelegated {
    /// The session.
    pub session: SessionId,
}

/// Answers `Acknowledge` and `EndDelegated`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {}
