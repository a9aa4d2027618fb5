//! A worker that asks for the wrong thing with every verb, and what it must get.
//!
//! [`every`] runs all reading verbs on one selector, checks that `why` foretold each answer, and
//! that nothing from outside the root is in any of them. [`Arena`] watches the directory outside:
//! nothing there may be opened, read or changed while it lives.

use crate::World;
use portcullis_client::{FileContent, Session, ask};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Detail, Done, Entry, Found, Links, Selector, Syntax, Verdict, VersionControl,
};
use portcullis_protocol::verb::Verb;
use portcullis_protocol::view::{Binding, Kind};
use rustix::fs::inotify;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What files outside the root hold. In no reply.
pub const SECRET: &[u8] = b"outside secret";
/// A name that only exists outside the root. In no reply either.
pub const OUTSIDE_NAME: &[u8] = b"only-outside-name";

/// Names that programs trip over: each is one plain name to the kernel.
pub const NAMES: &[&[u8]] = &[
    b"two\nlines",
    b"carriage\rreturn",
    b"\x1b[2Jcleared",
    b"bell\x07",
    b"tab\there",
    b"delete\x7f",
    b"\x01",
    b"bad-\xff\xfe",
    b"\xff",
    b"cut-\xc3",
    b"over-\xed\xa0\x80",
    b"back\\slash",
    b"\\",
    b"..\\up",
    b"\\x41",
    b"C:",
    b"C:\\con",
    b"con",
    b"nul.txt",
    b"a:b",
    b"a::$DATA",
    b"-rf",
    b"--",
    b"-",
    "gpj.\u{202e}exe".as_bytes(),
    "zero\u{200b}width".as_bytes(),
    "\u{feff}bom".as_bytes(),
    "a\u{202f}PM.png".as_bytes(),
    "nbsp\u{a0}here".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{1f600}".as_bytes(),
    b"trailing.",
    b"trailing ",
    b" leading",
    b" ",
    b"~",
    b"~root",
    b"$(x)",
    b"`x`",
    b"$HOME",
    b"%2e%2e%2f",
    b"...",
    b".. ",
    b"..x",
    b"[a]",
    b"[!a]",
    b"{x}",
    b"{x,y}",
    b"*",
    b"**",
    b"?",
    b"!not",
    b"#hash",
    b"quote\"'",
    b"semi;colon|pipe&and",
    b"(deleted)",
    b"x (deleted)",
    &[b'n'; 255],
];

/// A world whose directory outside is watched.
pub struct Arena {
    world: World,
    before: Vec<String>,
    watch: OwnedFd,
}

impl Arena {
    /// An empty root beside a directory with secrets.
    pub fn new(gate: PathBuf) -> Self {
        let world = World::new(gate);
        let outside = world.outside();
        std::fs::write(outside.join("only-outside-name"), "outside secret\n").unwrap();
        std::fs::create_dir(outside.join("directory")).unwrap();
        std::fs::write(
            outside.join("directory/only-outside-name"),
            "outside secret\n",
        )
        .unwrap();
        let before = census(&outside);
        let watch = watch(&[&outside, &outside.join("directory")]);
        Self {
            world,
            before,
            watch,
        }
    }

