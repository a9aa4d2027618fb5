//! A session on a fresh directory, for the tests of the stages.

use crate::admit::admit;
use crate::bind::{Bound, bind};
use crate::plan::{Order, Plan, plan};
use crate::refused::Refused;
use crate::resolve::resolve;
use crate::session::Session;
use crate::uploads::Uploads;
use portcullis_protocol::authority::{
    Authority, Budgets, Denial, DenialTarget, Durable, Effect, FileSystem, Grant, Operation, Parts,
    Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::ledger::{Ancestor, Duty, Setup};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Refusal, Rule};
use portcullis_protocol::session::{
    Change, ChangeSet, Deed, Incarnation, Limits, Links, Selector, SessionId,
};
use portcullis_protocol::verb::{Verb, VerbSet};
use portcullis_protocol::view::{Digest, RootIndex};
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// The only root.
pub(crate) const ROOT: RootIndex = RootIndex(0);

/// A session and its directory.
pub(crate) struct World {
    pub(crate) session: Session,
    pub(crate) place: tempfile::TempDir,
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text.as_bytes()).unwrap()
}

/// These verbs below `prefix`.
pub(crate) fn grant(prefix: &str, verbs: &[Verb]) -> Grant {
    Grant::whole(ROOT, path(prefix), VerbSet::of(verbs))
}

/// A denial of a pattern, for every verb.
pub(crate) fn denial(pattern: &str, effect: Effect) -> Denial {
    Denial {
        rule: rule(pattern),
        verbs: VerbSet::ALL,
        target: DenialTarget::Pattern {
            anchor: None,
            pattern: Bytes::new(pattern).unwrap(),
        },
        effect,
    }
}

pub(crate) fn rule(name: &str) -> Rule {
    Rule {
        name: Text::new(name).unwrap(),
        reason: Text::new("tests").unwrap(),
    }
}

/// An authority over one root that grants nothing.
pub(crate) fn parts() -> Parts {
    Parts {
        request: Text::default(),
        owner: Text::default(),
        conversation: Text::default(),
        parent: None,
        roots: vec![Root {
            id: RootId(0),
            label: Label::new("w").unwrap(),
            scope: Scope::Workspace,
            location: path("nowhere/of/this/name"),
            identity: RootIdentity {
                device: 1,
                inode: 1,
                born: None,
                mount: 1,
            },
            durable: Durable {
                file_system: 1,
                inode: 1,
                born: None,
                handle: None,
            },
            file_system: FileSystem::Ext,
        }],
        grants: Vec::new(),
        asks: Vec::new(),
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    }
}

impl World {
    pub(crate) fn new(parts: Parts) -> Self {
        Self::with(parts, Duty::Serve, Vec::new())
    }

    pub(crate) fn with(parts: Parts, duty: Duty, lineage: Vec<Ancestor>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let session = session(parts, duty, lineage, place.path());
        Self { session, place }
    }

    /// The same directory under another authority.
    pub(crate) fn again(self, parts: Parts, duty: Duty) -> Self {
        let session = session(parts, duty, Vec::new(), self.place.path());
        Self { session, ..self }
    }

    pub(crate) fn file(&self, name: &str) {
        let at = self.place.path().join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, "text\n").unwrap();
    }

    /// Reaches an object for a verb.
    pub(crate) fn reach(&self, verb: Verb, name: &str) -> Result<Bound, Refusal> {
        self.reach_as(Operation::of(verb), name)
    }

    pub(crate) fn reach_as(&self, operation: Operation, name: &str) -> Result<Bound, Refusal> {
        let selector = selector(name);
        let admitted = admit(&self.session, operation, &selector, Links::Follow)?;
        bind(
            &self.session,
            resolve(&self.session, admitted)?,
            name.as_bytes(),
        )
    }

    /// Plans changes, none of which has content behind it.
    pub(crate) fn plan(&self, changes: Vec<Change>) -> Result<Plan, Refusal> {
        self.plan_as(changes, None)
    }

    pub(crate) fn plan_as(
        &self,
        changes: Vec<Change>,
        input: Option<Digest>,
    ) -> Result<Plan, Refusal> {
        let set = ChangeSet {
            changes: Few::new(changes).unwrap(),
            deed: Deed::Commit,
        };
        let order = Order {
            set: &set,
            content: b"new\n",
            input,
        };
        plan(&self.session, &Uploads::default(), order).map_err(|Refused { refusal, .. }| refusal)
    }
}

pub(crate) fn selector(name: &str) -> Selector {
    Selector {
        root: None,
        path: Bytes::new(name).unwrap(),
    }
}

fn session(parts: Parts, duty: Duty, lineage: Vec<Ancestor>, place: &Path) -> Session {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(place, flags, Mode::empty()).unwrap();
    let setup = Setup {
        authority: Authority::seal(parts).unwrap(),
        incarnation: Incarnation([0; 16]),
        session: SessionId(9),
        limits: Limits {
            frame_bytes: 0,
            content_bytes: 0,
            in_flight: 0,
            streams: 0,
            in_flight_bytes: 0,
            send_deadline_ms: 0,
        },
        run_as: None,
        duty,
        lineage: Few::new(lineage).unwrap(),
        ignore: Bytes::default(),
    };
    Session::new(setup, vec![root]).unwrap()
}
