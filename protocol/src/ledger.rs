//! Ledger endpoint: between a gate and the warden that started it. The warden treats a gate as
//! untrusted: same codec, same limits.

use crate::approval::Bound;
use crate::authority::Authority;
use crate::bounded::{Bytes, Few, Text};
use crate::frame::messages;
use crate::limits::{
    GRANTS_MAX, IGNORE_BYTES_MAX, LINEAGE_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX, REASON_BYTES_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::{Code, Refusal};
use crate::session::{
    Delegate, Delegated, Deletion, EndDelegated, Guarantee, Incarnation, Limits, Noted, Outcome,
    SessionId, TOUCHED_MAX, Touched,
};
use crate::verb::{Verb, VerbSet};
use crate::view::{Digest, ObjectId, PathState};
use serde::{Deserialize, Serialize};

/// Refusals of one session that are told one by one; the rest is counted.
pub const NOTES_MAX: usize = 64;

messages! {
    /// Warden to gate.
    pub enum Command: tag 0x4c, canonical false, content [Asked] {
        /// First message: what to be. With it come the session socket, then one descriptor for
        /// each root of the authority, in order, then the lock of all gates and the gate's mark: a
        /// file of eight bytes, into which it writes the number of an effect, from 1 for its first
        /// `Begun`, little end first, before it changes files. A gate that dies before that changed
        /// nothing, whatever is there by then.
        0 = Setup(Setup),
        /// Answers `Begin` and `Amend`: the locks are held and the intent is in the journal. Answers
        /// `Claim`: the approval is spent, on record, and what it is for may be shown.
        1 = Begun(Begun),
        /// Answers `Begin`, `Amend`, `Claim`, `Delegate` and `Propose`: nothing is held and nothing may
        /// be changed or shown.
        2 = NotBegun(Refusal),
        /// Answers `Finish`: the receipt is written.
        3 = Receipted(ReceiptId),
        /// Answers `Delegate`; the session's socket comes with this frame.
        4 = Delegated(Delegated),
        /// Answers `Propose`: it was approved, and the gate that was started for it has answered the
        /// worker.
        5 = Answered(Answered),
        /// After the setup of a gate for one operation: which; the content behind it.
        6 = Asked(Asked),
        /// Answers `EndDelegated`.
        7 = Noted(Noted),
    }
}

messages! {
    /// Gate to warden.
    pub enum Event: tag 0x4d, canonical true, content [Finish, Propose, Bound] {
        /// The gate is caged and serves.
        0 = Ready(CageReport),
        /// A request was refused; at most [`NOTES_MAX`] of these.
        1 = Refused(RefusalNote),
        /// The session is over and this is what it did; last message.
        2 = Finished(Finished),
        /// The gate could not be caged, or broke; last message.
        3 = Fault(Fault),
        /// Asks for the locks of an effect and writes its intent. A gate has one effect at a time.
        4 = Begin(Begin),
        /// Replaces the intent of the effect that is begun; same names, same locks.
        5 = Amend(Intent),
        /// Gives the locks back while the effect goes on where no name leads. Has no answer.
        6 = Unlock(Unlock),
        /// Ends the effect that is begun; the difference behind it.
        7 = Finish(Finish),
        /// An observer's only word after `Ready`: what is there now; last message.
        8 = Seen(Seen),
        /// Asks for a session within the gate's own.
        9 = Delegate(Delegate),
        /// Ends one.
        10 = EndDelegated(EndDelegated),
        /// Asks for an approval of an operation, or to use one; the operation's content behind it,
        /// and with it the session socket, for the gate that answers in this one's stead. May come
        /// while an effect is begun.
        11 = Propose(Asked),
        /// A proposing gate's word after `Ready`: what the operation is bound to, which it holds from
        /// here on; the difference behind it.
        12 = Bound(Bound),
        /// A proposing gate's other word: why it cannot be; last message.
        13 = Unbound(Refusal),
        /// An executing gate asks to use its approval for what only shows.
        14 = Claim(Intent),
    }
}

/// What a gate is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// What its session may do.
    pub authority: Authority,
    /// This broker.
    pub incarnation: Incarnation,
    /// This session.
    pub session: SessionId,
    /// What bounds the worker.
    pub limits: Limits,
    /// The user and group to become before anything else; none stays as it is.
    pub run_as: Option<RunAs>,
    /// What it is for.
    pub duty: Duty,
    /// The sessions it was made within, the nearest first.
    pub lineage: Few<Ancestor, LINEAGE_MAX>,
    /// Rules of ignore files that hold in every root before all others.
    pub ignore: Bytes<IGNORE_BYTES_MAX>,
}

