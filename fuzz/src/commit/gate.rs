//! A gate whose warden is the fuzz target: it is seen when the gate turns to it, and what somebody
//! else does to the tree meanwhile is done then.

use super::disk::{Disk, Node, Tree};
use portcullis_client::Session;
use portcullis_gate::uncaged::{self, Given};
use portcullis_protocol::authority::{
    Authority, Budgets, Durable, FileSystem, Grant, Parts, Root, RootId, RootIdentity, Scope,
};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::ledger::{Begun, Command, Duty, Event, Finish, Intent, ReceiptId, Setup};
use portcullis_protocol::limits::{
    CONTENT_BYTES_MAX, FRAME_BYTES_MAX, IN_FLIGHT_MAX, SEND_DEADLINE_MS, STREAMS_MAX,
};
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{Incarnation, Limits, Outcome, SessionId};
use portcullis_protocol::verb::VerbSet;
use portcullis_protocol::view::{Digest, RootIndex};
use portcullis_transport::{Buffer, Endpoint, LedgerSide};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What happens between a plan and its locks.
#[derive(Debug, Clone)]
pub enum Meddling {
    /// The warden begins nothing.
    Refuses,
    /// Somebody adds to a file.
    Appends(&'static str),
    /// Somebody removes a file or a link.
    Removes(&'static str),
    /// Somebody makes a file, or puts another in its place.
    Renews(&'static str),
}

/// What the kernel calls a file system in memory.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;
/// What somebody else writes.
pub const FOREIGN: &[u8] = b"foreign\n";

impl Meddling {
    /// What it leaves of a tree; none where it can do nothing.
    pub fn of(&self, tree: &Tree) -> Option<Tree> {
        let mut tree = tree.clone();
        match self {
            Self::Refuses => return None,
            Self::Appends(name) => match tree.get_mut(*name)? {
                Node::File { content, .. } => content.extend_from_slice(FOREIGN),
                Node::Directory { .. } | Node::Link(_) => return None,
            },
            Self::Removes(name) => match tree.remove(*name)? {
                Node::File { .. } | Node::Link(_) => {}
                Node::Directory { .. } => return None,
            },
            Self::Renews(name) => {
                let is_directory = |node: &Node| matches!(node, Node::Directory { .. });
                let above = name.rsplit_once('/');
                let has_room = above.is_none_or(|(up, _)| tree.get(up).is_some_and(is_directory));
                if !has_room || tree.get(*name).is_some_and(is_directory) {
                    return None;
                }
                let (content, mode) = (FOREIGN.to_vec(), 0o640);
                tree.insert((*name).to_owned(), Node::File { content, mode });
            }
        }
        Some(tree)
    }

    fn act(&self, disk: &Disk, after: &Tree) {
        match self {
            Self::Refuses => {}
            Self::Appends(name) => disk.append(name, FOREIGN),
            Self::Removes(name) => disk.remove(name),
            Self::Renews(name) => disk.make(name, &after[*name]),
        }
    }
}

/// What the warden waits for.
#[derive(Debug, Default)]
pub struct Watch {
    /// What is there until the effect is begun.
    pub tree: Tree,
    /// What is to happen once.
    pub meddling: Option<Meddling>,
    /// Somebody else changed a name, or the warden refused.
    pub meddled: bool,
    /// A call fails meanwhile.
    pub faulty: bool,
    /// Temporaries that are told to be left.
    pub left: u32,
    begun: Option<Intent>,
    /// Effects that were begun: the number of the last.
    number: u64,
    /// Effects that ended.
    pub receipts: u64,
}

/// A gate and its warden, each a thread of this process.
#[derive(Debug)]
pub struct Gate {
    pub watch: Arc<Mutex<Watch>>,
    threads: Vec<JoinHandle<()>>,
}

impl Gate {
    /// One that serves this directory, and its worker.
    pub fn start(disk: &Arc<Disk>) -> (Self, Session) {
        let (ours, ledger) = portcullis_transport::pair().unwrap();
        let (worker, socket) = portcullis_transport::pair().unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(disk.inside(), flags, Mode::empty()).unwrap();
        let setup = setup(disk.inside());
        let watch = Arc::new(Mutex::new(Watch::default()));
        let mark = rustix::fs::memfd_create("mark", MemfdFlags::CLOEXEC).unwrap();
        let warden = Warden {
            ledger: Endpoint::new(ours).unwrap(),
            watch: Arc::clone(&watch),
            disk: Arc::clone(disk),
            mark: mark.try_clone().unwrap(),
        };
        let given = Given {
            ledger,
            mark,
            socket,
            roots: vec![root],
        };
        let threads = vec![
            std::thread::spawn(move || uncaged::serve(setup, given).unwrap()),
            std::thread::spawn(move || warden.play()),
        ];
        (
            Self { watch, threads },
            Session::from_socket(worker).unwrap(),
        )
    }

    /// Waits for both; the worker has left.
    pub fn end(self) {
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

fn setup(inside: &Path) -> Setup {
    let magic = rustix::fs::statfs(inside).unwrap().f_type;
    let root = Root {
        id: RootId(1),
        label: Label::new("workspace").unwrap(),
        scope: Scope::Workspace,
        location: RelPath::parse(b"fuzz").unwrap(),
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
        file_system: if magic == TMPFS {
            FileSystem::Tmpfs
        } else {
            // Says the least of what a lease proves.
            FileSystem::Overlay
        },
    };
    let grant = Grant::whole(RootIndex(0), RelPath::root(), VerbSet::ALL);
    let parts = Parts {
        request: Text::new("fuzz").unwrap(),
        owner: Text::new("fuzz").unwrap(),
        conversation: Text::new("fuzz").unwrap(),
        parent: None,
        roots: vec![root],
        grants: vec![grant],
        asks: Vec::new(),
        denials: Vec::new(),
        budgets: Budgets::UNLIMITED,
        expires_ms: None,
    };
    let bytes = |n: usize| u32::try_from(n).unwrap();
    Setup {
        authority: Authority::seal(parts).unwrap(),
        incarnation: Incarnation([1; 16]),
        session: SessionId(1),
        limits: Limits {
            frame_bytes: bytes(FRAME_BYTES_MAX),
            content_bytes: bytes(CONTENT_BYTES_MAX),
            in_flight: IN_FLIGHT_MAX,
            streams: STREAMS_MAX,
            in_flight_bytes: bytes(4 * FRAME_BYTES_MAX),
            send_deadline_ms: SEND_DEADLINE_MS,
        },
        run_as: None,
        duty: Duty::Serve,
        lineage: Few::default(),
        ignore: Bytes::default(),
    }
}

struct Warden {
    ledger: Endpoint<LedgerSide>,
    watch: Arc<Mutex<Watch>>,
    disk: Arc<Disk>,
    mark: OwnedFd,
}

impl Warden {
    /// Whether the gate has looked under its locks, and changes files.
    fn is_confirmed(&self, watch: &Watch) -> bool {
        let mut number = [0; 8];
        // Nothing is there before the first.
        let read = rustix::io::pread(&self.mark, &mut number, 0).unwrap();
        read == number.len() && u64::from_le_bytes(number) == watch.number
    }

    /// Answers until the gate leaves.
    fn play(self) {
        let (mut buffer, mut scratch) = (Buffer::new(), Vec::new());
        while let Ok(packet) = self.ledger.receive(&mut buffer) {
            let frame = packet.decode().unwrap().0;
            let (id, event) = (frame.id, frame.message);
            let mut watch = self.watch.lock().unwrap();
            let command = match event {
                Event::Begin(begin) => self.begin(&mut watch, begin.intent),
                Event::Amend(intent) => {
                    let early = !self.is_confirmed(&watch);
                    assert!(early, "amended where files are changed: {intent:?}");
                    amend(&mut watch, intent)
                }
                Event::Finish(finish) => {
                    let confirmed = self.is_confirmed(&watch);
                    assert!(confirmed || finish.outcome != Outcome::Done, "{finish:?}");
                    receipted(&mut watch, &finish)
                }
                Event::Unlock(_) | Event::Refused(_) | Event::Finished(_) => continue,
                // Nothing is only asked for, and no session is made within this one.
                Event::Ready(_)
                | Event::Fault(_)
                | Event::Seen(_)
                | Event::Delegate(_)
                | Event::EndDelegated(_)
                | Event::Propose(_)
                | Event::Bound(_)
                | Event::Unbound(_)
                | Event::Claim(_) => panic!("{event:?}"),
            };
            drop(watch);
            // By its number an answer finds whoever asked.
            let sent = self.ledger.send(&mut scratch, id, &command, &[]);
            sent.unwrap();
        }
    }

    /// Nothing has a name by now that had none before.
    fn begin(&self, watch: &mut Watch, intent: Intent) -> Command {
        assert!(watch.begun.is_none(), "begun twice");
        assert_eq!(self.disk.read(), watch.tree, "before {intent:?}");
        match watch.meddling.take() {
            Some(Meddling::Refuses) => {
                watch.meddled = true;
                return Command::NotBegun(Refusal::new(Code::Busy));
            }
            Some(meddling) => {
                if let Some(after) = meddling.of(&watch.tree) {
                    meddling.act(&self.disk, &after);
                    watch.tree = after;
                    watch.meddled = true;
                }
            }
            None => {}
        }
        watch.begun = Some(intent);
        watch.number += 1;
        Command::Begun(Begun {})
    }
}

/// Another intent of the same names.
fn amend(watch: &mut Watch, intent: Intent) -> Command {
    let old = watch.begun.replace(intent.clone());
    let old = old.expect("begun");
    let names = |of: &Intent| -> Vec<RelPath> {
        let steps = of.steps.as_slice().iter();
        steps.map(|step| step.touched.path.clone()).collect()
    };
    assert_eq!(names(&old), names(&intent));
    assert!(
        watch.meddled || watch.faulty,
        "amended without a reason: {intent:?}"
    );
    Command::Begun(Begun {})
}

/// What is told of an effect is of the names that were announced.
fn receipted(watch: &mut Watch, finish: &Finish) -> Command {
    let intent = watch.begun.take().expect("begun");
    let mut touched = finish.touched.as_slice().iter();
    for step in intent.steps.as_slice() {
        let told = touched.next().expect("every name is told");
        assert_eq!(told.path, step.touched.path);
        match finish.outcome {
            // Where a call fails, what was just made may be what could not be looked at.
            Outcome::Done if !watch.faulty => {
                assert!(told.after.agrees(&step.touched.after), "{told:?} {step:?}");
            }
            Outcome::Done | Outcome::Failed | Outcome::Uncertain => {}
        }
    }
    assert_eq!(touched.next(), None);
    assert!(watch.faulty || finish.left == 0, "{finish:?}");
    watch.left += finish.left;
    watch.receipts += 1;
    Command::Receipted(ReceiptId {
        number: watch.receipts,
        chain: Digest([7; 32]),
    })
}
