//! Representative values that several messages hold, names that are not UTF-8 among them.

use portcullis_protocol::authority::{
    Authority, AuthorityId, Denial, DenialTarget, Durable, Effect, FileSystem, Grant, Inputs,
    Parts, Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::ledger::{CageReport, RefusalNote, Tally};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal, Rule};
use portcullis_protocol::session::{GrantView, Incarnation, Limits, Selector};
use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use portcullis_protocol::view::{
    Binding, Digest, Kind, Observation, Role, RootIndex, Stamp, Timestamp,
};

/// One message with the name of its file.
pub(crate) struct Case<M> {
    pub(crate) name: &'static str,
    pub(crate) id: RequestId,
    pub(crate) message: M,
    pub(crate) content: &'static [u8],
}

impl<M> Case<M> {
    pub(crate) fn new(name: &'static str, id: u32, message: M) -> Self {
        Self {
            name,
            id: RequestId(id),
            message,
            content: b"",
        }
    }

    pub(crate) fn with(mut self, content: &'static [u8]) -> Self {
        self.content = content;
        self
    }
}

/// A name in Latin-1, which is not UTF-8.
pub(crate) const CAFE: &[u8] = b"src/caf\xe9.rs";

/// A difference of a file that is not UTF-8.
pub(crate) const DIFF: &[u8] = b"--- a/src/caf\xe9.rs\n+++ b/src/caf\xe9.rs\n@@ -1 +1 @@\n-a\n+b\n";

pub(crate) fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::new(text).unwrap()
}

pub(crate) fn bytes<const MAX: usize>(bytes: &[u8]) -> Bytes<MAX> {
    Bytes::new(bytes).unwrap()
}

pub(crate) fn few<T, const MAX: usize>(items: Vec<T>) -> Few<T, MAX> {
    Few::new(items).unwrap()
}

pub(crate) fn path(bytes: &[u8]) -> RelPath {
    RelPath::parse(bytes).unwrap()
}

pub(crate) fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

pub(crate) fn selector(path: &[u8]) -> Selector {
    Selector {
        root: None,
        path: bytes(path),
    }
}

pub(crate) fn in_root(root: &str, path: &[u8]) -> Selector {
    Selector {
        root: Some(label(root)),
        path: bytes(path),
    }
}

pub(crate) fn incarnation() -> Incarnation {
    Incarnation(std::array::from_fn(|n| u8::try_from(n).unwrap() * 0x11))
}

pub(crate) fn limits() -> Limits {
    Limits {
        frame_bytes: 131_072,
        content_bytes: 65_536,
        in_flight: 64,
        streams: 4,
        in_flight_bytes: 262_144,
        send_deadline_ms: 10_000,
    }
}

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp {
        seconds,
        nanos: 999_999_999,
    }
}

pub(crate) fn stamp() -> Stamp {
    Stamp {
        device: 0x801,
        inode: 300,
        changed: time(-1),
        born: Some(time(1)),
        size: 5,
    }
}

pub(crate) fn binding(name: &[u8], kind: Kind) -> Binding {
    Binding {
        role: Role::Source,
        root: RootIndex(0),
        path: path(name),
        observation: Observation {
            kind,
            mode: 0o644,
            links: 1,
            modified: time(1_700_000_000),
            stamp: stamp(),
        },
        link: match kind {
            Kind::Link => Some(bytes(b"../caf\xe9")),
            Kind::File
            | Kind::Directory
            | Kind::Fifo
            | Kind::Socket
            | Kind::Device
            | Kind::Unknown => None,
        },
    }
}

pub(crate) fn rule() -> Rule {
    Rule {
        name: text("builtin:env"),
        reason: text("environment files hold secrets"),
    }
}

pub(crate) fn refusal() -> Refusal {
    Refusal::new(Code::Denied)
        .of(Verb::Read)
        .on(b".env\xff")
        .by(rule())
        .noting("seen at mint")
}

/// A refusal because the object is in another version.
pub(crate) fn conflict() -> Refusal {
    Refusal::new(Code::Conflict)
        .of(Verb::Edit)
        .on(CAFE)
        .finding(stamp())
}

pub(crate) fn grant_view() -> GrantView {
    GrantView {
        root: RootIndex(0),
        prefix: path(b"src"),
        verbs: VerbSet::of(&[Verb::Stat, Verb::Read]),
        modes: ModeSet::ALL,
        inputs: Some(1),
    }
}

pub(crate) fn tally() -> Tally {
    Tally {
        requests: 300,
        stats: 1,
        reads: 2,
        lists: 3,
        searches: 4,
        changes: 128,
        refused: 5,
        bytes: 1 << 40,
    }
}

pub(crate) fn cage() -> CageReport {
    CageReport {
        landlock_abi: 7,
        landlock_handled: 0xffff,
        landlock_rules: 2,
        seccomp_mode: 2,
        seccomp_digest: [0xab; 32],
        no_new_privs: 1,
        capabilities: 0,
        dumpable: 0,
        user: 1000,
        group: 1000,
        probes_refused: 9,
        probes_made: 9,
    }
}

pub(crate) fn note() -> RefusalNote {
    RefusalNote {
        verb: Some(Verb::Search),
        object: Some(bytes(b"caf\xe9")),
        code: Code::NotGranted,
        rule: None,
    }
}

pub(crate) fn identity() -> RootIdentity {
    RootIdentity {
        device: 0x801,
        inode: 2,
        born: None,
        mount: 70,
    }
}

pub(crate) fn parts() -> Parts {
    let denial = |effect, target| Denial {
        rule: rule(),
        verbs: VerbSet::CONTENT,
        target,
        effect,
    };
    Parts {
        request: text("fix the build"),
        owner: text("user"),
        roots: vec![Root {
            id: RootId(1),
            label: label("workspace"),
            scope: Scope::Workspace,
            location: path(b"home/user/caf\xe9"),
            identity: identity(),
            durable: Durable {
                file_system: 0xf5,
                inode: 2,
                born: Some(time(1)),
                handle: Some(bytes(b"\x01\x00\x00\x00caf\xe9")),
            },
            file_system: FileSystem::Btrfs,
        }],
        conversation: text("thread 7"),
        parent: Some(AuthorityId([0xaa; 32])),
        grants: vec![Grant::whole(
            RootIndex(0),
            RelPath::root(),
            VerbSet::READING,
        )],
        asks: vec![Grant {
            modes: ModeSet::of(&[Mode::WriteNew]),
            inputs: Inputs::Only(few(vec![Digest([0x1d; 32])])),
            ..Grant::whole(RootIndex(0), path(b"src"), VerbSet::of(&[Verb::Write]))
        }],
        budgets: crate::granted::budgets(),
        denials: vec![
            denial(
                Effect::Deny,
                DenialTarget::Pattern {
                    anchor: Some(path(b"home/user")),
                    pattern: bytes(b"a/*.key"),
                },
            ),
            denial(
                Effect::Hide,
                DenialTarget::Object {
                    device: 0x801,
                    inode: 77,
                },
            ),
        ],
        expires_ms: Some(1_700_000_000_000),
    }
}

/// Two denials that differ in their verbs alone.
pub(crate) fn same_rule_twice() -> Parts {
    let mut parts = parts();
    let mut other = parts.denials[0].clone();
    other.verbs = VerbSet::of(&[Verb::List]);
    parts.denials.push(other);
    parts
}

pub(crate) fn authority() -> Authority {
    Authority::seal(parts()).unwrap()
}