    /// Makes a link below the root.
    pub fn link(&self, path: impl AsRef<Path>, to: impl AsRef<Path>) {
        let path = self.inside().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// Makes a directory below the root.
    pub fn directory(&self, path: impl AsRef<Path>) {
        std::fs::create_dir_all(self.inside().join(path)).unwrap();
    }
}

impl Deref for Arena {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Arena {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let touched = events(&self.watch);
        assert_eq!(
            touched,
            Vec::<String>::new(),
            "outside the root was touched"
        );
        assert_eq!(
            census(&self.world.outside()),
            self.before,
            "outside the root has changed"
        );
    }
}

/// A watch on files and directories: every open for reading or writing, read and change.
pub fn watch(paths: &[&Path]) -> OwnedFd {
    use inotify::{CreateFlags, WatchFlags};
    let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
    let watch = inotify::init(flags).unwrap();
    for path in paths {
        let seen = WatchFlags::ALL_EVENTS;
        inotify::add_watch(&watch, *path, seen).unwrap();
    }
    watch
}

/// What a watch saw.
pub fn events(watch: &OwnedFd) -> Vec<String> {
    let mut room = [MaybeUninit::uninit(); 8192];
    let mut reader = inotify::Reader::new(watch, &mut room);
    let mut seen = Vec::new();
    loop {
        match reader.next() {
            Ok(event) => seen.push(format!("{:?} {:?}", event.events(), event.file_name())),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return seen,
            Err(error) => panic!("inotify: {error}"),
        }
    }
}

/// Everything there is to say of a tree, but for the times of access.
pub fn census(tree: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = vec![tree.to_path_buf()];
    while let Some(path) = left.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_file() {
            blake3::hash(&std::fs::read(&path).unwrap()).to_string()
        } else if meta.is_dir() {
            left.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            "directory".to_owned()
        } else {
            format!("{:?}", std::fs::read_link(&path))
        };
        lines.push(format!(
            "{path:?} {} {:o} {}:{} links {} size {} m {}.{} c {}.{} {content}",
            meta.ino(),
            meta.mode(),
            meta.uid(),
            meta.gid(),
            meta.nlink(),
            meta.size(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ));
    }
    lines.sort();
    lines
}

/// What every verb answered to one selector.
#[derive(Debug)]
pub struct All {
    written: Vec<u8>,
    /// Stat, links followed.
    pub stat: Result<Binding, Refusal>,
    /// Stat, a link in the last component looked at as a link.
    pub look: Result<Binding, Refusal>,
    /// Read, the whole file.
    pub read: Result<FileContent, Refusal>,
    /// List, all levels, all fields.
    pub list: Result<(Vec<Entry>, Done), Refusal>,
    /// Glob of everything, all fields.
    pub glob: Result<(Vec<Entry>, Done), Refusal>,
    /// Search for every line.
    pub search: Result<(Vec<Found>, Done), Refusal>,
}

/// Asks with every verb, and checks `why` and every reply.
pub fn every(session: &mut Session, path: impl AsRef<[u8]>) -> All {
    every_at(session, ask::selector(path).unwrap())
}

/// The same in a named root.
pub fn every_at(session: &mut Session, selector: Selector) -> All {
    let mut look = ask::stat(selector.clone());
    let stat = refusal_of(session.stat(&look));
    look.links = Links::Keep;
    let look = refusal_of(session.stat(&look));
    let read = refusal_of(session.read_file(selector.clone()));
    let mut list = ask::list(selector.clone());
    (list.depth, list.detail) = (u32::MAX, Detail::Full);
    let list = refusal_of(session.list(&list).and_then(drain));
    let mut glob = ask::glob(selector.clone(), "**").unwrap();
    glob.detail = Detail::Full;
    let glob = refusal_of(session.glob(&glob).and_then(drain));
    let mut search = ask::search(selector.clone(), "^").unwrap();
    (search.syntax, search.version_control) = (Syntax::Regex, VersionControl::Include);
    let search = refusal_of(session.search(&search).and_then(drain));
    let written = selector.path.as_slice().to_vec();
    let all = All {
        written,
        stat,
        look,
        read,
        list,
        glob,
        search,
    };
    all.nothing_leaked();
    all.why_foretells(session, &selector);
    all
}

fn drain<T: portcullis_client::StreamItem>(
    mut stream: portcullis_client::Stream<'_, T>,
) -> Result<(Vec<T>, Done), portcullis_client::Error> {
    let mut items = Vec::new();
    for item in stream.by_ref() {
        items.push(item?);
    }
    Ok((items, stream.finish()?))
}

/// The refusal; any other error fails the test.
pub fn refusal_of<T>(result: Result<T, portcullis_client::Error>) -> Result<T, Refusal> {
    result.map_err(|error| match error.refusal() {
        Some(refusal) => refusal.clone(),
        None => panic!("not a refusal: {error}"),
    })
}

impl All {
    /// The code of each verb's refusal, in the order of [`Verb::ALL`]: stat, read, list, glob,
    /// search.
    pub fn codes(&self) -> [Option<Code>; 5] {
        let [stat, read, list, glob, search] = self.refusals();
        [stat, read, list, glob, search].map(|refusal| refusal.map(|r| r.code))
    }

    fn refusals(&self) -> [Option<&Refusal>; 5] {
        [
            self.stat.as_ref().err(),
            self.read.as_ref().err(),
            self.list.as_ref().err(),
            self.glob.as_ref().err(),
            self.search.as_ref().err(),
        ]
    }

    /// Every verb is refused with this code.
    #[track_caller]
    pub fn refused(&self, code: Code) {
        assert_eq!(self.codes(), [Some(code); 5], "{}", self.shown());
    }

    /// The same, and a look at the name as a link too.
    #[track_caller]
    pub fn refused_even_as_link(&self, code: Code) {
        self.refused(code);
        let look = self.look.as_ref().err().map(|refusal| refusal.code);
        assert_eq!(look, Some(code), "look at {}", self.shown());
    }

