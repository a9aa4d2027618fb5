//! Threads that help the long requests of one session: one for each core but the one the request
//! itself runs on.
//!
//! A request never waits for a helper: it does all the work by itself, and whoever comes takes some
//! of it. So a helper that is busy with another request costs time and nothing else. Started when
//! first asked for, and kept.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

/// Priority below that of small requests.
const NICE: i32 = 10;
/// Stack of a helper, in bytes.
const STACK_BYTES: usize = 512 * 1024;
/// Requests that may ask for help at once; more are not helped.
const ASKING_MAX: usize = 16;

/// Work that several threads do together.
pub(crate) trait Help: Send + Sync {
    /// Does some of it, until nothing is left or it is no longer wanted.
    fn help(&self);
}

type Asked = Arc<dyn Help>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Pool {
    /// How many threads there may be.
    helpers: usize,
    asking: OnceLock<SyncSender<Asked>>,
}

impl Pool {
    /// A pool for the cores this process may run on.
    pub(crate) fn new() -> Self {
        let cores = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
        let cores = usize::try_from(cores).unwrap_or(1);
        Self {
            helpers: cores.saturating_sub(1),
            asking: OnceLock::new(),
        }
    }

    /// Has idle helpers take part.
    pub(crate) fn ask<W: Help + 'static>(&self, work: &Arc<W>) {
        if self.helpers == 0 {
            return;
        }
        let asking = self.asking.get_or_init(|| start(self.helpers));
        for _ in 0..self.helpers {
            let work = Arc::clone(work);
            match asking.try_send(work as Asked) {
                Ok(()) => {}
                // All are busy: the work goes on without help.
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return,
            }
        }
    }
}

fn start(helpers: usize) -> SyncSender<Asked> {
    let (asking, asked) = sync_channel(ASKING_MAX);
    let asked = Arc::new(Mutex::new(asked));
    for _ in 0..helpers {
        let asked = Arc::clone(&asked);
        let started = std::thread::Builder::new()
            .name("helper".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // Best effort on purpose: without it helpers are only less polite.
                rustix::process::setpriority_process(None, NICE).unwrap_or_default();
                while let Some(work) = next(&asked) {
                    work.help();
                }
            });
        if started.is_err() {
            // Fewer threads help; the work is done all the same.
            break;
        }
    }
    asking
}

fn next(asked: &Mutex<Receiver<Asked>>) -> Option<Asked> {
    asked.lock().ok()?.recv().ok()
}
