//! What the tests share: a real warden with real gates on real directories.
//!
//! A test that cannot have what it needs fails; nothing here skips. What needs a privilege asks
//! [`privileged`], which is decided by the user id alone and printed, so that a run as root
//! cannot quietly become a run without.

pub mod attack;
pub mod attempts;
pub mod deeds;
pub mod faults;
pub mod naive;
pub mod patient;
pub mod rpc;
pub mod sys;
pub mod tree;

pub mod hostile;

use portcullis_client::{Control, MintOrder, Pattern, Session, ask};
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::SessionId;
use portcullis_protocol::verb::VerbSet;
use portcullis_warden::{Config, Embedded, GateExecutable};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// One of the tests' own executables. `PORTCULLIS_TEST_BIN` names another directory for them, so
/// that the same tests can run as a user who cannot read the build directory.
#[macro_export]
macro_rules! own {
    ($name:literal) => {{
        let built = ::std::path::PathBuf::from(env!(concat!("CARGO_BIN_EXE_", $name)));
        $crate::executable(built)
    }};
}

/// See [`own!`].
pub fn executable(built: PathBuf) -> PathBuf {
    match (std::env::var_os("PORTCULLIS_TEST_BIN"), built.file_name()) {
        (Some(directory), Some(name)) => PathBuf::from(directory).join(name),
        _ => built,
    }
}

/// Whether the tests run as root, and may mount, make devices and change users.
pub fn privileged() -> bool {
    rustix::process::geteuid().is_root()
}

/// A warden, a control connection to it, and a directory to work in.
pub struct World {
    /// The runtime's connection.
    pub control: Control,
    /// A fresh directory: `inside` is the root, `outside` is not.
    pub place: tempfile::TempDir,
    /// Kept alive with the world; dropped last.
    pub warden: Embedded,
}

/// A session with its id and root.
pub struct Opened {
    /// The worker's side.
    pub session: Session,
    /// For the runtime.
    pub id: SessionId,
    /// Its first root.
    pub root: RootId,
}

impl World {
    /// Starts a warden whose gates are `gate` (use `own!("own-gate")`), with empty directories
    /// `inside` and `outside`.
    pub fn new(gate: PathBuf) -> Self {
        let place = tempfile::Builder::new()
            .prefix("portcullis-test-")
            .tempdir()
            .unwrap();
        std::fs::create_dir(place.path().join("inside")).unwrap();
        std::fs::create_dir(place.path().join("outside")).unwrap();
        std::fs::write(place.path().join("outside/secret"), "outside secret\n").unwrap();
        let warden = Embedded::start(Config {
            gate: GateExecutable::At(gate),
            ..Config::default()
        })
        .unwrap();
        let control = Control::new(warden.connect().unwrap()).unwrap();
        Self {
            control,
            place,
            warden,
        }
    }

    /// The directory that becomes the root.
    pub fn inside(&self) -> PathBuf {
        self.place.path().join("inside")
    }

    /// A directory beside it that no session may reach.
    pub fn outside(&self) -> PathBuf {
        self.place.path().join("outside")
    }

    /// Writes a file below the root, with its parents.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.inside().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A session on the whole of `inside` with every verb.
    pub fn session(&mut self) -> Opened {
        self.session_with(|order, _| order)
    }

    /// The same, with denials or whatever `change` adds.
    pub fn session_with(&mut self, change: impl FnOnce(MintOrder, RootId) -> MintOrder) -> Opened {
        let inside = self.inside();
        let root = self.seal(&inside, "workspace");
        let order =
            MintOrder::new("tester")
                .root(root, None)
                .grant(root, RelPath::root(), VerbSet::ALL);
        let (minted, session) = self.control.mint(&change(order, root)).unwrap();
        Opened {
            session,
            id: minted.session,
            root,
        }
    }

    /// Seals a directory.
    pub fn seal(&mut self, path: &Path, label: &str) -> RootId {
        let label = Label::new(label).unwrap();
        self.control
            .seal_path(path, label, Scope::Workspace)
            .unwrap()
            .root
    }
}

/// A further name of `gate` in `directory`, by which it knows that the `nth` file system call of
/// its effects is to meet `what`. See `own-gate`. The directory must be on the gate's file system.
pub fn faulty(gate: &Path, directory: &Path, nth: u32, what: &str) -> PathBuf {
    let name = directory.join(format!("fault.{nth}.{what}"));
    if !name.exists() {
        // A link where it can be, else a copy: both are the same program under another name.
        if std::fs::hard_link(gate, &name).is_err() {
            std::fs::copy(gate, &name).unwrap();
        }
    }
    name
}

/// A pattern that matches at any depth.
pub fn anywhere(pattern: &str) -> Pattern {
    Pattern::anywhere(pattern)
}

/// The bytes of a whole file, or the code of the refusal.
pub fn read(session: &mut Session, path: impl AsRef<[u8]>) -> Result<Vec<u8>, Code> {
    session
        .read_file(ask::selector(path).unwrap())
        .map(|file| file.bytes)
        .map_err(|error| code(&error))
}

/// The code of a refusal; anything else fails the test.
pub fn code(error: &portcullis_client::Error) -> Code {
    match error.refusal() {
        Some(refusal) => refusal.code,
        None => panic!("not a refusal: {error}"),
    }
}

/// Names below `path`, as the session lists them.
pub fn names(session: &mut Session, path: impl AsRef<[u8]>, depth: u32) -> Vec<Vec<u8>> {
    let mut list = ask::list(ask::selector(path).unwrap());
    list.depth = depth;
    let entries: Result<Vec<_>, _> = session.list(&list).unwrap().collect();
    entries
        .unwrap()
        .into_iter()
        .map(|entry| entry.path.as_bytes().to_vec())
        .collect()
}

/// Bytes as a path of the operating system.
pub fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// A relative path.
pub fn rel(path: &str) -> RelPath {
    RelPath::parse(path.as_bytes()).unwrap()
}
