//! Who listens for changes, over all requests: each of the newer generation stands alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink};

use crate::fixtures::broken;

#[derive(Clone, Copy)]
pub(crate) enum Change {
    Tools,
    Prompts,
}

#[derive(Clone, Default)]
pub(crate) struct Subscribers {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    sinks: HashMap<u64, SubscriptionSink>,
}

impl Subscribers {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn keep(&self, context: SubscriptionContext) {
        let key = {
            let mut inner = self.inner();
            inner.next += 1;
            let key = inner.next;
            inner.sinks.insert(key, context.sink().clone());
            key
        };
        context.cancelled().await;
        self.inner().sinks.remove(&key);
    }

    /// Tells everyone who asked for this kind of change.
    pub(crate) async fn tell(&self, change: Change) -> Result<(), ErrorData> {
        let sinks: Vec<SubscriptionSink> = self.inner().sinks.values().cloned().collect();
        for sink in sinks {
            let sent = match change {
                Change::Tools => sink.notify_tool_list_changed().await,
                Change::Prompts => sink.notify_prompt_list_changed().await,
            };
            match sent {
                Err(SubscriptionSendError::NotificationNotAccepted(_))
                    if refused(&sink, change) => {}
                // Whoever went away meanwhile need not be told.
                Err(SubscriptionSendError::SubscriptionClosed) | Ok(()) => {}
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(())
    }
}

fn refused(sink: &SubscriptionSink, change: Change) -> bool {
    let asked = match change {
        Change::Tools => sink.accepted().tools_list_changed,
        Change::Prompts => sink.accepted().prompts_list_changed,
    };
    asked != Some(true)
}
