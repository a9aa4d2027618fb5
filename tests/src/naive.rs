//! What Portcullis is not: a file server that checks a path, then uses it again.
//!
//! It speaks the session protocol over the same kind of socket, so that one and the same client
//! and attack run against it. Each check it makes is right at the moment it is made. A test that
//! this server passes shows nothing.

mod change;
mod look;
mod whoami;

use look::{binding, code, each, errno, kind_of};
use portcullis_protocol::VERSION;
use portcullis_protocol::bounded::Bytes;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::RelPath;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{
    Completeness, Done, Entries, Entry, Found, FoundLine, Incarnation, LineRole, Matches, More,
    Ping, ReadEnd, ReadPart, ReadTail, Reply, Request, Rest, SessionId, Statistics, Steadiness,
    Welcome,
};
use portcullis_transport::{Buffer, Endpoint, SessionSide};
use rustix::fs::{CWD, Mode, OFlags};
use std::fs;
use std::io::Read as _;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use whoami::identity;

/// How long an open may take before it is counted as hanging.
const HANGS: Duration = Duration::from_millis(100);

/// What it serves.
#[derive(Debug, Clone)]
pub struct Naive {
    /// Its root.
    pub root: PathBuf,
    /// A file it must not show, by device and inode.
    pub denied: Option<(u64, u64)>,
    /// Opens that hang are freed by opening these, if they are FIFOs.
    pub fifos: Vec<PathBuf>,
    /// How it changes files.
    pub style: Style,
}

/// How a naive server finds the place of a change once it has checked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// By the path that it checked.
    Paths,
    /// In the directory that it checked and holds open, without looking again where that is by
    /// now. A name below `.git` is refused by the check.
    Held,
}

/// A running naive server, and the client's end of its socket until it is taken.
#[derive(Debug)]
pub struct Serving {
    client: Option<OwnedFd>,
    hangs: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Serving {
    /// The client's end, once.
    pub fn socket(&mut self) -> OwnedFd {
        self.client.take().unwrap()
    }

    /// How many opens hung by now.
    pub fn hangs(&self) -> u64 {
        self.hangs.load(Ordering::Relaxed)
    }

    /// Waits until the server saw its client leave; gives how many opens hung.
    pub fn stop(mut self) -> u64 {
        drop(self.client.take());
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        self.hangs.load(Ordering::Relaxed)
    }
}

/// Zero while no open is under way, else when it began, in microseconds from the start, plus one.
#[derive(Debug, Clone)]
struct Watch {
    began: Arc<AtomicU64>,
    start: Instant,
}

impl Watch {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap() + 1
    }
}

impl Naive {
    /// Starts it on a fresh socket pair.
    pub fn start(self) -> Serving {
        let (ours, theirs) = portcullis_transport::pair().unwrap();
        let endpoint = Endpoint::<SessionSide>::new(ours).unwrap();
        let hangs = Arc::new(AtomicU64::new(0));
        let watch = Watch {
            began: Arc::new(AtomicU64::new(0)),
            start: Instant::now(),
        };
        let (dog, counted, fifos) = (watch.clone(), Arc::clone(&hangs), self.fifos.clone());
        let server = std::thread::spawn(move || {
            Server {
                plan: self,
                endpoint,
                watch: watch.clone(),
                scratch: Vec::new(),
            }
            .run();
            watch.began.store(u64::MAX, Ordering::Relaxed);
        });
        let watcher = std::thread::spawn(move || look_for_hangs(&dog, &counted, &fifos));
        Serving {
            client: Some(theirs),
            hangs,
            threads: vec![server, watcher],
        }
    }
}

fn look_for_hangs(watch: &Watch, hangs: &AtomicU64, fifos: &[PathBuf]) {
    let mut counted = 0;
    loop {
        std::thread::sleep(Duration::from_millis(10));
        let began = watch.began.load(Ordering::Relaxed);
        if began == u64::MAX {
            return;
        }
        let patience = u64::try_from(HANGS.as_micros()).unwrap();
        if began == 0 || watch.now() < began + patience {
            continue;
        }
        if began != counted {
            hangs.fetch_add(1, Ordering::Relaxed);
            counted = began;
        }
        for fifo in fifos {
            // For both, which succeeds whatever the other side waits for.
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
            drop(rustix::fs::openat(CWD, fifo, flags, Mode::empty()));
        }
    }
}