/// What a gate is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Duty {
    /// To serve a session, whose socket comes first among the descriptors.
    Serve,
    /// To look at what became of an effect whose gate is gone. No session socket comes with it,
    /// and its cage lets it change nothing.
    Observe(Intent),
    /// To work out and hold one operation that is asked for, while it is decided about. What is to
    /// be asked for counts as granted. No session socket comes with it, and its cage lets it change
    /// nothing.
    Propose,
    /// To do one operation that was approved, and to answer the worker, whose session socket comes
    /// first among the descriptors; nothing is read from it. What is to be asked for counts as
    /// granted.
    Execute,
}

/// One operation, as a worker asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The worker's number for it.
    pub id: u32,
    /// Which message of [`crate::session::Request`] it is.
    pub code: u16,
    /// Its encoding. The warden hands it on unread.
    pub body: Bytes<ASKED_BYTES_MAX>,
    /// What [`crate::session::input_digest`] gives for it.
    pub input: Digest,
}

/// Largest encoding of one operation that can be proposed, in bytes: with its content it fits one
/// frame.
pub const ASKED_BYTES_MAX: usize = 60 * 1024;

/// An approved operation was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Whether an effect was begun or something was shown; else the worker was refused.
    pub used: Claimed,
}

/// Whether an approval was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Claimed {
    /// It is spent.
    Yes,
    /// It is as it was.
    No,
}

/// A session above another one, for its `why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// The session.
    pub session: SessionId,
    /// What it was made for.
    pub request: Text<REASON_BYTES_MAX>,
    /// What was granted there, by label of the root; what does not fit is left out, and said.
    pub grants: Few<AncestorGrant, GRANTS_MAX>,
    /// Grants left out.
    pub cut: u32,
}

/// A grant or an ask of an ancestor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AncestorGrant {
    /// The root, as it is named in the session itself.
    pub root: Label,
    /// The subtree.
    pub prefix: RelPath,
    /// The verbs.
    pub verbs: VerbSet,
}

/// A user and group. Supplementary groups are always dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
}

/// The cage of a gate, as the gate observed it from inside after it was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CageReport {
    /// The kernel's Landlock ABI.
    pub landlock_abi: u32,
    /// File system rights the kernel now refuses unless a rule gives them.
    pub landlock_handled: u64,
    /// Rules: one for each root or granted subtree.
    pub landlock_rules: u32,
    /// The kernel's word for the thread's seccomp mode; 2 is a filter.
    pub seccomp_mode: u32,
    /// blake3 of the filter program.
    pub seccomp_digest: [u8; 32],
    /// Whether `no_new_privs` is set.
    pub no_new_privs: u32,
    /// Effective, permitted and inheritable capabilities, all or-ed together; ambient ones are
    /// always permitted ones too.
    pub capabilities: u64,
    /// Whether the process can be dumped or traced by its own user.
    pub dumpable: u32,
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
    /// Attempts made from inside that a cage must refuse, and were refused.
    pub probes_refused: u32,
    /// Such attempts made.
    pub probes_made: u32,
}

impl CageReport {
    /// True when nothing of the cage is missing.
    pub fn is_whole(&self) -> bool {
        self.landlock_abi >= LANDLOCK_ABI_MIN
            && self.landlock_handled != 0
            && self.seccomp_mode == 2
            && self.no_new_privs == 1
            && self.capabilities == 0
            && self.dumpable == 0
            && self.probes_made > 0
            && self.probes_refused == self.probes_made
    }
}

/// Lowest Landlock ABI a gate accepts: 3 (Linux 6.2) is the first that also refuses to truncate.
pub const LANDLOCK_ABI_MIN: u32 = 3;

/// A refused request, for the runtime's summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalNote {
    /// What was asked.
    pub verb: Option<Verb>,
    /// On what, as the worker wrote it.
    pub object: Option<Bytes<PATH_BYTES_MAX>>,
    /// Why it was refused.
    pub code: Code,
    /// By which rule.
    pub rule: Option<Text<REASON_BYTES_MAX>>,
}

