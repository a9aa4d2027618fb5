//! Who holds the session: calls are worked on one after the other.
//!
//! Most take less time than it takes to wake another thread, so they are worked on at once, where they
//! came in. Only where the session is taken is a call brought to a thread that waits for it.
//!
//! Listings, globs and searches may last; they have a desk of their own, at a session that was
//! delegated from the first and may do nothing but those. So a long search keeps no read waiting.
//! Where one cannot be had without loss (a budget would be halved, or an approval belongs to the
//! first session), all calls are done at one desk.

use portcullis_client::protocol::authority::{Budgets, Effect};
use portcullis_client::protocol::session::{Identity, Progress};
use portcullis_client::protocol::verb::{Verb, VerbSet};
use portcullis_client::words::Words;
use portcullis_client::{Session, Wishes, ask};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// What is done at the desk.
type Work = Box<dyn FnOnce(&mut Session) + Send>;

/// Calls that may wait for one desk. Whoever brings more waits before.
const WAITING: usize = 64;
/// The verbs that may last.
const WALKING: VerbSet = VerbSet::of(&[Verb::List, Verb::Glob, Verb::Search]);
/// What the session for walks may do: sizes, times and the order by them take a right to look.
const WALKS: VerbSet = VerbSet::of(&[Verb::List, Verb::Glob, Verb::Search, Verb::Stat]);

/// Which desk a call is brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// That of the session itself.
    First,
    /// That of walks.
    Walks,
}

/// The desks of one session.
pub(crate) struct Desks {
    session: Arc<Mutex<Session>>,
    first: mpsc::Sender<Work>,
    walks: Option<mpsc::Sender<Work>>,
}

/// What came of a call, or will.
pub(crate) enum Brought<T> {
    /// It was done at once.
    Done(T),
    /// It waits, or is worked on.
    Coming(oneshot::Receiver<T>),
}

/// What a call that is worked on sees of its caller.
pub(crate) struct Job {
    cancelled: Cancelled,
    progress: mpsc::Sender<Progress>,
}

/// Says whether a call was cancelled.
type Cancelled = Box<dyn Fn() -> bool + Send>;

impl Job {
    /// A job, and where its progress comes.
    pub(crate) fn new(
        cancelled: impl Fn() -> bool + Send + 'static,
    ) -> (Self, mpsc::Receiver<Progress>) {
        // One that was not taken yet is as good as the next.
        let (progress, coming) = mpsc::channel(1);
        let job = Self {
            cancelled: Box::new(cancelled),
            progress,
        };
        (job, coming)
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    /// Says how far it is; nobody has to listen.
    pub(crate) fn progress(&self, progress: Progress) {
        self.progress.try_send(progress).ok();
    }
}

impl Desks {
    /// Sets them up for a session that may do what `identity` says.
    pub(crate) fn open(mut session: Session, identity: &Identity) -> Self {
        let walks = match wishes(identity) {
            // A session that may have no other within it does all at one desk.
            Some(wishes) => session
                .delegate(&wishes)
                .ok()
                .map(|made| desk(Arc::new(Mutex::new(made.session)))),
            None => None,
        };
        let session = Arc::new(Mutex::new(session));
        Self {
            first: desk(Arc::clone(&session)),
            session,
            walks,
        }
    }

    /// Brings work, and gives what came of it. `None` when the desk is gone.
    pub(crate) async fn bring<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce(&mut Session) -> T + Send + 'static,
    ) -> Option<Brought<T>> {
        let desk = match (lane, &self.walks) {
            (Lane::Walks, Some(walks)) => walks,
            (Lane::Walks, None) => &self.first,
            // A walk at this desk has the session for as long as it lasts.
            (Lane::First, _) => match self.session.try_lock() {
                Ok(mut session) => return Some(Brought::Done(work(&mut session))),
                Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => &self.first,
            },
        };
        let (done, answer) = oneshot::channel();
        let work: Work = Box::new(move |session| {
            // Whoever asked may be gone.
            done.send(work(session)).ok();
        });
        desk.send(work).await.ok()?;
        Some(Brought::Coming(answer))
    }
}

/// A thread that works on what is brought until nobody can bring anything any more.
fn desk(session: Arc<Mutex<Session>>) -> mpsc::Sender<Work> {
    let (sender, mut waiting) = mpsc::channel::<Work>(WAITING);
    thread::spawn(move || {
        while let Some(work) = waiting.blocking_recv() {
            work(&mut session.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
    sender
}

/// What the session for walks is wished to be; none where it would take something away.
fn wishes(identity: &Identity) -> Option<Wishes> {
    let walks = |verbs: VerbSet| !verbs.meet(WALKING).is_empty();
    let asks = identity.asks.as_slice().iter().any(|ask| walks(ask.verbs));
    let mut rules = identity.denials.as_slice().iter();
    let asked = rules.any(|rule| rule.effect == Effect::Ask && walks(rule.verbs));
    if asks || asked || identity.budgets != Budgets::UNLIMITED {
        return None;
    }
    let mut wishes = Wishes::new("walks");
    for root in identity.roots.as_slice() {
        let subtree = ask::selector_in(root.label.clone(), ".").ok()?;
        wishes = wishes.grant(Words::verbs(WALKS), subtree);
    }
    Some(wishes)
}
