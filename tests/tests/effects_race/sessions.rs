//! Two sessions of one warden: one moves a directory so that the name another one works below
//! becomes a denied one.

use crate::attack::{Attack, Event};
use crate::drive::{Answer, IN_HOOKS, at, make};
use crate::scenario::{ANY, Scenario, pace};
use portcullis_client::{Changes, Session, change};
use portcullis_tests::World;
use portcullis_tests::naive::Style;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A session that may move `x` to `.git`, and back. While it is there nothing in `hooks` may
/// change; the kernel tells in which order that was.
struct Mover {
    session: Session,
    inside: PathBuf,
    told: OwnedFd,
    /// By which number the kernel tells of `inside`.
    root: i32,
    is_git: bool,
}

/// What changes a directory.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB);

impl Mover {
    fn start(world: &mut World) -> Box<dyn Attack> {
        let inside = world.inside();
        let mut session = world
            .session_with(|order, _| order.except("builtin:git"))
            .session;
        session.ping(b"").unwrap();
        let told = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        let root = inotify::add_watch(&told, &inside, WatchFlags::MOVED_TO).unwrap();
        Box::new(Self {
            session,
            inside,
            told,
            root,
            is_git: false,
        })
    }

    fn moves(&mut self, from: &str, to: &str) -> bool {
        let changes = Changes::new().with(change::rename(at(from), at(to)));
        match make(&mut self.session, &changes) {
            Answer::Done(_) => true,
            Answer::Failed(_) | Answer::Refused(_) => false,
            Answer::Uncertain(changed) => panic!("a move of a directory: {changed:?}"),
        }
    }

    /// Takes what the kernel tells, in order.
    fn listen(&mut self, events: &mut Vec<Event>) {
        let mut room = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.told, &mut room);
        while let Ok(event) = reader.next() {
            assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW));
            let name = event.file_name().map(|name| name.to_bytes());
            match (event.wd() == self.root, name) {
                (true, Some(b".git")) => self.is_git = true,
                (true, Some(b"x")) => self.is_git = false,
                (true, _) => {}
                // New content is written before the locks are held, where no name leads: the
                // kernel tells of it by a number.
                (false, Some([b'#', ..])) => {}
                (false, Some(_)) if self.is_git => events.push(Event::Escape),
                (false, _) => {}
            }
        }
    }
}

impl Attack for Mover {
    fn turn(&mut self, events: &mut Vec<Event>) {
        inotify::add_watch(&self.told, self.inside.join("x/hooks"), CHANGES).unwrap();
        if !self.moves("x", ".git") {
            return;
        }
        events.push(Event::Moved);
        let back = (0..100).any(|_| self.moves(".git", "x"));
        assert!(back, "the way back");
        self.listen(events);
        assert!(!self.is_git);
    }

    fn home(&mut self, events: &mut Vec<Event>) {
        self.listen(events);
    }
}

#[test]
fn a_directory_that_becomes_a_denied_one_gets_nothing_new() {
    Scenario {
        name: "x -> .git by one session, x/hooks by another",
        asks: IN_HOOKS,
        share: 8,
        furnish: |place, n| {
            place.nothing("inside/.git");
            place.directory("inside/x/hooks");
            place.file("inside/x/hooks/file", n);
            place.file("inside/away", n);
            for name in ["new", "made", "link", "moved"] {
                place.nothing(&format!("inside/x/hooks/{name}"));
            }
        },
        // The built-in rule is the one that must not be outrun.
        mint: |order| order,
        attacks: |world| vec![Mover::start(world)],
        pace: pace(1, 1500),
        // What is refused before it is begun is a matter of moments, and not met in every run.
        wanted: &[
            ("create", "done"),
            ("create", "failed not_found"),
            ("mkdir", "failed not_found"),
            ("link", "failed not_found"),
            ("replace", "failed not_found"),
            ("move in", "failed not_found"),
            ("delete", "failed not_found"),
        ],
        codes: &["not_found", "contended"],
        caught: &[ANY],
        lead: 3000,
        style: Style::Held,
        fifos: &[],
    }
    .run();
}