/// What a session did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Requests answered, refusals included; hello, ping and cancel are not counted.
    pub requests: u64,
    /// `stat` requests.
    pub stats: u64,
    /// `read` requests.
    pub reads: u64,
    /// `list` and `glob` requests.
    pub lists: u64,
    /// `search` requests.
    pub searches: u64,
    /// Change sets, dry runs included.
    pub changes: u64,
    /// Refusals.
    pub refused: u64,
    /// Content of files sent, in bytes: of reads, and the lines of searches.
    pub bytes: u64,
}

/// The end of a session, by its gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// What it did.
    pub tally: Tally,
    /// How it ended.
    pub end: SessionEnd,
}

/// How a session ended, by its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SessionEnd {
    /// The worker closed its socket.
    WorkerLeft,
    /// The worker broke the protocol or did not read.
    WorkerMisbehaved,
}

/// A gate that could not be, or broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What the runtime's order to mint is refused with: [`Code::BadPattern`] when a denial cannot
    /// be compiled, else [`Code::NotConfined`].
    pub code: Code,
    /// What went wrong, for the runtime; may name host objects.
    pub what: Text<REASON_BYTES_MAX>,
}

/// A receipt, unique in one state of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReceiptId {
    /// Number in the state, from 1; never reused.
    pub number: u64,
    /// The link of its session's chain that it is.
    pub chain: Digest,
}

/// A name that hides from everyone: a leading dot, the broker's own mark, and 128 random bits.
/// Known to the journal before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Temporary(pub [u8; 16]);

impl Temporary {
    /// What every such name begins with.
    pub const PREFIX: &str = ".portcullis-";

    /// The name.
    pub fn name(self) -> String {
        use std::fmt::Write as _;
        let mut name = Self::PREFIX.to_owned();
        for byte in self.0 {
            // Writing to a string does not fail.
            write!(name, "{byte:02x}").unwrap_or_default();
        }
        name
    }

    /// Whether `name` has this form, in any letter case: no request may name it, no listing
    /// shows it.
    pub fn is_one(name: &[u8]) -> bool {
        let Some((mark, bits)) = name.split_at_checked(Self::PREFIX.len()) else {
            return false;
        };
        mark.eq_ignore_ascii_case(Self::PREFIX.as_bytes())
            && bits.len() == 32
            && bits.iter().all(u8::is_ascii_hexdigit)
    }
}

/// How an effect holds the trees it works in. Two that only share exclude each other by names;
/// an exclusive one is alone on the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TreeLock {
    /// Names are changed below directories that stay where they are.
    Shared,
    /// A directory gets another place, so that every path through it does; or one is made together
    /// with something else, so that it can be seen before the whole stands.
    Exclusive,
}

/// Asks for locks and announces an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// How the trees are held, each known by its file system.
    pub tree: TreeLock,
    /// What will be done.
    pub intent: Intent,
}

/// What an effect will do, so that a stranger who looks afterwards can tell whether it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Every name it touches.
    pub steps: Few<Step, TOUCHED_MAX>,
    /// blake3 of the request as it came, its content included.
    pub request: Digest,
}

/// One name an effect touches. Locked by parent and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The directory the name is in. For one that is still to be made, the nearest that exists.
    pub parent: ObjectId,
    /// The name in it.
    pub name: Bytes<NAME_BYTES_MAX>,
    /// What is done, before and after.
    pub touched: Touched,
    /// Where the new or the displaced object may be found meanwhile, in the same directory.
    pub temporary: Option<Temporary>,
    /// For deletions, what is deleted.
    pub deletion: Option<Deletion>,
}

/// The effect may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {}

/// Gives back the locks of the effect that is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlock {}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// How.
    pub outcome: Outcome,
    /// How sure it is that nothing of anybody else was lost.
    pub guarantee: Guarantee,
    /// Every name, with what is there now.
    pub touched: Few<Touched, TOUCHED_MAX>,
    /// Why it is not done.
    pub refusal: Option<Refusal>,
    /// Temporaries that could not be removed.
    pub left: u32,
    /// Bytes of the difference that did not fit behind this.
    pub diff_cut: u64,
}

/// What an observer saw: for each step of the intent, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// One for each step.
    pub steps: Few<SeenStep, TOUCHED_MAX>,
}

/// What is there of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenStep {
    /// At its name.
    pub now: PathState,
    /// At its temporary name; absent where it has none.
    pub temporary: PathState,
}