    /// It is this regular file, for every verb.
    #[track_caller]
    pub fn is_file(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let wrong = Some(Code::NotADirectory);
        assert_eq!(
            self.codes(),
            [None, None, wrong, wrong, None],
            "{}",
            self.shown()
        );
        let stat = self.stat.as_ref().unwrap();
        assert_eq!(stat.path.as_bytes(), path.as_ref(), "{}", self.shown());
        assert_eq!(stat.observation.kind, Kind::File, "{}", self.shown());
        let read = self.read.as_ref().unwrap();
        assert_eq!(
            read.binding.path.as_bytes(),
            path.as_ref(),
            "{}",
            self.shown()
        );
        assert_eq!(read.bytes, content.as_ref(), "{}", self.shown());
        let named = |found: &Found| matches!(found, Found::File { path: p } if p.as_bytes() == path.as_ref());
        let (found, _) = self.search.as_ref().unwrap();
        assert!(
            content.as_ref().is_empty() || found.iter().any(named),
            "{}",
            self.shown()
        );
    }

    /// It is this directory, for every verb.
    #[track_caller]
    pub fn is_directory(&self, path: impl AsRef<[u8]>) {
        let wrong = Some(Code::IsADirectory);
        assert_eq!(
            self.codes(),
            [None, wrong, None, None, None],
            "{}",
            self.shown()
        );
        let stat = self.stat.as_ref().unwrap();
        assert_eq!(stat.path.as_bytes(), path.as_ref(), "{}", self.shown());
        assert_eq!(stat.observation.kind, Kind::Directory, "{}", self.shown());
    }

    /// It is neither, and nothing is read from it.
    #[track_caller]
    pub fn is_special(&self, kind: Kind) {
        let (content, entries) = (Some(Code::NotRegular), Some(Code::NotADirectory));
        assert_eq!(
            self.codes(),
            [None, content, entries, entries, content],
            "{}",
            self.shown()
        );
        assert_eq!(
            self.stat.as_ref().unwrap().observation.kind,
            kind,
            "{}",
            self.shown()
        );
    }

    /// Content is refused by this rule; names and metadata are not.
    #[track_caller]
    pub fn content_denied(&self, rule: &str) {
        for (verb, refusal) in [
            (Verb::Read, self.refusals()[1]),
            (Verb::Search, self.refusals()[4]),
        ] {
            let refusal = refusal.unwrap_or_else(|| panic!("{verb} {} is allowed", self.shown()));
            assert_eq!(refusal.code, Code::Denied, "{verb} {}", self.shown());
            let name = refusal.rule.as_ref().map(|rule| rule.name.as_str());
            assert_eq!(name, Some(rule), "{verb} {}", self.shown());
        }
    }

    /// Every verb is refused by this rule.
    #[track_caller]
    pub fn denied(&self, rule: &str) {
        self.refused(Code::Denied);
        self.content_denied(rule);
    }

    /// Paths that the listing shows.
    pub fn listed(&self) -> Vec<&[u8]> {
        let (entries, _) = self.list.as_ref().unwrap();
        entries.iter().map(|entry| entry.path.as_bytes()).collect()
    }

    /// Paths that the glob shows.
    pub fn globbed(&self) -> Vec<&[u8]> {
        let (entries, _) = self.glob.as_ref().unwrap();
        entries.iter().map(|entry| entry.path.as_bytes()).collect()
    }

    /// Paths that the search shows.
    pub fn found(&self) -> Vec<&[u8]> {
        let (found, _) = self.search.as_ref().unwrap();
        found
            .iter()
            .filter_map(|found| match found {
                Found::File { path } | Found::Count { path, .. } => Some(path.as_bytes()),
                Found::Line(_) => None,
            })
            .collect()
    }

    /// The listing's entry of this path.
    #[track_caller]
    pub fn entry(&self, path: impl AsRef<[u8]>) -> &Entry {
        let (entries, _) = self.list.as_ref().unwrap();
        let entry = entries
            .iter()
            .find(|entry| entry.path.as_bytes() == path.as_ref());
        entry.unwrap_or_else(|| panic!("not listed: {:?}", path.as_ref().escape_ascii()))
    }

    fn shown(&self) -> String {
        format!("`{}`", self.written.escape_ascii())
    }

