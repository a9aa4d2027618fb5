//! Attackers from outside the broker. Each works in one round of a scenario: while one request is
//! under way it makes a few turns, and when the answer is there it puts its names back.

use crate::tree::digest;
use portcullis_client::protocol::view::Digest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What an attacker did to versions of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// It placed this version.
    Placed(Digest),
    /// It threw this version away itself, knowing which it was.
    Destroyed(Digest),
    /// Something changed where nothing may, which it saw itself.
    Escape,
    /// A session moved a directory.
    Moved,
}

/// One kind of attack.
pub(crate) trait Attack: Send {
    /// One change, if it can be made now.
    fn turn(&mut self, events: &mut Vec<Event>);
    /// Puts names back where that matters.
    fn home(&mut self, events: &mut Vec<Event>);
}

/// Two names of one directory exchange what they name, again and again.
pub(crate) struct Exchange {
    pub(crate) directory: OwnedFd,
    pub(crate) names: [&'static str; 2],
    pub(crate) away: bool,
}

impl Exchange {
    pub(crate) fn of(directory: impl AsRef<Path>, names: [&'static str; 2]) -> Box<dyn Attack> {
        Box::new(Self {
            directory: portcullis_tests::attack::directory(directory),
            names,
            away: false,
        })
    }
}

impl Attack for Exchange {
    fn turn(&mut self, _: &mut Vec<Event>) {
        let [a, b] = self.names;
        match renameat_with(
            &self.directory,
            a,
            &self.directory,
            b,
            RenameFlags::EXCHANGE,
        ) {
            Ok(()) => self.away = !self.away,
            // One of them is deleted or claimed just now.
            Err(Errno::NOENT) => {}
            Err(errno) => panic!("exchange of {a} and {b}: {errno}"),
        }
    }

    fn home(&mut self, events: &mut Vec<Event>) {
        if self.away {
            self.turn(events);
        }
        self.away = false;
    }
}

/// New versions of a file, each placed by exchange or, where nothing has the name, by link; the
/// version that came out is thrown away, knowing which it was.
pub(crate) struct Save {
    /// Where it prepares them, beside the root.
    pub(crate) place: PathBuf,
    /// The file, below that.
    pub(crate) name: &'static str,
    pub(crate) next: u64,
    /// How a version comes under the name.
    pub(crate) way: Way,
}

/// How a new version is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Where something has the name, in its place; else as new.
    Either,
    /// Only where nothing has the name.
    New,
    /// Where something has the name, that is taken away first, then the new version is linked.
    Apart,
}

impl Save {
    pub(crate) fn of(place: &Path, name: &'static str, way: Way) -> Box<dyn Attack> {
        Box::new(Self {
            place: place.to_owned(),
            name,
            next: 0,
            way,
        })
    }

    fn take(&self, from: &Path, events: &mut Vec<Event>) {
        let seen = from.symlink_metadata().unwrap();
        if seen.is_file() {
            events.push(Event::Destroyed(digest(&std::fs::read(from).unwrap())));
        }
        crate::tree::clear(from);
    }
}

impl Attack for Save {
    fn turn(&mut self, events: &mut Vec<Event>) {
        self.next += 1;
        // Two attackers never make one content: versions are told apart by it.
        let content = format!(
            "attacker's version {} of {}, {:?}\nline\n",
            self.next, self.name, self.way
        );
        let (stage, name) = (self.place.join("stage"), self.place.join(self.name));
        std::fs::write(&stage, &content).unwrap();
        let placed = Event::Placed(digest(content.as_bytes()));
        let exchange = |a: &Path, b: &Path| renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
        let fresh = |a: &Path, b: &Path| renameat_with(CWD, a, CWD, b, RenameFlags::NOREPLACE);
        match self.way {
            Way::Either => {
                if exchange(&stage, &name).is_ok() {
                    events.push(placed);
                    self.take(&stage, events);
                    return;
                }
            }
            Way::Apart => {
                let aside = stage.with_extension("aside");
                if fresh(&name, &aside).is_ok() {
                    if fresh(&stage, &name).is_ok() {
                        events.push(placed);
                    }
                    self.take(&aside, events);
                    crate::tree::clear(&stage);
                    return;
                }
            }
            Way::New => {}
        }
        if fresh(&stage, &name).is_ok() {
            events.push(placed);
        }
        crate::tree::clear(&stage);
    }