/// A name that was checked. The descriptor keeps a path through `/proc` alive.
struct Checked {
    path: PathBuf,
    _held: Option<OwnedFd>,
}

struct Server {
    plan: Naive,
    endpoint: Endpoint<SessionSide>,
    watch: Watch,
    scratch: Vec<u8>,
}

impl Server {
    fn run(&mut self) {
        let mut buffer = Buffer::new();
        loop {
            let Ok(packet) = self.endpoint.receive(&mut buffer) else {
                return;
            };
            let (frame, _) = packet.decode().unwrap();
            let (id, request, content) = (frame.id, frame.message, frame.content);
            let answered = match request {
                Request::Hello(hello) => {
                    let welcome = Welcome {
                        version: VERSION,
                        limits: hello.limits,
                        incarnation: Incarnation([7; 16]),
                        session: SessionId(1),
                    };
                    self.reply(id, &Reply::Welcome(welcome), &[]);
                    Ok(())
                }
                Request::Stat(ask) => self.stat(id, ask.selector.path.as_slice()),
                Request::Read(ask) => self.read(id, ask.selectors.as_slice()[0].path.as_slice()),
                Request::List(ask) => self.list(id, ask.selector.path.as_slice(), ask.depth),
                Request::Glob(ask) => self.list(id, ask.selector.path.as_slice(), 64),
                Request::Search(ask) => {
                    let pattern = ask.pattern.as_slice().to_vec();
                    self.search(id, ask.selector.path.as_slice(), &pattern)
                }
                Request::Cancel(_) => Ok(()),
                Request::Change(set) => {
                    let content = content.to_vec();
                    self.change(id, &set, &content)
                }
                Request::Ping(_) => {
                    self.reply(id, &Reply::Pong(Ping {}), &[]);
                    Ok(())
                }
                Request::Whoami(_) => {
                    self.reply(id, &Reply::Whoami(identity()), &[]);
                    Ok(())
                }
                Request::Why(_)
                | Request::Upload(_)
                | Request::DropUpload(_)
                | Request::Compose(_)
                | Request::ChangeComposed(_)
                | Request::Delegate(_)
                | Request::Acknowledge(_)
                | Request::EndDelegated(_) => Err(Code::UnsupportedVerb),
            };
            if let Err(code) = answered {
                self.reply(id, &Reply::Refused(Refusal::new(code)), &[]);
            }
        }
    }

    fn reply(&mut self, id: RequestId, reply: &Reply, content: &[u8]) {
        // The client may have left.
        drop(self.endpoint.send(&mut self.scratch, id, reply, content));
    }

    /// The check: what the name leads to now lies below the root, and is not the denied file.
    fn check(&self, name: &[u8]) -> Result<Checked, Code> {
        let relative = Path::new(std::ffi::OsStr::from_bytes(name));
        let checked = if relative.components().any(|c| c.as_os_str() == "..") {
            self.walk(name)?
        } else {
            let path = fs::canonicalize(self.plan.root.join(relative)).map_err(code)?;
            if !path.starts_with(&self.plan.root) {
                return Err(Code::Escape);
            }
            Checked { path, _held: None }
        };
        let seen = fs::metadata(&checked.path).map_err(code)?;
        if self.plan.denied == Some((seen.dev(), seen.ino())) {
            return Err(Code::Denied);
        }
        Ok(checked)
    }

