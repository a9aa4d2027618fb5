//! Threads for requests that may take long, so that small ones and `cancel` are still answered.
//!
//! Threads are started when first needed, at lower priority, and kept. At most the session's
//! limit of streams runs at once; a further one is refused, never queued.

use crate::bind::Bound;
use crate::execute;
use crate::outlet::{Gone, Outlet, Running};
use crate::pipeline;
use crate::session::Session;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session::{List, Read, Request};
use portcullis_transport::{Endpoint, SessionSide};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Priority below that of small requests.
const NICE: i32 = 10;
/// Stack of a stream thread, in bytes: matchers recurse by pattern, whose depth is limited.
const STACK_BYTES: usize = 512 * 1024;

/// What a stream does.
pub(crate) enum Work {
    /// A request, from the start.
    Request(Request),
    /// A read whose one file is bound already and turned out to be long.
    Read(Read, Bound),
    /// A listing whose directory is bound already and turned out to have many names.
    List(List, Bound),
}

struct Job {
    work: Work,
    outlet: Outlet,
}

/// The stream threads of one session.
pub(crate) struct Streams {
    session: Arc<Session>,
    endpoint: Arc<Endpoint<SessionSide>>,
    running: Running,
    jobs: SyncSender<Job>,
    queue: Arc<Mutex<Receiver<Job>>>,
    threads: usize,
    limit: usize,
}

impl Streams {
    pub(crate) fn new(
        session: Arc<Session>,
        endpoint: Arc<Endpoint<SessionSide>>,
        running: Running,
    ) -> Self {
        let limit = usize::from(session.limits.streams);
        let (jobs, queue) = sync_channel(limit.max(1));
        Self {
            session,
            endpoint,
            running,
            jobs,
            queue: Arc::new(Mutex::new(queue)),
            threads: 0,
            limit,
        }
    }

    /// Starts a streaming request, or refuses it.
    pub(crate) fn start(
        &mut self,
        work: Work,
        id: RequestId,
        outlet: Outlet,
    ) -> Result<(), Refusal> {
        let Ok(mut running) = self.running.lock() else {
            return Err(Refusal::new(Code::Exhausted));
        };
        if running.has(id) {
            let refusal = Refusal::new(Code::Malformed).noting("this request id is in use");
            return Err(refusal);
        }
        if running.count() >= self.limit {
            return Err(Refusal::new(Code::TooManyInFlight));
        }
        if running.count() >= self.threads {
            if self.spawn().is_err() {
                return Err(Refusal::new(Code::Exhausted));
            }
            self.threads += 1;
        }
        running.add(id, outlet.cancel_handle());
        drop(running);
        self.jobs
            .send(Job { work, outlet })
            .map_err(|_| Refusal::new(Code::Exhausted))
    }

    /// Stops a streaming request, if it still runs.
    pub(crate) fn cancel(&self, id: RequestId) {
        if let Ok(running) = self.running.lock()
            && let Some(flag) = running.of(id)
        {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Stops all of them.
    pub(crate) fn cancel_all(&self) {
        if let Ok(running) = self.running.lock() {
            for flag in running.all() {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }

    fn spawn(&self) -> std::io::Result<()> {
        let queue = Arc::clone(&self.queue);
        let session = Arc::clone(&self.session);
        let endpoint = Arc::clone(&self.endpoint);
        std::thread::Builder::new()
            .name("stream".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // Best effort on purpose: without it streams are only less polite.
                rustix::process::setpriority_process(None, NICE).unwrap_or_default();
                while let Some(job) = next(&queue) {
                    let Job { work, mut outlet } = job;
                    let answered = match work {
                        Work::Request(request) => pipeline::answer(&session, &request, &mut outlet),
                        Work::Read(read, bound) => {
                            execute::read_bound(&session, &read, bound, &mut outlet)
                        }
                        Work::List(list, bound) => {
                            execute::list(&session, bound, &list, &mut outlet)
                        }
                    };
                    if let Err(Gone) = answered {
                        // Wakes the main loop, which ends the session.
                        rustix::net::shutdown(&*endpoint, rustix::net::Shutdown::Read)
                            .unwrap_or_default();
                    }
                }
            })
            .map(drop)
    }
}

fn next(queue: &Mutex<Receiver<Job>>) -> Option<Job> {
    queue.lock().ok()?.recv().ok()
}
