//! A session on a few files, and what each request made of them.

use portcullis_client::change::{self, Count, Edit, Item, TextEdit};
use portcullis_client::{Changes, Error, Session, ask, patch};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Changed, Matched, Outcome, Selector, Tiers};
use portcullis_protocol::view::{Digest, Stamp};
use portcullis_tests::hostile::{Arena, census};
use portcullis_tests::own;
use portcullis_tests::patient::patiently;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A session, its root, and nothing else.
pub(crate) struct Desk {
    /// The worker's side.
    pub(crate) session: Session,
    arena: Arena,
}

/// A name as a worker writes it.
pub(crate) fn at(name: &str) -> Selector {
    ask::selector(name).unwrap()
}

/// One change.
pub(crate) fn one(item: impl Into<Item>) -> Changes {
    Changes::new().with(item)
}

/// These edits of one file, by the tiers that need no asking.
pub(crate) fn edits(name: &str, edits: Vec<TextEdit>) -> Edit {
    Edit {
        edits,
        tiers: Tiers::DEFAULT,
        ..change::replace(at(name), "-", "-")
    }
}

/// A text for a text, so often.
pub(crate) fn replace(old: &str, new: &str, count: Count) -> TextEdit {
    TextEdit::Replace(change::Replace {
        old: old.into(),
        new: new.into(),
        count,
    })
}

/// blake3 of bytes.
pub(crate) fn digest(bytes: impl AsRef<[u8]>) -> Digest {
    Digest(*blake3::hash(bytes.as_ref()).as_bytes())
}

/// What a patch of any format says.
#[track_caller]
pub(crate) fn patched(text: impl AsRef<[u8]>) -> Changes {
    let text = text.as_ref();
    patch::parse_any(text, None).unwrap_or_else(|error| panic!("{error}\n{}", text.escape_ascii()))
}

/// A patch in the V4A envelope with these sections.
pub(crate) fn v4a(sections: &str) -> Changes {
    patched(format!("*** Begin Patch\n{sections}\n*** End Patch\n"))
}

/// What one request did, or that it did nothing.
pub(crate) type Answer = Result<(), Error>;

impl Desk {
    /// With these files.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let mut arena = Arena::new(own!("own-gate"));
        for (name, content) in files {
            arena.write(name, content);
        }
        Self {
            session: arena.session().session,
            arena,
        }
    }

    /// Another session on the same root.
    pub(crate) fn other(&mut self) -> Session {
        self.arena.session().session
    }

    /// The root.
    pub(crate) fn inside(&self) -> PathBuf {
        self.arena.inside()
    }

    /// A name below the root, for the test itself.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.inside().join(name)
    }

    /// Writes a file beside the broker, as any other program would.
    pub(crate) fn write_outside(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The bytes of a file.
    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Compares the bytes of a file.
    #[track_caller]
    pub(crate) fn is(&self, name: &str, wanted: impl AsRef<[u8]>) {
        let bytes = self.bytes(name);
        let (is, wanted) = (bytes.escape_ascii(), wanted.as_ref().escape_ascii());
        assert_eq!(is.to_string(), wanted.to_string(), "{name}");
    }

    /// Permission bits.
    #[track_caller]
    pub(crate) fn mode(&self, name: &str) -> u32 {
        std::fs::symlink_metadata(self.path(name)).unwrap().mode() & 0o7777
    }

    /// Sets them, as any other program would.
    #[track_caller]
    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// The version of a file, as the session sees it.
    #[track_caller]
    pub(crate) fn stamp(&mut self, name: &str) -> Stamp {
        let seen = self.session.stat(&ask::stat(at(name))).unwrap();
        seen.observation.stamp
    }

    /// Reads a file whole, as a worker does before it changes it.
    #[track_caller]
    pub(crate) fn read(&mut self, name: &str) -> Vec<u8> {
        self.session.read_file(at(name)).unwrap().bytes
    }

    /// Makes changes: all of them are there afterwards, or nothing is different.
    pub(crate) fn make(&mut self, changes: &Changes) -> Answer {
        let before = census(&self.inside());
        let answer = patiently(&mut self.session, changes).map(drop);
        if let Err(error) = &answer {
            assert_eq!(census(&self.inside()), before, "{error}: but changed");
            let shown = error.to_string();
            assert!(shown.starts_with("nothing was changed: "), "{shown}");
            assert!(!shown.contains("portcullis-test-"), "a host path: {shown}");
        }
        answer
    }

    /// They are made.
    #[track_caller]
    pub(crate) fn done(&mut self, changes: &Changes) {
        self.make(changes)
            .unwrap_or_else(|error| panic!("{error}: {changes:?}"));
    }

    /// They are made; gives the receipt.
    #[track_caller]
    pub(crate) fn changed(&mut self, changes: &Changes) -> Changed {
        let changed = patiently(&mut self.session, changes).unwrap().changed;
        assert_eq!((changed.outcome, changed.left), (Outcome::Done, 0));
        changed
    }

    /// They are refused, with this code, and nothing is different; gives the refusal.
    #[track_caller]
    pub(crate) fn refused(&mut self, changes: &Changes, code: Code) -> Refusal {
        let error = match self.make(changes) {
            Ok(()) => panic!("it was made: {changes:?}"),
            Err(error) => error,
        };
        let refusal = error.refusal().unwrap_or_else(|| panic!("{error}")).clone();
        assert_eq!(refusal.code, code, "{error}");
        refusal
    }

    /// Where they match and by which tier, and the difference they make.
    #[track_caller]
    pub(crate) fn plan(&mut self, changes: &Changes) -> (Vec<Matched>, Vec<u8>) {
        let before = census(&self.inside());
        let plan = self.session.plan(changes).unwrap();
        assert_eq!(census(&self.inside()), before, "a dry run");
        (plan.planned.matched.as_slice().to_vec(), plan.diff)
    }

    /// Everything below the root.
    pub(crate) fn census(&self) -> Vec<String> {
        census(&self.inside())
    }

    /// Runs a shell script in which `$T` is the tool, all of it in one session of its own.
    pub(crate) fn tool(&mut self, script: &str, input: &[u8]) -> Output {
        use std::io::Write as _;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", script])
            .env("T", own!("own-tool"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.other().attach(&mut shell).unwrap();
        let mut child = shell.spawn().unwrap();
        // It ends when the script does: a tool that reads nothing is no failure of the test's.
        let written = child.stdin.take().unwrap().write_all(input);
        if let Err(error) = written {
            assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        }
        child.wait_with_output().unwrap()
    }
}

/// The note of a refusal.
pub(crate) fn note(refusal: &Refusal) -> &str {
    refusal.note.as_ref().map_or("", |note| note.as_str())
}

/// Exit code and standard error of a tool, and that it said first whether anything was changed.
#[track_caller]
pub(crate) fn not_done(output: &Output) -> (i32, String) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing was changed"), "{said}");
    (output.status.code().unwrap(), said)
}

/// The output of a tool that did what it was asked.
#[track_caller]
pub(crate) fn out(output: &Output) -> Vec<u8> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    output.stdout.clone()
}