    /// A name with `..`: one component after the other on held descriptors, no link followed,
    /// never more `..` than names. What a directory's `..` is by then, it does not ask.
    fn walk(&self, name: &[u8]) -> Result<Checked, Code> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at =
            rustix::fs::openat(CWD, &self.plan.root, flags, Mode::empty()).map_err(errno)?;
        let mut depth = 0_u32;
        for step in name.split(|b| *b == b'/') {
            depth = match step {
                b".." => depth.checked_sub(1).ok_or(Code::Escape)?,
                _ => depth + 1,
            };
            at = rustix::fs::openat(&at, step, flags, Mode::empty()).map_err(errno)?;
        }
        Ok(Checked {
            path: PathBuf::from(format!("/proc/self/fd/{}", at.as_raw_fd())),
            _held: Some(at),
        })
    }

    /// The use.
    fn open(&self, path: &Path) -> Result<fs::File, Code> {
        self.watched(|| fs::File::open(path)).map_err(code)
    }

    /// A call that may hang.
    fn watched<T>(&self, call: impl FnOnce() -> T) -> T {
        self.watch.began.store(self.watch.now(), Ordering::Relaxed);
        let made = call();
        self.watch.began.store(0, Ordering::Relaxed);
        made
    }

    fn stat(&mut self, id: RequestId, name: &[u8]) -> Result<(), Code> {
        let checked = self.check(name)?;
        let seen = fs::metadata(&checked.path).map_err(code)?;
        self.reply(id, &Reply::Stat(binding(&seen)), &[]);
        Ok(())
    }

    fn read(&mut self, id: RequestId, name: &[u8]) -> Result<(), Code> {
        let checked = self.check(name)?;
        let seen = fs::metadata(&checked.path).map_err(code)?;
        if !seen.is_file() {
            return Err(if seen.is_dir() {
                Code::IsADirectory
            } else {
                Code::NotRegular
            });
        }
        let mut bytes = Vec::new();
        let mut file = self.open(&checked.path)?;
        file.read_to_end(&mut bytes).map_err(code)?;
        let end = ReadEnd {
            first_line: 0,
            next_offset: bytes.len() as u64,
            rest: Rest::End,
            text: None,
            digest: None,
            steadiness: Steadiness::Steady,
        };
        let part = ReadPart {
            file: 0,
            offset: 0,
            head: Some(binding(&seen)),
            tail: Some(ReadTail::Read(end)),
            more: More::Last,
        };
        self.reply(id, &Reply::ReadPart(part), &bytes);
        Ok(())
    }

    fn list(&mut self, id: RequestId, name: &[u8], depth: u32) -> Result<(), Code> {
        let checked = self.check(name)?;
        let mut entries = Vec::new();
        each(&checked.path, b"", depth, &mut |_, path, kind| {
            entries.push(Entry {
                path: RelPath::parse(path).unwrap(),
                kind: kind_of(kind),
                denied: None,
                detail: None,
            });
        })?;
        let start = Some(binding(&fs::metadata(&checked.path).map_err(code)?));
        self.reply(id, &Reply::Entries(Entries { start, entries }), &[]);
        self.done(id);
        Ok(())
    }

    fn search(&mut self, id: RequestId, name: &[u8], pattern: &[u8]) -> Result<(), Code> {
        let checked = self.check(name)?;
        let mut files = Vec::new();
        each(&checked.path, b"", 64, &mut |host, path, kind| {
            if kind.is_file() {
                files.push((host.to_path_buf(), path.to_vec()));
            }
        })?;
        let mut found = Vec::new();
        for (host, path) in files {
            let Ok(seen) = fs::symlink_metadata(&host) else {
                continue;
            };
            if !seen.is_file() || self.plan.denied == Some((seen.dev(), seen.ino())) {
                continue;
            }
            let mut bytes = Vec::new();
            let Ok(mut file) = self.open(&host) else {
                continue;
            };
            if file.read_to_end(&mut bytes).is_err() {
                continue;
            }
            if bytes.windows(pattern.len()).any(|w| w == pattern) {
                let path = RelPath::parse(&path).unwrap();
                found.push(Found::File { path });
                found.push(Found::Line(FoundLine {
                    role: LineRole::Match,
                    number: 1,
                    offset: 0,
                    column: 1,
                    text: Bytes::cut(&bytes),
                    cut_before: 0,
                    cut_after: 0,
                }));
            }
        }
        let start = Some(binding(&fs::metadata(&checked.path).map_err(code)?));
        self.reply(id, &Reply::Matches(Matches { start, found }), &[]);
        self.done(id);
        Ok(())
    }

    fn done(&mut self, id: RequestId) {
        let done = Done {
            completeness: Completeness::Complete,
            statistics: Statistics::default(),
        };
        self.reply(id, &Reply::Done(done), &[]);
    }
}
