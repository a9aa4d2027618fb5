//! When what runs must have ended: an alarm that is left to run.

use std::pin::Pin;
use tokio::time::{Instant, Sleep, sleep_until};

/// Wakes at a time that moves on with each effect. To set and drop a timer for each would wake the
/// event loop for each; this one rings for one that ended long ago at most, and is then set anew.
#[derive(Debug)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// One that is not set.
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Waits until then. Times of later calls must not be earlier. Nothing is lost when the wait
    /// is given up.
    pub(crate) async fn at(&mut self, until: Instant) {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(until)));
        loop {
            sleep.as_mut().await;
            if sleep.deadline() >= until {
                return;
            }
            sleep.as_mut().reset(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[test]
    fn an_alarm_that_was_given_up_rings_at_the_later_time_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut alarm = Alarm::new();
            let moment = Duration::from_millis(1);
            let first = Instant::now() + 20 * moment;
            assert!(timeout(moment, alarm.at(first)).await.is_err());
            // Once while the first is to come, once when it has long rung with nobody waiting.
            for wait in [Duration::ZERO, 100 * moment] {
                tokio::time::sleep(wait).await;
                let until = Instant::now() + 50 * moment;
                alarm.at(until).await;
                assert!(Instant::now() >= until);
            }
        });
    }
}