    /// No name and no byte of what lies outside is in any reply, unless the worker wrote it.
    fn nothing_leaked(&self) {
        let mut seen: Vec<&[u8]> = Vec::new();
        if let Ok(read) = &self.read {
            seen.push(&read.bytes);
        }
        for entries in [&self.list, &self.glob] {
            let entries = entries.iter().flat_map(|(entries, _)| entries);
            seen.extend(entries.map(|entry| entry.path.as_bytes()));
        }
        for found in self.search.iter().flat_map(|(found, _)| found) {
            seen.push(match found {
                Found::File { path } | Found::Count { path, .. } => path.as_bytes(),
                Found::Line(line) => line.text.as_slice(),
            });
        }
        for bytes in seen {
            for secret in [SECRET, OUTSIDE_NAME] {
                let leaked = bytes.windows(secret.len()).any(|window| window == secret);
                assert!(!leaked, "{} shows {}", self.shown(), bytes.escape_ascii());
            }
        }
        for refusal in self.refusals().into_iter().flatten() {
            let object = refusal.object.as_ref().map(|object| object.as_slice());
            let most = self
                .written
                .len()
                .min(portcullis_protocol::limits::PATH_BYTES_MAX);
            assert_eq!(
                object,
                self.written.get(..most),
                "{} names another object",
                self.shown()
            );
            let note = refusal.note.as_ref().map_or("", |note| note.as_str());
            assert!(
                !note.contains("portcullis-test-"),
                "{} shows a host path",
                self.shown()
            );
        }
    }

    /// `why` says beforehand exactly what each verb says.
    fn why_foretells(&self, session: &mut Session, selector: &Selector) {
        let bound = [
            self.stat.as_ref().ok().map(|binding| &binding.path),
            self.read.as_ref().ok().map(|read| &read.binding.path),
            None,
            None,
            None,
        ];
        for ((verb, refusal), path) in Verb::ALL.into_iter().zip(self.refusals()).zip(bound) {
            match session.why(&ask::why(verb, selector.clone())).unwrap() {
                Verdict::Refused(said) => {
                    assert_eq!(Some(&said), refusal, "why {verb} {}", self.shown());
                }
                Verdict::Allowed { binding, grant } => {
                    assert_eq!(refusal, None, "why {verb} {} allows it", self.shown());
                    assert!(grant.verbs.has(verb));
                    assert!(path.is_none_or(|path| *path == binding.path));
                }
            }
        }
    }
}

/// Runs `body` and fails when it takes longer than 20 seconds: a hang, not a measurement.
#[track_caller]
pub fn within_bounds(body: impl FnOnce() + Send + 'static) {
    within(Duration::from_secs(20), body);
}

/// The same for what is much work: it may take three minutes on a busy machine.
#[track_caller]
pub fn not_forever(body: impl FnOnce() + Send + 'static) {
    within(Duration::from_secs(180), body);
}

#[track_caller]
fn within(bound: Duration, body: impl FnOnce() + Send + 'static) {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let running = std::thread::spawn(move || {
        let _held = done;
        body();
    });
    // The sender is dropped when the body ends, however it ends.
    match waiting.recv_timeout(bound) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        Ok(()) | Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {}
    }
    if let Err(panic) = running.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `body` in a mount namespace of its own, as root: the test binary runs this one test again
/// under `unshare`. For an ordinary user `absent` must show that the privilege is absent.
#[track_caller]
pub fn as_root_with_own_mounts(test: &str, absent: impl FnOnce(), body: impl FnOnce()) {
    const INSIDE: &str = "PORTCULLIS_TEST_OWN_MOUNTS";
    let row = test.rsplit("::").next().unwrap_or(test);
    if !crate::privileged() {
        absent();
        println!("{row} needs root: proven in the run as root");
        return;
    }
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        body();
        println!("{row} ran to its end");
        return;
    }
    let output = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(INSIDE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "in its own mounts:\n{said}\n{complained}"
    );
    assert!(
        said.contains(&format!("{row} ran to its end")),
        "it did not run: {said}"
    );
}

/// An ordinary user cannot mount: that is why a row about mounts is proven as root only.
#[track_caller]
pub fn mounting_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let mounted = rustix::mount::mount(
        "tmpfs",
        place.path(),
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        None::<&std::ffi::CStr>,
    );
    assert_eq!(mounted, Err(rustix::io::Errno::PERM));
}

/// A tree of one name, `depth` levels deep, however long its path becomes. Gives the deepest
/// directory.
pub fn deep_tree(top: &Path, name: &[u8], depth: usize) -> OwnedFd {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755)).unwrap();
        here = rustix::fs::openat(&here, name, flags, Mode::empty()).unwrap();
    }
    here
}

/// The bytes of a path of the operating system.
pub fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Lowers how many descriptors a gate may have open; gives what it was. The hard limit stays, so
/// that it can be raised again.
pub fn limit_descriptors(gate: u32, most: u64) -> u64 {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(gate).unwrap());
    let old = prlimit(
        pid,
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum: Some(512),
        },
    );
    old.unwrap().current.unwrap_or(u64::MAX)
}