    fn home(&mut self, _: &mut Vec<Event>) {}
}

/// A directory leaves the root and comes back; what is in it must not change while it is away.
pub(crate) struct Shuttle {
    pub(crate) home: (OwnedFd, &'static str),
    pub(crate) away: (OwnedFd, &'static str),
    /// The path of `away`, to look at it.
    pub(crate) place: PathBuf,
}

impl Attack for Shuttle {
    fn turn(&mut self, events: &mut Vec<Event>) {
        let flags = RenameFlags::NOREPLACE;
        let (home, away) = (&self.home, &self.away);
        if renameat_with(&home.0, home.1, &away.0, away.1, flags).is_err() {
            return;
        }
        let before = crate::tree::snapshot(&self.place);
        let until = Instant::now() + Duration::from_micros(200);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        if crate::tree::snapshot(&self.place) != before {
            events.push(Event::Escape);
        }
        match renameat_with(&away.0, away.1, &home.0, home.1, flags) {
            Ok(()) => {}
            // Somebody made another one meanwhile: it goes, and what is in it.
            Err(Errno::EXIST) => {
                let flags = RenameFlags::EXCHANGE;
                renameat_with(&away.0, away.1, &home.0, home.1, flags).unwrap();
                let found = crate::tree::contents(&self.place).files;
                events.extend(found.into_keys().map(Event::Destroyed));
                crate::tree::clear(&self.place);
            }
            Err(errno) => panic!("the way home: {errno}"),
        }
    }

    fn home(&mut self, _: &mut Vec<Event>) {}
}

/// Numbers that only look random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A thread that attacks in rounds.
pub(crate) struct Attacker {
    go: Option<SyncSender<Pace>>,
    over: Arc<AtomicU64>,
    round: u64,
    events: Receiver<Vec<Event>>,
    thread: Option<JoinHandle<u64>>,
}

/// How many turns a round has at most, and how long a pause between two is at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) turns: u64,
    pub(crate) pause: Duration,
}

impl Attacker {
    pub(crate) fn start(mut attacks: Vec<Box<dyn Attack>>) -> Self {
        let (go, asked) = sync_channel::<Pace>(1);
        let (told, events) = sync_channel(1);
        let over = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            let (mut turns, mut round) = (0, 0);
            while let Ok(pace) = asked.recv() {
                round += 1;
                let mut events = Vec::new();
                for _ in 0..1 + random.below(pace.turns) {
                    pause(&mut random, pace.pause, || {
                        seen.load(Ordering::Relaxed) >= round
                    });
                    if seen.load(Ordering::Relaxed) >= round {
                        break;
                    }
                    let most = attacks.len() as u64;
                    let which = usize::try_from(random.below(most)).unwrap();
                    attacks[which].turn(&mut events);
                    turns += 1;
                }
                while seen.load(Ordering::Relaxed) < round {
                    std::thread::park_timeout(Duration::from_micros(50));
                }
                attacks.iter_mut().for_each(|a| a.home(&mut events));
                told.send(events).unwrap();
            }
            turns
        });
        Self {
            go: Some(go),
            over,
            round: 0,
            events,
            thread: Some(thread),
        }
    }

    /// Lets it attack.
    pub(crate) fn go(&mut self, pace: Pace) {
        self.round += 1;
        self.go.as_ref().unwrap().send(pace).unwrap();
    }

    /// Ends the round; gives what it did to versions.
    pub(crate) fn halt(&mut self) -> Vec<Event> {
        self.over.store(self.round, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        self.events.recv().unwrap()
    }

    /// Stops it; gives how often it changed something.
    pub(crate) fn stop(mut self) -> u64 {
        drop(self.go.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

/// None, or a random part of the most, so that every moment of a request is met, and two turns
/// come close together.
fn pause(random: &mut Random, most: Duration, over: impl Fn() -> bool) {
    if random.below(3) == 0 {
        return;
    }
    let most = u64::try_from(most.as_micros()).unwrap().max(1);
    let until = Instant::now() + Duration::from_micros(random.below(most));
    while Instant::now() < until && !over() {
        std::hint::spin_loop();
    }
}
